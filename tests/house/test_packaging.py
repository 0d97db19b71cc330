"""What an installation holds: no more than it needs, and what else says so agrees."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import util
from itertools import chain
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# As if a package were not installed.
WITHOUT = """
import sys
for name in {names!r}:
    sys.modules[name] = None
sys.argv = ["calibrant", *sys.argv[1:]]
"""
COMMAND = WITHOUT + "from calibrant.__main__ import main; main()"
NOTEBOOK = (
    WITHOUT
    + """
import calibrant as cal
from calibrant.errors import MissingPackageError
y, p = [0, 1] * 200, [0.3, 0.6] * 200
found = cal.verdict(y, p, draws=99, rng=0)
page = found._repr_html_()
assert str(found).split(":")[0] in page, page
assert "calibrant[plots]" in page
assert "<svg" in cal.audit(y, p, draws=99)._repr_html_().replace("&lt;", "<")
cal.plots.ReliabilityDisplay.of(y, p).frame()
try:
    cal.plots.ReliabilityDisplay.from_predictions(y, p)
except MissingPackageError as error:
    assert "pip install 'calibrant[plots]'" in str(error)
else:
    raise AssertionError("drawn without matplotlib")
"""
)
DRAWING = ["matplotlib", "PIL", "fontTools", "contourpy", "kiwisolver"]
OPTIONAL = [
    *DRAWING,
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "dask",
    "pyspark",
    "mlflow",
    "river",
]


def python(program, *arguments, folder):
    return subprocess.run(
        [sys.executable, "-c", program.format(names=OPTIONAL), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


def test_an_audit_and_its_page_need_no_optional_package(tmp_path):
    (tmp_path / "rows.csv").write_text("prediction,outcome\n" + "0.3,0\n0.6,1\n0.4,1\n" * 60)
    done = python(COMMAND, "audit", "rows.csv", "--html", "page.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")
    drawn = python(COMMAND, "online", "foster", "coins", "--rounds", "50", "--picture", "game.png",
                   folder=tmp_path)  # fmt: skip
    assert drawn.returncode == 2
    assert "pip install 'calibrant[plots]'" in drawn.stderr


def test_notebooks_show_words_without_pictures(tmp_path):
    done = python(NOTEBOOK, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_only_pictures_need_is_an_extra():
    named = {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["dependencies"]}
    assert named == {
        "nanobind-backend", "numpy", "scipy", "narwhals", "duckdb", "typer", "rich", "jinja2",
    }  # fmt: skip
    assert "plots" in PROJECT["project"]["optional-dependencies"]


def test_every_dependency_has_a_lowest_version_that_make_oldest_installs():
    spec = util.spec_from_file_location("oldest", ROOT / "tools" / "oldest.py")
    oldest = util.module_from_spec(spec)
    spec.loader.exec_module(oldest)
    lowest = oldest.lowest()
    extras = PROJECT["project"]["optional-dependencies"].values()
    for line in [*PROJECT["project"]["dependencies"], *chain(*extras)]:
        name = re.match(r"[\w-]+", line)[0]
        assert name in oldest.LEFT_OUT or f">={lowest[name]}" in line
    held_back = PROJECT["dependency-groups"]["databases"]
    assert not set(held_back) & set(PROJECT["dependency-groups"]["test"])


def test_the_page_about_installing_names_every_dependency_and_extra():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    installed, optional = page.split("| extra |")
    for line in PROJECT["project"]["dependencies"]:
        assert re.match(r"[\w-]+", line)[0] in installed.lower()
    extras = set(re.findall(r"`calibrant\[(\w+)\]`", optional))
    assert extras == set(PROJECT["project"]["optional-dependencies"])
    assert "matplotlib" not in installed
    for system in ("Linux", "macOS", "Windows"):
        assert system in page


def test_classifiers_and_wheels_agree():
    classifiers = PROJECT["project"]["classifiers"]
    wheels = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))
    systems = wheels["jobs"]["wheels"]["strategy"]["matrix"]["system"]
    for system, word in (("ubuntu", "Linux"), ("macos", "MacOS"), ("windows", "Windows")):
        built = any(name.startswith(system) for name in systems)
        assert built == any(
            line.startswith("Operating System") and word in line for line in classifiers
        )
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    tried = tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    minors = [line.rsplit(" :: ", 1)[1] for line in classifiers if "Python :: 3." in line]
    assert {minors[0], minors[-1]} == set(tried)
    assert PROJECT["project"]["requires-python"] == f">={minors[0]}"


@pytest.mark.parametrize("part", ["run", "host"])
def test_the_recipe_for_conda_names_what_the_package_needs(part):
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    needed = PROJECT["project"]["dependencies"]
    if part == "host":
        needed = PROJECT["build-system"]["requires"]
    renamed = {"duckdb": "python-duckdb"}
    wanted = set()
    for line in needed:
        name, limit = re.match(r"([\w-]+)(.*)", line).groups()
        wanted.add(f"{renamed.get(name, name)} {limit}".strip())
    found = set(recipe["requirements"][part]) - {"python", "pip", "python >=3.11"}
    assert found == wanted
    assert recipe["package"]["name"] == "calibrant"
    assert recipe["context"]["version"] in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
