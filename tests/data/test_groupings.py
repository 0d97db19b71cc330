"""Columns that group rows: labels, flags, numbers cut at quantiles, missing and rare values."""

from __future__ import annotations

import datetime as dt

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from calibrant.data.groupings import columns_of, grouped, label_of, partitions
from calibrant.errors import InvalidForecastsError
from oracles.strategies import universal


def names(values, **options):
    part = grouped(values, "c", len(values), **options)
    return [part.name(int(code)) for code in part.codes]


def test_labels_and_flags_keep_their_names():
    assert names(["b", "a", "b"]) == ["b", "a", "b"]
    assert names(np.array([True, False])) == ["yes", "no"]
    assert names([3, 1, 3]) == ["3", "1", "3"]
    assert names([0.5, 1.0]) == ["0.5", "1"]


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "b", None],
        np.ma.masked_array(["a", "x", "b", "x"], [False, True, False, True]),
        pd.Series(["a", None, "b", pd.NA]),
        pd.Categorical(["a", None, "b", None]),
        pl.Series(["a", None, "b", None]),
    ],
)
def test_missing_values_are_a_group_of_their_own(values):
    found = names(pd.Series(values) if isinstance(values, pd.Categorical) else values)
    assert found == ["a", "missing", "b", "missing"]


def test_missing_numbers_are_a_group_too():
    assert names([1.0, np.nan, 2.0]) == ["1", "missing", "2"]
    assert names([*range(100), None])[-1] == "missing"
    assert names(np.append(np.arange(100.0), np.nan))[-1] == "missing"


def test_many_numbers_are_cut_at_quantiles_with_the_cuts_shown():
    part = grouped(np.arange(100), "age", 100)
    assert part.groupings[0].levels == ("< 20", "20 to < 40", "40 to < 60", "60 to < 80", ">= 80")
    assert np.bincount(part.codes).tolist() == [20] * 5
    halves = grouped(np.arange(100), "age", 100, parts=2)
    assert halves.groupings[0].levels == ("< 50", ">= 50")


def test_ties_leave_no_part_empty():
    values = np.array([0] * 900 + list(range(100)))
    part = grouped(values, "c", values.size)
    assert np.bincount(part.codes).min() > 0


def test_dates_are_cut():
    days = np.datetime64("2026-01-01") + np.arange(50)
    part = grouped(days, "day", 50)
    assert part.groupings[0].levels[0] == "< 2026-01-11"
    assert len(part.groupings[0]) == 5


def test_quantiles_of_weights_are_those_of_repeats():
    values, weight = np.arange(60.0), np.arange(60) % 4
    once = grouped(values, "c", 60, weight=weight.astype(float))
    again = grouped(np.repeat(values, weight), "c", weight.sum())
    assert once.groupings[0].levels == again.groupings[0].levels


def test_rare_labels_are_gathered_and_counted():
    values = ["common"] * 10 + ["frequent"] * 5 + [f"rare {i}" for i in range(20)]
    part = grouped(values, "c", len(values), most_levels=2)
    assert part.groupings[0].levels == ("common", "frequent", "other (20 values)")
    assert np.bincount(part.codes).tolist() == [10, 5, 20]


def test_pairs_cross_and_name_both_columns():
    columns = {"a": ["x", "y", "x"], "b": [1, 1, 2]}
    found = partitions(columns, 3, pairs=True)
    assert [part.by for part in found] == ["a", "b", "a & b"]
    assert found[2].name(int(found[2].codes[2])) == "x & 2"
    assert label_of("a & b", "x & 2") == "a x, b 2"
    assert label_of("a", "rock & roll") == "a rock & roll"


@universal
@given(
    st.lists(st.one_of(st.none(), st.text(max_size=2), st.booleans()), min_size=1, max_size=30).map(
        lambda v: [str(x) if isinstance(x, bool) else x for x in v]
    ),
)
def test_codes_of_the_same_values_are_the_same_again(values):
    part = grouped(values, "c", len(values), most_levels=3)
    again = part.groupings[0].codes(values, len(values))
    assert again.tolist() == part.codes.tolist()


@universal
@given(st.lists(st.one_of(st.none(), st.integers(-40, 40)), min_size=1, max_size=120))
def test_codes_of_the_same_numbers_are_the_same_again(values):
    part = grouped(values, "c", len(values))
    assert part.groupings[0].codes(values, len(values)).tolist() == part.codes.tolist()
    assert np.bincount(part.codes).sum() == len(values)


def test_unseen_values_belong_to_no_group():
    grouping = grouped(["a", "b"], "c", 2).groupings[0]
    assert grouping.codes(["b", "z", None], 3).tolist() == [1, -1, -1]
    numbers = grouped([1, 2], "c", 2).groupings[0]
    assert numbers.codes([2, 7], 2).tolist() == [1, -1]
    assert numbers.codes([2.0, 7.5], 2).tolist() == [1, -1]


def test_columns_come_from_mappings_frames_and_arrays():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert list(columns_of(frame)) == ["a", "b"]
    assert list(columns_of(pl.from_pandas(frame).lazy())) == ["a", "b"]
    assert list(columns_of(np.zeros((2, 3)))) == ["x0", "x1", "x2"]
    assert list(columns_of(["x", "y"])) == ["group"]


def test_a_column_holds_numbers_or_labels():
    with pytest.raises(InvalidForecastsError, match="not both"):
        grouped([*range(200), dt.date(2026, 1, 1)], "c", 201)


HOURS = pd.date_range("2024-03-01", periods=300, freq="h", tz="UTC")
LOCAL = HOURS.tz_convert("America/New_York")
MOMENTS = {
    "pandas in UTC": pd.Series(HOURS),
    "pandas elsewhere": pd.Series(LOCAL),
    "pandas without a zone": pd.Series(HOURS.tz_localize(None)),
    "nanoseconds": pd.Series(LOCAL.as_unit("ns")),
    "index": LOCAL,
    "arrow type of pandas": pd.Series(
        pd.array(HOURS, dtype=pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo")))
    ),
    "polars": pl.Series(LOCAL),
    "arrow": pa.array(LOCAL),
    "numpy": HOURS.tz_localize(None).to_numpy(),
    "objects": LOCAL.to_pydatetime(),
    "list": LOCAL.to_pydatetime().tolist(),
    "text": [str(moment) for moment in LOCAL],
    "text without a zone": [str(moment) for moment in HOURS.tz_localize(None)],
    "ISO": np.array([moment.isoformat() for moment in LOCAL]),
    "Z": [moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in HOURS],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", MOMENTS.values(), ids=MOMENTS)
def test_the_same_moments_make_the_same_groups(values):
    expected = grouped(HOURS.tz_localize(None).to_numpy(), "c", 300)
    found = grouped(values, "c", 300)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.groupings[0].levels == expected.groupings[0].levels
    assert found.groupings[0].codes(values, 300).tolist() == expected.codes.tolist()
    # A calibrator that was fitted to one of them is applied to another.
    assert expected.groupings[0].codes(values, 300).tolist() == expected.codes.tolist()


@pytest.mark.filterwarnings("error")
def test_missing_times_are_a_group():
    some = pd.Series(LOCAL).where(np.arange(300) % 10 > 0)
    expected = names(some.dt.tz_convert("UTC").dt.tz_localize(None))
    assert expected.count("missing") == 30
    text = [None if moment is pd.NaT else moment.isoformat() for moment in some]
    blank = ["" if moment is None else moment for moment in text]
    masked = np.ma.array(HOURS.tz_localize(None).to_numpy(), mask=some.isna())
    for values in (some, pl.Series(some), pa.array(some), text, blank, masked):
        assert names(values) == expected


def test_dates_as_objects_and_as_text_are_cut_like_dates():
    days = np.datetime64("2026-01-01") + np.arange(50)
    expected = names(days)
    for values in (days.tolist(), days.astype(str), pd.Series(days.astype(str)), pl.Series(days)):
        assert names(values) == expected


@pytest.mark.parametrize(
    "values", [["2024-01", "2024-02"], ["2024-13-01", "2024-01-01"], ["12:00", "13:00"], ["", ""]]
)
def test_text_that_is_no_date_is_a_label(values):
    assert names(values) == values


def test_times_stay_times():
    days = grouped(np.datetime64("2026-01-01") + np.arange(50), "day", 50).groupings[0]
    with pytest.raises(InvalidForecastsError, match="day must hold times as it did before"):
        days.codes(["monday"], 1)
    with pytest.raises(InvalidForecastsError, match="day must hold times as it did before"):
        days.codes([3.0], 1)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pd.Series(["x", "y"], name="region"), "region"),
        (pl.Series("region", ["x", "y"]), "region"),
        (pd.Series(["x", "y"], name=0), "0"),
        (pd.Series(["x", "y"]), "group"),
        (pl.Series(["x", "y"]), "group"),
        (pd.Categorical(["x", "y"]), "group"),
        (np.array(["x", "y"]), "group"),
    ],
)
def test_one_column_groups_rows_by_its_name(column, name):
    (partition,) = partitions(columns_of(column), 2)
    assert partition.by == name
    assert [partition.name(code) for code in range(partition.size)] == ["x", "y"]


@pytest.mark.parametrize("wrong", ["region", 3, {"x", "y"}])
def test_what_holds_no_labels_is_refused_by_the_name_of_the_argument(wrong):
    with pytest.raises(InvalidForecastsError, match=r"^by must be a mapping"):
        columns_of(wrong)
