"""Patches of groups in SQL: the same numbers in DuckDB, SQLite, PostgreSQL and Spark."""

from __future__ import annotations

import sqlite3

import duckdb
import numpy as np
import pytest

from calibrant.groups import Multicalibrator
from calibrant.recalibration import GroupCalibrator, IsotonicCalibration, PlattScaling

COLUMNS = {
    "id": "integer",
    "prediction": "double precision",
    "site": "varchar(20)",
    "night": "boolean",
    "age": "double precision",
    "ward": "integer",
}
SIZE = 600


def forecasts(n=8000, seed=0):
    """Groups that are off, one of them with a quote in its name, some values missing."""
    rng = np.random.default_rng(seed)
    by = {
        "site": rng.choice(np.array(["it's", "b", None], dtype=object), n, p=[0.3, 0.6, 0.1]),
        "night": rng.random(n) < 0.3,
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 15, n)),
        "ward": rng.integers(1, 4, n),
    }
    p = rng.beta(2, 2, n)
    truth = p + 0.15 * (by["site"] == "it's") - 0.2 * by["night"] * p + 0.1 * (by["age"] > 60)
    truth += 0.1 * (by["ward"] == 2) - 0.1 * np.array([site is None for site in by["site"]])
    return p, rng.random(n) < np.clip(truth, 0, 1), by


BASE, OUTCOME, BY = forecasts()
HEAD = {name: values[:SIZE] for name, values in BY.items()}
AT = np.concatenate([[0.0, 1.0, 1e-12, 0.5], BASE[4:SIZE]])
ROWS = [
    (
        i,
        float(AT[i]),
        HEAD["site"][i],
        bool(HEAD["night"][i]),
        None if np.isnan(HEAD["age"][i]) else float(HEAD["age"][i]),
        int(HEAD["ward"][i]),
    )
    for i in range(SIZE)
] + [
    (SIZE, 0.4, "elsewhere", True, 30.0, 1),
    (SIZE + 1, 0.4, "b", True, 30.0, 9),
    (SIZE + 2, None, "b", True, 30.0, 1),
    (SIZE + 3, 7.0, "b", True, 30.0, 1),
]


def fitted_to_all(method, pairs):
    """Spark plans a step for each patch: a few of them do."""
    few = Multicalibrator(method, pairs=pairs, tolerance=0.005, most=8)
    return few.fit(BASE, OUTCOME, BY)


def composed(base):
    low = Multicalibrator("low_degree", tolerance=0.001, most=10)
    base = base.fit(BASE, OUTCOME)
    patches = low.fit(base.transform(BASE), OUTCOME, BY).patches_
    return GroupCalibrator(base, patches, 1e-4)


PATCHED = {
    "hkrr": fitted_to_all("hkrr", pairs=False),
    "hkrr pairs": fitted_to_all("hkrr", pairs=True),
    "low_degree": fitted_to_all("low_degree", pairs=False),
}
COMPOSED = {"platt": composed(PlattScaling()), "isotonic": composed(IsotonicCalibration())}


def queries(dialect):
    """A query of id and corrected prediction for each, from a table `patched_rows`."""
    for name, fitted in PATCHED.items():
        steps = fitted.to_sql(table="patched_rows", keep=["id"], dialect=dialect)
        yield name, f"select id, recalibrated from ({steps}) as found order by id"  # noqa: S608
    for name, fitted in COMPOSED.items():
        one = fitted.to_sql(dialect=dialect)
        yield name, f"select id, {one} as q from patched_rows order by id"  # noqa: S608


def check(name, found):
    if name in PATCHED:
        expected, base = PATCHED[name].transform(AT, HEAD), 0.4
        assert PATCHED[name].patches_.patches
    else:
        expected = COMPOSED[name].transform(AT, HEAD)
        base = float(COMPOSED[name].base.transform([0.4])[0])
        assert len(COMPOSED[name].patches.patches) > 3
    assert found[:SIZE] == pytest.approx(expected.tolist(), abs=1e-12)
    assert found[SIZE : SIZE + 2] == pytest.approx([base, base], abs=1e-12)  # unseen values
    assert found[SIZE + 2 :] == [None, None]  # no probability


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_patches_agree_in_a_database_of_files(dialect):
    connection = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    connection.execute(f"create table patched_rows ({columns})")
    connection.executemany("insert into patched_rows values (?, ?, ?, ?, ?, ?)", ROWS)
    for name, query in queries(dialect):
        check(name, [row[1] for row in connection.execute(query).fetchall()])
    connection.close()


def literal(value):
    if value is None:
        return "null"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@pytest.mark.needs("postgres")
def test_patches_agree_in_postgresql(postgres):
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    rows = ", ".join(f"({', '.join(map(literal, row))})" for row in ROWS)
    postgres.query(f"create table patched_rows ({columns});")
    postgres.query(f"insert into patched_rows values {rows};")  # noqa: S608
    try:
        for name, query in queries("postgres"):
            found = [float(cell) if cell else None for _, cell in postgres.query(f"{query};")]
            check(name, found)
    finally:
        postgres.query("drop table patched_rows;")


@pytest.mark.needs("java")
def test_patches_agree_in_spark(spark):
    kinds = {"double precision": "double", "varchar(20)": "string"}
    schema = ", ".join(f"{name} {kinds.get(kind, kind)}" for name, kind in COLUMNS.items())
    spark.createDataFrame(ROWS, schema).createOrReplaceTempView("patched_rows")
    for name, query in queries("spark"):
        check(name, [row[1] for row in spark.sql(query).collect()])
    spark.catalog.dropTempView("patched_rows")
