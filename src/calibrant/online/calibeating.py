"""Beat a model's probabilities on a stream, whatever happens next."""

from __future__ import annotations

import math

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_CELLS, as_generator, check_within, whole
from calibrant.data.rows import Rows
from calibrant.errors import InvalidForecastsError
from calibrant.online.decision import DecisionForecaster, expected_harm, scales_for
from calibrant.online.distribution import Distribution, Forecast, certain
from calibrant.online.epochs import FIRST_EPOCH
from calibrant.online.forecaster import read_outcome, read_sequence
from calibrant.online.perturbed import UCalibratedForecaster


class ProperCalibeater:
    r"""Serve every decision maker as well as a model that was recalibrated in hindsight.

    In each cell of the model's probability it says the share of ones so far, both counts raised by
    fresh geometric noise (`UCalibratedForecaster`). Randomised; the noise must stay hidden until
    the outcome is chosen.

    Parameters
    ----------
    cells : int, default=10
        Number J of cells of equal width. At most 2**20.
    rng : numpy.random.Generator or int, optional
        Source of its noise.

    Notes
    -----
    For every proper loss in [0, 1], equivalently for all who take best responses to what is said
    in a task with payoffs in [0, 1], and for every sequence of outcomes: the expected losses sum to
    at most those of the best fixed forecast of each cell in hindsight, and
    :math:`\sum_j 3 \sqrt{2 T_j} \le 3 \sqrt{2 J T}` more, where :math:`T_j` counts the rounds of a
    cell. The best fixed forecasts are the model after rounding to cells and perfect
    recalibration, so their losses are the refinement part of the model's.

    Proof: the rounds of a cell are a game of their own, in which the `UCalibratedForecaster` has an
    expected regret of at most :math:`3 \sqrt{2 T_j}` for each such loss against the best fixed
    forecast. Regrets add up, and the sum of roots is at most :math:`\sqrt{J T}` (Cauchy, Schwarz).

    The bound is for each loss by itself, in expectation over the noise. Each outcome must be known
    before the next prediction. No calibration is promised; for that see `Calibeater` and, for
    outcomes that come late, `StreamRecalibrator`, whose promises are about squared errors.

    Known flaw: it begins with noise instead of the model's own probability, which costs in the
    first rounds of every cell.

    References
    ----------
    Foster, Hart (2026), Proper calibeating, arXiv 2605.26703, has the notion; this algorithm and
    its proof are a reduction to Luo, Senapati, Sharan (2024), Optimal multiclass U-calibration
    error and beyond, NeurIPS, cell by cell.

    Examples
    --------
    A model that says 0.9 for what happens six times in ten.

    >>> beater = ProperCalibeater(rng=0)
    >>> for outcome in [1, 0, 1, 1, 0, 1, 0, 1, 1, 0] * 30:
    ...     said = beater.predict_one(0.9)
    ...     beater.learn_one(0.9, outcome)
    >>> round(said, 1)
    0.6
    >>> beater.rounds, round(beater.regret_bound)
    (300, 73)
    """

    def __init__(self, *, cells: int = 10, rng: np.random.Generator | int | None = None) -> None:
        self.cells = whole("cells", cells, 1, MOST_CELLS)
        self._coin = as_generator(rng)
        self._forecasters: dict[int, UCalibratedForecaster] = {}
        self._open_cell: int | None = None

    def forecast(self, x: float) -> Forecast:
        """Announce the distribution of what will be said where the model says x."""
        return self._forecaster(self._cell(x)).forecast()

    def predict_one(self, x: float) -> float:
        """Say the chance of outcome 1; asked again before the outcome, the answer is the same.

        Parameters
        ----------
        x : float
            What the model says.
        """
        number = self._cell(x)
        if self._open_cell not in {None, number}:
            raise _out_of_turn()
        self._open_cell = number
        prediction = self._forecaster(number).predict(self._coin)
        assert isinstance(prediction, float)  # noqa: S101  # one number for two outcomes
        return prediction

    def learn_one(self, x: float, y: object) -> None:
        """Learn the outcome where the model said x.

        Parameters
        ----------
        x : float
            What `predict_one` was given.
        y : int or bool
            The outcome, 0 or 1.
        """
        self.predict_one(x)
        self._forecaster(self._cell(x)).update(y)
        self._open_cell = None

    def run(self, outcomes: object, probabilities: object) -> Floats:
        """Play a recorded stream in its order: predict, then learn, row by row.

        Parameters
        ----------
        outcomes : array-like of shape (n,)
            0 and 1; all rows are checked before the first is predicted.
        probabilities : array-like of shape (n,)
            What the model said.

        Returns
        -------
        array of shape (n,)
            What was said, each before its outcome was seen.
        """
        return _run(self, outcomes, probabilities)

    @property
    def rounds(self) -> int:
        """Number of outcomes learned."""
        return sum(one.rounds for one in self._forecasters.values())

    @property
    def regret_bound(self) -> float:
        """Bound how far expected losses exceed those of recalibration in hindsight, in sum."""
        return sum(one.bound(one.rounds) for one in self._forecasters.values())

    def __repr__(self) -> str:
        return f"ProperCalibeater(cells={self.cells}, rounds={self.rounds})"

    def _cell(self, x: float) -> int:
        return min(int(check_within("x", x) * self.cells), int(self.cells) - 1)

    def _forecaster(self, number: int) -> UCalibratedForecaster:
        if number not in self._forecasters:
            self._forecasters[number] = UCalibratedForecaster(rng=self._coin)
        return self._forecasters[number]


# Scale of the rival's potential; any up to 1/2 will do.
RIVAL_SCALE = 1 / 3


class RivalledForecaster(DecisionForecaster):
    """The decision forecaster with one more test, whose loss is that of a rival forecast.

    Before each round `rival` holds the rival's forecast. See `Calibeater`.
    """

    _stored = ("rival", "_gain", "_spread")
    rival: float

    def _best_grid(self, length: int) -> int:
        return max(6, 2 * round(math.sqrt(length / math.log(length + 1))))

    def _reset(self) -> None:
        super()._reset()
        self.rival = 0.5
        self._gain = 0.0  # sum of f (y - p) - |f| / (2 K), f being the rival's forecast less p
        self._spread = 0.0  # sum of f^2
        self._points = np.arange(self._grid + 1) / self._grid

    def _epoch_bound(self, grid: int, length: int | None, played: int) -> float:
        scales = scales_for(length or FIRST_EPOCH)
        return min(float(played), expected_harm(grid, scales, played, 4 * (grid + 1)))

    def rival_bound(self, rounds: int) -> float:
        """Bound the expected sum of squared errors, less that of the rival."""
        return sum(
            2 * math.log(2) / RIVAL_SCALE
            + played / (4 * self._grid_for(length) ** 2 * (1 - 2 * RIVAL_SCALE))
            for length, played in self._epochs(rounds)
        )

    def _announce(self) -> Distribution:
        grid, scales = self._grid, scales_for(self._length or FIRST_EPOCH)
        exponent = RIVAL_SCALE * self._gain - RIVAL_SCALE**2 * self._spread
        # Weights W+ - W- are sums over the scales, not means: the rival's is multiplied alike.
        exponent += math.log(2 * (grid + 1) * len(scales) * RIVAL_SCALE)
        logs = np.array(self._weights)
        top = max(exponent, float(logs.max()))
        weights = np.sign(self._biases) * np.exp(logs - top)
        weights += math.exp(exponent - top) * (self.rival - self._points)
        if weights[0] <= 0:
            return certain(0.0)
        if weights[-1] >= 0:
            return certain(1.0)
        at = int(np.argmax((weights[:-1] > 0) & (weights[1:] <= 0)))
        low = float(weights[at + 1] / (weights[at + 1] - weights[at]))
        if low == 0:
            return certain((at + 1) / grid)
        return Distribution((at / grid, (at + 1) / grid), (low, 1 - low))

    def _learn(self, prediction: float, outcome: int) -> None:
        super()._learn(prediction, outcome)
        apart = self.rival - prediction
        self._gain += apart * (outcome - prediction) - abs(apart) / (2 * self._grid)
        self._spread += apart**2

    def against(self, rival: float) -> Forecast:
        """Announce the next forecast against this forecast of the rival."""
        if rival != self.rival:
            self.rival, self._announced, self._pending = rival, None, None
        return self.forecast()


class Calibeater:
    r"""Stay calibrated, and lose about log T more squared error than a recalibrated model.

    On every sequence of outcomes, in expectation: nobody who trusts what is said regrets much, in
    any decision task, and squared errors sum to at most those of the model recalibrated in
    hindsight, in cells of its probability, plus a term of order J log T. Randomised; the coin must
    stay hidden until the outcome is chosen.

    Parameters
    ----------
    cells : int, default=10
        Number J of cells of equal width. At most 2**20.
    horizon : int, optional
        Number of rounds to come; without it the calibrated part begins anew after 64, 128, ...
        rounds. At most 10**9.
    rng : numpy.random.Generator or int, optional
        Source of its coins.

    Notes
    -----
    The rival is the mean outcome so far in the cell of the model's probability, at first the
    middle of the cell. Over the :math:`T_j` rounds of a cell its squared errors exceed those of the
    best constant by at most :math:`\sum_{i \le T_j} 1/i` (Foster and Hart 2023). What is said is a
    `DecisionForecaster` with one more test: with m the forecast of the rival, p what is said, on
    a grid of K steps, f = m - p and lambda = 1/3, the potential

    .. math:: 2 (K+1) e^Z, \quad
              Z = \sum_t \lambda f_t (y_t - p_t) - \lambda |f_t| / (2K) - \lambda^2 f_t^2

    is added to those of the grid points. The forecaster plays where the weighted sum of all tests,
    :math:`W^+_k - W^-_k + 2 (K+1) \lambda e^Z (m - k/K)` at k/K, changes sign, a coin between the
    two neighbors.

    **Proof.** Let a be this sum, played at two neighbors with chances in inverse proportion to its
    size: whatever y is, the mean of a (y - p) is the mean of :math:`|a|/(2K)`, which the terms
    1/(2K) and :math:`|f|/(2K)` offset. From :math:`e^{x - s^2} \le 1 + x` for
    :math:`|x| \le s (1 + 1/(2K))`, s <= 1/2 and K >= 5, all potentials together are a
    supermartingale that begins at 4 (K+1). So :math:`E e^Z \le 2`, and E Z <= ln 2 (Jensen). Since
    :math:`(p - y)^2 - (m - y)^2 = 2 f (y - p) - f^2`, the squared errors exceed the rival's by
    :math:`2 Z/\lambda + \sum |f|/K - (1 - 2 \lambda) f^2`, in expectation at most
    :math:`2 \ln(2)/\lambda + T/(4 K^2 (1 - 2 \lambda))`: with K about
    :math:`2 \sqrt{T/\ln T}` that is :math:`6 \ln 2 + 3 \ln(T)/16`, `regret_bound` with the sums of
    1/i. Without a horizon it is added for each of about log2(T/64) epochs. The biases of the grid
    points are bounded as in `DecisionForecaster`, with twice the potential: `calibration_bound`,
    of order sqrt(T) up to logarithms, for T x the decision loss; T x the squared expected
    calibration error of order 2 is never larger.

    Known flaw: each outcome must be known before the next prediction, and a round costs K steps.
    `regret_bound` is small, `calibration_bound` is trivial below some hundreds of rounds. For late
    outcomes see `StreamRecalibrator`; for every proper score against a recalibrated model,
    `ProperCalibeater`.

    References
    ----------
    Chen, Huang, Jordan, Luo (2026), Calibeating made simple, COLT, arXiv 2603.22167, has both rates
    at once for two outcomes; the construction and its proof here are our own. Foster, Hart (2023),
    "Calibeating": beating forecasters at their own game, Theoretical Economics 18.

    Examples
    --------
    A model that says 0.9 for what happens six times in ten.

    >>> beater = Calibeater(horizon=300, rng=0)
    >>> for outcome in [1, 0, 1, 1, 0, 1, 0, 1, 1, 0] * 30:
    ...     said = beater.predict_one(0.9)
    ...     beater.learn_one(0.9, outcome)
    >>> 0.5 <= said <= 0.7
    True
    >>> beater.rounds, round(beater.regret_bound, 1)
    (300, 11.4)
    """

    def __init__(
        self,
        *,
        cells: int = 10,
        horizon: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.cells = whole("cells", cells, 1, MOST_CELLS)
        self._forecaster = RivalledForecaster(horizon, rng=rng)
        self._counts: dict[int, tuple[int, int]] = {}  # rounds and ones of each cell
        self._open_cell: int | None = None

    def forecast(self, x: float) -> Forecast:
        """Announce the distribution of what will be said where the model says x.

        Parameters
        ----------
        x : float
            What the model says.

        Returns
        -------
        Distribution
        """
        number = self._cell(x)
        if self._open_cell not in {None, number}:
            raise _out_of_turn()
        return self._forecaster.against(self._mean(number))

    def predict_one(self, x: float) -> float:
        """Say the chance of outcome 1; the same if repeated before the outcome is known.

        Parameters
        ----------
        x : float
            What the model says.

        Returns
        -------
        float
        """
        self.forecast(x)
        self._open_cell = self._cell(x)
        return float(self._forecaster.predict())

    def learn_one(self, x: float, y: object) -> None:
        """Learn the outcome where the model said x.

        Parameters
        ----------
        x : float
            What `predict_one` was given.
        y : int or bool
            The outcome, 0 or 1.
        """
        self.predict_one(x)
        outcome, number = read_outcome(y, 2), self._cell(x)
        self._forecaster.update(outcome)
        rounds, ones = self._counts.get(number, (0, 0))
        self._counts[number] = rounds + 1, ones + outcome
        self._open_cell = None

    def run(self, outcomes: object, probabilities: object) -> Floats:
        """Play a recorded stream in its order: predict, then learn, row by row.

        Parameters
        ----------
        outcomes : array-like of shape (n,)
            0 and 1; all rows are checked before the first is predicted.
        probabilities : array-like of shape (n,)
            What the model said.

        Returns
        -------
        array of shape (n,)
            What was said, each before its outcome was seen.
        """
        return _run(self, outcomes, probabilities)

    @property
    def rounds(self) -> int:
        """Number of outcomes learned."""
        return self._forecaster.rounds

    @property
    def regret_bound(self) -> float:
        """Bound how far squared errors exceed those of recalibration in hindsight, in sum."""
        from scipy.special import digamma

        means = 0.0
        for number, (rounds, _) in self._counts.items():
            middle = (number + 0.5) / self.cells
            means += max(middle, 1 - middle) ** 2 - 1 + float(digamma(rounds + 1)) + np.euler_gamma
        return means + (self._forecaster.rival_bound(self.rounds) if self.rounds else 0.0)

    @property
    def calibration_bound(self) -> float:
        """Bound rounds x calibration decision loss of what was said, in expectation."""
        return self._forecaster.bound(self.rounds)

    def __repr__(self) -> str:
        return f"Calibeater(cells={self.cells}, rounds={self.rounds})"

    def _cell(self, x: float) -> int:
        return min(int(check_within("x", x) * self.cells), int(self.cells) - 1)

    def _mean(self, number: int) -> float:
        rounds, ones = self._counts.get(number, (0, 0))
        return ones / rounds if rounds else (number + 0.5) / self.cells


def _out_of_turn() -> InvalidForecastsError:
    return InvalidForecastsError(
        "the outcome of a prediction must be learned before the next prediction",
        "a prediction in another cell",
        "StreamRecalibrator takes outcomes that come late",
    )


def _run(beater: ProperCalibeater | Calibeater, outcomes: object, probabilities: object) -> Floats:
    rows = Rows.read(outcomes, probabilities)
    sequence = read_sequence(rows.outcome, 2).tolist()
    said = np.empty(len(sequence))
    for row, x in enumerate(rows.prediction.tolist()):
        said[row] = beater.predict_one(x)
        beater.learn_one(x, sequence[row])
    return said
