"""Smoothed frequencies as R computes them: lowess without robust iterations, and loess.

Both are local regressions over the nearest share of the rows with tricube weights. They are done
here on the levels of a Joint, each counting as many rows as it has, and agree with R to rounding.
The papers are Cleveland (1979), Robust locally weighted regression, JASA 74, and Cleveland, Grosse
(1991), Computational methods for local regression, Statistics and Computing 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant.errors import InferenceRefusedError
from calibrant.joint import Joint
from calibrant.joint.draws import refuse_mean_outcomes

# R's defaults: share of rows, and for lowess the step between fits as a share of the range.
LOWESS_SPAN, LOWESS_STEP = 2 / 3, 0.01
# Share of rows, and the largest cell between two fits as a share of those.
LOESS_SPAN, LOESS_CELL = 0.75, 0.2
# How far beyond the data the outermost fits of loess stand, as a share of the range.
LOESS_MARGIN = 0.005


@dataclass(frozen=True, slots=True)
class _Points:
    """Rows in the order of their predictions, held by level."""

    level: Floats
    rows: Floats
    outcome: Floats
    ends: Indices
    """How many rows there are up to each level."""

    @classmethod
    def of(cls, joint: Joint) -> _Points:
        refuse_mean_outcomes(joint)
        if not joint.equally_weighted:
            raise InferenceRefusedError(
                "local regression as published counts rows and knows no weights",
                "weights",
                'use smoother="kernel"',
            )
        ends = np.cumsum(joint.rows).astype(np.intp)
        return cls(joint.prediction, joint.rows, joint.outcome, ends)

    @property
    def count(self) -> int:
        return int(self.ends[-1])

    def index(self, row: int) -> int:
        """Level of a row, by its number."""
        return int(np.searchsorted(self.ends, row, side="right"))

    def at(self, row: int) -> float:
        """Prediction of a row, by its number."""
        return float(self.level[self.index(row)])

    def end_near(self, row: int, first: int, last: int) -> int | None:
        """Row nearest to a given one that is the last of its level, of two alike the later.

        None if an end of the range is nearer: the level would fill one side of it.
        """
        index = self.index(row)
        right = min(int(self.ends[index]) - 1, last)
        left = max(int(self.ends[index - 1]) - 1 if index else -1, first - 1)
        found = right if right - row <= row - left else left
        return found if first <= found < last else None

    def nearest(self, at: float, window: int) -> tuple[int, float]:
        """First of so many rows that are nearest to a prediction, and how far the last one is."""
        low, high = 0, self.count - window
        while low < high:  # the first window that no step to the right brings nearer
            middle = (low + high) // 2
            if at - self.at(middle) > self.at(middle + window) - at:
                low = middle + 1
            else:
                high = middle
        return low, max(at - self.at(low), self.at(low + window - 1) - at)


def lowess(joint: Joint) -> Floats:
    """Smooth the frequencies of all levels as `lowess(p, y, iter=0)` of R does.

    Lines are fitted at predictions that are at least a hundredth of the range apart; between them
    the curve is straight.
    """
    points = _Points.of(joint)
    window = min(points.count, max(2, int(LOWESS_SPAN * points.count + 1e-7)))
    spread = float(points.level[-1] - points.level[0])
    step = LOWESS_STEP * spread
    fitted = [0]
    while fitted[-1] < points.level.size - 1:
        last = fitted[-1]
        beyond = int(np.searchsorted(points.level, points.level[last] + step, side="right"))
        fitted.append(max(last + 1, min(beyond - 1, points.level.size - 1)))
    value = [_line_at(points, points.level[index], window, spread) for index in fitted]
    return np.interp(points.level, points.level[fitted], value)


def _line_at(points: _Points, at: float, window: int, spread: float) -> float:
    """Value of the weighted least-squares line through the nearest rows."""
    low, radius = points.nearest(at, window)
    first = points.index(low)
    last = int(np.searchsorted(points.level, at + radius, side="right"))
    x = points.level[first:last]
    rows = points.rows[first:last].copy()
    rows[0] = points.ends[first] - low
    distance = np.abs(x - at)
    share = np.divide(
        distance, radius, out=np.zeros_like(distance), where=distance > 0.001 * radius
    )
    weight = np.where(distance <= 0.999 * radius, rows * (1 - share**3) ** 3, 0.0)
    weight /= weight.sum()
    if radius > 0:
        mean = float(weight @ x)
        variance = float(weight @ (x - mean) ** 2)
        if np.sqrt(variance) > 0.001 * spread:
            weight *= 1 + (at - mean) / variance * (x - mean)
    return float(weight @ points.outcome[first:last])


def loess(joint: Joint) -> Floats:
    """Smooth the frequencies of all levels as `predict(loess(y ~ p))` of R does.

    Parabolas are fitted at the corners of cells with few rows; between two corners the curve is
    the cubic polynomial with their values and slopes.
    """
    points = _Points.of(joint)
    window = min(points.count, int(LOESS_SPAN * points.count + 1e-5))
    spread = float(points.level[-1] - points.level[0])
    largest = max(abs(float(points.level[0])), abs(float(points.level[-1])))
    margin = LOESS_MARGIN * max(spread, 1e-10 * largest + 1e-30)
    ends = float(points.level[0]) - margin, float(points.level[-1]) + margin
    most = int(points.count * LOESS_SPAN * LOESS_CELL)
    corner = np.array(sorted({*ends, *_cuts(points, 0, points.count - 1, most, *ends)}))
    fits = np.array([_parabola_at(points, at, window) for at in corner])
    return _blended(points.level, corner, fits[:, 0], fits[:, 1])


def _cuts(
    points: _Points, first: int, last: int, most: int, low: float, high: float
) -> list[float]:
    """Cut rows at their median, the last of equal predictions, until cells are small."""
    if last - first + 1 <= most:
        return []
    middle = points.end_near((first + last) // 2, first, last)
    if middle is None:
        return []
    cut = points.at(middle)
    if cut in {low, high}:
        return []
    below = _cuts(points, first, middle, most, low, cut)
    return [cut, *below, *_cuts(points, middle + 1, last, most, cut, high)]


def _parabola_at(points: _Points, at: float, window: int) -> tuple[float, float]:
    """Value and slope of the weighted least-squares parabola through the nearest rows."""
    _, radius = points.nearest(at, window)
    ends = np.searchsorted(points.level, [at - radius, at + radius])
    near = slice(int(ends[0]), int(ends[1]))
    x = (points.level[near] - at) / radius if radius > 0 else points.level[near]
    inside = np.abs(x) < 1
    if np.count_nonzero(inside) < 3:
        raise InferenceRefusedError(
            "a local parabola needs three different forecasts nearby",
            f"{np.count_nonzero(inside)} around {min(max(at, 0.0), 1.0):.2g}",
            'use smoother="kernel"',
        )
    x = np.clip(x, -1.0, 1.0)
    root = np.sqrt(points.rows[near] * (1 - np.abs(x) ** 3) ** 3)
    design = np.stack([np.ones_like(x), x, x * x], axis=1)
    found, *_ = np.linalg.lstsq(
        design * root[:, np.newaxis], points.outcome[near] * root, rcond=None
    )
    return float(found[0]), float(found[1]) / radius


def _blended(at: Floats, corner: Floats, value: Floats, slope: Floats) -> Floats:
    """Evaluate the piecewise cubic curve with these values and slopes at the corners."""
    left = np.clip(np.searchsorted(corner, at, side="right") - 1, 0, corner.size - 2)
    width = corner[left + 1] - corner[left]
    h = (at - corner[left]) / width
    values = (1 - h) ** 2 * (1 + 2 * h) * value[left] + h**2 * (3 - 2 * h) * value[left + 1]
    slopes = h * (1 - h) ** 2 * slope[left] - h**2 * (1 - h) * slope[left + 1]
    return np.asarray(values + width * slopes)
