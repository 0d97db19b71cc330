"""Models that write: how much they must make up, from how often facts repeat."""

from calibrant.generative.facts import MonofactRate, monofact_rate
from calibrant.generative.hallucination import (
    HallucinationBound,
    generative_miscalibration,
    hallucination_bound,
)

__all__ = [
    "HallucinationBound",
    "MonofactRate",
    "generative_miscalibration",
    "hallucination_bound",
    "monofact_rate",
]
