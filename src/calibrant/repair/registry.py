"""Maps by name, and maps from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calibrant._base.options import shown
from calibrant._base.stored import Stored, load_json
from calibrant.errors import InvalidOptionError, InvalidStateError
from calibrant.repair.base import SCHEMA, RecalibrationMap
from calibrant.repair.choice_rule import surprises_needed
from calibrant.repair.classes import MOST_CLASSES, ClassWiseIsotonic, Dirichlet, VectorScaling
from calibrant.repair.continuous_maps import ContinuousMap, continuous_from
from calibrant.repair.curves import Quadratic, Spline
from calibrant.repair.flexible import CentredIsotonic, Histogram, Isotonic, Smooth, VennAbers
from calibrant.repair.folds import Units
from calibrant.repair.group_map import GroupMap, least_from
from calibrant.repair.parametric import Beta, Identity, Platt, PriorShift, Temperature
from calibrant.repair.patches import Patches
from calibrant.repair.projected import ProjectedSmooth
from calibrant.repair.structured import (
    ClassPriorShift,
    EnsembleTemperature,
    StructuredMatrixScaling,
    StructuredVectorScaling,
)

_ALL: tuple[type[RecalibrationMap], ...] = (
    Identity,
    PriorShift,
    Temperature,
    Platt,
    Beta,
    Quadratic,
    Spline,
    CentredIsotonic,
    Isotonic,
    Smooth,
    Histogram,
    VennAbers,
    EnsembleTemperature,
    ClassPriorShift,
    StructuredVectorScaling,
    VectorScaling,
    StructuredMatrixScaling,
    Dirichlet,
    ClassWiseIsotonic,
    ProjectedSmooth,
)
MAPS: dict[str, type[RecalibrationMap]] = {kind.__name__: kind for kind in _ALL if kind.for_two}
"""Every map of two outcomes by name, from the simplest to the most flexible."""
CLASS_MAPS: dict[str, type[RecalibrationMap]] = {
    kind.__name__: kind for kind in _ALL if kind.for_classes
}
"""Every map of classes by name, from the simplest to the most flexible."""


def load(source: str | Path | Mapping[str, Any]) -> RecalibrationMap | ContinuousMap:
    """Load a fitted map: of two outcomes, of classes, of numbers, with patches for groups.

    Parameters
    ----------
    source : str, Path or mapping
        A file that `to_json` filled, the JSON itself, or the plain data of `to_dict`.

    Returns
    -------
    RecalibrationMap or ContinuousMap
        The fitted map, of the class that was stored; a `GroupMap` for a `Multicalibrator`.

    Examples
    --------
    >>> text = Isotonic().fit([0.1, 0.2, 0.7], [0, 1, 1]).to_json()
    >>> load(text).transform([0.2])
    array([0.875])
    """
    data = load_json(source, "a stored map")
    if data.has("continuous_map"):
        return continuous_from(data)
    return _loaded(data, {**MAPS, **CLASS_MAPS, "GroupMap": GroupMap})


def load_of_probabilities(source: str | Path | Mapping[str, Any]) -> RecalibrationMap:
    """Load a map of probabilities, for what takes no others."""
    found = load(source)
    if isinstance(found, ContinuousMap):
        raise InvalidStateError(
            "a stored map must be one of probabilities",
            f"one of kind {found.kind.name!r}",
            "apply it in Python with repair.load",
        )
    return found


def candidates_of(maps: object, units: Units) -> dict[str, RecalibrationMap]:
    """Unfitted maps by name, the identity first, then in the order given.

    If none are given: all that so many rows can teach, without those on request.
    """
    classes = units.classes
    known = MAPS if classes is None else CLASS_MAPS
    if maps is None:
        left_out = {*untaught(units), *too_wide(classes)}
        tried = {name: kind for name, kind in known.items() if not kind.on_request}
        return {name: kind() for name, kind in tried.items() if name not in left_out}
    if not isinstance(maps, Sequence) or isinstance(maps, str):
        raise InvalidOptionError("maps must be a list of maps or of their names", shown(maps))
    found: dict[str, RecalibrationMap] = {"Identity": Identity()}
    for item in maps:
        if isinstance(item, RecalibrationMap) and type(item) in known.values():
            name, one = repr(item).removesuffix("()"), type(item)(**item.get_params())
        elif isinstance(item, str) and item in known:
            name, one = item, known[item]()
        else:
            whose = "two outcomes" if classes is None else "classes"
            raise InvalidOptionError(
                f"maps must be maps of {whose}, or names among {', '.join(known)}", shown(item)
            )
        found[name] = one
    return found


def untaught(units: Units) -> tuple[str, ...]:
    """Names of the maps that learn more numbers than so many rows can teach."""
    known = MAPS if units.classes is None else CLASS_MAPS
    if units.surprises[0] >= surprises_needed(units):
        return ()
    return tuple(name for name, kind in known.items() if not (kind.simple or kind.on_request))


def too_wide(classes: tuple[Any, ...] | None) -> tuple[str, ...]:
    """Names of the maps that learn too many numbers of so many classes."""
    if classes is None or len(classes) <= MOST_CLASSES:
        return ()
    return (Dirichlet.__name__, StructuredMatrixScaling.__name__)


def _loaded(data: Stored, kinds: Mapping[str, type[RecalibrationMap]]) -> RecalibrationMap:
    data.require_schema(SCHEMA)
    kind = kinds[data.choice("map", kinds)]
    if kind is GroupMap:
        base = _loaded(data.part("base"), MAPS)
        if base.classes_ is not None:
            raise InvalidStateError(f"the base of {data.what} must be of two outcomes", "classes")
        return GroupMap(base, Patches.from_stored(data), least_from(data))
    return kind._from_stored(data)  # noqa: SLF001  # the one place that makes maps from files
