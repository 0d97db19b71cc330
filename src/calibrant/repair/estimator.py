"""What scikit-learn asks of an estimator, so that it can be cloned, searched and put in a pipeline.

scikit-learn itself is optional, so its own base class cannot be.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

from calibrant.errors import InvalidOptionError


class Estimator:
    """Parameters are kept under the names of the arguments of the constructor."""

    fitted_by: ClassVar[str]
    """Name of an attribute that only a fitted estimator has."""
    to_fit: ClassVar[str] = "call fit(y_proba, y_true)"
    """Hint for an estimator that was not fitted."""

    @property
    def name(self) -> str:
        """Name of the kind of estimator."""
        return type(self).__name__

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **parameters: object) -> Self:
        """Change parameters."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise InvalidOptionError(
                    f"{self.name} has the parameters {', '.join(known) or 'none'}", name
                )
            setattr(self, name, value)
        return self

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise InvalidOptionError(f"{self.name} must be fitted first", "", self.to_fit)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self.fitted_by)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(one_d_array=True),
        )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        )
        return f"{self.name}({changed})"
