"""Section 6 of the survey: distances to calibration and the interval calibration error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import calibrant as cal
from oracles import distances as by_definition
from oracles.strategies import MAKERS, generic, joint_of, joints, laws, universal

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

EPSILONS = [1e-4, 0.05, 0.1, 0.2, 0.25]
fewer = settings(universal, max_examples=40)


def p_eps(eps: float) -> cal.Joint:
    """The survey's two points: a always labelled 0, b always 1, predictions 1/2 -+ eps."""
    return cal.Joint.from_samples([0, 1], [0.5 - eps, 0.5 + eps])


def gap_example(eps: float):
    """Predictions p_1 and p_2, mass and chance of the individuals 00, 01, 10 and 11."""
    delta = eps / (1 - 2 * eps)
    low, high = 0.5 - delta, 0.5 + delta
    p_1, p_2 = np.array([low, low, high, high]), np.array([low, 0.5, 0.5, high])
    return p_1, p_2, np.array([0.5 - eps, eps, eps, 0.5 - eps]), np.array([low, 1.0, 0.0, high])


# Definitions 6.1 and 6.2


@pytest.mark.parametrize("scale", [1e-6, 0.01, 0.3])
def test_definition_6_1_distance_is_one_lipschitz(scale):
    """|dCE(p) - dCE(p')| <= d(p, p') for the same individuals, however many share a prediction."""
    rng = np.random.default_rng(61)
    for _ in range(25):
        size = int(rng.integers(2, 10))
        p, chance, mass = (
            rng.integers(0, 5, size) / 4,
            rng.random(size),
            rng.dirichlet(np.ones(size)),
        )
        q = np.clip(p + scale * rng.normal(size=size), 0, 1)
        moved = math.fsum(mass * np.abs(p - q))
        distances = [
            cal.distance_to_calibration([*chance, 0.5], [*at, 0.5], sample_weight=[*mass, 0.0])
            for at in (p, q)
        ]
        assert abs(distances[0] - distances[1]) <= moved + 1e-12


def test_definition_6_2_lower_is_below_and_upper_above_every_space():
    """Individuals of any kind: their law alone bounds their distance."""
    rng = np.random.default_rng(62)
    for _ in range(60):
        size = int(rng.integers(2, 10))
        p, chance, mass = (
            rng.integers(1, 5, size) / 5,
            rng.random(size),
            rng.dirichlet(np.ones(size)),
        )
        joint = cal.Joint.from_samples(chance, p, sample_weight=mass)
        true = cal.distance_to_calibration(chance, p, sample_weight=mass)
        assert cal.lower_distance_to_calibration(joint) <= true + 1e-12
        assert true <= cal.upper_distance_to_calibration(joint) + 1e-12


@fewer
@given(joints(max_levels=8))
def test_definition_6_2_upper_is_attained_by_one_individual_per_level(law):
    joint = joint_of(law)
    true = cal.distance_to_calibration(
        law.outcome, law.prediction, sample_weight=law.mass, individuals=np.arange(len(law.mass))
    )
    assert true == pytest.approx(float(cal.upper_distance_to_calibration(joint)), abs=1e-12)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_definition_6_2_lower_is_attained_by_individuals_who_part(maker):
    """Move ones and zeros in order to the law found: individuals (p, y), who then predict u."""
    for law in laws(maker, 20, most=20, seed=6):
        joint = joint_of(law)
        value = cal.lower_distance_to_calibration(joint)
        nearest = value.witness.calibrated
        p, u, y, mass = [], [], [], []
        for outcome in (0, 1):
            source = joint.mass * (joint.outcome if outcome else 1 - joint.outcome)
            target = nearest.mass * (nearest.prediction if outcome else 1 - nearest.prediction)
            ends = np.unique(np.concatenate([[0.0], np.cumsum(source), np.cumsum(target)]))
            middle = (ends[1:] + ends[:-1]) / 2
            for side, at, cumulated in (
                (p, joint.prediction, np.cumsum(source)),
                (u, nearest.prediction, np.cumsum(target)),
            ):
                place = np.minimum(np.searchsorted(cumulated, middle), at.size - 1)
                side.append(at[place])
            y.append(np.full(middle.size, outcome))
            mass.append(np.diff(ends))
        p, u, y, mass = (np.concatenate(part) for part in (p, u, y, mass))
        p, u, y, mass = (part[mass > 1e-15] for part in (p, u, y, mass))  # no rounding errors
        again = cal.Joint.from_samples(y, p, sample_weight=mass)
        assert again.mass @ again.outcome == pytest.approx(joint.base_rate, abs=1e-9)
        assert cal.exact_calibration_error(y, u, sample_weight=mass) <= 1e-9
        assert mass @ np.abs(p - u) == pytest.approx(float(value), abs=1e-9)


# Calibrated post-processings


@universal
@given(joints())
def test_definition_6_3_the_base_rate_and_the_recalibration_are_in_K(law):
    joint = joint_of(law)
    constant = joint.apply(lambda p: np.full_like(p, joint.base_rate))
    for moved in (constant, joint.recalibrated()):
        assert np.abs(moved.residual).max() <= 1e-12
    to_constant = joint.mass @ np.abs(joint.prediction - joint.base_rate)
    upper = cal.upper_distance_to_calibration(joint)
    assert upper <= to_constant + 1e-12
    assert upper <= cal.exact_calibration_error(joint) + 1e-12


@universal
@given(joints())
def test_definition_6_4_recalibration_keeps_the_level_sets_and_is_calibrated(law):
    """E[y | p]: each level goes to its mean outcome, and to recalibrate again changes nothing."""
    joint = joint_of(law)
    recalibrated = joint.recalibrated()
    for f in (np.ones_like, np.array, np.square, lambda v: np.cos(40 * v)):
        stated = math.fsum(recalibrated.mass * f(recalibrated.prediction))
        assert stated == pytest.approx(math.fsum(joint.mass * f(joint.outcome)), abs=1e-9)
    assert cal.exact_calibration_error(recalibrated) == pytest.approx(0, abs=1e-12)
    again = recalibrated.recalibrated()
    assert again.prediction == pytest.approx(recalibrated.prediction, abs=1e-12)


@universal
@given(joints())
def test_lemma_6_5_ece_is_the_distance_to_the_recalibration(law):
    joint = joint_of(law)
    distance = math.fsum(joint.mass * np.abs(joint.outcome - joint.prediction))
    assert cal.exact_calibration_error(joint) == pytest.approx(distance, abs=1e-12)


@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.1, 0.2])
def test_section_6_1_two_points_are_eps_from_calibrated(eps):
    """ECE is 1/2 - eps, the constant 1/2 is at eps, and no law is nearer than eps - 2 eps^2."""
    joint = p_eps(eps)
    assert cal.exact_calibration_error(joint) == pytest.approx(0.5 - eps, abs=1e-12)
    upper = cal.upper_distance_to_calibration(joint)
    assert upper == pytest.approx(eps, abs=1e-12)
    assert upper.witness(joint.prediction).tolist() == [0.5, 0.5]
    lower = cal.lower_distance_to_calibration(joint)
    assert lower == pytest.approx(eps - 2 * eps**2, abs=1e-12)


def test_theorem_6_6_upper_is_the_least_distance_of_all_post_processings():
    """Every calibrated map of the levels makes groups that share a value, their mean outcome."""
    for law in laws(generic, 40, most=7, seed=66):
        upper = cal.upper_distance_to_calibration(joint_of(law))
        assert upper == pytest.approx(by_definition.nearest_partition(*law), abs=1e-12)


@universal
@given(joints())
def test_theorem_6_6_kappa_is_in_K(law):
    """The survey's "kappa in J*" is to be read as kappa in K(J*): kappa(p) is calibrated."""
    joint = joint_of(law)
    upper = cal.upper_distance_to_calibration(joint)
    assert np.abs(joint.apply(upper.witness).residual).max() <= 1e-9
    moved = joint.mass @ np.abs(upper.witness(joint.prediction) - joint.prediction)
    assert moved == pytest.approx(float(upper), abs=1e-12)


# The lower distance and the smooth error


@fewer
@given(joints())
def test_theorem_6_7_smooth_error_is_within_a_factor_two_of_the_lower_distance(law):
    joint = joint_of(law)
    smooth, lower = cal.smooth_calibration_error(joint), cal.lower_distance_to_calibration(joint)
    assert smooth / 2 <= lower + 1e-12
    assert lower <= cal.earth_mover_distance(joint) + 1e-12
    assert lower <= 2 * smooth + 1e-12


def test_theorem_6_7_both_constants_are_tight():
    """Two points at 1/2 -+ eps: lower = 2 smCE. Rare misses near 1: the ratio goes to 1/2."""
    two = p_eps(0.1)
    assert cal.lower_distance_to_calibration(two) == pytest.approx(
        2 * cal.smooth_calibration_error(two)
    )
    ratios = []
    for e in (0.2, 0.02, 0.002):
        rare = cal.Joint.from_samples([0, 1], [1 - 2 * e, 1 - e], sample_weight=[e, 1 - e])
        lower, smooth = cal.lower_distance_to_calibration(rare), cal.smooth_calibration_error(rare)
        ratios.append(lower / smooth)
    assert ratios == sorted(ratios, reverse=True)
    assert 0.5 <= ratios[-1] <= 0.502


# The gap example


@pytest.mark.parametrize("eps", EPSILONS)
def test_gap_example_has_the_stated_law_and_distances(eps):
    """J* puts a fair coin on 1/2 -+ delta; p_2 is calibrated at distance 2 eps delta of p_1."""
    p_1, p_2, mass, chance = gap_example(eps)
    delta = eps / (1 - 2 * eps)
    joint = cal.Joint.from_samples(chance, p_1, sample_weight=mass)
    assert joint.prediction == pytest.approx([0.5 - delta, 0.5 + delta])
    assert joint.mass == pytest.approx([0.5, 0.5])
    assert joint.outcome == pytest.approx([0.5, 0.5])
    assert cal.exact_calibration_error(chance, p_2, sample_weight=mass) == pytest.approx(
        0, abs=1e-15
    )
    moved = mass @ np.abs(p_1 - p_2)
    assert moved == pytest.approx(2 * eps * delta)
    true = cal.distance_to_calibration(chance, p_1, sample_weight=mass)
    assert true == pytest.approx(2 * eps * delta, abs=1e-12)
    assert cal.lower_distance_to_calibration(joint) == pytest.approx(2 * eps * delta, abs=1e-12)
    assert cal.upper_distance_to_calibration(joint) == pytest.approx(delta, abs=1e-12)


def test_gap_example_needs_eps_at_most_a_quarter():
    """The survey allows eps below 1/2; beyond 1/4 its predictions leave [0, 1]."""
    assert gap_example(0.25)[0].tolist() == [0.0, 0.0, 1.0, 1.0]
    p_1, _, mass, chance = gap_example(0.3)
    with pytest.raises(cal.errors.InvalidForecastsError):
        cal.Joint.from_samples(chance, p_1, sample_weight=mass)


@pytest.mark.parametrize("eta", [0.01, 0.125, 0.5])
def test_corollary_6_8_one_law_two_distances(eta):
    """One space where the distance is eta, one where it is at most 2 eta^2, the same J*."""
    p_1, _, mass, chance = gap_example(eta / (1 + 2 * eta))
    near = cal.distance_to_calibration(chance, p_1, sample_weight=mass)
    joint = cal.Joint.from_samples(chance, p_1, sample_weight=mass)
    far = cal.distance_to_calibration([0.5, 0.5], joint.prediction)
    assert far == pytest.approx(eta, abs=1e-12)
    assert near <= 2 * eta**2 + 1e-12
    for measure in (cal.smooth_calibration_error, cal.lower_distance_to_calibration):
        assert measure(joint) == pytest.approx(measure([0.5, 0.5], joint.prediction), abs=1e-12)


# Intervals


@fewer
@given(joints())
def test_theorem_6_9_upper_is_at_most_four_roots_of_lower(law):
    joint = joint_of(law)
    lower = cal.lower_distance_to_calibration(joint)
    assert cal.upper_distance_to_calibration(joint) <= 4 * math.sqrt(lower) + 1e-12


def test_definition_6_10_the_infimum_may_not_be_attained():
    """Two calibrated-looking halves far apart: ever finer intervals come ever closer to the ECE."""
    joint = cal.Joint.from_samples([0.3, 0.8], [0.2, 0.9])
    error = cal.interval_calibration_error(joint)
    assert error == pytest.approx(float(cal.exact_calibration_error(joint)))
    assert not error.witness.attained
    widths = [1 / 10, 1 / 100, 1 / 1000]
    values = [
        cal.interval_calibration_error(joint, edges=np.arange(round(1 / w) + 1) * w) for w in widths
    ]
    assert [value - error for value in values] == pytest.approx(widths, abs=1e-12)


def test_definition_6_10_one_interval_pays_the_absolute_bias():
    """The survey prints E[y - p] for the single interval; the absolute value is meant."""
    assert cal.interval_calibration_error([0, 1], [0.9, 0.9], edges=[0, 1]) == pytest.approx(1.4)


@universal
@given(joints(), st.lists(st.integers(1, 19), max_size=6, unique=True))
def test_lemma_6_11_canonical_predictor_is_calibrated_and_near(law, inner):
    joint = joint_of(law)
    error = cal.interval_calibration_error(joint, edges=[0, *(k / 20 for k in sorted(inner)), 1])
    canonical = error.witness
    assert np.abs(joint.apply(canonical).residual).max() <= 1e-9
    distance = joint.mass @ np.abs(canonical(joint.prediction) - joint.prediction)
    assert distance <= error + 1e-12


@universal
@given(joints())
def test_theorem_6_12_upper_is_at_most_the_interval_error(law):
    joint = joint_of(law)
    interval = cal.interval_calibration_error(joint)
    assert cal.upper_distance_to_calibration(joint) <= interval + 1e-12
    assert interval <= cal.exact_calibration_error(joint) + 1e-12
    assert interval <= cal.surrogate_interval_calibration_error(joint) + 1e-12


@fewer
@given(joints(max_levels=8))
def test_lemma_6_13_a_shifted_grid_has_a_small_interval_error(law):
    """Width b = sqrt(2 d): on average over shifts at most d + 2 d / b + b <= 4 sqrt(d)."""
    joint = joint_of(law)
    d = float(cal.lower_distance_to_calibration(joint))
    assume(d > 1e-9)
    width = math.sqrt(2 * d)
    bias = by_definition.shifted_grid_bias(*law, width)
    assert bias <= d + 2 * d / width + 1e-9
    assert bias + width <= d + 2 * width + 1e-9 <= 4 * math.sqrt(d) + 2e-9
    assert cal.interval_calibration_error(joint) <= bias + width + 1e-9


@fewer
@given(joints())
def test_lemma_6_13_the_surrogate_is_at_most_four_roots_of_lower(law):
    """A power of two within sqrt(2) of the best width costs no more than 3 sqrt(d) + d."""
    joint = joint_of(law)
    d = float(cal.lower_distance_to_calibration(joint))
    surrogate = cal.surrogate_interval_calibration_error(joint)
    assert surrogate <= 3 * math.sqrt(d) + d + 1e-9


# What is continuous and what jumps


def test_upper_distance_jumps_when_levels_merge():
    """Two pairs of levels 1e-6 apart: .025 as long as they can be told apart, .125 once merged."""
    mass, outcome = [0.4, 0.1, 0.1, 0.4], [0.375, 1, 0, 0.625]
    apart = [0.375, 0.375 + 1e-6, 0.625 - 1e-6, 0.625]
    merged = [0.375, 0.375, 0.625, 0.625]
    values = [
        cal.upper_distance_to_calibration(outcome, p, sample_weight=mass) for p in (apart, merged)
    ]
    assert values == pytest.approx([0.025, 0.125], abs=1e-6)
    lower = [
        cal.lower_distance_to_calibration(outcome, p, sample_weight=mass) for p in (apart, merged)
    ]
    assert lower[0] == pytest.approx(float(lower[1]), abs=1e-6)


def test_interval_error_jumps_when_levels_merge():
    """The middle level's halves each balance one neighbour; together they balance nothing."""
    outcome = [0.8, 0.1, 0.9, 0.2]
    apart, merged = [0.4, 0.5 - 1e-9, 0.5 + 1e-9, 0.6], [0.4, 0.5, 0.5, 0.6]
    values = [cal.interval_calibration_error(outcome, p) for p in (apart, merged)]
    assert values == pytest.approx([0.1, 0.2], abs=1e-8)
