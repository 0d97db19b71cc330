"""Do rows look independent? Residuals that are alike within a column, or from row to row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant.inputs import Source

# Residuals are compared with the mean residual of forecasts like theirs, in ranges of so many rows.
ROWS_IN_A_RANGE, MOST_RANGES = 40, 50
# A column identifies units if it has at least so many values; fewer are groups, not units.
FEWEST_VALUES = 50
# Beyond this many rows, labels that are Python objects are not looked at: it would take seconds.
MOST_OBJECTS = 2**18
# What is called dependence: so many standard errors, and a correlation and a design effect large
# enough to matter (simulated in tests/slow/test_dependence_simulated.py).
STANDARD_ERRORS, CORRELATION, DESIGN_EFFECT = 4.0, 0.03, 1.2
# From row to row, residuals must be this much alike, and so must the forecasts of rows with the
# same outcome: a file that is only sorted by its outcomes shows the first alone.
NEXT_RESIDUAL, NEXT_FORECAST = 0.1, 0.5
# Forecasts or outcomes of which so large a share of steps goes one way are sorted; so are forecasts
# whose ranks correlate this much with the numbers of the rows.
SORTED = 0.95
# Fewer runs of one outcome than this may be the sorted outcomes of a few groups.
# Files sorted by 8 to 12 groups, then by outcome, are still called dependent in 15 to 25 % of
# samples: more runs would miss repeats of some forty units.
FEWEST_RUNS = 16
# Rows sorted by group and then by outcome: forecasts step farther, by so many standard errors,
# where the outcome goes one way, from group to group, than where it goes the other.
ONE_WAY = 2.0
# A column of which every value has one outcome was perhaps made from the outcome. It identifies
# units if the forecasts of such rows correlate this much beyond what their outcome explains.
SAME_FORECAST = 0.1


@dataclass(frozen=True, slots=True)
class Dependence:
    """Rows that are alike where independent rows would not be."""

    column: str | None
    """Column whose values the rows share; None for rows that follow each other."""
    correlation: float
    """Correlation of the residuals of two such rows."""

    @property
    def sentence(self) -> str:
        """Say what was seen, and what follows for the intervals."""
        alike, narrow = "rows that follow each other", "too narrow"
        if self.column is not None:
            alike = f"rows with the same {self.column!r}"
            narrow = f"too narrow unless {self.column!r} merely groups independent rows"
        return (
            f"{alike} have similar residuals (correlation {self.correlation:.2f}), so the "
            f"intervals, which assume independent rows, are {narrow}"
        )

    @property
    def advice(self) -> str:
        """Say what to do about it."""
        if self.column is None:
            return "name the unit that rows share, such as a patient: --cluster (clusters=)"
        return f"add --cluster {self.column} (clusters= in Python)"


def find_dependence(
    position: Floats,
    residual: Floats,
    outcome: Floats,
    keys: Mapping[str, Any],
    order: Indices | None = None,
) -> Dependence | None:
    """Look for residuals that are alike within a column or from row to row.

    Parameters
    ----------
    position : array of shape (n,)
        Forecasts.
    residual : array of shape (n,)
        Outcome less forecast, or what else is zero on average for right forecasts.
    outcome : array of shape (n,)
        Outcomes, to tell a file that is sorted by them.
    keys : mapping of str to array of shape (n,)
        Columns that may identify units; missing values are units of their own.
    order : array of shape (n,), optional
        Order of the rows in time; by default that of the file.
    """
    own = residual - _expected(position, residual)
    if not own.any():
        return None
    centered = _centered_by_outcome(position, outcome)
    found = [_within(name, own, column, centered, outcome) for name, column in keys.items()]
    alike = [one for one in found if one is not None]
    if alike:
        return max(alike, key=lambda one: one.correlation)
    turned = slice(None) if order is None else order
    return _in_order(own[turned], position[turned], outcome[turned])


def _expected(position: Floats, residual: Floats) -> Floats:
    """Mean residual of forecasts in the same range: a bias of all is no dependence."""
    level = np.unique(position, return_inverse=True)[1]
    count = int(np.clip(position.size // ROWS_IN_A_RANGE, 1, MOST_RANGES))
    before = np.cumsum(np.bincount(level)) - 1
    part = (before * count // position.size)[level]
    return np.asarray((np.bincount(part, residual) / np.maximum(np.bincount(part), 1))[part])


def _within(
    name: str, residual: Floats, column: Any, forecast: Floats, outcome: Floats
) -> Dependence | None:
    """Compare the square of each unit's sum of residuals with the sum of its squares."""
    known = ~np.ma.getmaskarray(np.ma.asarray(column))
    code = _codes(np.ma.getdata(np.ma.asarray(column))[known]) if known.any() else None
    if code is None:
        return None
    some = residual[known] - residual[known].mean()
    size = np.bincount(code)
    if size.size < FEWEST_VALUES or size.max(initial=0) < 2:
        return None
    squares, fourth = np.bincount(code, some**2), np.bincount(code, some**4)
    products = float((np.bincount(code, some) ** 2 - squares).sum())
    error = float(np.sqrt(2 * np.maximum(squares**2 - fourth, 0).sum()))
    mean_square = float(squares.sum()) / some.size
    pairs = float((size * (size - 1.0)).sum())
    if mean_square == 0 or products <= STANDARD_ERRORS * error:
        return None
    correlation = products / pairs / mean_square
    effect = 1 + products / float(squares.sum())
    if correlation < CORRELATION or effect < DESIGN_EFFECT:
        return None
    if _settled(code, outcome[known]):
        forecast = forecast[known] - forecast[known].mean()
        spread = float((forecast**2).sum())
        products = float((np.bincount(code, forecast) ** 2).sum()) - spread
        if spread > 0 and products / pairs < SAME_FORECAST * spread / some.size:
            return None
    return Dependence(name, min(correlation, 1.0))


def _settled(code: Indices, outcome: Floats) -> bool:
    """Whether rows with the same value always have the same outcome, and outcomes differ."""
    size = np.bincount(code)
    mean = np.bincount(code, outcome) / size
    return bool((outcome == mean[code]).all())


def _centered_by_outcome(position: Floats, outcome: Floats) -> Floats:
    """Forecasts less the mean of those with the same of two outcomes."""
    own = position.astype(np.float64)
    values = np.unique(outcome)
    for value in values if values.size <= 2 else ():
        own = own - np.where(outcome == value, position[outcome == value].mean(), 0.0)
    return own


def _codes(labels: Any) -> Indices | None:
    """Give each value of a column a number; None where that would take long."""
    if labels.dtype != object:
        return np.asarray(np.unique(labels, return_inverse=True)[1].reshape(-1))
    if labels.size > MOST_OBJECTS:
        return None
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(str(one), len(numbers)) for one in labels], dtype=np.intp)


def _in_order(residual: Floats, position: Floats, outcome: Floats) -> Dependence | None:
    """Correlate each residual with the next one; forecasts must be alike as well."""
    if residual.size < FEWEST_VALUES:
        return None
    products = residual[1:] * residual[:-1]
    error = float(np.sqrt((products**2).sum()))
    correlation = float(products.sum() / (residual**2).sum())
    if products.sum() <= STANDARD_ERRORS * error or correlation < NEXT_RESIDUAL:
        return None
    same = outcome[1:] == outcome[:-1]
    if _outcomes_sorted(position, outcome) or not _forecasts_alike(position, outcome, same):
        return None
    return Dependence(None, min(correlation, 1.0))


def _outcomes_sorted(position: Floats, outcome: Floats) -> bool:
    """Whether outcomes may be sorted, in the whole file or within groups of it."""
    step = np.diff(outcome)
    up, down = step > 0, step < 0
    changes = int(up.sum() + down.sum())
    if changes + 1 < FEWEST_RUNS or max(up.sum(), down.sum()) > SORTED * changes:
        return True
    jump = np.abs(np.diff(position))
    rise, fall = jump[up], jump[down]
    error = float(np.sqrt(rise.var() / rise.size + fall.var() / fall.size))
    return abs(float(rise.mean() - fall.mean())) > ONE_WAY * error


def _forecasts_alike(position: Floats, outcome: Floats, same: Flags) -> bool:
    """Whether forecasts of neighbours with one outcome are alike, without being sorted."""
    if not same.any():  # outcomes that hardly ever repeat are not sorted
        same = np.ones_like(same)
    step = np.sign(np.diff(position))[same]
    if max((step >= 0).mean(), (step <= 0).mean()) > SORTED and (step != 0).any():
        return False
    ranks = np.argsort(np.argsort(position, kind="stable"))
    if abs(float(np.corrcoef(ranks, np.arange(ranks.size))[0, 1])) > SORTED:
        return False
    own = _centered_by_outcome(position, outcome)
    spread = float((own[1:][same] ** 2).sum())
    return spread > 0 and float((own[1:] * own[:-1])[same].sum()) >= NEXT_FORECAST * spread


def dependence_of(source: Source) -> Dependence | None:
    """Look for dependence among rows that were read, unless clusters say what depends."""
    rows = source.rows
    if rows is None or source.clusters is not None:
        return None
    keys: dict[str, Any] = {name: np.ma.asarray(column) for name, column in source.by.items()}
    keys |= source.roles.key_columns()
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    weighing = slice(None) if rows.weight is None else rows.weight > 0
    order = None if source.times is None else np.argsort(source.times[weighing], kind="stable")
    return find_dependence(
        rows.coordinate[weighing],
        rows.residual[weighing],
        outcome[weighing],
        {name: column[weighing] for name, column in keys.items() if column.shape == outcome.shape},
        order,
    )
