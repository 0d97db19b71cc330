"""Pictures on matplotlib axes, each with the data behind it."""

from calibrant.plots.chance import NullDisplay
from calibrant.plots.decisions import DecisionLossDisplay, MurphyDisplay
from calibrant.plots.display import Display
from calibrant.plots.groups import GroupsDisplay, TimeDisplay
from calibrant.plots.reliability import ReliabilityDisplay
from calibrant.plots.svg import figure_svg
from calibrant.plots.witnesses import WitnessDisplay

__all__ = [
    "DecisionLossDisplay",
    "Display",
    "GroupsDisplay",
    "MurphyDisplay",
    "NullDisplay",
    "ReliabilityDisplay",
    "TimeDisplay",
    "WitnessDisplay",
    "figure_svg",
]
