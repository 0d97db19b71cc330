"""Which set of classes is most clearly off: all of them tried, or some improved step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, Indices
from calibrant.joint import Joint, Rows
from calibrant.joint.classes import ClassForecasts
from calibrant.joint.sums import cell_index
from calibrant.measures.smooth import smooth_calibration_error

# Up to so many classes all subsets are tried, unless a caller asks otherwise.
MOST_TRIED = 12
# Chances on this grid are added and taken away without rounding: sums below 2 need 51 bits.
EXACT_GRID = 2.0**-50
# Sums on that grid and the sums of `ClassForecasts.subset` differ by less than this.
SLACK = 1e-11
# Bounds of subsets come from so many cells; a sample with no more rows is solved exactly.
CELLS = 2**12
# A search looks at so many flips of single classes, those that promise most, per step.
FLIPS_PER_STEP = 6
MOST_STEPS = 64
# A search starts from the most biased classes alone too; so many searches go side by side.
SINGLE_STARTS, SEARCHES_AT_ONCE = 3, 16

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


def in_levels(prediction: Floats, weight: Floats | None, resolution: int) -> tuple[Joint, Indices]:
    """Joint of predictions in cells, without events, and the level of each row."""
    rows = Rows(prediction, np.zeros(prediction.size, np.uint8), weight)
    cell = cell_index(prediction, resolution)
    occupied = np.bincount(cell, minlength=resolution) > 0
    return Joint.from_rows(rows, resolution), (np.cumsum(occupied) - 1)[cell]


def best_found(
    forecasts: ClassForecasts, labels: Iterable[Indices]
) -> Iterator[tuple[Indices, float]]:
    """For each series of labels the best subset that a search finds, and its exact error.

    Every start is improved until no step helps. Searches go side by side, because passing over a
    large table of probabilities is what takes the time.
    """
    search, remaining = _SubsetSearch(forecasts), iter(labels)
    while some := list(islice(remaining, SEARCHES_AT_ONCE)):
        for label, members in zip(some, search.found(some), strict=True):
            chosen = np.flatnonzero(members)
            if 2 * chosen.size > members.size:
                chosen = np.flatnonzero(~members)
            names = [forecasts.classes[index] for index in chosen]
            joint = forecasts.relabelled(label).subset(names)
            yield chosen, float(smooth_calibration_error(joint))


def _bounds_of_all(
    forecasts: ClassForecasts, resolution: int | None, threads: int
) -> tuple[Floats, Floats]:
    """Bounds on the smooth error of every subset without the last class, by its bits less one."""
    columns = exact_columns(forecasts)
    free = len(forecasts.classes) - 1
    split = min(free - 1, int(np.ceil(np.log2(threads)))) if threads > 1 else 0
    low, high = np.zeros(2**free), np.zeros(2**free)

    def walk(prefix: int) -> None:
        for code, member, chance in gray_walk(columns, prefix << (free - split), free - split):
            rows = Rows(chance, member[forecasts.label], forecasts.weight)
            low[code], high[code] = _smooth_bounds(rows, resolution)

    if threads == 1:
        walk(0)
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(walk, range(2**split)))
    return low[1:], high[1:]


def exact_columns(forecasts: ClassForecasts) -> Floats:
    """Return the probabilities by class, rounded so that sums of them are exact."""
    return np.asarray(np.rint(forecasts.probability.T / EXACT_GRID) * EXACT_GRID)


def gray_walk(
    columns: Floats, start: int, bits: int
) -> Iterator[tuple[int, npt.NDArray[np.uint8], Floats]]:
    """Visit the subsets start .. start + 2^bits - 1, changing one class at a time.

    Each with its bits, whether each class is a member, and the chance of one of them in each row.
    """
    member = np.array([start >> k & 1 for k in range(columns.shape[0])], dtype=np.uint8)
    chance = columns[member == 1].sum(axis=0) if start else np.zeros(columns.shape[1])
    code = start
    for step in range(2**bits):
        if step:
            flipped = (step & -step).bit_length() - 1
            member[flipped] ^= 1
            chance += columns[flipped] if member[flipped] else -columns[flipped]
            code ^= 1 << flipped
        if code:
            yield code, member, np.minimum(chance, 1.0)


def _smooth_bounds(rows: Rows, resolution: int | None) -> tuple[float, float]:
    joint = Joint.from_rows(rows, resolution)
    error = kernels.smooth_error(joint.prediction, joint.weight, joint.positives, 1.0)
    value, slack = error / joint.total, joint.rounding
    return value - slack, value + slack


def _members(forecasts: ClassForecasts, code: int) -> Indices:
    """Classes of a subset or of its complement, whichever are fewer; two classes: the second."""
    count = len(forecasts.classes)
    inside = np.array([(code + 1) >> k & 1 for k in range(count)], dtype=bool)
    if 2 * inside.sum() > count or count == 2:
        inside = ~inside
    return np.flatnonzero(inside)


def _names(forecasts: ClassForecasts, code: int) -> list[object]:
    return [forecasts.classes[index] for index in _members(forecasts, code)]


@dataclass(frozen=True, slots=True, eq=False)
class _Subset:
    """Classes that a search is looking at."""

    label: Indices
    members: Members
    chance: Floats
    """Of one of them, in each row."""
    joint: Joint
    value: float

    @property
    def key(self) -> tuple[int, bytes]:
        """Equal for the same classes and labels."""
        return id(self.label), self.members.tobytes()


class _SubsetSearch:
    """Improve subsets step by step; errors on cells guide it."""

    def __init__(self, forecasts: ClassForecasts) -> None:
        self.table = forecasts.probability
        self.weight = forecasts.weight
        self.mass = forecasts.mass
        self.resolution = CELLS if len(forecasts) > CELLS else None
        self.expected = self.mass @ self.table

    def found(self, labels: Sequence[Indices]) -> list[Members]:
        """For each series of labels, the best subset of all climbs."""
        starts = [(label, start) for label in labels for start in self._starts(label)]
        chances = self._chances([start for _, start in starts])
        climbs = [
            self._evaluated(label, start, chance)
            for (label, start), chance in zip(starts, chances, strict=True)
        ]
        active = list(range(len(climbs)))
        for _ in range(MOST_STEPS):
            steps = self._steps([climbs[i] for i in active])
            better = [
                (i, step)
                for i, step in zip(active, steps, strict=True)
                if step.value > climbs[i].value + SLACK
            ]
            for i, step in better:
                climbs[i] = step
            # Climbs that met go on as one.
            active = list({climbs[i].key: i for i, _ in reversed(better)}.values())
        each = len(climbs) // len(labels)
        return [
            max(climbs[i : i + each], key=lambda end: end.value).members
            for i in range(0, len(climbs), each)
        ]

    def _starts(self, label: Indices) -> list[Members]:
        """Classes that happened more often than forecast, and the most biased ones alone."""
        bias = np.bincount(label, self.mass, self.expected.size) - self.expected
        alone = np.argsort(-np.abs(bias), kind="stable")[:SINGLE_STARTS]
        return [self._proper(bias > 0), *(np.arange(bias.size) == index for index in alone)]

    def _steps(self, now: Sequence[_Subset]) -> list[_Subset]:
        """For each subset the best of its neighbours.

        With the test w of p_T held fixed, the bias of T is the sum of the gains
        E[w(p_T) (1[y = k] - p_k)] of its classes. Looked at are the set that the gains ask for,
        and flips of the single classes that promise most.
        """
        if not now:
            return []
        gains = zip(now, self._gains(now), strict=True)
        promises = [np.where(one.members, -gain, gain) for one, gain in gains]
        wished = [
            self._proper(one.members ^ (promise > 0))
            for one, promise in zip(now, promises, strict=True)
        ]
        return [
            max(
                [self._evaluated(one.label, wish, chance), *self._flipped(one, promise)],
                key=lambda step: step.value,
            )
            for one, promise, wish, chance in zip(
                now, promises, wished, self._chances(wished), strict=True
            )
        ]

    def _flipped(self, now: _Subset, promise: Floats) -> Iterator[_Subset]:
        for index in np.argsort(-promise, kind="stable")[:FLIPS_PER_STEP]:
            members = now.members.copy()
            members[index] ^= True
            if members.any() and not members.all():
                column = self.table[:, index]
                changed = now.chance + column if members[index] else now.chance - column
                yield self._evaluated(now.label, members, changed)

    def _gains(self, now: Sequence[_Subset]) -> Floats:
        """Find what each class adds to the bias that the best test of a subset sees."""
        weighed = np.empty((len(now), self.mass.size))
        happened = np.empty((len(now), self.expected.size))
        for i, one in enumerate(now):
            joint = one.joint
            test = kernels.smooth_witness(joint.prediction, joint.weight, joint.positives, 1.0)
            weighed[i] = np.interp(one.chance, joint.prediction, test) * self.mass
            happened[i] = np.bincount(one.label, weighed[i], self.expected.size)
        return np.asarray(happened - weighed @ self.table)

    def _chances(self, subsets: Sequence[Members]) -> Floats:
        """Chance of each subset, one row each."""
        return np.ascontiguousarray((self.table @ np.array(subsets, dtype=np.float64).T).T)

    def _evaluated(self, label: Indices, members: Members, chance: Floats) -> _Subset:
        chance = np.clip(chance, 0.0, 1.0)
        rows = Rows(chance, members[label].view(np.uint8), self.weight)
        joint = Joint.from_rows(rows, self.resolution)
        error = kernels.smooth_error(joint.prediction, joint.weight, joint.positives, 1.0)
        return _Subset(label, members, chance, joint, error / joint.total)

    def _proper(self, members: Members) -> Members:
        """Neither none nor all: then the first class alone."""
        if members.any() and not members.all():
            return members
        return np.asarray(np.arange(members.size) == 0)
