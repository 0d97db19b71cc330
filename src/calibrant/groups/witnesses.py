"""The group and the test of its predictions that find the largest bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.joint import Joint
from calibrant.measures.witness import Witness


@dataclass(frozen=True, slots=True)
class GroupWitness:
    """A group of rows together with a test of their predictions."""

    group: str
    """Name of the group with its column, or of the function of the features."""
    share: float
    """Share of the weight that the group has; for a function 1."""
    weight: Witness
    """The test; zero outside the group."""
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Value of the test for rows of the group."""
        return np.asarray(self.weight(prediction))

    def advantage(self, joint: Joint) -> float:
        """E[1(group) w(p) (y - p)], given the Joint of the group's rows."""
        return self.share * self.weight.advantage(joint)
