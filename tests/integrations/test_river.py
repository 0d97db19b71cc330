"""The stream recalibrator in pipelines of river."""

from __future__ import annotations

import pickle

import pytest

import calibrant as cal


def test_river_pipelines_metrics_and_delays():
    pytest.importorskip("river")
    from river import datasets, evaluate, linear_model, metrics, preprocessing

    from calibrant.integrations.river import RiverRecalibrator

    def pipeline(recalibrated):
        model = linear_model.LogisticRegression()
        last = RiverRecalibrator(model, cells=10) if recalibrated else model
        return preprocessing.StandardScaler() | last

    plain, ours = (
        evaluate.progressive_val_score(datasets.Phishing(), pipeline(on_top), metrics.LogLoss())
        for on_top in (False, True)
    )
    assert ours.get() < plain.get() + 0.1

    model = pipeline(recalibrated=True)
    rows = list(datasets.Phishing())[:400]
    forecasts, waiting = [], []
    for number, (x, y) in enumerate(rows):
        forecasts.append(model.predict_proba_one(x, key=number)[True])
        waiting.append((x, y, number))
        if len(waiting) > 7:
            first = waiting.pop(0)
            model.learn_one(first[0], first[1], key=first[2])
    recalibrator = model["RiverRecalibrator"].recalibrator
    assert len(recalibrator.outstanding) == 7
    assert recalibrator.rounds == 393
    error = 393 * cal.smooth_calibration_error([y for _, y in rows[:393]], forecasts[:393])
    assert error <= recalibrator.calibration_bound
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own
    x = rows[0][0]
    assert again.predict_proba_one(x) == model.predict_proba_one(x)
    assert "LogisticRegression" in str(model["RiverRecalibrator"])
