"""The decision losses against their definitions, on random and adversarial laws."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
import calibrant._kernels as kernels
from oracles import decision_definitions as by_definition
from oracles.definitions import group_levels, isotonic_fit
from oracles.strategies import MAKERS, adversarial, clustered, generic, joint_of, laws, tied

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
SCORES = ("brier", "log", "spherical")


def random_payoffs(rng: np.random.Generator, actions: int) -> np.ndarray:
    """Payoffs of one of several kinds: anything, ties, one action after the other, dominated."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(size=(actions, 2))
    if kind == 1:
        return rng.integers(-2, 3, (actions, 2)).astype(float)
    if kind == 2:
        named = np.sort(rng.random(actions))
        return 1 - (named[:, None] - np.array([0, 1])) ** 2
    payoffs = rng.random((actions, 2))
    payoffs[0] = payoffs[1:].min(axis=0) - 1
    return payoffs


def tasks(count: int, most: int = 6, seed: int = 4) -> list[cal.DecisionTask]:
    rng = np.random.default_rng(seed)
    return [
        cal.DecisionTask(random_payoffs(rng, int(rng.integers(2, most + 1)))) for _ in range(count)
    ]


def with_ties(law, task: cal.DecisionTask, rng: np.random.Generator):
    """The law with some predictions moved to thresholds of the task, or to 0 and 1."""
    v = law.prediction.copy()
    ties_at = np.concatenate([[0.0, 1.0], task.thresholds])
    tied = rng.random(len(v)) < 0.4
    v[tied] = rng.choice(ties_at, tied.sum())
    return group_levels(law.outcome, v, law.mass)[1]


def solvable_laws(maker, count: int):
    return filter(by_definition.solvable, laws(maker, count, most=7))


three_makers = pytest.mark.parametrize(
    "maker", [generic, tied, adversarial], ids=lambda maker: maker.__name__
)


@three_makers
def test_calibration_decision_loss_is_the_program_over_menus(maker):
    for law in solvable_laws(maker, 120):
        loss = cal.calibration_decision_loss(joint_of(law))
        assert loss == pytest.approx(by_definition.calibration_decision_loss(*law), abs=1e-9)


@every_maker
def test_calibration_decision_loss_is_the_concave_majorant_at_one_half(maker):
    for law in laws(maker, 40):
        loss = cal.calibration_decision_loss(joint_of(law))
        assert loss == pytest.approx(by_definition.majorant_at_one_half(*law), abs=1e-12)


@three_makers
def test_u_calibration_error_is_the_program_over_menus(maker):
    for law in solvable_laws(maker, 50):
        error = cal.u_calibration_error(joint_of(law))
        assert error == pytest.approx(by_definition.u_calibration_error(*law), abs=1e-9)


@every_maker
def test_the_worst_task_attains_the_loss_with_payoffs_in_the_unit_interval(maker):
    for law in laws(maker, 100):
        joint = joint_of(law)
        for measure, regret in (
            (cal.calibration_decision_loss, "swap"),
            (cal.u_calibration_error, "external"),
        ):
            loss = measure(joint)
            task = loss.witness.task
            assert len(task.actions) <= 3
            assert task.payoffs.min() >= 0
            assert task.payoffs.max() <= 1 + 1e-12
            attained = cal.fixed_decision_loss(joint, task=task, regret=regret)
            assert attained == pytest.approx(loss, abs=1e-12)
            assert loss.witness.advantage(joint) == pytest.approx(loss, abs=1e-12)


@every_maker
def test_v_shaped_loss_is_the_top_of_the_curve_and_its_task_attains_it(maker):
    for law in laws(maker, 60):
        joint = joint_of(law)
        loss = cal.calibration_decision_loss(joint, payoffs="v-shaped")
        assert loss == pytest.approx(by_definition.largest_v_divergence(*law), abs=1e-12)
        attained = cal.fixed_decision_loss(joint, task=loss.witness.task)
        assert attained == pytest.approx(loss, abs=1e-12)


@every_maker
def test_the_curve_is_the_mean_v_divergence_at_any_threshold(maker):
    rng = np.random.default_rng(9)
    for law in laws(maker, 60):
        curve = cal.decision_loss_curve(joint_of(law))
        assert curve.threshold[[0, -1]].tolist() == [0.0, 1.0]
        assert np.all(np.diff(curve.threshold) > 0)
        for t in [*law.prediction, *rng.random(5), 0.0, 1.0]:
            left = by_definition.v_curve(t, *law)
            right = by_definition.v_curve(t, *law, right=True)
            assert curve(t, ties="act") == pytest.approx(left, abs=1e-12)
            assert curve(t, ties="wait") == pytest.approx(right, abs=1e-12)
            assert curve(t) == pytest.approx(max(left, right), abs=1e-12)


@pytest.mark.parametrize("ties", ["worst", "best", "first", "last"])
def test_fixed_decision_loss_is_brute_force_over_all_maps(ties):
    rng = np.random.default_rng(12)
    for task, law in zip(tasks(150, 4), laws(generic, 150, most=5), strict=False):
        law = with_ties(law, task, rng)  # noqa: PLW2901
        best = by_definition.best_payoff_over_all_maps(task.payoffs, *law)
        received = by_definition.trusting_payoff(task.payoffs, *law, ties=ties)
        loss = cal.fixed_decision_loss(joint_of(law), task=task, ties=ties)
        assert loss == pytest.approx(best - received, abs=1e-11)
        assert loss.settings["normalised"] * task.range == pytest.approx(loss, abs=1e-15)


def test_ties_that_count_half():
    for law in laws(tied, 40):
        joint = joint_of(law)
        curve = cal.decision_loss_curve(joint)
        for t in law.prediction[(law.prediction > 0) & (law.prediction < 1)]:
            both = curve(t, ties="act"), curve(t, ties="wait")
            assert curve(t, ties="half") == pytest.approx(sum(both) / 2, abs=1e-15)
            task = cal.DecisionTask.from_threshold(float(t))
            losses = [
                cal.fixed_decision_loss(joint, task=task, ties=ties)
                for ties in ("first", "last", "half")
            ]
            assert losses[2] == pytest.approx((losses[0] + losses[1]) / 2, abs=1e-12)
    guess = cal.multiclass.MulticlassDecisionTask.guess([0, 1, 2])
    kept = [
        cal.multiclass.promised_and_received(
            [0, 1, 2],
            [[0.4, 0.4, 0.2]] * 3,
            task=guess,
            ties=ties,
        ).received
        for ties in ("first", "last", "half")
    ]
    assert kept[2] == pytest.approx((kept[0] + kept[1]) / 2)


@pytest.mark.parametrize("maker", [generic, tied, clustered], ids=lambda maker: maker.__name__)
def test_fixed_decision_loss_of_many_actions_and_levels(maker):
    for task, law in zip(tasks(60, 30), laws(maker, 60), strict=False):
        for regret, defined in (
            ("swap", by_definition.fixed_decision_loss),
            ("external", by_definition.external_regret),
        ):
            loss = cal.fixed_decision_loss(joint_of(law), task=task, regret=regret)
            assert loss == pytest.approx(defined(task.payoffs, *law), abs=1e-10)


def test_what_was_promised_and_received():
    rng = np.random.default_rng(3)
    for task, law in zip(tasks(100), laws(tied, 100), strict=False):
        law = with_ties(law, task, rng)  # noqa: PLW2901
        joint = joint_of(law)
        for ties in ("worst", "best", "first", "last"):
            payoffs = cal.promised_and_received(joint, task=task, ties=ties)
            received = by_definition.trusting_payoff(task.payoffs, *law, ties=ties)
            assert payoffs.received == pytest.approx(received, abs=1e-11)
            promised = by_definition.trusting_payoff(
                task.payoffs, law.prediction, law.mass, law.prediction
            )
            assert payoffs.promised == pytest.approx(promised, abs=1e-11)
            assert payoffs.shortfall == pytest.approx(promised - received, abs=1e-11)


def test_envelope_best_response_phi_and_dominated_actions():
    grid = np.linspace(0, 1, 301)
    for task in tasks(200, 12):
        values = np.array(
            [[by_definition.expected_payoff(task.payoffs, a, q) for q in grid]
             for a in range(len(task.actions))]
        )  # fmt: skip
        assert task.phi(grid) == pytest.approx(values.max(axis=0), abs=1e-12)
        chosen = [task.actions.index(name) for name in task.best_response(grid)]
        assert values[chosen, np.arange(grid.size)] == pytest.approx(values.max(axis=0), abs=1e-12)
        slope = task.payoffs[chosen, 1] - task.payoffs[chosen, 0]
        assert task.subgradient(grid) == pytest.approx(slope)
        assert np.all(np.diff(task.subgradient(grid)) >= -1e-12)
        for name in task.dominated:
            below = values.max(axis=0) - values[task.actions.index(name)]
            assert below.min() > 0
        never = {a for a in range(len(task.actions))
                 if all(a not in by_definition.best_actions(task.payoffs, q)
                        for q in (0.0, *task.thresholds, 1.0))}  # fmt: skip
        assert {task.actions.index(name) for name in task.dominated} == never
        for t in task.thresholds:
            assert len(by_definition.best_actions(task.payoffs, t, 1e-11)) >= 2


def mean_loss(score: str, outcome, forecast, mass) -> float:
    losses = cal.decisions.row_losses(score, outcome, forecast)
    return float(np.sum(losses * mass))


@pytest.mark.parametrize("score", [*SCORES, "task"])
@pytest.mark.parametrize("maker", [generic, tied], ids=lambda maker: maker.__name__)
def test_isotonic_decomposition_by_the_max_min_formula(maker, score):
    task = cal.DecisionTask.quadratic(7)
    for law in laws(maker, 40, most=15):
        v, m, r = law
        v = np.clip(v, 0.01, 0.99)
        v, m, r = group_levels(r, v, m)[1]
        fit = np.clip(isotonic_fit(v, m, r), 0, 1)
        given = task if score == "task" else score
        parts = cal.score_decomposition(r, v, sample_weight=m, score=given)
        base = np.full(len(v), float(m @ r))
        total, recalibrated, constant = (mean_loss(given, r, x, m) for x in (v, fit, base))
        assert parts.score == pytest.approx(total, abs=1e-12)
        assert parts.miscalibration == pytest.approx(total - recalibrated, abs=1e-11)
        assert parts.discrimination == pytest.approx(constant - recalibrated, abs=1e-11)
        assert parts.uncertainty == pytest.approx(constant, abs=1e-12)
        assert parts.miscalibration >= -1e-12
        assert parts.discrimination >= -1e-12


@pytest.mark.parametrize("pooling", ["levels", "isotonic", 5, [0, 0.3, 0.6, 1]])
def test_every_loss_compares_with_the_same_recalibrated_forecasts(pooling):
    """Loss of a task, curve at its thresholds and miscalibration part of its score agree."""
    for task, law in zip(tasks(60), laws(generic, 60), strict=False):
        joint = joint_of(law)
        loss = cal.fixed_decision_loss(joint, task=task, pooling=pooling, ties="first")
        parts = cal.score_decomposition(joint, score=task, pooling=pooling)
        assert parts.miscalibration == pytest.approx(loss, abs=1e-11)
        curve = cal.decision_loss_curve(joint, pooling=pooling)
        bend = task.envelope.high - task.envelope.low
        worst_ties = cal.fixed_decision_loss(joint, task=task, pooling=pooling)
        read_off = float(bend @ curve(task.envelope.kink)) / 2
        assert worst_ties == pytest.approx(read_off, abs=1e-11)
        brier = cal.fixed_decision_loss(joint, task="brier", pooling=pooling)
        assert curve.integral == pytest.approx(brier, abs=1e-11)
        worst = cal.calibration_decision_loss(joint, pooling=pooling)
        assert worst.witness.advantage(joint) == pytest.approx(worst, abs=1e-12)
        assert loss <= worst * task.range + 1e-11


@three_makers
def test_post_processing_gap_of_squared_loss(maker):
    for law in laws(maker, 30, most=8):
        gap = cal.post_processing_gap(joint_of(law))
        assert gap == pytest.approx(by_definition.post_processing_gap(*law), abs=2e-7)
        assert gap >= by_definition.post_processing_gap(*law) - 1e-9
        witness = gap.witness
        assert np.all(np.abs(np.diff(witness.shift)) <= np.diff(witness.knot) + 1e-12)
        assert witness.advantage(joint_of(law)) == pytest.approx(gap, abs=1e-12)


def log_odds(p):
    return np.log(p / (1 - p))


@pytest.mark.parametrize("maker", [generic, tied], ids=lambda maker: maker.__name__)
def test_post_processing_gap_of_log_loss_is_certified(maker):
    for law in laws(maker, 25, most=8):
        v, m, r = law
        v = np.clip(v, 0.01, 0.99)
        law = group_levels(r, v, m)[1]  # noqa: PLW2901
        gap = cal.post_processing_gap(joint_of(law), loss="log")
        low, high = gap.bounds
        assert low <= gap <= high <= low + 1e-9
        solved = by_definition.post_processing_gap(
            *law, psi=lambda t: np.logaddexp(0, t), dual=log_odds, bound=4.0, scale=1.0
        )
        assert solved <= high + 1e-9
        assert gap == pytest.approx(solved, abs=1e-6)
        assert np.all(np.abs(gap.witness.shift) <= 4 + 1e-12)
        assert gap.witness.advantage(joint_of(law)) == pytest.approx(gap, abs=1e-12)


def rows_of(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 21, 80) / 20
    return (rng.random(80) < np.clip(p + 0.1, 0, 1)).astype(int), p


def test_murphy_curve_is_the_mean_elementary_score_of_the_rows():
    for seed in range(20):
        y, p = rows_of(seed)
        curve = cal.murphy_curve(y, p)
        recalibrated = cal.murphy_curve(cal.Joint.from_samples(y, p).recalibrated())
        loss = cal.decision_loss_curve(y, p)
        for t in np.linspace(0, 1, 41):
            for ties in ("act", "wait"):
                score = by_definition.elementary_score(y, p, t, act=ties == "act")
                assert curve(t, ties) == pytest.approx(score, abs=1e-12)
                # Ehm et al. 2016: half of the decision loss is the miscalibration part.
                part = curve(t, ties) - recalibrated(t, "act")
                assert loss(t, ties) / 2 == pytest.approx(part, abs=1e-12)


def test_net_benefit_of_the_rows_and_its_link_to_the_murphy_curve():
    for seed in range(20):
        y, p = rows_of(seed)
        benefit = cal.net_benefit(y, p)
        assert benefit.threshold.tolist() == [k / 100 for k in range(1, 100)]
        expected = [by_definition.net_benefit(y, p, t) for t in benefit.threshold]
        assert benefit.model == pytest.approx(expected, abs=1e-12)
        everybody = [by_definition.net_benefit(y, np.ones(80), t) for t in benefit.threshold]
        assert benefit.treat_all == pytest.approx(everybody, abs=1e-12)
        assert not benefit.treat_none.any()
        murphy = cal.murphy_curve(y, p)(benefit.threshold, "act")
        linked = y.mean() - murphy / (1 - benefit.threshold)
        assert benefit.model == pytest.approx(linked, abs=1e-12)
        assert benefit.avoided[49] == pytest.approx(benefit.model[49] - benefit.treat_all[49])


LAW = (np.array([0.1, 0.5, 0.9]), np.ones(3), np.array([0.0, 1.0, 1.0]))
POOLS = (np.array([3.0]), np.array([2.0]))
KERNELS = {
    "worst_thresholds": lambda law, pools: kernels.worst_thresholds(*law, *pools),
    "loss_curve": lambda law, pools: kernels.loss_curve(*law, *pools),
    "losses_at": lambda law, pools: kernels.losses_at(*law, *pools, np.array([0.5])),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@every_kernel
def test_kernels_convert_nothing_and_check_lengths(kernel):
    with pytest.raises(TypeError):
        kernel([column.astype(np.float32) for column in LAW], POOLS)
    with pytest.raises(ValueError, match="different lengths"):
        kernel(LAW, (POOLS[0], np.ones(2)))
    with pytest.raises(ValueError, match="at least one level"):
        kernel([column[:0] for column in LAW], POOLS)
    with pytest.raises(ValueError, match="at least one position"):
        kernels.lipschitz_fit(LAW[0][:0], LAW[0][:0], LAW[0][:0], 1.0)


@every_kernel
def test_kernels_survive_hostile_numbers(kernel):
    rng = np.random.default_rng(0)
    for _ in range(50):
        law = [rng.choice([0, 1, 5e-324, 1e308, -1.0, np.nan, np.inf, 0.5], 40) for _ in range(3)]
        pools = [rng.choice([0.0, 1e-320, 1e308, -1.0, np.nan, 2.0], 7) for _ in range(2)]
        kernel(law, pools)
        kernels.lipschitz_fit(law[0], law[1], law[2], 1.0)
