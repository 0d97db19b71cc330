"""Models with predictions that can be trusted: calibrated, and turned into decisions."""

from calibrant.models.calibrated_classifier import CalibratedClassifier
from calibrant.models.cost_sensitive import CostSensitiveClassifier
from calibrant.models.report import ModelReport

__all__ = ["CalibratedClassifier", "CostSensitiveClassifier", "ModelReport"]
