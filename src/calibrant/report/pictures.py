"""The pictures of a report, as SVG that follows the page's colours."""

from __future__ import annotations

from calibrant.groups import Groups
from calibrant.inference import DETECTABLE
from calibrant.plots import (
    DecisionLossDisplay,
    Display,
    GroupsDisplay,
    NullDisplay,
    ReliabilityDisplay,
    TimeDisplay,
    WitnessDisplay,
)
from calibrant.report.summary import Summary

WIDTH = 7.4
# The headline must be read on a phone without scrolling, so it is drawn for a narrow place.
WIDTHS = {"scale": 5.0}


def pictures(summary: Summary) -> dict[str, str]:
    """Draw everything a report shows, by name."""
    joint = summary.joint
    detected = summary.verdict.pvalue <= DETECTABLE
    displays: dict[str, tuple[Display, float]] = {
        "scale": (NullDisplay.of(summary.verdict), 2.2),
        "reliability": (ReliabilityDisplay.of(joint, detected=detected), 5.4),
        "witness": (WitnessDisplay.of(joint), 2.6),
        "costs": (DecisionLossDisplay(summary.costs.curve, summary.costs.perfect), 2.8),
    }
    if summary.classes is not None:
        displays["classes"] = _judged(summary.classes.by_class)
    if summary.groups is not None:
        displays["groups"] = _judged(summary.groups)
    if summary.watched is not None:
        displays["time"] = (TimeDisplay.of(summary.watched.windows), 3.6)
    return {
        name: display.to_svg(
            width=WIDTHS.get(name, WIDTH), height=height, name=name, variables=True
        )
        for name, (display, height) in displays.items()
    }


def _judged(groups: Groups) -> tuple[Display, float]:
    display = GroupsDisplay.of(groups)
    return display, 1.2 + 0.24 * min(len(groups), display.most)
