"""Calibrators of numbers: each has the least loss of its shape; stored, loaded, in SQL."""

import json

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

from calibrant.data.rows import Rows
from calibrant.errors import InferenceRefusedError, InvalidStateError
from calibrant.kinds import Expectile, read_kind
from calibrant.recalibration import load, load_of_probabilities, recalibrate
from calibrant.recalibration.continuous import (
    fit_conformal,
    fitted_map,
    methods_for,
    rows_for_conformal,
)
from calibrant.regression import isotonic_fit

KINDS = ("mean", "quantile=0.9", "median", "expectile=0.8")


def made(rows=300, seed=2):
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(20, 6, rows), 1)
    return 3 + 0.7 * z + rng.gumbel(0, 3, rows), z, rng.gamma(2, 1, rows)


def loss_of(kind, forecast, y, weight):
    return float(weight @ read_kind(kind).losses(forecast, y))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["shift", "line", "curve", "isotonic"])
def test_no_neighbour_of_the_same_shape_has_a_smaller_loss(kind, method):
    y, z, weight = made()
    forecasts = Rows.of_kind(y, z, kind, sample_weight=weight)
    if method not in methods_for(forecasts.kind):
        pytest.skip("no such calibrator of quantiles")
    found = fitted_map(forecasts, method)
    least = loss_of(kind, found.transform(z), y, weight)
    rng = np.random.default_rng(0)
    knot, value, slope = found.form.knot, found.form.value, found.form.slope
    for _ in range(300):
        size = 10 ** rng.uniform(-5, 0)
        perturbed = value + size * rng.standard_normal(value.size) * (method != "shift")
        perturbed = perturbed + size * rng.standard_normal() * (method == "shift")
        if (np.diff(perturbed) < 0).any():
            continue
        tilt = slope + size * rng.standard_normal() / 20 * (method == "line")
        other = type(found.form)(knot, perturbed, max(tilt, 0.0))
        assert loss_of(kind, other(z), y, weight) >= least * (1 - 1e-9)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_the_line_of_a_quantile_solves_the_linear_program(level):
    y, z, weight = made(80)
    found = fitted_map(Rows.of_kind(y, z, f"quantile={level}", sample_weight=weight), "line")
    # Start (free), slope (at least 0), and by how much each row lies above and below the line.
    design = np.column_stack([np.ones(80), -np.ones(80), z, np.eye(80), -np.eye(80)])
    cost = np.concatenate([[0, 0, 0], level * weight, (1 - level) * weight])
    best = linprog(cost, A_eq=design, b_eq=y)
    loss = loss_of(f"quantile={level}", found.transform(z), y, weight)
    assert loss == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("level", [1e-6, 0.01, 0.99, 1 - 1e-6])
@pytest.mark.parametrize("method", ["line", "curve"])
def test_extreme_expectiles_settle(level, method):
    y, z, _ = made(100, seed=3)
    kind = Expectile(level)
    found = fitted_map(Rows.of_kind(y, z, kind), method)
    # Where a sum of squares is smooth and convex, no residual may be left along any direction.
    residual = kind.residuals(found.transform(z), y)
    size = np.abs(residual).sum()
    assert abs(residual.sum()) < 1e-5 * size
    if method == "line":
        assert abs(residual @ (z - z.mean())) < 1e-5 * size * np.ptp(z)


def test_lines_never_decrease():
    y, z, _ = made()
    for kind in KINDS:
        against = fitted_map(Rows.of_kind(-y, z, kind), "line")
        best = read_kind(kind).best(-y, np.ones(y.size))
        assert against.transform([5.0, 40.0]) == pytest.approx([best, best], rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_isotonic_map_gives_the_isotonic_fit_and_keeps_the_last_correction_beyond(kind):
    y, z, _ = made()
    forecasts = Rows.of_kind(y, z, kind)
    found, fit = fitted_map(forecasts, "isotonic"), isotonic_fit(forecasts)
    assert found.transform(z) == pytest.approx(fit.at_rows, rel=1e-12)
    least, most = z.min(), z.max()
    assert found.transform([least - 5, most + 5]) == pytest.approx(
        [fit.value[0] - 5, fit.value[-1] + 5]
    )
    points = np.linspace(least - 10, most + 10, 999)
    assert (np.diff(found.transform(points)) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_maps_do_not_depend_on_row_order_and_weights_count_rows(kind):
    y, z, _ = made(120)
    again = np.random.default_rng(1).permutation(np.repeat(np.arange(120), 2))
    for method in methods_for(read_kind(kind)):
        if method == "conformal":
            continue
        twice = fitted_map(Rows.of_kind(y[again], z[again], kind), method)
        weighted = Rows.of_kind(y, z, kind, sample_weight=np.full(120, 2.0))
        points = np.linspace(0, 45, 50)
        assert twice.transform(points) == pytest.approx(
            fitted_map(weighted, method).transform(points), rel=1e-5, abs=1e-6
        )


@pytest.mark.parametrize("level", [0.05, 0.1, 0.5, 0.9, 0.95])
def test_a_conformal_shift_covers_each_row_left_out_exactly_as_often_as_it_says(level):
    """Of n + 1 rows without ties, k lie at or below what the others say: no simulation needed."""
    y, z, _ = made(121, seed=7)
    covered, promised = [], set()
    for left_out in range(121):
        rest = np.arange(121) != left_out
        shift = fit_conformal(Rows.of_kind(y[rest], z[rest], f"quantile={level}"))
        covered.append(y[left_out] <= z[left_out] + shift.by)
        promised.add(shift.rank)
    (rank,) = promised
    assert sum(covered) == rank
    assert abs(rank / 121 - level) < 1 / 121


def test_a_conformal_interval_covers_each_row_left_out_as_often_as_it_says():
    y, z, _ = made(121, seed=8)
    covered = 0
    for left_out in range(121):
        rest = np.arange(121) != left_out
        given = Rows.of_kind(y[rest], z[rest] - 1, "interval", upper=z[rest] + 2, level=0.8)
        found = fitted_map(given, "conformal")
        low, high = found.transform(np.column_stack([z[[left_out]] - 1, z[[left_out]] + 2])).T
        covered += bool(low[0] <= y[left_out] <= high[0])
    assert covered == 97  # 0.8 times 121, rounded up
    assert found.coverage == pytest.approx(97 / 121)
    assert "with a chance of 97 in 121" in found.sentence


def test_too_few_rows_for_a_conformal_shift_are_refused():
    y, z, _ = made(30)
    assert rows_for_conformal(0.9) == 9
    fit_conformal(Rows.of_kind(y[:9], z[:9], "quantile=0.9"))
    for level, rows in ((0.9, 8), (0.1, 8), (0.95, 18)):
        with pytest.raises(InferenceRefusedError, match=f"needs at least {rows + 1} rows"):
            fit_conformal(Rows.of_kind(y[:rows], z[:rows], f"quantile={level}"))


def test_intervals_that_turn_inside_out_become_their_middle():
    y = np.linspace(-1, 1, 40)
    found = fitted_map(
        Rows.of_kind(y, np.full(40, -10.0), "interval", upper=np.full(40, 10.0), level=0.5),
        "shift",
    )
    low, high = found.transform([[0.0, 1.0], [-10.0, 10.0]]).T
    assert low[0] == high[0] == 0.5
    assert low[1] < high[1]
    assert "inward" in found.sentence


@pytest.mark.parametrize("method", ["identity", "shift", "line", "curve", "isotonic"])
def test_a_stored_map_does_the_same_and_so_does_its_sql(method, tmp_path):
    y, z, _ = made(200)
    found = recalibrate(y, z, kind="mean", methods=[method], always=True, rng=0).calibrator
    again = load(found.to_json())
    points = np.concatenate([z, [-100.0, 0.0, 1e6]])
    assert again.transform(points).tolist() == found.transform(points).tolist()
    assert again.sentence == found.sentence
    assert again.to_dict() == found.to_dict()
    (tmp_path / "calibrator.json").write_text(found.to_json())
    assert load(tmp_path / "calibrator.json").to_dict() == found.to_dict()
    rows = pa.table({"z": [*points.tolist(), None]})  # noqa: F841  # DuckDB finds it by its name
    values = duckdb.sql(f"select {found.to_sql('z')} as m from rows").fetchall()  # noqa: S608
    assert values[-1][0] is None
    assert np.array([v for (v,) in values[:-1]]) == pytest.approx(
        found.transform(points), rel=1e-12
    )


def test_a_stored_map_that_somebody_changed_is_refused():
    y, z, _ = made(60)
    found = recalibrate(
        y, z, kind="mean", methods=["isotonic"], always=True, rng=0
    ).calibrator.to_dict()
    form = found["form"]
    for change in (
        {"schema": 2},
        {"kind": "mode"},
        {"kind": "quantile", "level": 1.0},
        {"continuous_calibrator": "conformal"},
        {"upper_form": form},
        {"form": form | {"knot": form["knot"][::-1]}},
        {"form": form | {"value": form["value"][::-1]}},
        {"form": form | {"slope": -1.0}},
        {"form": form | {"knot": []}},
        {"rows": 0},
        {"seen": [1.0]},
        {"coverage": 0.9},
    ):
        with pytest.raises(InvalidStateError):
            load(json.loads(json.dumps(found | change)))


def test_the_loader_of_probability_maps_says_who_reads_it():
    y, z, _ = made(60)
    text = recalibrate(
        y, z, kind="mean", methods=["shift"], always=True, rng=0
    ).calibrator.to_json()
    with pytest.raises(InvalidStateError, match=r"recalibration\.load"):
        load_of_probabilities(text)
