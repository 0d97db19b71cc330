"""Classical numbers: against formulas written out, scikit-learn, and each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm
from sklearn.linear_model import LogisticRegression

import calibrant as cal
from calibrant.inference import classical_numbers
from calibrant.inference.statistic import residual_mass_of
from calibrant.measures.kernel_smoothed import smoothed_bias, smoothed_curve


def sample(n: int, slope: float = 1.0, shift: float = 0.0, seed: int = 0):
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 1.5, n)
    p = 1 / (1 + np.exp(-logit))
    return (rng.random(n) < 1 / (1 + np.exp(-(shift + slope * logit)))).astype(int), p


def test_spiegelhalter_by_hand():
    """Spiegelhalter (1986): sum (y - p)(1 - 2p) over the root of sum (1 - 2p)^2 p (1 - p)."""
    y, p = np.array([1, 0, 0, 1, 0]), np.array([0.9, 0.2, 0.4, 0.6, 0.1])
    z = ((y - p) * (1 - 2 * p)).sum() / np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    found = classical_numbers(y, p).spiegelhalter
    assert found.statistic == pytest.approx(z)
    assert found.pvalue == pytest.approx(2 * norm.sf(abs(z)))


def test_spiegelhalter_is_two_sided():
    """Forecasts that are too timid give a large negative z, and are found as well."""
    y, p = sample(2000, slope=2.0)
    timid = classical_numbers(y, p).spiegelhalter
    y, p = sample(2000, slope=0.5)
    bold = classical_numbers(y, p).spiegelhalter
    assert timid.statistic < -4 < 4 < bold.statistic
    assert timid.pvalue < 1e-4 > bold.pvalue


def test_slope_and_both_intercepts_against_scikit_learn():
    y, p = sample(1500, slope=0.6, shift=0.4)
    numbers = classical_numbers(y, p)
    logit = np.log(p / (1 - p))[:, np.newaxis]
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(logit, y)
    assert numbers.slope.value == pytest.approx(model.coef_[0, 0], abs=1e-5)
    assert numbers.intercept.value == pytest.approx(model.intercept_[0], abs=1e-5)
    assert numbers.slope.low < 0.6 < numbers.slope.high
    # The intercept with the slope held at one makes the mean chance equal the base rate.
    alone = numbers.in_the_large.value
    assert np.mean(1 / (1 + np.exp(-(logit[:, 0] + alone)))) == pytest.approx(y.mean(), abs=1e-8)
    assert abs(alone - numbers.intercept.value) > 0.01


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_the_slope_is_the_larger_of_sandwich_and_model(seed):
    y, p = sample(400, slope=0.8, seed=seed)
    numbers = classical_numbers(y, p)
    design = np.column_stack([np.ones(400), np.log(p / (1 - p))])
    chance = 1 / (1 + np.exp(-design @ [numbers.intercept.value, numbers.slope.value]))
    bread = np.linalg.inv((design.T * (chance * (1 - chance))) @ design)
    meat = (design.T * (y - chance) ** 2) @ design
    error = np.sqrt(max((bread @ meat @ bread)[1, 1], bread[1, 1]))
    assert numbers.slope.high - numbers.slope.value == pytest.approx(1.959964 * error, rel=1e-5)


def test_hosmer_lemeshow_of_ten_levels():
    rng = np.random.default_rng(1)
    p = np.repeat(np.arange(1, 11) / 11, 50)
    y = rng.random(500) < p
    observed = y.reshape(10, 50).sum(axis=1)
    expected = 50 * np.arange(1, 11) / 11
    statistic = np.sum((observed - expected) ** 2 / (expected * (1 - expected / 50)))
    found = classical_numbers(y, p).hosmer_lemeshow
    assert found.statistic == pytest.approx(statistic)
    assert found.pvalue == pytest.approx(chi2.sf(statistic, 10))


def test_brier_and_its_skill():
    y, p = sample(300)
    numbers = classical_numbers(y, p)
    assert numbers.brier == pytest.approx(np.mean((y - p) ** 2))
    assert numbers.brier_skill == pytest.approx(1 - numbers.brier / np.var(y))


def test_distances_from_the_smoothed_curve():
    """A shift by a constant is a distance by that constant, for almost every forecast."""
    rng = np.random.default_rng(4)
    p = rng.uniform(0.3, 0.7, 200_000)
    numbers = classical_numbers(rng.random(200_000) < p + 0.1, p)
    assert numbers.ici.value == pytest.approx(0.1, abs=0.01)
    assert numbers.e50 == pytest.approx(0.1, abs=0.01)
    assert numbers.e50 <= numbers.e90 < 0.2


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_distances_do_not_depend_on_the_scale_of_weights_nor_on_who_asks(scale):
    y, p = sample(300, slope=0.5)
    weight = np.full(300, scale)
    index = cal.calibration_index(y, p, sample_weight=weight, smoother="kernel")
    plain = cal.calibration_index(y, p, smoother="kernel")
    numbers = classical_numbers(y, p, sample_weight=weight)
    for name in ("e50", "e90"):
        assert getattr(index, name) == pytest.approx(getattr(plain, name), rel=1e-9)
        assert getattr(numbers, name) == pytest.approx(getattr(plain, name), rel=1e-9)
    curve = smoothed_curve(cal.Joint.from_samples(y, p))
    distance = np.abs(np.interp(p, curve["prediction"], curve["outcome"]) - p)
    assert (plain.e50, plain.e90) == pytest.approx(tuple(np.quantile(distance, [0.5, 0.9])))


def test_order_of_rows_aggregation_and_whole_weights_do_not_matter():
    y, p = sample(200, slope=0.7)
    p = p.round(1)
    order = np.random.default_rng(2).permutation(200)
    rows, shuffled = classical_numbers(y, p), classical_numbers(y[order], p[order])
    joint = classical_numbers(cal.Joint.from_samples(y, p))
    for other in (shuffled, joint):
        assert other.slope.value == pytest.approx(rows.slope.value, abs=1e-8)
        assert other.slope.low == pytest.approx(rows.slope.low, abs=1e-8)
        assert other.ici.value == pytest.approx(rows.ici.value)
    doubled = classical_numbers(y, p, sample_weight=np.full(200, 2.0))
    assert doubled.slope.value == pytest.approx(rows.slope.value, abs=1e-8)
    assert doubled.slope.low == pytest.approx(rows.slope.low, abs=1e-8)


def test_copies_in_clusters_do_not_narrow_an_interval():
    y, p = sample(200, slope=0.7)
    alone = classical_numbers(y, p)
    again = classical_numbers(np.tile(y, 3), np.tile(p, 3), clusters=np.tile(np.arange(200), 3))
    assert again.slope.low == pytest.approx(alone.slope.low, abs=0.01)
    assert again.spiegelhalter.statistic == pytest.approx(alone.spiegelhalter.statistic, rel=0.25)
    assert np.isnan(again.hosmer_lemeshow.statistic)
    assert "clusters" in again.hosmer_lemeshow.reason


@pytest.mark.parametrize(
    ("y", "p", "reason"),
    [
        ([1, 1, 1], [0.2, 0.5, 0.6], "only one outcome"),
        ([0, 1, 1], [0.5, 0.5, 0.5], "all forecasts are equal"),
        ([0, 0, 1], [0.1, 0.2, 0.9], "separate the outcomes"),
        ([0, 1, 1], [0.0, 1.0, 0.0], "every forecast is 0 or 1"),
    ],
)
def test_a_number_that_is_not_defined_says_why(y, p, reason):
    numbers = classical_numbers(y, p)
    assert np.isnan(numbers.slope.value)
    assert reason in numbers.slope.reason


def test_certain_forecasts_are_left_out_and_counted():
    y, p = sample(300)
    with_certain = classical_numbers(np.append(y, [0, 1]), np.append(p, [0.0, 1.0]))
    assert with_certain.certain == 2
    assert with_certain.slope.value == pytest.approx(classical_numbers(y, p).slope.value, abs=1e-8)
    nothing = classical_numbers([0, 1], [0.5, 0.5]).spiegelhalter
    assert np.isnan(nothing.statistic)
    assert "1/2" in nothing.reason


def test_the_interval_of_ici_is_that_of_the_curve():
    """Value and noise are measured alike: the curve at the levels is what the noise is held to."""
    rng = np.random.default_rng(5)
    p = rng.random(300)
    joint = cal.Joint.from_samples(rng.random(300) < p, p)
    bias = smoothed_bias(joint, residual_mass_of(joint)[np.newaxis, :], 0.05)[0]
    curve = smoothed_curve(joint, bandwidth=0.05)
    expected = np.interp(joint.prediction, curve["prediction"], curve["outcome"]) - joint.prediction
    assert bias == pytest.approx(expected, abs=1e-6)  # other nodes


@pytest.mark.parametrize(("shift", "low"), [(0.0, False), (0.2, True)])
def test_ici_is_certainly_positive_only_where_forecasts_are_off(shift, low):
    rng = np.random.default_rng(6)
    p = rng.uniform(0, 0.8, 400)
    y = rng.random(400) < p + shift
    ici = classical_numbers(y, p).ici
    assert (ici.low > 0) == low
    assert ici.low < ici.value < ici.high
    assert classical_numbers(y, p).ici == ici
    assert classical_numbers(y, p, clusters=np.arange(400) // 8).ici.high > ici.value


@pytest.mark.parametrize("cluster", [0, 3])
def test_one_cluster_beside_certain_forecasts_has_no_slope(cluster):
    """Certain forecasts have no log-odds: what is left may be rows of one cluster."""
    p = [0.0] * 6 + [0.2, 0.4, 0.6, 0.8, 0.3, 0.7]
    clusters = [(cluster + 1 + k) % 4 for k in (0, 1, 2, 0, 1, 2)] + [cluster] * 6
    found = cal.classical_numbers([0] * 6 + [0, 1, 0, 1, 1, 0], p, clusters=clusters, rng=0)
    for estimate in (found.slope, found.intercept, found.in_the_large):
        assert "one cluster" in estimate.reason


def test_a_fit_without_curvature_is_not_defined():
    y = [0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0]
    tiny = [0, 2.2582208275302543e-131, 7.295513944707341e-50, 4.8432528033178916e-23]
    tiny += [2.7200150075945957e-50, 0, 0, 2.0069579399337073e-72, 2.463002382085227e-275]
    tiny += [1.547470828478528e-189, 6.303103847173471e-50, 1.7807767526148735e-74]
    found = cal.classical_numbers(y, tiny, clusters=[3, 3, 2, 2, 1, 1, 1, 0, 1, 3, 3, 1], rng=0)
    assert "as good as 0 or 1" in found.in_the_large.reason + found.slope.reason


def test_quantiles_of_distances_count_weights_as_rows_whatever_their_scale():
    p = np.append(np.linspace(0.1, 0.2, 9), [0.9, 0.95])
    y, weight = np.zeros(p.size), np.append(np.full(9, 10.0), [8.0, 8.0])
    repeated = np.repeat(np.arange(p.size), weight.astype(int))
    rows = cal.calibration_index(y[repeated], p[repeated], smoother="kernel")
    for scale in (0.01, 1, 7):
        found = cal.calibration_index(y, p, sample_weight=scale * weight, smoother="kernel")
        assert (found.e50, found.e90) == pytest.approx((rows.e50, rows.e90))
