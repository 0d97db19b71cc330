"""Each kind of forecast, from its definition: residuals, losses, best constants, bets, names."""

import json
import pickle
import re
from importlib.resources import files

import numpy as np
import pytest
from scipy.optimize import brentq

from calibrant.data.rows import Rows
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.kinds import (
    BINARY,
    NAMES,
    UNIT,
    Binary,
    Expectile,
    Interval,
    Mean,
    Quantile,
    Scale,
    kind_named,
    read_kind,
)

LEVELS = (0.1, 0.25, 0.5, 0.9)
OF_NUMBERS = (Mean(), *map(Expectile, LEVELS))
OF_SHARES = tuple(map(Quantile, LEVELS))
KINDS = (BINARY, *OF_NUMBERS, *OF_SHARES)
# A small distribution: values that outcomes take, and how likely each of them is.
VALUES = np.array([-2.0, 0.5, 1.0, 4.0, 7.0])
CHANCES = np.array([0.15, 0.3, 0.1, 0.25, 0.2])
EVENTS, CHANCE_OF_EVENT = np.array([0.0, 1.0]), np.array([0.7, 0.3])
LOW, HIGH = -5.0, 9.0


def name_of(kind):
    return getattr(kind, "name", kind)


def law_of_outcomes(kind):
    return (EVENTS, CHANCE_OF_EVENT) if kind == BINARY else (VALUES, CHANCES)


def residual_by_definition(kind, z, y):
    """Minus the identification function of each kind, row by row."""
    if isinstance(kind, Expectile):
        return 2 * (kind.level if y > z else 1 - kind.level) * (y - z)
    if isinstance(kind, Quantile):
        return kind.level - (1.0 if y <= z else 0.0)
    return y - z


def right_forecast(kind):
    """The forecast whose residual has mean zero; of a quantile, the smallest that is enough."""
    values, chances = law_of_outcomes(kind)
    if isinstance(kind, Quantile):
        return next(
            value for value in values if chances[values <= value].sum() >= kind.level - 1e-12
        )

    def mean_residual(z):
        each = [residual_by_definition(kind, z, y) for y in values]
        return float(chances @ np.array(each))

    return brentq(mean_residual, values[0], values[-1], xtol=1e-14)


def weighed_rows(kind, z, values, chances, range_=None):
    return Rows.of_kind(values, np.full(values.size, z), kind, range_=range_, sample_weight=chances)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_residuals_are_positive_where_forecasts_are_too_low(kind):
    values = law_of_outcomes(kind)[0]
    grid = np.linspace(values[0], values[-1], 13)
    z, y = (column.ravel() for column in np.meshgrid(np.append(grid, values), values))
    expected = [residual_by_definition(kind, *row) for row in zip(z, y, strict=True)]
    assert kind.residuals(z, y) == pytest.approx(expected, abs=1e-14)


def test_residuals_of_intervals_are_the_level_less_whether_they_hold_the_outcome():
    low, high = np.array([0.0, 0.0, 0.0, 0.0, 0.0]), np.full(5, 2.0)
    y = np.array([-0.1, 0.0, 1.0, 2.0, 2.1])
    found = Interval(0.8).residuals(low, y, high)
    assert found == pytest.approx([0.8, -0.2, -0.2, -0.2, 0.8])


def test_at_the_level_one_half_expectiles_are_means_and_losses_half_the_distance():
    z, y = np.linspace(-3, 3, 7), np.linspace(2, -4, 7)
    assert np.array_equal(Expectile(0.5).residuals(z, y), Mean().residuals(z, y))
    assert np.array_equal(Expectile(0.5).losses(z, y), Mean().losses(z, y))
    assert Quantile(0.5).losses(z, y) == pytest.approx(np.abs(z - y) / 2)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_losses_are_least_on_average_for_the_right_forecast(kind):
    values, chances = law_of_outcomes(kind)
    grid = np.linspace(values[0] - 1, values[-1] + 1, 20_001)
    mean = np.array([chances @ kind.losses(np.full(values.size, z), values) for z in grid])
    right = right_forecast(kind)
    at_right = chances @ kind.losses(np.full(values.size, right), values)
    assert at_right <= mean.min() + 1e-12
    least = grid[mean <= mean.min() + 1e-9]
    assert least.min() - 2e-3 <= right <= least.max() + 2e-3
    # No other number does as well, unless the distribution has a gap there.
    if not isinstance(kind, Quantile):
        assert np.ptp(least) < 1e-3


@pytest.mark.parametrize("level", [0.5, 0.8])
def test_interval_scores_are_least_between_the_quantiles_that_leave_as_much_on_each_side(level):
    """Every pair of ends on a grid, for a distribution of forty numbers without ties."""
    values = np.sort(np.random.default_rng(0).gamma(2, 2, 41))
    kind, grid = Interval(level), values
    found = {
        (low, high): kind.losses(np.full(41, low), values, np.full(41, high)).mean()
        for low in grid
        for high in grid
        if low <= high
    }
    low, high = min(found, key=found.get)
    ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    assert (low, high) == tuple(ends)


def test_interval_scores_are_the_width_and_a_penalty_for_what_lies_outside():
    low, high, y = np.array([1.0, 1.0, 1.0]), np.array([3.0, 3.0, 3.0]), np.array([2.0, 0.5, 4.0])
    # Winkler's: 2 / (1 - level) times the distance outside.
    assert Interval(0.9).losses(low, y, high) == pytest.approx([2, 2 + 20 * 0.5, 2 + 20 * 1])


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_the_best_constant_has_mean_residual_zero(kind):
    values, chances = law_of_outcomes(kind)
    shuffled = np.random.default_rng(1).permutation(values.size)
    best = kind.best(values[shuffled], chances[shuffled])
    assert best == pytest.approx(right_forecast(kind), abs=1e-12)
    # Weights have no unit, and those of zero have no say.
    more = kind.best(np.append(values, 99.0), np.append(7 * chances, 0.0))
    assert more == pytest.approx(best, abs=1e-12)


def test_no_single_number_is_the_best_interval():
    with pytest.raises(InvalidOptionError, match="no single number"):
        Interval(0.9).best(VALUES, CHANCES)


def test_a_quantile_that_the_weights_reach_exactly_is_not_lost_to_rounding():
    outcome = np.arange(10.0)
    assert Quantile(0.9).best(outcome, np.full(10, 0.1)) == 8
    assert Quantile(0.3).best(outcome, np.full(10, 1 / 3)) == 2


def bet_and_mean(kind, rows):
    prediction, bet = kind.bets(rows)
    assert np.all((bet >= 0) & (bet <= 1))
    assert np.all((prediction >= 0) & (prediction <= 1))
    return prediction, bet


@pytest.mark.parametrize("kind", OF_NUMBERS, ids=name_of)
def test_bets_of_numbers_have_their_mean_where_the_forecast_is_right(kind):
    rows = weighed_rows(kind, right_forecast(kind), VALUES, CHANCES, (LOW, HIGH))
    prediction, bet = bet_and_mean(kind, rows)
    assert np.ptp(prediction) == 0
    assert CHANCES @ bet == pytest.approx(prediction[0], abs=1e-12)
    # Where it is too low by two, the bets exceed their mean.
    rows = weighed_rows(kind, right_forecast(kind) - 2, VALUES, CHANCES, (LOW, HIGH))
    prediction, bet = bet_and_mean(kind, rows)
    assert CHANCES @ bet > prediction[0] + 0.05


def test_bets_on_a_mean_are_outcomes_scaled_to_the_range():
    rows = Rows.of_kind([-5.0, 2.0, 9.0], [2.0, 2.0, 2.0], range_=(LOW, HIGH))
    prediction, bet = Mean().bets(rows)
    assert prediction == pytest.approx([0.5] * 3)
    assert bet == pytest.approx([0, 0.5, 1])


@pytest.mark.parametrize("kind", OF_NUMBERS, ids=name_of)
def test_bets_of_numbers_need_the_range(kind):
    with pytest.raises(InvalidOptionError, match="range of the outcomes"):
        kind.bets(weighed_rows(kind, 1.0, VALUES, CHANCES))


def test_bets_of_shares_have_their_mean_where_the_forecast_is_right():
    """A distribution whose quantile is exact: 45 % of it lie at or below one half."""
    kind = Quantile(0.45)
    prediction, bet = bet_and_mean(kind, weighed_rows(kind, 0.5, VALUES, CHANCES))
    assert prediction.tolist() == [0.45] * 5
    assert CHANCES @ bet == pytest.approx(0.45, abs=1e-15)
    kind = Interval(0.65)  # from 0.5 to 4
    rows = Rows.of_kind(VALUES, np.full(5, 0.5), kind, upper=np.full(5, 4.0), sample_weight=CHANCES)
    prediction, bet = bet_and_mean(kind, rows)
    assert prediction.tolist() == [0.65] * 5
    assert CHANCES @ bet == pytest.approx(0.65, abs=1e-15)


def test_bets_on_probabilities_are_outcomes():
    rows = Rows.read(EVENTS, [0.3, 0.3], CHANCE_OF_EVENT)
    prediction, bet = bet_and_mean(BINARY, rows)
    assert CHANCE_OF_EVENT @ bet == pytest.approx(prediction[0], abs=1e-15)


@pytest.mark.parametrize(
    ("kind", "extent", "expected"),
    [
        (Mean(), 14.0, 0.28),
        (Expectile(0.8), 14.0, 0.28),
        (Quantile(0.5), 1.0, 0.02),
        (Quantile(0.9), 1.0, 0.01),
        (Quantile(0.01), 1.0, 0.001),
        (Interval(0.5), 1.0, 0.02),
        (Interval(0.95), 1.0, 0.005),
        (BINARY, 0.4, 0.02),
        (BINARY, 0.03, 0.003),
    ],
    ids=name_of,
)
def test_the_default_tolerance_is_2_per_cent_or_a_tenth_of_what_is_rarer(kind, extent, expected):
    assert kind.default_tolerance(extent) == pytest.approx(expected)


def test_the_extent_is_the_range_of_outcomes_or_of_the_middle_of_them():
    y = np.arange(1.0, 101.0)
    for kind in OF_NUMBERS:
        assert kind.extent(Rows.of_kind(y, y, kind, range_=(0, 200))) == 200
        # Five of a hundred lie below the middle 90 %, five above it.
        assert kind.extent(Rows.of_kind(y, y, kind)) == 95 - 5
        rare = np.append(np.zeros(99), 10.0)
        spread = np.sqrt(0.01 * 0.99) * 10
        assert kind.extent(Rows.of_kind(rare, rare, kind)) == pytest.approx(spread)
        with pytest.raises(InvalidForecastsError, match="must differ"):
            kind.extent(Rows.of_kind([2.0, 2.0], [1.0, 3.0], kind))
    for kind in OF_SHARES:
        assert kind.extent(Rows.of_kind(y, y, kind)) == 1
    rows = Rows.read([0, 0, 0, 1], [0.3] * 4)
    assert BINARY.extent(rows) == 0.25
    assert BINARY.extent(Rows.read([1, 1], [0.3] * 2)) == 1 / 4


def test_what_was_forecast_stands_beside_what_was_observed():
    y, z, w = np.array([1.0, 2.0, 6.0]), np.array([2.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0])
    mean = Rows.of_kind(y, z, "mean", sample_weight=w)
    assert mean.kind.forecast_and_observed(mean) == pytest.approx((2.5, 2.75))
    quantile = Rows.of_kind(y, z, "quantile=0.9", sample_weight=w)
    assert quantile.kind.forecast_and_observed(quantile) == pytest.approx((0.9, 0.75))
    interval = Rows.of_kind(y, z, upper=z + 1, level=0.8, sample_weight=w)
    assert interval.kind.forecast_and_observed(interval) == pytest.approx((0.8, 0.5))
    # The one shift of all forecasts after which their residuals have mean zero.
    expectile = Rows.of_kind(y, z, "expectile=0.8", sample_weight=w)
    forecast, observed = expectile.kind.forecast_and_observed(expectile)
    moved = Expectile(0.8).residuals(z + observed - forecast, y)
    assert forecast == pytest.approx(2.5)
    assert w @ moved == pytest.approx(0, abs=1e-12)
    binary = Rows.read([0, 1, 1], [0.2, 0.4, 0.8], w)
    assert BINARY.forecast_and_observed(binary) == pytest.approx((0.45, 0.75))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("binary", Binary()),
        ("mean", Mean()),
        (" mean ", Mean()),
        ("median", Quantile(0.5)),
        ("quantile=0.9", Quantile(0.9)),
        ("quantile= 0.25", Quantile(0.25)),
        ("expectile=0.8", Expectile(0.8)),
        (Quantile(0.7), Quantile(0.7)),
    ],
    ids=str,
)
def test_kinds_are_read_by_name(name, kind):
    assert read_kind(name) == kind


@pytest.mark.parametrize("kind", [*KINDS, Interval(0.8)], ids=name_of)
def test_kinds_are_values(kind):
    again = pickle.loads(pickle.dumps(kind))  # noqa: S301
    assert again == kind
    assert hash(again) == hash(kind)
    assert " at 0x" not in repr(kind)


def test_names_lead_back_to_their_kinds():
    for kind in KINDS:
        assert read_kind(kind.name) == kind
    assert read_kind("interval", 0.9) == Interval(0.9)
    assert Interval(0.9).name == "interval"
    assert kind_named("quantile", 0.9) == Quantile(0.9)
    assert kind_named("expectile", 0.2) == Expectile(0.2)
    assert kind_named("interval", 0.8) == Interval(0.8)
    assert kind_named("mean", None) == Mean()


@pytest.mark.parametrize(
    ("name", "level", "message"),
    [
        ("mode", None, "must be one of 'mean', 'median', 'quantile=0.9', 'expectile=0.8'"),
        ("mean=2", None, "must be one of"),
        ("quantile", None, "a quantile needs its level"),
        ("quantile=", None, "write quantile=0.9"),
        ("quantile=high", None, "a quantile needs its level"),
        ("expectile=x", None, "an expectile needs its level"),
        ("quantile=0", None, "lies between 0 and 1"),
        ("quantile=1", None, "lies between 0 and 1"),
        ("quantile=90", None, "90 % is 0.9"),
        ("expectile=-0.5", None, "lies between 0 and 1"),
        ("quantile=nan", None, "lies between 0 and 1"),
        ("interval", None, "pass level=0.9"),
        ("interval", 1.0, "level must lie between 0 and 1"),
        ("interval", 0.0, "level must lie between 0 and 1"),
        ("interval", 90, "level must lie between 0 and 1"),
        ("quantile=0.9", 0.9, "level is for intervals"),
        ("mean", 0.5, "level is for intervals"),
        (3, None, "must be a name such as 'mean'"),
        (None, None, "must be a name such as 'mean'"),
    ],
)
def test_other_names_are_refused_with_a_way_out(name, level, message):
    with pytest.raises(InvalidOptionError, match=message):
        read_kind(name, level)


@pytest.mark.parametrize("kind", [*KINDS, Interval(0.8)], ids=name_of)
def test_words_say_in_which_direction_forecasts_are_off(kind):
    """More outcomes below a quantile than promised: it is too high. More inside: too wide."""
    if isinstance(kind, Interval):
        expected = ("too wide", "too narrow")
    elif isinstance(kind, Quantile):
        expected = ("too high", "too low")
    else:
        expected = ("too low", "too high")
    assert (kind.too(True), kind.too(False)) == expected


@pytest.mark.parametrize("kind", [*OF_NUMBERS, *OF_SHARES], ids=name_of)
@pytest.mark.parametrize("shift", [-3.0, 3.0])
def test_the_direction_follows_from_what_was_forecast_and_observed(kind, shift):
    rng = np.random.default_rng(4)
    y = rng.normal(0, 1, 2000)
    z = kind.best(y, np.ones(2000)) + shift
    forecast, observed = kind.forecast_and_observed(Rows.of_kind(y, np.full(2000, z), kind))
    assert kind.too(observed > forecast) == ("too high" if shift > 0 else "too low")


def test_intervals_that_hold_too_few_outcomes_are_too_narrow():
    y = np.random.default_rng(4).normal(0, 1, 2000)
    for half_width, message in ((0.5, "too narrow"), (3.0, "too wide")):
        rows = Rows.of_kind(
            y, np.full(2000, -half_width), upper=np.full(2000, half_width), level=0.8
        )
        forecast, observed = rows.kind.forecast_and_observed(rows)
        assert rows.kind.too(observed > forecast) == message
        assert (rows.residual.mean() > 0) == (message == "too narrow")


def test_words_have_the_units_of_the_kind():
    assert BINARY.words.amount(0.05) == Quantile(0.9).words.amount(0.05) == "5 points"
    assert Mean().words.amount(0.05) == "0.05"
    assert Mean().words.ratio == "A/E"
    assert BINARY.words.ratio == "O/E"
    assert Quantile(0.9).words.ratio is None
    message = Quantile(0.9).words.forecast_and_observed(0.9, 0.67)
    assert message == "67 % of outcomes at or below, 90 % promised"
    assert Interval(0.9).words.forecast_and_observed(0.9, 0.67).startswith("67 % of outcomes in")
    assert Expectile(0.8).words.forecast_and_observed(2, 3) == (
        "mean forecast 2.00, observed expectile 3.00"
    )


def test_only_shares_have_a_chance_and_only_numbers_have_units():
    for kind in (*OF_NUMBERS, BINARY):
        assert kind.chance is None
    for kind in (*OF_SHARES, Interval(0.8)):
        assert kind.chance == kind.level
        assert not kind.in_outcome_units
    assert all(kind.in_outcome_units for kind in OF_NUMBERS)
    assert [kind for kind in (*KINDS, Interval(0.8)) if kind.summed] == [BINARY]
    assert [kind for kind in (*KINDS, Interval(0.8)) if kind.has_ends] == [Interval(0.8)]


def test_a_ratio_needs_outcomes_and_forecasts_that_are_not_negative():
    positive = Rows.of_kind([0.0, 3.0], [1.0, 2.0])
    assert Mean().has_ratio(positive)
    assert not Mean().has_ratio(Rows.of_kind([-1.0, 3.0], [1.0, 2.0]))
    assert not Mean().has_ratio(Rows.of_kind([0.0, 3.0], [-1.0, 2.0]))
    assert not Mean().has_ratio(Rows.of_kind([0.0, 3.0], [0.0, 0.0]))
    assert not Quantile(0.5).has_ratio(positive)
    assert not Expectile(0.5).has_ratio(positive)
    assert BINARY.has_ratio(Rows.read([0, 1], [0.2, 0.4]))


@pytest.mark.parametrize("kind", OF_NUMBERS, ids=name_of)
def test_in_a_known_range_no_residual_exceeds_the_unit(kind):
    z, y = (column.ravel() for column in np.meshgrid([LOW, 0.0, HIGH], [LOW, 1.0, HIGH]))
    rows = Rows.of_kind(y, z, kind, range_=(LOW, HIGH))
    assert np.abs(rows.scaled_residual).max() == pytest.approx(1)
    assert (rows.scale.start, rows.scale.end, rows.scale.bounded) == (LOW, HIGH, True)


def test_without_a_range_the_largest_residual_is_the_unit():
    rows = Rows.of_kind([1.0, 5.0, 2.0], [2.0, 2.0, 4.0])
    assert rows.scale == Scale(2.0, 4.0, 3.0, bounded=False)
    assert rows.position.tolist() == [0, 0, 1]
    # Weightless rows are no rows, and right forecasts are measured by how much they differ.
    rows = Rows.of_kind([1.0, 5.0, 99.0], [1.0, 5.0, 2.0], sample_weight=[1.0, 1.0, 0.0])
    assert rows.scale == Scale(1.0, 5.0, 4.0, bounded=False)
    assert Rows.read([0, 1], [0.5, 0.5]).scale is UNIT


def test_intervals_are_placed_by_their_width_and_have_no_range():
    rows = Rows.of_kind([1.0, 5.0], [0.0, 3.0], upper=[2.0, 7.0], level=0.5)
    assert (rows.scale.start, rows.scale.end) == (2.0, 4.0)
    assert rows.scale.unit == 1
    with pytest.raises(InvalidOptionError, match="range is for"):
        Rows.of_kind([1.0], [0.0], upper=[2.0], level=0.5, range_=(0, 9))


def test_the_schema_names_every_kind():
    schema = files("calibrant.report").joinpath("schema.json").read_text(encoding="utf-8")
    listed = re.search(r'"name": \{"enum": (\[[^]]*"quantile"[^]]*\])', schema)
    assert set(json.loads(listed[1])) == {*NAMES, "multiclass"}
