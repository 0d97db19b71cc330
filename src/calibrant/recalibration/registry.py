"""Calibrators by name, and calibrators from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calibrant._base.options import shown
from calibrant._base.stored import Stored, load_json
from calibrant.errors import InvalidOptionError, InvalidStateError
from calibrant.recalibration.base import SCHEMA, Calibrator
from calibrant.recalibration.choice_rule import surprises_needed
from calibrant.recalibration.classes import (
    MOST_CLASSES,
    DirichletCalibration,
    OneVsRestIsotonicCalibration,
    VectorScaling,
)
from calibrant.recalibration.continuous import ContinuousCalibrator, continuous_from
from calibrant.recalibration.curves import QuadraticCalibration, SplineCalibration
from calibrant.recalibration.flexible import (
    CenteredIsotonicCalibration,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    VennAbers,
)
from calibrant.recalibration.folds import Units
from calibrant.recalibration.group_calibrator import GroupCalibrator, least_from
from calibrant.recalibration.parametric import (
    BetaCalibration,
    Identity,
    PlattScaling,
    PriorCorrection,
    TemperatureScaling,
)
from calibrant.recalibration.patches import Patches
from calibrant.recalibration.structured import (
    EnsembleTemperatureScaling,
    MulticlassPriorCorrection,
    StructuredMatrixScaling,
    StructuredVectorScaling,
)
from calibrant.recalibration.subsets import SubsetCalibration

_ALL: tuple[type[Calibrator], ...] = (
    Identity,
    PriorCorrection,
    TemperatureScaling,
    PlattScaling,
    BetaCalibration,
    QuadraticCalibration,
    SplineCalibration,
    CenteredIsotonicCalibration,
    IsotonicCalibration,
    KernelCalibration,
    HistogramBinning,
    VennAbers,
    EnsembleTemperatureScaling,
    MulticlassPriorCorrection,
    StructuredVectorScaling,
    VectorScaling,
    StructuredMatrixScaling,
    DirichletCalibration,
    OneVsRestIsotonicCalibration,
    SubsetCalibration,
)
CALIBRATORS: dict[str, type[Calibrator]] = {kind.method: kind for kind in _ALL if kind.for_two}
"""Every calibrator of two outcomes by name, from the simplest to the most flexible."""
MULTICLASS_CALIBRATORS: dict[str, type[Calibrator]] = {
    kind.method: kind for kind in _ALL if kind.for_classes
}
"""Every calibrator of classes by name, from the simplest to the most flexible."""


def title_of(name: str) -> str:
    """Return what a calibrator by name, or with parameters in parentheses, is called."""
    known = {**CALIBRATORS, **MULTICLASS_CALIBRATORS}
    return known[name].title if name in known else name


def load(source: str | Path | Mapping[str, Any]) -> Calibrator | ContinuousCalibrator:
    """Load a fitted calibrator: of two outcomes, of classes, of numbers, with patches for groups.

    Parameters
    ----------
    source : str, Path or mapping
        A file that `to_json` filled, the JSON itself, or the plain data of `to_dict`.

    Returns
    -------
    Calibrator or ContinuousCalibrator
        The fitted calibrator, of the class that was stored; a `GroupCalibrator` for a
        `Multicalibrator`.

    Examples
    --------
    >>> text = IsotonicCalibration().fit([0.1, 0.2, 0.7], [0, 1, 1]).to_json()
    >>> load(text).transform([0.2])
    array([0.875])
    """
    data = load_json(source, "a stored calibrator")
    if data.has("continuous_calibrator"):
        return continuous_from(data)
    return _loaded(data, {**CALIBRATORS, **MULTICLASS_CALIBRATORS, "by_group": GroupCalibrator})


def load_of_probabilities(source: str | Path | Mapping[str, Any]) -> Calibrator:
    """Load a calibrator of probabilities, for what takes no others."""
    found = load(source)
    if isinstance(found, ContinuousCalibrator):
        raise InvalidStateError(
            "a stored calibrator must be one of probabilities",
            f"one of kind {found.kind.name!r}",
            "apply it in Python with recalibration.load",
        )
    return found


def candidates_of(methods: object, units: Units) -> dict[str, Calibrator]:
    """Unfitted calibrators by name, the identity first, then in the order given.

    If none are given: all that so many rows can fit, without those on request.
    """
    classes = units.classes
    known = CALIBRATORS if classes is None else MULTICLASS_CALIBRATORS
    if methods is None:
        left_out = {*too_flexible(units), *too_wide(classes)}
        tried = {name: kind for name, kind in known.items() if not kind.on_request}
        return {name: kind() for name, kind in tried.items() if name not in left_out}
    if not isinstance(methods, Sequence) or isinstance(methods, str):
        raise InvalidOptionError(
            "@methods must be a list of calibrators or of their names", shown(methods)
        )
    found: dict[str, Calibrator] = {"identity": Identity()}
    for item in methods:
        if isinstance(item, Calibrator) and type(item) in known.values():
            name, one = repr(item).removesuffix("()"), type(item)(**item.get_params())
        elif isinstance(item, str) and item in known:
            name, one = item, known[item]()
        else:
            whose = "two outcomes" if classes is None else "classes"
            raise InvalidOptionError(
                f"@methods must be calibrators of {whose}, or names among {', '.join(known)}",
                shown(item),
            )
        found[name] = one
    return found


def too_flexible(units: Units) -> tuple[str, ...]:
    """Names of the calibrators that have more parameters than so many rows can fit."""
    known = CALIBRATORS if units.classes is None else MULTICLASS_CALIBRATORS
    if units.surprises[0] >= surprises_needed(units):
        return ()
    return tuple(name for name, kind in known.items() if not (kind.simple or kind.on_request))


def too_wide(classes: tuple[Any, ...] | None) -> tuple[str, ...]:
    """Names of the calibrators that learn too many numbers of so many classes."""
    if classes is None or len(classes) <= MOST_CLASSES:
        return ()
    return (DirichletCalibration.method, StructuredMatrixScaling.method)


def _loaded(data: Stored, kinds: Mapping[str, type[Calibrator]]) -> Calibrator:
    data.require_schema(SCHEMA)
    kind = kinds[data.choice("calibrator", kinds)]
    if kind is GroupCalibrator:
        base = _loaded(data.part("base"), CALIBRATORS)
        if base.classes_ is not None:
            raise InvalidStateError(f"the base of {data.what} must be of two outcomes", "classes")
        return GroupCalibrator(base, Patches.from_stored(data), least_from(data))
    return kind._from_stored(data)  # noqa: SLF001  # the one place that makes calibrators from files
