"""Losses of forecasts on held-out rows, before and after recalibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.decisions import DecisionTask, Score, as_score
from calibrant.inference import ConfidenceInterval, Settings, Statistic, find_interval
from calibrant.joint.classes import ClassForecasts
from calibrant.joint.ranking import ordered_pairs
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.repair.folds import Units
from calibrant.repair.row_losses import failed_rows, finite, mean_loss
from calibrant.words import count_text

# A group with fewer rows is not looked at: its interval would say nothing.
FEWEST_ROWS = 30


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """The group whose smooth error is most certainly large."""

    column: str
    name: str
    rows: int
    interval: ConfidenceInterval


@dataclass(frozen=True, slots=True)
class Judgement:
    """Losses of forecasts on held-out rows.

    No calibration error of all rows is among them: each fold is recalibrated by the others, so
    that residuals of all folds together sum to about zero whatever the map is worth. Losses are
    not affected, because every row has a loss of its own.
    """

    brier: float
    """Mean squared error; of classes, summed over them."""
    log_loss: float
    """Mean of minus the log of the chance given to what happened; infinite if `failed`."""
    failed: int
    """Rows in which what happened had a forecast of exactly 0."""
    task_loss: float | None
    """Minus the mean payoff of the caller's decision, if there is one."""
    auc: float
    """Chance that of a row with outcome 1 and one with outcome 0 in the same fold the first has
    the higher forecast, ties counted half; NaN for one outcome, and for classes."""
    ties: float
    """Share of such pairs with equal forecasts."""
    worst_group: WorstGroup | None = None
    """Of the groups that were asked for, on the rows of one fold (`Units.held_out`)."""
    accuracy: float | None = None
    """Of classes: share of rows whose most likely class happened."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; what is not defined is None."""
        worst = self.worst_group
        return {
            "brier": self.brier,
            "log_loss": finite(self.log_loss),
            "failed": self.failed,
            "task_loss": self.task_loss,
            "auc": finite(self.auc),
            "ties": finite(self.ties),
            "worst_group": None
            if worst is None
            else {
                "column": worst.column,
                "name": worst.name,
                "rows": worst.rows,
                "smooth_error": worst.interval.value,
                "smooth_error_low": worst.interval.low,
                "smooth_error_high": worst.interval.high,
            },
            "accuracy": self.accuracy,
        }


def judge(
    units: Units,
    prediction: Floats,
    task: DecisionTask | None,
    labels: Mapping[str, npt.NDArray[Any]],
    settings: Settings,
) -> Judgement:
    """Find the losses of predictions, each made by a map that was fitted to other folds.

    Every interval starts from the seed of the settings.
    """

    def mean(score: Score) -> float:
        return mean_loss(units, score, prediction)

    auc, ties = _ranking(units, prediction)
    moved, held = units.forecasts(prediction), units.held_out
    of_one_fold = {name: column[held] for name, column in labels.items()}
    return Judgement(
        brier=mean(as_score("brier")),
        log_loss=mean(as_score("log")),
        failed=failed_rows(units, prediction),
        task_loss=None if task is None else mean(as_score(task)),
        auc=auc,
        ties=ties,
        worst_group=_worst_group(units.where(held), prediction[held], of_one_fold, settings),
        accuracy=None if moved is None else _accuracy(moved),
    )


def failure_text(units: Units, before: Floats, after: Floats) -> str:
    """Say how many forecasts of exactly 0 or 1 failed before, and none after; or nothing."""
    failed = failed_rows(units, before)
    if not failed or failed_rows(units, after):
        return ""
    return f", because {count_text(failed, 'forecast')} of exactly 0 or 1 failed"


def plain_table(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return a table that JSON can hold: what is infinite or not defined is None."""
    return {
        name: [finite(value) if isinstance(value, float) else value for value in column]
        for name, column in table.items()
    }


def _interval(units: Units, prediction: Floats, settings: Settings) -> ConfidenceInterval:
    statistic = Statistic.of(smooth_calibration_error)
    return find_interval(units.evidence(prediction), statistic, settings.again(settings.seed or 0))


def _worst_group(
    units: Units,
    prediction: Floats,
    labels: Mapping[str, npt.NDArray[Any]],
    settings: Settings,
) -> WorstGroup | None:
    """Order groups by the lower end of their interval: by evidence, not by the raw error."""
    found = []
    for column, values in labels.items():
        names, code = np.unique(values, return_inverse=True)
        for number, name in enumerate(names):
            inside = code == number
            rows = int(units.count[inside].sum())
            if rows >= FEWEST_ROWS:
                interval = _interval(units.where(inside), prediction[inside], settings)
                found.append(WorstGroup(column, str(name), rows, interval))
    return max(found, key=lambda group: (group.interval.low, group.interval.value), default=None)


def _accuracy(forecasts: ClassForecasts) -> float:
    right = forecasts.probability.argmax(axis=1) == forecasts.label
    return float(forecasts.mass @ right)


def _ranking(units: Units, prediction: Floats) -> tuple[float, float]:
    """Share of pairs in the right order, and of ties, within folds: each has a map of its own."""
    counted = np.zeros(3)
    if units.classes is not None:
        return np.nan, np.nan
    for fold in units.folds:
        inside = units.fold == fold
        code = np.unique(prediction[inside], return_inverse=True)[1]
        weight, outcome = units.weight[inside], units.outcome[inside]
        ones = np.bincount(code, weight * outcome)
        zeros = np.bincount(code, weight * (1 - outcome))
        counted = np.add(counted, ordered_pairs(ones.astype(np.float64), zeros.astype(np.float64)))
    right, tied, pairs = counted.tolist()
    if pairs == 0:
        return np.nan, np.nan
    return right / pairs, tied / pairs
