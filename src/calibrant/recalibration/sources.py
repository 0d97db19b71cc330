"""Forecasts that were read, after a calibrator, for an audit of recalibrated forecasts."""

from __future__ import annotations

from calibrant.errors import InvalidOptionError
from calibrant.inputs import Source
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.group_calibrator import GroupCalibrator
from calibrant.recalibration.parametric import Identity
from calibrant.recalibration.reading import read_rows


def recalibrated(source: Source, fitted: Calibrator, name: str) -> Source:
    """Recalibrate forecasts that were read; notes name it, and whether it was fitted to them.

    Parameters
    ----------
    source : Source
        Forecasts as probabilities, whatever units the calibrator takes.
    fitted : Calibrator
        A fitted calibrator without patches for groups.
    name : str
        What to call it in the notes, such as the name of its file.
    """
    if isinstance(fitted, GroupCalibrator) and fitted.patches.patches:
        raise InvalidOptionError(
            "a calibrator with patches for groups must be applied first",
            name,
            "write the rows with `calibrant apply`, and audit their new column",
        )
    classes, own = source.classes, fitted.classes_
    if (classes is None) != (own is None):
        raise InvalidOptionError(
            "the calibrator must be for the outcomes of the rows",
            f"a calibrator of {'two outcomes' if own is None else 'classes'}",
            "name the classes with @classes" if classes is None else "leave classes out",
        )
    if classes is not None and own is not None:
        read_rows(classes, own)  # the names of the classes must agree, too
    mapped = source.mapped(
        fitted.form_, f"predictions were recalibrated by {fitted.title}, fitted in {name}"
    )
    fingerprint = fitted.training_fingerprint_
    if isinstance(fitted, Identity) or fingerprint is None:
        return mapped
    if not fingerprint.matches(source.joint if classes is None else classes):
        return mapped
    return source.mapped(fitted.form_, f"{mapped.notes[-1]}; {fingerprint.warning}")
