"""Files of forecasts as relations of DuckDB, which reads them piece by piece."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.data.compressed import READABLE
from calibrant.data.databases import attach
from calibrant.data.frames import as_values
from calibrant.data.labels import Labels, Told
from calibrant.data.opening import open_table
from calibrant.data.paths import Paths, settled
from calibrant.data.tables import Part, Table, quoted
from calibrant.errors import InvalidForecastsError, InvalidOptionError, ReadingError
from calibrant.stages import probed, somebody_waits
from calibrant.words import count_text

if TYPE_CHECKING:
    import duckdb

NO_LABELS = Labels()
RAGGED = re.compile(
    r"CSV Error on Line: (\d+)\b.*?Expected Number of Columns: (\d+) Found: (\d+)", re.DOTALL
)
FILE = re.compile(r"^\s*file\s*=\s*(.+?)\s*$", re.MULTILINE)
OPEN_QUOTE = re.compile(r"CSV Error on Line: (\d+)\b.*?\nValue with unterminated quote", re.DOTALL)


@contextmanager
def opened_table(
    paths: Paths,
    wanted: Sequence[str] | None = None,
    *,
    memory_limit: str | None = None,
    progress: bool | None = None,
) -> Iterator[Table]:
    """Open files of one kind as a table, as `opened` does; None wants all columns."""
    import duckdb

    with settled(paths) as files, duckdb.connect() as connection, _explained(READABLE):
        _configure(connection, memory_limit, progress=progress)
        connection.execute("set autoinstall_known_extensions = false")
        with probed(lambda: float(connection.query_progress()) / 100):
            yield open_table(connection, files.names, wanted)


@contextmanager
def opened(
    paths: Paths,
    parts: Mapping[str, Part],
    labels: Labels = NO_LABELS,
    *,
    memory_limit: str | None = None,
    progress: bool | None = None,
) -> Iterator[tuple[duckdb.DuckDBPyRelation, Told | None]]:
    """Open files as a relation that is read only when and as far as it is used.

    Parameters
    ----------
    paths : str, Path, a sequence of them, or Files
        CSV, Parquet or JSON lines files, perhaps compressed; globs; folders of Parquet files; "-"
        is standard input.
    parts : mapping of str to Part
        The columns to read, and how.
    labels : Labels
        What labels of outcomes mean: they become 1, 0 and NULL.
    memory_limit : str, optional
        Most memory that DuckDB may use before it writes to disk, such as "1GB".
    progress : bool, optional
        Whether to draw a progress bar; by default on a terminal.

    Yields
    ------
    tuple of relation and Told or None
        The columns, and what became of their labels if a positive one was named.
    """
    limits: dict[str, Any] = {"memory_limit": memory_limit, "progress": progress}
    with opened_table(paths, list(parts), **limits) as table:
        read, told = table.read_as(parts, labels)
        selected = ", ".join(f"{text} as {quoted(name)}" for name, text in read.items())
        with numbers_explained(table, parts, labels):
            query = f"select {selected} from {table.source}"  # noqa: S608
            yield table.connection.from_query(query), told


@contextmanager
def numbers_explained(
    table: Table, parts: Mapping[str, Part], labels: Labels = NO_LABELS
) -> Iterator[None]:
    """Say which text is no number where DuckDB stumbled over one."""
    import duckdb

    try:
        yield
    except duckdb.ConversionException:
        table.refuse_unreadable(parts, labels)
        raise


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
        As for `opened`.
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


def read_columns(
    paths: Paths, parts: Mapping[str, Part], labels: Labels = NO_LABELS
) -> tuple[dict[str, npt.NDArray[Any]], Told | None]:
    """Read some columns of files of one kind; missing values stay missing.

    Parameters
    ----------
    paths, parts, labels
        As for `opened`.

    Returns
    -------
    tuple of dict of str to array, and Told or None
        Numbers as numpy arrays, columns with missing values as masked arrays; and what became of
        labels.
    """
    with opened(paths, parts, labels, progress=False) as (relation, told):
        return dict(relation.fetchnumpy()), told


def without_missing(
    columns: dict[str, npt.NDArray[Any]], may_miss: Sequence[str] = ()
) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """Drop rows with a missing value in any column but some; say how many were dropped."""
    arrays: dict[str, Any] = {name: as_values(values) for name, values in columns.items()}
    missing = np.zeros(len(next(iter(arrays.values()))), dtype=bool)
    for name, values in arrays.items():
        if name in may_miss:
            continue
        missing |= np.ma.getmaskarray(values)
        if values.dtype.kind == "f":
            missing |= np.isnan(np.ma.getdata(values))
    kept = {
        name: values[~missing] if name in may_miss else np.ma.getdata(values)[~missing]
        for name, values in arrays.items()
    }
    return kept, int(missing.sum())


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
    # Times with a zone have the same days and names on every machine.
    connection.execute("set TimeZone = 'UTC'")
    # DuckDB draws on standard output.
    shown = sys.stdout.isatty() and sys.stderr.isatty() if progress is None else progress
    asked = somebody_waits()
    connection.execute(f"set enable_progress_bar = {str(shown or asked).lower()}")
    if asked:  # they draw a bar of their own
        connection.execute("set enable_progress_bar_print = false")


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn what DuckDB says into one message."""
    import duckdb

    try:
        yield
    except duckdb.IOException as error:
        # Files are looked for before: what fails now is the disk, the network or somebody else.
        raise ReadingError(what, _first_line(error)) from error
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
        if what == READABLE:
            raise  # queries of files are written here: the file is not to blame
        raise InvalidForecastsError(what, _first_line(error)) from error
    except duckdb.Error as error:
        text = str(error)
        if "not utf-8" in text:
            raise InvalidForecastsError(
                what,
                "letters that are not UTF-8",
                "save it as UTF-8, for instance with iconv -f latin1 -t utf-8 (or -f utf-16)",
            ) from error
        ragged = RAGGED.search(text)
        if ragged is not None:
            line, expected, found = ragged.groups()
            file = FILE.search(text)
            place = f"{Path(file[1]).name}, line {line}" if file else f"line {line}"
            raise InvalidForecastsError(
                f"{place}: {count_text(int(found), 'column')}, expected {expected}"
            ) from error
        if "state machine" in text:
            raise InvalidForecastsError(
                what,
                "line ends of more than one kind, or letters after a closing quote",
                "end all lines alike, for instance with dos2unix",
            ) from error
        open_quote = OPEN_QUOTE.search(text)
        if open_quote is not None:
            raise InvalidForecastsError(
                what,
                f"line {open_quote[1]} with a quote that does not end",
                "write a quote within quotes twice",
            ) from error
        raise InvalidForecastsError(what, _first_line(error)) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
