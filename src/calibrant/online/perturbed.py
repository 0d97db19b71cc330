"""The perturbed leader: little regret for every task, with any number of classes."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_CLASSES, whole
from calibrant.online.distribution import Prediction
from calibrant.online.forecaster import Forecaster, Guarantee


class PerturbedCounts:
    """Class frequencies after adding geometric noise to every count.

    Examples
    --------
    >>> announced = PerturbedCounts((30, 10), 0.25)
    >>> round(announced.mean, 4)
    0.2897
    >>> round(announced.draw(np.random.default_rng(0)), 4)
    0.2979
    """

    __slots__ = ("counts", "stop")

    def __init__(self, counts: tuple[int, ...], stop: float) -> None:
        self.counts, self.stop = counts, stop

    @property
    def mean(self) -> Prediction:
        """The expected prediction, summed over all sizes of the noise (tail below 1e-15)."""
        total, classes = sum(self.counts), len(self.counts)
        size, chance = _noise(classes, self.stop)
        shrink = float((chance / (total + size)).sum())
        even = (1 - total * shrink) / classes
        return _as_prediction(tuple(count * shrink + even for count in self.counts))

    @property
    def atoms(self) -> tuple[tuple[Prediction, float], ...]:
        """The mean alone: there is no end to the predictions."""
        return ((self.mean, 1.0),)

    def draw(self, coin: np.random.Generator) -> Prediction:
        """One prediction."""
        noise = coin.geometric(self.stop, len(self.counts)).tolist()
        numbers = [count + extra for count, extra in zip(self.counts, noise, strict=True)]
        total = sum(numbers)
        return _as_prediction(tuple(number / total for number in numbers))


class UCalibratedForecaster(Forecaster):
    r"""Serve every decision maker at once: expected regret of at most 2 sqrt(K T) for each task.

    Says the class frequencies so far, each count raised by fresh geometric noise. For two
    classes or more. Randomised; the noise must stay hidden until the outcome is chosen.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds to come; without it the noise grows with the rounds. At most 10**9.
    classes : int, default=2
        Number K of possible outcomes.
    rng : numpy.random.Generator or int, optional
        Source of its noise.

    Notes
    -----
    For every task with payoffs in [0, 1] (equivalently every proper loss in [0, 1]), anybody who
    always takes the best response to the prediction loses at most :math:`2 \sqrt{K T}` in
    expectation against the best fixed action in hindsight; without a horizon
    :math:`3 \sqrt{K T}`. Proof: the frequencies after adding the outcome and the noise minimise
    the past loss plus that of the noise, which costs at most its mean total, K/q; and since a
    geometric number is 1 with chance q and otherwise one more than another, adding the outcome
    changes the expected loss by at most q per round; q = sqrt(K/T). The bound is for each task
    by itself. No calibration is promised: regret against the best fixed action is less than
    regret against every recalibration.

    References
    ----------
    Kleinberg, Paes Leme, Schneider, Teng (2023), U-calibration, COLT. Luo, Senapati, Sharan
    (2024), Optimal multiclass U-calibration error and beyond, NeurIPS.

    Examples
    --------
    >>> forecaster = UCalibratedForecaster(1000, classes=3, rng=0)
    >>> for outcome in [2, 2, 0, 2]:
    ...     chances = forecaster.predict()
    ...     forecaster.update(outcome)
    >>> [round(chance, 3) for chance in chances]
    [0.637, 0.345, 0.018]
    """

    guarantee = Guarantee(
        measure="u_calibration_error",
        exponent=1 / 2,
        logarithms=0,
        surely=False,
        statement="for each task with payoffs in [0, 1]: E[regret against the best fixed action] "
        "<= 2 sqrt(K T) for K classes (3 sqrt(K T) without a horizon)",
        source="Luo, Senapati, Sharan (2024)",
    )
    randomised = True
    _stored = ("_counts",)

    def __init__(
        self,
        horizon: int | None = None,
        *,
        classes: int = 2,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        horizon = None if horizon is None else whole("horizon", horizon)
        classes = whole("classes", classes, 2, MOST_CLASSES)
        options = {"horizon": horizon, "classes": classes}
        super().__init__(options, horizon=horizon, classes=classes, rng=rng)
        self._counts = [0] * classes

    def bound(self, rounds: int) -> float:
        """Bound the expected regret of any task with payoffs in [0, 1] after so many rounds."""
        if self.horizon is None:
            return 3 * math.sqrt(self.classes * rounds)
        stop = self._stop(self.horizon)
        return self.classes / stop + stop * rounds

    def _stop(self, length: int) -> float:
        return min(1.0, math.sqrt(self.classes / length))

    def _announce(self) -> PerturbedCounts:
        return PerturbedCounts(tuple(self._counts), self._stop(self.horizon or self.rounds + 1))

    def _learn(self, prediction: Prediction, outcome: int) -> None:
        del prediction
        self._counts[outcome] += 1


@lru_cache(maxsize=4)
def _noise(classes: int, stop: float) -> tuple[Floats, Floats]:
    """Sum of `classes` geometric numbers: its sizes and their chances, by their ratios."""
    most = math.ceil((classes + 12 * math.sqrt(classes) + 80) / stop)
    size = np.arange(classes, classes + most, dtype=np.float64)
    with np.errstate(divide="ignore"):
        steps = np.log((1 - stop) * size[:-1] / (size[:-1] - classes + 1))
    return size, np.exp(np.append(0.0, np.cumsum(steps)) + classes * math.log(stop))


def _as_prediction(chances: tuple[float, ...]) -> Prediction:
    return chances[1] if len(chances) == 2 else chances
