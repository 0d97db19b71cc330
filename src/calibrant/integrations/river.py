"""The stream recalibrator as a river classifier; importing this module needs river."""

from __future__ import annotations

from typing import Any

from calibrant.errors import MissingPackageError
from calibrant.online import Key, StreamRecalibrator

try:
    from river import base
except ImportError as error:
    raise MissingPackageError(
        "this module needs river", "no such package", "pip install river"
    ) from error


class RiverRecalibrator(base.Wrapper, base.Classifier):  # type: ignore[misc]
    """Wrap a river classifier so that its probabilities stay calibrated on any stream.

    `StreamRecalibrator` with river's base classes, for pipelines, metrics and evaluation. Keys of
    delayed outcomes travel as `key=` through pipelines.

    Parameters
    ----------
    classifier : river.base.Classifier
        The model, of two classes.
    cells : int, default=10
        Number of cells of the model's probability. At most 2**20.
    trust : float, default=4.0
        How many outcomes it takes to move away from the model's own probability.

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | RiverRecalibrator(linear_model.Perceptron())
    >>> for chance in [0.2, 0.9, 0.4, 0.7] * 50:
    ...     said = model.predict_proba_one({"chance": chance})
    ...     model.learn_one({"chance": chance}, chance > 0.5)
    >>> said[True] > 0.9
    True
    """

    def __init__(self, classifier: Any, cells: int = 10, trust: float = 4.0) -> None:
        self.classifier, self.cells, self.trust = classifier, cells, trust
        self.recalibrator = StreamRecalibrator(classifier, cells=cells, trust=trust)

    @property
    def _wrapped_model(self) -> Any:
        return self.classifier

    def predict_proba_one(self, x: dict[Any, Any], key: Key = None) -> dict[bool, float]:
        """Say the chances of both outcomes."""
        return self.recalibrator.predict_proba_one(x, key)

    def learn_one(self, x: dict[Any, Any], y: object, key: Key = None) -> None:
        """Learn an outcome, and let the model learn it."""
        self.recalibrator.learn_one(x, y, key)
