"""Measures as scorers of scikit-learn."""

from __future__ import annotations

import numpy as np

from calibrant.catalogue import JOINT_MEASURES
from calibrant.integrations import scorers


def test_scorers_are_negative_errors():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    y = rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))
    for name in ("smooth_calibration_error", "binned_calibration_error"):
        scores = cross_val_score(LogisticRegression(), x, y, scoring=scorers()[name], cv=3)
        assert (scores <= 0).all()
        assert (scores > -0.3).all()
    assert set(scorers()) == set(JOINT_MEASURES)
