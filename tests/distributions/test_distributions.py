"""Whole distributions: transforms, scores, decomposition and thresholds, from the definitions."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from calibrant.distributions import PredictiveDistributions
from calibrant.distributions.pit import kuiper, kuiper_pvalue
from calibrant.errors import (
    CalibrantError,
    CalibrantWarning,
    InvalidForecastsError,
    InvalidOptionError,
)

ensemble = PredictiveDistributions.from_ensemble
quantiles = PredictiveDistributions.from_quantiles
function = PredictiveDistributions.from_cdf

Y = np.array([0.3, -1.2, 2.0])
MEMBERS = np.array([[0.0, 1, 0.5, -0.3], [-1, -2, 0, 0.7], [1, 1, 2, 4]])


def test_scores_are_those_of_scoringrules():
    # scoringrules 0.10.0: crps_ensemble with estimator "nrg" and "fair", crps_quantile, crps_normal
    assert ensemble(MEMBERS).crps(Y) == pytest.approx([0.175, 0.45625, 0.375])
    fair = [0.08333333333333326, 0.2666666666666665, 0.16666666666666663]
    assert ensemble(MEMBERS).crps(Y, fair=True) == pytest.approx(fair)
    columns = quantiles([0.1, 0.4, 0.6, 0.9], np.sort(MEMBERS, axis=1))
    assert columns.crps(Y) == pytest.approx([0.165, 0.435, 0.35])
    normal = function(stats.norm([0, -1, 1], [1, 2, 0.5]).cdf, 3)
    published = [0.2693329006866634, 0.4753621577233462, 0.7263959108429516]
    assert normal.crps(Y) == pytest.approx(published, rel=1e-7)


def test_scores_of_members_follow_the_definition():
    for row, y in zip(MEMBERS, Y, strict=True):
        values = np.sort(np.append(row, y))
        total = sum(
            ((row <= left).mean() - (y <= left)) ** 2 * (right - left)
            for left, right in pairwise(values)
        )
        assert ensemble([row]).crps([y])[0] == pytest.approx(total)


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e6])
@pytest.mark.parametrize("law", [stats.norm, stats.laplace, stats.logistic, stats.gumbel_r])
def test_scores_of_functions_follow_the_definition(law, scale):
    y = np.array([-3.0, -0.2, 0.0, 1.7, 12.0]) * scale
    found = function(law(0, scale).cdf, 5).crps(y)
    for score, at in zip(found, y / scale, strict=True):
        left = integrate.quad(lambda x: law.cdf(x) ** 2, -60, at, limit=400)[0]
        right = integrate.quad(lambda x: law.sf(x) ** 2, at, 80, limit=400)[0]
        assert score == pytest.approx(scale * (left + right), rel=1e-5, abs=1e-8 * scale)


def test_a_forecast_without_spread_scores_its_absolute_error():
    assert ensemble([[2.0]]).crps([5.0]) == pytest.approx([3.0])
    with pytest.raises(InvalidOptionError, match="two members"):
        ensemble([[2.0]]).crps([5.0], fair=True)


def test_steps_of_a_function_are_warned_about():
    dice = function(lambda x: np.clip(np.floor(x) / 6, 0, 1), 2)
    with pytest.warns(CalibrantWarning, match="error of about"):
        found = dice.crps([2, 5])
    faces = ensemble([[1, 2, 3, 4, 5, 6]] * 2)
    assert found == pytest.approx(faces.crps([2, 5]), rel=0.02)


def test_fair_scores_do_not_depend_on_the_number_of_members():
    rng = np.random.default_rng(0)
    y = rng.normal(size=20_000)
    means = [ensemble(rng.normal(size=(20_000, m))).crps(y, fair=True).mean() for m in (2, 20)]
    assert means[0] == pytest.approx(means[1], abs=0.02)
    assert means[0] == pytest.approx(1 / np.sqrt(np.pi), abs=0.02)


def test_transforms_lie_where_the_definition_puts_them():
    ranks = ensemble([[1.0, 2, 3], [1, 1, 2], [5, 6, 7]]).form.pit_limits(np.array([2.5, 1, 9]))
    assert ranks[0] == pytest.approx([2 / 4, 0, 3 / 4])
    assert ranks[1] == pytest.approx([3 / 4, 3 / 4, 1])
    columns = quantiles([0.1, 0.5, 0.9], [[1.0, 2, 3]] * 5 + [[1.0, 1, 4]])
    low, high = columns.form.pit_limits(np.array([0.0, 1, 1.5, 3, 4, 1]))
    assert low == pytest.approx([0, 0, 0.1, 0.5, 0.9, 0])
    assert high == pytest.approx([0.1, 0.1, 0.5, 0.9, 1, 0.5])
    counts = function(stats.poisson(2).cdf, 2)
    low, high = counts.form.pit_limits(np.array([0.0, 3]))
    assert low == pytest.approx([0, stats.poisson(2).cdf(2)])
    assert high == pytest.approx(stats.poisson(2).cdf([0, 3]))
    assert function(stats.norm().cdf, 3).pit(Y) == pytest.approx(stats.norm.cdf(Y))


@pytest.mark.parametrize("seed", [1, 2])
def test_transforms_of_right_distributions_are_uniform(seed):
    rng = np.random.default_rng(seed)
    mean, size = rng.normal(size=4000), 4000
    y = rng.normal(mean)
    levels = [0.05, 0.25, 0.5, 0.8]
    made = [
        ensemble(rng.normal(mean[:, None], size=(size, 9))),
        quantiles(levels, mean[:, None] + stats.norm.ppf(levels)),
        function(stats.norm(mean).cdf, size),
    ]
    for forecasts in made:
        assert stats.kstest(forecasts.pit(y, rng), "uniform").pvalue > 1e-3
    rate = rng.gamma(2, 1, size)
    counts = function(stats.poisson(rate).cdf, size).pit(rng.poisson(rate), rng)
    assert stats.kstest(counts, "uniform").pvalue > 1e-3


def kuiper_by_definition(value, share):
    """Search all ranges between two values, with and without their ends."""
    best = 0.0
    for low in value:
        for high in value:
            if low <= high:
                inside = share[(value >= low) & (value <= high)].sum()
                between = share[(value > low) & (value < high)].sum()
                best = max(best, inside - (high - low), (high - low) - between)
    return best


def test_kuipers_statistic_is_the_largest_difference_over_ranges():
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 12):
        for _ in range(20):
            value, share = rng.random(size), rng.dirichlet(np.ones(size))
            found, low, high, inside = kuiper(value, share)
            assert found == pytest.approx(kuiper_by_definition(value, share))
            assert abs(inside - (high - low)) == pytest.approx(found)


def test_draws_and_series_agree_on_the_distribution_of_kuipers_statistic():
    rng = np.random.default_rng(4)
    share = np.full(400, 1 / 400)
    for statistic in (0.06, 0.08, 0.1):
        drawn, exact = kuiper_pvalue(statistic, share, 9999, rng)
        assert exact
        series, by_draws = kuiper_pvalue(statistic, share, 10**6, rng)
        assert not by_draws
        assert series == pytest.approx(drawn, abs=0.02)


def test_a_test_finds_what_is_wrong_and_a_histogram_shows_it():
    rng = np.random.default_rng(5)
    members = rng.normal(size=(1000, 19))
    wide = ensemble(2 * members)
    test = wide.pit_test(rng.normal(size=1000), rng=0)
    assert test.pvalue == 0.001
    assert 0 < test.low < 0.5 < test.high < 1
    assert test.share > test.high - test.low
    assert "wrong" in test.sentence
    shown = wide.pit_histogram(rng.normal(size=1000), rng=0)
    assert shown.share.sum() == pytest.approx(1)
    assert {0, 9, 4, 5} <= set(shown.beyond)
    assert shown.share[0] < shown.low < shown.expected < shown.high < shown.share[5]
    fine = ensemble(members).pit_histogram(rng.normal(size=1000), rng=0)
    assert fine.beyond == ()
    assert "No sign" in ensemble(members).pit_test(rng.normal(size=1000), rng=0).sentence


def test_rows_that_weigh_nothing_do_not_count_and_order_does_not_matter():
    rng = np.random.default_rng(6)
    members, y, weight = rng.normal(size=(80, 5)), rng.normal(size=80), rng.gamma(2, 1, 80)
    weight[:30] = 0
    whole = ensemble(members)
    order = rng.permutation(80)
    turned = ensemble(members[order])
    assert turned.pit(y[order], 0) == pytest.approx(whole.pit(y, 0)[order])
    first = whole.pit_test(y, sample_weight=weight, rng=0)
    second = turned.pit_test(y[order], sample_weight=weight[order], rng=0)
    assert first.rows == 50
    assert (first.pvalue, first.statistic) == pytest.approx((second.pvalue, second.statistic))
    parts = whole.crps_decomposition(y, sample_weight=weight)
    kept = ensemble(members[30:]).crps_decomposition(y[30:], sample_weight=weight[30:])
    assert parts.score == pytest.approx(kept.score)
    assert parts.miscalibration == pytest.approx(kept.miscalibration)
    band = whole.pit_histogram(y, sample_weight=weight, rng=0)
    assert band.low < 0.1 < band.high


def decomposed_by_definition(members, y):
    """Recalibrate at every threshold by scikit-learn's isotonic regression, and add up."""
    from sklearn.isotonic import IsotonicRegression

    values = np.unique(np.append(members.ravel(), y))
    after = climate = before = 0.0
    for at, width in zip(values[:-1], np.diff(values), strict=True):
        chance, hit = (members <= at).mean(axis=1), (y <= at).astype(float)
        fitted = IsotonicRegression().fit(chance, hit).predict(chance)
        before += width * ((chance - hit) ** 2).mean()
        after += width * ((fitted - hit) ** 2).mean()
        climate += width * hit.mean() * (1 - hit.mean())
    return before, before - after, climate - after, climate


def test_the_decomposition_follows_the_definition_and_adds_up():
    rng = np.random.default_rng(7)
    signal = rng.normal(size=60)
    members, y = 2 * signal[:, None] + rng.normal(size=(60, 5)), signal + rng.normal(size=60)
    found = ensemble(members).crps_decomposition(y)
    parts = found.score, found.miscalibration, found.discrimination, found.uncertainty
    assert parts == pytest.approx(decomposed_by_definition(members, y), rel=1e-9)
    assert found.score == pytest.approx(ensemble(members).crps(y).mean())
    assert found.uncertainty == pytest.approx(np.abs(y[:, None] - y).mean() / 2)
    assert found.pooling == "isotonic at each threshold"
    total = found.miscalibration - found.discrimination + found.uncertainty
    assert total == pytest.approx(found.score)


def test_the_decomposition_of_a_function_is_near_that_of_many_members():
    rng = np.random.default_rng(8)
    signal = rng.normal(size=150)
    y = signal + rng.normal(size=150)
    law = stats.norm(1.5 * signal, 1)
    found = function(law.cdf, 150).crps_decomposition(y)
    grid = (np.arange(400) + 0.5) / 400
    members = stats.norm.ppf(grid, 1.5 * signal[:, None])
    near = ensemble(members).crps_decomposition(y)
    assert found.score == pytest.approx(near.score, abs=2e-3)
    assert found.miscalibration == pytest.approx(near.miscalibration, abs=5e-3)
    assert found.discrimination == pytest.approx(near.discrimination, abs=5e-3)


def test_quantiles_are_not_decomposed():
    with pytest.raises(InvalidOptionError, match="pinball loss"):
        quantiles([0.5], [[1.0]]).crps_decomposition([1.0])


def test_chances_of_exceeding_a_threshold():
    assert ensemble(MEMBERS).exceedance(0.5) == pytest.approx([0.25, 0.25, 1])
    assert function(stats.norm([0, 1]).cdf, 2).exceedance(1) == pytest.approx([0.15865525, 0.5])
    columns = quantiles([0.2, 0.4, 0.8], [[0.0, 1, 3]] * 5)
    found = [columns.exceedance(t)[0] for t in (-1, 0, 0.5, 2, 4)]
    assert found == pytest.approx([0.9, 0.8, 0.7, 0.4, 0.1])
    atom = quantiles([0.2, 0.4, 0.8], [[0.0, 0, 3]])
    assert atom.exceedance(0)[0] == pytest.approx(0.6)
    assert quantiles([0.5], [[2.0]]).exceedance(3)[0] == pytest.approx(0.25)


def test_thresholds_are_judged_together():
    rng = np.random.default_rng(9)
    mean = rng.normal(size=3000)
    right = function(stats.norm(mean).cdf, 3000)
    y = rng.normal(mean)
    found = right.threshold_calibration(y, [1.5, -0.5, 0.5], rng=0, tolerance=0.05)
    assert [len(found), found.noun, len(found.failing)] == [3, "threshold", 0]
    assert {group.name for group in found} == {"-0.5", "0.5", "1.5"}
    wrong = function(stats.norm(mean + 1).cdf, 3000)
    assert len(wrong.threshold_calibration(y, [-0.5, 0.5, 1.5], rng=0).failing) == 3
    assert "3 of 3 thresholds exceed" in wrong.threshold_calibration(y, [-1, 0, 1], rng=0).sentence
    clustered = right.threshold_calibration(y, [0.0], clusters=np.arange(3000) // 10, rng=0)
    assert len(clustered) == 1


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: ensemble([1.0, 2.0]), "must be a table"),
        (lambda: ensemble([[1.0, np.nan]]), "members must not hold missing"),
        (lambda: ensemble([[1.0, np.inf]]), "finite"),
        (lambda: ensemble(np.zeros((0, 3))), "rows and columns"),
        (lambda: quantiles([0.1, 0.9], [[1.0, 2], [3, 2], [5, 4]]), "2 of 3 rows where they cross"),
        (lambda: quantiles([0.9, 0.1], [[1.0, 2]]), "levels must increase"),
        (lambda: quantiles([10, 90], [[1.0, 2]]), "between 0 and 1"),
        (lambda: quantiles([0.1, 0.5, 0.9], [[1.0, 2]]), "one column for each level"),
        (lambda: function(3, 2), "function of one value"),
        (lambda: function(lambda _: [0.5], 2).crps([1.0, 2]), "one chance for each row"),
        (lambda: function(lambda x: 0 * x + 2, 2).crps([1.0, 2]), "must return chances"),
        (lambda: function(lambda x: 0 * x + 0.5, 2).crps([1.0, 2]), "rise from 0 to 1"),
        (lambda: ensemble(MEMBERS).crps([1.0]), "one entry per row"),
        (lambda: ensemble(MEMBERS).crps([1.0, 2, np.nan]), "y_true must not hold missing"),
        (lambda: ensemble(MEMBERS).crps(Y, fair="yes"), "fair must be"),
        (lambda: quantiles([0.5], [[1.0]]).crps([1.0], fair=True), "ensembles"),
        (lambda: ensemble(MEMBERS).threshold_calibration(Y, [5.0]), "both sides"),
        (lambda: ensemble(MEMBERS).threshold_calibration(Y, []), "one or more"),
        (lambda: ensemble(MEMBERS).pit_histogram(Y, bins=1), "bins"),
        (lambda: ensemble(MEMBERS).pit_test(Y, sample_weight=[0, 0, 0]), "sample_weight"),
        (lambda: ensemble(MEMBERS).exceedance(np.nan), "threshold must not hold missing"),
    ],
)
def test_bad_distributions_are_refused_with_a_reason(made, message):
    with pytest.raises(CalibrantError) as error:
        made()
    assert message in str(error.value)


@pytest.mark.parametrize("form", ["members", "values"])
def test_rows_of_a_frame_are_not_paired_with_other_labels(form):
    table = pd.DataFrame(np.sort(MEMBERS, axis=1), index=[7, 8, 9])
    levels = [0.1, 0.4, 0.6, 0.9]
    made = ensemble(table) if form == "members" else quantiles(levels, table)
    outcome = pd.Series(Y, index=table.index)
    np.testing.assert_array_equal(made.crps(outcome), made.crps(Y))
    for judged in (made.crps, made.pit, made.pit_test):
        with pytest.raises(InvalidForecastsError, match=f"y_true and {form} must have the same"):
            judged(outcome[::-1])
    with pytest.raises(InvalidForecastsError, match=f"sample_weight and {form} must have"):
        made.pit_histogram(Y, sample_weight=outcome[::-1] ** 2)
