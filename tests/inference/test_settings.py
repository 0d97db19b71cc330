"""A tolerance in per cent is so much of the share of the rarer outcome, wherever it is taken."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant._base.options import ShareOfRarer
from calibrant.errors import InvalidOptionError
from calibrant.gate import read_limits, run_gate
from calibrant.groups import audit_groups
from calibrant.inference import Settings
from calibrant.inputs import Roles, read
from calibrant.integrations import assert_calibrated
from commands import run

rng = np.random.default_rng(0)
P = rng.beta(1, 12, 1500)
Y = (rng.random(1500) < P).astype(int)
RATE = Y.mean()


def test_a_relative_tolerance_is_a_share_of_the_rarer_outcome():
    relative = cal.verdict(Y, P, tolerance="25%", rng=0)
    assert relative.tolerance == pytest.approx(0.25 * RATE)
    assert relative.gap.tolerance == pytest.approx(0.5 * RATE)
    absolute = cal.verdict(Y, P, tolerance=relative.tolerance, rng=0)
    assert str(relative) == str(absolute)
    # The rarer outcome is 0 where most are 1.
    assert cal.verdict(1 - Y, 1 - P, tolerance="25%", rng=0).tolerance == pytest.approx(0.25 * RATE)


def test_a_tenth_is_the_default_of_rare_events():
    relative, default = cal.verdict(Y, P, tolerance="10%", rng=0), cal.verdict(Y, P, rng=0)
    assert (str(relative), relative.tolerance) == (str(default), default.tolerance)


def test_where_one_outcome_was_never_seen_the_other_has_one_row_of_two_more():
    assert cal.verdict([0] * 98, [0.1] * 98, tolerance="50%", rng=0).tolerance == 0.5 / 100


def test_the_gap_has_a_relative_tolerance_of_its_own():
    found = cal.verdict(Y, P, gap_tolerance="30%", rng=0)
    assert found.gap.tolerance == pytest.approx(0.3 * RATE)
    with pytest.raises(InvalidOptionError, match="gap_tolerance"):
        cal.verdict(Y, P, gap_tolerance="2")


def test_groups_are_relative_to_all_rows():
    by = {"side": np.where(np.arange(Y.size) % 2, "left", "right")}
    groups = audit_groups(Y, P, by, tolerance="40%", rng=0)
    assert groups.tolerance == pytest.approx(0.4 * RATE)


def test_classes_are_relative_to_their_even_share():
    table = rng.dirichlet([1, 1, 1, 1], 300)
    labels = np.array([rng.choice(4, p=row) for row in table])
    found = cal.audit(labels, table, tolerance="20%", draws=99)
    assert found.by_class.tolerance == pytest.approx(0.2 / 4)
    accuracy = found.summary.data.observed
    assert found.verdict.tolerance == pytest.approx(0.2 * min(accuracy, 1 - accuracy))


def test_the_gate_takes_it_for_all_measures_and_for_one():
    source = read(Y, P, Roles())
    limits = read_limits(["smooth_calibration_error=40%", "cutoff_calibration_error"], "60%")
    assert limits == {
        "smooth_calibration_error": ShareOfRarer(0.4),
        "cutoff_calibration_error": ShareOfRarer(0.6),
    }
    gate = run_gate(source, limits, Settings.read(rng=0), oe_tolerance="80%")
    found = {check.name: check.limit for check in gate.checks}
    assert found["smooth calibration error"] == pytest.approx(0.4 * RATE)
    assert found["cutoff calibration error"] == pytest.approx(0.6 * RATE)
    assert found["observed over expected"] == pytest.approx(1.8)
    assert_calibrated(Y, P, tolerance="60%", oe_tolerance="80%")


def test_rows_are_planned_for_it():
    predictions = np.linspace(0.1, 0.3, 9)
    relative = cal.rows_needed("10%", predictions, rng=0)
    absolute = cal.rows_needed(0.02, predictions, rng=0)
    assert relative.tolerance == pytest.approx(0.02, rel=1e-15)
    assert replace(relative, tolerance=0.02) == absolute
    assert cal.verdict_chances(900, "10%", predictions, rng=0) == cal.verdict_chances(
        900, 0.02, predictions, rng=0
    )


def test_a_monitor_allows_so_much_of_every_forecast():
    """A tenth is the default where forecasts are within 0.2 of 0 or 1."""
    forecasts = np.minimum(P, 0.2)
    monitors = [cal.CalibrationMonitor(tolerance) for tolerance in ("10%", None)]
    for monitor in monitors:
        monitor.update_many(Y, forecasts)
    assert monitors[0].evidence == monitors[1].evidence
    assert monitors[0].tolerance == "10%"
    again = cal.CalibrationMonitor.from_json(monitors[0].to_json())
    assert again == monitors[0]
    again.update_many(np.ones(90), np.full(90, 0.1))
    assert "calibration within 10 % of min(p, 1-p)" in again.sentence
    assert cal.CalibrationMonitor("100%").update(1, 0.0) is False


def test_streams_within_a_relative_tolerance_hardly_ever_alarm():
    """Events as frequent as the tolerance allows: at most one stream in twenty may alarm."""
    source = np.random.default_rng(3)
    alarms = 0
    for stream in range(120):
        p = source.beta(1, 9, 1500) / 2
        off = 1.2 if stream % 2 else 0.8
        monitor = cal.CalibrationMonitor("20%")
        alarms += monitor.update_many(source.random(1500) < off * p, p)
    assert alarms <= 12  # beyond by chance once in 100 if the bound were attained
    beyond = cal.CalibrationMonitor("20%")
    p = source.beta(1, 9, 20000) / 2
    assert beyond.update_many(source.random(20000) < 1.6 * p, p)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"prediction": P, "outcome": Y, "t": np.arange(Y.size)}).to_csv(path, index=False)
    return str(path)


def test_commands_take_it_and_say_what_it_is(rows):
    done = run("audit", rows, "--tolerance", "25%", "--time", "t")
    assert done.returncode == 0, done.stderr
    assert "The tolerance is 25 % of the rarer outcome." in " ".join(done.stdout.split())
    full = run("audit", rows, "--tolerance", "25%", "--full").stdout
    assert f"{0.25 * RATE:.3g} (25 % of the rarer outcome)" in " ".join(full.split())
    report = json.loads(run("check", rows, "--tolerance", "25%", "--json", "-").stdout)
    assert report["checks"][0]["limit"] == pytest.approx(0.25 * RATE)
    watched = json.loads(
        run("monitor", rows, "--time", "t", "--tolerance", "25%", "--json", "-").stdout
    )
    assert watched["tolerance"] == "25%"
    refused = run("audit", rows, "--tolerance", "5")
    assert refused.returncode == 2
    assert "--tolerance must lie between 0 and 1, got '5'. Hint: write 5%" in refused.stderr


def test_the_default_is_explained(rows):
    shown = " ".join(run("audit", rows).stdout.split())
    assert "Default tolerance: 2 points, or a tenth of the rarer outcome if less." in shown


def test_aggregates_hold_sums_of_predictions(rows, tmp_path):
    """A cell of rows with one prediction: its sum is the prediction times the count."""
    cells = pd.DataFrame({"p": np.round(P, 2), "y": Y, "g": np.arange(Y.size) % 3})
    grouped = cells.groupby(["p", "g"])
    sums = grouped.agg(n=("y", "size"), k=("y", "sum"), total=("p", "sum")).reset_index()
    sums.to_csv(tmp_path / "cells.csv", index=False)
    path = str(tmp_path / "cells.csv")
    counts = ("--count", "n", "--positives", "k", "--by", "g")
    by_sum = run("audit", path, *counts, "--prediction-sum", "total", "--json", "-")
    by_mean = run("audit", path, *counts, "--prediction", "p", "--json", "-")
    assert by_sum.returncode == 0, by_sum.stderr
    first, second = (json.loads(done.stdout) for done in (by_sum, by_mean))
    assert first["verdict"]["value"] == pytest.approx(second["verdict"]["value"], rel=1e-9)
    assert first["groups"]["groups"][0]["rows"] == second["groups"]["groups"][0]["rows"]
    percent = sums.assign(total=100 * sums.total)
    percent.to_csv(tmp_path / "percent.csv", index=False)
    scaled = run("check", str(tmp_path / "percent.csv"), *counts, "--prediction-sum", "total",
                 "--scale", "percent", "--json", "-")  # fmt: skip
    assert json.loads(scaled.stdout)["checks"][0]["value"] == pytest.approx(
        first["verdict"]["value"], rel=1e-9
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prediction-sum", "total"], "--prediction-sum needs --count and --positives"),
        (["--prediction-sum", "total", "--count", "n", "--positives", "k"], "in [0, 1]"),
        (["--prediction-sum", "total", "--prediction", "p", "--count", "n", "--positives", "k"],
         "--prediction cannot be used with --prediction-sum"),
    ],
)  # fmt: skip
def test_sums_that_say_nothing_are_refused(tmp_path, options, message):
    path = tmp_path / "cells.csv"
    path.write_text("p,n,k,total\n0.2,10,3,2\n0.5,4,2,200\n")
    done = run("audit", str(path), *options)
    assert done.returncode == 2
    assert message in done.stderr, done.stderr
