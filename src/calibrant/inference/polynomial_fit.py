"""A polynomial of the log-odds whose degree the rows choose, and the test of GiViTI by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, blocks
from calibrant.errors import ConvergenceError, InferenceRefusedError
from calibrant.joint import Joint
from calibrant.regression import fit_logistic, log_odds, separated

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
        joint = joint.of_mean_weight_one()
        _refuse(joint)
        odds, weight, ones = _cells(joint)
        total = float(weight.sum())
        weight, ones = weight / total, ones / total
        different = np.unique(odds).size  # those next to 0 or 1 have the same
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

    def allowed_fall(self, confidence: float) -> float:
        """How far twice the log-likelihood may fall below the best within a confidence."""
        return _quantile(self.chosen, self.freedom, confidence)

    def limits(self, at: Floats, allowed_fall: float) -> tuple[Floats, Floats]:
        """Least and largest rates of polynomials that lose at most half the allowed fall.

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
            there = np.sqrt(allowed_fall / self.rows) / length
            ends.append(self._followed(there[:, np.newaxis] * turned, there, towards, allowed_fall))
        low, high = (_chance((end * direction).sum(axis=1)) for end in ends)
        return low, high

    def _followed(self, away: Floats, pull: Floats, towards: Floats, allowed_fall: float) -> Floats:
        """Coefficients at the ends, followed from the best ones outwards in steps as long as hold.

        `away` is the first guess of how far they are, `pull` that of the multiple of the basis.
        """
        share, step = 0.0, FIRST_STEP
        while share < 1:
            next_share = min(1.0, share + step)
            grown = next_share / share if share else next_share
            found = self._on_boundary(
                away * grown, pull * grown, towards, allowed_fall / (2 * self.rows) * next_share**2
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
            relative_step = np.abs(change[:, :size]).max(axis=1) / np.abs(away).max(axis=1)
            if not (relative_step < 1).all():  # NaN is lost, too
                return None
            away, pull = away + change[:, :size], pull + change[:, size]
            if relative_step.max() < ENOUGH and np.abs(missing).max() < ENOUGH * allowed:
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
    if not joint.unweighted:
        raise InferenceRefusedError(
            "a calibration belt needs rows that weigh the same", "different weights"
        )
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
        cell = ((odds - least) * per_cell).astype(np.intp)
        cell = np.minimum(cell, MOST_CELLS - 1)
        first = np.flatnonzero(np.diff(cell, prepend=-1))  # levels are in order
        columns = np.stack([weight, weight * odds, joint.positives[block]])
        sums[:, cell[first]] += np.add.reduceat(columns, first, axis=1)
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
