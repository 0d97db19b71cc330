"""Columns that are not there, and text where numbers should be: hints in words."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from calibrant._base.words import agreeing
from calibrant.data.labels import MISSING_WORDS
from calibrant.errors import InvalidForecastsError, mention

MOST_SHOWN = 20
# How alike two names must be, of 1, for one to be a misspelling of the other.
ALIKE = 0.75
# Names that columns of predictions and outcomes often have, the surest first.
USUAL = {
    "prediction": (
        *("confidence", "probability", "predicted_probability", "prob", "proba", "y_proba"),
        *("y_prob", "y_pred", "pred", "predicted", "forecast", "score", "p"),
    ),
    "outcome": (
        *("is_correct", "correct", "y_true", "label", "target", "actual", "observed", "event"),
        *("y", "class"),
    ),
}
WHICH = "say which columns hold them, with @prediction and @outcome"


def require_columns(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse columns that are not there, and say which are."""
    missing = [name for name in dict.fromkeys(wanted) if name not in present]
    if not missing:
        return
    close = [other for name in missing for other in _close(name, present)]
    more = ", ..." if len(present) > MOST_SHOWN else ""
    several = agreeing(len(missing), "a column", "columns")
    raise InvalidForecastsError(
        f"there must be {several} {' and '.join(map(repr, missing))}",
        f"columns {', '.join(present[:MOST_SHOWN])}{more}",
        f"did you mean {' and '.join(map(repr, close))}" if close else _which(present, missing),
    )


def require_names(**roles: object) -> None:
    """Refuse labels and numbers themselves where the name of a column is wanted."""
    for role, name in roles.items():
        if hasattr(name, "__len__") and not isinstance(name, str):
            raise InvalidForecastsError(
                f"{mention(role)} must name a column of the table",
                f"a value of type {type(name).__name__}",
                "add it to the table as a column, and pass the name of that",
            )


def _which(present: Sequence[str], missing: Sequence[str]) -> str:
    """Suggest columns whose names are usual, where all that is missing has one."""
    folded = {name.strip().lower(): name for name in reversed(present)}
    usual = {
        role: folded[name]
        for role in USUAL
        if role in missing
        for name in USUAL[role][::-1]
        if name in folded
    }
    if len(usual) < len(missing):
        return WHICH if {*missing} & {*USUAL} else ""
    return f"perhaps {', '.join(f'@{role} {name!r}' for role, name in usual.items())}"


def _close(name: str, present: Sequence[str]) -> list[str]:
    """Find a column of which a name may be a misspelling."""
    same = [other for other in present if other.strip().lower() == name.strip().lower()]
    return same[:1] or difflib.get_close_matches(name, present, n=1, cutoff=ALIKE)


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
