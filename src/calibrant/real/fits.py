"""How maps of real forecasts are fitted: a shift, a line, a curve, or isotonic."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from calibrant.arrays import Floats
from calibrant.data.rows import Rows
from calibrant.errors import ConvergenceError, InferenceRefusedError
from calibrant.kinds import Kind, Quantile
from calibrant.real.isotonic import isotonic_fit
from calibrant.words import count_text, number_text

# Pieces of a curve; between quantiles of the forecasts.
PIECES = 5
MOST_STEPS = 200
# Steps of asymmetric least squares end when the loss falls by less than this share of itself.
SAME_LOSS, SMALLEST_STEP = 1e-14, 1e-12
# How close the slope of a quantile's line comes to the best one, as a share of the largest slope.
SLOPE_TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Bend:
    """A function that is linear between its knots, and beyond them has one slope."""

    knot: Floats
    value: Floats
    slope: float = 1.0
    """Slope before the first and after the last knot: by default what is beyond the forecasts that
    were seen is corrected as the last of them."""

    @classmethod
    def shift(cls, by: float) -> Bend:
        """Add a number."""
        return cls(np.zeros(1), np.array([by]))

    def __call__(self, forecast: Floats) -> Floats:
        """Value at each forecast."""
        inside = np.interp(forecast, self.knot, self.value)
        below = np.minimum(forecast - self.knot[0], 0.0)
        above = np.maximum(forecast - self.knot[-1], 0.0)
        return np.asarray(inside + self.slope * (below + above))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"knot": self.knot.tolist(), "value": self.value.tolist(), "slope": self.slope}


def fit_shift(forecasts: Rows) -> Bend:
    """Find the number of least loss to add to every forecast."""
    off = forecasts.outcome - forecasts.prediction
    return Bend.shift(forecasts.kind.best(off, forecasts.weights))


def fit_line(forecasts: Rows) -> Bend:
    """Find the line of least loss that does not decrease."""
    kind, z = forecasts.kind, forecasts.prediction
    middle, spread = float(np.average(z, weights=forecasts.weights)), float(np.ptp(z))
    if spread == 0:
        return fit_shift(forecasts)
    x = (z - middle) / spread
    if kind.chance is not None:
        slope = _quantile_slope(kind, x, forecasts.outcome, forecasts.weights)
        start = kind.best(forecasts.outcome - slope * x, forecasts.weights)
    else:
        start, slope = _least_squares(forecasts, np.column_stack([np.ones(x.size), x]))
    return Bend(np.array([middle]), np.array([start]), float(slope) / spread)


def fit_curve(forecasts: Rows) -> Bend:
    """Find the increasing function of least loss that is linear between quantiles of forecasts."""
    z = forecasts.prediction
    knot = np.unique(np.quantile(z, np.linspace(0, 1, PIECES + 1), method="lower"))
    if knot.size < 3:
        return fit_line(forecasts)
    rises = np.clip((z[:, np.newaxis] - knot[:-1]) / np.diff(knot), 0.0, 1.0)
    found = _least_squares(forecasts, np.column_stack([np.ones(z.size), rises]))
    return Bend(knot, np.cumsum(found))


def fit_isotonic(forecasts: Rows) -> Bend:
    """Find the increasing function of least loss; linear between its pools."""
    fit = isotonic_fit(forecasts)
    new = np.append(True, np.diff(fit.value) != 0)
    last = np.append(new[1:], True)
    knot, value = (
        np.column_stack([column[new], column[last]]).ravel() for column in (fit.forecast, fit.value)
    )
    apart = np.append(True, np.diff(knot) > 0)
    return Bend(knot[apart], value[apart])


@dataclass(frozen=True, slots=True)
class Conformal:
    """A shift with a promise: the rank that gives it, among so many rows."""

    by: float
    rank: int
    rows: int

    @property
    def coverage(self) -> float:
        """Chance, over these rows and the next one, that its outcome lies below or inside."""
        return self.rank / (self.rows + 1)


def fit_conformal(forecasts: Rows) -> Conformal:
    """Find the rank of what outcomes exceed forecasts by that the next row keeps with its level.

    Of quantiles below 1/2 the rank is rounded down, as their promise is that outcomes lie above.
    """
    level = forecasts.kind.chance
    assert level is not None  # noqa: S101  # checked by the caller
    off = forecasts.outcome - forecasts.prediction
    if forecasts.upper is not None:
        off = np.maximum(-off, forecasts.outcome - forecasts.upper)
    rows = off.size
    exact = level * (rows + 1)
    near = round(exact)
    # A level such as 0.9 is no double: 0.9 times 10 is 9.
    whole = abs(exact - near) <= 1e-9 * exact
    down = forecasts.upper is None and level < 0.5
    rank = near if whole else floor(exact) if down else ceil(exact)
    if not 1 <= rank <= rows:
        least = count_text(rows_for_conformal(level), "row")
        raise InferenceRefusedError(
            f"a conformal shift to the level {number_text(level)} needs at least {least}",
            count_text(rows, "row"),
        )
    return Conformal(float(np.partition(off, rank - 1)[rank - 1]), rank, rows)


def rows_for_conformal(level: float) -> int:
    """Return how many rows a conformal shift needs: the next one may be the most extreme of all."""
    return ceil(1 / min(level, 1 - level) * (1 - 1e-12)) - 1


def fit_widening(forecasts: Rows) -> float:
    """By how much to move both ends of intervals outward; as far as the rows let it, if few."""
    level, upper = forecasts.kind.chance, forecasts.upper
    assert level is not None  # noqa: S101  # for intervals only
    assert upper is not None  # noqa: S101
    off = np.maximum(forecasts.prediction - forecasts.outcome, forecasts.outcome - upper)
    return Quantile(level).best(off, forecasts.weights)


def _quantile_slope(kind: Kind, x: Floats, y: Floats, weight: Floats) -> float:
    """Slope of least loss with the best start for each: a convex function of one number."""
    from scipy.optimize import minimize_scalar

    def loss(slope: float) -> float:
        off = y - slope * x
        start = kind.best(off, weight)
        return float(weight @ kind.losses(np.full(off.size, start), off))

    most = float(np.ptp(y))
    if most == 0:
        return 0.0
    while loss(2 * most) < loss(most):
        most *= 2
    found = minimize_scalar(
        loss, bounds=(0.0, 2 * most), method="bounded", options={"xatol": SLOPE_TOLERANCE * most}
    )
    return min((0.0, float(found.x)), key=loss)


def _least_squares(forecasts: Rows, design: Floats) -> Floats:
    """Asymmetric least squares, all coefficients but the first at least 0.

    Sides follow from the fit and the fit from the sides until they agree; for means at once. A step
    that does not lower the loss, which is convex and smooth, is halved until it does.
    """
    from scipy.optimize import lsq_linear

    kind = forecasts.kind
    level = kind.side
    middle = float(np.average(forecasts.outcome, weights=forecasts.weights))
    y = forecasts.outcome - middle
    least = np.append(-np.inf, np.zeros(design.shape[1] - 1))

    def sides(found: Floats) -> Floats:
        return np.where(y > design @ found, level, 1 - level)

    def loss(found: Floats) -> float:
        return float((forecasts.weights * sides(found)) @ np.square(y - design @ found))

    found = np.zeros(design.shape[1])
    for _ in range(MOST_STEPS):
        side = sides(found)
        weighted = np.column_stack([design, y]) * np.sqrt(forecasts.weights * side)[:, np.newaxis]
        # The triangle of the rows has the same squares, and few of them.
        triangle: Floats = np.asarray(np.linalg.qr(weighted, "r"))
        solved = lsq_linear(triangle[:, :-1], triangle[:, -1], (least, np.inf), method="bvls").x
        before, step = loss(found), 1.0
        while loss(found + step * (solved - found)) > before and step > SMALLEST_STEP:
            step /= 2
        found = found + step * (solved - found)
        settled = step == 1 and bool((sides(found) == side).all())
        if settled or level == 0.5 or before - loss(found) <= SAME_LOSS * before:
            return np.append(found[0] + middle, found[1:])
    raise ConvergenceError(
        "the line of an expectile must settle", f"{MOST_STEPS} steps", "use 'isotonic'"
    )
