"""One verdict per class, all of them holding at once, also for many classes with few events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.groups import Groups, judge_groups
from calibrant.inference.evidence import Evidence
from calibrant.inference.statistic import Statistic
from calibrant.inference.verdict import LARGEST_TOLERANCE, TOLERATED_SHARE, state_of
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass import ClassForecasts, class_wise
from calibrant.multiclass.surprise import class_pvalues

# Noise of classes is drawn on their exact probabilities up to so many of them, then on cells.
MOST_EXACT, CELLS = 64, 2**12
# With fewer events expected the sample hides its own spread in the far tail that many classes
# reach into: intervals away from 0 are then confirmed by redrawing labels, at least so often.
FEW_EVENTS, REDRAWS = 200, 199


def class_tolerance(classes: int) -> float:
    """Error of a class that is small enough when nobody says: 0.02, or a tenth of its even share.

    Examples
    --------
    >>> class_tolerance(3), class_tolerance(10)
    (0.02, 0.01)
    """
    return min(LARGEST_TOLERANCE, TOLERATED_SHARE / classes)


def judge_classes(
    forecasts: ClassForecasts,
    clusters: Any,
    tolerance: float,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
    values: Sequence[float] | None = None,
) -> Groups:
    """Judge every class against all others, by intervals that hold at once.

    Smooth errors by class may be known before.
    """
    if values is None:
        values = class_wise(forecasts).values.tolist()
    evidences = _evidences(forecasts, clusters)
    statistic = Statistic.of(smooth_calibration_error)
    judged = judge_groups(evidences, statistic, tolerance, confidence, draws, rng, values)
    expected = forecasts.probability.sum(axis=0)
    fewest = np.minimum(expected, len(forecasts) - expected).min()
    if clusters is not None or fewest >= FEW_EVENTS:
        return judged
    return _confirmed(judged, forecasts, rng)


def _confirmed(judged: Groups, forecasts: ClassForecasts, rng: np.random.Generator) -> Groups:
    """Take back accusations that redrawn labels, all classes at once, make too often."""
    if all(group.low <= 0 for group in judged):
        return judged
    level = 1 - judged.confidence
    found = class_pvalues(forecasts, max(REDRAWS, int(np.ceil(2 / level))), rng)
    pvalue = dict(zip(map(str, forecasts.classes), found, strict=True))
    groups = [
        group
        if group.low <= 0 or pvalue[group.name] <= level
        else replace(group, low=0.0, state=state_of(0.0, group.high, judged.tolerance))
        for group in judged
    ]
    return replace(judged, groups=tuple(groups))


def _evidences(forecasts: ClassForecasts, clusters: Any) -> dict[tuple[str, str], Evidence]:
    """Evidence of each class against all others; of many classes only cells are kept."""
    if clusters is not None or len(forecasts.classes) <= MOST_EXACT:
        return {
            ("class", str(name)): Evidence.of_rows(forecasts.class_rows(index), clusters)
            for index, name in enumerate(forecasts.classes)
        }
    return {
        ("class", str(name)): Evidence.of_joint(joint.rounded(CELLS))
        for name, joint in forecasts.class_wise()
    }
