"""What scikit-learn asks of an estimator, so that it can be cloned, searched and put in a pipeline.

scikit-learn itself is optional, so its own base class cannot be: what it asks for is offered here,
and its modules are imported by the calls that need them.
"""

from __future__ import annotations

import inspect
import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.data.input import as_array, one_column, refuse_other_labels
from calibrant.errors import InvalidOptionError, NotFittedError, arguments_named
from calibrant.recalibration.columns import Tabular
from calibrant.recalibration.routing import Routed


def reading_arguments() -> AbstractContextManager[None]:
    """Let errors of reading name the arguments of an estimator, X and y."""
    return arguments_named(y_proba="X", y_true="y")


class Estimator(Tabular, Routed):
    """Parameters are kept under the names of the arguments of the constructor."""

    fitted_by: ClassVar[str]
    """Name of an attribute that only a fitted estimator has."""
    to_fit: ClassVar[str] = "call fit(X, y)"
    """Hint for an estimator that was not fitted."""

    @property
    def _class_name(self) -> str:
        """Name of the class, for messages."""
        return type(self).__name__

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of estimators among them are returned as well, as `outer__inner`.
        """
        found: dict[str, Any] = {}
        for name in inspect.signature(type(self)).parameters:
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params().items()
                found |= {f"{name}__{parameter}": of_inner for parameter, of_inner in inner}
        return found

    def set_params(self, **parameters: object) -> Self:
        """Change parameters; `outer__inner` is the parameter of an estimator among them."""
        known = self.get_params(deep=False)
        inner: dict[str, dict[str, object]] = {}
        for name, value in parameters.items():
            outer, _, rest = name.partition("__")
            if outer not in known:
                raise InvalidOptionError(
                    f"{self._class_name} has the parameters {', '.join(known) or 'none'}", name
                )
            if rest:
                inner.setdefault(outer, {})[rest] = value
            else:
                setattr(self, name, value)
        for outer, some in inner.items():
            getattr(self, outer).set_params(**some)
        return self

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            kind = _not_fitted_everywhere() if "sklearn.exceptions" in sys.modules else None
            raise (kind or NotFittedError)(
                f"{self._class_name} must be fitted first", "", self.to_fit
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self.fitted_by)

    def __sklearn_tags__(self) -> Any:
        """Say what it is: a transformer of one dimension, that of the predictions of outcome 1."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False),
        )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if value is not defaults[name].default and not _equal(value, defaults[name].default)
        )
        return f"{self._class_name}({changed})"


class Classifier(Estimator):
    """A classifier: labels of classes, and the probability of each."""

    fitted_by = "classes_"
    routed_methods: ClassVar[tuple[str, ...]] = ("fit", "score")
    classes_: npt.NDArray[Any]
    """Labels of the classes, sorted."""

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Say which arguments of `score` are wanted, as for `set_fit_request`."""
        return self._request("score", requests)

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each class, a column for each in the order of `classes_`."""
        raise NotImplementedError

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Return the most likely class of each row."""
        chance = self.predict_proba(X)
        return np.asarray(self.classes_[chance.argmax(axis=1)])

    def score(self, X: Any, y: object, sample_weight: object = None) -> float:  # noqa: N803
        """Return the share of rows that are predicted right, as classifiers do."""
        refuse_other_labels(X=X, y=y, sample_weight=sample_weight)
        right = self.predict(X) == one_column(as_array(y, "y"), "y")
        weight = None if sample_weight is None else as_array(sample_weight, "sample_weight")
        return float(np.average(right, weights=weight))

    def __sklearn_tags__(self) -> Any:
        """Say what it is: a classifier that needs a target."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
            array_api_support=False,
        )


def _equal(value: object, default: object) -> bool:
    """Whether a parameter has its default; arrays and frames never do."""
    return type(value) is type(default) and bool(value == default)


@cache
def _not_fitted_everywhere() -> type[NotFittedError]:
    """Make an error that is caught as ours and as scikit-learn's."""
    from sklearn.exceptions import NotFittedError as Theirs

    class _NotFittedError(NotFittedError, Theirs):  # type: ignore[misc]
        """An estimator that was used before it was fitted."""

        def __reduce__(self) -> tuple[type[NotFittedError], tuple[Any, ...]]:
            return NotFittedError, self.texts

    _NotFittedError.__name__ = _NotFittedError.__qualname__ = NotFittedError.__name__
    return _NotFittedError
