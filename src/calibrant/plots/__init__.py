"""Pictures on matplotlib axes, each with the data behind it."""

from calibrant.plots.axes import (
    LEAST_AXIS as LEAST_AXIS,
    Span as Span,
    legend as legend,
    wrapped as wrapped,
)
from calibrant.plots.chance import NullDisplay
from calibrant.plots.continuous import ObservedRiskDisplay, PitDisplay
from calibrant.plots.decisions import DecisionLossDisplay, MurphyDisplay
from calibrant.plots.display import Columns as Columns, Display
from calibrant.plots.groups import (
    GroupsDisplay,
    TimeDisplay,
    short_name as short_name,
)
from calibrant.plots.ranking import DecompositionDisplay, RiskCoverageDisplay, RocDisplay
from calibrant.plots.reliability import BEYOND as BEYOND, ReliabilityDisplay
from calibrant.plots.style import (
    INK as INK,
    MUTED as MUTED,
    PALETTE as PALETTE,
    SERIES as SERIES,
    detached_figure as detached_figure,
    drawing as drawing,
    line_style as line_style,
    picture_kinds as picture_kinds,
)
from calibrant.plots.svg import figure_svg, kept_vertices as kept_vertices
from calibrant.plots.witnesses import WitnessDisplay

__all__ = [
    "DecisionLossDisplay",
    "DecompositionDisplay",
    "Display",
    "GroupsDisplay",
    "MurphyDisplay",
    "NullDisplay",
    "ObservedRiskDisplay",
    "PitDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "RocDisplay",
    "TimeDisplay",
    "WitnessDisplay",
    "figure_svg",
]
