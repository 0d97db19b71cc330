"""Section 4 of the survey: calibration error for decision making.

Gopalan and Hu, "Calibration through the Lens of Indistinguishability" (2025). Statement numbers
are the paper's; where it slips, the test says so.
"""

from __future__ import annotations

import math
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

import calibrant as cal
from oracles import decision_definitions as by_definition
from oracles.strategies import generic, joint_of, joints, laws, universal

# Laws of single rows are wanted here; that their recalibration says little is another matter.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

probability = st.floats(0.0, 1.0)


def amounts(low: int, high: int) -> st.SearchStrategy[float]:
    """Numbers on a grid, whose sums and products are exact: rounding must not make actions tie."""
    return st.integers(low * 2**16, high * 2**16).map(lambda steps: steps * 2.0**-16)


@st.composite
def tasks(draw, most: int = 5) -> cal.DecisionTask:
    """Tasks of two to five actions; half of the payoffs are round, so that actions tie."""
    payoff = st.one_of(st.integers(-3, 3).map(float), amounts(-5, 5))
    pairs = draw(st.lists(st.tuples(payoff, payoff), min_size=2, max_size=most))
    return cal.DecisionTask(np.array(pairs))


@st.composite
def unit_tasks(draw) -> cal.DecisionTask:
    """Tasks with payoffs in [0, 1]."""
    pairs = draw(st.lists(st.tuples(probability, probability), min_size=2, max_size=5))
    return cal.DecisionTask(np.array(pairs))


def received(joint: cal.Joint, task: cal.DecisionTask) -> float:
    return cal.promised_and_received(joint, task=task).received


def triple(joint: cal.Joint) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return joint.prediction, joint.mass, joint.outcome


@universal
@given(tasks(), joints(max_levels=5))
def test_theorem_4_1_calibrated_predictions_are_trustworthy(task, law):
    """The best response to a calibrated predictor is best among all maps from levels to actions."""
    joint = joint_of(law).recalibrated()
    best = by_definition.best_payoff_over_all_maps(task.payoffs, *triple(joint))
    assert received(joint, task) == pytest.approx(best, abs=1e-10)


@universal
@given(joints())
def test_theorem_4_1_what_everybody_can_trust_is_calibrated(law):
    """Conversely, a predictor that is off on some level misleads somebody: the quadratic task."""
    joint = joint_of(law)
    off = float(np.sum(joint.mass * joint.residual**2))
    if off > 1e-12:
        assert cal.fixed_decision_loss(joint, task="brier") > 0
        assert cal.calibration_decision_loss(joint) > 0


@universal
@given(tasks(), joints())
def test_section_1_what_a_calibrated_predictor_promises_is_what_comes(task, law):
    payoffs = cal.promised_and_received(joint_of(law).recalibrated(), task=task)
    assert payoffs.received == pytest.approx(payoffs.promised, abs=1e-10)


@universal
@given(tasks(4), joints(max_levels=5))
def test_definition_4_2_fixed_decision_loss(task, law):
    """Best payoff over all maps less the payoff of the best response."""
    best = by_definition.best_payoff_over_all_maps(task.payoffs, *law)
    loss = cal.fixed_decision_loss(joint_of(law), task=task)
    assert loss == pytest.approx(best - received(joint_of(law), task), abs=1e-10)


@universal
@given(tasks(), joints(), amounts(1, 50), amounts(-20, 20))
def test_definition_4_2_scaling_payoffs_scales_the_loss_and_shifting_does_nothing(
    task, law, factor, shift
):
    joint = joint_of(law)
    changed = cal.DecisionTask(factor * task.payoffs + shift)
    loss = cal.fixed_decision_loss(joint, task=task)
    assert cal.fixed_decision_loss(joint, task=changed) == pytest.approx(factor * loss, abs=1e-9)


@universal
@given(tasks(), joints(), amounts(-20, 20), amounts(-20, 20))
def test_definition_4_2_neither_does_a_shift_by_outcome(task, law, if_not, if_so):
    """Which is why the range of a task is the largest difference that an action makes."""
    joint = joint_of(law)
    changed = cal.DecisionTask(task.payoffs + np.array([if_not, if_so]))
    loss = cal.fixed_decision_loss(joint, task=task)
    assert cal.fixed_decision_loss(joint, task=changed) == pytest.approx(loss, abs=1e-9)
    assert changed.range == pytest.approx(task.range, abs=1e-9)
    assert loss <= task.range * cal.calibration_decision_loss(joint) + 1e-9


@universal
@given(unit_tasks(), joints())
def test_definition_4_2_no_task_with_payoffs_in_the_unit_interval_loses_more(task, law):
    joint = joint_of(law)
    worst = cal.calibration_decision_loss(joint)
    assert cal.fixed_decision_loss(joint, task=task) <= worst + 1e-10


@universal
@given(joints())
def test_definition_4_2_the_loss_is_zero_only_for_calibrated_predictions(law):
    joint = joint_of(law)
    assert cal.calibration_decision_loss(joint.recalibrated()) == pytest.approx(0, abs=1e-12)
    square = cal.exact_calibration_error(joint, order=2) ** 2
    assert cal.calibration_decision_loss(joint) >= square - 1e-12


@universal
@given(joints())
def test_theorem_4_3_decision_loss_and_expected_error(law):
    """ECE^2 <= ECE_2^2 <= CDL <= 2 ECE <= 2 ECE_2, and the V-shaped loss between CDL and 2 ECE."""
    joint = joint_of(law)
    first = cal.exact_calibration_error(joint)
    second = cal.exact_calibration_error(joint, order=2)
    loss = cal.calibration_decision_loss(joint)
    v_shaped = cal.calibration_decision_loss(joint, payoffs="v-shaped")
    chain = [first**2, second**2, float(loss), float(v_shaped), 2 * first, 2 * second]
    assert all(low <= high + 1e-12 for low, high in pairwise(chain))
    assert v_shaped <= 2 * loss + 1e-12


@pytest.mark.parametrize("eps", [1e-6, 0.001, 0.05, 0.1, 0.3])
def test_theorem_4_3_first_tight_example(eps):
    """p = 1/2 and y ~ Ber(1/2 + eps): ECE_2 = eps, CDL = 2 eps, by guessing the outcome (T_1)."""
    joint = cal.Joint.from_samples([0.5 + eps], [0.5])
    assert cal.exact_calibration_error(joint, order=2) == pytest.approx(eps)
    loss = cal.calibration_decision_loss(joint)
    assert loss == pytest.approx(2 * eps)
    guess = cal.DecisionTask.zero_one()
    assert cal.fixed_decision_loss(joint, task=guess, ties="first") == pytest.approx(2 * eps)
    assert loss.witness.task.payoffs == pytest.approx(guess.payoffs)


@pytest.mark.parametrize("eps", [0.02, 0.05, 0.1])
def test_theorem_4_3_second_tight_example(eps):
    """x uniform on [eps, 1], y ~ Ber(x - eps), p = x: ECE = eps and CDL = eps^2 / (1 - eps).

    The survey proves "at most"; it is equal, since the V-curve is level on [eps, 1 - eps].
    """
    limit = eps**2 / (1 - eps)
    distances = []
    for size in (2_000, 200_000):
        x = eps + (np.arange(size) + 0.5) / size * (1 - eps)
        joint = cal.Joint.from_samples(x - eps, x)
        assert cal.exact_calibration_error(joint) == pytest.approx(eps)
        distances.append(abs(cal.calibration_decision_loss(joint) - limit))
    assert distances[1] <= 2 * eps / 200_000
    assert distances[1] < distances[0] / 10


@universal
@given(tasks(4), joints(max_levels=5))
def test_lemma_4_4_the_best_map_answers_the_recalibrated_predictor(task, law):
    joint = joint_of(law)
    best = by_definition.best_payoff_over_all_maps(task.payoffs, *law)
    assert received(joint.recalibrated(), task) == pytest.approx(best, abs=1e-10)


@universal
@given(joints())
def test_section_4_the_quadratic_task_loses_the_squared_error_of_order_two(law):
    joint = joint_of(law)
    square = cal.exact_calibration_error(joint, order=2) ** 2
    assert cal.fixed_decision_loss(joint, task="brier") == pytest.approx(square, abs=1e-12)
    assert cal.decision_loss_curve(joint).integral == pytest.approx(square, abs=1e-12)
    # With actions on a grid of spacing h each answer is off by at most h / 2.
    h = 1 / 200
    on_grid = cal.fixed_decision_loss(joint, task=cal.DecisionTask.quadratic(201))
    assert abs(on_grid - square) <= h + h**2 / 2


def negative_entropy(v: float) -> float:
    return v * math.log(v) + (1 - v) * math.log(1 - v)


def log_odds(v: float) -> float:
    return math.log(v / (1 - v))


def test_definition_4_5_negative_entropy_gives_relative_entropy():
    """Printed with a minus, mu ln mu - (1 - mu) ln(1 - mu), which is not even convex."""
    first, second = 0.6, 0.3
    divergence = by_definition.bregman(negative_entropy, log_odds, first, second)
    relative = first * math.log(first / second) + 0.4 * math.log(0.4 / 0.7)
    assert divergence == pytest.approx(relative)
    joint = cal.Joint.from_samples([first], [second])
    assert cal.fixed_decision_loss(joint, task="log") == pytest.approx(relative)
    convex = np.vectorize(negative_entropy)
    own = cal.fixed_decision_loss(joint, task=(convex, np.vectorize(log_odds)))
    assert own == pytest.approx(relative)


@universal
@given(st.sampled_from(["brier", "log", "spherical"]), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_definition_4_5_divergences_are_not_negative_and_zero_on_the_diagonal(score, first, second):
    excess = cal.decisions.as_score(score).excess
    assert excess(np.array(first), np.array(second)) >= 0
    assert excess(np.array(first), np.array(first)) == pytest.approx(0, abs=1e-15)


@universal
@given(tasks(), probability, probability)
def test_theorem_4_6_payoffs_are_tangents_of_a_convex_function(task, v, other):
    """u(sigma(v), y) = phi(v) + phi'(v)(y - v), and phi lies above its tangents."""
    phi, slope = float(task.phi(v)), float(task.subgradient(v))
    action = task.best_response(v)
    for outcome in (0, 1):
        assert float(task.payoff(action, outcome)) == pytest.approx(
            phi + slope * (outcome - v), abs=1e-10
        )
    assert float(task.phi(other)) >= phi + slope * (other - v) - 1e-10


@universal
@given(tasks(), joints())
def test_lemma_4_7_payoff_is_phi_less_divergence(task, law):
    """E u = E phi(recalibrated) - E D_phi(recalibrated || p), and the second term is the loss."""
    joint = joint_of(law)
    v, m, r = triple(joint)

    def divergence(first: float, second: float) -> float:
        return by_definition.bregman(
            lambda t: float(task.phi(t)), lambda t: float(task.subgradient(t)), first, second
        )

    lost = math.fsum(mass * divergence(r_i, v_i) for v_i, mass, r_i in zip(v, m, r, strict=True))
    assert cal.fixed_decision_loss(joint, task=task, ties="first") == pytest.approx(lost, abs=1e-9)
    payoff = cal.promised_and_received(joint, task=task, ties="first").received
    assert payoff == pytest.approx(float(m @ task.phi(r)) - lost, abs=1e-9)


def induced_divergence(first: cal.Joint, second: cal.Joint, task) -> float:
    """E D_phi(mu_1(v) || mu_2(v)) over the marginal that both laws share."""
    mu, nu = first.outcome, second.outcome
    apart = task.phi(mu) - task.phi(nu) - task.subgradient(nu) * (mu - nu)
    return math.fsum(first.mass * apart)


@universal
@given(tasks(), joints(), st.integers(0, 2**32 - 1))
def test_definition_4_8_divergence_of_joint_laws_with_one_marginal(task, law, seed):
    """Not negative, zero for equal laws, and of J* and J^p the loss of the task (Theorem 4.9)."""
    nature = joint_of(law)
    other = np.random.default_rng(seed).random(len(nature))
    second = cal.Joint.from_samples(other, nature.prediction, sample_weight=nature.mass)
    assert np.array_equal(second.prediction, nature.prediction)
    assert induced_divergence(nature, second, task) >= -1e-9
    assert induced_divergence(nature, nature, task) == 0
    model = nature.model_world()
    assert model.outcome == pytest.approx(nature.prediction, abs=1e-15)
    # Where actions tie, every subgradient has its best response: the first of them here.
    assume(all(np.unique(task.payoffs @ [1 - v, v]).size == len(task.payoffs) for v in law[0]))
    loss = cal.fixed_decision_loss(nature, task=task)
    assert induced_divergence(nature, model, task) == pytest.approx(loss, abs=1e-9)


def test_theorem_4_9_the_loss_is_a_bregman_divergence_of_joint_laws():
    """D(J* || J^p) of Phi(J) = E phi(mu_J): Phi(J*) - Phi(J^p) - slope of Phi from J^p towards J*.

    Along the mixtures of the two laws, which share the marginal of predictions, mu moves on a line.
    """

    def entropy_of(v, m, mu, phi):
        return math.fsum(m * phi(mu))

    for law in laws(generic, 30, most=10):
        v, m, r = law
        v = 0.05 + 0.9 * v
        r = 0.05 + 0.9 * r
        joint = cal.Joint.from_samples(r, v, sample_weight=m)
        for score, phi in (
            ("brier", lambda t: t**2 - t),
            ("log", np.vectorize(negative_entropy)),
            ("spherical", lambda t: np.hypot(t, 1 - t)),
        ):
            step = 1e-6
            towards = [entropy_of(v, m, v + s * step * (r - v), phi) for s in (-1, 1)]
            slope = (towards[1] - towards[0]) / (2 * step)
            divergence = entropy_of(v, m, r, phi) - entropy_of(v, m, v, phi) - slope
            loss = cal.fixed_decision_loss(joint, task=score)
            assert loss == pytest.approx(divergence, abs=1e-8)


@universal
@given(st.floats(0.001, 0.999), probability, probability)
def test_section_4_v_shaped_divergences(kink, first, second):
    """2 |v1 - t| if t is in (v1, v2] or (v2, v1], else 0; the kink has slope +1 (act on a tie)."""
    # Swapped arguments would look like that.
    assume(second not in {0.0, 1.0} or first in {0.0, 1.0})
    joint = cal.Joint.from_samples([first], [second])
    task = cal.DecisionTask.from_kinks([kink], [2.0])
    expected = by_definition.v_divergence(first, second, kink)
    assert cal.fixed_decision_loss(joint, task=task, ties="last") == pytest.approx(
        expected, abs=1e-12
    )
    assert expected <= 2 * abs(first - second)
    from_the_right = by_definition.v_divergence(first, second, kink, right=True)
    assert cal.fixed_decision_loss(joint, task=task, ties="first") == pytest.approx(
        from_the_right, abs=1e-12
    )


@universal
@given(tasks(), joints())
def test_theorem_4_10_v_shapes_bound_every_divergence_of_slope_one(task, law):
    steepest = float(np.abs(task.payoffs[:, 1] - task.payoffs[:, 0]).max())
    assume(steepest >= 1e-6)
    gentle = cal.DecisionTask(task.payoffs / steepest)
    joint = joint_of(law)
    v_shaped = cal.calibration_decision_loss(joint, payoffs="v-shaped")
    assert cal.fixed_decision_loss(joint, task=gentle) <= v_shaped + 1e-9


def test_theorem_4_10_v_shapes_overshoot_the_decision_loss():
    """Erratum: slopes within [-1, 1] do not bring payoffs into [0, 1]; the gap is up to two."""
    joint = cal.Joint.from_samples([1.0], [0.9])
    assert cal.calibration_decision_loss(joint) == pytest.approx(1 / 9)
    v_shaped = cal.calibration_decision_loss(joint, payoffs="v-shaped")
    assert v_shaped == pytest.approx(0.2)
    assert v_shaped == pytest.approx(2 * cal.exact_calibration_error(joint))


@pytest.mark.parametrize("threshold", [0.05, 0.125, 0.5, 0.9])
def test_section_4_costs_read_off_the_curve(threshold):
    """Costs c0 and c1: threshold c0 / (c0 + c1), and the loss is (c0 + c1) g(t) / 2."""
    c0, c1 = 200 * threshold, 200 * (1 - threshold)
    task = cal.DecisionTask.from_costs(false_positive=c0, false_negative=c1)
    assert task.thresholds == pytest.approx([threshold])
    for law in laws(generic, 20):
        curve = cal.decision_loss_curve(joint_of(law))
        loss = cal.fixed_decision_loss(joint_of(law), task=task)
        assert loss == pytest.approx(100 * float(curve(threshold)), abs=1e-10)
        assert curve.cost(false_positive=c0, false_negative=c1) == pytest.approx(loss, abs=1e-10)
        ratio = cal.DecisionTask.from_cost_ratio(c1 / c0)
        by_ratio = cal.fixed_decision_loss(joint_of(law), task=ratio)
        assert c0 * by_ratio == pytest.approx(loss, abs=1e-10)
