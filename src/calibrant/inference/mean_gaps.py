"""Intervals of mean gaps between forecast and rate: debiased binned errors, errors of levels."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.binning import Pooling, bins_between
from calibrant.errors import InferenceRefusedError
from calibrant.inference.evidence import Evidence
from calibrant.inference.gap import Ranges, gap_interval
from calibrant.inference.interval import ConfidenceInterval, interval_between, upper_quantile
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic, residual_mass_of
from calibrant.joint import Joint
from calibrant.measures.binned import binned_calibration_error, pools_of
from calibrant.measures.exact import exact_calibration_error

# Levels of fewer rows than this are few, and may hold this share of the weight at most.
FEW_ROWS, MOST_OF_THEM = 10, 0.05


def is_mean_gap(statistic: Statistic) -> bool:
    """Whether an error is one of these: of levels, or binned and debiased; of order 1 or 2."""
    options = statistic.options
    if options.get("order", 1) not in {1, 2}:
        return False
    if statistic.function is exact_calibration_error:
        return True
    usual = options.get("form", "residual") == "residual" and options.get("mean", "rows") == "rows"
    fixed = options.get("strategy", "uniform") != "quantile"
    return (
        statistic.function is binned_calibration_error
        and options.get("debias", False) is True
        and usual
        and fixed
    )


def mean_gap_interval(
    evidence: Evidence, statistic: Statistic, settings: Settings
) -> ConfidenceInterval:
    """Interval of the population's error over the same pools.

    Of order 2 as the typical gap. Of order 1: the error of the sample exceeds that of the
    population by at most the error of the noise; and its expectation is not below the population's
    (Jensen), so that only its spread is added above.
    """
    joint = evidence.joint
    pooling = _pools(evidence, statistic)
    first = np.flatnonzero(np.diff(pooling.pool_of(joint.prediction), prepend=-1))
    ranges = Ranges.at(evidence, pooling, first)
    parts = evidence.multiplied_residual_masses(settings.draws, settings.rng, settings.confidence)
    noise = np.concatenate([np.add.reduceat(part, first, axis=1) for part in parts])
    value = statistic.value(evidence.full_joint)
    if statistic.options.get("order", 1) == 2:
        found = gap_interval(evidence, ranges, noise / np.sqrt(ranges.mass), settings.confidence)
        low, high = found.low, found.high
    else:
        observed = np.add.reduceat(residual_mass_of(joint), first)
        low, high = _of_order_one(observed, noise, settings.confidence, evidence)
    return interval_between(evidence, statistic, settings, value, low, high)


def _of_order_one(
    observed: Floats, noise: Floats, confidence: float, evidence: Evidence
) -> tuple[float, float]:
    from scipy.special import ndtri

    half, wide = (1 + confidence) / 2, evidence.widening(1 - confidence)
    total = float(np.abs(observed).sum())
    below = upper_quantile(np.abs(noise).sum(axis=1), half) * wide
    # The spread of the error with noise once more, and in the direction of the biases seen.
    again = np.abs(observed + noise).sum(axis=1).std(), (noise @ np.sign(observed)).std()
    above = float(ndtri(half)) * float(max(again)) * wide
    return max(0.0, total - below), total + above


def _pools(evidence: Evidence, statistic: Statistic) -> Pooling:
    if statistic.function is binned_calibration_error:
        names = ("n_bins", "strategy", "closed")
        options = {name: statistic.options[name] for name in names if name in statistic.options}
        return pools_of(evidence.joint, **options)
    joint = evidence.full_joint
    few = float(joint.mass[joint.rows < FEW_ROWS].sum())
    if evidence.joint is not joint or few > MOST_OF_THEM:
        raise InferenceRefusedError(
            "an interval of the expected error needs forecasts that repeat",
            f"{few:.0%} of the weight at levels of fewer than {FEW_ROWS} rows",
            "use cross_validated_error, or a binned error",
        )
    return _levels(joint)


def _levels(joint: Joint) -> Pooling:
    """Return every level as a pool of its own."""
    between = (joint.prediction[1:] + joint.prediction[:-1]) / 2
    return bins_between(joint, np.concatenate([[0.0], between, [1.0]]))
