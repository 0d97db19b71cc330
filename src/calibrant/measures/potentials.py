"""The linear programme behind the lower distance to calibration.

The lower distance is the least cost of moving the ones and the zeros of J* along the line so that
they form a calibrated Joint. Its dual looks for potentials: functions a (of ones) and b (of zeros)
with Lipschitz constant 1 and u a(u) + (1 - u) b(u) <= 0 at every u, from which no calibrated Joint
gains; the largest E[y a(p) + (1 - y) b(p)] is the distance.

The programme is solved on nodes, some of the levels. Between nodes that have levels in between,
potentials are linear and every level is shared out between its two nodes. Between neighbouring
levels they are as low as they may be; then the constraint is linear in u except where a falls and b
rises, a parabola with a known peak, and points around the peaks become columns of their own.

Nothing the solver says is taken on trust: `Potentials.proven` repairs and lowers the potentials
until they hold everywhere, and a `Plan` becomes a calibrated Joint whose cost is then measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant.errors import CalibrantError
from calibrant.joint import Joint

# The solver's tolerances are absolute, at best 1e-10: masses and costs are made larger for it.
SCALE = 1e3
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# Passes over the levels go in blocks that stay in the cache.
BLOCK = 2**16


@dataclass(frozen=True, slots=True)
class Block:
    """A run of levels: their ones and zeros (of a total of one), and position between nodes."""

    level: Floats
    ones: Floats
    zeros: Floats
    segment: Indices
    share: Floats
    """How far each level stands between the nodes of its segment, from 0 to 1."""

    def between(self, value: Floats) -> Floats:
        """Interpolate values of the nodes."""
        lower, upper = value[self.segment], value[self.segment + 1]
        return np.asarray(lower * (1 - self.share) + upper * self.share)  # exact at both nodes


@dataclass(frozen=True, slots=True)
class Nodes:
    """Some of at least two levels of a Joint, the first and the last among them."""

    joint: Joint
    index: Indices

    @property
    def at(self) -> Floats:
        """Predictions of the nodes."""
        return self.joint.prediction[self.index]

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Which segments have no level inside."""
        return np.asarray(np.diff(self.index) == 1)

    def blocks(self) -> Iterator[Block]:
        """Go through the levels in order; a node opens its segment, the last one closes one."""
        joint, at = self.joint, self.at
        width = np.diff(at)
        opening = np.append(self.index, len(joint))
        for start in range(0, len(joint), BLOCK):
            part = slice(start, min(start + BLOCK, len(joint)))
            first, last = np.searchsorted(self.index, (start, part.stop - 1), side="right") - 1
            inside = np.diff(np.clip(opening[first : last + 2], start, part.stop))
            segment = np.repeat(np.arange(first, last + 1), inside)
            segment = np.minimum(segment, width.size - 1)
            level = joint.prediction[part]
            ones = joint.positives[part] / joint.total
            yield Block(
                level,
                ones,
                np.maximum(joint.weight[part] / joint.total - ones, 0.0),
                segment,
                (level - at[segment]) / width[segment],
            )

    def shared(self) -> Shared:
        """Let each level give to its two nodes, more to the nearer."""
        total = np.zeros((3, self.index.size))
        for block in self.blocks():
            mass = block.ones + block.zeros
            for k, part in enumerate((block.ones, block.zeros, mass * block.level)):
                upper = part * block.share
                total[k] += np.bincount(block.segment, part - upper, self.index.size)
                total[k] += np.bincount(block.segment + 1, upper, self.index.size)
        return Shared(*total)


@dataclass(frozen=True, slots=True)
class Shared:
    """What the nodes get when every level is shared out."""

    ones: Floats
    zeros: Floats
    moment: Floats
    """Mass times prediction."""

    @property
    def mass(self) -> Floats:
        """Ones and zeros together."""
        return self.ones + self.zeros


@dataclass(frozen=True, slots=True)
class Potentials:
    """Values at the nodes, and what they prove."""

    one: Floats
    zero: Floats
    bound: float
    """Lower bound for the distance."""
    peak: Floats
    """Where u a(u) + (1 - u) b(u) is largest in each segment, before it was lowered."""
    height: Floats
    """How large it was there."""

    @classmethod
    def proven(cls, nodes: Nodes, one: Floats, zero: Floats, shared: Shared) -> Self:
        """Make potentials Lipschitz and lower them by the most that they violate."""
        at = nodes.at
        one, zero = _lipschitz(at, one), _lipschitz(at, zero)
        peak, height = _peaks(at, one, zero, nodes.empty)
        ends = max(float(one[-1] - (1 - at[-1])), float(zero[0] - at[0]))
        at_nodes = float(np.max(at * one + (1 - at) * zero))
        excess = max(0.0, ends, at_nodes, float(height.max()))
        bound = float(shared.ones @ (one - excess) + shared.zeros @ (zero - excess))
        return cls(one - excess, zero - excess, bound, peak, height)


def _lipschitz(at: Floats, value: Floats) -> Floats:
    """Largest function below the values with Lipschitz constant 1."""
    from_left = at + np.minimum.accumulate(value - at)
    return np.asarray(np.minimum.accumulate((from_left + at)[::-1])[::-1] - at)


def _peaks(
    at: Floats, one: Floats, zero: Floats, empty: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Where and how large u a(u) + (1 - u) b(u) is at most, segment by segment."""
    low, high = at[:-1], at[1:]
    a, b = one[:-1], zero[:-1]
    # Lowest potentials: a falls from the left node while b rises to the right one.
    u = np.clip((a + low + high - zero[1:] + 1) / 4, low, high)
    lowest = u * (a - (u - low)) + (1 - u) * (zero[1:] - (high - u))
    # Linear potentials: a parabola, open below if a grows more slowly than b.
    width = high - low
    rise, climb = np.diff(one) / width, np.diff(zero) / width
    slope, bend = a - b + low * rise + (1 - low) * climb, rise - climb
    step = np.divide(-slope, 2 * bend, out=np.zeros_like(bend), where=bend < 0)
    step = np.clip(step, 0.0, width)
    linear = low * a + (1 - low) * b + step * (slope + bend * step)
    return np.where(empty, u, low + step), np.where(empty, lowest, linear)


def drawn(nodes: Nodes, potentials: Potentials) -> tuple[Floats, Floats, Floats]:
    """Knots between which both potentials are linear on all of [0, 1], and their values there."""
    at, empty = nodes.at, nodes.empty
    low, width = at[:-1][empty], np.diff(at)[empty]

    def valley(value: Floats) -> Floats:
        """Where the lowest function between neighbouring levels turns from falling to rising."""
        return np.asarray(low + (width - np.diff(value)[empty]) / 2)

    knot = np.unique(
        np.concatenate([[0.0], at, valley(potentials.one), valley(potentials.zero), [1.0]])
    )
    left = np.clip(np.searchsorted(at, knot, side="right") - 1, 0, at.size - 2)
    inside = (knot >= at[0]) & (knot <= at[-1])
    values = []
    for value in (potentials.one, potentials.zero):
        falling = value[left] - np.abs(knot - at[left])
        rising = value[left + 1] - np.abs(at[left + 1] - knot)
        lowest = np.maximum(falling, rising)
        linear = np.interp(knot, at, value)
        values.append(np.where(inside & ~empty[left], linear, lowest))
    return knot, values[0], values[1]


@dataclass(frozen=True, slots=True)
class Masses:
    """Mass of a calibrated Joint at nodes, and at one point inside each of some empty segments."""

    node: Floats
    segment: Indices
    point: Floats
    point_mass: Floats


def solve(nodes: Nodes, shared: Shared, points: Floats) -> tuple[Potentials, Masses]:
    """Solve the programme on nodes.

    `points` lie inside empty segments: there ones from the left and zeros from the right may meet.
    """
    at = nodes.at
    segment = np.searchsorted(at, points, side="right") - 1
    cost, columns = _columns(at, points, segment)
    demand = np.append(shared.ones, shared.zeros)
    flow, potential = _linear_programme(cost, columns, demand)
    if len(nodes.joint) == at.size:
        flow = _polished(columns, demand, flow)
    count, edges = at.size, 4 * (at.size - 1)
    node = flow[edges : edges + count]
    met = flow[edges + count : edges + count + points.size]
    total = np.bincount(segment, met, count).astype(np.float64)
    used = np.flatnonzero(total > 0)
    # Mass of one segment may meet in one point: ones and zeros stay the same, the cost is convex.
    middle = np.bincount(segment, met * points, count)[used] / total[used]
    middle = np.clip(middle, at[used], at[used + 1])
    potentials = Potentials.proven(nodes, potential[:count], potential[count:], shared)
    return potentials, Masses(node, used, middle, total[used])


def _columns(at: Floats, points: Floats, segment: Indices) -> tuple[Floats, Any]:
    """Costs and columns: moves of ones and of zeros between nodes, meetings at nodes and points.

    Rows are the ones of each node, then its zeros; a column says what it takes from them.
    """
    from scipy.sparse import coo_array

    count = at.size
    left, node, point = np.arange(count - 1), np.arange(count), np.arange(points.size)
    moves = 4 * (count - 1)
    row, column, value = [], [], []

    def take(rows: npt.ArrayLike, columns: Indices, amount: npt.ArrayLike) -> None:
        row.append(np.broadcast_to(rows, columns.shape))
        column.append(columns)
        value.append(np.broadcast_to(amount, columns.shape))

    for block, first in enumerate((0, 0, count, count)):
        direction = 1.0 if block % 2 == 0 else -1.0
        take(first + left, block * left.size + left, direction)
        take(first + left + 1, block * left.size + left, -direction)
    take(node, moves + node, at)
    take(count + node, moves + node, 1 - at)
    take(segment, moves + count + point, points)
    take(count + segment + 1, moves + count + point, 1 - points)
    ends = moves + count + points.size + np.arange(2)
    take((count - 1, count), ends, 1.0)  # ones of the last node go to 1, zeros of the first to 0
    entries = (np.concatenate(row), np.concatenate(column))
    shape = (2 * count, int(ends[-1]) + 1)
    meeting = points * (points - at[segment]) + (1 - points) * (at[segment + 1] - points)
    moving = np.tile(np.diff(at), 4)
    cost = np.concatenate([moving, np.zeros(count), meeting, [1 - at[-1], at[0]]])
    return cost, coo_array((np.concatenate(value), entries), shape=shape).tocsc()


def _linear_programme(cost: Floats, columns: Any, demand: Floats) -> tuple[Floats, Floats]:
    """Cheapest non-negative use of the columns that meets the demand, and the potentials."""
    from scipy.optimize import linprog

    # Too tight a tolerance can stop the solver; what it then finds is checked all the same.
    for options in (TIGHT, {}):
        found = linprog(
            SCALE * cost, A_eq=columns, b_eq=SCALE * demand, method="highs-ds", options=options
        )
        if found.status == 0:
            return np.maximum(found.x, 0.0) / SCALE, found.eqlin.marginals / SCALE
    raise CalibrantError("the linear programme of the lower distance was not solved", found.message)


def _polished(columns: Any, demand: Floats, flow: Floats) -> Floats:
    """Meet the demand to rounding: the solver can miss it by 1e-10 where levels are close."""
    missing = demand - columns @ flow
    if np.abs(missing).max() <= 1e-15:
        return flow
    used = np.flatnonzero(flow)
    change = np.linalg.lstsq(columns[:, used].toarray(), missing, rcond=1e-12)[0]
    polished = flow.copy()
    polished[used] = np.maximum(flow[used] + change, 0.0)
    return polished
