"""Section 1 of the survey: calibration as indistinguishability.

Gopalan and Hu, "Calibration through the Lens of Indistinguishability" (2025). Statement numbers
are the paper's.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant import groups
from oracles import definitions as by_definition
from oracles.strategies import joint_of, joints, rows, universal, weighted_rows

# Laws of single rows are wanted here; that their ECE says little is what the warning is for.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

MEASURES = {
    "ECE": cal.exact_calibration_error,
    "ECE_2": lambda joint: cal.exact_calibration_error(joint, order=2),
    "ECE_inf": lambda joint: cal.exact_calibration_error(joint, order=math.inf),
    "smCE": cal.smooth_calibration_error,
    "EMD": cal.earth_mover_distance,
    "intervals": cal.cutoff_calibration_error,
    "thresholds": lambda joint: cal.cutoff_calibration_error(joint, sets="thresholds"),
}

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)


def squared_loss(joint: cal.Joint) -> float:
    """E(y - p)^2 for outcomes in {0, 1} with the mean outcomes of the joint."""
    hit, miss = (1 - joint.prediction) ** 2, joint.prediction**2
    return math.fsum(joint.mass * (joint.outcome * hit + (1 - joint.outcome) * miss))


def log_loss(joint: cal.Joint) -> float:
    """E[-log p(y)]; predictions strictly between 0 and 1."""
    p, r = joint.prediction, joint.outcome
    return -math.fsum(joint.mass * (r * np.log(p) + (1 - r) * np.log1p(-p)))


@universal
@given(joints())
def test_section_1_1_squared_loss_is_bias_plus_variance(law):
    """E(y-p)^2 = E(p-p*)^2 + E(y-p*)^2: each level an individual, p* its mean outcome."""
    joint = joint_of(law)
    bias = cal.exact_calibration_error(joint, order=2) ** 2
    variance = squared_loss(joint.recalibrated())
    assert squared_loss(joint) == pytest.approx(bias + variance, abs=1e-12)


def test_section_1_1_log_loss_splits_with_its_divergence():
    """The footnote: the same for a proper loss, with KL(p* || p) in the place of the square."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        v, m, r = np.sort(rng.uniform(0.02, 0.98, 9)), rng.random(9), rng.uniform(0.02, 0.98, 9)
        joint = joint_of(by_definition.Law(v, m / m.sum(), r))
        terms = r * np.log(r / v) + (1 - r) * np.log((1 - r) / (1 - v))
        divergence = math.fsum(joint.mass * terms)
        split = divergence + log_loss(joint.recalibrated())
        assert log_loss(joint) == pytest.approx(split, abs=1e-12)


@universal
@given(joints(max_levels=8))
def test_section_1_2_umbrella_rule_is_best_for_a_calibrated_forecast(law):
    """Carry iff p >= .1: no other rule of a calibrated p loses less (all rules are tried)."""
    forecast = joint_of(law).recalibrated()
    size = len(forecast.prediction)
    rule = forecast.prediction >= 0.1
    suffered = by_definition.umbrella_loss(rule, forecast.outcome, forecast.mass)
    every_rule = itertools.product((False, True), repeat=size)
    best = min(
        by_definition.umbrella_loss(np.array(carry), forecast.outcome, forecast.mass)
        for carry in every_rule
    )
    assert suffered == pytest.approx(best, abs=1e-12)


@universal
@given(joints())
def test_section_1_2_umbrella_loss_promised_is_the_loss_suffered(law):
    """With a calibrated p the loss under J^p, where p is the truth, is the loss under J*."""
    forecast = joint_of(law).recalibrated()
    rule = forecast.prediction >= 0.1
    promised = by_definition.umbrella_loss(rule, forecast.prediction, forecast.mass)
    suffered = by_definition.umbrella_loss(rule, forecast.outcome, forecast.mass)
    assert suffered == pytest.approx(promised, abs=1e-12)


@universal
@given(joints())
def test_section_1_2_broken_promise_is_within_the_calibration_error(law):
    """Promised and suffered loss differ by E[w(p)(y - p)] with -.1 <= w <= .9, so by .9 ECE."""
    forecast = joint_of(law)
    rule = forecast.prediction >= 0.1
    promised = by_definition.umbrella_loss(rule, forecast.prediction, forecast.mass)
    suffered = by_definition.umbrella_loss(rule, forecast.outcome, forecast.mass)
    error = cal.exact_calibration_error(forecast)
    assert abs(suffered - promised) <= 0.9 * error + 1e-12


def test_section_1_2_umbrella_rule_fails_a_miscalibrated_forecast():
    """Rain half of the time where .05 is said: carrying would cost .05, the rule costs .45."""
    forecast = cal.Joint.from_samples([0, 1, 0, 1], [0.05] * 4)
    rule = forecast.prediction >= 0.1
    suffered = by_definition.umbrella_loss(rule, forecast.outcome, forecast.mass)
    assert suffered == pytest.approx(0.45)
    assert by_definition.umbrella_loss(~rule, forecast.outcome, forecast.mass) == pytest.approx(
        0.05
    )
    assert cal.exact_calibration_error(forecast) == pytest.approx(0.45)


@every_measure
@universal
@given(law=joints())
def test_definition_1_1_measures_vanish_iff_every_level_keeps_its_word(measure, law):
    """Calibrated: E[y | p = v] = v. Every measure here is zero then, and only then."""
    joint = joint_of(law)
    assert measure(joint.recalibrated()) == pytest.approx(0.0, abs=1e-12)
    # A tent over the worst level, as wide as the gaps allow, is 1-Lipschitz and sees it alone;
    # the cumulative residuals before and after that level differ by what it owes.
    owed = np.abs(law.mass * (law.outcome - law.prediction)).max()
    tent = np.diff(law.prediction).min(initial=1.0)
    assert measure(joint) >= tent * owed / 2 - 1e-12


@universal
@given(joints())
def test_lemma_1_2_calibrated_iff_joints_agree(law):
    """The error is zero exactly when J* and J^p give each point (v, y) the same mass."""
    joint = joint_of(law)
    nature, model = by_definition.two_worlds(*law)
    differ = max(abs(nature[point] - model[point]) for point in nature)
    error = cal.exact_calibration_error(joint)
    assert differ - 1e-15 <= error <= len(nature) * differ + 1e-15


@universal
@given(joints())
def test_lemma_1_2_joints_of_the_recalibrated_predictor_agree(law):
    """Each point has the same mass in both worlds, and no outcome was lost on the way."""
    recalibrated = joint_of(law).recalibrated()
    nature, model = by_definition.two_worlds(
        recalibrated.prediction, recalibrated.mass, recalibrated.outcome
    )
    assert list(nature.values()) == pytest.approx(list(model.values()), abs=1e-12)
    again = by_definition.recalibration(*law)
    assert recalibrated.base_rate == pytest.approx(float(again.mass @ again.outcome), abs=1e-12)
    assert recalibrated.prediction.min() == pytest.approx(again.prediction.min(), abs=1e-12)
    assert recalibrated.prediction.max() == pytest.approx(again.prediction.max(), abs=1e-12)


def test_lemma_1_2_simulated_outcomes_are_coins_of_the_predicted_bias():
    """A draw from J^p keeps predictions and weights, and its outcomes average the predictions."""
    prediction, count = np.array([0.05, 0.3, 0.5, 0.9]), np.array([1000, 2000, 3000, 1500])
    joint = cal.Joint.from_counts(prediction, count, count)
    rng = np.random.default_rng(12)
    draws = [joint.simulated(rng) for _ in range(200)]
    for draw in draws:
        assert draw.prediction.tolist() == prediction.tolist()
        assert draw.weight == pytest.approx(count)
    outcomes = np.array([draw.outcome for draw in draws])
    deviation = np.sqrt(prediction * (1 - prediction) / count)
    mean = (outcomes.mean(axis=0) - prediction) / (deviation / math.sqrt(200))
    assert np.abs(mean).max() < 4
    spread = outcomes.std(axis=0) / deviation
    assert spread == pytest.approx(np.ones(4), abs=0.2)


def test_section_1_3_small_change_moves_the_smooth_error_little_and_ece_much():
    """Desideratum 3, with the survey's 60 % against 59.999 %: ECE jumps, smCE moves by 2 d."""
    y = np.array([1, 1, 1, 0, 0])
    before = np.full(5, 0.6)
    after = np.where(y == 0, 0.59999, 0.6)
    assert cal.exact_calibration_error(y, before) == pytest.approx(0.0, abs=1e-12)
    assert cal.exact_calibration_error(y, after) > 0.4
    moved = np.abs(after - before).mean()
    assert cal.smooth_calibration_error(y, after) <= 2 * moved + 1e-12


@every_measure
@universal
@given(sample=weighted_rows())
def test_section_1_4_the_average_predictor_is_calibrated(measure, sample):
    y, p, w = sample
    rate = cal.Joint.from_samples(y, p, sample_weight=w).base_rate
    constant = cal.Joint.from_samples(y, np.full(len(y), rate), sample_weight=w)
    assert measure(constant) == pytest.approx(0.0, abs=1e-12)


@every_measure
@universal
@given(sample=rows())
def test_section_1_4_the_bayes_optimal_predictor_is_calibrated(measure, sample):
    """p* predicts each individual's own chance; individuals may share one."""
    _, chance = sample
    optimal = cal.Joint.from_samples(chance, chance)
    assert measure(optimal) == pytest.approx(0.0, abs=1e-12)


def test_section_1_4_calibration_does_not_guarantee_utility():
    """The average and the optimal predictor are both calibrated; the squared loss tells them."""
    y = np.array([0, 0, 1, 1])
    average, optimal = cal.Joint.from_samples(y, np.full(4, 0.5)), cal.Joint.from_samples(y, y)
    for joint in (average, optimal):
        assert cal.exact_calibration_error(joint) == 0
    assert squared_loss(average) == pytest.approx(0.25)
    assert squared_loss(optimal) == 0


@every_measure
def test_section_1_4_calibrated_on_average_may_hide_two_miscalibrated_groups(measure):
    """The groups err by .2 in opposite directions; together they are calibrated."""
    some = cal.Joint.from_counts([0.3, 0.5], [10, 10], [1, 3])
    others = cal.Joint.from_counts([0.3, 0.5], [10, 10], [5, 7])
    assert measure(some) == pytest.approx(0.2, abs=1e-12)
    assert measure(others) == pytest.approx(0.2, abs=1e-12)
    assert measure(some + others) == pytest.approx(0.0, abs=1e-12)


def finite_population(seed, n=400):
    """People with two bits, a forecast of few levels, and an outcome each."""
    rng = np.random.default_rng(seed)
    by = {"first": rng.integers(0, 2, n), "second": rng.integers(0, 2, n)}
    forecast = rng.choice([0.2, 0.5, 0.7], n)
    chance = np.clip(forecast + 0.3 * by["first"] * rng.choice([-1, 0, 1]) - 0.1, 0, 1)
    return by, forecast, (rng.random(n) < chance).astype(float)


@pytest.mark.parametrize("seed", range(10))
def test_section_1_4_multicalibration_is_indistinguishability_with_the_group_in_sight(seed):
    """The joint laws of (c, p, y*) and (c, p, y^p): their distance, and the largest residuals.

    A point (c, v, 1) has mass E 1(c, v) y in nature and E 1(c, v) p in the model, so that the total
    variation adds up |E 1(c, v) (y - p)| over both values of c. The error is that of the worst.
    """
    by, p, y = finite_population(seed)
    distance = []
    for bit in by.values():
        points = {}
        for c, v, outcome in zip(bit, p, y, strict=True):
            for label, nature, model in ((1, outcome, v), (0, 1 - outcome, 1 - v)):
                points[c, v, label] = points.get((c, v, label), 0.0) + (nature - model) / y.size
        distance.append(sum(map(abs, points.values())) / 2)
    error = float(groups.multicalibration_error(y, p, by, n_bins=None))
    assert error <= max(distance) + 1e-12
    assert max(distance) <= 2 * error + 1e-12
    assert error > 0.01


@pytest.mark.parametrize("seed", range(10))
def test_section_1_4_multicalibrated_forecasts_serve_every_loss(seed):
    """Omniprediction: no rule that looks at one group loses less, whatever the loss.

    Losses in [0, 1] of five actions are drawn at random, and every rule is tried. Up to three times
    the error: once for calibration, and once for each value of the bit that a rule looks at.
    """
    by, _, y = finite_population(seed)
    patches = groups.Multicalibrator(judge="fit", tolerance=1e-9, min_mass=0.001, cells=2**12)
    flat = np.full(y.size, y.mean())
    p = patches.fit(flat, y, by).transform(flat, by)
    error = float(groups.multicalibration_error(y, p, by, n_bins=None))
    assert error < 1e-3
    rng = np.random.default_rng(seed)
    worse = 0
    for _ in range(20):
        table = rng.random((5, 2))

        def loss(outcome, action, table=table):
            return table[action.astype(int), outcome.astype(int)]

        own = loss(y, groups.omnipredict(p, loss, np.arange(5.0))).mean()
        rules = [np.where(bit, a, b) for bit in by.values() for a in range(5) for b in range(5)]
        best = min(loss(y, rule).mean() for rule in rules)
        assert own <= best + 3 * error + 1e-12
        worse += loss(y, groups.omnipredict(flat, loss, np.arange(5.0))).mean() > best + 1e-3
    assert worse or abs(y[by["first"] == 1].mean() - y[by["first"] == 0].mean()) < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_section_1_4_an_omnipredictor_is_learned_from_features(seed):
    """Linear rules under losses that a linear score makes convex: within W times what is left."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(500, 3))
    y = (rng.random(500) < 1 / (1 + np.exp(-features[:, 0] * features[:, 1]))).astype(float)
    model = groups.Omnipredictor(tolerance=0.01).fit(features, y)
    assert model.left_ <= 0.01
    losses = {"squared": groups.squared_loss, "log": lambda y, t: np.logaddexp(0, t) - y * t}
    rules = {f"rule {i}": 0.5 + features @ rng.normal(size=3) / 4 for i in range(5)}
    grid = np.unique(np.concatenate([np.linspace(-12, 12, 2001), *rules.values()]))
    found = model.certificate(features, y, losses, rules, actions=grid)
    for gap in found.gaps:
        spread = rules[gap.comparator].std() * (2 if gap.loss == "squared" else 1)
        assert gap.gap <= spread * model.left_ + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_section_1_4_multicalibrated_forecasts_have_the_right_mean_in_other_populations(seed):
    """Domain adaptation: weights that depend on the group leave the bias of the mean at zero."""
    by, _, y = finite_population(seed)
    flat = np.full(y.size, y.mean())
    patches = groups.Multicalibrator(judge="fit", tolerance=1e-9, min_mass=0.001, cells=2**12)
    p = patches.fit(flat, y, by).transform(flat, by)
    error = float(groups.multicalibration_error(y, p, by, n_bins=None))
    rng = np.random.default_rng(seed)
    for bit in by.values():
        for odds in rng.uniform(0.1, 3, (10, 2)):
            weight = odds[bit]
            bias = float((weight * (y - p)).sum() / weight.sum())
            assert groups.transfer_bias(y, p, weight).value == pytest.approx(bias, abs=1e-12)
            assert abs(bias) <= 2 * error * odds.max() / odds.min() + 1e-12
    # Calibration alone is not enough: the base rate is off by what the group is off.
    bit, everybody = by["first"], cal.exact_calibration_error(y, flat)
    assert everybody == pytest.approx(0, abs=1e-12)
    bias = groups.transfer_bias(y, flat, 1.0 * bit).value
    assert bias == pytest.approx(y[bit == 1].mean() - y.mean(), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_section_1_4_multicalibration_makes_a_hardcore_measure(seed):
    """Pseudorandomness and complexity: on a measure of density 2 E min(p, 1 - p) no test gains.

    Where E[y | c, p] = p, an outcome 1 of mass min(p, 1 - p) is weighed against an outcome 0 of the
    same mass, so that c and 2 y - 1 are uncorrelated there.
    """
    by, forecast, _ = finite_population(seed)
    # Mean outcomes as exact copies: of 100 copies of a person, 100 p have outcome 1.
    y = (np.tile(np.arange(100), forecast.size) < 100 * np.repeat(forecast, 100) - 1e-9).astype(int)
    p = np.repeat(forecast, 100)
    tests = {name: 2.0 * np.repeat(bit, 100) - 1 for name, bit in by.items()}
    error = groups.multicalibration_error(
        y, p, {name: np.repeat(bit, 100) for name, bit in by.items()}, n_bins=None
    )
    assert error == pytest.approx(0, abs=1e-12)
    found = groups.hardcore_measure(y, p, tests)
    assert found.density == pytest.approx(2 * np.minimum(p, 1 - p).mean())
    assert max(abs(one) for one in found.correlations.values()) <= 1e-12
    # A predictor that is only calibrated leaves a correlation that the group explains.
    wrong = groups.hardcore_measure(y, np.full(y.size, y.mean()), {"y": 2.0 * y - 1})
    assert wrong.correlations["y"] > 0.5
