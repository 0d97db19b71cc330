"""Every work that the survey cites has code that is there, and a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import calibrant as cal

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "survey" / "bibliography.md"
CITED = {
    "ACRS25",
    "BGHN23a",
    "BGHN23b",
    "BN24",
    "CDV24",
    "DDF+25",
    "DKR+21",
    "DLLT23",
    "FGMS25",
    "FV98",
    "GH25",
    "GHR24",
    "GKR+22",
    "GKSZ22",
    "GR07",
    "HJTY24",
    "HKRR18",
    "HW24",
    "HWY25",
    "KF08",
    "KKG+22",
    "KLST23",
    "KSJ18",
    "KV24",
    "LHSW22",
    "McC56",
    "OKK25",
    "Pen25",
    "QV21",
    "QZ24",
    "RSB+25",
    "Sav71",
}


def tables():
    """Cells of the lines of all tables."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


def found(name: str) -> object:
    """What a name of calibrant stands for."""
    thing = cal
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def test_every_cited_work_has_one_line():
    works = [cells[0] for cells in tables() if len(cells) == 5 and cells[0] != "work"]
    assert len(works) == len(CITED) == 32
    assert set(works) == CITED


def test_every_name_is_there():
    named = set(re.findall(r"`([A-Za-z_.0-9]+)`", " ".join(" ".join(row) for row in tables())))
    names = {name for name in named if "/" not in name and not name.endswith(".py")}
    assert len(names) > 50
    for name in names:
        assert callable(found(name)), name


def test_every_test_is_there_and_every_line_has_one():
    for cells in tables():
        if len(cells) == 5 and cells[0] in CITED:
            files = re.findall(r"`(\w+/\w+\.py)`", cells[3])
            assert files, cells[0]
            assert all((ROOT / "tests" / file).exists() for file in files), cells[0]
