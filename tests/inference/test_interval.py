"""Confidence intervals: around the value, honest at zero, the same for any order of rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.errors import InvalidOptionError
from calibrant.inference.cases import widening
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import upper_quantile
from calibrant.weight_functions import Bounded, Dictionary, Lipschitz

WITH_INTERVAL = [name for name, measure in JOINT_MEASURES.items() if measure.interval]
WITHOUT = [
    name
    for name, measure in JOINT_MEASURES.items()
    if not measure.interval
    and name not in {"lower_distance_to_calibration", "exact_calibration_error"}
]


def sample(n: int, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 21, n) / 20
    return rng.random(n) < np.clip(p + shift, 0, 1), p


@pytest.mark.parametrize("name", WITH_INTERVAL)
def test_the_interval_lies_around_the_value(name):
    y, p = sample(400, 0.1)
    interval = cal.confidence_interval(y, p, measure=name, draws=99, rng=0)
    value = float(JOINT_MEASURES[name].function(y, p))
    assert interval.value == pytest.approx(value)
    power = JOINT_MEASURES[name].power()
    root, half_width = value ** (1 / power), interval.high ** (1 / power) - value ** (1 / power)
    assert interval.low == pytest.approx(max(0, root - half_width) ** power)
    assert interval.high == pytest.approx(min(1, value + interval.half_width))
    assert 0 < interval.half_width < 0.2
    assert "95 % confidence" in str(interval)


@pytest.mark.parametrize("name", WITHOUT)
def test_a_measure_without_a_valid_interval_is_refused_with_the_reason(name):
    with pytest.raises(cal.errors.InferenceRefusedError, match="no valid confidence interval"):
        cal.confidence_interval(*sample(50), measure=name)


def test_the_lower_distance_has_a_better_interval_than_the_smooth_error_gives():
    data = sample(2000, 0.1)
    smooth = cal.confidence_interval(*data, rng=0)
    lower = cal.confidence_interval(*data, measure="lower_distance_to_calibration", rng=0)
    assert lower.low <= lower.value <= lower.high
    assert lower.high < 0.75 * 2 * smooth.high
    assert lower.low > smooth.low / 2


def test_what_else_is_refused():
    refused = [
        lambda joint: joint.base_rate,
        partial(cal.binned_calibration_error, form="midpoint"),
        partial(cal.weighted_calibration_error, family=Bounded()),
    ]
    for measure in refused:
        with pytest.raises(cal.errors.InferenceRefusedError, match="smooth error"):
            cal.confidence_interval(*sample(50), measure=measure)


def test_a_family_of_tests_has_the_interval_of_its_measure():
    data = sample(200, 0.1)
    smooth = cal.confidence_interval(*data, draws=49, rng=0)
    family = partial(cal.weighted_calibration_error, family=Lipschitz())
    assert cal.confidence_interval(*data, measure=family, draws=49, rng=0).half_width == (
        pytest.approx(smooth.half_width)
    )
    constant = partial(cal.weighted_calibration_error, family=Dictionary([np.ones_like]))
    interval = cal.confidence_interval(*data, measure=constant, draws=1999, rng=0)
    y, p = data
    assert interval.half_width == pytest.approx(1.96 * np.std(y - p) / np.sqrt(200), rel=0.1)


def test_the_bound_for_every_distribution_is_wider_and_its_own():
    data = sample(500)
    bound = cal.confidence_interval(*data, method="worst-case")
    assert bound.half_width == pytest.approx((2**0.5 + (2 * np.log(20)) ** 0.5) / 500**0.5)
    assert bound.half_width > 4 * cal.confidence_interval(*data, rng=0).half_width
    equal = cal.Joint.from_samples(*data, sample_weight=np.full(500, 2.0))
    again = cal.confidence_interval(equal, method="worst-case")
    assert again.half_width == bound.half_width
    weighted = cal.Joint.from_samples(*data, sample_weight=np.arange(1.0, 501.0))
    for refused in (
        lambda: cal.confidence_interval(weighted, method="worst-case"),
        lambda: cal.confidence_interval(
            *data, method="worst-case", measure="cutoff_calibration_error"
        ),
        lambda: cal.confidence_interval(*data, method="bootstrap"),
    ):
        with pytest.raises(cal.errors.InvalidOptionError):
            refused()


def test_weights_that_are_equal_change_nothing_and_unequal_ones_widen():
    y, p = sample(400, 0.05)
    plain = cal.confidence_interval(y, p, rng=0)
    fours = cal.confidence_interval(y, p, sample_weight=np.full(400, 4.0), rng=0)
    assert fours.half_width == pytest.approx(plain.half_width)
    uneven = np.random.default_rng(1).lognormal(0, 1, 400)
    wide = cal.confidence_interval(y, p, sample_weight=uneven, rng=0)
    assert wide.half_width > 1.3 * plain.half_width


def test_rows_of_weight_zero_do_not_exist():
    y, p = sample(200, 0.05)
    w = np.random.default_rng(3).integers(0, 3, 200).astype(float)
    kept = w > 0
    whole = cal.confidence_interval(y, p, sample_weight=w, clusters=np.arange(200) % 50, rng=0)
    part = cal.confidence_interval(
        y[kept], p[kept], sample_weight=w[kept], clusters=(np.arange(200) % 50)[kept], rng=0
    )
    assert (whole.low, whole.high) == (part.low, part.high)


def test_clusters_widen_and_few_of_them_are_said():
    y, p = sample(100, 0.05)
    alone = cal.confidence_interval(y, p, rng=0)
    again = cal.confidence_interval(
        np.tile(y, 4), np.tile(p, 4), clusters=np.tile(np.arange(100), 4), rng=0
    )
    assert again.half_width == pytest.approx(alone.half_width, rel=0.1)
    assert not again.cautions
    few = cal.confidence_interval(y, p, clusters=np.arange(100) % 9, rng=0)
    assert few.cautions == ("only 9 clusters: the interval is rough",)


def test_order_of_rows_and_aggregation_do_not_matter():
    y, p = sample(300, 0.05)
    order = np.random.default_rng(9).permutation(300)
    first = cal.confidence_interval(y, p, rng=5)
    assert cal.confidence_interval(y[order], p[order], rng=5) == first
    assert cal.confidence_interval(cal.Joint.from_samples(y, p), rng=5) == first


def test_many_levels_take_no_longer_and_agree():
    rng = np.random.default_rng(0)
    p = rng.random(20000)
    y = rng.random(20000) < p
    fine = cal.confidence_interval(y, p, rng=0)
    coarse = cal.confidence_interval(y, p.round(2), rng=0)
    assert fine.half_width == pytest.approx(coarse.half_width, rel=0.1)


def test_no_event_seen_does_not_mean_no_spread():
    """Rule of three: 300 rows without an event leave room for a rate of about 3 / 300."""
    interval = cal.confidence_interval(np.zeros(300), np.full(300, 1e-6), rng=0)
    assert 2.5 / 300 < interval.high < 5 / 300


@pytest.mark.parametrize("clustered", [False, True])
def test_the_spread_of_multiplied_residuals_is_that_of_the_rows(clustered):
    """Variance of a test under multipliers: the centred sums of squares of rows or clusters."""
    rng = np.random.default_rng(7)
    n = 400
    p = rng.integers(1, 10, n) / 10
    y = (rng.random(n) < p**2).astype(float)
    w = rng.integers(1, 4, n).astype(float)
    clusters = rng.integers(0, 80, n)
    evidence = Evidence.read(y, p, w, None, clusters if clustered else None)
    joint = evidence.joint
    residual_masses = np.concatenate(list(evidence.multiplied_residual_masses(20000, rng, 0.95)))
    test = rng.choice([-1.0, 1.0], len(joint))
    parts = (y - p) * test[np.searchsorted(joint.prediction, p)]
    centred = w / w.sum() * (parts - np.average(parts, weights=w))
    if clustered:
        centred = np.bincount(clusters, centred) * np.sqrt(80 / 79)
    hidden = (1.959964 * evidence.unit) ** 2
    assert np.var(residual_masses @ test) == pytest.approx(np.sum(centred**2) + hidden, rel=0.05)


@pytest.mark.parametrize(
    "options", [{"confidence": 0.0}, {"confidence": 1.5}, {"draws": 0}, {"measure": "nothing"}]
)
def test_options_that_make_no_sense(options):
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.confidence_interval([0, 1], [0.1, 0.9], **options)


def test_mean_outcomes_are_refused():
    with pytest.raises(cal.errors.InferenceRefusedError, match="mean outcomes"):
        cal.confidence_interval([0.5, 1, 0.2], [0.1, 0.9, 0.4])


def test_few_clusters_widen_as_students_law_does():
    student, normal = stats.t.ppf(0.975, 3), stats.norm.ppf(0.975)
    assert widening(np.full(4, 0.25), 0.05) == pytest.approx(student / normal)
    assert widening(np.ones(1), 0.05) == np.inf
    unequal = np.array([0.5, 0.5, 0, 0, 0])
    assert widening(unequal, 0.05) == pytest.approx(stats.t.ppf(0.975, 1) / normal)
    assert widening(np.full(10**6, 1e-6), 0.05) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("draws", [1, 2, 19, 38])
def test_too_few_draws_do_not_make_an_interval_narrow(draws):
    """An end that is missed with a chance of 2.5 % needs 39 draws: so many are taken."""
    y, p = [0, 1] * 50, [0.5] * 100
    enough = cal.verdict(y, p, draws=39, rng=0)
    assert cal.verdict(y, p, draws=draws, rng=0).interval == enough.interval
    assert enough.state == "undecided"


def test_a_high_confidence_draws_as_often_as_it_needs():
    y, p = [0, 1] * 50, [0.5] * 100
    wide = cal.confidence_interval(y, p, confidence=0.9999, rng=0)
    # As in Wilson's interval, z^2 more rows with residuals of one are mixed in.
    assert wide.high == pytest.approx(3.89 * np.sqrt((0.25 + 3.89**2 / 100) / 100), rel=0.05)
    assert "99.99 %" in str(wide)
    assert cal.verdict(y, p, confidence=0.9999, rng=0).test.null.size == 19_999
    with pytest.raises(InvalidOptionError, match=r"confidence must be at most 0\.999998"):
        cal.confidence_interval(y, p, confidence=0.9999999)


def test_a_quantile_beyond_all_draws_is_infinite():
    assert upper_quantile(np.arange(19.0), 0.95) == 18
    assert upper_quantile(np.arange(18.0), 0.95) == np.inf


@pytest.mark.parametrize("measure", ["brier", "log"])
def test_a_row_with_all_of_the_weight_says_nothing_of_its_own_spread(measure):
    y, p = sample(50)
    p = np.clip(p, 0.05, 0.95)
    heavy = cal.confidence_interval(y, p, measure=measure, sample_weight=[1e9] + [1] * 49)
    assert (heavy.low, heavy.high) == (0.0, np.inf)
    plain = cal.confidence_interval(y, p, measure=measure)
    same = cal.confidence_interval(y, p, measure=measure, sample_weight=[0.3] * 50)
    assert (same.low, same.high) == pytest.approx((plain.low, plain.high))


def test_scores_of_rows_that_weigh_very_different_are_covered():
    """Weights whose logarithms vary by four: they count as two or three rows."""
    rng, covered, runs = np.random.default_rng(0), 0, 300
    for _ in range(runs):
        p = rng.choice([0.2, 0.5, 0.8], 40)
        found = cal.confidence_interval(
            rng.random(40) < p, p, measure="brier", sample_weight=np.exp(4 * rng.normal(size=40))
        )
        covered += found.low <= 0.57 / 3 <= found.high
    assert covered / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_the_interval_of_a_score_needs_no_levels(score):
    rng = np.random.default_rng(6)
    p = rng.random(3000).round(2) * 0.98 + 0.01
    y = (rng.random(p.size) < p).astype(int)
    of_rows = cal.confidence_interval(y, p, measure=score)
    of_levels = cal.confidence_interval(cal.Joint.from_samples(y, p), measure=score)
    for name in ("value", "low", "high"):
        assert getattr(of_rows, name) == pytest.approx(getattr(of_levels, name), rel=1e-12)
    with pytest.raises(cal.errors.CalibrantError):
        cal.confidence_interval(y / 2, p, measure=score)
