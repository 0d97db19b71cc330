"""What the audit advises to do next."""

from __future__ import annotations

import shlex
import time

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.evidence import Evidence
from calibrant.inference.settings import Settings
from calibrant.inputs import Roles, read
from calibrant.joint import Rows
from calibrant.report import advice
from calibrant.report.advice import MOST_ROWS, advise
from calibrant.report.findings import recalibration_findings
from calibrant.report.recalibrate_command import RecalibrateCommand

RNG = np.random.default_rng(12)
CHANCE = RNG.random(10_000)
OUTCOME = RNG.random(10_000) < CHANCE


def source_of(p, y=OUTCOME, **roles):
    return read(y, p, Roles(**roles))


def advised(source):
    return advise(source, Evidence.of_source(source), Settings.read(rng=0))


def test_advice_tells_the_gain_with_its_interval():
    choice = advised(source_of(CHANCE**1.5))
    (finding,) = recalibration_findings(choice)
    assert finding.code == "CAL070"
    assert f"between {choice.gain.low:.2g} and {choice.gain.high:.2g}" in finding.text
    assert "calibrant recalibrate" in finding.advice


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("rows.csv", "fixed.csv"),
        ("rows.CSV.gz", "fixed.csv"),
        ("some rows.jsonl", "fixed.jsonl"),
        ("rows.parquet", "fixed.parquet"),
        ("folder", "fixed.parquet"),
    ],
)
def test_the_repair_that_is_advised_names_the_file_and_keeps_its_kind(name, fixed):
    command = RecalibrateCommand((name,), ("--prediction", "p"))
    (finding,) = recalibration_findings(advised(source_of(CHANCE**1.5)), command=command)
    assert finding.advice.endswith(
        f"calibrant recalibrate {shlex.quote(name)} --prediction p --out {fixed} "
        "--calibrator calibrator.json"
    )


@pytest.mark.parametrize(
    "roles", [{}, {"clusters": np.arange(10_000) % 500}], ids=["plain", "clusters"]
)
@pytest.mark.parametrize("seed", [0, 3])
def test_the_map_is_that_which_choose_takes_from_the_same_rows_and_seed(seed, roles):
    """So does `calibrant recalibrate`, whatever the audit has drawn before."""
    y, p = OUTCOME, CHANCE**1.3
    audited = cal.audit(y, p, rng=seed, draws=99, **roles)
    chosen = cal.recalibrate(y, p, rng=seed, **roles)
    assert audited.summary.choice.calibrator.to_dict() == chosen.calibrator.to_dict()
    assert audited.summary.choice.gain == chosen.gain


def test_advice_leaves_calibrated_forecasts_alone():
    (finding,) = recalibration_findings(advised(source_of(CHANCE)))
    assert (finding.code, finding.kind) == ("CAL071", "passed")


@pytest.mark.parametrize(
    "roles",
    [
        {"weight": RNG.random(10_000) + 0.5},
        {"clusters": np.arange(10_000) % 500},
        {"time": np.arange(10_000)},
    ],
    ids=["weights", "clusters", "times"],
)
def test_advice_knows_weights_clusters_and_times(roles):
    choice = advised(source_of(CHANCE**1.5, **roles))
    assert not choice.unchanged


def test_advice_on_many_rows_takes_some_of_them():
    p = np.tile(CHANCE, 10)
    source = source_of(p**1.5, np.tile(OUTCOME, 10), weight=np.tile([0.5, 1.5], p.size // 2))
    assert p.size > MOST_ROWS
    assert not advised(source).unchanged


def test_there_is_no_advice_where_rows_do_not_allow_a_choice():
    assert advised(source_of([0.5], [1])) is None
    weighted = cal.Joint.from_samples(OUTCOME, CHANCE.round(2), sample_weight=CHANCE + 0.1)
    assert advised(read(weighted, None, Roles())) is None
    assert list(recalibration_findings(None)) == []


def test_advice_takes_little_time():
    source = source_of(CHANCE**1.5)
    runs = []
    for _ in range(3):
        start = time.process_time()
        advised(source)
        runs.append(time.process_time() - start)
    assert min(runs) < 1.0  # 0.2 s on a quiet machine


@pytest.mark.parametrize("seed", range(8))
def test_clusters_are_taken_once_however_many_rows_they_bring(seed, monkeypatch):
    """As many clusters as were asked for may hold a few rows more, which are no reason to go on."""
    monkeypatch.setattr(advice, "MOST_ROWS", 64)
    monkeypatch.setattr(advice, "ROWS_PER_ROW", 4)
    monkeypatch.setattr(advice, "FEWEST_CLUSTERS", 8)
    rng = np.random.default_rng(seed)
    p = rng.random(4000)
    rows = Rows(p, (rng.random(4000) < p).astype(float), None)
    extra = {"clusters": np.unique(rng.integers(0, 900, 4000), return_inverse=True)[1],
              "time": np.arange(4000)}  # fmt: skip
    fewer, kept = advice._fewer(rows, extra, rng)
    assert 32 <= fewer.prediction.size <= 96
    assert set(kept) == {"clusters", "time"}
    assert all(len(part) == fewer.prediction.size for part in kept.values())
    assert (np.isin(fewer.prediction, p)).all()
