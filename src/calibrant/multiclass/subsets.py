"""Which set of classes is most clearly off: all of them tried, or some improved step by step."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant.joint import Joint, Rows
from calibrant.joint.gate import Floats, Indices
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass.forecasts import ClassForecasts

# Chances on this grid are added and taken away without rounding: sums below 2 need 51 bits.
EXACT_GRID = 2.0**-50
# Sums on that grid and the sums of `ClassForecasts.subset` differ by less than this.
SLACK = 1e-11
# Bounds of subsets come from so many cells; a sample with no more rows is solved exactly.
CELLS = 2**12
# A search looks at so many flips of single classes, those that promise most, per step.
FLIPS_PER_STEP = 6
MOST_STEPS = 64

Members = npt.NDArray[np.bool_]


def best_of_all(forecasts: ClassForecasts, threads: int) -> tuple[Indices, float]:
    """Worst subset and its smooth error, exactly.

    Errors on cells, with their certificates, decide which subsets have to be solved exactly.
    """
    cells = CELLS if len(forecasts) > CELLS else None
    _, high = _bounds_of_all(forecasts, cells, threads)
    order = np.argsort(-high, kind="stable")
    best, worst = -1.0, int(order[0])
    for code in order:
        if high[code] + SLACK <= best:
            break
        value = float(smooth_calibration_error(forecasts.subset(_names(forecasts, int(code)))))
        # Of equal errors the first subset counts, whatever the bounds say.
        if value > best or (value == best and code < worst):
            best, worst = value, int(code)
    return _members(forecasts, worst), best


def found_in_cells(
    forecasts: ClassForecasts, resolution: int, threads: int
) -> tuple[Indices, float, float]:
    """Worst subset when chances are rounded to cells, its error, and how far that can be off."""
    low, high = _bounds_of_all(forecasts, resolution, threads)
    middle = (low + high) / 2
    worst = int(np.argmax(middle))
    return _members(forecasts, worst), float(middle[worst]), float((high - low).max() / 2)


def best_found(forecasts: ClassForecasts) -> tuple[Indices, float]:
    """Best subset that a search finds: every start is improved until no step helps."""
    search = _Search(forecasts)
    best, value = max((search.climb(start) for start in search.starts()), key=lambda end: end[1])
    members = np.flatnonzero(best)
    if 2 * members.size > best.size:
        members = np.flatnonzero(~best)
    names = [forecasts.classes[index] for index in members]
    value = float(smooth_calibration_error(forecasts.subset(names)))
    return members, value


def _bounds_of_all(
    forecasts: ClassForecasts, resolution: int | None, threads: int
) -> tuple[Floats, Floats]:
    """Bounds on the smooth error of every subset without the last class, by its bits less one."""
    columns = np.rint(forecasts.probability.T / EXACT_GRID) * EXACT_GRID
    free = len(forecasts.classes) - 1
    split = min(free - 1, int(np.ceil(np.log2(threads)))) if threads > 1 else 0
    low, high = np.zeros(2**free), np.zeros(2**free)

    def walk(prefix: int) -> None:
        for code, rows in _gray_walk(forecasts, columns, prefix << (free - split), free - split):
            low[code], high[code] = _smooth_bounds(rows, resolution)

    if threads == 1:
        walk(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(walk, range(2**split)))
    return low[1:], high[1:]


def _gray_walk(
    forecasts: ClassForecasts, columns: Floats, start: int, bits: int
) -> Iterator[tuple[int, Rows]]:
    """Visit the subsets start .. start + 2^bits - 1, changing one class at a time."""
    member = np.array([start >> k & 1 for k in range(columns.shape[0])], dtype=np.uint8)
    chance = columns[member == 1].sum(axis=0) if start else np.zeros(len(forecasts))
    code = start
    for step in range(2**bits):
        if step:
            flipped = (step & -step).bit_length() - 1
            member[flipped] ^= 1
            chance += columns[flipped] if member[flipped] else -columns[flipped]
            code ^= 1 << flipped
        if code:
            yield code, Rows(np.minimum(chance, 1.0), member[forecasts.label], forecasts.weight)


def _smooth_bounds(rows: Rows, resolution: int | None) -> tuple[float, float]:
    joint = Joint.from_rows(rows, resolution)
    error = kernels.smooth_error(joint.prediction, joint.weight, joint.positives, 1.0)
    value, reach = error / joint.total, joint.rounding
    return value - reach, value + reach


def _members(forecasts: ClassForecasts, code: int) -> Indices:
    """Classes of a subset or of its complement, whichever are fewer; two classes: the second."""
    count = len(forecasts.classes)
    inside = np.array([(code + 1) >> k & 1 for k in range(count)], dtype=bool)
    if 2 * inside.sum() > count or count == 2:
        inside = ~inside
    return np.flatnonzero(inside)


def _names(forecasts: ClassForecasts, code: int) -> list[object]:
    return [forecasts.classes[index] for index in _members(forecasts, code)]


class _Search:
    """Improve subsets step by step; errors on cells guide it."""

    def __init__(self, forecasts: ClassForecasts) -> None:
        self.forecasts = forecasts
        self.mass = forecasts.mass
        self.resolution = CELLS if len(forecasts) > CELLS else None
        self.bias = forecasts.prevalence - self.mass @ forecasts.probability

    def starts(self) -> Iterator[Members]:
        """Classes that happened more often than forecast, and the most biased ones alone."""
        yield self._proper(self.bias > 0)
        for index in np.argsort(-np.abs(self.bias), kind="stable")[:3]:
            yield np.arange(self.bias.size) == index

    def climb(self, start: Members) -> tuple[Members, float]:
        """Take the best step until none helps."""
        now, value = start, self._value(start)
        for _ in range(MOST_STEPS):
            steps = list(self._steps(now))
            values = [self._value(step) for step in steps]
            if not steps or max(values) <= value + SLACK:
                break
            value = max(values)
            now = steps[values.index(value)]
        return now, value

    def _steps(self, now: Members) -> Iterator[Members]:
        """Where the best test of a subset would rather have it: all flips at once, or the best.

        With the test w of p_T held fixed, the bias of T is the sum of the gains
        E[w(p_T) (1[y = k] - p_k)] of its classes.
        """
        gain = self._gain(now)
        promise = np.where(now, -gain, gain)
        flips = np.argsort(-promise, kind="stable")[:FLIPS_PER_STEP]
        singles = (np.arange(now.size) == index for index in flips)
        for flip in chain([promise > 0], singles):
            step = self._proper(now ^ flip)
            if (step != now).any():
                yield step

    def _value(self, members: Members) -> float:
        joint = self._joint(members)
        return (
            kernels.smooth_error(joint.prediction, joint.weight, joint.positives, 1.0) / joint.total
        )

    def _gain(self, members: Members) -> Floats:
        """Find what each class adds to the bias that the best test of a subset sees."""
        joint = self._joint(members)
        test = kernels.smooth_witness(joint.prediction, joint.weight, joint.positives, 1.0)
        seen = np.interp(self._chance(members), joint.prediction, test) * self.mass
        happened = np.bincount(self.forecasts.label, seen, members.size)
        return np.asarray(happened - seen @ self.forecasts.probability)

    def _chance(self, members: Members) -> Floats:
        return np.clip(self.forecasts.probability @ members.astype(np.float64), 0.0, 1.0)

    def _joint(self, members: Members) -> Joint:
        happened = members[self.forecasts.label].view(np.uint8)
        rows = Rows(self._chance(members), happened, self.forecasts.weight)
        return Joint.from_rows(rows, self.resolution)

    def _proper(self, members: Members) -> Members:
        """Neither none nor all: then the first class alone."""
        if members.any() and not members.all():
            return members
        return np.asarray(np.arange(members.size) == 0)
