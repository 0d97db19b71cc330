"""`calibrant recalibrate` and `calibrant apply`, as a user meets them."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import pytest

from calibrant.recalibration import IsotonicCalibration, PlattScaling, load
from commands import broken_stdout, run, run_forked

RNG = np.random.default_rng(7)


@pytest.fixture
def frame():
    chance = RNG.random(2000)
    return pd.DataFrame(
        {
            "prediction": chance**2,
            "outcome": (RNG.random(2000) < chance).astype(int),
            "site": np.where(np.arange(2000) % 2, "north", "south"),
            "patient": np.arange(2000) % 100,
            "day": np.arange(2000),
        }
    )


@pytest.fixture
def file(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_repair_judges_and_writes_everything(frame, file, tmp_path):
    out, calibrator_file = tmp_path / "fixed.parquet", tmp_path / "calibrator.json"
    sql, python, judged = (
        tmp_path / "calibrator.sql",
        tmp_path / "calibrator.py",
        tmp_path / "judged.json",
    )
    done = run(
        "recalibrate", str(file), "--out", str(out), "--calibrator", str(calibrator_file),
        "--sql", str(sql), "--python", str(python), "--json", str(judged), "--by", "site",
        "--cluster", "patient",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "helps: on rows that took no part in the choice" in done.stdout
    for heading in ("before", "after", "Brier score", "AUC", "tied pairs", "worst group"):
        assert heading in done.stdout
    assert f"the rows of {out} taught the calibrator: an audit of them flatters it" in done.stdout
    named = {
        "rows": out,
        "calibrator": calibrator_file,
        "SQL": sql,
        "Python": python,
        "judgement": judged,
    }
    assert done.stdout.splitlines()[-5:] == [f"{what}: {path}" for what, path in named.items()]
    fitted = load(calibrator_file)
    expected = fitted.transform(frame["prediction"].to_numpy())
    fixed = pd.read_parquet(out)
    assert list(fixed) == [*frame, "recalibrated"]
    assert fixed["recalibrated"].to_numpy() == pytest.approx(expected, abs=1e-12)
    expression = sql.read_text(encoding="utf-8")
    found = duckdb.sql(f"select {expression} from read_parquet('{file}')").fetchall()  # noqa: S608
    assert [row[0] for row in found] == pytest.approx(expected, abs=1e-12)
    names: dict = {}
    exec(python.read_text(encoding="utf-8"), names)  # noqa: S102
    assert names["recalibrate"](0.25) == pytest.approx(float(fitted.transform([0.25])[0]))
    data = json.loads(judged.read_text(encoding="utf-8"))
    assert data["schema"] == 1
    assert data["after"]["log_loss"] < data["before"]["log_loss"]


def test_repair_says_when_to_leave_forecasts_alone(tmp_path):
    p = RNG.random(2000)
    pd.DataFrame({"p": 100 * p, "y": np.where(RNG.random(2000) < p, "yes", "no")}).to_csv(
        tmp_path / "rows.csv", index=False
    )
    done = run("recalibrate", str(tmp_path / "rows.csv"), "--prediction", "p", "--outcome", "y",
               "--scale", "percent", "--pos-label", "yes", "--calibrator", "-")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert load(done.stdout).method == "identity"
    done = run("recalibrate", str(tmp_path / "rows.csv"), "--prediction", "p", "--outcome", "y",
               "--scale", "percent", "--pos-label", "yes")  # fmt: skip
    assert done.stdout.startswith("Leave it alone")


def test_repair_takes_time_weights_maps_and_a_task(frame, tmp_path):
    frame.assign(w=1.5).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "task.csv").write_text("action,0,1\nact,0.5,1\nwait,1,0\n", encoding="utf-8")
    done = run("recalibrate", str(tmp_path / "rows.csv"), "--time", "day", "--weight", "w",
               "--score", "brier", "--methods", "platt,beta", "--task",
               str(tmp_path / "task.csv"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Brier score" in done.stdout
    assert "loss of your task" in done.stdout
    assert "isotonic" not in done.stdout


@pytest.mark.parametrize("end", ["parquet", "csv", "jsonl"])
def test_apply_streams_any_kind_of_file(frame, file, tmp_path, end):
    fitted = IsotonicCalibration().fit(frame["prediction"], frame["outcome"])
    (tmp_path / "calibrator.json").write_text(fitted.to_json(), encoding="utf-8")
    out = tmp_path / f"out.{end}"
    done = run(
        "apply", str(tmp_path / "calibrator.json"), str(file), "--out", str(out), "--column", "q"
    )
    assert done.returncode == 0, done.stderr
    assert "2 000 rows with q" in done.stdout
    found = duckdb.sql(f"select q from '{out}'").fetchnumpy()["q"]  # noqa: S608
    assert found == pytest.approx(fitted.transform(frame["prediction"].to_numpy()), abs=1e-12)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["calibrator.json", out.name, "rows.parquet"]
    )


def test_apply_keeps_missing_predictions_missing_and_reads_percent(tmp_path):
    fitted = PlattScaling().fit([0.2, 0.4, 0.7, 0.6], [0, 1, 1, 0])
    (tmp_path / "calibrator.json").write_text(fitted.to_json(), encoding="utf-8")
    out = tmp_path / "out.csv"
    done = run("apply", str(tmp_path / "calibrator.json"), "-", "--out", str(out), "--scale",
               "percent", stdin="prediction\n20\n\n70\n")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(out, skip_blank_lines=False)["recalibrated"].to_numpy()
    first, last = fitted.transform([0.2, 0.7])
    assert [found[0], found[-1]] == pytest.approx([first, last])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--out", "old.parquet"], "--force"),
        (["--out", "new.xlsx"], ".parquet"),
        (["--out", "new.parquet", "--prediction", "q"], "column 'q'"),
        (["--out", "new.parquet", "--column", "outcome"], "must not be there yet"),
        (["--out", "nowhere/new.parquet"], "can be written"),
        (["--out", "new.parquet", "--prediction", "day"], "--scale 'percent'"),
    ],
)
def test_apply_refuses_and_writes_nothing(frame, file, tmp_path, options, match):
    fitted = PlattScaling().fit([0.2, 0.4, 0.7, 0.6], [0, 1, 1, 0])
    (tmp_path / "calibrator.json").write_text(fitted.to_json(), encoding="utf-8")
    (tmp_path / "old.parquet").write_text("precious", encoding="utf-8")
    options[1] = str(tmp_path / options[1])
    before = sorted(tmp_path.iterdir())
    done = run("apply", str(tmp_path / "calibrator.json"), str(file), *options)
    assert done.returncode == 2
    assert match in done.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old.parquet").read_text(encoding="utf-8") == "precious"


def test_repair_refuses_to_overwrite_before_it_works(file, tmp_path):
    (tmp_path / "calibrator.json").write_text("precious", encoding="utf-8")
    done = run("recalibrate", str(file), "--calibrator", str(tmp_path / "calibrator.json"))
    assert done.returncode == 2
    assert "--calibrator must not name a file that is there" in done.stderr
    assert (tmp_path / "calibrator.json").read_text(encoding="utf-8") == "precious"
    done = run(
        "recalibrate", str(file), "--calibrator", str(tmp_path / "calibrator.json"), "--force"
    )
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "calibrator.json").method != "identity"


def test_a_broken_map_is_refused(file, tmp_path):
    (tmp_path / "calibrator.json").write_text('{"schema": 9}', encoding="utf-8")
    done = run(
        "apply", str(tmp_path / "calibrator.json"), str(file), "--out", str(tmp_path / "o.csv")
    )
    assert done.returncode == 2
    assert "schema 1" in done.stderr


def test_repair_by_group_says_when_a_plain_map_is_enough(file, tmp_path):
    done = run(
        "recalibrate", str(file), "--by", "site", "--calibrator", str(tmp_path / "calibrator.json")
    )
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "patches for groups do not improve the log loss by more than noise" in text
    assert load(tmp_path / "calibrator.json").method != "identity"


def percent_rows(tmp_path):
    """Per cent, one row in twenty of which is below 1 %, as a column of text for DuckDB too."""
    rng = np.random.default_rng(3)
    chance = np.where(np.arange(3000) % 20 == 0, 0.006, rng.random(3000))
    rows = {"prediction": 100 * chance**2, "outcome": (rng.random(3000) < chance).astype(int)}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv", pd.read_csv(tmp_path / "rows.csv")["prediction"].to_numpy()


def test_a_map_of_percent_takes_percent_everywhere(tmp_path):
    file, percent = percent_rows(tmp_path)
    places = {end: tmp_path / f"calibrator.{end}" for end in ("json", "sql", "py", "parquet")}
    done = run(
        "recalibrate", str(file), "--scale", "percent", "--calibrator", str(places["json"]),
        "--sql", str(places["sql"]), "--python", str(places["py"]), "--out", str(places["parquet"]),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fitted = load(places["json"])
    wanted = load(json.loads(fitted.to_json()) | {"scale": "unit"}).transform(percent / 100)
    assert fitted.transform(percent) == pytest.approx(wanted)
    assert pd.read_parquet(places["parquet"])["recalibrated"].to_numpy() == pytest.approx(wanted)
    text = places["sql"].read_text(encoding="utf-8")
    assert "Takes per cent" in text.splitlines()[0]
    found = duckdb.sql(f"select {text} from read_csv('{file}')").fetchall()  # noqa: S608
    assert [row[0] for row in found] == pytest.approx(wanted)
    names: dict = {}
    exec(places["py"].read_text(encoding="utf-8"), names)  # noqa: S102
    assert [names["recalibrate"](p) for p in percent[:50]] == pytest.approx(wanted[:50])
    out = tmp_path / "applied.csv"
    done = run("apply", str(places["json"]), str(file), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(out)["recalibrated"].to_numpy() == pytest.approx(wanted)
    done = run(
        "apply", str(places["json"]), str(file), "--out", str(out), "--scale", "unit", "--force"
    )
    assert done.returncode == 2
    assert "must hold probabilities" in done.stderr


def test_a_known_base_rate_shifts_all_odds(frame, file, tmp_path):
    calibrator_file, out = tmp_path / "calibrator.json", tmp_path / "fixed.parquet"
    done = run(
        "recalibrate",
        str(file),
        "--base-rate",
        "0.03",
        "--calibrator",
        str(calibrator_file),
        "--out",
        str(out),
    )
    assert done.returncode == 0, done.stderr
    assert "for a base rate of 3 %." in done.stdout
    rate = frame["outcome"].mean()
    ratio = 0.03 / 0.97 / (rate / (1 - rate))
    assert load(calibrator_file).odds_ratio_ == pytest.approx(ratio)
    p = frame["prediction"].to_numpy().clip(1e-9, 1 - 1e-9)
    odds = ratio * p / (1 - p)
    recalibrated = pd.read_parquet(out)["recalibrated"].to_numpy()
    np.testing.assert_allclose(recalibrated, odds / (1 + odds), atol=1e-8)
    for wrong in (["--base-rate", "3"], ["--base-rate", "0.1", "--by", "site"],
                  ["--base-rate", "0.1", "--json", "-"]):  # fmt: skip
        done = run("recalibrate", str(file), *wrong)
        assert done.returncode == 2, done.stdout
        assert "base" in done.stderr


def test_rows_that_taught_a_map_are_in_sample(frame, file, tmp_path):
    calibrator_file, other = tmp_path / "calibrator.json", tmp_path / "other.csv"
    run("recalibrate", str(file), "--calibrator", str(calibrator_file))
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled.to_csv(other, index=False)
    for rows in (file, other):
        done = run("audit", str(rows), "--calibrator", str(calibrator_file), "--full")
        text = done.stdout.replace("\n", " ")
        assert "in-sample: the calibrator was fitted to these 2 000 rows" in text
        applied = run(
            "apply", str(calibrator_file), str(rows), "--out", str(tmp_path / f"{rows.stem}2.csv")
        )
        assert "in-sample: the predictions of these 2 000 rows" in applied.stdout
    frame.assign(prediction=frame["prediction"].to_numpy()[::-1] * 0.9).to_csv(
        tmp_path / "fresh.csv", index=False
    )
    done = run("audit", str(tmp_path / "fresh.csv"), "--calibrator", str(calibrator_file), "--full")
    assert "in-sample" not in done.stdout
    assert "recalibrated by" in done.stdout.replace("\n", " ")
    applied = run(
        "apply", str(calibrator_file), str(tmp_path / "fresh.csv"), "--out", str(tmp_path / "f.csv")
    )
    assert "in-sample" not in applied.stdout


def test_an_audit_after_a_map_is_the_audit_of_what_apply_writes(file, tmp_path):
    calibrator_file, out = tmp_path / "calibrator.json", tmp_path / "out.parquet"
    run("recalibrate", str(file), "--calibrator", str(calibrator_file))
    run("apply", str(calibrator_file), str(file), "--out", str(out))
    after = run("audit", str(file), "--calibrator", str(calibrator_file), "--json", "-")
    applied = run("audit", str(out), "--prediction", "recalibrated", "--json", "-")
    first, second = json.loads(after.stdout), json.loads(applied.stdout)
    assert first["verdict"]["state"] == second["verdict"]["state"]
    values = ({one["name"]: one["value"] for one in found["measures"]} for found in (first, second))
    before, behind = values
    assert before == {name: pytest.approx(value, abs=1e-9) for name, value in behind.items()}


def test_an_audit_after_a_map_of_other_outcomes_is_refused(frame, file, tmp_path):
    calibrator_file = tmp_path / "calibrator.json"
    run("recalibrate", str(file), "--calibrator", str(calibrator_file))
    wide = frame.assign(a=0.2, b=0.3, c=0.5, outcome=np.resize(["a", "b", "c"], len(frame)))
    wide.to_csv(tmp_path / "wide.csv", index=False)
    done = run(
        "audit",
        str(tmp_path / "wide.csv"),
        "--classes",
        "a,b,c",
        "--calibrator",
        str(calibrator_file),
    )
    assert done.returncode == 2
    assert "a calibrator of two outcomes" in done.stderr


def summed_rows(frame, tmp_path):
    """Levels of two decimals: how many rows, how many ones, sums of predictions."""
    rounded = frame.assign(prediction=frame["prediction"].round(2).clip(0.01, 0.99))
    cells = rounded.groupby("prediction", as_index=False).agg(
        n=("outcome", "size"), ones=("outcome", "sum")
    )
    cells = cells.assign(
        total=cells["n"] * cells["prediction"],
        percent=100 * cells["prediction"],
        logit=np.log(cells["prediction"] / (1 - cells["prediction"])),
    )
    rounded.to_csv(tmp_path / "rounded.csv", index=False)
    cells.to_csv(tmp_path / "cells.csv", index=False)
    return str(tmp_path / "rounded.csv"), str(tmp_path / "cells.csv")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--prediction-sum", "total"],
        ["--prediction", "percent", "--scale", "percent"],
        ["--prediction", "logit", "--scale", "logit"],
    ],
)
def test_counts_of_rows_give_the_map_of_the_rows(frame, tmp_path, options):
    rows, cells = summed_rows(frame, tmp_path)
    methods = ["--methods", "beta", "--calibrator", "-"]
    wanted = load(run("recalibrate", rows, *methods).stdout)
    done = run("recalibrate", cells, "--count", "n", "--positives", "ones", *options, *methods)
    assert done.returncode == 0, done.stderr
    found = load(done.stdout)
    assert found.method == wanted.method == "beta"
    assert found.scale_ == (options[-1] if "--scale" in options else "unit")
    probability = np.array([0.05, 0.3, 0.8])
    assert found(probability) == pytest.approx(wanted(probability), abs=1e-9)


def test_counts_of_rows_shift_to_a_base_rate(frame, tmp_path):
    rows, cells = summed_rows(frame, tmp_path)
    shift = ["--base-rate", "0.1", "--calibrator", "-"]
    wanted = load(run("recalibrate", rows, *shift).stdout)
    found = load(run("recalibrate", cells, "--count", "n", "--positives", "ones", *shift).stdout)
    assert found(np.array([0.3])) == pytest.approx(wanted(np.array([0.3])), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "percent"], "--by cannot be used with --count"),
        (["--cluster", "percent"], "--cluster cannot be used with --count"),
        (
            ["--prediction-sum", "total", "--out", "never.csv"],
            "--out cannot be used with --prediction-sum",
        ),
        (["--prediction-sum", "total", "--scale", "logit"], "must be a sum of probabilities"),
    ],
)
def test_what_counts_of_rows_do_not_have_is_refused(frame, tmp_path, options, message):
    _, cells = summed_rows(frame, tmp_path)
    done = run("recalibrate", cells, "--count", "n", "--positives", "ones", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_log_odds_go_in_everywhere(frame, tmp_path):
    logit = np.log(frame["prediction"] / (1 - frame["prediction"]))
    frame.assign(logit=logit).to_csv(tmp_path / "rows.csv", index=False)
    rows, calibrator_file = str(tmp_path / "rows.csv"), str(tmp_path / "calibrator.json")
    wanted = load(run("recalibrate", rows, "--calibrator", "-").stdout)
    run(
        "recalibrate",
        rows,
        "--prediction",
        "logit",
        "--scale",
        "logit",
        "--calibrator",
        calibrator_file,
    )
    probability = np.array([0.05, 0.3, 0.8])
    assert load(calibrator_file)(probability) == pytest.approx(wanted(probability), abs=1e-9)
    run(
        "apply",
        calibrator_file,
        rows,
        "--prediction",
        "logit",
        "--out",
        str(tmp_path / "o.parquet"),
    )
    applied = pd.read_parquet(tmp_path / "o.parquet")["recalibrated"]
    assert applied.to_numpy() == pytest.approx(wanted.transform(frame["prediction"]), abs=1e-9)
    plain = run("audit", rows, "--quiet").stdout
    assert (
        run("audit", rows, "--prediction", "logit", "--scale", "logit", "--quiet").stdout == plain
    )
    refused = run("check", rows, "--prediction", "logit", "--scale", "logit")
    assert "--scale logit is for audit, recalibrate and apply" in refused.stderr


def test_files_are_written_though_nobody_listens(file, tmp_path):
    """`calibrant recalibrate ... | head -1` must leave what it was asked for."""
    written = [tmp_path / name for name in ("out.csv", "calibrator.json")]
    done = run_forked(
        "recalibrate", str(file), "--out", str(written[0]), "--calibrator", str(written[1]),
        fault=broken_stdout,
    )  # fmt: skip
    assert done.code == 74
    assert all(path.stat().st_size > 0 for path in written)
