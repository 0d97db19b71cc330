"""Every audited measure of the catalogue, beside what perfect forecasts would get."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from calibrant._base.notebook import brief
from calibrant._base.stages import reached
from calibrant.catalogue import CATALOGUE
from calibrant.errors import CalibrantWarning
from calibrant.inference.calibration_error import MEASURES, measure_rows
from calibrant.inference.evidence import Evidence
from calibrant.inference.monte_carlo import MOST_NUMBERS, noise_floors, run_test
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from calibrant.joint.sums import level_of
from calibrant.measures.measurement import Measurement


def on_exact_levels(evidence: Evidence) -> Evidence:
    """Draw on the predictions as they are given, however many levels they have."""
    joint, rows = evidence.full_joint, evidence.rows
    if joint is evidence.joint or rows is None or evidence.clusters is None:
        return evidence
    return evidence.drawn_on(joint, level_of(rows.prediction, joint))


def clustered_noise_floors(
    evidence: Evidence, measures: Sequence[str], draws: int, rng: np.random.Generator
) -> dict[str, float]:
    """Mean value of measures for perfect forecasts whose rows depend within clusters.

    Residuals of a cluster keep or change their sign together, as in the test of the smooth error.
    Redrawing rows one by one would make the floor too low, by up to the root of a cluster's size.
    """
    exact = on_exact_levels(evidence)
    joint = exact.joint
    affordable = max(1, min(draws, MOST_NUMBERS // len(joint)))
    statistics = [Statistic.of(measure) for measure in measures]
    for statistic in statistics:
        statistic.refuse_without_batch()
    values = [
        [statistic.values(joint, residual_masses) for statistic in statistics]
        for residual_masses in exact.null_residual_masses(affordable, rng)
    ]
    means = np.concatenate(values, axis=1).mean(axis=1)
    return dict(zip(measures, means.tolist(), strict=True))


# A noise floor is needed to a digit or two only; one that is drawn row by row takes longer.
DRAWS_FOR_A_FLOOR, DRAWS_FOR_A_MEAN = 199, 39
# Searches for its width anew in every draw.
SLOW = "kernel_smoothed_calibration_error"


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of measures by name, their noise floors, and what the measures warn of."""

    values: dict[str, Measurement]
    floors: dict[str, float]
    """What perfect forecasts would get on average on the same rows."""
    cautions: tuple[str, ...]

    def __repr__(self) -> str:
        return brief(self)


def measure_all(evidence: Evidence, settings: Settings) -> Measured:
    """Measure with everything in the catalogue that an audit shows."""
    if not evidence.kind.summed:
        return _of_residuals(evidence, settings)
    draws, rng = settings.draws, settings.rng
    audited = {name: measure for name, measure in CATALOGUE.items() if measure.audited}
    joint = evidence.full_joint
    with _collected_warnings() as cautions:
        values = {name: measure.function(joint) for name, measure in audited.items()}
        # Rounding to cells would change what jumping measures measure, and a mean needs few draws.
        cells = [
            name
            for name, measure in audited.items()
            if measure.continuous and measure.batch is not None and name != SLOW
        ]
        others = [name for name in audited if name not in cells]
        tests = run_test(
            evidence, [Statistic.of(name) for name in cells], min(draws, DRAWS_FOR_A_FLOOR), rng
        )
        reached(0.5)
        few = min(draws, DRAWS_FOR_A_MEAN)
        if evidence.clusters is None:
            floors = noise_floors(joint, others, few, rng)
        else:
            floors = clustered_noise_floors(evidence, others, few, rng)
    floors |= {test.measure: test.noise_floor for test in tests.parts}
    return Measured(values, floors, tuple(dict.fromkeys(cautions)))


def _of_residuals(evidence: Evidence, settings: Settings) -> Measured:
    """Measure with all that needs nothing of outcomes but residuals, in their units."""
    rows, unit = evidence.rows, evidence.scale.unit
    assert rows is not None  # noqa: S101  # such kinds are known by rows
    values = {name: measure_rows(rows, name, {}) for name in MEASURES}
    statistics = [Statistic.of(name) for name in MEASURES]
    test = run_test(evidence, statistics, min(settings.draws, DRAWS_FOR_A_FLOOR), settings.rng)
    floors = {
        part.measure: float(np.mean(part.null)) * unit**statistic.power
        for part, statistic in zip(test.parts, statistics, strict=True)
    }
    return Measured(values, floors, ())


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    cautions: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrantWarning)
        yield cautions
        cautions += [str(warning.message) for warning in caught]
