"""The three null laws: draws have mean zero and the variance that is stated, level by level."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.data.rows import Rows
from calibrant.errors import CalibrantError
from calibrant.inference import laws
from calibrant.inference.evidence import Evidence
from calibrant.inference.laws import (
    FORECAST_LAW,
    ForecastLaw,
    KeptResiduals,
    LevelLaw,
    law_of,
)
from calibrant.joint import Joint
from calibrant.kinds import BINARY, Expectile, Interval, Mean, Quantile

DRAWS = 40_000
# The variance of so many draws is off by 5 % in six standard errors, if their kurtosis is ten.
CLOSE = 0.05
ROWS = 60


def columns(seed=0):
    """Rows of three forecasts, skewed outcomes and uneven weights."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, ROWS)
    return level, rng.gamma(1, 2, ROWS), rng.choice([0.5, 1.0, 4.0], ROWS)


def rows_of(kind, weighted):
    level, outcome, weight = columns()
    weight = weight if weighted else None
    if kind == "binary":
        p = np.array([0.05, 0.4, 0.8])[level]
        return Rows.read((outcome > 2).astype(int), p, weight)
    if kind == "interval":
        return Rows.of_kind(outcome, np.zeros(ROWS), upper=1.0 + level, level=0.7,
                            sample_weight=weight)  # fmt: skip
    range_ = (0, 30) if kind == "mean in a range" else None
    return Rows.of_kind(
        outcome, 1.0 + level, kind.partition(" ")[0], range_=range_, sample_weight=weight
    )


def masses_that_vary(kind, rows):
    """Values that the residual mass of each row can take, and how likely each is, by definition."""
    share = rows.weights / rows.weights.sum()
    if kind == "binary":
        p = rows.prediction
        return np.stack([share * (1 - p), -share * p]), np.stack([p, 1 - p])
    if kind.startswith(("quantile", "interval")):
        level = 0.7 if kind == "interval" else float(kind.partition("=")[2])
        chance = np.full(ROWS, level)
        return np.stack([share * (level - 1), share * level]), np.stack([chance, 1 - chance])
    # Two numbers whose mean, variance and third moment are 0, 1 and 1 (Mammen 1993).
    up, down = (1 + 5**0.5) / 2, (1 - 5**0.5) / 2
    mass = share * rows.residual / rows.scale.unit
    chance = np.full(ROWS, (5**0.5 - 1) / (2 * 5**0.5))
    return np.stack([up * mass, down * mass]), np.stack([chance, 1 - chance])


def moment_by_level(kind, rows, power):
    """Central moments of sums add up for the second and the third."""
    values, chances = masses_that_vary(kind, rows)
    assert (values * chances).sum(axis=0) == pytest.approx(np.zeros(ROWS), abs=1e-15)
    each = (chances * values**power).sum(axis=0)
    return np.array(
        [each[rows.coordinate == coordinate].sum() for coordinate in np.unique(rows.coordinate)]
    )


def drawn(evidence, draws=DRAWS, seed=1):
    found = list(evidence.law.draw(evidence, draws, np.random.default_rng(seed)))
    return np.concatenate(found)


def check_moments(masses, variance):
    error = np.sqrt(variance / len(masses))
    assert np.all(np.abs(masses.mean(axis=0)) < 4.5 * error)
    assert masses.var(axis=0) == pytest.approx(variance, rel=CLOSE)


KINDS = ("binary", "mean", "mean in a range", "expectile=0.8", "quantile=0.9", "quantile=0.25",
         "interval")  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_mean_zero_and_the_variance_of_their_law(kind, weighted):
    rows = rows_of(kind, weighted)
    evidence = Evidence.of_rows(rows)
    variance = moment_by_level(kind, rows, 2)
    assert evidence.law.variance(evidence) == pytest.approx(variance, rel=1e-12)
    assert np.array_equal(evidence.spread_by_level(), evidence.law.variance(evidence))
    masses = drawn(evidence)
    assert masses.shape == (DRAWS, 3)
    check_moments(masses, variance)
    # Levels are independent.
    across = np.corrcoef(masses.T)[np.triu_indices(3, 1)]
    assert np.abs(across).max() < 4.5 / DRAWS**0.5


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_as_skewed_as_their_law(kind):
    rows = rows_of(kind, weighted=True)
    evidence = Evidence.of_rows(rows)
    third = moment_by_level(kind, rows, 3)
    deviation = np.sqrt(moment_by_level(kind, rows, 2))
    found = (drawn(evidence) ** 3).mean(axis=0)
    assert found / deviation**3 == pytest.approx(third / deviation**3, abs=0.1)


def test_the_level_law_does_not_look_at_the_outcomes():
    right, wrong = (
        Evidence.of_rows(Rows.of_kind(outcome, np.ones(ROWS), "quantile=0.9"))
        for outcome in (np.linspace(0, 1.1, ROWS), np.full(ROWS, 9.0))
    )
    assert np.array_equal(drawn(right, 99), drawn(wrong, 99))
    assert right.law.variance(right) == wrong.law.variance(wrong)
    # What the rows show differs.
    assert right.law.spreads(right)[0] != pytest.approx(wrong.law.spreads(wrong)[0])


def test_the_forecast_law_does_not_look_at_the_outcomes():
    p = np.repeat([0.2, 0.6], 30)
    none, all_ = (Evidence.of_rows(Rows.read(np.full(60, y), p)) for y in (0, 1))
    assert np.array_equal(drawn(none, 99), drawn(all_, 99))


@pytest.mark.parametrize("kind", KINDS)
def test_spreads_are_squared_residuals_times_squared_shares(kind):
    rows = rows_of(kind, weighted=True)
    evidence = Evidence.of_rows(rows)
    share = rows.weights / rows.weights.sum()
    mass = share * rows.residual / rows.scale.unit
    coordinates = np.unique(rows.coordinate)
    squares, cross, total = evidence.law.spreads(evidence)
    assert squares == pytest.approx(
        [(mass[rows.coordinate == at] ** 2).sum() for at in coordinates]
    )
    assert cross == pytest.approx(
        [(mass * share)[rows.coordinate == at].sum() for at in coordinates]
    )
    assert total == pytest.approx(share @ share)


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_rows_are_drawn_by_the_level_with_the_same_variance(kind, monkeypatch):
    rows = rows_of(kind, weighted=True)
    evidence = Evidence.of_rows(rows)
    monkeypatch.setattr(laws, "MOST_OUTCOMES_DRAWN", 100)
    assert not evidence.exact(DRAWS)
    check_moments(drawn(evidence), moment_by_level(kind, rows, 2))


@pytest.mark.parametrize(
    ("kind", "exact"),
    [
        ("binary", True),
        ("quantile=0.9", True),
        ("interval", True),
        ("mean", False),
        ("mean in a range", False),
        ("expectile=0.8", False),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_of_outcomes_are_exact_and_kept_residuals_are_not(kind, exact, weighted, monkeypatch):
    evidence = Evidence.of_rows(rows_of(kind, weighted))
    assert evidence.exact(999) is evidence.law.exact(evidence, 999) is exact
    clustered = Evidence.of_rows(rows_of(kind, weighted), np.arange(ROWS) // 5)
    assert clustered.exact(999) is False
    monkeypatch.setattr(laws, "MOST_OUTCOMES_DRAWN", 100)
    # Rows of one level that weigh the same are one binomial number, however many they are.
    assert evidence.exact(999) is (kind == "binary" and not weighted)


def test_sums_of_uneven_weights_are_not_exact():
    """Of rows that were summed up nobody knows which weight the events had."""
    rows = rows_of("binary", weighted=True)
    evidence = Evidence.of_joint(Joint.from_rows(rows))
    assert evidence.parts is None
    assert not evidence.exact(99)
    variance = evidence.law.variance(evidence)
    assert variance == pytest.approx(moment_by_level("binary", rows, 2), rel=1e-12)
    check_moments(drawn(evidence), variance)


@pytest.mark.parametrize(
    ("kind", "bounded", "law"),
    [
        (BINARY, True, ForecastLaw),
        (Mean(), True, KeptResiduals(bounded=True)),
        (Mean(), False, KeptResiduals(bounded=False)),
        (Expectile(0.8), False, KeptResiduals(bounded=False)),
        (Quantile(0.9), False, LevelLaw(chance=0.9)),
        (Interval(0.7), False, LevelLaw(chance=0.7)),
    ],
)
def test_each_kind_has_its_law(kind, bounded, law):
    found = law_of(kind, bounded=bounded)
    assert found is FORECAST_LAW if law is ForecastLaw else found == law


@pytest.mark.parametrize("kind", KINDS)
def test_multipliers_of_clusters_have_mean_zero_and_variance_one(kind):
    law = Evidence.of_rows(rows_of(kind, weighted=False)).law
    numbers = law.multipliers(np.random.default_rng(2), (400, 500))
    assert numbers.shape == (400, 500)
    moments = [float((numbers**power).mean()) for power in (1, 2, 3)]
    # Signs of coins are symmetric; other residuals keep their skewness.
    assert moments == pytest.approx([0, 1, 0 if kind == "binary" else 1], abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_vary_by_the_squared_sums_of_their_residuals(kind):
    rows, cluster = rows_of(kind, weighted=True), np.arange(ROWS) // 4
    evidence = Evidence.of_rows(rows, cluster)
    share = rows.weights / rows.weights.sum()
    mass = share * rows.residual / rows.scale.unit
    variance = np.array(
        [
            (np.bincount(cluster[rows.coordinate == at], mass[rows.coordinate == at]) ** 2).sum()
            for at in np.unique(rows.coordinate)
        ]
    )
    missing = evidence.law.missing_spread(evidence)
    if kind == "binary":
        # Outcomes must vary by more than what was seen, where few events happened.
        short = moment_by_level(kind, rows, 2).sum() - (mass**2).sum()
        assert missing.sum() == pytest.approx(max(0.0, short) * evidence.design_effect)
        variance = variance + missing
    else:
        assert missing is None
    masses = np.concatenate(list(evidence.null_residual_masses(DRAWS, np.random.default_rng(3))))
    check_moments(masses, variance)


def test_few_rows_without_bounds_have_students_noise():
    z = np.arange(5.0)
    unbounded = Evidence.of_rows(Rows.of_kind(z + 1, z))
    bounded = Evidence.of_rows(Rows.of_kind(z + 1, z, range_=(0, 9)))
    # Student's quantile of four degrees of freedom over the normal one.
    assert unbounded.widening(0.05) == pytest.approx(2.7764451 / 1.9599640)
    assert bounded.widening(0.05) == 1
    for kind in ("binary", "quantile=0.9", "interval"):
        assert Evidence.of_rows(rows_of(kind, weighted=True)).widening(0.05) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_levels_keep_the_variance(kind):
    rng = np.random.default_rng(5)
    coordinate, outcome = rng.uniform(0.1, 0.9, 500), rng.random(500)
    if kind == "binary":
        rows = Rows.read((outcome < coordinate).astype(int), coordinate)
    elif kind == "interval":
        rows = Rows.of_kind(outcome, np.zeros(500), upper=coordinate, level=0.7)
    else:
        rows = Rows.of_kind(outcome, coordinate, kind.partition(" ")[0])
    evidence = Evidence.of_rows(rows)
    coarse = evidence.on_cells(16)
    assert len(coarse.joint) <= 17 < len(evidence.joint)
    fine, rough = (float(one.law.variance(one).sum()) for one in (evidence, coarse))
    # Outcomes of a cell's mean forecast vary by more, as much as forecasts of the cell differ.
    more = (1 / 16) ** 2 / 4 / 500 if kind == "binary" else 0.0
    assert fine * (1 - 1e-12) <= rough <= fine * (1 + 1e-12) + more
    check_moments(drawn(coarse, 20_000), coarse.law.variance(coarse))


def test_mean_outcomes_are_not_binary():
    with pytest.raises(CalibrantError, match="outcomes"):
        Evidence.of_rows(Rows.read([0.2, 0.7, 0.4, 0.9], [0.5] * 4))
    Evidence.of_rows(Rows.of_kind([0.2, 0.7, 0.4, 0.9], [0.5] * 4, range_=(0, 1)))
