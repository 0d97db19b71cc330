"""First step of an audit: everything it says, as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from calibrant.catalogue import CATALOGUE
from calibrant.errors import CalibrantWarning
from calibrant.inference import Verdict, noise_floors
from calibrant.inference.evidence import Evidence
from calibrant.inference.statistic import Statistic
from calibrant.inference.test import run_test
from calibrant.inference.verdict import find_verdict
from calibrant.joint import Joint
from calibrant.measurement import Measurement

# The measure of the verdict; the others need their noise floor only to a digit or two.
HEADLINE = "smooth_calibration_error"
DRAWS_FOR_A_FLOOR, DRAWS_FOR_A_MEAN = 199, 39


@dataclass(frozen=True, slots=True)
class Summary:
    """What an audit found."""

    rows: int
    levels: int
    mean_prediction: float
    base_rate: float
    clipped: int
    verdict: Verdict
    """Whether the smooth error is within the tolerance."""
    measures: dict[str, Measurement]
    """Every audited measure of the catalogue, by name."""
    noise_floors: dict[str, float]
    """What a perfect forecaster would get on average on the same rows, by measure."""
    cautions: tuple[str, ...]
    """What to know before reading a number, by measure or about the data."""

    @property
    def where(self) -> str:
        """Where forecasts are most clearly off, in words."""
        return self.measures[HEADLINE].witness.sentence


def summarise(
    evidence: Evidence,
    tolerance: float | None,
    confidence: float,
    draws: int,
    rng: np.random.Generator | int | None,
) -> Summary:
    """Measure with everything in the catalogue, beside what a perfect forecaster gets."""
    generator = np.random.default_rng(rng)
    joint = evidence.given
    audited = {name: measure for name, measure in CATALOGUE.items() if measure.audited}
    verdict = find_verdict(
        evidence, Statistic.of(HEADLINE), tolerance, confidence, draws, generator
    )
    with _collected_warnings() as cautions:
        measures = {name: measure.function(joint) for name, measure in audited.items()}
        # Rounding to cells would change what jumping measures measure, and a mean needs few draws.
        cells = [
            name
            for name, measure in audited.items()
            if measure.continuous and measure.support is not None
        ]
        others = [name for name in audited if name not in cells]
        tests = run_test(
            evidence,
            [Statistic.of(name) for name in cells],
            min(draws, DRAWS_FOR_A_FLOOR),
            generator,
        )
        floors = noise_floors(joint, others, min(draws, DRAWS_FOR_A_MEAN), generator)
    floors |= {test.measure: test.noise_floor for test in tests.parts}
    floors[HEADLINE] = verdict.noise_floor
    return Summary(
        rows=joint.row_count,
        levels=len(joint),
        mean_prediction=joint.mean_prediction,
        base_rate=joint.base_rate,
        clipped=joint.clipped,
        verdict=verdict,
        measures=measures,
        noise_floors=floors,
        cautions=(*dict.fromkeys(cautions), *_about_the_data(joint), *verdict.cautions),
    )


def _about_the_data(joint: Joint) -> Iterator[str]:
    if np.isin(joint.prediction, (0.0, 1.0)).all():
        yield (
            "every forecast is 0 or 1: such answers carry no probability to judge, "
            "only how often they are wrong"
        )


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    cautions: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrantWarning)
        yield cautions
        cautions += [str(warning.message) for warning in caught]
