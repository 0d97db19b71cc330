"""One verdict per class, all of them holding at once, also for many classes with few events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant.inference.evidence import Evidence
from calibrant.inference.settings import Settings
from calibrant.inference.simultaneous import Groups, judge_evidences
from calibrant.inference.statistic import Statistic
from calibrant.inference.verdict import LARGEST_TOLERANCE, TOLERATED_SHARE
from calibrant.joint.classes import ClassForecasts
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass.reductions import class_wise
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
    allowed = settings.tolerance or class_tolerance(len(forecasts.classes))
    judged = judge_evidences(evidences, statistic, settings.within(allowed), values)
    expected = forecasts.probability.sum(axis=0)
    fewest = np.minimum(expected, len(forecasts) - expected).min()
    if clusters is not None or fewest >= FEW_EVENTS:
        return judged
    return _confirmed(judged, forecasts, settings.rng)


def _confirmed(judged: Groups, forecasts: ClassForecasts, rng: np.random.Generator) -> Groups:
    """Take back accusations that redrawn labels, all classes at once, make too often."""
    if all(group.low <= 0 for group in judged):
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
        ("class", str(name)): Evidence.of_joint(joint.rounded(CELLS))
        for name, joint in forecasts.class_wise()
    }
