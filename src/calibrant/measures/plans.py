"""Plans: calibrated Joints near a Joint, and what it costs to move its ones and zeros there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant.arrays import Floats, Indices
from calibrant.joint import Joint
from calibrant.measures.potentials import Masses, Nodes, Potentials, Shared


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
        room = min(
            1.0,
            of_ones / ones if ones > 0 else 1.0,
            of_zeros / zeros if zeros > 0 else 1.0,
        )
        return cls(
            nodes,
            room * factor,
            masses.segment,
            masses.point,
            room * masses.point_mass,
            max(0.0, of_zeros - room * zeros),
            max(0.0, of_ones - room * ones),
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
            place = nodes.index[here] - start
            # A meeting point counts as if it stood at the left end of its gap: corrected below.
            change[:, place] -= met_ones[here], met_zeros[here]
            change[:, 0] += surplus
            moved = np.cumsum(change, axis=1)
            surplus = moved[:, -1]
            after[:, here] = moved[:, place]
            gap = np.diff(block.level, append=_level_at(joint, stop))
            paid = gap * np.abs(moved).sum(axis=0)
            total += float(paid.sum())
            paid += gap * (moved[0] * rise[block.segment] + moved[1] * climb[block.segment])
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
