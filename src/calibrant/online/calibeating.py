"""Beat a model's probabilities for every proper score at once, whatever happens next."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_CELLS, as_generator, check_within, whole
from calibrant.data.rows import Rows
from calibrant.errors import InvalidForecastsError
from calibrant.online.distribution import Forecast
from calibrant.online.forecaster import read_sequence
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
    before the next prediction. No calibration is promised; for that see `StreamRecalibrator`,
    whose promise is about squared errors and the smooth error.

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
        self._asked: int | None = None

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
        if self._asked not in {None, number}:
            raise InvalidForecastsError(
                "the outcome of a prediction must be learned before the next prediction",
                "a prediction in another cell",
                "StreamRecalibrator takes outcomes that come late",
            )
        self._asked = number
        said = self._forecaster(number).predict(self._coin)
        assert isinstance(said, float)  # noqa: S101  # one number for two outcomes
        return said

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
        self._asked = None

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
        rows = Rows.read(outcomes, probabilities)
        sequence = read_sequence(rows.outcome, 2).tolist()
        said = np.empty(len(sequence))
        for row, x in enumerate(rows.prediction.tolist()):
            said[row] = self.predict_one(x)
            self.learn_one(x, sequence[row])
        return said

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
