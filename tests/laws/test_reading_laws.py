"""The kind of a file and the order of its rows change nothing that an audit finds."""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st

import calibrant as cal

KINDS = {
    "rows.csv": lambda frame, path: frame.to_csv(path, index=False),
    "rows.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "rows.csv.zst": lambda frame, path: pl.from_pandas(frame).write_csv(path, compression="zstd"),
    "rows.jsonl": lambda frame, path: pl.from_pandas(frame).write_ndjson(path),
    "rows.parquet": lambda frame, path: frame.to_parquet(path),
}
WORDS = ["007", "a", "A", "true", "n,o", 'q"', "é", " x"]


def found_in(frame, path, **options):
    """Everything an audit says of a file, without the name of the file."""
    KINDS[path.name](frame, path)
    said = json.loads(cal.audit(path, draws=9, title="law", **options).to_json())
    said["settings"].pop("files")
    return said


def assert_same(one, other, where="audit"):
    """Compare plain data: floats to 1e-12, all else exactly."""
    if isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12), where
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for place, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{place}]")
    else:
        assert one == other, where


@st.composite
def tables(draw):
    size = draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    digits = draw(st.sampled_from([0, 1, 3, 17]))
    p = np.round(rng.random(size), digits)
    columns = {
        "prediction": p.astype(int) if digits == 0 and draw(st.booleans()) else p,
        "outcome": rng.integers(0, 2, size),
        "weight": rng.choice([1, 2, 0.4], size) if draw(st.booleans()) else np.ones(size, int),
        "word": rng.choice(draw(st.lists(st.sampled_from(WORDS), min_size=1)), size),
        "number": rng.integers(-3, 4, size) * draw(st.sampled_from([1, 0.5])),
    }
    truth = draw(st.sampled_from(["number", "flag", "word"]))
    if truth == "flag":
        columns["outcome"] = columns["outcome"] == 1
    options = {"by": ["word", "number"]}
    if truth == "word":
        columns["outcome"] = np.where(columns["outcome"] == 1, "yes", "no")
        options["pos_label"] = draw(st.sampled_from(["yes", "no"]))
    if draw(st.booleans()):
        options["sample_weight"] = "weight"
    return pd.DataFrame(columns), options, rng


@settings(max_examples=6, deadline=None)
@given(tables())
def test_every_kind_of_file_in_every_order_says_the_same(drawn):
    frame, options, rng = drawn
    # One label alone says nothing of the other.
    assume(options.get("pos_label") in {None, *frame["outcome"]})
    said, warned = [], []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            shuffled = frame.iloc[rng.permutation(len(frame))]
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", cal.errors.CalibrantWarning)
                said.append(found_in(shuffled, Path(folder) / kind, **options))
            warned.append(sorted({str(one.message) for one in told}))
    for other in said[1:]:
        assert_same(said[0], other)
    assert warned == [warned[0]] * len(warned)


def test_columns_that_turn_decimal_far_down_say_the_same(tmp_path):
    rng = np.random.default_rng(0)
    size = 30_000
    p = np.append(rng.integers(0, 2, size), [0.25, 0.5, 0.75] * (size // 3))
    frame = pd.DataFrame(
        {
            "prediction": p,
            "outcome": (rng.random(p.size) < p).astype(int),
            "weight": np.append(np.ones(size), np.full(size, 0.4)),
            "site": np.append(rng.integers(1, 4, size), rng.choice([1, 2.5], size)),
        }
    )
    texts = frame.astype(object)
    whole = (frame == frame.round()).to_numpy()
    texts = texts.mask(whole, frame.astype(int).astype(object))  # 1 and not 1.0, as people write
    said = [
        found_in(frame, tmp_path / "rows.parquet", by=["site"], sample_weight="weight"),
        found_in(texts, tmp_path / "rows.csv", by=["site"], sample_weight="weight"),
        found_in(texts[::-1], tmp_path / "rows.csv.gz", by=["site"], sample_weight="weight"),
    ]
    for other in said[1:]:
        assert_same(said[0], other)
