"""Measurement: a float that knows its name, settings, numerical bounds and witness."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import card
from calibrant._base.words import percent_text
from calibrant.data.rows import RawRows
from calibrant.errors import CalibrantWarning, InvalidForecastsError
from calibrant.joint import Joint
from calibrant.joint.sums import AnyRows
from calibrant.measures.witness import Witness

Table = dict[str, Floats]


class Measurement(float):
    """The value of a measure on a sample.

    It is a float; arithmetic gives plain floats. `repr` is the number, `str` the sentence.
    """

    name: str
    """Name of the measure."""
    settings: Mapping[str, Any]
    """Options that the value depends on, and whatever else must be named beside it."""
    bounds: tuple[float, float]
    """Two numbers between which the exact value on this sample lies, proven; not a confidence
    interval. Equal where the value is exact. Of predictions rounded to cells they hold the value of
    the rows; where little is known of it they are the whole range of the measure."""
    _find_witness: Callable[[], Witness]
    _witness: Witness | None
    _table: Table | Callable[[], Table] | None

    def _repr_html_(self) -> str:
        return card(str(self))

    def __new__(
        cls,
        value: float,
        name: str,
        settings: Mapping[str, Any],
        find_witness: Callable[[], Witness],
        *,
        bounds: tuple[float, float] | None = None,
        table: Table | Callable[[], Table] | None = None,
    ) -> Self:
        """Keep the value and all that belongs beside it."""
        self = super().__new__(cls, value)
        self.name = name
        self.settings = MappingProxyType(dict(settings))
        self.bounds = bounds or (value, value)
        self._find_witness = find_witness
        self._witness = None
        self._table = table
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (
            float(self),
            self.name,
            dict(self.settings),
            self._find_witness,
            self.bounds,
            self._table,
        )

    def __repr__(self) -> str:
        return float.__repr__(self)

    def __str__(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        described = f" ({settings})" if settings else ""
        low, high = self.bounds
        known = low < high and (low > -inf or high < inf)
        between = f", certified between {low:.6g} and {high:.6g}" if known else ""
        name = self.name.replace("_", " ")
        return f"{name} {float(self):.6g}{described}{between}: {self.witness.sentence}"

    @property
    def witness(self) -> Witness:
        """The distinguisher that attains the value, found when first asked for."""
        if self._witness is None:
            self._witness = self._find_witness()
        return self._witness

    @property
    def table(self) -> Table:
        """The bins behind a binned value, as columns, found when first asked for."""
        if self._table is None:
            raise AttributeError(f"{self.name} is not made of bins and has no table")
        if callable(self._table):
            self._table = self._table()
        return self._table


def _restored(
    value: float,
    name: str,
    settings: dict[str, Any],
    find_witness: Callable[[], Witness],
    bounds: tuple[float, float],
    table: Table | Callable[[], Table] | None,
) -> Measurement:
    return Measurement(value, name, settings, find_witness, bounds=bounds, table=table)


def read_source(
    y_true: object, y_proba: object, sample_weight: object, pos_label: object
) -> Joint | AnyRows:
    """Let a measure take a Joint, or outcomes and predictions."""
    if not isinstance(y_true, Joint):
        if y_proba is None:
            raise InvalidForecastsError(
                "a measure takes a Joint, or outcomes and predictions",
                f"one argument of type {type(y_true).__name__}",
                "call it as measure(y_true, y_proba)",
            )
        return RawRows.read(y_true, y_proba, sample_weight, pos_label)
    arguments = {"y_proba": y_proba, "sample_weight": sample_weight, "pos_label": pos_label}
    extra = [name for name, value in arguments.items() if value is not None]
    if extra:
        raise InvalidForecastsError(
            "a Joint already holds predictions, outcomes and weights",
            f"a Joint together with {', '.join(extra)}",
        )
    return y_true


def as_joint(
    y_true: object, y_proba: object = None, sample_weight: object = None, pos_label: object = None
) -> Joint:
    """Return the Joint that was given, or the exact Joint of the rows."""
    source = read_source(y_true, y_proba, sample_weight, pos_label)
    return source if isinstance(source, Joint) else Joint.from_rows(source)


def warn_of_single_rows(joint: Joint, consequence: str, stacklevel: int = 3) -> None:
    """Warn when most levels hold one row, so that their frequencies are 0 or 1."""
    single = float((joint.rows == 1).mean())
    if joint.binary and single > 0.5 and len(joint) > 2:
        warnings.warn(
            f"{percent_text(single)} of the distinct predictions occur once, so their frequency is "
            f"0 or 1 and {consequence}",
            CalibrantWarning,
            stacklevel=stacklevel,
        )


def rounding_settings(joint: Joint) -> dict[str, Any]:
    """Name what belongs beside a value of a Joint that is not exact, or was clipped."""
    settings: dict[str, Any] = {}
    if joint.resolution is not None:
        settings["cells"] = joint.resolution
    if joint.clipped:
        settings["clipped"] = joint.clipped
    return settings


def cell_bounds(
    joint: Joint, value: float, low: float = 0.0, high: float = 1.0
) -> tuple[float, float]:
    """Return the value twice, or the ends given if predictions were rounded to cells."""
    return (low, max(low, high)) if joint.is_rounded else (value, value)


def largest_mean_error(joint: Joint) -> float:
    """Bound the mean of |y - p| over rows, wherever these lie in their cells.

    With outcomes y in [0, 1] it is at most the mean of y + p - 2 y p, and the mean of y p is at
    least that of y times the lower end of the cell, and that of p less 1 - y times the upper end.
    """
    ones = joint.positives / joint.total
    forecast = joint.mass * joint.prediction
    both = np.maximum(ones * joint.low, forecast - (joint.mass - ones) * joint.high)
    return min(1.0, float((ones + forecast - 2 * both).sum()) + joint.inherited_rounding)


def rounding_bounds(joint: Joint, value: float, constant: float) -> tuple[float, float]:
    """Where the exact value lies, for a measure that moves by at most `constant` x rounding."""
    slack = constant * joint.rounding
    return max(0.0, value - slack), value + slack
