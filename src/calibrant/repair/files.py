"""Maps applied to whole files, streamed through DuckDB."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint.files import READERS
from calibrant.repair.base import RecalibrationMap
from calibrant.repair.texts import dialect_of, sql_expression

# How DuckDB writes a file, by the end of its name.
WRITERS = {
    ".parquet": "format parquet",
    ".csv": "format csv, header",
    ".tsv": "format csv, header, delimiter '\t'",
    ".jsonl": "format json",
    ".ndjson": "format json",
}
NO_PROBABILITY = "no probability"


def apply_to_files(
    fitted: RecalibrationMap,
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    prediction: str = "prediction",
    column: str = "recalibrated",
    percent: bool = False,
) -> int:
    """Copy files to one file with a column of recalibrated predictions, piece by piece.

    Parameters
    ----------
    fitted : RecalibrationMap
        A fitted map.
    paths : sequence of str or Path
        CSV, Parquet or JSON lines files, or globs of them; "-" is CSV on standard input.
    out : str or Path
        File to write, Parquet, CSV or JSON lines by the end of its name.
    prediction : str, default="prediction"
        Column of predictions.
    column : str, default="recalibrated"
        Name of the new column; a missing prediction stays missing.
    percent : bool, default=False
        Whether predictions are in per cent; the new column is not.

    Returns
    -------
    int
        Number of rows written.
    """
    import duckdb

    kind = check_output(out)
    with _opened(paths) as (connection, source):
        _check_columns(connection, source, prediction, column)
        expression = sql_expression(
            fitted.form_,
            prediction,
            "duckdb",
            percent=percent,
            otherwise=f"error('{NO_PROBABILITY}')",
        )
        named = f"{expression} as {dialect_of('duckdb').quoted(column)}"
        selected = f"select *, {named} from {source}"  # noqa: S608
        try:
            done = connection.execute(f"copy ({selected}) to '{_escaped(out)}' ({kind})").fetchone()
        except duckdb.Error as error:
            raise _explained(error, prediction) from error
    return int(done[0])


def check_output(out: str | Path) -> str:
    """Return how DuckDB writes a file of this name."""
    suffix = Path(out).suffix.lower()
    if suffix not in WRITERS:
        raise InvalidOptionError(
            f"the output must end in one of {', '.join(WRITERS)}", suffix or str(out)
        )
    return WRITERS[suffix]


@contextmanager
def _opened(paths: Sequence[str | Path]) -> Iterator[tuple[Any, str]]:
    """Give a connection and the files as what a query selects from."""
    import duckdb

    names = [str(path) for path in paths]
    with duckdb.connect() as connection, tempfile.NamedTemporaryFile(suffix=".csv") as copy:
        if names == ["-"]:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            names = [copy.name]
        suffixes = {Path(name).suffix.lower() for name in names}
        if len(suffixes) != 1 or suffixes.isdisjoint(READERS):
            raise InvalidForecastsError(
                f"files must all end in one of {', '.join(READERS)}", ", ".join(sorted(suffixes))
            )
        listed = ", ".join(f"'{_escaped(name)}'" for name in names)
        yield connection, f"{READERS[suffixes.pop()]}([{listed}])"


def _check_columns(connection: Any, source: str, prediction: str, column: str) -> None:
    import duckdb

    try:
        present = connection.sql(f"select * from {source}").columns  # noqa: S608
    except duckdb.Error as error:
        raise InvalidForecastsError(
            "the file must be readable CSV, Parquet or JSON lines",
            str(error).splitlines()[0].rstrip("."),
        ) from error
    if prediction not in present:
        raise InvalidForecastsError(
            f"the file must have a column {prediction!r}",
            f"columns {', '.join(present)}",
            "name it with --prediction",
        )
    if column.lower() in {name.lower() for name in present}:
        raise InvalidOptionError(
            f"the new column {column!r} must not be there yet",
            f"columns {', '.join(present)}",
            "name it with --column",
        )


def _explained(error: Exception, prediction: str) -> Exception:
    said = str(error).splitlines()[0]
    if NO_PROBABILITY in said:
        return InvalidForecastsError(
            f"column {prediction!r} must hold probabilities in [0, 1]",
            "values that are none",
            "per cent need --scale percent",
        )
    return InvalidForecastsError("the map must apply to the file", said.rstrip("."))


def _escaped(path: str | Path) -> str:
    return str(path).replace("'", "''")
