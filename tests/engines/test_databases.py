"""Queries on a SQLite file and a PostgreSQL server give the Joint of their rows."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
import programs
from calibrant.errors import InvalidForecastsError

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


def command(name: str, *arguments: object, **options: object) -> None:
    """Run a program of PostgreSQL, which refuses to be root."""
    user = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    line = [str(programs.find(name)), *map(str, arguments)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, **user, **options)


@pytest.fixture(scope="module")
def postgres():
    place = Path(tempfile.mkdtemp(prefix="pg"))  # sockets need a short path
    if os.geteuid() == 0:
        shutil.chown(place, "postgres")
    data, where = place / "data", f"host={place} dbname=postgres user=owner"
    command("initdb", "-D", data, "-U", "owner", "--auth=trust", "--no-sync", cwd=place)
    options = f"-k {place} -c listen_addresses='' -c fsync=off"
    command("pg_ctl", "-D", data, "-o", options, "-l", place / "log", "-w", "start", cwd=place)
    try:
        table = "create table forecasts (p double precision, y smallint, n integer, site text)"
        command("psql", where, "-qc", table, cwd=place)
        rows = FRAME.to_csv(index=False, header=False)
        copy = "copy forecasts from stdin (format csv)"
        command("psql", where, "-qc", copy, cwd=place, input=rows, text=True)
        yield f"postgres:{where}"
    finally:
        command("pg_ctl", "-D", data, "-m", "immediate", "stop", cwd=place)
        shutil.rmtree(place)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
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
        with pytest.raises(InvalidForecastsError, match="the query must run, got") as refusal:
            cal.Joint.from_query(query, database=nowhere, **NAMES)
        assert "\n" not in str(refusal.value)
