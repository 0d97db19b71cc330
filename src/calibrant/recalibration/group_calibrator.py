"""A calibrator for all rows, and patches for groups on top of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn, Self

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.stored import Stored
from calibrant.data.groupings import Codes, Grouping
from calibrant.data.input import refuse_other_labels
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.recalibration.base import SCHEMA, Calibrator, form_of_two
from calibrant.recalibration.estimator import reading_arguments
from calibrant.recalibration.export import free_name, python_source
from calibrant.recalibration.forms import Form
from calibrant.recalibration.patches import Patches, codes_of, patches_text, unseen
from calibrant.recalibration.quoting import docstring, python_literal
from calibrant.recalibration.reading import is_number, read_predictions, shaped

PROGRAM = """\
from bisect import bisect_right as _right

# Name, group of each label, cuts, and group of missing values of each column.
COLUMNS = {columns}
# What a row must have, as column and group; the range of predictions; power and amount to add.
PATCHES = {patches}


def {name}(p, groups):
    {doc}
    base = moved = _base(p)
    found = []
    for column, labels, cuts, missing in COLUMNS:
        value = groups[column]
        if value is None or value != value:
            level = missing
        elif cuts is None:
            level = labels.get(value, -1)
        else:
            level = _right(cuts, value)
        if level < 0:
            return base
        found.append(level)
    for wanted, low, high, power, amount in PATCHES:
        inside = low <= moved and (moved < high or high == 1)
        if inside and all(found[column] == level for column, level in wanted):
            moved = min(max(moved + amount * moved**power, 0.0), 1.0)
    return min(max(moved, {least!r}), {most!r})
"""


class GroupCalibrator(Calibrator):
    """A fitted calibrator for all rows, then patches that move predictions of groups.

    Made by `calibrant.groups.recalibrate_by_group` and `calibrant.groups.Multicalibrator`, which
    look for the patches. Rows with a value that the fit has not seen keep the prediction of the
    calibrator. Patched predictions stay `least` away from 0 and 1.

    Parameters
    ----------
    base : Calibrator
        Fitted calibrator for all rows; `Identity` leaves them as they are.
    patches : Patches
        Corrections of groups, in their order.
    least : float, default=0.0
        How far patched predictions stay away from 0 and 1.
    """

    method = "by_group"
    title = "recalibration by group"

    def __init__(self, base: Calibrator, patches: Patches, least: float = 0.0) -> None:
        self.base = base
        self.patches = patches
        self.least = least
        self.form_: Form = form_of_two(base)
        self.scale_ = base.scale_
        self.training_fingerprint_ = base.training_fingerprint_

    def fit(self, *_: object, **__: object) -> NoReturn:
        """Refuse: patches are looked for elsewhere."""
        raise InvalidOptionError(
            "patches for groups are found together with their calibrator",
            "fit of a GroupCalibrator",
            "call groups.recalibrate_by_group, or fit a groups.Multicalibrator",
        )

    def with_scale(self, scale: str) -> Self:
        """Return the same calibrator for predictions in other units."""
        return type(self)(self.base.with_scale(scale), self.patches, self.least)

    def __repr__(self) -> str:
        return f"GroupCalibrator({self.label})"

    @property
    def label(self) -> str:
        """Name of the calibrator and number of patches."""
        count = len(self.patches.patches)
        return f"{self.base.method} + {patches_text(count)}" if count else self.base.method

    @property
    def sentence(self) -> str:
        """What it does, in words."""
        if not self.patches.patches:
            return self.base.sentence
        patches, columns = patches_text(len(self.patches.patches)), ", ".join(self.patches.columns)
        return f"{self.base.sentence} Then {patches} for groups of {columns}."

    def transform(self, X: object, by: object = None) -> Any:  # noqa: N803
        """Recalibrate predictions.

        Parameters
        ----------
        X : float, or array-like of shape (n,), (n, 1) or (n, 2)
            Predicted probabilities of outcome 1, in the units of `scale_`.
        by : mapping of str to array-like, frame, or array of shape (n, k)
            The columns of the groups; may be left out if there are no patches. A number has a
            mapping of names to single values.

        Returns
        -------
        float or array
            As the predictions were given. Rows with a value that was not seen in the fit have
            the prediction of the calibrator for all rows; a warning counts them.
        """
        if not self.patches.patches:
            return self.base.transform(X)
        if by is None:
            raise InvalidForecastsError(
                "a calibrator with patches needs the columns of the groups",
                "none",
                f"pass @by={{{', '.join(f'{name!r}: ...' for name in self.patches.columns)}}}",
            )
        if is_number(X):
            single = (
                {name: [value] for name, value in by.items()} if isinstance(by, Mapping) else by
            )
            return float(self.transform([X], single)[0])
        refuse_other_labels(X=X, by=by)
        with reading_arguments():
            prediction = read_predictions(X, self.scale_)
        codes = codes_of(self.patches.groupings, by, prediction.size)
        return self._contained(shaped(self.patched(self.form_(prediction), codes), X), X)

    def patched(self, base: Floats, codes: list[Codes]) -> Floats:
        """Correct predictions of the calibrator for all rows, of rows in groups known by number."""
        if not self.patches.patches:
            return base
        corrected = np.clip(self.patches.apply(base, codes), self.least, 1 - self.least)
        return np.where(unseen(codes), base, corrected)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, that of the calibrator for all rows if there are no patches."""
        if not self.patches.patches:
            return self.base.to_dict()
        return {
            "schema": SCHEMA,
            "calibrator": self.method,
            "base": self.base.to_dict(),
            "least": self.least,
            "sentence": self.sentence,
            **self.patches.as_dict(),
        }

    def to_onnx(self, *, name: str = "recalibrated") -> Any:
        """Return the calibrator as an ONNX model, if it has no patches for groups."""
        if self.patches.patches:
            raise InvalidOptionError(
                "patches for groups cannot be written as ONNX",
                self._class_name,
                "write SQL, JSON or Python",
            )
        return self.base.to_onnx(name=name)

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function of a prediction and a dictionary of columns.

        It takes the units of `scale_` and returns a probability in [0, 1].
        """
        if not self.patches.patches:
            return self.base.to_python(name)
        columns = tuple(
            (g.column, dict(g.labels), _python_cuts(g), g.missing) for g in self.patches.groupings
        )
        patches = tuple((p.groups, p.low, p.high, p.power, p.amount) for p in self.patches.patches)
        takes = "Takes a prediction, and a dictionary with the values of the columns."
        program = PROGRAM.format(
            name=free_name(name),
            doc=docstring(f"{self.sentence} {takes}"),
            columns=python_literal(columns),
            patches=python_literal(patches),
            least=self.least,
            most=1 - self.least,
        )
        base = python_source(self.form_, "_base", self.base.sentence, self.scale_)
        return f"{base}\n\n{program}"


def least_from(data: Stored) -> float:
    """Read how far patched predictions stay from the ends: less than half of the way."""
    return data.number("least", 0.0, math.nextafter(0.5, 0.0))


def _python_cuts(grouping: Grouping) -> tuple[float, ...] | None:
    if grouping.cuts is None:
        return None
    if grouping.cuts.dtype.kind == "M":
        raise InvalidOptionError(
            "groups of dates cannot be written as Python", grouping.column, "write SQL or JSON"
        )
    return tuple(grouping.cuts.tolist())
