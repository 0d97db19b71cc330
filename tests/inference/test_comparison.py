"""Two forecasters on the same rows, and rows needed before they are collected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.errors import InferenceRefusedError, InvalidForecastsError, InvalidOptionError
from calibrant.inference import Comparison, rows_needed, verdict_chances


def sample(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.05, 0.95, n)
    return rng.random(n) < chance, chance


def test_the_better_forecaster_is_named():
    y, p = sample(4000)
    better = cal.compare(y, p**2, p, rng=0)
    assert better.difference == pytest.approx(better.second - better.first)
    assert better.high < 0
    assert str(better).startswith("The second forecaster is better: smooth calibration error ")
    worse = cal.compare(y, p, p**2, rng=0)
    assert worse.low == pytest.approx(-better.high)
    assert str(worse).startswith("The first forecaster is better")


def test_values_are_those_of_the_measure():
    y, p = sample(300)
    for name, measure in JOINT_MEASURES.items():
        if measure.interval and measure.power() == 1:
            found = cal.compare(y, p, p.round(1), measure=name, draws=49, rng=0)
            assert found.first == pytest.approx(float(measure.function(y, p)))
            assert found.second == pytest.approx(float(measure.function(y, p.round(1))))


COMPARED = [n for n, m in cal.CATALOGUE.items() if m.interval and m.power() == 1]


@pytest.mark.parametrize("measure", [*COMPARED, "log"])
def test_one_forecaster_twice_differs_by_exactly_nothing(measure):
    y, p = sample(100)
    clusters = np.arange(100) // 4
    for options in ({}, {"clusters": clusters}, {"sample_weight": 1 + clusters % 3}):
        same = cal.compare(y, p, p, margin=0.001, draws=99, measure=measure, rng=0, **options)
        assert (same.low, same.difference, same.high) == (0, 0, 0)
        assert same.equivalent
        assert same.not_worse
        assert same.sentence == "The two forecasts are identical."


def test_forecasters_a_thousandth_apart_are_equivalent():
    for seed in range(10):
        y, p = sample(2000, seed)
        near = cal.compare(y, p, p + 0.001, margin=0.02, draws=99, rng=seed)
        assert near.equivalent
        assert near.high - near.low < 0.01


def test_a_common_error_cancels_where_it_is_clear():
    y, p = sample(20_000)
    far = cal.compare(y, 0.6 * p, 0.65 * p, draws=99, rng=0)
    alone = cal.confidence_interval(y, 0.6 * p, draws=99, rng=0)
    assert far.high < 0
    assert far.high - far.low < alone.half_width


def test_the_lower_of_two_rare_forecasts_is_not_called_better_for_want_of_events():
    p = np.full(300, 0.002)
    for measure in ("brier", "log", "smooth_calibration_error"):
        none = cal.compare(np.zeros(300), p, 0.2 * p, measure=measure, rng=0)
        assert none.difference < 0 < none.high


def test_equivalence_needs_a_margin():
    y, p = sample(50)
    with pytest.raises(cal.errors.InvalidOptionError, match="margin"):
        _ = cal.compare(y, p, p, rng=0).equivalent


def test_a_measure_without_interval_is_refused():
    y, p = sample(50)
    with pytest.raises(cal.errors.InferenceRefusedError, match="no valid confidence interval"):
        cal.compare(y, p, p, measure="exact_calibration_error")


def test_order_of_rows_does_not_matter_and_zero_weights_remove():
    y, p = sample(400)
    other = np.clip(p + 0.05, 0, 1)
    w = np.random.default_rng(2).integers(0, 3, 400).astype(float)
    order = np.random.default_rng(1).permutation(400)
    first = cal.compare(y, p, other, sample_weight=w, rng=3)
    again = cal.compare(y[order], p[order], other[order], sample_weight=w[order], rng=3)
    kept = w > 0
    less = cal.compare(y[kept], p[kept], other[kept], sample_weight=w[kept], rng=3)
    for result in (again, less):
        assert (result.low, result.high) == pytest.approx((first.low, first.high), rel=1e-9)


def test_rows_that_are_alike_share_a_multiplier_of_their_spread():
    """Many equal rows are drawn as one: the reach is the same as row by row."""
    y, p = sample(2000, seed=1)
    first, second = p.round(1), np.clip(p + 0.1, 0, 1).round(1)
    options = {"draws": 2999, "rng": np.random.default_rng(5)}
    together = cal.compare(y, first, second, **options)
    rows = cal.compare(y, first, second, clusters=np.arange(2000), **options)
    half_width = together.high - together.difference
    assert half_width == pytest.approx(rows.high - rows.difference, rel=0.08)


def test_copies_in_clusters_do_not_narrow_the_interval():
    y, p = sample(150)
    other = np.clip(p + 0.1, 0, 1)
    alone = cal.compare(y, p, other, rng=0)
    copies = cal.compare(
        np.tile(y, 4), np.tile(p, 4), np.tile(other, 4), clusters=np.tile(np.arange(150), 4), rng=0
    )
    careless = cal.compare(np.tile(y, 4), np.tile(p, 4), np.tile(other, 4), rng=0)
    width = alone.high - alone.low
    assert copies.high - copies.low == pytest.approx(width, rel=0.1)
    assert careless.high - careless.low < 0.6 * width
    with pytest.raises(cal.errors.InferenceRefusedError, match="at least two"):
        cal.compare(y, p, other, clusters=np.zeros(150))


def test_rows_needed_keep_their_promise():
    predictions = np.linspace(0.05, 0.95, 19)
    needed = rows_needed(0.03, predictions, rng=0)
    assert needed.state == "calibrated"
    assert needed.power >= 0.75
    assert needed.worst_case > 20 * needed.rows
    rng = np.random.default_rng(1)
    states = []
    for _ in range(40):
        p = rng.choice(predictions, needed.rows)
        states.append(cal.verdict(rng.random(p.size) < p, p, tolerance=0.03, draws=199, rng=rng))
    assert sum(v.state == "calibrated" for v in states) >= 24


def test_a_large_error_is_found_with_fewer_rows():
    predictions = np.linspace(0.05, 0.85, 17)
    far = rows_needed(0.02, predictions, truth=lambda p: p + 0.1, rng=0)
    near = rows_needed(0.02, predictions, truth=lambda p: p + 0.05, rng=0)
    assert far.state == near.state == "miscalibrated"
    assert far.error == pytest.approx(0.1)
    assert far.rows < near.rows
    assert rows_needed(0.04, predictions, rng=0).rows < rows_needed(0.02, predictions, rng=0).rows


def test_chances_of_a_verdict_add_up():
    joint = cal.Joint.from_samples(*sample(3000))
    chances = verdict_chances(1000, 0.05, joint, rng=0)
    assert sum(chances.values()) == pytest.approx(1)
    assert chances["calibrated"] > 0.5


def test_plans_that_make_no_sense():
    p = [0.2, 0.5]
    for call in (
        lambda: rows_needed(0.0, p),
        lambda: rows_needed(0.02, p, power=1.0),
        lambda: rows_needed(0.02, p, truth=lambda v: v + 0.0201),
        lambda: rows_needed(0.02, p, truth=lambda v: v + 5),
        lambda: verdict_chances(0, 0.02, p),
        lambda: cal.compare([0, 1], p, p, margin=-1),
    ):
        with pytest.raises(cal.errors.InvalidOptionError):
            call()


@pytest.mark.parametrize("score", ["brier", "log", "spherical"])
def test_scores_are_compared_row_by_row(score):
    y, p = sample(500)
    other = np.clip(p + 0.1, 0.01, 0.99)
    found = cal.compare(y, p, other, measure=score)
    rows = [cal.decisions.row_losses(score, y, q) for q in (p, other)]
    gap = rows[1] - rows[0]
    assert found.difference == pytest.approx(gap.mean())
    jumps = [np.diff(cal.decisions.as_score(score).losses(q), axis=0)[0] for q in (p, other)]
    hidden = max(np.average((jumps[1] - jumps[0]) ** 2, weights=q * (1 - q)) for q in (p, other))
    half_width = 1.96 * np.sqrt(500 * gap.var() + 1.96**2 * hidden) / 500
    assert found.high - found.difference == pytest.approx(half_width, rel=1e-3)
    assert found.measure == {"log": "log_loss"}.get(score, f"{score}_score")
    copies = cal.compare(
        np.tile(y, 3), np.tile(p, 3), np.tile(other, 3), measure=score,
        clusters=np.tile(np.arange(500), 3),
    )  # fmt: skip
    assert copies.high == pytest.approx(found.high, rel=2e-2)


def test_scores_have_normal_intervals():
    y, p = sample(400)
    interval = cal.confidence_interval(y, p, measure="brier")
    losses = (y - p) ** 2
    assert interval.value == pytest.approx(losses.mean())
    events = 1.96**2 * np.average((1 - 2 * p) ** 2, weights=p * (1 - p))
    half_width = 1.96 * np.sqrt(400 * losses.var() + events) / 400
    assert interval.half_width == pytest.approx(half_width, rel=1e-3)
    assert interval.method == "normal"
    joint = cal.confidence_interval(cal.Joint.from_samples(y, p), measure="brier")
    assert joint.half_width == pytest.approx(interval.half_width)
    task = cal.DecisionTask.from_costs(false_positive=50, false_negative=350)
    payoff = cal.confidence_interval(y, p, measure=task)
    received = cal.decisions.promised_and_received(y, p, task=task).received
    assert payoff.value == pytest.approx(-received)
    with pytest.raises(cal.errors.InferenceRefusedError, match="finite scores"):
        cal.confidence_interval([0, 1], [1.0, 0.5], measure="log")


def test_the_sentence_names_scores_as_people_do_and_shows_digits_that_count():
    rare = Comparison("brier_score", 0.00021374, 0.00021355, -0.00000028, -0.0000001, 0.95)
    assert rare.sentence == (
        "The second forecaster is better: Brier score 0.0002137 and 0.0002135, difference "
        "-0.00000019 (between -0.00000028 and -0.00000010 with 95 % confidence)."
    )
    large = Comparison("log_loss", 0.513, 0.5279, -0.001, 0.031, 0.9, margin=0.05)
    assert large.sentence == (
        "The two forecasters differ by less than 0.05: log loss 0.513 and 0.528, difference +0.015 "
        "(between -0.001 and +0.031 with 90 % confidence)."
    )
    endless = Comparison("log_loss", 0.4, np.inf, -np.inf, np.inf, 0.95)
    assert "log loss 0.400 and infinite, difference +infinite (between -infinite and +inf" in str(
        endless
    )


def test_a_function_of_your_own_is_named_by_its_name():
    assert "my own error 0.1" in Comparison("my_own_error", 0.1, 0.2, 0.05, 0.15, 0.95).sentence


def test_plans_are_for_the_verdict_or_for_the_measure_that_is_named():
    predictions = np.linspace(0.05, 0.95, 19)
    assert "the verdict is calibrated within 0.05" in str(rows_needed(0.05, predictions, rng=0))
    other = rows_needed(0.05, predictions, measure="cutoff_calibration_error", rng=0)
    assert "the cutoff calibration error is calibrated" in str(other)


def test_a_slope_that_the_smooth_error_does_not_see_is_planned_for():
    predictions = np.linspace(0.005, 0.995, 100)
    needed = rows_needed(0.025, predictions, truth=lambda p: 1 / (1 + ((1 - p) / p) ** 0.7), rng=0)
    assert needed.error < 0.025
    assert needed.state == "miscalibrated"
    rng = np.random.default_rng(2)
    states = []
    for seed in range(20):
        p = rng.choice(predictions, needed.rows)
        y = rng.random(p.size) < 1 / (1 + ((1 - p) / p) ** 0.7)
        states.append(cal.verdict(y, p, tolerance=0.025, draws=99, rng=seed).state)
    assert states.count("miscalibrated") >= 11


@pytest.mark.parametrize("measure", ["smooth_calibration_error", "brier", "log"])
def test_the_same_forecasts_are_called_identical(measure):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    same = cal.compare(y, p, p.copy(), measure=measure, rng=0)
    assert (same.identical, same.sentence) == (True, "The two forecasts are identical.")
    changed = np.where(np.arange(300) == 7, p / 2, p)
    other = cal.compare(y, p, changed, measure=measure, rng=0)
    assert not other.identical
    assert "identical" not in other.sentence


def test_errors_name_the_forecaster_that_is_wrong():
    with pytest.raises(cal.errors.InvalidForecastsError, match="y_true and y_proba_b must"):
        cal.compare([0, 1, 1], [0.1, 0.5, 0.9], [0.1, 0.5])
    with pytest.raises(cal.errors.InvalidForecastsError, match="y_proba_a must be probabilities"):
        cal.compare([0, 1, 1], [0.1, 0.5, 9], [0.1, 0.5, 0.9])


# Forecasts of numbers: losses by definition, intervals of paired differences.
RNG = np.random.default_rng(11)
TRUE = RNG.normal(20, 6, 400)
Y = TRUE + RNG.gumbel(0, 4, 400) - 2.3


def compare_means(*rows, **options):
    return cal.compare(*rows, kind="mean", **options)


def test_the_interval_is_that_of_the_mean_of_paired_differences():
    found = compare_means(Y, TRUE + 1, TRUE)
    rows = (Y - TRUE) ** 2 - (Y - TRUE - 1) ** 2
    assert found.first == pytest.approx(np.mean((Y - TRUE - 1) ** 2))
    assert found.difference == pytest.approx(rows.mean())
    half_width = stats.t(399).ppf(0.975) * rows.std(ddof=1) / np.sqrt(400)
    assert (found.low, found.high) == pytest.approx(
        (rows.mean() - half_width, rows.mean() + half_width)
    )


def test_the_interval_score_is_width_and_what_is_missed():
    low, high = TRUE - 4, TRUE + 5
    ends = np.column_stack([low, high])
    found = cal.compare(Y, ends, ends, kind="interval", level=0.8)
    missed = np.maximum(low - Y, 0) + np.maximum(Y - high, 0)
    assert found.first == pytest.approx(np.mean(high - low + 2 / 0.2 * missed))
    assert found.measure == "interval score"


@pytest.mark.parametrize("kind", ["mean", "quantile=0.9", "expectile=0.7"])
def test_a_forecaster_does_not_differ_from_itself(kind):
    found = cal.compare(Y, TRUE, TRUE, kind=kind, margin=0.1)
    assert (found.low, found.high, found.difference) == (0, 0, 0)
    assert found.equivalent
    assert (
        found.errors[0]
        == found.errors[1]
        == pytest.approx(float(cal.calibration_error(Y, TRUE, kind=kind)), rel=1e-12)
    )
    assert found.sentence == "The two forecasts are identical."


def test_swapping_the_two_changes_the_sign():
    one, other = compare_means(Y, TRUE + 3, TRUE), compare_means(Y, TRUE, TRUE + 3)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.errors == other.errors[::-1]
    assert one.sentence.startswith("The second forecaster is better")
    assert other.sentence.startswith("The first forecaster is better")
    unsure = compare_means(Y[:5], TRUE[:5] + 0.1, TRUE[:5])
    assert unsure.sentence.startswith("This sample does not tell")
    assert unsure.sentence in unsure._repr_html_()


def test_copies_of_rows_in_clusters_are_no_evidence():
    copies = np.repeat(np.arange(400), 4)
    once = compare_means(Y, TRUE + 1, TRUE, clusters=np.arange(400))
    often = compare_means(Y[copies], TRUE[copies] + 1, TRUE[copies], clusters=copies)
    assert (often.low, often.high) == pytest.approx((once.low, once.high), rel=1e-9)


def test_rows_without_weight_do_not_count():
    weight = np.ones(400)
    weight[:50] = 0
    kept, weighted = (
        compare_means(Y[50:], TRUE[50:] + 1, TRUE[50:], range=(-50, 90)),
        compare_means(Y, TRUE + 1, TRUE, sample_weight=weight, range=(-50, 90)),
    )
    assert (weighted.low, weighted.high) == pytest.approx((kept.low, kept.high), rel=1e-9)
    assert weighted.errors == pytest.approx(kept.errors, rel=1e-9)


def test_numbers_in_any_order_give_the_same_answer_to_the_last_digit():
    order, cluster = RNG.permutation(400), np.arange(400) % 37
    weight = RNG.gamma(2, 1, 400)
    options = {"clusters": cluster, "sample_weight": weight}
    permuted = {"clusters": cluster[order], "sample_weight": weight[order]}
    first = compare_means(Y, TRUE + 1, TRUE, **options)
    assert compare_means(Y[order], TRUE[order] + 1, TRUE[order], **permuted) == first
    for kind in ("mean", "quantile=0.9", "expectile=0.7"):
        parts = cal.decisions.loss_decomposition(Y, TRUE, kind=kind, sample_weight=weight)
        assert parts == cal.decisions.loss_decomposition(
            Y[order], TRUE[order], kind=kind, sample_weight=weight[order]
        )


def test_bad_input_is_refused_with_a_reason():
    with pytest.raises(InferenceRefusedError, match="at least two"):
        compare_means(Y, TRUE, TRUE, clusters=np.zeros(400))
    with pytest.raises(InferenceRefusedError, match="two rows or clusters"):
        compare_means(Y[:1], TRUE[:1], TRUE[:1])
    with pytest.raises(InvalidForecastsError, match="lower and the upper ends"):
        cal.compare(Y, TRUE, TRUE, kind="interval", level=0.9)
    with pytest.raises(InvalidOptionError, match="needs a margin"):
        _ = compare_means(Y, TRUE, TRUE).equivalent


def test_a_row_with_all_the_weight_tells_nothing_about_chance():
    y, z = Y[:50], TRUE[:50]
    weight = np.append(1e12, np.ones(49))
    with pytest.raises(InferenceRefusedError, match="at least two rows or clusters with weight"):
        compare_means(y, z, z + 1, sample_weight=weight)
