"""Laws over all calibrators: range, monotony, counts as repeats, order of rows, little data."""

from __future__ import annotations

import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import calibrant as cal
from calibrant.recalibration import (
    CALIBRATORS,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
)
from oracles.strategies import of_each, rows, universal, weighted_rows

VARIANTS = {
    **{name: kind() for name, kind in CALIBRATORS.items()},
    "Isotonic strict": IsotonicCalibration(strict=True),
    "Histogram uniform": HistogramBinning("uniform"),
    "Histogram interval": HistogramBinning("interval"),
    "Smooth 0.1": KernelCalibration(bandwidth=0.1),
    "Platt plain": CALIBRATORS["platt"](smoothing="none"),
}
MONOTONE = (
    "identity", "prior", "temperature", "beta", "quadratic", "spline", "centered_isotonic",
    "isotonic", "Isotonic strict",
)  # fmt: skip
every_calibrator = pytest.mark.parametrize("variant", VARIANTS)
some = settings(universal, max_examples=30)
GRID = np.concatenate([[0.0, 5e-324, 1e-300, 1e-17], np.linspace(0, 1, 201), [1 - 2**-53]])


def fresh(variant):
    return type(VARIANTS[variant])(**VARIANTS[variant].get_params())


@some
@given(data=weighted_rows())
@of_each("variant", VARIANTS)
def test_values_are_probabilities_and_never_certain(variant, data):
    y, p, w = data
    values = fresh(variant).fit(p, y, w).transform(GRID)
    assert np.isfinite(values).all()
    assert ((values >= 0) & (values <= 1)).all()
    if variant != "identity":
        assert ((values > 0) & (values < 1)).all()


@some
@given(data=weighted_rows())
@of_each("variant", MONOTONE)
def test_monotone_maps_are_monotone(variant, data):
    y, p, w = data
    at = np.unique(np.concatenate([GRID, p]))
    assert (np.diff(fresh(variant).fit(p, y, w).transform(at)) >= -1e-15).all()


@some
@given(data=weighted_rows())
def test_the_strict_variant_keeps_forecasts_apart(data):
    y, p, w = data
    at = np.linspace(0, 1, 1001)
    assert (np.diff(IsotonicCalibration(strict=True).fit(p, y, w).transform(at)) > 0).all()


@some
@given(data=rows(), times=st.integers(2, 3))
@of_each("variant", VARIANTS)
def test_counts_are_repeats(variant, data, times):
    y, p = data
    count = 1 + (np.arange(y.size) % times)
    counted = fresh(variant).fit(cal.Joint.from_counts(p, count, count * y))
    repeated = fresh(variant).fit(np.repeat(p, count), np.repeat(y, count))
    assert counted.transform(GRID) == pytest.approx(repeated.transform(GRID), abs=1e-7)


@some
@given(data=weighted_rows(), power=st.integers(-40, 40))
@of_each("variant", VARIANTS)
def test_weights_have_no_unit_and_zero_is_removal(variant, data, power):
    y, p, w = data
    once = fresh(variant).fit(p, y, w)
    scaled = fresh(variant).fit(np.append(p, 0.5), np.append(y, 1), np.append(w, 0.0) * 2.0**power)
    assert scaled.transform(GRID) == pytest.approx(once.transform(GRID), abs=1e-7)


@some
@given(data=weighted_rows(), seed=st.integers(0, 99))
@of_each("variant", VARIANTS)
def test_the_order_of_rows_does_not_matter(variant, data, seed):
    y, p, w = data
    order = np.random.default_rng(seed).permutation(y.size)
    one = fresh(variant).fit(p, y, w)
    other = fresh(variant).fit(p[order], y[order], w[order])
    assert one.transform(GRID) == pytest.approx(other.transform(GRID), abs=1e-7)


@every_calibrator
def test_weights_that_sum_to_one_do_not_pass_for_one_row(variant):
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = rng.random(2000) < p**2
    plain = fresh(variant).fit(p, y).transform(GRID)
    normed = fresh(variant).fit(p, y, np.full(p.size, 1 / p.size)).transform(GRID)
    assert normed == pytest.approx(plain, abs=1e-7)


@every_calibrator
def test_large_weights_of_certain_forecasts_that_a_threshold_parts_are_fitted(variant):
    """As a number of rows such weights would leave next to no doubt in Platt's targets."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = np.append(rng.random(30).round(2), 1.0)
        y = (p > rng.random()).astype(int)
        values = fresh(variant).fit(p, y, 10.0 ** rng.uniform(8, 15, p.size)).transform(GRID)
        assert np.isfinite(values).all()


@every_calibrator
@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_one_class_moves_forecasts_towards_it_without_inventing_a_slope(variant, y):
    fitted = fresh(variant).fit([0.2, 0.5, 0.6], y)
    values = fitted.transform([0.2, 0.5, 0.6])
    assert ((values > 0) & (values < 1)).all()
    if variant in {"identity", "temperature"}:
        assert values == pytest.approx([0.2, 0.5, 0.6])
    elif y[0]:
        assert values.mean() > 0.5
    else:
        assert values.mean() < 0.43
    if variant in {"prior", "platt", "Platt plain", "beta", "quadratic", "spline"}:
        odds = values / (1 - values)
        assert odds / np.array([0.25, 1, 1.5]) == pytest.approx([odds[1]] * 3)
        assert "one outcome" in fitted.sentence


@every_calibrator
def test_two_rows_that_are_parted_stay_on_their_sides(variant):
    low, high = fresh(variant).fit([0.3, 0.8], [0, 1]).transform([0.3, 0.8])
    assert 0.05 < low < 0.55
    assert 0.45 < high < 0.95
    assert low <= high


@pytest.mark.parametrize(
    "variant",
    ["isotonic", "kernel", "histogram", "Histogram uniform", "Histogram interval", "venn_abers"],
)
def test_maps_of_pieces_are_flat_beyond_the_rows_seen(variant):
    rng = np.random.default_rng(8)
    p = rng.uniform(0.31, 0.69, 500)
    fitted = fresh(variant).fit(p, rng.random(500) < p)
    for outside in (np.linspace(0, 0.26, 50), np.linspace(0.74, 1, 50)):
        assert np.unique(fitted.transform(outside)).size == 1


@every_calibrator
def test_one_row_and_constant_forecasts(variant):
    assert 0 < fresh(variant).fit([0.3], [1]).transform([0.3])[0] < 1
    fitted = fresh(variant).fit([0.3] * 10, [1] * 6 + [0] * 4)
    value = float(fitted.transform([0.3])[0])
    if variant == "identity":
        assert value == 0.3
    elif variant == "temperature":
        assert value == pytest.approx(0.5, abs=0.01)
    elif variant == "Isotonic strict":
        assert value == pytest.approx(0.6, abs=1e-3)
    else:
        assert value == pytest.approx(0.6, abs=0.04)


@every_calibrator
def test_forecasts_of_exactly_0_and_1_are_met_with_care(variant):
    p = np.array([0.0] * 50 + [1.0] * 50)
    y = np.array([0] * 45 + [1] * 5 + [1] * 40 + [0] * 10)
    low, high = fresh(variant).fit(p, y).transform([0.0, 1.0])
    assert np.isfinite([low, high]).all()
    if variant not in {"identity", "prior", "temperature", "beta"}:
        assert low == pytest.approx(0.1, abs=0.03)
        assert high == pytest.approx(0.8, abs=0.03)


@every_calibrator
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_predictions_keep_their_shape(variant, shape):
    rng = np.random.default_rng(1)
    p = rng.random(40)
    y = rng.random(40) < p
    fitted = fresh(variant).fit(p.reshape(shape), y)
    assert fitted.transform(p.reshape(shape)).shape == p.reshape(shape).shape
    both = fitted.transform(np.column_stack([1 - p, p]))
    assert both.sum(axis=1) == pytest.approx(np.ones(40))
    assert both[:, 1].tolist() == fitted.transform(p).tolist()
    assert fitted.transform(p.tolist()).tolist() == fitted.transform(p).tolist()


@every_calibrator
def test_a_joint_does_as_well_as_its_rows(variant):
    rng = np.random.default_rng(2)
    p = rng.random(300).round(2)
    y = rng.random(300) < p
    of_rows = fresh(variant).fit(p, y)
    of_joint = fresh(variant).fit(cal.Joint.from_samples(y, p))
    assert of_rows.transform(GRID).tolist() == of_joint.transform(GRID).tolist()
    moved = cal.Joint.from_samples(y, p).apply(of_joint)
    assert moved.total == 300


@every_calibrator
def test_pickled_maps_are_the_same(variant):
    fitted = fresh(variant).fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert again.transform(GRID).tolist() == fitted.transform(GRID).tolist()
    assert again.sentence == fitted.sentence
    assert fitted.sentence.endswith(".")


@pytest.mark.parametrize("name", ["isotonic", "histogram", "kernel"])
def test_certainty_is_given_where_it_is_asked_for(name):
    p, y = np.repeat([0.1, 0.9], 50), np.repeat([0, 1], 50)
    options = {"bandwidth": 0.01} if name == "kernel" else {}
    values = CALIBRATORS[name](allow_certain=True, **options).fit(p, y).transform([0.1, 0.9])
    assert values == pytest.approx([0.0, 1.0], abs=1e-3 if options else 0)
    values = CALIBRATORS[name](**options).fit(p, y).transform([0.1, 0.9])
    assert values == pytest.approx([0.5 / 101, 1 - 0.5 / 101])
