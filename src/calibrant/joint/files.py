"""Columns of CSV, Parquet and JSON files, read by DuckDB."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidForecastsError

READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}


def read_columns(
    paths: Sequence[str | Path], columns: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """Read some columns of files of one kind; missing values stay missing.

    Parameters
    ----------
    paths : sequence of str or Path
        CSV, Parquet or JSON lines files, or globs of them; "-" is CSV on standard input.
    columns : sequence of str
        Names of the columns to read.

    Returns
    -------
    dict of str to array
        Numbers as numpy arrays; columns with missing values as masked arrays.
    """
    if [str(path) for path in paths] != ["-"]:
        return _read([str(path) for path in paths], columns)
    with tempfile.NamedTemporaryFile(suffix=".csv") as copy:  # DuckDB reads a file twice
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        return _read([copy.name], columns)


def _read(names: list[str], columns: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    import duckdb

    with duckdb.connect() as connection:
        try:
            relation = connection.from_query(
                f"select * from {_reader(names)}(?)",  # noqa: S608  # one of READERS
                params=[names],
            )
            _require(relation.columns, columns)
            return dict(relation.project(*map(duckdb.ColumnExpression, columns)).fetchnumpy())
        except duckdb.Error as error:
            raise InvalidForecastsError(
                "the file must be readable CSV, Parquet or JSON lines",
                str(error).splitlines()[0].rstrip("."),
            ) from error


def _reader(names: Sequence[str]) -> str:
    suffixes = {Path(name).suffix.lower() for name in names}
    if len(suffixes) != 1 or suffixes.isdisjoint(READERS):
        raise InvalidForecastsError(
            f"files must all end in one of {', '.join(READERS)}",
            ", ".join(sorted(suffixes)) or "no files",
        )
    return READERS[suffixes.pop()]


def _require(present: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in present]
    if missing:
        raise InvalidForecastsError(
            f"the file must have a column {missing[0]!r}",
            f"columns {', '.join(present)}",
            "name the columns with --prediction and --outcome",
        )


def without_missing(
    columns: dict[str, npt.NDArray[Any]], may_miss: Sequence[str] = ()
) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """Drop rows with a missing value in any column but some; say how many were dropped."""
    missing = np.zeros(len(next(iter(columns.values()))), dtype=bool)
    for name, values in columns.items():
        if name in may_miss:
            continue
        missing |= np.ma.getmaskarray(values)
        if values.dtype.kind == "f":
            missing |= np.isnan(np.ma.getdata(values))
    kept = {
        name: values[~missing] if name in may_miss else np.ma.getdata(values)[~missing]
        for name, values in columns.items()
    }
    return kept, int(missing.sum())
