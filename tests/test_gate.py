"""The release gate: three answers, its files, its comparison with a baseline."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import calibrant as cal
from calibrant.gate import read_limits
from commands import run
from samples import sample


@pytest.fixture
def frame() -> pd.DataFrame:
    y, p = sample(900, 0.1)
    side = np.where(np.arange(900) % 3 == 0, "<b>left</b>", "right")
    return pd.DataFrame({"prediction": p, "outcome": y, "side": side, "who": np.arange(900) // 2})


def test_the_gate_has_three_answers(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    y, p = sample(60_000)
    fair = tmp_path / "fair.parquet"
    pd.DataFrame({"prediction": p, "outcome": y}).to_parquet(fair)
    few = tmp_path / "few.csv"
    frame.head(40).to_csv(few, index=False)
    for file, code, state in ((fair, 0, "passed"), (path, 1, "failed"), (few, 3, "undecided")):
        done = run("check", str(file), "--tolerance", "0.02")
        assert done.returncode == code, done.stderr
        assert done.stdout.startswith(state)
    assert run("check", str(path), "--quiet").stdout == ""
    assert run("check", str(tmp_path / "none.csv")).returncode == 2


def test_the_gate_writes_json_and_markdown(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    options = ["--by", "side", "--measure", "smooth_calibration_error=0.3", "--json",
               str(tmp_path / "gate.json"), "--markdown", "-"]  # fmt: skip
    done = run("check", str(path), *options)
    gate = json.loads((tmp_path / "gate.json").read_text())
    assert done.returncode == gate["exit_code"] == 0
    assert [check["state"] for check in gate["checks"]] == ["passed"] * 3
    assert [check["limit"] for check in gate["checks"]] == [0.3, 0.6, 0.3]
    assert done.stdout.startswith("## Calibration gate: passed")


@pytest.mark.parametrize("name", ["expected_calibration_error", "ece"])
def test_the_gate_takes_the_ece_by_the_name_of_the_function(frame, tmp_path, name):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    done = run(
        "check", str(path), "--measure", f"{name}=0.5", "--json", str(tmp_path / "gate.json")
    )
    gate = json.loads((tmp_path / "gate.json").read_text())
    assert done.returncode == 0, done.stderr
    expected = getattr(cal, name)(frame["outcome"], frame["prediction"])
    assert gate["checks"][0]["value"] == pytest.approx(float(expected), abs=1e-12)


def test_the_gate_compares_with_a_baseline(frame, tmp_path):
    new, old = tmp_path / "new.csv", tmp_path / "old.csv"
    y, p = sample(4000, 0.1)
    rows = pd.DataFrame({"id": np.arange(4000), "prediction": p, "outcome": y})
    rows.to_csv(old, index=False)
    rows.assign(prediction=np.clip(p + 0.1, 0, 1)).sample(frac=1, random_state=1).to_csv(
        new, index=False
    )
    better = run("check", str(new), "--tolerance", "0.2", "--baseline", str(old), "--key", "id")
    assert better.returncode == 0
    assert "from the baseline on the same rows" in better.stdout
    worse = run("check", str(old), "--tolerance", "0.2", "--baseline", str(new), "--key", "id")
    assert worse.returncode == 1
    unpaired = run("check", str(old), "--tolerance", "0.2", "--baseline", str(new))
    assert unpaired.returncode == 1
    assert "on rows of its own" in unpaired.stdout
    alone = run("check", str(new), "--baseline", str(old), "--key", "id", "--only-difference")
    assert alone.returncode == 0
    assert alone.stdout.count("passed  ") == 1
    same = run("check", str(old), "--baseline", str(old), "--key", "id", "--only-difference")
    assert same.returncode == 0
    assert "changed by +0.0000" in same.stdout
    assert "(between +0.0000 and +0.0000)" in same.stdout
    refused = run("check", str(old), "--only-difference")
    assert (refused.returncode, "needs --baseline" in refused.stderr) == (2, True)
    twice = tmp_path / "twice.csv"
    pd.concat([rows, rows]).to_csv(twice, index=False)
    refused = run("check", str(new), "--baseline", str(twice), "--key", "id")
    assert refused.returncode == 2
    assert "--key must name each row" in refused.stderr


def test_a_baseline_heeds_clusters(tmp_path):
    """Copies of rows in clusters add no evidence: the difference is as uncertain as without."""
    y, p = sample(300, 0.1)
    rows = pd.DataFrame({"prediction": p, "outcome": y, "day": np.arange(300)})
    widths = []
    for times, options in ((1, []), (6, []), (6, ["--cluster", "day"])):
        old = pd.concat([rows] * times).assign(id=np.arange(300 * times))
        new = old.assign(prediction=np.clip(old.prediction + 0.05, 0, 1))
        old.to_csv(tmp_path / "old.csv", index=False)
        new.to_csv(tmp_path / "new.csv", index=False)
        json_path = tmp_path / "gate.json"
        run("check", str(tmp_path / "new.csv"), "--baseline", str(tmp_path / "old.csv"), "--key",
            "id", "--only-difference", "--json", str(json_path), *options)  # fmt: skip
        (check,) = json.loads(json_path.read_text())["checks"]
        widths.append(check["high"] - check["low"])
    once, careless, clustered = widths
    assert clustered == pytest.approx(once, rel=0.15)
    assert careless < 0.7 * once


@pytest.mark.parametrize(("options", "code"), [([], 1), (["--gap-tolerance", "1"], 0)])
def test_the_gate_sees_waves_unless_told_not_to(tmp_path, options, code):
    rng = np.random.default_rng(0)
    p = rng.random(40_000)
    y = rng.random(40_000) < np.clip(p + 0.2 * np.sin(8 * np.pi * p), 0, 1)
    path = tmp_path / "waves.csv"
    pd.DataFrame({"prediction": p, "outcome": y.astype(int)}).to_csv(path, index=False)
    done = run("check", str(path), *options)
    assert done.returncode == code, done.stdout
    assert ("failed       typical gap: " in done.stdout) == (not options)
    assert "passed       smooth calibration error: " in done.stdout


def test_limits_are_read_from_names():
    assert read_limits([], 0.1) == {"smooth_calibration_error": 0.1}
    assert read_limits(["a=0.3", "b"], None) == {"a": 0.3, "b": None}
    with pytest.raises(cal.errors.InvalidOptionError, match="named once"):
        read_limits(["a=0.1", "a=0.3"], None)
    for wrong in ("a=x", "a=7"):
        with pytest.raises(cal.errors.InvalidOptionError):
            read_limits([wrong], None)


def test_groups_with_slopes_that_are_off_do_not_pass(tmp_path):
    rng = np.random.default_rng(3)
    p, side = rng.random(160_000), rng.integers(0, 2, 160_000)
    flat = expit(0.7 * logit(p))
    y = rng.random(p.size) < np.where(side, flat, np.clip(2 * p - flat, 0, 1))
    path, found = tmp_path / "rows.parquet", tmp_path / "gate.json"
    rows = {"prediction": p, "outcome": y.astype(int), "side": np.where(side, "f", "m")}
    pd.DataFrame(rows).to_parquet(path)
    assert run("check", str(path)).returncode == 0
    assert run("check", str(path), "--by", "side", "--json", str(found)).returncode == 1
    *_, groups = json.loads(found.read_text())["checks"]
    assert groups["state"] == "failed"
    assert groups["name"].endswith("typical gap")
    assert groups["low"] > groups["limit"] == 0.04
    loose = run("check", str(path), "--by", "side", "--tolerance", "0.03", "--gap-tolerance", "0.2")
    assert loose.returncode == 0, loose.stdout


def test_the_audit_does_not_open_with_calibrated_where_parts_fail(tmp_path):
    rng = np.random.default_rng(3)
    p = np.clip(rng.dirichlet([3, 3, 2], 60_000), 0.01, None)
    p /= p.sum(axis=1, keepdims=True)
    shift = np.where(p[:, 2] == p.max(axis=1), 0.0, np.minimum(0.1, p[:, 2] / 2))
    truth = p.copy()
    rest = np.where(p[:, 0] == p.max(axis=1), 1, 0)
    truth[np.arange(len(p)), rest] += shift
    truth[:, 2] -= shift
    label = (rng.random((len(p), 1)) > truth.cumsum(axis=1)).sum(axis=1)
    found = cal.audit(label, p, draws=199, rng=0)
    assert found.verdict.state == "calibrated"
    assert found.summary.state == "miscalibrated"
    assert str(found).startswith("Miscalibrated: ")
    assert "trust the confidence" not in str(found)
    assert json.loads(found.to_json())["state"] == "miscalibrated"
    assert found.to_markdown().splitlines()[0].endswith(": miscalibrated")
