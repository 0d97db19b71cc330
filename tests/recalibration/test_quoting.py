"""Labels and names that try to break out of SQL, in PostgreSQL and Spark themselves."""

from __future__ import annotations

import math

import pytest

import hostile
from calibrant.errors import InvalidOptionError
from calibrant.recalibration.quoting import DIALECTS

LABELS = [*hostile.LABELS, None]
AGES = [float(age) for age in range(100)] + [math.nan, math.inf, -math.inf, None]
FEW = [-0.0, 1.5, math.inf, -math.inf, math.nan, None]
NUMBERS = {"cut": AGES, "few": FEW}


def in_postgresql(postgres, fitted, column, values, kind):
    """Values enter as bytes, so that the test does not rest on what it tests."""
    name = DIALECTS["postgres"].quoted(column)

    def entered(value):
        if value is None:
            return "null"
        if kind == "text":
            return f"convert_from(decode('{value.encode().hex()}', 'hex'), 'UTF8')"
        return f"cast('{value!r}' as {kind})"

    rows = ", ".join(f"({i}, 0.25, {entered(value)})" for i, value in enumerate(values))
    postgres.query(f"create table hostile_rows (number integer, prediction float8, {name} {kind});")
    try:
        postgres.query(f"insert into hostile_rows values {rows};")  # noqa: S608
        expression = fitted.to_sql(dialect="postgres")
        query = f"select number, {expression} from hostile_rows order by number;"  # noqa: S608
        found = [float(cell) for _, cell in postgres.query(query)]
        loose = f"set standard_conforming_strings = off; set escape_string_warning = off; {query}"
        assert [float(cell) for _, cell in postgres.query(loose)] == found
    finally:
        postgres.query("drop table hostile_rows;")
    return found


@pytest.mark.needs("postgres")
def test_postgresql_reads_hostile_labels_as_they_are(postgres):
    fitted = hostile.patched("site", LABELS, len(LABELS))
    wanted = hostile.expected(fitted, "site", LABELS)
    assert in_postgresql(postgres, fitted, "site", LABELS, "text") == pytest.approx(wanted)
    for name in hostile.NAMES:
        fitted = hostile.patched(name, ["a", None], 2)
        wanted = hostile.expected(fitted, name, ["a", None])
        assert in_postgresql(postgres, fitted, name, ["a", None], "text") == pytest.approx(wanted)


@pytest.mark.needs("postgres")
@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS)
def test_postgresql_takes_nan_for_missing(postgres, values):
    fitted = hostile.patched("age", values, len(values))
    wanted = hostile.expected(fitted, "age", values)
    assert in_postgresql(postgres, fitted, "age", values, "float8") == pytest.approx(wanted)


@pytest.mark.needs("postgres")
def test_postgresql_takes_a_hundred_patches(postgres):
    values = [f"site {i}" for i in range(100)]
    fitted = hostile.patched("site", values, 100)
    wanted = hostile.expected(fitted, "site", values)
    assert in_postgresql(postgres, fitted, "site", values, "text") == pytest.approx(wanted)


def in_spark(spark, fitted, column, values, kind):
    name = DIALECTS["spark"].quoted(column)
    rows = [(i, 0.25, value) for i, value in enumerate(values)]
    frame = spark.createDataFrame(rows, f"number int, prediction double, {name} {kind}")
    frame.createOrReplaceTempView("hostile_rows")
    expression = fitted.to_sql(dialect="spark")
    query = f"select number, {expression} as q from hostile_rows order by number"  # noqa: S608
    found = [row[1] for row in spark.sql(query).collect()]
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    assert [row[1] for row in spark.sql(query).collect()] == found
    spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    spark.catalog.dropTempView("hostile_rows")
    return found


@pytest.mark.needs("java")
def test_spark_reads_hostile_labels_as_they_are(spark):
    fitted = hostile.patched("site", LABELS, len(LABELS))
    wanted = hostile.expected(fitted, "site", LABELS)
    assert in_spark(spark, fitted, "site", LABELS, "string") == pytest.approx(wanted)
    for name in hostile.NAMES:
        fitted = hostile.patched(name, ["a", None], 2)
        wanted = hostile.expected(fitted, name, ["a", None])
        assert in_spark(spark, fitted, name, ["a", None], "string") == pytest.approx(wanted)
    with pytest.raises(InvalidOptionError, match="Spark replaces"):
        fitted.to_sql("${env:HOME}", dialect="spark")


@pytest.mark.needs("java")
@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS)
def test_spark_takes_nan_for_missing(spark, values):
    fitted = hostile.patched("age", values, len(values))
    wanted = hostile.expected(fitted, "age", values)
    assert in_spark(spark, fitted, "age", values, "double") == pytest.approx(wanted)


@pytest.mark.needs("java")
def test_spark_takes_hundreds_of_patches(spark):
    values = [f"site {i}" for i in range(200)]
    fitted = hostile.patched("site", values, 200)
    wanted = hostile.expected(fitted, "site", values)
    assert in_spark(spark, fitted, "site", values, "string") == pytest.approx(wanted)
