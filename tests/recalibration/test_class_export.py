"""Calibrators of classes in databases: queries and select lists say what `transform` says."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.errors import InvalidOptionError
from calibrant.recalibration import MULTICLASS_CALIBRATORS

RNG = np.random.default_rng(8)
CLASSES = ["cat", "dog", "cow"]
TABLE = RNG.dirichlet([0.5, 0.5, 0.5], 400)
LABEL = RNG.integers(0, 3, 400)
AT = np.vstack([TABLE[:40], np.eye(3), np.full((1, 3), 1 / 3)])
# A few corrections show what dozens would, which databases take long to plan.
OPTIONS = {"subset": {"tolerance": 0.08}}
FITTED = {
    name: kind(**OPTIONS.get(name, {})).fit(TABLE, LABEL, classes=CLASSES)
    for name, kind in MULTICLASS_CALIBRATORS.items()
}
NEW = ", ".join(f"recalibrated_{name}" for name in CLASSES)


def queries(dialect):
    """For each calibrator the new columns by id, from a table `class_rows`."""
    for fitted in FITTED.values():
        steps = fitted.to_sql(table="class_rows", keep=["id"], dialect=dialect)
        yield fitted, f"select {NEW} from ({steps}) as found order by id"  # noqa: S608
        try:
            select = fitted.to_sql(dialect=dialect)
        except InvalidOptionError:
            continue  # too long for an expression
        yield fitted, f"select {select} from class_rows order by id"  # noqa: S608


def check(fitted, found):
    np.testing.assert_allclose(found[: len(AT)], fitted.transform(AT), atol=1e-11)
    assert list(map(list, found[len(AT) :])) == [[None] * 3] * 2


ROWS = [
    *([i, *row] for i, row in enumerate(AT.tolist())),
    [98, None, 0.5, 0.5],
    [99, 1.0, 1.0, 0.0],
]


@pytest.mark.needs("postgres")
def test_classes_agree_in_postgresql(postgres):
    columns = ", ".join(f"{name} double precision" for name in CLASSES)
    postgres.query(f"create table class_rows (id integer, {columns});")
    values = ", ".join(
        f"({', '.join('null' if x is None else repr(x) for x in row)})" for row in ROWS
    )
    postgres.query(f"insert into class_rows values {values};")  # noqa: S608
    try:
        for fitted, query in queries("postgres"):
            rows = postgres.query(f"{query};")
            check(fitted, [[float(cell) if cell else None for cell in row] for row in rows])
    finally:
        postgres.query("drop table class_rows;")


@pytest.mark.needs("java")
def test_classes_agree_in_spark(spark):
    schema = "id integer, " + ", ".join(f"{name} double" for name in CLASSES)
    spark.createDataFrame(ROWS, schema).createOrReplaceTempView("class_rows")
    for fitted, query in queries("spark"):
        check(fitted, [list(row) for row in spark.sql(query).collect()])
    spark.catalog.dropTempView("class_rows")
