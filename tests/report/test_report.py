"""Audits as JSON and Markdown, their findings, and the gate."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant._base.words import THIN
from calibrant.report.json import as_dict
from calibrant.report.screen import plain, render_screen
from commands import run
from samples import sample

ROOT = Path(__file__).parents[2]


@pytest.fixture
def frame() -> pd.DataFrame:
    y, p = sample(900, 0.1)
    side = np.where(np.arange(900) % 3 == 0, "<b>left</b>", "right")
    return pd.DataFrame({"prediction": p, "outcome": y, "side": side, "who": np.arange(900) // 2})


@pytest.mark.parametrize(
    "data",
    [sample(400), sample(900, 0.2), ([1], [0.5]), ([0, 0, 0], [0.0, 0.0, 1.0]),
     ([0] * 50, [0.01] * 50), ([1, 0] * 20, [0.5] * 40)],
    ids=["fair", "shifted", "one row", "certain", "one class", "one value"],
)  # fmt: skip
def test_json_follows_the_schema_that_ships(data):
    schema = json.loads(files("calibrant.report").joinpath("schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    audit = cal.audit(*data, by={"half": np.arange(len(data[0])) // 2 % 2}, draws=99)
    jsonschema.validate(json.loads(audit.to_json()), schema)


def test_json_holds_what_others_need_to_draw():
    audit = cal.audit(*sample(3000, 0.1), draws=99)
    text = audit.to_json()
    diagram, found = json.loads(text)["diagram"], audit.summary.diagram
    assert diagram["dots"]["rows"] == found.dots["rows"].tolist()
    assert sum(diagram["counts"]["rows"]) == sum(diagram["bins"]["rows"]) == audit.summary.data.rows
    assert len(diagram["bins"]["rows"]) == audit.verdict.gap.ranges
    for part in ("curve", "band"):
        whole, kept = found.frame(part), diagram[part]
        for name in set(kept) - {"prediction"}:
            between = np.interp(whole["prediction"], kept["prediction"], kept[name])
            assert len(kept[name]) <= 1000
            assert np.quantile(np.abs(between - whole[name]), 0.95) < 0.01
    assert max(map(len, text.splitlines())) > 200  # a column stands on a line
    assert json.loads(text) == as_dict(audit.summary)


def test_the_same_for_arrays_frames_files_and_a_joint(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    arrays = cal.audit(frame["outcome"], frame["prediction"], draws=99)
    others = [
        cal.audit(frame, draws=99),
        cal.audit(pl.from_pandas(frame), draws=99),
        cal.audit(pl.from_pandas(frame).lazy(), draws=99),
        cal.audit(tmp_path / "rows.parquet", draws=99),
        cal.audit([str(tmp_path / "rows.parquet")], draws=99),
        cal.audit(cal.Joint.from_samples(frame["outcome"], frame["prediction"]), draws=99),
    ]
    for other in others:
        assert str(other) == str(arrays)
        assert other.summary.data.fingerprint == arrays.summary.data.fingerprint


def test_columns_may_be_named(frame):
    renamed = frame.rename(columns={"prediction": "p", "outcome": "y"})
    audit = cal.audit(
        renamed, prediction="p", outcome="y", by=["side"], clusters="who", draws=99, title="Sides"
    )
    assert {group.name for group in audit.groups} == {"<b>left</b>", "right"}
    assert audit.verdict.test.clusters == 450
    assert audit.to_markdown().startswith("## Sides: ")
    assert r"\<b\>left" in audit.to_markdown()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: cal.audit(f, prediction="q"), "a column 'q'"),
        (lambda f: cal.audit(5), "an audit takes"),
        (lambda f: cal.audit(f["outcome"], f["prediction"], by="side"), "by must hold the labels"),
        (lambda f: cal.audit(cal.Joint.from_samples([0], [0.5]), by={"a": [1]}), "with a Joint"),
        (lambda f: cal.audit(f, tolerance=2), "tolerance"),
        (lambda f: cal.audit("nowhere.parquet"), "no such file"),
    ],
)
def test_what_an_audit_does_not_take(frame, call, message):
    with pytest.raises(cal.errors.CalibrantError, match=message):
        call(frame)


def test_every_finding_has_a_place_in_the_docs():
    sources = [ROOT / f"src/calibrant/report/{name}.py" for name in ("findings", "traps")]
    source = "".join(path.read_text("utf-8") for path in sources)
    described = (ROOT / "docs/findings.md").read_text("utf-8")
    codes = set(re.findall(r"CAL\d{3}", source))
    assert len(codes) > 15
    assert codes == set(re.findall(r"^### (CAL\d{3})$", described, flags=re.MULTILINE))


def codes(audit: cal.Audit) -> set[str]:
    return {finding.code for finding in audit.findings}


def test_findings_say_what_the_numbers_say(frame):
    shifted = cal.audit(frame, by=["side"], draws=99)
    assert {"CAL001", "CAL011", "CAL022", "CAL040"} <= codes(shifted)
    rng = np.random.default_rng(0)
    logit = rng.normal(0, 2, 4000)
    p = 1 / (1 + np.exp(-logit))
    bold = cal.audit(rng.random(4000) < 1 / (1 + np.exp(-logit / 2)), p, draws=99)
    timid = cal.audit(rng.random(4000) < 1 / (1 + np.exp(-logit * 2)), p, draws=99)
    assert "CAL020" in codes(bold)
    assert "CAL021" in codes(timid)
    rare = cal.audit([1] * 2 + [0] * 98, [0.02] * 100, draws=99)
    assert {"CAL031", "CAL035"} <= codes(rare)
    fair = cal.audit(*sample(60_000), draws=99)
    assert "CAL003" in codes(fair)
    assert [finding.kind for finding in fair.findings][-1] == "passed"


def test_a_task_says_what_was_promised_and_received():
    task = cal.DecisionTask.from_costs(false_positive=50, false_negative=350)
    y, p = sample(2000, -0.08)
    audit = cal.audit(y, p, task=task, draws=99)
    promise = cal.decisions.promised_and_received(y, p, task=task)
    assert audit.summary.costs.promised == promise
    assert "Trusting the forecasts promises" in audit.to_text()
    assert json.loads(audit.to_json())["costs"]["task"] == repr(task)


def test_the_distance_is_bracketed(frame):
    audit = cal.audit(frame, draws=99)
    found = cal.distance_bracket(frame["outcome"], frame["prediction"])
    distance = json.loads(audit.to_json())["distance"]
    assert (distance["low"], distance["high"]) == (found.low, found.high)
    assert distance["chain"] == found.chain
    assert f"between {found.low:.3g} and" in audit.to_text()
    assert f"Moving the forecasts by {found.high:.3g}" in audit.to_html()


def test_very_many_levels_are_rounded_for_the_distance():
    rng = np.random.default_rng(0)
    p = rng.random(70_000)
    y = rng.random(70_000) < p
    audit = cal.audit(y, p, draws=99)
    exact = cal.lower_distance_to_calibration(y, p)
    rounded = audit.summary.distances
    assert rounded.lower.bounds[0] <= exact.bounds[1]
    assert exact.bounds[0] <= rounded.lower.bounds[1]
    assert "Forecasts are rounded to 65 536 cells here." in audit.to_html().replace(THIN, " ")


def test_dates_may_be_text(tmp_path):
    y, p = sample(400)
    days = np.datetime64("2026-01-01") + np.arange(400) // 10
    frame = pd.DataFrame({"prediction": p, "outcome": y, "day": days})
    written = frame.assign(day=days.astype(str))
    written.to_parquet(tmp_path / "text.parquet")
    as_dates = cal.audit(frame, time="day", draws=99).summary.watched
    assert cal.audit(tmp_path / "text.parquet", time="day", draws=99).summary.watched == as_dates
    done = run(
        "monitor", str(tmp_path / "text.parquet"), "--time", "day", "--until", "2026-01-09",
        "--json", "-",
    )  # fmt: skip
    assert json.loads(done.stdout)["groups"][0]["rows"] == 90
    with pytest.raises(cal.errors.InvalidForecastsError, match="write dates as 2026-01-31"):
        cal.audit(written.assign(day="31.1.2026"), time="day")


def test_the_rarer_outcome_is_named():
    y, p = sample(2000)
    rare = cal.verdict(1 - (y * (p > 0.85)), np.full(2000, 0.97), rng=0)
    assert rare.ratio.outcome == 0
    assert "Observed over expected outcomes 0 " in rare.ratio.sentence


def test_times_add_windows_and_an_alarm(tmp_path):
    y, p = sample(3000, 0.15)
    day = np.datetime64("2024-01-01") + np.arange(3000) // 25
    audit = cal.audit(y, p, time=day, draws=99)
    assert audit.summary.watched.monitor.alarm
    assert 15 <= len(audit.summary.watched.windows) <= 30
    assert sum(window.rows for window in audit.summary.watched.windows) == 3000
    assert "CAL060" in codes(audit)
    assert "Alarm after" in audit.to_text()
    assert "Over time" in audit.to_html()
    schema = json.loads(files("calibrant.report").joinpath("schema.json").read_text("utf-8"))
    jsonschema.validate(json.loads(audit.to_json()), schema)
    path = tmp_path / "log.csv"
    pd.DataFrame({"prediction": p, "outcome": y, "day": day}).to_csv(path, index=False)
    done = run("audit", str(path), "--time", "day")
    assert done.returncode == 0, done.stderr
    assert "Over time: Alarm at 2024-01-0" in done.stdout
    quiet = cal.audit(*sample(500), time=np.arange(500), draws=99)
    assert "CAL061" in codes(quiet)


def test_segments_are_in_every_form_of_the_report():
    y, p = sample(4000)
    rng = np.random.default_rng(2)
    by = {"side": rng.choice(["<left>", "right"], 4000), "kind": rng.integers(0, 2, 4000)}
    broken = (by["side"] == "<left>") & (by["kind"] == 1)
    y = np.where(broken, rng.random(4000) < p**3, y)
    audit = cal.audit(y, p, by=by, find_segments=True, draws=99)
    first = audit.segments[0]
    assert first.confirmed
    assert {column for column, _ in first.conditions} >= {"side", "kind"}
    assert f"  {first.sentence}: confirmed" in audit.to_text()
    data = json.loads(audit.to_json())
    schema = json.loads(files("calibrant.report").joinpath("schema.json").read_text("utf-8"))
    jsonschema.validate(data, schema)
    assert data["segments"][0]["conditions"][0] == {"column": "side", "level": "<left>"}
    assert data["segments"][0]["sentence"] == first.sentence
    assert "| side \\<left\\>, kind 1" in audit.to_markdown()
    page = audit.to_html()
    assert "Segments nobody named" in page
    assert '<th scope="row">side &lt;left&gt;, kind 1' in page
    plain = cal.audit(y, p, by=by, draws=99)
    assert plain.segments is None
    assert json.loads(plain.to_json())["segments"] is None
    assert "Segments" not in f"{plain}{plain.to_html()}{plain.to_markdown()}"


def test_windows_of_numbers_begin_at_round_numbers():
    y, p = sample(1500)
    watched = cal.audit(y, p, time=np.arange(1500), draws=19).summary.watched
    assert [window.start for window in watched.windows][:3] == ["0", "63", "126"]
    assert watched.windows[-1].rows == 51


def test_segments_need_columns_and_enough_rows():
    y, p = sample(60)
    with pytest.raises(cal.errors.InvalidOptionError, match="name them with by"):
        cal.audit(y, p, find_segments=True, draws=99)
    few = cal.audit(y, p, by={"half": np.arange(60) % 2}, find_segments=True, draws=99)
    assert few.segments == ()
    assert "none has enough rows" in few.to_text()
    assert "No combination of the columns has enough rows" in few.to_html()
    assert json.loads(few.to_json())["segments"] == []


def test_nothing_within_chance_is_told_as_a_finding():
    rng = np.random.default_rng(5)
    p = rng.random(400)
    sound = cal.audit(rng.random(400) < p, p)
    assert sound.verdict.pvalue > 0.05
    for text in (sound.to_text(), sound.to_markdown(), sound.to_html()):
        assert "No range of forecasts is off by more than chance." in text
        assert "Worst range" not in text
    off = cal.audit(rng.random(400) < p**2, p)
    assert all("Worst range: forecasts" in text for text in (off.to_text(), off.to_markdown()))


def test_texts_of_the_screen_are_whole_or_left_out():
    """Also where groups, notes and segments want more lines than there are."""
    rng = np.random.default_rng(2)
    y, p = sample(6000)
    by = {
        f"a column with a rather long name {k}": rng.choice(["one value", "another"], 6000)
        for k in range(5)
    }
    first, second = list(by.values())[:2]
    y = np.where((first == "another") & (second == "another"), rng.random(6000) < p**3, y)
    audit = cal.audit(y, p, by=by, pairs=True, find_segments=True, oe_tolerance=0.1, draws=99)
    found = [segment for segment in audit.segments if segment.confirmed]
    assert len(found) > 1
    for width in (60, 100):
        text = " ".join(plain(render_screen(audit.summary, width=width)).split())
        assert f"{len(found)} are confirmed (--full lists them). First: {found[0].sentence}" in text
        assert audit.summary.ratios.overall.sentence in text
        for finding in audit.findings:
            note = f"Note: {finding.text}"
            assert note in text or note[:40] not in text
