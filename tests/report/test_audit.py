"""The audit: its sentence, its numbers, its notes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.report.conclusion import conclusion


def biased(n: int, shift: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < np.clip(p + shift * (p > 0.5), 0, 1), p


def test_an_audit_names_where_forecasts_are_off():
    audit = cal.audit(*biased(4000, -0.2))
    assert audit.verdict.state == "miscalibrated"
    assert audit.verdict.sentence.startswith("Miscalibrated: the typical gap between forecast")
    assert audit.summary.where.startswith("forecasts between 0.5")
    assert "too high" in audit.summary.where
    assert audit.verdict.pvalue == 1 / 1000
    assert set(audit.measures) == {m.name for m in JOINT_MEASURES.values() if m.audited}
    assert audit.verdict.sentence in audit.to_text()
    assert audit.summary.where in audit.to_text()


def test_an_audit_of_a_perfect_forecaster_claims_nothing():
    audit = cal.audit(*biased(1000, 0.0))
    assert audit.verdict.pvalue > 0.05
    assert audit.verdict.state == "undecided"
    assert audit.verdict.sentence.startswith("No miscalibration found: ")
    assert cal.audit(*biased(4000, 0.0), tolerance=0.04).verdict.state == "calibrated"


def test_an_audit_says_the_same_again_and_another_seed_does_not():
    data = biased(500, 0.1)
    assert str(cal.audit(*data)) == str(cal.audit(*data))
    assert cal.audit(*data, rng=1).verdict.noise_floor != cal.audit(*data).verdict.noise_floor


def test_every_measure_stands_beside_what_a_perfect_forecaster_gets():
    """The exact expected error of rows that hardly repeat is nearly all noise, and shows it."""
    y, p = biased(3000, 0.0)
    audit = cal.audit(y, p.round(3))
    floors = audit.summary.measured.floors
    assert floors.keys() == audit.measures.keys()
    ratio = audit.measures["exact_calibration_error"] / floors["exact_calibration_error"]
    assert ratio == pytest.approx(1, abs=0.1)
    assert floors["smooth_calibration_error"] == audit.verdict.noise_floor


def test_an_audit_takes_a_joint():
    data = biased(300, 0.1)
    assert str(cal.audit(cal.Joint.from_samples(*data))) == str(cal.audit(*data))


def test_notes_say_what_to_know():
    y, p = biased(5000, 0.1)
    many_levels = cal.audit(y, p).to_text()
    assert "CAL036  100 % of the distinct predictions occur once" in many_levels
    assert "The simulation rounds forecasts to 4 096 values" in many_levels
    clipped = cal.audit([0, 1, 1], [-1e-10, 0.5, 1.0]).to_text()
    assert "1 prediction outside [0, 1] by a rounding error" in clipped
    weighted = cal.Joint.from_samples(y[:100], p[:100].round(1), sample_weight=p[:100] + 0.1)
    assert "approximate" in cal.audit(weighted).to_text()
    few = cal.audit(y[:100], p[:100], clusters=np.arange(100) % 7).to_text()
    assert "CAL052  Only 7 clusters" in few
    assert "CAL051  Rows in clusters: the p-value is approximate." in few


def test_rare_events_show_observed_over_expected():
    text = cal.audit([1] * 4 + [0] * 396, [0.02] * 400).to_text()
    assert "Observed over expected events 0.50 (between 0.14 and 1.27 with 95 % confidence)" in text
    assert "4 observed, 8 expected" in text


def test_forecasts_that_are_all_certain_are_called_so():
    assert "CAL032  Every forecast is 0 or 1" in cal.audit([0, 1, 1, 0], [1, 1, 1, 1]).to_text()
    assert (
        "CAL032  Every forecast is 0 or 1" not in cal.audit([0, 1, 1, 0], [1, 1, 0.5, 1]).to_text()
    )


def test_one_row_is_enough():
    text = cal.audit([1], [0.5]).to_text()
    assert text.startswith(
        "1 forecast with 1 different value: mean forecast 0.50, observed rate 1."
    )


def test_a_risk_certifies_from_which_forecast_on_to_act():
    rng = np.random.default_rng(3)
    p = rng.beta(6, 1, 2000)
    y = rng.random(2000) < p
    result = cal.audit(y, p, risk=0.1, draws=99)
    found = cal.certified_threshold(y, p, risk=0.1)
    assert found.sentence in result.to_text()
    assert found.sentence in result.to_markdown().replace("\\", "")
    assert found.sentence.split(";")[0] in " ".join(str(result).split())
    assert 'id="certified"' in result.to_html()
    stored = json.loads(result.to_json())
    assert stored["certified"]["threshold"] == found.threshold
    assert stored["settings"]["risk"] == 0.1
    assert json.loads(cal.audit(y, p, draws=99).to_json())["certified"] is None
    clustered = cal.audit(y, p, risk=0.1, clusters=np.arange(2000) // 2, draws=99)
    assert clustered.summary.certified.rows == 1000
    with pytest.raises(cal.errors.InferenceRefusedError, match="count alike"):
        cal.audit(y, p, risk=0.1, sample_weight=1 + p, draws=99)


def test_the_first_sentence_tells_of_both_sides():
    """Too extreme: whoever reads only of the high forecasts trusts the low ones."""
    rng = np.random.default_rng(3)
    odds = rng.normal(0, 2, 4000)
    p = 1 / (1 + np.exp(-odds))
    y = (rng.random(p.size) < 1 / (1 + np.exp(-odds / 3))).astype(int)
    first = conclusion(cal.audit(y, p, rng=0).summary)
    assert "too high by" in first
    assert "too low by" in first
    # Rows twice, in clusters of both, are no more evidence than once.
    few = slice(0, 300)
    twice = cal.audit(
        np.tile(y[few], 40), np.tile(p[few], 40), clusters=np.tile(np.arange(300), 40), rng=0
    )
    once = cal.audit(y[few], p[few], rng=0)
    has_second_range = [", those" in conclusion(audit.summary) for audit in (once, twice)]
    assert has_second_range[0] == has_second_range[1]


def test_the_wrong_label_is_noticed_and_no_map_hides_it():
    rng = np.random.default_rng(4)
    p = rng.random(2000)
    y = (rng.random(p.size) < p).astype(int)
    audit = cal.audit(1 - y, p, rng=0)
    codes = {finding.code for finding in audit.findings}
    assert "CAL024" in codes
    assert not {"CAL020", "CAL021", "CAL070"} & codes
    assert "check which label is outcome 1" in conclusion(audit.summary)
    sure = rng.dirichlet([0.3, 0.3, 0.3], 2000)
    label = (rng.random((2000, 1)) > sure.cumsum(axis=1)).sum(axis=1)
    swapped = cal.audit(label, sure[:, [1, 2, 0]], rng=0)
    assert "the order of the classes" in conclusion(swapped.summary)
    assert "outcome 1" not in conclusion(swapped.summary)
    for seed in range(3):  # forecasts that know nothing are not turned round
        rng = np.random.default_rng(seed)
        noise = cal.audit(rng.random(400) < 0.4, rng.random(400), rng=0)
        assert noise.summary.classical.slope.low < 0.5
        found = {finding.code for finding in noise.findings}
        assert ("CAL024" in found) == (noise.summary.classical.slope.high < 0)


def test_a_cluster_is_no_other_side():
    """Ten clusters may lie anywhere: what one of them does tells nothing of its forecasts."""
    rng = np.random.default_rng(2)
    of_cluster = rng.uniform(0.1, 0.3, 10)
    rate = rng.beta(5 * of_cluster, 5 * (1 - of_cluster))
    single = rng.uniform(0.5, 0.9, 40_000)
    p = np.concatenate([np.repeat(of_cluster, 500), single])
    y = rng.random(p.size) < np.concatenate([np.repeat(rate, 500), single - 0.12])
    clusters = np.concatenate([np.repeat(np.arange(10), 500), np.arange(10, 40_010)])
    found = cal.audit(y.astype(int), p, clusters=clusters, draws=199)
    assert found.verdict.state == "miscalibrated"
    assert found.summary.other is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_times_with_a_zone_are_read_in_utc_without_warnings(zone):
    rng = np.random.default_rng(0)
    p = rng.random(500)
    frame = pd.DataFrame({"prediction": p, "outcome": (rng.random(500) < p).astype(int)})
    moments = pd.Series(pd.date_range("2024", periods=500, freq="h", tz="UTC"))
    plain = cal.audit(frame.assign(t=moments.dt.tz_localize(None)), time="t", draws=39)
    aware = frame.assign(t=moments.dt.tz_convert(zone))
    objects = aware.assign(t=aware.t.astype(object))
    for given in (aware, objects, aware.assign(t=aware.t.astype(str)), pl.DataFrame(aware)):
        found = cal.audit(given, time="t", draws=39)
        assert found.summary.watched == plain.summary.watched
    arrays = cal.audit(frame.outcome, frame.prediction, time=aware.t, draws=39)
    assert arrays.summary.watched == plain.summary.watched
    missing = aware.assign(t=aware.t.where(np.arange(500) > 3))
    with pytest.raises(cal.errors.InvalidForecastsError, match="time must not hold missing values"):
        cal.audit(missing, time="t")
