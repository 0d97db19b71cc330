"""What is exported runs as it was meant, whatever labels, names and sentences hold."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from decimal import Decimal
from uuid import UUID

import duckdb
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import hostile
from calibrant.data.groupings import grouped
from calibrant.errors import (
    CalibrantError,
    InvalidForecastsError,
    InvalidOptionError,
    InvalidStateError,
)
from calibrant.groups import recalibrate_by_group
from calibrant.recalibration import (
    CALIBRATORS,
    GroupCalibrator,
    Identity,
    PlattScaling,
    PriorCorrection,
    TemperatureScaling,
    load,
)
from calibrant.recalibration.files import apply_to_files
from calibrant.recalibration.quoting import DIALECTS
from oracles.strategies import universal

DATABASES = {"duckdb": duckdb.connect, "sqlite": lambda: sqlite3.connect(":memory:")}


def in_database(fitted, dialect, column, values, kind="varchar"):
    """Predictions of 0.25 in a table with one column of groups, corrected by the SQL."""
    connection, write = DATABASES[dialect](), DIALECTS[dialect]
    name = write.quoted(column)
    if dialect == "sqlite":
        values = [float(value) if isinstance(value, Decimal) else value for value in values]
    connection.execute(f"create table rows (number integer, prediction double, {name} {kind})")
    rows = [(i, 0.25, value) for i, value in enumerate(values)]
    connection.executemany("insert into rows values (?, ?, ?)", rows)
    expression = fitted.to_sql(dialect=dialect)
    found = connection.execute(f"select {expression} from rows order by number").fetchall()  # noqa: S608
    connection.close()
    return [row[0] for row in found]


def in_python(fitted, column, values):
    names: dict = {}
    exec(fitted.to_python("recalibrated"), names)  # noqa: S102
    return [names["recalibrated"](0.25, {column: value}) for value in values]


@pytest.mark.parametrize("dialect", DATABASES)
def test_hostile_labels_mean_themselves(dialect):
    values = [*hostile.LABELS, None]
    fitted = hostile.patched("site", values, len(values))
    wanted = hostile.expected(fitted, "site", values)
    assert in_database(fitted, dialect, "site", values) == pytest.approx(wanted, abs=1e-12)
    assert in_python(fitted, "site", values) == pytest.approx(wanted, abs=1e-12)
    again = load(fitted.to_json())
    assert hostile.expected(again, "site", values) == wanted
    assert again.to_json() == fitted.to_json()


@pytest.mark.parametrize("dialect", DATABASES)
@pytest.mark.parametrize("name", hostile.NAMES)
def test_hostile_names_mean_themselves(dialect, name):
    values = ["a", "b", None]
    fitted = hostile.patched(name, values, 3)
    wanted = hostile.expected(fitted, name, values)
    assert in_database(fitted, dialect, name, values) == pytest.approx(wanted, abs=1e-12)
    assert in_python(fitted, name, values) == pytest.approx(wanted, abs=1e-12)


@universal
@given(st.lists(st.text(min_size=1), min_size=1, max_size=6, unique=True))
def test_any_label_is_written_right_or_refused(labels):
    values = [*labels, None]
    fitted = hostile.patched("site", values, len(values))
    wanted = hostile.expected(fitted, "site", values)
    assert in_python(fitted, "site", values) == pytest.approx(wanted, abs=1e-12)
    for dialect in DATABASES:
        try:
            fitted.to_sql(dialect=dialect)
        except InvalidOptionError:
            assert any("\0" in label or not label.isprintable() for label in labels)
            continue
        assert in_database(fitted, dialect, "site", values) == pytest.approx(wanted, abs=1e-12)


def test_a_label_missing_is_not_the_missing_value():
    """The label sorts last, where the group of missing values is."""
    grouping = grouped(["a", "b", "missing"], "g", 3).groupings[0]
    assert grouping.codes(["missing", None], 2).tolist() == [2, -1]
    both = grouped(["a", "missing", None], "g", 3).groupings[0]
    assert both.levels == ("a", "missing", "missing (no value)")
    assert both.codes(["missing", None, "a"], 3).tolist() == [1, 2, 0]
    gathered = grouped(["other (2 values)"] * 3 + ["x", "y"], "g", 5, most_levels=1).groupings[0]
    assert gathered.levels == ("other (2 values)", "other (2 values) (gathered)")


def test_values_that_print_alike_have_different_names():
    levels = grouped([0.12345678, 0.12345679, 1.0], "g", 3).groupings[0].levels
    assert len(set(levels)) == 3


def groups_off(labels, seed=0, n=6000):
    """The last of some labels is far off."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, len(labels), n)
    p = rng.uniform(0.2, 0.7, n)
    y = rng.random(n) < np.where(code == len(labels) - 1, p + 0.25, p)
    return p, y, code


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_files_and_transform_agree_on_missing_values(kind, tmp_path):
    """A label "missing" that is off, and NaN in a column of numbers."""
    labels = ["a", "b", "missing"] if kind == "text" else [1.0, 2.0, np.nan]
    p, y, code = groups_off(labels)
    column = np.array(labels, dtype=object if kind == "text" else float)[code]
    fitted = recalibrate_by_group(
        y, p, {"g": column}, methods=["platt"], draws=99, rng=0
    ).calibrator
    wanted = fitted.transform(p, {"g": column})
    assert wanted[code == 2].mean() == pytest.approx(y[code == 2].mean(), abs=0.03)
    frame = pd.DataFrame({"prediction": p, "g": column})  # noqa: F841  # DuckDB finds it
    connection = duckdb.connect()
    connection.execute("create table rows as select * from frame")
    for null in ("", " replace (case when isnan(g) then null else g end as g)"):
        if null and kind == "text":
            continue
        connection.execute(f"copy (select *{null} from rows) to '{tmp_path}/rows.parquet'")  # noqa: S608
        done = apply_to_files(fitted, [tmp_path / "rows.parquet"], tmp_path / "out.parquet")
        assert done.strange == 0
        found = pd.read_parquet(tmp_path / "out.parquet")["recalibrated"]
        assert found.to_numpy() == pytest.approx(wanted, abs=1e-12)
    assert in_python(fitted, "g", [*labels, None])[2] == pytest.approx(
        fitted.transform([0.25], {"g": column[code == 2][:1]})[0]
    )


def test_nan_is_not_the_largest_number(tmp_path):
    """Databases sort NaN above all numbers: it must not fall into the highest part."""
    ages = np.append(np.arange(100.0), [np.nan, np.inf, -np.inf])
    fitted = hostile.patched("age", ages, ages.size)
    wanted = hostile.expected(fitted, "age", ages)
    assert in_database(fitted, "duckdb", "age", ages.tolist(), "double") == pytest.approx(wanted)
    assert in_database(fitted, "sqlite", "age", ages.tolist(), "double") == pytest.approx(wanted)
    assert in_python(fitted, "age", ages.tolist()) == pytest.approx(wanted)
    never = hostile.patched("age", ages[:100], 100)
    found = in_database(never, "duckdb", "age", [1.0, float("nan"), None], "double")
    assert found[0] != 0.25
    assert found[1:] == [0.25, 0.25]  # no value of that kind was seen


VALUES = {
    "zeros": ([-0.0, 1.0, None], "double", "sqlite duckdb python"),
    "infinities": ([np.inf, -np.inf, 2.0], "double", "sqlite duckdb python"),
    "flags": ([True, False, None], "boolean", "sqlite duckdb python"),
    "whole numbers": ([2**60, 2**60 + 1, None], "bigint", "sqlite duckdb python"),
    "huge numbers": ([2**100, 2**100 + 1, None], "hugeint", "duckdb python"),
    "gigantic numbers": ([10**400, 10**400 + 1, None], "", ""),
    "dates": ([dt.date(2026, 1, 1), dt.date(99, 1, 1), None], "date", "duckdb"),
    "times": ([dt.time(10, 0, 0, 5), dt.time(11), None], "time", "duckdb"),
    "moments": (
        [dt.datetime(2026, 1, 1, 10, 0, 0, 7), dt.datetime(2026, 1, 1), None],  # noqa: DTZ001
        "timestamp",
        "duckdb",
    ),
    "decimals": ([Decimal("1.10"), Decimal(-3), None], "decimal(9, 2)", "duckdb sqlite"),
    "identifiers": ([UUID(int=7), UUID(int=2**127), None], "uuid", "duckdb"),
}


@pytest.mark.parametrize("name", VALUES)
def test_every_kind_of_value_goes_there_and_back_or_is_refused(name):
    values, kind, works = VALUES[name]
    column = np.array(values, dtype=object)
    fitted = hostile.patched("g", column, len(values))
    wanted = hostile.expected(fitted, "g", column)
    again = load(fitted.to_json())
    assert hostile.expected(again, "g", column) == wanted
    for database in ("duckdb", "sqlite"):
        if database in works:
            assert in_database(again, database, "g", values, kind) == pytest.approx(wanted)
        else:
            with pytest.raises(InvalidOptionError, match=r"cannot be written|knows no whole"):
                again.to_sql(dialect=database)
    if "python" in works:
        assert in_python(again, "g", values) == pytest.approx(wanted)
    else:
        with pytest.raises(InvalidOptionError, match="cannot be written as Python"):
            again.to_python()


@pytest.mark.parametrize(
    "dates",
    [
        np.datetime64("2026-01-01") + np.arange(60),
        np.datetime64("2026-01-01T10:00:00.000001", "us") + np.arange(60) * 10**9,
        pd.date_range("2026-01-01", periods=60, freq="h").to_numpy(),
    ],
)
def test_cuts_of_dates_are_exact(dates):
    fitted = load(hostile.patched("day", dates, dates.size).to_json())
    wanted = hostile.expected(fitted, "day", dates)
    values = dates.astype("datetime64[us]").tolist()
    assert in_database(fitted, "duckdb", "day", values, "timestamp") == pytest.approx(wanted)
    with pytest.raises(InvalidOptionError, match="sqlite"):
        fitted.to_sql(dialect="sqlite")


def test_cuts_of_large_whole_numbers_are_exact():
    numbers = 2**60 + np.arange(60)
    fitted = load(hostile.patched("n", numbers, 60).to_json())
    wanted = hostile.expected(fitted, "n", numbers)
    assert in_database(fitted, "duckdb", "n", numbers.tolist(), "bigint") == pytest.approx(wanted)
    assert in_python(fitted, "n", numbers.tolist()) == pytest.approx(wanted)


def test_what_cannot_be_stored_is_refused_by_name():
    for strange in (b"ab", (1, 2), dt.timedelta(3)):
        column = np.empty(2, dtype=object)
        column[:] = [strange, "a"]
        with pytest.raises(CalibrantError, match="cannot be stored"):
            hostile.patched("g", column, 2).to_json()
    with pytest.raises(CalibrantError, match="must hold labels"):
        grouped(np.array([[1], {}, None], dtype=object), "g", 3)


def test_a_stored_note_is_no_code():
    shift = PriorCorrection().fit([0.2, 0.6, 0.7], [0, 1, 0]).to_dict()
    for note in ('"""\nraise SystemExit(3)\n"""', "\\", '"', "x\\", "\\x22\\x22", "a\rb\u2028c"):
        shift["fitted"]["note_"] = note
        names: dict = {}
        exec(load(shift).to_python(), names)  # noqa: S102
        assert names["recalibrate"].__doc__.startswith("Odds are divided by")
        assert "\n" not in names["recalibrate"].__doc__
    for kind in DIALECTS.values():
        comment = kind.comment("one\ntwo\r\u2028\x0b\x1bthree ${env:HOME}")
        assert comment == "-- one two three $ {env:HOME}"


@pytest.mark.parametrize(
    "name", ["2x", "class", "exp", "max", "COLUMNS", "_base", "a b", "f(p): pass\ndef g"]
)
def test_names_that_would_break_the_program_are_refused(name):
    fitted = PlattScaling().fit([0.2, 0.6, 0.7], [0, 1, 0])
    with pytest.raises(InvalidOptionError, match="name"):
        fitted.to_python(name)


@pytest.mark.parametrize("dialect", DATABASES)
@pytest.mark.parametrize("count", [1, 9, 40, 100])
def test_many_patches_are_one_expression(dialect, count):
    values = [f"site {i}" for i in range(count)]
    fitted = hostile.patched("v", values, count)
    wanted = hostile.expected(fitted, "v", values)
    assert in_database(fitted, dialect, "v", values) == pytest.approx(wanted, abs=1e-12)


def test_sqlite_takes_any_number_of_patches_and_others_say_how_many():
    values = [f"site {i}" for i in range(250)] * 2
    fitted = hostile.patched("g", values, 500)
    many = GroupCalibrator(
        fitted.base, type(fitted.patches)(fitted.patches.groupings, fitted.patches.patches * 4)
    )
    wanted = many.transform(np.full(500, 0.25), {"g": values})
    assert in_database(many, "sqlite", "g", values) == pytest.approx(wanted.tolist(), abs=1e-12)
    with pytest.raises(InvalidOptionError, match="at most 100 patches"):
        many.to_sql()


def test_a_column_that_is_not_there_is_an_error_in_sqlite():
    """In double quotes it would be a text, which counts as 0."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create table rows (p double)")
    expression = Identity().fit([0.5], [1]).to_sql("q", dialect="sqlite")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute(f"select {expression} from rows")  # noqa: S608
    connection.close()


def test_maps_take_the_units_that_they_say():
    fitted = PlattScaling().fit([0.2, 0.6, 0.7, 0.4], [0, 1, 0, 1])
    percent = load(fitted.with_scale("percent").to_json())
    share = np.array([0.0, 0.01, 0.5, 1.0])
    wanted = fitted.transform(share)
    assert percent.scale_ == "percent"
    assert percent.transform(100 * share) == pytest.approx(wanted)
    assert percent(share) == pytest.approx(wanted)  # a Joint holds probabilities
    names: dict = {}
    exec(percent.to_python(), names)  # noqa: S102
    assert [names["recalibrate"](100 * p) for p in share] == pytest.approx(wanted)
    with pytest.raises(ValueError, match=r"percentage must be in \[0, 100\]"):
        names["recalibrate"](101)
    for dialect, connect in DATABASES.items():
        connection = connect()
        connection.execute("create table rows (p double)")
        connection.executemany("insert into rows values (?)", [(100 * p,) for p in [*share, 1.5]])
        query = f"select {percent.to_sql('p', dialect=dialect)} from rows"  # noqa: S608
        found = [row[0] for row in connection.execute(query).fetchall()]
        assert found[:-1] == pytest.approx(wanted)
        assert found[-1] is None
        connection.close()
    assert fitted.scale_ == "unit"
    assert percent.fit([0.2, 0.6, 0.7, 0.4], [0, 1, 0, 1]).scale_ == "unit"
    with pytest.raises(InvalidOptionError, match="scale must be one of unit, percent"):
        fitted.with_scale("per mille")


@pytest.mark.parametrize("name", ["platt", "beta", "isotonic", "centered_isotonic", "spline"])
def test_maps_take_log_odds(name):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.01, 0.99, 400)
    fitted = CALIBRATORS[name]().fit(p, rng.random(400) < p**2)
    logit = load(fitted.with_scale("logit").to_json())
    given = np.array([-800.0, -36.0, -2.0, 0.0, 0.3, 5.0, 800.0])
    wanted = fitted.transform(1 / (1 + np.exp(-np.clip(given, -700, 700))))
    assert logit.transform(given) == pytest.approx(wanted, abs=1e-12)
    assert logit.transform(0.3) == pytest.approx(wanted[4], abs=1e-12)
    names: dict = {}
    exec(logit.to_python(), names)  # noqa: S102
    assert [names["recalibrate"](x) for x in given] == pytest.approx(wanted, abs=1e-12)
    for wrong in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="log-odds must be finite"):
            names["recalibrate"](wrong)
        with pytest.raises(InvalidForecastsError):
            logit.transform([0.1, wrong])
    for dialect, connect in DATABASES.items():
        connection = connect()
        connection.execute("create table rows (p double)")
        values = [*given.tolist(), None, math.inf]
        connection.executemany("insert into rows values (?)", [(x,) for x in values])
        query = f"select {logit.to_sql('p', dialect=dialect)} from rows"  # noqa: S608
        found = [row[0] for row in connection.execute(query).fetchall()]
        assert found[:-2] == pytest.approx(wanted, abs=1e-12)
        assert found[-2:] == [None, None]
        connection.close()


def test_log_odds_of_classes_are_refused():
    fitted = TemperatureScaling().fit([[0.2, 0.3, 0.5]] * 4, [0, 1, 2, 2])
    with pytest.raises(InvalidOptionError, match="log-odds are of two outcomes"):
        fitted.with_scale("logit")
    with pytest.raises(InvalidStateError, match="scale"):
        load(fitted.to_dict() | {"scale": "logit"})


def test_a_group_map_of_percent_stays_one():
    values = ["a", "b", None]
    unit = hostile.patched("g", values, 3)
    percent = load(unit.with_scale("percent").to_json())
    wanted = unit.transform([0.25] * 3, {"g": values})
    assert percent.transform([25.0] * 3, {"g": values}) == pytest.approx(wanted)
    names: dict = {}
    exec(percent.to_python(), names)  # noqa: S102
    assert [names["recalibrate"](25.0, {"g": v}) for v in values] == pytest.approx(wanted.tolist())
