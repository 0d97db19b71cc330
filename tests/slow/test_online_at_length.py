"""Promises of the online forecasters at length: every nature, many runs, up to 10^5 rounds.

Bounds that hold surely are asserted on every run; bounds in expectation on the mean over runs, up
to four standard errors.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t

import calibrant as cal
import calibrant.online as on
from calibrant.online.rates import fit_exponent
from oracles.players import DETERMINISTIC, NATURES, PROMISING, SURE, measure_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning"),
]

RUNS = {1000: 24, 10_000: 6, 100_000: 2}
EXPECTED = "exact_calibration_error"
EXPECTED_ONES = [name for name in PROMISING if name not in SURE]

each_nature = pytest.mark.parametrize("nature", NATURES)
each_length = pytest.mark.parametrize("rounds", RUNS)


@each_length
@each_nature
@pytest.mark.parametrize("horizon", ["known", "unknown"])
@pytest.mark.parametrize("name", SURE)
def test_sure_bounds(name, horizon, nature, rounds):
    for seed in range(RUNS[rounds]):
        forecaster = SURE[name](rounds if horizon == "known" else None)
        game = on.simulate(forecaster, NATURES[nature](), rounds, rng=seed)
        for length in (rounds // 10, rounds):
            error = length * measure_of(forecaster)(game.joint(length))
            assert error <= forecaster.bound(length) + 1e-6


@each_length
@each_nature
@pytest.mark.parametrize("midpoint", [False, True])
def test_distance_to_calibration(midpoint, nature, rounds):
    """1.75 sqrt(T), and about 1.24 sqrt(T) with midpoints, certified by the shadow on every run."""
    for seed in range(RUNS[rounds]):
        forecaster = on.AlmostOneStepAhead(rounds, midpoint=midpoint)
        on.simulate(forecaster, NATURES[nature](), rounds, rng=seed)
        promise = (1.24 if midpoint else 1.75) * math.sqrt(rounds) + midpoint
        assert forecaster.certificate <= promise


@each_length
@each_nature
@pytest.mark.parametrize("horizon", ["known", "unknown"])
@pytest.mark.parametrize("name", EXPECTED_ONES)
def test_bounds_in_expectation(name, horizon, nature, rounds):
    errors = []
    for seed in range(RUNS[rounds]):
        forecaster = PROMISING[name](rounds if horizon == "known" else None)
        game = on.simulate(forecaster, NATURES[nature](), rounds, rng=seed)
        errors.append(rounds * measure_of(forecaster)(game.joint()))
    standard_error = np.std(errors, ddof=1) / math.sqrt(len(errors))
    assert np.mean(errors) <= forecaster.bound(rounds) + 4 * standard_error


@each_length
@each_nature
def test_biases_of_the_decision_forecaster(nature, rounds):
    """A failure chance of 1e-9: asserted on every run."""
    for seed in range(RUNS[rounds]):
        game = on.simulate(on.DecisionForecaster(rounds), NATURES[nature](), rounds, rng=seed)
        joint = game.joint()
        bias = np.abs(joint.positives - joint.weight * joint.prediction)
        for visits, size in zip(joint.weight, bias, strict=True):
            assert size <= game.forecaster.bias_bound(int(visits), failure=1e-9)


@pytest.mark.parametrize("rounds", [1000, 10_000])
@pytest.mark.parametrize("horizon", ["known", "unknown"])
@each_nature
def test_regret_of_single_tasks_of_the_perturbed_leader(nature, horizon, rounds):
    """Act if p >= t; acting pays y - t: payoffs of range one, for every t."""
    thresholds = np.linspace(0, 1, 41)
    regrets = []
    for seed in range(RUNS[rounds]):
        forecaster = on.UCalibratedForecaster(rounds if horizon == "known" else None)
        game = on.simulate(forecaster, NATURES[nature](), rounds, rng=seed)
        gains = game.outcomes[:, np.newaxis] - thresholds
        acting = game.predictions[:, np.newaxis] >= thresholds
        regrets.append(np.maximum(gains.sum(axis=0), 0) - (gains * acting).sum(axis=0))
    standard_error = np.std(regrets, axis=0, ddof=1) / math.sqrt(len(regrets))
    assert (np.mean(regrets, axis=0) <= forecaster.bound(rounds) + 4 * standard_error).all()


@pytest.mark.parametrize("classes", [3, 10])
def test_regret_of_the_perturbed_leader_with_many_classes(classes):
    """Guess the class: payoff 1 for the right one, against always guessing the same."""
    rounds, chances = 4000, np.arange(1, classes + 1) / (classes * (classes + 1) / 2)
    for nature in (on.Categorical(chances.tolist()), on.DeterministicBreaker()):
        regrets = []
        for seed in range(5):
            forecaster = on.UCalibratedForecaster(rounds, classes=classes)
            game = on.simulate(forecaster, nature, rounds, rng=seed)
            guessed = (game.predictions.argmax(axis=1) == game.outcomes).sum()
            regrets.append(np.bincount(game.outcomes).max() - guessed)
        standard_error = np.std(regrets, ddof=1) / math.sqrt(len(regrets))
        assert np.mean(regrets) <= forecaster.bound(rounds) + 4 * standard_error


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_breaker_breaks_every_deterministic_forecaster(name):
    """ECE of at least T/2 at every length: exponent one."""
    lengths, errors = [1000, 10_000, 100_000], []
    game = on.simulate(DETERMINISTIC[name](lengths[-1]), on.DeterministicBreaker(), lengths[-1])
    for rounds in lengths:
        error = game.errors([EXPECTED], rounds)[EXPECTED]
        assert error >= rounds / 2 - 1e-6
        errors.append([error])
    assert fit_exponent(lengths, np.array(errors))[0] == pytest.approx(1, abs=0.02)


@each_nature
@pytest.mark.parametrize("name", PROMISING)
def test_fitted_exponents_are_not_above_the_proven_ones(name, nature):
    """Logarithms included: the proven rate is fitted over the same horizons.

    An error may approach its bound from below, so a slope of 0.03 more is allowed; 72 fits are
    looked at, so "significantly" is one in a thousand.
    """
    forecaster = PROMISING[name](100)
    quick = name not in {"defensive", "cutoff", "perturbed leader"}
    horizons = [2**k for k in (range(12, 18) if quick else range(10, 15))]
    found = on.rates(
        {name: PROMISING[name]},
        {nature: NATURES[nature]},
        horizons=horizons,
        measure=measure_of(forecaster),
        repeats=3,
        rng=1,
    )
    row, degrees = found.rows[0], len(horizons) - 2
    logs, promise = np.log(horizons), forecaster.guarantee
    rate = promise.exponent * logs + promise.logarithms * np.log(logs)
    proven = np.polyfit(logs, rate, 1)[0]
    reach = (row.exponent - row.low) * t.ppf(0.999, degrees) / t.ppf(0.975, degrees)
    assert row.exponent - reach <= proven + 0.03


def test_coverage_of_the_interval_of_an_exponent():
    """Sums of fair coins grow like the root of their number: exponent 1/2, known exactly."""
    rng = np.random.default_rng(5)
    horizons = [2**k for k in range(8, 15)]
    covered, repetitions = 0, 4000
    for _ in range(repetitions):
        ones = rng.binomial(np.array(horizons)[:, np.newaxis], 0.5, (len(horizons), 8))
        errors = np.abs(ones - np.array(horizons)[:, np.newaxis] / 2)
        _, low, high = fit_exponent(horizons, errors)
        covered += low <= 0.5 <= high
    share = covered / repetitions
    assert abs(share - 0.95) <= 0.01 + 4 * math.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.parametrize(
    ("branching", "depth", "independent", "cyclic"),
    [(32, 3, 0.86, 0.71), (8, 5, 0.76, 0.53)],
)
def test_the_tree_is_still_far_from_calibrated(branching, depth, independent, cyclic):
    """What its docstring says, for ten classes and 32 768 rounds."""
    rounds = branching**depth
    coins = on.Categorical([0.1] * 10)
    cycle = on.Replay(np.arange(rounds) % 10)
    for nature, expected in ((coins, independent), (cycle, cyclic)):
        forecaster = on.TreeForecaster(rounds, classes=10, branching=branching)
        game = on.simulate(forecaster, nature, rounds, rng=0)
        assert game.canonical_error() / rounds == pytest.approx(expected, abs=0.05)


def test_defensive_forecaster_keeps_its_accuracy_over_many_rounds():
    """Rounding in the tree stays far below the bound; memory grows with the predictions alone."""
    game = on.simulate(on.DefensiveForecaster(), on.Drift(), 200_000, rng=0)
    residuals = game.outcomes - game.predictions
    proven = float(np.sqrt((residuals**2).sum()))
    assert 200_000 * cal.kernel_calibration_error(game.joint()) <= proven * (1 + 1e-9)


@pytest.mark.parametrize("delay", [1, 30, 300])
@each_nature
def test_stream_recalibrator(nature, delay):
    """Both bounds on every run, with outcomes known at once or in batches."""
    rounds, cells = 20_000, 5
    rng = np.random.default_rng(delay)
    y = on.simulate(on.DefensiveForecaster(), NATURES[nature](), rounds, rng).outcomes
    base = np.clip(0.6 * rng.random(rounds) + 0.4 * y - 0.1, 0, 1)
    recalibrator, said = on.StreamRecalibrator(cells=cells), np.empty(rounds)
    for start in range(0, rounds, delay):
        rows = range(start, min(start + delay, rounds))
        for row in rows:
            said[row] = recalibrator.predict_one(base[row], key=row)
        for row in reversed(rows):
            recalibrator.learn_one(base[row], y[row], key=row)
    error = rounds * cal.smooth_calibration_error(y, said)
    assert error <= recalibrator.calibration_bound
    cell = np.minimum((base * cells).astype(int), cells - 1)
    hindsight = sum(((y[cell == c] - y[cell == c].mean()) ** 2).sum() for c in np.unique(cell))
    assert ((said - y) ** 2).sum() <= hindsight + recalibrator.regret_bound


@pytest.mark.parametrize("rounds", [1000, 10_000])
@pytest.mark.parametrize("horizon", ["known", "unknown"])
@each_nature
def test_a_calibeater(nature, horizon, rounds):
    """Both bounds at once: on recorded outcomes, for a model that knows some of them."""
    regrets, losses = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = on.simulate(on.DefensiveForecaster(), NATURES[nature](), rounds, rng).outcomes
        model = np.clip(0.6 * rng.random(rounds) + 0.4 * y - 0.1, 0, 1)
        beater = on.Calibeater(cells=5, horizon=rounds if horizon == "known" else None, rng=rng)
        said = beater.run(y, model)
        cell = np.minimum((model * 5).astype(int), 4)
        best = (np.bincount(cell, y) / np.maximum(np.bincount(cell), 1))[cell]
        regrets.append(float(((said - y) ** 2).sum() - ((best - y) ** 2).sum()))
        losses.append(rounds * float(cal.calibration_decision_loss(y, said)))
    assert np.mean(regrets) <= beater.regret_bound
    assert np.mean(losses) <= beater.calibration_bound
