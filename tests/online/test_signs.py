"""The game of signs: values by brute force, players within the value, natures and forecasters."""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import calibrant.online as on
from calibrant.errors import InvalidOptionError
from oracles.strategies import universal


@cache
def by_definition(board: str, rounds: int, reuse: bool) -> int:  # noqa: FBT001  # cached
    """The papers' game: the labeler deletes any subset of what may be deleted."""
    best = sum(content in "+-" for content in board)
    if not rounds:
        return best
    for cell in (c for c, content in enumerate(board) if content == "."):
        open_to_deletion = [
            c
            for c, content in enumerate(board)
            if (content == "-" and c < cell) or (content == "+" and c > cell)
        ]
        sizes = range(len(open_to_deletion) + 1)
        subsets = chain.from_iterable(combinations(open_to_deletion, k) for k in sizes)
        left = min(
            by_definition(_after(board, cell, sign, deleted, reuse), rounds - 1, reuse)
            for deleted in subsets
            for sign in "+-"
        )
        best = max(best, left)
    return best


def _after(board, cell, sign, deleted, reuse):
    gone = "." if reuse else "x"
    return "".join(
        sign if c == cell else gone if c in deleted else content for c, content in enumerate(board)
    )


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("cells", range(1, 6))
def test_the_value_is_that_of_the_game_with_any_deletions(cells, reuse):
    """Deleting everything is best for the labeler, as the docstring proves."""
    for rounds in range(cells + 3):
        game = on.SignPreservation(cells, rounds, reuse=reuse)
        assert game.value() == by_definition("." * cells, rounds, reuse)


@universal
@given(board=st.text("+-.", min_size=1, max_size=5), rounds=st.integers(0, 4), reuse=st.booleans())
def test_the_value_of_any_board_is_that_of_the_definition(board, rounds, reuse):
    game = on.SignPreservation(len(board), reuse=reuse)
    assert game.value(board, rounds) == by_definition(board, rounds, reuse)


def test_golden_values():
    assert [on.SignPreservation(n).value() for n in range(1, 11)] == [1, 1, 2, 2, 2, 3, 3, 3, 3, 4]
    with_reuse = [on.SignPreservation(n, reuse=True).value() for n in range(1, 9)]
    assert with_reuse == [1, 1, 2, 2, 3, 3, 4, 4]
    twice = [on.SignPreservation(n, 2 * n, reuse=True).value() for n in range(1, 7)]
    assert twice == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("cells", [1, 4, 7])
def test_the_best_players_reach_the_value_and_no_other_beats_them(cells, reuse):
    game = on.SignPreservation(cells, reuse=reuse)
    value = game.value()
    assert game.play(game.pointer(), game.labeler()).kept == value
    labelers = [lambda *_: "+", lambda *_: "-", lambda b, c, left: "+-"[c % 2]]
    for labeler in (*labelers, on.RecursiveLabeler(cells)):
        assert game.play(game.pointer(), labeler).kept >= value
    for pointer in (on.MiddlePointer(), *map(on.RandomPointer, range(10))):
        assert game.play(pointer, game.labeler()).kept <= value


@universal
@given(seed=st.integers(0, 10**6), cells=st.integers(1, 40), reuse=st.booleans())
def test_what_is_left_after_any_game_is_pluses_before_minuses(seed, cells, reuse):
    game = on.SignPreservation(cells, 60, reuse=reuse)
    played = game.play(on.RandomPointer(seed), on.RecursiveLabeler(cells))
    signs = played.board.replace(".", "").replace("x", "")
    assert signs == "+" * signs.count("+") + "-" * signs.count("-")
    assert 1 <= played.kept == len(signs) <= len(played.moves)
    assert ("x" in played.board) <= (not reuse)


def test_a_sign_deletes_minuses_to_its_left_and_pluses_to_its_right():
    assert on.SignPreservation(7).after("-+-.+-+", 3, "+") == "x+x+x-x"
    assert on.SignPreservation(7, reuse=True).after("-+-.+-+", 3, "-") == ".+.-.-."


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: on.SignPreservation(0), "cells"),
        (lambda: on.SignPreservation(3, -1), "rounds"),
        (lambda: on.SignPreservation(17).value(), "up to 16 cells"),
        (lambda: on.SignPreservation(17).pointer()("." * 17, 3), "up to 16 cells"),
        (lambda: on.SignPreservation(17).labeler()("." * 17, 0, 3), "up to 16 cells"),
        (lambda: on.SignPreservation(3).value("...."), "a board"),
        (lambda: on.SignPreservation(3, reuse=True).value("..x"), "a board"),
        (lambda: on.SignPreservation(2).play(lambda b, t: 0, lambda *_: "+"), "empty cell"),
        (lambda: on.SignPreservation(2).play(lambda b, t: 2, lambda *_: "+"), "empty cell"),
        (lambda: on.SignPreservation(2).play(lambda b, t: 0, lambda *_: 1), '"\\+" or "-"'),
    ],
    ids=range(10),
)
def test_what_is_no_game_is_refused(call, words):
    with pytest.raises(InvalidOptionError, match=words):
        call()


def expected_error(game: on.Game) -> float:
    return game.errors(["exact_calibration_error"])["exact_calibration_error"]


@pytest.mark.parametrize("reuse", [False, True])
def test_the_nature_of_signs_costs_foster_more_than_fair_outcomes(reuse):
    """Also the bound of the forecaster holds: no nature can break it."""
    rounds, forecaster = 8000, on.FosterForecaster
    signs = [
        expected_error(on.simulate(forecaster(rounds), on.SignNature(reuse=reuse), rounds, rng=s))
        for s in range(5)
    ]
    fair = [
        expected_error(on.simulate(forecaster(rounds), on.Bernoulli(), rounds, rng=s))
        for s in range(5)
    ]
    assert np.mean(signs) > 1.3 * np.mean(fair)
    assert np.mean(signs) <= forecaster(rounds).bound(rounds)


def test_the_nature_of_signs_sees_the_bias_of_who_does_not_sidestep():
    """Who knows the chances and forecasts them is off by chance, and keeps the signs."""
    nature = on.SignNature()

    class Knows:
        def forecast(self):
            return nature._chance if hasattr(nature, "_chance") else 0.5

        def learn(self, prediction, outcome):
            pass

    game = on.simulate(Knows(), nature, 8000, rng=3)
    assert nature.board.count("+") + nature.board.count("-") >= 5
    cells = np.round((game.predictions[1:] - 0.25) * 40, 6)
    assert set(cells[cells % 1 == 0]) <= set(range(20))
    away = on.simulate(on.ConstantForecaster(0.0), nature, 8000, rng=3)
    assert set(nature.board) == {"x"} or "." in nature.board
    assert expected_error(away) > 1000


@pytest.mark.parametrize("constant", [0, -1, float("nan"), "much"])
def test_a_nature_of_signs_needs_a_positive_constant(constant):
    with pytest.raises(InvalidOptionError, match="constant"):
        on.SignNature(constant=constant)


CHANCES = {
    "constant": lambda t, rng: np.full(t, 0.3),
    "drift": lambda t, rng: np.linspace(0.1, 0.9, t),
    "uniform": lambda t, rng: rng.random(t),
    "ends": lambda t, rng: rng.integers(0, 2, t).astype(float),
}


@pytest.mark.parametrize("name", CHANCES)
def test_with_the_chances_known_the_error_stays_within_the_old_rate(name):
    """Measured, not proven: T x ECE of chances and of outcomes is below T^(2/3)."""
    rounds, rng = 4096, np.random.default_rng(5)
    chances = CHANCES[name](rounds, rng)
    outcomes = (rng.random(rounds) < chances).astype(int)
    forecaster = on.ConditionalMeanForecaster(lambda past: chances[len(past)], rounds)
    game = on.simulate(forecaster, on.Replay(outcomes), rounds)
    assert expected_error(game) < rounds ** (2 / 3)
    known = cal.Joint.from_samples(chances, game.predictions)
    assert rounds * cal.exact_calibration_error(known) < rounds ** (2 / 3)
    assert np.abs(game.predictions - chances).mean() < 0.1


def test_a_chance_that_is_none_is_refused():
    forecaster = on.ConditionalMeanForecaster(lambda past: 1.5, 10)
    with pytest.raises(InvalidOptionError, match="chance"):
        on.simulate(forecaster, on.Bernoulli(), 10)
