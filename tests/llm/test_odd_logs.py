"""Odd logs: each is refused, or read with a sentence that says what was made of it."""

from __future__ import annotations

import json

import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError

PLAIN = [
    {"id": n, "model": "m", "confidence": 0.5 + n % 5 / 10, "correct": n % 3 > 0}
    for n in range(120)
]
HARNESS = {
    "doc_id": 0,
    "filtered_resps": ["x"],
    "resps": [["x Confidence: 80%"]],
    "metrics": ["acc"],
    "acc": 1.0,
}


def written(folder, *lines, name="run.jsonl", end=""):
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + end)
    return path


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([HARNESS, *PLAIN], "line 2 of run.jsonl without 'filtered_resps'"),
        (
            [{"spec": {}}, {"type": "match", "sample_id": 1, "data": {"correct": True}}, *PLAIN],
            "line 3 of run.jsonl without 'spec' or 'type'",
        ),
        ([{"instance": {}, "result": {}}, *PLAIN], "line 2 of run.jsonl without 'instance'"),
        (
            [*PLAIN, {"id": 0, "confidence": 0.9, "is_correct": True}],
            "line 121 of run.jsonl with 'is_correct' instead of 'correct'",
        ),
        (
            [*PLAIN, {"id": 0, "stated_confidence": 0.9, "correct": True}],
            "line 121 of run.jsonl with 'stated_confidence' instead of 'confidence'",
        ),
        ([{"id": n, "confidence": n % 2 == 0, "correct": 1} for n in range(9)], "'True', 'False'"),
        ([{"id": n, "confidence": {"v": 1}, "correct": 1} for n in range(9)], "{'v': 1}"),
        ([{"id": n, "confidence": 7 + n % 4, "correct": 1} for n in range(9)], "out of ten"),
        ([line | {"correct": "CIP"[n % 3]} for n, line in enumerate(PLAIN)], "pass_mark"),
        ([line | {"correct": n % 3} for n, line in enumerate(PLAIN)], "such as 2"),
    ],
)
def test_what_would_be_a_guess_is_refused(tmp_path, lines, words):
    with pytest.raises(InvalidForecastsError) as caught:
        cal.llm.read(written(tmp_path, *lines))
    assert words in str(caught.value)


def test_a_line_that_was_cut_off_is_named(tmp_path):
    log = written(tmp_path, *PLAIN, end='{"id": 121, "conf')
    with pytest.raises(InvalidForecastsError, match=r"line 121 .* ends within a line"):
        cal.llm.read(log)
    inside = tmp_path / "inside.jsonl"
    inside.write_text(json.dumps(PLAIN[0]) + "\n{]\n" + json.dumps(PLAIN[1]) + "\n")
    with pytest.raises(InvalidForecastsError, match="line 2") as caught:
        cal.llm.read(inside)
    assert "ends within" not in str(caught.value)
    two = tmp_path / "two.jsonl"
    two.write_text(f"{json.dumps(PLAIN[0])} {json.dumps(PLAIN[1])}\n{json.dumps(PLAIN[2])}\n")
    with pytest.raises(InvalidForecastsError):
        cal.llm.read(two)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": None}, "120 answers without an id of the question: each counts as a question"),
        ({"id": ""}, "120 answers without an id of the question: each counts as a question"),
        ({"confidence": 1}, "120 times a bare 1 was read as certainty"),
        ({"id": {"set": "a"}}, "1 of 1 question answered more than once"),
    ],
)
def test_what_is_read_is_told(tmp_path, change, words):
    assert words in str(cal.llm.read(written(tmp_path, *(line | change for line in PLAIN))))


@pytest.mark.parametrize("other", ["GPT-4", "openai/gpt-4", "gpt-4 ", "gpt_4"])
def test_two_spellings_of_a_model_are_told(tmp_path, other):
    lines = [line | {"model": ("gpt-4", other)[line["id"] % 2]} for line in PLAIN]
    answers = cal.llm.read(written(tmp_path, *lines))
    assert "look like one, and are kept apart" in str(answers)
    assert len(answers.names("model")) == 2
    apart = [line | {"model": ("gpt-4", "gpt-4o")[line["id"] % 2]} for line in PLAIN]
    assert "look like one" not in str(cal.llm.read(written(tmp_path, *apart)))


def test_a_copy_of_plain_lines_is_read_once(tmp_path):
    files = [written(tmp_path, *PLAIN, name=name) for name in ("a.jsonl", "b.jsonl")]
    answers = cal.llm.read(files)
    assert len(answers) == 120
    assert "b.jsonl is a copy of a.jsonl: read once" in str(answers)
    again = written(tmp_path, *PLAIN, name="c.jsonl", end="\n")
    answers = cal.llm.read([files[0], again])
    assert len(answers) == 240
    assert "120 rows repeat question, model and trial of another" in str(answers)
