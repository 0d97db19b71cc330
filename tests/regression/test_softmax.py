"""Logistic fits of many outcomes: least penalised loss, and no change without a reason."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.errors import InvalidOptionError
from calibrant.regression import fit_scores, log_of, softmax_of, temperature_slope


def sample():
    rng = np.random.default_rng(0)
    score = log_of(rng.dirichlet(np.ones(3), 200))
    chance = softmax_of(0.5 * score).cumsum(axis=1)
    return score, (rng.random((200, 1)) > chance[:, :2]).sum(axis=1), np.full(200, 1 / 200)


def log_loss(score, label, mass):
    return -float(mass @ np.log(softmax_of(score))[np.arange(label.size), label])


def test_no_other_temperature_is_better():
    score, label, mass = sample()
    best = temperature_slope(score, label, mass)
    assert best == pytest.approx(0.5, abs=0.15)
    least = log_loss(best * score, label, mass)
    assert all(log_loss(best * part * score, label, mass) > least for part in (0.99, 1.01))


@pytest.mark.parametrize("diagonal", [True, False])
def test_no_small_step_lowers_the_penalised_loss(diagonal):
    score, label, mass = sample()

    def penalised(matrix, shift):
        change = (np.diag(matrix) - 1) if diagonal else (matrix - np.eye(3))
        penalty = 0.01 * ((change**2).mean() + (shift**2).mean())
        return log_loss(score @ matrix + shift, label, mass) + penalty

    matrix, shift = fit_scores(score, label, mass, 0.01, diagonal=diagonal)
    least = penalised(matrix, shift)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = rng.normal(size=(3, 3)) * 0.05
        step = np.diag(np.diag(step)) if diagonal else step
        assert penalised(matrix + step, shift + rng.normal(size=3) * 0.05) > least


def test_a_great_penalty_leaves_scores_alone():
    score, label, mass = sample()
    matrix, shift = fit_scores(score, label, mass, 1e6, diagonal=False)
    assert matrix == pytest.approx(np.eye(3), abs=1e-5)
    assert shift == pytest.approx(0, abs=1e-5)
    with pytest.raises(InvalidOptionError, match="penalty"):
        fit_scores(score, label, mass, -1.0, diagonal=True)
