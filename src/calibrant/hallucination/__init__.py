"""Models that write: how much they must make up, from how often facts repeat."""

from calibrant.hallucination.bound import (
    HallucinationBound,
    generative_miscalibration,
    hallucination_bound,
)
from calibrant.hallucination.facts import MonofactRate, monofact_rate

__all__ = [
    "HallucinationBound",
    "MonofactRate",
    "generative_miscalibration",
    "hallucination_bound",
    "monofact_rate",
]
