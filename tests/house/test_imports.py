"""What `import calibrant` gives and what it must not pull in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

import calibrant as cal

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_there_and_documented():
    for name in cal.__all__:
        assert hasattr(cal, name)
        if callable(getattr(cal, name)):
            assert getattr(cal, name).__doc__


def loaded(statement: str, modules: list[str]) -> list[str]:
    """Which modules a statement pulls in."""
    program = f"import sys; {statement}; print(*(m for m in {modules!r} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


AT_ONCE = """
import threading
import calibrant as cal

failed = []
start = threading.Barrier(len(cal.__all__))


def ask(name):
    start.wait()
    try:
        getattr(cal, name)
    except Exception as error:
        failed.append(f"{name}: {error!r}")


threads = [threading.Thread(target=ask, args=(name,)) for name in cal.__all__]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*failed, sep="\\n")
"""


def test_threads_may_ask_for_their_first_name_at_once():
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == []


def test_no_subpackage_imports_names_from_the_top_while_it_is_imported():
    """It would wait for a thread that holds the lock of names and waits for the subpackage."""
    asking = re.compile(r"^from calibrant import (?!__version__)", re.MULTILINE)
    files = Path(cal.__file__).parent.rglob("*.py")
    assert [str(file) for file in files if asking.search(file.read_text(encoding="utf-8"))] == []


HEAVY = ["scipy", "narwhals", "duckdb", "matplotlib", "pandas", "sklearn", "pyarrow"]


def test_importing_pulls_in_no_heavy_package():
    assert loaded("import calibrant", [*HEAVY, "typer", "rich"]) == []


def test_importing_leaves_measures_and_what_they_stand_on_for_later():
    later = ["measures", "witness", "measurement", "pooling", "datasets", "inference", "plots"]
    assert loaded("import calibrant", [f"calibrant.{room}" for room in later]) == []


def test_the_command_line_starts_without_what_only_some_commands_need():
    rooms = [f"calibrant.{room}" for room in ("catalogue", "inference", "report", "online")]
    assert loaded("from calibrant.cli import main", [*HEAVY, *rooms]) == []


def test_the_tests_run_against_the_installed_package():
    where = json.loads(distribution("calibrant").read_text("direct_url.json") or "{}")
    if where.get("dir_info", {}).get("editable"):
        pytest.skip("installed for editing by make dev; make test installs the wheel")
    assert "site-packages" in cal.__file__


def test_the_version_stands_in_one_place():
    from importlib.metadata import version

    assert version("calibrant") == cal.__version__
    assert f"\nversion: {cal.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_types_are_shipped():
    from calibrant import _kernels

    assert Path(cal.__file__).with_name("py.typed").exists()
    assert "def smooth_error" in Path(_kernels.__file__).with_name("_kernels.pyi").read_text()


@pytest.mark.parametrize(
    "name", [name for name, measure in cal.CATALOGUE.items() if measure.domain == "joint"]
)
def test_every_measure_has_a_page_with_its_flaw(name):
    page = (ROOT / "docs" / "measures" / f"{name}.md").read_text(encoding="utf-8")
    for heading in (
        "## Definition",
        "## What a value means",
        "## Known flaws",
        "## When to use it",
    ):
        assert heading in page
    assert f"cal.{name}(" in page


def test_every_measure_beyond_a_joint_stands_in_the_guide_of_its_domain():
    guides = {"rows": "distances", "classes": "multiclass", "groups": "groups"}
    for measure in cal.CATALOGUE.values():
        if measure.domain != "joint":
            guide = ROOT / "docs" / f"{guides[measure.domain]}.md"
            assert measure.name.rpartition(".")[2] in guide.read_text(encoding="utf-8")


def test_every_public_name_stands_in_the_docs():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    missing = [name for name in cal.__all__ if name not in text]
    assert not missing


def test_every_public_name_is_offered_before_its_first_use():
    program = "import calibrant as cal; print(*(n for n in cal.__all__ if n not in dir(cal)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


BESIDE_NUMPY = """
import time
start = time.process_time()
import numpy
middle = time.process_time()
import calibrant
print(middle - start, time.process_time() - middle)
"""


def test_importing_takes_a_third_as_long_as_numpy_does():
    """The bar in seconds stands in the benchmarks; a ratio holds on a busy machine too."""
    # Sources that are compiled anew each time would be measured instead of the import.
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    ratios = []
    for _ in range(6):
        done = subprocess.run(
            [sys.executable, "-c", BESIDE_NUMPY],
            capture_output=True,
            text=True,
            check=True,
            env=compiled,
        )
        numpy, ours = map(float, done.stdout.split())
        ratios.append(ours / numpy)
    assert min(ratios) < 0.35, ratios


@pytest.mark.parametrize("name", sorted(cal._NAMES_ELSEWHERE))
def test_a_name_that_people_try_leads_to_one_that_is_there(name):
    assert name == name.lower().replace("_", "")
    assert name not in cal.__all__
    with pytest.raises(AttributeError, match=rf"^module 'calibrant' has no attribute '{name}'. "):
        getattr(cal, name)
    found = cal
    for part in cal._NAMES_ELSEWHERE[name].partition("(")[0].split("."):
        assert part in found.__all__
        found = getattr(found, part)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("mce", "binned_calibration_error(..., order=numpy.inf)"),
        ("smece", "kernel_smoothed_calibration_error"),
        ("smECE", "kernel_smoothed_calibration_error"),
        ("platt", "recalibration.PlattScaling"),
        ("plot", "plots.ReliabilityDisplay"),
        ("brier", "brier_score"),
        ("calibration_curve", "plots.ReliabilityDisplay"),
        ("reliability_diagram", "plots.ReliabilityDisplay"),
        ("temperature_scaling", "recalibration.TemperatureScaling"),
        ("TemperatureScaling", "recalibration.TemperatureScaling"),
        ("isotonic", "recalibration.IsotonicCalibration"),
        ("recalibrate_by_group", "groups.recalibrate_by_group"),
    ],
)
def test_the_error_of_a_name_from_elsewhere_says_what_to_use(name, ours):
    with pytest.raises(AttributeError) as raised:
        getattr(cal, name)
    said = f"module 'calibrant' has no attribute '{name}'. Use `calibrant.{ours}`."
    assert str(raised.value) == said


def test_an_unknown_name_is_only_unknown():
    with pytest.raises(AttributeError, match=r"^module 'calibrant' has no attribute 'nothing'$"):
        cal.nothing  # noqa: B018
