"""The certificate of cells that an engine summed: the exact value lies within the bounds."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from oracles.strategies import MAKERS, joint_of, laws, of_each, universal, weighted_rows

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

CONTINUOUS = [measure for measure in JOINT_MEASURES.values() if measure.continuous]
every_continuous = pytest.mark.parametrize("measure", CONTINUOUS, ids=lambda m: m.name)
RESOLUTIONS = [2**4, 2**8, 2**12, 2**16, 2**20, "auto"]
COLUMNS = {"prediction": "p", "outcome": "y", "weight": "w"}


def on_an_engine(y, p, w, resolution) -> cal.Joint:
    return cal.Joint.from_frame(
        pl.DataFrame({"p": p, "y": y, "w": w}), **COLUMNS, resolution=resolution
    )


def assert_certified(measure, exact: cal.Joint, cells: cal.Joint) -> None:
    low, high = measure.function(cells).bounds
    assert low - 1e-12 <= measure.function(exact) <= high + 1e-12


@universal
@given(data=weighted_rows(), resolution=st.sampled_from(RESOLUTIONS))
@of_each("measure", CONTINUOUS)
def test_cells_of_rows_certify_the_exact_value(measure, data, resolution):
    y, p, w = data
    exact = cal.Joint.from_samples(y, p, sample_weight=w)
    assert_certified(measure, exact, on_an_engine(y, p, w, resolution))


@every_continuous
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_cells_of_adversarial_laws_certify_the_exact_value(measure, maker):
    for number, law in enumerate(laws(maker, 18)):
        resolution = RESOLUTIONS[number % len(RESOLUTIONS)]
        cells = on_an_engine(law.outcome, law.prediction, law.mass, resolution)
        assert_certified(measure, joint_of(law), cells)


@every_continuous
@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_many_rows_certify_the_exact_value(measure, resolution):
    rng = np.random.default_rng(11)
    p = np.concatenate([rng.random(3000), 0.5 + 2.0**-17 * rng.random(500), 10 ** -rng.random(500)])
    y = (rng.random(p.size) < np.where(p % 2e-5 < 1e-5, p**2, np.sqrt(p))).astype(int)
    exact, cells = cal.Joint.from_samples(y, p), on_an_engine(y, p, np.ones(p.size), resolution)
    assert_certified(measure, exact, cells)
    assert cells.rounding <= (cells.high - cells.low) @ cells.mass / 2 + 1e-18
