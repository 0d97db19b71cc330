"""Calibrators as users meet them: estimators, words, stored and exported forms, real databases."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.recalibration import (
    CALIBRATORS,
    BetaCalibration,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    PlattScaling,
    PriorCorrection,
    TemperatureScaling,
    VennAbers,
    load,
)
from calibrant.recalibration.quoting import DIALECTS

RNG = np.random.default_rng(11)
P = np.concatenate([RNG.beta(1, 2, 400), RNG.random(200).round(2), [0.0, 1.0, 1e-12, 1 - 1e-12]])
Y = (RNG.random(P.size) < 0.1 + 0.7 * P**1.5).astype(int)
FITTED = {
    **{name: kind().fit(P, Y) for name, kind in CALIBRATORS.items()},
    "strict": IsotonicCalibration(strict=True).fit(P, Y),
    "certain": IsotonicCalibration(allow_certain=True).fit(P, Y),
    "uniform": HistogramBinning("uniform").fit(P, Y),
    "interval": HistogramBinning("interval").fit(P, Y),
    "narrow": KernelCalibration(bandwidth=0.02).fit(P, Y),
    "sampled": PriorCorrection(sampling_rate=0.01).fit(P, Y),
    "steep": TemperatureScaling().fit([0.499] * 50 + [0.501] * 50, [0] * 45 + [1] * 50 + [0] * 5),
    "one class": BetaCalibration().fit([0.2, 0.7], [1, 1]),
    "one level": VennAbers().fit([0.3, 0.3], [0, 1]),
}
QUERY = "select {} from t order by i"
every_calibrator = pytest.mark.parametrize("fitted", FITTED.values(), ids=FITTED)


def edge_values(fitted):
    """Ends, starts and knots with their neighbours among doubles, and random rows."""
    form = fitted.form_
    at = getattr(form, "start", getattr(form, "knot", np.array([0.5])))
    ends = [0.0, 1.0, 2**-53, 1 - 2**-53, 1e-17, 1e-9, 0.5, -1e-10, 1 + 1e-10]
    near = np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, 1)])
    near = near[(near == 0) | (near > 1e-290)]
    return np.concatenate([ends, near, np.random.default_rng(3).random(500)])


@every_calibrator
def test_json_brings_the_same_map_back(fitted, tmp_path):
    path = tmp_path / "calibrator.json"
    path.write_text(fitted.to_json(), encoding="utf-8")
    for again in (load(path), load(str(path)), load(fitted.to_json()), load(fitted.to_dict())):
        assert type(again) is type(fitted)
        assert again.get_params() == fitted.get_params()
        assert again.sentence == fitted.sentence
        at = edge_values(fitted)
        assert again.transform(at).tolist() == fitted.transform(at).tolist()
    data = json.loads(fitted.to_json())
    assert data["schema"] == 1
    assert data["calibrator"] == fitted.method
    if isinstance(fitted, VennAbers):
        assert [end.tolist() for end in again.interval(P)] == [
            end.tolist() for end in fitted.interval(P)
        ]


@every_calibrator
def test_the_python_function_needs_nothing_and_agrees(fitted):
    names: dict = {}
    source = fitted.to_python("corrected")
    exec(source, names)  # noqa: S102
    at = edge_values(fitted)
    found = [names["corrected"](float(x)) for x in at]
    assert found == pytest.approx(fitted.transform(at).tolist(), abs=1e-12)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="probability"):
            names["corrected"](wrong)
    program = f"{source}\nimport sys\nprint('numpy' in sys.modules, corrected(0.3))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "False"


def answers_of(rows):
    return np.array([np.nan if row[0] in {None, ""} else float(row[0]) for row in rows])


def in_duckdb(expression, values):
    with duckdb.connect() as connection:
        connection.execute("create table t (i integer, p double)")
        connection.executemany("insert into t values (?, ?)", list(enumerate(values)))
        return answers_of(connection.sql(QUERY.format(expression)).fetchall())


def in_sqlite(expression, values):
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t (i integer, p real)")
        connection.executemany("insert into t values (?, ?)", list(enumerate(values)))
        return answers_of(connection.execute(QUERY.format(expression)).fetchall())


@every_calibrator
@pytest.mark.parametrize(("dialect", "run"), [("duckdb", in_duckdb), ("sqlite", in_sqlite)])
def test_sql_agrees_in_embedded_databases(fitted, dialect, run):
    at = edge_values(fitted)
    found = run(fitted.to_sql("p", dialect=dialect), at.tolist())
    assert found == pytest.approx(fitted.transform(at), abs=1e-12)
    strange = run(fitted.to_sql("p", dialect=dialect), [None, -0.5, 1.5, 80.0])
    assert np.isnan(strange).all()


@pytest.mark.needs("postgres")
@every_calibrator
def test_sql_agrees_in_postgresql(fitted, postgres):
    at = edge_values(fitted)
    rows = ", ".join(f"({i}, '{float(x)!r}')" for i, x in enumerate(at))
    expression = fitted.to_sql("p", dialect="postgres")
    made = "drop table if exists t; create table t (i integer, p double precision);"
    filled = f"insert into t values {rows};"  # noqa: S608
    found = postgres.query(made + filled + QUERY.format(expression))
    assert answers_of(found) == pytest.approx(fitted.transform(at), abs=1e-12)
    strange = "(values (0, cast(null as double precision)), (1, 'NaN'), (2, 1.5)) as t (i, p)"
    found = postgres.query(QUERY.replace(" t ", f" {strange} ").format(expression))
    assert np.isnan(answers_of(found)).all()


def test_dialects_differ_in_quotes_and_types():
    fitted = FITTED["platt"]
    assert '"my ""p"""' in fitted.to_sql('my "p"')
    assert "`p`" in fitted.to_sql("p", dialect="spark")
    assert "double precision" in fitted.to_sql("p", dialect="postgres")
    assert set(DIALECTS) == {"duckdb", "postgres", "spark", "sqlite"}
    with pytest.raises(InvalidOptionError, match="dialect"):
        fitted.to_sql("p", dialect="cobol")


@every_calibrator
def test_maps_are_estimators(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    pipeline = make_pipeline(clone(fitted), clone(FITTED["platt"]))
    pipeline.fit(P.reshape(-1, 1), Y)
    assert pipeline.transform(P.reshape(-1, 1)).shape == (P.size, 1)
    for name, value in fitted.get_params().items():
        assert getattr(clone(fitted).set_params(**{name: value}), name) == value
    with pytest.raises(InvalidOptionError, match="parameters"):
        clone(fitted).set_params(nonsense=1)
    with pytest.raises(InvalidOptionError, match="fitted first"):
        clone(fitted).transform([0.5])
    assert repr(clone(fitted)) == repr(fitted)


def test_maps_say_what_they_do():
    p = np.repeat([0.1, 0.9], 100)
    y = np.repeat([1, 0, 1, 0], [20, 80, 80, 20])
    assert (
        TemperatureScaling().fit(p, y).sentence == "Over-confident: log-odds are divided by 1.58."
    )
    assert TemperatureScaling().fit(p, y).temperature_ == pytest.approx(np.log(9) / np.log(4))
    y = np.repeat([1, 0, 1, 0], [1, 99, 99, 1])
    assert TemperatureScaling().fit(p, y).sentence.startswith("Under-confident")
    assert "parts the outcomes" in PlattScaling().fit([0.3, 0.8], [0, 1]).sentence
    assert "Reversed" in PlattScaling().fit(p, np.repeat([0, 1, 0, 1], [20, 80, 80, 20])).sentence
    assert repr(PriorCorrection(base_rate=0.2)) == "PriorCorrection(base_rate=0.2)"
    assert "all forecasts are equal" in BetaCalibration().fit([0.3] * 4, [0, 1, 0, 1]).sentence


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: PriorCorrection(0.5, 0.5).fit(P, Y), "sampling rate or a base rate"),
        (lambda: PriorCorrection(sampling_rate=2).fit(P, Y), "sampling_rate"),
        (lambda: PriorCorrection(base_rate=1).fit(P, Y), "base_rate"),
        (lambda: PriorCorrection(base_rate=0.5).fit([0.5], [1]), "both outcomes"),
        (lambda: PlattScaling("often").fit(P, Y), "smoothing"),
        (lambda: HistogramBinning("round").fit(P, Y), "strategy"),
        (lambda: KernelCalibration(bandwidth=0).fit(P, Y), "bandwidth"),
        (lambda: FITTED["platt"].to_python("2x"), "name"),
        (lambda: load({"schema": 2}), "schema"),
        (lambda: load({"schema": 1, "calibrator": "Magic"}), "one of"),
        (lambda: load({"schema": 1, "calibrator": "platt"}), "field 'parameters'"),
        (lambda: load("no such file"), "no such file"),
        (lambda: load("{"), "JSON"),
        (lambda: load(FITTED["uniform"].to_dict() | {"form": {"kind": "steps"}}), "field 'start'"),
        (
            lambda: load(
                FITTED["uniform"].to_dict()
                | {"form": {"kind": "steps", "start": [0.5, 0], "value": [0, 1]}}
            ),
            "increase",
        ),
        (lambda: load(FITTED["uniform"].to_dict() | {"form": {"kind": "spline"}}), "steps"),
    ],
)
def test_wrong_options_are_named(make, match):
    with pytest.raises(InvalidOptionError, match=match):
        make()


@pytest.mark.parametrize("bad", [[0.5, np.nan], [50, 70], [[0.2, 0.3]], []])
def test_transform_refuses_what_is_no_probability(bad):
    with pytest.raises(InvalidForecastsError):
        FITTED["isotonic"].transform(bad)


def test_the_room_is_part_of_the_package():
    assert cal.recalibration.IsotonicCalibration is IsotonicCalibration


def test_a_rate_of_thousands_of_digits_is_refused():
    with pytest.raises(InvalidOptionError, match="sampling_rate must be in"):
        PriorCorrection(sampling_rate=10**5000).fit([0.5, 0.4], [0, 1])


def test_beta_of_two_forecasts_is_a_line_whatever_the_scale_of_the_weights():
    p = np.repeat([0.6110891543499859, 0.8909594330886682], [26, 20])
    y = np.repeat([0, 1, 0, 1], [8, 18, 5, 15])
    grid = np.linspace(0, 1, 11)
    plain = BetaCalibration().fit(p, y).transform(grid)
    assert BetaCalibration().fit(p, y, np.full(46, 1e-3)).transform(grid) == pytest.approx(
        plain, abs=1e-9
    )
    assert BetaCalibration().fit(p, y).transform(p[[0, -1]]) == pytest.approx([18 / 26, 15 / 20])


@pytest.mark.parametrize("kind", [PriorCorrection, BetaCalibration])
def test_one_outcome_of_very_great_weights_is_fitted(kind):
    great = kind().fit([0, 0.5, 1], [1, 1, 1], [6e9, 9e9, 2e9]).transform([0.0, 0.5, 1.0])
    small = kind().fit([0, 0.5, 1], [1, 1, 1], [6, 9, 2]).transform([0.0, 0.5, 1.0])
    assert great == pytest.approx(small)


def test_forecasts_of_one_half_part_nothing():
    assert "threshold" not in TemperatureScaling().fit([0.5] * 6, [0, 1, 0, 1, 1, 1]).sentence


def test_an_interval_of_venn_and_abers_is_read_back_though_weights_are_unlike():
    fitted = VennAbers().fit([0.3, 0.3, 0.5], [0, 0, 1], [1e-6, 1.0, 1e-6])
    assert load(fitted.to_json()).interval([0.3]) == fitted.interval([0.3])
