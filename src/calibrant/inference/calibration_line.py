"""Calibration slope and intercepts: logistic regressions of the outcome on the log-odds."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats, blocks
from calibrant.errors import ConvergenceError
from calibrant.inference.cases import Cases
from calibrant.inference.estimates import Estimate
from calibrant.joint import Joint
from calibrant.regression import Model, Solver, chance_of, log_odds, one_class, separated

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
    """Fit a weighted logistic regression; intervals by the sandwich variance, or the coins' own."""
    from scipy.special import ndtri

    try:
        beta = np.array(solver.solve(model))
    except ConvergenceError:
        stuck = Estimate.undefined("the logistic regression did not converge")
        return [stuck] * len(model.terms)
    curvature, shown, coins = _spreads(cases, odds, beta, 1.0 if model.offset else beta[1])
    try:
        inverse = np.linalg.inv(curvature)
    except np.linalg.LinAlgError:
        flat = Estimate.undefined("the fitted chances are as good as 0 or 1")
        return [flat] * len(model.terms)
    # Few events hide their own spread, which the fitted coins must have.
    variance = np.maximum(*(np.diag(inverse @ middle @ inverse) for middle in (shown, coins)))
    reach = ndtri((1 + confidence) / 2) * np.sqrt(variance) * cases.widening(1 - confidence)
    return [
        Estimate(float(b), float(b - r), float(b + r)) for b, r in zip(beta, reach, strict=True)
    ]


def _spreads(
    cases: Cases, odds: Floats, beta: Floats, slope: float
) -> tuple[Floats, Floats, Floats]:
    """Curvature of the loss, and covariance of its slope: as the rows show it, and of the coins."""
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
