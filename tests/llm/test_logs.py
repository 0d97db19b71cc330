"""Logs of the real harnesses, and of nobody: what is read, what is told, what is refused."""

from __future__ import annotations

import gzip
import json
import zipfile
from math import exp
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError, ReadingError

LOGS = Path(__file__).parent / "logs"
SUMS = LOGS / "inspect_sums.eval"
(ODD,) = LOGS.glob("lm_eval/*/samples_odd_*.jsonl")
(SPOKEN,) = LOGS.glob("lm_eval/*/samples_spoken_*.jsonl")


def written(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def plain(count=6, **more):
    return [
        {"id": n, "model": "m", "confidence": 0.5 + n / 20, "correct": n % 2 == 0, **more}
        for n in range(count)
    ]


def assert_noted(answers, text):
    assert text in str(answers), str(answers)


def test_a_zipped_log_of_inspect():
    answers = cal.llm.read(SUMS)
    assert answers.columns["question"].tolist() == ["q1", "q1", "q2", "q2", "q3", "q3", "q4", "q4"]
    by_question = dict.fromkeys(answers.columns["question"].tolist())
    assert list(by_question) == ["q1", "q2", "q3", "q4"]
    assert sorted(answers.confidence) == [0.8, 0.85, 0.85, 0.875, 0.9, 0.9, 0.95, 0.97]
    assert answers.correct.sum() == 5
    assert answers.left_out == 2
    assert answers.clusters == "question"
    assert answers.names("model") == ["mockllm/model"]
    assert set(answers.columns["trial"]) == {"1", "2"}
    assert_noted(answers, "1 inspect_ai log")
    assert_noted(answers, "right or wrong by 'match' (10), 'C' = right (7), 'I' = wrong (3)")
    assert_noted(answers, "also there: scorer 'includes'")
    assert_noted(
        answers, "2 answers without a confidence left out (100% of them right, 62% of the others)"
    )
    assert_noted(
        answers, "4 questions tell an observed rate to about 34 points; 2 points take at least"
    )
    assert_noted(answers, "4 of 4 questions answered more than once")


def test_another_scorer_can_be_asked_for():
    first, second = (cal.llm.read(SUMS, scorer=name) for name in ("match", "includes"))
    assert len(first) == len(second)
    assert_noted(second, "also there: scorer 'match'")
    with pytest.raises(InvalidOptionError, match="it has 'match', 'includes'"):
        cal.llm.read(SUMS, scorer="banana")


def test_a_copy_of_a_log_is_counted_once(tmp_path):
    copy = tmp_path / "copy.eval"
    copy.write_bytes(SUMS.read_bytes())
    answers = cal.llm.read([SUMS, copy])
    assert len(answers) == 8
    assert_noted(answers, "is a copy of")


def test_samples_of_two_logs_are_known_by_their_ids(tmp_path):
    log = LOGS / "inspect_letters.json"
    other = tmp_path / "again.json"
    other.write_text(json.dumps(json.loads(log.read_text()), indent=3))
    answers = cal.llm.read([log, other])
    assert len(answers) == 3
    assert_noted(answers, "3 samples found twice and counted once")


def test_partial_credit_needs_a_mark():
    log = LOGS / "inspect_partial.json"
    with pytest.raises(InvalidForecastsError, match=r"1 of 5 between or beyond, such as 0\.5"):
        cal.llm.read(log)
    assert cal.llm.read(log, pass_mark=0.5).correct.tolist() == [1, 1, 1, 0, 1]
    for mark in (float("nan"), float("inf"), "0.5"):
        with pytest.raises(InvalidOptionError, match="pass_mark must be a"):
            cal.llm.read(log, pass_mark=mark)
    strict = cal.llm.read(log, pass_mark=1)
    assert strict.correct.tolist() == [1, 1, 0, 0, 1]
    assert strict.confidence.tolist() == [0.7] * 5
    assert_noted(strict, "scores of 1 or more counted as right (3)")
    assert_noted(strict, "also there: origin 'text'")


def test_letters_of_inspect_are_options():
    log = LOGS / "inspect_letters.json"
    answers = cal.llm.read(log)
    first = 1 / (1 + exp(-2.4) + exp(-3.9))
    second = 1 / (1 + exp(-0.5) + exp(-5.5))
    third = 1 / (1 + exp(-3.45))
    np.testing.assert_allclose(answers.confidence, [first, second, third])
    tokens = cal.llm.read(log, origin="tokens")
    np.testing.assert_allclose(tokens.confidence, np.exp([-0.1, -0.5, -0.05]))
    assert tokens.correct.tolist() == answers.correct.tolist() == [1, 0, 1]


def test_options_of_lm_evaluation_harness():
    lines = [json.loads(line) for line in ODD.read_text().splitlines()]
    answers, per_letter = (
        cal.llm.read(ODD, origin=origin) for origin in ("options", "options_per_letter")
    )
    for index, line in enumerate(lines):
        values = np.array([float(value) for value, _ in line["filtered_resps"]])
        assert answers.confidence[index] == pytest.approx(
            (np.exp(values) / np.exp(values).sum()).max()
        )
        scaled = values / [len(choice) for choice in line["doc"]["choices"]]
        assert per_letter.confidence[index] == pytest.approx(
            (np.exp(scaled) / np.exp(scaled).sum()).max()
        )
        # The harness calls right what the largest value points at.
        assert answers.correct[index] == (values.argmax() == line["doc"]["answer"]) == line["acc"]
        assert per_letter.correct[index] == line["acc_norm"]
    assert answers.names("model") == ["fixed"]
    assert answers.names("task") == ["odd"]
    assert_noted(per_letter, "right or wrong by 'acc_norm,none' (8)")


def options_log(path, metrics):
    """Options of which the shorter is better per letter, the longer as it is."""
    return written(
        path,
        [
            {
                "doc_id": n,
                "filtered_resps": [["-3.0", "False"], ["-2.5", "False"]],
                "arguments": {
                    f"gen_args_{k}": {"arg_0": "?", "arg_1": text}
                    for k, text in enumerate([" a long option", " b"])
                },
                "metrics": list(metrics),
                **metrics,
            }
            for n in range(4)
        ],
    )


PLAIN_WINNER = 1 / (1 + exp(-0.5))
PER_LETTER_WINNER = 1 / (1 + exp(-2.5 + 3 / 13))


def test_a_score_of_options_brings_the_confidence_in_the_option_it_judges(tmp_path):
    log = options_log(tmp_path / "samples_x_2026-01-01T.jsonl", {"acc": 0.0, "acc_norm": 1.0})
    plain, scored, named = (
        cal.llm.read(log),
        cal.llm.read(log, scorer="acc_norm,none"),
        cal.llm.read(log, origin="options_per_letter"),
    )
    np.testing.assert_allclose(plain.confidence, PLAIN_WINNER)
    np.testing.assert_allclose(scored.confidence, PER_LETTER_WINNER)
    assert scored.columns["answer"].tolist() == ["a long option"] * 4
    assert plain.columns["answer"].tolist() == ["b"] * 4
    assert scored.found == named.found
    with pytest.raises(InvalidOptionError, match="must be of the same option"):
        cal.llm.read(log, origin="options", scorer="acc_norm,none")
    alone = options_log(tmp_path / "samples_y_2026-01-01T.jsonl", {"acc_norm": 1.0})
    np.testing.assert_allclose(cal.llm.read(alone).confidence, PER_LETTER_WINNER)
    other = options_log(tmp_path / "samples_z_2026-01-01T.jsonl", {"acc": 0.0, "acc_bytes": 1.0})
    with pytest.raises(InvalidOptionError, match="must be of the same option"):
        cal.llm.read(other, scorer="acc_bytes,none")


def test_options_of_early_releases_are_listed_in_pairs(tmp_path):
    log = options_log(tmp_path / "samples_x_2026-01-01T.jsonl", {"acc": 0.0, "acc_norm": 1.0})
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    pairs = [["?", " a long option"], ["?", " b"]]
    early = written(
        tmp_path / "samples_y_2026-01-01T.jsonl", [line | {"arguments": pairs} for line in lines]
    )
    found = cal.llm.read(early, scorer="acc_norm,none")
    np.testing.assert_allclose(found.confidence, PER_LETTER_WINNER)


def inspected(path, *scores, **more):
    samples = [
        {"id": n, "epoch": 1, "output": {"completion": "x"}, "scores": dict(scores), **more}
        for n in range(3)
    ]
    log = {"eval": {"model": "m", "task": "t"}, "samples": samples}
    path.write_text(json.dumps(log, indent=1))
    return path


def test_the_confidence_of_the_scorer_that_judges_comes_first(tmp_path):
    first = ("first", {"value": "C"})
    second = ("second", {"value": "I", "metadata": {"confidence": 0.6}})
    third = ("third", {"value": {"good": 1, "confidence": 0.7}})
    log = inspected(tmp_path / "a.json", first, second, third)
    answers = cal.llm.read(log)
    assert answers.correct.tolist() == [1] * 3
    assert answers.confidence.tolist() == [0.6] * 3
    assert_noted(
        answers, "confidence from the metadata of scorer 'second', which is not the one that says"
    )
    own = cal.llm.read(log, scorer="third.good")
    assert own.confidence.tolist() == [0.7] * 3
    assert "from the metadata" not in str(own)
    assert cal.llm.read(log, scorer="second").confidence.tolist() == [0.6] * 3
    log = inspected(tmp_path / "b.json", first, second, metadata={"confidence": 0.8})
    assert cal.llm.read(log).confidence.tolist() == [0.8] * 3
    assert cal.llm.read(log, scorer="second").confidence.tolist() == [0.6] * 3
    with pytest.raises(InvalidForecastsError):
        cal.llm.read(inspected(tmp_path / "c.json", first), origin="field")


def test_texts_and_samples_of_lm_evaluation_harness():
    answers = cal.llm.read(SPOKEN)
    assert answers.confidence.tolist() == [0.9] * 8
    assert_noted(answers, "8 rows of other scorers alone left aside")
    assert_noted(answers, "also there: origin 'votes'")
    votes = cal.llm.read(SPOKEN, origin="votes")
    assert votes.confidence.tolist() == [1 / 3] * 8  # yes, no, no: the first was scored
    assert_noted(votes, "shares of 3 answers are too high on average")


def test_several_logs_are_told_apart():
    answers = cal.llm.read([SUMS, ODD])
    assert answers.by == ["model", "task", "origin"]
    assert {name.split(":")[0] for name in answers.columns["question"]} == {"sums", "odd"}
    alone = answers.where(model="fixed")
    assert len(alone) == 8
    with pytest.raises(InvalidForecastsError, match="none of model 'banana'"):
        answers.where(model="banana")


def test_results_without_samples_are_left_out():
    (results,) = LOGS.glob("lm_eval/*/results_*.json")
    assert_noted(cal.llm.read([ODD, results]), "holds results without samples: left out")


def test_events_of_openai_evals(tmp_path):
    lines = [{"spec": {"completion_fns": ["gpt-x"], "eval_name": "sums.dev.v0"}}]
    for n, completion in enumerate(["4. Confidence: 90%", "5. Confidence: 40%"]):
        about = {"run_id": "r", "event_id": n, "sample_id": f"s{n}", "created_by": ""}
        lines += [
            about | {"type": "sampling", "data": {"prompt": "?", "sampled": [completion]}},
            about | {"type": "match", "data": {"correct": n == 0, "picked": completion[0]}},
        ]
    answers = cal.llm.read(written(tmp_path / "log.jsonl", [*lines, {"final_report": {}}]))
    assert answers.confidence.tolist() == [0.9, 0.4]
    assert answers.correct.tolist() == [1, 0]
    assert answers.names("model") == ["gpt-x"]
    assert answers.names("task") == ["sums.dev.v0"]


def test_request_states_of_helm(tmp_path):
    def state(name, completion, logprob):
        references = [
            {"output": {"text": "Paris"}, "tags": ["correct"]},
            {"output": {"text": "Rome"}, "tags": []},
        ]
        return {
            "instance": {"id": name, "input": {"text": "?"}, "references": references},
            "train_trial_index": 0,
            "output_mapping": {"A": "Paris", "B": "Rome"},
            "result": {"completions": [{"text": completion, "logprob": logprob, "tokens": []}]},
        }

    states = [state("id1", " A", -0.1), state("id2", "B", -1.0)]
    log = {"adapter_spec": {"model": "a/b"}, "request_states": states}
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps(log, indent=1))
    answers = cal.llm.read(path)
    np.testing.assert_allclose(answers.confidence, np.exp([-0.1, -1.0]))
    assert answers.correct.tolist() == [1, 0]
    lines = cal.llm.read(written(tmp_path / "states.jsonl", states))
    assert lines.confidence.tolist() == answers.confidence.tolist()
    assert_noted(answers, "right or wrong by 'matches a correct reference' (2)")


def test_plain_lines_say_which_field_means_what(tmp_path):
    answers = cal.llm.read(written(tmp_path / "a.jsonl", plain()))
    assert_noted(
        answers, "confidence from 'confidence', correct from 'correct', question from 'id'"
    )
    np.testing.assert_allclose(answers.confidence, 0.5 + np.arange(6) / 20)
    both = [line | {"stated_confidence": 0.1} for line in plain()]
    path = written(tmp_path / "b.jsonl", both)
    with pytest.raises(InvalidForecastsError, match="'confidence' and 'stated_confidence'"):
        cal.llm.read(path)
    named = cal.llm.read(path, fields={"confidence": "stated_confidence"})
    assert set(named.confidence) == {0.1}
    with pytest.raises(InvalidForecastsError, match="must name fields"):
        cal.llm.read(path, fields={"confidence": "banana"})
    with pytest.raises(InvalidOptionError, match="fields are for plain lines"):
        cal.llm.read(SUMS, fields={"confidence": "x"})


def test_an_index_of_trials_is_a_trial(tmp_path):
    lines = [line | {"trial_index": n} for n in range(2) for line in plain(3)]
    answers = cal.llm.read(written(tmp_path / "a.jsonl", lines))
    assert answers.columns["trial"].tolist() == ["0"] * 3 + ["1"] * 3
    assert "repeat question, model and trial" not in str(answers)


def test_ids_are_one_question_as_numbers_and_as_text(tmp_path):
    lines = [line | {"id": name} for line, name in zip(plain(4), [1, "1", 1.0, 1.5], strict=True)]
    answers = cal.llm.read(written(tmp_path / "a.jsonl", lines))
    assert answers.columns["question"].tolist() == ["1", "1", "1", "1.5"]


def test_an_answer_without_an_id_shares_no_question(tmp_path):
    lines = [line | {"id": name} for line, name in zip(plain(3), ["row 2", None, ""], strict=True)]
    answers = cal.llm.read(written(tmp_path / "a.jsonl", lines))
    assert len(set(answers.columns["question"])) == 3
    assert answers.clusters is None


def test_formats_may_be_mixed_in_one_file(tmp_path):
    lines = plain(5)
    for line, stated in zip(lines, ["90%", 0.9, "9/10", "about 90 percent", None], strict=True):
        line["confidence"] = stated
    lines[0]["correct"], lines[1]["correct"] = "C", "incorrect"
    answers = cal.llm.read(written(tmp_path / "a.jsonl", lines))
    assert answers.confidence.tolist() == [0.9] * 4
    assert answers.correct.tolist() == [1, 0, 1, 0]
    assert_noted(answers, "nothing stated (1)")
    lines[1]["confidence"] = 90
    with pytest.raises(InvalidForecastsError, match="1 of 1 bare number above 1, such as 90"):
        cal.llm.read(written(tmp_path / "b.jsonl", lines))


def test_missing_and_strange_scores_are_left_out_and_told(tmp_path):
    lines = plain(6)
    lines[0]["correct"], lines[1]["correct"] = None, "banana"
    del lines[2]["correct"]
    answers = cal.llm.read(written(tmp_path / "a.jsonl", lines))
    assert len(answers) == 3
    assert_noted(answers, "3 answers without a score left out")
    assert_noted(answers, "'banana' = missing (1)")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("Y", "N"), ("T", "F"), ("correct", "wrong"), ("right", "incorrect"), ("passed", "failed")],
)
def test_words_of_a_scale_are_known_together(tmp_path, right, wrong):
    lines = plain(4)
    for line, word in zip(lines, [right, wrong, right, right], strict=True):
        line["correct"] = word
    assert cal.llm.read(written(tmp_path / "a.jsonl", lines)).correct.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("known", ["correct", "incorrect", True])
def test_half_a_scale_of_words_is_refused(tmp_path, known):
    """Left out as missing, answers of the other word would make all of them right, or wrong."""
    lines = plain(4)
    for line, word in zip(lines, [known, "banana", known, "banana"], strict=True):
        line["correct"] = word
    with pytest.raises(InvalidForecastsError, match=r"'banana' beside 2 scores of"):
        cal.llm.read(written(tmp_path / "a.jsonl", lines))
    for line in lines[1::2]:
        line["correct"] = "N/A"
    assert len(cal.llm.read(written(tmp_path / "b.jsonl", lines))) == 2


def test_rows_that_look_alike_are_kept_and_told(tmp_path):
    answers = cal.llm.read(written(tmp_path / "a.jsonl", plain(4) + plain(2)))
    assert len(answers) == 6
    assert_noted(
        answers, "2 rows repeat question, model and trial of another: kept as further trials"
    )


def test_trials_vote_where_nothing_states_a_confidence(tmp_path):
    given_answers = {"q1": ["Paris", "paris.", "Rome"], "q2": ["4", "5", "6"]}
    lines = [
        {"qid": q, "answer": answer, "correct": answer.lower().startswith(("paris", "4"))}
        for q, answers in given_answers.items()
        for answer in answers
    ]
    answers = cal.llm.read(written(tmp_path / "a.jsonl", lines))
    assert answers.confidence.tolist() == [2 / 3, 1 / 3]
    assert answers.correct.tolist() == [1, 1]
    assert_noted(answers, "2 questions with 3 answers each")
    assert_noted(answers, "1 tie, the first in the alphabet won")
    again = cal.llm.read(written(tmp_path / "b.jsonl", lines[::-1]))
    assert sorted(again.confidence) == sorted(answers.confidence)
    assert again.correct.tolist() == [1, 1]
    with pytest.raises(InvalidForecastsError, match="logs must hold a confidence"):
        cal.llm.read(written(tmp_path / "c.jsonl", lines[::3]))


def sampled(count, times, **more):
    return [
        {"qid": n, "answer": "ab"[t % 2], "correct": t % 2 == 0, **more}
        for n in range(count)
        for t in range(times)
    ]


@pytest.mark.parametrize("origin", [None, "votes"])
@pytest.mark.parametrize("unnamed", [{}, {"qid": None}, {"qid": ""}])
def test_answers_without_an_id_of_the_question_do_not_vote(tmp_path, origin, unnamed):
    lines = [
        {"task": f"t{n % 3}", "answer": "ab"[n % 2], "correct": n % 5 < 2, **unnamed}
        for n in range(60)
    ]
    with pytest.raises(InvalidForecastsError, match="no id of the question"):
        cal.llm.read(written(tmp_path / "a.jsonl", lines), origin=origin)
    answers = cal.llm.read(written(tmp_path / "b.jsonl", lines + sampled(2, 3)), origin=origin)
    assert answers.confidence.tolist() == [2 / 3] * 2
    assert answers.left_out == 60
    assert "each counts as a question of its own" not in str(answers)


def test_answers_that_state_a_confidence_vote_only_with_an_id(tmp_path):
    lines = [line | {"id": None} for line in plain(9)]
    path = written(tmp_path / "a.jsonl", lines)
    assert len(cal.llm.read(path)) == 9
    with pytest.raises(InvalidForecastsError, match="got no id of the question"):
        cal.llm.read(path, origin="votes")


def test_one_answer_is_no_vote(tmp_path):
    path = written(tmp_path / "a.jsonl", sampled(2, 3) + sampled(1, 1, task="other"))
    answers = cal.llm.read(path)
    assert answers.confidence.tolist() == [2 / 3] * 2
    assert_noted(answers, "1 answer without a confidence left out")


def test_prompts_and_runs_vote_apart_and_trials_together(tmp_path):
    prompts = sampled(4, 3, prompt_id="x") + sampled(4, 5, prompt_id="y")
    answers = cal.llm.read(written(tmp_path / "a.jsonl", prompts))
    assert answers.columns["prompt"].tolist() == ["x"] * 4 + ["y"] * 4
    assert answers.confidence.tolist() == [2 / 3] * 4 + [3 / 5] * 4
    runs = [written(tmp_path / f"{n}.jsonl", sampled(4, n)) for n in (3, 5)]
    assert cal.llm.read(runs).names("file") == ["3.jsonl", "5.jsonl"]
    cities = ["Paris", "Paris", "Rome"]
    trials = [
        written(tmp_path / f"{n}.jsonl", [{"qid": 1, "trial": n, "answer": a, "correct": a < "R"}])
        for n, a in enumerate(cities)
    ]
    together = cal.llm.read(trials)
    assert together.confidence.tolist() == [2 / 3]
    assert together.names("file") == []


def test_unicode_huge_lines_and_packed_files(tmp_path):
    lines = plain(3, question="ü😀" * 2_000_000)
    for line in lines:
        del line["id"]
    path = written(tmp_path / "a.jsonl", lines)
    answers = cal.llm.read(path)
    assert len(set(answers.columns["question"])) == 1
    assert len(answers.columns["question"][0]) < 200
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert cal.llm.read(packed).confidence.tolist() == answers.confidence.tolist()


@pytest.mark.parametrize("text", ["", "[]", "{", "[1]", "{}\n[1]\n", '{"a": 1}\n{"b"\n'])
def test_what_is_no_log_is_refused(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises((InvalidForecastsError, ReadingError)):
        cal.llm.read(path)


def test_a_zip_of_something_else_is_refused(tmp_path):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("x.txt", "x")
    with pytest.raises(InvalidForecastsError, match="a zip must be a log of inspect_ai"):
        cal.llm.read(path)
    path.write_bytes(SUMS.read_bytes()[:-100])
    with pytest.raises(ReadingError, match="must be a whole zip"):
        cal.llm.read(path)


def test_an_audit_takes_answers(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        {"id": n, "model": model, "confidence": "90%", "correct": bool(rng.random() < 0.7)}
        for n in range(300)
        for model in ("a", "b")
    ]
    answers = cal.llm.read(written(tmp_path / "a.jsonl", lines))
    audit = cal.audit(answers, draws=99)
    assert audit.verdict.state == "miscalibrated"
    assert {g.name for g in audit.groups} == {"a", "b"}
    assert "questions are clusters" in " ".join(audit.summary.data.notes)
    same = cal.audit(
        answers.correct,
        answers.confidence,
        by={"model": answers.columns["model"]},
        clusters=answers.columns["question"],
        draws=99,
    )
    assert str(same.verdict) == str(audit.verdict)
    with pytest.raises(InvalidForecastsError, match="no such column"):
        cal.audit(answers, by=["banana"])


def test_a_table_of_answers_is_written_whole(tmp_path):
    answers = cal.llm.read(SUMS)
    answers.to_parquet(tmp_path / "rows.parquet")
    audit = cal.audit(
        str(tmp_path / "rows.parquet"), prediction="confidence", outcome="correct", draws=99
    )
    assert audit.measures["smooth_calibration_error"] == cal.smooth_calibration_error(
        answers.correct, answers.confidence
    )
