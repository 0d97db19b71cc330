"""The commands, as a user meets them."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.catalogue import DOMAINS, JOINT_MEASURES
from commands import run

Y = [0, 1, 1, 0, 1, 1, 0, 1]
P = [0.1, 0.6, 0.9, 0.3, 0.5, 0.8, 0.2, 0.7]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"prediction": P, "outcome": Y, "w": [1, 2, 1, 1, 0.5, 1, 1, 3]})


def test_demo_audits_the_forecasts_that_ship():
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert "166 668 forecasts" in done.stdout
    assert done.stdout.splitlines()[1].startswith("Miscalibrated: 2 of 22 groups")
    assert "forecasts of 28 % or more are too high" in " ".join(done.stdout.split())
    assert len(done.stdout.splitlines()) <= 24
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_audit_reads_every_kind_of_file(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    texts = [
        run("audit", str(tmp_path / f"rows.{kind}"), "--full")
        for kind in ("csv", "parquet", "jsonl")
    ]
    assert [done.returncode for done in texts] == [0, 0, 0], texts[0].stderr
    assert texts[0].stdout == texts[1].stdout == texts[2].stdout
    assert f"{float(cal.smooth_calibration_error(Y, P)):.3g}" in texts[0].stdout


def test_audit_reads_standard_input(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = run("audit", "-", "--full", stdin=frame.to_csv(index=False))
    assert done.returncode == 0, done.stderr
    assert done.stdout == run("audit", str(tmp_path / "rows.csv"), "--full").stdout


def test_audit_takes_globs_and_several_files(frame, tmp_path):
    frame[:4].to_csv(tmp_path / "a.csv", index=False)
    frame[4:].to_csv(tmp_path / "b.csv", index=False)
    whole = run("audit", str(tmp_path / "*.csv"), "--full").stdout
    assert whole.startswith("8 forecasts")
    assert run("audit", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--full").stdout == whole


def test_audit_options(frame, tmp_path):
    path = str(tmp_path / "rows.csv")
    renamed = pd.DataFrame(
        {"p": np.array(P) * 100, "y": np.where(frame["outcome"] == 1, "rain", "dry"), "w": frame.w}
    )
    renamed.to_csv(path, index=False)
    done = run("audit", path, "--prediction", "p", "--outcome", "y", "--weight", "w",
               "--pos-label", "rain", "--scale", "percent", "--full")  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = cal.smooth_calibration_error(Y, P, sample_weight=frame["w"])
    assert f"{float(expected):.3g}" in done.stdout


def test_numeric_labels(frame, tmp_path):
    path = str(tmp_path / "rows.csv")
    frame.assign(outcome=frame.outcome + 1).to_csv(path, index=False)
    assert run("audit", path).returncode == 2
    assert run("audit", path, "--pos-label", "2").returncode == 0
    assert run("audit", path, "--pos-label", "two").returncode == 2


def test_missing_values_are_refused_or_dropped(frame, tmp_path):
    path = str(tmp_path / "rows.csv")
    frame.assign(prediction=[None, *P[1:]], outcome=[*Y[:-1], None]).to_csv(path, index=False)
    refused = run("audit", path)
    assert refused.returncode == 2
    assert "missing" in refused.stderr
    dropped = run("audit", path, "--na", "drop")
    assert dropped.returncode == 0
    assert "6 forecasts" in dropped.stdout
    assert "2 rows with a missing value left out" in dropped.stdout


@pytest.mark.parametrize(
    ("content", "name", "arguments", "message"),
    [
        ("prediction,outcome\n10,0\n90,1\n", "a.csv", [], "--scale percent"),
        ("p,outcome\n0.1,0\n", "a.csv", [], "column 'prediction', got columns p, outcome"),
        ("prediction,outcome\n", "a.csv", [], "at least one row"),
        ("prediction,outcome\nx,0\ny,1\n", "a.csv", [], "numbers"),
        ("prediction,outcome\n0.1,dry\n0.4,rain\n", "a.csv", [], "--pos-label"),
        ("not parquet", "a.parquet", [], "readable"),
        ("prediction,outcome\n0.1,0\n", "a.xlsx", [], "Excel files are not read"),
        ("prediction,outcome\n,0\n", "a.csv", ["--na", "drop"], "without missing values"),
    ],
    ids=["percent", "column", "empty", "text", "labels", "broken", "kind", "all missing"],
)
def test_wrong_data_ends_with_one_message_and_exit_code_2(
    tmp_path, content, name, arguments, message
):
    (tmp_path / name).write_text(content)
    done = run("audit", str(tmp_path / name), *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("calibrant: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_file_is_named(tmp_path):
    done = run("audit", str(tmp_path / "nothing.csv"))
    assert done.returncode == 2
    assert "nothing.csv" in done.stderr


def test_an_unknown_option_is_exit_code_2():
    assert run("audit", "x.csv", "--no-such-option").returncode == 2


def test_measures_lists_the_catalogue_by_domain():
    done = run("measures")
    assert done.returncode == 0
    parts = re.split(r"^(\w+): measures of .*$", done.stdout, flags=re.MULTILINE)
    listed = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(listed) == list(DOMAINS)
    for name, measure in cal.CATALOGUE.items():
        shown = " ".join(listed[measure.domain].split())
        others = f" (also {', '.join(measure.other_names)})" if measure.other_names else ""
        assert (
            f"{name}{others} {measure.asks} Known flaw: {measure.flaw}. {measure.source}" in shown
        )


def test_help_names_the_commands():
    done = run("--help")
    assert done.returncode == 0
    for command in ("demo", "audit", "monitor", "measures", "online"):
        assert command in done.stdout


def test_a_report_names_the_command_that_made_it(frame, tmp_path):
    rows, page = tmp_path / "my rows.csv", tmp_path / "report.html"
    frame.to_csv(rows, index=False)
    done = run("audit", str(rows), "--title", "<b>", "--html", str(page), "--json", "-")
    command = json.loads(done.stdout)["settings"]["command"]
    assert shlex.split(command) == [
        "calibrant", "audit", str(rows), "--title", "<b>", "--html", str(page), "--json", "-",
    ]  # fmt: skip
    assert html.escape(command, quote=False).replace("'", "&#39;") in page.read_text("utf-8")


def test_play_shows_every_error_and_the_promise(tmp_path):
    done = run("online", "foster", "breaker", "--rounds", "500")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "FosterForecaster(horizon=500, grid=None) against DeterministicBreaker()" in done.stdout
    assert "promise for the exact calibration error" in done.stdout
    for measure in JOINT_MEASURES.values():
        assert measure.title in done.stdout
    assert run("online", "foster", "breaker", "--rounds", "500").stdout == done.stdout


def test_play_says_what_no_forecaster_can_avoid_and_which_promise_says_nothing_yet():
    done = run("online", "decision", "coins", "--rounds", "200")
    assert "none yet" in done.stdout
    assert "no forecaster can expect" in " ".join(done.stdout.split())


def test_play_draws_a_picture_and_replays_a_file(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    picture = tmp_path / "game.png"
    done = run("online", "defensive", str(tmp_path / "rows.csv"), "--picture", str(picture))
    assert done.returncode == 0, done.stderr
    assert "Replay(8 outcomes), 8 rounds" in done.stdout
    assert picture.stat().st_size > 5000


@pytest.mark.parametrize(
    ("rows", "message"),
    [("outcome,b\n1,2\n,2\n", "got a missing value in row 2"), ("outcome\n", "at least one row")],
)
def test_play_rejects_a_file_with_missing_outcomes_or_without_rows(rows, message, tmp_path):
    (tmp_path / "rows.csv").write_text(rows)
    done = run("online", "foster", str(tmp_path / "rows.csv"))
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["unheard", "coins"], "forecaster must be known"),
        (["foster", "unheard"], "nature (or a file of outcomes) must be known"),
        (["foster", "coins", "--rounds", "0"], "rounds must be"),
        (
            ["foster", "coins", "--picture", "/no/such/folder/game.png"],
            "in a folder that is not there",
        ),
    ],
    ids=["forecaster", "nature", "rounds", "folder"],
)
def test_wrong_games_end_with_one_message_and_exit_code_2(arguments, message):
    done = run("online", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_picture_of_an_unknown_kind(tmp_path):
    path = str(tmp_path / "game.nothing")
    done = run("online", "foster", "coins", "--rounds", "50", "--picture", path)
    assert done.returncode == 2
    assert "known kind" in done.stderr


def test_the_same_rows_give_the_same_words(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    first = run("audit", str(tmp_path / "rows.csv"))
    assert run("audit", str(tmp_path / "rows.csv")).stdout == first.stdout


def test_the_readme_shows_what_the_demo_prints():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    conclusion, _, _ = run("demo").stdout.partition("\n\n")
    assert conclusion.count("\n") == 8
    assert f"```\n{conclusion}\n```" in readme


def test_audit_judges_pairs_and_looks_for_segments(tmp_path):
    rng = np.random.default_rng(0)
    n = 4000
    p, side, kind = rng.random(n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    y = rng.random(n) < np.where(side & kind, p**2, p)
    rows = zip(p, y, side, kind, strict=True)
    lines = [f"{a},{int(b)},{'' if c and not d else c},{d}" for a, b, c, d in rows]
    path = tmp_path / "forecasts.csv"
    path.write_text("\n".join(["prediction,outcome,side,kind", *lines]), encoding="utf-8")
    shown = run(
        "audit", str(path), "--by", "side,kind", "--pairs", "--find-segments", "--full"
    ).stdout
    assert "side 1, kind 1" in shown
    assert "side missing" in shown
    assert "judged on the other:" in shown
    assert ": confirmed" in shown
    refused = run("audit", str(path), "--find-segments")
    assert refused.returncode == 2
    assert "--by" in refused.stderr
