"""`assert_calibrated` in the tests of others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from calibrant.integrations import assert_calibrated
from samples import sample


def test_assert_calibrated_fails_with_a_sentence():
    assert_calibrated(*sample(60_000))
    with pytest.raises(AssertionError, match="The smooth calibration error is 19"):
        assert_calibrated(*sample(3000, 0.2))
    with pytest.raises(AssertionError, match="undecided"):
        assert_calibrated(*sample(50))
    assert_calibrated(*sample(50), undecided="pass")


TEST_OF_A_MODEL = """
from calibrant.integrations import assert_calibrated

def test_model():
    assert_calibrated([0, 1] * 3000, [0.6] * 6000)
"""


def test_pytest_shows_the_line_of_the_test_and_no_line_of_ours(tmp_path):
    (tmp_path / "test_model.py").write_text(TEST_OF_A_MODEL)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "> " in done.stdout
    assert "assert_calibrated([0, 1] * 3000, [0.6] * 6000)" in done.stdout
    assert "failed: Forecasts, 6 000 rows" in done.stdout
    assert "run_gate" not in done.stdout
    assert "raise AssertionError" not in done.stdout
