"""The Joint: the joint distribution of predictions and outcomes that every measure looks at."""

from calibrant.data.rows import Rows
from calibrant.joint.engine.by_group import joints_by
from calibrant.joint.joint import Joint

__all__ = ["Joint", "Rows", "joints_by"]
