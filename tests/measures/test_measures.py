"""The fast measures against their definitions, on hundreds of random laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from oracles import definitions as by_definition
from oracles.strategies import MAKERS, generic, joint_of, laws, tied, universal, weighted_rows

# Laws of single rows are wanted here; that their ECE says little is what the warning is for.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

TOLERANCE = 1e-9
ORDERS = (1, 2, 3.5, math.inf)
LIPSCHITZ = (0.3, 1.0, 2.0, 7.0)
CUTOFFS = {
    "intervals": by_definition.cutoff_over_intervals,
    "thresholds": by_definition.cutoff_over_thresholds,
}
EXACT = {
    "expected": cal.exact_calibration_error,
    "smooth": cal.smooth_calibration_error,
    "earth mover": cal.earth_mover_distance,
    "cutoff": cal.cutoff_calibration_error,
}

every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
every_order = pytest.mark.parametrize("order", ORDERS)
every_lipschitz = pytest.mark.parametrize("lipschitz", LIPSCHITZ)
every_cutoff = pytest.mark.parametrize("sets", CUTOFFS)


def close(value: float):
    return pytest.approx(value, rel=0, abs=TOLERANCE)


# The oracles themselves


@every_maker
def test_oracles_agree_with_each_other(maker):
    """Neighbours against all pairs, transport against its dual, total variation against events."""
    for law in laws(maker, 20, most=12):
        neighbours = by_definition.smooth_calibration_error(*law)
        assert neighbours == close(by_definition.smooth_calibration_error(*law, all_pairs=True))
        transport = by_definition.earth_mover_distance(*law)
        assert transport == close(by_definition.earth_mover_distance_by_duality(*law))
    for law in laws(maker, 10, most=4):
        events = by_definition.total_variation_over_all_events(*law)
        assert by_definition.total_variation(*law) == close(events)


# The Joint


@universal
@given(weighted_rows())
def test_levels_are_the_groups_of_equal_predictions(rows):
    y, p, w = rows
    joint = cal.Joint.from_samples(y, p, sample_weight=w)
    total, law = by_definition.group_levels(y, p, w)
    assert joint.prediction.tolist() == law.prediction.tolist()
    assert joint.weight == pytest.approx(law.mass * total, rel=1e-12)
    assert joint.mass == pytest.approx(law.mass, rel=1e-12)
    assert joint.outcome == pytest.approx(law.outcome, rel=1e-12, abs=1e-15)
    assert joint.residual == pytest.approx(law.outcome - law.prediction, rel=0, abs=1e-12)
    assert joint.base_rate == pytest.approx(float(law.mass @ law.outcome), rel=1e-12, abs=1e-15)


@universal
@given(weighted_rows(), weighted_rows())
def test_sum_of_joints_is_the_joint_of_all_rows(some, others):
    merged = cal.Joint.from_samples(some[0], some[1], sample_weight=some[2])
    merged = merged + cal.Joint.from_samples(others[0], others[1], sample_weight=others[2])
    y, p, w = (np.concatenate(pair) for pair in zip(some, others, strict=True))
    total, law = by_definition.group_levels(y, p, w)
    assert merged.prediction.tolist() == law.prediction.tolist()
    assert merged.weight == pytest.approx(law.mass * total, rel=1e-12)
    assert merged.outcome == pytest.approx(law.outcome, rel=1e-12, abs=1e-15)


def test_counts_give_the_levels_of_their_rows():
    prediction, count, positives = [0.7, 0.2, 0.5], [3, 4, 1], [2, 0, 1]
    joint = cal.Joint.from_counts(prediction, count, positives)
    p = np.repeat(prediction, count)
    y = np.concatenate([[1, 1, 0], [0, 0, 0, 0], [1]])
    rows = cal.Joint.from_samples(y, p)
    for attribute in ("prediction", "weight", "outcome", "mass", "residual"):
        assert getattr(joint, attribute) == pytest.approx(getattr(rows, attribute), abs=1e-15)


@every_maker
def test_applied_map_merges_the_levels_that_meet(maker):
    for law in laws(maker, 50):
        v, m, r = law
        mapped = joint_of(law).apply(lambda p: np.round(1 - p**2, 1))
        _, merged = by_definition.group_levels(r, np.round(1 - v**2, 1), m)
        assert mapped.prediction.tolist() == merged.prediction.tolist()
        assert mapped.mass == pytest.approx(merged.mass, rel=1e-12)
        assert mapped.outcome == pytest.approx(merged.outcome, abs=1e-12)


@every_maker
@pytest.mark.parametrize("cells", [4, 64])
def test_rounding_keeps_means_and_certifies_the_move(maker, cells):
    """Each level goes to the mean prediction of its cell; ``rounding`` bounds E|p - p'|."""
    for law in laws(maker, 100):
        rounded = joint_of(law).rounded(cells)
        cell = np.array([min(int(v * cells), cells - 1) for v in law.prediction])
        means = {
            c: np.average(law.prediction[cell == c], weights=law.mass[cell == c]) for c in cell
        }
        assert rounded.prediction == pytest.approx([means[c] for c in sorted(means)], abs=1e-12)
        distance = math.fsum(
            m * abs(v - means[c]) for v, m, c in zip(law.prediction, law.mass, cell, strict=True)
        )
        assert distance - 1e-12 <= rounded.rounding <= 0.5 / cells + 1e-12
        assert rounded.base_rate == pytest.approx(float(law.mass @ law.outcome), abs=1e-12)


@every_maker
def test_continuous_measures_move_by_no_more_than_rounding_allows(maker):
    """Cell means cancel the first-order term: L e for the smooth error, 2 e for the earth mover."""
    for law in laws(maker, 60):
        rounded = joint_of(law).rounded(16)
        for lipschitz in LIPSCHITZ:
            exact = by_definition.smooth_calibration_error(*law, lipschitz)
            measured = cal.smooth_calibration_error(rounded, lipschitz=lipschitz)
            assert abs(measured - exact) <= lipschitz * rounded.rounding + TOLERANCE
            assert measured.bounds[0] - TOLERANCE <= exact <= measured.bounds[1] + TOLERANCE
        exact = by_definition.earth_mover_distance_by_duality(*law)
        measured = cal.earth_mover_distance(rounded)
        assert abs(measured - exact) <= 2 * rounded.rounding + TOLERANCE
        assert measured.bounds[0] - TOLERANCE <= exact <= measured.bounds[1] + TOLERANCE


# The measures


@every_order
@every_maker
def test_exact_calibration_error(maker, order):
    for law in laws(maker, 300):
        measured = cal.exact_calibration_error(joint_of(law), order=order)
        assert measured == close(by_definition.exact_calibration_error(*law, order))


@every_lipschitz
@every_maker
def test_smooth_calibration_error_solves_its_linear_program(maker, lipschitz):
    for law in laws(maker, 300):
        measured = cal.smooth_calibration_error(joint_of(law), lipschitz=lipschitz)
        assert measured == close(by_definition.smooth_calibration_error(*law, lipschitz))


@every_maker
def test_smooth_calibration_error_of_many_levels(maker):
    for law in laws(maker, 8, most=300, seed=300):
        for lipschitz in LIPSCHITZ:
            measured = cal.smooth_calibration_error(joint_of(law), lipschitz=lipschitz)
            assert measured == close(by_definition.smooth_calibration_error(*law, lipschitz))


@every_maker
def test_earth_mover_distance_solves_the_transport_program(maker):
    for law in laws(maker, 300, most=10):
        assert cal.earth_mover_distance(joint_of(law)) == close(
            by_definition.earth_mover_distance(*law)
        )


@every_maker
def test_earth_mover_distance_of_many_levels(maker):
    for most, count in ((40, 100), (300, 8)):
        for law in laws(maker, count, most=most, seed=most):
            assert cal.earth_mover_distance(joint_of(law)) == close(
                by_definition.earth_mover_distance_by_duality(*law)
            )


@every_cutoff
@every_maker
def test_cutoff_calibration_error_tries_every_set(maker, sets):
    for law in laws(maker, 300):
        measured = cal.cutoff_calibration_error(joint_of(law), sets=sets)
        assert measured == close(CUTOFFS[sets](*law))
    for law in laws(maker, 2, most=300, seed=300):
        measured = cal.cutoff_calibration_error(joint_of(law), sets=sets)
        assert measured == close(CUTOFFS[sets](*law))


@pytest.mark.parametrize("name", EXACT)
@every_maker
def test_arrays_and_joint_give_the_same_certified_float(maker, name):
    """A Measurement is a float whose bounds meet at the value when the value is exact."""
    measure = EXACT[name]
    for law in laws(maker, 50):
        measured = measure(joint_of(law))
        assert isinstance(measured, float)
        rows = measure(law.outcome, law.prediction, sample_weight=law.mass)
        assert rows == pytest.approx(measured, abs=1e-14)
        low, high = measured.bounds
        assert low <= measured <= high
        assert high - low <= 1e-12


# Witnesses: the value is attained, by a function that the definition allows


@every_order
@every_maker
def test_witness_of_expected_error_is_optimal_in_the_dual_norm(maker, order):
    """Order q is the largest advantage over weight functions of norm one for 1/q + 1/q' = 1."""
    for law in laws(maker, 150):
        joint = joint_of(law)
        measured = cal.exact_calibration_error(joint, order=order)
        assert measured.witness.advantage(joint) == pytest.approx(measured, abs=1e-12)
        size = np.abs(measured.witness(joint.prediction))
        if order == 1:
            norm = size.max()
        else:
            dual = 1.0 if math.isinf(order) else order / (order - 1)
            norm = math.fsum(law.mass * size**dual) ** (1 / dual)
        assert norm <= 1 + TOLERANCE


def assert_smooth_witness(measured, joint, lipschitz):
    """Optimal on the levels; bounded and Lipschitz there and between."""
    witness = measured.witness
    assert witness.advantage(joint) == pytest.approx(measured, abs=1e-12)
    values = witness(joint.prediction)
    assert math.fsum(values * joint.mass * joint.residual) == pytest.approx(measured, abs=1e-12)
    points = np.concatenate([joint.prediction, np.linspace(0, 1, 101)])
    assert np.abs(witness(points)).max() <= 1 + 1e-12
    assert by_definition.lipschitz_excess(witness, points, lipschitz) <= 1e-12


@every_lipschitz
@every_maker
def test_witness_of_smooth_error_is_optimal_and_feasible(maker, lipschitz):
    for law in laws(maker, 150):
        joint = joint_of(law)
        measured = cal.smooth_calibration_error(joint, lipschitz=lipschitz)
        assert_smooth_witness(measured, joint, lipschitz)


@every_maker
def test_witness_of_earth_mover_distance_is_two_lipschitz(maker):
    """f(v, 1) = w/2 and f(v, 0) = -w/2 is 1-Lipschitz exactly when w is 2-Lipschitz in [-1, 1]."""
    for law in laws(maker, 150):
        joint = joint_of(law)
        assert_smooth_witness(cal.earth_mover_distance(joint), joint, 2.0)


@every_cutoff
@every_maker
def test_witness_of_cutoff_error_is_a_signed_indicator(maker, sets):
    for law in laws(maker, 150):
        joint = joint_of(law)
        measured = cal.cutoff_calibration_error(joint, sets=sets)
        assert measured.witness.advantage(joint) == pytest.approx(measured, abs=1e-12)
        values = measured.witness(joint.prediction)
        inside = np.flatnonzero(values)
        if measured > TOLERANCE:
            assert len(inside) > 0
        if len(inside) > 0:
            first, last = inside[0], inside[-1]
            assert len(set(values[first : last + 1])) == 1, "one sign, no holes"
            assert abs(values[first]) == 1
            if sets == "thresholds":
                assert first == 0 or last == len(values) - 1


# Bins


def rows_on_edges(rng: np.random.Generator, n_bins: int, size: int = 120):
    """Predictions on the edges, one double beside them, and anywhere.

    Outcomes are drawn from the predictions: residuals of mixed signs cancel within bins, so that
    a row in the wrong bin changes the value.
    """
    edge = rng.integers(0, n_bins + 1, size) / n_bins
    next_to = np.nextafter(edge, rng.integers(0, 2, size))
    p = np.choose(rng.integers(0, 3, size), [edge, next_to, rng.random(size)])
    p[:2] = 0.0, 1.0
    return (rng.random(size) < p).astype(int), p, rng.integers(0, 4, size) + rng.random(size)


@pytest.mark.parametrize("form", ["residual", "midpoint"])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_uniform_bins_count_every_row_once(closed, form):
    rng = np.random.default_rng(7)
    for n_bins in (1, 2, 3, 7, 10, 15, 20, 49, 100):
        edges = by_definition.uniform_edges(n_bins)
        for order in (1, 2, math.inf):
            y, p, w = rows_on_edges(rng, n_bins)
            options = {"closed": closed, "order": order, "form": form}
            measured = cal.binned_calibration_error(y, p, n_bins=n_bins, **options)
            assert measured == close(by_definition.binned_calibration_error(y, p, edges, **options))
            measured = cal.binned_calibration_error(y, p, sample_weight=w, n_bins=n_bins, **options)
            assert measured == close(
                by_definition.binned_calibration_error(y, p, edges, **options, weight=w)
            )


@pytest.mark.parametrize("form", ["residual", "midpoint"])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_given_edges_are_taken_as_they_are(closed, form):
    rng = np.random.default_rng(8)
    for _ in range(40):
        n_bins = int(rng.integers(2, 12))
        inner = np.sort(rng.choice(np.arange(1, 40), n_bins - 1, replace=False)) / 40
        edges = np.concatenate([[0.0], inner, [1.0]])
        p = np.choose(rng.integers(0, 2, 100), [rng.choice(edges, 100), rng.random(100)])
        y = (rng.random(100) < p).astype(int)
        options = {"closed": closed, "form": form}
        measured = cal.binned_calibration_error(y, p, strategy=edges, **options)
        assert measured == close(by_definition.binned_calibration_error(y, p, edges, **options))


def test_defaults_are_fifteen_left_closed_uniform_bins():
    y, p, _ = rows_on_edges(np.random.default_rng(9), 15)
    edges = by_definition.uniform_edges(15)
    expected = by_definition.binned_calibration_error(y, p, edges)
    assert cal.binned_calibration_error(y, p) == close(expected)
    assert expected != close(by_definition.binned_calibration_error(y, p, edges, "right"))
    for n_bins in (5, 10, 14, 16, 20):
        others = by_definition.uniform_edges(n_bins)
        assert expected != close(by_definition.binned_calibration_error(y, p, others))


@every_maker
def test_bins_of_a_joint_are_bins_of_its_levels(maker):
    edges = by_definition.uniform_edges(10)
    for law in laws(maker, 100):
        v, m, r = law
        measured = cal.binned_calibration_error(joint_of(law), n_bins=10)
        assert measured == close(by_definition.binned_calibration_error(r, v, edges, weight=m))


def test_quantile_bins_are_blocks_of_equal_mass():
    """Twelve levels of equal mass in four bins: three neighbours each."""
    rng = np.random.default_rng(10)
    for _ in range(50):
        v, r = np.sort(rng.random(12)), rng.random(12)
        blocks = np.abs((r - v).reshape(4, 3).sum(axis=1)).sum() / 12
        measured = cal.binned_calibration_error(r, v, n_bins=4, strategy="quantile")
        assert measured == close(blocks)


def test_quantile_bins_never_split_ties():
    """A constant predictor scores |mean p - mean y|, however the rows are ordered."""
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    measured = cal.binned_calibration_error(y, np.full(10, 0.9), n_bins=5, strategy="quantile")
    assert measured == close(0.5)


def test_debiased_error_subtracts_the_variance_of_each_bin():
    """The square may be negative and is kept in the settings; the value is its root, or zero."""
    rng = np.random.default_rng(11)
    signs = set()
    for n_bins, slope in itertools.product((2, 5, 15), (1.0, 1.3)):
        edges = by_definition.uniform_edges(n_bins)
        for closed in ("left", "right"):
            p = rng.integers(0, 101, 400) / 100
            y = (rng.random(400) < p**slope).astype(int)
            assert min(map(len, by_definition.bins_of_rows(y, p, edges, closed).values())) > 1
            measured = cal.binned_calibration_error(
                y, p, n_bins=n_bins, closed=closed, order=2, debias=True
            )
            square = by_definition.debiased_squared_error(y, p, edges, closed)
            assert measured.settings["squared"] == close(square)
            assert measured == close(math.sqrt(max(0.0, square)))
            signs.add(square > 0)
    assert signs == {False, True}, "the examples must show both cases"


# Isotonic pooling


@pytest.mark.parametrize("maker", [generic, tied], ids=lambda maker: maker.__name__)
def test_isotonic_pools_are_those_of_the_max_min_formula(maker):
    for law in laws(maker, 60, most=20):
        fit = by_definition.isotonic_fit(*law)
        pool = cal.binning.isotonic(joint_of(law))
        mapped = pool(law.prediction)
        assert np.all(np.diff(mapped) >= 0)
        # Which pool a level went to is read off the map, whatever stands for a pool.
        which = np.abs(pool.joint.prediction[None, :] - mapped[:, None]).argmin(axis=1)
        assert pool.joint.outcome[which] == pytest.approx(fit, abs=1e-12)
        masses = np.bincount(which, law.mass, minlength=len(pool.joint.mass))
        assert pool.joint.mass == pytest.approx(masses, abs=1e-12)
