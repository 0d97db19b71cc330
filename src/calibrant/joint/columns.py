"""Which column of a frame plays which part, and whether it can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypedDict, Unpack

import narwhals.stable.v2 as nw

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.engines import Frame, fetched_value
from calibrant.joint.names import number_hint


class ColumnNames(TypedDict, total=False):
    """Parts that columns of a frame can play, and what must be known about them."""

    prediction: str
    outcome: str
    weight: str | None
    pos_label: object
    prediction_sum: str
    count: str
    positives: str
    width: float


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of columns: one row per forecast, or one per cell with counts."""

    prediction: str | None = None
    outcome: str | None = None
    weight: str | None = None
    pos_label: object = None
    prediction_sum: str | None = None
    count: str | None = None
    positives: str | None = None
    width: float = 0.0

    @classmethod
    def of(cls, **names: Unpack[ColumnNames]) -> Self:
        """Take the names that were given, "prediction" and "outcome" where none was."""
        if "prediction_sum" not in names:
            names.setdefault("prediction", "prediction")
        if "count" not in names and "positives" not in names:
            names.setdefault("outcome", "outcome")
        return cls(**names)

    def __post_init__(self) -> None:
        given = set(self.names())
        of_rows = given - {"weight"} == {"prediction", "outcome"}
        of_cells = (
            given - {"prediction", "prediction_sum"} == {"count", "positives"}
            and len(given) == 3
            and self.pos_label is None
        )
        if not of_rows and not of_cells:
            raise InvalidOptionError(
                "columns must be those of rows (prediction, outcome, perhaps weight) or those of "
                "aggregates (prediction or prediction_sum, count, positives)",
                ", ".join(sorted(given)) or "none",
            )
        if not 0 <= self.width <= 1:
            raise InvalidOptionError("width must be between 0 and 1", f"{self.width}")

    @property
    def predicted(self) -> str:
        """Name of the column that holds predictions or their sums."""
        return str(self.prediction or self.prediction_sum)

    def names(self) -> dict[str, str]:
        """Return the column of each part that is played."""
        parts = ("prediction", "prediction_sum", "outcome", "weight", "count", "positives")
        return {part: getattr(self, part) for part in parts if getattr(self, part) is not None}


def check_types(frame: Frame, schema: Mapping[str, nw.dtypes.DType], columns: Columns) -> None:
    """Refuse columns whose type cannot play their part."""
    for part, name in columns.names().items():
        dtype = schema[name]
        if part == "outcome" and columns.pos_label is not None:
            _check_label(name, dtype, columns.pos_label)
        elif not (dtype.is_numeric() or dtype == nw.Boolean):
            _refuse_type(frame, name, dtype, part)


def is_text(dtype: nw.dtypes.DType) -> bool:
    """Whether a column holds text, perhaps stored as categories."""
    return dtype in {nw.String, nw.Categorical} or isinstance(dtype, nw.Enum)


def _check_label(name: str, dtype: nw.dtypes.DType, label: object) -> None:
    text, flag = isinstance(label, str), isinstance(label, bool)
    fits = text if is_text(dtype) else flag if dtype == nw.Boolean else not text
    if not fits:
        raise InvalidForecastsError(
            f"pos_label must be one of the labels in column {name!r}",
            f"{label!r} for labels of type {dtype}",
        )


def _refuse_type(frame: Frame, name: str, dtype: nw.dtypes.DType, part: str) -> None:
    # A file without rows has no types either.
    if not fetched_value(frame, nw.len()):
        raise InvalidForecastsError("there must be at least one row", "none")
    got, hint = f"a column of type {dtype}", "turn it into numbers first"
    if is_text(dtype):
        text = nw.col(name).cast(nw.String)
        odd = ~text.str.contains(r"^\s*[-+0-9.eE]+\s*$")
        example = fetched_value(frame.filter(odd), text.min())
        got = "text" if example is None else f"text such as {example!r}"
        hint = "name the label of the positive outcome, pos_label=..."
        if part != "outcome" and example is not None:
            hint = number_hint(str(example))
    raise InvalidForecastsError(f"column {name!r} must hold numbers", got, hint)
