"""Outcomes written as words: the label that was named is 1, and none is guessed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from commands import run
from small_files import WRITERS, csv, json_lines, written

YES_NO = [(0.2, "no")] * 6 + [(0.7, "yes")] * 3 + [(0.7, "no")]


@pytest.mark.parametrize("words", [("yes", "no"), ("t", "f"), ("True", "False"), ("Y", "N")])
@pytest.mark.parametrize("name", [*WRITERS, "rows.parquet"])
def test_the_positive_label_is_the_one_that_was_named(tmp_path, name, words):
    yes, no = words
    frame = pd.DataFrame(YES_NO, columns=["prediction", "outcome"])
    frame["outcome"] = frame["outcome"].map({"yes": yes, "no": no})
    path = tmp_path / name
    if name == "rows.parquet":
        frame.to_parquet(path)
    else:
        written(path, WRITERS[name]("prediction,outcome", frame.itertuples(index=False)))
    for label, rate in ((yes, 0.3), (no, 0.7)):
        assert cal.Joint.from_files(path, pos_label=label).base_rate == pytest.approx(rate)
        result = cal.audit(path, pos_label=label, draws=19)
        assert result.summary.data.observed == pytest.approx(rate)
        meanings = json.loads(result.to_json())["settings"]["labels"]
        assert meanings["1"] == {label: round(10 * rate)}
    with pytest.raises(InvalidForecastsError, match=f"'banana' must be one of .*{no!r}.*{yes!r}"):
        cal.Joint.from_files(path, pos_label="banana")


def test_the_output_says_what_became_of_labels(tmp_path):
    path = written(tmp_path / "rows.csv", csv("prediction,outcome", YES_NO * 5))
    result = cal.audit(path, pos_label="no", draws=19)
    sentence = "'no' counted as 1 (35 rows); 'yes' counted as 0 (15 rows)"
    for text in (str(result), result.to_markdown()):
        assert sentence in text.replace("\\", "")
    assert "counted as 1 (35 rows)" in result.to_html()
    for command in (["check"], ["recalibrate"]):
        assert sentence in run(*command, str(path), "--pos-label", "no").stdout


def test_outcomes_of_every_spelling_need_no_label(tmp_path):
    words = ["0", "1", "0.0", "1.0", "true", "False", "TRUE", "0"]
    path = written(tmp_path / "rows.csv", csv("prediction,outcome", [(0.5, w) for w in words]))
    assert cal.Joint.from_files(path).base_rate == 0.5
    for label, rate in ((1, 0.5), ("false", 0.5), (True, 0.5)):
        assert cal.Joint.from_files(path, pos_label=label).base_rate == rate


UNRESOLVED = [(0.3, "0")] * 7 + [(0.3, "1")] * 3 + [(0.3, "N/A"), (0.3, "pending"), (0.3, "")]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_an_unresolved_outcome_is_missing_and_never_0(tmp_path, kind):
    text = {"csv": csv, "jsonl": json_lines}[kind]("prediction,outcome", UNRESOLVED)
    path = written(tmp_path / f"rows.{kind}", text)
    for options in ({}, {"pos_label": "1"}, {"pos_label": "1", "neg_label": "0"}):
        with pytest.raises(InvalidForecastsError, match=r"'N/A', 'pending' in 2 rows.*na_label"):
            cal.audit(path, **options)
    words = ["N/A", "pending"]
    with pytest.raises(InvalidForecastsError, match=r"missing values \(NaN\), got 3 of 13"):
        cal.audit(path, pos_label=1, na_label=words)
    for options in ({"pos_label": 1}, {}, {"pos_label": "1", "neg_label": "0"}):
        result = cal.audit(path, na_label=words, na="drop", draws=19, **options).summary
        assert (result.data.rows, result.data.observed, result.data.dropped) == (10, 0.3, 3)


@pytest.mark.parametrize("label", [-1, -1.0, "-1", "-1.0"], ids=repr)
@pytest.mark.parametrize("number", [int, float])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_numbers_for_missing_are_one_label_however_they_are_written(tmp_path, kind, number, label):
    """The hint of the refusal writes -1, where a file may hold -1.0."""
    frame = pd.DataFrame({"prediction": [0.2, 0.7, 0.5] * 4})
    frame["outcome"] = [number(value) for value in (0, 1, -1)] * 4
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    found = cal.audit(path, na_label=label, na="drop", draws=9).summary.data
    assert (found.rows, found.dropped) == (8, 4)


def test_more_than_two_labels_need_the_negatives_named(tmp_path):
    rows = [(0.5, label) for label in ("won", "lost", "drawn", "void")] * 5
    path = written(tmp_path / "rows.csv", csv("prediction,outcome", rows))
    with pytest.raises(InvalidForecastsError, match=r"'drawn', 'lost', 'void' beside.*neg_label"):
        cal.Joint.from_files(path, pos_label="won")
    with pytest.raises(InvalidForecastsError, match="'void' beside"):
        cal.Joint.from_files(path, pos_label="won", neg_label=["lost", "drawn"])
    all_named = cal.Joint.from_files(path, pos_label="won", neg_label=["lost", "drawn", "void"])
    assert all_named.base_rate == 0.25
    done = run("audit", str(path), "--pos-label", "won", "--neg-label", "lost", "--neg-label",
               "drawn", "--na-label", "void", "--na", "drop", "--full")  # fmt: skip
    assert "'void' counted as missing (5 rows)" in done.stdout
    with pytest.raises(InvalidOptionError, match="must mean one of"):
        cal.Joint.from_files(path, pos_label="won", neg_label=["won", "lost"])
    with pytest.raises(InvalidOptionError, match="neg_label needs pos_label"):
        cal.Joint.from_files(path, neg_label="lost")


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "null", "None", "Pending", "unknown"])
def test_words_for_missing_are_refused_in_arrays_and_frames(word):
    labels = ["yes", "no", "no", word]
    with pytest.raises(InvalidForecastsError, match="words for missing outcomes"):
        cal.smooth_calibration_error(labels, [0.5] * 4, pos_label="yes")
    frame = pd.DataFrame({"prediction": [0.5] * 4, "outcome": labels})
    with pytest.raises(InvalidForecastsError, match="words for missing outcomes"):
        cal.audit(frame, pos_label="yes")
    assert (
        cal.audit(frame, pos_label="yes", na_label=word, na="drop", draws=9).summary.data.rows == 3
    )


def test_rows_with_a_missing_outcome_are_dropped_on_every_engine(engine):
    """The other columns miss nothing, and come as the engine holds them."""
    labels = ["yes", "no", "no", "NA", "yes"]
    columns = {"p": [0.5, 0.4, 0.6, 0.3, 0.2], "y": labels, "site": ["a", "a", "b", "b", "b"]}
    options = {"na_label": "NA", "na": "drop", "draws": 9}
    report = cal.audit(engine(pa.table(columns)), prediction="p", outcome="y", pos_label="yes",
                       by=["site"], clusters="site", **options)  # fmt: skip
    assert report.summary.data.rows == 4
    values = {"p": columns["p"], "y": [0.1, 0.4, 0.2, None, 0.9]}
    report = cal.audit(engine(pa.table(values)), prediction="p", outcome="y", kind="mean",
                       na="drop", draws=9)  # fmt: skip
    assert report.summary.data.dropped == 1


def test_one_class_against_the_others_in_arrays():
    labels = np.array(["cat", "dog", "cow"] * 4)
    joint = cal.Joint.from_samples(labels, [0.5] * 12, pos_label="cat")
    assert joint.base_rate == pytest.approx(1 / 3)
    frame = pd.DataFrame({"p": [0.5] * 12, "y": labels})
    assert cal.Joint.from_frame(frame, prediction="p", outcome="y", pos_label="cat") == joint
