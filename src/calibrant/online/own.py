"""Forecasters of the user's own: two methods are enough to play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from calibrant._base.options import shown
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.online.distribution import Distribution, Prediction, certain
from calibrant.online.forecaster import Forecaster

# How far chances, of predictions or of classes, may be from adding up to one.
ROUNDING = 1e-9


@runtime_checkable
class OwnForecaster(Protocol):
    """What a class needs to play in a game: `forecast` before the outcome, `learn` after it.

    It may also have `classes` (2 if it has none), `horizon`, and, with a promise to keep, a
    `guarantee` with a method `bound(rounds)`. It inherits from nothing.

    Examples
    --------
    Laplace's rule of succession:

    >>> class Laplace:
    ...     ones, rounds = 0, 0
    ...
    ...     def forecast(self):
    ...         return (self.ones + 1) / (self.rounds + 2)
    ...
    ...     def learn(self, prediction, outcome):
    ...         self.ones += outcome
    ...         self.rounds += 1
    >>> from calibrant.online import Bernoulli, simulate
    >>> game = simulate(Laplace(), Bernoulli(0.3), 1000, rng=0)
    >>> print(game)
    Laplace() against Bernoulli(chance=0.3), 1 000 rounds
    >>> game.forecaster.own.rounds
    1000
    """

    def forecast(self) -> object:
        """Announce the next prediction, and change nothing.

        Returns
        -------
        float, mapping of float to float, or Distribution
            The chance of outcome 1; or predictions with the chance of saying each. With more than
            two classes a prediction is a tuple of one chance per class.
        """
        ...

    def learn(self, prediction: Any, outcome: int) -> None:
        """Take note of what was predicted, and of the outcome."""
        ...


class PlayedForecaster(Forecaster):
    """A forecaster of the user's own, with what games ask for; `own` is the user's object."""

    randomised = True

    def __init__(self, own: OwnForecaster) -> None:
        super().__init__(
            {}, horizon=getattr(own, "horizon", None), classes=getattr(own, "classes", 2)
        )
        self.own = own
        self.guarantee = getattr(own, "guarantee", None)  # type: ignore[misc]  # of this one

    def _announce(self) -> Distribution:
        return read_forecast(self.own.forecast(), self.classes, self.rounds)

    def _learn(self, prediction: Prediction, outcome: int) -> None:
        self.own.learn(prediction, outcome)

    def bound(self, rounds: int) -> float:
        """Return the bound of the user's own guarantee."""
        own: Any = self.own
        return super().bound(rounds) if self.guarantee is None else float(own.bound(rounds))

    def to_json(self) -> str:
        """Refuse: what a class of the user's own consists of is not known here."""
        raise InvalidOptionError(
            "a forecaster of your own cannot be stored", repr(self), "store its state yourself"
        )

    def __repr__(self) -> str:
        kind = type(self.own)
        return f"{kind.__name__}()" if kind.__repr__ is object.__repr__ else repr(self.own)


def as_forecaster(forecaster: object) -> Forecaster:
    """Take a forecaster, or wrap an object that forecasts and learns."""
    if isinstance(forecaster, Forecaster):
        return forecaster
    if isinstance(forecaster, OwnForecaster) and not isinstance(forecaster, type):
        return PlayedForecaster(forecaster)
    raise InvalidOptionError(
        "forecaster must be a Forecaster, or have the methods forecast() and "
        "learn(prediction, outcome)",
        shown(forecaster),
        "a class must be called to make one" if isinstance(forecaster, type) else "",
    )


def read_forecast(forecast: object, classes: int, number: int = 0) -> Distribution:
    """Return what was announced as a distribution over predictions; refuse what is none.

    Examples
    --------
    >>> read_forecast({0.5: 0.75, 0.25: 0.25}, 2)
    Distribution(support=(0.25, 0.5), probability=(0.25, 0.75))
    """
    if isinstance(forecast, Distribution):
        forecast = dict(forecast.atoms)
    if not isinstance(forecast, Mapping):
        return certain(_prediction(forecast, classes, number))
    atoms = sorted(
        (_prediction(prediction, classes, number), chance)
        for prediction, chance in forecast.items()
    )
    chances = np.array([_number(chance) for _, chance in atoms])
    if not (chances >= 0).all() or abs(chances.sum() - 1) > ROUNDING:
        raise InvalidForecastsError(
            "the chances of predictions must be at least 0 and sum to one",
            f"{shown(forecast)} in round {number}",
        )
    kept = [
        (prediction, float(chance))
        for (prediction, _), chance in zip(atoms, chances, strict=True)
        if chance
    ]
    return Distribution(
        tuple(prediction for prediction, _ in kept), tuple(chance for _, chance in kept)
    )


def _prediction(stated: object, classes: int, number: int) -> Prediction:
    """One prediction: a chance, or one chance per class."""
    if classes == 2:
        chance = _number(stated)
        if 0 <= chance <= 1:
            return chance
    elif isinstance(stated, Sequence | np.ndarray) and len(stated) == classes:
        row = tuple(_number(chance) for chance in stated)
        if min(row) >= 0 and abs(sum(row) - 1) <= ROUNDING:
            return row
    wanted = "a number in [0, 1]" if classes == 2 else f"{classes} chances that sum to one"
    raise InvalidForecastsError(
        f"a forecast must be {wanted}", f"{shown(stated)} in round {number}"
    )


def _number(value: Any) -> float:
    """Return a number, or one that no check accepts."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
