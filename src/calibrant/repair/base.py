"""What all maps share: parameters, fitting, applying, words, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint, Rows
from calibrant.joint.gate import Floats
from calibrant.options import check_flag
from calibrant.repair.estimator import Estimator
from calibrant.repair.forms import Form, form_from
from calibrant.repair.texts import dialect_of, python_source, sql_expression

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
    form_: Form
    """The fitted map as one of a few functions."""

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
            joint = Joint.from_rows(Rows.read(y_true, y_proba, sample_weight, pos_label))
        self.form_ = self._fitted(joint)
        return self

    def transform(self, y_proba: object) -> npt.NDArray[np.float64]:
        """Recalibrate predictions; they come back in the shape in which they were given."""
        self._require_fitted()
        given = np.shape(y_proba) if hasattr(y_proba, "shape") else np.asarray(y_proba).shape
        prediction = read_predictions(y_proba)
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
        """Recalibrate predictions, as `Joint.apply` asks."""
        return self.transform(prediction)

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
            "sentence": self.sentence,
        }

    def to_json(self) -> str:
        """Return the fitted map as JSON; `load` takes it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function of one probability, without dependencies."""
        self._require_fitted()
        return python_source(self.form_, name, self.sentence)

    def to_sql(self, column: str = "prediction", *, dialect: str = "duckdb") -> str:
        """Return the map as an expression of SQL.

        Parameters
        ----------
        column : str, default="prediction"
            Column of predictions.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Returns
        -------
        str
            NULL where the column holds no probability.
        """
        self._require_fitted()
        return sql_expression(self.form_, column, dialect)

    def corrected(self, value: str, dialect: str) -> str:
        """Return SQL for what becomes of a value of the map: nothing else."""
        dialect_of(dialect)
        return value

    def strange(self, dialect: str) -> str:
        """Return a condition of SQL for rows with values that the fit has not seen: none has."""
        dialect_of(dialect)
        return "1 = 0"

    def restored(self, data: dict[str, Any]) -> Self:
        """Take over what was fitted from plain data."""
        self.form_ = form_from(data["form"])
        for name in self.learned:
            setattr(self, name, data["fitted"][name])
        return self

    def _fitted(self, joint: Joint) -> Form:
        """Fit to a Joint and return the function."""
        raise NotImplementedError


def load_dict(data: object, maps: dict[str, type[RecalibrationMap]]) -> RecalibrationMap:
    """Make a fitted map from plain data."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        schema = data.get("schema") if isinstance(data, dict) else None
        raise InvalidOptionError(f"a stored map must have schema {SCHEMA}", repr(schema))
    if data.get("map") not in maps:
        raise InvalidOptionError(
            f"a stored map must be one of {', '.join(maps)}", repr(data.get("map"))
        )
    try:
        return maps[data["map"]](**data["parameters"]).restored(data)
    except (KeyError, TypeError) as error:
        raise InvalidOptionError("a stored map must be complete", str(error)) from error


def read_text(source: str | Path) -> str:
    """Read a file, or take text that is JSON already."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    try:
        return Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidOptionError("a map must be readable", str(error)) from error


def read_predictions(y_proba: object) -> Floats:
    """Read predictions alone through the gate, in [0, 1]."""
    rows = Rows.read(np.zeros(len(y_proba)), y_proba)  # type: ignore[arg-type]
    prediction = rows.prediction
    low, high = float(prediction.min()), float(prediction.max())
    if not (low >= 0 and high <= 1):  # also for NaN
        prediction = rows.cure().prediction
    return prediction


def rows_behind(joint: Joint) -> float:
    """Return the total weight as a number of rows; weights that were normalised count once each."""
    return max(joint.total, float(joint.row_count))


def away_from_ends(value: Floats, joint: Joint, *, allow_certain: bool) -> Floats:
    """Keep values off 0 and 1 by half a row in all rows and one, unless certainty is asked for."""
    if check_flag("allow_certain", allow_certain):
        return value
    least = 0.5 / (rows_behind(joint) + 1)
    return np.clip(value, least, 1 - least)
