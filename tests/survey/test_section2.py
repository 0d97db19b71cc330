"""Section 2 of the survey: the expected calibration error and the trouble with it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from oracles import definitions as by_definition
from oracles.strategies import generic, joint_of, joints, laws, rows, universal, weighted_rows

# Laws of single rows are wanted here; that their ECE says little is what the warning is for.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

EPSILONS = [1e-9, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.49]


def p_eps(eps: float) -> cal.Joint:
    """The survey's two points: a always labelled 0, b always 1, predictions 1/2 -+ eps."""
    return cal.Joint.from_samples([0, 1], [0.5 - eps, 0.5 + eps])


@universal
@given(weighted_rows())
def test_definition_2_1_ece_is_the_mean_gap_of_the_levels(sample):
    y, p, w = sample
    _, law = by_definition.group_levels(y, p, w)
    measured = cal.exact_calibration_error(y, p, sample_weight=w)
    assert measured == pytest.approx(by_definition.exact_calibration_error(*law), abs=1e-12)


@universal
@given(joints())
def test_definition_2_1_order_is_nondecreasing(law):
    """Lyapunov, up to the largest gap in the limit; small slack for rounding of the roots."""
    joint = joint_of(law)
    orders = (1, 1.5, 2, 3.5, 10, 100, math.inf)
    errors = [cal.exact_calibration_error(joint, order=order) for order in orders]
    for lower, higher in itertools.pairwise(errors):
        assert lower <= higher + 1e-12
    assert errors[-1] == pytest.approx(np.abs(law.outcome - law.prediction).max(), abs=1e-12)


def test_definition_2_1_high_orders_approach_the_largest_gap():
    joint = cal.Joint.from_samples([0.4, 0.5, 0.7], [0.2, 0.5, 0.95])
    largest = cal.exact_calibration_error(joint, order=math.inf)
    assert largest == pytest.approx(0.25)
    gaps = [largest - cal.exact_calibration_error(joint, order=q) for q in (1, 4, 16, 64)]
    assert gaps == sorted(gaps, reverse=True)
    # The heaviest deviation has mass 1/3: the norm is at least 3^(-1/q) of the largest gap.
    assert 0 < gaps[-1] <= 0.25 * (1 - 3 ** (-1 / 64)) + 1e-12


@universal
@given(joints(max_levels=7))
def test_lemma_2_2_ece_is_the_best_bounded_distinguisher(law):
    """Extreme points suffice: the maximum of E b(p)(y - p) over all sign patterns b."""
    joint = joint_of(law)
    error = cal.exact_calibration_error(joint)
    patterns = itertools.product((-1.0, 1.0), repeat=len(law.prediction))
    best = max(by_definition.advantage(np.array(b), *law) for b in patterns)
    assert error == pytest.approx(best, abs=1e-12)


@universal
@given(joints())
def test_lemma_2_2_the_maximum_is_attained_by_the_sign_of_the_residual(law):
    joint = joint_of(law)
    error = cal.exact_calibration_error(joint)
    witness = error.witness
    assert witness.advantage(joint) == pytest.approx(error, abs=1e-12)
    certain = np.abs(joint.residual) > 1e-9
    assert witness(joint.prediction)[certain].tolist() == np.sign(joint.residual)[certain].tolist()


def test_lemma_2_2_no_bounded_function_does_better():
    rng = np.random.default_rng(22)
    for law in laws(generic, 50):
        error = cal.exact_calibration_error(joint_of(law))
        for _ in range(20):
            b = rng.uniform(-1, 1, len(law.prediction))
            assert by_definition.advantage(b, *law) <= error + 1e-12


@universal
@given(joints())
def test_lemma_2_3_ece_is_total_variation_and_its_event(law):
    """Attained by S = {(v,1): residual > 0} and {(v,0): residual < 0}."""
    joint = joint_of(law)
    error = cal.exact_calibration_error(joint)
    assert error == pytest.approx(by_definition.total_variation(*law), abs=1e-12)
    nature, model = by_definition.two_worlds(*law)
    sign = error.witness(joint.prediction)
    event = [(float(v), 1) for v, s in zip(joint.prediction, sign, strict=True) if s > 0]
    event += [(float(v), 0) for v, s in zip(joint.prediction, sign, strict=True) if s < 0]
    gap = math.fsum(nature[point] - model[point] for point in event)
    assert gap == pytest.approx(error, abs=1e-12)


@universal
@given(joints(max_levels=4))
def test_lemma_2_3_no_event_tells_the_worlds_apart_better(law):
    error = cal.exact_calibration_error(joint_of(law))
    largest = by_definition.total_variation_over_all_events(*law)
    assert error == pytest.approx(largest, abs=1e-12)


@universal
@given(joints(max_levels=6))
def test_section_2_distinguishers_with_values_in_plus_minus_one_gain_twice_the_error(law):
    """Erratum: total variation is half of the L1 distance that f in [-1, 1] can attain."""
    nature, model = by_definition.two_worlds(*law)
    distance = math.fsum(abs(nature[point] - model[point]) for point in nature)
    error = cal.exact_calibration_error(joint_of(law))
    assert 2 * error == pytest.approx(distance, abs=1e-12)


@universal
@given(rows())
def test_section_2_rows_that_never_repeat_say_nothing_about_ece(sample):
    """Without repeated predictions plug-in ECE is E|y - p| (why order sqrt|X| rows are needed)."""
    y, p = sample
    p, first = np.unique(p, return_index=True)
    y = y[first]
    expected = math.fsum(np.abs(y - p)) / len(p)
    assert cal.exact_calibration_error(y, p) == pytest.approx(expected, abs=1e-12)


def test_section_2_p_zero_is_calibrated():
    assert cal.exact_calibration_error([0, 1], [0.5, 0.5]) == 0


@pytest.mark.parametrize("eps", EPSILONS)
def test_section_2_ece_of_p_eps_is_one_half_less_eps(eps):
    assert cal.exact_calibration_error(p_eps(eps)) == pytest.approx(0.5 - eps, abs=1e-12)


def test_section_2_ece_is_discontinuous():
    """The predictors converge to a calibrated one and their errors to 1/2."""
    errors = [cal.exact_calibration_error(p_eps(10.0**-k)) for k in range(2, 13)]
    assert errors == sorted(errors)
    assert errors[-1] == pytest.approx(0.5, abs=1e-11)


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("n_bins", range(1, 41))
def test_section_2_bucketed_ece_of_p_eps_alternates_with_parity(n_bins, closed):
    """Residual form: 0 for odd B, 1/2 - eps for even B, while eps < 1/(2B)."""
    eps = 0.01
    measured = cal.binned_calibration_error(p_eps(eps), n_bins=n_bins, closed=closed)
    expected = 0.0 if n_bins % 2 else 0.5 - eps
    assert measured == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_bins", range(1, 41))
def test_section_2_bucketed_ece_with_midpoints_alternates_too(n_bins):
    """Erratum: rounding to midpoints, as the survey describes, gives 1/2 - 1/(2B) for even B."""
    measured = cal.binned_calibration_error(p_eps(0.01), n_bins=n_bins, form="midpoint")
    expected = 0.0 if n_bins % 2 else 0.5 - 1 / (2 * n_bins)
    assert measured == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@universal
@given(law=joints())
def test_section_2_bins_never_see_more_than_the_levels(strategy, law):
    """Pooling can only cancel residuals: the binned error is at most ECE, of any order."""
    joint = joint_of(law)
    for order in (1, 2, math.inf):
        error = cal.exact_calibration_error(joint, order=order)
        for n_bins in (1, 2, 5, 15):
            binned = cal.binned_calibration_error(
                joint, n_bins=n_bins, strategy=strategy, order=order
            )
            assert binned <= error + 1e-12


def test_section_2_midpoints_may_exceed_ece():
    """A calibrated predictor at .01 is rounded to the middle of a single bin."""
    joint = cal.Joint.from_counts([0.01], [100], [1])
    assert cal.exact_calibration_error(joint) == pytest.approx(0.0, abs=1e-12)
    measured = cal.binned_calibration_error(joint, n_bins=1, form="midpoint")
    assert measured == pytest.approx(0.49, abs=1e-12)
