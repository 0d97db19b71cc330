"""The gate for more than two classes, and the views of it that binary measures take."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.multiclass import ClassForecasts, class_wise, pairwise, subset, top_k, top_label
from oracles.class_definitions import random_forecasts

P = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.2, 0.5, 0.3]])
NAMES = ["cat", "dog", "cow"]


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2, 1],
        np.array([0, 1, 2, 1], dtype=np.int8),
        np.array([0.0, 1.0, 2.0, 1.0]),
        ["cat", "dog", "cow", "dog"],
        np.array(["cat", "dog", "cow", "dog"]),
        pd.Series(["cat", "dog", "cow", "dog"], dtype="category"),
        pd.Series([0, 1, 2, 1], dtype="Int64"),
        pl.Series(["cat", "dog", "cow", "dog"], dtype=pl.Enum(["cow", "cat", "dog"])),
    ],
    ids=["list", "int8", "floats", "names", "array of names", "categories", "nullable", "enum"],
)
@pytest.mark.parametrize(
    "container",
    [
        lambda: P,
        P.tolist,
        lambda: np.asfortranarray(P),
        lambda: pd.DataFrame(P, columns=NAMES),
        lambda: pl.DataFrame(P, schema=NAMES),
        lambda: pl.LazyFrame(P, schema=NAMES),
    ],
    ids=["array", "lists", "columns first", "pandas", "polars", "lazy"],
)
def test_labels_and_tables_of_any_kind_are_the_same_forecasts(labels, container):
    forecasts = ClassForecasts.read(labels, container(), classes=NAMES)
    assert forecasts.classes == tuple(NAMES)
    np.testing.assert_array_equal(forecasts.label, [0, 1, 2, 1])
    np.testing.assert_array_equal(forecasts.probability, P)


def test_columns_of_a_frame_name_the_classes():
    frame = pd.DataFrame(P, columns=["dog", "cat", "cow"])
    forecasts = ClassForecasts.read(["cat", "cat", "cow", "dog"], frame)
    assert forecasts.classes == ("dog", "cat", "cow")
    np.testing.assert_array_equal(forecasts.label, [1, 1, 2, 0])


def test_numbers_as_names_are_names():
    forecasts = ClassForecasts.read([3, 1, 2, 3], P, classes=[1, 2, 3])
    np.testing.assert_array_equal(forecasts.label, [2, 0, 1, 2])
    assert forecasts.one_class(3).base_rate == 0.5


@pytest.mark.parametrize(
    ("labels", "table", "options", "message"),
    [
        (["cat"] * 4, P, {}, "classes=\\[...\\]"),
        ([1, 2, 3, 1], P, {}, "labels start at 0"),
        (["cat", "fox", "cow", "dog"], P, {"classes": NAMES}, "'fox'"),
        ([0, None, 1, 2], P, {}, "missing"),
        ([0, 1, 2], P, {}, "same length"),
        ([0, 1, 2, 1], P[:, :1], {}, "at least two"),
        ([0, 1, 2, 1], P[:, 0], {}, "table"),
        ([0, 1, 2, 1], 100 * P, {}, "percentages"),
        ([0, 1, 2, 1], np.log(P), {}, "logits=True"),
        ([0, 1, 2, 1], P * 0.9, {}, "sum to one"),
        ([0, 1, 2, 1], np.where(P == 0.8, np.nan, P), {}, "1 of 4 rows, first rows 3"),
        ([0, 1, 2, 1], P, {"classes": NAMES[:2]}, "2 names for 3 columns"),
        ([0, 1, 2, 1], P, {"classes": ["a", "a", "b"]}, "differ"),
        ([0, 1, 2, 1], P, {"classes": "abc"}, "list of names"),
        ([0, 1, 2, 1], pd.DataFrame(P, columns=NAMES), {"classes": NAMES[::-1]}, "order"),
        ([0, 1, 2, 1], P, {"sample_weight": [1, -1, 1, 1]}, "not negative"),
        ([0, 1, 2, 1], P, {"sample_weight": [0, 0, 0, 0]}, "not all zero"),
        ([0, 1, 2, 1], P, {"sample_weight": [1, 1]}, "one entry per row"),
        ([], np.empty((0, 3)), {}, "at least one row"),
        ([0, 1, 2, 1], np.full((4, 3), np.inf), {"logits": True}, "finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_forecast_is_refused_with_a_cure(labels, table, options, message):
    with pytest.raises((InvalidForecastsError, InvalidOptionError), match=message):
        ClassForecasts.read(labels, table, **options)


def test_sums_are_checked_by_precision_and_reported():
    rng = np.random.default_rng(0)
    single = rng.dirichlet(np.ones(500), 20).astype(np.float32)
    forecasts = ClassForecasts.read(np.zeros(20, int), single)
    assert 0 < forecasts.sum_gap < 1e-4
    rounded = np.round(P, 1)
    rounded[0] = [0.7, 0.2, 0.0]
    with pytest.raises(InvalidForecastsError, match="sum_tolerance"):
        ClassForecasts.read([0, 1, 2, 1], rounded)
    kept = ClassForecasts.read([0, 1, 2, 1], rounded, sum_tolerance=0.11)
    assert kept.sum_gap == pytest.approx(0.1)
    np.testing.assert_array_equal(kept.probability, rounded)


def test_rounding_errors_beyond_the_ends_are_clipped_and_counted():
    table = np.array([[1 + 1e-12, -1e-12, 0.0], [0.5, 0.5, 0.0]])
    forecasts = ClassForecasts.read([0, 1], table)
    assert forecasts.clipped == 2
    assert forecasts.probability.min() == 0
    assert forecasts.probability.max() == 1


def test_large_logits_do_not_overflow():
    forecasts = ClassForecasts.read(
        [0, 1], [[1e4, 0.0, -1e4], [1000.0, 1000.0, -np.inf]], logits=True
    )
    np.testing.assert_allclose(forecasts.probability, [[1, 0, 0], [0.5, 0.5, 0]])


def test_weight_zero_is_removal_and_weight_two_is_repetition():
    rng = np.random.default_rng(1)
    label, table = random_forecasts(rng, 40, 3, ties=True)
    weight = rng.integers(0, 3, 40)
    repeated = np.repeat(np.arange(40), weight)
    for view in (
        top_label,
        partial(subset, members=[0, 2]),
        partial(top_k, k=2),
    ):
        weighted = cal.smooth_calibration_error(view(label, table, sample_weight=weight))
        plain = cal.smooth_calibration_error(view(label[repeated], table[repeated]))
        assert weighted == pytest.approx(plain, abs=1e-12)
    by_weight = class_wise(label, table, sample_weight=weight)
    by_rows = class_wise(label[repeated], table[repeated])
    np.testing.assert_allclose(by_weight.values, by_rows.values, atol=1e-12)
    assert by_weight.weighted == pytest.approx(by_rows.weighted)


def test_answers_without_doubt_have_a_confidence_of_one():
    top = top_label([0, 1, 2, 1], np.eye(3)[[0, 1, 2, 2]])
    assert top.prediction.tolist() == [1.0]
    assert top.base_rate == 0.75


def test_each_view_is_the_event_it_names():
    label = np.array([0, 0, 2, 2])
    top = top_label(label, P)
    np.testing.assert_allclose(top.prediction, [0.5, 0.6, 0.7, 0.8])
    np.testing.assert_array_equal(top.outcome, [0, 1, 1, 1])
    best_two = top_k(label, P, k=2)
    np.testing.assert_allclose(best_two.prediction, [0.8, 0.9])
    np.testing.assert_array_equal(best_two.outcome, [1, 1])
    either = subset(label, P, members=[0, 1])
    np.testing.assert_allclose(either.prediction, [0.2, 0.7, 0.9])
    np.testing.assert_array_equal(either.outcome, [0, 0, 1])
    between = pairwise(label, P, pair=(0, 2))
    np.testing.assert_allclose(between.prediction, [0.125, 1 / 7, 0.6, 8 / 9])
    np.testing.assert_array_equal(between.outcome, [0, 0, 1, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.top_k(3),
        lambda f: f.top_k(0),
        lambda f: f.subset([]),
        lambda f: f.subset([0, 1, 2]),
        lambda f: f.subset(["fox"]),
        lambda f: f.one_class(7),
        lambda f: f.pairwise(1, 1),
    ],
    ids=["all", "none", "no class", "every class", "a stranger", "no position", "one twice"],
)
def test_views_that_mean_nothing_are_refused(call):
    with pytest.raises(InvalidOptionError):
        call(ClassForecasts.read([0, 1, 2, 1], P))


def test_a_pair_without_a_chance_or_without_rows_is_refused():
    table = np.array([[0.0, 0.0, 1.0], [0.5, 0.25, 0.25]])
    with pytest.raises(InvalidForecastsError, match="both have probability 0"):
        pairwise([0, 2], table, pair=(0, 1))
    with pytest.raises(InvalidForecastsError, match="have rows"):
        pairwise([2, 2], table, pair=(0, 1))


def test_a_class_that_never_happened_still_counts():
    label, table = np.zeros(4, int), P
    errors = class_wise(label, table)
    assert errors[2] == pytest.approx(cal.smooth_calibration_error(np.zeros(4), P[:, 2]))
    assert errors.weighted == pytest.approx(errors[0])


def test_forecasts_stand_alone():
    forecasts = ClassForecasts.read([0, 1, 2, 1], P)
    assert cal.smooth_calibration_error(top_label(forecasts)) == cal.smooth_calibration_error(
        top_label([0, 1, 2, 1], P)
    )
    with pytest.raises(InvalidForecastsError, match="together with y_proba"):
        top_label(forecasts, P)
    with pytest.raises(InvalidForecastsError, match="labels and probabilities"):
        top_label([0, 1])


@pytest.mark.parametrize(
    "odd",
    [0.5 + 0.1j, np.datetime64("1970-01-01"), 10**400, "half"],
    ids=["complex", "date", "huge", "word"],
)
def test_tables_of_what_is_no_number_are_refused(odd):
    table = np.array([[odd, odd]] * 3)
    with pytest.raises(InvalidForecastsError, match="must be numbers"):
        top_label([0, 1, 0], table)


@pytest.mark.parametrize("members", [np.array([["a", "b"], ["a", "b"]]), [np.array(["a", "b"])]])
def test_tables_are_no_names_of_classes(members):
    forecasts = ClassForecasts.read(["a", "b"], [[0.6, 0.3, 0.1]] * 2, classes=["a", "b", "c"])
    with pytest.raises(InvalidOptionError, match="class"):
        forecasts.subset(members)
