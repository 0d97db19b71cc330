"""Reading: arrays, a Joint, a frame, files or aggregates become checked forecasts."""

from calibrant.inputs.pairs import Pairs, join_pairs, pair_columns, pair_files
from calibrant.inputs.roles import KindRequest, Roles
from calibrant.inputs.source import (
    Source,
    prepare,
    read,
    reading_notes,
    rows_of_kind,
)
from calibrant.inputs.summed import sum_up

__all__ = [
    "KindRequest",
    "Pairs",
    "Roles",
    "Source",
    "join_pairs",
    "pair_columns",
    "pair_files",
    "prepare",
    "read",
    "reading_notes",
    "rows_of_kind",
    "sum_up",
]
