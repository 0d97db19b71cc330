"""Rows split into folds, so that every calibrator is judged on rows it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant._base.options import MOST_FOLDS, whole
from calibrant.binning import cells_of_rows, gathered
from calibrant.data import EARLIEST, deal_clusters, deal_folds, deal_in_time, dealt
from calibrant.data.classes import read_row_weights
from calibrant.data.input import read_full_column, read_labels, refuse_other_labels
from calibrant.data.rows import RawRows
from calibrant.data.times import checked_times
from calibrant.errors import InvalidForecastsError
from calibrant.inference import Cases, Evidence, half_width_of_mean, widening
from calibrant.joint import Joint, Rows
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.joint.draws import exact_levels, refuse_mean_outcomes
from calibrant.joint.sums import LevelSums
from calibrant.kinds import BINARY, UNIT, Kind, Scale

Labels = dict[str, npt.NDArray[Any]]

# One standard error, as the confidence of an interval.
ONE_ERROR = 0.6826894921370859
# Predictions of more rows than this are taken as the means of so many cells.
MOST_ROWS, MOST_LEVELS = 2**20, 2**13


@dataclass(frozen=True, slots=True)
class Units:
    """Rows, or equal rows of one fold added up."""

    prediction: Floats
    """Predictions of outcome 1; for classes a table with a column for each, of intervals one with
    both ends."""
    outcome: Floats
    """0 or 1; for classes the number of the one that happened; for other kinds any number."""
    weight: Floats
    square: Floats
    """Sum of squared weights."""
    count: Floats
    """Number of rows."""
    fold: Indices
    cluster: Indices | None = None
    forward: bool = False
    """Whether folds follow each other in time, so that only earlier ones are used to fit."""
    classes: tuple[Any, ...] | None = None
    """Names of the classes; None for two outcomes."""
    kind: Kind = BINARY
    scale: Scale = UNIT

    @classmethod
    def of_kind(cls, rows: Rows, fold: Indices, cluster: Indices | None) -> Units:
        """Take rows of forecasts of numbers, each in its fold."""
        prediction = rows.prediction
        if rows.upper is not None:
            prediction = np.column_stack([prediction, rows.upper])
        ones, weight = np.ones(len(rows)), rows.weights
        return cls(
            prediction,
            rows.outcome,
            weight,
            weight**2,
            ones,
            fold,
            cluster,
            kind=rows.kind,
            scale=rows.scale,
        )

    @property
    def folds(self) -> range:
        """The folds that are judged."""
        return range(int(self.fold.max()) + 1)

    @property
    def judged(self) -> Flags:
        """Rows that some calibrator is judged on."""
        return np.asarray(self.fold != EARLIEST)

    @property
    def held_out(self) -> Flags:
        """Rows of the last fold, recalibrated by a calibrator fitted to none of them."""
        return np.asarray(self.fold == self.folds[-1])

    def training_rows(self, fold: int) -> Flags:
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

    def training_set(self, keep: Flags | None = None) -> Joint | ClassForecasts | Rows:
        """Return what calibrators are fitted to: all rows, or some."""
        rows = self if keep is None else self.where(keep)
        if not self.kind.summed:
            return rows.rows(rows.prediction)
        forecasts = rows.forecasts(rows.prediction)
        return self.joint(self.prediction, keep) if forecasts is None else forecasts

    def forecasts(self, prediction: Floats) -> ClassForecasts | None:
        """Return these rows with some probabilities of classes; None for two outcomes."""
        if self.classes is None:
            return None
        label = self.outcome.astype(np.intp)
        return ClassForecasts(prediction, label, self.classes, self.weight)

    def joint(self, prediction: Floats, keep: Flags | None = None) -> Joint:
        """Joint of these rows with some predictions; of classes, that of the most likely one."""
        if self.classes is not None:
            rows = self if keep is None else self.where(keep)
            return Joint.from_rows(rows.rows(prediction if keep is None else prediction[keep]))
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

    def rows(self, prediction: Floats) -> Rows:
        """Return these rows, one by one, with some predictions; of classes, the most likely one."""
        forecasts = self.forecasts(prediction)
        if forecasts is not None:
            return forecasts.top_label_rows()
        if not self.kind.summed:
            low, high = prediction.T if self.kind.has_ends else (prediction, None)
            weight = None if bool((self.weight == 1).all()) else self.weight
            return Rows(low, self.outcome, weight, upper=high, kind=self.kind, scale=self.scale)
        return Rows(np.ascontiguousarray(prediction), self.outcome, self.weight)

    def where(self, keep: Flags | Indices) -> Units:
        """Keep some of the rows."""
        return replace(
            self,
            prediction=self.prediction[keep],
            outcome=self.outcome[keep],
            weight=self.weight[keep],
            square=self.square[keep],
            count=self.count[keep],
            fold=self.fold[keep],
            cluster=None if self.cluster is None else self.cluster[keep],
        )

    @property
    def independent_rows(self) -> float:
        """Rows of the largest weight that would weigh as much, by the design effect of clusters."""
        each = float((self.square / self.weight).max())
        return float(self.weight.sum()) / each / self.design_effect

    @property
    def design_effect(self) -> float:
        """Factor by which clusters make the number of surprises vary more than single rows do."""
        happened, chance = self._happened()
        return self.cases(self.prediction).design_effect(happened - chance)

    @property
    def surprises(self) -> tuple[float, float]:
        """Rows whose likeliest outcome did not happen: seen, and expected if forecasts are right.

        Effective numbers: Kish's for weights, divided by the design effect of clusters. Of those
        seen and all others the fewer count.
        """
        happened, chance = self._happened()
        total = float(self.weight.sum())
        rows = total**2 / float(self.square.sum()) / self.design_effect
        observed, expected = (float(self.weight @ some) / total for some in (happened, chance))
        return rows * min(observed, 1 - observed), rows * expected

    def _happened(self) -> tuple[Floats, Floats]:
        """Whether the likeliest outcome of each row did not happen, and the chance of that."""
        if self.classes is None:
            likely, chance = (
                self.prediction >= 0.5,
                np.minimum(self.prediction, 1 - self.prediction),
            )
        else:
            likely, chance = self.prediction.argmax(axis=1), 1 - self.prediction.max(axis=1)
        return (self.outcome != likely).astype(np.float64), chance

    def in_cells(self, most: int) -> Units:
        """Round predictions of two outcomes to the means of at most so many cells.

        Rows of a cell, fold and outcome are added up, unless they are in clusters.
        """
        if self.classes is not None or not self.kind.summed or self.outcome.size <= most:
            return self
        levels, level = np.unique(self.prediction, return_inverse=True)
        rows = np.asarray(np.bincount(level, self.count), dtype=np.float64)
        if levels.size > most:
            cell = np.unique(cells_of_rows(levels, rows, most), return_inverse=True)[1]
            levels = np.bincount(cell, rows * levels) / np.bincount(cell, rows)
            level = cell[level]
        if self.cluster is not None:
            return replace(self, prediction=levels[level])
        ones = self.outcome.astype(np.intp)
        fold = self.fold - int(self.fold.min())
        key = (level * (int(fold.max()) + 1) + fold) * 2 + ones
        first, index = np.unique(key, return_index=True, return_inverse=True)[1:]
        weight, square, count = (
            np.asarray(np.bincount(index, some), dtype=np.float64)
            for some in (self.weight, self.square, self.count)
        )
        fold, outcome = self.fold[first], self.outcome[first]
        prediction = levels[level[first]]
        return Units(prediction, outcome, weight, square, count, fold, forward=self.forward)

    def mean_and_error(self, values: Floats) -> tuple[float, float]:
        """Mean of one number a row with its standard error, robust to clusters.

        Of forecasts of numbers it is Student's, because few rows say little of their own spread.
        """
        if self.kind.summed:
            cases = self.cases(self.prediction)
            total = float(self.weight.sum())
            mean = float(cases.total(values)) / total
            if cases.cluster is not None and cases.clusters < 2:
                return mean, np.inf  # one cluster says nothing of others
            variance = float(cases.covariance((values - mean)[:, np.newaxis])[0, 0])
            return mean, float(np.sqrt(variance)) / total
        mean = float(np.average(values, weights=self.weight))
        return mean, half_width_of_mean(self.shares, values - mean, self._codes, ONE_ERROR)

    def widening(self, level: float) -> float:
        """Factor that the normal quantile of a mean's standard error lacks."""
        if self.kind.summed:
            return self.cases(self.prediction).widening(level)
        parts = self.shares
        if self._codes is not None:
            parts = np.asarray(np.bincount(self._codes, parts), dtype=np.float64)
        return widening(parts, level) / widening(parts, 1 - ONE_ERROR)

    @property
    def shares(self) -> Floats:
        """Share of the weight that each row has."""
        return np.asarray(self.weight / self.weight.sum())

    @property
    def _codes(self) -> Indices | None:
        return None if self.cluster is None else np.unique(self.cluster, return_inverse=True)[1]

    def cases(self, prediction: Floats) -> Cases:
        """Rows for means of functions of prediction and outcome."""
        return Cases(prediction, self.outcome, self.weight, self.square, self._codes)

    def evidence(self, prediction: Floats) -> Evidence:
        """Rows with some predictions, for intervals of calibration errors."""
        if self.cluster is None and not bool((self.count == 1).all()):
            return Evidence.of_joint(self.joint(prediction))
        return Evidence.of_group(self.rows(prediction), self.cluster)


def split_counts(joint: Joint, folds: int, rng: np.random.Generator) -> Units:
    """Split rows that weigh the same within a level, known by their sums, into folds at random.

    Rows that follow each other in the order of predictions go to different folds. Outcomes have no
    say in it: folds with the same outcomes at each level would let a calibrator that learns chance
    pass.
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


@dataclass(frozen=True, slots=True)
class Split:
    """How rows are to be split, and what else is known of them."""

    folds: int = 5
    clusters: object = None
    """Labels of rows that depend on each other: a fold takes all of a cluster."""
    time: object = None
    """Times of the rows: calibrators learn from earlier rows only."""
    by: Mapping[str, Any] = field(default_factory=dict)
    """Groups of the rows."""

    @property
    def count(self) -> int:
        """Number of folds."""
        return whole("folds", self.folds, 2, MOST_FOLDS)

    @property
    def plain(self) -> bool:
        """Whether nothing is known of the rows besides."""
        return self.clusters is None and self.time is None and not self.by


def split_rows(rows: Units, split: Split, rng: np.random.Generator) -> tuple[Units, Labels]:
    """Split rows into folds: whole clusters together, in the order of time if it is given.

    Labels of the groups come back without rows that weigh nothing, which the units lack as well.
    """
    size = rows.outcome.size
    count = min(split.count, int((rows.weight > 0).sum()))
    labels = {name: read_labels(values, name, size) for name, values in split.by.items()}
    cluster = None
    if split.clusters is not None:
        named = read_labels(split.clusters, "clusters", size)
        cluster = np.unique(named, return_inverse=True)[1].reshape(-1)
    if split.time is not None:
        fold = deal_in_time(checked_times(split.time, size), count)
    elif cluster is not None:
        fold = deal_clusters(cluster, count, rng)
    else:
        content = (rows.prediction, rows.outcome, rows.weight, *labels.values())
        near = rows.prediction if rows.classes is None else None
        fold = deal_folds(count, rng, *content, near=near)
    units = replace(rows, fold=fold, cluster=cluster, forward=split.time is not None)
    kept = units.weight > 0
    if kept.all():
        return units, labels
    return units.where(kept), {name: values[kept] for name, values in labels.items()}


def units_of(
    prediction: Floats,
    outcome: Any,
    weight: Floats | None,
    classes: tuple[Any, ...] | None = None,
    cluster: Indices | None = None,
) -> Units:
    """Rows one by one, all of them in one fold."""
    size = len(outcome)
    weights = np.ones(size) if weight is None else weight
    numbers = np.asarray(outcome, dtype=np.float64)
    fold = np.zeros(size, dtype=np.intp)
    ones = np.ones(size)
    return Units(
        prediction, numbers, weights, weights**2, ones, fold, cluster=cluster, classes=classes
    )


def read_units(
    arguments: tuple[object, object, object, object], split: Split, rng: np.random.Generator
) -> tuple[Units, Labels]:
    """Read outcomes, predictions, weights and the label of outcome 1, and split the rows.

    The first of them may be a Joint.
    """
    y_true, y_proba, sample_weight, _ = arguments
    if isinstance(y_true, Joint):
        has_further = y_proba is not None or sample_weight is not None or not split.plain
        return _of_joint(y_true, split.count, rng, has_further=has_further), {}
    refuse_other_labels(
        y_true=y_true,
        y_proba=y_proba,
        sample_weight=sample_weight,
        clusters=split.clusters,
        time=split.time,
        by=split.by,
    )
    joint, rows = Joint.checked(RawRows.read(*arguments))
    refuse_mean_outcomes(joint)
    _refuse_one_row(joint.row_count)
    alike = rows.weight is None or bool((rows.weight == rows.weight[0]).all())
    if alike and split.plain:
        return _counted(joint, split.count, rng), {}
    units = units_of(rows.prediction, rows.outcome, rows.weight)
    return split_rows(units, split, rng)


def read_class_units(
    arguments: tuple[object, object, Sequence[Any] | None, object],
    split: Split,
    rng: np.random.Generator,
) -> tuple[Units, Labels]:
    """Read labels, probabilities, names of classes and weights, and split the rows.

    The first of them may be ClassForecasts.
    """
    y_true, sample_weight = arguments[0], arguments[3]
    refuse_other_labels(
        y_true=y_true,
        y_proba=arguments[1],
        sample_weight=sample_weight,
        clusters=split.clusters,
        time=split.time,
        by=split.by,
    )
    forecasts = as_forecasts(*arguments)
    if not isinstance(y_true, ClassForecasts) and sample_weight is not None:
        # Rows that weigh nothing are gone from the forecasts, and still there in the columns.
        weight = read_row_weights(sample_weight, len(read_full_column(y_true, "y_true")))
        kept = None if weight is None else weight > 0
        split = _without(split, kept)
    _refuse_one_row(len(forecasts))
    units = units_of(forecasts.probability, forecasts.label, forecasts.weight, forecasts.classes)
    return split_rows(units, split, rng)


def _without(split: Split, kept: Flags | None) -> Split:
    """Drop rows from all columns."""
    if kept is None or kept.all():
        return split

    def column(values: object, name: str) -> Any:
        return None if values is None else read_labels(values, name, kept.size)[kept]

    return replace(
        split,
        clusters=column(split.clusters, "clusters"),
        time=None if split.time is None else checked_times(split.time, kept.size)[kept],
        by={name: column(values, name) for name, values in split.by.items()},
    )


def _of_joint(joint: Joint, folds: int, rng: np.random.Generator, *, has_further: bool) -> Units:
    if has_further:
        raise InvalidForecastsError(
            "a Joint stands alone", "a Joint with other arguments", "pass @y_true and @y_proba"
        )
    refuse_mean_outcomes(joint)
    _refuse_one_row(joint.row_count)
    if not exact_levels(joint).all():
        raise InvalidForecastsError(
            "a choice from a Joint needs rows that weigh the same within each level",
            "different weights",
            "pass @y_true and @y_proba",
        )
    return _counted(joint, folds, rng)


def _counted(joint: Joint, folds: int, rng: np.random.Generator) -> Units:
    """Split rows known by their sums, of very many rows in cells."""
    if joint.row_count > MOST_ROWS:
        joint = gathered(joint, MOST_LEVELS)
    return split_counts(joint, min(folds, joint.row_count), rng)


def _refuse_one_row(rows: int) -> None:
    if rows < 2:
        raise InvalidForecastsError("a choice needs at least two rows", "one row")
