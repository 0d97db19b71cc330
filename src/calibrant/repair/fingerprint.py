"""Which rows taught a map: a few numbers that rows in any order share, and others do not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.arrays import Floats
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts
from calibrant.stored import Stored
from calibrant.words import count_text

# Predictions are counted in so many cells of [0, 1]: counts do not depend on the order of the rows,
# nor on the last digits that a file or a sum of doubles loses.
CELLS = 2**12
# Rows are told apart if as many others, drawn alike, would have the same counts so rarely.
CHANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Number of rows, and hashes of how their predictions and outcomes are distributed."""

    rows: int
    predictions: str
    """Hash of the number of rows in each cell."""
    outcomes: str | None
    """Hash of the number of rows in each cell with each outcome; None with weights."""

    @classmethod
    def of(cls, given: Joint | ClassForecasts) -> Fingerprint | None:
        """Return the fingerprint of rows; None if chance would often give others the same."""
        if isinstance(given, Joint):
            counts, outcomes = _of_two(given)
        else:
            counts, outcomes = _of_classes(given)
        if _chance(counts) > CHANCE:
            return None
        told = None if outcomes is None else _hash(outcomes)
        return cls(int(counts.sum()), _hash(counts), told)

    @classmethod
    def from_stored(cls, data: Stored) -> Fingerprint:
        """Read what `as_dict` wrote."""
        outcomes = None if data.get("outcomes") is None else data.text("outcomes")
        return cls(data.whole("rows", 1), data.text("predictions"), outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"rows": self.rows, "predictions": self.predictions, "outcomes": self.outcomes}

    def matches(self, given: Joint | ClassForecasts) -> bool:
        """Whether rows are these, by their predictions and, where both know them, outcomes."""
        other = Fingerprint.of(given)
        if other is None or (other.rows, other.predictions) != (self.rows, self.predictions):
            return False
        return None in {other.outcomes, self.outcomes} or other.outcomes == self.outcomes

    def has_predictions(self, prediction: Floats) -> bool:
        """Whether predictions, in a row for each of the rows, are those of these rows."""
        return (
            len(prediction) == self.rows and _hash(_counts(_place(prediction))) == self.predictions
        )

    @property
    def warning(self) -> str:
        """Say what follows for somebody who judges the map on these rows."""
        compared = "predictions" if self.outcomes is None else "predictions and outcomes"
        return (
            f"in-sample: these {count_text(self.rows, 'row')} taught the map (their {compared} are "
            "distributed alike), so that they flatter it; judge it on others"
        )


def _of_two(joint: Joint) -> tuple[Floats, Floats | None]:
    """Rows in each cell, and those with outcome 1; levels of a Joint are in order."""
    first = np.append(0, np.searchsorted(joint.prediction, np.arange(1, CELLS) / CELLS))
    filled = np.diff(first, append=len(joint)) > 0
    counts, ones = np.zeros((2, CELLS))
    counts[filled] = np.add.reduceat(joint.rows, first[filled])
    plain = joint.of_mean_weight_one()
    ones[filled] = np.add.reduceat(plain.positives, first[filled])
    return np.rint(counts), np.concatenate([counts, np.rint(ones)]) if plain.unweighted else None


def _of_classes(forecasts: ClassForecasts) -> tuple[Floats, Floats | None]:
    place = _place(forecasts.probability)
    number = len(forecasts.classes)
    both = np.bincount(place * number + forecasts.label, minlength=CELLS * number)
    weight = forecasts.weight
    equal = weight is None or bool((weight == weight[0]).all())
    return _counts(place), np.asarray(both, dtype=np.float64) if equal else None


def _place(prediction: Floats) -> Any:
    """Cell of each row; of classes, that of a mean of their numbers."""
    if prediction.ndim == 2:
        number = prediction.shape[1]
        prediction = prediction @ (np.arange(number) / (number - 1))
    # As searchsorted has it: a prediction on an edge belongs to the cell above.
    return np.clip((prediction * CELLS).astype(np.intp), 0, CELLS - 1)


def _counts(place: Any) -> Floats:
    return np.asarray(np.bincount(place, minlength=CELLS), dtype=np.float64)


def _hash(counts: Floats) -> str:
    return hashlib.sha256(np.ascontiguousarray(counts).tobytes()).hexdigest()[:16]


def _chance(counts: Floats) -> float:
    """Chance that as many rows, drawn from cells in these shares, have just these counts."""
    from scipy.special import gammaln

    some = counts[counts > 0]
    total = float(some.sum())
    log = gammaln(total + 1) - gammaln(some + 1).sum() + float(some @ np.log(some / total))
    return float(np.exp(min(log, 0.0)))
