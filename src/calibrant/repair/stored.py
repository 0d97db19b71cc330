"""Maps by name, and maps from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibrant.repair.base import RecalibrationMap, load_map
from calibrant.repair.flexible import Histogram, Isotonic, Smooth, VennAbers
from calibrant.repair.parametric import Beta, Identity, Platt, PriorShift, Temperature
from calibrant.stored import load_json

MAPS: dict[str, type[RecalibrationMap]] = {
    kind.__name__: kind
    for kind in (
        Identity,
        PriorShift,
        Temperature,
        Platt,
        Beta,
        Isotonic,
        Smooth,
        Histogram,
        VennAbers,
    )
}
"""Every map by name, from the simplest to the most flexible."""


def load(source: str | Path | Mapping[str, Any]) -> RecalibrationMap:
    """Load a fitted map.

    Parameters
    ----------
    source : str, Path or mapping
        A file that `to_json` filled, the JSON itself, or the plain data of `to_dict`.

    Returns
    -------
    RecalibrationMap
        The fitted map, of the class that was stored.

    Examples
    --------
    >>> text = Isotonic().fit([0.1, 0.2, 0.7], [0, 1, 1]).to_json()
    >>> load(text).transform([0.2])
    array([0.875])
    """
    return load_map(load_json(source, "a stored map"), MAPS)
