"""Prompts and difficulties: as a log has them, or by the other answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError
from calibrant.llm.answers import by_the_others


def written(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(n, model="m", **more):
    return {"id": n, "model": model, "confidence": 0.8, "correct": n % 3 > 0} | more


def test_what_a_log_says_divides_the_rows_and_is_told(tmp_path):
    lines = [line(n, prompt_id="ab"[n % 2], difficulty=["easy", "hard"][n > 30]) for n in range(60)]
    answers = cal.llm.read(written(tmp_path / "run.jsonl", lines))
    assert answers.by == ["prompt", "difficulty"]
    assert "prompt as the log has it: a, b" in str(answers)
    assert "difficulty as the log has it: easy, hard" in str(answers)
    found = cal.audit(answers, draws=99)
    assert {group.name for group in found.groups} == {"a", "b", "easy", "hard"}
    partly = cal.llm.read(written(tmp_path / "b.jsonl", [*lines, line(99)]))
    assert "easy, hard; 1 answer without" in str(partly)


def test_many_numbers_are_cut_rather_than_named(tmp_path):
    lines = [line(n, difficulty=n / 200) for n in range(200)] + [line(999)]
    answers = cal.llm.read(written(tmp_path / "run.jsonl", lines))
    assert answers.columns["difficulty"].dtype == float
    assert "difficulty as the log has it, a number from 0 to 0.995" in str(answers)
    assert len(cal.audit(answers, draws=99).groups) < 10
    answers.to_parquet(tmp_path / "rows.parquet")


def test_harness_logs_name_them_too(tmp_path):
    about = {"eval": {"task": "t", "model": "m", "task_args": {"prompt_id": "short"}}}
    samples = [
        {"id": n, "epoch": 1, "metadata": {"level": n % 2, "confidence": 0.9}}
        | {"scores": {"match": {"value": "C"}}, "output": {}}
        for n in range(6)
    ]
    log = tmp_path / "log.json"
    log.write_text(json.dumps(about | {"samples": samples}))
    answers = cal.llm.read(log)
    assert answers.columns["difficulty"].tolist() == ["0", "1"] * 3
    assert set(answers.columns["prompt"]) == {"short"}


def test_no_row_has_a_say_in_its_own_group():
    rng = np.random.default_rng(0)
    question = rng.integers(0, 30, 150).astype(str)
    correct = rng.integers(0, 2, 150)
    names, _ = by_the_others(question, correct)
    for row in range(150):
        others = correct[(question == question[row]) & (np.arange(150) != row)]
        if not others.size:
            expected = "answered once"
        elif others.mean() <= 1 / 3 + 1e-12:
            expected = "hard"
        else:
            expected = "easy" if others.mean() >= 2 / 3 - 1e-12 else "middling"
        assert names[row] == expected
        changed = correct.copy()
        changed[row] ^= 1
        assert by_the_others(question, changed)[0][row] == names[row]


def test_it_is_used_on_request_and_told(tmp_path):
    lines = [
        line(n, model=m, correct=(n * (at + 1)) % 7 > 2)
        for n in range(60)
        for at, m in enumerate("abc")
    ]
    answers = cal.llm.read(written(tmp_path / "run.jsonl", lines))
    assert answers.by == ["model"]
    found = cal.audit(answers, by=["model", "difficulty"], draws=99)
    assert {group.name for group in found.groups} == {"a", "b", "c", "easy", "middling", "hard"}
    assert "the share of the other answers to the same question" in found.to_text()
    alone = cal.llm.read(written(tmp_path / "one.jsonl", [line(n) for n in range(60)]))
    with pytest.raises(InvalidForecastsError, match="one answer to each question"):
        cal.audit(alone, by=["difficulty"])
