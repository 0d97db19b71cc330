"""A classifier around a classifier: what scikit-learn asks of it, and what it hands on."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Indices
from calibrant.errors import CalibrantWarning
from calibrant.models.rows import take, takes_rows
from calibrant.recalibration import Classifier

MOST_LABELS_SHOWN = 5


class ModelWrapper(Classifier):
    """A classifier that fits another one and changes what it answers."""

    estimator: Any

    def get_metadata_routing(self) -> Any:
        """Return what it requests itself, and what the estimator inside requests."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        router = MetadataRouter(owner=self).add_self_request(self._own_requests())
        fits = MethodMapping().add(caller="fit", callee="fit")
        router.add(estimator=self.estimator, method_mapping=fits)
        splitter = getattr(self, "cv", None)
        if hasattr(splitter, "get_metadata_routing"):
            splits = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=splitter, method_mapping=splits)
        return router

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]
        """Number of columns that the model was fitted to."""
        return int(self._from_fitted_model("n_features_in_"))

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:  # type: ignore[override]
        """Names of the columns that the model was fitted to, if they had any."""
        return np.asarray(self._from_fitted_model("feature_names_in_"), dtype=object)

    @property
    def _is_prefit(self) -> bool:
        """Whether the model inside came fitted."""
        raise NotImplementedError

    def _models(self) -> list[Any]:
        """Return the fitted models inside."""
        raise NotImplementedError

    def _from_fitted_model(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"{self._class_name} has no attribute {name!r} before it is fitted"
            )
        return getattr(self._models()[0], name)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = copy.copy(get_tags(self.estimator).input_tags)
        return tags

    def __sklearn_clone__(self) -> Self:
        """Clone it; a model that was fitted before is kept, because it is not fitted again."""
        from sklearn.base import clone

        parameters = self.get_params(deep=False)
        kept = {"estimator"} if self._is_prefit else set()
        new = type(self)(
            **{
                name: value if name in kept else clone(value, safe=False)
                for name, value in parameters.items()
            }
        )
        if hasattr(self, "_metadata_request"):
            new._metadata_request = copy.deepcopy(self._metadata_request)  # noqa: SLF001
        return new

    def _routed(
        self, sample_weight: object, extra: dict[str, Any], fit_params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments of the fit of the model, and those of the split."""
        if _routing_enabled():
            from sklearn.utils.metadata_routing import process_routing

            passed = {"sample_weight": sample_weight, **extra, **fit_params}
            passed = {name: value for name, value in passed.items() if value is not None}
            routed = process_routing(self, "fit", **passed)
            return dict(routed.estimator.fit), dict(getattr(routed, "splitter", _NO_SPLIT).split)
        fitting = dict(fit_params)
        if sample_weight is not None:
            takes = inspect.signature(self.estimator.fit).parameters
            if "sample_weight" in takes:
                fitting["sample_weight"] = sample_weight
            else:
                warnings.warn(
                    f"fit of {type(self.estimator).__name__} takes no sample_weight: weights are "
                    "used for the calibrator alone. In a pipeline, use metadata routing and let "
                    "the last step ask for them.",
                    CalibrantWarning,
                    stacklevel=3,
                )
        return fitting, {}


class _NoSplit:
    split: ClassVar[dict[str, Any]] = {}


_NO_SPLIT = _NoSplit()


def _routing_enabled() -> bool:
    try:
        from sklearn import get_config
    except ImportError:
        return False
    return bool(get_config().get("enable_metadata_routing", False))


def unfitted(estimator: Any) -> Any:
    """Return a model like it that was not fitted."""
    try:
        from sklearn.base import clone
    except ImportError:
        if hasattr(estimator, "get_params"):
            return type(estimator)(**copy.deepcopy(estimator.get_params(deep=False)))
        return copy.deepcopy(estimator)
    return clone(estimator, safe=False)


def fitted_to(
    estimator: Any,
    X: Any,  # noqa: N803
    y: npt.NDArray[Any],
    rows: Indices | None,
    extra: dict[str, Any],
) -> Any:
    """Fit a fresh model to some of the rows, or to all."""
    size = len(y)
    if rows is not None:
        X, y = take(X, rows), y[rows]  # noqa: N806
        extra = {
            name: take(value, rows) if takes_rows(value, size) else value
            for name, value in extra.items()
        }
    model = unfitted(estimator)
    model.fit(X, y, **extra)
    return model
