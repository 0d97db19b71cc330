"""Decision losses, scores and curves as users meet them: options, warnings, words."""

from __future__ import annotations

import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.decisions import DualLoss, Score, as_score, mean_score, row_losses
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError

TASK = cal.DecisionTask.umbrella()
RAW = (np.array([0, 1, 1, 0, 1]), np.array([0.11, 0.52, 0.63, 0.34, 0.95]))
JOINT = cal.Joint.from_counts([0.1, 0.2, 0.9], [10, 10, 10], [4, 2, 8])

ON_LEVELS = {
    "fixed": lambda *data, **options: cal.fixed_decision_loss(*data, task=TASK, **options),
    "worst": cal.calibration_decision_loss,
    "curve": cal.decision_loss_curve,
    "decomposition": cal.score_decomposition,
}
on_levels = pytest.mark.parametrize("measure", ON_LEVELS.values(), ids=ON_LEVELS)


@on_levels
def test_exact_levels_of_raw_scores_are_called_meaningless(measure):
    with pytest.warns(
        CalibrantWarning, match="100 % of the distinct .* pooling='isotonic'"
    ) as said:
        measure(*RAW, pooling="levels")
    assert said[0].filename == __file__
    for pooling in ("isotonic", 3, [0, 0.5, 1]):
        measure(*RAW, pooling=pooling)  # pytest turns a warning into an error
    measure(JOINT, pooling="levels")


def test_external_regret_needs_no_recalibration():
    cal.u_calibration_error(*RAW)
    loss = cal.fixed_decision_loss(*RAW, task=TASK, regret="external")
    assert loss.settings["pooling"] == "base rate"
    assert "one action for all" in loss.witness.sentence


@on_levels
def test_pooling_is_named_and_checked(measure):
    pools = cal.binning.quantile_bins(JOINT, 2)
    named = {"isotonic": "isotonic", "levels": "levels"}
    for pooling, name in [
        *named.items(),
        (4, "4 bins"),
        ([0, 0.5, 1], "2 bins"),
        (pools, "2 pools"),
    ]:
        result = measure(JOINT, pooling=pooling)
        said = getattr(result, "settings", {}).get("pooling", "")
        said = said or getattr(result, "pooling", "") or result.name
        assert name in said
    for pooling in ("monotone", 0, 2.5, [0, 0.5], [0.5, 0.1, 1]):
        with pytest.raises(InvalidOptionError):
            measure(JOINT, pooling=pooling)
    with pytest.raises(InvalidOptionError, match="must hold the rows"):
        measure(*RAW, pooling=pools)


def test_bad_options_are_refused():
    with pytest.raises(InvalidOptionError, match="ties must be one of worst, best, first, last"):
        cal.fixed_decision_loss(JOINT, task=TASK, ties="coin")
    with pytest.raises(InvalidOptionError, match="ties must be one of"):
        cal.promised_and_received(JOINT, task=TASK, ties="coin")
    with pytest.raises(InvalidOptionError, match="regret must be"):
        cal.fixed_decision_loss(JOINT, task=TASK, regret="none")
    with pytest.raises(InvalidOptionError, match="payoffs must be one of unit, v-shaped"):
        cal.calibration_decision_loss(JOINT, payoffs="all")
    with pytest.raises(InvalidOptionError, match="payoffs must be"):
        cal.u_calibration_error(JOINT, payoffs="all")
    with pytest.raises(InvalidOptionError, match="score must be one of brier, log, spherical"):
        cal.score_decomposition(JOINT, score="accuracy")
    with pytest.raises(InvalidOptionError, match="score must be one of"):
        cal.fixed_decision_loss(JOINT, task={"a": (0, 1)})
    with pytest.raises(InvalidOptionError, match="loss must be one of squared"):
        cal.post_processing_gap(JOINT, loss="absolute")
    with pytest.raises(InvalidOptionError, match=r"width must be in \[0, 1\]"):
        cal.randomised_response(JOINT, width=-1)
    with pytest.raises(InvalidOptionError, match="shift must be"):
        cal.randomised_response(JOINT).map(1.0)
    with pytest.raises(TypeError):
        cal.fixed_decision_loss(JOINT)


@pytest.mark.parametrize(
    "measure",
    [
        *ON_LEVELS.values(),
        cal.u_calibration_error,
        cal.post_processing_gap,
        cal.randomised_response,
        cal.murphy_curve,
        cal.net_benefit,
    ],
)
def test_bad_rows_are_refused_as_everywhere(measure):
    with pytest.raises(InvalidForecastsError, match="percentages"):
        measure([0, 1], [20, 80])
    with pytest.raises(InvalidForecastsError, match="missing"):
        measure([0, 1], [0.2, np.nan])
    with pytest.raises(InvalidForecastsError, match="a Joint already holds"):
        measure(JOINT, [0.1])


def test_rounded_predictions_are_named():
    y, p = np.tile([0, 1], 50), np.linspace(0, 1, 100)
    cells = cal.Joint.from_samples(y, p, resolution=8)
    for measure in (
        *list(ON_LEVELS.values())[:2],
        cal.u_calibration_error,
        cal.post_processing_gap,
    ):
        assert measure(cells).settings["cells"] == 8


WRONG = ([0, 1, 1, 1, 0, 0], [0.0, 0.0, 1.0, 1.0, 0.5, 0.5])


def test_log_score_of_a_certain_mistake_is_infinite_and_says_so():
    losses = row_losses("log", *WRONG)
    assert losses.tolist() == [0, math.inf, 0, 0, math.log(2), math.log(2)]
    message = r"log loss is infinite: forecasts of 0 or 1 proved wrong \(2 rows had such"
    with pytest.warns(CalibrantWarning, match=message):
        assert mean_score(*WRONG, score="log") == math.inf
    with pytest.warns(CalibrantWarning, match=message):
        parts = cal.score_decomposition(*WRONG, score="log")
    assert parts.score == parts.miscalibration == math.inf
    assert math.isfinite(parts.discrimination)
    assert math.isfinite(parts.uncertainty)
    for pooling in ("levels", "isotonic", 1):
        with pytest.warns(CalibrantWarning, match=message):
            loss = cal.fixed_decision_loss(*WRONG, task="log", pooling=pooling)
        assert loss == math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        assert "brings -inf" in str(loss)
    assert row_losses("log", [0, 1], [0.0, 1.0]).tolist() == [0, 0]


@pytest.mark.parametrize("score", ["brier", "log", "spherical", cal.DecisionTask.quadratic(4)])
@pytest.mark.parametrize("fraction", [False, True])
def test_the_mean_score_of_rows_is_that_of_their_levels(score, fraction):
    rng = np.random.default_rng(5)
    p, w = rng.random(40_000).round(3) * 0.98 + 0.01, rng.integers(0, 3, 40_000)
    y = rng.random(p.size) if fraction else (rng.random(p.size) < p).astype(int)
    for weight in (None, w):
        of_rows = mean_score(y, p, score=score, sample_weight=weight)
        joint = cal.Joint.from_samples(y, p, sample_weight=weight)
        if fraction and score == "brier":  # squares of outcomes are lost in a Joint
            assert of_rows == pytest.approx(np.average((p - y) ** 2, weights=weight), rel=1e-12)
            for measure in (partial(mean_score, score=score), cal.score_decomposition):
                with pytest.raises(InvalidForecastsError, match="pass the rows"):
                    measure(joint)
        else:
            assert of_rows == pytest.approx(mean_score(joint, score=score), rel=1e-12)


def test_row_losses_average_to_the_mean_score():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    own = (lambda t: t**2 - t, lambda t: 2 * t - 1)
    for score in ("brier", "log", "spherical", TASK, own, as_score("brier")):
        losses = row_losses(score, y, p)
        assert losses.shape == (200,)
        assert mean_score(y, p, score=score) == pytest.approx(losses.mean())
    assert row_losses(own, y, p) == pytest.approx(row_losses("brier", y, p))
    assert row_losses("brier", [0.25], [0.5]).tolist() == [0.0625]
    paid = TASK.payoff(TASK.best_response(p), y.astype(int))
    assert row_losses(TASK, y, p) == pytest.approx(-paid)
    with pytest.raises(InvalidOptionError, match="outcome must be in"):
        row_losses("brier", [2], [0.5])
    with pytest.raises(InvalidOptionError, match="prediction must be in"):
        row_losses("brier", [1], [np.nan])
    with pytest.raises(InvalidOptionError, match="one value per prediction"):
        row_losses((lambda _: 1.0, lambda t: t), [1, 0], [0.5, 0.5])


def test_proper_scores_are_lowest_for_the_truth():
    grid = np.linspace(0.01, 0.99, 99)
    for score in ("brier", "log", "spherical"):
        for truth in (0.0, 0.2, 0.5, 1.0):
            expected = as_score(score).expected(np.full(99, truth), grid)
            assert grid[np.argmin(expected)] == pytest.approx(np.clip(truth, 0.01, 0.99))
        scored = as_score(score)
        assert isinstance(scored, Score)
        assert pickle.loads(pickle.dumps(scored)) == scored  # noqa: S301


def test_a_decomposition_reads_as_a_sum():
    parts = cal.score_decomposition(JOINT, score=TASK)
    assert parts.score == pytest.approx(
        parts.miscalibration - parts.discrimination + parts.uncertainty
    )
    assert str(parts).startswith("task score 0.")
    assert "pooling isotonic" in str(parts)
    levels = cal.score_decomposition(JOINT, pooling="levels")
    error = cal.exact_calibration_error(JOINT, order=2)
    assert levels.miscalibration == pytest.approx(error**2)


def test_sentences_tell_what_was_promised_and_where_it_went():
    loss = cal.fixed_decision_loss(JOINT, task=TASK)
    assert str(cal.promised_and_received(JOINT, task=TASK)) in loss.witness.sentence
    assert "to anybody who changes action at 0.10" in loss.witness.sentence
    worst = cal.calibration_decision_loss(JOINT, pooling="isotonic")
    assert "recalibrated they would bring" in worst.witness.sentence
    calibrated = cal.calibration_decision_loss([0, 1], [0.5, 0.5])
    assert "no forecast misleads" in calibrated.witness.sentence
    assert calibrated.witness.advantage(JOINT) >= 0


def test_curves_answer_at_any_threshold():
    curve = cal.decision_loss_curve(JOINT)
    assert curve(0.5).shape == ()
    assert curve([[0.1, 0.2]]).shape == (1, 2)
    assert curve.worst_threshold in JOINT.prediction
    with pytest.raises(InvalidOptionError, match="thresholds must be in"):
        curve(1.5)
    with pytest.raises(InvalidOptionError, match="ties must be one of"):
        curve(0.5, ties="first")
    with pytest.raises(InvalidOptionError, match="costs must be positive"):
        curve.cost(false_positive=-1, false_negative=2)
    assert curve(0.1, "best") <= curve(0.1, "worst")


def test_several_forecasters_at_once():
    y = [0, 1, 1, 0]
    forecasts = {"good": [0.1, 0.9, 0.8, 0.3], "poor": [0.5, 0.5, 0.5, 0.4]}
    curves = cal.murphy_curve(y, forecasts)
    assert set(curves) == {"good", "poor"}
    assert float(curves["good"](0.5)) < float(curves["poor"](0.45))
    joints = {name: cal.Joint.from_samples(y, p) for name, p in forecasts.items()}
    again = cal.murphy_curve(joints)
    assert again["poor"].loss.tolist() == curves["poor"].loss.tolist()
    benefits = cal.net_benefit(y, forecasts, thresholds=[0.0, 0.5])
    assert benefits["good"].model.tolist() == [0.5, 0.5]
    assert math.isnan(benefits["good"].avoided[0])
    for threshold in (1.0, -0.1, np.nan):
        with pytest.raises(InvalidOptionError, match="thresholds must be in"):
            cal.net_benefit(y, forecasts["good"], thresholds=threshold)


def test_a_loss_of_your_own_can_be_post_processed():
    square = DualLoss(
        "half square", lambda t: t**2 / 2, lambda t: t, np.ones_like, lambda p: p, 1.0
    )
    own = cal.post_processing_gap(JOINT, loss=square)
    assert 2 * own == pytest.approx(cal.post_processing_gap(JOINT), abs=1e-9)
    low, high = own.bounds
    assert low <= own <= high
    with pytest.raises(InvalidOptionError, match="smoothness"):
        cal.post_processing_gap(JOINT, loss=DualLoss("flat", np.exp, np.exp, np.exp, np.log, 0.0))


def test_certain_forecasts_have_a_gap_in_log_loss():
    gap = cal.post_processing_gap([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.5], loss="log")
    low, high = gap.bounds
    assert 0 <= low <= high < 1
    assert (
        (gap.witness.corrected([0, 0.5, 1]) >= 0) & (gap.witness.corrected([0, 0.5, 1]) <= 1)
    ).all()


def test_randomised_responses():
    response = cal.randomised_response([0, 1], [0.49, 0.51])
    first, again = response([0.49, 0.51], rng=3), response([0.49, 0.51], rng=3)
    assert first.tolist() == again.tolist()
    assert response.decision_bound == pytest.approx(2 * response.error_bound)
    calibrated = cal.randomised_response([0, 1], [0.5, 0.5])
    assert (calibrated.width, calibrated.error_bound) == (0, 0)
    assert calibrated([0.2, 0.7]).tolist() == [0.2, 0.7]
    unchanged = cal.randomised_response([0, 1], [0.4, 0.6], width=0)
    assert unchanged.error_bound == 1


def test_a_worst_task_pickles_with_its_exact_thresholds():
    loss = cal.calibration_decision_loss(JOINT)
    task = pickle.loads(pickle.dumps(loss)).witness.task  # noqa: S301
    assert task.thresholds.tolist() == loss.witness.task.thresholds.tolist()
    assert cal.fixed_decision_loss(JOINT, task=task) == pytest.approx(loss, abs=1e-15)


@pytest.mark.parametrize("score", ["brier", "log", "spherical"])
def test_rows_of_few_predictions_score_as_rows_one_by_one(score):
    """They are counted first; one more digit and they are not."""
    rng = np.random.default_rng(0)
    p = rng.integers(1, 100, 20_000) / 100
    y = (rng.random(p.size) < p).astype(int)
    rule = as_score(score)
    if_not, if_so = rule.losses(p)
    mean = float(np.mean(np.where(y == 1, if_so, if_not)))
    assert mean_score(y, p, score=score) == pytest.approx(mean, rel=1e-12)
    found = cal.confidence_interval(y, p, measure=score)
    other = cal.confidence_interval(y, p + 1e-9 * rng.random(p.size), measure=score)
    assert (found.low, found.high) == pytest.approx((other.low, other.high), rel=1e-6)


def test_mean_outcomes_of_few_predictions_keep_their_spread():
    """The squared error of an outcome between 0 and 1 is no mean of those of 0 and 1."""
    y, p = np.tile([0.5, 0.25], 5000), np.full(10_000, 0.5)
    assert mean_score(y, p, score="brier") == 0.03125
