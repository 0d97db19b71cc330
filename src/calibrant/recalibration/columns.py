"""Columns of what an estimator takes and returns: how many, their names, in which container."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import refuse_unknown
from calibrant.data.input import as_array, is_tensor
from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidTypeError

CONTAINERS = ("default", "pandas", "polars")
MOST_SHOWN = 5


class Tabular:
    """Remembers the columns that it was fitted to, and returns the requested container."""

    n_features_in_: int
    """Number of columns that it was fitted to."""
    feature_names_in_: npt.NDArray[np.object_]
    """Their names, if they had names that are all text."""
    _sklearn_output_config: dict[str, str]

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container that `transform` returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            "default" is an array like what is given; None leaves it as it is.
        """
        if transform is not None:
            refuse_unknown("transform", transform, CONTAINERS)
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns of what `transform` returns: those of what it takes.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns; those seen in the fit by default, or x0, x1, ...
        """
        self._require_fitted()
        fitted_names = getattr(self, "feature_names_in_", None)
        count = getattr(self, "n_features_in_", 1)
        if input_features is None:
            return _names(count) if fitted_names is None else fitted_names
        names = np.asarray(input_features, dtype=object)
        if fitted_names is not None and not np.array_equal(names, fitted_names):
            raise InvalidForecastsError("input_features is not equal to feature_names_in_")
        if names.shape != (count,):
            raise InvalidForecastsError(
                f"input_features should have length equal to number of features ({count})",
                f"{names.size}",
            )
        return names

    def _require_fitted(self) -> None:
        raise NotImplementedError

    def _remember_columns(self, X: object) -> None:  # noqa: N803
        """Remember the columns of what it is fitted to."""
        shape = shape_of(X)
        if len(shape) > 1 and shape[1] == 0:
            raise InvalidForecastsError(
                "X must have a column",
                f"0 feature(s) (shape={shape}) while a minimum of 1 is required",
            )
        self.n_features_in_ = shape[1] if len(shape) > 1 else 1
        names = text_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_columns(self, X: object, alike: Sequence[int] = ()) -> None:  # noqa: N803
        """Refuse other columns than it was fitted to; some numbers of them mean the same."""
        expected = getattr(self, "n_features_in_", None)
        if expected is None:  # fitted to what has no columns: a Joint, or what was stored
            return
        shape, kind = shape_of(X), type(self).__name__
        count = shape[1] if len(shape) > 1 else 1
        fitted_names, names = getattr(self, "feature_names_in_", None), text_names(X)
        if (
            fitted_names is not None
            and names is not None
            and not np.array_equal(fitted_names, names)
        ):
            _refuse_names(fitted_names.tolist(), names.tolist())
        if count == expected or {count, expected} <= set(alike):
            return
        hint = "pass the columns that it was fitted to"
        if len(shape) < 2:
            hint = (
                "Reshape your data with X.reshape(1, -1) if it is one row, or "
                "X.reshape(-1, 1) if it is one column"
            )
        raise InvalidForecastsError(
            f"X has {count} features, but {kind} is expecting {expected} features as input",
            f"shape {shape}",
            hint,
        )

    def _contained(self, values: Floats, X: object) -> Any:  # noqa: N803
        """Return values in the requested container."""
        wanted = self._container()
        if wanted == "default":
            return like(values, X)
        table = values.reshape(len(values), -1)
        names = self.get_feature_names_out()
        if len(names) != table.shape[1]:
            names = _names(table.shape[1])
        import narwhals.stable.v2 as nw

        if wanted == "polars":
            return nw.from_numpy(table, schema=names.tolist(), backend="polars").to_native()
        frame = nw.from_numpy(table, schema=names.tolist(), backend="pandas").to_native()
        index = getattr(X, "index", None)
        return frame if index is None else frame.set_axis(index)

    def _container(self) -> str:
        own = getattr(self, "_sklearn_output_config", {}).get("transform")
        if own is not None:
            return str(own)
        sklearn = sys.modules.get("sklearn")  # who never loaded it cannot have configured it
        wanted = "default" if sklearn is None else sklearn.get_config()["transform_output"]
        if wanted not in CONTAINERS:
            raise InvalidOptionError(
                f"transform_output must be one of {', '.join(CONTAINERS)}", str(wanted)
            )
        return str(wanted)


def like(values: Floats, original: Any) -> Any:
    """Return values as an array of the library that the given ones came from."""
    if isinstance(original, np.ndarray):
        return values
    if hasattr(original, "__array_namespace__"):
        library = original.__array_namespace__()
        return library.asarray(values, device=original.device)
    if is_tensor(original) and "torch" in sys.modules:
        return sys.modules["torch"].as_tensor(values, device=original.device)
    return values


def shape_of(X: Any) -> tuple[int, ...]:  # noqa: N803
    """Shape of any container; sparse ones are refused."""
    refuse_sparse(X)
    if hasattr(X, "shape"):
        return tuple(X.shape)
    return as_array(X, "X").shape


def refuse_sparse(X: object) -> None:  # noqa: N803
    """Refuse sparse matrices: predictions that are mostly exactly 0 are no predictions."""
    if type(X).__module__.startswith("scipy.sparse"):
        raise InvalidTypeError("X must be dense", "Sparse data", "pass X.toarray()")


def text_names(X: Any) -> npt.NDArray[np.object_] | None:  # noqa: N803
    """Names of the columns of a dataframe if all are text."""
    names = getattr(X, "columns", None)
    if names is None or len(getattr(X, "shape", ())) != 2:
        return None
    found = np.asarray(list(names), dtype=object)
    return found if found.size and all(isinstance(name, str) for name in found) else None


def _names(count: int) -> npt.NDArray[np.object_]:
    return np.array([f"x{i}" for i in range(count)], dtype=object)


def _refuse_names(fitted_names: list[str], passed: list[str]) -> None:
    """Say in scikit-learn's words what is wrong with names."""
    unseen, missing = (
        sorted(set(passed) - set(fitted_names)),
        sorted(set(fitted_names) - set(passed)),
    )
    parts = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            listed = [f"- {name}" for name in names[:MOST_SHOWN]]
            parts += [title, *listed, *(["- ..."] if len(names) > MOST_SHOWN else [])]
    if not unseen and not missing:
        parts.append("Feature names must be in the same order as they were in fit.")
    raise InvalidForecastsError("\n".join(parts) + "\n")
