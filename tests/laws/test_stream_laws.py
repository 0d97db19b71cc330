"""The stream recalibrator: calibrated whatever happens, and no worse than the model by much."""

from __future__ import annotations

import json
import math
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import calibrant.online as on
from oracles.strategies import predictions, universal

pairs = st.lists(st.tuples(st.integers(0, 1), predictions), min_size=1, max_size=60)


def hindsight(y, base, cells):
    """Squared errors of the model after rounding to cells and recalibrating each in hindsight."""
    cell = np.minimum((base * cells).astype(int), cells - 1)
    return sum(((y[cell == c] - y[cell == c].mean()) ** 2).sum() for c in np.unique(cell))


@universal
@given(pairs, st.integers(1, 8), st.sampled_from([0.01, 1.0, 4.0, 50.0]))
def test_bounds_hold_on_every_stream(rows, cells, trust):
    y, base = map(np.array, zip(*rows, strict=True))
    recalibrator = on.StreamRecalibrator(cells=cells, trust=trust)
    said = recalibrator.run(y, base)
    rounds = len(rows)
    assert recalibrator.rounds == rounds
    error = rounds * cal.smooth_calibration_error(y, said)
    assert error <= recalibrator.calibration_bound + 1e-9
    assert ((said > 0) & (said < 1)).all()
    squares = float(((said - y) ** 2).sum())
    assert squares <= hindsight(y, base, cells) + recalibrator.regret_bound + 1e-9
    model = float(((base - y) ** 2).sum())
    assert squares <= model + rounds / cells + recalibrator.regret_bound + 1e-9


@universal
@given(pairs, st.integers(1, 8))
def test_what_is_said_in_a_cell_depends_on_that_cell_alone(rows, cells):
    y, base = map(np.array, zip(*rows, strict=True))
    said = on.StreamRecalibrator(cells=cells).run(y, base)
    cell = np.minimum((base * cells).astype(int), cells - 1)
    for c in np.unique(cell):
        alone = on.StreamRecalibrator(cells=cells).run(y[cell == c], base[cell == c])
        assert np.array_equal(said[cell == c], alone)
        assert alone[0] == pytest.approx((c + 0.5) / cells)  # it begins at the model's word


def test_the_bound_is_of_the_promised_order():
    """About sqrt(2 J T) where outcomes are prompt, sqrt(2 J T (1 + 2 d)) where d wait."""
    y = np.random.default_rng(0).integers(0, 2, 20_000)
    prompt, late = (on.StreamRecalibrator(cells=1, trust=0.1) for _ in range(2))
    prompt.run(y, np.full(20_000, 0.5))
    for row in range(20_000):
        late.predict_one(0.5, key=row)
        if row >= 8:
            late.learn_one(0.5, y[row - 8], key=row - 8)
    assert prompt.calibration_bound == pytest.approx(math.sqrt(2 * 20_000), rel=0.05)
    assert late.calibration_bound == pytest.approx(math.sqrt(2 * 20_000 * 17), rel=0.05)


@universal
@given(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=1, max_size=300), st.integers(1, 30))
def test_bounds_hold_where_predictions_are_kept_from_zero(ys, delay):
    """Rare events in one cell, answered in batches: the margin works all the time."""
    recalibrator = on.StreamRecalibrator(cells=1, trust=0.01)
    said = []
    for row, _ in enumerate(ys):
        said.append(recalibrator.predict_one(0.01, key=row))
        if row % delay == delay - 1:
            for key in list(recalibrator.outstanding):
                recalibrator.learn_one(0.01, ys[key], key=key)
    known = recalibrator.rounds
    if known:
        error = known * cal.smooth_calibration_error(ys[:known], said[:known])
        assert error <= recalibrator.calibration_bound


@universal
@given(pairs, st.integers(0, 60), st.lists(st.integers(0, 5), min_size=60, max_size=60))
def test_delays_keep_the_promise_and_storing_changes_nothing(rows, cut, delays):
    """Outcomes come back after some rounds, in any order; halfway everything is stored."""
    recalibrator = on.StreamRecalibrator(cells=3)
    twin = on.StreamRecalibrator(cells=3)
    said: dict[int, float] = {}
    due: list[tuple[int, int]] = []
    for now in range(len(rows) + 6):
        if now == cut:
            recalibrator = on.StreamRecalibrator.from_json(
                json.dumps(json.loads(recalibrator.to_json()))
            )
        for arrival, row in sorted(due):
            if arrival == now:
                for each in (recalibrator, twin):
                    each.learn_one(rows[row][1], rows[row][0], key=row)
        if now < len(rows):
            said[now] = recalibrator.predict_one(rows[now][1], key=now)
            assert twin.predict_one(rows[now][1], key=now) == said[now]
            assert recalibrator.predict_one(rows[now][1], key=now) == said[now]
            due.append((now + 1 + delays[now], now))
    assert recalibrator.outstanding == []
    assert recalibrator.to_json() == twin.to_json()
    y = [outcome for outcome, _ in rows]
    error = len(rows) * cal.smooth_calibration_error(y, list(said.values()))
    assert error <= recalibrator.calibration_bound + 1e-9
    base = np.array([probability for _, probability in rows])
    squares = float(((np.array(list(said.values())) - np.array(y)) ** 2).sum())
    assert squares <= hindsight(np.array(y), base, 3) + recalibrator.regret_bound + 1e-9


def test_pickle_continues_with_the_base():
    recalibrator = on.StreamRecalibrator(math.sqrt, cells=4)
    for outcome in (0, 1, 1):
        recalibrator.learn_one(0.5, outcome)
    again = pickle.loads(pickle.dumps(recalibrator))  # noqa: S301  # our own
    assert again.predict_one(0.5) == recalibrator.predict_one(0.5)
    assert again.to_json() == recalibrator.to_json()


def test_a_good_model_stays_informative_and_a_bad_one_is_repaired():
    """An overconfident, drifting model: less squared error after than before."""
    rng = np.random.default_rng(0)
    chance = rng.random(6000)
    y = (rng.random(6000) < chance).astype(int)
    overconfident = np.clip(2 * chance - 0.5, 0, 1)
    said = on.StreamRecalibrator(cells=10).run(y, overconfident)
    before, after = ((p - y) ** 2 for p in (overconfident, said))
    assert after.mean() < before.mean() - 0.005
    assert (
        cal.smooth_calibration_error(y, said)
        < 0.01
        < cal.smooth_calibration_error(y, overconfident)
    )
    assert np.corrcoef(said, chance)[0, 1] > 0.9
