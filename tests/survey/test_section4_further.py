"""Section 4 of the survey, further work: monotone and smooth corrections, randomised responses.

And what section 1 says about calibration and usefulness.
"""

from __future__ import annotations

import math
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from oracles.strategies import generic, joint_of, joints, laws, tied, universal

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

thresholds = st.floats(0.01, 0.99)


def risk(joint: cal.Joint, acts: np.ndarray, tau: float) -> float:
    """E[tau (1 - y) a + (1 - tau) y (1 - a)]."""
    lost = np.where(acts, tau * (1 - joint.outcome), (1 - tau) * joint.outcome)
    return math.fsum(joint.mass * lost)


@universal
@given(joints(), thresholds)
def test_cutoff_error_bounds_the_regret_against_monotone_corrections(law, tau):
    """With constant one (Rossellini et al. 2025): a monotone correction moves the threshold."""
    joint = joint_of(law)
    trusting = risk(joint, joint.prediction >= tau, tau)
    cuts = [joint.prediction >= cut for cut in (*joint.prediction, 2.0)]
    best = min(risk(joint, acts, tau) for acts in cuts)
    assert trusting - best <= cal.cutoff_calibration_error(joint) + 1e-12
    # Isotonic regression is the best monotone correction for every threshold at once.
    curve = cal.decision_loss_curve(joint, pooling="isotonic")
    assert float(curve(tau, "act")) / 2 == pytest.approx(trusting - best, abs=1e-12)


def test_the_constant_of_the_cutoff_guarantee_is_sharp():
    joint = cal.Joint.from_samples([0.0], [0.5])
    regret = risk(joint, np.array([True]), 0.5) - risk(joint, np.array([False]), 0.5)
    assert regret == cal.cutoff_calibration_error(joint) == 0.5


@universal
@given(joints())
def test_cutoff_error_bounds_every_decision_loss_against_monotone_corrections(law):
    """Payoffs in [0, 1] bend by two in all: twice the cutoff error."""
    joint = joint_of(law)
    loss = cal.calibration_decision_loss(joint, pooling="isotonic")
    assert loss <= 2 * cal.cutoff_calibration_error(joint) + 1e-12
    assert loss <= cal.calibration_decision_loss(joint) + 1e-12


@universal
@given(joints())
def test_smooth_error_bounds_the_post_processing_gap(law):
    """smCE^2 <= gap <= 2 smCE for squared loss (Blasiok, Gopalan, Hu, Nakkiran 2023)."""
    joint = joint_of(law)
    smooth = cal.smooth_calibration_error(joint)
    gap = cal.post_processing_gap(joint)
    assert smooth**2 - 1e-12 <= gap <= 2 * smooth + 1e-12
    assert gap.settings["smooth_error"] == pytest.approx(smooth, abs=1e-12)


def test_dual_smooth_error_bounds_the_gap_of_log_loss():
    """s^2 / (2 lambda) <= gap <= s / lambda with lambda = 1/4, for corrections of the log-odds."""
    for maker in (generic, tied):
        for law in laws(maker, 40, most=20):
            gap = cal.post_processing_gap(joint_of(law), loss="log")
            smooth = gap.settings["smooth_error"]
            assert 2 * smooth**2 - 1e-9 <= gap <= 4 * smooth + 1e-9


@universal
@given(joints(), st.integers(1, 6), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_no_gentle_correction_gains_more_than_the_gap(law, waves, size, offset):
    joint = joint_of(law)
    slope = 2 * math.pi * waves

    def corrected(p):
        return np.clip(p + size / slope * np.sin(slope * p) + 0.1 * offset, 0, 1)

    before, after = (
        cal.decisions.row_losses("brier", joint.outcome, p)
        for p in (joint.prediction, corrected(joint.prediction))
    )
    gained = float(joint.mass @ (before - after))
    assert gained <= cal.post_processing_gap(joint) + 1e-12


@pytest.mark.parametrize("maker", [generic, tied], ids=lambda maker: maker.__name__)
def test_randomised_responses_keep_their_bounds(maker):
    """Expected error and decision loss of the rounded forecasts, averaged over the shifts."""
    for law in laws(maker, 10):
        joint = joint_of(law)
        for width in (None, 0.05, 0.3):
            response = cal.randomised_response(joint, width=width)
            # Between these shifts no level changes its bin, and errors change by little.
            changes = np.unique([0.0, 1.0, *(-joint.prediction / max(response.width, 1e-9) % 1)])
            shifts = np.concatenate([np.linspace(a, b, 5)[:-1] for a, b in pairwise(changes)])
            lengths = np.diff(np.append(shifts, 1.0))
            rounded = [joint.apply(response.map(s)) for s in shifts + lengths / 2]
            error = lengths @ [cal.exact_calibration_error(j) for j in rounded]
            loss = lengths @ [cal.calibration_decision_loss(j) for j in rounded]
            assert error <= response.error_bound + 1e-3
            assert loss <= response.decision_bound + 1e-3


def test_randomised_responses_turn_a_small_smooth_error_into_a_decision_guarantee():
    """p_eps: nearly calibrated, and yet somebody loses nearly 1/2; rounded, nobody loses much."""
    bounds = []
    for eps in (1e-2, 1e-4, 1e-6):
        joint = cal.Joint.from_samples([0, 1], [0.5 - eps, 0.5 + eps])
        assert cal.calibration_decision_loss(joint) == pytest.approx(0.5 - eps)
        response = cal.randomised_response(joint)
        d = response.distance
        assert response.error_bound == pytest.approx(d + math.sqrt(2 * d))
        shifts = np.random.default_rng(0).random(400)
        loss = np.mean(
            [cal.calibration_decision_loss(joint.apply(response.map(s))) for s in shifts]
        )
        assert loss <= response.decision_bound
        bounds.append(response.decision_bound)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.01


@universal
@given(joints())
def test_u_calibration_is_at_most_the_decision_loss(law):
    joint = joint_of(law)
    unit = cal.u_calibration_error(joint)
    v_shaped = cal.u_calibration_error(joint, payoffs="v-shaped")
    assert unit <= cal.calibration_decision_loss(joint) + 1e-12
    # Kleinberg et al. 2023, whose losses lie in [-1, 1]: V <= 2 U <= 2 V.
    assert v_shaped - 1e-12 <= 2 * unit <= 2 * v_shaped + 1e-12


@universal
@given(joints())
def test_external_regret_of_a_task_is_at_most_its_swap_regret(law):
    joint = joint_of(law)
    for task in (cal.DecisionTask.umbrella(), cal.DecisionTask.zero_one(), "brier"):
        external = cal.fixed_decision_loss(joint, task=task, regret="external")
        assert external <= cal.fixed_decision_loss(joint, task=task) + 1e-12


def test_good_forecasts_may_be_off_and_still_worth_having():
    """Forecasts .4 and .6 of what never and always happens: no regret against ignoring them."""
    joint = cal.Joint.from_samples([0, 1], [0.4, 0.6])
    assert cal.u_calibration_error(joint) == 0
    assert cal.calibration_decision_loss(joint) == pytest.approx(0.4)
    loss = cal.fixed_decision_loss(joint, task=cal.DecisionTask.zero_one(), regret="external")
    assert loss == pytest.approx(-0.5)


def test_decision_loss_is_not_continuous():
    """p_0 = 1/2 is calibrated; p_eps loses 1/2 - eps however small eps is."""
    assert cal.calibration_decision_loss([0, 1], [0.5, 0.5]) == 0
    for eps in (1e-9, 1e-3, 0.1):
        loss = cal.calibration_decision_loss([0, 1], [0.5 - eps, 0.5 + eps])
        assert loss == pytest.approx(0.5 - eps)


def test_calibration_does_not_mean_usefulness():
    """The base rate and the Bayes predictor are both calibrated; only one is worth money."""
    rng = np.random.default_rng(7)
    chance = rng.random(50)
    bayes = cal.Joint.from_samples(chance, chance)
    constant = cal.Joint.from_samples(chance, np.full(50, chance.mean()))
    for task in (cal.DecisionTask.umbrella(), cal.DecisionTask.zero_one()):
        for joint in (bayes, constant):
            assert cal.calibration_decision_loss(joint) == pytest.approx(0, abs=1e-12)
        worth = [
            cal.promised_and_received(joint, task=task).received for joint in (constant, bayes)
        ]
        assert worth[0] < worth[1]
    flat = np.full(50, chance.mean())
    assert cal.score_decomposition(chance, flat).discrimination == pytest.approx(0, abs=1e-12)
    assert cal.score_decomposition(chance, chance).discrimination > 0.05
