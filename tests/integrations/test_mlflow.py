"""An audit in a store of MLflow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.integrations import log_audit
from samples import sample


@pytest.fixture
def frame() -> pd.DataFrame:
    y, p = sample(900, 0.1)
    side = np.where(np.arange(900) % 3 == 0, "<b>left</b>", "right")
    return pd.DataFrame({"prediction": p, "outcome": y, "side": side, "who": np.arange(900) // 2})


def test_an_audit_is_logged_to_mlflow(frame, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    import mlflow

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    audit = cal.audit(frame, draws=99)
    with mlflow.start_run() as run:
        log_audit(audit)
    client = mlflow.MlflowClient()
    logged = client.get_run(run.info.run_id).data
    assert logged.metrics["calibration.smooth_calibration_error"] == audit.verdict.value
    assert logged.metrics["calibration.low"] == audit.verdict.interval.low
    assert logged.tags["calibration.verdict"] == audit.verdict.state
    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert kept == {"calibration.html", "calibration.json"}
