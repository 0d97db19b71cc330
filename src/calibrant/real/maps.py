"""Fitted maps of real forecasts: applied, stored, written as SQL, and told in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.arrays import Floats
from calibrant.data.input import read_numbers, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError, InvalidStateError
from calibrant.kinds import Kind, kind_named
from calibrant.notebook import card
from calibrant.options import check_share, refuse_unknown
from calibrant.real.fits import (
    Bend,
    fit_conformal,
    fit_curve,
    fit_isotonic,
    fit_line,
    fit_shift,
    fit_widening,
)
from calibrant.stored import Stored, load_json, restoring
from calibrant.words import comparable_texts, number_text

SCHEMA = 1
STORED = "a stored map of real forecasts"
KINDS = ("mean", "quantile", "expectile", "interval")
# Places at which a sentence says what a map does.
SHOWN = (0.1, 0.5, 0.9)
METHODS = ("identity", "shift", "line", "curve", "isotonic", "conformal")
"""Every map by name, the simplest first; the conformal shift is never chosen, only asked for."""


def methods_for(kind: Kind) -> tuple[str, ...]:
    """Name the maps that forecasts of a kind can be fitted with, the simplest first."""
    if kind.has_ends:
        return ("identity", "shift", "conformal")
    if kind.chance is not None:
        return ("identity", "shift", "line", "isotonic", "conformal")
    return ("identity", "shift", "line", "curve", "isotonic")


@dataclass(frozen=True, slots=True, eq=False)
class RealMap:
    """A fitted map of forecasts of real outcomes.

    Make one with `repair`, or with `load` from what `to_json` wrote.
    """

    kind: Kind
    method: str
    form: Bend
    """What forecasts become; of intervals, lower ends."""
    upper_form: Bend | None
    """What upper ends of intervals become."""
    rows: int
    """How many rows taught it."""
    seen: tuple[float, ...]
    """The 10th, 50th and 90th percentile of the forecasts; of intervals, of lower ends."""
    coverage: float | None = None
    """Of a conformal shift, the chance that it promises for the next row; None for others."""

    @property
    def name(self) -> str:
        """What the map is called."""
        return self.method

    def form_(self, prediction: Floats) -> Floats:
        """Recalibrate forecasts; intervals are tables of both ends."""
        if self.upper_form is None:
            return self.form(prediction)
        return np.column_stack(self.predict(*prediction.T))

    def predict(self, y_pred: object, upper: object = None) -> Any:
        """Recalibrate forecasts.

        Parameters
        ----------
        y_pred : array-like of shape (n,)
            Forecasts; of intervals the lower ends.
        upper : array-like of shape (n,), optional
            Upper ends of intervals.

        Returns
        -------
        array of shape (n,), or two of them for intervals
            Intervals that a shift turns inside out become their middle.
        """
        refuse_other_labels(y_pred=y_pred, upper=upper)
        forecast = read_numbers(y_pred, "y_pred")
        if self.upper_form is None:
            if upper is not None:
                raise InvalidOptionError("upper ends are for intervals", self.kind.name)
            return self.form(forecast)
        if upper is None:
            raise InvalidOptionError("intervals need both ends", "one column", "pass upper=high")
        low, high = self.form(forecast), self.upper_form(read_numbers(upper, "upper"))
        if low.shape != high.shape:
            raise InvalidOptionError(
                "both ends must have the same length", f"{low.size} and {high.size}"
            )
        middle = (low + high) / 2
        return np.minimum(low, middle), np.maximum(high, middle)

    @property
    def sentence(self) -> str:
        """What the map does, in words."""
        return f"{self._does}{self._promise}"

    @property
    def _does(self) -> str:
        if self.method == "identity":
            return "Forecasts stay as they are."
        if self.upper_form is not None:
            by = -float(self.form.value[0])
            text = number_text(abs(by))
            way = "outward" if by >= 0 else "inward"
            return f"Both ends of every interval move {way} by {text}."
        if self.method in {"shift", "conformal"}:
            by = float(self.form.value[0])
            return f"It {'adds' if by >= 0 else 'takes'} {number_text(abs(by))} " + (
                "to every forecast." if by >= 0 else "from every forecast."
            )
        moved = self.form(np.array(self.seen))
        pairs = [comparable_texts(a, b) for a, b in zip(self.seen, moved.tolist(), strict=True)]
        told = ", ".join(f"{before} becomes {after}" for before, after in pairs)
        where = "At the 10th, 50th and 90th percentile of the forecasts"
        return f"{where} {told}."

    @property
    def _promise(self) -> str:
        if self.coverage is None:
            return ""
        down = self.upper_form is None and (self.kind.chance or 0.0) < 0.5
        where = "below it" if down else f"{self.kind.words.seen} it"
        of = self.rows + 1
        return (
            f" The next outcome lies {where} with a chance of {round(self.coverage * of)} in {of}, "
            f"or {'less' if down else 'more'} where outcomes tie, if rows are exchangeable: on "
            "average over samples and forecasts, not for each forecast."
        )

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain data; `load` takes it back."""
        return {
            "schema": SCHEMA,
            "real_map": self.method,
            "kind": self.kind.name.partition("=")[0],
            "level": getattr(self.kind, "level", None),
            "form": self.form.as_dict(),
            "upper_form": None if self.upper_form is None else self.upper_form.as_dict(),
            "rows": self.rows,
            "seen": list(self.seen),
            "coverage": self.coverage,
            "sentence": self.sentence,
        }

    def to_json(self) -> str:
        """Return the map as JSON; `load` takes it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_sql(self, column: str = "prediction", *, dialect: str = "duckdb") -> str:
        """Return the map as an expression of SQL; NULL stays NULL.

        Parameters
        ----------
        column : str, default="prediction"
            Column of forecasts.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Examples
        --------
        >>> from calibrant.real import repair
        >>> shift = repair([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], method="shift", rng=0).map
        >>> print(shift.to_sql("z"))
        case when cast("z" as double) is not null then cast("z" as double) + 1.0e0 end
        """
        from calibrant.real.sql import expression

        if self.upper_form is not None:
            raise InvalidOptionError(
                "a map of intervals has no single column",
                "two ends",
                f"take {number_text(-float(self.form.value[0]))} off the lower and add it to the "
                "upper ends",
            )
        return expression(self.form, column, dialect)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A map that can be fitted, by name."""

    method: str

    def learn(self, given: Rows) -> RealMap:
        """Fit the map to rows."""
        return fitted_map(given, self.method)


def fitted_map(forecasts: Rows, method: str) -> RealMap:
    """Fit one map to all rows."""
    kind = forecasts.kind
    refuse_unknown("method", method, methods_for(kind))
    if forecasts.weight is not None:
        if method == "conformal":
            raise InvalidOptionError(
                "a conformal shift takes no weights", "sample_weight", "use method='shift'"
            )
        forecasts = forecasts.weighing
    coverage, upper = None, None
    if method == "identity":
        form = Bend.shift(0.0)
        upper = Bend.shift(0.0) if kind.has_ends else None
    elif method == "conformal":
        found = fit_conformal(forecasts)
        coverage, by = found.coverage, found.by
        form = Bend.shift(-by if kind.has_ends else by)
        upper = Bend.shift(by) if kind.has_ends else None
    elif kind.has_ends:
        by = fit_widening(forecasts)
        form, upper = Bend.shift(-by), Bend.shift(by)
    else:
        fits = {
            "shift": fit_shift, "line": fit_line, "curve": fit_curve, "isotonic": fit_isotonic
        }  # fmt: skip
        form = fits[method](forecasts)
    seen = tuple(np.quantile(forecasts.prediction, SHOWN, method="lower").tolist())
    return RealMap(kind, method, form, upper, len(forecasts), seen, coverage)


def load(source: str | Path | Mapping[str, Any]) -> RealMap:
    """Load a map of real forecasts.

    Parameters
    ----------
    source : str, Path or mapping
        A file that `to_json` filled, the JSON itself, or the plain data of `to_dict`.

    Examples
    --------
    >>> from calibrant.real import repair
    >>> text = repair([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], method="shift", rng=0).map.to_json()
    >>> load(text).predict([5.0])
    array([6.])
    """
    data = load_json(source, STORED)
    data.require_schema(SCHEMA)
    with restoring(STORED):
        name = data.choice("kind", KINDS)
        asked = kind_named(name, None if name == "mean" else _level(data))
        method = data.choice("real_map", methods_for(asked))
        both = asked.has_ends
        if (data.get("upper_form") is not None) != both:
            raise InvalidStateError(f"upper_form of {STORED} must be there for intervals alone")
        coverage = data.get("coverage")
        if (coverage is not None) != (method == "conformal"):
            raise InvalidStateError(f"coverage of {STORED} must be there for conformal maps alone")
        found = RealMap(
            asked,
            method,
            _form(data.part("form")),
            _form(data.part("upper_form")) if both else None,
            data.whole("rows", 1),
            tuple(data.numbers("seen", shape=(len(SHOWN),)).tolist()),
            None if coverage is None else data.number("coverage", 0.0, 1.0),
        )
        _ = found.sentence
    return found


def _level(data: Stored) -> float:
    level = data.number("level", 0.0, 1.0)
    check_share("level", level)
    return level


def _form(data: Stored) -> Bend:
    knot, value = data.numbers("knot"), data.numbers("value")
    if knot.shape != value.shape or knot.size == 0 or not (np.diff(knot) > 0).all():
        raise InvalidStateError(
            f"knots of {data.what} must increase, with one value for each", f"{knot.size} knots"
        )
    if (np.diff(value) < 0).any():
        raise InvalidStateError(f"values of {data.what} must not decrease")
    return Bend(knot, value, data.number("slope", 0.0))
