"""Labels, columns and file names are the words of others: they stand there, and do nothing."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant._base.words import visible
from commands import run_forked

HOSTILE = {
    "escape": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "return": "good\rbad",
    "bell": "a\x07b\x08c",
    "control": "a\x9b31mb",
    "override": "abc\u202edef\u2066",
    "separator": "a\u2028b",
    "lines": "a\nCalibrated within 0.02\nb",
    "nul": "a\x00b",
}
ACTIVE = {chr(code) for code in (*range(10), *range(11, 32), *range(127, 160))} | set(
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def table(path: Path, labels: list[str], column: str = "g") -> str:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 30 * len(labels))
    y = rng.uniform(size=p.size) < p
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["prediction", "outcome", column])
        for i in range(p.size):
            writer.writerow([p[i], int(y[i]), labels[i % len(labels)]])
    return str(path)


@pytest.mark.parametrize(
    "command",
    [["audit"], ["audit", "--markdown", "-"], ["check"], ["check", "--markdown", "-"]],
    ids=" ".join,
)
def test_labels_do_nothing_on_a_terminal_or_in_markdown(command, tmp_path):
    rows = table(tmp_path / "rows.csv", list(HOSTILE.values()))
    ended = run_forked(*command, rows, "--by", "g")
    assert ended.code in {0, 1, 3}, ended
    assert not ACTIVE & set(ended.stdout + ended.stderr)
    assert "\nCalibrated within 0.02\n" not in ended.stdout


def test_columns_file_names_and_titles_do_nothing(tmp_path):
    text = "\x1b[31mred\x1b[0m good\rbad abc\u202edef"
    rows = table(tmp_path / f"{text}.csv", ["a", "b"], column=text)
    for command in (
        ["check", rows, "--by", text, "--tolerance", "0.3"],
        ["audit", rows, "--by", text, "--title", text, "--markdown", "-"],
        ["audit", rows, "--by", "absent"],
        ["audit", str(tmp_path / f"absent{text}.csv")],
    ):
        ended = run_forked(*command)
        assert ended.code in {0, 1, 2, 3}, ended
        assert not ACTIVE & set(ended.stdout + ended.stderr), ended


def test_nuls_of_a_binary_header_do_nothing(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a\x00\x01\x1b[31m,b\n1,2\n")
    ended = run_forked("audit", str(path))
    assert ended.code == 2
    assert not ACTIVE & set(ended.stderr)


def test_other_scripts_stay_as_they_are():
    for text in ("Zürich", "東京", "עברית", "👩‍🔬", "a\u00a0b"):
        assert visible(text) == text
    assert visible("a\nb", lines=True) == "a\nb"
    assert visible("a\nb") == r"a\nb"


def test_labels_in_chinese_are_drawn_without_a_warning():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y = rng.uniform(size=400) < p
    labels = np.where(rng.uniform(size=400) < 0.5, "东京", "서울")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = cal.audit(y, p, by={"城市": labels}, title="降雨概率").to_html()
    assert "东京" in page
    assert "降雨概率" in page
