"""Make a stream of a model's probabilities calibrated, whatever happens next."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, Self

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_CELLS, check_positive, whole
from calibrant._base.stored import number as stored_number, restoring, whole as stored_whole
from calibrant.data.rows import CLIP_FLOAT64, Rows
from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidStateError
from calibrant.online.forecaster import read_outcome, read_sequence, read_stored
from calibrant.online.laplace_tree import LaplaceTree

Key = str | int | None


class _Cell:
    """Defensive forecasting where the model's probability lies in one interval.

    It begins at the middle of the interval: residuals trust x exp(middle - 1/2) at 0 and minus
    trust x exp(1/2 - middle) at 1 put the zero of h there. After n outcomes it stays 1/(4 (n + 2))
    (at first the middle itself, if that is less) away from 0 and 1, where one surprise would
    make a log loss infinite.
    """

    __slots__ = ("lag", "middle", "most_waiting", "prior", "rounds", "tree", "trust", "waiting")

    def __init__(self, middle: float, trust: float) -> None:
        low, high = trust * math.exp(middle - 0.5), trust * math.exp(0.5 - middle)
        self.tree = LaplaceTree([0.0, 1.0], [low, -high])
        self.middle, self.trust = middle, trust
        self.prior = math.sqrt(low**2 + high**2 - 2 * low * high / math.e)
        self.rounds = 0
        self.waiting = 0  # predictions whose outcome is not known yet
        self.most_waiting = 0
        self.lag = 0  # pairs of rounds that were waiting at the same time

    def predict(self) -> float:
        """Predict; the outcome will be told to `learn`, or `waiting` taken back."""
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        margin = min(self.middle, 1 - self.middle, 1 / (4 * (self.rounds + 2)))
        return min(max(self.tree.zero(), margin), 1 - margin)

    def learn(self, prediction: float, outcome: int) -> None:
        """Take note of the outcome of an earlier prediction."""
        self.waiting -= 1
        self.lag += self.waiting  # the first of two to be answered counts the pair
        self.rounds += 1
        self.tree.add(prediction, outcome - prediction)

    def bound(self) -> float:
        """Bound rounds x smooth error in this cell.

        The squared norm of all residuals, the prior's included, grows in a round by at most 1,
        by 2 for every earlier round that waits, and by twice margin x |h| where the margin kept
        the prediction from the zero. There |h| is small: h(0) falls below zero only through
        rounds that were announced while it was positive (by 1/e each, one more than wait at
        most) or at the margin (by the margin each), and over a margin h moves by at most an
        eighth of the prior's residuals, or 1/4.
        """
        log = math.log(self.rounds + 2)
        margins = self.most_waiting * log / 2
        margins *= self.most_waiting * (0.37 + 0.25 * log) + max(0.25, 0.29 * self.trust)
        squares = self.prior**2 + self.rounds + 2 * self.lag + margins
        return math.sqrt(2) * (math.sqrt(squares) + self.prior) if self.rounds else 0.0

    def state(self) -> list[Any]:
        """Return all that `resumed` needs."""
        return [*self.tree.terms(), self.rounds, self.waiting, self.most_waiting, self.lag]

    @classmethod
    def resumed(cls, middle: float, trust: float, state: object) -> _Cell:
        """Continue from a stored state."""
        if not isinstance(state, list) or len(state) != 6:
            raise InvalidStateError("a stored cell must have six entries", f"{state!r:.60}")
        made = cls(middle, trust)
        made.tree = LaplaceTree.from_stored(state[:2])
        names = ("rounds", "waiting", "most_waiting", "lag")
        made.rounds, made.waiting, made.most_waiting, made.lag = (
            stored_whole(value, f"{name} of a stored cell")
            for name, value in zip(names, state[2:], strict=True)
        )
        return made


class StreamRecalibrator:
    r"""Recalibrate a model's probabilities one by one, with a promise that needs no assumption.

    Defensive forecasting in each cell of the model's probability: what is said stays calibrated
    on every sequence of outcomes, drift and adversaries included, and what the model knows is
    kept up to the width of a cell. It begins at the model's own probability and never says 0 or
    1. Speaks river's language: `predict_one`, `predict_proba_one`, `learn_one`; for a river
    classifier see `calibrant.integrations.river`.

    Parameters
    ----------
    base : object, optional
        The model: a river classifier, any object with `predict_proba_one`, or a callable that
        maps x to a probability. Without one x is the probability itself, a float or river's
        `{False: 0.4, True: 0.6}`. A base with `learn_one` is taught every outcome, too.
    cells : int, default=10
        Number J of cells of equal width. At most 2**20.
    trust : float, default=4.0
        How many outcomes it takes to move away from the model's own probability. A larger one
        begins more gently; where many outcomes wait at once, choose about as many as wait in a
        cell.

    Notes
    -----
    After T rounds, each outcome known before the next prediction, on every sequence:

    - T x smooth error of what was said is at most :math:`\sqrt{2 J T}` plus a term of order
      J (trust + log T);
    - its squared errors sum to at most twice that more than those of the model after rounding
      to cells and perfect recalibration of every cell in hindsight. These are at most T/J more
      than the model's own, and less by whatever recalibration would have gained.

    Errors of parts of a sequence add up, and (p - y)^2 - (c - y)^2 <= 2 (p - c)(p - y) where
    p - c is a smooth test. `calibration_bound` and `regret_bound` are the exact bounds for the
    rounds so far. They grow with the number of rounds of a cell that were waiting for their
    outcomes at the same time: with d waiting throughout, T becomes T (1 + 2 d).

    Known flaw: insurance has a price. A model that is calibrated already loses some squared
    error, a few percent over the first thousands of rounds.

    References
    ----------
    Foster, Hart (2023), "Calibeating": beating forecasters at their own game, Theoretical
    Economics 18. Vovk, Takemura, Shafer (2005), Defensive forecasting, AISTATS.

    Examples
    --------
    An overconfident model: it says 0.9 for what happens six times in ten.

    >>> recalibrator = StreamRecalibrator()
    >>> for outcome in [1, 0, 1, 1, 0, 1, 0, 1, 1, 0] * 30:
    ...     said = recalibrator.predict_one(0.9)
    ...     recalibrator.learn_one(0.9, outcome)
    >>> round(said, 2)
    0.6

    Outcomes that arrive later, in any order, find their prediction by its key.

    >>> for ticket in ("a", "b"):
    ...     _ = recalibrator.predict_one(0.9, key=ticket)
    >>> recalibrator.learn_one(0.9, 1, key="b")
    >>> recalibrator.outstanding
    ['a']
    """

    def __init__(self, base: Any = None, *, cells: int = 10, trust: float = 4.0) -> None:
        if base is not None and not callable(getattr(base, "predict_proba_one", base)):
            raise InvalidOptionError(
                "base must have predict_proba_one, be a callable, or be left out", repr(base)[:60]
            )
        check_positive("trust", trust)
        self.base, self.trust = base, float(trust)
        self.cells = whole("cells", cells, 1, MOST_CELLS)
        self._cells: dict[int, _Cell] = {}
        self._waiting: dict[Key, tuple[int, float]] = {}

    def predict_one(self, x: Any, key: Key = None) -> float:
        """Say the chance of outcome 1.

        Parameters
        ----------
        x : object
            What the base model takes, or its probability.
        key : str or int, optional
            Names the prediction, so that its outcome can come after other predictions; asked
            again the answer is the same. Without a key the outcome belongs to the last
            prediction without one.

        Returns
        -------
        float
        """
        if key is not None and key in self._waiting:
            return self._waiting[key][1]
        number = min(int(self._probability(x) * self.cells), self.cells - 1)
        if key is None:
            self.forget_one()
        if number not in self._cells:
            self._cells[number] = _Cell(self._middle(number), self.trust)
        prediction = self._cells[number].predict()
        self._waiting[key] = number, prediction
        return prediction

    def predict_proba_one(self, x: Any, key: Key = None) -> dict[bool, float]:
        """Say the chances of both outcomes, as river's classifiers do."""
        prediction = self.predict_one(x, key)
        return {False: 1 - prediction, True: prediction}

    def learn_one(self, x: Any, y: object, key: Key = None) -> None:
        """Learn an outcome; the base model learns it, too, if it can.

        Parameters
        ----------
        x : object
            What `predict_one` was given.
        y : int or bool
            The outcome, 0 or 1.
        key : str or int, optional
            The key of the prediction. Without one and without a prediction that waits, the
            prediction is made now.
        """
        outcome = read_outcome(y, 2)
        if key not in self._waiting:
            if key is not None:
                raise InvalidForecastsError(
                    "an outcome with a key must follow a prediction with it", repr(key)
                )
            self.predict_one(x)
        if hasattr(self.base, "learn_one"):
            self.base.learn_one(x, y)
        number, prediction = self._waiting.pop(key)
        self._cells[number].learn(prediction, outcome)

    def forget_one(self, key: Key = None) -> None:
        """Give up a prediction whose outcome will never be known; nothing is learned."""
        if key in self._waiting:
            number, _ = self._waiting.pop(key)
            self._cells[number].waiting -= 1

    def run(self, outcomes: object, probabilities: object) -> Floats:
        """Recalibrate a recorded stream in its order: predict, then learn, row by row.

        Parameters
        ----------
        outcomes : array-like of shape (n,)
            0 and 1; all rows are checked before the first is predicted.
        probabilities : array-like of shape (n,)
            What the model said; the base model is not asked.

        Returns
        -------
        array of shape (n,)
            What this recalibrator said, each before it saw the outcome.
        """
        if self.base is not None:
            raise InvalidOptionError("a recorded stream is for a recalibrator without a base")
        rows = Rows.read(outcomes, probabilities)
        sequence = read_sequence(rows.outcome, 2)
        prediction = np.empty(sequence.size)
        pairs = zip(rows.prediction.tolist(), sequence.tolist(), strict=True)
        for row, (probability, outcome) in enumerate(pairs):
            prediction[row] = self.predict_one(probability)
            self.learn_one(probability, outcome)
        return prediction

    @property
    def rounds(self) -> int:
        """Number of outcomes learned."""
        return sum(cell.rounds for cell in self._cells.values())

    @property
    def outstanding(self) -> list[Key]:
        """Keys of the predictions whose outcome is not known yet."""
        return list(self._waiting)

    @property
    def calibration_bound(self) -> float:
        """Bound rounds x smooth error of what was said, over the rounds so far."""
        return sum(cell.bound() for cell in self._cells.values())

    @property
    def regret_bound(self) -> float:
        """Bound how far squared errors exceed those of recalibration in hindsight, in sum."""
        return 2 * self.calibration_bound

    def to_json(self) -> str:
        """Write the state, without the base model; `from_json` continues bit for bit."""
        return json.dumps(
            {
                "schema": 1,
                "forecaster": type(self).__name__,
                "options": {"cells": self.cells, "trust": self.trust},
                "cells": [[number, cell.state()] for number, cell in self._cells.items()],
                "waiting": [[key, *entry] for key, entry in self._waiting.items()],
            }
        )

    @classmethod
    def from_json(cls, text: str, base: Any = None) -> Self:
        """Make a recalibrator from what `to_json` wrote; the base model must be given again."""
        stored = read_stored(text)
        if stored.text("forecaster") != cls.__name__:
            raise InvalidStateError(
                f"stored must be a {cls.__name__}", stored.text("forecaster")[:60]
            )
        with restoring(stored.what):
            made = cls(base, **stored.part("options").data)
            for number, state in stored.entries("cells"):
                index = stored_whole(number, "the number of a stored cell", 0, made.cells - 1)
                made._cells[index] = _Cell.resumed(made._middle(index), made.trust, state)
            for key, number, prediction in stored.entries("waiting"):
                if number not in made._cells or key in made._waiting:
                    raise InvalidStateError("what waits must have a key and a cell", f"{key!r:.60}")
                made._waiting[key] = number, stored_number(prediction, "what was said", 0.0, 1.0)
        waiting = Counter(number for number, _ in made._waiting.values())
        if any(cell.waiting != waiting[number] for number, cell in made._cells.items()):
            raise InvalidStateError("cells must count the predictions that wait in them")
        return made

    def __repr__(self) -> str:
        return f"StreamRecalibrator(base={self.base!r}, cells={self.cells}, trust={self.trust:g})"

    def _middle(self, number: int) -> float:
        return (number + 0.5) / int(self.cells)

    def _probability(self, x: Any) -> float:
        if hasattr(self.base, "predict_proba_one"):
            x = self.base.predict_proba_one(x)
        elif self.base is not None:
            x = self.base(x)
        if isinstance(x, dict):  # an empty one: the model knows nothing yet
            x = x.get(True, 1 - x.get(False, 0.5))
        try:
            probability = float(x)
        except (TypeError, ValueError):
            probability = math.nan
        if not -CLIP_FLOAT64 <= probability <= 1 + CLIP_FLOAT64:
            raise InvalidForecastsError("the base must give a probability in [0, 1]", repr(x)[:60])
        return min(max(probability, 0.0), 1.0)
