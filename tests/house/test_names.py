"""One name for one thing, so that whoever searches finds it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Folders of tests that are no room: what holds everywhere, what was published, what takes minutes,
# the repository itself, slow clear definitions for others to import, and what is simulated.
NO_ROOM = {"laws", "survey", "reference", "slow", "house", "oracles", "promises"}


def twice(names: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: places for name, places in names.items() if len(places) > 1}


def test_no_class_name_is_defined_twice():
    places = defaultdict(list)
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 100
    assert twice(places) == {}


def test_no_test_file_is_named_like_another():
    places = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        places[path.name].append(str(path.relative_to(ROOT)))
    assert len(places) > 50
    assert twice(places) == {}


def test_no_file_of_the_package_looks_like_a_test():
    assert [path.name for path in (ROOT / "src").rglob("test*.py")] == []


def rooms(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/*.py")}


def test_tests_stand_where_their_source_stands():
    assert rooms(ROOT / "src" / "calibrant") == rooms(ROOT / "tests") - NO_ROOM


def test_files_that_pages_name_are_there():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = re.compile(r"`((?:\w+/)+\w+\.(?:py|hpp))`")
    found = {name for page in pages for name in named.findall(page.read_text(encoding="utf-8"))}
    assert len(found) > 20
    folders = [ROOT, ROOT / "src" / "calibrant", ROOT / "tests"]
    assert [name for name in found if not any((at / name).exists() for at in folders)] == []


def test_a_test_beside_the_rooms_is_named_after_a_file_beside_the_rooms():
    files = {"kernels"} | {path.stem for path in (ROOT / "src" / "calibrant").glob("*.py")}
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("test_*.py")}
    assert tests <= files
