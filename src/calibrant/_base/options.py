"""What options may be: checked here, once, before any memory is taken.

Every size has a maximum. It is far beyond what anybody needs, and small enough that a slip of the
finger costs an error message rather than the memory of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.errors import InvalidOptionError, mention

MOST_ACTIONS = 10**4
MOST_BINS = 2**20
MOST_CELLS = 2**20
MOST_CLASSES = 2**20
MOST_DEGREE = 32
MOST_DRAWS = 10**6
MOST_FEATURES = 2**20
MOST_FOLDS = 1000
MOST_GRID = 2**24
MOST_POINTS = 10**6
MOST_REPEATS = 10**6
MOST_ROUNDS = 10**9
MOST_SEGMENTS = 10**4
MOST_THREADS = 1024
# A product this close below a whole number, relatively, is that number.
ROUNDING = 1e-12
# What only callers in Python can pass.
OR_GENERATOR = "or a Generator of numpy"
LONGEST = 80
"""Letters of a value that an error message repeats."""


def shown(value: object) -> str:
    """Write what was given, however long it is and whatever its `repr` does."""
    if isinstance(value, np.bool_ | np.number):
        value = value.item()  # 2 rather than np.int64(2)
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # integers of many digits refuse to be written, others may too
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def real(name: str, value: object) -> float:
    """Return an option that must be a number; one beyond all doubles is infinite."""
    numbers = int | float | np.integer | np.floating
    if not isinstance(value, numbers) or isinstance(value, bool | np.timedelta64):
        raise InvalidOptionError(f"{mention(name)} must be a number", shown(value))
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def measured(value: Any) -> float:
    """Return what a measure of the caller's own found, which must be a number."""
    try:
        if not np.iscomplexobj(value):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise InvalidOptionError("@measure must return a number", shown(value))


def whole(name: str, value: object, least: int = 1, most: int = MOST_ROUNDS) -> int:
    """Return an option that must be a whole number between two others."""
    number = real(name, value)
    if least <= number <= most and number % 1 == 0:
        return int(number)
    raise InvalidOptionError(
        f"{mention(name)} must be a whole number of at least {least} and at most {most}",
        shown(value),
    )


def check_share(name: str, value: float) -> None:
    """Refuse a confidence, level or tolerance outside (0, 1)."""
    if not 0 < real(name, value) < 1:
        raise InvalidOptionError(f"{mention(name)} must lie between 0 and 1", shown(value))


@dataclass(frozen=True, slots=True)
class ShareOfRarer:
    """A tolerance that is relative: so much of the share of the rarer outcome."""

    share: float

    def __str__(self) -> str:
        return f"{100 * self.share:.12g}%"


Tolerance = float | ShareOfRarer


def tolerance_from(name: str, value: object) -> Tolerance:
    """Read a tolerance: a number in (0, 1), or in per cent of the rarer outcome's share.

    Examples
    --------
    >>> tolerance_from("tolerance", 0.02), tolerance_from("tolerance", "5%")
    (0.02, ShareOfRarer(share=0.05))
    """
    if isinstance(value, ShareOfRarer):
        return value
    number, percent = number_or_percent(name, value)
    if percent:
        if not 0 < number <= 1:
            raise InvalidOptionError(
                f"{mention(name)} must be above 0 % and at most 100 % of the rarer outcome",
                shown(value),
            )
        return ShareOfRarer(number)
    if not 0 < number < 1:
        hint = f"write {number:g}% for per cent of the rarer outcome" if number >= 1 else ""
        raise InvalidOptionError(f"{mention(name)} must lie between 0 and 1", shown(value), hint)
    return number


def share_from(name: str, value: object) -> float:
    """Read a positive share, as a number or in per cent: 0.1 or "10%"."""
    share, percent = number_or_percent(name, value)
    check_positive(name, share)
    # Who types 10 may mean 10 %, which 1000 % would let pass.
    if share > 1 and not percent and isinstance(value, str):
        raise InvalidOptionError(
            f"{name} beyond 1 must be in per cent",
            shown(value),
            f"write {share:g}% or {share:.0%}",
        )
    return share


def number_or_percent(name: str, value: object) -> tuple[float, bool]:
    """Return a number that may be written as text, and whether it was in per cent."""
    if not isinstance(value, str):
        return real(name, value), False
    text = value.strip()
    percent = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidOptionError(
            f"{mention(name)} must be a number, or per cent such as 5%", shown(value)
        )
    return (number / 100 if percent else number), percent


def check_flag(name: str, value: object) -> bool:
    """Return an option that must be true or false."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidOptionError(f"{mention(name)} must be True or False", shown(value))
    return bool(value)


def check_within(name: str, value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Return an option that must be a number between two others, or one of them."""
    if not low <= (number := real(name, value)) <= high:
        raise InvalidOptionError(f"{mention(name)} must be in [{low:g}, {high:g}]", shown(value))
    return number


def check_positive(name: str, value: float) -> None:
    """Refuse a number that is not positive and finite."""
    if not 0 < real(name, value) < math.inf:
        raise InvalidOptionError(f"{mention(name)} must be positive and finite", shown(value))


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is not positive and finite."""
    check_positive("tolerance", tolerance)


def check_draws(draws: int) -> int:
    """Return a number of draws."""
    return whole("draws", draws, 1, MOST_DRAWS)


def enough_draws(draws: int, confidence: float) -> int:
    """Return a number of draws, raised to what both ends of an interval need.

    The end that is missed with chance (1 - confidence) / 2 lies beyond all of fewer draws.
    """
    check_share("confidence", confidence)
    needed = math.ceil((1 - ROUNDING) * 2 / (1 - confidence)) - 1
    if needed > MOST_DRAWS:
        raise InvalidOptionError(
            f"@confidence must be at most {1 - 2 / MOST_DRAWS:.6f}: beyond, draws are too many",
            shown(confidence),
        )
    return max(check_draws(draws), needed)


def check_degree(degree: int, most: int = MOST_DEGREE) -> int:
    """Return a degree of a polynomial."""
    return whole("degree", degree, 0, most)


def power_of_two(resolution: int) -> int:
    """Return a number of cells that can be halved and halved again."""
    cells = whole("resolution", resolution, 1, MOST_CELLS)
    if cells & (cells - 1):
        raise InvalidOptionError(
            f"resolution must be a power of two, at most {MOST_CELLS}", f"{cells}", "try 2**16"
        )
    return cells


def refuse_unknown(name: str, value: object, known: Collection[str]) -> None:
    """Refuse an option that is not one of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise InvalidOptionError(f"{mention(name)} must be one of {', '.join(known)}", shown(value))


def as_generator(rng: Any) -> np.random.Generator:
    """Return the generator that a seed stands for, or the one that was given."""
    seed = isinstance(rng, int | np.integer) and not isinstance(rng, bool | np.timedelta64)
    known = np.random.Generator | np.random.BitGenerator | np.random.SeedSequence
    if rng is None or isinstance(rng, known) or (seed and rng >= 0):
        return np.random.default_rng(rng)
    raise InvalidOptionError(
        "@rng must be a seed, a whole number of at least 0", shown(rng), OR_GENERATOR
    )
