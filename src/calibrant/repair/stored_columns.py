"""Groupings of columns as plain data, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.data.groupings import Grouping
from calibrant.errors import InvalidStateError
from calibrant.stored import Stored, plain_value, value_from, whole

# Types of numbers and dates that can be cut.
TYPES = (
    "float64",
    "int64",
    "uint64",
    *(f"datetime64[{unit}]" for unit in ("D", "s", "ms", "us", "ns")),
)
# How values of these types are stored.
KINDS: dict[str, tuple[type, ...]] = {"f": (int, float), "i": (int,), "u": (int,), "M": (str,)}


def grouping_dict(grouping: Grouping) -> dict[str, Any]:
    """Return plain data."""
    data: dict[str, Any] = {
        "column": grouping.column,
        "levels": list(grouping.levels),
        "missing": grouping.has_missing,
    }
    if grouping.cuts is None:
        labels = grouping.labels.items()
        return data | {"labels": [[plain_value(value), level] for value, level in labels]}
    cuts = grouping.cuts.astype(_type_of(grouping.cuts))
    values = cuts.astype(str) if cuts.dtype.kind == "M" else cuts
    return data | {"cuts": [plain_value(cut) for cut in values.tolist()], "type": cuts.dtype.name}


def grouping_from(data: Stored) -> Grouping:
    """Take plain data back, and refuse what no column can have given."""
    levels = tuple(data.entries("levels"))
    if not all(isinstance(level, str) for level in levels) or len(set(levels)) < len(levels):
        raise InvalidStateError(
            "levels of a stored column must be different texts", f"{levels!r:.60}"
        )
    missing = data.flag("missing")
    parts = len(levels) - missing
    if data.has("cuts"):
        cuts = _cuts_from(data)
        if parts != cuts.size + 1:
            raise InvalidStateError(
                "a stored column must have one level more than cuts", f"{parts} and {cuts.size}"
            )
        return Grouping(data.text("column"), levels, {}, cuts, missing)
    labels: dict[Any, int] = {}
    for pair in data.entries("labels"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidStateError("labels of a stored column must be pairs", f"{pair!r:.60}")
        value = value_from(pair[0], "a stored label")
        if value in labels or value != value:  # noqa: PLR0124  # NaN is none
            raise InvalidStateError("a stored label must stand once", f"{value!r:.60}")
        labels[value] = whole(pair[1], "the level of a stored label", 0, parts - 1)
    if set(labels.values()) != set(range(parts)):
        raise InvalidStateError("every level of a stored column must have a label", f"{parts}")
    return Grouping(data.text("column"), levels, labels, None, missing)


def _cuts_from(data: Stored) -> npt.NDArray[Any]:
    kind = data.choice("type", TYPES)
    values = [value_from(value, "a stored cut") for value in data.entries("cuts")]
    wanted = KINDS[np.dtype(kind).kind]
    if not all(isinstance(v, wanted) and not isinstance(v, bool) for v in values):
        raise InvalidStateError(f"stored cuts must be of type {kind}", f"{values!r:.60}")
    try:
        cuts = np.array(values, dtype=kind)
    except (ValueError, OverflowError) as error:
        raise InvalidStateError(f"stored cuts must be of type {kind}", str(error)) from error
    if not bool((cuts[1:] > cuts[:-1]).all()) or bool((cuts != cuts).any()):  # noqa: PLR0124
        raise InvalidStateError("stored cuts must increase", f"{values!r:.60}")
    return cuts


def _type_of(cuts: npt.NDArray[Any]) -> str:
    if cuts.dtype.kind == "M":
        return cuts.dtype.name if cuts.dtype.name in TYPES else "datetime64[us]"
    return {"i": "int64", "u": "uint64"}.get(cuts.dtype.kind, "float64")
