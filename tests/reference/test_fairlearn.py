"""Groups against fairlearn's MetricFrame, where both define the same numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss

import calibrant as cal
from calibrant.groups import audit_groups, multiaccuracy_error, recalibrate_by_group


def mean_of_outcomes(y, p, sample_weight=None):
    return float(np.average(y, weights=sample_weight))


def mean_of_predictions(y, p, sample_weight=None):
    return float(np.average(p, weights=sample_weight))


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    n = 6000
    by = pd.DataFrame({"site": rng.choice(["a", "b", "c"], n), "night": rng.random(n) < 0.3})
    p = rng.beta(2, 3, n)
    truth = np.where((by["site"] == "a") & by["night"], 0.5 * p, p)
    return (rng.random(n) < truth) * 1, p, by, rng.lognormal(0, 0.5, n)


def frame_of(y, p, features, weight=None):
    from fairlearn.metrics import MetricFrame, count

    metrics = {
        "rows": count,
        "events": lambda y, p: float(np.sum(y)),
        "base_rate": mean_of_outcomes,
        "mean_prediction": mean_of_predictions,
        "brier": brier_score_loss,
    }
    weighed = ("base_rate", "mean_prediction", "brier")
    beside = {} if weight is None else {name: {"sample_weight": weight} for name in weighed}
    return MetricFrame(
        metrics=metrics, y_true=y, y_pred=p, sensitive_features=features, sample_params=beside
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_events_and_means_of_groups_and_pairs(rows, weighted):
    y, p, by, weight = rows
    weight = weight if weighted else None
    found = audit_groups(y, p, by, pairs=True, sample_weight=weight, draws=99, rng=0)
    told = {"yes": True, "no": False}
    for features in (["site"], ["night"], ["site", "night"]):
        theirs = frame_of(y, p, by[features], weight).by_group
        ours = [group for group in found if group.by == " & ".join(features)]
        assert len(ours) == len(theirs)
        for group in ours:
            levels = tuple(told.get(level, level) for level in group.name.split(" & "))
            row = theirs.loc[levels if len(levels) > 1 else levels[0]]
            assert group.rows == row["rows"]
            if not weighted:
                assert group.events == pytest.approx(row["events"])
            assert group.observed == pytest.approx(row["base_rate"], abs=1e-12)
            assert group.forecast == pytest.approx(row["mean_prediction"], abs=1e-12)


def test_brier_scores_of_groups(rows):
    y, p, by, _ = rows
    theirs = frame_of(y, p, by["site"]).by_group["brier"]
    frame = by.assign(prediction=p, outcome=y)
    for (site,), joint in cal.joints_by(frame, by="site", resolution=None).items():
        ours = cal.score_decomposition(joint, score="brier").score
        assert ours == pytest.approx(theirs[site], abs=1e-12)


def test_multiaccuracy_is_the_largest_gap_of_means_times_share(rows):
    """Also over all rows, which fairlearn calls overall."""
    y, p, by, _ = rows
    gaps = []
    for features in (["site"], ["night"]):
        theirs = frame_of(y, p, by[features])
        gap = (theirs.by_group["base_rate"] - theirs.by_group["mean_prediction"]).abs()
        gaps += list(gap * theirs.by_group["rows"] / y.size)
        gaps.append(abs(theirs.overall["base_rate"] - theirs.overall["mean_prediction"]))
    assert multiaccuracy_error(y, p, by) == pytest.approx(max(gaps), abs=1e-12)


def test_a_repair_shrinks_the_largest_gap_of_fairlearn(rows):
    """Their difference between groups is of one number; ours is of outcome and prediction."""
    y, p, by, _ = rows
    repair = recalibrate_by_group(y, p, by, pairs=True, methods=["platt"], draws=99, rng=0)
    assert repair.patched

    def largest_gap(q):
        theirs = frame_of(y, q, by).by_group
        return (theirs["base_rate"] - theirs["mean_prediction"]).abs().max()

    assert largest_gap(repair.calibrator.transform(p, by)) < largest_gap(p) / 3
