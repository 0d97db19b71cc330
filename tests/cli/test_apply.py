"""Calibrators applied to files: the values of `transform`, rows in order, nothing else changed."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

from calibrant.errors import InvalidForecastsError
from calibrant.recalibration import (
    CALIBRATORS,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    VennAbers,
)
from calibrant.recalibration.files import apply_to_files
from calibrant.recalibration.forms import Lines, Steps
from commands import run

RNG = np.random.default_rng(41)
P = np.concatenate([RNG.beta(0.3, 3, 3000), RNG.random(300).round(2), [0, 1, 1e-12, 1 - 1e-12]])
Y = RNG.random(P.size) < 0.05 + 0.9 * P**1.5
FITTED = {
    **{name: kind().fit(P, Y) for name, kind in CALIBRATORS.items()},
    "strict": IsotonicCalibration(strict=True).fit(P, Y),
    "certain": IsotonicCalibration(allow_certain=True).fit(P, Y),
    "interval": HistogramBinning("interval").fit(P, Y),
    "narrow": KernelCalibration(bandwidth=0.005).fit(P, Y),
    "one bin": HistogramBinning(n_bins=1).fit(P, Y),
    "one knot": IsotonicCalibration().fit([0.3, 0.3], [0, 1]),
    "one cell": VennAbers().fit(P * 2.0**-20, Y),
}
every_calibrator = pytest.mark.parametrize("fitted", FITTED.values(), ids=FITTED)


def edge_values(form):
    at = getattr(form, "start", getattr(form, "knot", np.array([0.5])))
    cells = np.arange(0, 2**16, 997) / 2**16
    ends = [0.0, 1.0, -1e-10, 1 + 1e-10, 2**-53, 1 - 2**-53]
    near = [np.nextafter(places, end) for places in (at, cells) for end in (0, 1)]
    near = np.concatenate([at, cells, *near, ends])
    return np.concatenate([near[(near == 0) | (near > 1e-290)], ends[2:3]])


@every_calibrator
def test_a_file_gets_the_values_of_transform(fitted, tmp_path):
    p = edge_values(fitted.form_)
    pd.DataFrame({"prediction": p, "_p": 1, "__i": 2, "Q": 3}).to_parquet(tmp_path / "rows.parquet")
    out = tmp_path / "out.parquet"
    assert apply_to_files(fitted, [tmp_path / "rows.parquet"], out, column='___"new').rows == p.size
    found = pd.read_parquet(out)
    assert list(found) == ["prediction", "_p", "__i", "Q", '___"new']
    assert found["prediction"].tolist() == p.tolist()
    expected = fitted.transform(p)
    assert found['___"new'].to_numpy() == pytest.approx(expected, abs=1e-12)
    if isinstance(fitted.form_, Steps | Lines):
        assert found['___"new'].tolist() == expected.tolist()


@every_calibrator
def test_missing_predictions_stay_missing_and_others_are_refused(fitted, tmp_path):
    rows, out = tmp_path / "rows.parquet", tmp_path / "out.parquet"
    write = "copy (select unnest([{}]::double[]) as prediction) to '{}' (format parquet)"
    duckdb.execute(write.format("20, null, 70", rows))
    apply_to_files(fitted, [rows], out, scale="percent")
    found = [row[0] for row in duckdb.sql(f"select recalibrated from '{out}'").fetchall()]  # noqa: S608
    assert found[1] is None
    assert [found[0], found[2]] == pytest.approx(fitted.transform([0.2, 0.7]).tolist())
    for wrong in ("-0.1", "1.1", "'nan'::double", "'inf'::double"):
        duckdb.execute(write.format(f"0.2, null, {wrong}", rows))
        with pytest.raises(InvalidForecastsError, match="must hold probabilities"):
            apply_to_files(fitted, [rows], out)


@pytest.mark.parametrize(
    ("name", "end"),
    [("venn_abers", "parquet"), ("isotonic", "parquet"), ("platt", "parquet"),
     ("isotonic", "csv"), ("platt", "jsonl")],
)  # fmt: skip
def test_rows_stay_in_order_though_several_threads_read_them(name, end, tmp_path):
    rows, out = tmp_path / f"rows.{end}", tmp_path / f"out.{end}"
    made = "select range as id, (range * 0.618033988749) % 1 as prediction from range(300000)"
    duckdb.execute(f"copy ({made}) to '{rows}'")
    assert apply_to_files(FITTED[name], [rows], out).rows == 300_000
    found = duckdb.sql(f"select * from '{out}'").fetchnumpy()  # noqa: S608
    assert (found["id"] == np.arange(300_000)).all()
    expected = FITTED[name].transform(found["prediction"])
    assert np.abs(found["recalibrated"] - expected).max() <= 1e-12


def test_a_file_without_rows_stays_without_rows(tmp_path):
    pd.DataFrame({"prediction": np.array([], dtype=float)}).to_parquet(tmp_path / "rows.parquet")
    out = tmp_path / "out.parquet"
    assert apply_to_files(FITTED["venn_abers"], [tmp_path / "rows.parquet"], out).rows == 0
    assert list(pd.read_parquet(out)) == ["prediction", "recalibrated"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("name", ["platt", "venn_abers"])
def test_a_header_alone_becomes_a_table_without_rows(name, kind, tmp_path):
    """A batch may be empty: nothing is measured, so there is nothing to refuse."""
    fitted, rows, out = (
        tmp_path / "calibrator.json",
        tmp_path / "rows.csv",
        tmp_path / f"out.{kind}",
    )
    fitted.write_text(FITTED[name].to_json())
    rows.write_text("prediction,id\n")
    done = run("apply", str(fitted), str(rows), "--out", str(out))
    assert (done.returncode, done.stdout) == (0, f"0 rows with recalibrated: {out}\n"), done.stderr
    if kind == "jsonl":
        assert out.read_bytes() == b""
    else:
        read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[kind](out)
        assert (list(read), len(read)) == (["prediction", "id", "recalibrated"], 0)
    refused = run(
        "apply", str(fitted), str(rows), "--prediction", "p", "--out", str(out), "--force"
    )
    assert refused.returncode == 2
