"""Patches: small corrections of the predictions of one group, in Python, JSON and SQL."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError
from calibrant.groups.columns import UNSEEN, Codes, Grouping, columns_of
from calibrant.repair.texts import Dialect, dialect_of, number_text
from calibrant.words import count_text


@dataclass(frozen=True, slots=True)
class Patch:
    """Add `amount` times a power of the prediction to the predictions of a group in a range."""

    groups: tuple[tuple[int, int], ...]
    """Column and level, by number, that a row must have; none for all rows."""
    low: float
    high: float
    """The range of predictions: low <= p < high, up to 1 itself if high is 1."""
    power: int
    amount: float

    def rows(self, codes: Sequence[Codes], prediction: Floats) -> npt.NDArray[np.intp]:
        """Find the rows that it changes."""
        inside = (prediction >= self.low) & (
            (prediction < self.high) if self.high < 1 else (prediction <= 1)
        )
        for column, level in self.groups:
            inside &= codes[column] == level
        return np.flatnonzero(inside)

    def moved(self, prediction: Floats) -> Floats:
        """Where predictions of the group and range move."""
        return np.clip(prediction + self.amount * prediction**self.power, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Patches:
    """Patches in the order in which they apply, and the columns they look at."""

    groupings: tuple[Grouping, ...]
    patches: tuple[Patch, ...]

    def apply(self, prediction: Floats, codes: Sequence[Codes]) -> Floats:
        """Correct predictions; rows with a value that was not seen before stay as they are."""
        moved = prediction.copy()
        for patch in self.patches:
            rows = patch.rows(codes, moved)
            moved[rows] = patch.moved(moved[rows])
        return np.where(unseen(codes), prediction, moved) if codes else moved

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "columns": [_grouping_dict(grouping) for grouping in self.groupings],
            "patches": [
                {
                    "groups": [list(group) for group in patch.groups],
                    "low": patch.low,
                    "high": patch.high,
                    "power": patch.power,
                    "amount": patch.amount,
                }
                for patch in self.patches
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Patches:
        """Take plain data back."""
        groupings = tuple(_grouping_from(entry) for entry in data["columns"])
        patches = tuple(
            Patch(
                tuple((int(column), int(level)) for column, level in entry["groups"]),
                float(entry["low"]),
                float(entry["high"]),
                int(entry["power"]),
                float(entry["amount"]),
            )
            for entry in data["patches"]
        )
        return cls(groupings, patches)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns they look at, each once."""
        return tuple(dict.fromkeys(grouping.column for grouping in self.groupings))

    @property
    def affine(self) -> bool:
        """Whether every patch shifts or stretches all predictions of its group."""
        return all((p.low, p.high) == (0, 1) and p.power <= 1 for p in self.patches)

    def expression(self, prediction: str, dialect: str) -> str:
        """Write the corrected prediction as one expression, from an expression of a prediction.

        Each step holds the one before it once, so that the text grows by a line with each patch.
        """
        self.refuse_steps()
        kind = dialect_of(dialect)
        moved = prediction
        for patch in self.patches:
            where = " and ".join(self._conditions(patch, kind))
            rest, amount = (0.0, patch.amount) if patch.power == 0 else (1.0, 1 + patch.amount)
            by = number_text(amount)
            if where:
                by = f"case when {where} then {by} else {number_text(rest)} end"
            moved = kind.within(f"({moved}) {'*' if patch.power else '+'} {by}", 0.0, 1.0)
        return moved

    def seen(self, dialect: str) -> str:
        """Write a condition for rows whose values were all seen before; never NULL."""
        kind = dialect_of(dialect)
        return " and ".join(_seen(grouping, kind) for grouping in self.groupings) or "1 = 1"

    def refuse_steps(self) -> None:
        """Refuse patches of cells or of higher powers: one expression would double with each."""
        if not self.affine:
            raise InvalidOptionError(
                "only patches that shift or stretch whole groups make one expression",
                "patches of cells or of higher powers",
                "fit with method='low_degree', degree=1",
            )

    def sql(self, table: str, prediction: str, keep: Sequence[str], dialect: str) -> str:
        """Write a query that adds a column `recalibrated` to some columns of a table."""
        kind = dialect_of(dialect)
        base = kind.quoted(prediction)
        named = [*keep, *(grouping.column for grouping in self.groupings), prediction]
        columns = ", ".join(map(kind.quoted, dict.fromkeys(named)))
        sound = f"{base} BETWEEN 0 AND 1"
        known = " AND ".join([sound, *(_seen(g, kind) for g in self.groupings)])
        first = (
            f"SELECT {columns}, CASE WHEN {sound} THEN {base} END AS recalibrated, "  # noqa: S608
            f"CASE WHEN {known} THEN 1 ELSE 0 END AS seen FROM {kind.quoted(table)}"
        )
        steps = [first]
        for number, patch in enumerate(self.patches):
            where = " AND ".join(["seen = 1", *self._conditions(patch, kind)])
            power = " * recalibrated" * patch.power
            moved = kind.within(f"recalibrated + {number_text(patch.amount)}{power}", 0.0, 1.0)
            steps.append(
                f"SELECT {columns}, CASE WHEN {where} THEN {moved} "  # noqa: S608  # all quoted
                f"ELSE recalibrated END AS recalibrated, seen FROM step{number}"
            )
        # A planner that put one step into the next would double the query at each of them.
        as_is = "AS" if dialect in {"duckdb", "spark"} else "AS MATERIALIZED"
        chain = ",\n".join(f"step{i} {as_is} ({step})" for i, step in enumerate(steps))
        return f"WITH {chain}\nSELECT {columns}, recalibrated FROM step{len(steps) - 1}"

    def _conditions(self, patch: Patch, kind: Dialect) -> list[str]:
        found = []
        if patch.low > 0:
            found.append(f"recalibrated >= {number_text(patch.low)}")
        if patch.high < 1:
            found.append(f"recalibrated < {number_text(patch.high)}")
        found += [_condition(self.groupings[column], level, kind) for column, level in patch.groups]
        return found


def patches_text(count: int) -> str:
    """Count patches."""
    return "1 patch" if count == 1 else f"{count} patches"


def unseen(codes: Sequence[Codes]) -> npt.NDArray[np.bool_]:
    """Rows with a value that was not seen before in any column."""
    return np.asarray(np.any([code == UNSEEN for code in codes], axis=0))


def codes_of(groupings: Sequence[Grouping], by: object, size: int) -> list[Codes]:
    """Find the groups of new rows; a warning counts those with values not seen before."""
    columns = columns_of(by)
    missing = [g.column for g in groupings if g.column not in columns]
    if missing:
        raise InvalidForecastsError(f"columns must include {missing[0]!r}", f"{', '.join(columns)}")
    codes = [grouping.codes(columns[grouping.column], size) for grouping in groupings]
    strange = int(unseen(codes).sum()) if codes else 0
    if strange:
        warnings.warn(
            f"{count_text(strange, 'row')} with values that were not seen in the fit keep "
            "their base prediction",
            CalibrantWarning,
            stacklevel=3,
        )
    return codes


def _condition(grouping: Grouping, level: int, kind: Dialect) -> str:
    """Say in SQL that a row belongs to a level of a column."""
    column = kind.quoted(grouping.column)
    if level == grouping.missing:
        return f"{column} IS NULL"
    if grouping.cuts is None:
        values = [value for value, group in grouping.labels.items() if group == level]
        return f"{column} IN ({', '.join(map(_literal, values))})"
    ends = []
    if level > 0:
        ends.append(f"{column} >= {_literal(grouping.cuts[level - 1])}")
    if level < grouping.cuts.size:
        ends.append(f"{column} < {_literal(grouping.cuts[level])}")
    return " AND ".join(ends or [f"{column} IS NOT NULL"])


def _seen(grouping: Grouping, kind: Dialect) -> str:
    """Say in SQL that a row has a value that was seen before."""
    column = kind.quoted(grouping.column)
    if grouping.cuts is None and not grouping.labels:
        known = "1 = 0"
    elif grouping.cuts is None:
        known = f"coalesce({column} IN ({', '.join(map(_literal, grouping.labels))}), 1 = 0)"
    else:
        known = f"{column} IS NOT NULL"
    return f"({known} OR {column} IS NULL)" if grouping.missing != UNSEEN else known


def _literal(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float | np.floating):
        return number_text(float(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    text = str(value).replace("'", "''")
    return f"'{text}'"


def _grouping_dict(grouping: Grouping) -> dict[str, Any]:
    cuts = grouping.cuts
    return {
        "column": grouping.column,
        "levels": list(grouping.levels),
        "labels": [[value, level] for value, level in grouping.labels.items()],
        "cuts": None if cuts is None else [_stored(cut) for cut in cuts],
        "dates": cuts is not None and cuts.dtype.kind == "M",
    }


def _stored(cut: Any) -> Any:
    return str(cut) if isinstance(cut, np.datetime64) else float(cut)


def _grouping_from(data: Mapping[str, Any]) -> Grouping:
    kind = "datetime64" if data["dates"] else np.float64
    cuts = None if data["cuts"] is None else np.array(data["cuts"], dtype=kind)
    return Grouping(
        str(data["column"]),
        tuple(data["levels"]),
        {value: int(level) for value, level in data["labels"]},
        cuts,
    )
