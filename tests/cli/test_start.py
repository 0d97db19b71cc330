"""A command starts without what it does not need."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import scipy
import typer

from calibrant.cli.main import app, app_for

PROGRAM = """
import sys
from calibrant.cli.start import start_quickly
start_quickly()
import numpy, scipy.special
assert "numpy.f2py.crackfortran" not in sys.modules
assert "unittest" not in sys.modules
numpy.testing.assert_allclose(1.0, 1.0)  # what is asked for is there
assert numpy.f2py.__name__ == "numpy.f2py"
assert callable(numpy.f2py.get_include)
"""

AUDIT = """
import sys
from importlib.metadata import version
sys.argv = ["calibrant", "audit", sys.argv[1]]
from calibrant.__main__ import main
try:
    main()
finally:
    unwanted = {"matplotlib", "pandas", "pyarrow", "jinja2", "numpy.f2py.crackfortran"}
    unwanted |= {"scipy.optimize", "scipy.fft"}
    if version("scipy") >= "1.17":  # before, scipy.special imports it
        unwanted.add("scipy.sparse")
    unwanted |= {f"calibrant.{room}" for room in ("groups", "multiclass", "monitoring", "plots")}
    assert not unwanted & set(sys.modules), unwanted & set(sys.modules)
"""


@pytest.mark.skipif(
    scipy.__version__.startswith("1.12."), reason="scipy 1.12 takes a function of numpy.testing"
)
def test_unused_parts_of_numpy_wait_until_they_are_asked_for():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_text_needs_no_library_for_pictures_and_pages(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("outcome,prediction\n" + "1,0.7\n0,0.4\n1,0.2\n0,0.1\n" * 9)
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "smooth error" in done.stdout


def test_only_the_command_that_is_asked_for_is_made():
    whole = typer.main.get_command(app)
    alone = typer.main.get_command(app_for(["audit", "rows.csv"]))
    assert list(alone.commands) == ["audit"]
    given = [option.opts for option in alone.commands["audit"].params]
    assert given == [option.opts for option in whole.commands["audit"].params]
    for arguments in ([], ["--help"], ["--debug", "audit"], ["audits"]):
        assert app_for(arguments) is app


def test_a_command_multiplies_in_one_thread_unless_told_otherwise():
    """Threads of BLAS wait in a loop; the library itself leaves the environment alone."""
    program = "import os, sys, {}; print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}

    def printed(module: str, **more: str) -> str:
        command = [sys.executable, "-c", program.format(module)]
        env = environment | more
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout

    assert printed("calibrant.cli").strip() == "1"
    assert printed("calibrant.cli", OPENBLAS_NUM_THREADS="3").strip() == "3"
    assert printed("calibrant.report").strip() == "None"


def test_numpy_is_imported_after_its_threads_are_set():
    program = "import sys, calibrant; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
