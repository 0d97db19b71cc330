"""Repair: maps that recalibrate predictions, the choice between them, their export."""

from calibrant.repair.base import RecalibrationMap
from calibrant.repair.choice import Choice, choose
from calibrant.repair.flexible import Histogram, Isotonic, Smooth, VennAbers
from calibrant.repair.judgement import Judgement
from calibrant.repair.parametric import Beta, Identity, Platt, PriorShift, Temperature
from calibrant.repair.stored import MAPS, load

__all__ = [
    "MAPS",
    "Beta",
    "Choice",
    "Histogram",
    "Identity",
    "Isotonic",
    "Judgement",
    "Platt",
    "PriorShift",
    "RecalibrationMap",
    "Smooth",
    "Temperature",
    "VennAbers",
    "choose",
    "load",
]
