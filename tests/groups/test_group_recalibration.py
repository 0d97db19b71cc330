"""Repair by group: broken groups are recalibrated on new rows, sound ones left, exports agree."""

from __future__ import annotations

import json
import sqlite3

import duckdb
import numpy as np
import pytest

from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError
from calibrant.groups import Multicalibrator, audit_groups, recalibrate_by_group
from calibrant.recalibration import GroupCalibrator, IsotonicCalibration, load, recalibrate
from calibrant.recalibration.parametric import unmoved

DRAWS = 99


def forecasts(n=12_000, seed=0, share=0.1, bias=0.25):
    """Over-confident forecasts, further off in one site; ages and wards have nothing to do."""
    rng = np.random.default_rng(seed)
    by = {
        "site": rng.choice(["it's", "b", "c"], n, p=[share, 0.5, 0.5 - share]),
        "ward": rng.integers(1, 4, n),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
        "night": rng.random(n) < 0.3,
    }
    chance = np.clip(rng.beta(2, 2, n) + bias * (by["site"] == "it's"), 0, 1)
    base = np.clip(chance - bias * (by["site"] == "it's"), 0.001, 0.999)
    odds = (base / (1 - base)) ** 1.5
    return odds / (1 + odds), rng.random(n) < chance, by


def head(by, size):
    return {name: values[:size] for name, values in by.items()}


@pytest.fixture(scope="module")
def recalibrated():
    p, y, by = forecasts()
    return recalibrate_by_group(y, p, by, draws=DRAWS, rng=0)


def test_a_broken_group_is_repaired_out_of_sample(recalibrated):
    assert recalibrated.patched
    assert "site it's" in recalibrated.sentence
    assert recalibrated.gain.low > 0
    assert recalibrated.before.worst_group.name == "it's"
    assert (
        recalibrated.after.worst_group.interval.low
        < 0.05
        < recalibrated.before.worst_group.interval.low
    )
    p, y, by = forecasts(40_000, seed=1)
    new = recalibrated.calibrator.transform(p, by)
    plain = recalibrated.plain.calibrator.transform(p)
    worst = [
        max(g.low for g in audit_groups(y, q, by, draws=DRAWS, rng=0)) for q in (p, plain, new)
    ]
    assert worst[2] < 0.03
    assert min(worst[:2]) > 0.1
    briers = [np.mean((q - y) ** 2) for q in (plain, new)]
    # What cross-fitting promised is what new rows bring.
    assert briers[1] == pytest.approx(recalibrated.after.brier, abs=0.004)
    assert briers[1] < briers[0]


@pytest.mark.parametrize(("share", "bias"), [(0.005, 0.5), (0.03, 0.25), (0.5, 0.1)])
def test_small_and_large_groups_are_repaired(share, bias):
    p, y, by = forecasts(40_000, seed=2, share=share, bias=bias)
    found = recalibrate_by_group(y, p, {"site": by["site"]}, methods=["platt"], draws=DRAWS, rng=0)
    assert found.patched
    p, y, by = forecasts(40_000, seed=3, share=share, bias=bias)
    inside = by["site"] == "it's"
    new = found.calibrator.transform(p, {"site": by["site"]})
    assert abs(np.mean(new[inside] - y[inside])) < abs(np.mean(p[inside] - y[inside])) / 2


def test_what_is_sound_is_left_alone():
    rng = np.random.default_rng(5)
    refused = 0
    for seed in range(40):
        p = rng.random(600)
        by = {"site": rng.choice(list("abc"), 600), "x": rng.random(600)}
        found = recalibrate_by_group(
            rng.random(600) < p, p, by, methods=["platt"], draws=DRAWS, rng=seed
        )
        refused += not found.patched
        if not found.patched and found.plain.unchanged:
            assert found.unchanged
            assert np.array_equal(found.calibrator.transform(p, by), p)
            assert found.sentence.startswith("Leave it alone")
    assert refused >= 36


def test_a_plain_fault_needs_a_plain_map_only():
    p, y, by = forecasts(bias=0.0)
    found = recalibrate_by_group(y, p, by, draws=DRAWS, rng=0)
    assert not found.patched
    assert not found.unchanged
    assert found.calibrator.patches.columns == ()
    assert found.after.brier == found.plain.after.brier
    assert "patches for groups do not improve" in found.sentence
    assert load(found.calibrator.to_json()).method == found.plain.calibrator.method
    assert found.table["chosen"][:-1] == found.plain.table["chosen"]


def test_the_table_and_plain_data_tell_the_same(recalibrated):
    data = json.loads(json.dumps(recalibrated.as_dict(), allow_nan=False))
    table = data["table"]
    assert table["calibrator"][-1].endswith("+ patches")
    assert table["chosen"] == [False] * (len(table["calibrator"]) - 1) + [True]
    assert table["score"][-1] < min(table["score"][:-1])
    assert data["after"]["log_loss"] == pytest.approx(table["score"][-1])
    assert len(data["groups_before"]["name"]) == len(data["groups_after"]["name"])
    assert str(recalibrated) == data["sentence"]


def test_neither_order_nor_container_of_rows_matters():
    import polars as pl

    p, y, by = forecasts(3000)
    by = {"site": by["site"], "ward": by["ward"]}
    one = recalibrate_by_group(y, p, by, methods=["platt"], draws=DRAWS, rng=3)
    order = np.random.default_rng(0).permutation(p.size)
    shuffled = {name: values[order] for name, values in by.items()}
    two = recalibrate_by_group(y[order], p[order], pl.DataFrame(shuffled), methods=["platt"],
                               draws=DRAWS, rng=3)  # fmt: skip
    assert one.patched
    assert one.calibrator.to_json() == two.calibrator.to_json()
    assert one.as_dict() == two.as_dict()


@pytest.mark.parametrize("kind", ["weights", "clusters", "time"])
def test_weights_clusters_and_time_are_respected(kind):
    p, y, by = forecasts(6000)
    extra = {
        "weights": {"sample_weight": np.random.default_rng(0).lognormal(0, 0.5, 6000)},
        "clusters": {"clusters": np.arange(6000) % 300},
        "time": {"time": np.arange(6000)},
    }[kind]
    found = recalibrate_by_group(y, p, {"site": by["site"]}, methods=["platt"], draws=DRAWS, rng=0,
                            **extra)  # fmt: skip
    assert found.patched
    alone = recalibrate(y, p, methods=["platt"], draws=DRAWS, rng=0, by=by["site"], **extra)
    assert found.before.brier == pytest.approx(alone.before.brier, abs=0.003)
    if kind == "time":  # the earliest rows teach, and are not judged
        assert found.before.brier == pytest.approx(np.mean((p[1000:] - y[1000:]) ** 2), abs=1e-12)


def test_a_fault_that_came_last_is_not_curable_with_what_the_past_knew():
    """Patches that look into the future would seem worth it."""
    rng = np.random.default_rng(8)
    n = 4000
    p, site = rng.random(n), rng.choice(["a", "b"], n)
    late = np.arange(n) > 3600
    y = rng.random(n) < np.where(late & (site == "a"), 1 - p, p)
    options = {"methods": ["platt"], "draws": DRAWS, "rng": 0}
    assert not recalibrate_by_group(y, p, {"site": site}, time=np.arange(n), **options).patched


def test_json_takes_the_map_there_and_back(recalibrated, tmp_path):
    p, _, by = forecasts(500, seed=4)
    expected = recalibrated.calibrator.transform(p, by)
    path = tmp_path / "calibrator.json"
    path.write_text(recalibrated.calibrator.to_json(), encoding="utf-8")
    for source in (path, recalibrated.calibrator.to_json(), recalibrated.calibrator.to_dict()):
        assert np.array_equal(load(source).transform(p, by), expected)
    plain = load(IsotonicCalibration().fit([0.1, 0.2, 0.7], [0, 1, 1]).to_json())
    assert plain.transform([0.2], {}) == pytest.approx([0.875])
    with pytest.raises(InvalidOptionError, match="JSON"):
        load("{")
    with pytest.raises(InvalidOptionError, match="schema 1"):
        load({"calibrator": "by_group", "schema": 3})
    with pytest.raises(InvalidOptionError, match="field 'base'"):
        load({"calibrator": "by_group", "schema": 1})


def rows_for_sql(p, by):
    """Rows with values seen in the fit, then strange, missing and impossible ones."""
    known = [
        (
            i,
            float(p[i]),
            str(by["site"][i]),
            int(by["ward"][i]),
            None if np.isnan(by["age"][i]) else float(by["age"][i]),
            bool(by["night"][i]),
        )
        for i in range(p.size)
    ]
    size = p.size
    return [
        *known,
        (size, 0.4, "elsewhere", 1, 30.0, True),
        (size + 1, 0.4, None, 1, 30.0, True),
        (size + 2, None, "b", 1, 30.0, True),
        (size + 3, 7.0, "b", 1, 30.0, True),
    ]


COLUMNS = (
    "id integer, prediction double precision, site text, ward integer, age double precision, "
    "night boolean"
)


def test_sql_and_python_agree(recalibrated):
    p, _, by = forecasts(400, seed=6)
    p[:4] = [0.0, 1.0, 1e-12, 0.5]
    expected = recalibrated.calibrator.transform(p, by).tolist()
    base = float(recalibrated.plain.calibrator.transform([0.4])[0])
    rows = rows_for_sql(p, by)
    for dialect, connection in (
        ("duckdb", duckdb.connect()),
        ("sqlite", sqlite3.connect(":memory:")),
    ):
        connection.execute(f"create table t ({COLUMNS})")
        connection.executemany("insert into t values (?, ?, ?, ?, ?, ?)", rows)
        query = f"select {recalibrated.calibrator.to_sql(dialect=dialect)} from t order by id"  # noqa: S608
        found = [row[0] for row in connection.execute(query).fetchall()]
        connection.close()
        assert found[:400] == pytest.approx(expected, abs=1e-12)
        assert found[400:402] == pytest.approx([base, base], abs=1e-12)
        assert found[402:] == [None, None]
    names: dict = {}
    exec(recalibrated.calibrator.to_python("fix"), names)  # noqa: S102
    columns = ("site", "ward", "age", "night")
    found = [names["fix"](row[1], dict(zip(columns, row[2:], strict=True))) for row in rows[:402]]
    assert found == pytest.approx([*expected, base, base], abs=1e-12)
    with pytest.raises(ValueError, match="probability"):
        names["fix"](7.0, dict.fromkeys(columns))


def test_names_of_columns_cannot_break_the_exports():
    p, y, by = forecasts(4000)
    name = 'a"""\\ {x}'
    fitted = recalibrate_by_group(
        y, p, {name: by["site"]}, methods=["platt"], draws=DRAWS, rng=0
    ).calibrator
    names: dict = {}
    exec(fitted.to_python(), names)  # noqa: S102
    expected = fitted.transform([0.3], {name: ["it's"]})
    assert names["recalibrate"](0.3, {name: "it's"}) == pytest.approx(expected[0])


def test_unseen_and_missing_groups(recalibrated):
    p, _, by = forecasts(10, seed=7)
    by["site"] = np.where(np.arange(10) < 4, "elsewhere", by["site"])
    with pytest.warns(CalibrantWarning, match="4 rows"):
        corrected = recalibrated.calibrator.transform(p, by)
    assert np.array_equal(corrected[:4], recalibrated.plain.calibrator.transform(p[:4]))
    pairs = recalibrated.calibrator.transform(
        np.column_stack([1 - p[4:], p[4:]]), {k: v[4:] for k, v in by.items()}
    )
    assert np.array_equal(pairs[:, 1], corrected[4:])


def test_dates_group_rows_but_are_not_written_as_python():
    p, y, _ = forecasts(4000)
    late = np.arange(4000) > 2000
    day = np.datetime64("2024-01-01", "D") + np.arange(4000) // 4
    y = np.where(late, np.random.default_rng(0).random(4000) < 0.9, y)
    fitted = recalibrate_by_group(
        y, p, {"day": day}, methods=["platt"], draws=DRAWS, rng=0
    ).calibrator
    assert np.array_equal(
        load(fitted.to_json()).transform(p, {"day": day}),
        fitted.transform(p, {"day": day}),
    )
    with pytest.raises(InvalidOptionError, match="dates"):
        fitted.to_python()


def test_clear_errors():
    p, y, by = forecasts(200)
    with pytest.raises(InvalidForecastsError, match="at least one column"):
        recalibrate_by_group(y, p, {})
    with pytest.raises(InvalidForecastsError, match="one entry per row"):
        recalibrate_by_group(y, p, {"site": by["site"][:-1]})
    with pytest.raises(InvalidOptionError, match="folds"):
        recalibrate_by_group(y, p, by, folds=1)
    cells = Multicalibrator(tolerance=0.005).fit(*forecasts(8000)).patches_
    assert cells.patches
    with pytest.raises(InvalidOptionError, match="name the table"):
        GroupCalibrator(unmoved(), cells).to_sql()


def test_pairs_of_columns_with_many_labels_patch_the_rows_they_were_found_on():
    """In pairs rare labels are gathered: numbers of levels are not those of the column alone."""
    rng = np.random.default_rng(12)
    n = 30_000
    by = {"shop": rng.integers(0, 40, n).astype(str), "night": rng.random(n) < 0.5}
    p = rng.beta(2, 2, n)
    broken = (by["shop"] == "7") & by["night"]
    y = rng.random(n) < np.where(broken, p**3, p)
    fitted = Multicalibrator("low_degree", tolerance=0.0005, pairs=True).fit(p, y, by)
    corrected = fitted.transform(p, by)
    assert fitted.fit_.kept
    assert np.abs(corrected - p)[broken].mean() > 5 * np.abs(corrected - p)[~broken].mean()
    gain = np.mean((p - y) ** 2 - (corrected - y) ** 2)
    assert sum(step.decrease for step in fitted.fit_.steps) == pytest.approx(gain, abs=1e-9)
