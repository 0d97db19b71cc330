"""Distances to calibration: lower, upper, true, and all at once."""

from calibrant.measures.bracket import DistanceBracket, distance_bracket
from calibrant.measures.lower_distance import lower_distance_to_calibration
from calibrant.measures.true_distance import distance_to_calibration
from calibrant.measures.upper_distance import upper_distance_to_calibration

__all__ = [
    "DistanceBracket",
    "distance_bracket",
    "distance_to_calibration",
    "lower_distance_to_calibration",
    "upper_distance_to_calibration",
]
