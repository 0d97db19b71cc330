"""Rows to learn from: features, labels, weights, and what else is known of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, Indices
from calibrant.data.input import read_labels
from calibrant.data.times import checked_times
from calibrant.errors import InvalidForecastsError
from calibrant.models.folds import Beside
from calibrant.models.rows import content_of, take


@dataclass(frozen=True, slots=True)
class Lesson:
    """Rows with their labels."""

    X: Any
    labels: npt.NDArray[Any]
    code: Indices
    """Number of the class of each row."""
    weight: Floats | None
    beside: Beside

    @classmethod
    def read(
        cls,
        X: Any,  # noqa: N803
        labels: npt.NDArray[Any],
        code: Indices,
        weight: Floats | None,
        *,
        clusters: object,
        time: object,
    ) -> Lesson:
        """Read what is known beside features and labels."""
        size = labels.size
        cluster = None
        if clusters is not None:
            names = read_labels(clusters, "clusters", size)
            cluster = np.unique(names, return_inverse=True)[1].reshape(-1)
        moments = None if time is None else checked_times(time, size)
        plain = cluster is None and moments is None
        content = content_of(X) if plain else []
        content += [] if weight is None else [weight]
        return cls(X, labels, code, weight, Beside(content, cluster, moments))

    def where(self, rows: Indices) -> Lesson:
        """Take some of the rows."""
        beside = self.beside
        return Lesson(
            take(self.X, rows),
            self.labels[rows],
            self.code[rows],
            None if self.weight is None else self.weight[rows],
            Beside(
                [],
                None if beside.cluster is None else beside.cluster[rows],
                None if beside.time is None else beside.time[rows],
            ),
        )

    def of_classes(self, classes: npt.NDArray[Any]) -> Lesson:
        """Give labels their numbers among the classes of a model that came fitted."""
        place = {label: i for i, label in enumerate(classes.tolist())}
        unknown = [label for label in np.unique(self.labels).tolist() if label not in place]
        if unknown:
            raise InvalidForecastsError(
                "y must hold classes that the model knows", f"the class {unknown[0]!r}"
            )
        code = np.array([place[label] for label in self.labels.tolist()], dtype=np.intp)
        return replace(self, code=code)
