"""Logs of language models on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from commands import run

LOGS = Path(__file__).parents[1] / "llm" / "logs"


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
    done = run("llm", str(LOGS / "inspect_sums.eval"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "also there: scorer 'includes'" in done.stdout
    assert "2 of 10 confidences could not be read and are missing" in done.stdout
    again = run("audit", str(out), "--prediction", "confidence", "--outcome", "correct", "--quiet")
    assert again.returncode == 0, again.stderr
    content = out.read_bytes()
    twice = run("llm", str(LOGS / "inspect_sums.eval"), "--out", str(out))
    assert twice.returncode == 2
    assert "--force replaces it" in twice.stderr
    assert out.read_bytes() == content
    forced = run("llm", str(LOGS / "inspect_sums.eval"), "--out", str(out), "--force")
    assert forced.returncode == 0, forced.stderr
    refused = run("llm", str(LOGS / "inspect_partial.json"))
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
    assert "No threshold: an error of at most 5 %" in " ".join(done.stdout.split())
    assert "By group: none for 2 of 2 groups." in done.stdout
    assert set(stored["certified"]["groups"]) == {"a", "b"}
    named = run("audit", log, "--prediction", "confidence", "--outcome", "correct", "--quiet")
    assert named.stdout.startswith("Miscalibrated")


def test_gate_and_repair_take_logs(tmp_path):
    log = lines_of(tmp_path / "run.jsonl")
    checked = run("check", log)
    assert checked.returncode == 1, checked.stderr
    assert "questions are clusters" in checked.stdout
    fixed = tmp_path / "fixed.parquet"
    recalibrated = run("recalibrate", log, "--out", str(fixed))
    assert recalibrated.returncode == 0, recalibrated.stderr
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


def test_two_models_are_compared_question_by_question(tmp_path):
    log = lines_of(tmp_path / "run.jsonl")
    done = run("compare", log, "--json", str(tmp_path / "found.json"))
    assert done.returncode == 0, done.stderr
    assert (
        "b is right more often than a: a 54.2 %, b 62.3 %, difference +8.0 points (" in done.stdout
    )
    assert "note: 400 questions answered by both" in done.stdout
    stored = json.loads((tmp_path / "found.json").read_text())
    assert stored["first"] == "a"
    assert [one["measure"] for one in stored["comparisons"]] == [
        "error_rate",
        "smooth_calibration_error",
        "brier_score",
    ]
    judged = run("compare", log, "--models", "b,a", "--max-worse", "0.2", "--quiet")
    assert judged.returncode == 0, judged.stderr
    assert judged.stdout.count("\n") == 1
    unnamed = run("compare", log, "--max-worse", "0.2")
    assert "--models OLD,NEW" in unnamed.stderr
    keyed = run("compare", log, "--key", "id")
    assert "--key is for tables" in keyed.stderr
    text = run("audit", log).stdout
    assert "note: which of the two models is better, question by question" in text


def test_numbers_of_two_scales_are_read_by_every_command(tmp_path):
    rows = [
        {"id": n, "confidence": 90 if n % 2 else 0.9, "correct": n % 10 != 0} for n in range(200)
    ]
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = run("audit", str(log))
    assert refused.returncode == 2
    assert "--scale 'mixed'" in refused.stderr
    for command in ("audit", "check", "recalibrate"):
        done = run(command, str(log), "--scale", "mixed")
        assert done.returncode in {0, 1, 3}, done.stderr
        assert "bare numbers above 1 were read as per cent (100)" in done.stdout
    table = tmp_path / "table.csv"
    table.write_text("prediction,outcome\n0.5,1\n0.5,0\n")
    refused = run("audit", str(table), "--scale", "mixed")
    assert "--scale mixed is for logs of language models" in refused.stderr


def test_a_hint_names_a_field_as_the_option_takes_it(tmp_path):
    rows = [{"id": n, "prob": 0.5, "probability": 0.9, "correct": n % 2} for n in range(60)]
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = run("llm", str(log))
    assert "--field confidence=probability" in refused.stderr
    assert run("llm", str(log), "--field", "confidence=probability").returncode == 0


def test_an_audit_says_from_which_confidence_on_to_answer(tmp_path):
    rng = np.random.default_rng(1)
    rows = [
        {
            "id": n,
            "model": m,
            "confidence": sure,
            "correct": bool(rng.random() < good ** (sure < 0.9)),
        }
        for n in range(300)
        for m, good in (("a", 0.8), ("b", 0.9))
        for sure in [float(rng.choice([0.7, 0.95]))]
    ]
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("audit", str(log), "--html", str(tmp_path / "page.html"))
    text = " ".join(done.stdout.split())
    assert "Answer at 0.95 and above: error at most 5 % with 95 % confidence" in text
    assert "By group: a 0.95 (" in text
    page = (tmp_path / "page.html").read_text()
    assert "<li>a: Answer at 0.95 and above" in page


def test_repair_patches_models_that_differ_and_says_how_few_questions_tell(tmp_path):
    rng = np.random.default_rng(2)
    rows = [
        {"id": n, "model": m, "confidence": sure, "correct": bool(rng.random() < sure - off)}
        for n in range(500)
        for m, off in (("a", 0.35), ("b", 0.0))
        for sure in [float(rng.choice([0.6, 0.7, 0.8, 0.9]))]
    ]
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(
        "recalibrate", str(log), "--by", "model", "--calibrator", str(tmp_path / "calibrator.json")
    )
    assert done.returncode == 0, done.stderr
    assert "patches for groups on top of" in " ".join(done.stdout.split())
    assert "model a" in done.stdout
    assert "note: 500 questions tell an observed rate to about 4.3 points" in done.stdout
    alone = run(
        "recalibrate", str(log), "--field", "task=model", "--calibrator", str(tmp_path / "one.json")
    )
    assert alone.returncode == 0, alone.stderr
    stored = json.loads((tmp_path / "calibrator.json").read_text())
    assert "model" in json.dumps(stored)


def test_a_log_that_cannot_be_read_ends_with_2(tmp_path):
    log = tmp_path / "run.jsonl"
    line = '{"question_id": 1, "confidence": %s, "correct": true, "x": %s}\n'
    log.write_text(line % ("0.5", "[" * 100_000 + "]" * 100_000))
    for command in ("llm", "audit", "check", "recalibrate", "compare"):
        done = run(command, str(log))
        assert done.returncode == 2, (command, done.stderr)
        assert "line 1 of run.jsonl" in done.stderr
    log.write_text(line % ("1" + "0" * 400, "0"))
    done = run("audit", str(log))
    assert done.returncode == 2, done.stderr
    assert "confidences must be numbers or statements" in done.stderr


ALL = ("audit", "check", "recalibrate", "compare")


@pytest.mark.parametrize(
    ("option", "commands"),
    {
        "--weight": ALL,
        "--pos-label": ALL,
        "--neg-label": ALL,
        "--na-label": ALL,
        "--na": ALL,
        "--time": ("audit", "recalibrate"),
        "--count": ALL[:3],
        "--positives": ALL[:3],
        "--prediction-sum": ALL[:3],
        "--classes": ALL[:3],
    }.items(),
)
def test_options_of_tables_are_refused_for_logs(tmp_path, option, commands):
    log = lines_of(tmp_path / "run.jsonl", 30)
    for command in commands:
        extra = ["--pos-label", "1"] if option in {"--neg-label", "--na-label"} else []
        done = run(command, log, option, "drop" if option == "--na" else "id", *extra)
        assert done.returncode == 2, (command, done.stdout)
        assert "is for tables, got a log" in done.stderr, (command, done.stderr)


@pytest.mark.parametrize("command", ALL)
def test_fields_that_are_named_must_be_there_whatever_they_are_called(tmp_path, command):
    log = lines_of(tmp_path / "run.jsonl", 30)
    for name in ("outcome", "nosuch"):
        done = run(command, log, "--outcome", name)
        assert done.returncode == 2, done.stdout
        assert repr(name) in done.stderr


def test_grades_are_suggested_as_what_is_right(tmp_path):
    grades = ["CORRECT", "INCORRECT", "NOT_ATTEMPTED"]
    rows = [{"id": n, "confidence": 0.9, "grade": grades[n % 3]} for n in range(60)]
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command in ("llm", "audit"):
        assert "name it, --field correct=grade" in run(command, str(log)).stderr
    done = run("llm", str(log), "--field", "correct=grade")
    assert "'CORRECT' = right (20), 'INCORRECT' = wrong (20), 'NOT_ATTEMPTED' = missing (20)" in (
        done.stdout
    )
    assert run("audit", str(log), "--field", "correct=grade", "--quiet").returncode == 0


def test_options_of_logs_make_lines_without_a_prediction_a_log(tmp_path):
    rows = [{"qid": n // 3, "answer": "ab"[n % 3 == 0], "correct": n % 2} for n in range(60)]
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("audit", str(log), "--origin", "votes")
    assert done.returncode == 0, done.stderr
    assert "20 questions with 3 answers each" in done.stdout


def test_the_conclusion_comes_first_and_lines_are_wrapped(tmp_path):
    done = run("audit", lines_of(tmp_path / "run.jsonl"))
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Miscalibrated: ")
    assert max(len(line) for line in lines if not line.startswith("calibrant ")) <= 100
    notes = [n for n, line in enumerate(lines) if line.startswith("note: ")]
    assert notes[0] > next(n for n, line in enumerate(lines) if line.startswith("Brier score "))
    assert "questions are clusters" in " ".join(lines[notes[0] :])
