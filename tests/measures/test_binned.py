"""Binned error: settings beside every number, the bins as data, options that mean something."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal

P = np.array([0.05, 0.3, 0.3, 0.65, 0.7, 1.0])
Y = np.array([0, 0, 1, 1, 0, 1])


def test_settings_name_norm_bins_edge_rule_and_debiasing():
    assert dict(cal.binned_calibration_error(Y, P).settings) == {
        "order": 1,
        "bins": 15,
        "strategy": "uniform",
        "closed": "left",
        "form": "residual",
        "debias": False,
    }
    edges = cal.binned_calibration_error(Y, P, strategy=[0, 0.5, 1], closed="right")
    assert edges.settings["strategy"] == "edges"
    assert edges.settings["bins"] == 2
    assert cal.binned_calibration_error(Y, P, strategy="quantile").settings["bins"] == 15


def test_the_table_is_the_number():
    error = cal.binned_calibration_error(Y, P, n_bins=4)
    table = error.table
    occupied = table["rows"] > 0
    gap = np.abs(table["outcome"] - table["prediction"])[occupied]
    assert error == pytest.approx(float((gap * table["weight"][occupied]).sum() / Y.size))
    assert table["low"].tolist() == [0, 0.25, 0.5, 0.75]
    assert table["rows"].tolist() == [1, 2, 2, 1]


def test_other_measures_have_no_table():
    with pytest.raises(AttributeError, match="not made of bins"):
        _ = cal.smooth_calibration_error(Y, P).table


@pytest.mark.parametrize("order", [1, 2, np.inf])
@pytest.mark.parametrize("form", ["residual", "midpoint"])
def test_rows_and_joint_agree(order, form):
    for strategy in ("uniform", "quantile", [0, 0.2, 0.9, 1]):
        options = {"order": order, "form": form, "strategy": strategy, "n_bins": 3}
        from_rows = cal.binned_calibration_error(Y, P, **options)
        from_joint = cal.binned_calibration_error(cal.Joint.from_samples(Y, P), **options)
        assert from_rows == pytest.approx(float(from_joint))


def test_debiasing_counts_rows_not_weights():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = rng.random(400) < p
    plain = cal.binned_calibration_error(y, p, order=2, debias=True)
    heavy = cal.binned_calibration_error(
        y, p, order=2, debias=True, sample_weight=np.full(400, 9.0)
    )
    assert heavy.settings["squared"] == pytest.approx(plain.settings["squared"])
    repeats = cal.binned_calibration_error(np.repeat(y, 9), np.repeat(p, 9), order=2, debias=True)
    assert repeats.settings["squared"] > plain.settings["squared"]


def test_debiasing_says_how_many_bins_it_cannot_judge():
    error = cal.binned_calibration_error(Y, P, order=2, debias=True, n_bins=4)
    assert error.settings["single_row_bins"] == 2


def test_debiased_order_one_is_smaller_and_not_negative():
    rng = np.random.default_rng(4)
    p = rng.random(1000)
    y = rng.random(1000) < p
    plain = cal.binned_calibration_error(y, p)
    debiased = cal.binned_calibration_error(y, p, debias=True)
    assert 0 <= debiased < plain


def test_few_distinct_values_fall_on_edges_exactly():
    """Ten confidences that are multiples of a tenth: one bin each, whatever the closure."""
    p = np.repeat(np.arange(1, 11) / 10, 50)
    y = np.arange(p.size) % 3 == 0
    by_value = float(cal.exact_calibration_error(y, p))
    assert cal.binned_calibration_error(y, p, n_bins=10, closed="right") == pytest.approx(by_value)
    assert cal.binned_calibration_error(y, p, n_bins=20) == pytest.approx(by_value)


def test_exact_error_warns_when_most_levels_hold_one_row():
    with pytest.warns(cal.errors.CalibrantWarning, match="occur once"):
        cal.exact_calibration_error([0, 1, 1], [0.1, 0.2, 0.3])


def gaps(y, p, count):
    """Share, mean forecast and rate of each bin that has rows."""
    number = np.minimum((p * count).astype(int), count - 1)
    return [
        (np.mean(number == b), p[number == b].mean(), y[number == b].mean())
        for b in range(count)
        if (number == b).any()
    ]


@pytest.mark.parametrize("order", [1, 2, 3.5, np.inf])
def test_mean_over_bins_counts_every_bin_the_same(order):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, 300)
    y = (rng.random(300) < p).astype(int)
    found = cal.binned_calibration_error(y, p, n_bins=10, mean="bins", order=order)
    off = np.array([abs(rate - predicted) for _, predicted, rate in gaps(y, p, 10)])
    known = off.max() if order == np.inf else np.mean(off**order) ** (1 / order)
    assert found == pytest.approx(known, rel=1e-12)
    assert found.settings["mean"] == "bins"
    assert found.witness.advantage(cal.Joint.from_samples(y, p)) == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("direction", ["over", "under", "high", "low"])
def test_directions_by_their_definition(direction):
    rng = np.random.default_rng(1)
    p = np.append(rng.random(400), np.full(50, 0.5))
    y = (rng.random(450) < p**2).astype(int)
    found = cal.binned_calibration_error(y, p, n_bins=9, direction=direction)

    def counts(predicted, rate):
        if direction in {"high", "low"}:
            return (predicted > rate) == (direction == "high")
        nearer = (rate - predicted) * (0.5 - predicted) > 0  # the rate lies on the side of 1/2
        return nearer == (direction == "over")

    bins = gaps(y, p, 9)
    known = sum(
        share * abs(rate - predicted) for share, predicted, rate in bins if counts(predicted, rate)
    )
    assert found == pytest.approx(known, rel=1e-12)
    assert found.witness.advantage(cal.Joint.from_samples(y, p)) == pytest.approx(found, rel=1e-9)


def test_directions_add_up():
    rng = np.random.default_rng(2)
    p = rng.random(500).round(1)
    y = rng.random(500) < p**1.5
    whole = cal.binned_calibration_error(y, p)
    for pair in (("over", "under"), ("high", "low")):
        parts = [cal.binned_calibration_error(y, p, direction=one) for one in pair]
        assert sum(parts) == pytest.approx(whole, rel=1e-12)
    # One bin, forecast 1/2: whatever happens is farther from 1/2.
    assert cal.binned_calibration_error([1, 0, 0], [0.5] * 3, direction="over") == 0
    with pytest.raises(cal.errors.InvalidOptionError, match="direction"):
        cal.binned_calibration_error(y, p, direction="sideways")
    with pytest.raises(cal.errors.InvalidOptionError, match="all bins"):
        cal.binned_calibration_error(y, p, direction="over", debias=True)
    with pytest.raises(cal.errors.InferenceRefusedError, match="with these options"):
        cal.confidence_interval(y, p, measure=partial(cal.binned_calibration_error, mean="bins"))
