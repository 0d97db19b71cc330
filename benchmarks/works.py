"""What is timed, its bar as a multiple of a stable sort, and a check of its answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.decisions import mean_score
from shapes import Floats

Call = Callable[[Floats, Floats], Any]


@dataclass(frozen=True)
class Work:
    name: str
    bar: float
    call: Call
    check: Callable[[Floats, Floats, Any], None]
    memory: float = 6.0
    """Bar for the peak memory beyond the input, in arrays of as many doubles as there are rows."""


TEN_ACTIONS = cal.DecisionTask.quadratic(10)


def quietly(call: Callable[..., Any], **options: object) -> Callable[[Floats, Floats], Any]:
    """Do not be warned that exact levels of such forecasts mean little: time is what counts."""

    def quiet(y: Floats, p: Floats) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
            return call(y, p, **options)

    return quiet


def smooth_in_cells(y: Floats, p: Floats) -> float:
    return cal.smooth_calibration_error(cal.Joint.from_samples(y, p, resolution=2**16))


def smooth_in_two_threads(y: Floats, p: Floats) -> cal.Measurement:
    with cal.threads(2):
        return cal.smooth_calibration_error(y, p)


def in_a_range(y: Floats, p: Floats) -> cal.Measurement:
    return cal.calibration_error(y, p, range=(0, 1))


def without_a_range(y: Floats, p: Floats) -> cal.Measurement:
    return cal.calibration_error(y, p)


def of_quantiles(y: Floats, p: Floats) -> cal.Measurement:
    return cal.calibration_error(y, p, kind="quantile=0.9")


def check_in_a_range(y: Floats, p: Floats, value: cal.Measurement) -> None:
    assert value == cal.smooth_calibration_error(y, p)


def check_without_a_range(y: Floats, p: Floats, value: cal.Measurement) -> None:
    gain = float(np.mean(value.witness(p) * (y - p)))
    assert abs(gain - value) <= 1e-10, (gain, float(value))


def check_of_quantiles(y: Floats, p: Floats, value: cal.Measurement) -> None:
    gain = float(np.mean(value.witness(p) * (0.9 - (y <= p))))
    assert abs(gain - value) <= 1e-10, (gain, float(value))


def two_bins_in_cells(y: Floats, p: Floats) -> cal.Measurement:
    return cal.averaged_two_bin_error(cal.Joint.from_samples(y, p, resolution=2**16))


def attains(value: cal.Measurement, y: Floats, p: Floats, lipschitz: float) -> None:
    """Primal and dual agree: the witness is feasible and gains the value on the rows."""
    witness = value.witness
    assert np.abs(witness.value).max() <= 1
    steps = np.abs(np.diff(witness.value)) - lipschitz * np.diff(witness.knot)
    assert steps.size == 0 or steps.max() <= 1e-13
    gain = float(np.mean(witness(p) * (y - p)))
    assert abs(gain - value) <= 1e-10, (gain, float(value))


def check_smooth(y: Floats, p: Floats, value: cal.Measurement) -> None:
    attains(value, y, p, 1.0)


def check_earth_mover(y: Floats, p: Floats, value: cal.Measurement) -> None:
    attains(value, y, p, 2.0)


def check_cells(y: Floats, p: Floats, value: cal.Measurement) -> None:
    low, high = value.bounds
    assert low <= cal.smooth_calibration_error(y, p) <= high
    assert high - low <= 2**-16


def check_two_bins(y: Floats, p: Floats, value: cal.Measurement) -> None:
    """Assert that the witness gains the value, and that thresholds on a grid come near it."""
    assert abs(float(np.mean(value.witness(p) * (y - p))) - value) <= 1e-12
    index = np.minimum((p * 4096).astype(int), 4095)
    below = np.concatenate([[0.0], np.cumsum(np.bincount(index, y - p, 4096))]) / y.size
    grid = np.mean(below**2 + (below[-1] - below) ** 2)
    assert abs(grid - value) <= 1e-3


def check_two_bin_cells(y: Floats, p: Floats, value: cal.Measurement) -> None:
    low, high = value.bounds
    assert low <= cal.averaged_two_bin_error(y, p) <= high
    assert high - low <= 2**-16


def check_binned(y: Floats, p: Floats, value: float) -> None:
    edges = np.arange(16) / 15
    index = np.minimum(np.searchsorted(edges, p, side="right") - 1, 14)
    expected = np.abs(np.bincount(index, y - p, 15)).sum() / y.size
    assert abs(value - expected) <= 1e-11


def check_ece(y: Floats, p: Floats, value: float) -> None:
    _, index = np.unique(p, return_inverse=True)
    expected = np.abs(np.bincount(index, y - p)).sum() / y.size
    assert abs(value - expected) <= 1e-10


def check_cutoff(y: Floats, p: Floats, value: float) -> None:
    _, index = np.unique(p, return_inverse=True)
    walk = np.concatenate([[0.0], np.cumsum(np.bincount(index, y - p))]) / y.size
    assert abs(value - (walk.max() - walk.min())) <= 1e-10


def check_certified(y: Floats, p: Floats, value: cal.CertifiedThreshold) -> None:
    """Assert that what is certified was counted, and has no more errors than the limit expects."""
    if value.threshold is None:
        return
    answered = p >= value.threshold
    assert (value.answered, value.errors) == (answered.sum(), (y[answered] == 0).sum())
    assert value.errors <= value.risk * value.answered


def check_smoothed(y: Floats, p: Floats, value: cal.Measurement) -> None:
    """Assert that the smoothed sign gains the width found, on the rows themselves."""
    low, high = value.bounds
    assert low <= value <= high
    assert high - low <= 1e-3
    assert np.abs(value.witness.value).max() <= 1 + 1e-9
    gain = float(np.mean(value.witness(p) * (y - p)))
    assert abs(gain - value) <= high - low + 1e-10, (gain, float(value))


def check_kernel(y: Floats, p: Floats, value: cal.Measurement) -> None:
    """Assert that the best test gains the value on the rows, and that another gains no more."""
    assert abs(float(np.mean(value.witness(p) * (y - p))) - value) <= 1e-10
    assert abs(float(np.mean(np.exp(-np.abs(p - 0.3)) * (y - p)))) <= value + 1e-12


def loss_at(y: Floats, p: Floats, threshold: float) -> float:
    """Loss of acting from a threshold on against knowing frequencies, the worse rule for ties."""
    level, index = np.unique(p, return_inverse=True)
    worth = np.bincount(index, y - threshold)
    best = worth[worth > 0].sum()
    return float(max(best - worth[level >= threshold].sum(), best - worth[level > threshold].sum()))


def check_worst_loss(y: Floats, p: Floats, value: cal.Measurement) -> None:
    """Assert that the worst task loses the value on the rows, and that other tasks lose less."""
    task = value.witness.task
    assert task.payoffs.min() >= 0
    assert task.payoffs.max() <= 1 + 1e-12
    bend = np.diff(task.payoffs[:, 1] - task.payoffs[:, 0])
    lost = sum(b * loss_at(y, p, t) for b, t in zip(bend, task.thresholds, strict=True)) / y.size
    assert abs(lost - value) <= 1e-9, (lost, float(value))
    for t in (0.1, 0.5, 0.8):
        assert loss_at(y, p, t) / y.size / max(t, 1 - t) <= value + 1e-9


def check_curve(y: Floats, p: Floats, curve: cal.decisions.Curve) -> None:
    _, index = np.unique(p, return_inverse=True)
    counts = np.bincount(index)
    square = float(np.sum(np.bincount(index, y - p) ** 2 / counts)) / y.size
    assert abs(curve.integral - square) <= 1e-9
    assert abs(float(curve(0.3)) - 2 * loss_at(y, p, 0.3) / y.size) <= 1e-9


def check_ten_actions(y: Floats, p: Floats, value: float) -> None:
    level, index = np.unique(p, return_inverse=True)
    counts, positives = np.bincount(index), np.bincount(index, y)
    paid = TEN_ACTIONS.payoffs @ np.stack([counts - positives, positives])
    promised = TEN_ACTIONS.payoffs @ np.stack([1 - level, level])
    # Forecasts on a threshold take the action that turned out worse.
    tied = promised >= promised.max(axis=0) - 1e-12
    lost = float(np.sum(paid.max(axis=0) - np.where(tied, paid, np.inf).min(axis=0))) / y.size
    assert abs(value - lost) <= 1e-9, (float(value), lost)


def check_decomposition(y: Floats, p: Floats, parts: cal.decisions.ScoreDecomposition) -> None:
    from scipy.optimize import isotonic_regression

    _, index = np.unique(p, return_inverse=True)
    counts = np.bincount(index)
    fit = isotonic_regression(np.bincount(index, y) / counts, weights=counts).x[index]
    assert abs(parts.score - float(np.mean((y - p) ** 2))) <= 1e-10
    assert abs(parts.score - parts.miscalibration - float(np.mean((y - fit) ** 2))) <= 1e-10
    assert abs(parts.uncertainty - float(np.var(y))) <= 1e-10


def mean_of(score: str) -> Call:
    return partial(mean_score, score=score)


def interval_of(score: str) -> Call:
    return partial(cal.confidence_interval, measure=score)


def check_score(losses: Call, y: Floats, p: Floats, value: float) -> None:
    assert abs(value - float(np.mean(losses(y, p)))) <= 1e-12


def check_score_interval(losses: Call, y: Floats, p: Floats, found: Any) -> None:
    """Assert mean and width: many rows leave little of Wilson's events."""
    check_score(losses, y, p, found.value)
    width = 1.96 * float(np.std(losses(y, p))) / np.sqrt(y.size)
    assert 0.999 * width <= found.half_width <= 1.05 * width


def squares(y: Floats, p: Floats) -> Floats:
    return (y - p) ** 2


def surprises(y: Floats, p: Floats) -> Floats:
    return -np.log(np.where(y == 1, p, 1 - p))


def check_classical(y: Floats, p: Floats, found: cal.ClassicalNumbers) -> None:
    """Assert that the line leaves no slope and no intercept in what remains inside (0, 1)."""
    inside = (p > 0) & (p < 1)
    odds = np.log(p[inside]) - np.log1p(-p[inside])
    rest = y[inside] - 1 / (1 + np.exp(-(found.intercept.value + found.slope.value * odds)))
    assert abs(float(np.mean(rest))) <= 1e-10
    assert abs(float(np.mean(rest * odds))) <= 1e-9
    assert abs(found.ratio.value - y.sum() / p.sum()) <= 1e-10
    assert abs(found.brier - float(np.mean((y - p) ** 2))) <= 1e-12


# The interval error is timed on this many rows, whatever the size of the sort beside it.
INTERVAL_ROWS = 10**5


def lower_to_5_digits(y: Floats, p: Floats) -> float:
    return cal.lower_distance_to_calibration(y, p, tolerance=1e-5)


def interval_of_some(y: Floats, p: Floats) -> float:
    return cal.interval_calibration_error(y[:INTERVAL_ROWS], p[:INTERVAL_ROWS])


def upper_of_few_levels(y: Floats, p: Floats) -> cal.Measurement:
    return cal.upper_distance_to_calibration(y, np.round(17 * p) / 17)


def check_upper(y: Floats, p: Floats, value: cal.Measurement) -> None:
    """Assert that the map found has the value, is calibrated, and is called the best."""
    assert value.bounds == (value, value)
    few = np.round(17 * p) / 17
    moved = value.witness(few)
    assert abs(float(np.mean(np.abs(moved - few))) - value) <= 1e-10
    _, group = np.unique(moved, return_inverse=True)
    assert np.abs(np.bincount(group, y - moved)).max() <= 1e-6 * y.size


def check_lower(y: Floats, p: Floats, value: cal.Measurement) -> None:
    """Check both ends: a game that no calibrated law wins, and the cost of reaching such a law."""
    low, high = value.bounds
    assert high == value
    assert high - low <= value.settings["tolerance"]
    witness, law = value.witness, value.witness.calibrated
    u = np.union1d(np.linspace(0, 1, 10**6), witness.knot)
    one, zero = witness.payment(u, 1), witness.payment(u, 0)
    assert (u * one + (1 - u) * zero).max() <= 1e-12
    assert max(np.max(np.abs(np.diff(f)) - np.diff(u)) for f in (one, zero)) <= 1e-13
    gain = float(np.mean(np.where(y == 1, witness.payment(p, 1), witness.payment(p, 0))))
    assert abs(gain - low) <= 1e-10, (gain, low)
    assert np.abs(law.residual).max() <= 1e-12
    cost = 0.0
    for outcome, share in ((1, law.prediction), (0, 1 - law.prediction)):
        rows = p[y == outcome]
        points = np.append(rows, law.prediction)
        order = np.argsort(points, kind="stable")
        mass = np.append(np.full(rows.size, 1 / p.size), -law.mass * share)
        cost += float(np.abs(np.cumsum(mass[order])[:-1]) @ np.diff(points[order]))
    assert abs(cost - high) <= 1e-9, (cost, high)


def check_interval(y: Floats, p: Floats, value: cal.Measurement) -> None:
    """Assert that the partition found has the value and the bounds are as close as promised."""
    y, p = y[:INTERVAL_ROWS], p[:INTERVAL_ROWS]
    low, high = value.bounds
    assert 0 <= high - low <= 1e-4 + 1e-12
    interval = value.witness.pool_of(p)
    bias = np.abs(np.bincount(interval, y - p)).sum() / y.size
    order = np.argsort(interval, kind="stable")
    first = np.flatnonzero(np.diff(interval[order], prepend=-1))
    ends = np.maximum.reduceat(p[order], first) - np.minimum.reduceat(p[order], first)
    assert abs(bias + ends.max() - value) <= 1e-10


WORKS = (
    Work("smooth error, exact", 0.95, cal.smooth_calibration_error, check_smooth),
    Work("smooth error, exact, two threads", 0.6, smooth_in_two_threads, check_smooth),
    Work("earth mover distance, exact", 0.95, cal.earth_mover_distance, check_earth_mover),
    Work("smooth error of means in a range", 1.44, in_a_range, check_in_a_range, 7.0),
    Work("smooth error of means without one", 1.44, without_a_range, check_without_a_range, 9.5),
    Work("smooth error of quantiles", 1.44, of_quantiles, check_of_quantiles, 9.5),
    Work("smooth error, 2^16 cells", 0.1, smooth_in_cells, check_cells),
    Work("binned error, 15 bins", 0.04, cal.binned_calibration_error, check_binned),
    Work("smECE, certified", 0.09, cal.kernel_smoothed_calibration_error, check_smoothed),
    Work("expected error, exact", 0.35, quietly(cal.exact_calibration_error), check_ece),
    Work("Laplace kernel error, exact", 0.35, cal.kernel_calibration_error, check_kernel),
    Work("averaged two-bin error, exact", 0.35, cal.averaged_two_bin_error, check_two_bins),
    Work("averaged two-bin error, 2^16 cells", 0.1, two_bins_in_cells, check_two_bin_cells),
    Work("cutoff error, exact", 0.35, cal.cutoff_calibration_error, check_cutoff),
    Work("certified threshold", 0.5, cal.certified_threshold, check_certified),
    Work("decision loss", 0.9, quietly(cal.calibration_decision_loss), check_worst_loss),
    # Three arrays of the Joint, and three of the curve.
    Work("decision loss curve", 0.9, quietly(cal.decision_loss_curve), check_curve, 6.5),
    Work(
        "loss of ten actions",
        0.9,
        quietly(cal.fixed_decision_loss, task=TEN_ACTIONS),
        check_ten_actions,
    ),
    # Isotonic regression copies what it is given and returns more than pools.
    Work("isotonic decomposition", 1.0, cal.score_decomposition, check_decomposition, 10.0),
    Work("Brier score", 0.15, mean_of("brier"), partial(check_score, squares)),
    Work("log loss", 0.15, mean_of("log"), partial(check_score, surprises)),
    # Losses for both outcomes, those of the rows, and what the spread is made of.
    Work(
        "Brier score with interval",
        0.4,
        interval_of("brier"),
        partial(check_score_interval, squares),
        12.0,
    ),
    Work(
        "log loss with interval",
        0.4,
        interval_of("log"),
        partial(check_score_interval, surprises),
        12.0,
    ),
    Work("classical numbers", 3.0, cal.classical_numbers, check_classical, 30.0),
    Work("lower distance to 1e-3", 1.5, cal.lower_distance_to_calibration, check_lower),
    Work("lower distance to 1e-5", 20, lower_to_5_digits, check_lower),
    Work("upper distance of 18 levels", 0.3, upper_of_few_levels, check_upper),
    Work("interval error to 1e-4, 10^5 rows", 9, interval_of_some, check_interval),
)
