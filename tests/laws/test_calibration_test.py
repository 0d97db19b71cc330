"""The Monte-Carlo test: p-value, noise floor, the same for any order of rows."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal


def sample(n: int, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    return rng.random(n) < np.clip(p + shift, 0, 1), p


def test_a_shift_is_found_and_none_is_not():
    assert cal.calibration_test(*sample(600, 0.15), draws=199, rng=0).pvalue == 1 / 200
    assert cal.calibration_test(*sample(600), draws=199, rng=0).pvalue > 0.05


def test_pvalue_counts_ties_against_the_forecaster():
    """With certain forecasts every redraw scores what the sample scores: nothing is shown."""
    test = cal.calibration_test([0, 1, 1], [0.0, 1.0, 1.0], draws=99, rng=0)
    assert test.pvalue == 1.0
    assert test.statistic == test.noise_floor == test.excess == 0.0


def test_a_contradicted_certainty_is_always_found():
    assert cal.calibration_test([0, 0, 1], [0.0, 1.0, 1.0], draws=99, rng=0).pvalue == 0.01


def test_noise_floor_quantile_and_excess():
    test = cal.calibration_test(*sample(400, 0.1), draws=199, rng=3)
    assert test.noise_floor == pytest.approx(test.null.mean())
    assert test.noise_quantile(0.95) == pytest.approx(np.quantile(test.null, 0.95))
    assert test.excess == pytest.approx(test.statistic - test.noise_floor)
    assert (np.diff(test.null) >= 0).all()
    assert test.measure == "smooth_calibration_error"


def test_the_noise_floor_of_uniform_forecasts_is_the_known_one():
    """Mean smooth error of a perfect forecaster: .36 / sqrt(n) at n = 2000, uniform p."""
    p = np.random.default_rng(1).random(2000)
    test = cal.calibration_test(np.zeros(2000), p, draws=400, rng=0)
    assert test.noise_floor * np.sqrt(2000) == pytest.approx(0.36, abs=0.03)


def test_order_of_rows_does_not_matter():
    y, p = sample(300, 0.05)
    order = np.random.default_rng(9).permutation(300)
    first = cal.calibration_test(y, p, draws=99, rng=5)
    again = cal.calibration_test(y[order], p[order], draws=99, rng=5)
    assert (first.pvalue, first.noise_floor) == (again.pvalue, again.noise_floor)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("name", cal.CATALOGUE)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_measure_can_be_tested(name, by_name):
    y, p = sample(200, 0.2)
    function = cal.CATALOGUE[name].function
    test = cal.calibration_test(y, p, measure=name if by_name else function, draws=49, rng=0)
    assert test.statistic == pytest.approx(float(function(y, p)))
    assert test.pvalue <= 0.1
    assert test.cells is None


def test_any_function_of_a_joint_can_be_tested():
    def mean_bias(joint: cal.Joint) -> float:
        return abs(joint.base_rate - joint.mean_prediction)

    y, p = sample(500, 0.1)
    test = cal.calibration_test(y, p, measure=mean_bias, draws=99, rng=0)
    assert test.measure == "mean_bias"
    assert test.statistic == pytest.approx(abs(y.mean() - p.mean()))
    assert test.pvalue == 0.01


def test_many_levels_are_rounded_and_say_so():
    rng = np.random.default_rng(0)
    p = rng.random(9000)
    test = cal.calibration_test(rng.random(9000) < p, p, draws=19, rng=0)
    assert test.cells == 4096
    assert test.exact


def test_weights_do_not_add_evidence():
    y, p = sample(300, 0.06)
    plain = cal.calibration_test(y, p, draws=199, rng=0)
    heavy = cal.calibration_test(y, p, sample_weight=np.full(300, 50.0), draws=199, rng=0)
    assert heavy.pvalue == plain.pvalue
    assert heavy.exact
    mixed = cal.calibration_test(y, p, sample_weight=np.linspace(1, 9, 300), draws=99, rng=0)
    assert not mixed.exact
