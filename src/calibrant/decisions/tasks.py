"""Decision tasks: actions to choose from, and what each pays for each outcome."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_ACTIONS, check_within, refuse_unknown, whole
from calibrant.decisions.envelope import Envelope, envelope_of
from calibrant.decisions.payoffs import as_number, read_payoffs, read_task_file
from calibrant.errors import InvalidOptionError, mention

# How close to a threshold, relative to it, a prediction counts as being on it: what rounding can
# do to a threshold that somebody computed, and far less than two forecasts ever differ by.
TIE_TOLERANCE = 1e-12
MOST_SHOWN = 6


class DecisionTask:
    """Actions to choose from, and what each pays for outcome 0 and for outcome 1.

    Somebody who trusts a predicted probability p takes the action with the largest expected
    payoff (1 - p) u(a, 0) + p u(a, 1). Payoffs are in units of your own: dollars, lives, points.

    Parameters
    ----------
    payoffs : dict, table or frame
        `{"action": {0: payoff, 1: payoff}, ...}`, a table with one row per action and the columns
        outcome 0 and outcome 1, or a dataframe with columns action, 0 and 1. Costs are negative.
    actions : sequence of str, optional
        Names of the rows of a table.
    tolerance : float, default=1e-12
        How close to a threshold, relative to it, a prediction counts as being on it; 0 takes
        doubles at their word.

    Examples
    --------
    >>> task = DecisionTask({"carry": {0: -0.1, 1: 0}, "leave": {0: 0, 1: -0.9}})
    >>> task.thresholds
    array([0.1])
    >>> task.best_response([0.05, 0.1, 0.4])
    array(['leave', 'carry', 'carry'], dtype='<U5')
    >>> DecisionTask.from_costs(false_positive=50, false_negative=350).thresholds
    array([0.125])
    """

    actions: tuple[str, ...]
    """Names of the actions."""
    payoffs: Floats
    """One row per action: what it pays for outcome 0 and for outcome 1."""
    envelope: Envelope
    """Which action is best where."""

    def __init__(
        self,
        payoffs: object,
        actions: Sequence[str] | None = None,
        *,
        tolerance: float = TIE_TOLERANCE,
    ) -> None:
        check_within("tolerance", tolerance, 0.0, 0.1)
        self.actions, self.payoffs = read_payoffs(payoffs, actions)
        self.envelope, self._never_best = envelope_of(self.payoffs, tolerance)

    @classmethod
    def from_costs(
        cls,
        *,
        false_positive: float,
        false_negative: float,
        actions: tuple[str, str] = ("act", "wait"),
    ) -> Self:
        """Make the task of acting or waiting, from what the two mistakes cost.

        Best is to act from the threshold false_positive / (false_positive + false_negative) on.
        What acting costs even when it was right must be taken off the cost of a miss.

        Parameters
        ----------
        false_positive : float
            Cost of acting when the outcome is 0, compared with waiting.
        false_negative : float
            Cost of waiting when the outcome is 1, compared with acting.
        actions : pair of str, default=("act", "wait")
            Names of the two actions.

        Examples
        --------
        >>> DecisionTask.from_costs(false_positive=1, false_negative=9)
        DecisionTask({'act': {0: -1, 1: 0}, 'wait': {0: 0, 1: -9}})
        """
        for name, cost in (("false_positive", false_positive), ("false_negative", false_negative)):
            if not 0 < as_number(cost) < np.inf:
                raise InvalidOptionError(
                    f"{mention(name)} must be a positive, finite cost",
                    repr(cost),
                    "costs are given as positive numbers; payoffs are their negatives",
                )
        act, wait = actions
        return cls({act: (-float(false_positive), 0.0), wait: (0.0, -float(false_negative))})

    @classmethod
    def from_threshold(
        cls, threshold: float, *, actions: tuple[str, str] = ("act", "wait")
    ) -> Self:
        """Make the task of acting from a threshold on; the two costs add up to 1.

        Examples
        --------
        >>> DecisionTask.from_threshold(0.2)
        DecisionTask({'act': {0: -0.2, 1: 0}, 'wait': {0: 0, 1: -0.8}})
        """
        if not 0 < as_number(threshold) < 1:
            raise InvalidOptionError("threshold must lie between 0 and 1", repr(threshold))
        act, wait = actions
        return cls({act: (-float(threshold), 0.0), wait: (0.0, float(threshold) - 1)})

    @classmethod
    def from_cost_ratio(cls, ratio: float, *, actions: tuple[str, str] = ("act", "wait")) -> Self:
        """Make the task in which a miss costs `ratio` times as much as a false alarm, which is 1.

        Examples
        --------
        >>> DecisionTask.from_cost_ratio(9).thresholds
        array([0.1])
        """
        if not 0 < as_number(ratio) < np.inf:
            raise InvalidOptionError("ratio must be positive and finite", repr(ratio))
        return cls.from_costs(false_positive=1.0, false_negative=ratio, actions=actions)

    @classmethod
    def from_kinks(cls, threshold: npt.ArrayLike, weight: npt.ArrayLike) -> Self:
        """Make the task whose best payoff bends at some thresholds: phi'' = weights there.

        Every convex function with finitely many kinks is the best payoff `phi` of such a task, up
        to a line. Its actions are best one after the other, and payoffs start at 0; they stay
        within [0, 1] if the weights times t, and times 1 - t, add up to at most 1.

        Parameters
        ----------
        threshold : array-like of shape (k,)
            Increasing probabilities in [0, 1].
        weight : array-like of shape (k,)
            By how much the slope of `phi` grows at each.

        Examples
        --------
        >>> DecisionTask.from_kinks([0.25, 0.75], [1, 1])
        DecisionTask({'wait': {0: 1, 1: 0}, 'hedge': {0: 0.75, 1: 0.75}, 'act': {0: 0, 1: 1}})
        """
        at, bend = (np.array(column, dtype=np.float64, ndmin=1) for column in (threshold, weight))
        sound = at.ndim == 1 and at.shape == bend.shape and at.size > 0
        if not (sound and at[0] >= 0 and at[-1] <= 1 and (np.diff(at) > 0).all()):
            raise InvalidOptionError("thresholds must increase within [0, 1]", f"{at.tolist()}")
        if not ((bend > 0) & (bend < np.inf)).all():
            raise InvalidOptionError("weights must be positive and finite", f"{bend.tolist()}")
        if_not = np.append(np.cumsum((bend * at)[::-1])[::-1], 0.0)
        if_so = np.append(0.0, np.cumsum(bend * (1 - at)))
        middle = ["hedge"] if at.size == 2 else [f"hedge {i}" for i in range(1, at.size)]
        task = cls(np.stack([if_not, if_so], axis=1), ["wait", *middle, "act"])
        task.envelope, _ = envelope_of(task.payoffs, 0.0, at)
        return task

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a task from a CSV, JSON or TOML file.

        A CSV file has the columns action, 0 and 1. JSON and TOML files hold the payoffs by action
        and outcome, perhaps under the key `payoffs`; or one of `costs` (with `false_positive` and
        `false_negative`), `threshold` and `cost_ratio`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "task.toml"
        >>> _ = path.write_text("threshold = 0.1")
        >>> DecisionTask.from_file(path).thresholds
        array([0.1])
        """
        form, content = read_task_file(Path(path))
        if form == "payoffs":
            return cls(content)
        if form == "threshold":
            return cls.from_threshold(content)
        if form == "cost_ratio":
            return cls.from_cost_ratio(content)
        if not isinstance(content, dict) or set(content) != {"false_positive", "false_negative"}:
            raise InvalidOptionError(
                "costs must be false_positive and false_negative", repr(content)
            )
        return cls.from_costs(**content)

    @classmethod
    def umbrella(cls) -> Self:
        """Carry an umbrella or leave it: .1 to carry it in vain, .9 to be caught in the rain.

        Examples
        --------
        >>> DecisionTask.umbrella().best_response(0.3)
        'carry'
        """
        return cls({"carry": (-0.1, 0.0), "leave": (0.0, -0.9)})

    @classmethod
    def zero_one(cls) -> Self:
        """Guess the outcome: 1 for a right guess, 0 for a wrong one.

        Examples
        --------
        >>> DecisionTask.zero_one().best_response([0.5, 0.6])
        array(['guess 0', 'guess 1'], dtype='<U7')
        """
        return cls({"guess 0": (1.0, 0.0), "guess 1": (0.0, 1.0)})

    @classmethod
    def quadratic(cls, actions: int = 101) -> Self:
        """Name a probability a, one of so many between 0 and 1: pays 1 - (a - y)^2.

        The survey's task with all of [0, 1] to choose from is the score "brier".

        Examples
        --------
        >>> DecisionTask.quadratic(5).best_response(0.3)
        '0.25'
        """
        actions = whole("actions", actions, 2, MOST_ACTIONS)
        named = np.arange(actions) / (actions - 1)
        table = 1 - (named[:, np.newaxis] - np.array([0.0, 1.0])) ** 2
        return cls(table, [f"{a:.6g}" for a in named])

    @property
    def thresholds(self) -> Floats:
        """Probabilities at which the best response changes, ascending."""
        return self.envelope.threshold

    @property
    def dominated(self) -> tuple[str, ...]:
        """Actions that are best at no probability."""
        return tuple(np.array(self.actions)[self._never_best].tolist())

    @property
    def range(self) -> float:
        """Largest difference that the choice of action makes for one outcome.

        Actions that are never best do not count. Dividing payoffs by it, and shifting them for
        each outcome (which changes no decision loss), brings them into [0, 1].
        """
        return float(np.ptp(self.payoffs[~self._never_best], axis=0).max())

    def best_response(self, prediction: object, ties: str = "first") -> npt.NDArray[np.str_] | str:
        """Return the action with the largest expected payoff at each predicted probability.

        Parameters
        ----------
        prediction : float or array-like
            Predicted probabilities of outcome 1.
        ties : {"first", "last"}, default="first"
            Which of several best actions, in the order in which they were named.
        """
        refuse_unknown("ties", ties, ("first", "last"))
        chosen = np.array(self.actions)[self._best(prediction, ties)]
        return chosen if chosen.ndim else str(chosen)

    def payoff(self, action: object, outcome: object) -> Floats:
        """Return what actions pay for outcomes; both may be arrays.

        Examples
        --------
        >>> DecisionTask.umbrella().payoff(["carry", "leave"], [0, 1])
        array([-0.1, -0.9])
        """
        index = {name: i for i, name in enumerate(self.actions)}
        named, happened = np.asarray(action), np.asarray(outcome)
        unknown = [name for name in named.ravel().tolist() if name not in index]
        if unknown:
            raise InvalidOptionError(
                f"action must be one of {', '.join(self.actions)}", repr(unknown[0])
            )
        if not np.isin(happened, (0, 1)).all():
            raise InvalidOptionError("outcomes must be 0 or 1", f"{happened.ravel()[:4].tolist()}")
        rows = np.vectorize(index.__getitem__, otypes=[np.intp])(named)
        return np.asarray(self.payoffs[rows, happened.astype(np.intp)])

    def phi(self, prediction: object) -> Floats:
        """Largest expected payoff at each probability: a convex function (Theorem 4.6).

        Examples
        --------
        >>> DecisionTask.umbrella().phi([0, 0.1, 1])
        array([ 0.  , -0.09,  0.  ])
        """
        at = np.asarray(prediction, dtype=np.float64)
        if_not, if_so = np.moveaxis(self.payoffs[self._best(at, "first")], -1, 0)
        return np.asarray((1 - at) * if_not + at * if_so)

    def subgradient(self, prediction: object) -> Floats:
        """Slope of `phi`: how much more the best response pays for outcome 1 than for outcome 0.

        Examples
        --------
        >>> DecisionTask.umbrella().subgradient([0.05, 0.4])
        array([-0.9,  0.1])
        """
        chosen = self.payoffs[self._best(prediction, "first")]
        return np.asarray(chosen[..., 1] - chosen[..., 0])

    def _best(self, prediction: object, ties: str) -> npt.NDArray[np.intp]:
        at = np.asarray(prediction, dtype=np.float64)
        if not ((at >= 0) & (at <= 1)).all():
            raise InvalidOptionError(
                "predictions must be in [0, 1]", f"{at.min():g} to {at.max():g}"
            )
        return self.envelope.best(at, ties)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DecisionTask):
            return NotImplemented
        return self.actions == other.actions and np.array_equal(self.payoffs, other.payoffs)

    def __hash__(self) -> int:
        return hash((self.actions, self.payoffs.tobytes()))

    def __repr__(self) -> str:
        shown = [
            f"{name!r}: {{0: {if_not:.6g}, 1: {if_so:.6g}}}"
            for name, (if_not, if_so) in zip(self.actions, self.payoffs, strict=True)
        ]
        if len(shown) > MOST_SHOWN:
            shown[2:-1] = [f"... {len(shown) - 3} more ..."]
        return f"DecisionTask({{{', '.join(shown)}}})"
