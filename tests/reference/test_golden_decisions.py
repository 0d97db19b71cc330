"""Small laws whose decision losses are known exactly, by hand or from a linear program."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from reference.golden import LAWS, golden_joint

MEASURES = {
    "CDL": cal.calibration_decision_loss,
    "CDL_V": lambda joint: cal.calibration_decision_loss(joint, payoffs="v-shaped"),
    "UCal": cal.u_calibration_error,
    "VCal": lambda joint: cal.u_calibration_error(joint, payoffs="v-shaped"),
    "gap": cal.post_processing_gap,
}

GOLDEN = {
    "CDL": [3 / 7, 0.4, 0.1, 0.125, 1 / 9, 0.02, 0.1, 43 / 105],
    "CDL_V": [0.6, 0.4, 0.1, 0.125, 0.2, 0.0392, 0.1, 0.6],
    "UCal": [3 / 7, 0.0, 0.1, 0.125, 1 / 9, 0.0, 0.1, 1 / 3],
    "VCal": [0.6, 0.0, 0.1, 0.125, 0.2, 0.0, 0.1, 0.6],
    "gap": [0.09, 0.07, 0.02, 0.015625, 0.01, 0.00076064, 0.03, 0.53 / 3],
}

CASES = [
    pytest.param(law, name, value, id=f"{name}-{law}")
    for name, values in GOLDEN.items()
    for law, value in zip(LAWS, values, strict=True)
]


@pytest.mark.parametrize(("law", "name", "value"), CASES)
def test_golden_value(law, name, value):
    assert MEASURES[name](golden_joint(law)) == pytest.approx(value, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("score", "value"), [("brier", 0.02), ("log", 0.0645783039), ("spherical", 0.0186849359)]
)
def test_golden_loss_of_proper_scores(score, value):
    loss = cal.fixed_decision_loss(golden_joint("D3"), task=score)
    assert loss == pytest.approx(value, abs=5e-11)


@pytest.mark.parametrize(
    ("ties", "value"), [("worst", 0.075), ("best", 0.05), ("first", 0.075), ("last", 0.05)]
)
def test_golden_umbrella(ties, value):
    """Predictions .05, .1 (indifferent) and .4 with mass .5, .25, .25 and rain in .2, 0, .3."""
    joint = cal.Joint.from_samples([0.2, 0, 0.3], [0.05, 0.1, 0.4], sample_weight=[2, 1, 1])
    loss = cal.fixed_decision_loss(joint, task=cal.DecisionTask.umbrella(), ties=ties)
    assert loss == pytest.approx(value, abs=1e-15)


def test_golden_worst_task_of_an_underconfident_forecast():
    """D5: forecasts of .9 that always come true. One threshold at .9, scaled to payoffs in [0, 1],
    loses 1/9; the V-shape itself, with payoffs of range 1.8, loses .2."""
    loss = cal.calibration_decision_loss(golden_joint("D5"))
    assert loss.witness.task.thresholds == pytest.approx([0.9])
    assert loss.witness.task.payoffs == pytest.approx(np.array([[1, 0], [0, 1 / 9]]), abs=1e-12)
    v_shaped = cal.calibration_decision_loss(golden_joint("D5"), payoffs="v-shaped")
    assert v_shaped.witness.task.range == pytest.approx(1.8)


def test_golden_decomposition_by_hand():
    """Levels .1, .2, .9 with 4, 2, 8 of 10: isotonic pools the first two to .3."""
    joint = cal.Joint.from_counts([0.1, 0.2, 0.9], [10, 10, 10], [4, 2, 8])
    parts = cal.score_decomposition(joint)
    base = 14 / 30
    pooled = (2 * 0.3 * 0.7 + 0.8 * 0.2) / 3
    score = (0.6 * 0.01 + 0.4 * 0.81 + 0.8 * 0.04 + 0.2 * 0.64 + 0.2 * 0.81 + 0.8 * 0.01) / 3
    assert parts.score == pytest.approx(score)
    assert parts.uncertainty == pytest.approx(base * (1 - base))
    assert parts.miscalibration == pytest.approx(score - pooled)
    assert parts.discrimination == pytest.approx(base * (1 - base) - pooled)
    log = cal.score_decomposition(joint, score="log", pooling="levels")
    entropy = -base * math.log(base) - (1 - base) * math.log(1 - base)
    assert log.uncertainty == pytest.approx(entropy)
