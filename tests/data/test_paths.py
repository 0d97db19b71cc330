"""Which files are meant by a name, a pattern, a folder, a pipe or standard input."""

from __future__ import annotations

import os
import threading

import pandas as pd
import pytest

import calibrant as cal
from calibrant.data.paths import settled
from calibrant.errors import InvalidForecastsError
from calibrant.recalibration import PlattScaling
from calibrant.recalibration.files import apply_to_files
from commands import run
from small_files import KINDS, csv, written


def test_a_file_counts_once_whatever_it_is_called(tmp_path, monkeypatch):
    path = written(tmp_path / "rows.csv", csv("prediction,outcome", [(0.5, 0), (0.5, 1)] * 30))
    (tmp_path / "link.csv").symlink_to(path)
    os.link(path, tmp_path / "hard.csv")
    monkeypatch.chdir(tmp_path)
    names = ["rows.csv", path, "*.csv", "r*.csv", "./rows.csv", "link.csv"]
    assert cal.Joint.from_files(names).row_count == 60
    result = cal.audit(names, draws=19)
    assert result.summary.data.rows == 60
    assert "counted once" in str(result)
    with settled(names) as files:
        assert len(files.names) == 1
    for command in ("audit", "check", "recalibrate"):
        assert "counted once" in run(command, str(path), str(path)).stdout
    (tmp_path / "calibrator.json").write_text(
        PlattScaling().fit([0.2, 0.8] * 9, [0, 1, 1] * 6).to_json()
    )
    done = run("apply", "calibrator.json", "rows.csv", "link.csv", "--out", "out.csv")
    assert "note: rows.csv was named 2 times and counted once" in done.stdout
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 61
    done = run("audit", "-", "-", stdin=path.read_text())
    assert done.returncode == 2
    assert "can be read once" in done.stderr


ALONE = pd.DataFrame({"prediction": [0.5] * 60, "outcome": [0, 1] * 30, "site": ["a", "b"] * 30})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a*b", "a?b", "[a]", "a[!x]b", "a[", "**"])
def test_a_file_that_is_there_is_meant_whatever_its_name(tmp_path, monkeypatch, name, kind):
    monkeypatch.chdir(tmp_path)
    KINDS[kind](ALONE, f"{name}.{kind}")
    for other in ("a", "aXb", "ab", "x"):
        KINDS[kind](ALONE[:10].assign(outcome=1), f"{other}.{kind}")
    joint = cal.Joint.from_files(f"{name}.{kind}")
    assert (joint.row_count, joint.base_rate) == (60, 0.5)


def test_a_name_of_a_file_that_cannot_be_told_from_a_pattern_is_refused(tmp_path):
    path = tmp_path / "back\\slash*.csv"
    ALONE.to_csv(path, index=False)
    with pytest.raises(InvalidForecastsError, match="backslash"):
        cal.Joint.from_files(path)


def test_a_folder_is_meant_whatever_its_name(tmp_path):
    (tmp_path / "new [1]").mkdir()
    ALONE.to_parquet(tmp_path / "new [1]" / "rows.parquet")
    assert cal.Joint.from_files(tmp_path / "new [1]").row_count == 60


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_of_a_folder_replaces_no_column(tmp_path, kind):
    for folder in ("outcome=1", "Outcome=1", "prediction=0.9", "site=z"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / f"rows.{kind}"
        KINDS[kind](ALONE, path)
        joints = cal.joints_by(path, by="site")
        assert {key: joint.base_rate for key, joint in joints.items()} == {("a",): 0, ("b",): 1}
        assert joints["a",].mean_prediction == 0.5
        fitted = PlattScaling().fit([0.1, 0.4, 0.6, 0.9] * 9, [0, 0, 1, 1] * 8 + [1, 0, 1, 0])
        apply_to_files(fitted, path, tmp_path / "out.csv")
        again = pd.read_csv(tmp_path / "out.csv")
        assert again.drop(columns="recalibrated").equals(ALONE)


def test_a_pipe_is_read_like_standard_input(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    text = csv("prediction,outcome", [(0.5, 0), (0.5, 1)] * 30)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert cal.Joint.from_files(pipe).row_count == 60
    writer.join()


def test_standard_input_can_be_repaired_and_written(tmp_path):
    text = csv("prediction,outcome", [(0.4, 0), (0.6, 1), (0.4, 1), (0.6, 0)] * 30)
    done = run("recalibrate", "-", "--out", str(tmp_path / "out.csv"), stdin=text)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 121


@pytest.mark.parametrize("text", ["", '{"prediction":', "PAR1"], ids=["empty", "json", "parquet"])
def test_errors_name_standard_input_and_no_copy_of_it(text):
    done = run("check", "-", stdin=text)
    assert done.returncode == 2
    assert "standard input" in done.stderr
    assert "tmp" not in done.stderr
