"""Calibrators applied to whole files, streamed through DuckDB."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.data.databases import first_row
from calibrant.data.files import numbers_explained, opened_table
from calibrant.data.labels import Labels, shown
from calibrant.data.paths import Paths
from calibrant.data.tables import Part, Table, literal, quoted
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.recalibration.base import Calibrator, form_of_two
from calibrant.recalibration.export import LOGIT, PERCENT, UNIT, form_text, guarded, read_column
from calibrant.recalibration.forms import Lines, Logistic, LogOddsCurve, Steps
from calibrant.recalibration.group_calibrator import GroupCalibrator
from calibrant.recalibration.patches import MOST_NESTED, Patches
from calibrant.recalibration.quoting import dialect_of
from calibrant.recalibration.reading import refuse_scale
from calibrant.recalibration.sql import (
    free_mark,
    input_columns,
    nested,
    output_names,
    patched_plan,
    plan_of,
)

if TYPE_CHECKING:
    import duckdb


# A power of two: multiplying by it is exact, so that cells are the same as those of numpy.
CELLS = 2**16


def looked_up(
    connection: duckdb.DuckDBPyConnection,
    form: Steps | Lines,
    source: str,
    probability: str,
    column: str,
    mark: str,
    corrected: Callable[[str], str],
) -> str:
    """Write a query for all rows of a source with the value of a form, in the order of the rows.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Where a table of one row is made that holds the lists.
    form : Steps or Lines
        What to look up.
    source : str
        What to select from.
    probability : str
        Expression for the argument of the form: in [0, 1], or NULL, whose value is NULL.
    column : str
        Name of the new column, quoted.
    mark : str
        How no name of a column of the source begins.
    corrected : callable
        Writes what becomes of the value of the form, which is not NULL.
    """
    p, i, table, cuts, first, pieces = (
        mark + name for name in ("p", "i", "lists", "cuts", "first", "pieces")
    )
    cut, fields = _parts(form)
    cell = (cut * CELLS).astype(np.int64)
    names = ", ".join(f"{name} double" for name in fields)
    connection.execute(
        f"create temp table {table} as select ?::double[] as {cuts}, ?::integer[] as {first}, "
        f"?::struct({names})[] as {pieces}",
        [
            cut.tolist(),
            np.searchsorted(cell, np.arange(CELLS + 1)).tolist(),
            [
                dict(zip(fields, piece, strict=True))
                for piece in np.column_stack(list(fields.values())).tolist()
            ],
        ],
    )
    # A product with one row streams and keeps the order, as long as the sides are not swapped.
    connection.execute("set disabled_optimizers = 'join_order,build_side_probe_side'")
    query = f"select *, {probability} as {p} from {source}, {table}"  # noqa: S608
    start = f"{first}[1 + cast(floor({p} * {CELLS}) as integer)]"
    query = f"select *, {start} as {i} from ({query})"  # noqa: S608
    most = int(np.bincount(cell).max()) if cell.size else 0
    for power in reversed(range(most.bit_length())):
        farther = f"{i} + {2**power}"
        step = f"case when {cuts}[{farther}] <= {p} then {farther} else {i} end"
        query = f"select * replace ({step} as {i}) from ({query})"  # noqa: S608
    piece = f"{pieces}[1 + {i}]"
    value = f"{piece}.value"
    if "rise" in fields:
        share = f"greatest(least(({p} - {piece}.knot) / {piece}.width, 1e0), 0e0)"
        value += f" + {share} * {piece}.rise"
    value = f"case when {p} is not null then {corrected(value)} end"
    helpers = f"{p}, {i}, {cuts}, {first}, {pieces}"
    return f"select * exclude ({helpers}), {value} as {column} from ({query})"  # noqa: S608


def _parts(form: Steps | Lines) -> tuple[Floats, dict[str, Floats]]:
    """Points where one piece ends and the next begins, and the numbers of each piece."""
    if isinstance(form, Steps):
        return form.start[1:], {"value": form.value}
    if form.knot.size == 1:
        return form.knot[1:], {"value": form.value}
    return form.knot[1:-1], {
        "value": form.value[:-1],
        "knot": form.knot[:-1],
        "width": np.diff(form.knot),
        "rise": np.diff(form.value),
    }


# How DuckDB writes a file, by the end of its name.
WRITERS = {
    ".parquet": "format parquet",
    ".csv": "format csv, header",
    ".tsv": "format csv, delimiter '\t', header",
    ".jsonl": "format json",
    ".ndjson": "format json",
}
NO_PROBABILITY = "no probability"


@dataclass(frozen=True, slots=True)
class Applied:
    """How many rows were written."""

    rows: int
    strange: int
    """Rows with values that were not seen in the fit."""
    in_sample: bool = False
    """Whether they are, by their predictions, the rows that the calibrator was fitted to."""


def apply_to_files(
    fitted: Calibrator,
    paths: Paths,
    out: str | Path,
    *,
    prediction: str = "prediction",
    column: str = "recalibrated",
    scale: str | None = None,
) -> Applied:
    """Copy files to one file with new columns of recalibrated predictions, piece by piece.

    Parameters
    ----------
    fitted : Calibrator
        A fitted calibrator of any kind.
    paths : str, Path or a sequence of them
        CSV, Parquet or JSON lines files, or globs of them; "-" is standard input.
    out : str or Path
        File to write, Parquet, CSV or JSON lines by the end of its name. Columns of CSV keep their
        letters in CSV; elsewhere they are numbers if all their rows are, and text otherwise.
    prediction : str, default="prediction"
        Column of predictions. For a calibrator of classes the columns are those named like the
        classes; if they are not there, this one holds lists in the order of the classes.
    column : str, default="recalibrated"
        Name of the new column; a missing prediction stays missing. For a calibrator of classes
        there is one for each, whose name goes on with "_" and the class.
    scale : {"unit", "percent", "logit"}, optional
        Units of the predictions in the files; by default those that the calibrator takes. The new
        columns hold probabilities in [0, 1].

    Returns
    -------
    Applied
        Number of rows written, of those with values that the fit has not seen, and whether the
        calibrator was fitted to them.
    """
    import duckdb

    how = check_output(out)
    if scale is not None:
        refuse_scale(scale, fitted.classes_)
    units = fitted.scale_ if scale is None else scale
    patches = _patches_of(fitted)
    names = output_names(fitted, column)
    kind = dialect_of("duckdb")
    with opened_table(paths) as table:
        connection = table.connection
        _refuse_taken(list(dict.fromkeys([*table.names, *table.columns])), names)
        how += _own_header(table, names, Path(out).suffix.lower())
        parts, lists = _parts_of_query(fitted, patches, prediction, table.names)
        rows = _Rows.of(table, parts, Path(out).suffix.lower())
        selected = _query(connection, fitted, rows, prediction, names, units, lists=lists)
        try:
            with numbers_explained(table, parts):
                copied = f"copy ({rows.restored(selected)}) to {literal(str(out))} ({how})"
                done = first_row(connection, copied)
                strange = 0
                if patches.columns:
                    unseen = f"not ({patches.seen(kind)})"
                    counted = f"select count(*) from {rows.source} where {unseen}"  # noqa: S608
                    (strange,) = first_row(connection, counted) or (0,)
                count = int(done[0]) if done else 0
                in_sample = _is_in_sample(connection, fitted, rows.source, [*parts], units, count)
        except duckdb.IOException as error:
            # Such as a full disk: no fault of the calibrator or the rows.
            raise OSError(str(error).splitlines()[0]) from error
        except duckdb.Error as error:
            raise _explained(error, fitted, prediction, units) from error
    return Applied(count, int(strange), in_sample)


def _is_in_sample(
    connection: duckdb.DuckDBPyConnection,
    fitted: Calibrator,
    source: str,
    names: Sequence[str],
    units: str,
    count: int,
) -> bool:
    """Whether the calibrator was fitted to the rows: read again only if there are as many."""
    known = fitted.training_fingerprint_
    if known is None or count != known.rows:
        return False
    kind = dialect_of("duckdb")
    if fitted.classes_ is None:
        names = names[-1:]  # before it stand columns of groups
        columns = [read_column(names[0], kind, units)]
    elif len(names) == 1:
        columns = [
            f"{kind.quoted(names[0])}[{k + 1}]{' / 100.0' if units == PERCENT else ''}"
            for k in range(len(fitted.classes_))
        ]
    else:
        columns = [read_column(name, kind, units) for name in names]
    listed = ", ".join(f"{column} as c{k}" for k, column in enumerate(columns))
    read = connection.execute(f"select {listed} from {source}").fetchnumpy()  # noqa: S608
    if any(np.ma.is_masked(values) for values in read.values()):
        return False
    table = np.column_stack([np.asarray(values, dtype=np.float64) for values in read.values()])
    return known.has_predictions(table[:, 0] if fitted.classes_ is None else table)


def _own_header(table: Table, names: Sequence[str], suffix: str) -> str:
    """Say how to write names that DuckDB would change."""
    if table.names == table.columns:
        return ""
    marks = {".csv": ",", ".tsv": "\t"}
    if suffix in marks:
        line = io.StringIO()
        csv.writer(line, delimiter=marks[suffix], lineterminator="\n").writerow(
            [*table.names, *names]
        )
        return f" false, prefix {literal(line.getvalue())}, suffix '\n'"
    if table.alike():
        raise InvalidForecastsError(
            f"columns of a {suffix} file must have different names",
            shown(table.alike()),
            "rename them, or write CSV",
        )
    return ""


def _patches_of(fitted: Calibrator) -> Patches:
    return fitted.patches if isinstance(fitted, GroupCalibrator) else Patches()


def _parts_of_query(
    fitted: Calibrator, patches: Patches, prediction: str, present: Sequence[str]
) -> tuple[dict[str, Part], bool]:
    """Say how each column is read, and whether probabilities of classes stand in lists."""
    columns = input_columns(fitted, None if fitted.classes_ is not None else prediction)
    if fitted.classes_ is not None and prediction in present and not {*columns} <= {*present}:
        return {prediction: Part.NUMBERS}, True
    if fitted.classes_ is not None and prediction != "prediction" and {*columns} <= {*present}:
        raise InvalidOptionError(
            "@prediction has no effect beside columns of classes", repr(prediction), "leave it out"
        )
    parts = dict.fromkeys(patches.columns, Part.VALUE)
    parts |= dict.fromkeys(patches.text_columns, Part.TEXT)
    parts |= dict.fromkeys(patches.time_columns, Part.MOMENT) | dict.fromkeys(columns, Part.NUMBER)
    return parts, False


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows whose columns a calibrator can read, and that are written as they were."""

    source: str
    """What to select from: columns that the calibrator reads have their types, the others are to
    write."""
    columns: list[str]
    kept: dict[str, str]
    """For each column that the calibrator reads, the one that holds what to write in its place."""

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
    if table.typed and suffix in {".jsonl", ".ndjson"}:
        # JSON has no NaN and no infinity.
        floats = {name for name, kind in table.types.items() if kind in {"FLOAT", "DOUBLE"}}
        return {
            name: f"case when isfinite({quoted(name)}) then {quoted(name)} end"
            if name in floats
            else quoted(name)
            for name in table.columns
        }
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
    fitted: Calibrator,
    rows: _Rows,
    prediction: str,
    names: Sequence[str],
    scale: str,
    *,
    lists: bool,
) -> str:
    """Write the query for all columns and the new ones."""
    kind = dialect_of("duckdb")
    mark = free_mark([*rows.columns, *names])
    if fitted.classes_ is None:
        return _of_two(connection, fitted, rows.source, prediction, names[0], scale, mark)
    source, columns = rows.source, input_columns(fitted, None)
    refusal = f"error('{NO_PROBABILITY}')"
    if not lists:
        plan = plan_of(fitted, columns, names, kind, scale, mark, refusal)
        return nested(source, plan, kind)
    column, count = kind.quoted(prediction), len(columns)
    whole = f"case when len({column}) = {count} then {column} when {column} is not null "
    listed = [kind.quoted(f"{mark}c{k}") for k in range(count)]
    taken = [f"({whole}then {refusal} end)[{k + 1}] as {name}" for k, name in enumerate(listed)]
    source = f"(select *, {', '.join(taken)} from {source})"  # noqa: S608
    columns = [f"{mark}c{k}" for k in range(count)]
    plan = plan_of(fitted, columns, names, kind, scale, f"{mark}m", refusal)
    return f"select * exclude ({', '.join(listed)}) from ({nested(source, plan, kind)})"  # noqa: S608


def _of_two(
    connection: duckdb.DuckDBPyConnection,
    fitted: Calibrator,
    source: str,
    prediction: str,
    name: str,
    scale: str,
    mark: str,
) -> str:
    """Write the query for a calibrator of two outcomes: by a formula or looked up, then patched."""
    kind = dialect_of("duckdb")
    patches, form = _patches_of(fitted), form_of_two(fitted)
    in_steps = not patches.affine or len(patches.patches) > MOST_NESTED
    target = kind.quoted(f"{mark}base" if in_steps else name)

    def corrected(value: str) -> str:
        if in_steps or not isinstance(fitted, GroupCalibrator):
            return value
        return patches.corrected(value, fitted.least, kind)

    refusal = f"error('{NO_PROBABILITY}')"
    x = read_column(prediction, kind, scale)
    if isinstance(form, Logistic | LogOddsCurve):
        value = guarded(corrected(form_text(form, x, kind)), prediction, kind, scale, refusal)
        query = f"select *, {value} as {target} from {source}"  # noqa: S608
    else:
        probability = guarded(kind.within(x, 0.0, 1.0), prediction, kind, scale, refusal)
        query = looked_up(connection, form, source, probability, target, mark, corrected)
    if not (in_steps and isinstance(fitted, GroupCalibrator)):
        return query
    # Each step is nested in the next one.
    connection.execute(f"set max_expression_depth to {1000 + 10 * len(patches.patches)}")
    plan = patched_plan(fitted, [], target, name, kind, mark)
    return f"select * exclude ({target}) from ({nested(f'({query})', plan, kind)})"  # noqa: S608


def _refuse_taken(present: Sequence[str], names: Sequence[str]) -> None:
    if "" in names:
        raise InvalidOptionError("@column must name the new column", "''")
    lowered = {name.lower() for name in present}
    taken = [name for name in names if name.lower() in lowered]
    if taken:
        raise InvalidOptionError(
            f"the new column {taken[0]!r} must not be there yet",
            f"columns {', '.join(present)}",
            "give it another name",
        )


def _explained(error: Exception, fitted: Calibrator, prediction: str, scale: str) -> Exception:
    message = str(error).splitlines()[0]
    if NO_PROBABILITY not in message:
        return InvalidForecastsError("the calibrator must apply to the file", message.rstrip("."))
    if scale == LOGIT:
        return InvalidForecastsError(
            f"column {prediction!r} must hold finite log-odds", "values that are none"
        )
    unit = scale == UNIT
    other = f"if they are {'per cent' if unit else 'probabilities'} say "
    hint = f"{other}@scale='{PERCENT if unit else UNIT}'"
    if fitted.classes_ is not None:
        return InvalidForecastsError(
            f"probabilities of the classes must sum to {'one' if unit else '100'} in each row",
            "rows that do not",
            hint,
        )
    return InvalidForecastsError(
        f"column {prediction!r} must hold "
        + ("probabilities in [0, 1]" if unit else "per cent from 0 to 100"),
        "values that are none",
        hint,
    )
