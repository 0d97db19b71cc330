"""First step of an audit: everything it says, as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from calibrant.catalogue import CATALOGUE
from calibrant.errors import CalibrantWarning
from calibrant.inference import CalibrationTest, calibration_test, noise_floors
from calibrant.joint import Joint
from calibrant.measurement import Measurement

DRAWS_FOR_A_MEAN = 39


@dataclass(frozen=True, slots=True)
class Summary:
    """What an audit found."""

    rows: int
    levels: int
    mean_prediction: float
    base_rate: float
    clipped: int
    test: CalibrationTest
    """The smooth error beside what a perfect forecaster would have scored."""
    measures: dict[str, Measurement]
    """Every audited measure of the catalogue, by name."""
    noise_floors: dict[str, float]
    """What a perfect forecaster would get on average on the same rows, by measure."""
    cautions: tuple[str, ...]
    """What to know before reading a number, by measure or about the data."""


def summarise(joint: Joint, draws: int, rng: np.random.Generator | int | None) -> Summary:
    """Measure a Joint with everything in the catalogue, beside what a perfect forecaster gets."""
    generator = np.random.default_rng(rng)
    audited = {name: measure for name, measure in CATALOGUE.items() if measure.audited}
    with _collected_warnings() as cautions:
        measures = {name: measure.function(joint) for name, measure in audited.items()}
        tests = {
            name: calibration_test(joint, measure=name, draws=draws, rng=generator)
            for name, measure in audited.items()
            if measure.continuous and measure.values is not None
        }
        # Rounding to cells would change what jumping measures measure, and a mean needs few draws.
        others = [name for name in audited if name not in tests]
        floors = noise_floors(joint, others, min(draws, DRAWS_FOR_A_MEAN), generator)
    floors |= {name: test.noise_floor for name, test in tests.items()}
    return Summary(
        rows=joint.row_count,
        levels=len(joint),
        mean_prediction=joint.mean_prediction,
        base_rate=joint.base_rate,
        clipped=joint.clipped,
        test=tests["smooth_calibration_error"],
        measures=measures,
        noise_floors=floors,
        cautions=(*dict.fromkeys(cautions), *_about_the_data(joint)),
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
