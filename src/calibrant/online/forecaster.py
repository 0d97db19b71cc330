"""What every online forecaster can do: announce, predict, learn, be stored and be resumed."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import as_generator
from calibrant._base.stored import MOST_COUNTED, Stored, parse, restoring
from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidStateError, mention
from calibrant.online.distribution import Forecast, Prediction

SCHEMA = 1
# Generators whose state may be stored: a name must not call anything else.
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a forecaster promises on every sequence of outcomes."""

    measure: str
    """The calibration error it keeps small, by its name in the catalogue."""
    exponent: float
    """Rounds x measure grow at most like rounds to this power ..."""
    logarithms: float
    """... times the logarithm of rounds to this one."""
    surely: bool
    """True if the bound holds on every run; False if it holds in expectation."""
    statement: str
    """The bound in words, for T rounds."""
    source: str
    """Who found it."""


class Forecaster(ABC):
    """One prediction per round, before the outcome is known.

    A round is `forecast()` (what nature may see), `predict()` (draws), `update(outcome)`. A call
    that raises leaves the forecaster as it was.
    """

    guarantee: ClassVar[Guarantee | None] = None
    """What it promises; None for a baseline."""
    randomised: ClassVar[bool] = False
    """Whether predictions are drawn; a deterministic forecaster announces a single one."""
    _stored: ClassVar[tuple[str, ...]] = ()
    """Attributes that make up the state, beyond those of the base classes."""
    _kinds: ClassVar[dict[str, type[Forecaster]]] = {}

    horizon: int | None
    """Most rounds it can play; None for any number."""
    classes: int
    """Number of possible outcomes."""
    rounds: int
    """Rounds played so far."""

    def __init_subclass__(cls) -> None:
        Forecaster._kinds[cls.__name__] = cls

    def __init__(
        self,
        options: dict[str, Any],
        *,
        horizon: int | None = None,
        classes: int = 2,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.horizon, self.classes, self.rounds = horizon, classes, 0
        self._options = options
        self._coin = as_generator(rng)
        self._announced: Forecast | None = None
        self._pending: Prediction | None = None
        self._epoch_end = -1

    @abstractmethod
    def _announce(self) -> Forecast:
        """Forecast the next outcome; changes nothing."""

    @abstractmethod
    def _learn(self, prediction: Prediction, outcome: int) -> None:
        """Take note of a round."""

    def _next_epoch(self) -> None:
        """Begin anew; called after the round that ends an epoch."""
        raise NotImplementedError

    def forecast(self) -> Forecast:
        """Announce the distribution of the next prediction; the same until the next update."""
        if self._announced is None:
            if self.rounds == self.horizon:
                raise InvalidForecastsError(
                    f"{type(self).__name__} was made for {self.horizon} rounds",
                    "one more",
                    "give a larger horizon, or none",
                )
            self._announced = self._announce()
        return self._announced

    def predict(self, coin: np.random.Generator | None = None) -> Prediction:
        """Draw the prediction of this round; the same until the next update.

        Parameters
        ----------
        coin : numpy.random.Generator, optional
            What to draw with, instead of the forecaster's own generator.

        Returns
        -------
        float, or tuple of float
            Chance of outcome 1; for more than two classes the chance of each.
        """
        if self._pending is None:
            self._pending = self.forecast().draw(self._coin if coin is None else coin)
        return self._pending

    def update(self, outcome: object) -> None:
        """Learn the outcome of the round that was predicted.

        Parameters
        ----------
        outcome : int
            0 or 1, or the number of a class.
        """
        if self._pending is None:
            raise InvalidForecastsError(
                "an outcome must follow a prediction",
                "update before predict",
                "call predict() once before every update(outcome)",
            )
        self._learn(self._pending, read_outcome(outcome, self.classes))
        self._announced = self._pending = None
        self.rounds += 1
        if self.rounds == self._epoch_end:
            self._next_epoch()

    def run(self, outcomes: object, coin: np.random.Generator | None = None) -> Floats:
        """Predict a recorded sequence, each outcome learned before the next prediction.

        Parameters
        ----------
        outcomes : array-like of shape (n,)
            0 and 1, or numbers of classes; all are checked before the first is predicted.
        coin : numpy.random.Generator, optional
            What to draw with, instead of the forecaster's own generator.

        Returns
        -------
        array of shape (n,), or (n, classes) for more than two classes
            The predictions.
        """
        sequence = self._readable(outcomes)
        predictions = np.zeros((sequence.size, *self._shape()))
        for row, outcome in enumerate(sequence.tolist()):
            predictions[row] = self.predict(coin)
            self.update(outcome)
        return predictions

    def _readable(self, outcomes: object) -> npt.NDArray[np.int64]:
        sequence = read_sequence(outcomes, self.classes)
        if self.horizon is not None and self.rounds + sequence.size > self.horizon:
            raise InvalidForecastsError(
                f"{type(self).__name__} was made for {self.horizon} rounds",
                f"{self.rounds + sequence.size}",
                "give a larger horizon, or none",
            )
        return sequence

    def _shape(self) -> tuple[int, ...]:
        """Shape of one prediction."""
        return () if self.classes == 2 else (self.classes,)

    def bound(self, rounds: int) -> float:
        """Bound rounds x measure of the guarantee after so many rounds, whatever happens.

        It holds surely or in expectation, as `guarantee.surely` says.
        """
        del rounds
        raise InvalidOptionError(
            "a bound needs a forecaster with a guarantee", type(self).__name__, "see its docs"
        )

    def to_json(self) -> str:
        """Write options and state; `Forecaster.from_json` continues bit for bit."""
        return json.dumps(
            {
                "schema": SCHEMA,
                "forecaster": type(self).__name__,
                "options": self._options,
                "rounds": self.rounds,
                "epoch_end": self._epoch_end,
                "pending": self._pending,
                "coin": generator_state(self._coin) if self.randomised else None,
                "state": {name: getattr(self, name) for name in self._state_names()},
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Make a forecaster from what `to_json` wrote, of any kind if called on the base class."""
        stored = read_stored(text)
        kind = Forecaster._kinds.get(stored.text("forecaster"))
        if kind is None or not issubclass(kind, cls):
            raise InvalidStateError(
                f"stored must be a {cls.__name__}", stored.text("forecaster")[:60]
            )
        with restoring(stored.what):
            made: Forecaster = kind(**stored.part("options").data)
            made._continue(stored)
        return made  # type: ignore[return-value]  # a subclass of cls, as was just checked

    def _continue(self, stored: Stored) -> None:
        state = stored.part("state")
        if set(state.data) != set(self._state_names()):
            raise InvalidStateError(
                f"{stored.what} must hold the state that to_json wrote",
                ", ".join(map(str, state.data))[:60],
            )
        self._prepare_for(state)
        for name in self._state_names():
            refuse_unlike(state.get(name), getattr(self, name), f"{name} of {stored.what}")
            setattr(self, name, state.get(name))
        self.rounds = stored.whole("rounds", 0, self.horizon or MOST_COUNTED)
        ends = self._epoch_end != -1
        self._epoch_end = stored.whole("epoch_end", self.rounds + 1 if ends else -1,
                                       MOST_COUNTED if ends else -1)  # fmt: skip
        self._pending = self._pending_from(stored)
        if self.randomised:
            self._coin = generator_from(stored.part("coin"))
        if self.rounds != self.horizon:  # a round on a copy shows whether the state holds together
            trial = deepcopy(self)
            prediction = np.asarray(trial.predict())
            if not bool(((prediction >= 0) & (prediction <= 1)).all()):
                raise InvalidStateError(
                    f"{stored.what} must predict probabilities", f"{prediction}"
                )
            trial.update(0)

    def _prepare_for(self, state: Stored) -> None:
        """Prepare for a stored state whose size is not that of a new forecaster."""
        del state

    def _pending_from(self, stored: Stored) -> Prediction | None:
        if stored.get("pending") is None:
            return None
        if self.classes == 2:
            return stored.number("pending", 0.0, 1.0)
        return tuple(stored.numbers("pending", 0.0, 1.0, (self.classes,)).tolist())

    @classmethod
    def _state_names(cls) -> list[str]:
        return [name for base in cls.__mro__ for name in base.__dict__.get("_stored", ())]

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f"{type(self).__name__}({options})"


def read_outcome(outcome: object, classes: int) -> int:
    """Return the outcome as an int; refuse what is none."""
    if type(outcome) is int and 0 <= outcome < classes:
        return outcome
    numbers = (bool, float, np.bool_, np.integer, np.floating)
    if isinstance(outcome, numbers) and any(outcome == known for known in range(classes)):
        return int(outcome)
    raise InvalidForecastsError(
        f"an outcome must be {_allowed(classes)}",
        repr(outcome),
        "an unresolved outcome is not a 0: wait for it",
    )


def _allowed(classes: int) -> str:
    return "0 or 1" if classes == 2 else f"a class from 0 to {classes - 1}"


def read_sequence(outcomes: object, classes: int | None = None) -> npt.NDArray[np.int64]:
    """Return recorded outcomes as whole numbers; refuse what is none."""
    recorded = np.asarray(outcomes)
    if isinstance(outcomes, np.ma.MaskedArray) and recorded.dtype.kind in "biuf":
        # Columns of files are masked where a value is missing, and hold zeros beneath.
        recorded = np.where(np.ma.getmaskarray(outcomes), np.nan, recorded)
    if recorded.ndim != 1 or (recorded.size and recorded.dtype.kind not in "biuf"):
        raise InvalidForecastsError(
            "recorded outcomes must be one column of numbers",
            f"shape {recorded.shape}, type {recorded.dtype}",
        )
    with np.errstate(invalid="ignore"):
        sequence = recorded.astype(np.int64)
    most = np.inf if classes is None else classes - 1
    bad = (sequence != recorded) | (sequence < 0) | (sequence > most)
    if bad.any():
        row = int(np.argmax(bad))
        allowed = "0 and 1, or numbers of classes" if classes is None else _allowed(classes)
        raise InvalidForecastsError(
            f"recorded outcomes must be {allowed}",
            f"{'a missing value' if np.isnan(recorded[row]) else recorded[row]} in row {row + 1}",
            "an unresolved outcome is not a 0: drop its row",
        )
    return sequence


def generator_state(coin: np.random.Generator) -> dict[str, Any]:
    """State of a generator, in types that JSON knows."""
    return _plain(coin.bit_generator.state)  # type: ignore[no-any-return]


def generator_from(state: Stored) -> np.random.Generator:
    """Make a generator that continues from a stored state."""
    bits = getattr(np.random, state.choice("bit_generator", GENERATORS))()
    bits.state = state.data
    return np.random.Generator(bits)


def refuse_unlike(value: object, known: object, what: str) -> None:
    """Refuse a value that is not made like one that is known: lists of the same size, numbers."""
    if isinstance(known, list | tuple):
        if not isinstance(value, list) or (known and len(value) != len(known)):
            raise InvalidStateError(f"{mention(what)} must be a list like that of a new one")
        for i, part in enumerate(value):
            refuse_unlike(part, known[i] if known else 0.0, what)
    elif isinstance(known, float):
        if type(value) not in {int, float}:
            raise InvalidStateError(f"{mention(what)} must hold numbers")
    elif type(value) is not int and not (known is None and value is None):
        raise InvalidStateError(f"{mention(what)} must hold whole numbers")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def read_stored(text: str) -> Stored:
    """Read what to_json wrote; refuse anything else."""
    stored = parse(text, "a stored forecaster", infinite=True)
    stored.require_schema(SCHEMA)
    return stored
