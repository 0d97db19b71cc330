"""The Joint: grouping, counts, cells with their certificate, merging, calibrators, Arrow."""

from __future__ import annotations

import itertools
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant.errors import InferenceRefusedError, InvalidForecastsError, InvalidOptionError
from oracles.definitions import group_levels
from oracles.strategies import predictions, rows, universal, weighted_rows

RESOLUTIONS = st.sampled_from([1, 2, 8, 64, 1024, 2**16])


@universal
@given(data=rows())
def test_levels_are_the_distinct_predictions(data):
    y, p = data
    joint = cal.Joint.from_samples(y, p)
    _, law = group_levels(y, p)
    assert joint.prediction.tolist() == law.prediction.tolist()
    assert joint.mass == pytest.approx(law.mass)
    assert joint.outcome == pytest.approx(law.outcome)
    assert joint.rows.sum() == joint.row_count == y.size
    assert joint.residual == pytest.approx(law.outcome - law.prediction)
    assert joint.base_rate == pytest.approx(y.mean())
    assert joint.mean_prediction == pytest.approx(p.mean())


@universal
@given(data=weighted_rows())
def test_weights_leave_rows_and_squares_behind(data):
    y, p, w = data
    joint = cal.Joint.from_samples(y, p, sample_weight=w)
    for level, rows_there, squares in zip(
        joint.prediction, joint.rows, joint.weight_squares, strict=True
    ):
        there = (p == level) & (w > 0)
        assert rows_there == there.sum()
        assert squares == pytest.approx((w[there] ** 2).sum())


def test_many_rows_group_like_numpy():
    rng = np.random.default_rng(5)
    shapes = {
        "uniform": rng.random(30_000),
        "rounded": rng.integers(0, 101, 30_000) / 100,
        "log uniform": 10 ** rng.uniform(-300, 0, 30_000),
        "two clusters": rng.choice([0.3, 0.7], 30_000) + 1e-13 * rng.integers(0, 50, 30_000),
        "neighbouring doubles": 0.5 + rng.integers(0, 5000, 30_000) * 2.0**-53,
        "ends": rng.choice([0.0, 1.0, 5e-324], 30_000),
        "one far below": np.append(np.full(29_999, 0.999), 1e-30),
    }
    for p in shapes.values():
        y = rng.random(p.size) < p
        levels, index = np.unique(p, return_inverse=True)
        for weight in (None, rng.random(p.size)):
            joint = cal.Joint.from_samples(y, p, sample_weight=weight)
            w = np.ones(p.size) if weight is None else weight
            assert np.array_equal(joint.prediction, levels)
            assert joint.weight == pytest.approx(np.bincount(index, w))
            assert joint.positives == pytest.approx(np.bincount(index, w * y))
            assert np.array_equal(joint.rows, np.bincount(index))


@universal
@given(data=rows())
def test_counts_equal_samples(data):
    joint = cal.Joint.from_samples(*data)
    counts = cal.Joint.from_counts(joint.prediction, joint.rows, joint.positives)
    assert counts == joint
    doubled = cal.Joint.from_counts(
        np.tile(joint.prediction, 2), np.tile(joint.rows, 2), np.tile(joint.positives, 2)
    )
    assert doubled == joint + joint


@pytest.mark.parametrize(
    ("prediction", "count", "positives", "message"),
    [
        ([1.5], [1], [1], "in \\[0, 1\\]"),
        ([0.5], [1.5], [1], "count must hold whole numbers.*sample_weight"),
        ([0.5], [-1], [0], "count must hold whole numbers"),
        ([0.5], [2], [0.5], "positives must hold whole numbers"),
        ([0.5], [1], [2], "positives must not exceed count"),
        ([0.5], [0], [0], "at least one row"),
        ([0.5, 0.6], [1], [0], "same length"),
        ([np.nan], [1], [0], "in \\[0, 1\\]"),
    ],
)
def test_bad_counts_are_refused(prediction, count, positives, message):
    with pytest.raises(InvalidForecastsError, match=message):
        cal.Joint.from_counts(prediction, count, positives)


@universal
@given(data=weighted_rows(), resolution=RESOLUTIONS)
def test_cells_keep_sums_and_bound_the_move(data, resolution):
    y, p, w = data
    exact = cal.Joint.from_samples(y, p, sample_weight=w)
    cells = cal.Joint.from_samples(y, p, sample_weight=w, resolution=resolution)
    assert cells.total == pytest.approx(exact.total)
    assert cells.base_rate == pytest.approx(exact.base_rate)
    assert cells.mean_prediction == pytest.approx(exact.mean_prediction, abs=1e-15)
    index = np.minimum((exact.prediction * resolution).astype(int), resolution - 1)
    cell_of = np.minimum((cells.prediction * resolution).astype(int), resolution - 1)
    mean = np.zeros(resolution)
    mean[cell_of] = cells.prediction
    moved = float(np.abs(exact.prediction - mean[index]) @ exact.mass)
    assert moved <= cells.rounding + 1e-15
    assert cells.rounding <= 0.5 / resolution + 1e-15
    assert (np.diff(cells.prediction) > 0).all()
    again = exact.rounded(resolution)
    assert again.prediction == pytest.approx(cells.prediction, abs=1e-15)
    assert again.weight == pytest.approx(cells.weight)
    assert moved - 1e-15 <= again.rounding <= cells.rounding + 1e-15


@universal
@given(data=weighted_rows(), resolution=RESOLUTIONS)
def test_levels_know_how_far_their_rows_spread(data, resolution):
    y, p, w = data
    exact = cal.Joint.from_samples(y, p, sample_weight=w)
    assert exact.low is exact.prediction is exact.high
    cells = exact.rounded(resolution)
    cell_of = np.minimum((exact.prediction * resolution).astype(int), resolution - 1)
    for number, cell in enumerate(np.unique(cell_of)):
        there = exact.prediction[cell_of == cell]
        assert (cells.low[number], cells.high[number]) == (there.min(), there.max())
    spread = float(cells.mass @ (cells.high - cells.low)) / 2
    assert cells.rounding <= spread + 1e-15
    coarse = cal.Joint.from_samples(y, p, sample_weight=w, resolution=resolution)
    assert (coarse.low <= cells.low + 1e-15).all()
    assert (coarse.high >= cells.high - 1e-15).all()


@universal
@given(data=rows(), fine=RESOLUTIONS, coarse=RESOLUTIONS)
def test_the_coarser_resolution_wins(data, fine, coarse):
    y, p = data
    first = cal.Joint.from_samples(y, p, resolution=fine)
    second = cal.Joint.from_samples(y, p, resolution=coarse)
    merged = first + second
    assert merged.resolution == min(fine, coarse)
    whole = cal.Joint.from_samples(np.tile(y, 2), np.tile(p, 2), resolution=min(fine, coarse))
    assert merged.prediction == pytest.approx(whole.prediction, abs=1e-15)
    assert merged.positives.tolist() == whole.positives.tolist()
    assert merged.rounding <= whole.rounding + 1e-15
    assert (first + cal.Joint.from_samples(y, p)).resolution == fine


def test_width_of_counted_cells_is_carried_along():
    joint = cal.Joint.from_counts([0.1, 0.6], [10, 30], [2, 12], width=0.1)
    assert joint.rounding == 0.05
    _, high = cal.smooth_calibration_error(joint).bounds
    assert high - cal.smooth_calibration_error(joint) == pytest.approx(0.05)
    exact = cal.Joint.from_counts([0.2], [40], [8])
    assert (joint + exact).rounding == pytest.approx(0.025)
    assert joint.rounded(2).rounding == 0.05
    assert joint.rounded(1).rounding == pytest.approx(0.05 + 2 * 0.375 * 0.125 / 0.5)


@universal
@given(data=rows(), shift=predictions)
def test_maps_move_predictions_and_merge_ties(data, shift):
    y, p = data
    joint = cal.Joint.from_samples(y, p)
    moved = joint.apply(lambda v: np.abs(v - shift))
    assert moved == cal.Joint.from_samples(y, np.abs(p - shift))
    recalibrated = joint.recalibrated()
    assert recalibrated.residual == pytest.approx(0, abs=1e-15)
    assert recalibrated.total == joint.total


def test_simulated_outcomes_are_coins_of_the_predicted_bias():
    joint = cal.Joint.from_counts([0.0, 0.2, 0.7, 1.0], [50, 400, 300, 50], [3, 3, 3, 3])
    drawn = np.array([joint.simulated(seed).positives for seed in range(2000)])
    mean, spread = drawn.mean(axis=0), drawn.std(axis=0)
    assert mean == pytest.approx([0, 80, 210, 50], abs=4 * 8 / np.sqrt(2000))
    assert spread == pytest.approx([0, 8, np.sqrt(63), 0], rel=0.08)
    assert joint.simulated(3) == joint.simulated(3)
    assert np.array_equal(joint.simulated(1).prediction, joint.prediction)


def test_simulated_weights_add_no_evidence():
    p = np.repeat([0.3, 0.6], [200, 100])
    w = np.concatenate([np.full(200, 4.0), np.linspace(1, 9, 100)])
    joint = cal.Joint.from_samples(np.zeros(300), p, sample_weight=w)
    rng = np.random.default_rng(0)
    drawn = np.array([joint.simulated(rng).positives for _ in range(3000)])
    assert drawn.mean(axis=0) == pytest.approx([240, 300], rel=0.02)
    assert drawn.std(axis=0) == pytest.approx(
        [4 * np.sqrt(200 * 0.21), np.sqrt(0.24 * (w[200:] ** 2).sum())], rel=0.06
    )
    assert set(np.unique(drawn[:, 0] % 4)) == {0}  # equal weights: exactly a scaled binomial


def test_mean_outcomes_cannot_be_redrawn():
    joint = cal.Joint.from_samples([0.2, 0.5], [0.3, 0.4])
    assert not joint.binary
    with pytest.raises(InferenceRefusedError, match="count and positives"):
        joint.simulated(0)
    with pytest.raises(InferenceRefusedError, match="mean outcomes"):
        cal.calibration_test(joint)
    with pytest.raises(InferenceRefusedError, match="mean outcomes"):
        cal.audit(joint)


@universal
@given(data=weighted_rows(), resolution=st.sampled_from([None, 8]))
def test_arrow_and_pickle_bring_back_the_same(data, resolution):
    y, p, w = data
    joint = cal.Joint.from_samples(y, p, sample_weight=w, resolution=resolution)
    for again in (cal.Joint.from_arrow(joint.to_arrow()), pickle.loads(pickle.dumps(joint))):  # noqa: S301
        assert again == joint
        assert (again.rounding, again.binary, again.clipped) == (
            joint.rounding,
            joint.binary,
            joint.clipped,
        )


def test_arrow_tables_of_others_are_refused():
    import pyarrow as pa

    with pytest.raises(InvalidForecastsError, match=r"calibrant\.schema"):
        cal.Joint.from_arrow(pa.table({"prediction": [0.5]}))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("prediction", [0.7, 0.2]),
        ("prediction", [0.2, np.nan]),
        ("prediction", [0.2, 1.5]),
        ("weight", [1.0, 0.0]),
        ("rows", [1.0, -1.0]),
        ("positives", [0.0, np.inf]),
        ("low", [0.2, 0.8]),
        ("high", [0.1, 0.7]),
    ],
    ids=itertools.count(),
)
def test_arrow_tables_that_were_changed_are_refused(column, values):
    table = cal.Joint.from_samples([0, 1], [0.2, 0.7]).to_arrow()
    changed = table.set_column(table.column_names.index(column), column, [values])
    with pytest.raises(InvalidForecastsError, match="stored Joint"):
        cal.Joint.from_arrow(changed)


def test_a_joint_cannot_be_changed():
    joint = cal.Joint.from_samples([0, 1], [0.2, 0.7])
    with pytest.raises(ValueError, match="read-only"):
        joint.prediction[0] = 0.5
    with pytest.raises(TypeError):
        hash(joint)


def test_repr_says_what_it_holds():
    joint = cal.Joint.from_samples([0, 1], [0.2, 0.7], resolution=8)
    assert repr(joint) == "Joint(2 rows, 2 levels, 8 cells, mean prediction 0.45, base rate 0.5)"


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError):
        cal.Joint.from_samples([0, 1], [0.2, 0.7]) + 1
    assert cal.Joint.from_samples([0, 1], [0.2, 0.7]) != 1


@pytest.mark.parametrize("rng", [-1, 1.5, True, "seed", [1, 2]])
def test_randomness_comes_from_a_generator_or_a_seed(rng):
    joint = cal.Joint.from_samples([0, 1, 1], [0.2, 0.6, 0.7])
    with pytest.raises(InvalidOptionError, match="rng must be"):
        joint.simulated(rng)


@pytest.mark.parametrize("levels", [1, 101, 1023, 1024, 1025, 1500])
@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("shape", ["even", "tiny", "close"])
def test_few_different_predictions_are_counted_as_many_are(levels, kind, shape):
    rng = np.random.default_rng(levels)
    values = rng.random(levels)
    if shape == "tiny":
        values = 10 ** rng.uniform(-320, 0, levels)
    elif shape == "close":
        values = 0.3 + np.arange(levels) * 2.0**-54
    values[0] = 0.0
    values = rng.permutation(np.unique(values))
    levels = values.size
    place = np.append(np.arange(levels), rng.integers(0, levels, 4000))
    y = (rng.random(place.size) < 0.3).astype(kind)
    joint = cal.Joint.from_samples(y, values[place])
    level, index = np.unique(values[place], return_inverse=True)
    assert np.array_equal(joint.prediction, level)
    assert np.array_equal(joint.rows, np.bincount(index))
    assert np.array_equal(joint.positives, np.bincount(index, y))


def test_minus_zero_is_zero_and_bad_rows_are_found_among_few_predictions():
    assert len(cal.Joint.from_samples([0, 1, 1], [0.0, -0.0, 0.5])) == 2
    for bad in (np.nan, 1.5, -0.2):
        with pytest.raises(InvalidForecastsError):
            cal.Joint.from_samples([0, 1, 1, 0], [0.5, 0.5, bad, 0.5])
    with pytest.raises(InvalidForecastsError):
        cal.Joint.from_samples([0, 2, 1, 0], [0.5] * 4)
