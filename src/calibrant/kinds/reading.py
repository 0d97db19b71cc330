"""How users name a kind of forecast."""

from __future__ import annotations

from collections.abc import Callable

from calibrant._base.options import check_within, shown
from calibrant._base.words import percent_text
from calibrant.errors import InvalidOptionError
from calibrant.kinds.expectile import Expectile
from calibrant.kinds.interval import Interval
from calibrant.kinds.kind import BINARY, Kind
from calibrant.kinds.mean import Mean
from calibrant.kinds.quantile import Quantile

INTERVAL = "interval"
# Every kind, by the name under which it is stored. A new kind is one line here.
PLAIN: dict[str, Kind] = {"binary": BINARY, "mean": Mean()}
OF_LEVEL: dict[str, Callable[[float], Kind]] = {
    "quantile": Quantile,
    "expectile": Expectile,
    INTERVAL: Interval,
}
NAMES = (*PLAIN, *OF_LEVEL)
CONTINUOUS = tuple(name for name in NAMES if name != BINARY.name)
# What a user may write instead of a kind with its level.
ALIASES: dict[str, Kind] = {"median": Quantile(0.5)}
# Examples of what users write.
WRITTEN = ("mean", "median", "quantile=0.9", "expectile=0.8")


def read_kind(kind: object, level: float | None = None) -> Kind:
    """Read how users name a kind; intervals need the share that they promise.

    Examples
    --------
    >>> read_kind("quantile=0.9")
    Quantile(level=0.9)
    """
    if kind == INTERVAL:
        return Interval(_promised(level))
    if level is not None:
        raise InvalidOptionError("@level is for intervals", shown(level), "@kind='quantile=0.9'")
    if isinstance(kind, Kind):
        return kind
    if not isinstance(kind, str):
        raise InvalidOptionError("@kind must be a name such as 'mean'", shown(kind))
    name, equals, text = kind.strip().partition("=")
    plain = PLAIN | ALIASES
    if name in plain and not equals:
        return plain[name]
    if name in OF_LEVEL and name != INTERVAL:
        return OF_LEVEL[name](_level_from(text, name))
    known = ", ".join(repr(known) for known in WRITTEN)
    raise InvalidOptionError(f"@kind must be one of {known}", repr(kind))


def kind_named(name: str, level: float | None) -> Kind:
    """Read a kind as it is stored: its name without the level, and the level."""
    return OF_LEVEL[name](_promised(level)) if name in OF_LEVEL else PLAIN[name]


def _promised(level: float | None) -> float:
    if level is None:
        raise InvalidOptionError(
            "intervals need the share of outcomes that they promise to hold",
            "none",
            "pass @level=0.9",
        )
    if not 0 < float(level) < 1:
        raise InvalidOptionError("@level must lie between 0 and 1", f"{level:g}")
    return float(level)


def _level_from(text: str, name: str) -> float:
    """Read the level of a quantile, strictly between 0 and 1."""
    article = "an" if name.startswith("e") else "a"
    try:
        level = float(text)
    except ValueError as error:
        raise InvalidOptionError(
            f"{article} {name} needs its level", repr(text), f"write {name}=0.9"
        ) from error
    hint = f"{percent_text(level / 100)} is {level / 100:g}" if 1 < level < 100 else ""
    if not 0 < level < 1:
        raise InvalidOptionError(f"the level of {article} {name} lies between 0 and 1", text, hint)
    return check_within("level", level)
