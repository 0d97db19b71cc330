"""Payoffs in any form that a task may be given in, to one table u[action, outcome]."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.errors import InvalidOptionError

OUTCOMES = {"0": 0, "1": 1, "False": 0, "True": 1, "0.0": 0, "1.0": 1}
OTHER_FORMS = ("costs", "threshold", "cost_ratio")


def read_payoffs(payoffs: object, actions: Sequence[str] | None) -> tuple[tuple[str, ...], Floats]:
    """Names of the actions, and their payoffs for outcomes 0 and 1."""
    if isinstance(payoffs, Mapping):
        if actions is not None:
            raise InvalidOptionError(
                "actions are the keys of the payoffs", "a dict together with actions"
            )
        names, rows = list(payoffs), [_pair(name, entry) for name, entry in payoffs.items()]
    elif hasattr(payoffs, "columns"):
        names, rows = _of_frame(payoffs, actions)
    else:
        rows = _of_table(payoffs)
        names = [f"action {i}" for i in range(len(rows))] if actions is None else list(actions)
    return _checked([str(name) for name in names], rows)


def _pair(action: object, entry: object) -> list[Any]:
    """Payoffs of one action for outcomes 0 and 1."""
    if isinstance(entry, Mapping):
        by_outcome = {OUTCOMES.get(str(key), str(key)): value for key, value in entry.items()}
        if set(by_outcome) != {0, 1}:
            raise InvalidOptionError(
                f"the payoffs of {action!r} must be given for outcomes 0 and 1",
                f"outcomes {', '.join(map(str, by_outcome))}" if by_outcome else "none",
            )
        return [by_outcome[0], by_outcome[1]]
    if isinstance(entry, Sequence | np.ndarray) and not isinstance(entry, str) and len(entry) == 2:
        return list(entry)
    raise InvalidOptionError(
        f"the payoffs of {action!r} must be two numbers, for outcome 0 and for outcome 1",
        repr(entry),
    )


def _of_table(payoffs: object) -> list[Any]:
    try:
        table = np.asarray(payoffs, dtype=object)
    except ValueError as error:
        raise InvalidOptionError("payoffs must be a table", str(error)) from error
    if table.ndim != 2 or table.shape[1] != 2:
        raise InvalidOptionError(
            "a table of payoffs must have a row per action and a column per outcome, 0 and 1",
            f"shape {table.shape}",
            'or give {"action": {0: payoff, 1: payoff}, ...}',
        )
    return [list(row) for row in table]


def _of_frame(frame: object, actions: Sequence[str] | None) -> tuple[list[Any], list[Any]]:
    """Columns action, 0 and 1 of any dataframe."""
    from calibrant.data.frames import table_lists

    return _of_columns(table_lists(frame), actions)


def _of_columns(
    columns: Mapping[str, list[Any]], actions: Sequence[str] | None
) -> tuple[list[Any], list[Any]]:
    wanted = ["0", "1"] if actions is not None else ["action", "0", "1"]
    if set(columns) != set(wanted):
        raise InvalidOptionError(
            f"the frame must have the columns {', '.join(wanted)}", f"columns {', '.join(columns)}"
        )
    rows = [list(pair) for pair in zip(columns["0"], columns["1"], strict=True)]
    return (list(actions) if actions is not None else columns["action"]), rows


def _checked(names: list[str], rows: list[Any]) -> tuple[tuple[str, ...], Floats]:
    if len(names) != len(rows):
        raise InvalidOptionError(
            "there must be one name per action", f"{len(names)} names for {len(rows)} actions"
        )
    if len(rows) < 2:
        raise InvalidOptionError(
            "a task needs at least two actions to choose from",
            f"only {names[0]!r}" if names else "none",
        )
    _refuse_twice(names)
    table = np.empty((len(rows), 2))
    for i, row in enumerate(rows):
        for outcome in (0, 1):
            table[i, outcome] = _number(names[i], outcome, row[outcome])
    with np.errstate(over="ignore"):
        if not np.isfinite(np.ptp(table)):
            raise InvalidOptionError(
                "differences of payoffs must be finite",
                f"payoffs from {table.min():g} to {table.max():g}",
            )
    table.setflags(write=False)
    return tuple(names), table


def _refuse_twice(names: list[str]) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InvalidOptionError("the names of actions must differ", f"{twice[0]!r} twice")


def _number(action: str, outcome: int, value: object) -> float:
    number = as_number(value)
    if not np.isfinite(number):
        raise InvalidOptionError(
            f"the payoff of {action!r} for outcome {outcome} must be a finite number", repr(value)
        )
    return number + 0.0


def as_number(value: object) -> float:
    """Read a number that may come from a file; NaN for what is none."""
    if isinstance(value, bool):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return np.nan


def read_task_file(path: Path, outcomes: Sequence[str] | None = ("0", "1")) -> tuple[str, Any]:
    """Form and content of a task file: "payoffs", "costs", "threshold" or "cost_ratio".

    The columns of a CSV file are those of the outcomes, beside `action`; None takes all it has.
    """
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": partial(_read_csv, outcomes=outcomes),
        ".json": _read_json,
        ".toml": _read_toml,
    }
    if path.suffix.lower() not in readers:
        raise InvalidOptionError(
            f"a task file must end in one of {', '.join(readers)}", path.suffix or str(path)
        )
    try:
        content = readers[path.suffix.lower()](path)
    except FileNotFoundError as error:
        raise InvalidOptionError("the task file must exist", str(path)) from error
    except (ValueError, csv.Error) as error:
        if isinstance(error, InvalidOptionError):
            raise
        raise InvalidOptionError(
            f"the task file must be readable {path.suffix[1:].upper()}", f"{path.name}: {error}"
        ) from error
    if not isinstance(content, Mapping):
        raise InvalidOptionError(
            "a task file must hold payoffs by action", f"a {type(content).__name__}"
        )
    for form in ("payoffs", *OTHER_FORMS):
        if set(content) == {form}:
            return form, content[form]
    return "payoffs", content


def _read_csv(path: Path, outcomes: Sequence[str] | None) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, strict=True)
        columns: dict[str, list[Any]] = {name.strip(): [] for name in reader.fieldnames or []}
        for row in reader:
            for name, value in row.items():
                columns.setdefault(str(name).strip(), []).append(value)
    known = [name for name in columns if name != "action"] if outcomes is None else outcomes
    wanted = ["action", *known]
    if set(columns) != set(wanted) or len({len(column) for column in columns.values()}) > 1:
        raise InvalidOptionError(
            f"the task file must have the columns {', '.join(wanted)}",
            f"columns {', '.join(columns)}",
        )
    names = [str(name) for name in columns["action"]]
    _refuse_twice(names)  # a dict would hide a name that comes twice
    return {
        name: {column: columns[column][row] for column in known} for row, name in enumerate(names)
    }


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _read_toml(path: Path) -> Any:
    import tomllib

    return tomllib.loads(path.read_text(encoding="utf-8"))
