"""Rows split into folds, so that every map is judged on rows it has not seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, Indices
from calibrant.data import EARLIEST, deal_clusters, deal_folds, deal_in_time, dealt
from calibrant.data.input import read_labels
from calibrant.data.rows import Given
from calibrant.errors import InvalidForecastsError
from calibrant.inference.cases import Cases
from calibrant.inference.evidence import Evidence
from calibrant.joint import Joint, Rows
from calibrant.joint.draws import exact_levels, refuse_mean_outcomes
from calibrant.joint.sums import LevelSums
from calibrant.options import MOST_FOLDS, whole


@dataclass(frozen=True, slots=True)
class Units:
    """Rows, or equal rows of one fold added up."""

    prediction: Floats
    outcome: Floats
    weight: Floats
    square: Floats
    """Sum of squared weights."""
    count: Floats
    """Number of rows."""
    fold: Indices
    cluster: Indices | None = None
    forward: bool = False
    """Whether folds follow each other in time, so that only earlier ones teach."""

    @property
    def folds(self) -> range:
        """The folds that are judged."""
        return range(int(self.fold.max()) + 1)

    @property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Rows that some map is judged on."""
        return np.asarray(self.fold != EARLIEST)

    def teaching(self, fold: int) -> npt.NDArray[np.bool_]:
        """Rows to learn from when a fold is judged: none of the fold, of its clusters, or later."""
        keep = self.fold < fold if self.forward else self.fold != fold
        if self.forward and self.cluster is not None:
            keep &= ~np.isin(self.cluster, self.cluster[self.fold == fold])
        if not keep.any():
            raise InvalidForecastsError(
                "every fold must leave rows to learn from",
                "clusters that reach over all of the time",
                "leave out clusters or time",
            )
        return np.asarray(keep)

    def taught(self, fold: int) -> Joint:
        """Joint of the rows to learn from when a fold is judged."""
        return self.joint(self.prediction, self.teaching(fold))

    def joint(self, prediction: Floats, keep: npt.NDArray[np.bool_] | None = None) -> Joint:
        """Joint of these rows with some predictions."""
        sums = LevelSums(
            prediction=prediction,
            weight=self.weight,
            positives=self.weight * self.outcome,
            rows=self.count,
            weight_squares=self.square,
        )
        if keep is not None:
            sums = sums.where(keep)
        return Joint(sums.in_order().levels())

    def where(self, keep: npt.NDArray[np.bool_]) -> Units:
        """Keep some of the rows."""
        return Units(
            self.prediction[keep],
            self.outcome[keep],
            self.weight[keep],
            self.square[keep],
            self.count[keep],
            self.fold[keep],
            None if self.cluster is None else self.cluster[keep],
            self.forward,
        )

    def cases(self, prediction: Floats) -> Cases:
        """Rows for means of functions of prediction and outcome."""
        code = None
        if self.cluster is not None:
            code = np.unique(self.cluster, return_inverse=True)[1]
        return Cases(prediction, self.outcome, self.weight, self.square, code)

    def evidence(self, prediction: Floats) -> Evidence:
        """Rows with some predictions, for intervals of calibration errors."""
        if self.cluster is None and not bool((self.count == 1).all()):
            return Evidence.of_joint(self.joint(prediction))
        rows = Rows(np.ascontiguousarray(prediction), self.outcome, self.weight)
        return Evidence.of_group(rows, self.cluster)


def split_counts(joint: Joint, folds: int, rng: np.random.Generator) -> Units:
    """Split rows that weigh the same within a level, known by their sums, into folds at random.

    Rows that follow each other in the order of predictions go to different folds. Outcomes have no
    say in it: folds with the same outcomes at each level would let a map that learns chance pass.
    """
    count = np.rint(joint.rows).astype(np.int64)
    owner = np.repeat(np.arange(count.size), count % folds)
    drawn = dealt(owner.size, folds, rng)
    extra = np.bincount(owner * folds + drawn, minlength=count.size * folds)
    rows = extra.reshape(count.size, folds) + (count // folds)[:, np.newaxis]
    each = joint.weight / joint.rows
    ones = _ones_among(rows, np.rint(joint.positives / each).astype(np.int64), rng)
    both = np.stack([rows - ones, ones])
    outcome, level, fold = np.nonzero(both)
    order = np.argsort(level, kind="stable")
    outcome, level, fold = outcome[order], level[order], fold[order]
    number = both[outcome, level, fold].astype(np.float64)
    weight, square = number * each[level], number * each[level] ** 2
    prediction = joint.prediction[level]
    return Units(prediction, outcome.astype(np.float64), weight, square, number, fold)


def _ones_among(rows: Any, positives: Any, rng: np.random.Generator) -> Any:
    """How many rows of each fold have outcome 1, drawn without replacement, level by level."""
    ones = np.zeros_like(rows)
    total = rows.sum(axis=1)
    pure = positives == total
    ones[pure] = rows[pure]
    mixed = np.flatnonzero((positives > 0) & ~pure)
    good, left = positives[mixed], total[mixed]
    for fold in range(rows.shape[1]):
        size = rows[mixed, fold]
        drawn = rng.hypergeometric(good, left - good, size)
        ones[mixed, fold] = drawn
        good, left = good - drawn, left - size
    return ones


def split_rows(
    rows: Rows,
    clusters: object,
    time: object,
    folds: int,
    rng: np.random.Generator,
    labels: Iterable[npt.NDArray[Any]] = (),
) -> Units:
    """Split rows into folds: whole clusters together, in the order of time if it is given.

    Labels are what is known about the rows besides.
    """
    size = rows.prediction.size
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    weight = np.ones(size) if rows.weight is None else rows.weight
    cluster = None
    if clusters is not None:
        cluster = np.unique(
            read_labels(clusters, "clusters", rows.prediction.size), return_inverse=True
        )[1]
    if time is not None:
        fold = deal_in_time(read_labels(time, "time", rows.prediction.size), folds)
    elif cluster is not None:
        fold = deal_clusters(cluster, folds, rng)
    else:
        content = (rows.prediction, outcome, weight, *labels)
        fold = deal_folds(folds, rng, *content, near=rows.prediction)
    return Units(
        rows.prediction,
        outcome,
        weight,
        weight**2,
        np.ones(size),
        fold,
        cluster,
        time is not None,
    )


def read_units(
    y_proba: object,
    y_true: object,
    sample_weight: object,
    pos_label: object,
    clusters: object,
    time: object,
    labels: dict[str, npt.NDArray[Any]],
    folds: int,
    rng: np.random.Generator,
) -> tuple[Units, dict[str, npt.NDArray[Any]]]:
    """Read what the caller holds and split it; labels lose the rows without weight."""
    folds = whole("folds", folds, 2, MOST_FOLDS)
    if isinstance(y_proba, Joint):
        return _of_joint(y_proba, (y_true, sample_weight, clusters, time), labels, folds, rng), {}
    joint, rows = Joint.checked(Given.read(y_true, y_proba, sample_weight, pos_label))
    refuse_mean_outcomes(joint)
    _refuse_one_row(joint)
    folds = min(folds, joint.row_count)
    if sample_weight is None and clusters is None and time is None and not labels:
        return split_counts(joint, folds, rng), {}
    named = {
        name: read_labels(values, name, rows.prediction.size) for name, values in labels.items()
    }
    units = split_rows(rows, clusters, time, folds, rng, named.values())
    kept = units.weight > 0
    if not kept.all():
        named = {name: values[kept] for name, values in named.items()}
        units = units.where(kept)
    return units, named


def _of_joint(
    joint: Joint,
    beside: tuple[object, ...],
    labels: dict[str, Any],
    folds: int,
    rng: np.random.Generator,
) -> Units:
    if any(part is not None for part in beside) or labels:
        raise InvalidForecastsError(
            "a Joint stands alone", "a Joint with other arguments", "pass y_proba and y_true"
        )
    refuse_mean_outcomes(joint)
    _refuse_one_row(joint)
    if not exact_levels(joint).all():
        raise InvalidForecastsError(
            "a choice from a Joint needs rows that weigh the same within each level",
            "different weights",
            "pass y_proba and y_true",
        )
    return split_counts(joint, min(folds, joint.row_count), rng)


def _refuse_one_row(joint: Joint) -> None:
    if joint.row_count < 2:
        raise InvalidForecastsError("a choice needs at least two rows", "one row")
