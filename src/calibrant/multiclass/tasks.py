"""Decision tasks with many outcomes: actions, and what each pays for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant.decisions import as_number, read_task_file
from calibrant.errors import InvalidOptionError
from calibrant.joint.classes import ClassForecasts

# Expected payoffs this close, relative to the largest difference of payoffs, are equal.
TIE_TOLERANCE = 1e-12
MOST_SHOWN = 4


class MulticlassDecisionTask:
    """Actions to choose from, and what each pays for each class.

    Somebody who trusts a row of probabilities takes the action with the largest expected payoff.
    Payoffs are in units of your own; costs are negative.

    Parameters
    ----------
    payoffs : dict or table
        `{"action": {"class": payoff, ...}, ...}`, or a table with one row per action and one
        column per class.
    actions : sequence of str, optional
        Names of the rows of a table.
    classes : sequence, optional
        Names of the columns of a table; without them columns are matched by position.

    Examples
    --------
    >>> task = MulticlassDecisionTask({
    ...     "rest": {"cold": 0, "flu": -2, "pneumonia": -20},
    ...     "pills": {"cold": -1, "flu": 0, "pneumonia": -10},
    ...     "hospital": {"cold": -5, "flu": -4, "pneumonia": 0},
    ... })
    >>> task.best_response([[0.8, 0.19, 0.01], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]])
    array(['rest', 'pills', 'hospital'], dtype='<U8')
    """

    actions: tuple[str, ...]
    """Names of the actions."""
    payoffs: Floats
    """One row per action, one column per class."""
    classes: tuple[Any, ...] | None
    """Names of the columns; None if they are matched by position."""

    def __init__(
        self,
        payoffs: object,
        actions: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        if isinstance(payoffs, Mapping):
            if actions is not None or classes is not None:
                raise InvalidOptionError(
                    "a dict of payoffs names actions and classes itself",
                    "a dict together with actions or classes",
                )
            self.actions, self.classes, table = _of_mapping(payoffs)
        else:
            self.actions, self.classes, table = _of_table(payoffs, actions, classes)
        self.payoffs = _checked(table, self.actions)

    @classmethod
    def guess(cls, classes: Sequence[Any]) -> MulticlassDecisionTask:
        """Make the task of guessing the class: 1 for a right guess, 0 for a wrong one.

        Examples
        --------
        >>> MulticlassDecisionTask.guess(["cat", "dog", "cow"]).best_response([0.2, 0.5, 0.3])
        'guess dog'
        """
        return cls(np.eye(len(classes)), [f"guess {name}" for name in classes], classes)

    @classmethod
    def from_file(cls, path: str | Path) -> MulticlassDecisionTask:
        r"""Read a task from a CSV, JSON or TOML file.

        A CSV file has a column `action` and one for each class. JSON and TOML files hold the
        payoffs by action and class, perhaps under the key `payoffs`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "task.csv"
        >>> _ = path.write_text("action,cold,flu,pneumonia\nrest,0,-2,-20\nhospital,-5,-4,0")
        >>> MulticlassDecisionTask.from_file(path).best_response([0.2, 0.2, 0.6])
        'hospital'
        """
        form, content = read_task_file(Path(path), outcomes=None)
        if form != "payoffs":
            raise InvalidOptionError("a task for classes must hold payoffs by action", form)
        return cls(content)

    def best_response(self, prediction: object) -> npt.NDArray[np.str_] | str:
        """Return the action with the largest expected payoff; of several the one named first."""
        at = np.asarray(prediction, dtype=np.float64)
        if at.ndim not in {1, 2} or at.shape[-1] != self.payoffs.shape[1]:
            raise InvalidOptionError(
                "a prediction has one probability per class of the task",
                f"shape {at.shape} for {self.payoffs.shape[1]} classes",
            )
        chosen = np.array(self.actions)[first_best(self.payoffs, np.atleast_2d(at))]
        return chosen if at.ndim == 2 else str(chosen[0])

    def aligned(self, forecasts: ClassForecasts) -> Floats:
        """Payoffs with columns in the order of the classes that were forecast."""
        if self.classes is None:
            if self.payoffs.shape[1] != len(forecasts.classes):
                raise InvalidOptionError(
                    "a task needs one payoff per class forecast",
                    f"{self.payoffs.shape[1]} for {len(forecasts.classes)} classes",
                )
            return self.payoffs
        if set(self.classes) != set(forecasts.classes):
            missing = [name for name in forecasts.classes if name not in self.classes]
            unknown = [name for name in self.classes if name not in forecasts.classes]
            raise InvalidOptionError(
                "a task must pay for just the classes that were forecast",
                f"no payoff for {missing[:3]}" if missing else f"payoffs for {unknown[:3]}",
            )
        return np.ascontiguousarray(
            self.payoffs[:, [self.classes.index(name) for name in forecasts.classes]]
        )

    @property
    def range(self) -> float:
        """Largest difference that the choice of action makes for one class."""
        return float(np.ptp(self.payoffs, axis=0).max())

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.actions[:MOST_SHOWN]))
        more = ", ..." if len(self.actions) > MOST_SHOWN else ""
        return (
            f"MulticlassDecisionTask({len(self.actions)} actions: {shown}{more}; "
            f"{self.payoffs.shape[1]} classes)"
        )


def tied_best(payoffs: Floats, probability: Floats) -> npt.NDArray[np.bool_]:
    """Whether each action (a column) has the largest expected payoff in each row."""
    expected = probability @ payoffs.T
    close = TIE_TOLERANCE * max(float(np.ptp(payoffs)), float(np.abs(payoffs).max()))
    return np.asarray(expected >= expected.max(axis=1, keepdims=True) - close)


def first_best(payoffs: Floats, probability: Floats) -> Indices:
    """Index of the first action with the largest expected payoff in each row."""
    return np.asarray(tied_best(payoffs, probability).argmax(axis=1))


def _of_mapping(payoffs: Mapping[Any, Any]) -> tuple[tuple[str, ...], tuple[Any, ...], list[Any]]:
    rows = list(payoffs.values())
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InvalidOptionError(
            "payoffs must be given by action and class",
            "a dict of something else",
            'as in {"action": {"class": payoff, ...}, ...}',
        )
    classes = tuple(rows[0])
    for action, row in payoffs.items():
        if set(row) != set(classes):
            raise InvalidOptionError(
                "every action must have a payoff for every class",
                f"{action!r} for {list(row)[:MOST_SHOWN]}",
            )
    table = [[row[name] for name in classes] for row in rows]
    return tuple(map(str, payoffs)), classes, table


def _of_table(
    payoffs: object, actions: Sequence[str] | None, classes: Sequence[Any] | None
) -> tuple[tuple[str, ...], tuple[Any, ...] | None, list[Any]]:
    table = np.asarray(payoffs, dtype=object)
    if table.ndim != 2:
        raise InvalidOptionError(
            "a table of payoffs must have a row per action and a column per class",
            f"shape {table.shape}",
        )
    names = (
        tuple(f"action {i}" for i in range(len(table)))
        if actions is None
        else tuple(map(str, actions))
    )
    columns = None if classes is None else tuple(classes)
    if len(names) != table.shape[0] or (columns is not None and len(columns) != table.shape[1]):
        raise InvalidOptionError(
            "actions and classes must name the rows and columns of the payoffs",
            f"{len(names)} and {table.shape[1] if columns is None else len(columns)} names for "
            f"shape {table.shape}",
        )
    return names, columns, table.tolist()


def _checked(rows: list[Any], actions: tuple[str, ...]) -> Floats:
    if len(rows) < 2:
        raise InvalidOptionError("a task needs at least two actions to choose from", f"{len(rows)}")
    if len(set(actions)) < len(actions):
        raise InvalidOptionError("the names of actions must differ", repr(actions))
    table = np.array([[as_number(entry) for entry in row] for row in rows])
    if table.shape[1] < 2 or not np.isfinite(table).all():
        raise InvalidOptionError(
            "payoffs must be finite numbers for at least two classes", f"{rows[:2]}"
        )
    table.setflags(write=False)
    return table
