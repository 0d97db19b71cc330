"""The certificate of cells that an engine summed: the exact value lies within the bounds."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.measures.cutoff import SETS
from oracles.strategies import MAKERS, joint_of, laws, of_each, rows, universal, weighted_rows

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

CONTINUOUS = [measure for measure in JOINT_MEASURES.values() if measure.continuous]
every_continuous = pytest.mark.parametrize("measure", CONTINUOUS, ids=lambda m: m.name)
RESOLUTIONS = [2**4, 2**8, 2**12, 2**16, 2**20, "auto"]
COLUMNS = {"prediction": "p", "outcome": "y", "weight": "w"}


def on_an_engine(y, p, w, resolution) -> cal.Joint:
    return cal.Joint.from_frame(
        pl.DataFrame({"p": p, "y": y, "w": w}), **COLUMNS, resolution=resolution
    )


def assert_certified(measure, exact: cal.Joint, cells: cal.Joint) -> None:
    low, high = measure.function(cells).bounds
    assert low - 1e-12 <= measure.function(exact) <= high + 1e-12


@universal
@given(data=weighted_rows(), resolution=st.sampled_from(RESOLUTIONS))
@of_each("measure", CONTINUOUS)
def test_cells_of_rows_certify_the_exact_value(measure, data, resolution):
    y, p, w = data
    exact = cal.Joint.from_samples(y, p, sample_weight=w)
    assert_certified(measure, exact, on_an_engine(y, p, w, resolution))


@every_continuous
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_cells_of_adversarial_laws_certify_the_exact_value(measure, maker):
    for number, law in enumerate(laws(maker, 18)):
        resolution = RESOLUTIONS[number % len(RESOLUTIONS)]
        cells = on_an_engine(law.outcome, law.prediction, law.mass, resolution)
        assert_certified(measure, joint_of(law), cells)


@every_continuous
@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_many_rows_certify_the_exact_value(measure, resolution):
    rng = np.random.default_rng(11)
    p = np.concatenate([rng.random(3000), 0.5 + 2.0**-17 * rng.random(500), 10 ** -rng.random(500)])
    y = (rng.random(p.size) < np.where(p % 2e-5 < 1e-5, p**2, np.sqrt(p))).astype(int)
    exact, cells = cal.Joint.from_samples(y, p), on_an_engine(y, p, np.ones(p.size), resolution)
    assert_certified(measure, exact, cells)
    assert cells.rounding <= (cells.high - cells.low) @ cells.mass / 2 + 1e-18


TASK = cal.DecisionTask.umbrella()
WITH_OPTIONS = [
    *((measure.function, {}) for measure in JOINT_MEASURES.values() if not measure.requires),
    *((cal.cutoff_calibration_error, {"sets": sets}) for sets in SETS),
    *((cal.exact_calibration_error, {"order": order}) for order in (2, np.inf)),
    *(
        (cal.binned_calibration_error, options)
        for options in (
            {"n_bins": 4},
            {"strategy": [0, 0.1, 0.35, 1]},
            {"strategy": "quantile", "n_bins": 3},
            {"closed": "right"},
            {"order": 2},
            {"form": "midpoint"},
            {"debias": True},
            {"mean": "bins"},
            {"direction": "over"},
        )
    ),
    *(
        (function, options)
        for function in (cal.calibration_decision_loss, cal.u_calibration_error)
        for options in ({}, {"payoffs": "v-shaped"})
    ),
    (cal.calibration_decision_loss, {"pooling": "isotonic"}),
    (cal.fixed_decision_loss, {"task": TASK}),
    (cal.fixed_decision_loss, {"task": TASK, "regret": "external"}),
    (cal.fixed_decision_loss, {"task": "brier", "pooling": "isotonic"}),
    (cal.interval_calibration_error, {"edges": [0, 0.2, 0.7, 1]}),
    (cal.averaged_two_bin_error, {"order": 1}),
    (cal.kernel_calibration_error, {"kernel": "gaussian", "bandwidth": 0.3}),
    (cal.kernel_calibration_error, {"kernel": "gaussian", "bandwidth": 5e-4}),
    (cal.low_degree_calibration_error, {"norm": "l2", "degree": 50}),
    (cal.kernel_calibration_error, {"kernel": "polynomial"}),
    (cal.kernel_calibration_error, {"squared": True}),
    (cal.post_processing_gap, {"loss": "log"}),
    *(
        (cal.weighted_calibration_error, {"family": family})
        for family in (
            cal.weight_functions.Thresholds(),
            cal.weight_functions.Monotone(),
            cal.weight_functions.Bounded(),
            cal.weight_functions.BoundedVariation(),
            cal.weight_functions.Dictionary([lambda p: p > 0.5]),
        )
    ),
]
UNBIASED = [
    (cal.kernel_calibration_error, {"unbiased": True}),
    (cal.kernel_calibration_error, {"unbiased": True, "kernel": "gaussian"}),
    (cal.kernel_calibration_error, {"unbiased": True, "kernel": "polynomial"}),
    (cal.kernel_calibration_error, {"unbiased": True, "kernel": lambda u, v: 1 + u * v}),
    (cal.averaged_two_bin_error, {"unbiased": True}),
]


@universal
@given(data=weighted_rows(max_size=30), cells=st.sampled_from([2, 4, 8, 32, 256]))
@of_each("selected", WITH_OPTIONS)
def test_bounds_on_cells_hold_the_value_of_the_rows(selected, data, cells):
    function, options = selected
    y, p, w = data
    joint = cal.Joint.from_samples(y, p, sample_weight=w)
    low, high = function(joint.rounded(cells), **options).bounds
    assert low - 1e-9 <= function(joint, **options) <= high + 1e-9


@universal
@given(data=rows(max_size=30), cells=st.sampled_from([2, 4, 8, 32, 256]))
@of_each("selected", WITH_OPTIONS + UNBIASED)
def test_bounds_on_cells_without_weights_hold_the_value_of_the_rows(selected, data, cells):
    function, options = selected
    y, p = data
    joint = cal.Joint.from_samples(y, p)
    assume(joint.row_count > 1)
    low, high = function(joint.rounded(cells), **options).bounds
    assert low - 1e-9 <= function(joint, **options) <= high + 1e-9


@universal
@given(data=rows(max_size=30), grid=st.sampled_from([2, 5, 10, 100]))
@of_each("selected", WITH_OPTIONS + UNBIASED)
def test_bounds_of_counts_with_a_width_hold_the_value_of_the_rows(selected, data, grid):
    function, options = selected
    y, p = data
    assume(y.size > 1)
    level, index = np.unique(np.floor(p * grid).clip(0, grid - 1), return_inverse=True)
    counts = cal.Joint.from_counts(
        (level + 0.5) / grid, np.bincount(index), np.bincount(index, y), width=1 / grid
    )
    low, high = function(counts, **options).bounds
    assert low - 1e-9 <= function(cal.Joint.from_samples(y, p), **options) <= high + 1e-9


def few_cells(rng):
    """Random rows, anywhere or close together, and how many cells they are rounded to."""
    size = int(rng.integers(2, 60))
    spread = 2.0 ** -float(rng.integers(0, 20))
    p = [
        rng.random(size),
        rng.integers(0, 9, size) / 8,
        0.5 + spread * (rng.random(size) - 0.5),
        rng.beta(0.2, 0.2, size),
    ][int(rng.integers(4))]
    rate = [p, 1 - p, p**2, np.full(size, 0.5)][int(rng.integers(4))]
    weight = rng.exponential(size=size) if rng.random() < 0.3 else None
    joint = cal.Joint.from_samples((rng.random(size) < rate).astype(int), p, sample_weight=weight)
    return joint, joint.rounded(int(rng.choice([2, 4, 8, 16, 256])))


@pytest.mark.parametrize("sets", SETS)
def test_cutoff_errors_of_thousands_of_joints_lie_within_the_bounds_of_few_cells(sets):
    rng = np.random.default_rng(17)
    inside = 0
    for _ in range(2500):
        joint, cells = few_cells(rng)
        exact = cal.cutoff_calibration_error(joint, sets=sets)
        value = cal.cutoff_calibration_error(cells, sets=sets)
        low, high = value.bounds
        assert low == value
        assert low - 1e-12 <= exact <= high + 1e-12
        assert exact.bounds == (exact, exact)
        inside += low < exact
    assert inside > 300  # so that the bounds are needed


@pytest.mark.parametrize("sets", SETS)
def test_cutoff_bounds_are_attained_by_some_rows(sets):
    """A one at the lower end of a cell and a zero at its upper end."""
    joint = cal.Joint.from_samples([1, 0], [0.1, 0.3])
    cells = joint.rounded(2)
    assert len(cells) == 1
    low, high = cal.cutoff_calibration_error(cells, sets=sets).bounds
    assert low < high == pytest.approx(float(cal.cutoff_calibration_error(joint, sets=sets)))


@pytest.mark.parametrize(
    ("function", "options", "most"),
    [
        (cal.kernel_calibration_error, {}, 1),
        (cal.kernel_calibration_error, {"kernel": "gaussian", "bandwidth": 1e-4}, 1),
        (cal.kernel_calibration_error, {"kernel": "polynomial", "degree": 3}, 2),
        (cal.low_degree_calibration_error, {"degree": 40, "norm": "l1"}, 1),
        (cal.low_degree_calibration_error, {"degree": 15, "norm": "l2"}, 4),
    ],
)
def test_upper_bounds_of_tests_that_are_bounded_stay_in_the_range(function, options, most):
    rng = np.random.default_rng(18)
    for _ in range(200):
        joint, cells = few_cells(rng)
        low, high = function(cells, **options).bounds
        assert low - 1e-9 <= function(joint, **options) <= high + 1e-9
        assert high <= most


def test_the_unbiased_kernel_error_is_not_certified_at_the_value_of_the_cells():
    joint = cal.Joint.from_samples([0, 1, 1], [0.30, 0.31, 0.32])
    exact = cal.kernel_calibration_error(joint, unbiased=True)
    assert exact.bounds == (exact, exact)
    low, high = cal.kernel_calibration_error(joint.rounded(2), unbiased=True).bounds
    assert low < exact < high


def test_bounds_of_fine_cells_are_narrow_where_they_are_certified():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    joint = cal.Joint.from_samples(rng.random(p.size) < p**2, p).rounded(2**12)
    for function in (cal.cutoff_calibration_error, cal.binned_calibration_error):
        low, high = function(joint).bounds
        assert 0 < high - low < 0.01


def test_predictions_too_close_for_the_mean_distance_are_rounded_all_the_same():
    joint = cal.Joint.from_samples([1, 0], [0.0, 1e-185])
    low, high = cal.exact_calibration_error(joint.rounded(2)).bounds
    assert joint.rounded(2).rounding == 0
    assert low <= cal.exact_calibration_error(joint) <= high
