"""Files of forecasts as relations of DuckDB, which reads them piece by piece."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._base.stages import probed, somebody_waits
from calibrant._base.words import count_text
from calibrant.data.compressed import READABLE
from calibrant.data.databases import attach, first_row
from calibrant.data.frames import as_values
from calibrant.data.labels import LabelMeanings, Labels, shown
from calibrant.data.paths import Paths, settled
from calibrant.data.tables import Part, Table, literal, quoted
from calibrant.errors import InvalidForecastsError, InvalidOptionError, ReadingError

if TYPE_CHECKING:
    import duckdb


READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
COMPRESSED = {".gz", ".zst"}
# A name in the header may go over several lines.
MOST_HEADER_LINES = 100
DELIMITERS = (",", ";", "\t", "|")
# Quotes are never sniffed: they may come after the rows that a sniffer looks at.
CSV = (
    "auto_detect = false, hive_partitioning = false, header = true, allow_quoted_nulls = false, "
    """quote = '"', escape = '"'"""
)
JSON = "map_inference_threshold = -1, hive_partitioning = false"
WHOLE_JSON = f"{JSON}, sample_size = -1, maximum_sample_files = 2147483647"


def open_table(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str], wanted: Sequence[str] | None
) -> Table:
    """Find the columns of files of one kind; None wants all of them.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Where queries will run.
    names : sequence of str
        Files on this machine.
    wanted : sequence of str or None
        Columns that will be read. The first rows of JSON lines may not have them all.
    """
    # With parameters DuckDB would run the query here, and keep all rows.
    listed = f"[{', '.join(map(_file, names))}]"
    reader = _reader(names)
    if reader == "read_parquet":
        partitions = not _keys(names[0]) & {*map(str.lower, _parquet_header(connection, names[0]))}
        source = f"read_parquet({listed}, hive_partitioning = {partitions})"
        types = _described(connection, source)
        types |= dict.fromkeys(types.keys() & _time_spans(connection, names[0]), "INTERVAL")
        header: list[str] = []
        if _has_renamed(types):
            own = _parquet_header(connection, names[0])
            header = [*own, *list(types)[len(own) :]]  # then come those of folders
        if wanted is None and len(names) > 1:
            _refuse_mixed({name: _parquet_header(connection, name) for name in names})
        return Table(connection, source, types, typed=True, header=header)
    if reader == "read_json":
        columns = list(_described(connection, f"read_json({listed}, {JSON})"))
        if wanted is None or not set(wanted) <= set(columns):
            columns = list(_described(connection, f"read_json({listed}, {WHOLE_JSON})"))
        types = dict.fromkeys(columns, "JSON")
        if wanted is None and _has_renamed(types):
            _refuse_alike(connection, listed)
        return Table(
            connection,
            f"read_json({listed}, {JSON}, columns = {_struct(types)})",
            types,
            typed=False,
        )
    return _open_csv(connection, names, wanted)


def _open_csv(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str], wanted: Sequence[str] | None
) -> Table:
    """Open CSV files by the names in their first line.

    DuckDB is told all that it would guess: a guess may take rows for comments, or for lines before
    the header.
    """
    headers = {name: _header(connection, name, wanted or ()) for name in names}
    found = {name: header for name, (_, header) in headers.items()}
    if wanted is None or not all({*wanted} <= {*header} for header in found.values()):
        _refuse_mixed(found)
    mark, header = headers[names[0]]
    columns = _distinct(header)
    if all(own == (mark, header) for own in headers.values()):
        source = _csv(f"[{', '.join(map(_file, names))}]", mark, columns)
    else:
        header = columns = _shared(list(found.values()))
        if wanted is None and len(columns) < len(found[names[0]]):
            raise InvalidForecastsError(
                "files must have the same columns in the same order",
                "names that are empty or alike, and another order",
                "rename them",
            )
        listed = ", ".join(map(quoted, columns))
        sources = (_csv(_file(name), mark, _distinct(own)) for name, (mark, own) in headers.items())
        selects = (f"select {listed} from {source}" for source in sources)  # noqa: S608
        source = f"({' union all '.join(selects)})"
    types = dict.fromkeys(columns, "VARCHAR")
    return Table(connection, source, types, typed=False, header=header)


def _csv(files: str, mark: str, columns: Sequence[str]) -> str:
    struct = _struct(dict.fromkeys(columns, "VARCHAR"))
    return f"read_csv({files}, {CSV}, delim = {literal(mark)}, columns = {struct})"


def _distinct(header: Sequence[str]) -> list[str]:
    """Change names that are empty, or that another has but for its capitals."""
    found: list[str] = []
    taken = {name.lower() for name in header}
    for name in header:
        new = name
        if not name or name.lower() in {other.lower() for other in found}:
            numbered = (f"{name or 'column'}_{number}" for number in count(1))
            new = next(other for other in numbered if other.lower() not in taken)
        taken.add(new.lower())
        found.append(new)
    return found


def _shared(headers: Sequence[Sequence[str]]) -> list[str]:
    """Names of the first header that mean one column in each."""
    own = [{name for name in _distinct(h) if h.count(name) == 1} for h in headers]
    return [name for name in headers[0] if all(name in names for names in own)]


def _file(name: str) -> str:
    """Write the name of one file, in which DuckDB would see a pattern."""
    special = set(name) & set("*?[")
    if special and "\\" in name:
        raise InvalidForecastsError(
            "the name of a file must have no backslash beside * ? [", repr(name), "rename it"
        )
    return literal("".join(f"[{letter}]" if letter in special else letter for letter in name))


def _keys(name: str) -> set[str]:
    """Names of the columns that folders like year=2025 stand for."""
    return {part.split("=")[0].lower() for part in Path(name).parts[:-1] if "=" in part}


def _reader(names: Sequence[str]) -> str:
    kinds = {_kind(name): name for name in names}
    if len(kinds) != 1 or kinds.keys().isdisjoint(READERS):
        shown = (kind or f"{Path(name).name!r} without an ending" for kind, name in kinds.items())
        raise InvalidForecastsError(
            f"files must all end in one of {', '.join(READERS)}",
            ", ".join(sorted(shown)) or "no files",
            "" if len(kinds) != 1 else "rename it, or send CSV to standard input, whose name is -",
        )
    return READERS[next(iter(kinds))]


def _kind(name: str) -> str:
    path = Path(name)
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    return path.suffix.lower()


def _described(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, str]:
    relation = connection.sql(f"select * from {source} limit 0")  # noqa: S608
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def _has_renamed(types: Mapping[str, str]) -> bool:
    """Whether DuckDB may have numbered a column, because another has the name but for capitals."""
    lowered = {name.lower() for name in types}
    return any(re.sub(r"_[0-9]+$", "", name) in lowered - {name} for name in lowered)


def _parquet_header(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Return the names of the columns of a Parquet file, without what is inside of them."""
    query = f"select name, coalesce(num_children, 0) from parquet_schema({_file(name)})"  # noqa: S608
    found, inside = [], 0
    for name_, children in connection.execute(query).fetchall()[1:]:
        if not inside:
            found.append(str(name_))
        inside += children - bool(inside)
    return found


def _time_spans(connection: duckdb.DuckDBPyConnection, name: str) -> set[str]:
    """Return columns of a Parquet file that pandas wrote as spans of time.

    Parquet has no such type: DuckDB sees whole numbers, and not that they are nanoseconds.
    """
    found = first_row(
        connection,
        f"select decode(value) from parquet_kv_metadata({_file(name)}) "  # noqa: S608
        "where key = encode('pandas')",
    )
    if found is None:
        return set()
    with suppress(ValueError, TypeError, KeyError, AttributeError):  # whatever others wrote there
        columns = json.loads(found[0])["columns"]
        return {
            str(column["field_name"])
            for column in columns
            if str(column["numpy_type"]).startswith("timedelta64")
        }
    return set()


def _refuse_mixed(headers: Mapping[str, Sequence[str]]) -> None:
    """Refuse files with columns that others do not have: all columns are wanted."""
    everywhere = set.intersection(*(set(header) for header in headers.values()))
    for file, header in headers.items():
        own = [name for name in header if name not in everywhere]
        if own:
            raise InvalidForecastsError(
                "files must have the same columns",
                f"{own[0]!r} in {Path(file).name} and not in all",
            )


def _refuse_alike(connection: duckdb.DuckDBPyConnection, listed: str) -> None:
    """Refuse JSON whose names differ by capitals only, which DuckDB cannot keep apart."""
    keys = f"select distinct unnest(json_keys(json)) as key from read_json_objects({listed})"  # noqa: S608
    alike = (
        f"select lower(key), list(key order by key) from ({keys}) group by 1 having count(*) > 1"  # noqa: S608
    )
    found = first_row(connection, f"{alike} order by 1")
    if found is not None:
        raise InvalidForecastsError(
            "columns must have different names", shown(found[1]), "rename one of them"
        )


def _struct(types: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{literal(name)}: '{kind}'" for name, kind in types.items()) + "}"


def _header(
    connection: duckdb.DuckDBPyConnection, name: str, wanted: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the mark between the names in the first line of a CSV file, and the names.

    Marks that no text has stand for quotes: an empty quote would be the character NUL.
    """
    first = "auto_detect = false, header = false, delim = '\x01', quote = '\x02', escape = '\x02'"
    lines = connection.execute(
        f"select line from read_csv({_file(name)}, {first}, columns = {{'line': 'VARCHAR'}}, "  # noqa: S608
        "hive_partitioning = false, strict_mode = false, "
        f"max_line_size = 10000000) limit {MOST_HEADER_LINES}"
    ).fetchall()
    text = "\n".join(str(line or "") for (line,) in lines).lstrip("\ufeff")
    parsed = {
        mark: next(csv.reader(io.StringIO(text, newline=""), delimiter=mark), [])
        for mark in DELIMITERS
    }

    def fit(mark: str) -> tuple[int, bool, int]:
        header = parsed[mark]
        whole = not any('"' in name for name in header)  # else a quoted name was cut
        return len({*wanted} & {*header}), whole, len(header)

    mark = max(DELIMITERS, key=fit)
    if re.fullmatch(r"sep=.?", text.partition("\n")[0].strip(), re.IGNORECASE):
        raise InvalidForecastsError(
            f"{Path(name).name}, line 1: a line for Excel ({text.partition(chr(10))[0].strip()}), "
            "not the names of the columns",
            hint="remove that line",
        )
    if not parsed[mark]:
        raise InvalidForecastsError(READABLE, f"{Path(name).name}: no header")
    return mark, parsed[mark]


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
) -> Iterator[tuple[duckdb.DuckDBPyRelation, LabelMeanings | None]]:
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
    tuple of relation and LabelMeanings or None
        The columns, and what became of their labels if a positive one was named.
    """
    limits: dict[str, Any] = {"memory_limit": memory_limit, "progress": progress}
    with opened_table(paths, list(parts), **limits) as table:
        read, meanings = table.read_as(parts, labels)
        selected = ", ".join(f"{text} as {quoted(name)}" for name, text in read.items())
        with numbers_explained(table, parts, labels):
            query = f"select {selected} from {table.source}"  # noqa: S608
            yield table.connection.from_query(query), meanings


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
) -> tuple[dict[str, npt.NDArray[Any]], LabelMeanings | None]:
    """Read some columns of files of one kind; missing values stay missing.

    Parameters
    ----------
    paths, parts, labels
        As for `opened`.

    Returns
    -------
    tuple of dict of str to array, and LabelMeanings or None
        Numbers as numpy arrays, columns with missing values as masked arrays; and what became of
        labels.
    """
    with opened(paths, parts, labels, progress=False) as (relation, meanings):
        return dict(relation.fetchnumpy()), meanings


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
    waiting = somebody_waits()
    connection.execute(f"set enable_progress_bar = {str(shown or waiting).lower()}")
    if waiting:  # they draw a bar of their own
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
            location = f"{Path(file[1]).name}, line {line}" if file else f"line {line}"
            raise InvalidForecastsError(
                f"{location}: {count_text(int(found), 'column')}, expected {expected}"
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
