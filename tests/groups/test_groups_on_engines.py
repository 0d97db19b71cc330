"""Groups of a lazy frame: judged on sums, with the values that the rows themselves give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError
from calibrant.groups import audit_groups
from calibrant.inputs import source, summed

RNG = np.random.default_rng(12)
N = 3000
SITE = RNG.choice(["north", "south", None], N, p=[0.6, 0.3, 0.1])
P = RNG.random(N).round(3)
Y = (RNG.random(N) < np.where(SITE == "south", 0.6 * P, P)).astype(int)
TABLE = pa.table(
    {"p": P, "y": Y, "w": RNG.integers(1, 4, N).astype(float), "site": SITE, "age": RNG.random(N)}
)
ARGUMENTS = {"prediction": "p", "outcome": "y", "by": ["site", "age"], "rng": 0}


def by_name(groups):
    return {(group.by, group.name): group for group in groups}


@pytest.fixture
def engine_sums(monkeypatch):
    """Even few rows are summed on their engine."""
    monkeypatch.setattr(source, "MOST_ROWS_READ", 1000)


def test_values_are_those_of_the_rows(lazy_engine, monkeypatch):
    expected = audit_groups(TABLE, **ARGUMENTS, sample_weight="w", pairs=True)
    monkeypatch.setattr(source, "MOST_ROWS_READ", 1000)
    found = audit_groups(lazy_engine(TABLE), **ARGUMENTS, sample_weight="w", pairs=True)
    sites = {key for key in by_name(expected) if key[0] == "site"}
    assert {key for key in by_name(found) if key[0] == "site"} == sites
    assert len(found) == len(expected) == 3 + 5 + 15
    for key in sites:
        one, other = by_name(found)[key], by_name(expected)[key]
        assert (one.rows, one.events) == (other.rows, other.events)
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert one.observed == pytest.approx(other.observed, abs=1e-12)
    assert found.tolerance == pytest.approx(expected.tolerance)
    assert sum(group.rows for group in found if group.by == "age") == N


@pytest.mark.usefixtures("engine_sums")
def test_those_that_fail_come_first(lazy_engine):
    groups = audit_groups(lazy_engine(TABLE), **ARGUMENTS, tolerance=0.05)
    assert groups.failing == groups.groups[: len(groups.failing)]
    assert [group.name for group in groups.failing] == ["south"]


def test_very_many_rows_are_rounded_to_cells(lazy_engine, monkeypatch):
    exact = by_name(audit_groups(TABLE, **ARGUMENTS))
    monkeypatch.setattr(source, "MOST_ROWS_READ", 1000)
    monkeypatch.setattr(summed, "MOST_ROWS_READ", 1000)
    for key, group in by_name(audit_groups(lazy_engine(TABLE), **ARGUMENTS)).items():
        if key[0] == "site":
            assert group.value == pytest.approx(exact[key].value, abs=2**-15)


@pytest.mark.usefixtures("engine_sums")
def test_what_is_wrong_is_counted_on_the_engine(lazy_engine):
    with pytest.raises(InvalidForecastsError, match="region"):
        audit_groups(lazy_engine(TABLE), prediction="p", outcome="y", by=["region"])
    wrong = TABLE.set_column(0, "p", pa.array(np.where(np.arange(N) < 7, 1.5, P)))
    with pytest.raises(InvalidForecastsError, match="7 of 3000 rows outside"):
        audit_groups(lazy_engine(wrong), **ARGUMENTS)


def test_clusters_are_read(lazy_engine):
    table = TABLE.append_column("day", pa.array(np.arange(N) // 10))
    found = audit_groups(lazy_engine(table), **ARGUMENTS, clusters="day")
    expected = audit_groups(table, **ARGUMENTS, clusters="day")
    assert [g.value for g in found] == pytest.approx([g.value for g in expected])
    assert cal.audit(table, **ARGUMENTS | {"by": ["site"]}, clusters="day").groups is not None
