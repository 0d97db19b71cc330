"""Files of forecasts as relations of DuckDB, which reads them piece by piece."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeGuard

import numpy as np
import numpy.typing as npt

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.compressed import damage
from calibrant.joint.databases import attach
from calibrant.joint.names import number_hint, require

if TYPE_CHECKING:
    import duckdb

Paths = str | Path | Sequence[str | Path]

READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
COMPRESSED = {".gz", ".zst"}
READABLE = "the file must be readable CSV, Parquet or JSON lines"
NOT_A_NUMBER = re.compile(
    r'CSV Error on Line: (\d+).*converting column "(.*?)"\. Could not convert string "(.*?)" to',
    re.DOTALL,
)


def are_paths(source: object) -> TypeGuard[Paths]:
    """Whether something names files, rather than being a frame."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(path, str | Path) for path in source)
    return isinstance(source, str | Path)


@contextmanager
def connected(
    paths: Paths, *, memory_limit: str | None = None, progress: bool | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Connect to files of one kind: a connection, and what its queries select from.

    Parameters
    ----------
    paths : str, Path or a sequence of them
        CSV, Parquet or JSON lines files, perhaps compressed; globs; folders of Parquet files; "-"
        is standard input.
    memory_limit : str, optional
        Most memory that DuckDB may use before it writes to disk, such as "1GB".
    progress : bool, optional
        Whether to draw a progress bar; by default on a terminal.
    """
    import duckdb

    names = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    with ExitStack() as stack:
        if "-" in names:
            copy = stack.enter_context(_copy_of(sys.stdin.buffer))
            names = [copy if name == "-" else name for name in names]
        names = [f"{name}/**/*.parquet" if Path(name).is_dir() else name for name in names]
        for name in names:
            _refuse_damaged(name)
        connection = stack.enter_context(duckdb.connect())
        stack.enter_context(_explained(READABLE))
        _configure(connection, memory_limit, progress=progress)
        # With parameters DuckDB would run the query here, and keep all rows.
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        yield connection, f"{_reader(names)}([{listed}])"


@contextmanager
def opened(
    paths: Paths, *, memory_limit: str | None = None, progress: bool | None = None
) -> Iterator[duckdb.DuckDBPyRelation]:
    """Open files as a relation that is read only when and as far as it is used."""
    with connected(paths, memory_limit=memory_limit, progress=progress) as (connection, source):
        yield connection.from_query(f"select * from {source}")  # noqa: S608


@contextmanager
def queried(
    sql: str,
    database: str | Path | None = None,
    *,
    memory_limit: str | None = None,
    progress: bool | None = None,
) -> Iterator[duckdb.DuckDBPyRelation]:
    """Open the result of a query as a relation, on a database that DuckDB can attach.

    Parameters
    ----------
    sql : str
        A select statement.
    database : str or Path, optional
        As for `Joint.from_query`.
    memory_limit, progress
        As for `connected`.
    """
    import duckdb

    with duckdb.connect() as connection, _explained("the query must run"):
        _configure(connection, memory_limit, progress=progress)
        if database is not None:
            attach(connection, str(database))
        kinds = [statement.type for statement in connection.extract_statements(sql)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise InvalidForecastsError(
                "the query must be one select statement",
                ", ".join(kind.name.lower() for kind in kinds) or "none",
            )
        yield connection.sql(sql)


def read_columns(paths: Paths, columns: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Read some columns of files of one kind; missing values stay missing.

    Parameters
    ----------
    paths : str, Path or a sequence of them
        As for `connected`.
    columns : sequence of str
        Names of the columns to read.

    Returns
    -------
    dict of str to array
        Numbers as numpy arrays; columns with missing values as masked arrays.
    """
    with opened(paths, progress=False) as relation:
        return fetch_columns(relation, columns)


def fetch_columns(
    relation: duckdb.DuckDBPyRelation, columns: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """Fetch some columns of opened files, as `read_columns` returns them."""
    import duckdb

    require(relation.columns, columns)
    return dict(relation.project(*map(duckdb.ColumnExpression, columns)).fetchnumpy())


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


@contextmanager
def _copy_of(stream: BinaryIO) -> Iterator[str]:
    """Copy a stream to a file, because DuckDB reads twice; its first bytes tell its kind."""
    start = stream.read(4)
    kind = "parquet" if start == b"PAR1" else "json" if start[:1] in {b"{", b"["} else "csv"
    with tempfile.NamedTemporaryFile(suffix=f".{kind}") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
        copy.flush()
        yield copy.name


def _refuse_damaged(name: str) -> None:
    """Refuse compressed files on this machine that were cut off."""
    for path in map(Path, glob(name, recursive=True)):  # noqa: PTH207  # may be absolute
        damaged = damage(path)
        if damaged is not None:
            raise InvalidForecastsError(
                READABLE, f"{path.name}: {damaged}", "fetch or write it again"
            )


def _configure(
    connection: duckdb.DuckDBPyConnection, memory_limit: str | None, *, progress: bool | None
) -> None:
    import duckdb

    if memory_limit is not None:
        try:
            connection.execute("set memory_limit = ?", [memory_limit])
        except duckdb.Error as error:
            raise InvalidOptionError(
                "memory_limit must be an amount of memory", repr(memory_limit), 'try "1GB"'
            ) from error
    # DuckDB draws on standard output.
    shown = sys.stdout.isatty() and sys.stderr.isatty() if progress is None else progress
    connection.execute(f"set enable_progress_bar = {str(shown).lower()}")


def _reader(names: Sequence[str]) -> str:
    kinds = {_kind(name) for name in names}
    if len(kinds) != 1 or kinds.isdisjoint(READERS):
        raise InvalidForecastsError(
            f"files must all end in one of {', '.join(READERS)}",
            ", ".join(sorted(kinds)) or "no files",
        )
    return READERS[kinds.pop()]


def _kind(name: str) -> str:
    path = Path(name)
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    return path.suffix.lower()


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn what DuckDB says into one message."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        text = str(error)
        found = NOT_A_NUMBER.search(text)
        if found is not None:
            line, column, example = found.groups()
            raise InvalidForecastsError(
                f"column {column!r} must hold numbers",
                f"text such as {example!r} on line {line}",
                number_hint(example),
            ) from error
        raise InvalidForecastsError(what, text.splitlines()[0].rstrip(".")) from error
