"""The stream recalibrator as users of river and of plain loops meet it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant.online as on
from calibrant.errors import InvalidForecastsError, InvalidOptionError


class Model:
    """A model in river's style that counts what it learns."""

    def __init__(self):
        self.learned = []

    def predict_proba_one(self, x):
        return {False: 1 - x["chance"], True: x["chance"]} if self.learned else {}

    def learn_one(self, x, y):
        self.learned.append((x["chance"], y))


def test_probabilities_come_in_many_forms():
    first = on.StreamRecalibrator(cells=10)
    second = on.StreamRecalibrator(lambda x: {True: x}, cells=10)
    third = on.StreamRecalibrator(float, cells=10)
    for outcome in (1, 0, 1, 1):
        predicted = {
            first.predict_one(0.73),
            first.predict_one({False: 0.27, True: 0.73}),
            second.predict_one(np.float32(0.73)),
            third.predict_one("0.73"),
        }
        assert len(predicted) == 1
        for each, x in ((first, 0.73), (second, 0.73), (third, "0.73")):
            each.learn_one(x, outcome)
    assert first.rounds == 4
    assert first.predict_proba_one(0.73)[True] == first.predict_one(0.73)


def test_the_base_model_learns_after_its_probability_was_used():
    model = Model()
    recalibrator = on.StreamRecalibrator(model, cells=10)
    assert 0.5 <= recalibrator.predict_one({"chance": 0.9}) < 0.6  # it knows nothing: the middle
    recalibrator.learn_one({"chance": 0.9}, True)
    assert model.learned == [(0.9, True)]
    assert list(recalibrator._cells) == [5]
    recalibrator.learn_one({"chance": 0.9}, False)
    assert list(recalibrator._cells) == [5, 9]


def test_predictions_without_a_key_replace_each_other():
    recalibrator = on.StreamRecalibrator(cells=2)
    for _ in range(3):
        recalibrator.predict_one(0.1)
        recalibrator.predict_one(0.9)
    recalibrator.learn_one(0.9, 1)
    assert recalibrator.rounds == 1
    assert recalibrator.outstanding == []
    assert [cell.waiting for cell in recalibrator._cells.values()] == [0, 0]


def test_forgetting_learns_nothing():
    recalibrator = on.StreamRecalibrator(cells=2)
    predicted = recalibrator.predict_one(0.1, key="never")
    recalibrator.forget_one("never")
    recalibrator.forget_one("unheard")
    assert recalibrator.outstanding == []
    assert recalibrator.predict_one(0.1, key="again") == predicted
    assert recalibrator.rounds == 0


@pytest.mark.parametrize("nonsense", [1.2, -0.1, float("nan"), None, "high", [0.1, 0.2]])
def test_probabilities_that_are_none(nonsense):
    recalibrator = on.StreamRecalibrator()
    before = recalibrator.to_json()
    with pytest.raises(InvalidForecastsError, match="probability in"):
        recalibrator.predict_one(nonsense)
    assert recalibrator.to_json() == before


@pytest.mark.parametrize("nonsense", [2, None, "yes", 0.5])
def test_outcomes_that_are_none_leave_it_unharmed(nonsense):
    recalibrator = on.StreamRecalibrator(Model())
    recalibrator.predict_one({"chance": 0.5}, key=1)
    before = recalibrator.to_json()
    with pytest.raises(InvalidForecastsError):
        recalibrator.learn_one({"chance": 0.5}, nonsense, key=1)
    assert recalibrator.to_json() == before
    assert recalibrator.base.learned == []
    with pytest.raises(InvalidForecastsError, match="must follow a prediction"):
        recalibrator.learn_one({"chance": 0.5}, 1, key=2)


def test_options_that_make_no_sense():
    with pytest.raises(InvalidOptionError, match="cells"):
        on.StreamRecalibrator(cells=0)
    for trust in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidOptionError, match="trust"):
            on.StreamRecalibrator(trust=trust)
    with pytest.raises(InvalidOptionError, match="base"):
        on.StreamRecalibrator(base=0.5)
    with pytest.raises(InvalidOptionError, match="without a base"):
        on.StreamRecalibrator(float).run([0, 1], [0.1, 0.2])
    text = on.StreamRecalibrator().to_json()
    with pytest.raises(InvalidOptionError):
        on.StreamRecalibrator.from_json(json.dumps({**json.loads(text), "forecaster": "Other"}))
    with pytest.raises(InvalidOptionError):
        on.StreamRecalibrator.from_json("nonsense")


@pytest.mark.parametrize(
    ("outcomes", "probabilities"),
    [([0, 1], [0.5, 1.5]), ([0, 1], [0.5, float("nan")]), ([0, 0.5], [0.1, 0.2]), ([0, 2], [0, 1])],
)
def test_recorded_streams_that_make_no_sense_change_nothing(outcomes, probabilities):
    recalibrator = on.StreamRecalibrator()
    before = recalibrator.to_json()
    with pytest.raises(InvalidForecastsError):
        recalibrator.run(outcomes, probabilities)
    assert recalibrator.to_json() == before
