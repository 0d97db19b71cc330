"""Columns that are not there, and text where numbers should be: hints in words."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from calibrant.data.labels import MISSING_WORDS
from calibrant.errors import InvalidForecastsError

MOST_SHOWN = 20


def require_columns(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse columns that are not there, and say which are."""
    for name in wanted:
        if name in present:
            continue
        same = [other for other in present if other.strip().lower() == name.strip().lower()]
        close = same or difflib.get_close_matches(name, present, n=1)
        more = ", ..." if len(present) > MOST_SHOWN else ""
        raise InvalidForecastsError(
            f"there must be a column {name!r}",
            f"columns {', '.join(present[:MOST_SHOWN])}{more}",
            f"did you mean {close[0]!r}" if close else "name the columns that hold forecasts",
        )


def number_hint(text: str) -> str:
    """Guess why a text is not a number."""
    if text.rstrip().endswith("%"):
        return "remove the percent signs and divide by 100"
    if text.strip().replace(",", "", 1).isdigit():
        return "write decimals with a point, not a comma"
    if text.lstrip().startswith(("[", "{")):
        return "give each row one number"
    if text.strip().lower() in MISSING_WORDS:
        return "leave the cell of a missing value empty"
    return "turn it into numbers first"
