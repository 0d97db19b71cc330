"""Rows in folds and in cells: dealt evenly, clusters whole, time forwards, nothing lost."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import calibrant as cal
from calibrant.errors import InvalidForecastsError
from calibrant.groups import recalibrate_by_group
from calibrant.models import CalibratedClassifier
from calibrant.recalibration import recalibrate
from calibrant.recalibration.folds import (
    Split,
    read_units,
    split_counts,
    split_rows,
    units_of,
)
from samples import truths

CHANCE, OUTCOME, WRONG = truths(4000)


def test_rows_are_dealt_evenly_and_all_of_them():
    rng = np.random.default_rng(0)
    joint = cal.Joint.from_samples(OUTCOME[:999], CHANCE[:999].round(1))
    units = split_counts(joint, 5, rng)
    assert units.count.sum() == 999
    per_fold = np.bincount(units.fold, units.count)
    assert per_fold.max() - per_fold.min() <= 1
    whole = units.joint(units.prediction)
    assert whole == joint
    for fold in units.folds:
        assert units.training_set(units.training_rows(fold)).row_count == 999 - per_fold[fold]


def test_counts_keep_the_weights_of_their_level():
    p, y = CHANCE[:500].round(2), OUTCOME[:500]
    joint = cal.Joint.from_samples(y, p, sample_weight=1 + p)
    units = split_counts(joint, 5, np.random.default_rng(0))
    whole = units.joint(units.prediction)
    assert whole.weight == pytest.approx(joint.weight)
    assert whole.positives == pytest.approx(joint.positives)
    assert whole.weight_squares == pytest.approx(joint.weight_squares)
    assert whole.rows.tolist() == joint.rows.tolist()
    assert recalibrate(joint, rng=0, draws=49).before.brier == pytest.approx(
        cal.brier_score(joint).value
    )


def test_clusters_are_never_torn_apart():
    rows = units_of(CHANCE[:600], OUTCOME[:600], None)
    labels = np.arange(600) % 40
    units, _ = split_rows(rows, Split(clusters=labels), np.random.default_rng(0))
    for label in range(40):
        assert len(set(units.fold[labels == label])) == 1
    choice = recalibrate(OUTCOME[:600], WRONG["shifted"][:600], clusters=labels, rng=0, draws=49)
    assert choice.held_out.row_count == 600 / 5


def test_time_goes_forward_only():
    """A calibrator is judged on later rows than it was fitted to; the earliest are not judged."""
    time = np.random.default_rng(4).permutation(600)
    rows = units_of(CHANCE[:600], OUTCOME[:600], None)
    units, _ = split_rows(rows, Split(time=time), np.random.default_rng(0))
    assert units.forward
    assert (units.fold == -1).sum() == 100
    for fold in units.folds:
        training = units.training_set(units.training_rows(fold))
        assert training.row_count == (fold + 1) * 100
        assert time[units.fold == fold].min() >= training.row_count
    split = Split(clusters=time // 150, time=time)
    both, _ = split_rows(rows, split, np.random.default_rng(0))
    assert (
        both.training_set(both.training_rows(4)).row_count == 450
    )  # rows of the cluster that is judged teach nothing
    days = np.datetime64("2025-01-01") + time
    choice = recalibrate(OUTCOME[:600], WRONG["shifted"][:600], time=days, rng=0, draws=49)
    assert choice.before.brier == pytest.approx(
        np.mean((WRONG["shifted"][:600] - OUTCOME[:600])[time >= 100] ** 2)
    )


def test_times_are_compared_as_moments_and_never_as_text():
    """Text that is no ISO date has no order in time; zones change the order of the letters."""
    p, y = CHANCE[:600], OUTCOME[:600]
    days = [f"{1 + i % 28:02d}/{1 + i // 50:02d}/2025" for i in range(600)]
    with pytest.raises(InvalidForecastsError, match="one number, date or timestamp per row"):
        recalibrate(y, p, time=days, rng=0)
    with pytest.raises(InvalidForecastsError, match="one number, date or timestamp per row"):
        recalibrate_by_group(y, p, {"half": np.arange(600) % 2}, time=days, rng=0)
    with pytest.raises(InvalidForecastsError, match="one number, date or timestamp per row"):
        CalibratedClassifier(GaussianNB()).fit(p[:, None], y, time=days)
    with pytest.raises(InvalidForecastsError, match=r"got values like (True|False)"):
        recalibrate(y, p, time=y == 1, rng=0)
    with pytest.raises(InvalidForecastsError, match="time must have one entry per row"):
        recalibrate(y, p, time=range(599), rng=0)
    start = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    zones = [dt.timezone(dt.timedelta(hours=8 * (i % 2))) for i in range(600)]
    moments = [(start + i * dt.timedelta(minutes=1)).astimezone(z) for i, z in enumerate(zones)]
    rows = units_of(p, y, None)
    expected, _ = split_rows(rows, Split(time=np.arange(600)), np.random.default_rng(0))
    for times in (moments, [moment.isoformat() for moment in moments]):
        units, _ = split_rows(rows, Split(time=times), np.random.default_rng(0))
        assert units.fold.tolist() == expected.fold.tolist()


def test_surprises_are_counted_as_rows_that_are_worth_one():
    rows = units_of(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 1, 0, 1]), None)
    assert rows.surprises == pytest.approx((2, 0.1 + 0.2 + 0.4 + 0.1))
    heavy = units_of(rows.prediction, rows.outcome, np.array([7.0, 7, 7, 7]))
    assert heavy.surprises == pytest.approx(rows.surprises)
    twice = units_of(
        np.repeat(rows.prediction, 2), np.repeat(rows.outcome, 2), None, None, np.arange(8) // 2
    )
    assert twice.surprises == pytest.approx(rows.surprises)


def test_cells_keep_what_rows_add_up_to():
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    rows, _ = split_rows(units_of(p, p > 0.5, 1 + p), Split(), rng)
    rough = rows.in_cells(64)
    assert np.unique(rough.prediction).size == 64
    assert rough.outcome.size <= 64 * 5 * 2
    for name in ("weight", "square", "count"):
        assert getattr(rough, name).sum() == pytest.approx(getattr(rows, name).sum())
    for fold in rows.folds:
        for outcome in (0, 1):
            total = [
                some.weight[(some.fold == fold) & (some.outcome == outcome)].sum()
                for some in (rows, rough)
            ]
            assert total[0] == pytest.approx(total[1])
    assert np.average(rough.prediction, weights=rough.count) == pytest.approx(p.mean())
    assert rows.in_cells(3000) is rows
    clusters = replace(rows, cluster=np.arange(3000) // 3)
    assert clusters.in_cells(64).outcome is clusters.outcome


def test_cells_keep_the_order_of_time():
    rng = np.random.default_rng(2)
    chance = rng.random(3000)
    y = (rng.random(3000) < chance).astype(int)
    units, _ = read_units((y, chance, None, None), Split(5, time=np.arange(3000)), rng)
    rough = units.in_cells(100)
    assert rough.forward
    assert np.unique(rough.prediction).size <= 100
    for fold in (-1, *units.folds):
        ours, theirs = units.where(units.fold == fold), rough.where(rough.fold == fold)
        assert theirs.count.sum() == ours.count.sum()
        assert (theirs.count @ theirs.outcome) == ours.outcome.sum()
