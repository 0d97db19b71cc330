"""What this room can measure; `calibrant measures` lists it below the measures of a Joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibrant.groups.multi import (
    low_degree_multicalibration_error,
    multiaccuracy_error,
    multicalibration_error,
)
from calibrant.measurement import Measurement


@dataclass(frozen=True, slots=True)
class GroupMeasure:
    """What there is to know about a measure of rows and groups without running it."""

    function: Callable[..., Measurement]
    asks: str
    flaw: str
    section: str

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.__name__


GROUP_MEASURES: dict[str, GroupMeasure] = {
    measure.name: measure
    for measure in (
        GroupMeasure(
            multiaccuracy_error,
            asks="Which group has the largest bias on average?",
            flaw="blind to errors that cancel within a group",
            section="1, multicalibration",
        ),
        GroupMeasure(
            low_degree_multicalibration_error,
            asks="In which group does a power of the prediction find the largest bias?",
            flaw="blind to errors within a group that change sign often",
            section="1, multicalibration",
        ),
        GroupMeasure(
            multicalibration_error,
            asks="In which group are predictions farthest from frequencies, cell by cell?",
            flaw="depends on the cells; far from zero where groups are small; not continuous",
            section="1, multicalibration",
        ),
    )
}
