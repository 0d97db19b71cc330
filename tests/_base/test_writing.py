"""Files are written whole or not at all, where they were meant to go, and nowhere else."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import calibrant as cal
from calibrant._base.writing import DRAFT, check_outputs, drafted, locked, write_whole
from calibrant.errors import InvalidOptionError, ReadingError
from commands import run_forked

JOINT = cal.Joint.from_samples([0, 1, 1], [0.2, 0.6, 0.7])


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    (tmp_path / "ahead.txt").symlink_to("made.txt")
    write_whole(tmp_path / "link.txt", "new")
    write_whole(tmp_path / "ahead.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "ahead.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == (tmp_path / "made.txt").read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(tmp_path, mode):
    for name, write in {
        "page.html": lambda path: write_whole(path, "new"),
        "joint.parquet": JOINT.to_parquet,
    }.items():
        path = tmp_path / name
        path.touch()
        path.chmod(mode)
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    (tmp_path / "plain").touch()
    write_whole(tmp_path / "page", "new")
    JOINT.to_parquet(tmp_path / "joint.parquet")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_read_only_file_is_refused(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(InvalidOptionError, match="read-only"):
        write_whole(path, "new")
    assert path.read_text() == "old"


def test_a_folder_and_a_missing_folder_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "page", ""):
        with pytest.raises(InvalidOptionError, match="can be written"):
            write_whole(path, "new")


def test_a_pipe_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "new")
    reader.join(10)
    assert got == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_a_device():
    write_whole("/dev/null", "new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError, match="No space"):
        write_whole("/dev/full", "new")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_the_old_file_stays_if_writing_fails(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail():
        with drafted(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert entries(tmp_path) == {"page.html"}


def test_threads_may_write_one_file(tmp_path):
    path = tmp_path / "joint.parquet"
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(JOINT.to_parquet, path) for _ in range(200)]:
            done.result()
    assert cal.Joint.from_parquet(path) == JOINT
    assert entries(tmp_path) == {"joint.parquet"}


def test_an_output_that_is_an_input_is_refused_by_whatever_name(tmp_path, monkeypatch):
    rows = tmp_path / "rows.csv"
    rows.write_text("data")
    (tmp_path / "soft.csv").symlink_to(rows)
    (tmp_path / "hard.csv").hardlink_to(rows)
    monkeypatch.chdir(tmp_path)
    for name in (rows, "rows.csv", "./rows.csv", "soft.csv", "hard.csv"):
        with pytest.raises(InvalidOptionError, match="--html must not name a file that is read"):
            check_outputs({"--html": name}, [rows])
    check_outputs({"--html": "other.csv"}, [rows])


def test_two_outputs_are_two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same").symlink_to(tmp_path)
    with pytest.raises(
        InvalidOptionError, match="--out and --calibrator must name different files"
    ):
        check_outputs({"--out": "new.csv", "--calibrator": "same/new.csv"})
    check_outputs({"--out": "/dev/null", "--calibrator": "/dev/null"})


def test_a_glob_that_matches_the_output_is_an_input(tmp_path):
    rows = "prediction,outcome\n" + "0.5,1\n0.5,0\n" * 20
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(rows)
    ended = run_forked(
        "recalibrate", str(tmp_path / "*.csv"), "--out", str(tmp_path / "b.csv"), "--force"
    )
    assert ended.code == 2, ended
    assert (tmp_path / "b.csv").read_text() == rows


def test_commands_leave_no_draft(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("prediction,outcome\n" + "0.5,1\n0.4,0\n" * 20)
    ended = run_forked("recalibrate", str(rows), "--out", str(tmp_path / "new.csv"), "--calibrator",
                       str(tmp_path / "calibrator.json"), "--methods", "platt")  # fmt: skip
    assert ended.code == 0, ended
    assert entries(tmp_path) == {"rows.csv", "new.csv", "calibrator.json"}
    assert not any(name.startswith(DRAFT) for name in entries(tmp_path))


SLOW_WRITER = """
import sys, time
from calibrant._base.writing import drafted
with drafted(sys.argv[1]) as draft:
    draft.write_text("new r")
    print("half", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old report")
    writer = subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "half\n"
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    time.sleep(0.1)
    assert path.read_text() == "old report"


@pytest.mark.parametrize("there", [False, True])
def test_a_lock_follows_no_link(tmp_path, there):
    victim = tmp_path / "elsewhere"
    if there:
        victim.write_text("kept")
    link = tmp_path / ".state.json.lock"
    link.symlink_to(victim)
    with pytest.raises(ReadingError, match="must not be a link"), locked(tmp_path / "state.json"):
        pass
    assert victim.exists() == there
    assert link.is_symlink()
