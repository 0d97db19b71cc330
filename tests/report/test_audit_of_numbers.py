"""An audit of continuous outcomes: verdict, groups, words, page and JSON."""

import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import calibrant as cal
from calibrant.data.rows import Rows
from calibrant.errors import CalibrantError, InvalidForecastsError, InvalidOptionError
from calibrant.inference import Evidence
from calibrant.inference.ratio import find_mean_ratio

RNG = np.random.default_rng(2)


def rows(size=1500, slope=1.0, shift=0.0, rng=RNG):
    z = rng.gamma(4, 5, size)
    return slope * z + shift + rng.normal(0, 4, size), z


def audited(y, z, **options):
    return cal.audit(y, z, **{"kind": "mean", "draws": 199, **options})


def test_right_forecasts_are_calibrated_and_wrong_ones_are_not():
    assert audited(*rows(6000)).verdict.state == "calibrated"
    assert audited(*rows(1500, shift=3)).verdict.state == "miscalibrated"
    # A slope whose errors cancel on average is seen by the typical gap.
    y, z = rows(4000)
    tilted = audited(0.7 * (y - y.mean()) + y.mean(), z)
    assert tilted.verdict.state == "miscalibrated"
    assert audited(*rows(20)).verdict.state == "undecided"


def test_a_verdict_is_in_the_units_of_the_outcome():
    y, z = rows(1500, shift=3)
    minutes, seconds = audited(y, z).verdict, audited(60 * y, 60 * z).verdict
    for name in ("value", "tolerance", "noise_floor"):
        assert getattr(seconds, name) == pytest.approx(60 * getattr(minutes, name), rel=1e-6)
    assert seconds.interval.low == pytest.approx(60 * minutes.interval.low, rel=1e-6)
    assert seconds.gap.interval.high == pytest.approx(60 * minutes.gap.interval.high, rel=1e-6)
    assert seconds.pvalue == minutes.pvalue


def test_for_outcomes_0_and_1_the_error_is_that_of_probabilities():
    p = np.round(RNG.random(2000), 3)
    y = (RNG.random(2000) < p**1.4).astype(float)
    real, binary = audited(y, p, range=(0, 1)).verdict, cal.verdict(y, p, rng=0)
    assert real.value == binary.value
    assert real.tolerance == binary.tolerance
    assert real.state == binary.state
    assert real.interval.low == pytest.approx(binary.interval.low, abs=0.003)


def test_quantiles_and_intervals_are_judged_by_shares_of_outcomes():
    y, z = rows(4000)
    good = audited(y, z + 4 * 1.2816, kind="quantile=0.9", tolerance=0.02)
    assert good.verdict.state == "calibrated"
    low = audited(y, z, kind="quantile=0.9")
    assert low.verdict.state == "miscalibrated"
    assert "promised" in str(low)
    ends = np.column_stack([z - 6.58, z + 6.58])
    audit = audited(y, ends, kind="interval", level=0.9, tolerance=0.02)
    assert audit.verdict.state == "calibrated"
    narrow = audited(y, np.column_stack([z - 3, z + 3]), kind="interval", level=0.9)
    assert "too narrow" in str(narrow)


def test_intervals_of_one_width_are_one_place_whatever_rounding_says():
    y, z = rows(500)
    found = audited(y, np.column_stack([z - 0.1, z + 0.2]), kind="interval", level=0.5)
    assert len(found.summary.ranges) == 1


def test_groups_are_judged_at_once_and_named_in_words():
    y, z = rows(3000)
    site = RNG.choice(["A", "B"], 3000)
    y = y + 4 * (site == "B")
    found = audited(y, z, by={"site": site})
    assert [group.name for group in found.groups.failing] == ["B"]
    assert "site B" in str(found)
    assert found.groups.table()["observed"][0] == pytest.approx(y[site == "B"].mean())


def test_clusters_widen_the_interval_and_one_cluster_says_nothing():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(60), 25)
    z = rng.gamma(4, 5, 1500)
    y = z + np.repeat(rng.normal(0, 4, 60), 25) + rng.normal(0, 1, 1500)
    alone, together = audited(y, z), audited(y, z, clusters=cluster)
    assert together.verdict.interval.half_width > 2 * alone.verdict.interval.half_width
    with pytest.raises(CalibrantError, match="at least two"):
        audited(y, z, clusters=np.zeros(1500))


def test_rows_in_any_order_give_the_same_audit():
    y, z = rows(800, shift=1)
    order = RNG.permutation(800)
    first, second = (audited(a, b).to_json() for a, b in ((y, z), (y[order], z[order])))
    left, right = json.loads(first), json.loads(second)
    assert left["verdict"]["value"] == pytest.approx(right["verdict"]["value"])
    assert left["verdict"]["pvalue"] == right["verdict"]["pvalue"]
    assert left["data"]["fingerprint"] == right["data"]["fingerprint"]


def test_frames_and_arrays_say_the_same():
    y, z = rows(600)
    frame = pd.DataFrame({"minutes": y, "forecast": z})
    of_frame = cal.audit(frame, prediction="forecast", outcome="minutes", kind="mean", draws=99)
    of_arrays = cal.audit(y, z, kind="mean", draws=99)
    assert of_frame.verdict.value == of_arrays.verdict.value
    with_gap = frame.assign(minutes=np.where(np.arange(600) < 5, np.nan, y))
    with pytest.raises(CalibrantError, match="'minutes'"):
        cal.audit(with_gap, prediction="forecast", outcome="minutes", kind="mean")
    dropped = cal.audit(
        with_gap, prediction="forecast", outcome="minutes", kind="mean", na="drop", draws=99
    )
    assert "5 rows with a missing value left out" in str(dropped)


def test_tolerances_are_in_units_or_in_per_cent_of_the_span():
    y, z = rows(600)
    assert audited(y, z, tolerance=2.5).verdict.tolerance == 2.5
    span = np.diff(np.quantile(y, [0.05, 0.95], method="inverted_cdf"))[0]
    assert audited(y, z, tolerance="5%").verdict.tolerance == pytest.approx(0.05 * span)
    assert audited(y, z, range=(-50, 150), tolerance="5%").verdict.tolerance == pytest.approx(10)


def test_the_page_is_one_file_without_network_and_says_the_conclusion(tmp_path):
    y, z = rows(900, shift=2)
    found = audited(y, z, by={"<b>": RNG.choice(["</script>", "&"], 900)}, title="<i>delays")
    page = found.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert "https://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "<i>delays" not in page
    assert "</script>," not in page.replace("&lt;", "<").split("<script>")[0]
    assert "Miscalibrated" in page
    assert len(page) < 200_000


@pytest.mark.parametrize("kind", ["mean", "quantile=0.9", "expectile=0.7", "interval"])
def test_the_schema_describes_the_json(kind):
    import jsonschema

    text = files("calibrant.report").joinpath("schema.json").read_text("utf-8")
    y, z = rows(300)
    predicted = np.column_stack([z - 5, z + 5]) if kind == "interval" else z
    level = 0.8 if kind == "interval" else None
    for by in (None, {"g": RNG.integers(0, 3, 300)}):
        found = audited(y, predicted, kind=kind, level=level, by=by, draws=99).to_json()
        jsonschema.validate(json.loads(found), json.loads(text))


def test_nothing_is_called_off_that_chance_explains():
    rng = np.random.default_rng(12)
    y, z = rows(80, rng=rng)
    found = audited(y, z)
    assert found.verdict.pvalue > 0.05
    assert found.summary.worst is None
    assert json.loads(found.to_json())["where"] == "no forecast is off"
    for text in (str(found), found.to_text(), found.to_html(), found.to_json()):
        assert "are too low" not in text
        assert "are too high" not in text

    def diagram(page):
        return page.split('id="picture-reliability"')[1].split("</svg>")[0]

    assert "calibrant-warning" not in diagram(found.to_html())
    assert "calibrant-warning" in diagram(audited(y + 9, z).to_html())


def test_the_page_says_how_files_were_read():
    frame = pd.DataFrame({"minutes": [1.0, 2.0, np.nan, 4.0] * 9, "forecast": [1.5] * 36})
    found = cal.audit(
        frame, prediction="forecast", outcome="minutes", kind="mean", na="drop", draws=99
    )
    for text in (found.to_html(), found.to_text(), found.to_markdown(), found.to_json()):
        assert "9 rows with a missing value left out" in text


def test_a_screen_is_a_screen():
    y, z = rows(900, shift=2)
    for found in (audited(y, z), audited(y, z, by={"g": RNG.integers(0, 12, 900)})):
        lines = str(found).splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 100


def test_segments_that_nobody_named_are_found_and_judged_on_other_rows():
    rng = np.random.default_rng(8)
    y, z = rows(4000, rng=rng)
    by = {"site": rng.choice(["A", "B", "C"], 4000), "night": rng.random(4000) < 0.4}
    bad = (by["site"] == "B") & by["night"]
    found = audited(y + 5 * bad, z, by=by, find_segments=True).segments
    first = dict(found[0].conditions)
    assert found[0].confirmed
    assert first["site"] == "B"
    assert first["night"] == "yes"
    assert "observed mean" in found[0].sentence
    with pytest.raises(InvalidOptionError, match="combinations of columns"):
        audited(y, z, find_segments=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pos_label": 1}, "pos_label is for predicted probabilities"),
        ({"risk": 0.1}, "risk is for"),
        ({"kind": None, "range": (0, 1)}, "range is for continuous outcomes"),
        ({"kind": None, "level": 0.9}, "level is for continuous outcomes"),
        ({"tolerance": -1}, "tolerance"),
    ],
)
def test_options_of_the_other_kind_are_refused(options, message):
    y, z = rows(100)
    with pytest.raises(InvalidOptionError, match=message):
        audited(y, z, **options)


def test_constant_outcomes_need_a_range():
    with pytest.raises(CalibrantError, match="must differ"):
        audited([2.0] * 30, np.linspace(1, 3, 30))
    found = audited([2.0] * 30, np.linspace(1, 3, 30), range=(0, 4))
    assert found.verdict.state == "undecided"


def test_constant_forecasts_are_one_place():
    y, _ = rows(500)
    found = audited(y, np.full(500, 20.0))
    assert found.measures["smooth_calibration_error"] == pytest.approx(abs(y.mean() - 20))


def test_few_rows_without_bounds_do_not_prove_forecasts_right():
    # The largest residual seen bounds no residual to come, unless the range of outcomes is known.
    one = audited([2.5], [2.0], tolerance=1).verdict
    assert (one.state, one.interval.high, one.gap.interval.high) == ("undecided", np.inf, np.inf)
    assert "these rows set no limit to the typical gap" in str(one)
    two = audited([2.5, 100.0], [2.0, 100.5]).verdict
    assert two.state == "undecided"
    assert min(two.interval.high, two.gap.interval.high) > 2
    assert audited([2.5], [2.0], range=(0, 4), tolerance=0.2).verdict.interval.high == 4


def test_an_interval_is_not_cut_at_the_largest_residual():
    # All residuals are close to one: the truth may lie above the largest of them.
    z = np.linspace(10, 30, 200)
    y = z + 1 + np.random.default_rng(0).normal(0, 0.01, 200)
    verdict = audited(y, z).verdict
    assert verdict.value < verdict.interval.high <= verdict.value + verdict.interval.half_width
    assert verdict.gap.interval.high > verdict.gap.interval.value


def test_groups_of_one_row_or_one_cluster_stay_undecided():
    y, z = np.arange(40.0) + 0.001, np.arange(40.0)
    by = {"one": np.repeat(["alone", "all"], [1, 39])}
    alone = {group.name: group for group in audited(y, z, by=by).groups}["alone"]
    assert (alone.state, alone.high) == ("undecided", np.inf)
    audit = audited(y, z, by=by, clusters=np.repeat([0, 1, 2, 3], [1, 13, 13, 13]))
    assert {group.name: group.state for group in audit.groups}["alone"] == "undecided"
    json.loads(audit.to_json())
    assert "infinity" in str(audit.to_html()) or "infinite" in str(audit.to_html())


def test_a_group_that_is_one_cluster_is_told_so_in_any_unit():
    y, z = rows(300)
    by, cluster = np.repeat(["alone", "others"], [100, 200]), np.repeat(np.arange(21), 10)
    cluster = np.append(np.zeros(100), cluster[10:])
    for kind in ("mean", "quantile=0.9"):
        groups = audited(y, z, kind=kind, range=(-50, 200), by={"g": by}, clusters=cluster).groups
        cautions = {group.name: group.caution for group in groups}
        assert cautions["alone"] == "all rows are one cluster, which says nothing about chance"
        assert not cautions["others"]


def test_the_gap_may_be_twice_as_large_as_the_error():
    y, z = rows(300)
    for kind in ("mean", "quantile=0.9"):
        assert audited(y, z, kind=kind, tolerance=0.7).verdict.gap.tolerance == pytest.approx(1.4)
    p = RNG.random(300)
    assert cal.verdict(RNG.random(300) < p, p, tolerance=0.7).gap.tolerance == 1


def test_a_tolerance_is_enough_to_judge_constant_outcomes():
    for kind in ("mean", "expectile=0.8"):
        found = audited([2.0] * 30, np.linspace(1, 3, 30), kind=kind, tolerance=5)
        assert (found.verdict.tolerance, found.verdict.gap.tolerance) == (5, 10)


def test_outcomes_equal_to_their_forecasts_are_judged_in_every_unit():
    z = RNG.normal(20, 5, 300)
    minutes, seconds = audited(z, z).verdict, audited(60 * z, 60 * z).verdict
    assert seconds.interval.high == pytest.approx(60 * minutes.interval.high, rel=1e-6)
    assert seconds.state == minutes.state


def test_a_row_without_bounds_has_a_page_and_words():
    audit = audited([2.5], [2.0], tolerance=1)
    page = audit.to_html()
    assert 'data-high="inf"' not in page
    assert "nan" not in page.replace("nance", "")
    assert "-infinite to infinite" in str(audit)
    json.loads(audit.to_json())


@pytest.mark.parametrize("kind", ["quantile=0.9", "interval"])
def test_shares_that_are_all_or_nothing_leave_room_for_chance(kind):
    y, z = np.arange(20.0), np.arange(20.0) + 1
    ends = np.column_stack([z - 5, z]) if kind == "interval" else z
    level = 0.9 if kind == "interval" else None
    mean, low, high = audited(y, ends, kind=kind, level=level).summary.loss.bias
    # Clopper and Pearson: of 20 rows, all below, at least 0.025 ** (1 / 20) in truth.
    assert [mean, low, high] == pytest.approx([-0.1, -0.1, 0.9 - 0.025 ** (1 / 20)])


def test_a_row_with_nearly_all_the_weight_is_nearly_one_row():
    y, z = rows(200)
    weight = np.append(1e9, np.ones(199))
    assert audited(y, z, sample_weight=weight).summary.loss.bias[1:] == (-np.inf, np.inf)


@pytest.mark.parametrize("kind", ["mean", "quantile=0.9"])
def test_forecasts_that_spread_too_much_are_off_on_both_sides(kind):
    rng = np.random.default_rng(8)
    z = rng.normal(10, 3, 3000)
    spread = 10 + 1.6 * (z - 10) + (0 if kind == "mean" else 2.6)
    found = audited(z + rng.normal(0, 2, z.size), spread, kind=kind)
    worst, other = found.summary.worst, found.summary.other
    assert {worst.direction, other.direction} == {"too low", "too high"}
    assert f", those {other.among} {other.direction} by" in " ".join(str(found).split())


@pytest.mark.parametrize("kind", ["mean", "quantile=0.9"])
def test_forecasts_that_are_all_too_low_have_no_other_side(kind):
    """Outcomes of which most are zero, so that a few rows without any are nothing."""
    rng, found = np.random.default_rng(9), []
    for _ in range(8):
        z = rng.gamma(2, 1, 1000)
        y = np.where(rng.random(z.size) < 0.2, 5 * z, 0.0)
        if kind != "mean":
            y = z * rng.exponential(size=z.size)
        found.append(audited(y + 0.5, z, kind=kind, draws=99).summary.other)
    assert found == [None] * 8


@pytest.mark.parametrize("shift", [-0.3, 0.6])
def test_the_spread_of_forecasts_is_no_error_of_expectiles(shift):
    """The 0.8 expectile of a standard normal outcome is 0.5498 above its mean."""
    rng = np.random.default_rng(0)
    z = rng.uniform(0, 10, 8000)
    y = z - 0.5498 + shift + rng.normal(0, 1, z.size)
    worst = audited(y, z, kind="expectile=0.8").summary.worst
    assert worst.direction == ("too low" if shift > 0 else "too high")
    assert worst.outcome - worst.prediction == pytest.approx(shift, abs=0.06)


def claims(n=40_000, seed=0):
    rng = np.random.default_rng(seed)
    expected = rng.gamma(2, 0.035, n)
    return rng.poisson(expected).astype(float), expected


def test_too_many_claims_are_not_calibrated():
    y, expected = claims()
    assert cal.audit(y, expected, kind="mean", draws=99, rng=0).verdict.state == "calibrated"
    audit = cal.audit(y, 0.8 * expected, kind="mean", draws=99, rng=0)
    verdict = audit.verdict
    assert verdict.error_state == verdict.gap.state == "calibrated"
    assert verdict.state == "miscalibrated"
    assert verdict.ratio.value == pytest.approx(y.sum() / (0.8 * expected.sum()))
    assert verdict.ratio.low > 1.1
    assert str(audit).startswith("Miscalibrated: forecasts are too low: 2")
    assert "% more in total than forecast (observed over expected 1.2" in " ".join(
        str(audit).split()
    )
    assert "observed/expected (A/E)" in str(audit)
    assert "beyond 10 % of 1" in verdict.sentence
    loose = cal.audit(y, 0.8 * expected, kind="mean", oe_tolerance="50%", draws=99, rng=0)
    assert loose.verdict.state == "calibrated"


def test_a_ratio_that_may_be_allowed_or_not_leaves_it_undecided():
    y, expected = claims()
    audit = cal.audit(y, expected / 1.1, kind="mean", draws=99, rng=0)
    assert audit.verdict.state == audit.verdict.ratio_state == "undecided"
    assert audit.verdict.error_state == "calibrated"
    assert "More new rows would settle it" in str(audit)


def test_few_claims_have_an_approximate_ratio():
    y, expected = claims(300)
    audit = cal.audit(y, expected, kind="mean", draws=99, rng=0)
    assert any("approximate" in caution for caution in audit.verdict.cautions)


def test_ratio_intervals_of_few_uneven_claims_hold_what_is_true():
    """Claims of one row in twenty, with a long tail; right forecasts have a ratio of 1."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(300):
        expected = rng.lognormal(0, 1, 200)
        claims = expected * 20 * np.where(rng.random(200) < 0.05, rng.lognormal(-0.7, 1.2, 200), 0)
        evidence = Evidence.of_rows(Rows.of_kind(claims, expected))
        ratio = find_mean_ratio(evidence, 0.95)
        missed += not ratio.low <= 1 <= ratio.high
    assert missed <= 30


def test_uneven_outcomes_have_approximate_intervals():
    rng = np.random.default_rng(1)
    expected = rng.gamma(4, 5, 200)
    audit = cal.audit(expected * rng.lognormal(-2, 2, 200), expected, kind="mean", draws=99)
    assert any("so uneven" in caution for caution in audit.verdict.cautions)
    even = cal.audit(expected * rng.gamma(4, 0.25, 200), expected, kind="mean", draws=99)
    assert not any("uneven" in caution for caution in even.verdict.cautions)


def test_negative_outcomes_have_no_ratio():
    rng = np.random.default_rng(0)
    z = rng.normal(0, 3, 500)
    audit = cal.audit(z + rng.normal(size=500), z, kind="mean", draws=99, rng=0)
    assert audit.verdict.ratio is None
    with pytest.raises(InvalidOptionError, match="not negative"):
        cal.audit(z + 1, z, kind="mean", draws=99, rng=0, oe_tolerance=0.1)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_quantiles_of_counts_are_rejected(level):
    rng = np.random.default_rng(0)
    mean = rng.gamma(4, 1.5, 3000)
    y, z = rng.poisson(mean).astype(float), stats.poisson.ppf(level, mean)
    with pytest.raises(InvalidForecastsError, match="where y_true equals the forecast"):
        cal.audit(y, z, kind=f"quantile={level}", draws=99, rng=0)
    with pytest.raises(InvalidForecastsError, match="rarely equal"):
        cal.CalibrationMonitor(kind=f"quantile={level}").update_many(y, z)


def test_intervals_of_counts_are_rejected():
    rng = np.random.default_rng(0)
    mean = rng.gamma(4, 1.5, 3000)
    ends = np.column_stack([stats.poisson.ppf(q, mean) for q in (0.05, 0.95)])
    with pytest.raises(InvalidForecastsError, match="interval ends"):
        cal.audit(rng.poisson(mean) * 1.0, ends, kind="interval", level=0.9, draws=99, rng=0)


def test_quantiles_of_rounded_outcomes_are_judged():
    rng = np.random.default_rng(0)
    z = rng.normal(15, 4, 3000).round(2)
    y = (z + rng.normal(0, 2, 3000)).round(2)
    assert (y == z).any()
    assert cal.audit(y, z, kind="median", draws=99, rng=0).verdict.state != "miscalibrated"


def test_groups_that_fail_open_the_audit_whatever_the_ratio_leaves_open():
    rng = np.random.default_rng(0)
    z = rng.uniform(1, 3, 4000)
    side = rng.integers(0, 2, 4000)
    y = z * rng.gamma(1, 1, 4000) * np.where(side, 1.6, 0.6)
    found = cal.audit(y, z, kind="mean", by={"side": side.astype(str)}, draws=99, rng=0)
    assert found.verdict.state != "miscalibrated"
    assert found.summary.state == "miscalibrated"
    assert str(found).startswith("Miscalibrated: ")
    assert all(group.gap.low <= group.gap.value <= group.gap.high for group in found.groups)
