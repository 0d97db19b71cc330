"""Partitions of predictions: groups that get one prediction each, the mean outcome of the group.

The distance from predictions to the nearest calibrated ones that keep some rows together (those of
a level, or those of an individual) is the least cost of a partition of the levels or individuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, Indices
from calibrant.joint import Joint

# Up to this many atoms the best of all partitions is found, in at most 3^n / 2 steps.
MOST_FOR_SUBSETS = 18
# Up to this many atoms they are moved between groups one by one.
MOST_TO_MOVE = 256
# Groups of neighbours are cut at this many points at most.
MOST_CUTS = 1024
# Costs that differ by less are equal up to rounding: the first is taken, whatever the last digits.
TIE = 1e-12
# What the best of all partitions may miss for each of its groups: the rounding of their costs.
ROUNDING = 1e-15


@dataclass(frozen=True, slots=True)
class PointMasses:
    """What stays together: its prediction, mass and mass of outcome 1, in order of prediction."""

    at: Floats
    mass: Floats
    ones: Floats

    @classmethod
    def levels(cls, joint: Joint) -> PointMasses:
        """Return the levels of a Joint, which a function of the prediction keeps together."""
        return cls(joint.prediction, joint.mass, joint.positives / joint.total)

    def __len__(self) -> int:
        return self.at.size

    def mirrored(self) -> PointMasses:
        """Swap the outcomes."""
        return PointMasses(1 - self.at[::-1], self.mass[::-1], (self.mass - self.ones)[::-1])

    def destination(self, group: Indices) -> Floats:
        """Mean outcome of the group of each atom, where it moves."""
        ones, mass = np.bincount(group, self.ones)[group], np.bincount(group, self.mass)[group]
        return np.minimum(ones / mass, 1.0)

    def cost(self, group: Indices) -> float:
        """Mean distance moved."""
        return float(self.mass @ np.abs(self.at - self.destination(group)))


def best_of_all(atoms: PointMasses) -> Indices:
    """Find the best partition by dynamic programming over subsets; for few atoms."""
    return kernels.best_partition(atoms.at, atoms.mass, atoms.ones, ROUNDING)


def best_of_neighbours(atoms: PointMasses) -> Indices:
    """Find the best partition into runs of neighbours.

    All runs are tried while atoms are few; beyond that cuts are tried at points of equal mass, and
    then more closely around the best ones.
    """
    size = len(atoms)
    if size <= MOST_CUTS:
        return _groups_of(_best_cuts(atoms, np.arange(size)), size)
    below = np.cumsum(atoms.mass)
    even = np.searchsorted(below, np.linspace(0, below[-1], MOST_CUTS // 2 + 1)[:-1])
    coarse = np.unique(np.append(0, np.minimum(even, size - 1)))
    best = _best_cuts(atoms, coarse)
    index = np.searchsorted(coarse, best)
    left = coarse[np.maximum(index - 1, 0)]
    right = np.append(coarse, size)[index + 1]
    steps = max(2, MOST_CUTS // (2 * best.size))
    around = np.linspace(left, right - 1, steps).astype(np.intp).ravel()
    return _groups_of(_best_cuts(atoms, np.unique(np.append(coarse, around))), size)


def _groups_of(start: Indices, size: int) -> Indices:
    return np.repeat(np.arange(start.size), np.diff(np.append(start, size)))


def _best_cuts(atoms: PointMasses, allowed: Indices) -> Indices:
    """First atoms of the runs of least cost that begin at allowed points, 0 among them."""
    mass, ones, moment = (
        np.append(0.0, np.cumsum(part)) for part in (atoms.mass, atoms.ones, atoms.mass * atoms.at)
    )
    ends = np.append(allowed[1:], len(atoms))
    least, opened = np.zeros(allowed.size + 1), np.zeros(allowed.size + 1, dtype=np.intp)
    for j, end in enumerate(ends, start=1):
        start = allowed[:j]
        run_mass = mass[end] - mass[start]
        # A run too light to show in the sums costs nothing wherever it goes.
        rate = np.divide(
            ones[end] - ones[start], run_mass, out=atoms.at[start].copy(), where=run_mass > 0
        )
        middle = np.clip(np.searchsorted(atoms.at, rate), start, end)
        cost = rate * (2 * mass[middle] - mass[start] - mass[end])
        cost += moment[start] + moment[end] - 2 * moment[middle]
        total = least[:j] + cost
        least[j] = total.min()
        opened[j] = np.argmax(total <= least[j] + TIE)
    runs, j = [], allowed.size
    while j > 0:
        j = int(opened[j])
        runs.append(allowed[j])
    return np.array(runs[::-1])


def improved_one_by_one(atoms: PointMasses, group: Indices) -> Indices:
    """Move the atom that gains most, to another group or a new one, until nothing gains."""
    cost = atoms.cost(group)
    while True:
        _, group = np.unique(group, return_inverse=True)
        gain = _gains(atoms, group)
        best = float(gain.max())
        if best <= 10 * TIE:
            return group
        atom, target = np.unravel_index(np.argmax(gain >= best - TIE), gain.shape)
        changed = group.copy()
        changed[atom] = target
        if atoms.cost(changed) > cost - TIE:
            return group
        group, cost = changed, atoms.cost(changed)


def _gains(atoms: PointMasses, group: Indices) -> Floats:
    """Tell what each atom (row) gains by moving to each group (column), the last a new one."""
    size, groups = len(atoms), int(group.max()) + 1
    member = np.zeros((size, groups + 1))
    member[np.arange(size), group] = 1.0
    mass, ones = atoms.mass @ member, atoms.ones @ member
    cost = (atoms.mass * np.abs(atoms.at - atoms.destination(group))) @ member
    own = (np.arange(size), group)

    def group_cost(rate: Floats, others: Floats) -> Floats:
        return np.asarray(others * np.abs(atoms.at - rate))

    joined = (ones + atoms.ones[:, np.newaxis]) / (mass + atoms.mass[:, np.newaxis])
    with_atom = group_cost(joined[:, group], atoms.mass) @ member
    with_atom += atoms.mass[:, np.newaxis] * np.abs(atoms.at[:, np.newaxis] - joined)
    left = mass[group] - atoms.mass
    rate = np.divide(ones[group] - atoms.ones, left, out=np.zeros(size), where=left > 0)
    together = (group[:, np.newaxis] == group) & ~np.eye(size, dtype=bool)
    without = (group_cost(rate[:, np.newaxis], atoms.mass) * together).sum(axis=1)
    gain = (cost[group] - without)[:, np.newaxis] + cost - with_atom
    gain[own] = -np.inf
    return np.asarray(gain)


def best_found(atoms: PointMasses) -> Indices:
    """Find a good partition: the best for few atoms, otherwise what neighbours and moves give."""
    if len(atoms) <= MOST_FOR_SUBSETS:
        return best_of_all(atoms)
    found = [best_of_neighbours(atoms)]
    if len(atoms) <= MOST_TO_MOVE:
        # From both sides, so that swapping the outcomes does not matter.
        mirrored = atoms.mirrored()
        found = [
            improved_one_by_one(atoms, found[0]),
            improved_one_by_one(mirrored, best_of_neighbours(mirrored))[::-1],
        ]
    return min(found, key=atoms.cost)
