"""Logs with broken bytes, strange values and missing parts: read, or refused with the place."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import zipfile
from pathlib import Path

import pytest

import calibrant as cal
from calibrant.errors import CalibrantError, InvalidForecastsError, ReadingError
from calibrant.llm import are_logs
from calibrant.llm.opening import Archive

LOGS = Path(__file__).parent / "logs"
STRANGE = [
    *(None, True, False, 0, 1, -1, 0.5, 1.5, -0.0, 1e308, 2**63, 10**400, -(10**400)),
    *(float("nan"), float("inf"), "", "x", "0.9", "90%", "\ud800", "a\x00b", "C", "nan", "1e999"),
    *("9" * 500, "true", "True", [], [None], [[]], [1, 2], {}, {"a": 1}, {"": None}, [{}]),
    *({"confidence": {}}, [["-1.0", "True"], ["x", "False"]]),
]
BYTES = [b'"', b"{", b"[", b"\n", b"1" * 400, b"[" * 3000, b"\x00", b"\\ud800", b"\xff"]


def state(name, completion, logprob):
    references = [{"output": {"text": "Paris"}, "tags": ["correct"]}]
    return {
        "instance": {"id": name, "input": {"text": "?"}, "references": references},
        "train_trial_index": 0,
        "output_mapping": {"A": "Paris", "B": "Rome"},
        "request": {"model": "m"},
        "result": {"completions": [{"text": completion, "logprob": logprob, "tokens": []}]},
    }


def logs():
    """Lines and documents of every kind of log."""
    plain = [
        {"id": n, "task": "t", "trial": 1, "confidence": ["90%", 0.9, "likely"][n % 3]}
        | {"correct": n % 2 == 0, "answer": "x", "prompt_id": "p", "difficulty": n, "model": "m"}
        for n in range(6)
    ]
    votes = [{"qid": n % 2, "answer": "ab"[n % 3 % 2], "correct": n % 2 == 0} for n in range(8)]
    events = [{"spec": {"completion_fns": ["gpt-x"], "eval_name": "s"}}]
    for n, completion in enumerate(["4. Confidence: 90%", "5. Confidence: 40%"]):
        about = {"run_id": "r", "event_id": n, "sample_id": f"s{n}"}
        events.append(about | {"type": "sampling", "data": {"sampled": [completion]}})
        events.append(
            about | {"type": "match", "data": {"correct": n == 0, "picked": completion[0]}}
        )
    states = [state("id1", " A", -0.1), state("id2", "B", -1.0)]
    harness = [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(LOGS.glob("lm_eval/*/samples*.jsonl"))
    ]
    inspected = [json.loads(path.read_text()) for path in sorted(LOGS.glob("*.json"))]
    lines = [plain, votes, events, states, *harness]
    documents = [*inspected, {"adapter_spec": {"model": "a"}, "request_states": states}, plain]
    return [(".jsonl", log) for log in lines] + [(".json", log) for log in documents]


def paths(value, path=()):
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    return [path, *(position for key, part in inside for position in paths(part, (*path, key)))]


def changed(value, chance):
    """Replace, remove or rename a few values of a log."""
    value = copy.deepcopy(value)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        path = chance.choice(paths(value)[1:] or [()])
        if not path:
            continue
        inside = value
        for key in path[:-1]:
            inside = inside[key]
        deed = chance.random()
        if deed < 0.6:
            inside[path[-1]] = copy.deepcopy(chance.choice(STRANGE))
        elif deed < 0.85 or isinstance(inside, list):
            del inside[path[-1]]
        else:
            inside[chance.choice(["confidence", "score", "id", "value"])] = inside.pop(path[-1])
    return value


def broken(data, chance):
    """Change a few bytes."""
    data = bytearray(data)
    for _ in range(chance.choice([1, 2, 5, 20])):
        position, deed = chance.randrange(len(data) + 1), chance.random()
        if deed < 0.6:
            data[position : position + 1] = bytes([chance.randrange(256)])
        elif deed < 0.8:
            del data[position : position + chance.randrange(1, 40)]
        else:
            data[position:position] = chance.choice(BYTES)
    return bytes(data)


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, value in members.items():
            packed.writestr(name, json.dumps(value))
    return stream.getvalue()


def hostile(chance, whole, members, known):
    """Return the ending and the bytes of a log that something happened to."""
    kind = chance.random()
    if kind < 0.04:
        return ".eval", broken(whole, chance)
    if kind < 0.2:
        member = chance.choice(sorted(members))
        return ".eval", zipped(members | {member: changed(members[member], chance)})
    ending, log = chance.choice(known)
    log = changed(log, chance) if kind < 0.8 else log
    lines = ending == ".jsonl" and isinstance(log, list)
    data = "\n".join(map(json.dumps, log)) if lines else json.dumps(log)
    data = data.encode() if 0.3 < kind < 0.8 else broken(data.encode(), chance)
    if chance.random() > 0.1:
        return ending, data
    data = gzip.compress(data)
    return f"{ending}.gz", broken(data, chance) if kind < 0.5 else data


def test_nothing_but_errors_on_purpose_escapes(tmp_path):
    chance, known = random.Random(0), logs()  # noqa: S311
    whole = (LOGS / "inspect_sums.eval").read_bytes()
    archive = Archive(str(LOGS / "inspect_sums.eval"))
    members = dict(archive._objects(list(archive.members)))
    options = [None, None, None, "votes", "text", "tokens", "options_per_letter"]
    read = refused = 0
    for _ in range(2000):
        ending, data = hostile(chance, whole, members, known)
        path = tmp_path / f"a{ending}"
        path.write_bytes(data)
        marks = {"pass_mark": chance.choice([None, 0.5]), "scale": chance.choice([None, "mixed"])}
        try:
            are_logs((str(path),), "prediction", "outcome")
            answers = cal.llm.read(path, origin=chance.choice(options), **marks)
            if chance.random() < 0.05:
                answers.to_parquet(tmp_path / "rows.parquet")
        except CalibrantError:
            refused += 1
        else:
            read += 1
            assert ((answers.confidence >= 0) & (answers.confidence <= 1)).all()
            assert set(answers.correct.tolist()) <= {0, 1}
    assert read > 300
    assert refused > 300


def test_what_is_nested_too_deeply_is_refused_with_its_line(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    line = '{"question_id": 1, "confidence": 0.5, "correct": true, "x": %s}\n'
    lines = tmp_path / "a.jsonl"
    lines.write_text(line % deep)
    with pytest.raises(InvalidForecastsError, match=r"nested so deeply.* line 1 of a\.jsonl"):
        are_logs((str(lines),), "prediction", "outcome")
    lines.write_text(line % "0" + line % deep)
    with pytest.raises(InvalidForecastsError, match=r"nested so deeply.* line 2 of a\.jsonl"):
        cal.llm.read(lines)
    document = tmp_path / "a.json"
    document.write_text(f'{{"eval": {deep}}}')
    with pytest.raises(InvalidForecastsError, match=r"nested so deeply.* a\.json"):
        cal.llm.read(document)
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as packed:
        packed.writestr("header.json", "{}")
        packed.writestr("samples/1.json", deep)
    with pytest.raises(InvalidForecastsError, match=r"nested so deeply.* samples/1\.json of a\."):
        cal.llm.read(tmp_path / "a.eval")


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_beyond_all_floats_are_outside_0_to_1(tmp_path, sign):
    log = tmp_path / "a.jsonl"
    line = '{"question_id": %d, "confidence": %s, "correct": %s}\n'
    huge = sign + "1" + "0" * 400
    log.write_text(line % (1, huge, "true") + line % (2, "0.5", "true"))
    answers = cal.llm.read(log)
    assert answers.confidence.tolist() == [0.5]
    assert "a value outside 0 to 1 (1)" in str(answers)
    log.write_text(line % (1, "0.5", huge))
    with pytest.raises(InvalidForecastsError, match=rf"1 of 1 .* such as {sign}inf"):
        cal.llm.read(log)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"instance": 5, "result": {}}, "'instance' must be an object of JSON, got line 3 of a"),
        (state("q", "A", "x"), "'logprob' must be a number, got line 3 of a.jsonl with 'x'"),
        (state("q", "A", True), "'logprob' must be a number, got line 3 of a.jsonl with True"),
    ],
)
def test_the_line_of_a_misshapen_part_is_named(tmp_path, line, words):
    log = tmp_path / "a.jsonl"  # the second line is blank
    log.write_text(f"{json.dumps(state('p', 'A', -0.1))}\n\n{json.dumps(line)}\n")
    with pytest.raises(InvalidForecastsError) as caught:
        cal.llm.read(log)
    assert words in str(caught.value)


def test_a_packed_file_that_was_cut_off_is_named(tmp_path):
    line = b'{"id": 1, "confidence": 0.5, "correct": true}\n'
    log = tmp_path / "a.jsonl.gz"
    log.write_bytes(gzip.compress(line * 1000)[:-20])
    with pytest.raises(ReadingError, match=r"a\.jsonl\.gz"):
        cal.llm.read(log)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_options_without_a_probability_have_no_confidence(tmp_path, odd):
    resps = [[["-1.0", "False"], ["-2.0", "False"]], [[odd, "False"], [-2.0, "False"]]]
    log = tmp_path / "a.jsonl"
    log.write_text(
        "".join(
            json.dumps({"doc_id": n, "filtered_resps": pairs, "metrics": ["acc"], "acc": 1.0})
            + "\n"
            for n, pairs in enumerate(resps)
        )
    )
    answers = cal.llm.read(log)
    assert len(answers) == 1
    assert answers.left_out == 1
