"""The few functions of rows of probabilities that every calibrator of classes comes down to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.stored import Stored
from calibrant.errors import InvalidStateError
from calibrant.recalibration.forms import Form, Lines, form_from
from calibrant.regression import log_of, softmax_of

# Sums of stored factors times logarithms must stay finite.
MOST_FACTOR = 1e100
# No correction of a set of classes is larger: the distance between two opposite certainties.
MOST_CORRECTION = 2.0
# Stored shares may be rounded.
SUMS_TO_ONE = 1e-9


@dataclass(frozen=True, slots=True)
class Unmoved:
    """Rows stay as they are."""

    kind: ClassVar[str] = "unmoved"

    def __call__(self, probability: Floats) -> Floats:
        """Return the rows."""
        return probability

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": self.kind}


@dataclass(frozen=True, slots=True, eq=False)
class Softmax:
    """Log-probabilities times weights, plus shifts, made to sum to one.

    Weights are one factor per class, or a matrix with a column for each new score.
    """

    weight: Floats
    shift: Floats
    kind: ClassVar[str] = "softmax"

    def __call__(self, probability: Floats) -> Floats:
        """Probabilities in proportion to the exponentials of the new scores."""
        score = log_of(probability)
        score = score * self.weight if self.weight.ndim == 1 else score @ self.weight
        return softmax_of(score + self.shift)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": self.kind, "weight": self.weight.tolist(), "shift": self.shift.tolist()}


@dataclass(frozen=True, slots=True, eq=False)
class ClassLines:
    """A function of lines for each class, then the nearest row that sums to one.

    Values stay `least` away from 0 before they are made to sum to one again.
    """

    lines: tuple[Lines, ...]
    least: float
    kind: ClassVar[str] = "class_lines"

    def __call__(self, probability: Floats) -> Floats:
        """Move each entry by the function of its class, and rows onto the simplex."""
        columns = [line(column) for line, column in zip(self.lines, probability.T, strict=True)]
        kept = np.maximum(onto_simplex(np.stack(columns, axis=1)), self.least)
        return np.asarray(kept / kept.sum(axis=1, keepdims=True))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        lines = [line.as_dict() for line in self.lines]
        return {"kind": self.kind, "lines": lines, "least": self.least}


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """A mixture of rows at a temperature, rows as they are, and equal shares."""

    slope: float
    """What log-probabilities are multiplied by in the first part."""
    share: Floats
    """Shares of the three parts, which sum to one."""
    kind: ClassVar[str] = "blend"

    def softmax(self, count: int) -> Softmax:
        """Return the first part, of so many classes."""
        return Softmax(np.full(count, self.slope), np.zeros(count))

    def __call__(self, probability: Floats) -> Floats:
        """Mix the three."""
        count = probability.shape[1]
        at, plain, equal = self.share
        return np.asarray(
            at * self.softmax(count)(probability) + plain * probability + equal / count
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": self.kind, "slope": self.slope, "share": self.share.tolist()}


@dataclass(frozen=True, slots=True, eq=False)
class SetCorrection:
    """What is added to each class of a set, as a function of the chance of the set."""

    members: Indices
    """Positions of the classes."""
    line: Lines
    """From the chance of "one of these" to what is added; it may be negative."""

    def __call__(self, probability: Floats) -> Floats:
        """Add it, and move rows to the nearest ones that sum to one."""
        corrected = probability.copy()
        chance = probability[:, self.members].sum(axis=1)
        corrected[:, self.members] += self.line(chance)[:, np.newaxis]
        return onto_simplex(corrected)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        knot, value = self.line.knot.tolist(), self.line.value.tolist()
        return {"members": self.members.tolist(), "knot": knot, "value": value}


@dataclass(frozen=True, slots=True, eq=False)
class Corrections:
    """Corrections of sets of classes, one after the other.

    At the end values stay `least` away from 0, and are made to sum to one again.
    """

    steps: tuple[SetCorrection, ...]
    least: float
    classes: int
    """How many there are."""
    kind: ClassVar[str] = "corrections"

    def __call__(self, probability: Floats) -> Floats:
        """Correct rows set by set."""
        for step in self.steps:
            probability = step(probability)
        kept = np.maximum(probability, self.least)
        return np.asarray(kept / kept.sum(axis=1, keepdims=True))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        steps = [step.as_dict() for step in self.steps]
        return {"kind": self.kind, "steps": steps, "least": self.least}


ClassForm = Unmoved | Softmax | ClassLines | Blend | Corrections
AnyForm = Form | ClassForm


def class_form_from(data: Stored, count: int) -> ClassForm:
    """Read a form of so many classes from plain data, and refuse one that somebody broke."""
    kinds = (Unmoved, Softmax, ClassLines, Blend, Corrections)
    kind = data.choice("kind", tuple(one.kind for one in kinds))
    if kind == Corrections.kind:
        steps = tuple(_correction(part, count) for part in data.parts("steps"))
        return Corrections(steps, data.number("least", 0.0, 1 / count), count)
    if kind == Blend.kind:
        return _blend(data)
    if kind == Unmoved.kind:
        return Unmoved()
    if kind == Softmax.kind:
        weights = data.entries("weight")
        matrix = bool(weights) and isinstance(weights[0], list)
        ends = (-MOST_FACTOR, MOST_FACTOR)
        return Softmax(
            data.numbers("weight", *ends, (count, count) if matrix else (count,)),
            data.numbers("shift", *ends, (count,)),
        )
    forms = [form_from(part) for part in data.parts("lines")]
    lines = tuple(form for form in forms if isinstance(form, Lines))
    if not len(lines) == len(forms) == count:
        raise InvalidStateError(
            f"lines of {data.what} must be one function for each class", f"{len(lines)} of {count}"
        )
    return ClassLines(lines, data.number("least", 0.0, 1 / count))


def _blend(data: Stored) -> Blend:
    share = data.numbers("share", 0.0, 1.0, (3,))
    if abs(float(share.sum()) - 1) > SUMS_TO_ONE:
        raise InvalidStateError(f"shares of {data.what} must sum to one", f"{share.sum():.6g}")
    return Blend(data.number("slope", 0.0, MOST_FACTOR), share)


def _correction(data: Stored, count: int) -> SetCorrection:
    members = data.numbers("members", 0, count - 1)
    knot, value = (
        data.numbers("knot", 0.0, 1.0),
        data.numbers("value", -MOST_CORRECTION, MOST_CORRECTION),
    )
    indices = members.astype(np.intp)
    sound = 0 < indices.size < count and bool((indices == members).all() and rising(indices))
    if not sound:
        raise InvalidStateError(
            f"members of {data.what} must be some of {count} classes in order", f"{members.size}"
        )
    if knot.shape != value.shape or knot.size == 0 or not rising(knot):
        raise InvalidStateError(
            f"knots of {data.what} must increase, with one value for each", f"{knot.size} knots"
        )
    return SetCorrection(indices, Lines(knot, value))


def rising(indices: Floats | Indices) -> bool:
    """Whether each number is larger than the one before."""
    return bool((np.diff(indices) > 0).all())


def onto_simplex(table: Floats) -> Floats:
    """Nearest point (Euclidean) with entries that are not negative and sum to one, by rows.

    Held, Wolfe, Crowder (1974), Validation of subgradient optimization, Mathematical Programming.
    """
    falling = -np.sort(-table, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    count = np.arange(1, table.shape[1] + 1)
    kept = (falling * count > excess).sum(axis=1)
    shift = np.take_along_axis(excess, kept[:, np.newaxis] - 1, axis=1) / kept[:, np.newaxis]
    return np.asarray(np.maximum(table - shift, 0.0))
