"""Observed over expected events: shown for each group, and judged by a tolerance."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant._base.options import share_from
from calibrant._base.words import THIN
from calibrant.errors import InvalidOptionError
from calibrant.gate import read_limits, run_gate
from calibrant.groups import audit_groups
from calibrant.inference import Ratio, RatioVerdict, Settings
from calibrant.inputs import Roles, read
from calibrant.integrations import assert_calibrated
from calibrant.report.tables import ratio_table
from commands import run


def ads(rows=40_000, factor=1.0, seed=0):
    """Rare events; those of one site come more often than forecast."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.002, 0.005, 0.01], rows)
    site = rng.choice(["a", "b"], rows)
    y = rng.random(rows) < p * np.where(site == "b", factor, 1.0)
    return pd.DataFrame({"prediction": p, "outcome": y.astype(int), "site": site})


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (0.95, 1.05, "calibrated"),
        (0.85, 1.05, "undecided"),
        (0.95, 1.15, "undecided"),
        (0.5, 2.0, "undecided"),
        (1.11, 1.3, "miscalibrated"),
        (0.5, 0.9, "miscalibrated"),
        (0.0, np.inf, "undecided"),
    ],
)
def test_an_interval_is_held_against_both_limits(low, high, state):
    verdict = RatioVerdict(Ratio(1.0, low, high, 0.95, 10, 10), 0.1)
    assert verdict.state == state
    assert {"calibrated": "within", "miscalibrated": "is beyond", "undecided": "It is undecided"}[
        state
    ] in verdict.sentence


def test_digits_follow_the_width_of_the_interval():
    assert Ratio(1.0031, 1.0011, 1.0052, 0.95, 1, 1).text == "1.0031 (between 1.0011 and 1.0052)"
    assert Ratio(0.541, 0.31, 0.78, 0.95, 1, 1).text == "0.54 (between 0.31 and 0.78)"
    assert Ratio(12.3, 2.1, 58.0, 0.95, 1, 1).text == "12 (between 2 and 58)"
    assert Ratio(np.nan, 0.0, np.inf, 0.95, 0, 0).text == "not defined (between 0.00 and infinite)"


def test_every_page_shows_observed_over_expected_by_group():
    audit = cal.audit(ads(factor=3.0), by=["site"], oe_tolerance=0.1, draws=99)
    worst = {group.name: group for group in audit.groups}["b"].ratio
    value, low, high = worst.texts
    assert f"{value}  {low} and {high}  miscalibrated" in audit.to_text()
    assert max(len(line) for line in audit.to_text().splitlines() if line.startswith("site")) <= 80
    assert f"| {value} | {low} and {high} |" in audit.to_markdown()
    assert f'<td class="n">{low} and {high}</td>' in audit.to_html()
    found = json.loads(audit.to_json())
    schema = json.loads(files("calibrant.report").joinpath("schema.json").read_text("utf-8"))
    jsonschema.validate(found, schema)
    assert found["ratio"]["groups"]["site b"] == "miscalibrated"
    assert {"CAL023", "CAL048"} <= {finding.code for finding in audit.findings}
    for page in (audit.to_text(), audit.to_markdown(), audit.to_html().replace(THIN, " ")):
        assert "is beyond 10 % of 1: site b" in page


def test_rare_rates_keep_two_digits():
    frame = ads().assign(prediction=lambda f: f["prediction"] / 50)
    assert "0.00011" in cal.audit(frame, by=["site"], tolerance=0.02, draws=19).to_text()


def test_nothing_is_judged_unless_asked():
    audit = cal.audit(ads(5000), draws=19)
    assert audit.summary.ratios is None
    assert json.loads(audit.to_json())["ratio"] is None


def test_a_tolerance_is_a_positive_number():
    with pytest.raises(InvalidOptionError, match="oe_tolerance must be positive"):
        cal.audit(ads(500), oe_tolerance=-0.1, draws=19)


def test_the_gate_fails_undecided_and_passes(tmp_path):
    path = tmp_path / "ads.csv"
    ads(factor=3.0).to_csv(path, index=False)
    done = run("check", str(path), "--tolerance", "0.05", "--oe-tolerance", "10%", "--by", "site")
    assert done.returncode == 1
    assert "observed over expected, 2 groups, worst site b" in done.stdout
    source, limits = read(str(path), None, Roles()), read_limits([], 0.05)
    for tolerance, code in ((None, 0), (2.5, 0), (0.8, 3), (0.1, 1)):
        gate = run_gate(source, limits, Settings.read(draws=19), oe_tolerance=tolerance)
        assert gate.exit_code == code


def test_shares_are_read_in_per_cent_too():
    assert share_from("--oe-tolerance", "10%") == share_from("--oe-tolerance", " 0.1") == 0.1
    assert share_from("--oe-tolerance", "250%") == 2.5
    for text in ("much", "-1", "%", "nan", "10", "1.5"):
        with pytest.raises(InvalidOptionError, match=r"--oe-tolerance (must|beyond 1 must) be"):
            share_from("--oe-tolerance", text)


def test_a_test_of_a_model_takes_it_too():
    frame = ads(factor=3.0)
    assert_calibrated(frame, tolerance=0.05)
    with pytest.raises(AssertionError, match="observed over expected"):
        assert_calibrated(frame, tolerance=0.05, oe_tolerance=0.1)


def test_an_infinite_ratio_is_null_in_json(tmp_path):
    path, found = tmp_path / "one.csv", tmp_path / "gate.json"
    pd.DataFrame({"prediction": [0.0] * 50, "outcome": [1] + [0] * 49}).to_csv(path, index=False)
    run("check", str(path), "--oe-tolerance", "10%", "--json", str(found))
    assert json.loads(found.read_text("utf-8"))["checks"][-1]["value"] is None


def test_weights_are_not_told_as_events():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.2, 2000)
    y = (rng.random(2000) < p).astype(int)
    dollars = rng.integers(1000, 30_000, 2000)
    weighted = cal.classical_numbers(y, p, sample_weight=dollars).ratio
    assert weighted.weighted
    assert weighted.sentence.startswith("Weighted, observed over expected events ")
    assert "observed," not in weighted.sentence
    assert weighted.expected == pytest.approx(2000 * np.average(p, weights=dollars))
    equal = cal.classical_numbers(y, p, sample_weight=np.full(2000, 500)).ratio
    assert not equal.weighted
    assert equal.sentence == cal.classical_numbers(y, p).ratio.sentence
    groups = audit_groups(y, p, {"half": p > 0.1}, sample_weight=dollars, rng=0)
    assert ratio_table(groups, None).heads[1] == "weighted observed"
    plain = audit_groups(y, p, {"half": p > 0.1}, rng=0)
    assert ratio_table(plain, None).heads[1] == "observed"
