"""calibrant inside other tools: pytest, scikit-learn, MLflow, river."""

from calibrant.integrations.mlflow import log_audit
from calibrant.integrations.pytest import assert_calibrated
from calibrant.integrations.sklearn import scorers

__all__ = ["assert_calibrated", "log_audit", "scorers"]
