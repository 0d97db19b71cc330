"""The few functions of rows of probabilities that every map of classes comes down to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidStateError
from calibrant.regression import log_of, softmax_of
from calibrant.repair.forms import Form, Lines, form_from
from calibrant.stored import Stored

# Sums of stored factors times logarithms must stay finite.
MOST_FACTOR = 1e100
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


ClassForm = Unmoved | Softmax | ClassLines | Blend
AnyForm = Form | ClassForm


def class_form_from(data: Stored, count: int) -> ClassForm:
    """Read a form of so many classes from plain data, and refuse one that somebody broke."""
    kind = data.choice("kind", (Unmoved.kind, Softmax.kind, ClassLines.kind, Blend.kind))
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
