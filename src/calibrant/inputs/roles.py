"""Which column, or which array, plays which part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calibrant._base.options import shown
from calibrant.data.groupings import MOST_LEVELS, PARTS, columns_of
from calibrant.data.hints import require_names
from calibrant.data.input import as_floats, read_column
from calibrant.data.labels import Labels
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError, InvalidOptionError, mention
from calibrant.kinds import BINARY, INTERVAL

PREDICTION = "prediction"


@dataclass(frozen=True, slots=True)
class KindRequest:
    """The kind of forecast that a user requested."""

    name: str = "mean"
    range: object = None
    level: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidOptionError("@kind must be a name such as 'mean'", shown(self.name))

    @classmethod
    def of(cls, kind: str | None, range_: object, level: float | None) -> KindRequest | None:
        """Read the options of a function; None for probabilities."""
        if kind is not None and kind != BINARY.name:
            return cls(kind, range_, level)
        if range_ is not None or level is not None:
            raise InvalidOptionError(
                f"@{'level' if range_ is None else 'range'} is for continuous outcomes",
                "no kind of them",
                "name their kind, such as @kind='mean'",
            )
        return None

    @property
    def columns(self) -> tuple[str, str] | None:
        """Columns of the ends of intervals, where they are named."""
        name, equals, text = self.name.partition("=")
        if name.strip() != INTERVAL or not equals:
            return None
        names = [part.strip() for part in text.split(",")]
        if len(names) != 2 or not all(names) or names[0] == names[1]:
            raise self.no_columns()
        return names[0], names[1]

    def no_columns(self) -> InvalidOptionError:
        """Return the refusal of intervals whose ends are not named."""
        return InvalidOptionError(
            "intervals need the columns of both ends", repr(self.name), "interval=low,high"
        )

    @property
    def plain(self) -> str:
        """The kind without the names of columns."""
        return INTERVAL if self.of_intervals else self.name

    @property
    def of_intervals(self) -> bool:
        """Whether forecasts are intervals."""
        return self.name.partition("=")[0].strip() == INTERVAL


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column, or which array, plays which part."""

    prediction: str = PREDICTION
    outcome: str = "outcome"
    weight: object = None
    clusters: object = None
    by: object = None
    time: object = None
    count: str | None = None
    """Column of the number of rows that an entry stands for, where entries are aggregates."""
    positives: str | None = None
    """Column of the number of them with outcome 1."""
    pairs: bool = False
    """Whether pairs of the columns `by` divide the rows as well."""
    segments: bool = False
    """Whether combinations of the columns `by` will be searched."""
    cuts: int = PARTS
    """Parts that numbers of the columns `by` are cut into."""
    most_levels: int = MOST_LEVELS
    """Labels of a column `by` beyond so many are gathered."""
    classes: Sequence[Any] | None = None
    """Names of more than two classes: columns of probabilities, or the order of lists of them."""
    until: str | None = None
    """Rows that are due after this time are left out, whether their outcome is known or not."""
    prediction_sum: str | None = None
    """Column of the sum of the predictions that an aggregate stands for, instead of their mean."""
    all_grouped: bool = False
    """Whether rows without a group count as missing, not as a group of their own."""
    find_keys: bool = False
    """Whether to look for columns that may identify what rows are about: are such rows alike?"""
    keys: Mapping[str, object] = field(default_factory=dict)
    """Those columns."""
    kind: KindRequest | None = None
    """What the forecasts are forecasts of; None for probabilities."""

    def __post_init__(self) -> None:
        # Columns of pandas may have numbers for names.
        for part in ("prediction", "outcome", "count", "positives", "prediction_sum"):
            name = getattr(self, part)
            if name is not None and not isinstance(name, str):
                object.__setattr__(self, part, str(name))

    @property
    def need_rows(self) -> bool:
        """Whether sums by prediction are not enough."""
        further = (self.clusters, self.time, self.classes, self.kind)
        return self.segments or any(part is not None for part in further)

    def parts(self, present: Collection[str] = ()) -> dict[str, Part]:
        """Say how each column is read; one that plays two parts is read for the stricter one.

        Where the probabilities of classes stand depends on the columns that are present.
        """
        require_names(
            prediction=self.prediction,
            outcome=self.outcome,
            sample_weight=self.weight,
            clusters=self.clusters,
            time=self.time,
            count=self.count,
            positives=self.positives,
            prediction_sum=self.prediction_sum,
        )
        self._refuse_outcome_columns()
        self._refuse_lonely_sum()
        parts = dict.fromkeys(self.keys, Part.KEY)
        parts |= dict.fromkeys(self.columns_by(), Part.VALUE)
        if self.clusters is not None:
            parts[str(self.clusters)] = Part.VALUE
        if self.time is not None:
            parts[str(self.time)] = Part.TIME
        numbers = [self.weight, self.count, self.positives]
        if self.classes is not None:
            parts |= self._class_parts(self.classes, present)
        else:
            numbers.append(self.prediction if self.prediction_sum is None else self.prediction_sum)
            if self.count is None and self.positives is None:
                parts[self.outcome] = Part.OUTCOME if self.kind is None else Part.NUMBER
            if self.kind is not None and self.kind.of_intervals:
                numbers[-1:] = self._ends(self.kind)
        return parts | {str(name): Part.NUMBER for name in numbers if name is not None}

    def _ends(self, kind: KindRequest) -> list[object]:
        """Name the columns of the ends of intervals; that of predictions if it was named."""
        ends = kind.columns
        if ends is None:
            raise kind.no_columns()
        if self.outcome in ends:
            raise InvalidOptionError(f"column {self.outcome!r} must not be the prediction as well")
        named = self.prediction in ends or self.prediction != PREDICTION
        return [*ends, *([self.prediction] if named else [])]

    def _refuse_outcome_columns(self) -> None:
        """Refuse predictions and weights that are the outcomes: they say nothing of forecasts."""
        if self.count is not None or self.positives is not None:
            return
        if self.classes is None and self.prediction == self.outcome:
            raise InvalidOptionError(f"column {self.outcome!r} must not be the prediction as well")
        if isinstance(self.weight, str) and self.weight == self.outcome:
            raise InvalidOptionError(f"column {self.outcome!r} must not be the weight as well")

    def _refuse_lonely_sum(self) -> None:
        """Refuse sums of predictions of which nobody knows how many they are."""
        if self.prediction_sum is not None and self.count is None:
            raise InvalidOptionError(
                "@prediction_sum needs @count and @positives",
                repr(self.prediction_sum),
                "name the columns that hold them",
            )

    def _class_parts(self, classes: Sequence[Any], present: Collection[str]) -> dict[str, Part]:
        if isinstance(classes, str) or not classes:
            raise InvalidOptionError("@classes must name more than two classes", shown(classes))
        names = list(map(str, classes))
        lists = self.prediction in present and not any(name in present for name in names)
        if self.prediction != "prediction" and not lists and all(name in present for name in names):
            raise InvalidOptionError(
                "@prediction has no effect beside columns of classes",
                repr(self.prediction),
                "leave it out",
            )
        numbers = {self.prediction: Part.NUMBERS} if lists else dict.fromkeys(names, Part.NUMBER)
        return {self.outcome: Part.VALUE, **numbers}

    def described(self) -> dict[str, object]:
        """Name the columns that predictions and outcomes were read from."""
        ends = None if self.kind is None else self.kind.columns
        if ends is not None:
            return {"interval": ", ".join(ends), "outcome": self.outcome}
        if self.count is None:
            return {"prediction": self.prediction, "outcome": self.outcome}
        predicted: dict[str, object] = {"prediction": self.prediction}
        if self.prediction_sum is not None:
            predicted = {"prediction sum": self.prediction_sum}
        return predicted | {"count": self.count, "positives": self.positives}

    def where_weighing(self) -> Roles:
        """Keep what stands beside rows that weigh something; the roles hold columns."""
        if self.weight is None:
            return self
        kept = as_floats(read_column(self.weight, "sample_weight"), "sample_weight") > 0

        def where(name: str, values: object) -> object:
            return None if values is None else read_column(values, name, kept.size)[kept]

        by = {name: where(name, values) for name, values in self.labels_by().items()}
        clusters, time = where("clusters", self.clusters), where("time", self.time)
        keys = {name: values[kept] for name, values in self.key_columns().items()}
        return replace(self, by=by, clusters=clusters, time=time, keys=keys)

    @property
    def may_depend(self) -> bool:
        """Whether rows are taken to be independent, and somebody asks whether they are."""
        known = (self.clusters, self.count, self.positives)
        return self.find_keys and all(part is None for part in known)

    def key_columns(self) -> dict[str, Any]:
        """Return the columns that may identify what rows are about, as arrays."""
        return {name: np.ma.asarray(values) for name, values in self.keys.items()}

    def columns_by(self) -> list[str]:
        """Names of the columns that group the rows of a frame or of files."""
        if self.by is None:
            return []
        if isinstance(self.by, str | int):
            return [str(self.by)]
        if not isinstance(self.by, Sequence):
            raise InvalidForecastsError("@by must name columns", type(self.by).__name__)
        return [str(name) for name in self.by]

    def labels_by(self) -> Mapping[str, object]:
        """Labels that group the rows of arrays, by the name of their column."""
        if self.by is None:
            return {}
        if isinstance(self.by, str):
            raise InvalidForecastsError(
                "with arrays, by must hold the labels", repr(self.by), "pass @by={'name': labels}"
            )
        return columns_of(self.by)

    def refuse_with_joint(self) -> None:
        """Refuse parts that need rows."""
        options = {
            "sample_weight": self.weight,
            "clusters": self.clusters,
            "by": self.by,
            "time": self.time,
            "count": self.count,
            "positives": self.positives,
            "prediction_sum": self.prediction_sum,
            "classes": self.classes,
        }
        present = [name for name, value in options.items() if value is not None]
        if present:
            raise InvalidForecastsError(
                f"{', '.join(map(mention, present))} cannot be used with a Joint",
                "a Joint",
                "pass the rows",
            )

    def refuse_with_logits(self) -> None:
        """Refuse what log-odds do not have."""
        if self.classes is not None:
            raise InvalidOptionError(
                "log-odds are of two outcomes",
                "more than two classes",
                "pass softmax of the scores",
            )
        if self.prediction_sum is not None:
            raise InvalidOptionError(
                "@prediction_sum must be a sum of probabilities",
                "log-odds",
                "sum after the logistic",
            )

    def refuse_with_classes(self, labels: Labels) -> None:
        """Refuse what belongs to forecasts of two outcomes."""
        options = {
            "pos_label": labels.positive,
            "neg_label": labels.negative or None,
            "count": self.count,
            "positives": self.positives,
            "prediction_sum": self.prediction_sum,
        }
        present = [name for name, value in options.items() if value is not None]
        if present:
            raise InvalidOptionError(
                f"@{present[0]} is for forecasts of two outcomes", "more than two classes"
            )
