"""Maps applied to whole files, streamed through DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from calibrant.data.files import numbers_explained, opened_table
from calibrant.data.labels import Labels
from calibrant.data.paths import Paths
from calibrant.data.tables import Part, Table, literal, quoted
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.options import refuse_unknown
from calibrant.repair.forms import Form, Logistic
from calibrant.repair.lookup import looked_up
from calibrant.repair.quoting import dialect_of
from calibrant.repair.texts import PERCENT, SCALES, UNIT, form_text, guarded, read_column

if TYPE_CHECKING:
    import duckdb

# How DuckDB writes a file, by the end of its name.
WRITERS = {
    ".parquet": "format parquet",
    ".csv": "format csv, header",
    ".tsv": "format csv, header, delimiter '\t'",
    ".jsonl": "format json",
    ".ndjson": "format json",
}
NO_PROBABILITY = "no probability"


class Written(Protocol):
    """A fitted map that can be written as SQL."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it looks at beside the predictions."""
        ...

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Those of the columns whose values are text."""
        ...

    @property
    def form_(self) -> Form:
        """The map for all rows."""
        ...

    @property
    def scale_(self) -> str:
        """Units of the predictions that it takes."""
        ...

    def corrected(self, value: str, dialect: str) -> str:
        """Write what becomes of a prediction of the map for all rows, which is not NULL."""
        ...

    def strange(self, dialect: str) -> str:
        """Write a condition for rows with values that were not seen in the fit."""
        ...


@dataclass(frozen=True, slots=True)
class Applied:
    """How many rows were written."""

    rows: int
    strange: int
    """Rows with values that were not seen in the fit."""


def apply_to_files(
    fitted: Written,
    paths: Paths,
    out: str | Path,
    *,
    prediction: str = "prediction",
    column: str = "recalibrated",
    scale: str | None = None,
) -> Applied:
    """Copy files to one file with a column of recalibrated predictions, piece by piece.

    Parameters
    ----------
    fitted : RecalibrationMap or GroupMap
        A fitted map.
    paths : str, Path or a sequence of them
        CSV, Parquet or JSON lines files, or globs of them; "-" is standard input.
    out : str or Path
        File to write, Parquet, CSV or JSON lines by the end of its name. Columns of CSV keep their
        letters in CSV; elsewhere they are numbers if all their rows are, and text otherwise.
    prediction : str, default="prediction"
        Column of predictions.
    column : str, default="recalibrated"
        Name of the new column; a missing prediction stays missing.
    scale : {"unit", "percent"}, optional
        Units of the predictions in the files; by default those that the map takes. The new
        column holds probabilities in [0, 1].

    Returns
    -------
    Applied
        Number of rows written, and of those with values that the fit has not seen.
    """
    import duckdb

    kind = check_output(out)
    if scale is not None:
        refuse_unknown("scale", scale, SCALES)
    units = fitted.scale_ if scale is None else scale
    parts = dict.fromkeys(fitted.columns, Part.VALUE)
    parts |= dict.fromkeys(fitted.text_columns, Part.TEXT) | {prediction: Part.NUMBER}
    with opened_table(paths) as table:
        connection = table.connection
        _refuse_taken(table.columns, column)
        rows = _Rows.of(table, parts, Path(out).suffix.lower())
        selected = _query(connection, fitted, rows.source, rows.columns, prediction, column, units)
        try:
            with numbers_explained(table, parts):
                copied = f"copy ({rows.restored(selected)}) to {literal(str(out))} ({kind})"
                done = connection.execute(copied).fetchone()
                strange = 0
                if fitted.columns:
                    counted = f"select count(*) from {rows.source} where {fitted.strange('duckdb')}"  # noqa: S608
                    (strange,) = connection.execute(counted).fetchone() or (0,)
        except duckdb.IOException as error:
            # Such as a full disk: no fault of the map or the rows.
            raise OSError(str(error).splitlines()[0]) from error
        except duckdb.Error as error:
            raise _explained(error, prediction, units) from error
    return Applied(int(done[0]) if done else 0, int(strange))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows whose columns a map can read, and that are written as they were."""

    source: str
    """What to select from: columns that the map reads have their types, the others are to write."""
    columns: list[str]
    kept: dict[str, str]
    """For each column that the map reads, the one that holds what to write in its place."""

    @classmethod
    def of(cls, table: Table, parts: Mapping[str, Part], suffix: str) -> _Rows:
        read, _ = table.read_as(parts, Labels())
        written = _written(table, suffix)
        mark = "_"
        while any(name.startswith(mark) for name in table.columns):
            mark += "_"
        kept = {name: f"{mark}kept{number}" for number, name in enumerate(parts)}
        columns = [f"{read.get(name, text)} as {quoted(name)}" for name, text in written.items()]
        columns += [f"{written[name]} as {quoted(kept[name])}" for name in parts]
        source = f"(select {', '.join(columns)} from {table.source})"  # noqa: S608
        return cls(source, [*table.columns, *kept.values()], kept)

    def restored(self, query: str) -> str:
        """Write the query with all columns as they were."""
        hidden = ", ".join(map(quoted, self.kept.values()))
        back = ", ".join(f"{quoted(kept)} as {quoted(name)}" for name, kept in self.kept.items())
        return f"select * exclude ({hidden}) replace ({back}) from ({query})"  # noqa: S608


def _written(table: Table, suffix: str) -> dict[str, str]:
    """Write every column for a kind of file: its own letters where that kind has no types."""
    if table.typed:
        return {name: quoted(name) for name in table.columns}
    if suffix in {".csv", ".tsv"}:
        return {name: table.text(name) for name in table.columns}
    if suffix in {".jsonl", ".ndjson"} and "JSON" in table.types.values():
        return {name: quoted(name) for name in table.columns}
    found = table.found_types(table.columns, flags=True)
    return {name: table.value(name, kind) for name, kind in found.items()}


def check_output(out: str | Path) -> str:
    """Return how DuckDB writes a file of this name."""
    suffix = Path(out).suffix.lower()
    if suffix not in WRITERS:
        raise InvalidOptionError(
            f"the output must end in one of {', '.join(WRITERS)}", suffix or str(out)
        )
    return WRITERS[suffix]


def _query(
    connection: duckdb.DuckDBPyConnection,
    fitted: Written,
    source: str,
    present: Sequence[str],
    prediction: str,
    column: str,
    scale: str,
) -> str:
    """Write the query for all columns and the new one: by a formula, or looked up."""
    kind = dialect_of("duckdb")
    refusal = f"error('{NO_PROBABILITY}')"
    x = read_column(prediction, kind, scale)
    form, corrected = fitted.form_, partial(fitted.corrected, dialect="duckdb")
    if isinstance(form, Logistic):
        value = guarded(corrected(form_text(form, x, kind)), x, kind, refusal)
        return f"select *, {value} as {kind.quoted(column)} from {source}"  # noqa: S608
    mark = "_"
    while any(name.startswith(mark) for name in [*present, column]):
        mark += "_"
    probability = guarded(kind.within(x, 0.0, 1.0), x, kind, refusal)
    return looked_up(connection, form, source, probability, kind.quoted(column), mark, corrected)


def _refuse_taken(present: Sequence[str], column: str) -> None:
    if column.lower() in {name.lower() for name in present}:
        raise InvalidOptionError(
            f"the new column {column!r} must not be there yet",
            f"columns {', '.join(present)}",
            "name it with column=...",
        )


def _explained(error: Exception, prediction: str, scale: str) -> Exception:
    said = str(error).splitlines()[0]
    if NO_PROBABILITY in said:
        unit = scale == UNIT
        return InvalidForecastsError(
            f"column {prediction!r} must hold "
            + ("probabilities in [0, 1]" if unit else "per cent from 0 to 100"),
            "values that are none",
            f"if they are {'per cent' if unit else 'probabilities'} say "
            f"scale='{PERCENT if unit else UNIT}'",
        )
    return InvalidForecastsError("the map must apply to the file", said.rstrip("."))
