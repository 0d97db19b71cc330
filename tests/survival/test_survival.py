"""Risks by a horizon: weights of censored outcomes, observed risks, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import CalibrantError, InvalidForecastsError, InvalidOptionError
from calibrant.inputs import Roles
from calibrant.survival import SurvivalForecasts, observed_risk
from calibrant.survival.forecasts import RiskTable

# Ties of events and of censorings, two causes.
DURATION = np.array([1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 12, 12, 13, 14, 15], float)
EVENT = np.array([1, 0, 1, 1, 0, 2, 1, 0, 0, 1, 1, 2, 0, 1, 0, 1, 0, 0, 2, 0])
RISK = np.linspace(0.1, 0.9, 20)


def drawn(rng, size=400, causes=1, digits=1):
    risk = rng.uniform(0.05, 0.9, size)
    event_time = rng.exponential(1, size) / -np.log1p(-risk)
    cause = rng.integers(1, causes + 1, size)
    lost = rng.exponential(2.0, size)
    duration = np.round(np.minimum(event_time, lost) + 0.05, digits)
    return duration, np.where(event_time <= lost, cause, 0), risk


def weights_by_definition(duration, event, horizon):
    """Row by row, from the product over times of censoring, events of the same time first."""

    def uncensored_before(time):
        product = 1.0
        for t in sorted(set(duration[(event == 0) & (duration < time)])):
            lost = sum((duration == t) & (event == 0))
            at_risk = sum(duration >= t) - sum((duration == t) & (event > 0))
            product *= 1 - lost / at_risk
        return product

    found = []
    for time, code in zip(duration, event, strict=True):
        if code > 0 and time <= horizon:
            found.append(1 / uncensored_before(time))
        elif time >= horizon:
            found.append(1 / uncensored_before(horizon))
        else:
            found.append(0.0)
    return np.array(found)


@pytest.mark.parametrize("causes", [1, 2])
@pytest.mark.parametrize("horizon", [0.5, 1.0, 1.13])
def test_weights_follow_the_definition(causes, horizon):
    duration, event, risk = drawn(np.random.default_rng(causes), 120, causes)
    found = SurvivalForecasts.read(duration, event, risk, horizon)
    expected = weights_by_definition(duration, event, horizon)
    assert found.weight == pytest.approx(expected, rel=1e-12)
    assert found.outcome.tolist() == ((event == 1) & (duration <= horizon)).tolist()


def test_weights_stay_right_where_few_are_left_by_weight():
    """Whoever stays may weigh so little beside who leaves that one minus the rest is rounding."""
    forecasts = SurvivalForecasts.read(
        [1, 1, 2, 3], [1, 0, 1, 1], [0.5] * 4, 3, sample_weight=[0.1, 0.2, 1e-20, 1e-20]
    )
    assert forecasts.weight == pytest.approx([0.1, 0, 0.1, 0.1], rel=1e-12)


def test_codes_one_and_two_are_told_apart_from_zero_and_one():
    """Some programs write 1 for censored and 2 for the event."""
    message = SurvivalForecasts.read([1, 2, 3], [1, 2, 1], [0.5] * 3, 3).notes
    assert "no row has the code 0, censored: 1 is the event and 2 a competing one" in message
    for codes in ([1, 1, 1], [0, 2, 1]):
        message = SurvivalForecasts.read([1, 2, 3], codes, [0.5] * 3, 3).notes
        assert not any("code 0" in note for note in message)


def test_the_censoring_curve_is_that_of_scikit_survival():
    # scikit-survival 0.28.0: kaplan_meier_estimator(event > 0, duration, reverse=True)
    published = [1, 0.94444444, 0.88541667, 0.88541667, 0.81730769, 0.74919872, 0.74919872]
    published += [0.74919872, 0.65554888, 0.65554888, 0.54629073, 0.40971805, 0.27314537]
    published += [0.27314537, 0]
    table = RiskTable.of(DURATION, EVENT, np.ones(20))
    assert table.uncensored_before()[0] == 1
    assert table.uncensored_before()[1:] == pytest.approx(published, abs=1e-8)


def test_one_minus_kaplan_meier_and_greenwood_are_those_of_lifelines():
    # lifelines 0.30.3: KaplanMeierFitter().fit(duration, event == 1), survival and the sum of
    # d / (n (n - d)) of Greenwood
    published = {
        3: (0.8470588235294115, 0.009232026143790848),
        5: (0.7865546218487395, 0.014726531638296344),
        8: (0.6435446906035142, 0.03492855184031655),
        12: (0.44128778784240974, 0.10873807564984037),
    }
    table = RiskTable.of(DURATION, np.where(EVENT == 1, 1, 0), np.ones(20))
    for horizon, (survival, greenwood) in published.items():
        chance, variance, _ = table.incidence(horizon)
        assert chance == pytest.approx(1 - survival, rel=1e-12)
        assert variance == pytest.approx(survival**2 * greenwood, rel=1e-12)


def test_competing_risks_are_those_of_scikit_survival_and_lifelines():
    # scikit-survival 0.28.0: cumulative_incidence_competing_risks(event, duration), cause 1
    published = {5: 0.20941176470588235, 8: 0.3428877005347594, 12: 0.5106860198624906}
    table = RiskTable.of(DURATION, EVENT, np.ones(20))
    for horizon, chance in published.items():
        assert table.incidence(horizon)[0] == pytest.approx(chance, rel=1e-12)
    # lifelines 0.30.3: AalenJohansenFitter(), times without ties because it moves tied ones
    apart = [1.1, 2.3, 2.9, 3.2, 3.7, 4.1, 5.0, 5.6, 6.2, 7.3]
    apart += [8.1, 8.8, 9.4, 10.2, 11.5, 12.1, 12.9, 13.3, 14.6, 15.2]
    table = RiskTable.of(np.array(apart), EVENT, np.ones(20))
    found = table.incidence(8.8)
    assert found[0] == pytest.approx(0.34491582491582495, rel=1e-12)
    # its variance is Aalen's, ours that of the delta method: equal for many rows
    assert found[1] == pytest.approx(0.013493568788818935, rel=0.05)


@pytest.mark.parametrize("causes", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_weighted_rate_is_kaplan_meier_where_censoring_has_one_curve(causes, weighted):
    # Satten and Datta (2001): the Kaplan-Meier estimate is an inverse-probability-weighted mean.
    rng = np.random.default_rng(causes)
    duration, event, risk = drawn(rng, 300, causes)
    weights = rng.integers(1, 4, 300).astype(float) if weighted else None
    base = np.ones(300) if weights is None else weights
    for horizon in (0.4, 0.8, 1.0):
        found = SurvivalForecasts.read(duration, event, risk, horizon, sample_weight=weights)
        chance, *_ = RiskTable.of(duration, event, base).incidence(horizon)
        assert found.weight @ found.outcome / base.sum() == pytest.approx(chance, rel=1e-12)
        assert found.weight.sum() == pytest.approx(base.sum(), rel=1e-12)
        assert found.joint.base_rate == pytest.approx(chance, rel=1e-12)


def test_within_a_group_of_its_own_censoring_the_rate_is_kaplan_meier():
    duration, event, risk = drawn(np.random.default_rng(8), 500, 2)
    sex = np.where(np.arange(500) % 3 == 0, "f", "m")
    found = SurvivalForecasts.read(duration, event, risk, 0.9, by={"sex": sex})
    for name in "fm":
        inside = sex == name
        table = RiskTable.of(duration[inside], event[inside], np.ones(inside.sum()))
        rate = found.weight[inside] @ found.outcome[inside] / found.weight[inside].sum()
        assert rate == pytest.approx(table.incidence(0.9)[0], rel=1e-12)
    overall = observed_risk(found).overall
    assert overall.observed == pytest.approx(found.joint.base_rate, rel=1e-12)


def test_rows_that_weigh_three_are_three_rows():
    rng = np.random.default_rng(4)
    duration, event, risk = drawn(rng, 80)
    times = rng.integers(0, 4, 80)
    weighted = SurvivalForecasts.read(duration, event, risk, 0.8, sample_weight=times)
    again = np.repeat(np.arange(80), times)
    repeated = SurvivalForecasts.read(duration[again], event[again], risk[again], 0.8)
    assert weighted.joint.base_rate == pytest.approx(repeated.joint.base_rate, rel=1e-12)
    assert cal.smooth_calibration_error(weighted.joint) == pytest.approx(
        cal.smooth_calibration_error(repeated.joint), rel=1e-9
    )


def test_without_censoring_nothing_is_weighed_and_the_audit_is_that_of_two_outcomes():
    duration, _, risk = drawn(np.random.default_rng(5), 300)
    found = SurvivalForecasts.read(duration, np.ones(300), risk, 1.0)
    assert (found.weight == 1).all()
    audit = cal.audit(found, rng=0)
    binary = cal.audit((duration <= 1).astype(int), risk, rng=0)
    assert audit.verdict.sentence == binary.verdict.sentence
    assert audit.verdict.test.pvalue == binary.verdict.test.pvalue
    assert audit.verdict.test.exact


def test_a_row_censored_at_the_horizon_is_known_to_be_without_event():
    # Everybody who is left is censored by the calendar at 365.
    duration, event = np.array([100.0, 200, 365, 365, 365]), np.array([1, 0, 0, 0, 1])
    found = SurvivalForecasts.read(duration, event, [0.4] * 5, 365)
    assert found.censored.tolist() == [False, True, False, False, False]
    assert found.weight == pytest.approx([1, 0, 4 / 3, 4 / 3, 4 / 3])


def test_an_audit_says_what_was_done_and_takes_groups():
    rng = np.random.default_rng(6)
    duration, event, risk = drawn(rng, 600)
    sex = rng.choice(["f", "m"], 600)
    found = SurvivalForecasts.read(duration, event, risk, 1.0, by={"sex": sex})
    audit = cal.audit(found, rng=0)
    message = " ".join(str(audit).split())
    assert f"{found.censored.sum()} of 600 rows" in message
    assert "Kaplan-Meier of censoring, by sex" in message
    assert f"the evidence of {found.effective_rows:.0f} rows" in message
    assert {group.name for group in audit.groups} == {"f", "m"}
    other = cal.audit(found, by={"age": np.where(np.arange(600) % 2 == 0, "old", "young")}, rng=0)
    assert {group.name for group in other.groups} == {"old", "young"}
    source = found.as_source(Roles())
    assert source.rows.outcome.size == (found.weight > 0).sum()
    assert np.unique(source.clusters).size == source.rows.outcome.size


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(7)
    duration, event, risk = drawn(rng, 300)
    order = rng.permutation(300)
    one = cal.audit(SurvivalForecasts.read(duration, event, risk, 1.0), rng=0)
    two = cal.audit(SurvivalForecasts.read(duration[order], event[order], risk[order], 1.0), rng=0)
    assert one.verdict.test.pvalue == two.verdict.test.pvalue
    assert one.verdict.interval.high == pytest.approx(two.verdict.interval.high, rel=1e-9)


def test_any_container_will_do():
    duration, event, risk = drawn(np.random.default_rng(9), 100)
    plain = SurvivalForecasts.read(duration, event, risk, 1.0)
    frame = pd.DataFrame({"d": duration, "e": event > 0, "r": risk})
    from_frame = SurvivalForecasts.read(
        frame["d"].astype("Float64"), frame["e"].astype("boolean"), frame["r"], 1
    )
    assert from_frame.weight == pytest.approx(plain.weight)
    assert SurvivalForecasts.read(
        duration.tolist(), event.tolist(), risk.tolist(), 1
    ).weight == pytest.approx(plain.weight)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duration": [-1.0, 2, 3]}, "duration must not be negative"),
        ({"duration": [np.nan, 2, 3]}, "missing"),
        ({"duration": [np.inf, 2, 3]}, "finite"),
        ({"duration": [1.0, 2]}, "one entry per row"),
        ({"event": [0, 0.5, 1]}, "whole numbers"),
        ({"event": [0, -1, 1]}, "whole numbers"),
        ({"event": ["yes", "no", "no"]}, "numbers"),
        ({"event": [0, 0, 0]}, "event must be 1, which is the one of interest"),
        ({"event": [0, 2, 0]}, "event must be 1, which is the one of interest"),
        ({"risk": [0.1, 0.2, 30]}, "probabilities in [0, 1]"),
        ({"risk": [0.1, 0.2]}, "same length"),
        ({"horizon": 0}, "horizon must be positive"),
        ({"horizon": -2.0}, "horizon must be positive"),
        ({"horizon": "2"}, "horizon must be"),
        ({"horizon": 4}, "the largest usable horizon is 3"),
        ({"by": ["a", "b"]}, "one entry per row"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight"),
    ],
)
def test_bad_input_is_refused_with_a_reason(change, message):
    good = {"duration": [1.0, 2, 3], "event": [1, 1, 0], "risk": [0.5, 0.4, 0.1], "horizon": 2}
    with pytest.raises(CalibrantError) as error:
        SurvivalForecasts.read(**(good | change))
    assert message in str(error.value)


def test_the_largest_usable_horizon_is_that_of_every_group():
    duration, event = [1.0, 4, 2, 9], [1, 0, 1, 0]
    with pytest.raises(InvalidForecastsError, match="largest usable horizon is 4"):
        SurvivalForecasts.read(duration, event, [0.5] * 4, 5, by=["a", "a", "b", "b"])
    assert len(SurvivalForecasts.read(duration, event, [0.5] * 4, 4, by=["a", "a", "b", "b"])) == 4
    # Where all of the last rows end in events nothing is unknown.
    assert SurvivalForecasts.read([1.0, 2], [1, 1], [0.5, 0.5], 99).outcome.tolist() == [1, 1]


def test_weights_beside_weights_are_refused():
    found = SurvivalForecasts.read(DURATION, EVENT, RISK, 8)
    with pytest.raises(InvalidOptionError, match=r"SurvivalForecasts\.read"):
        cal.audit(found, sample_weight=np.ones(20))


def test_few_rows_known_to_be_without_the_event_are_a_caution():
    found = SurvivalForecasts.read(DURATION, EVENT, RISK, 14)
    assert any("too often" in note for note in found.notes)


def test_observed_risks_are_those_of_each_bin_by_itself():
    duration, event, risk = drawn(np.random.default_rng(10), 1000, 2)
    forecasts = SurvivalForecasts.read(duration, event, risk, 1.0)
    found = observed_risk(forecasts, bins=5)
    assert found.method == "Aalen-Johansen"
    assert sum(part.rows for part in found.bins) == 1000
    for part in found.bins:
        inside = (risk >= part.lowest) & (risk <= part.highest)
        assert part.rows == inside.sum()
        assert part.predicted == pytest.approx(risk[inside].mean())
        alone = SurvivalForecasts.read(duration[inside], event[inside], risk[inside], 1.0)
        assert part.observed == pytest.approx(alone.joint.base_rate, rel=1e-12)
        assert 0 <= part.low < part.observed < part.high <= 1
    assert found.overall.observed == pytest.approx(forecasts.joint.base_rate, rel=1e-12)
    assert found.overall.ratio == pytest.approx(found.overall.observed / risk.mean())
    low, high = found.overall.ratio_limits
    assert low < found.overall.ratio < high


def test_without_censoring_observed_risks_have_the_limits_of_clopper_and_pearson():
    duration = np.array([1.0] * 3 + [5.0] * 17)
    event = np.ones(20)
    found = observed_risk(SurvivalForecasts.read(duration, event, [0.2] * 20, 2), bins=3)
    assert found.method == "Kaplan-Meier"
    assert len(found.bins) == 1
    assert found.overall.observed == pytest.approx(0.15)
    # binomial limits for 3 of 20
    assert (found.overall.low, found.overall.high) == pytest.approx((0.03207094, 0.37892683))


def test_a_bin_without_events_or_without_anybody_left_is_not_called_certain():
    duration, event = np.array([3.0, 4, 5, 6, 1, 1.2, 1.3, 9]), np.array([0, 0, 0, 0, 1, 1, 0, 1])
    risk = [0.1] * 4 + [0.8] * 4
    found = observed_risk(SurvivalForecasts.read(duration, event, risk, 5), bins=2)
    quiet, _ = found.bins
    assert quiet.observed == 0
    assert quiet.high == pytest.approx(1 - 0.025 ** (1 / 2))  # two rows are known at 5
    lost = SurvivalForecasts.read(
        [1.0, 2, 3, 9, 9, 9], [1, 1, 0, 0, 0, 1], [0.8] * 3 + [0.1] * 3, 5
    )
    assert observed_risk(lost, bins=2).bins[1].high == 1


def test_only_survival_forecasts_have_observed_risks():
    with pytest.raises(CalibrantError, match="SurvivalForecasts"):
        observed_risk([1, 2, 3])
