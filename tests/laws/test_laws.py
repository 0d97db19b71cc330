"""Laws that every measure of the catalogue obeys; exceptions are fields of the catalogue."""

from __future__ import annotations

import pickle
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant.catalogue import CATALOGUE, JOINT_MEASURES
from oracles.strategies import (
    joint_of,
    joints,
    of_each,
    predictions,
    rows,
    universal,
    weighted_rows,
)

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

MEASURES = JOINT_MEASURES.values()
every_measure = of_each("measure", MEASURES)
continuous = of_each("measure", [measure for measure in MEASURES if measure.continuous])
symmetric = of_each("measure", [measure for measure in MEASURES if measure.symmetric])
faithful = of_each("measure", [measure for measure in MEASURES if measure.faithful])


def close(value: float) -> object:
    return pytest.approx(float(value), rel=1e-12, abs=1e-13)


@universal
@given(data=rows(), seed=st.integers(0, 99))
@every_measure
def test_order_of_rows_does_not_matter(measure, data, seed):
    y, p = data
    order = np.random.default_rng(seed).permutation(y.size)
    assert measure.function(y[order], p[order]) == close(measure.function(y, p))


@universal
@given(data=rows())
@every_measure
def test_no_weights_means_weights_of_one(measure, data):
    y, p = data
    plain = measure.function(y, p)
    assert measure.function(y, p, sample_weight=np.ones(y.size)) == close(plain)


@universal
@given(data=rows(max_size=20), seed=st.integers(0, 99))
@every_measure
def test_weight_k_means_k_repeats_and_zero_means_removal(measure, data, seed):
    y, p = data
    weight = np.random.default_rng(seed).integers(0, 4, y.size)
    weight[0] = 1
    repeated = measure.function(np.repeat(y, weight), np.repeat(p, weight))
    assert measure.function(y, p, sample_weight=weight) == close(repeated)


@universal
@given(data=weighted_rows(), scale=st.sampled_from([1e-6, 0.3, 7.0, 1e9]))
@every_measure
def test_scale_of_weights_does_not_matter(measure, data, scale):
    y, p, w = data
    plain = measure.function(y, p, sample_weight=w)
    assert measure.function(y, p, sample_weight=w * scale) == close(plain)


@universal
@given(data=rows())
@symmetric
def test_swapping_the_outcomes_does_not_matter(measure, data):
    y, p = data
    q = 1 - p
    p = 1 - q  # exactly what 1 - (1 - p) is in doubles
    assert measure.function(1 - y, q) == pytest.approx(measure.function(y, p), abs=1e-12)


@universal
@given(law=joints())
@every_measure
def test_value_is_in_its_range(measure, law):
    low, high = measure.range
    assert low <= measure.function(joint_of(law)) <= high + 1e-12


@universal
@given(law=joints())
@every_measure
def test_a_calibrated_law_scores_zero(measure, law):
    assert measure.function(joint_of(law).recalibrated()) == pytest.approx(0, abs=1e-12)


@universal
@given(data=rows())
@every_measure
def test_the_constant_base_rate_scores_zero(measure, data):
    y, _ = data
    assert measure.function(y, np.full(y.size, y.mean())) == pytest.approx(0, abs=1e-15)


@universal
@given(law=joints())
@faithful
def test_a_faithful_measure_is_zero_only_without_residuals(measure, law):
    joint = joint_of(law)
    off = np.abs(joint.residual) > 1e-6
    # One level that is off by d with mass m, at distance g from its neighbours: a smooth test
    # can gain at least min(1, g) m d there, so the value cannot be zero to rounding.
    gaps = np.diff(joint.prediction, prepend=-1, append=2)
    room = np.minimum(np.minimum(gaps[:-1], gaps[1:]), 1.0)
    gain = float(np.max(joint.mass * np.abs(joint.residual) * room * off, initial=0.0)) / 2
    value = measure.function(joint)
    assert value >= measure.floor(gain) * (1 - 1e-9)
    if not joint.residual.any():
        assert value == 0


@universal
@given(data=rows(), seed=st.integers(0, 99), scale=st.sampled_from([1e-6, 1e-2, 0.3]))
@continuous
def test_a_continuous_measure_moves_no_further_than_its_modulus(measure, data, seed, scale):
    y, p = data
    q = np.clip(p + scale * np.random.default_rng(seed).normal(size=p.size), 0, 1)
    moved = abs(measure.function(y, p) - measure.function(y, q))
    assert moved <= measure.modulus(np.abs(p - q).mean()) + 1e-12


@universal
@given(data=weighted_rows(), cut=st.integers(0, 60))
@every_measure
def test_chunks_merged_equal_the_whole(measure, data, cut):
    y, p, w = data
    parts = [slice(0, cut), slice(cut, None)]
    chunks = [
        cal.Joint.from_samples(y[part], p[part], sample_weight=w[part])
        for part in parts
        if w[part].any()
    ]
    merged = chunks[0] if len(chunks) == 1 else chunks[0] + chunks[1]
    assert measure.function(merged) == close(measure.function(y, p, sample_weight=w))


@universal
@given(law=joints())
@every_measure
def test_the_witness_attains_the_value(measure, law):
    joint = joint_of(law)
    value = measure.function(joint)
    low, high = value.bounds
    assert value.witness.advantage(joint) == pytest.approx(value, abs=1e-12 + high - low)
    assert value.witness.sentence


@universal
@given(data=rows(), resolution=st.sampled_from([1, 2, 8, 64, 2**16]))
@continuous
def test_cells_certify_the_exact_value(measure, data, resolution):
    y, p = data
    exact = float(measure.function(y, p))
    cells = cal.Joint.from_samples(y, p, resolution=resolution)
    low, high = measure.function(cells).bounds
    assert low - 1e-12 <= exact <= high + 1e-12


@universal
@given(data=rows(max_size=20), seed=st.integers(0, 99))
@every_measure
def test_batch_of_many_charges_agrees_with_the_measure(measure, data, seed):
    if measure.batch is None:
        pytest.skip("it has no batch")
    joint = cal.Joint.from_samples(*data)
    rng = np.random.default_rng(seed)
    drawn = [joint.simulated(rng) for _ in range(3)]
    charges = [draw.mass * draw.residual for draw in drawn]
    together = measure.batch(joint, np.array(charges))
    assert together == pytest.approx([float(measure.function(d)) for d in drawn], abs=1e-14)


@universal
@given(data=rows(max_size=10))
@every_measure
def test_a_measurement_is_a_float_that_pickles(measure, data):
    value = measure.function(*data)
    again = pickle.loads(pickle.dumps(value))  # noqa: S301
    assert isinstance(value, float)
    assert type(value + 1) is float
    assert (float(again), again.name, again.settings, again.bounds) == (
        float(value),
        value.name,
        value.settings,
        value.bounds,
    )
    assert str(again) == str(value)
    assert repr(value) == repr(float(value))


@universal
@given(p=predictions, count=st.integers(1, 5))
@every_measure
def test_one_level_scores_what_its_distance_is_worth(measure, p, count):
    y = np.zeros(count)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing to warn of
        value = measure.function(y, np.full(count, p))
    assert value == pytest.approx(measure.alone(p), abs=1e-15)


def asked(measure, weight):
    """Ask a measure of the catalogue about twelve rows with these weights."""
    rng = np.random.default_rng(0)
    p, table = rng.random(12), rng.dirichlet(np.ones(3), 12)
    y, label = (rng.random(12) < p).astype(int), rng.integers(0, 3, 12)
    options = {}
    if measure.domain == "classes":
        if measure.requires:
            options = {"task": cal.multiclass.MulticlassDecisionTask.guess([0, 1, 2])}
        return measure.function(label, table, classes=[0, 1, 2], sample_weight=weight, **options)
    if measure.domain == "groups":
        options = {"by": np.arange(12) % 2}
    elif measure.requires:
        options = {"task": cal.DecisionTask.umbrella()}
    return measure.function(y, p, sample_weight=weight, **options)


HALF = np.arange(12) % 2 == 0
EXTREME = {
    "denormal": np.full(12, 5e-324),
    "tiny": np.full(12, 1e-300),
    "huge": np.full(12, 1e300),
    "a sum that overflows": np.full(12, 1e308),
    "tiny beside one": np.where(HALF, 1e-300, 1.0),
    "huge beside one": np.where(HALF, 1e300, 1.0),
    "denormal beside one": np.where(HALF, 5e-324, 1.0),
    "zero": np.zeros(12),
}


@pytest.mark.parametrize("measure", CATALOGUE.values(), ids=lambda measure: measure.name)
def test_every_measure_refuses_the_same_weights(measure):
    for weight in EXTREME.values():
        with pytest.raises(cal.errors.InvalidForecastsError, match="weights"):
            asked(measure, weight)
    plain = asked(measure, np.ones(12))
    for scale in (1e-150, 1e-100, 1e100, 1e150):
        scaled = asked(measure, np.full(12, scale))
        if isinstance(plain, float):
            assert scaled == pytest.approx(float(plain), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weight", EXTREME.values(), ids=EXTREME)
def test_real_outcomes_refuse_the_same_weights(weight):
    outcome, forecast = np.arange(12.0), np.arange(12.0)[::-1]
    with pytest.raises(cal.errors.InvalidForecastsError, match="weight"):
        cal.calibration_error(outcome, forecast, kind="mean", sample_weight=weight)


@pytest.mark.parametrize("bandwidth", [5e-324, 1e-300, 1.0, 1e300])
def test_every_bandwidth_is_measured_or_refused(bandwidth):
    y, p = [0, 1, 1, 0], [0.1, 0.6, 0.9, 0.3]
    table = np.column_stack([np.subtract(1, p), p])
    values = [
        cal.kernel_calibration_error(y, p, bandwidth=bandwidth),
        cal.multiclass.canonical_calibration_error(y, table, bandwidth=bandwidth),
        cal.multiclass.canonical_calibration_error(
            y, table, bandwidth=bandwidth, method="features"
        ),
    ]
    values.append(cal.kernel_calibration_error(y, p, kernel="gaussian", bandwidth=bandwidth))
    assert np.isfinite(values).all()
    if bandwidth == 1e300:
        bias = abs(np.mean(y) - np.mean(p))
        assert values == pytest.approx([bias] * 4, abs=1e-6)
