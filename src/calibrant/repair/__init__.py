"""Repair: maps that recalibrate predictions, the choice between them, their export."""

from calibrant.repair.base import RecalibrationMap
from calibrant.repair.choice import Choice, choose
from calibrant.repair.classes import ClassWiseIsotonic, Dirichlet, VectorScaling
from calibrant.repair.flexible import Histogram, Isotonic, Smooth, VennAbers
from calibrant.repair.group_map import GroupMap
from calibrant.repair.judgement import Judgement
from calibrant.repair.parametric import Beta, Identity, Platt, PriorShift, Temperature
from calibrant.repair.registry import CLASS_MAPS, MAPS, load

__all__ = [
    "CLASS_MAPS",
    "MAPS",
    "Beta",
    "Choice",
    "ClassWiseIsotonic",
    "Dirichlet",
    "GroupMap",
    "Histogram",
    "Identity",
    "Isotonic",
    "Judgement",
    "Platt",
    "PriorShift",
    "RecalibrationMap",
    "Smooth",
    "Temperature",
    "VectorScaling",
    "VennAbers",
    "choose",
    "load",
]
