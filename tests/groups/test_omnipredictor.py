"""The omnipredictor: for every loss, its guarantee against every rule of its class."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from calibrant import groups
from calibrant.errors import InvalidForecastsError, InvalidOptionError, NotFittedError
from calibrant.groups import Multicalibrator, Omnipredictor
from calibrant.groups.omnipredictor import (
    Sample,
    fit_isotonic,
    fit_isotron,
    fit_multiaccuracy,
    noise_level,
)
from oracles.definition_of_omniprediction import (
    best_responses,
    isotron_heads,
    largest_linear_bias,
    least_loss_of_falling_rules,
    least_monotone_loss,
)

LINEAR = [
    Omnipredictor(),
    Omnipredictor(tolerance=0.004),
    Omnipredictor("isotron"),
    Omnipredictor("isotron", tolerance=1e-4, rounds=15),
    Omnipredictor("isotron", heads="average", rounds=15, tolerance=1e-4),
]
linear = pytest.mark.parametrize("model", LINEAR, ids=repr)


def drawn(n=600, d=3, seed=0):
    """Features that are correlated, and outcomes that depend on two of their directions."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    first, second = rng.normal(size=(2, d)) @ table.T / 2
    chance = 1 / (1 + np.exp(-first + np.abs(second) / 2))
    return table, (rng.random(n) < chance).astype(float)


def sample_of(table, y, weight=None):
    share = np.ones(len(y)) if weight is None else weight
    return Sample(np.asarray(table, dtype=float), y.astype(float), share / share.sum())


def proper_losses(rng):
    """Mixtures of cutoffs that cost, the squared and the log loss."""
    cuts, parts = rng.random(4).round(1) + 0.05, rng.exponential(size=4)

    def mixture(y, p):
        acts = p[:, np.newaxis] > cuts
        return (acts * (cuts - y[:, np.newaxis])) @ parts + 0.3 * y

    def log(y, p):
        with np.errstate(divide="ignore"):
            return -np.log(np.where(y == 1, p, 1 - p))

    return [mixture, groups.squared_loss, log]


@pytest.mark.parametrize("seed", range(12))
def test_isotonic_regression_is_best_for_every_proper_loss_among_monotone_functions(seed):
    """Brute force over all increasing functions with values on a grid and those of the fit."""
    rng = np.random.default_rng(seed)
    score, y = rng.integers(0, 5, 9).astype(float), rng.integers(0, 2, 9).astype(float)
    weight = rng.integers(1, 4, 9).astype(float)
    head = fit_isotonic(sample_of(score[:, np.newaxis], y, weight)).heads[0]
    p = head(score[:, np.newaxis])
    values = np.unique(np.append(np.linspace(0.02, 0.98, 9), p))
    for loss in proper_losses(rng):
        own = np.average(loss(y, p), weights=weight)
        assert own <= least_monotone_loss(score, y, weight, loss, values) + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_isotonic_regression_serves_any_loss_against_rules_that_fall(seed):
    """Losses of four actions at random; each rule with falling l(1, c) - l(0, c) is tried."""
    rng = np.random.default_rng(seed)
    score, y = rng.integers(0, 5, 12).astype(float), rng.integers(0, 2, 12).astype(float)
    p = fit_isotonic(sample_of(score[:, np.newaxis], y)).heads[0](score[:, np.newaxis])
    for _ in range(20):
        payments = rng.normal(size=(4, 2))
        own = payments[best_responses(p, payments), y.astype(int)].mean()
        assert own <= least_loss_of_falling_rules(score, y, payments) + 1e-12


def test_isotonic_regression_fails_against_rules_that_rise():
    """The class is part of the statement: where outcomes fall with the score, so do good rules."""
    score, y = np.arange(10.0), (np.arange(10) < 5) * 1.0
    p = fit_isotonic(sample_of(score[:, np.newaxis], y)).heads[0](score[:, np.newaxis])
    own = groups.squared_loss(y, p).mean()
    assert own == 0.25
    assert groups.squared_loss(y, (score < 5) * 1.0).mean() == 0


def test_isotonic_regression_holds_on_new_rows_within_the_bound_of_the_page():
    """All cutoffs at once: within 2 sqrt(log(4 / d) / 2n) in at least 1 - d of the samples.

    For a cutoff v the loss is (v - y) 1(act), and rules act on the scores above some point. Losses
    are of the population, of all cutoffs and all such rules.
    """
    rng = np.random.default_rng(0)
    levels, n, risk = 15, 150, 0.05
    bound = 2 * np.sqrt(np.log(4 / risk) / (2 * n))
    cuts = np.linspace(0.01, 0.99, 99)
    gaps = []
    for _ in range(400):
        mass, chance = rng.dirichlet(np.ones(levels)), np.sort(rng.random(levels))
        chance = np.where(rng.random(levels) < 0.3, rng.random(levels), chance)
        level = rng.choice(levels, n, p=mass)
        y = (rng.random(n) < chance[level]).astype(float)
        head = fit_isotonic(sample_of(level[:, np.newaxis], y)).heads[0]
        p = head(np.arange(levels, dtype=float)[:, np.newaxis])
        paid = mass * (cuts[:, np.newaxis] - chance)
        own = (paid * (p > cuts[:, np.newaxis])).sum(axis=1)
        tails = np.pad(paid[:, ::-1].cumsum(axis=1), ((0, 0), (1, 0)))
        gaps.append((own - tails.min(axis=1)).max())
    assert np.mean(np.array(gaps) > bound) <= risk
    assert max(gaps) > bound / 10  # the statement is about something
    assert min(gaps) >= 0


def test_isotron_is_the_algorithm_line_by_line():
    table, y = drawn(300)
    found = fit_isotron(sample_of(table, y), 0.0, 12, average=True)
    expected = np.column_stack(list(isotron_heads(table, y, 12)))
    heads = np.column_stack([head(table) for head in found.heads])
    assert heads == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rounds", [1, 4, 25, 60])
def test_isotron_leaves_no_more_than_its_bound_on_average(seed, rounds):
    """1 / (2 sqrt T), for outcomes of any kind: here they have nothing to do with the features."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(80, 5)) ** 3
    for y in (rng.integers(0, 2, 80).astype(float), (table[:, 0] ** 2 > 1) * 1.0):
        found = fit_isotron(sample_of(table, y), 0.0, rounds, average=True)
        p = np.mean([head(table) for head in found.heads], axis=0)
        left = largest_linear_bias(table, y - p)
        assert found.left == pytest.approx(left, abs=1e-9)
        assert left <= 1 / (2 * np.sqrt(found.rounds)) + 1e-9


LINKS = {
    "logistic": (lambda t: 1 / (1 + np.exp(-2 * t)), 0.5),
    "clipped": (lambda t: np.clip(0.5 + 0.4 * t, 0.02, 0.97), 0.4),
    "flat, then rising": (lambda t: 0.1 + 0.4 * (t > 0) * np.tanh(t), 0.4),
}


@pytest.mark.parametrize("name", LINKS)
def test_isotron_learns_a_single_index_model_without_noise(name):
    """Mean outcomes are known: heads are off by 2 L W left in mean square, W the spread of w.x.

    The matching loss of a link with slopes up to L exceeds its least value by (p - p*)^2 / 2L or
    more, and by W left at most. Links that are flat somewhere are covered, as p stays within the
    range of the truth.
    """
    link, lipschitz = LINKS[name]
    rng = np.random.default_rng(5)
    table = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4))
    score = table @ rng.normal(size=4) / 2
    truth = link(score)
    off = {}
    for rounds in (4, 100):
        found = fit_isotron(sample_of(table, truth), 0.0, rounds, average=True)
        off[rounds] = np.mean([np.mean((head(table) - truth) ** 2) for head in found.heads])
        assert off[rounds] <= 2 * lipschitz * score.std() * found.left + 1e-9
        assert found.left <= 1 / (2 * np.sqrt(rounds)) + 1e-9
    assert off[100] < off[4]


def test_isotron_learns_a_single_index_model_from_outcomes():
    """Excess squared error on new rows, and more rows leave less of it."""
    excess = []
    for n in (250, 4000):
        found = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            table = rng.normal(size=(n + 4000, 4))
            truth = np.clip(0.5 + table @ [0.3, -0.2, 0.1, 0.0], 0.1, 0.8)
            y = rng.random(len(truth)) < truth
            model = Omnipredictor("isotron").fit(table[:n], y[:n])
            p = model.predict_proba(table[n:])[:, 1]
            found.append(np.mean((p - truth[n:]) ** 2))
        excess.append(np.mean(found))
    assert excess[1] < 0.002
    assert excess[1] < excess[0] / 4


@pytest.mark.parametrize("tolerance", [0.03, 0.01, 0.003])
def test_every_round_of_multiaccuracy_lowers_the_squared_error_by_the_proven_amount(tolerance):
    table, y = drawn(500, 5, seed=3)
    found = fit_multiaccuracy(sample_of(table, y), tolerance, 10**6)
    assert (-np.diff(found.errors) >= tolerance**2).all()
    assert found.errors[0] == pytest.approx(y.mean() * (1 - y.mean()))
    assert found.rounds <= found.errors[0] / tolerance**2
    p = found.heads[0](table)
    assert np.mean((y - p) ** 2) == pytest.approx(found.errors[-1], abs=1e-12)
    assert largest_linear_bias(table, y - p) == pytest.approx(found.left, abs=1e-9)
    assert found.left <= tolerance


@pytest.mark.parametrize("weighted", [False, True])
@linear
def test_predictions_are_calibrated_on_the_rows_fitted_to(model, weighted):
    """E h(p) (y - p) = 0 for every function h, by head; and what is left is what it says."""
    table, y = drawn()
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else np.ones(len(y))
    fitted = clone(model).fit(table, y, weight)
    heads = fitted.predict_heads(table)
    for p in heads.T:
        level = np.unique(p, return_inverse=True)[1]
        assert np.bincount(level, weight * (y - p)) == pytest.approx(0.0, abs=1e-9)
    left = largest_linear_bias(table, y - heads.mean(axis=1), weight)
    assert fitted.left_ == pytest.approx(left, abs=1e-9)


MATCHING = {
    "squared": (groups.squared_loss, 2.0),
    "log": (lambda y, t: np.logaddexp(0, t) - y * t, 1.0),
    "hinge": (lambda y, t: np.maximum(t, 0) - y * t, 1.0),
    "cubic": (lambda y, t: np.abs(t) ** 3 / 3 - y * t, 1.0),
    "wavy": (lambda y, t: np.sin(5 * t) - 3 * y * t, 3.0),
}
"""Losses whose l(1, t) - l(0, t) is linear in t, with its slope; one of them is not convex."""


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MATCHING)
@linear
def test_no_linear_rule_has_a_smaller_loss_by_more_than_what_is_left(model, name, weighted):
    """The theorem, on the rows fitted to: gap <= W left, for rules drawn at random and fitted."""
    table, y = drawn(seed=1)
    rng = np.random.default_rng(2)
    weight = rng.random(len(y)) + 0.1 if weighted else None
    fitted = clone(model).fit(table, y, weight)
    loss, slope = MATCHING[name]
    rules = [0.4 + table @ rng.normal(size=3) * size for size in (0.05, 0.3, 2.0)]
    design = np.column_stack([table, np.ones(len(y))])
    rules.append(design @ np.linalg.lstsq(design, y, rcond=None)[0])
    for rule in rules:
        found = fitted.certificate(
            table, y, {name: loss}, {"rule": rule}, actions=np.unique(rule), sample_weight=weight
        )
        center = np.average(rule, weights=weight)
        spread = slope * np.sqrt(np.average((rule - center) ** 2, weights=weight))
        assert found.gap <= spread * fitted.left_ + 1e-9
        assert found.gap <= found.bound + 1e-12


def test_best_actions_of_heads_lose_no_more_than_the_certificate_says():
    """Convex losses: the mean action loses at most the mean over heads (Jensen)."""
    table, y = drawn(seed=4)
    model = Omnipredictor("isotron", heads="average", rounds=12, tolerance=1e-4).fit(table, y)
    assert model.predict_heads(table).shape == (600, model.rounds_)
    for loss in (groups.squared_loss, groups.quantile_loss(0.8), groups.asymmetric_loss(3, 1)):
        certificate = model.certificate(table, y, {"l": loss}, {"flat": np.full(600, 0.5)})
        assert loss(y, model.decide(table, loss)).mean() <= certificate.worst.own + 1e-12


def test_one_head_decides_as_omnipredict_does():
    table, y = drawn()
    model = Omnipredictor().fit(table, y)
    p = model.predict_proba(table)[:, 1]
    loss = groups.asymmetric_loss(5, 1)
    assert np.array_equal(model.decide(table, loss), groups.omnipredict(p, loss))
    expected = groups.omniprediction_certificate(y, p, {"l": loss}, {"flat": np.full(600, 0.5)})
    assert model.certificate(table, y, {"l": loss}, {"flat": np.full(600, 0.5)}) == expected


@pytest.mark.parametrize("judge", ["fit", "held_out"])
def test_multicalibration_competes_with_every_rule_of_one_column(judge):
    rng = np.random.default_rng(7)
    n = 4000
    by = pd.DataFrame({"site": rng.choice(["a", "b", "c"], n), "night": rng.random(n) < 0.4})
    chance = 0.3 + 0.3 * (by["site"] == "a") - 0.2 * by["night"]
    y = (rng.random(n) < chance).astype(int)
    patches = Multicalibrator(judge=judge, tolerance=0.005)
    model = Omnipredictor("multicalibration", multicalibrator=patches).fit(by, y)
    p = model.predict_proba(by)[:, 1]
    biases = [np.abs((y - p).groupby(by[name]).sum()).sum() / n for name in by]
    assert model.left_ == pytest.approx(max(biases), abs=1e-12)
    assert model.left_ < 0.02
    # l(1, t) - l(0, t) is linear in actions between 0 and 1, with slope 2 or 1.
    for loss, size in ((groups.squared_loss, 1.0), (groups.quantile_loss(0.7), 0.5)):
        own = loss(y, model.decide(by, loss)).mean()
        for column in by:
            codes = np.unique(by[column], return_inverse=True)[1]
            for _ in range(30):
                rule = rng.random(3).round(3)[codes]
                assert own <= loss(y, rule).mean() + size * model.left_ + 1e-9


def test_noise_is_within_its_level_for_the_truth():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(300, 6)) ** 3
    weight = rng.exponential(size=300)
    truth = rng.random(300)
    level = noise_level(sample_of(table, truth, weight))
    assert noise_level(sample_of(table, truth)) == pytest.approx(np.sqrt(6 / 300) / 2)
    found = [
        largest_linear_bias(table, (rng.random(300) < truth) - truth, weight) for _ in range(400)
    ]
    assert 0.6 * level < np.sqrt(np.mean(np.square(found))) <= level


@linear
def test_predictions_do_not_depend_on_order_units_or_mixing_of_features(model):
    table, y = drawn(300, 4, seed=9)
    rng = np.random.default_rng(0)
    first = clone(model).fit(table, y).predict_proba(table)
    order = rng.permutation(300)
    again = clone(model).fit(table[order], y[order]).predict_proba(table)
    assert np.array_equal(again, first)
    mixed = table @ rng.normal(size=(4, 4)) * 1e4 - 7.0
    other = np.column_stack([mixed, np.ones(300), mixed[:, 0] + mixed[:, 1]])
    assert clone(model).fit(other, y).predict_proba(other) == pytest.approx(first, abs=1e-7)
    weighted = clone(model).fit(table, y, np.full(300, 1e-3)).predict_proba(table)
    assert weighted == pytest.approx(first, abs=1e-9)


@linear
def test_rows_that_weigh_nothing_are_left_out(model):
    table, y = drawn(300)
    weight = np.ones(300)
    weight[:100] = 0
    zero = clone(model).fit(table, y, weight)
    without = clone(model).fit(table[100:], y[100:])
    assert zero.predict_proba(table) == pytest.approx(without.predict_proba(table), abs=1e-12)


def test_labels_are_those_of_the_classes():
    table, y = drawn()
    named = np.where(y == 1, "yes", "no")
    model = Omnipredictor().fit(table, named)
    assert model.classes_.tolist() == ["no", "yes"]
    chance = model.predict_proba(table)[:, 1]
    assert np.array_equal(model.predict(table), np.where(chance > 0.5, "yes", "no"))
    flat = {"flat": np.full(600, 0.5)}
    squared = {"squared": groups.squared_loss}
    assert model.certificate(table, named, squared, flat) == Omnipredictor().fit(
        table, y
    ).certificate(table, y, squared, flat)
    with pytest.raises(InvalidForecastsError, match="classes that the model was fitted to"):
        model.certificate(table, y, squared, flat)


def test_features_without_variance_leave_the_base_rate():
    y = np.array([0, 1, 1, 1])
    for model in LINEAR:
        p = clone(model).fit(np.ones((4, 2)), y).predict_proba(np.zeros((3, 2)))
        assert p[:, 1].tolist() == [0.75] * 3


def test_it_is_pickled_and_says_what_holds():
    table, y = drawn()
    model = pickle.loads(pickle.dumps(Omnipredictor().fit(table, y)))  # noqa: S301
    assert f"at most {model.left_:.2g} W more" in model.sentence_
    assert model.left_ <= model.tolerance_ == pytest.approx(np.sqrt(3 / 600) / 2)
    capped = Omnipredictor(tolerance=1e-6, rounds=3).fit(table, y)
    assert capped.rounds_ == 3
    assert capped.left_ > capped.tolerance_


def test_rows_with_other_labels_are_refused():
    table, y = drawn(50)
    frame, labels = pd.DataFrame(table), pd.Series(y, index=np.arange(50)[::-1])
    with pytest.raises(InvalidForecastsError, match="same row labels"):
        Omnipredictor().fit(frame, labels)
    model = Omnipredictor().fit(frame, y)
    with pytest.raises(InvalidForecastsError, match="same row labels"):
        model.certificate(frame, labels, {"l": groups.squared_loss}, {"flat": y})


def test_nonsense_is_refused():
    table, y = drawn(50)
    with pytest.raises(NotFittedError, match="must be fitted first"):
        Omnipredictor().predict_proba(table)
    for options, message in (
        ({"method": "boosting"}, "method must be one of"),
        ({"heads": "worst"}, "heads must be one of"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"tolerance": 0}, "tolerance must lie between"),
        ({"multicalibrator": 3}, "must be a Multicalibrator"),
        ({"multicalibrator": Multicalibrator("boosted")}, "groups that have names"),
    ):
        with pytest.raises(InvalidOptionError, match=message):
            Omnipredictor(**options).fit(table, y)
    with pytest.raises(InvalidForecastsError, match="takes one column, a score"):
        Omnipredictor("isotonic").fit(table, y)
    with pytest.raises(InvalidForecastsError, match="Only binary classification"):
        Omnipredictor().fit(table, np.arange(50) % 3)
    with pytest.raises(InvalidForecastsError, match="one label per row"):
        Omnipredictor().fit(table, y[1:])
    with pytest.raises(InvalidForecastsError, match="4 features"):
        Omnipredictor().fit(table, y).predict_proba(np.ones((2, 4)))
