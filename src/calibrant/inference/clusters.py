"""Noise floors of rows in clusters, for measures that need the exact levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.inference.evidence import Evidence
from calibrant.inference.monte_carlo import MOST_NUMBERS
from calibrant.inference.statistic import Statistic
from calibrant.joint.sums import level_of


def on_exact_levels(evidence: Evidence) -> Evidence:
    """Draw on the predictions as they are given, however many levels they have."""
    joint, rows = evidence.given, evidence.rows
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
        [statistic.values(joint, charges) for statistic in statistics]
        for charges in exact.null_charges(affordable, rng)
    ]
    means = np.concatenate(values, axis=1).mean(axis=1)
    return dict(zip(measures, means.tolist(), strict=True))
