"""Measures as scorers of scikit-learn, for model selection."""

from __future__ import annotations

from typing import Any

from calibrant.catalogue import JOINT_MEASURES
from calibrant.errors import MissingPackageError


def scorers() -> dict[str, Any]:
    """Return a scorer for every measure of the catalogue, by name.

    Scores are negative errors, so that larger is better, and are taken of `predict_proba`. Do not
    choose a model by calibration alone: the base rate, forecast for everybody, is calibrated.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [0], [0], [0]], [0, 0, 0, 1])
    >>> scorers()["smooth_calibration_error"](model, [[0], [0]], [1, 0])
    -0.25
    """
    try:
        from sklearn.metrics import make_scorer
    except ImportError as error:
        raise MissingPackageError(
            "scorers need scikit-learn", "no such package", "pip install scikit-learn"
        ) from error
    return {
        name: make_scorer(
            measure.function, greater_is_better=False, response_method="predict_proba"
        )
        for name, measure in JOINT_MEASURES.items()
    }
