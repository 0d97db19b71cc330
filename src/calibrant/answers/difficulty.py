"""How hard questions are: as a log says, or by the other answers to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidForecastsError
from calibrant.words import count_text

# Names by the share of the other answers that were right: at most a third, less than two thirds.
HARD, MIDDLE, EASY, ALONE = "hard", "middling", "easy", "answered once"
# More numbers than this are no names: groups are cut at quantiles.
MOST_NAMES = 12


def by_the_others(question: Any, correct: Any) -> tuple[Any, str]:
    """Name the difficulty of each row by how the other answers to its question fared.

    A row never has a say in its own group: of rows that chose their group by their own outcome,
    the hard ones would be wrong by construction.

    Returns
    -------
    tuple of array and str
        Names, and the sentence that says so.
    """
    _, code = np.unique(question.astype(str), return_inverse=True)
    others = np.bincount(code)[code] - 1
    if not others.any():
        raise InvalidForecastsError(
            "difficulty must be in the log, or follow from several answers to a question",
            "one answer to each question",
            "fields={'difficulty': ...} names a field of plain lines",
        )
    right = np.bincount(code, correct)[code] - correct
    share = np.full(code.size, np.nan)
    np.divide(right, others, out=share, where=others > 0)
    names = np.select(
        [others == 0, 3 * right <= others, 3 * right < 2 * others], [ALONE, HARD, MIDDLE], EASY
    ).astype(object)
    counts = {name: int((names == name).sum()) for name in (HARD, MIDDLE, EASY, ALONE)}
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    return names, (
        "difficulty is not in the log: it is the share of the other answers to the same question "
        f"that were right, at most a third for hard, two thirds for easy: {listed}; nobody knows "
        "it before the others have answered"
    )


def as_numbers(names: Any) -> Floats | None:
    """Return difficulties as numbers where there are too many to be names."""
    there = {str(name) for name in names.tolist() if name is not None}
    if len(there) <= MOST_NAMES:
        return None
    try:
        value = {name: float(name) for name in there}
    except ValueError:
        return None
    return np.array([np.nan if name is None else value[str(name)] for name in names.tolist()])


def stated_sentence(column: str, names: Any) -> str:
    """Say what a log says of prompts or difficulties."""
    if names.dtype != object:
        low, high = np.nanmin(names), np.nanmax(names)
        return f"{column} as the log has it, a number from {low:g} to {high:g}"
    there = sorted({str(name) for name in names.tolist() if name is not None})
    without = sum(name is None for name in names.tolist())
    listed = ", ".join(there[:4]) + (f" and {len(there) - 4} more" if len(there) > 4 else "")
    told = f"{column} as the log has it: {listed}"
    return f"{told}; {count_text(without, 'answer')} without" if without else told
