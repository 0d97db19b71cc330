"""Calibration errors of continuous outcomes: those of probabilities, on other residuals."""

import numpy as np
import pytest
from scipy.optimize import linprog

import calibrant as cal
from calibrant.catalogue import CATALOGUE
from calibrant.data.rows import Rows
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inference.calibration_error import MEASURES, calibration_error
from calibrant.kinds import Expectile, Mean, Quantile

RNG = np.random.default_rng(5)


def made(size=60, rng=RNG):
    z = np.round(rng.normal(20, 6, size), 1)
    return z + rng.gumbel(0, 4, size), z


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_for_outcomes_0_and_1_in_the_range_0_to_1_nothing_changes(measure, weighted):
    p = np.round(RNG.random(300), 2)
    y = (RNG.random(300) < p**1.3).astype(float)
    weight = RNG.gamma(2, 1, 300) if weighted else None
    binary = CATALOGUE[measure].function(y, p, sample_weight=weight)
    real = calibration_error(y, p, measure=measure, range=(0, 1), sample_weight=weight)
    # Bins of rows and of levels add up in another order.
    near = pytest.approx(binary, rel=1e-13)
    assert real == (near if measure == "binned_calibration_error" else float(binary))


def smooth_by_program(position, residual_mass):
    """Maximise sum w_i c_i over |w| <= 1 and slopes of at most 1, place by place."""
    at, level = np.unique(position, return_inverse=True)
    total = np.bincount(level, residual_mass)
    rows, limits = [], []
    for i in range(at.size - 1):
        row = np.zeros(at.size)
        row[i], row[i + 1] = 1, -1
        rows += [row, -row]
        limits += [at[i + 1] - at[i]] * 2
    found = linprog(-total, A_ub=np.array(rows), b_ub=np.array(limits), bounds=[(-1, 1)] * at.size)
    return -found.fun


@pytest.mark.parametrize("kind", ["mean", "quantile=0.9", "quantile=0.25", "expectile=0.8"])
@pytest.mark.parametrize("bounds", [None, (-20, 90)])
def test_the_smooth_error_solves_the_linear_program_of_the_residual_masses(kind, bounds):
    y, z = made()
    forecasts = Rows.of_kind(y, z, kind, range_=bounds)
    low, high = bounds or (z.min(), z.max())
    residual = forecasts.kind.residuals(z, y)
    expected = smooth_by_program((z - low) / (high - low), residual / y.size)
    assert calibration_error(y, z, kind=kind, range=bounds) == pytest.approx(expected, abs=1e-9)


def test_squared_errors_are_in_squared_units_and_others_in_units():
    y, z = made(400)
    for measure in MEASURES:
        once = calibration_error(y, z, measure=measure)
        thousandfold = calibration_error(1000 * y, 1000 * z, measure=measure)
        power = CATALOGUE[measure].power()
        assert thousandfold == pytest.approx(once * 1000**power, rel=1e-9), measure


def test_residuals_are_minus_identification_functions():
    y, z = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    assert Mean().residuals(z, y).tolist() == [-1, 0, 1]
    assert Quantile(0.75).residuals(z, y).tolist() == [-0.25, -0.25, 0.75]
    assert Expectile(0.75).residuals(z, y).tolist() == pytest.approx([-0.5, 0, 1.5])


@pytest.mark.parametrize("kind", [Mean(), Quantile(0.3), Quantile(0.9), Expectile(0.8)])
def test_the_best_constant_has_the_least_loss(kind):
    rng = np.random.default_rng(1)
    y, weight = rng.gamma(2, 3, 41), rng.integers(1, 5, 41).astype(float)
    best = kind.best(y, weight)
    losses = [weight @ kind.losses(np.full(41, best + step), y) for step in np.linspace(-5, 5, 201)]
    assert weight @ kind.losses(np.full(41, best), y) <= min(losses) + 1e-9


def test_the_expectile_of_one_half_is_the_mean():
    y, z = made()
    for measure in MEASURES:
        mean = calibration_error(y, z, measure=measure)
        half = calibration_error(y, z, kind="expectile=0.5", measure=measure)
        assert half == pytest.approx(mean, rel=1e-12)
    assert Expectile(0.5).best(y, np.ones(y.size)) == pytest.approx(y.mean())


def test_rows_in_any_order_give_the_same_error():
    y, z = made(500)
    order = RNG.permutation(500)
    for kind in ("mean", "quantile=0.9"):
        first = calibration_error(y, z, kind=kind)
        assert calibration_error(y[order], z[order], kind=kind) == pytest.approx(first, rel=1e-12)


def test_intervals_are_judged_by_their_width():
    y = np.array([0.0, 5.0, 10.0, 30.0])
    low, high = y - np.array([1, 1, 9, 9]), y + np.array([1, -0.5, 9, 9])
    error = calibration_error(y, low, kind="interval", upper=high, level=0.5)
    assert error.witness.sentence == (
        "intervals of width between 2.00 and 18.00 are too wide "
        "(100 % of outcomes inside, 50 % promised, 3 rows)"
    )


def test_a_witness_is_a_function_of_the_forecast_and_attains_the_value():
    y, z = made(300)
    error = calibration_error(y, z)
    attained = float(np.mean(error.witness(z) * (y - z)))
    assert attained == pytest.approx(float(error), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0], [1.0]), {"kind": "quantile"}, "needs its level"),
        (([1.0], [1.0]), {"kind": "quantile=90"}, "0.9"),
        (([1.0], [1.0]), {"kind": "average"}, "kind must be one of"),
        (([1.0], [1.0]), {"kind": "interval"}, "both ends"),
        (([1.0], [2.0]), {"kind": "interval", "upper": [1.0], "level": 0.9}, "lower end"),
        (([1.0], [0.0]), {"kind": "interval", "upper": [1.0]}, "level=0.9"),
        (([1.0], [1.0]), {"range": (2, 1)}, "low < high"),
        (([1.0], [1.0]), {"range": (2, 3)}, "within the range 2 to 3"),
        (([1.0, np.nan], [1.0, 1.0]), {}, "missing"),
        (([1.0, np.inf], [1.0, 1.0]), {}, "finite"),
        (([1.0, 2.0], [1.0]), {}, "one entry per row"),
        ((["a", "b"], [1.0, 2.0]), {}, "must hold numbers"),
        (([], []), {}, "at least one row"),
        (([1.0], [1.0]), {"measure": "auc"}, "measure must be one of"),
        (([1.0], [1.0]), {"sample_weight": [-1.0]}, "negative"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, options, message):
    with pytest.raises((InvalidForecastsError, InvalidOptionError)) as error:
        calibration_error(*arguments, **options)
    assert message in str(error.value)


def test_rows_without_weight_do_not_count():
    y, z = made(50)
    weight = np.ones(50)
    weight[:10] = 0
    kept = calibration_error(y[10:], z[10:], range=(-50, 150))
    weighted = calibration_error(y, z, range=(-50, 150), sample_weight=weight)
    assert weighted == pytest.approx(kept, rel=1e-12)


def test_it_is_seen_from_the_front_door():
    assert cal.calibration_error is calibration_error


@pytest.mark.parametrize("kind", ["mean", "median", "quantile=0.9", "expectile=0.8", "interval"])
def test_rows_without_weight_are_no_rows(kind):
    rng = np.random.default_rng(5)
    z = rng.normal(20, 5, 200)
    y, weight = z + rng.normal(0, 3, 200), np.repeat([1.0, 0.0], [150, 50])
    z[199], y[198] = 1e6, -1e6  # far outside, and of no weight
    ends = {"upper": z + 2 + rng.random(200), "level": 0.8} if kind == "interval" else {}
    seen = {name: end[:150] for name, end in ends.items() if name == "upper"}
    for measure in MEASURES:
        asked = {"kind": kind, "measure": measure}
        held = calibration_error(y, z, sample_weight=weight, **asked, **ends)
        alone = calibration_error(y[:150], z[:150], **asked, **ends | seen)
        assert held == pytest.approx(float(alone), rel=1e-9), measure
    with_all, kept = (
        cal.audit(y[:size], np.column_stack([z, ends["upper"]])[:size] if ends else z[:size],
                  kind=kind, level=ends.get("level"), sample_weight=weight[:size], draws=99).verdict
        for size in (200, 150)
    )  # fmt: skip
    assert with_all.interval.high == pytest.approx(kept.interval.high, rel=1e-9)
    assert str(with_all) == str(kept)


@pytest.mark.parametrize("size", [1e160, 1e-160])
def test_numbers_whose_squares_are_no_numbers_are_refused(size):
    y, z = made()
    with pytest.raises(InvalidForecastsError, match=r"y_true.*squares.*units"):
        calibration_error(size * y, z)
    with pytest.raises(InvalidForecastsError, match=r"y_pred.*squares.*units"):
        calibration_error(y, size * z)


def test_text_and_dates_are_refused_by_their_name():
    y, z = made()
    with pytest.raises(
        InvalidForecastsError, match=r"y_true must hold numbers, got text such as 'a'"
    ):
        calibration_error(["a"] * y.size, z)
    with pytest.raises(InvalidForecastsError, match="y_true must be numbers, got type datetime64"):
        calibration_error(np.full(y.size, "2026-01-01", "M8[D]"), z)


def test_a_level_without_intervals_is_refused():
    y, z = made()
    with pytest.raises(InvalidOptionError, match="level is for intervals"):
        calibration_error(y, z, level=0.9)
    with pytest.raises(InvalidOptionError, match="level is for intervals"):
        cal.audit(y, z, kind="quantile=0.9", level=0.8)


@pytest.mark.parametrize("kind", [0.9, ("mean",), b"mean"])
def test_a_kind_that_is_no_name_is_refused(kind):
    y, z = made()
    with pytest.raises(InvalidOptionError, match="kind must be a name"):
        cal.audit(y, z, kind=kind)
