"""Lower distance to calibration: how far the nearest calibrated Joint is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_tolerance
from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement, as_joint, rounding_settings
from calibrant.measures.potentials import Masses, Nodes, Potentials, Shared, drawn, solve
from calibrant.measures.regions import region_sentence
from calibrant.measures.witness import PotentialWitness


@dataclass(frozen=True, slots=True)
class Plan:
    """A calibrated Joint with the base rate of a Joint.

    It has mass at the levels, `factor` times theirs (interpolated between nodes), at one point in
    each of some empty segments, and at 0 and 1 what is left.
    """

    nodes: Nodes
    factor: Floats
    segment: Indices
    point: Floats
    point_mass: Floats
    to_zero: float
    to_one: float

    @classmethod
    def completed(cls, nodes: Nodes, shared: Shared, masses: Masses) -> Self:
        """Spread masses of nodes over the levels around them, and fill up at 0 and 1."""
        factor = masses.node / shared.mass
        ones = float(factor @ shared.moment + masses.point_mass @ masses.point)
        zeros = float(masses.node.sum() + masses.point_mass.sum()) - ones
        of_ones, of_zeros = float(shared.ones.sum()), float(shared.zeros.sum())
        scale = min(
            1.0,
            of_ones / ones if ones > 0 else 1.0,
            of_zeros / zeros if zeros > 0 else 1.0,
        )
        return cls(
            nodes,
            scale * factor,
            masses.segment,
            masses.point,
            scale * masses.point_mass,
            max(0.0, of_zeros - scale * zeros),
            max(0.0, of_ones - scale * ones),
        )

    def cost(self, potentials: Potentials) -> tuple[float, Floats]:
        """Cost of moving ones and zeros here, and by how much it exceeds the potentials' bound.

        On a line the cheapest way moves what is to the left beyond what is needed there: the cost
        is the integral of |ones left of x| and |zeros left of x|, both less the plan's. It exceeds
        the bound by the sum over segments of the same integrals with |S| + a' S for |S|, plus the
        plan's mass times what the potentials leave unused (complementary slackness).
        """
        nodes, joint = self.nodes, self.nodes.joint
        at, width = nodes.at, np.diff(nodes.at)
        rise, climb = np.diff(potentials.one) / width, np.diff(potentials.zero) / width
        met_ones, met_zeros = np.zeros((2, at.size))
        met_ones[self.segment] = self.point_mass * self.point
        met_zeros[self.segment] = self.point_mass * (1 - self.point)
        after = np.zeros((2, at.size))
        surplus = np.array([0.0, -self.to_zero])
        total, excess, start = self.to_zero * float(at[0]), np.zeros(width.size), 0
        for block in nodes.blocks():
            stop = start + block.level.size
            mass = (block.ones + block.zeros) * block.between(self.factor)
            change = np.stack([block.ones - mass * block.level, block.zeros])
            change[1] -= mass - mass * block.level
            here = slice(*np.searchsorted(nodes.index, (start, stop)))
            index = nodes.index[here] - start
            # A meeting point counts as if it stood at the left end of its gap: corrected below.
            change[:, index] -= met_ones[here], met_zeros[here]
            change[:, 0] += surplus
            flow = np.cumsum(change, axis=1)
            surplus = flow[:, -1]
            after[:, here] = flow[:, index]
            gap = np.diff(block.level, append=_level_at(joint, stop))
            paid = gap * np.abs(flow).sum(axis=0)
            total += float(paid.sum())
            paid += gap * (flow[0] * rise[block.segment] + flow[1] * climb[block.segment])
            unused = block.level * block.between(potentials.one)
            unused += (1 - block.level) * block.between(potentials.zero)
            excess += np.bincount(block.segment, paid - mass * unused, excess.size)
            start = stop
        before = after[:, self.segment] + np.stack([met_ones, met_zeros])[:, self.segment]
        saved = np.abs(after[:, self.segment]).sum(axis=0) - np.abs(before).sum(axis=0)
        total -= float((self.point - at[self.segment]) @ saved)
        return total, excess

    def calibrated(self) -> Joint:
        """Return the calibrated Joint."""
        parts = [
            (block.ones + block.zeros) * block.between(self.factor) for block in self.nodes.blocks()
        ]
        mass = np.concatenate([*parts, self.point_mass, [self.to_zero, self.to_one]])
        at = np.concatenate([self.nodes.joint.prediction, self.point, [0.0, 1.0]])
        kept = mass > 0
        return Joint.from_samples(at[kept], at[kept], sample_weight=mass[kept])


def _level_at(joint: Joint, index: int) -> float:
    return float(joint.prediction[index]) if index < len(joint) else 1.0


# Up to this many levels all are nodes, and the value is exact to rounding.
FEW = 128
EXACT = 1e-13
FIRST_SEGMENTS = 128
MOST_PIECES = 4
MOST_ROUNDS = 40
# With few levels the constraint is asked for at these points from the start.
FIRST_POINTS = np.arange(1, 32) / 32


def lower_distance_to_calibration(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    tolerance: float = 1e-3,
) -> Measurement:
    r"""Mean distance from the predictions to the nearest calibrated ones, at best.

    Smaller is better; 0 if and only if calibrated. If predictions move by d on average, the value
    moves by at most d. "At best": rows that share a prediction may move to different places, also
    depending on their outcome, so no other way to move predictions is cheaper.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    tolerance : float, default=1e-3
        Largest distance between the two ends of `.bounds`. With up to 128 levels the value is
        exact to rounding whatever the tolerance.

    Returns
    -------
    Measurement
        In [0, 1], the cost of moving to `.witness.calibrated`, a Joint. The witness is a game
        that no calibrated Joint can win and that J* wins by the lower end of `.bounds`.

    Notes
    -----
    :math:`\min E|u - p|` over couplings of (p, y) with a u such that :math:`E[y|u] = u`; between
    half and twice the smooth error. The value is attained by the plan found and bounded from below
    by potentials, dual functions that are checked everywhere. Known flaw: the distance to the
    nearest calibrated forecaster of the same individuals can be as large as a constant times the
    root of this value; see `distance_bracket`.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance from calibration, STOC.
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, section 6.

    Examples
    --------
    >>> error = lower_distance_to_calibration([0, 1], [0.4, 0.6])
    >>> error
    0.08
    >>> float(abs(error.witness.calibrated.residual).max())
    0.0
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    check_tolerance(tolerance)
    return measured(joint, lower_bracket(joint, tolerance), tolerance)


def measured(joint: Joint, found: Bracket, tolerance: float) -> Measurement:
    """Return the lower distance for a bracket that was found with a tolerance."""
    return Measurement(
        found.high,
        "lower_distance_to_calibration",
        {"tolerance": tolerance, **rounding_settings(joint)},
        partial(_witness, joint, found),
        bounds=(max(0.0, found.low - joint.rounding), found.high + joint.rounding),
    )


@dataclass(frozen=True, slots=True)
class Bracket:
    """Proven bounds and what proves them."""

    low: float
    high: float
    game: tuple[Nodes, Potentials] | float
    """Potentials, or the sign s of the game s (1 - p) for outcome 1 and -s p for outcome 0."""
    plan: Plan | None
    """The calibrated Joint; None for the recalibration."""

    def joined(self, other: Bracket) -> Bracket:
        """Take the better proof on each side."""
        lower = self if self.low >= other.low else other
        upper = self if self.high <= other.high else other
        return Bracket(lower.low, upper.high, lower.game, upper.plan)

    def calibrated(self, joint: Joint) -> Joint:
        """Return what is calibrated next to the Joint it was found for."""
        return joint.recalibrated() if self.plan is None else self.plan.calibrated()


def lower_bracket(joint: Joint, tolerance: float) -> Bracket:
    """Solve on more and more nodes until the bounds are as close as asked."""
    best = _one_sided(joint)
    goal = EXACT if len(joint) <= FEW else tolerance
    nodes, points = _first_nodes(joint)
    for _ in range(MOST_ROUNDS):
        if best.high - best.low <= goal:
            break
        shared = nodes.shared()
        potentials, masses = solve(nodes, shared, points)
        plan = Plan.completed(nodes, shared, masses)
        cost, excess = plan.cost(potentials)
        best = best.joined(Bracket(potentials.bound, cost, (nodes, potentials), plan))
        gap = max(0.0, best.high - best.low)
        more = _new_points(nodes, potentials, plan, gap, goal)
        index = _split(nodes, potentials, excess, goal)
        if not more.size and index.size == nodes.index.size:
            break
        nodes = Nodes(joint, index)
        points = np.setdiff1d(np.append(points, more), joint.prediction[index])
    if best.high - best.low <= 10 * EXACT:
        return Bracket(best.high, best.high, best.game, best.plan)
    return best


def _one_sided(joint: Joint) -> Bracket:
    """Bracket by |E[y - p]| and the distance to the recalibration: equal if all biases agree."""
    residual_mass = joint.residual
    residual_mass *= joint.weight
    bias = float(residual_mass.sum()) / joint.total
    np.abs(residual_mass, out=residual_mass)
    most = float(residual_mass.sum()) / joint.total
    return Bracket(abs(bias), most, 1.0 if bias >= 0 else -1.0, None)


def _first_nodes(joint: Joint) -> tuple[Nodes, Floats]:
    level = joint.prediction
    last = len(joint) - 1
    if last < FEW:
        inside = FIRST_POINTS[(level[0] < FIRST_POINTS) & (level[-1] > FIRST_POINTS)]
        return Nodes(joint, np.arange(last + 1)), np.setdiff1d(inside, level)
    even = np.linspace(level[0], level[-1], FIRST_SEGMENTS + 1)
    index = np.minimum(np.searchsorted(level, even), last)
    return Nodes(joint, np.unique(np.append(index, [0, last]))), np.zeros(0)


def _new_points(
    nodes: Nodes, potentials: Potentials, plan: Plan, gap: float, goal: float
) -> Floats:
    """Peaks that are too high, and the points in use with two close neighbours.

    Tangents at a point and on both sides of it pin the peak of the optimal parabola between them.
    """
    at = nodes.at
    high = nodes.empty & (potentials.height > goal / 8)
    radius = max(3e-8, 0.03 * np.sqrt(gap))
    below = np.maximum(plan.point - radius, (plan.point + at[plan.segment]) / 2)
    above = np.minimum(plan.point + radius, (plan.point + at[plan.segment + 1]) / 2)
    return np.concatenate([potentials.peak[high], plan.point, below, above])


def _split(nodes: Nodes, potentials: Potentials, excess: Floats, goal: float) -> Indices:
    """Add nodes where the bounds differ too much, or where the constraint is violated too much."""
    filled = ~nodes.empty
    if not filled.any():
        return nodes.index
    level, at = nodes.joint.prediction, nodes.at
    differ = excess / (goal / 2 / filled.sum())
    violate = np.sqrt(np.maximum(potentials.height, 0.0) / (goal / 4))  # it shrinks as a square
    pieces = np.clip(np.ceil(np.maximum(differ, violate)), 1, MOST_PIECES)
    if (pieces[filled] == 1).all():
        pieces[:] = 2
    share = np.arange(1, MOST_PIECES) / pieces[:, np.newaxis]
    segment, piece = np.nonzero((share < 1) & filled[:, np.newaxis])
    wanted = at[segment] + (at[segment + 1] - at[segment]) * share[segment, piece]
    inside = np.clip(
        np.searchsorted(level, wanted), nodes.index[segment] + 1, nodes.index[segment + 1] - 1
    )
    return np.union1d(nodes.index, inside)


def _witness(joint: Joint, found: Bracket) -> PotentialWitness:
    if isinstance(found.game, float):
        sign = found.game
        knot, one, zero = np.array([[0.0, 1.0], [sign, 0.0], [0.0, -sign]])
    else:
        knot, one, zero = drawn(*found.game)
    stake = np.interp(joint.prediction, knot, one - zero)
    return PotentialWitness(knot, one, zero, found.calibrated(joint), region_sentence(joint, stake))
