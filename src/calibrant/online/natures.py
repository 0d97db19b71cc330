"""Who chooses the outcomes: coins, recorded sequences, and adversaries.

A nature is any callable of the history and the forecast's distribution; it never sees the coin. The
classes here can be told when a game begins, and how long it will be.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import check_within, whole
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.online.distribution import Forecast
from calibrant.online.forecaster import read_outcome, read_sequence
from calibrant.online.least import least_error

Outcomes = npt.NDArray[np.int64]


class History:
    """What has happened so far in a game, for nature to read.

    Examples
    --------
    >>> history = History(np.array([0.5, 0.25, 0.0]), np.array([1, 0, 0]))
    >>> history.rounds = 2
    >>> history.predictions, history.outcomes
    (array([0.5 , 0.25]), array([1, 0]))
    """

    __slots__ = ("_outcomes", "_predictions", "rounds")

    def __init__(self, predictions: Floats, outcomes: Outcomes) -> None:
        self._predictions, self._outcomes = predictions.view(), outcomes.view()
        self._predictions.flags.writeable = self._outcomes.flags.writeable = False
        self.rounds = 0

    @property
    def predictions(self) -> Floats:
        """Predictions of the past rounds."""
        return self._predictions[: self.rounds]

    @property
    def outcomes(self) -> Outcomes:
        """Outcomes of the past rounds."""
        return self._outcomes[: self.rounds]


AnyNature = Callable[[History, Forecast], int]


class Nature(ABC):
    """Chooses outcomes; told when a game begins."""

    binary: ClassVar[bool] = False
    """Whether it can only play with outcomes 0 and 1."""

    def begin(self, rounds: int, rng: np.random.Generator) -> None:  # noqa: B027  # optional
        """Prepare a game of so many rounds."""

    def least(self, rounds: int, measure: str) -> float | None:
        """Bound what every forecaster must expect against this nature; None if nothing is known."""
        del rounds, measure
        return None

    @abstractmethod
    def __call__(self, history: History, forecast: Forecast) -> int:
        """Choose the next outcome."""

    def __repr__(self) -> str:
        shown = [f"{n}={v!r}" for n, v in vars(self).items() if not n.startswith("_")]
        return f"{type(self).__name__}({', '.join(shown)})"


class ObliviousNature(Nature):
    """Chooses all outcomes before the game, whatever is forecast."""

    @abstractmethod
    def sequence(self, rounds: int, rng: np.random.Generator) -> Outcomes:
        """Outcomes of a whole game."""

    def begin(self, rounds: int, rng: np.random.Generator) -> None:
        """Draw the outcomes of the game."""
        self._sequence = self.sequence(rounds, rng).tolist()

    def __call__(self, history: History, forecast: Forecast) -> int:
        """Return the outcome that was fixed for this round."""
        del forecast
        return self._sequence[history.rounds]  # type: ignore[no-any-return]


class Bernoulli(ObliviousNature):
    """Independent coins of one bias.

    Examples
    --------
    >>> Bernoulli(0.3).sequence(10, np.random.default_rng(0)).tolist()
    [0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    >>> round(Bernoulli(0.5).least(1024, "calibration_decision_loss"), 1)
    12.8
    """

    def __init__(self, chance: float = 0.5) -> None:
        self.chance = _probability("chance", chance)

    def sequence(self, rounds: int, rng: np.random.Generator) -> Outcomes:
        """Toss the coins."""
        return (rng.random(rounds) < self.chance).astype(np.int64)

    def least(self, rounds: int, measure: str) -> float | None:
        """Bound the expected rounds x measure of every forecaster from below, see `least_error`."""
        return least_error(measure, whole("rounds", rounds), self.chance)


class Drift(ObliviousNature):
    """Independent coins whose bias moves steadily from one value to another."""

    def __init__(self, start: float = 0.1, end: float = 0.9) -> None:
        self.start, self.end = _probability("start", start), _probability("end", end)

    def sequence(self, rounds: int, rng: np.random.Generator) -> Outcomes:
        """Toss the coins."""
        chance = np.linspace(self.start, self.end, rounds)
        return (rng.random(rounds) < chance).astype(np.int64)


class Markov(ObliviousNature):
    """A chain that keeps its last outcome with some chance; the first one is a fair coin."""

    def __init__(self, stay: float = 0.9) -> None:
        self.stay = _probability("stay", stay)

    def sequence(self, rounds: int, rng: np.random.Generator) -> Outcomes:
        """Walk the chain."""
        turns = rng.random(rounds) >= self.stay
        turns[0] = rng.random() < 0.5
        return np.cumsum(turns, dtype=np.int64) % 2


class Categorical(ObliviousNature):
    """Independent draws of one of several classes.

    Examples
    --------
    >>> Categorical([0.2, 0.3, 0.5]).sequence(8, np.random.default_rng(1)).tolist()
    [2, 2, 0, 2, 1, 1, 2, 1]
    """

    def __init__(self, chances: Sequence[float]) -> None:
        values = np.asarray(chances, dtype=np.float64)
        if values.ndim != 1 or not (values >= 0).all() or abs(values.sum() - 1) > 1e-9:
            raise InvalidOptionError("chances must be at least 0 and sum to one", repr(chances))
        self.chances = tuple(values.tolist())

    def sequence(self, rounds: int, rng: np.random.Generator) -> Outcomes:
        """Draw the classes."""
        chances = np.asarray(self.chances)
        return rng.choice(chances.size, size=rounds, p=chances / chances.sum())


class Replay(ObliviousNature):
    """A recorded sequence of outcomes, from its beginning.

    Parameters
    ----------
    outcomes : array-like of shape (n,)
        Whole numbers: 0 and 1, or the numbers of classes.
    """

    def __init__(self, outcomes: object) -> None:
        self._recorded = read_sequence(outcomes)

    def sequence(self, rounds: int, rng: np.random.Generator) -> Outcomes:
        """Return the first outcomes on record."""
        del rng
        if rounds > self._recorded.size:
            raise InvalidOptionError(
                "a replay can last as long as its record",
                f"{rounds} rounds for {self._recorded.size} outcomes",
            )
        return self._recorded[:rounds]

    def __repr__(self) -> str:
        return f"Replay({self._recorded.size} outcomes)"


class DeterministicBreaker(Nature):
    """Answers 1 if and only if the expected prediction is below 1/2; else the least likely class.

    Every deterministic forecaster suffers: its ECE is at least 1/2 per round (survey, section 5).
    """

    def __call__(self, history: History, forecast: Forecast) -> int:
        """Contradict the forecast."""
        del history
        mean = forecast.mean
        return mean.index(min(mean)) if isinstance(mean, tuple) else int(mean < 0.5)


class BiasReinforcer(Nature):
    """Answers what makes the expected calibration error grow most, one round ahead.

    It knows the sum of residuals y - p of every prediction made so far and the distribution of
    the next one, and takes the outcome with the larger expected sum of absolute biases.
    """

    binary = True

    def begin(self, rounds: int, rng: np.random.Generator) -> None:
        """Forget the last game."""
        del rounds, rng
        self._bias: dict[float, float] = {}

    def __call__(self, history: History, forecast: Forecast) -> int:
        """Take the outcome that hurts more."""
        if history.rounds:
            last = float(history.predictions[-1])
            residual = float(history.outcomes[-1]) - last
            self._bias[last] = self._bias.get(last, 0.0) + residual
        gain = 0.0
        for prediction, chance in forecast.atoms:
            bias = self._bias.get(prediction, 0.0)
            gain += chance * (abs(bias + 1 - prediction) - abs(bias - prediction))
        return int(gain > 0)


class EarlyStopping(Nature):
    r"""Fair coins until the smooth error is large enough, then the same outcome for ever.

    The adversary behind the lower bound T^(1/3) for smooth error and distance to calibration: a
    forecaster of coins is off by some amount now and then, and nature stops right there. From
    then on it repeats the outcome that the forecasts so far have been too low for (too high: 0).

    Parameters
    ----------
    constant : float, default=0.5
        It stops once rounds so far x smooth error exceeds constant x T^(1/3).

    Notes
    -----
    One round moves rounds x smooth error by at most 1, so the error is computed only when it may
    have passed the mark, at most every eighth of the mark: nature may stop that much too late.

    References
    ----------
    Qiao, Zheng (2024), On the distance from calibration in sequential prediction, COLT.
    """

    binary = True

    def __init__(self, constant: float = 0.5) -> None:
        if not constant > 0:
            raise InvalidOptionError("constant must be positive", repr(constant))
        self.constant = float(constant)

    def begin(self, rounds: int, rng: np.random.Generator) -> None:
        """Toss all coins; when to stop depends on the game."""
        self._outcomes = Bernoulli(0.5).sequence(rounds, rng).tolist()
        self._mark = self.constant * rounds ** (1 / 3)
        self._look_at = int(self._mark) + 1
        self._for_ever: int | None = None

    def __call__(self, history: History, forecast: Forecast) -> int:
        """Toss a coin, or repeat."""
        del forecast
        if self._for_ever is None and history.rounds >= self._look_at:
            self._look(history)
        return self._outcomes[history.rounds] if self._for_ever is None else self._for_ever

    def _look(self, history: History) -> None:
        outcomes, predictions = history.outcomes, history.predictions
        error = history.rounds * smooth_calibration_error(outcomes, predictions)
        if error > self._mark:
            self._for_ever = int((outcomes - predictions).sum() > 0)
        self._look_at = history.rounds + 1 + int(max(self._mark - error, self._mark / 8))


class FunctionNature(Nature):
    """Any callable of history and forecast."""

    def __init__(self, function: AnyNature) -> None:
        self._function = function

    def __call__(self, history: History, forecast: Forecast) -> int:
        """Ask the callable."""
        return self._function(history, forecast)

    def __repr__(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)


def as_nature(nature: object) -> Nature:
    """Take a nature, or wrap a callable."""
    if isinstance(nature, Nature):
        return nature
    if callable(nature):
        return FunctionNature(nature)
    raise InvalidOptionError(
        "nature must be a nature or a callable of history and forecast", repr(nature)[:60]
    )


def read_answer(nature: Nature, answer: object, classes: int, number: int) -> int:
    """Return the outcome that nature chose; say which round it was if it is none."""
    try:
        return read_outcome(answer, classes)
    except InvalidForecastsError as error:
        raise InvalidForecastsError(
            f"{nature!r} must answer with an outcome", f"{answer!r} in round {number}", error.what
        ) from error


def _probability(name: str, value: float) -> float:
    return check_within(name, value)
