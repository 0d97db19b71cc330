"""Pictures of observed risks and of transforms: they show the numbers of the library."""

import pickle

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from calibrant import plots
from calibrant.distributions import PredictiveDistributions
from calibrant.errors import InvalidTypeError
from calibrant.survival import SurvivalForecasts, observed_risk

mpl.use("Agg")


def survival(size=500):
    rng = np.random.default_rng(0)
    risk = rng.beta(2, 6, size)
    time, lost = rng.exponential(1 / -np.log1p(-risk)), rng.exponential(2, size)
    return SurvivalForecasts.read(np.minimum(time, lost), time <= lost, risk, 1.0)


def test_observed_risks_are_drawn_with_their_intervals():
    found = observed_risk(survival(), bins=4)
    display = plots.ObservedRiskDisplay.of(survival(), bins=4)
    assert display.frame()["observed"].tolist() == [part.observed for part in found.bins]
    assert f"{found.overall.ratio:.2f}" in display.sentence
    assert plots.ObservedRiskDisplay.of(found).sentence == display.sentence
    figure, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax
    plt.close(figure)
    assert pickle.loads(pickle.dumps(display)).sentence == display.sentence  # noqa: S301
    assert display.to_svg() == display.to_svg()
    assert display.to_svg().startswith("<svg")


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_a_histogram_of_transforms_shows_its_band(spread):
    rng = np.random.default_rng(1)
    forecasts = PredictiveDistributions.from_ensemble(spread * rng.normal(size=(800, 9)))
    y = rng.normal(size=800)
    display = plots.PitDisplay.of(forecasts, y, bins=10, rng=0)
    histogram = forecasts.pit_histogram(y, bins=10, rng=0)
    assert display.frame()["share"] == pytest.approx(histogram.share)
    assert plots.PitDisplay.of(histogram).sentence == display.sentence
    assert display.sentence.startswith("All of 10 bins" if spread == 1 else "8 of 10 bins")
    assert display.to_svg().startswith("<svg")


def test_other_things_have_no_such_picture():
    with pytest.raises(InvalidTypeError, match="SurvivalForecasts"):
        plots.ObservedRiskDisplay.of([1, 2])
    with pytest.raises(InvalidTypeError, match="PredictiveDistributions"):
        plots.PitDisplay.of([1, 2])
