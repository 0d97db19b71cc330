"""Defaults of a project: `[tool.calibrant]` in the nearest pyproject.toml."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibrant.errors import InvalidOptionError

FILE = "pyproject.toml"
TABLE = "[tool.calibrant]"
# Commands that read forecasts.
COMMANDS = ("audit", "check", "monitor", "recalibrate", "apply", "compare")
NUMBERS = {"tolerance", "gap_tolerance", "oe_tolerance", "max_worse", "confidence", "alpha"}
TEXTS = {"prediction", "outcome", "weight", "cluster", "time", "key", "scale", "pos_label"}
LISTS = {"by", "neg_label", "na_label"}
KEYS = TEXTS | LISTS | NUMBERS
# Larger files are not looked into.
MOST_BYTES = 2**24


@dataclass(frozen=True, slots=True)
class Config:
    """Options that a project has set, by their names."""

    path: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def default_map(self) -> dict[str, dict[str, Any]]:
        """Return the options as defaults of every command that reads forecasts."""
        return {command: dict(self.options) for command in COMMANDS if self.options}

    def note(self, used: Mapping[str, Any]) -> str:
        """Say which options came from the file."""
        listed = ", ".join(f"--{_dashed(name)} {_shown(value)}" for name, value in used.items())
        return f"note: {listed} from {TABLE} of {_near(self.path)}; --no-config ignores it"


def find_config(start: Path | None = None) -> Config:
    """Read the nearest pyproject.toml, from a folder upwards; most of them do not name us."""
    try:
        folder = Path.cwd() if start is None else start
    except OSError:  # the folder was removed
        return Config()
    for directory in (folder, *folder.parents):
        path = directory / FILE
        if path.is_file():
            return _read(path)
    return Config()


def _read(path: Path) -> Config:
    try:
        if path.stat().st_size > MOST_BYTES:
            return Config()
        content = path.read_bytes()
    except OSError as error:
        raise InvalidOptionError(
            f"{FILE} must be readable", f"{_near(path)}: {error.strerror}", "use --no-config"
        ) from error
    if b"calibrant" not in content:
        return Config()
    import tomllib

    try:
        tool = tomllib.loads(content.decode()).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidOptionError(
            f"{FILE} must be TOML", f"{_near(path)}: {error}", "mend it, or use --no-config"
        ) from error
    table = tool.get("calibrant", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise InvalidOptionError(f"{TABLE} must be a table", type(table).__name__)
    return Config(path, dict(_option(name, value) for name, value in table.items()))


def _option(key: str, value: object) -> tuple[str, Any]:
    """Check one option; names are those of the command line, without their dashes before."""
    name = key.replace("-", "_")
    if name not in KEYS:
        close = difflib.get_close_matches(name, KEYS, n=1)
        raise InvalidOptionError(
            f"{TABLE} must hold known options",
            repr(key),
            f"did you mean {_dashed(close[0])!r}" if close else f"known are {_known()}",
        )
    if name in LISTS:
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(entry, str) and entry for entry in values):
            raise InvalidOptionError(f"{key} of {TABLE} must name something", repr(value))
        return name, values
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in NUMBERS and number:
        return name, str(value)
    if not isinstance(value, str) or not value:
        kind = "a number or text" if name in NUMBERS else "text"
        raise InvalidOptionError(f"{key} of {TABLE} must be {kind}", repr(value))
    return name, value


def _known() -> str:
    return ", ".join(map(_dashed, sorted(KEYS)))


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _shown(value: Any) -> str:
    return ",".join(value) if isinstance(value, list | tuple) else str(value)


def _near(path: Path | None) -> str:
    """Write a path as it is seen from here."""
    return FILE if path is None else os.path.relpath(path)
