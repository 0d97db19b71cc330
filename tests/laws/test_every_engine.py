"""Every calibrator in every engine that runs it, on valid, odd and missing values.

What is missing stays missing, and what is a prediction becomes what `transform` says.
"""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
import warnings

import duckdb
import numpy as np
import polars as pl
import pytest

from calibrant.errors import CalibrantWarning
from calibrant.groups import Multicalibrator, recalibrate_by_group
from calibrant.models import CalibratedClassifier
from calibrant.recalibration import (
    CALIBRATORS,
    MULTICLASS_CALIBRATORS,
    GroupCalibrator,
    recalibrate,
)

RNG = np.random.default_rng(23)
N = 1500
P = np.where(RNG.random(N) < 0.02, 10.0 ** RNG.uniform(-320, -5, N), RNG.random(N).round(3))
SITE = RNG.choice(["a", "b's", ""], N)
AGE = np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(18, 90, N))
AT = np.datetime64("2026-03-01", "us") + RNG.integers(0, 40 * 24, N) * np.timedelta64(3600, "s")
Y = (RNG.random(N) < np.clip(P**1.4 + 0.25 * (SITE == "a") + 0.1 * (AGE > 60), 0, 1)).astype(int)
TRUE = RNG.dirichlet([0.6, 0.6, 0.6], N)
TABLE = TRUE**1.7 * [1.0, 2.0, 0.5]
TABLE /= TABLE.sum(axis=1, keepdims=True)
LABEL = (TRUE.cumsum(axis=1)[:, :2] < RNG.random((N, 1))).sum(axis=1)
CLASSES = ["cat", "d'og", 'co"w']
FORECAST = RNG.gamma(2.0, 20.0, N).round(1)
OUTCOME = 1.3 * FORECAST + RNG.normal(0, 8, N) + 3

NOT_NUMBERS = ["", " ", "n/a", "0,5", "nan", "NULL", "0.5x"]
VALID = [
    0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-20, 0.001, 0.25, 0.5, 0.731, 1 - 2**-53, 1.0, -1e-10
]  # fmt: skip
INVALID = [None, math.nan, math.inf, -math.inf, -0.5, 1.5, 40.0, 1e300]
ROWS = [
    [5e-324, 0.0, 1.0], [0.0, 0.0, 1.0], [1e-310, 1 - 1e-9, 1e-9], [1 / 3] * 3, [0.5, 0.5, 0.0],
    [1e-200, 0.2, 0.8], *TABLE[:40].tolist(),
]  # fmt: skip
BAD_ROWS = [
    [None, 0.5, 0.5], [math.nan, 0.5, 0.5], [0.9, 0.9, 0.2], [-0.5, 0.5, 1.0],
    [math.inf, 0.0, 0.0], [40.0, 30.0, 30.0],
]  # fmt: skip
REALS = [0.0, 5e-324, -1e-310, 0.5, 3.25, 17.0, 44.0, 1e3, -250.0, 1e9]


BINARY = {name: kind().fit(P, Y) for name, kind in CALIBRATORS.items()}
BINARY |= {
    f"{name} of {scale}": BINARY[name].with_scale(scale)
    for scale in ("percent", "logit")
    for name in ("identity", "platt", "isotonic", "histogram", "spline")
}
MANY = {
    name: kind().fit(TABLE, LABEL, classes=CLASSES) for name, kind in MULTICLASS_CALIBRATORS.items()
}
MANY["Temperature of percent"] = MANY["temperature"].with_scale("percent")
BY = {"site": SITE, "age": AGE}
GROUPS = {
    "by group": recalibrate_by_group(Y, P, BY, methods=["platt"], draws=19, rng=0).calibrator,
    "hkrr": Multicalibrator("hkrr", tolerance=0.002, most=15).fit(P, Y, BY).to_map(),
    "low_degree": Multicalibrator("low_degree", tolerance=0.002, degree=3, most=9)
    .fit(P, Y, BY)
    .to_map(),
}
# Outcomes that change at one moment: cuts of times matter.
CHANGED = (RNG.random(N) < np.clip(P + 0.2 * (np.datetime64("2026-03-20") < AT), 0, 1)) * 1
TIMES = {
    "by group": recalibrate_by_group(
        CHANGED, P, {"due": AT}, methods=["platt"], draws=19, rng=0
    ).calibrator,
    "hkrr": Multicalibrator("hkrr", tolerance=0.002).fit(P, CHANGED, {"due": AT}).to_map(),
    "with a zone": Multicalibrator("hkrr", tolerance=0.002)
    .fit(P, CHANGED, {"due": pl.Series(AT).dt.replace_time_zone("UTC")})
    .to_map(),
}
KINDS = {
    "mean": ("identity", "shift", "line", "curve", "isotonic"),
    "quantile=0.8": ("shift", "line", "isotonic"),
    "expectile=0.7": ("line", "isotonic"),
}
REAL = {
    f"{method} of {kind}": recalibrate(
        OUTCOME, FORECAST, kind=kind, methods=[method], always=True, rng=0
    ).calibrator
    for kind, methods in KINDS.items()
    for method in methods
}

two_outcomes = pytest.mark.parametrize("fitted", BINARY.values(), ids=BINARY)
of_classes = pytest.mark.parametrize("fitted", MANY.values(), ids=MANY)
of_groups = pytest.mark.parametrize("fitted", GROUPS.values(), ids=GROUPS)
real_maps = pytest.mark.parametrize("fitted", REAL.values(), ids=REAL)


class Sqlite:
    dialect, kinds = "sqlite", ("real", "text", "numeric", "")

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def rows(self, query, columns, values):
        """Run a query on the table t of an id and some columns; rows in the order of the ids."""
        self.connection.execute("drop table if exists t")
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        self.connection.execute(f"create table t (id integer, {listed})")
        marks = ", ".join("?" * (len(columns) + 1))
        self.connection.executemany(
            f"insert into t values ({marks})",  # noqa: S608
            [(i, *row) for i, row in enumerate(values)],
        )
        return self.connection.execute(f"select * from ({query}) order by id").fetchall()  # noqa: S608


class DuckDB(Sqlite):
    dialect, kinds = "duckdb", ("double",)
    Error = duckdb.ConversionException

    def __init__(self):
        self.connection = duckdb.connect()


class Postgres:
    dialect, kinds = "postgres", ("double precision",)
    Error = RuntimeError

    def __init__(self, server):
        self.server = server

    def rows(self, query, columns, values, setting=""):
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        written = ", ".join(
            f"({', '.join(map(self.literal, (i, *row)))})" for i, row in enumerate(values)
        )
        found = self.server.query(
            f"{setting} set extra_float_digits = 3; drop table if exists t; "  # noqa: S608
            f"create table t (id integer, {listed}); insert into t values {written}; "
            f"select * from ({query}) as q order by id;"
        )
        return [[None if cell == "" else cell for cell in row] for row in found]

    @staticmethod
    def literal(value):
        if value is None:
            return "null"
        if isinstance(value, str | dt.datetime):
            return "'" + str(value).replace("'", "''") + "'"
        return repr(value) if math.isfinite(value) else f"'{value}'"


@pytest.fixture(
    params=["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.needs("postgres"))]
)
def database(request):
    if request.param == "postgres":
        return Postgres(request.getfixturevalue("postgres"))
    return {"sqlite": Sqlite, "duckdb": DuckDB}[request.param]()


def in_units(fitted, values):
    """Write probabilities in the units of a calibrator; certain ones have no log-odds."""
    if fitted.scale_ == "percent":
        return [value if value is None else 100 * value for value in values]
    if fitted.scale_ == "logit":
        return [math.log(value / (1 - value)) for value in values if 0 < value < 1] + [800.0]
    return values


def close(found, expected):
    values = np.array(found, dtype=object)
    assert not any(value is None for value in values.ravel())
    np.testing.assert_allclose(values.astype(float), expected, rtol=0, atol=1e-12)


@two_outcomes
def test_two_outcomes_in_databases(fitted, database):
    valid = in_units(fitted, VALID)
    invalid = [None, math.nan, math.inf, -math.inf] if fitted.scale_ == "logit" else INVALID
    invalid = [x for x in invalid if not (x == 40 and fitted.scale_ == "percent")]
    invalid = [x for x in invalid if not (x == 1.5 and fitted.scale_ == "percent")]
    if database.dialect == "sqlite":
        invalid = [*invalid, *NOT_NUMBERS, b"0.5"]
    expected = fitted.transform(np.array(valid, dtype=float))
    queries = [
        fitted.to_sql(table="t", keep=["id"], dialect=database.dialect),
        f"select id, {fitted.to_sql(dialect=database.dialect)} from t",  # noqa: S608
    ]
    for kind in database.kinds:
        for query in queries:
            found = database.rows(query, {"prediction": kind}, [(x,) for x in valid + invalid])
            values = [row[-1] for row in found]
            close(values[: len(valid)], expected)
            assert values[len(valid) :] == [None] * len(invalid)


def test_text_that_is_no_number_is_never_a_prediction(database):
    """In SQLite it is NULL, as tested above; databases with types end the query."""
    if database.dialect == "sqlite":
        return
    for fitted in (BINARY["platt"], BINARY["histogram"], REAL["line of mean"]):
        query = f"select id, {fitted.to_sql(dialect=database.dialect)} from t"  # noqa: S608
        assert len(database.rows(query, {"prediction": "text"}, [("0.5",)])) == 1
        for text in ("", "n/a", "0,5"):
            with pytest.raises(database.Error):
                database.rows(query, {"prediction": "text"}, [("0.5",), (text,)])


@of_classes
def test_classes_in_databases(fitted, database):
    unit = 100 if fitted.scale_ == "percent" else 1
    rows = [[unit * x for x in row] for row in ROWS]
    bad = [row for row in BAD_ROWS if unit == 1 or row[0] != 40]
    if database.dialect == "sqlite":
        bad += [[text, 0.5, 0.5] for text in NOT_NUMBERS]
        # As 0 they would make a row that sums to one.
        bad += [[text, 1.0 * unit, 0.0] for text in NOT_NUMBERS]
    quote = "`" if database.dialect == "sqlite" else '"'
    names = [quote + name.replace(quote, 2 * quote) + quote for name in CLASSES]
    queries = [fitted.to_sql(table="t", keep=["id"], dialect=database.dialect)]
    if fitted.method not in {"one_vs_rest_isotonic", "subset"}:
        queries.append(f"select id, {fitted.to_sql(dialect=database.dialect)} from t")  # noqa: S608
    for kind in database.kinds:
        for query in queries:
            found = database.rows(query, dict.fromkeys(names, kind), rows + bad)
            values = [list(row[-3:]) for row in found]
            close(values[: len(rows)], fitted.transform(rows))
            assert values[len(rows) :] == [[None] * 3] * len(bad)


@of_groups
def test_groups_in_databases(fitted, database):
    """A group that is missing, a label that is empty, numbers written as text."""
    who = [(site, age) for site in ("a", "b's", "") for age in (18.0, 50.0, 61.0, 89.0, None)]
    rows = [(p, *one) for p in VALID for one in who]
    bad = [(p, "a", 50.0) for p in INVALID]
    columns = {"prediction": "", "site": "text", "age": ""}
    prediction, age = np.array([row[0] for row in rows]), [row[2] for row in rows]
    by = {"site": [row[1] for row in rows], "age": np.array(age, dtype=float)}
    expected = fitted.transform(prediction, by).tolist()
    if database.dialect == "sqlite":
        bad += [(text, "a", 50.0) for text in NOT_NUMBERS]
        # An empty cell that was imported is text, whatever the type of the column.
        for text in ("", "n/a"):
            again = [(p, site, text if age is None else age) for p, site, age in rows]
            rows, expected = rows + again, expected + expected[: len(again)]
    query = fitted.to_sql(table="t", keep=["id"], dialect=database.dialect)
    for kind in database.kinds:
        columns |= {"prediction": kind, "age": kind}
        found = [row[-1] for row in database.rows(query, columns, rows + bad)]
        close(found[: len(rows)], expected)
        assert found[len(rows) :] == [None] * len(bad)


ZONES = ("UTC", "America/New_York", "Asia/Tokyo")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_groups_of_times_do_not_depend_on_the_zone_of_the_session(kind, zone, database):
    if database.dialect == "sqlite":
        for fitted in TIMES.values():
            with pytest.raises(ValueError, match="cannot be written as SQL for sqlite"):
                fitted.to_sql(table="t", dialect="sqlite")
        return
    rows = [
        (p, f"{at}+00" if kind == "timestamptz" else str(at))
        for p, at in zip(P[:200].tolist(), AT[:200], strict=True)
    ]
    setting = f"set timezone = '{zone}';"
    for fitted in TIMES.values():
        assert fitted.patches.patches
        query = fitted.to_sql(table="t", keep=["id"], dialect=database.dialect)
        query = f"select id, recalibrated from ({query}) as q"  # noqa: S608
        columns = {"prediction": database.kinds[0], "due": kind}
        if database.dialect == "duckdb":
            database.connection.execute(setting)
            found = database.rows(query, columns, rows)
        else:
            found = database.rows(query, columns, rows, setting)
        close([row[-1] for row in found], fitted.transform(P[:200], {"due": AT[:200]}))


@real_maps
def test_real_outcomes_in_databases(fitted, database):
    query = f"select id, {fitted.to_sql(dialect=database.dialect)} from t"  # noqa: S608
    missing = [None, *(NOT_NUMBERS if database.dialect == "sqlite" else [])]
    expected = fitted.transform(REALS)
    for kind in database.kinds:
        found = database.rows(query, {"prediction": kind}, [(x,) for x in REALS + missing])
        values = np.array([row[-1] for row in found], dtype=object)
        np.testing.assert_allclose(values[: len(REALS)].astype(float), expected, rtol=1e-12)
        assert values[len(REALS) :].tolist() == [None] * len(missing)
        if database.dialect != "sqlite":  # which knows no NaN
            (row,) = database.rows(query, {"prediction": kind}, [(math.nan,)])
            assert math.isnan(float(row[-1]))
    assert np.isnan(fitted.transform([math.nan])).all()


def run(fitted, given):
    import onnxruntime

    session = onnxruntime.InferenceSession(fitted.to_onnx().SerializeToString())
    (found,) = session.run(None, {"prediction": np.asarray(given, dtype=float)})
    return found


@two_outcomes
def test_two_outcomes_in_onnx(fitted):
    pytest.importorskip("onnxruntime")
    valid = in_units(fitted, VALID)
    found = run(fitted, [*valid, math.nan])
    close(found[:-1], fitted.transform(np.array(valid)))
    assert math.isnan(found[-1])
    # A graph cannot refuse what is outside: it is moved to the end.
    top = 800.0 if fitted.scale_ == "logit" else 100.0 if fitted.scale_ == "percent" else 1.0
    bottom = -800.0 if fitted.scale_ == "logit" else 0.0
    ends = fitted.transform(np.array([bottom, top]))
    close(run(fitted, [-math.inf, math.inf, -1e300, 1e300]), [*ends, *ends])


@of_classes
def test_classes_in_onnx(fitted):
    pytest.importorskip("onnxruntime")
    rows = np.array(ROWS) * (100 if fitted.scale_ == "percent" else 1)
    holes = np.vstack([rows[:3], rows[:3]])
    holes[np.arange(6), [0, 1, 2, 2, 0, 1]] = math.nan
    found = run(fitted, np.vstack([rows, holes]))
    close(found[: len(rows)], fitted.transform(rows))
    assert np.isnan(found[len(rows) :]).all()


def program(fitted):
    names: dict = {}
    exec(fitted.to_python("f"), names)  # noqa: S102
    return names["f"]


@two_outcomes
def test_two_outcomes_in_python(fitted):
    function, valid = program(fitted), in_units(fitted, VALID)
    close([function(x) for x in valid], fitted.transform(np.array(valid)))
    for wrong in (None, math.nan, math.inf, -math.inf, *NOT_NUMBERS):
        with pytest.raises((TypeError, ValueError)):
            function(wrong)


@of_classes
def test_classes_in_python(fitted):
    function = program(fitted)
    rows = np.array(ROWS) * (100 if fitted.scale_ == "percent" else 1)
    close([function(row) for row in rows.tolist()], fitted.transform(rows))
    for wrong in (None, math.nan, math.inf, -math.inf, *NOT_NUMBERS):
        with pytest.raises((TypeError, ValueError)):
            function([wrong, 1.0, 0.0])


@of_groups
def test_groups_in_python(fitted):
    function = program(fitted)
    assert isinstance(fitted, GroupCalibrator)
    for site, age in [("a", 61.0), ("", 30.0), ("b's", None), ("b's", math.nan), ("new", 30.0)]:
        found = [function(p, {"site": site, "age": age}) for p in VALID]
        by = {"site": [site] * len(VALID), "age": np.full(len(VALID), age, dtype=float)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrantWarning)  # a label that was not seen
            close(found, fitted.transform(np.array(VALID), by))
        for wrong in (None, math.nan, math.inf, "", "n/a"):
            with pytest.raises((TypeError, ValueError)):
                function(wrong, {"site": site, "age": age})
    with pytest.raises(TypeError):
        function(0.5, {"site": "a", "age": "n/a"})


def test_a_model_writes_what_its_map_writes():
    from sklearn.linear_model import LogisticRegression

    features = np.column_stack([P, AGE > 60])
    model = CalibratedClassifier(LogisticRegression(), "platt").fit(features, Y)
    query = f"select id, {model.to_sql(dialect='sqlite')} from t"  # noqa: S608
    found = Sqlite().rows(query, {"prediction": "real"}, [(0.5,), ("n/a",), ("",)])
    assert [row[-1] is None for row in found] == [False, True, True]
