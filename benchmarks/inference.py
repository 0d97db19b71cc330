"""What inference costs in seconds, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import calibrant as cal

DRAWS = 1000
TEST_BAR, BOTH_BAR, INTERVAL_BAR = 0.7, 1.0, 1.0
MEASURES: dict[str, Callable[..., float]] = {
    "smooth": cal.smooth_calibration_error,
    "cutoff": cal.cutoff_calibration_error,
    "Laplace kernel": cal.kernel_calibration_error,
    "low degree, l1": partial(cal.low_degree_calibration_error, norm="l1"),
    "low degree, l2": partial(cal.low_degree_calibration_error, norm="l2"),
    "binned": cal.binned_calibration_error,
}


@dataclass(frozen=True)
class Inference:
    name: str
    bar: float
    call: Callable[[cal.Joint], object]
    check: Callable[[cal.Joint, object], None]


def test_of(measure: Callable[..., float], joint: cal.Joint) -> object:
    return cal.calibration_test(joint, measure=measure, draws=DRAWS, rng=0)


def check_test(measure: Callable[..., float], joint: cal.Joint, test: object) -> None:
    """Assert the statistic, and that its noise floor is that of fresh null samples."""
    assert isinstance(test, cal.CalibrationTest)
    assert abs(test.statistic - measure(joint)) <= 1e-12
    rng = np.random.default_rng(1)
    fresh = [float(measure(joint.simulated(rng))) for _ in range(60)]
    error = np.std(fresh) / np.sqrt(len(fresh)) + np.std(test.null) / np.sqrt(DRAWS)
    assert abs(np.mean(fresh) - test.noise_floor) <= 5 * error


def verdict_of(joint: cal.Joint) -> object:
    return cal.verdict(joint, draws=DRAWS - 1, rng=0)


def check_verdict(joint: cal.Joint, verdict: object) -> None:
    """Assert that the half-width is near that of the mean bias, a lower bound for it."""
    assert isinstance(verdict, cal.Verdict)
    spread = joint.mass @ (joint.outcome * (1 - joint.outcome))
    least = 1.96 * np.sqrt(spread / joint.row_count)
    assert 0.9 * least <= verdict.interval.half_width <= 3 * least


INTERVALS: dict[str, Callable[..., float]] = {
    "lower distance": cal.lower_distance_to_calibration,
    "loss against monotone recalibration": partial(
        cal.calibration_decision_loss, pooling="isotonic"
    ),
    "debiased binned, order 1": partial(cal.binned_calibration_error, debias=True),
    "debiased binned, order 2": partial(cal.binned_calibration_error, order=2, debias=True),
}


def interval_of(measure: Callable[..., float], joint: cal.Joint) -> object:
    return cal.confidence_interval(joint, measure=measure, rng=0)


def check_interval(measure: Callable[..., float], joint: cal.Joint, found: object) -> None:
    """Assert that the interval is around the value, and no wider than a few standard errors."""
    assert isinstance(found, cal.ConfidenceInterval)
    assert found.low <= float(measure(joint)) <= found.high
    assert found.high - found.low <= 20 / np.sqrt(joint.row_count)


INFERENCES = (
    *(
        Inference(
            f"test, {DRAWS} null draws: {name}",
            TEST_BAR,
            partial(test_of, measure),
            partial(check_test, measure),
        )
        for name, measure in MEASURES.items()
    ),
    Inference("test and interval: smooth", BOTH_BAR, verdict_of, check_verdict),
    *(
        Inference(
            f"interval: {name}",
            INTERVAL_BAR,
            partial(interval_of, measure),
            partial(check_interval, measure),
        )
        for name, measure in INTERVALS.items()
    ),
)
