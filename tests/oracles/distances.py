"""Distances to calibration straight from their definitions: slow, short and independent.

Laws are ``(v, m, r)`` as in ``definitions``. Atoms are the same three arrays with repeated
predictions allowed: masses and mean outcomes of individuals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def lower_distance_on_grid(v, m, r, grid) -> float:
    """The least E|u - p| over couplings of (p, y) with a calibrated u on a grid.

    Definition 6.2 for the minimum: mass pi(i, y, j) of level i with outcome y moves to grid point
    j, and at every grid point the ones are the share u_j of what arrives. With a grid that holds
    0, 1 and all levels it is at least the lower distance, and more by at most half the spacing.
    """
    grid = np.asarray(grid)
    levels, points = len(v), len(grid)
    cost, rows, columns, values = [], [], [], []
    for column, (i, y, j) in enumerate(
        itertools.product(range(levels), (0, 1), range(points)),
    ):
        cost.append(abs(v[i] - grid[j]))
        rows += [2 * i + y, 2 * levels + j]
        columns += [column, column]
        values += [1.0, y - grid[j]]
    masses = np.column_stack([m * (1 - r), m * r]).ravel()
    equal = np.concatenate([masses, np.zeros(points)])
    program = linprog(
        cost,
        A_eq=coo_array((values, (rows, columns)), shape=(equal.size, len(cost))).tocsr(),
        b_eq=equal,
        method="highs",
        options=_TIGHT,
    )
    assert program.success, program.message
    return program.fun


def grid_for(v, spacing: float, *more) -> np.ndarray:
    """0, 1, the levels, an even grid, and more points."""
    count = math.ceil(1 / spacing)
    return np.unique(np.concatenate([np.arange(count + 1) / count, v, *more]))


def earth_mover_to_calibrated(v, m, r, grid, per_unit: float = 1.0, per_flip: float = 1.0) -> float:
    """The least EMD(J*, J') over calibrated J' on a grid.

    The cost is per_unit |p - p'| + per_flip |y - y'|.
    """
    grid = np.asarray(grid)
    levels, points = len(v), len(grid)
    moves = list(itertools.product(range(levels), (0, 1), range(points), (0, 1)))
    cost = [per_unit * abs(v[i] - grid[j]) + per_flip * (y != z) for i, y, j, z in moves]
    rows = [row for i, y, j, _ in moves for row in (2 * i + y, 2 * levels + j)]
    columns = np.repeat(np.arange(len(moves)), 2)
    values = [value for _, _, j, z in moves for value in (1.0, z - grid[j])]
    masses = np.column_stack([m * (1 - r), m * r]).ravel()
    equal = np.concatenate([masses, np.zeros(points)])
    program = linprog(
        cost,
        A_eq=coo_array((values, (rows, columns)), shape=(equal.size, len(cost))).tocsr(),
        b_eq=equal,
        method="highs",
        options=_TIGHT,
    )
    assert program.success, program.message
    return program.fun


def transport_cost(x, mass, y, other) -> float:
    """The earth mover's distance of two measures of equal mass on the line."""
    points = np.concatenate([x, y])
    order = np.argsort(points, kind="stable")
    surplus = np.cumsum(np.concatenate([mass, -np.asarray(other)])[order])
    return math.fsum(np.abs(surplus[:-1]) * np.diff(points[order]))


def cost_of_law(v, m, r, u, mass) -> float:
    """The cost of moving ones and zeros to those of a calibrated law with the same base rate."""
    ones = transport_cost(v, m * r, u, mass * u)
    return ones + transport_cost(v, m * (1 - r), u, mass * (1 - u))


def set_partitions(size: int) -> Iterator[list[int]]:
    """All partitions of 0 .. size-1, as the number of each element's group."""

    def extended(groups: list[int], count: int) -> Iterator[list[int]]:
        if len(groups) == size:
            yield groups
            return
        for group in range(count + 1):
            yield from extended([*groups, group], max(count, group + 1))

    return extended([], 0)


def runs(size: int) -> Iterator[list[tuple[int, int]]]:
    """All partitions of 0 .. size-1 into runs, as (start, stop)."""
    for cuts in itertools.product((False, True), repeat=size - 1):
        edges = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), size]
        yield list(itertools.pairwise(edges))


def cost_of_groups(v, m, r, group) -> float:
    """E|q - p| when every group moves to its mean outcome."""
    total = 0.0
    for g in set(group):
        inside = np.array([k == g for k in group])
        mean = math.fsum((m * r)[inside]) / math.fsum(m[inside])
        total += math.fsum(m[inside] * np.abs(v[inside] - mean))
    return total


def nearest_partition(v, m, r) -> float:
    """Theorem 6.6 for levels, Definition 6.1 for atoms: the best of all partitions."""
    return min(cost_of_groups(v, m, r, group) for group in set_partitions(len(v)))


def nearest_by_subsets(v, m, r) -> float:
    """The best of all partitions, for more levels: F(S) = min over A of cost(A) + F(S - A).

    A runs over the subsets of S that hold its first level; every one of them is tried.
    """
    everybody = (1 << len(v)) - 1
    members = [[k for k in range(len(v)) if s >> k & 1] for s in range(everybody + 1)]
    alone = [0.0] + [
        cost_of_groups(v[inside], m[inside], r[inside], [0] * len(inside)) for inside in members[1:]
    ]
    best = [0.0] * (everybody + 1)
    for s in range(1, everybody + 1):
        first = s & -s
        others = s ^ first
        left, least = others, math.inf
        while True:  # left runs over the subsets of the other levels
            least = min(least, alone[s ^ left] + best[left])
            if left == 0:
                break
            left = (left - 1) & others
        best[s] = least
    return best[everybody]


def nearest_runs(v, m, r) -> float:
    """The same over groups of neighbours."""
    return min(
        sum(cost_of_groups(v[a:b], m[a:b], r[a:b], [0] * (b - a)) for a, b in partition)
        for partition in runs(len(v))
    )


def interval_error_of_runs(v, m, r, partition) -> float:
    """Definition 6.10 for intervals from the first to the last prediction of each run."""
    bias = sum(abs(math.fsum((m * (r - v))[a:b])) for a, b in partition)
    return bias + max(v[b - 1] - v[a] for a, b in partition)


def interval_calibration_error(v, m, r) -> float:
    """Definition 6.10: the infimum over partitions; empty intervals can be as narrow as wanted."""
    return min(interval_error_of_runs(v, m, r, partition) for partition in runs(len(v)))


def interval_error_of_edges(v, m, r, edges) -> float:
    """Definition 6.10 for given intervals [a, b), the last one closed."""
    total = 0.0
    for a, b in itertools.pairwise(edges):
        inside = (v >= a) & ((v < b) | (b == edges[-1]))
        total += abs(math.fsum((m * (r - v))[inside]))
    return total + max(b - a for a, b in itertools.pairwise(edges))


def shifted_grid_bias(v, m, r, width: float) -> float:
    """The mean over shifts s in [0, width) of the biases of the intervals s + [j w, (j + 1) w).

    Nothing changes between two remainders of the levels, so one shift from each stretch is enough.
    """
    stops = np.unique(np.concatenate([[0.0, width], np.mod(v, width)]))
    terms = []
    for low, high in itertools.pairwise(stops):
        interval = np.floor((v - (low + high) / 2) / width).astype(int)
        bias = np.bincount(interval - interval.min(), m * (r - v))
        terms.append((high - low) / width * float(np.abs(bias).sum()))
    return math.fsum(terms)


def surrogate_interval_error(v, m, r, finest: int = 30) -> float:
    """The least bias plus width over widths 2^-k, and the limit of ever finer grids."""
    grids = (shifted_grid_bias(v, m, r, 2.0**-k) + 2.0**-k for k in range(finest + 1))
    return min(math.fsum(m * np.abs(r - v)), *grids)
