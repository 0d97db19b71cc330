"""What all calibrators share: parameters, fitting, applying, words, export."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from calibrant._base.arrays import Floats, of_mean_one
from calibrant._base.stored import Stored, plain_value, restoring, value_from
from calibrant._base.words import count_text
from calibrant.data.rows import RawRows
from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidStateError
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts, are_classes, as_forecasts
from calibrant.recalibration.class_export import class_python
from calibrant.recalibration.class_forms import AnyForm, ClassForm, class_form_from
from calibrant.recalibration.estimator import Estimator, reading_arguments
from calibrant.recalibration.export import PERCENT, SCALES, UNIT, free_name, python_source
from calibrant.recalibration.forms import Form, Lines, Logistic, LogOddsCurve, Steps, form_from
from calibrant.recalibration.reading import (
    is_number,
    read_predictions,
    read_rows,
    refuse_pos_label,
    refuse_scale,
    shaped,
)

# Predictions are counted in so many cells of [0, 1]: counts do not depend on the order of the rows,
# nor on the last digits that a file or a sum of doubles loses.
CELLS = 2**12
# Rows are recognized if as many others, drawn alike, would have the same counts so rarely.
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
    def of(cls, forecasts: Joint | ClassForecasts) -> Fingerprint | None:
        """Return the fingerprint of rows; None if chance would often give others the same."""
        if isinstance(forecasts, Joint):
            counts, outcomes = _of_two(forecasts)
        else:
            counts, outcomes = _of_classes(forecasts)
        if _chance(counts) > CHANCE:
            return None
        outcome_hash = None if outcomes is None else _hash(outcomes)
        return cls(int(counts.sum()), _hash(counts), outcome_hash)

    @classmethod
    def from_stored(cls, data: Stored) -> Fingerprint:
        """Read what `as_dict` wrote."""
        outcomes = None if data.get("outcomes") is None else data.text("outcomes")
        return cls(data.whole("rows", 1), data.text("predictions"), outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"rows": self.rows, "predictions": self.predictions, "outcomes": self.outcomes}

    def matches(self, forecasts: Joint | ClassForecasts) -> bool:
        """Whether rows are these, by their predictions and, where both know them, outcomes."""
        other = Fingerprint.of(forecasts)
        if other is None or (other.rows, other.predictions) != (self.rows, self.predictions):
            return False
        return None in {other.outcomes, self.outcomes} or other.outcomes == self.outcomes

    def has_predictions(self, prediction: Floats) -> bool:
        """Whether predictions, in a row for each of the rows, are those of these rows."""
        return (
            len(prediction) == self.rows
            and _hash(_counts(_cell_of(prediction))) == self.predictions
        )

    @property
    def warning(self) -> str:
        """Say what follows for somebody who judges the calibrator on these rows."""
        compared = "predictions" if self.outcomes is None else "predictions and outcomes"
        return (
            f"in-sample: the calibrator was fitted to these {count_text(self.rows, 'row')} "
            f"(their {compared} are distributed alike), so that they flatter it; judge it on others"
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
    cell = _cell_of(forecasts.probability)
    number = len(forecasts.classes)
    both = np.bincount(cell * number + forecasts.label, minlength=CELLS * number)
    weight = forecasts.weight
    equal = weight is None or bool((weight == weight[0]).all())
    return _counts(cell), np.asarray(both, dtype=np.float64) if equal else None


def _cell_of(prediction: Floats) -> Any:
    """Cell of each row; of classes, that of a mean of their numbers."""
    if prediction.ndim == 2:
        number = prediction.shape[1]
        prediction = prediction @ (np.arange(number) / (number - 1))
    # As searchsorted has it: a prediction on an edge belongs to the cell above.
    return np.clip((prediction * CELLS).astype(np.intp), 0, CELLS - 1)


def _counts(cell: Any) -> Floats:
    return np.asarray(np.bincount(cell, minlength=CELLS), dtype=np.float64)


def _hash(counts: Floats) -> str:
    return hashlib.sha256(np.ascontiguousarray(counts).tobytes()).hexdigest()[:16]


def _chance(counts: Floats) -> float:
    """Chance that as many rows, drawn from cells in these shares, have just these counts."""
    from scipy.special import gammaln

    some = counts[counts > 0]
    total = float(some.sum())
    log = gammaln(total + 1) - gammaln(some + 1).sum() + float(some @ np.log(some / total))
    return float(np.exp(min(log, 0.0)))


SCHEMA = 1
# Predictions of two outcomes in one column mean the same as in two.
TWO_OUTCOMES = (1, 2)


class Calibrator(Estimator):
    """A function of predictions that is fitted to outcomes: an estimator in scikit-learn's sense.

    Subclasses implement `_fitted` for two outcomes, `_fitted_to_classes` for classes, or both.
    """

    fitted_by = "form_"
    method: ClassVar[str]
    """Name by which `recalibrate` and `--methods` know it."""
    title: ClassVar[str]
    """What it is called in sentences."""
    for_two: ClassVar[bool] = True
    """Whether it can be fitted to predictions of two outcomes."""
    for_classes: ClassVar[bool] = False
    """Whether it can be fitted to rows of probabilities of classes."""
    simple: ClassVar[bool] = False
    """Whether it has so few parameters, two or three, that few rows suffice to fit it."""
    on_request: ClassVar[bool] = False
    """Whether `recalibrate` tries it only where it is named."""
    learned: ClassVar[tuple[str, ...]] = ()
    """Names of the fitted numbers that belong in an export."""
    form_: AnyForm
    """The fitted calibrator as one of a few functions, of probabilities."""
    classes_: tuple[Any, ...] | None = None
    """Names of the classes that it was fitted to; None for two outcomes."""
    scale_: str = UNIT
    """Units of the predictions that it takes: "unit", "percent" or "logit". It returns
    probabilities."""
    pos_label_: object = None
    """The label that counted as outcome 1 in the fit, which names a column of frames."""
    training_fingerprint_: Fingerprint | None = None
    """Fingerprint of its training rows; None if they are too few to be recognized."""

    def fit(
        self,
        X: object,  # noqa: N803 (the name that scikit-learn uses)
        y: object = None,
        sample_weight: object = None,
        *,
        pos_label: object = None,
        classes: Sequence[Any] | None = None,
    ) -> Self:
        """Fit the calibrator to predictions and outcomes.

        Parameters
        ----------
        X : Joint, ClassForecasts, or array-like of shape (n,), (n, 1), (n, 2) or (n, K)
            What was read before, predicted probabilities of outcome 1, or rows of probabilities
            of K classes. Two columns are those of outcomes 0 and 1, unless `classes` names them
            or the calibrator is for classes only.
        y : array-like of shape (n,), optional
            Outcomes or labels; left out with a Joint or ClassForecasts.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows. Only their ratios matter: they are divided by their mean, so that
            they add no evidence. Counts are for `Joint.from_counts`.
        pos_label : object, optional
            The label that counts as outcome 1; not for classes.
        classes : sequence of length K, optional
            Names of the classes in the order of the columns.

        Returns
        -------
        The calibrator itself.
        """
        forecasts: Joint | ClassForecasts
        if isinstance(X, Joint):
            forecasts = X
        elif isinstance(X, ClassForecasts):
            refuse_pos_label(pos_label)
            with reading_arguments():
                forecasts = as_forecasts(X, y, classes, sample_weight)
        else:
            if y is None:
                raise InvalidForecastsError(
                    f"{self._class_name} requires y to be passed, but the target y is None"
                )
            self._remember_columns(X)
            with reading_arguments():
                forecasts = self._read(
                    self._as_probabilities(X), y, sample_weight, pos_label, classes
                )
        self.learn(forecasts)
        self.training_fingerprint_, self.pos_label_ = Fingerprint.of(forecasts), pos_label
        return self

    def learn(self, forecasts: Joint | ClassForecasts) -> Self:
        """Fit to forecasts that were read, without a fingerprint: to evaluate calibrators."""
        forecasts = _of_mean_weight_one(forecasts)
        if isinstance(forecasts, Joint):
            self.form_, self.classes_ = self._fitted(forecasts), None
        else:
            self.form_, self.classes_ = self._fitted_to_classes(forecasts), forecasts.classes
        self.scale_, self.training_fingerprint_, self.pos_label_ = UNIT, None, None
        return self

    def _as_probabilities(self, X: object) -> object:  # noqa: N803
        """Read what is given as probabilities; a subclass may take other numbers."""
        return X

    def _read(
        self,
        y_proba: object,
        y_true: object,
        sample_weight: object,
        pos_label: object,
        classes: Sequence[Any] | None,
    ) -> Joint | ClassForecasts:
        """Read predictions and outcomes as what the calibrator can be fitted to."""
        if self.for_two and not are_classes(y_true, y_proba, classes):
            return Joint.from_rows(RawRows.read(y_true, y_proba, sample_weight, pos_label))
        refuse_pos_label(pos_label)
        return as_forecasts(y_true, y_proba, classes, sample_weight)

    @property
    def label(self) -> str:
        """Name in tables and JSON: the method, and what was added to it."""
        return self.method

    def with_scale(self, scale: str) -> Self:
        """Return the same calibrator for predictions in other units.

        Parameters
        ----------
        scale : {"unit", "percent", "logit"}
            Units of the predictions that `transform`, the stored calibrator and its exports take:
            with "percent" 1 means one per cent, with "logit" 0 means one half (log-odds, for two
            outcomes only). What they return is a probability in [0, 1].

        Examples
        --------
        >>> from calibrant.recalibration import Identity
        >>> Identity().fit([0.2, 0.7], [0, 1]).with_scale("percent").transform([1, 50])
        array([0.01, 0.5 ])
        """
        self._require_fitted()
        refuse_scale(scale, self.classes_)
        other = copy(self)
        other.scale_ = scale
        return other

    def transform(self, X: object, by: object = None) -> Any:  # noqa: ARG002, N803
        """Recalibrate predictions; they come back in the shape in which they were given.

        Parameters
        ----------
        X : float, or array-like of shape (n,), (n, 1) or (n, 2); (n, K) for a calibrator of classes
            Predictions, in the units of `scale_`.
        by : mapping of str to array-like, frame, or array of shape (n, k), optional
            Columns of groups. Only calibrators with patches for groups look at them.

        Returns
        -------
        float or array
            Probabilities in [0, 1]: a number for a number, an array of the same library for an
            array, or what `set_output` requested.
        """
        self._require_fitted()
        with reading_arguments():
            if is_number(X):
                return float(self._recalibrated(np.array([X]).reshape(1))[0])
            if isinstance(X, ClassForecasts):
                return self._recalibrated(X)
            self._check_columns(X, TWO_OUTCOMES if self.classes_ is None else ())
            return self._contained(self._recalibrated(self._as_probabilities(X)), X)

    def _recalibrated(self, y_proba: object) -> Floats:
        """Recalibrate predictions, in the shape in which they were given."""
        if self.classes_ is not None:
            rows, order = read_rows(y_proba, self.classes_, self.scale_)
            recalibrated = self.form_(rows)
            return recalibrated if order is None else recalibrated[:, np.argsort(order)]
        prediction = read_predictions(y_proba, self.scale_, self.pos_label_)
        return shaped(self.form_(prediction), y_proba, self.pos_label_)

    def fit_transform(
        self,
        X: object,  # noqa: N803
        y: object = None,
        sample_weight: object = None,
        **options: Any,
    ) -> Any:
        """Fit, and recalibrate the same rows: for pipelines, never to judge a calibrator."""
        return self.fit(X, y, sample_weight, **options).transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = self.for_two
        tags.input_tags.two_d_array = self.for_classes
        return tags

    def __call__(self, prediction: Floats) -> Floats:
        """Recalibrate probabilities, as `Joint.apply` asks."""
        self._require_fitted()
        return form_of_two(self)(read_predictions(prediction))

    def inverse_threshold(self, threshold: float) -> float:
        """Find the threshold of predictions that does what a threshold of recalibrated ones does.

        For a system that cannot apply the calibrator, but can change its threshold.

        Parameters
        ----------
        threshold : float
            Threshold of recalibrated probabilities, in (0, 1).

        Returns
        -------
        float
            The least prediction, in the units of `scale_`, that becomes `threshold` or more: the
            same rows are at or above both. Calibrators that do not increase are refused.

        Examples
        --------
        >>> from calibrant.recalibration import PriorCorrection
        >>> shift = PriorCorrection(sampling_rate=0.25).fit([0.5, 0.5], [0, 1])
        >>> round(shift.inverse_threshold(0.2), 3)
        0.5
        """
        from calibrant.recalibration.thresholds import inverse_threshold

        self._require_fitted()
        return inverse_threshold(self, threshold)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted calibrator as plain data; `load` takes it back."""
        self._require_fitted()
        stored: dict[str, Any] = {
            "schema": SCHEMA,
            "calibrator": self.method,
            "parameters": self.get_params(),
            "fitted": {name: getattr(self, name) for name in self.learned},
            "form": self.form_.as_dict(),
            "scale": self.scale_,
            "sentence": self.sentence,
        }
        if self.classes_ is not None:
            stored["classes"] = [plain_value(name) for name in self.classes_]
        if self.training_fingerprint_ is not None:
            stored["training_fingerprint"] = self.training_fingerprint_.as_dict()
        return stored

    def to_json(self) -> str:
        """Return the fitted calibrator as JSON; `load` takes it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function without dependencies.

        It takes one prediction in the units of `scale_` and returns a probability in [0, 1]; that
        of a calibrator of classes takes and returns a list of probabilities in the order of
        `classes_`. That of a calibrator with patches takes a dictionary of the columns of the
        groups as well.
        """
        self._require_fitted()
        description = (free_name(name), self.sentence, self.scale_)
        if self.classes_ is not None:
            return class_python(self.form_, self.classes_, *description)
        return python_source(form_of_two(self), *description)

    def to_sql(
        self,
        column: str | Sequence[str] | None = None,
        *,
        table: str | None = None,
        keep: Sequence[str] = (),
        name: str = "recalibrated",
        dialect: str = "duckdb",
    ) -> str:
        """Return the calibrator as SQL: an expression, a select list for classes, or a whole query.

        Parameters
        ----------
        column : str, or sequence of str, optional
            Column of predictions, in the units of `scale_`: "prediction" by default. For a
            calibrator of classes the columns of their probabilities: those named like the classes
            by default. Columns of groups have their own names.
        table : str, optional
            Table with these columns. With it the answer is a query in steps, which every calibrator
            can be written as; some are too long for an expression.
        keep : sequence of str, optional
            Further columns that the query returns.
        name : str, default="recalibrated"
            Name of the new column of a query; of the new columns of a calibrator of classes the
            beginning, before "_" and the class.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Returns
        -------
        str
            Probabilities in [0, 1]; NULL where there is no prediction, or none that can be. Text
            that is no number is NULL in SQLite, whose columns hold text whatever their type; it
            ends the query elsewhere. In columns of groups NULL is missing, and so is NaN. Times
            are compared as moments, those without a time zone as if they were in UTC; in Spark
            in the time zone of the session.
        """
        from calibrant.recalibration.sql import select_text

        self._require_fitted()
        return select_text(self, column, table, keep, name, dialect)

    def to_onnx(self, *, name: str = "recalibrated") -> Any:
        """Return the calibrator as an ONNX model; needs the package `onnx`.

        Parameters
        ----------
        name : str, default="recalibrated"
            Name of its output.

        Returns
        -------
        onnx.ModelProto
            It takes "prediction", doubles in the units of `scale_`, of shape (n,), or (n, K) in the
            order of `classes_`, and returns probabilities of the same shape; NaN where a prediction
            is NaN, in the whole row of classes if one of them is. What is outside of [0, 1] is
            moved to its end: a graph cannot refuse it. Steps are looked up by comparing each
            prediction with each start, which takes memory of their product.
        """
        from calibrant.recalibration.onnx import onnx_model

        self._require_fitted()
        return onnx_model(self, name)

    def _restored(self, data: Stored) -> Self:
        """Take over what was fitted from plain data."""
        if data.has("classes"):
            self.classes_ = _classes_from(data)
            self.form_ = class_form_from(data.part("form"), len(self.classes_))
        else:
            self.form_ = form_from(data.part("form"))
        if not (self.for_two if self.classes_ is None else self.for_classes):
            raise InvalidStateError(
                f"{data.what} must be fitted to what {self._class_name} can be fitted to",
                "two outcomes" if self.classes_ is None else "classes",
            )
        scales = SCALES if self.classes_ is None else (UNIT, PERCENT)
        self.scale_ = data.choice("scale", scales)
        if data.has("training_fingerprint"):
            self.training_fingerprint_ = Fingerprint.from_stored(data.part("training_fingerprint"))
        fitted = data.part("fitted")
        for name in self.learned:
            if name == "note_":
                fitted.text(name)
            else:
                fitted.number(name)
            setattr(self, name, fitted.get(name))
        return self

    @classmethod
    def _from_stored(cls, data: Stored) -> Self:
        """Make a fitted calibrator from plain data."""
        parameters = data.part("parameters")
        if set(parameters.data) != set(cls().get_params()):
            raise InvalidStateError(
                f"parameters of {data.what} must be those of {cls.__name__}",
                ", ".join(map(str, parameters.data)) or "none",
            )
        for name, value in parameters.data.items():
            if not (value is None or isinstance(value, bool | str)):
                parameters.number(name)
        with restoring(data.what):
            made = cls(**parameters.data)
            made._restored(data)
            with np.errstate(all="raise"):
                _ = made.sentence  # numbers that no fit gives may not even be told
        return made

    def _fitted(self, joint: Joint) -> Form:
        """Fit to a Joint and return the function."""
        raise NotImplementedError

    def _fitted_to_classes(self, forecasts: ClassForecasts) -> ClassForm:
        """Fit to forecasts of classes and return the function."""
        raise InvalidForecastsError(
            f"{self._class_name} is for two outcomes",
            f"forecasts of {len(forecasts.classes)} classes",
            "use Temperature, VectorScaling, Dirichlet or OneVsRestIsotonicCalibration",
        )


def _of_mean_weight_one(forecasts: Joint | ClassForecasts) -> Joint | ClassForecasts:
    """Return forecasts with weights that sum to the number of rows: their unit has no meaning."""
    if isinstance(forecasts, ClassForecasts):
        weight = forecasts.weight
        return forecasts if weight is None else replace(forecasts, weight=of_mean_one(weight))
    return forecasts.of_mean_weight_one()


def form_of_two(fitted: Calibrator) -> Form:
    """Return the function of a calibrator of two outcomes."""
    form = fitted.form_
    if not isinstance(form, Steps | Lines | Logistic | LogOddsCurve):
        raise InvalidOptionError(
            "the calibrator must be of two outcomes", "a calibrator of classes"
        )
    return form


def _classes_from(data: Stored) -> tuple[Any, ...]:
    names = tuple(value_from(name, "a stored class") for name in data.entries("classes"))
    if len(names) < 2 or len(set(map(str, names))) < len(names):
        raise InvalidStateError(
            f"classes of {data.what} must be at least two different names", f"{names!r:.60}"
        )
    return names
