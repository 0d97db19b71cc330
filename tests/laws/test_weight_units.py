"""Weights have no unit: multiplied by a constant they give the same answer, sums of weights aside.

The tests walk over all public functions and estimators that take weights, as those of the order of
rows do.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantWarning
from calibrant.groups import audit_groups
from calibrant.inference.evidence import Evidence
from calibrant.inference.ratio import find_ratio
from laws.test_row_order import (
    REFUSED,
    ROWS,
    called,
    called_real,
    estimators,
    facts,
    functions,
    real_functions,
    same,
)

# Powers of two change no digit, so that even ties stay ties.
UNITS = {
    "billionths": 2.0**-30,
    "sum to one": 2.0 ** -round(np.log2(ROWS["weight"].sum())),
    "billions": 2.0**30,
}
# These change the last digits.
ROUNDED = {"billionths": 1e-9, "sum to one": 1 / ROWS["weight"].sum(), "billions": 1e9}
BESIDE = [("sample_weight",), ("sample_weight", "clusters")]
# What adds up weights and says so.
SUMS = {"weight", "weight_squares", "positives", "fingerprint"}
# What has no answer with weights is tested in test_row_order.py.
NO_ANSWER = {name for name, _ in REFUSED}
every_function = pytest.mark.parametrize(
    ("room", "name", "beside", "classes"), list(functions(BESIDE))
)
answering_function = pytest.mark.parametrize(
    ("room", "name", "beside", "classes"),
    [one for one in functions(BESIDE) if one.values[1] not in NO_ANSWER],
)
real_function = pytest.mark.parametrize(
    ("name", "kind", "beside"),
    [one for one in real_functions(BESIDE) if one.values[:2] not in REFUSED],
)
every_estimator = pytest.mark.parametrize(("room", "name", "classes"), list(estimators()))


def weighing(factor, weight=ROWS["weight"]):
    return ROWS | {"weight": weight * factor}


def without_sums(found):
    if isinstance(found, dict):
        return {key: without_sums(part) for key, part in found.items() if key not in SUMS}
    return [without_sums(part) for part in found] if isinstance(found, list) else found


@cache
def as_given(*asked, equal=False):
    weight = np.ones(ROWS["y"].size) if equal else ROWS["weight"]
    found = called(*asked[:3], weighing(1.0, weight), asked[3])
    return without_sums(facts(found))


@pytest.mark.parametrize("unit", UNITS)
@answering_function
def test_the_unit_of_the_weights_changes_nothing(room, name, beside, classes, unit):
    found = facts(called(room, name, beside, weighing(UNITS[unit]), classes))
    same(as_given(room, name, beside, classes), without_sums(found), name)


@every_function
def test_equal_weights_are_weights_of_one(room, name, beside, classes):
    found = facts(called(room, name, beside, weighing(2.0**-30, np.ones(ROWS["y"].size)), classes))
    same(as_given(room, name, beside, classes, equal=True), without_sums(found), name)


@pytest.mark.parametrize("unit", UNITS)
@real_function
def test_the_unit_of_the_weights_of_real_outcomes_changes_nothing(name, kind, beside, unit):
    first, found = (
        facts(called_real(name, kind, beside, weighing(factor))) for factor in (1.0, UNITS[unit])
    )
    same(without_sums(first), without_sums(found), name)


def moved(room, name, classes, weight, **options):
    made = getattr(import_module(room), name)(**options)
    table, label = (ROWS["P"], ROWS["label"]) if classes else (ROWS["p"], ROWS["y"])
    if name == "Multicalibrator":
        by = {"site": ROWS["site"], "age": ROWS["age"]}
        return made.fit(table, label, by, weight).transform(table, by)
    return made.fit(table, label, weight).transform(table)


@every_estimator
def test_the_unit_of_the_weights_changes_no_map(room, name, classes):
    first = moved(room, name, classes, ROWS["weight"])
    for factor in UNITS.values():
        found = moved(room, name, classes, factor * ROWS["weight"])
        np.testing.assert_allclose(found, first, rtol=0, atol=1e-13)
    for factor in ROUNDED.values():
        found = moved(room, name, classes, factor * ROWS["weight"])
        np.testing.assert_allclose(found, first, rtol=0, atol=1e-7)
    plain = moved(room, name, classes, None)
    equal = moved(room, name, classes, np.full(len(first), 1e-9))
    np.testing.assert_allclose(equal, plain, rtol=0, atol=1e-7)


@pytest.mark.parametrize("options", [{"method": "low_degree"}, {"method": "boosted"}])
def test_the_unit_of_the_weights_changes_no_other_patches(options):
    asked = "calibrant.groups", "Multicalibrator", False
    first = moved(*asked, ROWS["weight"], **options)
    for factor in UNITS.values():
        found = moved(*asked, factor * ROWS["weight"], **options)
        np.testing.assert_allclose(found, first, rtol=0, atol=1e-13)


@pytest.mark.parametrize("unit", ROUNDED)
def test_verdicts_do_not_hang_on_the_last_digits_of_weights(unit):
    by = {"site": ROWS["site"], "age": ROWS["age"]}
    found = []
    for factor in (1.0, ROUNDED[unit]):
        weight = factor * ROWS["weight"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrantWarning)
            verdict = cal.verdict(ROWS["y"], ROWS["p"], sample_weight=weight, rng=0)
            numbers = cal.classical_numbers(ROWS["y"], ROWS["p"], sample_weight=weight)
            groups = audit_groups(ROWS["y"], ROWS["p"], by, sample_weight=weight, rng=0)
        found.append((verdict, numbers, groups))
    (one, numbers, groups), (other, again, other_groups) = found
    assert (other.state, other.sentence) == (one.state, one.sentence)
    for field in ("value", "low", "high", "observed", "expected"):
        assert getattr(again.ratio, field) == pytest.approx(getattr(numbers.ratio, field))
    for mine, theirs in zip(groups, other_groups, strict=True):
        assert (theirs.label, theirs.state) == (mine.label, mine.state)
        assert (theirs.low, theirs.ratio.low) == pytest.approx((mine.low, mine.ratio.low))


def test_weights_that_sum_to_one_are_not_taken_for_equal_ones():
    """Heavy rows are the likely events: limits that ignore the weights are too narrow."""
    rng = np.random.default_rng(2)
    size = 60_000
    heavy = rng.random(size) < 0.01
    p = np.where(heavy, rng.uniform(0.3, 0.7, size), rng.uniform(1e-4, 2e-3, size))
    y = (rng.random(size) < p).astype(int)
    weight = np.where(heavy, 100.0, 1.0)
    first = find_ratio(Evidence.read(y, p, weight), 0.95)
    for factor in (1 / weight.sum(), 1e-6, 1e6):
        found = find_ratio(Evidence.read(y, p, weight * factor), 0.95)
        assert (found.low, found.high) == pytest.approx((first.low, first.high), rel=1e-9)


def test_limits_of_weighted_groups_are_those_of_their_rows():
    """Events that weigh more than other rows of their level vary more than sums by level show."""
    rng = np.random.default_rng(4)
    size = 4000
    p = rng.choice([0.05, 0.1, 0.2], size)
    y = (rng.random(size) < p).astype(int)
    weight = np.where(y == 1, rng.choice([1.0, 9.0], size), 1.0)
    site = rng.choice(["a", "b"], size)
    for group in audit_groups(y, p, {"site": site}, sample_weight=weight, rng=0):
        mine = site == group.name
        evidence = Evidence.read(y[mine], p[mine], weight[mine])
        expected = find_ratio(evidence, group.ratio.confidence)
        assert (group.ratio.low, group.ratio.high) == pytest.approx((expected.low, expected.high))
        by_level = find_ratio(Evidence.of_joint(evidence.full_joint), group.ratio.confidence)
        # Sums by level would make them narrower.
        assert by_level.high - by_level.low < 0.97 * (expected.high - expected.low)
