"""What is probably meant by data that cannot be what they claim to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inputs import Roles, read
from commands import run

P = np.random.default_rng(0).random(40).round(2)
Y = np.arange(40) % 2


def written(tmp_path, name="rows.csv", encoding="utf-8", **columns):
    frame = pd.DataFrame({"prediction": P, "outcome": Y} | columns)
    (tmp_path / name).write_bytes(frame.to_csv(index=False).encode(encoding))
    return str(tmp_path / name)


def refused(path):
    with pytest.raises(InvalidForecastsError) as caught:
        read([path], None, Roles())
    return str(caught.value)


@pytest.mark.parametrize("odd", ["-0.01", "-1", "-999", "99", "999"])
def test_one_number_beside_probabilities_may_mean_missing(tmp_path, odd):
    column = np.where(np.arange(40) % 5, P, float(odd))
    message = refused(written(tmp_path, prediction=column))
    assert f"Hint: {odd} may stand for a missing value: leave those rows out." in message


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        (1 + np.arange(40) % 5, "these look like ratings"),
        (100 * P, "these look like percentages"),
        (8 * P - 4, "these look like scores or log-odds"),
        ([f"{100 * p:.1f}%" for p in P], "remove the percent signs and divide by 100"),
        ([f"{p}".replace(".", ",") for p in P], "write decimals with a point, not a comma"),
    ],
    ids=["stars", "percentages", "scores", "percent signs", "commas"],
)
def test_other_columns_are_what_they_look_like(tmp_path, column, hint):
    assert hint in refused(written(tmp_path, prediction=column))


def test_an_outcome_beside_0_and_1_may_mean_missing(tmp_path):
    path = written(tmp_path, outcome=np.where(np.arange(40) % 5, Y, -1))
    message = refused(path)
    assert "got labels -1, 0, 1." in message
    assert "if -1 stands for a missing outcome leave those rows out" in message
    done = run("audit", path)
    assert "in frames and files with --na-label." in done.stderr
    done = run("audit", path, "--na-label", "-1", "--na", "drop")
    assert done.returncode == 0, done.stderr
    assert "8 rows with a missing value left out" in done.stdout


def test_columns_that_differ_by_capitals_are_suggested(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"PREDICTION": P, "outcome": Y}).to_csv(path, index=False)
    assert "did you mean 'PREDICTION'" in refused(str(path))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_letters_than_those_of_utf_8_are_explained(tmp_path, encoding):
    message = refused(written(tmp_path, encoding=encoding, size=["größe"] * 40))
    assert "letters that are not UTF-8" in message
    assert "iconv -f latin1 -t utf-8 (or -f utf-16)" in message


@pytest.mark.parametrize("name", ["empty.csv", "empty.parquet", "empty.jsonl"])
def test_files_without_anything_are_called_so(tmp_path, name):
    (tmp_path / name).touch()
    assert f"{name}: empty, not even a header" in refused(str(tmp_path / name))


@pytest.mark.parametrize("name", ["rows", "rows.txt"])
def test_files_of_an_unknown_kind_may_be_renamed(tmp_path, name):
    message = refused(written(tmp_path, name))
    assert "files must all end in one of .csv" in message
    assert "Hint: rename it, or send CSV to standard input, whose name is -." in message


@pytest.mark.parametrize("number", [np.int64(-2), np.float32(0), np.bool_(1)])
def test_numbers_of_numpy_are_written_as_numbers(number):
    with pytest.raises(InvalidOptionError) as caught:
        cal.binned_calibration_error(Y, P, n_bins=number)
    assert "np." not in str(caught.value)


def test_labels_that_share_a_group_are_named_everywhere(tmp_path):
    rng = np.random.default_rng(1)
    labels = np.array([f"u{i}" for i in rng.integers(0, 400, 3000)])
    p = rng.random(3000)
    frame = pd.DataFrame({"prediction": p, "outcome": rng.random(3000) < p, "user": labels})
    rest = frame.user.nunique() - 250
    named = f"Column 'user' has more than 250 labels: the {rest} rarest share the group"
    result = cal.audit(frame, by=["user"], draws=99)
    for text in (str(result), result.to_text(), result.to_markdown(), result.to_html()):
        assert named in " ".join(text.split()).replace("\\", "").replace("&#39;", "'")
    # A label that only looks like it is no such group.
    frame["user"] = np.where(rng.random(3000) < 0.5, "other (3 values)", "me")
    assert "rarest share" not in str(cal.audit(frame, by=["user"], draws=99))


def test_all_missing_columns_are_named_at_once(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text("customer,region,risk,default\n1,north,0.2,1\n")
    message = run("audit", str(path)).stderr
    assert "there must be columns 'outcome' and 'prediction'" in message
    # "region" is no misspelling of "prediction".
    assert "Hint: say which columns hold them, with --prediction and --outcome." in message
    assert "did you mean 'risk'" in run("audit", str(path), "--prediction", "rsk").stderr


def test_columns_with_usual_names_are_suggested(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("question_id,trial_index,confidence,is_correct\n1,1,0.2,1\n")
    message = run("audit", str(path)).stderr
    assert "Hint: perhaps --prediction 'confidence', --outcome 'is_correct'." in message
    message = run("audit", str(path), "--outcome", "is_correct").stderr
    assert "Hint: perhaps --prediction 'confidence'." in message
    with pytest.raises(InvalidForecastsError, match="perhaps prediction 'confidence', outcome 'is"):
        cal.audit(str(path))
    with pytest.raises(InvalidForecastsError, match="perhaps prediction 'Prob', outcome 'Y_true'"):
        cal.audit(pd.DataFrame({"Prob": P, "Y_true": Y}))


@pytest.mark.parametrize("role", ["sample_weight", "clusters", "time"])
def test_columns_of_a_frame_are_named_not_passed(role):
    frame = pd.DataFrame({"prediction": [0.1, 0.8] * 9, "outcome": [0, 1] * 9, "w": 1.0})
    with pytest.raises(cal.errors.InvalidForecastsError, match=f"^{role} must name a column"):
        cal.audit(frame, **{role: frame["w"]})
    with pytest.raises(cal.errors.InvalidOptionError, match="by must name columns"):
        cal.joints_by(frame, by=frame["w"], prediction="prediction", outcome="outcome")
