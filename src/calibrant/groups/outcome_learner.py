"""A learner of outcome indistinguishability: no test of a list tells predictions from nature."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant._base.arrays import Flags, Floats
from calibrant._base.options import as_generator, check_share, check_within, shown
from calibrant._base.words import count_text
from calibrant.data import canonical_order, hold_out
from calibrant.data.groupings import columns_of
from calibrant.data.input import read_column, refuse_other_labels
from calibrant.data.rows import predictions_alone
from calibrant.errors import InvalidForecastsError, InvalidOptionError, arguments_named
from calibrant.groups.indistinguishability import shares
from calibrant.joint import Rows
from calibrant.recalibration import Estimator

Columns = dict[str, Any]
Oracle = Callable[[Any], Floats]
OutcomeTest = Callable[[Any, Floats, Floats, Oracle], object]
"""A(x, y, p, predict), for arrays of outcomes and predictions; `predict` answers for any x."""


@dataclass(frozen=True, slots=True)
class OutcomeUpdate:
    """One correction: predictions move by `step` times what the test says of 1 minus of 0."""

    test: str
    step: float
    advantage: float
    """E[(A(x, 1, p) - A(x, 0, p)) (y - p)] before the correction."""
    brier: float
    """Mean squared error after it, on the rows fitted to."""


@dataclass(frozen=True, slots=True)
class TestAdvantage:
    """What a test finds in the end."""

    __test__ = False  # no class of tests

    name: str
    fitted: float
    """Advantage on the rows fitted to: within the tolerance."""
    held_out: float | None
    """Advantage on rows that had no part in the fit, with its sign; None if there are none."""
    standard_error: float | None
    """Its standard error; rows are taken to be independent."""


class OutcomeIndistinguishable(Estimator):
    r"""Correct a predictor until no test tells its outcomes from nature's.

    Parameters
    ----------
    tests : mapping of str to callable
        Tests A(x, y, p, predict) with values in [-1, 1], one per row. x are the features, y an
        array of outcomes, p the predictions; `predict(other_features)` asks the current predictor
        about any other rows: oracle access. A test that uses neither p nor predict asks for
        multi-accuracy, one that uses p for multicalibration.
    base : callable or float, default=0.5
        Where to begin: a function of the features that returns probabilities, or a constant.
    tolerance : float, default=0.01
        Advantage that is left alone.
    held_out : float, default=0.2
        Share of the rows that takes no part in the fit and judges it; 0 for none, at most 1/2.
    rng : int, default=0
        Seed of the choice of the rows held out.

    Attributes
    ----------
    updates_ : tuple of OutcomeUpdate
        The corrections, in their order. With the base they are the whole predictor.
    advantages_ : tuple of TestAdvantage
        What each test finds in the end, on rows fitted to and on rows held out.
    sentence_ : str
        The fit in words.

    Notes
    -----
    With w = A(x, 1, p) - A(x, 0, p) and a = E[w (y - p)] for the test with the largest \|a\|: stop
    if \|a\| is at most the tolerance e, else p becomes p + a w / E w^2, clipped to [0, 1]. The mean
    squared error falls by at least a^2 / E w^2, which is at least e^2 / 4 because \|w\| is at most
    2, and clipping only lowers it. It is at most 1 at first and never negative, so there are
    at most 4 / e^2 corrections. The guarantee is about the rows fitted to; `advantages_` says
    what is left on rows that had no part.

    `predict` replays the corrections, each with the predictor as it was then, so that it can be
    asked about any features. Predictions of the same features are found once and kept while a call
    lasts: memory grows with rows times corrections.

    References
    ----------
    Dwork, Kim, Reingold, Rothblum, Yona (2021), Outcome indistinguishability, STOC.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(5000)
    >>> y = rng.random(5000) < np.where(x > 0.7, 0.8, 0.3)
    >>> tests = {
    ...     "all": lambda x, y, p, predict: y,
    ...     "high": lambda x, y, p, predict: y * (x > 0.7),
    ...     "confident": lambda x, y, p, predict: y * (p > 0.5),
    ...     "rises": lambda x, y, p, predict: y * (predict(np.clip(x + 0.1, 0, 1)) > p),
    ... }
    >>> learner = OutcomeIndistinguishable(tests, base=0.45).fit(x, y)
    >>> learner.predict([0.2, 0.9]).round(1)
    array([0.3, 0.8])
    """

    fitted_by = "updates_"
    to_fit = "call fit(features, y_true)"
    updates_: tuple[OutcomeUpdate, ...]
    advantages_: tuple[TestAdvantage, ...]
    sentence_: str

    def __init__(
        self,
        tests: Mapping[str, OutcomeTest],
        *,
        base: Callable[[Any], object] | float = 0.5,
        tolerance: float = 0.01,
        held_out: float = 0.2,
        rng: int = 0,
    ) -> None:
        self.tests = tests
        self.base = base
        self.tolerance = tolerance
        self.held_out = held_out
        self.rng = rng

    @property
    def most_updates(self) -> int:
        """The largest number of corrections there can be: 4 / tolerance^2."""
        return math.floor(4 / self.tolerance**2)

    def fit(
        self,
        features: object,
        y_true: object,
        sample_weight: object = None,
        *,
        pos_label: object = None,
    ) -> Self:
        """Find corrections.

        Parameters
        ----------
        features : array of shape (n,) or (n, k), mapping of str to columns, or frame
            What is known about the rows. Tests see an array as it is, columns as a dict of arrays.
        y_true : array-like of shape (n,)
            Outcomes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        pos_label : object, optional
            The label that counts as outcome 1.

        Returns
        -------
        The estimator itself.
        """
        self._check()
        refuse_other_labels(features=features, y_true=y_true, sample_weight=sample_weight)
        table = read_features(features)
        size = _size(table)
        with arguments_named(y_proba="features"):
            rows = Rows.read(y_true, np.full(size, 0.5), sample_weight, pos_label)
        outcome = np.asarray(rows.outcome, dtype=np.float64)
        order = canonical_order(outcome, rows.weight, *_columns(table))
        table, rows = _where(table, order), rows.where(order)
        judging = np.zeros(size, dtype=bool)
        if self.held_out:
            judging = hold_out(self.held_out, as_generator(self.rng), np.arange(size))
        if judging.all():
            raise InvalidForecastsError("there must be rows to fit to", count_text(size, "row"))
        self._learn(table, rows, ~judging)
        self.advantages_ = self._judged(table, rows, judging)
        self.sentence_ = self._in_words(judging)
        return self

    def predict(self, features: object) -> Floats:
        """Predict the chance of outcome 1 for any features."""
        self._require_fitted()
        return _Replay(self).predict(read_features(features))

    def _check(self) -> None:
        tests: object = self.tests
        if not isinstance(tests, Mapping) or not tests:
            raise InvalidOptionError(
                "tests must be a mapping with at least one test", shown(self.tests)
            )
        if not callable(self.base):
            check_within("base", self.base)
        check_share("tolerance", self.tolerance)
        check_within("held_out", self.held_out, 0.0, 0.5)

    def _learn(self, table: Any, rows: Rows, learning: Flags) -> None:
        x, part = _where(table, learning), rows.where(learning)
        share, outcome = shares(part), np.asarray(part.outcome, dtype=np.float64)
        self.updates_ = ()
        replay = _Replay(self)
        while True:
            p = replay.predict(x)
            name, test, advantage = self._worst(replay, x, p, share * (outcome - p))
            if abs(advantage) <= self.tolerance:
                break
            step = advantage / float(share @ test**2)
            updated = np.clip(p + step * test, 0, 1)
            brier = float(share @ (outcome - updated) ** 2)
            self.updates_ += (OutcomeUpdate(name, step, advantage, brier),)
            replay.updates = self.updates_

    def _worst(
        self, replay: _Replay, x: Any, p: Floats, residual: Floats
    ) -> tuple[str, Floats, float]:
        """Find the test with the largest advantage; of equal ones the first."""
        found = []
        for name in self.tests:
            test = replay.contrast(name, x, p)
            found.append((name, test, float(test @ residual)))
        return max(found, key=lambda one: abs(one[2]))

    def _judged(self, table: Any, rows: Rows, judging: Flags) -> tuple[TestAdvantage, ...]:
        replay = _Replay(self)
        enough = judging.sum() > 1
        found = []
        for name in self.tests:
            inside, _ = self._advantage(replay, name, table, rows, ~judging)
            outside = (
                self._advantage(replay, name, table, rows, judging) if enough else (None, None)
            )
            found.append(TestAdvantage(name, inside or 0.0, *outside))
        return tuple(found)

    def _advantage(
        self, replay: _Replay, name: str, table: Any, rows: Rows, chosen: Flags
    ) -> tuple[float | None, float | None]:
        x, part = _where(table, chosen), rows.where(chosen)
        share, p = shares(part), replay.predict(x)
        gain = replay.contrast(name, x, p) * (np.asarray(part.outcome, dtype=np.float64) - p)
        mean = float(share @ gain)
        return mean, float(np.sqrt(np.sum((share * (gain - mean)) ** 2)))

    def _in_words(self, judging: Flags) -> str:
        worst = max(abs(one.fitted) for one in self.advantages_)
        text = (
            f"{count_text(len(self.updates_), 'correction')} of at most {self.most_updates}; no "
            f"test has an advantage above {worst:.2g} on the rows fitted to"
        )
        if judging.sum() < 2:
            return text
        outside = max(self.advantages_, key=lambda one: abs(one.held_out or 0.0))
        return (
            f"{text}, nor above {abs(outside.held_out or 0.0):.2g} "
            f"(standard error {outside.standard_error:.2g}) on rows held out"
        )


class _Replay:
    """The predictor after some corrections, at any features; equal features are asked once."""

    def __init__(self, learner: OutcomeIndistinguishable) -> None:
        self.learner = learner
        self.updates = learner.updates_
        # Predictions after 0, 1, 2, ... corrections, by what the features hold.
        self._known: dict[object, list[Floats]] = {}

    def predict(self, x: Any, stage: int | None = None) -> Floats:
        """Predictions after so many corrections, by default all."""
        stage = len(self.updates) if stage is None else stage
        known = self._known.setdefault(_key(x), [])
        if not known:
            known.append(self._base(x))
        for at in range(len(known) - 1, stage):
            update = self.updates[at]
            test = self.contrast(update.test, x, known[at], at)
            known.append(np.clip(known[at] + update.step * test, 0, 1))
        return known[stage]

    def contrast(self, name: str, x: Any, p: Floats, stage: int | None = None) -> Floats:
        """Ask a test about outcome 1 and about outcome 0; the difference."""
        now = len(self.updates) if stage is None else stage

        def oracle(features: Any) -> Floats:
            return self.predict(read_features(features), now)

        one, zero = (
            _bounded(self.learner.tests[name](x, np.full(p.size, y), p, oracle), name, p.size)
            for y in (1.0, 0.0)
        )
        return np.asarray(one - zero)

    def _base(self, x: Any) -> Floats:
        base, size = self.learner.base, _size(x)
        if not callable(base):
            return np.full(size, float(base))
        prediction = predictions_alone(base(x))
        if prediction.size != size:
            raise InvalidForecastsError(
                "base must return one probability per row", f"{prediction.size} for {size} rows"
            )
        return prediction


def read_features(features: object) -> Any:
    """Return features as an array, or as a dict of arrays by the names of their columns."""
    if isinstance(features, list | tuple):
        features = np.asarray(features)
    if isinstance(features, np.ndarray):
        if features.ndim not in {1, 2} or not len(features):
            raise InvalidForecastsError(
                "features must have one entry per row", f"an array of shape {features.shape}"
            )
        return features
    columns = columns_of(features, "features")
    if not columns:
        raise InvalidForecastsError("features must have at least one column", "none")
    size = len(next(iter(columns.values())))  # type: ignore[arg-type]  # columns are sized
    return {name: read_column(values, name, size) for name, values in columns.items()}


def _columns(x: Any) -> list[Any]:
    return list(x.values()) if isinstance(x, dict) else [x]


def _size(x: Any) -> int:
    return len(_columns(x)[0])


def _where(x: Any, rows: Any) -> Any:
    if isinstance(x, dict):
        return {name: values[rows] for name, values in x.items()}
    return x[rows]


def _key(x: Any) -> object:
    """Tell what features hold, as something to look up."""
    names = tuple(x) if isinstance(x, dict) else ()
    contents = []
    for column in _columns(x):
        content = column.tobytes() if column.dtype.kind != "O" else repr(column.tolist())
        contents.append((column.shape, column.dtype.str, content))
    return names, tuple(contents)


def _bounded(values: object, name: str, size: int) -> Floats:
    """One number in [-1, 1] per row."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape not in {(), (size,)} or not (np.abs(found) <= 1).all():
        raise InvalidOptionError(
            f"the test {name!r} must return one number in [-1, 1] per row",
            f"shape {found.shape}"
            + (f", from {found.min():g} to {found.max():g}" if found.size else ""),
        )
    return np.broadcast_to(found, (size,))
