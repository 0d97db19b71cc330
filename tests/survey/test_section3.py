"""Section 3 of the survey: weighted calibration error, smooth calibration, earth mover distance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.tree import DecisionTreeRegressor

import calibrant as cal
from calibrant.weight_functions import Bounded, Dictionary, Intervals, LearnedFamily, Monotone
from oracles import definitions as by_definition
from oracles.strategies import (
    MAKERS,
    generic,
    joint_of,
    joints,
    laws,
    predictions,
    rows,
    universal,
    weighted_rows,
)

# Laws of single rows are wanted here; that their ECE says little is what the warning is for.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

EPSILONS = [1e-9, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.4]
WITNESSED = {
    "ECE": cal.exact_calibration_error,
    "smCE": cal.smooth_calibration_error,
    "EMD": cal.earth_mover_distance,
    "cutoff": cal.cutoff_calibration_error,
}


def p_eps(eps: float) -> cal.Joint:
    """The survey's two points: a always labelled 0, b always 1, predictions 1/2 -+ eps."""
    return cal.Joint.from_samples([0, 1], [0.5 - eps, 0.5 + eps])


@pytest.mark.parametrize("measure", WITNESSED.values(), ids=WITNESSED)
@universal
@given(law=joints(), seed=st.integers(0, 2**32 - 1))
def test_section_3_1_a_distinguisher_gains_what_its_weight_correlates(measure, law, seed):
    """f(v,y) = w(v) y + u(v): E_J* f - E_J^p f = E w(v)(y - v), whatever u is."""
    joint = joint_of(law)
    witness = measure(joint).witness
    w = dict(zip(joint.prediction.tolist(), witness(joint.prediction), strict=True))
    free = np.random.default_rng(seed).uniform(-1, 1, len(w))
    u = dict(zip(w, free, strict=True))
    nature, model = by_definition.two_worlds(*law)
    gain = math.fsum(
        (nature[point] - model[point]) * (w[point[0]] * point[1] + u[point[0]]) for point in nature
    )
    assert witness.advantage(joint) == pytest.approx(gain, abs=1e-12)


@universal
@given(joints(max_levels=7))
def test_definition_3_1_all_bounded_weights_give_ece(law):
    """W = B: the supremum over |w| <= 1 is attained at signs."""
    signs = itertools.product((-1.0, 1.0), repeat=len(law.prediction))
    best = max(abs(by_definition.advantage(np.array(w), *law)) for w in signs)
    assert cal.exact_calibration_error(joint_of(law)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("measure", WITNESSED.values(), ids=WITNESSED)
@universal
@given(sample=rows(max_size=30), seed=st.integers(0, 2**32 - 1))
def test_definition_3_1_errors_depend_on_the_joint_law_only(measure, sample, seed):
    """Individuals may be reordered, duplicated all alike, or told by weights."""
    y, p = sample
    value = measure(y, p)
    order = np.random.default_rng(seed).permutation(len(y))
    assert measure(y[order], p[order]) == pytest.approx(value, abs=1e-12)
    assert measure(np.tile(y, 3), np.tile(p, 3)) == pytest.approx(value, abs=1e-12)
    weighted = measure(y, p, sample_weight=np.full(len(y), 0.25))
    assert weighted == pytest.approx(value, abs=1e-12)


# Auditing

FOUR_TESTS = [np.ones_like, lambda v: 2 * v - 1, np.sin, lambda v: np.where(v < 0.4, 1.0, -1.0)]


def sums_of_intervals(gain):
    """Sums over runs of neighbors."""
    return [gain[i:j].sum() for i in range(gain.size) for j in range(i + 1, gain.size + 1)]


def sums_of_steps(gain):
    """Monotone tests are mixtures of steps from -1 to 1."""
    return [gain[:i].sum() - gain[i:].sum() for i in range(gain.size + 1)]


# Correlations E[w(v) z] that a learner of the class chooses from, for gains m z in the order of v.
AUDITED = {
    "bounded": (Bounded(), lambda gain, v: [np.abs(gain).sum()]),
    "intervals": (Intervals(), lambda gain, v: sums_of_intervals(gain)),
    "monotone": (Monotone(), lambda gain, v: sums_of_steps(gain)),
    "four tests": (Dictionary(FOUR_TESTS), lambda gain, v: [gain @ w(v) for w in FOUR_TESTS]),
}


@pytest.mark.parametrize(("family", "correlations"), AUDITED.values(), ids=AUDITED)
def test_section_3_1_auditing_is_agnostic_learning_of_the_family(family, correlations):
    """Gopalan, Hu, Rothblum (2024): the best test of residuals is the best hypothesis for labels.

    From labels z to forecasts: for v in [1/4, 3/4] let y be 1 with chance v + z / 4. Then
    E[w(v)(y - v)] = E[w(v) z] / 4 for every w: the witness of the error is the best hypothesis.
    From forecasts to labels: z with mean y - v. Every test keeps its value.
    """
    rng = np.random.default_rng(31)
    for law in laws(generic, 20, most=8):
        v, m = np.sort(0.25 + law.prediction / 2), law.mass
        label = rng.uniform(-1, 1, v.size)
        best = max(abs(one) for one in correlations(m * label, v))
        joint = cal.Joint.from_samples(v + label / 4, v, sample_weight=m)
        audit = cal.weighted_calibration_error(joint, family=family)
        assert 4 * audit == pytest.approx(best, abs=1e-12)
        learned = math.fsum(m * label * audit.witness(v))
        assert learned == pytest.approx(best, abs=1e-12)
        residual = joint.mass * joint.residual
        best = max(abs(one) for one in correlations(residual, joint.prediction))
        assert audit == pytest.approx(best, abs=1e-12)


def test_section_3_1_an_auditor_decides_between_zero_and_alpha_from_samples():
    """The estimator learns a test on one half of the rows and is judged on the other."""
    size, alpha, level = 6000, 0.1, 0.05
    found = {"calibrated": [], "off": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        v = rng.integers(2, 9, size) / 10
        for name, chance in (("calibrated", v), ("off", v + alpha * np.sign(v - 0.45))):
            y = (rng.random(size) < chance).astype(float)
            family = LearnedFamily(DecisionTreeRegressor(max_depth=1, random_state=0), draws=199)
            error = cal.weighted_calibration_error(y, v, family=family)
            found[name].append((float(error), error.witness.pvalue))
    assert all(value >= alpha / 2 and pvalue <= level for value, pvalue in found["off"])
    # Of 12 calibrated samples four or more are rejected at this level with chance 0.003.
    assert sum(pvalue <= level for _, pvalue in found["calibrated"]) <= 3
    assert max(abs(value) for value, _ in found["calibrated"]) < alpha / 2


@universal
@given(weighted_rows(max_size=25))
def test_definition_3_2_smooth_error_is_the_best_lipschitz_distinguisher(sample):
    y, p, w = sample
    _, law = by_definition.group_levels(y, p, w)
    measured = cal.smooth_calibration_error(y, p, sample_weight=w)
    best = by_definition.smooth_calibration_error(*law, all_pairs=True)
    assert measured == pytest.approx(best, abs=1e-9)


def test_definition_3_2_no_lipschitz_function_does_better():
    """Clipped slopes, waves and tents, with either sign."""
    rng = np.random.default_rng(32)
    for law in laws(generic, 100):
        error = cal.smooth_calibration_error(joint_of(law))
        t, phase = rng.random(), rng.uniform(0, 6.28)
        v = law.prediction
        for w in (np.ones_like(v), v - t, np.abs(v - t), np.sin(v + phase), np.cos(5 * v) / 5):
            assert abs(by_definition.advantage(w, *law)) <= error + 1e-12


def test_section_3_2_witness_of_p_eps_is_the_sign_and_not_lipschitz():
    """The footnote: b(v) = sgn(v - 1/2) explains ECE; a Lipschitz witness rises by 2 eps only."""
    eps = 0.01
    joint = p_eps(eps)
    assert cal.exact_calibration_error(joint).witness(joint.prediction).tolist() == [-1, 1]
    rise = np.diff(cal.smooth_calibration_error(joint).witness(joint.prediction))
    assert rise == pytest.approx([2 * eps], abs=1e-12)


@pytest.mark.parametrize("lipschitz", [0.3, 1.0])
@universal
@given(law=joints(), data=st.data())
def test_lemma_3_3_smooth_is_two_lipschitz(lipschitz, law, data):
    """|CE_W(p_1) - CE_W(p_2)| <= 2 E|p_1 - p_2| for W within the 1-Lipschitz functions."""
    size = len(law.prediction)
    other = np.array(data.draw(st.lists(predictions, min_size=size, max_size=size)))
    first = joint_of(law)
    image = dict(zip(law.prediction.tolist(), other.tolist(), strict=True))
    second = first.apply(lambda p: np.array([image[v] for v in np.asarray(p).tolist()]))
    distance = math.fsum(law.mass * np.abs(law.prediction - other))
    before = cal.smooth_calibration_error(first, lipschitz=lipschitz)
    after = cal.smooth_calibration_error(second, lipschitz=lipschitz)
    assert abs(before - after) <= 2 * distance + 1e-12


@universal
@given(sample=rows(max_size=30), seed=st.integers(0, 2**32 - 1), scale=st.floats(0.0, 0.3))
def test_lemma_3_3_moving_rows_of_one_level_apart_is_two_lipschitz(sample, seed, scale):
    """Each row moves on its own, so that levels split: ECE would jump."""
    y, p = sample
    noise = np.random.default_rng(seed).normal(0, 1, len(p))
    moved = np.clip(p + scale * noise, 0, 1)
    distance = np.abs(moved - p).mean()
    change = cal.smooth_calibration_error(y, moved) - cal.smooth_calibration_error(y, p)
    assert abs(change) <= 2 * distance + 1e-12


@pytest.mark.parametrize("eps", EPSILONS)
def test_section_3_2_smooth_error_of_p_eps_is_of_order_eps(eps):
    """Exactly eps/2 - eps^2; the survey says O(eps)."""
    measured = cal.smooth_calibration_error(p_eps(eps))
    assert measured == pytest.approx(eps / 2 - eps**2, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("eps", EPSILONS)
def test_section_3_2_earth_mover_distance_of_p_eps(eps):
    """Exactly eps - 2 eps^2 while w may be 2-Lipschitz without leaving [-1, 1]."""
    measured = cal.earth_mover_distance(p_eps(eps))
    assert measured == pytest.approx(eps - 2 * eps**2, rel=1e-6, abs=1e-15)


@universal
@given(joints())
def test_lemma_3_4_emd_between_one_and_two_smooth(law):
    """EMD(J*, J^p)/2 <= smCE <= EMD(J*, J^p)."""
    joint = joint_of(law)
    smooth, mover = cal.smooth_calibration_error(joint), cal.earth_mover_distance(joint)
    assert mover / 2 <= smooth + 1e-12
    assert smooth <= mover + 1e-12


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_lemma_3_4_emd_is_the_transport_cost(maker):
    """The distance itself by its own program, not by way of weight functions."""
    for law in laws(maker, 25, most=8, seed=34):
        transport = by_definition.earth_mover_distance(*law)
        smooth = cal.smooth_calibration_error(joint_of(law))
        assert cal.earth_mover_distance(joint_of(law)) == pytest.approx(transport, abs=1e-9)
        assert transport / 2 - 1e-9 <= smooth <= transport + 1e-9


def test_lemma_3_4_both_constants_are_attained():
    """One level: EMD = smCE. The survey's p_eps: EMD = 2 smCE."""
    one = cal.Joint.from_samples([0.6], [0.3])
    assert cal.earth_mover_distance(one) == pytest.approx(cal.smooth_calibration_error(one))
    two = p_eps(0.1)
    assert cal.earth_mover_distance(two) == pytest.approx(2 * cal.smooth_calibration_error(two))


@pytest.mark.parametrize("lipschitz", [1.5, 2.0, 7.0, 100.0])
@universal
@given(law=joints())
def test_section_3_2_lipschitz_constant_scales_the_error_at_most(lipschitz, law):
    """L-Lipschitz weights, L > 1: at least smCE and at most L smCE."""
    joint = joint_of(law)
    smooth = cal.smooth_calibration_error(joint)
    steeper = cal.smooth_calibration_error(joint, lipschitz=lipschitz)
    assert smooth <= steeper + 1e-12
    assert steeper <= lipschitz * smooth + 1e-12


@universal
@given(st.lists(st.tuples(st.integers(0, 20), st.floats(0.0, 1.0)), min_size=1, max_size=20))
def test_section_3_2_steep_enough_weights_give_ece(pairs):
    """Levels at least .05 apart: 40-Lipschitz weights reach every sign pattern."""
    p, y = np.array([k / 20 for k, _ in pairs]), np.array([r for _, r in pairs])
    # The extra row keeps one prediction off {0, 1}; the last digit covers the rounding of k/20.
    joint = cal.Joint.from_samples(np.append(y, 0.5), np.append(p, 0.25))
    steep = cal.smooth_calibration_error(joint, lipschitz=40.000001)
    assert steep == pytest.approx(cal.exact_calibration_error(joint), abs=1e-9)


@universal
@given(joints())
def test_inequality_chain_of_smooth_and_expected_errors(law):
    """|E(y - p)| <= smCE <= EMD <= ECE <= ECE_2 <= ECE_inf: each W contains the one before."""
    joint = joint_of(law)
    chain = [
        abs(math.fsum(law.mass * (law.outcome - law.prediction))),
        cal.smooth_calibration_error(joint),
        cal.earth_mover_distance(joint),
        cal.exact_calibration_error(joint),
        cal.exact_calibration_error(joint, order=2),
        cal.exact_calibration_error(joint, order=math.inf),
    ]
    for lower, higher in itertools.pairwise(chain):
        assert lower <= higher + 1e-12


@universal
@given(joints())
def test_inequality_chain_of_cutoff_errors(law):
    """thresholds <= intervals <= 2 thresholds, and intervals <= ECE."""
    joint = joint_of(law)
    thresholds = cal.cutoff_calibration_error(joint, sets="thresholds")
    intervals = cal.cutoff_calibration_error(joint, sets="intervals")
    assert thresholds <= intervals + 1e-12
    assert intervals <= 2 * thresholds + 1e-12
    assert intervals <= cal.exact_calibration_error(joint) + 1e-12


def test_inequality_chain_factor_two_of_cutoffs_is_attained():
    """A rise of 1/10, a fall of 2/10 and a rise of 1/10 of the cumulative residuals."""
    joint = cal.Joint.from_samples([0.7, 0.4, 0.8], [0.2, 0.5, 0.6], sample_weight=[0.2, 2.0, 0.5])
    thresholds = cal.cutoff_calibration_error(joint, sets="thresholds")
    assert cal.cutoff_calibration_error(joint) == pytest.approx(2 * thresholds)
