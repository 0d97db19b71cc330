"""Rows that depend on each other are noticed; independent rows, however sorted, are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.inference import find_dependence
from commands import run

TOO_NARROW = "are too narrow unless 'game' merely groups independent rows; add --cluster game"


def games(count=150, each=12, seed=0):
    """Forecasts during a game: one outcome, and forecasts that wander."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(2, 2, count)
    won = rng.random(count) < chance
    logit = np.log(chance / (1 - chance))[:, np.newaxis]
    logit = logit + rng.normal(0, 0.3, (count, each)).cumsum(axis=1)
    return pd.DataFrame({
        "game": np.repeat([f"g{i}" for i in range(count)], each),
        "prediction": 1 / (1 + np.exp(-logit.ravel())),
        "outcome": np.repeat(won, each).astype(int),
        "seconds": np.tile(np.arange(each), count),
    })  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas", "polars"])
def test_the_column_to_cluster_by_is_named(form, tmp_path):
    frame = games()
    path = tmp_path / f"rows.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    data = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(form, path)
    audit = cal.audit(data, draws=99)
    assert audit.summary.dependence.column == "game"
    assert audit.summary.dependence.correlation > 0.3
    assert "CAL054" in {finding.code for finding in audit.findings}
    screen = " ".join(str(audit).split())
    assert "rows with the same 'game' have similar residuals" in screen
    assert (
        "are too narrow unless 'game' merely groups independent rows; add --cluster game" in screen
    )
    assert cal.audit(data, clusters="game", draws=99).summary.dependence is None


def test_check_says_so_too(tmp_path):
    games().to_csv(tmp_path / "rows.csv", index=False)
    done = run("check", str(tmp_path / "rows.csv"))
    assert (
        "are too narrow unless 'game' merely groups independent rows; add --cluster game"
        in " ".join(done.stdout.split())
    )


def test_rows_that_follow_each_other_are_noticed_without_a_column():
    frame = games()
    audit = cal.audit(frame["outcome"].to_numpy(), frame["prediction"].to_numpy(), draws=99)
    assert audit.summary.dependence.column is None
    assert "rows that follow each other have similar residuals" in " ".join(str(audit).split())


@pytest.mark.parametrize(("count", "each"), [(40, 12), (100, 5), (400, 3)])
def test_repeats_are_mostly_noticed_without_a_column(count, each):
    found = 0
    for seed in range(20):
        frame = games(count, each, seed)
        p, y = frame["prediction"].to_numpy(), frame["outcome"].to_numpy(dtype=float)
        found += find_dependence(p, y - p, y, {}) is not None
    assert found >= 17


def test_the_order_of_time_counts_where_it_is_known():
    frame = games().reset_index(names="at").sample(frac=1, random_state=0)
    columns = frame["outcome"].to_numpy(), frame["prediction"].to_numpy()
    assert cal.audit(*columns, draws=99).summary.dependence is None
    timed = cal.audit(*columns, time=frame["at"].to_numpy(), draws=99)
    assert timed.summary.dependence is not None


def test_continuous_outcomes_and_classes():
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(100), 5)
    effect = np.repeat(rng.normal(0, 1, 100), 5)
    z = rng.normal(10, 2, 500)
    frame = pd.DataFrame({"prediction": z, "outcome": z + effect + rng.normal(0, 1, 500)})
    found = cal.audit(frame.assign(unit=unit), kind="mean", draws=99)
    assert found.summary.dependence.column == "unit"
    assert "CAL054" in {finding.code for finding in found.findings}
    assert "add --cluster unit" in " ".join(str(found).split())
    table = rng.dirichlet(np.ones(3), 100)[unit]
    label = (table[::5].cumsum(axis=1) < rng.random((100, 1))).sum(axis=1)[unit]
    names = ["a", "b", "c"]
    classes = pd.DataFrame(table, columns=names).assign(
        outcome=np.array(names)[label], unit=[f"u{i}" for i in unit]
    )
    found = cal.audit(classes, classes=names, draws=99)
    assert found.summary.dependence.column == "unit"


@pytest.mark.parametrize("order", ["none", "outcome", "prediction", "both", "region and outcome"])
def test_sorted_independent_rows_are_left_in_peace(order):
    rng = np.random.default_rng(2)
    region = rng.integers(0, 8, 4000)
    p = np.clip(0.6 * rng.random(4000) + 0.05 * region, 0, 1)
    y = (rng.random(4000) < p).astype(float)
    turned = {
        "none": np.arange(4000),
        "outcome": np.argsort(y, kind="stable"),
        "prediction": np.argsort(p, kind="stable"),
        "both": np.lexsort((p, y)),
        "region and outcome": np.lexsort((y, region)),
    }[order]
    p, y = p[turned], y[turned]
    keys = {"customer": rng.permutation(4000), "shop": rng.integers(0, 400, 4000)}
    assert find_dependence(p, y - p, y, keys) is None


def by_group(rng, n=3000, groups=40):
    """Independent rows of groups with base rates of their own."""
    group = rng.integers(0, groups, n)
    logit = rng.normal(0, 1.5, groups)[group] + rng.normal(0, 0.5, n)
    p = 1 / (1 + np.exp(-logit))
    return group, p, (rng.random(n) < p).astype(float)


@pytest.mark.parametrize("order", ["group and outcome", "class and outcome", "bin and outcome"])
def test_rows_sorted_by_outcome_within_groups_are_left_in_peace(order):
    rng = np.random.default_rng(5)
    for _ in range(10):
        group, p, y = by_group(rng)
        first = {"group": group, "class": p > 0.5, "bin": (10 * p).astype(int)}[order.split()[0]]
        turned = np.lexsort((rng.random(y.size), y, first))
        assert find_dependence(p[turned], (y - p)[turned], y[turned], {}) is None


@pytest.mark.parametrize("groups", [1, 20])
def test_sorted_continuous_outcomes_are_left_in_peace(groups):
    rng = np.random.default_rng(6)
    z = rng.normal(0, 1, 2000)
    y = z + rng.normal(0, 0.6, 2000)
    turned = np.lexsort((y, rng.integers(0, groups, 2000)))
    assert find_dependence(z[turned], (y - z)[turned], y[turned], {}) is None


def test_a_column_made_from_the_outcome_is_no_unit():
    """Days until the event, 365 for rows without one."""
    rng = np.random.default_rng(7)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(float)
    days = np.where(y == 1, rng.integers(1, 365, 2000), 365)
    assert find_dependence(p, y - p, y, {"days": days}) is None


def test_missing_keys_are_units_of_their_own():
    rng = np.random.default_rng(4)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(float)
    blank = np.ma.masked_array(np.repeat(np.arange(100), 20), mask=rng.random(2000) < 0.5)
    biased = np.where(blank.mask & (rng.random(2000) < 0.5), 1.0, y)
    shared = {"key": np.where(blank.mask, -1, blank.data)}
    assert find_dependence(p, biased - p, biased, shared).column == "key"
    assert find_dependence(p, biased - p, biased, {"key": blank}) is None


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_files_may_differ_in_columns_that_nobody_reads(form, tmp_path):
    frame = games()
    halves = frame[:900].assign(a=1), frame[900:].drop(columns="game").assign(b=2)
    for number, half in enumerate(halves):
        path = tmp_path / f"{number}.{form}"
        if form == "csv":
            half.to_csv(path, index=False)
        elif form == "parquet":
            half.to_parquet(path)
        else:
            half.to_json(path, orient="records", lines=True)
    audit = cal.audit([tmp_path / f"0.{form}", tmp_path / f"1.{form}"], draws=99)
    assert audit.summary.data.rows == 1800
