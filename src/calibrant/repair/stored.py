"""Maps by name, and maps from files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibrant.errors import InvalidOptionError
from calibrant.repair.base import RecalibrationMap, load_dict, read_text
from calibrant.repair.flexible import Histogram, Isotonic, Smooth, VennAbers
from calibrant.repair.parametric import Beta, Identity, Platt, PriorShift, Temperature

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
    if isinstance(source, Mapping):
        return load_dict(dict(source), MAPS)
    try:
        return load_dict(json.loads(read_text(source)), MAPS)
    except json.JSONDecodeError as error:
        raise InvalidOptionError("a stored map must be JSON", str(error)) from error
