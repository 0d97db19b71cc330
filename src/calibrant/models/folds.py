"""Training rows of a model and rows that it forecasts, until all rows were forecast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Indices
from calibrant._base.options import MOST_FOLDS, shown, whole
from calibrant.data import EARLIEST, deal_clusters, deal_folds, deal_in_time
from calibrant.errors import InvalidForecastsError, InvalidOptionError

Pairs = list[tuple[Indices, Indices]]
# So often are whole clusters dealt anew until every class is among the training rows.
MOST_DEALS = 50


@dataclass(frozen=True, slots=True)
class SplitColumns:
    """Columns that decide how rows are split: content, clusters, times."""

    content: list[npt.NDArray[Any]]
    """What rows hold, for an order that is theirs."""
    cluster: Indices | None = None
    time: npt.NDArray[Any] | None = None


def fold_pairs(cv: object, code: Indices, columns: SplitColumns, rng: np.random.Generator) -> Pairs:
    """Deal rows into folds: by content and seed, classes evenly; whole clusters; time forward."""
    count = whole("cv", cv, 2, MOST_FOLDS)
    _refuse_single_rows(code)
    if columns.time is not None:
        return _forward(count, code, columns)
    if columns.cluster is not None:
        return _by_clusters(count, code, columns.cluster, rng)
    fold = np.empty(code.size, dtype=np.intp)
    for number in range(int(code.max()) + 1):
        inside = np.flatnonzero(code == number)
        fold[inside] = deal_folds(count, rng, *(part[inside] for part in columns.content))
    return _pairs(fold)


def split_by(
    cv: Any,
    X: Any,  # noqa: N803
    y: Any,
    groups: object,
    **extra: Any,
) -> Pairs:
    """Take the folds of a splitter of scikit-learn."""
    named = extra if groups is None else {"groups": groups, **extra}
    return [(np.asarray(first), np.asarray(second)) for first, second in cv.split(X, y, **named)]


def read_pairs(cv: object, kept: Indices | None) -> Pairs:
    """Take pairs of training and judged rows; rows are counted as the caller passed them."""
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        raise InvalidOptionError(
            'cv must be a number of folds, "prefit", a splitter, or pairs of rows', shown(cv)
        )
    pairs = [(np.asarray(first), np.asarray(second)) for first, second in cv]
    if kept is None:
        return pairs
    most = max((int(part.max()) for pair in pairs for part in pair if part.size), default=0)
    index = np.full(max(most, int(kept.max())) + 1, -1)
    index[kept] = np.arange(kept.size)
    renumbered = [(index[first], index[second]) for first, second in pairs]
    return [(first[first >= 0], second[second >= 0]) for first, second in renumbered]


def sound(pairs: Pairs, code: Indices) -> Pairs:
    """Refuse folds that forecast a row twice, or that no model can learn from."""
    pairs = [(training, judged) for training, judged in pairs if judged.size]
    found = np.concatenate([judged for _, judged in pairs]) if pairs else np.empty(0, np.intp)
    if found.size == 0 or np.bincount(found).max() > 1:
        raise InvalidOptionError(
            "folds of cv must forecast rows once at most",
            "no rows" if found.size == 0 else "a row in two folds",
            "use a splitter such as StratifiedKFold",
        )
    for training, _ in pairs:
        if not _has_all(code, training):
            raise InvalidForecastsError(
                "every fold must leave rows of every class to learn from",
                "a fold without a class",
                "use folds that share out classes evenly, such as StratifiedKFold",
            )
    return pairs


def _pairs(fold: Indices) -> Pairs:
    return [
        (np.flatnonzero(fold != number), np.flatnonzero(fold == number))
        for number in np.unique(fold)
    ]


def _by_clusters(count: int, code: Indices, cluster: Indices, rng: np.random.Generator) -> Pairs:
    """Deal whole clusters, anew while a class is not among the training rows."""
    whole_clusters = int(cluster.max()) + 1
    for _ in range(MOST_DEALS):
        pairs = _pairs(deal_clusters(cluster, min(count, whole_clusters), rng))
        if all(_has_all(code, training) for training, _ in pairs):
            return pairs
    raise InvalidForecastsError(
        "every class must be in two clusters or more, so that each fold can be forecast",
        f"{whole_clusters} clusters",
        "leave clusters out, or fit the model before and pass cv='prefit'",
    )


def _forward(count: int, code: Indices, columns: SplitColumns) -> Pairs:
    """Learn from what came before, and from no cluster that is judged."""
    fold = deal_in_time(np.asarray(columns.time), count)
    pairs: Pairs = []
    for number in range(EARLIEST + 1, int(fold.max()) + 1):
        judged, training = np.flatnonzero(fold == number), fold < number
        if columns.cluster is not None:
            training &= ~np.isin(columns.cluster, columns.cluster[judged])
        rows = np.flatnonzero(training)
        if _has_all(code, rows):
            pairs.append((rows, judged))
    if not pairs:
        raise InvalidForecastsError(
            "earlier rows must hold every class, so that later ones can be forecast",
            "none that do",
            "leave time out, or fit the model before and pass cv='prefit'",
        )
    return pairs


def _has_all(code: Indices, rows: Indices) -> bool:
    return bool(np.unique(code[rows]).size == int(code.max()) + 1)


def _refuse_single_rows(code: Indices) -> None:
    if np.bincount(code).min() < 2:
        raise InvalidForecastsError(
            "every class must have two rows or more, so that each can be forecast by others",
            "a class of one sample",
            "leave that class out, or fit the model before and pass cv='prefit'",
        )
