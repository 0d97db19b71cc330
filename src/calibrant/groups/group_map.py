"""A map for all rows, and patches for groups on top of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.arrays import Floats
from calibrant.data.groupings import Grouping
from calibrant.errors import InvalidOptionError
from calibrant.groups.patches import Patches, codes_of, patches_text, unseen
from calibrant.repair import RecalibrationMap
from calibrant.repair import load as load_map
from calibrant.repair.base import SCHEMA, read_predictions
from calibrant.repair.forms import Form
from calibrant.repair.quoting import dialect_of, docstring, python_literal
from calibrant.repair.texts import free_name, python_source, sql_expression
from calibrant.stored import load_json

PROGRAM = """\
from bisect import bisect_right as _right

# Name, group of each label, cuts, and group of missing values of each column.
COLUMNS = {columns}
# What a row must have, as column and group; whether to stretch; by how much.
PATCHES = {patches}


def {name}(p, groups):
    {doc}
    base = moved = _base(p)
    found = []
    for column, labels, cuts, missing in COLUMNS:
        value = groups[column]
        if value is None or value != value:
            level = missing
        elif cuts is None:
            level = labels.get(value, -1)
        else:
            level = _right(cuts, value)
        if level < 0:
            return base
        found.append(level)
    for wanted, stretch, amount in PATCHES:
        if all(found[column] == level for column, level in wanted):
            moved = min(max(moved + (amount * moved if stretch else amount), 0.0), 1.0)
    return min(max(moved, {least!r}), {most!r})
"""


@dataclass(frozen=True, slots=True, eq=False)
class GroupMap:
    """A fitted map for all rows, then patches that shift or stretch predictions of groups.

    Rows with a value that the fit has not seen keep the prediction of the map. Patched
    predictions stay `least` away from 0 and 1.
    """

    base: RecalibrationMap
    """Map for all rows; `Identity` leaves them as they are."""
    patches: Patches
    least: float = 0.0

    @property
    def form_(self) -> Form:
        """The map for all rows as one of a few functions."""
        return self.base.form_

    @property
    def scale_(self) -> str:
        """Units of the predictions that it takes: "unit" or "percent"."""
        return self.base.scale_

    def with_scale(self, scale: str) -> GroupMap:
        """Return the same map for predictions in other units, "unit" or "percent"."""
        return replace(self, base=self.base.with_scale(scale))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at beside the predictions."""
        return self.patches.columns

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Those of the columns whose values are text."""
        return tuple(
            dict.fromkeys(
                grouping.column
                for grouping in self.patches.groupings
                if any(isinstance(label, str) for label in grouping.labels)
            )
        )

    @property
    def name(self) -> str:
        """Name of the map and number of patches."""
        count = len(self.patches.patches)
        return f"{self.base.name} + {patches_text(count)}" if count else self.base.name

    @property
    def sentence(self) -> str:
        """What it does, in words."""
        if not self.patches.patches:
            return self.base.sentence
        patches = patches_text(len(self.patches.patches))
        return f"{self.base.sentence} Then {patches} for groups of {', '.join(self.columns)}."

    def transform(self, y_proba: object, by: object) -> Floats:
        """Recalibrate predictions.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, 2)
            Predicted probabilities of outcome 1, in the units of `scale_`.
        by : mapping of str to array-like, frame, or array of shape (n, k)
            The columns of the groups.

        Returns
        -------
        array of shape (n,) or (n, 2)
            As the predictions were given. Rows with a value that was not seen in the fit have
            the prediction of the map for all rows; a warning counts them.
        """
        prediction = read_predictions(y_proba, self.scale_)
        codes = codes_of(self.patches.groupings, by, prediction.size)
        moved = self.patched(self.form_(prediction), codes)
        return np.column_stack([1 - moved, moved]) if np.asarray(y_proba).ndim == 2 else moved

    def patched(self, base: Floats, codes: list[Any]) -> Floats:
        """Correct predictions of the map for all rows."""
        if not self.patches.patches:
            return base
        moved = np.clip(self.patches.apply(base, codes), self.least, 1 - self.least)
        return np.where(unseen(codes), base, moved)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, that of the map for all rows if there are no patches."""
        if not self.patches.patches:
            return self.base.to_dict()
        return {
            "schema": SCHEMA,
            "map": "GroupMap",
            "base": self.base.to_dict(),
            "least": self.least,
            "sentence": self.sentence,
            **self.patches.as_dict(),
        }

    def to_json(self) -> str:
        """Return JSON; `load` takes it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def load(cls, source: str | Path | Mapping[str, Any]) -> GroupMap:
        """Load a fitted map, with patches or without.

        Parameters
        ----------
        source : str, Path or mapping
            A file that `to_json` filled, the JSON itself, or the plain data of `to_dict`; also
            of a map of `calibrant.repair`.

        Returns
        -------
        GroupMap
            Without patches and columns, if none were stored.
        """
        data = load_json(source, "a stored map")
        if not data.has("map") or data.get("map") != "GroupMap":
            return cls(load_map(data.data), Patches((), ()))
        data.require_schema(SCHEMA)
        least = data.number("least", 0.0, math.nextafter(0.5, 0.0))
        return cls(load_map(data.part("base").data), Patches.from_stored(data), least)

    def to_sql(self, column: str = "prediction", *, dialect: str = "duckdb") -> str:
        """Return an expression of SQL.

        Parameters
        ----------
        column : str, default="prediction"
            Column of predictions, in the units of `scale_`; the columns of the groups have their
            own names.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Returns
        -------
        str
            A probability in [0, 1]; NULL where the column holds no prediction. In columns of
            groups NULL is missing, and so is NaN.
        """
        corrected = partial(self.corrected, dialect=dialect)
        return sql_expression(self.form_, column, dialect, self.scale_, corrected)

    def corrected(self, value: str, dialect: str) -> str:
        """Return SQL for the patched prediction, from that of the map, which is not NULL."""
        if not self.patches.patches:
            return value
        moved = self.patches.expression(value, dialect)
        patched = dialect_of(dialect).within(moved, self.least, 1 - self.least)
        return f"case when {self.patches.seen(dialect)} then {patched} else {value} end"

    def strange(self, dialect: str) -> str:
        """Return a condition of SQL for rows with values that the fit has not seen."""
        return f"not ({self.patches.seen(dialect)})"

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function of a prediction and a dictionary of columns.

        It takes the units of `scale_` and returns a probability in [0, 1].
        """
        if not self.patches.patches:
            return self.base.to_python(name)
        self.patches.refuse_steps()
        columns = tuple(
            (g.column, dict(g.labels), _python_cuts(g), g.missing) for g in self.patches.groupings
        )
        patches = tuple((p.groups, bool(p.power), p.amount) for p in self.patches.patches)
        takes = "Takes a prediction, and a dictionary with the values of the columns."
        program = PROGRAM.format(
            name=free_name(name),
            doc=docstring(f"{self.sentence} {takes}"),
            columns=python_literal(columns),
            patches=python_literal(patches),
            least=self.least,
            most=1 - self.least,
        )
        base = python_source(self.form_, "_base", self.base.sentence, self.scale_)
        return f"{base}\n\n{program}"


def _python_cuts(grouping: Grouping) -> tuple[float, ...] | None:
    if grouping.cuts is None:
        return None
    if grouping.cuts.dtype.kind == "M":
        raise InvalidOptionError(
            "groups of dates cannot be written as Python", grouping.column, "write SQL or JSON"
        )
    return tuple(grouping.cuts.tolist())
