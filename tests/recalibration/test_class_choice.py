"""One choice for two outcomes and for classes: told by the shape, by one rule, with one result."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.decisions import DecisionTask
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.classes import ClassForecasts
from calibrant.recalibration import (
    DirichletCalibration,
    Recalibration,
    TemperatureScaling,
    recalibrate,
)
from calibrant.recalibration.report_text import choice_text

RNG = np.random.default_rng(3)
N = 2400
TRUE = RNG.dirichlet(np.ones(3), N)
LABEL = (TRUE.cumsum(axis=1)[:, :2] < RNG.random((N, 1))).sum(axis=1)
SHARP = TRUE**2 / (TRUE**2).sum(axis=1, keepdims=True)
FAST = {"methods": ["temperature"], "draws": 49, "rng": 0}


def test_the_shape_tells_what_is_chosen_for():
    p, y = TRUE[:, 1], LABEL == 1
    two = recalibrate(y, p, methods=["platt"], draws=49, rng=0)
    pairs = recalibrate(y, np.column_stack([1 - p, p]), methods=["platt"], draws=49, rng=0)
    joint = recalibrate(cal.Joint.from_samples(y, p), methods=["platt"], draws=49, rng=0)
    assert two.table == pairs.table == joint.table
    many = recalibrate(LABEL, SHARP, **FAST)
    read = recalibrate(ClassForecasts.read(LABEL, SHARP), **FAST)
    lists = recalibrate(LABEL.tolist(), SHARP.tolist(), **FAST)
    assert many.table == read.table == lists.table
    named = recalibrate(
        np.where(y, "yes", "no"), np.column_stack([1 - p, p]), classes=["no", "yes"], **FAST
    )
    assert named.calibrator.classes_ == ("no", "yes")


def test_frames_and_files_are_read_as_an_audit_reads_them(tmp_path):
    import pandas as pd
    import polars as pl

    options = {"methods": ["platt"], "draws": 49, "rng": 0}
    p, y = SHARP[:, 1], (LABEL == 1).astype(int)
    site, day = np.where(np.arange(N) % 3, "x", "y"), np.arange(N)
    frame = pd.DataFrame({"p": p, "said": np.where(y, "won", "lost"), "site": site, "day": day})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    expected = recalibrate(y, p, by={"site": site}, clusters=day // 7, **options)
    named = {"prediction": "p", "outcome": "said", "pos_label": "won", "by": ["site"]}
    frame["week"] = day // 7
    for data in (frame, pl.DataFrame(frame.to_dict("list"))):
        found = recalibrate(data, clusters="week", **named, **options)
        assert found.table == expected.table
        assert found.before.worst_group == expected.before.worst_group
    forward = recalibrate(y, p, by={"site": site}, time=day, **options)
    assert recalibrate(tmp_path / "rows.csv", time="day", **named, **options).table == forward.table
    with pytest.raises(InvalidForecastsError, match="'sit'"):
        recalibrate(frame, **(named | {"by": "sit"}))


def test_frames_and_files_of_classes_are_read_as_an_audit_reads_them(tmp_path):
    import pandas as pd

    names, weight = ["a", "b", "c"], np.arange(N) % 3.0
    label, day = np.array(names)[LABEL], np.arange(N) // 7
    frame = pd.DataFrame(SHARP, columns=names).assign(label=label, weight=weight, day=day)
    frame.to_parquet(tmp_path / "rows.parquet")
    extra = {"sample_weight": weight, "clusters": day, "by": {"day": day}}
    expected = recalibrate(label, SHARP, classes=names, **extra, **FAST)
    named = {"outcome": "label", "sample_weight": "weight", "clusters": "day", "by": "day"}
    for data in (frame, tmp_path / "rows.parquet"):
        assert recalibrate(data, classes=names, **named, **FAST).table == expected.table
    with pytest.raises(InvalidForecastsError, match="'c'"):
        recalibrate(frame.drop(columns="c"), classes=names, outcome="label", **FAST)
    with pytest.raises(InvalidOptionError, match="pos_label"):
        recalibrate(frame, classes=names, outcome="label", pos_label="a", **FAST)


def test_one_kind_of_result():
    two, many = recalibrate(LABEL == 1, SHARP[:, 1], **FAST), recalibrate(LABEL, SHARP, **FAST)
    for choice in (two, many):
        assert type(choice) is Recalibration
        assert not choice.unchanged
        assert choice.gain.low < choice.gain.value < choice.gain.high
        assert choice.after.log_loss < choice.before.log_loss
        assert choice.after.brier < choice.before.brier
        assert (
            "Temperature scaling helps: on rows that took no part in the choice the log loss falls"
            in choice.sentence
        )
        assert "confidence" in choice.sentence
    assert list(two.table) == list(many.table)
    plain, of_classes = two.as_dict(), many.as_dict()
    assert list(plain) == list(of_classes)
    assert list(plain["before"]) == list(of_classes["before"])
    assert plain["before"]["accuracy"] is None
    right = np.mean(SHARP.argmax(axis=1) == LABEL)
    assert of_classes["before"]["accuracy"] == pytest.approx(right, rel=1e-12)
    assert many.held_out.row_count == pytest.approx(LABEL.size / 5, abs=1)
    text = choice_text(many)
    assert "accuracy" in text
    assert "AUC" not in text


def test_calibrated_classes_are_left_alone_and_rare_luck_is_not_believed():
    """What is right stays, also where few rows of a class tell nothing of the spread."""
    rng = np.random.default_rng(5)
    alone = 0
    for seed in range(20):
        table = rng.dirichlet([20, 0.3, 0.3], 300)
        label = (table.cumsum(axis=1)[:, :2] < rng.random((300, 1))).sum(axis=1)
        methods = ["temperature", "vector"]
        alone += recalibrate(label, table, methods=methods, rng=seed).unchanged
    assert alone >= 17


def test_a_chance_of_zero_that_happened_is_told_as_infinite():
    table = SHARP.copy()
    table[LABEL == 0] = [0.0, 0.5, 0.5]
    choice = recalibrate(LABEL, table, methods=["vector"], draws=49, rng=0)
    assert choice.before.failed == int((LABEL == 0).sum())
    assert choice.before.log_loss == np.inf
    assert choice.as_dict()["before"]["log_loss"] is None


def test_time_goes_forward_for_classes_too():
    """Forecasts go wrong late: the past teaches nothing of it."""
    time = np.random.default_rng(1).permutation(N)
    table = np.where((time > 0.84 * N)[:, np.newaxis], SHARP, TRUE)
    forward = recalibrate(LABEL, table, time=time, **FAST)
    careless = recalibrate(LABEL, table, **FAST)
    assert forward.gain.value < careless.gain.value
    judged = forward.before.brier
    later = time >= N // 6
    hit = table[np.arange(N), LABEL]
    expected = ((table**2).sum(axis=1) - 2 * hit + 1)[later].mean()
    assert judged == pytest.approx(expected)


def test_rows_without_weight_are_gone_from_everything():
    weight = RNG.integers(0, 3, N).astype(float)
    kept = weight > 0
    cluster = RNG.integers(0, 60, N)
    site = RNG.choice(["x", "y"], N)
    whole = recalibrate(LABEL, SHARP, sample_weight=weight, clusters=cluster, by=site, **FAST)
    part = recalibrate(
        LABEL[kept], SHARP[kept], sample_weight=weight[kept], clusters=cluster[kept],
        by=site[kept], **FAST,
    )  # fmt: skip
    assert whole.table == part.table
    assert whole.before.worst_group == part.before.worst_group
    assert whole.before.worst_group.name in {"x", "y"}


def test_folds_do_not_depend_on_the_order_of_the_rows():
    order = np.random.default_rng(9).permutation(N)
    one = recalibrate(LABEL, SHARP, **FAST)
    two = recalibrate(LABEL[order], SHARP[order], **FAST)
    np.testing.assert_allclose(one.table["score"], two.table["score"], rtol=1e-12)


def test_scores_of_classes():
    for score in ("log", "brier", "spherical"):
        choice = recalibrate(LABEL, SHARP, score=score, **FAST)
        assert score in choice.sentence.lower()
        assert not choice.unchanged


def test_many_classes_are_spared_the_matrix():
    table = RNG.dirichlet(np.ones(60), 400)
    label = RNG.integers(0, 60, 400)
    choice = recalibrate(label, table, rng=0, folds=2)
    assert "dirichlet" not in choice.table["calibrator"]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"methods": ["platt"]}, InvalidOptionError, "calibrators of classes"),
        (
            {"methods": [cal.recalibration.PlattScaling()]},
            InvalidOptionError,
            "calibrators of classes",
        ),
        ({"score": "auc"}, InvalidOptionError, "log, brier, spherical"),
        ({"score": DecisionTask([[0, 0], [-1, 3]])}, InvalidOptionError, "score of classes"),
        ({"task": DecisionTask([[0, 0], [-1, 3]])}, InvalidOptionError, "task is for two"),
        ({"pos_label": 1}, InvalidOptionError, "pos_label is for two"),
        ({"clusters": [1, 2]}, InvalidForecastsError, "clusters"),
        ({"folds": 1}, InvalidOptionError, "folds"),
        ({"classes": ["a", "b"]}, InvalidForecastsError, "every column"),
    ],
)
def test_choice_of_classes_refuses(options, error, match):
    with pytest.raises(error, match=match):
        recalibrate(LABEL, SHARP, **options)


def test_two_outcomes_know_no_maps_of_classes():
    with pytest.raises(InvalidOptionError, match="calibrators of two outcomes"):
        recalibrate(LABEL == 1, SHARP[:, 1], methods=[DirichletCalibration()])
    with pytest.raises(InvalidForecastsError, match=r"recalibrate\(y_true, y_proba\)"):
        recalibrate(LABEL)
    assert (
        recalibrate(
            LABEL == 1, SHARP[:, 1], methods=[TemperatureScaling()], rng=0
        ).calibrator.classes_
        is None
    )


def test_one_name_each():
    for name in ("recalibrate", "Identity", "TemperatureScaling", "VectorScaling", "Calibrator"):
        assert not hasattr(cal.multiclass, name)
    assert not hasattr(cal.groups, "GroupCalibrator")
    assert not hasattr(cal.groups.Multicalibrator, "load")
