"""The multicalibrator: potentials that fall as proven, no harm, export, bad input."""

from __future__ import annotations

import json
import pickle
import sqlite3

import numpy as np
import pytest

from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError
from calibrant.groups import Multicalibrator, multicalibration_error
from calibrant.groups.fits import Jury
from calibrant.recalibration import load

METHODS = ["hkrr", "low_degree"]


def broken(n=20_000, seed=0):
    """Groups that overlap, some of them far off in some of their cells."""
    rng = np.random.default_rng(seed)
    by = {
        "site": rng.choice(["a", "b's", "c"], n),
        "night": rng.random(n) < 0.3,
        "age": rng.integers(18, 90, n),
    }
    base = rng.beta(2, 2, n)
    truth = base + 0.15 * (by["site"] == "a") * (base < 0.5) - 0.2 * by["night"] * (base > 0.3)
    truth += 0.1 * (by["age"] > 60)
    outcome = rng.random(n) < np.clip(truth, 0, 1)
    return base, outcome, by


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("judge", ["held_out", "fit"])
def test_every_patch_lowers_the_potential_by_the_proven_amount(method, pairs, judge):
    base, outcome, by = broken(8000)
    patched = Multicalibrator(method, pairs=pairs, tolerance=0.005, judge=judge)
    fit = patched.fit(base, outcome, by).fit_
    assert len(fit.steps) > 2
    for step in fit.steps:
        assert step.decrease >= step.promised - 1e-12
        assert step.promised >= step.violation**2 - 1e-12
    assert sum(step.decrease for step in fit.steps) <= 1
    limit = 1 / 0.005**2 if method == "low_degree" else 1 / (0.005 * 0.005**2)
    assert len(fit.steps) <= limit


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("judge", ["held_out", "fit"])
def test_patches_found_are_the_patches_applied(method, judge):
    """Sums over runs of rows and patches of single rows tell the same story."""
    base, outcome, by = broken()
    patched = Multicalibrator(method, judge=judge).fit(base, outcome, by)
    recalibrated = patched.transform(base, by)
    p, drops = base.copy(), []
    codes = [g.codes(by[g.column], base.size) for g in patched.groupings_]
    for step in patched.fit_.steps:
        rows = step.patch.rows(codes, p)
        before = np.mean((p - outcome) ** 2)
        bias = np.sum(p[rows] ** step.patch.power * (outcome[rows] - p[rows])) / base.size
        assert bias == pytest.approx(step.violation, abs=1e-6)
        p[rows] = step.patch.recalibrated(p[rows])
        drops.append(before - np.mean((p - outcome) ** 2))
    assert np.array_equal(p, recalibrated)
    assert drops == pytest.approx([step.decrease for step in patched.fit_.steps], abs=1e-6)
    if judge == "fit":
        assert patched.fit_.brier[1] == pytest.approx(
            np.mean((recalibrated - outcome) ** 2), abs=1e-9
        )
        assert sum(drops) == pytest.approx(patched.fit_.gain.value, abs=1e-9)


def cell_biases(patched, base, outcome, by, cells=10):
    """Share and mean residual of every cell of every group, by hand."""
    recalibrated = patched.transform(base, by)
    cell = np.minimum((recalibrated * cells).astype(int), cells - 1)
    for grouping in patched.groupings_:
        codes = grouping.codes(by[grouping.column], base.size)
        for group in np.unique(codes):
            for number in range(cells):
                inside = (codes == group) & (cell == number)
                if inside.any():
                    yield inside.mean(), np.mean(outcome[inside] - recalibrated[inside])


@pytest.mark.parametrize("levels", [None, 20])
def test_by_the_letter_no_cell_of_any_group_stays_off(levels):
    base, outcome, by = broken(5000)
    base = base if levels is None else np.round(base * levels) / levels
    patched = Multicalibrator(judge="fit", tolerance=0.02, min_mass=0.01).fit(base, outcome, by)
    biases = [bias for share, bias in cell_biases(patched, base, outcome, by) if share >= 0.01]
    assert len(biases) > 50
    assert max(map(abs, biases)) <= 0.02 + 1e-9
    assert len(patched.fit_.steps) <= 1 / (0.01 * 0.02**2)
    assert patched.fit_.left <= 0.02
    assert patched.fit_.judge == "fit"
    assert "which flatters" in patched.sentence_
    none = Multicalibrator(held_out=0, tolerance=0.02, min_mass=0.01).fit(base, outcome, by)
    assert np.array_equal(none.transform(base, by), patched.transform(base, by))


def test_by_the_letter_no_power_of_any_group_stays_off():
    base, outcome, by = broken(5000)
    fitted = Multicalibrator("low_degree", judge="fit", tolerance=0.002, degree=2)
    patched = fitted.fit(base, outcome, by)
    recalibrated = patched.transform(base, by)
    for grouping in patched.groupings_:
        codes = grouping.codes(by[grouping.column], base.size)
        for group in np.unique(codes):
            for power in range(3):
                test = (codes == group) * recalibrated**power
                assert abs(np.mean(test * (outcome - recalibrated))) <= 0.002 + 1e-12
    assert len(patched.fit_.steps) <= 1 / 0.002**2


@pytest.mark.parametrize("method", [*METHODS, "boosted"])
def test_it_repairs_broken_groups_on_new_rows(method):
    base, outcome, by = broken()
    patched = Multicalibrator(method, tolerance=0.005).fit(base, outcome, by)
    new_base, new_outcome, new_by = broken(40_000, seed=1)
    recalibrated = patched.transform(new_base, new_by)
    before = multicalibration_error(new_outcome, new_base, new_by)
    after = multicalibration_error(new_outcome, recalibrated, new_by)
    assert after < before / 2
    assert np.mean((recalibrated - new_outcome) ** 2) < np.mean((new_base - new_outcome) ** 2)
    assert patched.fit_.brier[1] < patched.fit_.brier[0]


def sound(n, rng):
    by = {"site": rng.choice(["a", "b", "c"], n), "night": rng.random(n) < 0.3, "x": rng.random(n)}
    base = rng.beta(2, 2, n)
    return base, rng.random(n) < base, by


@pytest.mark.parametrize(
    ("method", "n", "runs"),
    [
        ("hkrr", 500, 40),
        ("hkrr", 3000, 40),
        ("low_degree", 500, 40),
        ("low_degree", 3000, 40),
        ("boosted", 500, 2),
    ],
)
def test_sound_predictions_are_left_alone(method, n, runs):
    """More samples, and larger ones, are in tests/slow/test_multicalibration.py."""
    rng = np.random.default_rng(5)
    changed = 0
    for run in range(runs):
        base, outcome, by = sound(n, rng)
        patched = Multicalibrator(method, rng=run).fit(base, outcome, by)
        changed += patched.fit_.kept
        if not patched.fit_.kept:
            assert np.array_equal(patched.transform(base, by), base)
            assert patched.fit_.brier[0] == patched.fit_.brier[1]
            assert patched.sentence_.startswith("Base predictions are kept")
    assert changed <= 0.05 * runs


@pytest.mark.parametrize(
    ("n", "share", "judging"), [(1000, 0.2, 5), (30_000, 0.2, 2), (300_000, 0.25, 1)]
)
def test_no_row_judges_what_it_helped_to_find(n, share, judging):
    jury = Jury.of(np.ones(n), share, np.random.default_rng(3))
    training_sets = []
    jury.cross_fitted(np.zeros(n), lambda rows: training_sets.append(rows) or np.ones(n))
    assert len(training_sets) == judging
    judges = np.sum([~rows for rows in training_sets], axis=0)
    assert np.array_equal(judges == 1, jury.deciding ^ jury.reporting)
    assert judges.max() == 1
    assert not (jury.deciding & jury.reporting).any()


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repeats_of_rows_fitted_to(method):
    base, outcome, by = broken(3000)
    once = Multicalibrator(method).fit(base, outcome, by, np.full(3000, 3.0))
    again = Multicalibrator(method).fit(base, outcome, by)
    assert np.allclose(once.transform(base, by), again.transform(base, by), atol=1e-12)


def test_certain_predictions_stay_in_range():
    base, outcome, by = broken(5000)
    base = np.where(base > 0.8, 1.0, np.where(base < 0.2, 0.0, base))
    for method in (*METHODS, "boosted"):
        recalibrated = Multicalibrator(method).fit(base, outcome, by).transform(base, by)
        assert ((recalibrated >= 0) & (recalibrated <= 1)).all()


def test_unseen_labels_keep_the_base_prediction_and_are_counted():
    base, outcome, by = broken()
    patched = Multicalibrator().fit(base, outcome, by)
    new = {name: values[:10].copy() for name, values in by.items()}
    new["site"] = np.where(np.arange(10) < 4, "elsewhere", new["site"])
    with pytest.warns(CalibrantWarning, match="4 rows"):
        recalibrated = patched.transform(base[:10], new)
    assert np.array_equal(recalibrated[:4], base[:4])
    assert np.array_equal(
        recalibrated[4:], patched.transform(base[4:10], {k: v[4:] for k, v in new.items()})
    )


@pytest.mark.parametrize("method", METHODS)
def test_json_takes_patches_there_and_back(method, tmp_path):
    base, outcome, by = broken(6000)
    patched = Multicalibrator(method).fit(base, outcome, by)
    path = tmp_path / "patches.json"
    path.write_text(patched.to_json(), encoding="utf-8")
    for source in (path, patched.to_json(), json.loads(patched.to_json())):
        loaded = load(source)
        assert np.array_equal(loaded.transform(base, by), patched.transform(base, by))
    with pytest.raises(InvalidOptionError, match="schema 1"):
        load({"schema": 7, "calibrator": "GroupCalibrator"})


def rows_for_sql(base, by):
    rows = [
        (i, float(base[i]), str(by["site"][i]), bool(by["night"][i]), int(by["age"][i]))
        for i in range(1500)
    ]
    return [
        *rows,
        (1500, 0.4, "elsewhere", True, 30),
        (1501, None, "a", True, 30),
        (1502, 7.0, "a", True, 30),
    ]


@pytest.mark.parametrize("method", METHODS)
def test_sql_gives_the_same_in_duckdb_and_sqlite(method):
    import duckdb

    base, outcome, by = broken(6000)
    patched = Multicalibrator(method).fit(base, outcome, by)
    assert patched.patches_.patches
    expected = patched.transform(base[:1500], {k: v[:1500] for k, v in by.items()})
    columns = "id integer, prediction double precision, site text, night boolean, age integer"
    create = f"create table t ({columns})"
    rows = rows_for_sql(base, by)
    for dialect, connection in (
        ("duckdb", duckdb.connect()),
        ("sqlite", sqlite3.connect(":memory:")),
    ):
        connection.execute(create)
        connection.executemany("insert into t values (?, ?, ?, ?, ?)", rows)
        query = patched.to_sql(table="t", keep=["id"], dialect=dialect)
        found = {row[0]: row[-1] for row in connection.execute(query).fetchall()}
        connection.close()
        assert [found[i] for i in range(1500)] == pytest.approx(expected.tolist(), abs=1e-12)
        assert found[1500] == 0.4  # an unseen site
        assert found[1501] is found[1502] is None  # no probability


def test_it_is_an_estimator():
    from sklearn.base import clone

    patched = Multicalibrator("low_degree", degree=2)
    assert repr(clone(patched)) == "Multicalibrator(method='low_degree', degree=2)"
    assert clone(patched).set_params(degree=3).get_params()["degree"] == 3
    base, outcome, by = broken(3000)
    fitted = pickle.loads(pickle.dumps(Multicalibrator("boosted").fit(base, outcome, by)))  # noqa: S301
    both = fitted.predict_proba(base, by)
    assert both.shape == (3000, 2)
    assert np.allclose(fitted.transform(np.column_stack([1 - base, base]), by), both)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"held_out": 0.7}, "held_out"),
        ({"judge": "nobody"}, "judge must be one of"),
        ({"method": "boosted", "judge": "fit"}, "rows held out must judge"),
        ({"method": "boosted", "held_out": 0}, "rows held out must judge"),
        ({"most": 0}, "most"),
        ({"cells": 0}, "cells"),
    ],
)
def test_wrong_options_are_refused(options, match):
    with pytest.raises(InvalidOptionError, match=match):
        Multicalibrator(**options).fit([0.5] * 4, [0, 1, 0, 1], {"a": [1, 2, 1, 2]})


def test_clear_errors_before_and_without_a_fit():
    with pytest.raises(InvalidOptionError, match="fitted first"):
        Multicalibrator().transform([0.5], {"a": [1]})
    with pytest.raises(InvalidForecastsError, match="rows to fit to"):
        Multicalibrator().fit([0.5], [1], {"a": [1]})
    base, outcome, by = broken(3000)
    with pytest.raises(InvalidOptionError, match="JSON or SQL"):
        Multicalibrator("boosted").fit(base, outcome, by).to_json()
    with pytest.raises(InvalidForecastsError, match="'site'"):
        Multicalibrator().fit(base, outcome, by).transform(base, {"night": by["night"]})
