"""Could perfect forecasts have scored this? Outcomes simulated from the predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import NUMBERS_IN_CACHE, Floats, in_parts
from calibrant._base.notebook import brief
from calibrant._base.options import as_generator, check_draws, shown
from calibrant._base.parallel import in_threads
from calibrant._base.words import pvalue_text
from calibrant.binning import gathered
from calibrant.catalogue import CATALOGUE
from calibrant.errors import InvalidOptionError
from calibrant.inference.evidence import Evidence
from calibrant.inference.statistic import AnyMeasure, Statistic, residual_mass_of
from calibrant.joint import Joint
from calibrant.joint.draws import draw_positives
from calibrant.measures.smooth import smooth_calibration_error

# The name of the test that looks at the smooth error, slope and intercept, and shape.
COMBINED = "combined"
# Scores of one statistic that differ by less than this share of the largest are equal.
EQUAL = 1e-12
# Noise floors are drawn in so many cells, and on exact levels by at most about so many numbers.
FLOOR_CELLS, MOST_NUMBERS = 2**15, 2**23


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """A statistic beside what a perfectly calibrated forecaster scores on the same rows."""

    measure: str
    """Name of the measure; "combined" for several."""
    statistic: float
    """Its value on the sample; on the rounded predictions when `cells` is set. Of several, one
    minus the smallest of their p-values."""
    null: Floats
    """Its values on outcomes simulated from the predictions, ascending."""
    exact: bool
    """False with clusters, and where rows of different weights had to be drawn as equal ones."""
    cells: int | None
    """Cells that predictions were rounded to for the test, or None."""
    clusters: int | None = None
    """Number of clusters, or None."""
    parts: tuple[CalibrationTest, ...] = ()
    """The tests that a combined test is made of."""
    known_floor: float | None = None
    """The noise floor by a formula, for measures that have one and rows without clusters."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def headline(self) -> CalibrationTest:
        """The first of the tests that this one is made of; this one if it is one of its own."""
        return self.parts[0] if self.parts else self

    @property
    def most_striking(self) -> CalibrationTest:
        """The test with the smallest p-value of those that this one is made of."""
        return min(self.parts, key=lambda part: part.pvalue) if self.parts else self

    @property
    def pvalue(self) -> float:
        """Chance that perfect forecasts score at least this much."""
        reached = self.null.size - int(np.searchsorted(self.null, self.statistic - 1e-12))
        return (1 + reached) / (1 + self.null.size)

    @property
    def chance(self) -> str:
        """The p-value in words: "p = 0.03", or "p <= 0.001" where no simulation scored so much."""
        return pvalue_text(self.pvalue, self.null.size)

    @property
    def noise_floor(self) -> float:
        """Mean score of perfect forecasts on these rows: a formula, or simulated."""
        return float(self.null.mean()) if self.known_floor is None else self.known_floor

    @property
    def excess(self) -> float:
        """The statistic less the noise floor, at least 0."""
        return max(0.0, self.statistic - self.noise_floor)

    def noise_quantile(self, q: float) -> float:
        """Score that perfect forecasts stay below with chance q."""
        return float(np.quantile(self.null, q))


def calibration_test(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure | Sequence[AnyMeasure] = COMBINED,
    draws: int = 999,
    clusters: object = None,
    rng: np.random.Generator | int | None = None,
) -> CalibrationTest:
    """Ask whether perfect forecasts could have scored this, by simulating the outcomes.

    The default sees what users see: errors of one sign over a range of forecasts (the smooth
    error), forecasts that are too extreme or too timid (slope and intercept), and waves (shape).

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. They change the Joint, not the amount of evidence.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str, callable or several of them, default="combined"
        A name of the catalogue, a measure (with options through `functools.partial`), or any
        function of a Joint; several are combined. "combined" stands for the smooth error, Rao's
        score test of intercept and slope, and the likelihood that isotonic regression gains (with
        clusters the Brier score that it gains).
    draws : int, default=999
        Number of simulations. At most 10**6.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: patients, questions, games.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    CalibrationTest

    Notes
    -----
    The null hypothesis is that outcomes are drawn independently from the predictions.
    The p-value is then exact: at most a share a of calibrated samples gets a p-value of a or less,
    for every sample size and any weights. With more than 4096 levels statistic and simulations use
    predictions rounded to 4096 cells, which is conservative. `exact` is False for a Joint whose
    levels mix weights (and for more than about 33 000 rows of different weights): their events are
    drawn with inverse Gaussian weights of the exact mean and variance. It is False with clusters:
    dependence within a cluster is unknown, so the residuals of each cluster are kept and their sign
    is flipped at random, which needs many clusters (`clusters` below 30 is too few to rely on).

    A combined test takes the smallest p-value of its members, and compares it with what the
    simulations' own smallest p-values are. All members see the same simulations, so that the
    p-value stays exact (Besag and Clifford 1989). Over 17 ways to be wrong at 200 rows it finds
    65 % at the level 0.05, the smooth error alone 38 %. Its flaw: it says that something is off,
    not how much; `parts` and `most_striking` say what.

    Examples
    --------
    >>> outcomes, predictions = [1] * 30 + [0] * 10, [0.5] * 40
    >>> result = calibration_test(outcomes, predictions, draws=199, rng=0)
    >>> result.pvalue
    0.005
    >>> smooth = result.headline
    >>> smooth.statistic, round(smooth.noise_floor, 3)
    (0.25, 0.069)
    """
    check_draws(draws)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    generator = as_generator(rng)
    if isinstance(measure, str) and measure == COMBINED:
        headline = Statistic.of(smooth_calibration_error)
        return run_test(evidence, with_slope_and_shape(headline, evidence), draws, generator)
    if isinstance(measure, str) or callable(measure):
        return run_test(evidence, Statistic.of(measure), draws, generator)
    if not isinstance(measure, Sequence):
        raise InvalidOptionError("@measure must be a measure, or several", shown(measure))
    return run_test(evidence, [Statistic.of(one) for one in measure], draws, generator)


def with_slope_and_shape(headline: Statistic, evidence: Evidence) -> list[Statistic]:
    """Join a statistic by those that see slope, intercept and shape."""
    return [headline, *evidence.law.tests(evidence)]


def run_test(
    evidence: Evidence,
    statistics: Statistic | Sequence[Statistic],
    draws: int,
    rng: np.random.Generator,
) -> CalibrationTest:
    """Test evidence that was read before, with one statistic or several combined."""
    several = not isinstance(statistics, Statistic)
    statistics = [statistics] if isinstance(statistics, Statistic) else statistics
    if evidence.clusters is not None:
        for statistic in statistics:
            statistic.refuse_without_batch()
    joint = evidence.joint
    observed = residual_mass_of(joint)[np.newaxis, :]

    def scores(residual_masses: Floats) -> list[Floats]:
        return [statistic.values(joint, residual_masses) for statistic in statistics]

    drawn = np.concatenate(in_threads(scores, evidence.null_residual_masses(draws, rng)), axis=1)
    count = None if evidence.clusters is None else len(evidence.clusters)
    scored = np.array([statistic.values(joint, observed)[0] for statistic in statistics])
    tests = tuple(
        CalibrationTest(
            statistic.name,
            float(score),
            np.sort(row),
            evidence.exact(draws),
            evidence.cells,
            count,
            known_floor=statistic.known_floor(joint) if count is None else None,
        )
        for statistic, score, row in zip(statistics, scored, drawn, strict=True)
    )
    if not several:
        return tests[0]
    striking = _most_striking(np.column_stack([scored, drawn]))
    return CalibrationTest(
        COMBINED,
        float(striking[0]),
        np.sort(striking[1:]),
        tests[0].exact,
        evidence.cells,
        count,
        tests,
    )


def _most_striking(scores: Floats) -> Floats:
    """One minus the smallest p-value of each sample among all of them; a row per statistic.

    The sample and its simulations are treated alike, so that under calibration they can be
    exchanged.
    Equal scores may differ in their last digits; a tie speaks for the forecaster.
    """
    smallest = np.ones(scores.shape[1])
    for row in scores:
        finite = np.abs(row[np.isfinite(row)])
        slack = EQUAL * float(finite.max(initial=0.0))
        reached = row.size - np.searchsorted(np.sort(row), row - slack)
        smallest = np.minimum(smallest, reached / row.size)
    return 1 - smallest


def noise_floors(
    joint: Joint, measures: Sequence[str], draws: int, rng: np.random.Generator | int | None
) -> dict[str, float]:
    """Mean value of measures for perfect forecasts, on the levels of a Joint.

    By a formula where there is one. Other measures see the same draws, of at most `FLOOR_CELLS`
    cells of neighbouring levels. Only those that see every level apart are drawn on all of them:
    with many levels they hardly vary from draw to draw, so the number of draws shrinks to keep the
    numbers drawn in all below `MOST_NUMBERS`.
    """
    generator = as_generator(rng)
    statistics = {measure: Statistic.of(measure) for measure in measures}
    known = {measure: statistic.known_floor(joint) for measure, statistic in statistics.items()}
    floors = {measure: floor for measure, floor in known.items() if floor is not None}
    unknown = [measure for measure in measures if measure not in floors]
    apart = [measure for measure in unknown if CATALOGUE[measure].each_level]
    pooled = [measure for measure in unknown if measure not in apart]
    for some, levels in ((pooled, gathered(joint, FLOOR_CELLS)), (apart, joint)):
        if some:
            means = _mean_of_draws(levels, [statistics[m] for m in some], draws, generator)
            floors |= dict(zip(some, means, strict=True))
    return floors


def _mean_of_draws(
    joint: Joint, statistics: Sequence[Statistic], draws: int, rng: np.random.Generator
) -> list[float]:
    affordable = max(1, min(draws, MOST_NUMBERS // len(joint)))

    def residual_masses() -> Iterator[Floats]:
        for count in in_parts(affordable, len(joint), NUMBERS_IN_CACHE):
            positives = draw_positives(joint, rng, count)
            yield (positives - joint.weight * joint.prediction) / joint.total

    def scores(residual_masses: Floats) -> list[Floats]:
        return [statistic.values(joint, residual_masses) for statistic in statistics]

    means = np.concatenate(in_threads(scores, residual_masses()), axis=1).mean(axis=1)
    return [float(mean) for mean in means]
