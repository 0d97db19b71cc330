"""The audit of groups: every group kept, overlapping noise shared, bad columns named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

import calibrant as cal
from calibrant.errors import CalibrantWarning, InferenceRefusedError, InvalidForecastsError
from calibrant.groups import audit as noise, audit_groups
from calibrant.groups.audit import Division
from calibrant.inference import confidence_of_each, find_ratio
from calibrant.inference.evidence import Evidence
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from calibrant.joint import Rows


def sample(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    by = {"site": rng.choice(["a", "b", "c"], n), "age": rng.integers(18, 90, n)}
    return rng.random(n) < p, p, by


def noise_of(y, p, by, draws=400, **options):
    division = Division.of(Rows.read(y, p), by, **options)
    statistic = Statistic.of("smooth_calibration_error")
    return noise.shared_noise(division, statistic, Settings.read(draws=draws, rng=0))


def test_counts_and_means_are_those_of_a_plain_group_by():
    y, p, by = sample()
    frame = pd.DataFrame({"y": y, "p": p, **by})
    frame["age"] = np.where(frame["age"] < 0, "", frame["age"].astype(str))
    groups = audit_groups(frame, by=["site"], prediction="p", outcome="y", rng=0)
    expected = frame.groupby("site").agg(n=("y", "size"), events=("y", "sum"), p=("p", "mean"))
    for group in groups:
        row = expected.loc[group.name]
        assert (group.rows, group.events) == (row.n, row.events)
        assert group.forecast == pytest.approx(row.p)
        alone = frame[frame["site"] == group.name]
        assert group.value == pytest.approx(cal.smooth_calibration_error(alone.y, alone.p))


def test_pairs_hold_every_row_once_and_have_readable_names():
    y, p, by = sample()
    groups = audit_groups(y, p, by, pairs=True, rng=0)
    for name in ("site", "age", "site & age"):
        assert sum(group.rows for group in groups if group.by == name) == y.size
    both = next(group for group in groups if group.by == "site & age")
    assert both.sentence.startswith("site ")
    assert ", age " in both.sentence
    assert len(groups) == 3 + 5 + 15


def test_one_group_has_the_interval_of_its_rows():
    y, p, _ = sample(2000)
    (group,) = audit_groups(y, p, {"all": ["x"] * 2000}, draws=1999, rng=0)
    interval = cal.confidence_interval(y, p, draws=1999, rng=1)
    assert group.value == interval.value
    assert group.high - group.value == pytest.approx(interval.half_width, rel=0.06)
    floor = cal.calibration_test(y, p, rng=0).headline.noise_floor
    assert group.noise_floor == pytest.approx(floor, rel=0.15)


def test_groups_that_overlap_share_their_noise():
    y, p, by = sample()
    twice = noise_of(y, p, {"one": by["site"], "two": by["site"]})
    for group in range(3):
        together = np.corrcoef(twice.deviation[group], twice.deviation[group + 3])[0, 1]
        assert together > 0.95
    once = noise_of(y, p, {"one": by["site"]})
    assert twice.deviation[:3].mean(axis=1) == pytest.approx(once.deviation.mean(axis=1), rel=0.15)


def test_noise_of_a_whole_is_the_sum_of_its_parts():
    """Deviations of all rows correlate with those of a group by the root of its share."""
    rng = np.random.default_rng(0)
    p = np.full(4000, 0.5)
    y = rng.random(4000) < 0.5
    by = {"all": ["x"] * 4000, "part": np.where(np.arange(4000) < 3000, "large", "small")}
    found = noise_of(y, p, by, 3000)
    # With one level the deviation is the absolute value of one normal number.
    share = np.corrcoef(found.deviation[0] ** 2, found.deviation[1] ** 2)[0, 1]
    assert share == pytest.approx(0.75, abs=0.08)


def test_too_many_combinations_are_drawn_apart(monkeypatch):
    y, p, by = sample()
    shared = noise_of(y, p, by, pairs=True)
    monkeypatch.setattr(noise, "MOST_SHARED", 1)
    apart = noise_of(y, p, by, pairs=True)
    assert apart.deviation.shape == shared.deviation.shape
    assert apart.deviation.mean(axis=1) == pytest.approx(shared.deviation.mean(axis=1), rel=0.15)


def test_results_do_not_depend_on_the_order_of_rows_or_the_container():
    y, p, by = sample(800)
    once = audit_groups(y, p, by, pairs=True, rng=3)
    order = np.random.default_rng(0).permutation(800)
    shuffled = {name: values[order] for name, values in by.items()}
    again = audit_groups(y[order], p[order], pl.DataFrame(shuffled), pairs=True, rng=3)
    for one, two in zip(once, again, strict=True):
        assert (one.by, one.name, one.rows) == (two.by, two.name, two.rows)
        assert one.low == pytest.approx(two.low, abs=1e-9)
        assert one.noise_floor == pytest.approx(two.noise_floor, abs=1e-9)


def test_weights_change_values_as_repeats_do_but_add_no_evidence():
    y, p, by = sample(900)
    weight = np.random.default_rng(0).integers(1, 4, 900)
    once = {g.name: g for g in audit_groups(y, p, {"s": by["site"]}, sample_weight=weight, rng=0)}
    repeated = audit_groups(
        np.repeat(y, weight), np.repeat(p, weight), {"s": np.repeat(by["site"], weight)}, rng=0
    )
    for group in repeated:
        assert once[group.name].value == pytest.approx(group.value)
        assert once[group.name].rows < group.rows
        assert once[group.name].high - once[group.name].value > group.high - group.value


def test_rows_without_weight_are_left_out():
    y, p, by = sample(300)
    weight = np.where(by["site"] == "a", 0.0, 1.0)
    groups = audit_groups(y, p, {"site": by["site"]}, sample_weight=weight, rng=0)
    assert {group.name for group in groups} == {"b", "c"}


def test_small_missing_and_rare_groups_are_kept():
    y, p, _ = sample(1000)
    label = np.array(["big"] * 990 + ["tiny"] * 3 + [None] * 4 + ["x", "y", "z"], dtype=object)
    groups = {g.name: g for g in audit_groups(y, p, {"kind": label}, most_levels=2, rng=0)}
    assert set(groups) == {"big", "tiny", "missing", "other (3 values)"}
    assert groups["tiny"].small
    assert groups["tiny"].high - groups["tiny"].low > 0.3
    assert groups["missing"].rows == 4


def test_a_group_with_one_outcome_has_an_interval():
    y, p, _ = sample(500)
    label = np.where(np.arange(500) < 250, "settled", "open")
    y = np.where(label == "settled", 0, y)
    groups = {g.name: g for g in audit_groups(y, p, {"kind": label}, rng=0)}
    settled = groups["settled"]
    assert settled.events == 0
    assert settled.low < settled.value < settled.high
    certain = audit_groups([0, 1] * 40, [0.0, 1.0] * 40, {"k": ["u", "u", "v", "v"] * 20}, rng=0)
    assert all(group.value == 0 and group.high > 0 for group in certain)


def test_a_column_that_tells_the_outcome_is_warned_of():
    y, p, _ = sample(200)
    with pytest.warns(CalibrantWarning, match="paid tell the outcome"):
        audit_groups(y, p, {"paid": np.where(y, "late", "in time")}, rng=0)


def test_a_broken_group_is_found_and_named():
    rng = np.random.default_rng(0)
    n = 40_000
    p = rng.random(n) * 0.6
    by = {"carrier": rng.choice(["9E", "AA", "UA", "DL"], n), "month": rng.integers(1, 13, n)}
    broken = (by["carrier"] == "9E") & (by["month"] == 12)
    y = rng.random(n) < np.where(broken, p + 0.15, p)
    groups = audit_groups(y, p, by, pairs=True, rng=0)
    worst = groups.groups[0]
    assert worst.label == "carrier 9E, month 12"
    assert worst.state == "miscalibrated"
    assert "carrier 9E, month 12: mean forecast" in groups.sentence


def test_clusters_widen_intervals():
    y, p, by = sample(600)
    cluster = np.arange(600) // 6
    together = audit_groups(
        np.repeat(y[::6], 6), np.repeat(p[::6], 6), {"s": np.repeat(by["site"][::6], 6)},
        clusters=cluster, rng=0,
    )  # fmt: skip
    alone = audit_groups(
        np.repeat(y[::6], 6), np.repeat(p[::6], 6), {"s": np.repeat(by["site"][::6], 6)}, rng=0
    )
    width = {group.name: group.high - group.value for group in alone}
    assert all(group.high - group.value > 1.5 * width[group.name] for group in together)


def test_what_cannot_be_judged_is_refused():
    y, p, by = sample(50)
    with pytest.raises(InferenceRefusedError, match="mean outcomes"):
        audit_groups(p, p, by)
    with pytest.raises(InferenceRefusedError, match="no valid confidence interval"):
        audit_groups(y, p, by, measure="exact_calibration_error")
    with pytest.raises(InvalidForecastsError, match="'nowhere'"):
        audit_groups(pd.DataFrame({"prediction": p, "outcome": y}), by=["nowhere"])
    with pytest.raises(InvalidForecastsError, match="must name at least one column"):
        audit_groups(pd.DataFrame({"prediction": p, "outcome": y}))


def test_audit_takes_pairs_and_missing_labels():
    y, p, by = sample(400)
    site = np.where(np.arange(400) < 20, None, by["site"].astype(object))
    found = cal.audit(y, p, by={"site": site, "age": by["age"]}, pairs=True, draws=99)
    names = {group.label for group in found.groups}
    assert "site missing" in names
    assert any(name.startswith("site a, age ") for name in names)
    assert "site missing" in found.to_html()


def test_a_group_that_is_one_cluster_says_nothing_about_chance():
    rng = np.random.default_rng(3)
    hospital = np.repeat(np.arange(20), 100)
    p = rng.random(2000)
    y = rng.random(2000) < np.where(hospital == 7, 0.95, p)
    groups = audit_groups(y, p, {"hospital": hospital.astype(str)}, clusters=hospital, rng=0)
    for group in groups:
        assert (group.low, group.high, group.state) == (0, 1, "undecided")
        assert "one cluster" in group.caution
        assert (group.ratio.low, group.ratio.high) == (0, np.inf)


def test_a_group_of_one_row_is_undecided_beside_clusters():
    y, p, by = sample(400)
    site = np.append(by["site"][:-1], "alone")
    groups = audit_groups(y, p, {"site": site}, clusters=np.arange(400) // 4, rng=0)
    states = {group.name: (group.rows, group.low, group.high, group.state) for group in groups}
    assert states["alone"] == (1, 0, 1, "undecided")
    assert all(not group.caution for group in groups if group.name != "alone")


def test_a_group_with_few_events_is_as_wide_as_its_share_of_the_level_asks():
    """Beside many groups the same rows hide more: Wilson's rows grow with the groups."""
    rng = np.random.default_rng(0)
    p = np.full(40_000, 0.01)
    y = rng.random(40_000) < p
    for count in (2, 200):
        name = np.repeat(np.arange(count), 40_000 // count)
        found = noise_of(y, p, {"g": name.astype(str)}).scale * np.sqrt(np.pi / 2)
        wilson = np.bincount(name, y) + stats.norm.ppf(1 - 0.05 / count / 2) ** 2
        half_width = np.sqrt(wilson) / (40_000 // count)
        assert np.sort(found) == pytest.approx(np.sort(half_width), rel=0.15)


def test_observed_over_expected_stands_beside_every_group():
    y, p, by = sample()
    groups = audit_groups(y, p, by, rng=0)
    table = groups.table()
    for index, group in enumerate(groups):
        assert group.ratio.observed == group.events
        assert group.ratio.expected == pytest.approx(group.rows * group.forecast)
        assert group.ratio.confidence == pytest.approx(1 - 0.05 / len(groups))
        assert group.ratio.low < group.ratio.value < group.ratio.high
        assert table["ratio_low"][index] == group.ratio.low


def opposite_slopes(n=160_000, slope=0.7):
    """Two groups with slopes that are off; over both of them the errors cancel."""
    rng = np.random.default_rng(3)
    p, side = rng.random(n), rng.integers(0, 2, n)
    flat = expit(slope * logit(p))
    y = rng.random(n) < np.where(side, flat, np.clip(2 * p - flat, 0, 1))
    return y.astype(int), p, np.where(side, "f", "m")


def test_groups_are_judged_by_slope_as_well():
    y, p, side = opposite_slopes()
    found = audit_groups(y, p, {"side": side}, draws=199, rng=0)
    assert [group.state for group in found] == ["miscalibrated"] * 2
    assert all(group.low < found.tolerance for group in found)
    assert all(group.gap.low > found.gap_tolerance == 0.04 for group in found)
    assert "2 of 2 groups exceed the tolerance of 0.02 for the smooth error or of 0.04" in str(
        found.sentence
    )
    assert "but forecasts between" in found.sentence
    assert found.table()["gap_low"] == [group.gap.low for group in found]


def test_groups_by_another_measure_have_no_gap():
    y, p, side = opposite_slopes(2000)
    found = audit_groups(y, p, {"side": side}, measure="cutoff_calibration_error", rng=0)
    assert found.gap_tolerance is None
    assert found.table()["gap"] == [None, None]


def test_weighted_groups_have_the_ratio_of_their_rows():
    y, p, by = sample(900)
    weight = np.random.default_rng(1).gamma(1, 1, 900)
    found = audit_groups(y, p, {"site": by["site"]}, sample_weight=weight, draws=99, rng=0)
    for group in found:
        rows = by["site"] == group.name
        evidence = Evidence.read(y[rows], p[rows], weight[rows])
        ratio = find_ratio(evidence, confidence_of_each(0.95, 3))
        assert (group.ratio.low, group.ratio.high) == pytest.approx((ratio.low, ratio.high))


def test_a_group_has_the_same_numbers_wherever_it_is_judged():
    y, p, by = sample()
    site = {"site": by["site"]}
    alone = audit_groups(y, p, site, draws=99, rng=7)
    assert cal.audit(y, p, by=site, draws=99, rng=7).groups == alone
    more = cal.audit(y, p, by=site, draws=99, rng=7, find_segments=True)
    assert more.groups == alone


def test_small_groups_that_have_one_outcome_by_chance_raise_no_warning():
    y, p = [0] * 9 + [1], [0.1] * 10
    audit_groups(y, p, by={"g": ["a"] * 5 + ["b"] * 4 + ["c"]}, rng=0)
    with pytest.warns(CalibrantWarning, match="tell the outcome"):
        audit_groups(y * 10, p * 10, by={"g": np.where(np.array(y * 10) == 1, "late", "not")})
