"""Audits in MLflow: numbers as metrics, the report as an artifact."""

from __future__ import annotations

import math

from calibrant.errors import MissingPackageError
from calibrant.report import Audit


def log_audit(audit: Audit, name: str = "calibration") -> None:
    """Log an audit to the active run of MLflow.

    Parameters
    ----------
    audit : Audit
        What `calibrant.audit` returned.
    name : str, default="calibration"
        Prefix of the metrics, and name of the HTML and JSON artifacts.
    """
    try:
        import mlflow
    except ImportError as error:
        raise MissingPackageError(
            "logging an audit needs mlflow", "no such package", "pip install calibrant[mlflow]"
        ) from error
    verdict = audit.verdict
    numbers = {measure: float(value) for measure, value in audit.measures.items()}
    numbers |= {
        "noise_floor": verdict.noise_floor,
        "low": verdict.interval.low,
        "high": verdict.interval.high,
        "pvalue": verdict.pvalue,
        "tolerance": verdict.tolerance,
    }
    if verdict.gap is not None:
        numbers |= {
            "typical_gap": verdict.gap.interval.value,
            "typical_gap_low": verdict.gap.interval.low,
            "typical_gap_high": verdict.gap.interval.high,
            "gap_tolerance": verdict.gap.tolerance,
        }
    mlflow.log_metrics({f"{name}.{key}": v for key, v in numbers.items() if math.isfinite(v)})
    mlflow.set_tag(f"{name}.verdict", audit.summary.state)
    mlflow.log_text(audit.to_html(), f"{name}.html")
    mlflow.log_text(audit.to_json(), f"{name}.json")
