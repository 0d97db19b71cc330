"""What an engine counted that no forecasts can be, in words."""

from __future__ import annotations

from typing import NoReturn

import narwhals.stable.v2 as nw
import numpy as np

from calibrant.data.columns import Columns
from calibrant.data.frames import Frame, fetched_value
from calibrant.data.input import missing_hint
from calibrant.data.rows import range_hint, warn_of_swap
from calibrant.errors import InvalidForecastsError
from calibrant.joint.engine.tally import REFUSED, Apart, Tally

MISSING = {Apart.NO_OUTCOME, Apart.NO_PREDICTION, Apart.NO_WEIGHT}
# Mean outcomes beside predictions that are all 0 or 1 look like a swap from this many values on.
MANY_OUTCOMES = 4


def refuse_counted(frame: Frame, columns: Columns, tally: Tally) -> None:
    """Say how many rows are wrong, in the first way that any of them is, and give examples."""
    for key in REFUSED:
        count = tally.apart(key)
        if count:
            _refuse(frame, columns, tally, key, f"{count} of {int(tally.entries.sum())} rows")


def _refuse(frame: Frame, columns: Columns, tally: Tally, key: Apart, share: str) -> NoReturn:
    name = _column_of(key, columns)
    if key in MISSING:
        raise InvalidForecastsError(
            f"column {name!r} must not hold missing values",
            share,
            missing_hint(key == Apart.NO_OUTCOME),
        )
    if key == Apart.OUTSIDE:
        ends = tally.ends()
        low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
        raise InvalidForecastsError(
            f"column {name!r} must hold probabilities in [0, 1]",
            f"{share} outside, from {low:g} to {high:g}",
            range_hint(low, high),
        )
    least, most = _ends(frame, name)
    got = f"{share} that do not, values from {least:g} to {most:g}"
    if columns.count is not None:
        what = "rows, at most 2**53" if key == Apart.BAD_WEIGHT else "positives, at most count"
        raise InvalidForecastsError(f"column {name!r} must hold whole numbers of {what}", got)
    if key == Apart.BAD_WEIGHT:
        raise InvalidForecastsError(
            f"column {name!r} must hold weights that are finite and not negative", got
        )
    raise InvalidForecastsError(
        f"column {name!r} must hold 0 and 1, or mean outcomes between them",
        got,
        f"name the label of the positive outcome, for instance @pos_label={most:g}",
    )


def refuse_unlikely(frame: Frame, columns: Columns, tally: Tally) -> None:
    """Refuse or warn of what can be counted but is likely to be a mistake."""
    name = columns.outcome
    if name is None:
        return
    if tally.between.any() and np.isin(tally.ends(), (0.0, 1.0)).all():
        several = fetched_value(frame, nw.col(name).n_unique())
        if several < MANY_OUTCOMES:
            return
        if frame.collect_schema()[columns.predicted].is_float():
            warn_of_swap(f"column {name!r}", f"column {columns.predicted!r}", "columns")
        else:
            raise InvalidForecastsError(
                "@outcome must name outcomes and prediction probabilities",
                f"probabilities in {name!r} and only 0 and 1 in {columns.predicted!r}",
                "are the two columns swapped? Certain forecasts of mean outcomes are given as "
                "floats, 0.0 and 1.0",
            )


def _column_of(key: Apart, columns: Columns) -> str:
    if key in {Apart.NO_OUTCOME, Apart.BAD_OUTCOME}:
        return str(columns.outcome or columns.positives)
    if key in {Apart.NO_WEIGHT, Apart.BAD_WEIGHT}:
        return str(columns.weight or columns.count)
    return columns.predicted


def _ends(frame: Frame, name: str) -> tuple[float, float]:
    """Least and greatest value of a column; categories are compared as text."""
    column = nw.col(name)
    if frame.collect_schema()[name] in {nw.Categorical, nw.Enum}:
        column = column.cast(nw.String)
    return fetched_value(frame, column.min()), fetched_value(frame, column.max())
