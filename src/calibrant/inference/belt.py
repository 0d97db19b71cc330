"""The calibration belt: where a polynomial of the log-odds may lie, and the test behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats, blocks
from calibrant.errors import ConvergenceError, InferenceRefusedError
from calibrant.inference.evidence import Evidence
from calibrant.joint import Joint
from calibrant.notebook import brief
from calibrant.options import check_flag, check_share, whole
from calibrant.regression import fit_logistic, log_odds, separated
from calibrant.words import chance_text, number_text, percent_text

# The published choices: degrees at most this, one more where it gains with this confidence.
MOST_DEGREE, GAIN_CONFIDENCE = 4, 0.95
FEWEST_EVENTS = 10
# More different log-odds than this are put into so many cells of equal width.
MOST_CELLS = 2**12
# Nodes of a quadrature of a smooth function.
NODES = 48
# An end of the belt is reached in such shares of the way, each by Newton's method.
FIRST_STEP, LEAST_STEP, MOST_STEPS, ENOUGH = 0.4, 1e-3, 12, 1e-6


@dataclass(frozen=True, slots=True)
class CalibrationBelt:
    """Limits of the observed rate at increasing predictions, by a polynomial of the log-odds."""

    prediction: Floats
    low: Floats
    high: Floats
    confidence: float
    degree: int
    """Degree of the polynomial, chosen forwards by likelihood."""
    statistic: float
    """Twice the log-likelihood that the polynomial gains over the forecasts."""
    pvalue: float
    """Of the GiViTI test, which knows that the degree was chosen."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def too_high(self) -> list[tuple[float, float]]:
        """Ranges of predictions above the whole belt: the forecasts promise too much there."""
        return _ranges(self.prediction, self.high - self.prediction)

    @property
    def too_low(self) -> list[tuple[float, float]]:
        """Ranges of predictions below the whole belt."""
        return _ranges(self.prediction, self.prediction - self.low)

    def __str__(self) -> str:
        told = [
            f"{name} for forecasts from {number_text(low)} to {number_text(high)}"
            for name, ranges in (("too high", self.too_high), ("too low", self.too_low))
            for low, high in ranges
        ]
        off = "; ".join(told) if told else "holds the diagonal everywhere"
        return (
            f"calibration belt of degree {self.degree}, {percent_text(self.confidence)} "
            f"confidence: {off} (p = {chance_text(self.pvalue)})"
        )


def calibration_belt(
    y_true: object,
    y_proba: object = None,
    *,
    pos_label: object = None,
    confidence: float = 0.95,
    fitted_here: bool = False,
    points: int = 200,
) -> CalibrationBelt:
    r"""Calibration belt of GiViTI, as reports of intensive care quote it.

    Where the belt leaves the diagonal, forecasts are off with the confidence given.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1. Rows must not have different weights.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1, none of them 0 or 1; left out with a Joint.
    pos_label : object, optional
        The label that counts as outcome 1.
    confidence : float, default=0.95
        Confidence of the belt; papers show 0.8 and 0.95.
    fitted_here : bool, default=False
        Whether a logistic regression was fitted to these very rows ("internal"): intercept and
        slope are then right by construction, and degrees start at 2.
    points : int, default=200
        Predictions at which the belt is given, half of them evenly spaced in probability, half in
        log-odds. At most 2**12.

    Returns
    -------
    CalibrationBelt

    Notes
    -----
    The log-odds of the outcome are a polynomial of the forecast log-odds. From degree 1 on (2 if
    `fitted_here`) a degree is added, up to 4, as long as it gains :math:`k` in twice the
    log-likelihood, the 95 % quantile of chi-squared with one degree of freedom. Given degree m
    the statistic of perfect forecasts is then chi-squared with two degrees of freedom (one) plus
    m - 1 (m - 2) chi-squared numbers of one degree that are known to exceed k: the p-value and the
    reach of the belt come from that distribution. The belt holds all values of all polynomials
    whose likelihood is within that reach of the best, so it holds as a whole. Known flaws: it
    holds only if the truth is such a polynomial; it is asymptotic, and refused with fewer than ten
    of one outcome. More than 4096 different log-odds are put into as many cells.

    References
    ----------
    Nattino, Finazzi, Bertolini (2014), A new calibration test and a reappraisal of the calibration
    belt for the assessment of prediction models based on dichotomous outcomes, Statistics in
    Medicine 33. Nattino, Finazzi, Bertolini (2016), A new test and graphical tool to assess the
    goodness of fit of logistic regression models, Statistics in Medicine 35.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> print(calibration_belt(rng.random(500) < p**1.5, p))
    calibration belt of degree 1, 95 % confidence: too high for forecasts from 0.000301 to 0.804
    (p = 4.9e-08)
    """
    check_share("confidence", confidence)
    count = whole("points", points, 2, MOST_CELLS)
    check_flag("fitted_here", fitted_here)
    joint = Evidence.read(y_true, y_proba, None, pos_label).given
    fit = PolynomialFit.of(joint, 2 if fitted_here else 1)
    odds = log_odds(joint.prediction)
    spread = np.linspace(joint.prediction[0], joint.prediction[-1], count - count // 2)
    even = np.linspace(odds[0], odds[-1], count // 2)
    at = np.sort(np.concatenate([even, log_odds(spread)]))
    reach = _quantile(fit.chosen, fit.freedom, confidence)
    low, high = fit.limits(at, reach)
    return CalibrationBelt(
        _chance(at), low, high, confidence, fit.degree, fit.statistic, fit.pvalue
    )


@dataclass(frozen=True, slots=True)
class PolynomialFit:
    """A polynomial of the log-odds, its degree chosen forwards."""

    rows: float
    weight: Floats
    """Shares of the cells, and below the part of them with outcome 1."""
    ones: Floats
    terms: Floats
    """Orthogonal polynomials at the cells."""
    basis: Callable[[Floats], Floats]
    coefficients: Floats
    degree: int
    chosen: int
    """Degrees that were added because they gained."""
    freedom: int
    statistic: float

    @classmethod
    def of(cls, joint: Joint, first: int) -> PolynomialFit:
        """Choose the degree."""
        _refuse(joint)
        odds, weight, ones = _cells(joint)
        total = float(weight.sum())
        weight, ones = weight / total, ones / total
        different = odds.size
        if different <= first:
            raise InferenceRefusedError(
                "a belt needs more different forecasts than its degree",
                f"{different} for degree {first}",
            )
        best, degree = None, first
        gain_needed = _gain_needed()
        for tried in range(first, min(MOST_DEGREE, different - 1) + 1):
            basis = _orthogonal(odds, weight, tried)
            found = _solved(weight, ones, basis(odds), odds)
            loss = _loss(weight, ones, found @ basis(odds))
            if best is not None and 2 * total * (best[0] - loss) < gain_needed:
                break
            best, degree = (loss, basis, found), tried
        assert best is not None  # noqa: S101  # the first degree is always taken
        loss, basis, found = best
        gain = max(0.0, 2 * total * (_loss(weight, ones, odds) - loss))
        return cls(
            total, weight, ones, basis(odds), basis, found, degree, degree - first, 3 - first, gain
        )

    @property
    def pvalue(self) -> float:
        """Chance of so large a statistic, given the degree that was chosen."""
        return float(_exceeding(np.array([self.statistic]), self.chosen, self.freedom)[0])

    def limits(self, at: Floats, reach: float) -> tuple[Floats, Floats]:
        """Least and largest rates of polynomials that lose at most half the reach of likelihood.

        On the boundary of the likelihood's region the slope of the loss is a multiple of the
        basis at the prediction: Newton's method on both equations, all predictions at once.
        """
        direction = self.basis(at).T
        curvature = self._moments(self.coefficients[np.newaxis])[2][0]
        ends = []
        for sign in (-1.0, 1.0):
            towards = sign * direction
            turned = np.linalg.solve(curvature, towards.T).T
            length = np.sqrt((towards * turned).sum(axis=1))
            # Where the likelihood is a parabola, this is the end itself.
            there = np.sqrt(reach / self.rows) / length
            ends.append(self._followed(there[:, np.newaxis] * turned, there, towards, reach))
        low, high = (_chance((end * direction).sum(axis=1)) for end in ends)
        return low, high

    def _followed(self, away: Floats, pull: Floats, towards: Floats, reach: float) -> Floats:
        """Coefficients at the ends, followed from the best ones outwards in steps as long as hold.

        `away` is the first guess of how far they are, `pull` that of the multiple of the basis.
        """
        share, step = 0.0, FIRST_STEP
        while share < 1:
            next_share = min(1.0, share + step)
            grown = next_share / share if share else next_share
            found = self._on_boundary(
                away * grown, pull * grown, towards, reach / (2 * self.rows) * next_share**2
            )
            if found is None:
                step /= 2
                if step < LEAST_STEP:
                    raise InferenceRefusedError(
                        "a calibration belt needs outcomes that overlap",
                        f"a polynomial of degree {self.degree} that nearly separates them",
                    )
            else:
                (away, pull), share, step = found, next_share, 1.5 * step
        return self.coefficients + away

    def _on_boundary(
        self, away: Floats, pull: Floats, towards: Floats, allowed: float
    ) -> tuple[Floats, Floats] | None:
        """Newton's method for the ends at which the loss grew as much as allowed; None if lost."""
        size = away.shape[1]
        least = _loss(self.weight, self.ones, self.coefficients @ self.terms)
        system = np.zeros((len(away), size + 1, size + 1))
        system[:, :size, size] = -towards
        for _ in range(MOST_STEPS):
            loss, slope, system[:, :size, :size] = self._moments(self.coefficients + away)
            missing = least + allowed - loss
            system[:, size, :size] = slope
            rest = np.concatenate(
                [pull[:, np.newaxis] * towards - slope, missing[:, np.newaxis]], axis=1
            )
            try:
                change = np.linalg.solve(system, rest[..., np.newaxis])[..., 0]
            except np.linalg.LinAlgError:
                return None
            moved = np.abs(change[:, :size]).max(axis=1) / np.abs(away).max(axis=1)
            if not (moved < 1).all():  # NaN is lost, too
                return None
            away, pull = away + change[:, :size], pull + change[:, size]
            if moved.max() < ENOUGH and np.abs(missing).max() < ENOUGH * allowed:
                return (away, pull) if (pull > 0).all() else None
        return None

    def _moments(self, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """Loss, its slope and its curvature at many coefficients (one row each)."""
        score = beta @ self.terms
        chance = _chance(score)
        loss = np.logaddexp(0, score) @ self.weight - score @ self.ones
        slope = (chance * self.weight - self.ones) @ self.terms.T
        pairs = self.terms[:, np.newaxis] * self.terms
        spread = chance * (1 - chance) * self.weight
        curvature = spread @ pairs.reshape(-1, self.weight.size).T
        return loss, slope, curvature.reshape(len(beta), *2 * (len(self.terms),))


def _refuse(joint: Joint) -> None:
    if not (joint.unweighted or np.allclose(joint.weight, joint.rows)):
        raise InferenceRefusedError("a calibration belt needs rows of weight one", "weights")
    certain = int(joint.rows[(joint.prediction <= 0) | (joint.prediction >= 1)].sum())
    if certain:
        raise InferenceRefusedError(
            "a calibration belt needs forecasts that have log-odds",
            f"{certain} of exactly 0 or 1",
            "leave these rows out, and say so",
        )
    events = float(joint.positives.sum())
    fewest = int(min(events, joint.total - events))
    if fewest < FEWEST_EVENTS:
        raise InferenceRefusedError(
            f"a calibration belt needs at least {FEWEST_EVENTS} of either outcome", f"{fewest}"
        )
    if len(joint) > 1 and separated(joint):
        raise InferenceRefusedError(
            "a calibration belt needs outcomes that overlap", "forecasts that separate them"
        )


def _cells(joint: Joint) -> tuple[Floats, Floats, Floats]:
    """Log-odds, weights and positives of levels, or of cells of log-odds of equal width."""
    if len(joint) <= MOST_CELLS:
        return log_odds(joint.prediction), joint.weight, joint.positives
    least, most = log_odds(joint.prediction[[0, -1]])
    per_cell = MOST_CELLS / (most - least) if most > least else 0.0
    sums = np.zeros((3, MOST_CELLS))
    for block in blocks(len(joint)):
        odds, weight = log_odds(joint.prediction[block]), joint.weight[block]
        place = ((odds - least) * per_cell).astype(np.intp)
        place = np.minimum(place, MOST_CELLS - 1)
        first = np.flatnonzero(np.diff(place, prepend=-1))  # levels are in order
        columns = np.stack([weight, weight * odds, joint.positives[block]])
        sums[:, place[first]] += np.add.reduceat(columns, first, axis=1)
    weight, moment, ones = sums[:, sums[0] > 0]
    return moment / weight, weight, ones


def _orthogonal(odds: Floats, weight: Floats, degree: int) -> Callable[[Floats], Floats]:
    """Polynomials up to a degree, orthonormal for these weights."""
    middle = float(weight @ odds)
    scale = float(np.sqrt(weight @ (odds - middle) ** 2))

    def powers(at: Floats) -> Floats:
        return np.vander((at - middle) / scale, degree + 1, increasing=True).T

    triangle = np.linalg.qr((powers(odds) * np.sqrt(weight)).T).R
    return lambda at: np.asarray(np.linalg.solve(triangle.T, powers(at)))


def _solved(weight: Floats, ones: Floats, terms: Floats, odds: Floats) -> Floats:
    bounds = np.full(len(terms), -np.inf), np.full(len(terms), np.inf)
    start = terms @ (weight * odds)  # the forecasts themselves
    try:
        return fit_logistic(weight, ones, terms, bounds, start)
    except ConvergenceError as error:
        raise InferenceRefusedError(
            "a calibration belt needs outcomes that overlap",
            f"a polynomial of degree {len(terms) - 1} that separates them",
        ) from error


def _loss(weight: Floats, ones: Floats, score: Floats) -> float:
    return float(weight @ np.logaddexp(0, score) - ones @ score)


def _chance(score: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(score))


def _gain_needed() -> float:
    """Twice the log-likelihood that one more degree must gain."""
    from scipy.special import chdtri

    return float(chdtri(1, 1 - GAIN_CONFIDENCE))


def _exceeding(value: Floats, chosen: int, freedom: int) -> Floats:
    """Chance that the statistic exceeds values, of perfect forecasts with so many degrees chosen.

    One chosen degree after the other: its part z^2 of the statistic is that of a normal number
    beyond the root of the gain needed, and the others exceed the rest. With z = u sin(angle) all
    parts are smooth up to the end of the range.
    """
    from scipy.special import chdtrc, ndtr

    if chosen == 0:
        return np.asarray(chdtrc(freedom, np.maximum(value, 0.0)))
    needed = _gain_needed()
    root = np.sqrt(needed)
    node, share = np.polynomial.legendre.leggauss(NODES)
    most = np.sqrt(np.maximum(value - (chosen - 1) * needed, needed))
    first = np.arcsin(np.minimum(root / most, 1.0))
    half = (np.pi / 2 - first) / 2
    angle = first[..., np.newaxis] + half[..., np.newaxis] * (1 + node)
    z = most[..., np.newaxis] * np.sin(angle)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    inner = _exceeding(value[..., np.newaxis] - z**2, chosen - 1, freedom)
    inside = (share * density * inner * most[..., np.newaxis] * np.cos(angle)).sum(axis=-1) * half
    return np.asarray(np.minimum(1.0, 2 * (inside + ndtr(-most)) / (1 - GAIN_CONFIDENCE)))


def _quantile(chosen: int, freedom: int, confidence: float) -> float:
    """Value that the statistic of perfect forecasts exceeds with chance one less the confidence."""
    from scipy.optimize import brentq

    def excess(value: float) -> float:
        return float(_exceeding(np.array([value]), chosen, freedom)[0]) - (1 - confidence)

    low, high = chosen * _gain_needed(), chosen * _gain_needed() + 10.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, low, high, xtol=1e-10))


def _ranges(prediction: Floats, margin: Floats) -> list[tuple[float, float]]:
    """Ranges in which a margin is negative, with ends between points by a line."""
    off = margin < 0
    found: list[tuple[float, float]] = []
    for start in np.flatnonzero(off & ~np.append(False, off[:-1])):
        stop = start + int(np.argmin(np.append(off[start:], False)))
        ends = (_crossing(prediction, margin, int(at) - 1) for at in (start, stop))
        found.append((next(ends), next(ends)))
    return found


def _crossing(prediction: Floats, margin: Floats, before: int) -> float:
    """Zero of the margin between a point and the next; the end where there is no next."""
    if before < 0 or before + 1 >= prediction.size:
        return float(prediction[0] if before < 0 else prediction[-1])
    rise = margin[before + 1] - margin[before]
    step = -margin[before] / rise * (prediction[before + 1] - prediction[before])
    return float(prediction[before] + step)
