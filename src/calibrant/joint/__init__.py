"""The gate and the Joint: from rows in any container to the law of (prediction, outcome)."""

from calibrant.joint.by_group import joints_by
from calibrant.joint.gate import Rows
from calibrant.joint.joint import Joint

__all__ = ["Joint", "Rows", "joints_by"]
