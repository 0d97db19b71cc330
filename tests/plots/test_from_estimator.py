"""Every Display from a fitted model, as scikit-learn's displays are made."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from calibrant import plots
from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidTypeError
from calibrant.models import CalibratedClassifier

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": RNG.normal(size=400), "site": ["a", "b"] * 200})
Y = np.where(RNG.random(400) < 1 / (1 + np.exp(-FRAME["x"])), "yes", "no")
MODEL = make_pipeline(FunctionTransformer(lambda frame: frame[["x"]]), LogisticRegression()).fit(
    FRAME, Y
)
DAYS = np.datetime64("2026-01-01") + np.arange(400)
OPTIONS = {
    "GroupsDisplay": {"by": "site", "rng": 0},
    "TimeDisplay": {"time": DAYS},
    "NullDisplay": {"rng": 0},
}
# Pictures of what is no forecast of two outcomes.
OF_REAL_OUTCOMES = {"ObservedRiskDisplay", "PitDisplay"}
KINDS = [
    name
    for name in plots.__all__
    if name.endswith("Display") and name != "Display" and name not in OF_REAL_OUTCOMES
]


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("name", KINDS)
def test_every_display_is_made_of_a_model_with_words_for_labels(name):
    kind, options = getattr(plots, name), OPTIONS.get(name, {})
    drawn = kind.from_estimator(MODEL, FRAME, Y, **options)
    assert drawn.figure_ is drawn.ax_.get_figure()
    given = options | ({"by": {"site": FRAME["site"]}} if "by" in options else {})
    same = kind.from_predictions(Y, MODEL.predict_proba(FRAME)[:, 1], pos_label="yes", **given)
    assert drawn.sentence == same.sentence
    plt.close("all")


def test_one_class_of_many_is_looked_at():
    labels = np.array(["u", "v", "w"])[RNG.integers(0, 3, 400)]
    model = CalibratedClassifier(LogisticRegression(), cv=2).fit(FRAME[["x"]], labels)
    drawn = plots.ReliabilityDisplay.from_estimator(model, FRAME[["x"]], labels, pos_label="w")
    assert drawn.sentence
    plt.close("all")
    with pytest.raises(InvalidForecastsError, match="pos_label must name one"):
        plots.ReliabilityDisplay.from_estimator(model, FRAME[["x"]], labels)


def test_time_is_cut_into_windows_and_groups_are_columns():
    found = plots.TimeDisplay.of(Y == "yes", MODEL.predict_proba(FRAME)[:, 1], time=DAYS)
    assert found.rows.sum() == 400
    assert 10 <= found.rows.size <= 11
    still = plots.TimeDisplay.of([0, 1], [0.2, 0.7], time=[3, 3])
    assert still.rows.tolist() == [2]
    with pytest.raises(InvalidOptionError, match="pass time"):
        plots.TimeDisplay.from_estimator(MODEL, FRAME, Y)
    with pytest.raises(InvalidOptionError, match="by must name columns"):
        plots.GroupsDisplay.from_estimator(MODEL, FRAME, Y, by="town")


@pytest.mark.parametrize("name", sorted(OF_REAL_OUTCOMES))
def test_pictures_of_real_outcomes_are_not_made_of_a_classifier(name):
    with pytest.raises(InvalidTypeError, match="this picture shows"):
        getattr(plots, name).from_estimator(MODEL, FRAME, Y)
