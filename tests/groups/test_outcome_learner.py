"""Outcome indistinguishability: the guarantee, the bound on corrections, oracle access."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups import OutcomeIndistinguishable, distinguisher_advantage
from oracles.strategies import universal

OI = OutcomeIndistinguishable

TESTS = {
    "all": lambda x, y, p, predict: y,
    "high": lambda x, y, p, predict: y * (x > 0.7),
    "confident": lambda x, y, p, predict: np.where(y == 1, p > 0.5, 0.0),
    "wave": lambda x, y, p, predict: np.sin(9 * x) * (2 * y - 1),
    "rises": lambda x, y, p, predict: y * (predict(np.clip(x + 0.1, 0, 1)) > p),
    "mirror": lambda x, y, p, predict: (2 * y - 1) * (predict(1 - x) - 0.5),
}


def rows(size=3000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random(size).round(3)
    chance = np.clip(0.2 + 0.5 * (x > 0.7) + 0.15 * np.sin(9 * x), 0, 1)
    return x, (rng.random(size) < chance).astype(int), chance


def advantage(learner, name, x, y, weight=None):
    """From the definition, with the fitted predictor as the oracle."""
    p = learner.predict(x)
    return distinguisher_advantage(
        lambda features, outcome, prediction: TESTS[name](
            features, outcome, prediction, learner.predict
        ),
        y,
        p,
        x,
        sample_weight=weight,
    ).value


@pytest.mark.parametrize("tolerance", [0.05, 0.01, 0.003])
def test_no_test_has_an_advantage_above_the_tolerance_on_the_rows_fitted_to(tolerance):
    x, y, _ = rows()
    learner = OI(TESTS, tolerance=tolerance, held_out=0).fit(x, y)
    for one in learner.advantages_:
        found = advantage(learner, one.name, x, y)
        assert found <= tolerance + 1e-12
        assert abs(one.fitted) == pytest.approx(found, abs=1e-12)
        assert one.held_out is None


@universal
@given(
    seed=st.integers(0, 10**6),
    tolerance=st.sampled_from([0.3, 0.1, 0.04]),
    base=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_every_correction_lowers_the_squared_error_by_a_quarter_of_its_square(
    seed, tolerance, base
):
    x, y, _ = rows(60, seed)
    learner = OI(TESTS, base=base, tolerance=tolerance, held_out=0).fit(x, y)
    brier = float(np.mean((y - base) ** 2))
    for update in learner.updates_:
        assert abs(update.advantage) > tolerance
        assert update.brier <= brier - update.advantage**2 / 4 + 1e-12
        brier = update.brier
    assert len(learner.updates_) <= learner.most_updates == int(4 / tolerance**2)
    assert float(np.mean((y - learner.predict(x)) ** 2)) == pytest.approx(brier, abs=1e-12)


def test_it_comes_close_to_the_truth_where_the_tests_name_it():
    x, y, chance = rows(20_000)
    learner = OI(TESTS, tolerance=0.002).fit(x, y)
    before, after = np.abs(0.5 - chance).mean(), np.abs(learner.predict(x) - chance).mean()
    assert after < 0.3 * before
    for one in learner.advantages_:
        assert abs(one.held_out) < 0.002 + 5 * one.standard_error
    assert "on rows held out" in learner.sentence_


def test_advantages_on_rows_held_out_are_those_of_other_rows():
    """Held-out advantages of an overfitted learner are larger than the tolerance."""
    x, y, _ = rows(300)

    def within(cell):
        return lambda x, y, p, predict: y * (np.floor(100 * x) == cell)

    many = {f"cell {cell}": within(cell) for cell in range(100)}
    learner = OI(many, tolerance=1e-4, held_out=0.5).fit(x, y)
    assert max(abs(one.fitted) for one in learner.advantages_) <= 1e-4
    assert max(abs(one.held_out) for one in learner.advantages_) > 1e-3


def test_the_predictor_can_be_asked_anywhere_and_in_any_company():
    """One row alone, in a batch or in another order: the same prediction."""
    x, y, _ = rows()
    learner = OI(TESTS, tolerance=0.01).fit(x, y)
    together = learner.predict(x[:50])
    alone = np.array([learner.predict(x[i : i + 1])[0] for i in range(50)])
    assert np.array_equal(together, alone)
    assert np.array_equal(learner.predict(x[:50][::-1]), together[::-1])
    assert ((together >= 0) & (together <= 1)).all()


def test_row_order_does_not_matter():
    x, y, _ = rows()
    order = np.random.default_rng(9).permutation(x.size)
    first = OI(TESTS).fit(x, y)
    second = OI(TESTS).fit(x[order], y[order])
    assert [u.test for u in first.updates_] == [u.test for u in second.updates_]
    assert np.allclose(first.predict(x), second.predict(x), atol=1e-12)


def test_weights_are_repeats():
    x, y, _ = rows(200)
    times = np.random.default_rng(3).integers(1, 4, 200)
    weighted = OI(TESTS, held_out=0).fit(x, y, times)
    repeated = OI(TESTS, held_out=0).fit(np.repeat(x, times), np.repeat(y, times))
    assert np.allclose(weighted.predict(x), repeated.predict(x), atol=1e-9)
    for name in TESTS:
        assert advantage(weighted, name, x, y, times) <= 0.01 + 1e-12


def test_frames_mappings_labels_and_a_model_as_base():
    import pandas as pd

    x, y, _ = rows(1000)
    frame = pd.DataFrame({"x": x, "model": 0.2 + 0.5 * x, "site": np.where(x < 0.3, "a", "b")})
    tests = {"site a": lambda f, y, p, predict: y * (f["site"] == "a"), "all": TESTS["all"]}
    words = np.where(y == 1, "late", "on time")
    learner = OI(tests, base=lambda f: f["model"], held_out=0)
    learner.fit(frame, words, pos_label="late")
    same = OI(tests, base=lambda f: f["model"], held_out=0)
    same.fit({name: frame[name].tolist() for name in frame}, y)
    assert np.allclose(learner.predict(frame), same.predict(frame), atol=1e-12)
    left = learner.predict(frame) - y
    assert abs(left.mean()) <= 0.01 + 1e-12
    assert abs((left * (frame["site"] == "a")).mean()) <= 0.01 + 1e-12


def test_a_calibrated_base_is_left_alone():
    x, y, chance = rows(20_000)
    known = dict(zip(x.tolist(), chance.tolist(), strict=True))
    base = lambda x: np.array([known.get(v, 0.5) for v in x.tolist()])  # noqa: E731
    learner = OI({"all": TESTS["all"], "wave": TESTS["wave"]}, base=base)
    assert learner.fit(x, y).updates_ == ()
    assert np.array_equal(learner.predict(x), chance)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: OI({}).fit([0.1], [1]), "at least one test"),
        (lambda: OI({"a": lambda *_: 2.0}, held_out=0).fit([0.1], [1]), r"\[-1, 1\]"),
        (lambda: OI({"a": lambda *_: [0, 1]}, held_out=0).fit([0.1], [1]), "per row"),
        (lambda: OI(TESTS, base=1.2).fit([0.1], [1]), "base"),
        (lambda: OI(TESTS, tolerance=0).fit([0.1], [1]), "tolerance"),
        (lambda: OI(TESTS, held_out=0.9).fit([0.1], [1]), "held_out"),
        (lambda: OI(TESTS).predict([0.1]), "must be fitted"),
        (lambda: OI(TESTS).fit([], []), "features"),
        (lambda: OI(TESTS, base=lambda x: [0.1] * 3).fit([0.1, 0.2], [1, 0]), "base"),
    ],
    ids=range(9),
)  # fmt: skip
def test_what_cannot_be_learned_from_is_refused(call, words):
    with pytest.raises((InvalidOptionError, InvalidForecastsError), match=words):
        call()


def test_one_event_two_rows_and_constant_outcomes():
    for y in ([1, 0], [0, 0], [1, 1]):
        learner = OI(TESTS, held_out=0).fit([0.2, 0.9], y)
        assert max(abs(one.fitted) for one in learner.advantages_) <= 0.01


def test_hkrr_by_the_letter_leaves_no_cell_of_a_group_above_the_tolerance():
    """Multicalibration as HKRR state it, checked cell by cell on the rows fitted to."""
    rng = np.random.default_rng(4)
    size = 4000
    p = rng.random(size)
    by = {"site": rng.choice(["a", "b", "c"], size), "sex": rng.choice(["f", "m"], size)}
    y = rng.random(size) < np.clip(p + 0.15 * (by["site"] == "a") - 0.1 * (by["sex"] == "m"), 0, 1)
    made = cal.groups.Multicalibrator(tolerance=0.02, min_mass=0.01, judge="fit").fit(p, y, by)
    fixed = made.transform(p, by)
    cells = np.minimum((fixed * 10).astype(int), 9)
    groups = [np.ones(size, bool), *(by[c] == v for c in by for v in np.unique(by[c]))]
    for group in groups:
        for cell in range(10):
            part = group & (cells == cell)
            if part.mean() >= 0.01:
                assert abs((y[part] - fixed[part]).mean()) <= 0.02 + 1e-9
