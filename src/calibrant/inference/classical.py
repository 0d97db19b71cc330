"""Numbers that fields have long quoted, each under its own name and with its reservations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, blocks
from calibrant._base.notebook import brief
from calibrant.binning import quantile_bins
from calibrant.errors import ConvergenceError, InferenceRefusedError
from calibrant.inference.calibration_index import (
    CalibrationIndex,
    around_ici,
    find_index,
    kernel_index,
    width_of_kernel,
)
from calibrant.inference.cases import Cases
from calibrant.inference.estimates import Estimate, ScoreTest
from calibrant.inference.evidence import Evidence
from calibrant.inference.polynomial_fit import PolynomialFit
from calibrant.inference.ratio import Ratio, find_ratio
from calibrant.inference.settings import Settings
from calibrant.joint import Joint
from calibrant.regression import (
    Model,
    Solver,
    chance_of,
    log_odds,
    log_terms,
    one_class,
    separated,
    softplus,
)

SHIFT = Model(("one",), (0.0,), (-np.inf,), (np.inf,), "log_odds")
LINE = Model(("one", "log_odds"), (0.0, 1.0), (-np.inf, -np.inf), (np.inf, np.inf))


def calibration_line(
    joint: Joint, cases: Cases, confidence: float
) -> tuple[Estimate, Estimate, Estimate]:
    """Slope and intercept together, and the intercept alone; certain forecasts have no log-odds."""
    if not 0 < joint.prediction[0] <= joint.prediction[-1] < 1:
        inside = (joint.prediction > 0) & (joint.prediction < 1)
        if not inside.any():
            return (Estimate.undefined("every forecast is 0 or 1"),) * 3
        joint = Joint(joint.sums().where(inside))
        cases = cases.where((cases.prediction > 0) & (cases.prediction < 1))
    if one_class(joint):
        return (Estimate.undefined("only one outcome was seen"),) * 3
    if cases.cluster is not None and cases.clusters < 2:
        return (Estimate.undefined("only one cluster has forecasts between 0 and 1"),) * 3
    solver, odds = Solver.of(joint), log_odds(cases.prediction)
    (in_the_large,) = _fit(solver, cases, odds, SHIFT, confidence)
    if len(joint) == 1:
        same = Estimate.undefined("all forecasts are equal")
        return same, same, in_the_large
    if separated(joint):
        apart = Estimate.undefined("the forecasts separate the outcomes: the slope has no limit")
        return apart, apart, in_the_large
    intercept, slope = _fit(solver, cases, odds, LINE, confidence)
    return slope, intercept, in_the_large


def _fit(
    solver: Solver, cases: Cases, odds: Floats, model: Model, confidence: float
) -> list[Estimate]:
    """Fit a weighted logistic regression; intervals by the sandwich or the binomial variance."""
    from scipy.special import ndtri

    try:
        beta = np.array(solver.solve(model))
    except ConvergenceError:
        stuck = Estimate.undefined("the logistic regression did not converge")
        return [stuck] * len(model.terms)
    curvature, shown, binomial = _spreads(cases, odds, beta, 1.0 if model.offset else beta[1])
    try:
        inverse = np.linalg.inv(curvature)
    except np.linalg.LinAlgError:
        flat = Estimate.undefined("the fitted chances are as good as 0 or 1")
        return [flat] * len(model.terms)
    # Few events hide their own spread, which binomial outcomes must have.
    variance = np.maximum(*(np.diag(inverse @ middle @ inverse) for middle in (shown, binomial)))
    half_width = ndtri((1 + confidence) / 2) * np.sqrt(variance) * cases.widening(1 - confidence)
    return [
        Estimate(float(b), float(b - r), float(b + r))
        for b, r in zip(beta, half_width, strict=True)
    ]


def _spreads(
    cases: Cases, odds: Floats, beta: Floats, slope: float
) -> tuple[Floats, Floats, Floats]:
    """Curvature of the loss, and covariance of its slope: as the rows show it, and binomial."""
    size, clustered = cases.prediction.size, cases.cluster is not None
    scores = np.empty((size if clustered else 0, beta.size))
    sums = np.zeros((3, beta.size, beta.size))
    for some in blocks(size):
        x, weight, square = odds[some], cases.weight[some], cases.square[some]
        chance = chance_of(beta[0] + slope * x)
        spread, rest = chance * (1 - chance), cases.outcome[some] - chance
        if clustered:
            scores[some] = np.stack([rest, rest * x][: beta.size], axis=1)
        sums[0] += _squares(x, weight * spread, beta.size)
        sums[1] += _squares(x, square * rest**2, beta.size)
        if cases.square is not cases.weight:
            sums[2] += _squares(x, square * spread, beta.size)
    if clustered:
        sums[1] = cases.covariance(scores)
    return sums[0], sums[1], sums[0] if cases.square is cases.weight else sums[2]


def _squares(odds: Floats, weight: Floats, terms: int) -> Floats:
    """Add up weight times the products of the terms one and log-odds, or of the first alone."""
    if terms == 1:
        return np.array([[weight.sum()]])
    leaning = weight * odds
    first = leaning.sum()
    # BLAS would start threads for so short a product.
    return np.array([[weight.sum(), first], [first, (leaning * odds).sum()]])


GROUPS = 10
# With fewer of one outcome the likelihood ratio is far from chi-squared.
FEWEST_EVENTS = 10
# So many multipliers show the noise of a mean of many distances.
DRAWS_FOR_ICI = 199


@dataclass(frozen=True, slots=True)
class ClassicalNumbers:
    """What reports of clinical models, credit scores and forecasts quote."""

    ratio: Ratio
    """Observed over expected events."""
    slope: Estimate
    """Slope of a logistic regression of the outcome on the log-odds: 1 is right, less means that
    forecasts are too extreme."""
    intercept: Estimate
    """Intercept of that same regression, fitted together with the slope."""
    in_the_large: Estimate
    """Calibration in the large: the intercept when the slope is held at 1; 0 is right."""
    likelihood_ratio: ScoreTest
    """Likelihood-ratio test of intercept 0 and slope 1 together, two degrees of freedom (the
    unreliability test of `val.prob`)."""
    giviti: ScoreTest
    """Test of the calibration belt (`calibration_belt`): a polynomial of the log-odds whose degree
    is chosen, for forecasts that were not fitted to these rows."""
    spiegelhalter: ScoreTest
    """Spiegelhalter's z, two-sided: is the Brier score what the forecasts themselves expect?"""
    hosmer_lemeshow: ScoreTest
    """Chi-squared over ten groups of equal size. Discouraged: it depends on the groups, has
    little power for few rows and rejects everything for many, and does not say where or how
    much. It is here because it is asked for."""
    loess: CalibrationIndex | None
    """ICI, E50, E90 and Emax as published, by R's loess; on 4096 cells where forecasts have more
    levels; None with weights, or too few different forecasts."""
    ici: Estimate
    """Mean distance of forecasts from the frequency smoothed by the kernel of smECE. Its interval
    is for the index of the population, smoothed alike; noise lifts the value itself."""
    e50: float
    """Median of that distance."""
    e90: float
    """Its 90 % quantile."""
    brier: float
    """Mean squared error of the forecasts."""
    brier_skill: float
    """Share by which the Brier score is below that of the base rate; NaN for one class."""
    certain: int
    """Rows with a forecast of 0 or 1: they have no log-odds and are left out of slope and
    intercepts."""

    def __repr__(self) -> str:
        return brief(self)


def classical_numbers(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    clusters: object = None,
    confidence: float = 0.95,
    draws: int = DRAWS_FOR_ICI,
    rng: np.random.Generator | int | None = 0,
) -> ClassicalNumbers:
    """Compute the numbers that fields have long quoted about calibration.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    confidence : float, default=0.95
        Confidence of the intervals.
    draws : int, default=199
        Number of random multipliers for the interval of ICI. At most 10**6.
    rng : numpy.random.Generator or int, default=0
        Source of randomness; fixed by default, so that the same rows give the same numbers.

    Returns
    -------
    ClassicalNumbers
        A number that is not defined is NaN and carries a reason.

    Notes
    -----
    Intervals of slope and intercepts are normal with the sandwich variance, robust to clusters, or
    with the binomial variance where it is larger; few clusters widen them as Student's t does.
    `loess` holds ICI, E50, E90 and Emax as published; `ici`, `e50` and `e90` use the Gaussian
    smoother of smECE at its fixed point instead, which has an interval. The
    interval of ICI is for the population's index under the same smoother: from the value less what
    noise alone can show, to the value plus its spread. Waves that are narrower than the smoother
    are not seen.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45.
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5. Hosmer, Lemeshow (1980), Goodness of fit tests for the multiple
    logistic regression model, Communications in Statistics 9. Austin, Steyerberg (2019), The
    Integrated Calibration Index, Statistics in Medicine 38.

    Examples
    --------
    >>> from calibrant.datasets import flights
    >>> columns = flights()
    >>> numbers = classical_numbers(columns["outcome"], columns["prediction"])
    >>> round(numbers.slope.value, 2), round(numbers.in_the_large.value, 2)
    (0.77, -0.15)
    >>> round(numbers.ratio.value, 3), round(numbers.ici.value, 3)
    (0.901, 0.029)
    """
    settings = Settings.read(confidence=confidence, draws=draws, rng=rng)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    return find_classical(evidence, settings)


def find_classical(evidence: Evidence, settings: Settings) -> ClassicalNumbers:
    """Compute classical numbers from evidence that was read before."""
    joint, confidence = evidence.full_joint, settings.confidence
    cases = evidence.cases()
    slope, intercept, in_the_large = calibration_line(joint, cases, confidence)
    width = width_of_kernel(joint)
    index = kernel_index(joint, width)
    brier = _brier(cases)
    chance = joint.base_rate * (1 - joint.base_rate)
    # Levels are in order: only the first and the last may be certain.
    ends = np.unique([0, len(joint) - 1])
    certain = np.isin(joint.prediction[ends], [0.0, 1.0])
    return ClassicalNumbers(
        ratio=find_ratio(evidence, confidence, cases=cases),
        slope=slope,
        intercept=intercept,
        in_the_large=in_the_large,
        likelihood_ratio=_likelihood_ratio(evidence, slope, intercept),
        giviti=_giviti(evidence),
        spiegelhalter=_spiegelhalter(cases),
        hosmer_lemeshow=_hosmer_lemeshow(evidence),
        loess=_published_index(evidence),
        ici=around_ici(evidence, index.ici, width, settings),
        e50=index.e50,
        e90=index.e90,
        brier=brier,
        brier_skill=1 - brier / chance if chance > 0 else np.nan,
        certain=int(joint.rows[ends[certain]].sum()),
    )


def _likelihood_ratio(evidence: Evidence, slope: Estimate, intercept: Estimate) -> ScoreTest:
    """Twice the log-likelihood that fitted log-odds gain over those forecast."""
    from scipy.special import chdtrc

    joint = evidence.full_joint.of_mean_weight_one()
    if slope.reason:
        return ScoreTest(np.nan, np.nan, slope.reason)
    if evidence.clusters is not None or not joint.unweighted:
        return ScoreTest(np.nan, np.nan, "not defined with weights or clusters")
    gain, totals = 0.0, np.zeros(2)
    for block in blocks(len(joint)):
        some = joint.prediction[block]
        inside = (some > 0) & (some < 1)
        weight, ones = joint.weight[block] * inside, joint.positives[block] * inside
        low, high = log_terms(some)  # the second is what outcome 0 costs as forecast
        odds = low + high
        fitted = intercept.value + slope.value * odds
        gains = weight * (high - softplus(fitted)) + ones * (fitted - odds)
        gain += float(gains.sum())
        totals += weight.sum() - ones.sum(), ones.sum()
    if totals.min() < FEWEST_EVENTS:
        return ScoreTest(np.nan, np.nan, f"fewer than {FEWEST_EVENTS} of one outcome")
    statistic = max(0.0, 2 * gain)
    return ScoreTest(statistic, float(chdtrc(2, statistic)))


def _giviti(evidence: Evidence) -> ScoreTest:
    if evidence.clusters is not None or not evidence.full_joint.equally_weighted:
        return ScoreTest(np.nan, np.nan, "not defined with weights or clusters")
    try:
        fit = PolynomialFit.of(evidence.full_joint, 1)
    except InferenceRefusedError as refusal:
        return ScoreTest(np.nan, np.nan, f"{refusal.what}, got {refusal.got}")
    return ScoreTest(fit.statistic, fit.pvalue)


def _published_index(evidence: Evidence) -> CalibrationIndex | None:
    try:
        return find_index(evidence.joint, "loess")
    except InferenceRefusedError:  # weights, or too few different forecasts: said at the field
        return None


def _spiegelhalter(cases: Cases) -> ScoreTest:
    from scipy.special import ndtr

    clustered = cases.cluster is not None
    scores = np.empty((cases.prediction.size if clustered else 0, 1))
    total = variance = 0.0
    for some in blocks(cases.prediction.size):
        prediction = cases.prediction[some]
        tilt = 1 - 2 * prediction
        score = (cases.outcome[some] - prediction) * tilt
        total += float((cases.weight[some] * score).sum())
        if clustered:
            scores[some, 0] = score
        else:
            variance += float((cases.square[some] * tilt**2 * prediction * (1 - prediction)).sum())
    if clustered:
        variance = float(cases.covariance(scores)[0, 0])
    if variance <= 0:
        return ScoreTest(np.nan, np.nan, "every forecast is 0, 1/2 or 1")
    z = total / np.sqrt(variance)
    return ScoreTest(float(z), float(2 * ndtr(-abs(z))))


def _brier(cases: Cases) -> float:
    total = 0.0
    for some in blocks(cases.prediction.size):
        gap = cases.outcome[some] - cases.prediction[some]
        total += float((cases.weight[some] * gap**2).sum())
    return total / float(cases.weight.sum())


def _hosmer_lemeshow(evidence: Evidence) -> ScoreTest:
    from scipy.special import chdtrc

    joint = evidence.full_joint.of_mean_weight_one()
    if evidence.clusters is not None or not joint.unweighted:
        return ScoreTest(np.nan, np.nan, "not defined with weights or clusters")
    groups = quantile_bins(joint, GROUPS).joint
    variance = groups.rows * groups.prediction * (1 - groups.prediction)
    if not variance.all():
        return ScoreTest(np.nan, np.nan, "a group has only forecasts of 0 or 1")
    gap = groups.positives - groups.rows * groups.prediction
    with np.errstate(over="ignore"):  # an event where next to none was forecast
        statistic = float(np.sum(gap**2 / variance))
    # Forecasts that were not fitted to these rows: one degree of freedom per group.
    return ScoreTest(statistic, float(chdtrc(len(groups), statistic)))
