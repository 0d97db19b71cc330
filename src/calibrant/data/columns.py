"""Which column of a frame plays which part, and whether it can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, Unpack

import narwhals.stable.v2 as nw

from calibrant.data.frames import Frame, fetched, fetched_value, plainly_named
from calibrant.data.hints import number_hint
from calibrant.data.labels import MOST_LABELS, LabelMeanings, Labels
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError, InvalidOptionError


class ColumnNames(TypedDict, total=False):
    """Parts that columns of a frame can play, and what must be known about them."""

    prediction: str
    outcome: str
    weight: str | None
    pos_label: object
    neg_label: object
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
    neg_label: object = None

    @classmethod
    def of(cls, **names: Unpack[ColumnNames]) -> Self:
        """Take the names that were given, "prediction" and "outcome" where none was."""
        if "prediction_sum" not in names:
            names.setdefault("prediction", "prediction")
        if "count" not in names and "positives" not in names:
            names.setdefault("outcome", "outcome")
        return cls(**names)

    def __post_init__(self) -> None:
        for part, name in self.names().items():  # columns of pandas may have numbers for names
            object.__setattr__(self, part, str(name))
        present = set(self.names())
        of_rows = present - {"weight"} == {"prediction", "outcome"}
        of_cells = (
            present - {"prediction", "prediction_sum"} == {"count", "positives"}
            and len(present) == 3
            and self.pos_label is None
            and self.neg_label is None
        )
        if not of_rows and not of_cells:
            raise InvalidOptionError(
                "columns must be those of rows (prediction, outcome, perhaps weight) or those of "
                "aggregates (prediction or @prediction_sum, count, positives)",
                ", ".join(sorted(present)) or "none",
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

    def renamed(self, names: Mapping[str, str]) -> Columns:
        """Take other names where there are any."""
        own: dict[str, Any] = {part: names.get(name, name) for part, name in self.names().items()}
        return replace(self, **own)

    @property
    def labels(self) -> Labels:
        """What labels of outcomes mean."""
        return Labels.of(self.pos_label, self.neg_label)

    def parts(self) -> dict[str, Part]:
        """Say how to read each column from files."""
        kinds = {"outcome": Part.OUTCOME}
        return {name: kinds.get(part, Part.NUMBER) for part, name in self.names().items()}

    def with_known_outcomes(self) -> Columns:
        """Leave out what labels mean, where they have become 0 and 1."""
        return replace(self, pos_label=None, neg_label=None)


def check_types(frame: Frame, schema: Mapping[str, nw.dtypes.DType], columns: Columns) -> None:
    """Refuse columns whose type cannot play their part."""
    for part, name in columns.names().items():
        dtype = schema[name]
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            _refuse_type(frame, name, dtype, part)


def is_text(dtype: nw.dtypes.DType) -> bool:
    """Whether a column holds text, perhaps stored as categories."""
    return dtype in {nw.String, nw.Categorical} or isinstance(dtype, nw.Enum)


def known_outcomes(frame: Frame, name: str, labels: Labels) -> tuple[Frame, LabelMeanings]:
    """Replace labels by 1, 0 and null; report what each means."""
    with plainly_named(frame) as (plain, names):
        known, meanings = _known_outcomes(plain, names.get(name, name), labels, f"column {name!r}")
    return known.rename({new: old for old, new in names.items()}), meanings


def _known_outcomes(
    frame: Frame, name: str, labels: Labels, what: str
) -> tuple[Frame, LabelMeanings]:
    label = nw.col(name)
    if is_text(frame.collect_schema()[name]):
        label = label.cast(nw.String)
    counted = frame.select(label=label).group_by("label").agg(nw.len().alias("rows"))
    table = fetched(counted.head(MOST_LABELS), labels=["label"])
    counts = dict(zip(table["label"], map(int, table["rows"]), strict=True))
    meanings = labels.meanings(counts, what, strict=False)
    unknown = label.is_null()
    if meanings.missing:
        unknown = unknown | label.is_in(list(meanings.missing))
    outcome = label
    if labels.positive is not None:
        outcome = label.is_in(list(meanings.ones)) if meanings.ones else label != label  # noqa: PLR0124
    return frame.with_columns(nw.when(~unknown).then(outcome).alias(name)), meanings


def _refuse_type(frame: Frame, name: str, dtype: nw.dtypes.DType, part: str) -> None:
    # A file without rows has no types either.
    if not fetched_value(frame, nw.len()):
        raise InvalidForecastsError("there must be at least one row", "none")
    got, hint = f"a column of type {dtype}", "turn it into numbers first"
    if is_text(dtype):
        text = nw.col(name).cast(nw.String)
        odd = ~text.str.contains(r"^\s*[-+0-9.eE]+\s*$")
        # Sorted: Dask with pandas below 3 takes no minimum of text where a partition has no row.
        first = frame.filter(odd).select(value=text).sort("value").head(1)
        example = next(iter(fetched(first, labels=["value"])["value"]), None)
        got = "text" if example is None else f"text such as {example!r}"
        hint = "name the label of the positive outcome with @pos_label"
        if part != "outcome" and example is not None:
            hint = number_hint(str(example))
    raise InvalidForecastsError(f"column {name!r} must hold numbers", got, hint)
