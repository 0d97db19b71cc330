"""Choosing a calibrator: truth known, rows unseen, time and clusters respected."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

import calibrant as cal
from calibrant.decisions import as_score
from calibrant.errors import InferenceRefusedError, InvalidForecastsError, InvalidOptionError
from calibrant.inference.cases import Cases
from calibrant.recalibration import IsotonicCalibration, PlattScaling, VennAbers, folds, recalibrate
from calibrant.recalibration.choice_rule import Gain, cross_fitted, nested
from calibrant.recalibration.folds import (
    Split,
    split_rows,
    units_of,
)
from calibrant.recalibration.registry import candidates_of
from calibrant.recalibration.report_text import choice_text
from samples import truths

N = 4000
CHANCE, OUTCOME, WRONG = truths(N)


@pytest.mark.parametrize("kind", WRONG)
def test_known_faults_are_repaired_out_of_sample(kind):
    choice = recalibrate(OUTCOME, WRONG[kind], rng=0, draws=199)
    assert not choice.unchanged
    assert 0 < choice.gain.low < choice.gain.value < choice.gain.high
    assert choice.after.log_loss < choice.before.log_loss
    assert choice.after.brier < choice.before.brier
    # The calibrator, fitted to all rows, is as good on rows that nobody has seen.
    rng = np.random.default_rng(2)
    order = rng.permutation(N)
    fresh = rng.random(N) < CHANCE
    recalibrated = choice.calibrator.transform(WRONG[kind])
    before, after = (
        cal.smooth_calibration_error(fresh[order], p[order]) for p in (WRONG[kind], recalibrated)
    )
    assert after < 0.6 * before
    assert choice.calibrator.title in choice.sentence.lower().replace("platt", "Platt")


@pytest.mark.parametrize(
    ("kind", "simple"),
    [
        ("over-confident", "temperature"),
        ("under-confident", "temperature"),
        ("shifted", "prior"),
    ],
)
def test_the_simplest_map_that_does_is_taken(kind, simple):
    choice = recalibrate(OUTCOME, WRONG[kind], rng=0)
    assert choice.calibrator.method == simple
    assert choice.table["chosen"].count(True) == 1
    assert choice.table["behind"][choice.table["calibrator"].index(simple)] <= 1


def test_monotone_maps_keep_the_ranking():
    choice = recalibrate(OUTCOME, WRONG["over-confident"], rng=0, draws=99)
    assert choice.after.auc == pytest.approx(choice.before.auc, abs=1e-12)
    assert choice.after.ties == choice.before.ties
    pooled = recalibrate(OUTCOME, WRONG["over-confident"], methods=["histogram"], rng=0, draws=99)
    assert pooled.after.ties > 0.02
    from sklearn.metrics import roc_auc_score

    assert choice.before.auc == pytest.approx(
        roc_auc_score(OUTCOME, WRONG["over-confident"]), abs=0.01
    )


def test_calibrated_forecasts_are_left_alone():
    choice = recalibrate(OUTCOME, CHANCE, rng=0, draws=99)
    assert choice.unchanged
    assert choice.calibrator.transform([0.2, 0.7]).tolist() == [0.2, 0.7]
    assert choice.sentence.startswith("Leave it alone")
    assert choice.before is choice.after
    assert choice.gain.value == 0


def test_ties_do_not_let_maps_learn_chance():
    """Folds that shared the outcomes of each level would make noise look like a fault."""
    rng = np.random.default_rng(8)
    p = rng.integers(1, 20, (20, 1000)) / 20
    y = rng.random(p.shape) < p
    for weight in (None, np.ones(1000)):
        alone = [
            recalibrate(y[i], p[i], methods=["isotonic"], sample_weight=weight, rng=i).unchanged
            for i in range(20)
        ]
        assert all(alone)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_few_rows_are_left_alone(n):
    assert recalibrate(OUTCOME[:n], CHANCE[:n], rng=0).unchanged


def test_no_events_are_no_proof():
    """None of 100 rows with forecasts of 1 % had an event: that is what they said."""
    assert recalibrate([0] * 100, [0.01] * 100, rng=0).unchanged


def test_the_order_of_rows_and_the_container_do_not_matter():
    p, y = WRONG["shifted"][:500].round(2), OUTCOME[:500].astype(int)
    order = np.random.default_rng(3).permutation(500)
    one, other = recalibrate(y, p, rng=5), recalibrate(y[order], p[order], rng=5)
    joint = recalibrate(cal.Joint.from_samples(y, p), rng=5)
    assert one.table == other.table == joint.table
    w = 1.0 + np.arange(500) % 3
    weighted = recalibrate(y, p, sample_weight=w, rng=5)
    again = recalibrate(y[order], p[order], sample_weight=w[order], rng=5)
    assert weighted.table["calibrator"] == again.table["calibrator"]
    assert weighted.table["score"] == pytest.approx(again.table["score"], rel=1e-9)


def test_a_fault_that_came_late_is_not_learned_from_the_future():
    """Forecasts were right at first: what the past teaches gains little where folds ignore time."""
    time = np.arange(N)
    p = np.where(time < 0.84 * N, CHANCE, expit(logit(CHANCE) + 1.5))
    forward = recalibrate(OUTCOME, p, methods=["prior"], time=time, rng=0)
    careless = recalibrate(OUTCOME, p, methods=["prior"], rng=0)
    assert not careless.unchanged
    assert forward.table["gain"][1] < 0.3 * careless.table["gain"][1]


def test_the_worst_group_is_named_by_evidence():
    group = np.where(np.arange(N) % 4 == 0, "night", "day")
    p = np.where(group == "night", WRONG["shifted"], CHANCE)
    choice = recalibrate(OUTCOME, p, by={"shift": group}, rng=0, draws=99)
    worst = choice.before.worst_group
    assert (worst.column, worst.name) == ("shift", "night")
    assert worst.rows == pytest.approx(N / 4 / 5, rel=0.2)  # of one fold of five
    assert worst.interval.low > 0.05
    plain = recalibrate(OUTCOME, p, by=group, rng=0, draws=99)
    assert plain.before.worst_group.column == "group"


def test_the_users_decision_is_told_before_and_after():
    task = cal.DecisionTask.from_costs(false_positive=1, false_negative=4)
    choice = recalibrate(OUTCOME, WRONG["shifted"], task=task, rng=0, draws=49)
    paid = task.payoffs[task.envelope.best(WRONG["shifted"], "first"), OUTCOME.astype(int)]
    assert choice.before.task_loss == pytest.approx(-paid.mean())
    assert choice.after.task_loss < choice.before.task_loss
    by_task = recalibrate(OUTCOME, WRONG["shifted"], score=task, rng=0, draws=49)
    assert by_task.score == "task"
    assert recalibrate(OUTCOME, WRONG["shifted"], rng=0).before.task_loss is None


def test_maps_may_be_given_by_name_or_with_options():
    methods = ["platt", IsotonicCalibration(strict=True), PlattScaling(smoothing="none")]
    choice = recalibrate(OUTCOME, WRONG["over-confident"], methods=methods, rng=0)
    assert choice.table["calibrator"] == [
        "identity",
        "platt",
        "IsotonicCalibration(strict=True)",
        "PlattScaling(smoothing='none')",
    ]
    assert not hasattr(methods[1], "form_")
    strict = recalibrate(OUTCOME, WRONG["over-confident"], methods=methods[1:2], rng=0, draws=49)
    assert strict.calibrator.strict
    assert strict.after.ties == strict.before.ties
    data = choice.as_dict()
    json.dumps(data, allow_nan=False)
    assert data["after"]["brier"] < data["before"]["brier"]


def test_forecasts_of_0_and_1_that_proved_wrong_do_not_stop_the_choice():
    p, y = CHANCE.round(), OUTCOME
    choice = recalibrate(y, p, rng=0, draws=49)
    assert not choice.unchanged
    assert choice.before.log_loss == np.inf
    assert choice.after.log_loss < 1
    assert choice.as_dict()["before"]["log_loss"] is None


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: recalibrate([1], [0.5]), InvalidForecastsError, "two rows"),
        (lambda: recalibrate(OUTCOME, CHANCE, folds=1), InvalidOptionError, "folds"),
        (lambda: recalibrate(OUTCOME, CHANCE, methods=["magic"]), InvalidOptionError, "methods"),
        (
            lambda: recalibrate(OUTCOME, CHANCE, clusters=["a"] * N),
            InvalidForecastsError,
            "clusters",
        ),
        (lambda: recalibrate(OUTCOME, CHANCE, time=[1] * N), InvalidForecastsError, "time"),
        (lambda: recalibrate(CHANCE, CHANCE), InferenceRefusedError, "outcomes 0 and 1"),
        (lambda: recalibrate(OUTCOME, CHANCE, confidence=1.0), InvalidOptionError, "confidence"),
        (
            lambda: recalibrate(cal.Joint.from_samples(OUTCOME, CHANCE), OUTCOME),
            InvalidForecastsError,
            "stands alone",
        ),
        (
            lambda: recalibrate(
                cal.Joint.from_samples(OUTCOME, CHANCE.round(1), sample_weight=CHANCE + 1)
            ),
            InvalidForecastsError,
            "weigh the same",
        ),
        (
            lambda: recalibrate(OUTCOME[:9], CHANCE[:9], clusters=[1, 2] * 4 + [1], time=range(9)),
            InvalidForecastsError,
            "leave rows",
        ),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("forecast", ["some are 1", "all are 1"])
def test_certain_forecasts_that_failed_have_one_score_everywhere(forecast):
    """The log loss is infinite in words, table and plain data; nothing finite is made of it."""
    rng = np.random.default_rng(0)
    chance = rng.random(1000)
    y = rng.random(1000) < chance
    p = np.where(rng.random(1000) < (0.1 if forecast == "some are 1" else 2), 1.0, chance**2)
    failed = int(((p == 1) & ~y).sum())
    choice = recalibrate(y, p, rng=0, draws=99)
    assert np.isinf(choice.before.log_loss)
    assert choice.before.failed == failed
    assert choice.table["score"][0] == np.inf
    assert choice.gain.value == choice.gain.low == choice.gain.high == np.inf
    at = choice.table["chosen"].index(True)
    assert choice.table["score"][at] == pytest.approx(choice.after.log_loss)
    assert choice.table["gain"][at] == np.inf
    assert f"the log loss is no longer infinite, because {failed} forecasts of exactly" in str(
        choice
    )
    assert f"; the Brier score falls by {choice.gains['brier'].value:.2g} (" in str(choice)
    assert "e+" not in str(choice)
    text = choice_text(choice)
    assert f"infinite ({failed} forecasts of 0 or 1 failed)" in text
    assert text.count("infinite") >= 3
    data = json.loads(json.dumps(choice.as_dict(), allow_nan=False))
    assert data["before"]["log_loss"] is data["table"]["score"][0] is data["gain"]["value"] is None
    assert data["before"]["failed"] == failed
    assert data["after"]["failed"] == 0


def test_a_score_that_stays_infinite_gains_nothing_to_tell():
    gain = Gain(1.0, 0.5, 1.5, 0.1)
    assert gain.with_scores(2.0, 1.0) is gain
    assert np.isnan(gain.with_scores(np.inf, np.inf).value)
    assert gain.with_scores(1.0, np.inf).value == -np.inf
    assert gain.with_scores(np.inf, np.inf).as_dict() == {"value": None, "low": None, "high": None}


@pytest.mark.parametrize(("low", "high"), [(-60, 64), (0, 64), (-60, 3)])
def test_venn_abers_is_right_whatever_the_weights(low, high):
    rng = np.random.default_rng(0)
    p, y = rng.random(200), rng.random(200) < 0.4
    fitted = VennAbers().fit(p, y, 10.0 ** rng.uniform(low, high, 200))
    lower, upper = fitted.interval(p)
    assert (lower <= upper).all()
    assert ((fitted.transform(p) > 0) & (fitted.transform(p) < 1)).all()


def test_rows_that_choose_do_not_judge():
    """What a fold judges was chosen by the others: its own outcomes have no say in it."""
    rng = np.random.default_rng(6)
    p = WRONG["shifted"][:400]
    rows, _ = split_rows(units_of(p, OUTCOME[:400], None), Split(), rng)
    candidates = candidates_of(["prior", "temperature"], rows)
    log = as_score("log")
    for fold in rows.folds:
        outcome = np.where(rows.fold == fold, 1 - rows.outcome, rows.outcome)
        other = replace(rows, outcome=outcome)
        own = rows.fold == fold
        one, two = (
            nested(some, candidates, log, cross_fitted(some, candidates))[own]
            for some in (rows, other)
        )
        assert one.tolist() == two.tolist()


def test_the_gain_is_of_rows_that_took_no_part_in_the_choice():
    """The calibrator that looks best flatters itself; other rows judge the choice."""
    rng = np.random.default_rng(7)
    reported, alone = [], []
    methods = ["prior", "temperature"]
    for _ in range(10):
        p = rng.random(120)
        choice = recalibrate(
            rng.random(120) < 0.15 + 0.7 * p, p, methods=methods, rng=rng, draws=19
        )
        if not choice.unchanged:
            reported.append(choice.gain.value)
            alone.append(choice.table["gain"][choice.table["chosen"].index(True)])
            assert choice.gain.high >= alone[-1]
            assert choice.before.log_loss - choice.after.log_loss == pytest.approx(reported[-1])
    assert len(reported) >= 3
    assert np.mean(reported) < np.mean(alone)


def test_few_rows_are_taught_simple_maps_only():
    p, y = WRONG["over-confident"][:90], OUTCOME[:90]
    choice = recalibrate(y, p, rng=0, draws=49)
    assert choice.table["calibrator"] == ["identity", "prior", "temperature", "platt"]
    assert choice.skipped == (
        "beta", "quadratic", "spline", "centered_isotonic", "isotonic", "kernel", "histogram",
        "venn_abers",
    )  # fmt: skip
    assert "not tried, because the rows are too few: beta, quadratic" in choice_text(choice)
    assert choice.as_dict()["skipped"] == list(choice.skipped)
    named = recalibrate(y, p, methods=["isotonic"], rng=0, draws=49)
    assert named.table["calibrator"] == ["identity", "isotonic"]
    assert named.skipped == recalibrate(OUTCOME, WRONG["shifted"], rng=0).skipped == ()


@pytest.mark.parametrize(
    "options", [{"clusters": np.arange(300) % 2}, {"folds": 2}, {"time": np.arange(300) // 150}]
)
def test_a_choice_that_others_cannot_judge_is_not_made(options):
    choice = recalibrate(OUTCOME[:300], WRONG["shifted"][:300], rng=0, draws=19, **options)
    assert choice.unchanged
    assert "too few rows, clusters or times to judge a choice by others" in choice.sentence


def test_what_is_left_alone_says_why():
    choice = recalibrate(OUTCOME, expit(0.9 * logit(CHANCE)), methods=["temperature"], rng=3)
    best = choice.table["calibrator"].index(choice.runner_up)
    assert choice.unchanged
    assert f"the best alone, {choice.runner_up}, the log loss falls" in choice.sentence
    assert f"{choice.table['gain_high'][best]:.2g} with 95 % confidence" in choice.sentence
    none = recalibrate([0, 1] * 200, [0.5] * 400, methods=["prior"], rng=0)
    assert none.sentence == "Leave it alone: out of sample no calibrator improves the log loss."


def test_a_score_that_stays_infinite_proves_nothing():
    """A forecast of 1 that failed, in a fold of its own: no number says that a calibrator helps."""
    outcome = [0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0]
    choice = recalibrate(outcome, [0.1] * 4 + [0.3, 0.3, 1.0, 0.1, 0.1, 0.7, 0.7, 1.0], rng=0)
    assert np.isnan(choice.gain.value)
    assert "may help, and only more rows can tell" in str(choice)
    assert recalibrate([1, 1, 0, 1], [0.7, 0.1, 1.0, 0.7], rng=0).unchanged


def test_one_cluster_is_one_whatever_its_number():
    """Of rows that are left, one cluster says nothing of others."""
    rows = np.arange(4.0)
    for code in (0, 3):
        cases = Cases(rows / 4, rows > 1, np.ones(4), np.ones(4), np.full(4, code))
        assert cases.clusters == 1
        assert cases.design_effect(rows - 1.5) == 4


def test_held_out_calibration_is_no_better_than_that_of_perfect_forecasts():
    """Residuals of all folds together sum to about zero; those of one fold do not.

    Pooled over the folds, the error after a calibrator was a quarter of what perfect forecasts
    show.
    """
    rng = np.random.default_rng(0)
    after, perfect = [], []
    for seed in range(12):
        chance = rng.random(2000)
        outcome = rng.random(2000) < chance
        joint = recalibrate(outcome, chance**1.5, methods=["platt"], always=True, rng=seed).held_out
        assert joint.row_count == 400
        after.append(float(cal.smooth_calibration_error(joint)))
        some = rng.permutation(2000)[:400]
        perfect.append(float(cal.smooth_calibration_error(outcome[some], chance[some])))
    assert np.mean(after) > 0.7 * np.mean(perfect)


def test_no_calibration_error_of_pooled_folds_is_stored_or_printed():
    choice = recalibrate(OUTCOME, WRONG["over-confident"], rng=0, draws=49)
    assert "smooth" not in json.dumps({**choice.as_dict(), "calibrator": None})
    assert "smooth error" not in choice_text(choice)
    latest = recalibrate(OUTCOME, WRONG["over-confident"], time=np.arange(N), rng=0).held_out
    assert latest.row_count == pytest.approx(N / 6, abs=1)


def test_very_many_rows_choose_as_all_of_them_do(monkeypatch):
    rng = np.random.default_rng(10)
    prediction = rng.beta(1, 30, 20_000)
    outcome = rng.random(20_000) < prediction**1.2
    exact = recalibrate(outcome, prediction, rng=0)
    monkeypatch.setattr(folds, "MOST_ROWS", 10_000)
    monkeypatch.setattr(folds, "MOST_LEVELS", 2**11)
    rounded = recalibrate(outcome, prediction, rng=0)
    assert rounded.calibrator.method == exact.calibrator.method
    assert rounded.gain.value == pytest.approx(exact.gain.value, rel=0.05)
    assert rounded.calibrator.transform(prediction) == pytest.approx(
        exact.calibrator.transform(prediction), rel=0.02
    )
    turned = rng.permutation(20_000)
    again = recalibrate(outcome[turned], prediction[turned], rng=0)
    assert again.gain.value == pytest.approx(rounded.gain.value, rel=1e-9)


@pytest.mark.parametrize("score", ["log", "brier", "spherical"])
def test_gains_stand_side_by_side_whatever_score_chooses(score):
    rng = np.random.default_rng(5)
    chance = rng.random(1500)
    y = (rng.random(1500) < chance).astype(int)
    choice = recalibrate(y, chance**2, score=score, rng=0, draws=99)
    assert set(choice.gains) == {"log", "brier"}
    if score != "spherical":
        assert choice.gains[score] == choice.gain
    for name, value in (("log", "log_loss"), ("brier", "brier")):
        before, after = getattr(choice.before, value), getattr(choice.after, value)
        assert choice.gains[name].value == pytest.approx(before - after, abs=1e-12)
        assert choice.gains[name].low < choice.gains[name].value < choice.gains[name].high
    stored = choice.as_dict()
    assert stored["gains"]["brier"]["value"] == pytest.approx(choice.gains["brier"].value)
    for name in ("log", "brier"):
        lost = choice.table[f"{name}_gain"]
        assert lost[0] == 0
        assert len(choice.table[f"{name}_gain_low"]) == len(choice.table["calibrator"])
    if score != "spherical":
        assert choice.table[f"{score}_gain"] == choice.table["gain"]
    text = choice_text(choice)
    assert "gain in log loss" in text
    assert "gain in Brier score" in text
    assert "log loss falls" in str(choice)
    assert "Brier score falls" in str(choice)


def test_many_rows_learn_in_cells_and_choose_what_all_of_them_would(monkeypatch):
    from calibrant.recalibration import choice_rule  # its number of cells

    rng = np.random.default_rng(2)
    chance = rng.random(20000)
    y = (rng.random(20000) < chance).astype(int)
    exact = recalibrate(y, chance**2, rng=0, draws=99)
    monkeypatch.setattr(choice_rule, "MOST_LEARNED", 2**11)
    rough = recalibrate(y, chance**2, rng=0, draws=99)
    assert rough.calibrator.method == exact.calibrator.method
    assert rough.table["gain"] == pytest.approx(exact.table["gain"], abs=2e-4)
    at = np.linspace(0.01, 0.99, 50)
    assert rough.calibrator.transform(at) == pytest.approx(
        exact.calibrator.transform(at), abs=1e-12
    )


def of_three_classes(seed, rows):
    """Labels, and forecasts of which most are right and none is sure enough."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet([0.1] * 3, rows)
    label = (chances.cumsum(axis=1)[:, :-1] < rng.random((rows, 1))).sum(axis=1)
    stated = chances.clip(1e-9) ** 0.4
    return label, stated / stated.sum(axis=1, keepdims=True)


def test_classes_that_are_right_more_often_than_forecast_are_sharpened():
    """Few surprises are a reason to change forecasts that expected many."""
    label, stated = of_three_classes(0, 150)
    choice = recalibrate(label, stated, methods=["temperature"], rng=0)
    assert not choice.unchanged
    assert choice.gain.low > 0
    assert choice.calibrator.temperature_ < 0.7


def test_models_that_are_not_sure_enough_are_sharpened():
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, label = datasets.load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    stated = cross_val_predict(model, features, label, cv=5, method="predict_proba")
    for seed in range(3):
        choice = recalibrate(label, stated, rng=seed)
        assert choice.calibrator.method == "temperature"
        assert 0.04 < choice.gain.value < 0.12
        assert choice.gain.low > 0


def test_a_gain_above_zero_that_is_not_taken_is_explained():
    explained = 0
    for seed, score in itertools.product(range(10), ["log", "brier"]):
        label, stated = of_three_classes(seed, 30 if score == "log" else 60)
        choice = recalibrate(label, stated, methods=["temperature"], score=score, rng=0)
        if not choice.unchanged or not choice.runner_up:
            continue
        sure = choice.runner_up_gain.low > 0
        assert ("by more than noise" in choice.sentence) != sure
        assert ("whose likeliest outcome did not happen" in choice.sentence) == sure
        explained += sure
    assert explained == 2


def test_events_of_whole_clusters_are_as_rare_as_the_clusters():
    """Ten rows of a cluster share an outcome, and about three of 300 clusters have an event."""
    rng = np.random.default_rng(3)
    taken = 0
    for _ in range(8):
        chance = rng.beta(0.5, 50, 300)
        outcome = (rng.random(300) < chance).astype(int)
        unit = np.repeat(np.arange(300), 10)
        taken += not recalibrate(outcome[unit], chance[unit], clusters=unit).unchanged
    assert taken == 0


@pytest.mark.parametrize("unit", [1.0, 7.0, 1e-3])
def test_weights_that_are_all_the_same_choose_as_no_weights(unit):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.01, 0.99, 300)
    y = (rng.uniform(size=300) < p**1.3).astype(int)
    plain = recalibrate(y, p, rng=0)
    weighted = recalibrate(y, p, sample_weight=np.full(300, unit), rng=0)
    assert type(weighted.calibrator) is type(plain.calibrator)
    assert weighted.gain.value == pytest.approx(plain.gain.value, abs=1e-9)
    np.testing.assert_allclose(
        weighted.calibrator.transform(p), plain.calibrator.transform(p), atol=1e-9
    )
