"""What all maps share: parameters, fitting, applying, words, export."""

from __future__ import annotations

import json
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.data.rows import Given, predictions_alone
from calibrant.errors import InvalidStateError
from calibrant.joint import Joint
from calibrant.options import check_flag, refuse_unknown
from calibrant.regression import rows_behind
from calibrant.repair.estimator import Estimator
from calibrant.repair.forms import Form, form_from
from calibrant.repair.quoting import dialect_of
from calibrant.repair.texts import (
    PERCENT,
    SCALES,
    UNIT,
    free_name,
    python_source,
    sql_expression,
)
from calibrant.stored import Stored, restoring

SCHEMA = 1


class RecalibrationMap(Estimator):
    """A map of predictions that is fitted to outcomes: an estimator in scikit-learn's sense.

    Subclasses implement `_fitted`.
    """

    fitted_by = "form_"
    order: ClassVar[int]
    """Place among the maps from the simplest to the most flexible."""
    learned: ClassVar[tuple[str, ...]] = ()
    """Names of the fitted numbers that belong in an export."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Columns that it looks at beside the predictions: none."""
    text_columns: ClassVar[tuple[str, ...]] = ()
    """Those of the columns whose values are text."""
    form_: Form
    """The fitted map as one of a few functions, of probabilities."""
    scale_: str = UNIT
    """Units of the predictions that it takes: "unit" or "percent". It returns probabilities."""

    def fit(
        self,
        y_proba: object,
        y_true: object = None,
        sample_weight: object = None,
        *,
        pos_label: object = None,
    ) -> Self:
        """Fit the map to predictions and outcomes.

        Parameters
        ----------
        y_proba : Joint, or array-like of shape (n,), (n, 1) or (n, 2)
            A Joint, or predicted probabilities of outcome 1.
        y_true : array-like of shape (n,), optional
            Outcomes; left out with a Joint.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows: a row of weight k counts like k rows.
        pos_label : object, optional
            The label that counts as outcome 1.

        Returns
        -------
        The map itself.
        """
        if isinstance(y_proba, Joint):
            joint = y_proba
        else:
            joint = Joint.from_rows(Given.read(y_true, y_proba, sample_weight, pos_label))
        self.form_ = self._fitted(joint)
        self.scale_ = UNIT
        return self

    def with_scale(self, scale: str) -> Self:
        """Return the same map for predictions in other units.

        Parameters
        ----------
        scale : {"unit", "percent"}
            Units of the predictions that `transform`, the stored map and its exports take:
            with "percent" 1 means one per cent. What they return is a probability in [0, 1].

        Examples
        --------
        >>> from calibrant.repair import Identity
        >>> Identity().fit([0.2, 0.7], [0, 1]).with_scale("percent").transform([1, 50])
        array([0.01, 0.5 ])
        """
        self._require_fitted()
        refuse_unknown("scale", scale, SCALES)
        other = copy(self)
        other.scale_ = scale
        return other

    def transform(self, y_proba: object) -> npt.NDArray[np.float64]:
        """Recalibrate predictions; they come back in the shape in which they were given."""
        self._require_fitted()
        given = np.shape(y_proba) if hasattr(y_proba, "shape") else np.asarray(y_proba).shape
        prediction = read_predictions(y_proba, self.scale_)
        repaired = self.form_(prediction)
        if given[1:] == (2,):
            return np.column_stack([1 - repaired, repaired])
        return repaired.reshape(given)

    def fit_transform(
        self, y_proba: object, y_true: object = None, sample_weight: object = None
    ) -> npt.NDArray[np.float64]:
        """Fit, and recalibrate the same rows: for pipelines, never to judge a map."""
        return self.fit(y_proba, y_true, sample_weight).transform(y_proba)

    def __call__(self, prediction: Floats) -> Floats:
        """Recalibrate probabilities, as `Joint.apply` asks."""
        self._require_fitted()
        return self.form_(read_predictions(prediction))

    @property
    def sentence(self) -> str:
        """What the fitted map does, in words."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted map as plain data; `load` takes it back."""
        self._require_fitted()
        return {
            "schema": SCHEMA,
            "map": self.name,
            "parameters": self.get_params(),
            "fitted": {name: getattr(self, name) for name in self.learned},
            "form": self.form_.as_dict(),
            "scale": self.scale_,
            "sentence": self.sentence,
        }

    def to_json(self) -> str:
        """Return the fitted map as JSON; `load` takes it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function of one prediction, without dependencies.

        It takes the units of `scale_` and returns a probability in [0, 1].
        """
        self._require_fitted()
        return python_source(self.form_, free_name(name), self.sentence, self.scale_)

    def to_sql(self, column: str = "prediction", *, dialect: str = "duckdb") -> str:
        """Return the map as an expression of SQL.

        Parameters
        ----------
        column : str, default="prediction"
            Column of predictions, in the units of `scale_`.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Returns
        -------
        str
            A probability in [0, 1]; NULL where the column holds no prediction.
        """
        self._require_fitted()
        return sql_expression(self.form_, column, dialect, self.scale_)

    def corrected(self, value: str, dialect: str) -> str:
        """Return SQL for what becomes of a value of the map: nothing else."""
        dialect_of(dialect)
        return value

    def strange(self, dialect: str) -> str:
        """Return a condition of SQL for rows with values that the fit has not seen: none has."""
        dialect_of(dialect)
        return "1 = 0"

    def restored(self, data: Stored) -> Self:
        """Take over what was fitted from plain data."""
        self.form_ = form_from(data.part("form"))
        self.scale_ = data.choice("scale", SCALES)
        fitted = data.part("fitted")
        for name in self.learned:
            if name == "note_":
                fitted.text(name)
            else:
                fitted.number(name)
            setattr(self, name, fitted.get(name))
        return self

    def _fitted(self, joint: Joint) -> Form:
        """Fit to a Joint and return the function."""
        raise NotImplementedError


def load_map(data: Stored, maps: dict[str, type[RecalibrationMap]]) -> RecalibrationMap:
    """Make a fitted map from plain data."""
    data.require_schema(SCHEMA)
    kind = maps[data.choice("map", maps)]
    parameters = data.part("parameters")
    if set(parameters.data) != set(kind().get_params()):
        raise InvalidStateError(
            f"parameters of {data.what} must be those of {kind.__name__}",
            ", ".join(map(str, parameters.data)) or "none",
        )
    for name, value in parameters.data.items():
        if not (value is None or isinstance(value, bool | str)):
            parameters.number(name)
    with restoring(data.what):
        made = kind(**parameters.data).restored(data)
        with np.errstate(all="raise"):
            _ = made.sentence  # numbers that no fit gives may not even be told
    return made


def read_predictions(y_proba: object, scale: str = UNIT) -> Floats:
    """Read predictions alone through the gate, as probabilities in [0, 1]."""
    return predictions_alone(y_proba, 100.0 if scale == PERCENT else 1.0)


def away_from_ends(value: Floats, joint: Joint, *, allow_certain: bool) -> Floats:
    """Keep values off 0 and 1 by half a row in all rows and one, unless certainty is asked for."""
    if check_flag("allow_certain", allow_certain):
        return value
    least = 0.5 / (rows_behind(joint) + 1)
    return np.clip(value, least, 1 - least)
