"""Laws that hold for every calibrator: binary, multiclass, with patches for groups.

The calibrators come from the registry: a new one takes part by itself.
"""

from __future__ import annotations

import json
import sqlite3

import duckdb
import numpy as np
import pytest

from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidStateError
from calibrant.groups import Multicalibrator, recalibrate_by_group
from calibrant.joint.classes import ClassForecasts
from calibrant.recalibration import (
    CALIBRATORS,
    MULTICLASS_CALIBRATORS,
    Calibrator,
    GroupCalibrator,
    TemperatureScaling,
    load,
)
from calibrant.recalibration.files import apply_to_files

RNG = np.random.default_rng(11)
N = 3000
P = RNG.random(N).round(3)
SITE = RNG.choice(["a", "b's", "c"], N)
AGE = RNG.integers(18, 90, N).astype(float)
Y = (RNG.random(N) < np.clip(P**1.4 + 0.2 * (SITE == "a"), 0, 1)).astype(int)
BY = {"site": SITE, "age": AGE}
CLASSES = ["cat", "d'og", 'co"w']
TRUE = RNG.dirichlet([0.6, 0.6, 0.6], N)
TABLE = TRUE**1.7 * [1.0, 2.0, 0.5]
TABLE /= TABLE.sum(axis=1, keepdims=True)
LABEL = (TRUE.cumsum(axis=1)[:, :2] < RNG.random((N, 1))).sum(axis=1)
# Corners, ends and a tie, beside rows as they come.
AT = np.vstack([TABLE[:200], np.eye(3), [[0.5, 0.5, 0], [1 / 3] * 3, [0.4, 0.4, 0.2]]])


def patched(method, **options):
    return Multicalibrator(method, tolerance=0.002, **options).fit(P, Y, BY)


TWO = {name: kind().fit(P, Y) for name, kind in CALIBRATORS.items()}
MANY = {
    name: kind().fit(TABLE, LABEL, classes=CLASSES) for name, kind in MULTICLASS_CALIBRATORS.items()
}
GROUPS = {
    "by group": recalibrate_by_group(Y, P, BY, methods=["platt"], draws=19, rng=0).calibrator,
    "hkrr": patched("hkrr", most=25).to_map(),
    "low_degree": patched("low_degree", degree=3, most=9).to_map(),
}
EVERY = {**TWO, **{f"classes {name}": one for name, one in MANY.items()}, **GROUPS}
every_calibrator = pytest.mark.parametrize("fitted", EVERY.values(), ids=EVERY)
class_maps = pytest.mark.parametrize("fitted", MANY.values(), ids=MANY)
group_maps = pytest.mark.parametrize("fitted", GROUPS.values(), ids=GROUPS)


def moved(fitted: Calibrator, table=AT, prediction=P[:300]):
    if fitted.classes_ is not None:
        return fitted.transform(table)
    return fitted.transform(prediction, {name: values[:300] for name, values in BY.items()})


@every_calibrator
def test_one_surface(fitted):
    assert isinstance(fitted, Calibrator)
    assert fitted.method
    assert fitted.sentence.endswith(".")
    assert json.loads(fitted.to_json()) == json.loads(json.dumps(fitted.to_dict()))
    for internal in ("corrected", "strange", "restored", "columns", "text_columns"):
        assert not hasattr(fitted, internal)


@every_calibrator
def test_stored_and_loaded_it_does_the_same(fitted, tmp_path):
    path = tmp_path / "calibrator.json"
    path.write_text(fitted.to_json(), encoding="utf-8")
    for source in (path, str(path), fitted.to_json(), fitted.to_dict()):
        again = load(source)
        assert type(again) is type(fitted)
        assert again.to_json() == fitted.to_json()
        assert again.sentence == fitted.sentence
        np.testing.assert_array_equal(moved(again), moved(fitted))


@every_calibrator
def test_per_cent_are_the_same_predictions(fitted):
    percent = load(fitted.with_scale("percent").to_json())
    table, prediction = 100 * AT, 100 * P[:300]
    # Dividing again may end beside a step.
    expected = moved(fitted, table / 100, prediction / 100)
    np.testing.assert_allclose(moved(percent, table, prediction), expected, atol=1e-13)


def test_patches_are_there():
    assert all(len(fitted.patches.patches) > 2 for fitted in GROUPS.values())
    assert not GROUPS["hkrr"].patches.affine


@every_calibrator
def test_python_does_the_same(fitted):
    names: dict = {}
    exec(fitted.to_python("f"), names)  # noqa: S102
    expected = moved(fitted)
    if fitted.classes_ is not None:
        found = [names["f"](row) for row in AT.tolist()]
    elif isinstance(fitted, GroupCalibrator):
        rows = zip(P[:300].tolist(), SITE[:300].tolist(), AGE[:300].tolist(), strict=True)
        found = [names["f"](p, {"site": site, "age": age}) for p, site, age in rows]
    else:
        found = [names["f"](p) for p in P[:300].tolist()]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def connections():
    yield "duckdb", duckdb.connect()
    yield "sqlite", sqlite3.connect(":memory:")


def rows_of_classes(connection, extra=()):
    quoted = ", ".join('"' + name.replace('"', '""') + '" double' for name in CLASSES)
    connection.execute(f"create table t (id integer, {quoted})")
    rows = [(i, *row) for i, row in enumerate(AT.tolist())]
    connection.executemany("insert into t values (?, ?, ?, ?)", [*rows, *extra])


STRANGE = [
    (-1, None, 0.5, 0.5), (-2, 0.9, 0.9, 0.2), (-3, -0.5, 0.5, 1.0), (-4, 40.0, 30.0, 30.0)
]  # fmt: skip


@class_maps
def test_a_query_for_classes_does_the_same(fitted):
    for dialect, connection in connections():
        rows_of_classes(connection, STRANGE)
        query = fitted.to_sql(table="t", keep=["id"], dialect=dialect)
        found = {row[0]: row[-3:] for row in connection.execute(query).fetchall()}
        expected = fitted.transform(AT)
        np.testing.assert_allclose([found[i] for i in range(len(AT))], expected, atol=1e-11)
        assert [found[-1 - i] for i in range(4)] == [(None,) * 3] * 4
        connection.close()


@class_maps
def test_a_select_list_for_classes_does_the_same_or_is_refused(fitted):
    if fitted.method in {"one_vs_rest_isotonic", "subset"}:
        with pytest.raises(InvalidOptionError, match="name the table"):
            fitted.to_sql()
        return
    for dialect, connection in connections():
        rows_of_classes(connection, STRANGE)
        select = fitted.to_sql(name="new", dialect=dialect)
        rows = connection.execute(f"select id, {select} from t").fetchall()  # noqa: S608
        found = {row[0]: row[1:] for row in rows}
        np.testing.assert_allclose(
            [found[i] for i in range(len(AT))], fitted.transform(AT), atol=1e-11
        )
        assert [found[-1 - i] for i in range(4)] == [(None,) * 3] * 4
        connection.close()


@pytest.mark.parametrize("dialect", ["postgres", "spark"])
@every_calibrator
def test_every_map_can_be_written_for_other_databases(fitted, dialect):
    query = fitted.to_sql(table="t", dialect=dialect)
    assert ("materialized" in query) == (dialect == "postgres" and "with " in query)


@group_maps
def test_a_query_for_groups_does_the_same(fitted):
    expected = moved(fitted)
    for dialect, connection in connections():
        connection.execute("create table t (id integer, prediction double, site text, age double)")
        rows = zip(range(300), P.tolist(), SITE.tolist(), AGE.tolist(), strict=False)
        connection.executemany("insert into t values (?, ?, ?, ?)", rows)
        query = fitted.to_sql(table="t", keep=["id"], dialect=dialect)
        found = {row[0]: row[-1] for row in connection.execute(query).fetchall()}
        np.testing.assert_allclose([found[i] for i in range(300)], expected, atol=1e-12)
        connection.close()


def test_new_columns_must_be_new():
    with pytest.raises(InvalidOptionError, match="names of their own"):
        TWO["platt"].to_sql("p", table="t", keep=["Recalibrated"])
    with pytest.raises(InvalidOptionError, match="one column for each"):
        MANY["temperature"].to_sql("prediction")
    with pytest.raises(InvalidOptionError, match="takes one column"):
        TWO["platt"].to_sql(["a", "b"])
    with pytest.raises(InvalidOptionError, match="name the table"):
        TWO["platt"].to_sql(keep=["id"])


@every_calibrator
def test_files_are_recalibrated_alike(fitted, tmp_path):
    source, target = tmp_path / "rows.parquet", tmp_path / "new.parquet"
    connection = duckdb.connect()
    if fitted.classes_ is not None:
        rows_of_classes(connection, [(len(AT), None, 0.5, 0.5)])
        names = [f"recalibrated_{name}" for name in CLASSES]
    else:
        connection.execute("create table t (id integer, prediction double, site text, age double)")
        rows = zip(range(300), P.tolist(), SITE.tolist(), AGE.tolist(), strict=False)
        connection.executemany("insert into t values (?, ?, ?, ?)", [*rows, (300, None, "a", 30)])
        names = ["recalibrated"]
    connection.execute(f"copy t to '{source}'")
    done = apply_to_files(fitted, str(source), target)
    assert done.strange == 0
    query = f"select * from '{target}' order by id"  # noqa: S608
    read = connection.execute(query).fetchnumpy()
    found = np.column_stack([np.ma.filled(read[name], np.nan) for name in names])
    assert list(read)[-len(names) :] == names
    np.testing.assert_allclose(found[:-1].squeeze(), moved(fitted), atol=1e-11)
    assert np.isnan(found[-1]).all()
    connection.close()


def test_lists_of_probabilities_are_recalibrated_alike(tmp_path):
    source, target = tmp_path / "rows.parquet", tmp_path / "new.csv"
    fitted, connection = MANY["dirichlet"], duckdb.connect()
    connection.execute("create table t (id integer, prediction double[])")
    connection.executemany("insert into t values (?, ?)", list(enumerate(AT.tolist())))
    connection.execute(f"copy t to '{source}'")
    apply_to_files(fitted, str(source), target, column="new")
    names = ", ".join('"new_' + name.replace('"', '""') + '"' for name in CLASSES)
    found = connection.execute(f"select {names} from '{target}' order by id").fetchall()  # noqa: S608
    np.testing.assert_allclose(found, fitted.transform(AT), atol=1e-11)


def test_rows_that_do_not_sum_to_one_are_refused(tmp_path):
    connection = duckdb.connect()
    rows_of_classes(connection, [(999, 0.9, 0.9, 0.2)])
    connection.execute(f"copy t to '{tmp_path / 'rows.csv'}' (header)")
    with pytest.raises(InvalidForecastsError, match="sum to one"):
        apply_to_files(MANY["temperature"], str(tmp_path / "rows.csv"), tmp_path / "out.csv")


def test_one_name_for_both_kinds_told_by_the_shape():
    two, named = TemperatureScaling().fit(P, Y), TemperatureScaling().fit(TABLE, LABEL)
    assert two.classes_ is None
    assert named.classes_ == (0, 1, 2)
    pairs = np.column_stack([1 - P, P])
    assert TemperatureScaling().fit(pairs, Y).temperature_ == two.temperature_
    both = TemperatureScaling().fit(pairs, Y, classes=["no", "yes"])
    assert both.classes_ == ("no", "yes")
    np.testing.assert_allclose(both.transform(pairs)[:, 1], two.transform(P), atol=1e-5)
    forecasts = ClassForecasts.read(LABEL, TABLE)
    assert TemperatureScaling().fit(forecasts).temperature_ == named.temperature_
    assert TemperatureScaling().fit(TABLE.tolist(), LABEL).temperature_ == named.temperature_
    with pytest.raises(InvalidForecastsError, match="two outcomes"):
        CALIBRATORS["platt"]().fit(TABLE, LABEL)
    with pytest.raises(InvalidForecastsError, match="one for each class"):
        MULTICLASS_CALIBRATORS["vector"]().fit(forecasts.top_label())
    with pytest.raises(InvalidOptionError, match="pos_label"):
        TemperatureScaling().fit(TABLE, LABEL, pos_label=1)
    with pytest.raises(InvalidOptionError, match="recalibrate_by_group"):
        GROUPS["hkrr"].fit(P, Y)


def test_classes_are_found_by_their_names():
    import polars as pl

    frame = pl.DataFrame(TABLE, schema=CLASSES)
    fitted = MANY["dirichlet"]
    np.testing.assert_array_equal(fitted.transform(frame), fitted.transform(TABLE))
    turned = fitted.transform(frame.select(CLASSES[::-1]))
    np.testing.assert_array_equal(turned, fitted.transform(TABLE)[:, ::-1])
    other = ClassForecasts.read(LABEL, TABLE, classes=["x", "y", "z"])
    with pytest.raises(InvalidForecastsError, match="fitted to"):
        fitted.transform(other)


def test_a_stored_map_keeps_to_what_it_can_be_fitted_to():
    stored = MANY["temperature"].to_dict()
    load(stored)
    with pytest.raises(InvalidStateError, match="PlattScaling can be fitted to"):
        load(stored | {"calibrator": "platt", "parameters": {"smoothing": "platt"}})
    with pytest.raises(InvalidStateError, match="different names"):
        load(stored | {"classes": ["a", "a", "b"]})
    with pytest.raises(InvalidStateError):
        load(stored | {"classes": ["a", "b"]})
    with pytest.raises(InvalidStateError, match="two outcomes"):
        load(GROUPS["hkrr"].to_dict() | {"base": stored})


def test_trees_are_refused():
    trees = Multicalibrator("boosted").fit(P, Y, {"age": AGE})
    for export in (trees.to_json, trees.to_sql, trees.to_python):
        with pytest.raises(InvalidOptionError, match="pickle"):
            export()
