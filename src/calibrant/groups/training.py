"""Finding patches: the largest violation first, each one judged on rows held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.data.groupings import Codes
from calibrant.groups.division import narrow
from calibrant.groups.rounds import DividedRows, Groups, Step, more_than_noise
from calibrant.repair.patches import Patch

LEFT_OUT = "no patch helps rows held out"
UNCLEAR = "no bias that is left is clear of noise"
NOTHING_LEFT = "no violation is left"
TOO_MANY = "the largest number of patches is reached"


@dataclass(frozen=True, slots=True)
class Found:
    """Patches with their predictions, why the search stopped, and the largest violation left."""

    steps: list[Step]
    prediction: Floats
    reason: str
    left: float


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows sorted by half, pattern and base prediction, with sums up to each."""

    order: npt.NDArray[np.intp]
    key: Floats
    """Twice the number of half and pattern, plus the base prediction."""
    p: Floats
    sums: list[Floats]
    """Prefix sums of w, wy, wp, wyp, wpp, wyy."""
    squares: list[Floats]
    """The same with w^2 for w; empty if all rows of a half weigh the same, `unit` each."""
    unit: Floats

    @classmethod
    def of(cls, rows: DividedRows) -> Sorted:
        """Sort rows."""
        code = rows.pattern + rows.groups.patterns * rows.held
        key = 2.0 * code + rows.p
        by_prediction = np.argsort(rows.p)
        codes = narrow(code[by_prediction], 2 * rows.groups.patterns)
        order = by_prediction[np.argsort(codes, kind="stable")]
        w, y, p = rows.weight[order], rows.y[order], rows.p[order]
        halves = [rows.weight[~rows.held], rows.weight[rows.held]]
        unit = np.array([half[0] for half in halves])
        equal = all(bool((half == half[0]).all()) for half in halves)
        squares = [] if equal else _prefixes(w * w, y, p)
        return cls(order, key[order], p, _prefixes(w, y, p), squares, unit)


def _prefixes(w: Floats, y: Floats, p: Floats) -> list[Floats]:
    """Add up w, wy, wp, wyp, wpp, wyy up to each row."""
    wy, wp = w * y, w * p
    entries = (w, wy, wp, wy * p, wp * p, wy * y)
    return [np.append(0.0, np.cumsum(entry)) for entry in entries]


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of sorted rows that were patched alike: they predict alpha p + beta, alpha 0 or 1.

    A run lies in one cell, so that a patch moves whole runs. Sums of any run follow from prefix
    sums: a patch costs no pass over the rows.
    """

    start: npt.NDArray[np.intp]
    stop: npt.NDArray[np.intp]
    pattern: Codes
    """Pattern, those of rows held out after those of rows fitted to."""
    cell: Codes
    alpha: Floats
    beta: Floats

    def where(self, keep: npt.NDArray[np.bool_]) -> Runs:
        """Keep some runs."""
        return Runs(*(getattr(self, name)[keep] for name in Runs.__dataclass_fields__))

    def joined(self, other: Runs) -> Runs:
        """All runs of both."""
        names = Runs.__dataclass_fields__
        return Runs(*(np.append(getattr(self, n), getattr(other, n)) for n in names))

    def totals(self, base: Sorted, patterns: int) -> Floats:
        """Weight, bias, and for w^2 the sums of 1, r and r^2, r the residual, of each run."""
        w, wy, wp, *_ = law = self._between(base.sums)
        if base.squares:
            v, vy, vp, vyp, vpp, vyy = self._between(base.squares)
        else:
            v, vy, vp, vyp, vpp, vyy = (
                part * base.unit[(self.pattern >= patterns) * 1] for part in law
            )
        a, b = self.alpha, self.beta
        squares = vyy + a * vpp + b * b * v - 2 * (a * vyp + b * vy - a * b * vp)
        return np.stack([w, wy - a * wp - b * w, v, vy - a * vp - b * v, squares])

    def loss(self, base: Sorted) -> Floats:
        """Squared error of each run, less the part of the outcomes alone."""
        w, wy, wp, wyp, wpp, _ = self._between(base.sums)
        a, b = self.alpha, self.beta
        return np.asarray(a * wpp + b * b * w - 2 * (a * wyp + b * wy - a * b * wp))

    def split(self, base: Sorted, cells: int) -> Runs:
        """Cut runs at the ends of cells; what is beyond 0 or 1 becomes flat."""
        bounds = np.append(np.arange(cells) / cells, np.nextafter(1.0, 2.0))
        done, rest = [], self
        while rest.start.size:
            first, last = (
                np.searchsorted(bounds, rest.alpha * base.p[row] + rest.beta, side="right") - 1
                for row in (rest.start, rest.stop - 1)
            )
            whole = first == last
            done.append(rest.where(whole).in_cells(first[whole], cells))
            rest, first = rest.where(~whole), first[~whole]
            at = np.searchsorted(base.key, 2.0 * rest.pattern + (bounds[first + 1] - rest.beta))
            cut = np.clip(at, rest.start + 1, rest.stop - 1)
            done.append(replace(rest, stop=cut).in_cells(first, cells))
            rest = replace(rest, start=cut)
        return reduce(Runs.joined, done)

    def in_cells(self, place: Codes, cells: int) -> Runs:
        """Take note of the cells; rows below the first or above the last become flat."""
        beyond = (place < 0) | (place >= cells)
        return replace(
            self,
            cell=np.clip(place, 0, cells - 1),
            alpha=np.where(beyond, 0.0, self.alpha),
            beta=np.where(beyond, (place >= cells) * 1.0, self.beta),
        )

    def _between(self, sums: list[Floats]) -> list[Floats]:
        return [prefix[self.stop] - prefix[self.start] for prefix in sums]


def patch_cells(
    rows: DividedRows, tolerance: float, cells: int, min_mass: float, most: int
) -> Found:
    """Move one cell of one group by its mean residual until none is off (HKRR 2018).

    Each patch lowers the potential by at least mass times bias squared, so that there can be no
    more than 1 / (min_mass tolerance^2) of them.
    """
    groups, base = rows.groups, Sorted.of(rows)
    first = _first_runs(rows, base).split(base, cells)
    runs = [first.where(first.cell == cell) for cell in range(cells)]
    tables = np.stack([_by_group(groups, inside, base) for inside in runs], axis=2)
    steps: list[Step] = []
    while True:
        mass, bias = tables[0, :, :, 0], tables[0, :, :, 1]
        enough = mass >= min_mass
        mean = np.divide(bias, mass, out=np.zeros_like(bias), where=enough)
        off = np.abs(mean) > tolerance
        helps = _helps(tables[1], mean)
        reason = TOO_MANY if len(steps) >= most else LEFT_OUT if off.any() else NOTHING_LEFT
        if len(steps) >= most or not (off & helps).any():
            break
        scores = np.where(off & helps, np.abs(bias), 0.0)
        group, cell = (int(i) for i in np.unravel_index(int(np.argmax(scores)), scores.shape))
        amount = float(mean[group, cell])
        patch = Patch(groups.levels[group], cell / cells, (cell + 1) / cells, 0, amount)
        belongs = np.tile(groups.patterns_of(group), 2)
        chosen = belongs[runs[cell].pattern]
        before = runs[cell].where(chosen)
        runs[cell] = runs[cell].where(~chosen)
        after = replace(before, beta=before.beta + amount).split(base, cells)
        decrease, held_out = _decrease(before, after, base, groups.patterns)
        violation = float(bias[group, cell])
        steps.append(
            Step(patch, groups.names[group], violation, violation * amount, decrease, held_out)
        )
        tables[:, :, cell] -= _by_group(groups, before, base)
        for target in np.unique(after.cell):
            arrived = after.where(after.cell == target)
            tables[:, :, target] += _by_group(groups, arrived, base)
            runs[target] = runs[target].joined(arrived)
    left = float(np.abs(mean).max())
    return Found(steps, _predictions(reduce(Runs.joined, runs), base), reason, left)


def _first_runs(rows: DividedRows, base: Sorted) -> Runs:
    """One run for all rows of a half and pattern."""
    code = (base.key / 2).astype(np.int64)
    # A prediction of 1 is half a number, one of 0 none: halves never reach the next number.
    start = np.flatnonzero(np.diff(code, prepend=-1))
    stop = np.append(start[1:], rows.p.size)
    ones = np.ones(start.size)
    return Runs(start, stop, code[start], np.zeros(start.size, np.int64), ones, 0 * ones)


def _by_group(groups: Groups, runs: Runs, base: Sorted) -> Floats:
    """Totals of runs by half and group."""
    count = groups.patterns
    totals = runs.totals(base, count)
    sums = np.stack([np.bincount(runs.pattern, t, 2 * count) for t in totals], axis=1)
    return np.stack([groups.members @ half for half in np.split(sums, 2)])


def _helps(held: Floats, amount: Floats) -> npt.NDArray[np.bool_]:
    """Whether moving a cell lowers the squared error of the rows held out by more than noise."""
    mass, bias, v, vr, vrr = np.moveaxis(held, -1, 0)
    gain = 2 * amount * bias - amount**2 * mass
    squares = 4 * amount**2 * vrr - 4 * amount**3 * vr + amount**4 * v
    return np.asarray(more_than_noise(gain, squares))


def _decrease(before: Runs, after: Runs, base: Sorted, patterns: int) -> tuple[float, float]:
    """Decrease of the mean squared error of the rows fitted to, and of those held out."""
    then, now = (
        np.bincount(runs.pattern >= patterns, runs.loss(base), 2) for runs in (before, after)
    )
    return float(then[0] - now[0]), float(then[1] - now[1])


def _predictions(runs: Runs, base: Sorted) -> Floats:
    """Predictions of the rows, in their own order."""
    at = np.argsort(runs.start)
    length = (runs.stop - runs.start)[at]
    sorted_ = np.repeat(runs.alpha[at], length) * base.p + np.repeat(runs.beta[at], length)
    found = np.empty_like(sorted_)
    found[base.order] = np.clip(sorted_, 0.0, 1.0)
    return found


def patch_powers(rows: DividedRows, tolerance: float, degree: int, most: int) -> Found:
    """Add powers of the prediction to groups until no such test finds a bias (GKSZ 2022).

    The patch that lowers the potential most comes first. The step is that of a line search, so
    that each lowers it by at least the violation squared: no more than 1 / tolerance^2 patches.
    """
    p = rows.p.copy()
    steps: list[Step] = []
    refused = np.zeros((len(rows.groups.names), degree + 1), dtype=bool)
    errors, judges = rows.standard_errors(refused.size), rows.judges
    while True:
        if not refused.any():
            tables = rows.tables(_moments(rows.weight, rows.y - p, p, degree))
            fitted, held_out = tables.reshape(2, *refused.shape, 5)
            judging = held_out if rows.held.any() else fitted
            bias, mass = fitted[..., 0], fitted[..., 1]
            amounts = np.divide(bias, mass, out=np.zeros_like(bias), where=mass > 0)
            off = np.abs(bias) > tolerance
            helps = _power_helps(judging, amounts, errors)
        left = LEFT_OUT if rows.held.any() else UNCLEAR
        reason = TOO_MANY if len(steps) >= most else left if off.any() else NOTHING_LEFT
        scores = np.where(off & helps & ~refused, bias * amounts, 0.0)
        if len(steps) >= most or not scores.any():
            return Found(steps, p, reason, float(np.abs(bias).max()))
        group, power = (int(i) for i in np.unravel_index(int(np.argmax(scores)), scores.shape))
        inside = np.flatnonzero(rows.groups.patterns_of(group)[rows.pattern])
        violation, amount = float(bias[group, power]), float(amounts[group, power])
        patch = Patch(rows.groups.levels[group], 0.0, 1.0, power, amount)
        moved = patch.moved(p[inside])
        y, held = rows.y[inside], rows.held[inside]
        gain = rows.weight[inside] * ((p[inside] - y) ** 2 - (moved - y) ** 2)
        judged = gain[judges[inside]]
        decrease, confirmed = float(gain[~held].sum()), float(judged.sum())
        if not more_than_noise(confirmed, float(judged @ judged), errors):
            refused[group, power] = True
            continue
        name = rows.groups.names[group]
        steps.append(Step(patch, name, violation, violation * amount, decrease, confirmed))
        p[inside] = moved
        refused[:] = False


def _moments(weight: Floats, residual: Floats, p: Floats, degree: int) -> list[Floats]:
    """For each power s of p: w s r, w s^2, and what the spread of a gain needs."""
    found = []
    for power in range(degree + 1):
        ws, sr = weight * p**power, p**power * residual
        wss = ws * p**power
        found += [ws * residual, wss, (weight * sr) ** 2, ws * ws * sr, wss * wss]
    return found


def _power_helps(judging: Floats, amount: Floats, errors: float) -> npt.NDArray[np.bool_]:
    """Whether a power added to a group helps the rows that judge, were no prediction clipped."""
    bias, mass, square, cross, fourth = np.moveaxis(judging, -1, 0)
    gain = 2 * amount * bias - amount**2 * mass
    squares = 4 * amount**2 * square - 4 * amount**3 * cross + amount**4 * fourth
    return np.asarray(more_than_noise(gain, squares, errors))
