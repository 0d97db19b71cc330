"""How far from calibrated, for an audit."""

from __future__ import annotations

from calibrant._base.words import comparable_texts
from calibrant.joint import Joint
from calibrant.measures import DistanceBracket, distance_bracket

# More levels than this are rounded to so many cells, which moves the lower distance by at most half
# a cell; the upper distance and the interval error are then those of the rounded forecasts.
MOST_LEVELS = 2**16

MEANINGS = {
    "half the smooth error": "no distance is below it",
    "lower distance": "least that forecasts with these numbers can be off a calibrated forecaster",
    "upper distance": "moving equal forecasts alike by this much makes them calibrated",
    "pooling neighbours only": "the same, when only neighbouring forecasts may be pooled",
    "interval error": "the same with bins, whose width counts as error",
    "4 sqrt(lower distance)": "neither upper distance nor interval error is above it",
}
"""What each number of the chain means; the true distance needs individuals, which no file has."""


def find_distances(joint: Joint) -> DistanceBracket:
    """Bracket the distance to calibration, of rounded forecasts if there are very many."""
    return distance_bracket(joint.rounded(MOST_LEVELS) if is_rounded(joint) else joint)


def is_rounded(joint: Joint) -> bool:
    """Tell whether there are too many levels to bracket the distance of each."""
    return len(joint) > MOST_LEVELS


def distance_sentence(distances: DistanceBracket, noise_floor: float) -> str:
    """Say how far forecasts would have to move; the smooth error bounds what noise would do."""
    high, low, floor = comparable_texts(distances.high, distances.low, 2 * noise_floor)
    return (
        f"Moving the forecasts by {high} on average makes them calibrated on these rows; less than "
        f"{low} cannot. For perfect forecasts the first would be {floor} or less on average."
    )
