"""The tree forecaster: calibration for many classes, in the very long run."""

from __future__ import annotations

import math

import numpy as np

from calibrant._base.options import MOST_CLASSES, whole
from calibrant.online.distribution import Distribution, Prediction
from calibrant.online.forecaster import Forecaster


class TreeForecaster(Forecaster):
    r"""Say a mean of recent outcomes over a window of random length; for any number of classes.

    The number of rounds it needs grows only polynomially with the number of classes, but so fast
    with the accuracy asked for that at feasible horizons it is still far from calibrated: after
    32 768 rounds with ten classes the canonical l1 error was 0.76 on independent outcomes and
    0.53 on a cycle (eight branches, five levels), of at most 2. Use it to study the
    method, and a binary forecaster per class to be calibrated in practice.

    Parameters
    ----------
    horizon : int
        Most rounds to play. At most 10**9.
    classes : int, default=2
        Number of possible outcomes.
    branching : int, default=8
        Every window is divided into this many windows of the next level; the number of levels
        follows from the horizon. Fewer branches (so more levels) do better in practice.
    rng : numpy.random.Generator or int, optional
        Source of its coins.

    Notes
    -----
    Level h = 1, ..., D has windows of M^(D - h + 1) rounds for branching M. Each round a level is
    drawn, all with the same chance; the prediction is the mean outcome from the start of that
    level's current window to the start of its current part, and uniform if that is empty. Memory
    is O(classes x D). This is follow the leader inside TreeSwap. The known promise, small l1
    error once the horizon is the number of classes to a power of order 1/error^2, is asymptotic.
    `guarantee` is None; `canonical_bound` is a bound in the Euclidean norm, weak at feasible
    horizons.

    **Proof.** K is the number of classes, T that of rounds, outcomes y are corners of the simplex,
    the loss of p is the squared Euclidean distance :math:`|y - p|^2`. A part of w rounds with mean
    outcome b is predicted as p, the mean of the earlier parts of its window, so the sum over parts
    of :math:`w |b - p|^2` is the loss at this level less the least loss of a constant in each part.
    The loss in a window exceeds the least loss of one constant by the sum of
    :math:`w^2 |b - p|^2 / W`, W being the rounds of the window up to the end of the part: at most
    w (1 - 1/K) for the first part and 2 w^2/W for others. Windows of the next level are the parts
    of this one, so least losses cancel: over all D levels the :math:`w |b - p|^2` sum to at most
    S = T (1 - 1/K) + the excesses of all levels, each about T (1 - 1/K + 2 (H_M - 1))/M with the
    harmonic number H_M. A round is predicted by each level with chance 1/D, so the bias of a part
    is 1/D of w (b - p) in expectation, and these sum to at most sqrt(T S/D) (Cauchy, Schwarz). The
    draws add to a level at most the root of its number of parts x its loss x (D - 1)/D^2: a
    martingale, also against a nature that has seen all earlier draws. Parts of one round need no
    such term. Where parts have equal predictions, biases can only cancel.

    References
    ----------
    Peng (2025), High dimensional online calibration in polynomial time, FOCS. Fishelson,
    Golowich, Mohri, Schneider (2025), High-dimensional calibration from swap regret.

    Examples
    --------
    >>> forecaster = TreeForecaster(8, branching=2, rng=0)
    >>> for outcome in [1, 0, 1, 1, 0]:
    ...     _ = forecaster.predict()
    ...     forecaster.update(outcome)
    >>> forecaster.forecast().support
    (0.0, 0.5, 0.75)
    """

    randomised = True
    _stored = ("_closed", "_open")

    def __init__(
        self,
        horizon: int,
        *,
        classes: int = 2,
        branching: int = 8,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        horizon, classes = whole("horizon", horizon), whole("classes", classes, 2, MOST_CLASSES)
        branching = whole("branching", branching, 2)
        options = {"horizon": horizon, "classes": classes, "branching": branching}
        super().__init__(options, horizon=horizon, classes=classes, rng=rng)
        self._parts = [1]  # length of the parts of a window, from the last level to the first
        while self._parts[-1] * branching < horizon:
            self._parts.append(self._parts[-1] * branching)
        self._branching = branching
        # Class counts of each level: in the finished parts of the window, and in the current one.
        self._closed = [[0] * classes for _ in self._parts]
        self._open = [[0] * classes for _ in self._parts]

    def canonical_bound(self, rounds: int) -> float:
        """Bound the expected rounds x canonical error in the Euclidean norm, on every sequence.

        The Euclidean length of the bias, summed over all distinct predictions: what
        `Game.canonical_error(norm="l2")` measures. Saying the same chance of every class each round
        guarantees sqrt(1 - 1/classes) x rounds, so a larger bound says nothing. Up to 10**9 rounds
        that is the case for 8 branches, not for 32 or more and at least three levels.

        Parameters
        ----------
        rounds : int
            Number of rounds, at most the horizon.

        Returns
        -------
        float
            At most sqrt(2) x rounds, which no sequence exceeds.

        Examples
        --------
        >>> forecaster = TreeForecaster(32_768, classes=10, branching=32)
        >>> round(forecaster.canonical_bound(32_768) / 32_768, 2)
        0.82
        """
        rounds, depth = whole("rounds", rounds, 1, self.horizon or 1), len(self._parts)
        least = rounds * (1 - 1 / self.classes)
        excesses = [self._excess(part, rounds) for part in self._parts]
        square = (least + sum(excesses)) / depth
        draws = sum(
            math.sqrt(math.ceil(rounds / part) * (least + excess) * (depth - 1)) / depth
            for part, excess in zip(self._parts, excesses, strict=True)
            if part > 1
        )
        return min(math.sqrt(rounds * square) + draws, math.sqrt(2) * rounds)

    def _excess(self, part: int, rounds: int) -> float:
        """Bound how far losses of a level exceed those of the best constant of each window."""
        from scipy.special import digamma

        def of_window(played: int) -> float:
            whole_parts, last = divmod(played, part)
            if not whole_parts:
                return last * (1 - 1 / self.classes)
            harmonic = float(digamma(whole_parts + 1)) + np.euler_gamma
            weight = 1 - 1 / self.classes + 2 * (harmonic - 1)
            return part * weight + 2 * last**2 / played

        windows, rest = divmod(rounds, part * self._branching)
        return windows * of_window(part * self._branching) + of_window(rest)

    def _announce(self) -> Distribution:
        levels = [self._mean(counts) for counts in self._closed]
        support = sorted(set(levels))
        return Distribution(
            tuple(support), tuple(levels.count(value) / len(levels) for value in support)
        )

    def _mean(self, counts: list[int]) -> Prediction:
        total = sum(counts)
        chances = tuple(count / total if total else 1 / self.classes for count in counts)
        return chances[1] if self.classes == 2 else chances

    def _learn(self, prediction: Prediction, outcome: int) -> None:
        del prediction
        played = self.rounds + 1
        for part, closed, current in zip(self._parts, self._closed, self._open, strict=True):
            current[outcome] += 1
            if played % part == 0:
                ended = played % (part * self._branching) == 0
                for label in range(self.classes):
                    closed[label] = 0 if ended else closed[label] + current[label]
                    current[label] = 0
