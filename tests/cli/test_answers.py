"""Logs of language models on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from commands import run

LOGS = Path(__file__).parents[1] / "answers" / "logs"


def lines_of(path, count=400):
    rng = np.random.default_rng(0)
    rows = [
        {"id": n, "model": m, "confidence": "90%", "correct": bool(rng.random() < 0.6)}
        for n in range(count)
        for m in ("a", "b")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_answers_tells_every_decision_and_writes_rows(tmp_path):
    out = tmp_path / "rows.parquet"
    done = run("answers", str(LOGS / "inspect_sums.eval"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "also there: scorer 'includes'" in done.stdout
    assert "2 of 10 confidences could not be read and are missing" in done.stdout
    again = run("audit", str(out), "--prediction", "confidence", "--outcome", "correct", "--quiet")
    assert again.returncode == 0, again.stderr
    refused = run("answers", str(LOGS / "inspect_partial.json"))
    assert refused.returncode == 2
    assert "--pass-mark" in refused.stderr


def test_one_command_audits_a_log(tmp_path):
    log = lines_of(tmp_path / "run.jsonl")
    done = run("audit", log, "--json", str(tmp_path / "audit.json"))
    assert done.returncode == 0, done.stderr
    assert "note: 400 of 400 questions answered more than once" in done.stdout
    assert "Miscalibrated: forecasts are too high" in done.stdout
    stored = json.loads((tmp_path / "audit.json").read_text())
    assert "questions are clusters" in json.dumps(stored)
    named = run("audit", log, "--prediction", "confidence", "--outcome", "correct", "--quiet")
    assert named.stdout.startswith("Miscalibrated")


def test_gate_and_repair_take_logs(tmp_path):
    log = lines_of(tmp_path / "run.jsonl")
    checked = run("check", log)
    assert checked.returncode == 1, checked.stderr
    assert "questions are clusters" in checked.stdout
    fixed = tmp_path / "fixed.parquet"
    repaired = run("repair", log, "--out", str(fixed))
    assert repaired.returncode == 0, repaired.stderr
    assert fixed.exists()


def test_tables_are_read_as_before(tmp_path):
    table = tmp_path / "table.jsonl"
    rows = [{"prediction": 0.5, "outcome": n % 2, "confidence": "90%"} for n in range(50)]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("audit", str(table))
    assert done.returncode == 0, done.stderr
    assert "plain JSON" not in done.stdout
    refused = run("audit", str(table), "--scorer", "match")
    assert refused.returncode == 2
    assert "--scorer is for logs of language models" in refused.stderr
