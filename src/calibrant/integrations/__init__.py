"""calibrant inside other tools: pytest, scikit-learn, MLflow."""

from calibrant.integrations.experiments import log_audit
from calibrant.integrations.learning import scorers
from calibrant.integrations.testing import assert_calibrated

__all__ = ["assert_calibrated", "log_audit", "scorers"]
