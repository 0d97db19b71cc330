"""One verdict per class, all of them holding at once, also for many classes with few events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.groups import Group, Groups, judge_groups
from calibrant.inference.evidence import Evidence
from calibrant.inference.statistic import Statistic
from calibrant.inference.test import run_test
from calibrant.inference.verdict import LARGEST_TOLERANCE, TOLERATED_SHARE, state_of
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass import ClassForecasts

# Classes are judged on their exact probabilities up to so many of them, then on cells.
MOST_EXACT, CELLS = 64, 2**12
# With fewer events expected the sample hides its own spread in the far tail that many classes
# reach into: an interval away from 0 is then confirmed by redrawing, on so many cells.
FEW_EVENTS, CELLS_FOR_REDRAWS = 200, 2**8


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
) -> Groups:
    """Judge every class against all others, by intervals that hold at once."""
    evidences = _evidences(forecasts, clusters)
    statistic = Statistic.of(smooth_calibration_error)
    judged = judge_groups(evidences, statistic, tolerance, confidence, draws, rng)
    if clusters is not None:
        return judged
    level = (1 - confidence) / len(judged)
    groups = [
        _confirmed(group, evidences[group.by, group.name], tolerance, level, rng)
        for group in judged
    ]
    return replace(judged, groups=tuple(groups))


def _confirmed(
    group: Group, evidence: Evidence, tolerance: float, level: float, rng: np.random.Generator
) -> Group:
    """Take back an accusation that redrawn labels make too often for so many classes."""
    expected = group.mean_prediction * group.rows
    if group.low <= 0 or min(expected, group.rows - expected) >= FEW_EVENTS:
        return group
    coarse = Evidence.of_joint(evidence.given.rounded(CELLS_FOR_REDRAWS))
    test = run_test(coarse, Statistic.of(smooth_calibration_error), int(np.ceil(2 / level)), rng)
    if test.pvalue <= level:
        return group
    return replace(group, low=0.0, state=state_of(0.0, group.high, tolerance))


def _evidences(forecasts: ClassForecasts, clusters: Any) -> dict[tuple[str, str], Evidence]:
    """Evidence of each class against all others; of many classes only cells are kept."""
    if len(forecasts.classes) <= MOST_EXACT:
        return {
            ("class", str(name)): Evidence.of_rows(forecasts.class_rows(index), clusters)
            for index, name in enumerate(forecasts.classes)
        }
    return {
        ("class", str(name)): Evidence.of_joint(joint.rounded(CELLS))
        for name, joint in forecasts.class_wise()
    }
