"""What can be said of classes beyond confidence: each of them, sets of them, and whole rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import ShareOfRarer, Tolerance
from calibrant.inference import (
    CalibrationTest,
    Evidence,
    Groups,
    Settings,
    Statistic,
    judge_evidences,
)
from calibrant.joint.classes import ClassForecasts
from calibrant.kinds import LARGEST_TOLERANCE, TOLERATED_SHARE
from calibrant.measures.measurement import Measurement
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.measures.subsets import in_levels
from calibrant.multiclass.monte_carlo import calibration_test
from calibrant.multiclass.projected import projected_smooth_calibration_error, tries_all
from calibrant.multiclass.redraws import redraws_in_parts
from calibrant.multiclass.reductions import class_wise

# Errors of redrawn labels, and those they are compared with, are measured on so many cells.
CELLS = 2**7


def class_pvalues(forecasts: ClassForecasts, draws: int, rng: np.random.Generator) -> Floats:
    """For each class the chance that the worst class of perfect forecasts surprises as much.

    Labels are redrawn from their rows, for all classes at once, and the largest surprise over the
    classes is what each class is compared with. So the chance that any p-value is at most a is at
    most a if all rows are right, for every sample size and any weights. If some classes are
    wrong, the labels of the others are still distributed as drawn (a row's chances of the other
    classes determine it), and their largest surprise is at most that of all classes: each of them
    keeps the same protection (Westfall, Young, 1993, Resampling-based multiple testing).
    """
    observed = _surprises(forecasts, forecasts.label[np.newaxis, :])[0]
    parts = redraws_in_parts(forecasts, draws, rng)
    largest = np.concatenate([_surprises(forecasts, labels).max(axis=1) for labels in parts])
    # Equal surprises may differ in their last digits: a tie speaks for the forecaster.
    below = np.searchsorted(np.sort(largest), observed * (1 - 1e-9))
    return np.asarray((1 + draws - below) / (1 + draws))


def _surprises(forecasts: ClassForecasts, labels: Indices) -> Floats:
    """Surprise at the smooth error of each class, one row per series of labels."""
    draws, rows = labels.shape
    count = len(forecasts.classes)
    # Entries of the labels by class; sorting short integers takes linear time.
    narrow = labels.ravel().astype(np.uint16 if count <= 2**16 else np.uint32)
    order = np.argsort(narrow, kind="stable")
    ends = np.append(0, np.bincount(narrow, minlength=count).cumsum())
    weight = np.ones(rows) if forecasts.weight is None else forecasts.weight
    statistic = Statistic.of(smooth_calibration_error)
    found = np.empty((draws, count))
    for index, column in enumerate(forecasts.columns()):
        joint, level = in_levels(column, forecasts.weight, CELLS)
        draw, row = np.divmod(order[ends[index] : ends[index + 1]], rows)
        flat = draw * len(joint) + level[row]
        happened = np.bincount(flat, weight[row], draws * len(joint))
        residual_masses = happened.reshape(draws, len(joint)) - joint.weight * joint.prediction
        errors = statistic.values(joint, residual_masses / joint.total)
        found[:, index] = _exponent(errors, column, forecasts.mass)
    return found


def _exponent(errors: Floats, column: Floats, mass: Floats) -> Floats:
    """Make errors of rare and of frequent classes comparable.

    Bennett's exponent m h(x / m) with h(u) = (1 + u) log(1 + u) - u: minus the logarithm of the
    chance that counts of variance m exceed their mean by x, roughly. Any increasing function of
    the error would keep p-values valid; this one treats classes alike.
    """
    unit = float(mass @ mass)
    variance = max(float(mass**2 @ (column * (1 - column))) / unit**2, 1e-300)
    excess = errors / unit
    ratio = excess / variance
    return np.asarray((variance + excess) * np.log1p(ratio) - excess)


# Noise of classes is drawn on their exact probabilities up to so many of them, then on cells.
MOST_EXACT, CELLS_OF_A_CLASS = 64, 2**12
# With fewer events expected the sample hides its own spread in the far tail that many classes
# reach into: intervals away from 0 are then confirmed by redrawing labels, at least so often.
FEW_EVENTS, REDRAWS = 200, 199
# Redraws of labels for whole rows, and for the worst set of classes: the more, the less they cost.
DRAWS_FOR_ROWS, DRAWS_FOR_SETS = 99, (39, 19)
# Rows times sets, where all are tried, and rows times classes, where sets are searched, up to
# which there are so many redraws; none beyond.
MOST_TRIED, MOST_SEARCHED = (2**24, 2**26), (2**21, 2**24)


@dataclass(frozen=True, slots=True)
class SetsAndRows:
    """The worst set of classes, and whole rows of probabilities, beside what chance gets."""

    projected: Measurement
    """Smooth error of the worst set of classes."""
    projected_test: CalibrationTest | None
    """The same beside what perfect forecasts get; None with clusters, or if too slow."""
    canonical: CalibrationTest | None
    """Kernel error of the whole rows beside what perfect forecasts get; None with clusters."""

    @property
    def floor(self) -> float | None:
        """Mean error of perfect forecasts' worst set, if it was found."""
        if self.projected_test is not None:
            return self.projected_test.noise_floor
        floor = self.projected.settings.get("noise_floor")
        return None if floor is None else float(floor)


def judge_sets_and_rows(
    forecasts: ClassForecasts, clusters: Any, settings: Settings
) -> SetsAndRows:
    """Measure the worst set of classes; test it and whole rows, if rows stand alone."""
    draws, rng = settings.draws, settings.rng
    measure = partial(projected_smooth_calibration_error, floor_draws=0)
    if clusters is not None:
        return SetsAndRows(measure(forecasts, rng=rng), None, None)
    affordable = _draws_for_sets(len(forecasts), len(forecasts.classes))
    searched = None
    if affordable:
        projected = measure(forecasts, rng=rng)
        searched = calibration_test(
            forecasts, measure=measure, draws=min(draws, affordable), rng=rng
        )
    else:
        projected = projected_smooth_calibration_error(forecasts, rng=rng)
    whole = calibration_test(forecasts, draws=min(draws, DRAWS_FOR_ROWS), rng=rng)
    return SetsAndRows(projected, searched, whole)


def _draws_for_sets(rows: int, classes: int) -> int:
    everything = tries_all(classes, "auto")
    cost = rows * (2 ** (classes - 1) if everything else classes)
    limits = MOST_TRIED if everything else MOST_SEARCHED
    affordable = (
        draws for limit, draws in zip(limits, DRAWS_FOR_SETS, strict=True) if cost <= limit
    )
    return next(affordable, 0)


def class_tolerance(classes: int, chosen: Tolerance | None = None) -> float:
    """Error of a class that is small enough; a relative one is relative to its even share.

    By default 0.02, or a tenth of the even share.

    Examples
    --------
    >>> class_tolerance(3), class_tolerance(10), class_tolerance(10, ShareOfRarer(0.5))
    (0.02, 0.01, 0.05)
    """
    if isinstance(chosen, ShareOfRarer):
        return chosen.share / classes
    if chosen is not None:
        return chosen
    return min(LARGEST_TOLERANCE, TOLERATED_SHARE / classes)


def judge_classes(
    forecasts: ClassForecasts,
    clusters: Any,
    settings: Settings,
    values: Sequence[float] | None = None,
) -> Groups:
    """Judge every class against all others, by intervals that hold at once.

    Without a tolerance in the settings that of `class_tolerance` counts. Smooth errors by class
    may be known before.
    """
    if values is None:
        values = class_wise(forecasts).values.tolist()
    evidences = _evidences(forecasts, clusters)
    statistic = Statistic.of(smooth_calibration_error)
    allowed = class_tolerance(len(forecasts.classes), settings.tolerance)
    within = settings.within(allowed)
    if settings.gap_tolerance is not None:
        gap_allowed = class_tolerance(len(forecasts.classes), settings.gap_tolerance)
        within = replace(within, gap_tolerance=gap_allowed)
    judged = replace(judge_evidences(evidences, statistic, within, values), noun="class")
    expected = forecasts.probability.sum(axis=0)
    fewest = np.minimum(expected, len(forecasts) - expected).min()
    if clusters is not None or fewest >= FEW_EVENTS:
        return judged
    return _confirmed(judged, forecasts, settings.rng)


def _confirmed(judged: Groups, forecasts: ClassForecasts, rng: np.random.Generator) -> Groups:
    """Take back accusations that redrawn labels, all classes at once, make too often."""
    if all(group.low <= 0 and (group.gap is None or group.gap.low <= 0) for group in judged):
        return judged
    level = 1 - judged.confidence
    found = class_pvalues(forecasts, max(REDRAWS, int(np.ceil(2 / level))), rng)
    return judged.confirmed(dict(zip(map(str, forecasts.classes), found, strict=True)))


def _evidences(forecasts: ClassForecasts, clusters: Any) -> dict[tuple[str, str], Evidence]:
    """Evidence of each class against all others; of many classes only cells are kept."""
    if clusters is not None or len(forecasts.classes) <= MOST_EXACT:
        return {
            ("class", str(name)): Evidence.of_rows(forecasts.class_rows(index), clusters)
            for index, name in enumerate(forecasts.classes)
        }
    return {
        ("class", str(name)): Evidence.of_joint(joint.rounded(CELLS_OF_A_CLASS))
        for name, joint in forecasts.class_wise()
    }
