"""Two models on the same questions: what is paired, what is compared, what is told."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InferenceRefusedError, InvalidForecastsError, InvalidOptionError
from calibrant.inference.comparison import compare_on_units


def rows(count=300, seed=0, *, trials=1, models=("small", "large")):
    rng = np.random.default_rng(seed)
    found = []
    for n in range(count):
        luck = rng.random()
        for model, skill in zip(models, (0.6, 0.8, 0.7), strict=False):
            for trial in range(trials):
                sure = float(rng.choice([0.6, 0.8, 0.95]))
                right = bool((luck if rng.random() < 0.5 else rng.random()) < skill)
                found.append(
                    {"id": f"q{n}", "model": model, "trial": trial, "confidence": sure}
                    | {"correct": right}
                )
    return found


def read(path, lines, **options):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return cal.llm.read(path, **options)


def test_values_are_those_of_each_model_alone(tmp_path):
    answers = read(tmp_path / "run.jsonl", rows())
    found = cal.llm.compare_models(answers, "small", "large")
    error, smooth, brier = found.comparisons
    for name, values in zip(
        ("small", "large"), zip(*[(c.first, c.second) for c in found.comparisons], strict=True),
        strict=True,
    ):  # fmt: skip
        alone = answers.where(model=name)
        y, p = alone.correct, alone.confidence
        expected = 1 - y.mean(), float(cal.smooth_calibration_error(y, p)), np.mean((y - p) ** 2)
        np.testing.assert_allclose(values, expected, rtol=1e-9)
    assert error.measure == "error_rate"
    assert smooth.measure == "smooth_calibration_error"
    assert brier.measure == "brier_score"
    assert found.questions == 300
    assert found.sentences[0].startswith("large is right more often than small: small ")


def test_the_interval_of_accuracy_is_that_of_paired_differences():
    """One answer each: the spread of the differences, with z^2 of them mixed in."""
    rng = np.random.default_rng(1)
    a, b = rng.random(500) < 0.6, rng.random(500) < 0.7
    at = np.arange(500)
    sure = np.full(500, 0.5)
    found = compare_on_units((a, b), (sure, sure), (at, at), measure="error_rate")
    apart = a.astype(float) - b.astype(float)  # error of b less that of a
    z = 1.959963984540054
    from scipy.stats import t

    spread = 500 / 499 * ((apart - apart.mean()) ** 2).sum() + z**2
    assert found.difference == pytest.approx(apart.mean())
    assert found.high - found.difference == pytest.approx(t.ppf(0.975, 499) * np.sqrt(spread) / 500)


def test_pairing_is_by_question_whatever_the_order(tmp_path):
    lines = rows(60, trials=2)
    first = cal.llm.compare_models(read(tmp_path / "a.jsonl", lines))
    order = np.random.default_rng(3).permutation(len(lines))
    again = cal.llm.compare_models(read(tmp_path / "b.jsonl", [lines[i] for i in order]))
    for one, other in zip(first.comparisons, again.comparisons, strict=True):
        np.testing.assert_allclose(
            [one.first, one.second, one.low, one.high],
            [other.first, other.second, other.low, other.high],
            rtol=1e-9,
        )
    assert "count once for each" in str(first)


def test_questions_count_once_however_often_they_were_answered(tmp_path):
    lines = rows(50)
    many = lines + [line | {"trial": n} for line in lines[:20] for n in range(1, 6)]
    plain = cal.llm.compare_models(read(tmp_path / "a.jsonl", lines))
    again = cal.llm.compare_models(read(tmp_path / "b.jsonl", many))
    for one, other in zip(plain.comparisons, again.comparisons, strict=True):
        assert one.first == pytest.approx(other.first)
        assert one.second == pytest.approx(other.second)


def test_what_has_no_partner_is_left_out_and_told(tmp_path):
    lines = [line for line in rows(100) if line["model"] == "large" or int(line["id"][1:]) < 40]
    found = cal.llm.compare_models(read(tmp_path / "a.jsonl", lines))
    assert found.questions == 40
    assert "40 questions answered by both; 60 answers of large without a partner left out" in str(
        found
    )


def test_a_choice_of_models_is_never_guessed(tmp_path):
    three = read(tmp_path / "a.jsonl", rows(20, models=("x", "y", "z")))
    with pytest.raises(InvalidOptionError, match="'x', 'y', 'z'"):
        cal.llm.compare_models(three)
    assert cal.llm.compare_models(three, "z", "x").first == "z"
    with pytest.raises(InvalidOptionError, match="'banana'"):
        cal.llm.compare_models(three, "x", "banana")
    with pytest.raises(InvalidOptionError, match="between"):
        cal.llm.compare_models(three, between="confidence")
    apart = read(tmp_path / "b.jsonl", [
        line | {"id": line["model"] + line["id"]} for line in rows(20)
    ])  # fmt: skip
    with pytest.raises(InvalidForecastsError, match="0 questions of both"):
        cal.llm.compare_models(apart)


def test_two_runs_of_one_model_are_compared_by_file(tmp_path):
    lines = [line for line in rows(40) if line["model"] == "small"]
    for name, end in (("a.jsonl", "\n"), ("b.jsonl", "\n\n")):  # the same, but no copy
        (tmp_path / name).write_text("".join(json.dumps(line) + end for line in lines))
    answers = cal.llm.read([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    found = cal.llm.compare_models(answers, between="file")
    assert (found.first, found.second) == ("a.jsonl", "b.jsonl")
    for comparison in found.comparisons:
        assert comparison.difference == 0
        assert comparison.low <= 0 <= comparison.high


def test_one_unit_and_infinite_scores_are_refused():
    one = (np.array([1, 0]), np.array([0, 1]))
    sure = (np.array([0.5, 0.5]), np.array([1.0, 0.5]))
    same = np.array(["q", "q"])
    with pytest.raises(InferenceRefusedError, match="at least two"):
        compare_on_units(one, sure, (same, same), measure="error_rate")
    two = np.array(["q", "r"])
    with pytest.raises(InferenceRefusedError, match="finite scores"):
        compare_on_units(one, sure, (two, two), measure="log")
