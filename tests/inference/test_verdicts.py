"""The three-way verdict: states, sentences, rows that would settle it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import calibrant as cal
from calibrant.inference import default_tolerance
from calibrant.inference.evidence import Evidence
from calibrant.inference.ratio import find_ratio
from calibrant.inference.rows_to_settle import two_digits
from calibrant.inference.verdicts import rounded_down, rounded_up


def sample(n: int, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n)
    return rng.random(n) < np.clip(p + shift, 0, 1), p


def test_three_states():
    assert cal.verdict(*sample(60000), rng=0).state == "calibrated"
    assert cal.verdict(*sample(5000, 0.1), rng=0).state == "miscalibrated"
    assert cal.verdict(*sample(200), rng=0).state == "undecided"


def test_the_state_is_the_place_of_the_interval():
    for seed in range(5):
        verdict = cal.verdict(*sample(3000, 0.03, seed), rng=0)
        low, high = verdict.interval.low, verdict.interval.high
        expected = "calibrated" if high <= 0.02 else "miscalibrated" if low > 0.02 else "undecided"
        assert verdict.error_state == expected
        assert (verdict.rows_needed is None) or verdict.state == "undecided"


def test_slope_and_waves_are_miscalibration_though_the_smooth_error_is_small():
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    for chance in (expit(0.75 * logit(p)), np.clip(p + 0.2 * np.sin(8 * np.pi * p), 0, 1)):
        y = rng.random(p.size) < chance
        found = cal.verdict(y, p, gap_tolerance=0.03, draws=299, rng=0)
        assert (found.state, found.error_state) == ("miscalibrated", "calibrated")
        assert found.gap.state == "miscalibrated"
        assert "the typical gap between forecast and observed rate is" in found.sentence
        assert cal.verdict(y, p, gap_tolerance=1, draws=99, rng=0).state == "calibrated"


def test_another_measure_is_judged_alone():
    found = cal.verdict(*sample(500), measure="kernel_calibration_error", draws=99, rng=0)
    assert found.gap is None
    assert found.test.parts == ()


def test_few_rows_say_how_many_would_do():
    verdict = cal.verdict([0, 1] * 6, [0.5] * 12, rng=0)
    assert verdict.state == "undecided"
    assert verdict.sentence.startswith(
        "No miscalibration found: the typical gap between forecast and observed rate is at most 5"
    )
    assert verdict.sentence.endswith(
        "It is unknown how many rows would settle it: collect more, and judge the new ones "
        "without these."
    )
    few, many = verdict.rows_needed
    assert 1000 < few < many < 60_000
    assert verdict.plan is None


def test_the_outlook_asks_for_new_rows():
    verdict = replace(cal.verdict(*sample(300), rng=0), rows_needed=(1000, 9000))
    assert verdict.plan == verdict.rows_needed
    assert "new rows would probably settle it, judged without these." in verdict.sentence
    wide = replace(verdict, rows_needed=(1000, 10_001))
    assert wide.plan is None
    assert "unknown how many rows would settle it" in wide.sentence


def test_the_smallest_simulated_pvalue_is_a_bound():
    y, p = sample(2000, 0.1)
    found = cal.verdict(y, p, draws=199, rng=0)
    assert found.pvalue == 1 / 200
    assert "p <= 0.005" in repr(found)


def test_so_many_rows_do_settle_it():
    verdict = cal.verdict(*sample(400), rng=0)
    rows = verdict.rows_needed[1]
    states = [cal.verdict(*sample(rows, seed=s), draws=199, rng=0).state for s in range(10)]
    assert states.count("calibrated") >= 7


def test_detectable_and_small():
    verdict = cal.verdict(*sample(200_000, 0.006), rng=0)
    assert verdict.state == "calibrated"
    said = "Calibrated within tolerance, but not perfectly (p = 0.00"
    assert verdict.sentence.startswith(said)
    assert "): the typical gap between forecast and observed rate is at most " in verdict.sentence
    assert "Worst range: " in verdict.sentence


def test_detectable_and_undecided():
    verdict = cal.verdict(*sample(4000, 0.02), rng=0)
    assert verdict.state == "undecided"
    assert verdict.sentence.startswith("Off, by an amount that may or may not matter (p = 0.0")
    assert "(95 % confidence for each limit; tolerance 2 points)" in verdict.sentence


def test_an_error_at_the_tolerance_is_not_settled_by_rows():
    joint = cal.Joint.from_counts([0.5], [10**6], [520_000])
    verdict = cal.verdict(joint, tolerance=0.0202, rng=0)
    assert verdict.rows_needed is None
    assert verdict.sentence.endswith("rows like these would surely settle it.")


def test_the_default_tolerance_follows_the_rarer_outcome():
    assert default_tolerance(cal.Joint.from_counts([0.5], [100], [40])) == 0.02
    assert default_tolerance(cal.Joint.from_counts([0.5], [100], [95])) == pytest.approx(0.005)
    assert default_tolerance(cal.Joint.from_counts([0.5], [98], [0])) == pytest.approx(0.001)
    assert cal.verdict(*sample(100), tolerance=0.3, rng=0).tolerance == 0.3


def test_rare_events_carry_the_ratio_of_observed_to_expected():
    """Equal forecasts: Clopper and Pearson's interval for 3 events in 1000."""
    verdict = cal.verdict([1] * 3 + [0] * 997, [0.002] * 1000, rng=0)
    ratio = verdict.ratio
    assert (ratio.observed, ratio.expected) == (3.0, pytest.approx(2.0))
    exact = stats.binomtest(3, 1000).proportion_ci()
    assert (ratio.low, ratio.high) == pytest.approx((exact.low / 0.002, exact.high / 0.002))
    assert cal.verdict(*sample(100), rng=0).ratio is None


def test_events_that_are_very_rare_are_poisson():
    """Garwood's interval for 3 events: 0.6187 to 8.7673 (published tables)."""
    evidence = Evidence.of_joint(cal.Joint.from_counts([2e-9], [10**9], [3]))
    ratio = find_ratio(evidence, 0.95)
    assert ratio.low * 2 == pytest.approx(0.6187, abs=1e-4)
    assert ratio.high * 2 == pytest.approx(8.7673, abs=1e-4)


def test_events_that_were_foreseen_vary_less_than_a_binomial_number():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    informed = find_ratio(Evidence.read(rng.random(p.size) < p, p), 0.95)
    half_width = 1.96 * np.sqrt(p @ (1 - p)) / p.sum()
    assert (informed.high - informed.low) / 2 == pytest.approx(half_width, rel=0.03)
    luck = find_ratio(Evidence.read(rng.random(p.size) < 0.5, p), 0.95)
    half_width = 1.96 * np.sqrt(p.size / 3) / p.sum()
    assert (luck.high - luck.low) / 2 == pytest.approx(half_width, rel=0.03)


def test_the_ratio_is_of_the_rarer_outcome():
    verdict = cal.verdict([0] * 3 + [1] * 997, [0.998] * 1000, rng=0)
    assert (verdict.ratio.observed, verdict.ratio.expected) == (3.0, pytest.approx(2.0))


def test_ratio_with_weights_and_clusters():
    y, p = [1] * 8 + [0] * 392, [0.02] * 400
    plain = cal.verdict(y, p, rng=0).ratio
    weights = np.tile([1.0, 3.0], 200)
    weighted = cal.verdict(y, p, sample_weight=weights, rng=0).ratio
    clustered = cal.verdict(y, p, clusters=np.arange(400) // 4, rng=0).ratio
    assert weighted.value == pytest.approx(plain.value)
    assert weighted.high > plain.value > weighted.low > 0
    assert clustered.high / clustered.low > 1.3 * plain.high / plain.low
    none = cal.verdict([0] * 50, [0.01] * 50, clusters=np.arange(50) // 2, rng=0).ratio
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high > 3
    certain = cal.verdict([0] * 5, [0.0] * 5, rng=0).ratio
    assert np.isnan(certain.value)


def test_one_row_and_one_class_have_an_answer():
    assert cal.verdict([1], [0.3], rng=0).state == "undecided"
    assert cal.verdict(np.ones(30), np.full(30, 0.7), rng=0).state in {"undecided", "miscalibrated"}


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -0.1, float("nan")])
def test_a_tolerance_outside_0_1_is_refused(tolerance):
    with pytest.raises(cal.errors.InvalidOptionError, match="tolerance must lie between 0 and 1"):
        cal.verdict([0, 1], [0.2, 0.8], tolerance=tolerance)


def test_bounds_are_rounded_to_their_own_side():
    assert rounded_up(0.012341) == "0.0124"
    assert rounded_down(0.012349) == "0.0123"
    assert (rounded_down(0.0), rounded_up(1.0)) == ("0", "1")
    assert (two_digits(4123), two_digits(99.5), two_digits(7)) == (4200, 100, 7)


def test_rows_that_say_too_little_are_not_called_close_to_the_tolerance():
    heavy = [1.0] * 999 + [1e6]
    verdict = cal.verdict([0, 1] * 500, [0.3, 0.7] * 500, sample_weight=heavy, rng=0)
    assert verdict.state == "undecided"
    assert verdict.rows_needed is None
    assert "close to the tolerance" not in verdict.sentence
