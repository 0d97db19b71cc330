"""Models with predictions that can be trusted: calibrated, and turned into decisions."""

from calibrant.models.calibrated_model import CalibratedModel
from calibrant.models.decision_model import DecisionModel
from calibrant.models.report import ModelReport

__all__ = ["CalibratedModel", "DecisionModel", "ModelReport"]
