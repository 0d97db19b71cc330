"""ClassForecasts: one distribution over classes per row, and what binary measures can see of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import shown, whole
from calibrant.data.classes import (
    column_order,
    read_classes,
    read_positions,
    read_probabilities,
    read_row_weights,
)
from calibrant.data.input import are_grids, refuse_other_labels
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint import Joint, Rows

# Sums of the same probabilities differ in their last bits with the order of adding: they are
# rounded to multiples of 2^-40 before equal ones are put together.
GRID = 2.0**-40
COLUMNS_AT_ONCE = 16


@dataclass(frozen=True, slots=True, eq=False)
class ClassForecasts:
    """Probabilities of K classes for each row, and the class that happened.

    Make one with `ClassForecasts.read`. Each reduction is a `Joint` that any binary measure, test
    or verdict takes; its name says which confidence it is about.

    Examples
    --------
    >>> forecasts = ClassForecasts.read(
    ...     ["cat", "dog", "cow"],
    ...     [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]],
    ...     classes=["cat", "dog", "cow"],
    ... )
    >>> forecasts
    ClassForecasts(3 rows, 3 classes, accuracy 0.667, mean confidence 0.7)
    >>> forecasts.top_label()
    Joint(3 rows, 3 levels, mean prediction 0.7, base rate 0.667)
    >>> forecasts.one_class("dog")
    Joint(3 rows, 3 levels, mean prediction 0.2, base rate 0.333)
    """

    probability: Floats = field(repr=False)
    """One row per case, one column per class, as given: rows are not rescaled."""
    label: Indices = field(repr=False)
    """Position of the class that happened, for each row."""
    classes: tuple[Any, ...]
    """Names of the classes, in the order of the columns."""
    weight: Floats | None = field(repr=False, default=None)
    """Weights of the rows, or None; rows that weigh nothing were removed."""
    clipped: int = 0
    """Entries that lay outside [0, 1] by a rounding error and were moved to its end."""
    sum_gap: float = 0.0
    """Largest distance of a row's sum from one."""

    @classmethod
    def read(
        cls,
        y_true: object,
        y_proba: object,
        *,
        classes: Sequence[Any] | None = None,
        sample_weight: object = None,
        logits: bool = False,
        sum_tolerance: float | None = None,
    ) -> Self:
        """Check probabilities and labels.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels: names of classes (strings, numbers, categories), or positions 0 .. K-1 where
            no class has a number for a name.
        y_proba : array-like or frame of shape (n, K)
            Probabilities; each row sums to one. The columns of a frame name the classes.
        classes : sequence of length K, optional
            Names of the classes in the order of the columns; 0 .. K-1 by default. Columns of a
            frame are matched by name, in any order.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        logits : bool, default=False
            Take `y_proba` for scores before a softmax.
        sum_tolerance : float, optional
            How far from one a row may sum: 1e-6 by default, 1e-4 for single precision, 1e-2 for
            half precision.

        Returns
        -------
        ClassForecasts
        """
        refuse_other_labels(y_true=y_true, y_proba=y_proba, sample_weight=sample_weight)
        table, clipped, gap = read_probabilities(y_proba, sum_tolerance, logits=logits)
        names = read_classes(y_proba, classes, table.shape[1])
        order = column_order(y_proba, names)
        table = table if order is None else table[:, order]
        label = read_positions(y_true, names, reordered=order is not None)
        if label.size != table.shape[0]:
            raise InvalidForecastsError(
                "@y_true and @y_proba must have the same length", f"{label.size} and {len(table)}"
            )
        weight = read_row_weights(sample_weight, label.size)
        if weight is not None and not weight.all():
            kept = weight > 0
            table, label, weight = table[kept], label[kept], weight[kept]
        return cls(table, label, names, weight, clipped, gap)

    def __len__(self) -> int:
        return self.label.size

    def __repr__(self) -> str:
        top = self.top_label_rows()
        mass = self.mass
        return (
            f"ClassForecasts({len(self)} rows, {len(self.classes)} classes, "
            f"accuracy {float(mass @ top.outcome):.3g}, "
            f"mean confidence {float(mass @ top.prediction):.3g})"
        )

    @property
    def mass(self) -> Floats:
        """Share of the weight that each row has."""
        if self.weight is None:
            return np.full(len(self), 1 / len(self))
        return np.asarray(self.weight / self.weight.sum())

    @property
    def prevalence(self) -> Floats:
        """Share of the weight that each class has among the labels."""
        shares = np.bincount(self.label, self.mass, len(self.classes))
        return np.asarray(shares, dtype=np.float64)

    def top_label(self) -> Joint:
        """Accuracy against confidence: how often the most likely class is right, and says so.

        Of several most likely classes the first in order is the predicted one.
        """
        return Joint.from_rows(self.top_label_rows())

    def top_k(self, k: int) -> Joint:
        """Say how often the label is among the k most likely classes, against their summed chance.

        Of equally likely classes those first in order come first.
        """
        return Joint.from_rows(self.top_k_rows(k))

    def one_class(self, name: object) -> Joint:
        """Event rate against the probability of one class."""
        return Joint.from_rows(self.class_rows(self.position(name)))

    def class_wise(self) -> Iterator[tuple[Any, Joint]]:
        """Each class with its Joint, one after the other; none is kept."""
        for index, column in enumerate(self.columns()):
            yield self.classes[index], Joint.from_rows(self._rows(column, self.label == index))

    def columns(self) -> Iterator[Floats]:
        """Probabilities of each class, one class after the other."""
        for start in range(0, len(self.classes), COLUMNS_AT_ONCE):
            # Neighbouring columns share cache lines: they are taken out together.
            yield from np.ascontiguousarray(self.probability[:, start : start + COLUMNS_AT_ONCE].T)

    def subset(self, names: object) -> Joint:
        """Rate of "one of these classes" against the sum of their probabilities.

        Sums of two and more are rounded to multiples of 2^-40, so that equal ones are one level.
        """
        flat = getattr(names, "ndim", 1) == 1
        if isinstance(names, str) or not isinstance(names, Collection) or not flat:
            raise InvalidOptionError("classes of a subset must be a list", shown(names))
        return Joint.from_rows(self.subset_rows([self.position(name) for name in names]))

    def pairwise(self, first: object, second: object) -> Joint:
        """Among rows of two classes: rate of the second against its probability given either."""
        return Joint.from_rows(self.pairwise_rows(self.position(first), self.position(second)))

    def position(self, name: object) -> int:
        """Find the column of a class by its name, or by its number where no name is one."""
        single = not getattr(name, "ndim", 0)
        if single and name in self.classes:
            return self.classes.index(name)
        numbers = any(isinstance(one, int | float) for one in self.classes)
        if isinstance(name, int | np.integer) and not numbers and 0 <= name < len(self.classes):
            return int(name)
        raise InvalidOptionError(
            "a class must be one of those forecast",
            shown(name),
            f"for instance {', '.join(map(repr, self.classes[:3]))}",
        )

    def top_label_rows(self) -> Rows:
        """Confidence of the most likely class, and whether it was right."""
        top = self.probability.argmax(axis=1)
        confidence = np.take_along_axis(self.probability, top[:, np.newaxis], axis=1)[:, 0]
        return self._rows(confidence, top == self.label)

    def top_k_rows(self, k: int) -> Rows:
        """Chance of the k most likely classes together, and whether the label is among them."""
        k = whole("k", k, 1, len(self.classes) - 1)
        if k == 1:
            return self.top_label_rows()
        best = np.argsort(-self.probability, axis=1, kind="stable")[:, :k]
        chance = np.take_along_axis(self.probability, best, axis=1).sum(axis=1)
        return self._rows(on_grid(chance), (best == self.label[:, np.newaxis]).any(axis=1))

    def class_rows(self, index: int) -> Rows:
        """Probability of one class, and whether it happened."""
        return self._rows(np.ascontiguousarray(self.probability[:, index]), self.label == index)

    def subset_rows(self, members: Sequence[int]) -> Rows:
        """Probability of "one of these classes", and whether it happened."""
        chosen = sorted(set(members))
        if not 0 < len(chosen) < len(self.classes):
            raise InvalidOptionError(
                "a subset must hold some of the classes and not all", f"{len(chosen)} classes"
            )
        if len(chosen) == 1:
            return self.class_rows(chosen[0])
        chance = on_grid(self.probability[:, chosen].sum(axis=1))
        return self._rows(chance, np.isin(self.label, chosen))

    def pairwise_rows(self, first: int, second: int) -> Rows:
        """Rows of two classes, with the probability of the second given either."""
        if first == second:
            raise InvalidOptionError("two different classes must be compared", "the same twice")
        kept = (self.label == first) | (self.label == second)
        either = self.probability[kept][:, [first, second]]
        total = either.sum(axis=1)
        if not total.all():
            raise InvalidForecastsError(
                "one of two compared classes must have had a chance in each of their rows",
                f"{int((total == 0).sum())} rows where both have probability 0",
            )
        if not kept.any():
            raise InvalidForecastsError("compared classes must have rows", "none")
        weight = None if self.weight is None else self.weight[kept]
        outcome = (self.label[kept] == second).astype(np.uint8)
        # Dividing by a sum of one must change nothing, so that two classes are the binary case.
        chance = either[:, 1] if len(self.classes) == 2 else either[:, 1] / total
        return Rows(np.ascontiguousarray(chance), outcome, weight)

    def relabelled(self, label: Indices) -> ClassForecasts:
        """Keep probabilities and weights, with other labels."""
        return ClassForecasts(
            self.probability, label, self.classes, self.weight, self.clipped, self.sum_gap
        )

    def _rows(self, prediction: Floats, happened: Any) -> Rows:
        return Rows(prediction, np.asarray(happened).view(np.uint8), self.weight)


def on_grid(sums: Floats) -> Floats:
    """Round sums of probabilities to multiples of 2^-40, at most 1."""
    return np.minimum(np.rint(sums / GRID) * GRID, 1.0)


def as_forecasts(
    y_true: object,
    y_proba: object,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    *,
    logits: bool = False,
) -> ClassForecasts:
    """Return the forecasts that were given, or read them."""
    if not isinstance(y_true, ClassForecasts):
        if y_proba is None:
            raise InvalidForecastsError(
                "a measure takes ClassForecasts, or labels and probabilities",
                f"one argument of type {type(y_true).__name__}",
                "call it as measure(y_true, y_proba)",
            )
        return ClassForecasts.read(
            y_true, y_proba, classes=classes, sample_weight=sample_weight, logits=logits
        )
    arguments = {"y_proba": y_proba, "classes": classes, "sample_weight": sample_weight}
    extra = [name for name, value in arguments.items() if value is not None]
    if extra or logits:
        raise InvalidForecastsError(
            "ClassForecasts already hold probabilities, labels and weights",
            f"ClassForecasts together with {', '.join(extra) or 'logits'}",
        )
    return y_true


def are_classes(y_true: object, y_proba: object, classes: object = None) -> bool:
    """Whether forecasts are rows of probabilities of classes, not of one outcome.

    They are if they have more than two columns, or if names of classes come with them.
    """
    if classes is not None or any(isinstance(part, ClassForecasts) for part in (y_true, y_proba)):
        return True
    if y_proba is None or isinstance(y_proba, Joint) or are_grids(y_true, y_proba):
        return False
    shape = getattr(y_proba, "shape", None)
    if shape is None and isinstance(y_proba, Sequence) and len(y_proba):
        first = y_proba[0]
        alone = isinstance(first, np.ndarray) and first.ndim == 0
        wide = isinstance(first, Sequence | np.ndarray) and not alone and not isinstance(first, str)
        shape = (len(y_proba), len(first)) if wide else (len(y_proba),)
    return isinstance(shape, tuple) and len(shape) == 2 and int(shape[1]) > 2
