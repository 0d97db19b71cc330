"""Calibrators as ONNX models, run by onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from calibrant.errors import InvalidOptionError, NotFittedError
from calibrant.groups import recalibrate_by_group
from calibrant.recalibration import CALIBRATORS, MULTICLASS_CALIBRATORS, PlattScaling
from calibrant.recalibration.forms import Logistic

RNG = np.random.default_rng(3)
P = np.concatenate([RNG.random(400), [0.0, 1.0, 0.5, 0.5]])
Y = (RNG.random(P.size) < P**2).astype(int)
TABLE = RNG.dirichlet(np.ones(3), 400)
LABEL = RNG.integers(0, 3, 400)


def run(model, given):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"prediction": given})[0]


@pytest.mark.parametrize("name", CALIBRATORS)
def test_maps_of_two_outcomes_give_the_same_numbers(name):
    fitted = CALIBRATORS[name]().fit(P, Y)
    seen = np.concatenate([P, np.linspace(0, 1, 101)])
    assert np.allclose(run(fitted.to_onnx(), seen), fitted.transform(seen), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MULTICLASS_CALIBRATORS)
def test_maps_of_classes_give_the_same_numbers(name):
    fitted = MULTICLASS_CALIBRATORS[name]().fit(TABLE, LABEL)
    seen = np.concatenate([TABLE, np.eye(3), [[0.5, 0.5, 0.0]]])
    assert np.allclose(run(fitted.to_onnx(), seen), fitted.transform(seen), rtol=0, atol=1e-12)


def test_percentages_are_taken_and_the_output_is_named():
    fitted = PlattScaling().fit(P, Y).with_scale("percent")
    model = fitted.to_onnx(name="chance")
    assert model.graph.output[0].name == "chance"
    assert np.allclose(run(model, 100 * P), fitted.transform(100 * P), rtol=0, atol=1e-12)
    assert run(model, np.array([-5.0, 250.0])).tolist() == pytest.approx(
        fitted.transform([0, 100]).tolist()
    )


def test_log_odds_are_taken():
    fitted = PlattScaling().fit(P, Y).with_scale("logit")
    given = np.array([-40.0, -1.0, 0.0, 3.0, 40.0])
    assert np.allclose(run(fitted.to_onnx(), given), fitted.transform(given), rtol=0, atol=1e-12)


@pytest.mark.parametrize("slope", [1 + 3e-8, 1 - 2e-8, 1.0])
def test_a_factor_of_nearly_one_is_kept(slope):
    """The optimizer of onnxruntime compares factors with 1 in single precision."""
    fitted = PlattScaling().fit(P, Y)
    fitted.form_ = Logistic(0.1, slope, slope)
    seen = np.array([1e-15, 1e-3, 0.3, 0.6, 1 - 1e-9])
    found = run(fitted.to_onnx(), seen)
    assert np.allclose(found, fitted.transform(seen), rtol=1e-10, atol=0)


def test_what_cannot_be_written_is_refused():
    with pytest.raises(NotFittedError):
        PlattScaling().to_onnx()
    site = np.array(["a", "b"] * 2000)
    p = RNG.random(4000)
    y = RNG.random(4000) < np.where(site == "a", 0.6 * p, p)
    recalibrated = recalibrate_by_group(y, p, {"site": site}, rng=0)
    assert recalibrated.patched
    with pytest.raises(InvalidOptionError, match="patches for groups"):
        recalibrated.calibrator.to_onnx()
