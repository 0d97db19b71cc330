"""How far the errors of many groups lie from the truth by chance, all groups at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, in_parts
from calibrant.data.groupings import Codes, Partition
from calibrant.groups.division import Division, crossed, families, renumbered
from calibrant.inference import (
    DRAWS_FOR_A_FLOOR,
    Noise,
    Settings,
    Statistic,
    cells_for,
    confidence_of_each,
)
from calibrant.joint import Joint, Rows
from calibrant.joint.draws import draw_positives
from calibrant.joint.sums import LevelSums, cell_index
from calibrant.parallel import in_threads

# Atoms times divisions whose draws can be shared.
MOST_SHARED = 2**19
DRAWS_IN_CACHE = 32


@dataclass(frozen=True, slots=True)
class Atoms:
    """Rows of one cell and of one combination of groups, added up."""

    sums: LevelSums
    """Mean prediction, weight and so on of each atom, in no order."""
    cell: Codes
    example: npt.NDArray[np.intp]
    """One row of each atom."""
    square: Floats
    """Sum of w^2 r^2, r the residual."""
    cross: Floats
    """Sum of w^2 r."""

    @property
    def spread(self) -> Floats:
        """Deviation of the noise drawn; tiny where there is none, to be inflated by level."""
        return np.sqrt(np.maximum(self.square, 1e-30 * self.sums.weight_squares))

    @classmethod
    def of(cls, rows: Rows, parts: Sequence[Partition], cells: int) -> Atoms:
        """Add up rows."""
        p, y = rows.prediction, np.asarray(rows.outcome, dtype=np.float64)
        pattern = crossed(parts, p.size)
        cell = cell_index(p, cells)
        atom, count = renumbered(pattern * cells + cell, (int(pattern.max()) + 1) * cells)
        example = np.zeros(count, dtype=np.intp)
        example[atom] = np.arange(p.size)

        def added(entries: Floats | None) -> Floats:
            return np.bincount(atom, entries, count).astype(np.float64)

        number = added(None)
        if rows.weight is None:
            weight, ones, squares, square_ones = number, added(y), number, added(y)
            mean = added(p) / number
        else:
            w = rows.weight
            weight, ones = added(w), added(w * y)
            squares, square_ones = added(w * w), added(w * w * y)
            mean = added(w * p) / weight
        mean = np.clip(mean, 0.0, 1.0)
        zeros = squares - square_ones
        sums = LevelSums(
            prediction=mean, weight=weight, positives=ones, rows=number, weight_squares=squares
        )
        square = square_ones * (1 - mean) ** 2 + zeros * mean**2
        return cls(sums, cell[example], example, square, square_ones * (1 - mean) - zeros * mean)


@dataclass(frozen=True, slots=True)
class Levels:
    """Cells of the groups of one division, each a sum of atoms."""

    order: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    """Where the atoms of each level begin in the order."""
    start: npt.NDArray[np.intp]
    """Where the levels of each group begin."""
    group: npt.NDArray[np.intp]
    """Number of the group of each level."""
    joints: list[Joint]
    """Joint of each group in cells."""
    total: Floats
    """Weight of the group of each level."""
    in_order: bool
    """Whether atoms are sorted by level already."""

    @classmethod
    def of(cls, atoms: Atoms, part: Partition, cells: int) -> Levels:
        """Add up atoms."""
        key = part.codes[atoms.example] * cells + atoms.cell
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        start = np.flatnonzero(np.diff(key[first] // cells, prepend=-1))
        stop = np.append(start[1:], first.size)
        group = np.repeat(np.arange(start.size), stop - start)
        sums = atoms.sums.weighted().each(lambda entry: np.add.reduceat(entry[order], first))
        levels = sums.at(np.clip(sums.moment / sums.weight, 0.0, 1.0))
        joints = [
            Joint(levels.where(slice(a, b)), resolution=cells)
            for a, b in zip(start, stop, strict=True)
        ]
        total = np.array([joint.total for joint in joints])[group]
        in_order = bool((order == np.arange(order.size)).all())
        return cls(order, first, start, group, joints, total, in_order)

    def added(self, entries: Floats) -> Floats:
        """Add up entries of the atoms by level, along the last axis, as shares of the group."""
        if not self.in_order:
            entries = np.take(entries, self.order, axis=-1)
        if self.first.size < self.order.size:
            entries = np.add.reduceat(entries, self.first, axis=-1)
        return np.asarray(entries / self.total)

    def by_group(self, entries: Floats) -> Floats:
        """Add up entries of the levels by group, along the last axis."""
        return np.asarray(np.add.reduceat(entries, self.start, axis=-1))

    def values(self, statistic: Statistic, charges: Floats) -> Floats:
        """Errors of each group (one row each) for many charges of all levels."""
        stop = np.append(self.start[1:], self.group.size)

        def of_group(group: tuple[Joint, np.intp, np.intp]) -> Floats:
            joint, first, last = group
            return statistic.values(joint, np.ascontiguousarray(charges[:, first:last]))

        return np.stack(in_threads(of_group, zip(self.joints, self.start, stop, strict=True)))


@dataclass(frozen=True, slots=True)
class Multipliers:
    """Turns noise of atoms into noise of the charges of a division's levels.

    As in `Evidence.multiplied_charges`: the noise of a group's total weight is taken out, and as
    in Wilson's interval z^2 rows with residuals of plus or minus one are mixed in, z that of a
    single group when all hold at once.
    """

    levels: Levels
    charge: Floats
    inflation: Floats
    slope: Floats
    rest: Floats

    @classmethod
    def of(cls, atoms: Atoms, levels: Levels, confidence: float) -> Multipliers:
        """Find the moments of the levels."""
        from scipy.special import ndtri

        sums = atoms.sums
        charge = levels.added(sums.positives - sums.weight * sums.prediction)
        mass = levels.added(sums.weight)
        unit = levels.by_group(levels.added(sums.weight_squares) / levels.total)
        square = levels.added(atoms.square) / levels.total
        cross = levels.added(atoms.cross) / levels.total
        hidden = (ndtri((1 + confidence) / 2) * unit[levels.group]) ** 2 * mass
        inflated = square + hidden
        drawn = levels.added(atoms.spread**2) / levels.total
        inflation = np.sqrt(inflated / drawn)
        slope = np.divide(cross, inflated, out=np.zeros_like(cross), where=inflated > 0)
        rest = np.sqrt(np.maximum(0.0, unit - levels.by_group(cross * slope)))
        return cls(levels, charge, inflation, slope, rest)

    def charges(self, drawn: Floats, rng: np.random.Generator) -> Floats:
        """Noise of all levels, one row per draw, from noise of the atoms."""
        noise = self.levels.added(drawn)
        noise *= self.inflation
        mean = self.levels.by_group(noise * self.slope)
        mean += self.rest * rng.standard_normal(mean.shape)
        # Few draws at a time stay in the cache of the processor.
        for first in range(0, len(noise), DRAWS_IN_CACHE):
            some = slice(first, first + DRAWS_IN_CACHE)
            total = np.take(mean[some], self.levels.group, axis=1)
            total *= self.charge
            noise[some] -= total
        return noise


def shared_noise(division: Division, statistic: Statistic, settings: Settings) -> Noise:
    """Draw noise once for each combination of groups and add it up in every group."""
    rows, parts = division.rows, division.parts
    groups = sum(np.count_nonzero(np.bincount(part.codes)) for part in parts)
    cells = cells_for(int(groups))
    single = confidence_of_each(settings.confidence, int(groups))
    found: dict[int, tuple[Floats, Floats]] = {}
    for family in families(parts, rows.prediction.size, cells, MOST_SHARED):
        atoms = Atoms.of(rows, family, cells)
        levels = [Levels.of(atoms, part, cells) for part in family]
        deviation = _deviations(atoms, levels, statistic, settings, single)
        floor = _floors(atoms, levels, statistic, settings)
        for part, *noise in zip(family, deviation, floor, strict=True):
            found[id(part)] = (noise[0], noise[1])
    in_order = [found[id(part)] for part in parts]
    return Noise(
        np.concatenate([deviation for deviation, _ in in_order]),
        np.concatenate([floor for _, floor in in_order]),
    )


def _deviations(
    atoms: Atoms, levels: list[Levels], statistic: Statistic, settings: Settings, single: float
) -> list[Floats]:
    rng = settings.rng
    multipliers = [Multipliers.of(atoms, part, single) for part in levels]
    spread = atoms.spread
    parts: list[list[Floats]] = [[] for _ in levels]
    for count in in_parts(settings.draws, spread.size):
        drawn = rng.standard_normal((count, spread.size))
        drawn *= spread
        for place, multiplier in zip(parts, multipliers, strict=True):
            place.append(multiplier.levels.values(statistic, multiplier.charges(drawn, rng)))
    return [np.concatenate(part, axis=1) for part in parts]


def _floors(
    atoms: Atoms, levels: list[Levels], statistic: Statistic, settings: Settings
) -> list[Floats]:
    sums, draws = atoms.sums, min(settings.draws, DRAWS_FOR_A_FLOOR)
    added = [np.zeros(part.start.size) for part in levels]
    for count in in_parts(draws, sums.weight.size):
        drawn = draw_positives(sums, settings.rng, count) - sums.weight * sums.prediction
        for i, part in enumerate(levels):
            added[i] += part.values(statistic, part.added(drawn)).sum(axis=1)
    return [part / draws for part in added]
