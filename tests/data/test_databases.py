"""Queries on a SQLite file and a PostgreSQL server give the Joint of their rows."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, ReadingError

RNG = np.random.default_rng(11)
P = np.round(RNG.random(400), 3)
FRAME = pd.DataFrame(
    {
        "p": P,
        "y": (RNG.random(400) < P).astype(int),
        "n": RNG.integers(1, 5, 400),
        "site": RNG.choice(["a", "b"], 400),
    }
)
WHOLE = cal.Joint.from_samples(FRAME["y"], P)
NAMES = {"prediction": "p", "outcome": "y"}


@pytest.fixture
def sqlite(tmp_path):
    path = tmp_path / "scores.db"
    connection = sqlite3.connect(path)
    FRAME.to_sql("forecasts", connection, index=False)
    connection.close()
    return f"sqlite:{path}"


@pytest.fixture(scope="module")
def filled(postgres):
    rows = ", ".join(f"({p}, {y}, {n}, '{site}')" for p, y, n, site in FRAME.to_numpy())
    table = "create table forecasts (p double precision, y smallint, n integer, site text);"
    postgres.query(f"{table} insert into forecasts values {rows};")  # noqa: S608
    yield postgres.address
    postgres.query("drop table forecasts;")


@pytest.fixture(params=["sqlite", pytest.param("filled", marks=pytest.mark.needs("postgres"))])
def database(request):
    return request.getfixturevalue(request.param)


def test_a_query_runs_on_the_database(database):
    assert cal.Joint.from_query("select * from forecasts", database=database, **NAMES) == WHOLE
    some = "select p, y from forecasts where site = 'a'"
    joint = cal.Joint.from_query(some, database=database, **NAMES)
    mine = FRAME[FRAME["site"] == "a"]
    assert joint == cal.Joint.from_samples(mine["y"], mine["p"])


def test_a_query_of_aggregates(database):
    counts = "select p, count(*) as shown, sum(y) as clicked from forecasts group by p"
    names = {"prediction": "p", "count": "shown", "positives": "clicked"}
    assert cal.Joint.from_query(counts, database=database, **names) == WHOLE


def test_a_database_is_only_read_and_explained(database):
    with pytest.raises(InvalidForecastsError, match="one select statement, got delete"):
        cal.Joint.from_query("delete from forecasts", database=database, **NAMES)
    with pytest.raises(InvalidForecastsError, match="a column 'q', got columns p, y, n, site"):
        cal.Joint.from_query(
            "select * from forecasts", database=database, prediction="q", outcome="y"
        )
    with pytest.raises(InvalidForecastsError, match=r"the query must run, got .*nowhere"):
        cal.Joint.from_query("select * from nowhere", database=database, **NAMES)
    with pytest.raises(InvalidForecastsError, match="at least one row"):
        cal.Joint.from_query("select * from forecasts where p > 2", database=database, **NAMES)


def test_addresses_of_databases(sqlite):
    path = sqlite.removeprefix("sqlite:")
    query = "select * from forecasts"
    assert cal.Joint.from_query(query, database=f"sqlite://{path}", **NAMES) == WHOLE
    for nowhere in (f"{sqlite}.none", f"{path}.none", "postgresql://owner@127.0.0.1:1/none"):
        with pytest.raises(
            (InvalidForecastsError, ReadingError), match="the query must run"
        ) as refusal:
            cal.Joint.from_query(query, database=nowhere, **NAMES)
        assert "\n" not in str(refusal.value)
