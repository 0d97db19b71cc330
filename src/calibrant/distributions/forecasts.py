"""Forecasts of whole distributions, judged by their transforms, scores and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import (
    as_generator,
    check_flag,
    check_share,
    enough_draws,
    shown,
    whole,
)
from calibrant._base.words import count_text
from calibrant.binning import MonotonePools
from calibrant.data.input import read_numbers, refuse_other_labels
from calibrant.data.rows import Rows, check_weights, finite_numbers
from calibrant.data.splits import canonical_order
from calibrant.decisions import ScoreDecomposition
from calibrant.distributions.forms import (
    DistributionForm,
    DistributionFunction,
    Ensemble,
    QuantileColumns,
)
from calibrant.distributions.pit import PitHistogram, PitTest, band_of_bins, kuiper, kuiper_pvalue
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inference import Evidence, Groups, Settings, Statistic, judge_evidences
from calibrant.joint import Joint

# Thresholds that are looked at one by one; slices of the range of outcomes where there are more,
# and numbers that are ordered for them.
MOST_VALUES, SLICES, MOST_ORDERED = 4096, (64, 1024), 2**24


def decomposed(
    form: DistributionForm, y: Floats, weight: Floats, scores: Floats
) -> ScoreDecomposition:
    """Decompose the mean of the scores.

    Beyond the least and the largest outcome every outcome lies on the same side of a threshold:
    recalibrated chances are then right, and add nothing.
    """
    kept = weight > 0
    low, high = float(y[kept].min()), float(y[kept].max())
    edges, exact = _edges(form, y[kept], low, high)
    after = 0.0
    for start, width in zip(edges[:-1], np.diff(edges), strict=True):
        # Nothing changes between two neighbours if these are all values that there are.
        at = float(start) if exact else float(start + width / 2)
        after += float(width) * _recalibrated(form, y, weight, at)
    score = float(np.average(scores, weights=weight))
    uncertainty = _spread(y, weight)
    where = "each threshold" if exact else count_text(edges.size - 1, "threshold")
    return ScoreDecomposition(
        score=score,
        miscalibration=max(score - after, 0.0),
        discrimination=max(uncertainty - after, 0.0),
        uncertainty=uncertainty,
        name="CRPS",
        pooling=f"isotonic at {where}",
    )


def _edges(form: DistributionForm, y: Floats, low: float, high: float) -> tuple[Floats, bool]:
    if isinstance(form, Ensemble):
        values = np.unique(np.concatenate([y, form.members.ravel()]))
        values = values[(values >= low) & (values <= high)]
        if values.size <= MOST_VALUES:
            return values, True
    count = int(np.clip(MOST_ORDERED // y.size, *SLICES))
    return np.linspace(low, high, count + 1 if high > low else 1), False


def _recalibrated(form: DistributionForm, y: Floats, weight: Floats, threshold: float) -> float:
    """Brier score of the chances of at most a threshold, after isotonic regression."""
    chance = np.clip(1 - form.exceedance(threshold), 0.0, 1.0)
    joint = Joint.from_samples(y <= threshold, chance, sample_weight=weight)
    curve = MonotonePools.of(joint).at_levels()
    return float(joint.mass @ (joint.outcome * (1 - 2 * curve) + curve**2))


def _spread(y: Floats, weight: Floats) -> float:
    """CRPS of the distribution of all outcomes: half their mean distance from each other."""
    order = np.argsort(y)
    at, share = y[order], weight[order] / weight.sum()
    upto = np.cumsum(share)[:-1]
    return float((np.diff(at) * upto * (1 - upto)).sum())


SMOOTH = Statistic.of("smooth_calibration_error")


@dataclass(frozen=True, eq=False)
class PredictiveDistributions:
    """One predictive distribution a row, from members, quantiles or a function.

    Examples
    --------
    >>> weather = PredictiveDistributions.from_ensemble([[11, 12, 14], [3, 5, 9], [20, 21, 25]])
    >>> weather.crps([13, 4, 30]).round(3)
    array([0.667, 1.   , 6.889])
    >>> weather.exceedance(12)
    array([0.33333333, 0.        , 1.        ])
    """

    form: DistributionForm
    table: Mapping[str, object] = field(default_factory=dict, repr=False)
    """What the rows came from, by its name, for its row labels."""

    @classmethod
    def from_ensemble(cls, members: object) -> PredictiveDistributions:
        """Take members of ensembles, equally likely: draws of a model, trajectories.

        Parameters
        ----------
        members : array-like of shape (n, m)
            One row a forecast, one column a member, in any order.
        """
        return cls(Ensemble.read(members), _labels_alone(members=members))

    @classmethod
    def from_quantiles(cls, levels: object, values: object) -> PredictiveDistributions:
        """Take quantiles.

        Parameters
        ----------
        levels : array-like of shape (k,)
            Increasing levels between 0 and 1.
        values : array-like of shape (n, k)
            One row a forecast, one column a level. Quantiles that cross are refused.
        """
        return cls(QuantileColumns.read(levels, values), _labels_alone(values=values))

    @classmethod
    def from_cdf(cls, cdf: Callable[[Floats], object], rows: int) -> PredictiveDistributions:
        """Take a function, such as the `cdf` of a frozen distribution of scipy.

        Parameters
        ----------
        cdf : callable
            Takes an array with one value for each row, returns the chance of an outcome of at
            most that. It may have steps.
        rows : int
            Number of forecasts.
        """
        if not callable(cdf):
            raise InvalidOptionError("cdf must be a function of one value a row", shown(cdf))
        return cls(DistributionFunction(cdf, whole("rows", rows)))

    def __len__(self) -> int:
        return self.form.rows

    def __repr__(self) -> str:
        return f"<PredictiveDistributions: {count_text(len(self), 'row')}, {self._kind}>"

    @property
    def _kind(self) -> str:
        form = self.form
        if isinstance(form, Ensemble):
            return count_text(form.members.shape[1], "member")
        if isinstance(form, QuantileColumns):
            return count_text(form.levels.size, "quantile")
        return "a cdf"

    def _outcomes(self, y_true: object) -> Floats:
        refuse_other_labels(y_true=y_true, **self.table)
        return finite_numbers(y_true, "y_true", len(self))

    def _weights(self, sample_weight: object) -> Floats | None:
        if sample_weight is None:
            return None
        refuse_other_labels(sample_weight=sample_weight, **self.table)
        weight = finite_numbers(sample_weight, "sample_weight", len(self))
        check_weights(weight)
        return weight

    def exceedance(self, threshold: float) -> Floats:
        """Chance of an outcome beyond a threshold, of each row.

        The share of members, or one minus the cdf. Between quantiles levels are interpolated;
        beyond the outer ones, where nothing is known, the middle of what is possible is taken.

        Parameters
        ----------
        threshold : float
            In the units of the outcome.
        """
        return self.form.exceedance(float(finite_numbers([threshold], "threshold")[0]))

    def pit(self, y_true: object, rng: np.random.Generator | int | None = None) -> Floats:
        """Probability integral transform of each outcome: uniform if distributions are right.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        rng : numpy.random.Generator or int, optional
            Source of randomness.

        Returns
        -------
        array of shape (n,)
            F(y). Where that is not one number, a uniform one between its ends: at an atom between
            F(y-) and F(y); between two quantiles between their levels; of m members between r and
            r + 1 over m + 1, with r the rank of the outcome, ties broken at random.

        Examples
        --------
        >>> from scipy.stats import norm
        >>> right = PredictiveDistributions.from_cdf(norm([0, 10], [1, 5]).cdf, rows=2)
        >>> right.pit([0, 15]).round(3)
        array([0.5  , 0.841])
        """
        y = self._outcomes(y_true)
        low, high = self.form.pit_limits(y)
        drawn = np.empty(y.size)
        # By what rows hold, so that their order does not matter.
        drawn[canonical_order(low, high, y)] = as_generator(rng).random(y.size)
        return np.asarray(low + drawn * (high - low))

    def pit_test(
        self,
        y_true: object,
        *,
        sample_weight: object = None,
        draws: int = 999,
        rng: np.random.Generator | int | None = None,
    ) -> PitTest:
        """Test whether the transforms are uniform, as those of right distributions are.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        draws : int, default=999
            Draws of uniform numbers.
        rng : numpy.random.Generator or int, optional
            Source of randomness, also of the transforms.

        Returns
        -------
        PitTest

        Notes
        -----
        Kuiper's statistic, the largest difference between the share of transforms in any range
        and the width of the range. It is compared with that of uniform numbers of the same
        weights, so the level is exact for independent rows (Rosenblatt 1952; Dawid 1984). Known
        flaws: transforms can be uniform although distributions are wrong in ways that cancel, as
        when each row is given the distribution of all outcomes; rows that follow each other in
        time are often dependent, and are then rejected too often. Outcomes that equal quantiles
        because both have atoms, such as days without rain, need a cdf or members.

        Examples
        --------
        >>> members = np.random.default_rng(0).normal(size=(500, 20))
        >>> outcomes = 2 * np.random.default_rng(1).normal(size=500)
        >>> test = PredictiveDistributions.from_ensemble(members).pit_test(outcomes, rng=0)
        >>> print(test.sentence)  # doctest: +NORMALIZE_WHITESPACE
        The distributions are wrong: 53.6 % of outcomes fall where 81.4 % should, between their
        levels 0.13 and 0.94 (p <= 0.001, 500 rows).
        """
        generator = as_generator(rng)
        draws = enough_draws(draws, 0.95)
        value, share = self._shares(y_true, sample_weight, generator)
        statistic, low, high, inside = kuiper(value, share)
        pvalue, exact = kuiper_pvalue(statistic, share, draws, generator)
        drawn = draws if exact else None
        return PitTest(statistic, low, high, inside, pvalue, exact, value.size, drawn)

    def pit_histogram(
        self,
        y_true: object,
        *,
        bins: int = 10,
        sample_weight: object = None,
        confidence: float = 0.95,
        draws: int = 1999,
        rng: np.random.Generator | int | None = None,
    ) -> PitHistogram:
        """Share of transforms in bins of equal width, with a band that holds for all bins at once.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        bins : int, default=10
            Number of bins. The rank histogram of m members has m + 1.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        confidence : float, default=0.95
            Chance that all bins of right distributions lie inside.
        draws : int, default=1999
            Draws of uniform numbers.
        rng : numpy.random.Generator or int, optional
            Source of randomness, also of the transforms.

        Returns
        -------
        PitHistogram
            A hump in the middle means too wide distributions, high ends too narrow ones, a slope
            a bias.
        """
        check_share("confidence", confidence)
        count, draws = whole("bins", bins, 2, 1000), enough_draws(draws, confidence)
        generator = as_generator(rng)
        value, share = self._shares(y_true, sample_weight, generator)
        cell = np.minimum((value * count).astype(np.intp), count - 1)
        half_width = band_of_bins(share, count, confidence, draws, generator)
        return PitHistogram(
            np.arange(count + 1) / count,
            np.asarray(np.bincount(cell, share, count), dtype=np.float64),
            1 / count,
            max(0.0, 1 / count - half_width),
            min(1.0, 1 / count + half_width),
            confidence,
            value.size,
        )

    def _shares(
        self, y_true: object, sample_weight: object, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return transforms of the rows that weigh something, and their shares of the weight."""
        refuse_other_labels(y_true=y_true, sample_weight=sample_weight)
        value, weight = self.pit(y_true, rng), self._weights(sample_weight)
        if weight is None:
            return value, np.full(value.size, 1 / value.size)
        kept = weight > 0
        return value[kept], weight[kept] / weight.sum()

    def crps(self, y_true: object, *, fair: bool = False) -> Floats:
        r"""Continuous ranked probability score of each row, in the units of the outcome.

        Smaller is better; of a forecast without spread it is the absolute error.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        fair : bool, default=False
            Score members as a sample of a distribution that is not known, rather than as the
            distribution itself: the mean then does not depend on how many there are.

        Returns
        -------
        array of shape (n,)
            Of ensembles exact. Of quantiles twice the mean pinball loss over the levels, which is
            near the score for many even levels and is often called the weighted interval score.
            Of a cdf an integral, refined until it changes by less than one part in a million; a
            warning says so where steps prevent that.

        Notes
        -----
        :math:`\int (F(x) - 1(y \le x))^2 dx`, which for members is the mean of `|x - y|` less half
        the mean of `|x - x'|` (Gneiting and Raftery 2007). Fair: Ferro (2014).

        Examples
        --------
        >>> ensemble = PredictiveDistributions.from_ensemble([[0.0, 1.0, 0.5, -0.3]])
        >>> ensemble.crps([0.3]).round(4), ensemble.crps([0.3], fair=True).round(4)
        (array([0.175]), array([0.0833]))
        """
        return self.form.crps(self._outcomes(y_true), fair=check_flag("fair", fair))

    def crps_decomposition(
        self, y_true: object, *, sample_weight: object = None
    ) -> ScoreDecomposition:
        """Split the mean CRPS into miscalibration, discrimination and uncertainty.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        ScoreDecomposition
            score = miscalibration - discrimination + uncertainty, none of them negative.

        Notes
        -----
        The score is the integral over thresholds of the Brier scores of the chances of at most
        that much. At each threshold these are recalibrated by isotonic regression (CORP,
        Dimitriadis, Gneiting and Jordan 2021), and the parts integrated: exactly for ensembles
        with up to 4096 values, otherwise, and for a cdf, by the midpoints of as many slices of the
        range of outcomes as `pooling` says. Recalibrated chances of one row need not rise with the
        threshold. Isotonic distributional regression makes them rise; it asks for an order of
        whole distributions, which leaves it more freedom, and so finds no less miscalibration
        (Arnold, Walz, Ziegel and Gneiting 2024).

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> signal = rng.normal(size=300)
        >>> outcome = signal + rng.normal(size=300)
        >>> members = 2 * signal[:, None] + rng.normal(size=(300, 8))
        >>> parts = PredictiveDistributions.from_ensemble(members).crps_decomposition(outcome)
        >>> bool(parts.miscalibration > 0.1)
        True
        """
        refuse_other_labels(y_true=y_true, sample_weight=sample_weight)
        y, weight = self._outcomes(y_true), self._weights(sample_weight)
        if isinstance(self.form, QuantileColumns):
            raise InvalidOptionError(
                "the CRPS is decomposed for members and functions",
                "quantiles",
                "decompose the pinball loss of each of them",
            )
        scores = self.form.crps(y, fair=False)
        return decomposed(self.form, y, np.ones(y.size) if weight is None else weight, scores)

    def threshold_calibration(
        self,
        y_true: object,
        thresholds: object,
        *,
        sample_weight: object = None,
        clusters: object = None,
        tolerance: float | str | None = None,
        confidence: float = 0.95,
        draws: int = 999,
        rng: np.random.Generator | int | None = None,
    ) -> Groups:
        """Judge the chances of exceeding each of some thresholds, all of them at once.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        thresholds : array-like of shape (k,)
            In the units of the outcome, each with outcomes on both sides.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        clusters : array-like of shape (n,), optional
            Labels of rows that depend on each other.
        tolerance : float or str, optional
            Largest acceptable smooth error; as for `calibrant.audit`.
        confidence : float, default=0.95
            Chance that the intervals of all thresholds hold.
        draws : int, default=999
            Draws for the intervals.
        rng : numpy.random.Generator or int, optional
            Source of randomness.

        Returns
        -------
        Groups
            One entry a threshold, those with the strongest evidence first: mean forecast and
            observed rate of exceeding it, smooth calibration error with an interval, O/E.

        Notes
        -----
        Threshold calibration of Henzi, Ziegel and Gneiting (2021). Known flaw: the share of few
        members that exceed a threshold is no calibrated forecast even if members are exchangeable
        with the outcome, but too extreme by about one part in so many members.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> members = rng.normal(size=(2000, 50))
        >>> found = PredictiveDistributions.from_ensemble(members).threshold_calibration(
        ...     rng.normal(size=2000) + 0.5, [0.0, 1.0], rng=0
        ... )
        >>> print(found.failing[0].sentence)
        threshold 0: mean forecast 0.50, observed rate 0.69 (2 000 rows)
        """
        refuse_other_labels(
            y_true=y_true, sample_weight=sample_weight, clusters=clusters, **self.table
        )
        y, weight = self._outcomes(y_true), self._weights(sample_weight)
        settings = Settings.read(confidence=confidence, draws=draws, tolerance=tolerance, rng=rng)
        evidences = {}
        for threshold in np.unique(read_numbers(thresholds, "thresholds")):
            beyond = y > threshold
            if beyond.all() or not beyond.any():
                raise InvalidForecastsError(
                    "thresholds must have outcomes on both sides",
                    f"{threshold:g} for outcomes between {y.min():g} and {y.max():g}",
                )
            rows = Rows(self.exceedance(threshold), beyond.astype(np.uint8), weight)
            evidences["threshold", f"{threshold:.12g}"] = Evidence.of_rows(rows, clusters)
        if not evidences:
            raise InvalidOptionError("thresholds must be one or more", "none")
        return replace(judge_evidences(evidences, SMOOTH, settings), noun="threshold")


def _labels_alone(**table: object) -> dict[str, object]:
    """Keep the row labels of a frame of pandas, without its columns; nothing of anything else."""
    return {
        name: values.iloc[:, :0]  # type: ignore[attr-defined]
        for name, values in table.items()
        if hasattr(type(values), "iloc")
    }
