"""Thresholds before and after a calibrator, and what becomes of 0.1, 0.5 and 0.9."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.errors import InvalidOptionError
from calibrant.recalibration import CALIBRATORS, PlattScaling, TemperatureScaling, load, recalibrate

RNG = np.random.default_rng(0)
P = RNG.random(3000)
Y = RNG.random(3000) < P**1.5
FALLING = {"kernel", "histogram"}
GRID = np.unique(np.concatenate([np.linspace(0, 1, 2001), P]))


@pytest.mark.parametrize("name", [name for name in CALIBRATORS if name not in FALLING])
@pytest.mark.parametrize("threshold", [0.02, 0.3, 0.77])
def test_the_same_rows_are_at_or_above_both(name, threshold):
    fitted = CALIBRATORS[name]().fit(P, Y)
    at = fitted.inverse_threshold(threshold)
    np.testing.assert_array_equal(fitted.transform(GRID) >= threshold, at <= GRID)


def test_closed_form_units_and_files():
    fitted = TemperatureScaling().fit(P, Y)
    expected = expit(logit(0.3) * fitted.temperature_)
    assert fitted.inverse_threshold(0.3) == pytest.approx(expected)
    percent = load(fitted.with_scale("percent").to_json())
    assert percent.inverse_threshold(0.3) == pytest.approx(100 * expected)
    odds = load(fitted.with_scale("logit").to_json())
    assert odds.inverse_threshold(0.3) == pytest.approx(logit(expected))


def test_what_cannot_be_translated_is_refused():
    turned = PlattScaling().fit(P, ~Y)
    with pytest.raises(InvalidOptionError, match="increase"):
        turned.inverse_threshold(0.5)
    flat = CALIBRATORS["isotonic"]().fit([0.2] * 10 + [0.8] * 10, [0, 1] * 10)
    with pytest.raises(InvalidOptionError, match="largest"):
        flat.inverse_threshold(0.999)
    assert flat.inverse_threshold(1e-9) == 0
    for threshold in (0, 1, -0.5, float("nan")):
        with pytest.raises(InvalidOptionError):
            flat.inverse_threshold(threshold)
    classes = TemperatureScaling().fit([[0.5, 0.3, 0.2]] * 6, [0, 1, 2, 0, 1, 0])
    with pytest.raises(InvalidOptionError, match="two outcomes"):
        classes.inverse_threshold(0.5)


def test_a_choice_tells_what_becomes_of_three_forecasts():
    choice = recalibrate(Y, P, methods=["platt"], rng=0, draws=19)
    listed = [f"{at} becomes {choice.calibrator.transform(at):.3f}" for at in (0.1, 0.5, 0.9)]
    assert choice.sentence.endswith(f" So {', '.join(listed)}.")
