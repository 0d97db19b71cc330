"""Finding patches: the one that helps most comes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.data.groupings import Codes
from calibrant.groups.audit import narrow
from calibrant.groups.rounds import (
    GroupedRows,
    PatternGroups,
    Step,
    clear_of_noise,
)
from calibrant.recalibration import Patch

UNCLEAR = "no bias that is left is clear of noise"
NOTHING_LEFT = "no violation is left"
# Where every cell with a row may be patched, no cell has less than this.
LEAST_MASS = 1e-12
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
    """Rows sorted by pattern and base prediction, with sums up to each."""

    order: npt.NDArray[np.intp]
    key: Floats
    """Twice the number of the pattern, plus the base prediction."""
    p: Floats
    sums: list[Floats]
    """Prefix sums of w, wy, wp, wyp, wpp, wyy."""
    squares: list[Floats]
    """The same with w^2 for w; empty if all rows with a say weigh the same, `unit` each."""
    unit: float

    @classmethod
    def of(cls, rows: GroupedRows) -> Sorted:
        """Sort rows."""
        by_prediction = np.argsort(rows.p)
        codes = narrow(rows.pattern[by_prediction], rows.groups.patterns)
        order = by_prediction[np.argsort(codes, kind="stable")]
        key = (2.0 * rows.pattern + rows.p)[order]
        return cls(order, key, rows.p[order], [], [], 0.0).summed(rows)

    def summed(self, rows: GroupedRows) -> Sorted:
        """Add up the same rows with other weights."""
        w, y = rows.weight[self.order], rows.y[self.order]
        unit = float(w.max())
        equal = bool(((w == 0) | (w == unit)).all())
        squares = [] if equal else _prefixes(w * w, y, self.p)
        return replace(self, sums=_prefixes(w, y, self.p), squares=squares, unit=unit)


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

    def totals(self, base: Sorted) -> Floats:
        """Weight and bias of each run, and the variance of that by the sample and if all is right.

        These are sums of w, w r, w^2 r^2 and w^2 q (1 - q), r the residual, q the prediction.
        """
        w, wy, wp, *_ = sums = self._between(base.sums)
        if base.squares:
            v, vy, vp, vyp, vpp, vyy = self._between(base.squares)
        else:
            v, vy, vp, vyp, vpp, vyy = (base.unit * part for part in sums)
        a, b = self.alpha, self.beta
        vq, vqq = a * vp + b * v, a * vpp + 2 * a * b * vp + b * b * v
        return np.stack([w, wy - a * wp - b * w, vyy - 2 * (a * vyp + b * vy) + vqq, vq - vqq])

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

    def in_cells(self, number: Codes, cells: int) -> Runs:
        """Take note of the cells; rows below the first or above the last become flat."""
        beyond = (number < 0) | (number >= cells)
        return replace(
            self,
            cell=np.clip(number, 0, cells - 1),
            alpha=np.where(beyond, 0.0, self.alpha),
            beta=np.where(beyond, (number >= cells) * 1.0, self.beta),
        )

    def _between(self, sums: list[Floats]) -> list[Floats]:
        return [prefix[self.stop] - prefix[self.start] for prefix in sums]


@dataclass(frozen=True, slots=True)
class Cells:
    """Which cells of groups are patched."""

    number: int
    tolerance: float
    min_mass: float
    most: int | None
    """Largest number of patches; None for the one that is proven."""
    clearly: bool
    """Whether a bias must be clear of noise. Neighbouring cells may then be patched as one: many
    show together what none of them shows alone."""

    @property
    def limit(self) -> int:
        """Largest number of patches."""
        proven = ceil(1 / (max(self.min_mass, LEAST_MASS) * self.tolerance**2))
        return proven if self.most is None else self.most

    def search(self, rows: GroupedRows) -> Callable[[GroupedRows], Found]:
        """Sort rows once, and return a search of them that may be repeated with other weights."""
        base = Sorted.of(rows)
        find = patch_cells if self.clearly else patch_all_cells
        return lambda weighed: find(weighed, base.summed(weighed), self)

    def spans(self) -> npt.NDArray[np.int64]:
        """First cell of each span, and the one after its last."""
        widths = [1]
        while self.clearly and widths[-1] < self.number:
            widths.append(2 * widths[-1])
        first = np.concatenate([np.arange(0, self.number, width) for width in widths])
        width = np.repeat(widths, [-(-self.number // width) for width in widths])
        return np.stack([first, np.minimum(first + width, self.number)])


def patch_cells(rows: GroupedRows, base: Sorted, how: Cells) -> Found:
    """Move cells of one group by their mean residual until none is off (HKRR 2018).

    Each patch lowers the potential by at least mass times bias squared, so that there can be no
    more than 1 / (min_mass tolerance^2) of them. The one that lowers it most comes first.
    """
    groups, cells = rows.groups, how.number
    runs = _first_runs(base).split(base, cells)
    tables = _by_group(groups, runs, base, cells)
    low, high = how.spans()
    steps: list[Step] = []
    while True:
        upto = np.pad(np.cumsum(tables, axis=1), ((0, 0), (1, 0), (0, 0)))
        mass, bias, *noise = np.moveaxis(upto[:, high] - upto[:, low], -1, 0)
        enough = mass >= max(how.min_mass, LEAST_MASS)
        mean = np.divide(bias, mass, out=np.zeros_like(bias), where=enough)
        off = np.abs(mean) > how.tolerance
        clear = clear_of_noise(bias, noise, int(enough.sum())) if how.clearly else off
        scores = np.where(off & clear, bias * mean, 0.0)
        if len(steps) >= how.limit or not scores.any():
            break
        group, span = (int(i) for i in np.unravel_index(int(np.argmax(scores)), scores.shape))
        first, last, amount = int(low[span]), int(high[span]), float(mean[group, span])
        inside = (runs.cell >= first) & (runs.cell < last)
        chosen = inside & groups.patterns_of(group)[runs.pattern]
        before = runs.where(chosen)
        after = replace(before, beta=before.beta + amount).split(base, cells)
        runs = runs.where(~chosen).joined(after)
        tables += _by_group(groups, after, base, cells) - _by_group(groups, before, base, cells)
        patch = Patch(groups.levels[group], first / cells, last / cells, 0, amount)
        violation = float(bias[group, span])
        decrease = float(before.loss(base).sum() - after.loss(base).sum())
        steps.append(Step(patch, groups.names[group], violation, violation * amount, decrease))
    left = float(np.abs(mean).max())
    return Found(steps, _predictions(runs, base), _reason(steps, how.limit, off), left)


def patch_all_cells(rows: GroupedRows, base: Sorted, how: Cells) -> Found:
    """Patch cells, by the patches' own rounding, until none is off.

    Runs of rows are added up in another order than patches are applied in, so that a row at the
    end of a cell may lie beyond it: whether any cell is still off is asked row by row.
    """
    steps: list[Step] = []
    while True:
        found = patch_cells(rows, base, replace(how, most=how.limit - len(steps)))
        steps += found.steps
        if not found.steps:
            return replace(found, steps=steps, prediction=rows.p)
        rows = replace(rows, p=rows.replayed(step.patch for step in found.steps))
        base = Sorted.of(rows)


def _first_runs(base: Sorted) -> Runs:
    """One run for all rows of a pattern."""
    code = (base.key / 2).astype(np.int64)
    # A prediction of 1 is half a number, one of 0 none: halves never reach the next number.
    start = np.flatnonzero(np.diff(code, prepend=-1))
    stop = np.append(start[1:], base.p.size)
    ones = np.ones(start.size)
    return Runs(start, stop, code[start], np.zeros(start.size, np.int64), ones, 0 * ones)


def _by_group(groups: PatternGroups, runs: Runs, base: Sorted, cells: int) -> Floats:
    """Totals of runs by group and cell."""
    totals = runs.totals(base)
    size = len(groups.names) * cells
    indices = [group * cells + runs.cell for group in groups.of[runs.pattern].T]
    sums = [sum(np.bincount(index, entry, size) for index in indices) for entry in totals]
    return np.stack(sums, axis=-1).reshape(-1, cells, len(totals))


def _reason(steps: list[Step], limit: int, off: npt.NDArray[np.bool_]) -> str:
    """Say why the search stopped."""
    return TOO_MANY if len(steps) >= limit else UNCLEAR if off.any() else NOTHING_LEFT


def _predictions(runs: Runs, base: Sorted) -> Floats:
    """Predictions of the rows, in their own order."""
    at = np.argsort(runs.start)
    length = (runs.stop - runs.start)[at]
    sorted_ = np.repeat(runs.alpha[at], length) * base.p + np.repeat(runs.beta[at], length)
    found = np.empty_like(sorted_)
    found[base.order] = np.clip(sorted_, 0.0, 1.0)
    return found


def patch_powers(
    rows: GroupedRows, tolerance: float, degree: int, most: int | None, *, clearly: bool
) -> Found:
    """Add powers of the prediction to groups until no such test finds a bias (GKSZ 2022).

    The patch that lowers the potential most comes first. The step is that of a line search, so
    that each lowers it by at least the violation squared: no more than 1 / tolerance^2 patches.
    """
    p, groups = rows.p.copy(), rows.groups
    limit = ceil(tolerance**-2) if most is None else most
    steps: list[Step] = []
    while True:
        tables = rows.tables(_moments(rows.weight, rows.y - p, p, degree))
        bias, mass, *noise = np.moveaxis(tables.reshape(-1, degree + 1, 4), -1, 0)
        amounts = np.divide(bias, mass, out=np.zeros_like(bias), where=mass > 0)
        off = np.abs(bias) > tolerance
        clear = clear_of_noise(bias, noise, bias.size) if clearly else off
        scores = np.where(off & clear, bias * amounts, 0.0)
        if len(steps) >= limit or not scores.any():
            left = float(np.abs(bias).max())
            return Found(steps, p, _reason(steps, limit, off), left)
        group, power = (int(i) for i in np.unravel_index(int(np.argmax(scores)), scores.shape))
        inside = np.flatnonzero(groups.patterns_of(group)[rows.pattern])
        violation, amount = float(bias[group, power]), float(amounts[group, power])
        patch = Patch(groups.levels[group], 0.0, 1.0, power, amount)
        recalibrated, y = patch.recalibrated(p[inside]), rows.y[inside]
        decrease = float(rows.weight[inside] @ ((p[inside] - y) ** 2 - (recalibrated - y) ** 2))
        steps.append(Step(patch, groups.names[group], violation, violation * amount, decrease))
        p[inside] = recalibrated


def _moments(weight: Floats, residual: Floats, p: Floats, degree: int) -> list[Floats]:
    """For each power s of p: w s r, w s^2, and the variances of the first as for runs."""
    found = []
    for power in range(degree + 1):
        ws = weight * p**power
        found += [ws * residual, ws * p**power, (ws * residual) ** 2, ws * ws * p * (1 - p)]
    return found
