"""Calibrators as SQL: one expression, a select list for classes, or a query in steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.errors import InvalidOptionError
from calibrant.recalibration.base import Calibrator, form_of_two
from calibrant.recalibration.class_export import Step, class_steps, class_values, sound_row
from calibrant.recalibration.export import form_text, guarded, read_column
from calibrant.recalibration.group_calibrator import GroupCalibrator
from calibrant.recalibration.quoting import Dialect, dialect_of

PREDICTION = "prediction"


@dataclass(frozen=True, slots=True)
class SqlPlan:
    """Columns that steps make one after the other, and the new columns that come of them."""

    steps: list[Step]
    values: dict[str, str]
    """Expression of each new column by its name."""


def select_text(
    fitted: Calibrator,
    column: str | Sequence[str] | None,
    table: str | None,
    keep: Sequence[str],
    name: str,
    dialect: str,
) -> str:
    """Write a fitted calibrator as SQL; see `Calibrator.to_sql`."""
    kind = dialect_of(dialect)
    columns = input_columns(fitted, column)
    names = output_names(fitted, name)
    if table is not None:
        named = list(dict.fromkeys([*keep, *group_columns(fitted), *columns]))
        _refuse_taken(named, names)
        mark = free_mark([*named, *names, table])
        plan = plan_of(fitted, columns, names, kind, fitted.scale_, mark)
        return _query(table, named, plan, kind, mark)
    if keep:
        raise InvalidOptionError("keep is for a query", ", ".join(keep), "name the table")
    values = expressions_of(fitted, columns, names, kind, fitted.scale_)
    if fitted.classes_ is None:
        return next(iter(values.values()))
    return ",\n".join(f"{text} as {kind.quoted(one)}" for one, text in values.items())


def input_columns(fitted: Calibrator, column: str | Sequence[str] | None) -> list[str]:
    """Columns of predictions: one, or one for each class."""
    if fitted.classes_ is None:
        if column is not None and not isinstance(column, str):
            raise InvalidOptionError(
                "a calibrator of two outcomes takes one column", ", ".join(map(str, column))
            )
        return [PREDICTION if column is None else column]
    found = list(map(str, fitted.classes_ if column is None else column))
    if isinstance(column, str) or len(found) != len(fitted.classes_):
        raise InvalidOptionError(
            f"a calibrator of {len(fitted.classes_)} classes takes one column for each",
            column if isinstance(column, str) else f"{len(found)} columns",
        )
    return found


def output_names(fitted: Calibrator, name: str) -> list[str]:
    """Names of the new columns: one, or one for each class."""
    if fitted.classes_ is None:
        return [name]
    return [f"{name}_{one}" for one in fitted.classes_]


def group_columns(fitted: Calibrator) -> tuple[str, ...]:
    """Columns that a calibrator looks at beside the predictions."""
    return fitted.patches.columns if isinstance(fitted, GroupCalibrator) else ()


def free_mark(names: Sequence[str]) -> str:
    """Find a beginning that no name has."""
    mark = "m"
    while any(name.lower().startswith(mark) for name in names):
        mark += "m"
    return mark


def expressions_of(
    fitted: Calibrator,
    columns: Sequence[str],
    names: Sequence[str],
    kind: Dialect,
    scale: str,
) -> dict[str, str]:
    """Write each new column as one expression; what is no probability becomes NULL."""
    xs = [read_column(column, kind, scale) for column in columns]
    if fitted.classes_ is not None:
        sound = sound_row(columns, kind, scale)
        values = class_values(fitted.form_, xs, kind)
        return {
            name: f"cast(case when {sound} = 1 then {value} end as {kind.double})"
            for name, value in zip(names, values, strict=True)
        }
    value = form_text(form_of_two(fitted), xs[0], kind)
    if isinstance(fitted, GroupCalibrator):
        value = fitted.patches.corrected(value, fitted.least, kind)
    return {names[0]: guarded(value, columns[0], kind, scale)}


def plan_of(
    fitted: Calibrator,
    columns: Sequence[str],
    names: Sequence[str],
    kind: Dialect,
    scale: str,
    mark: str,
    otherwise: str = "null",
) -> SqlPlan:
    """Write a calibrator in steps: `otherwise` is for what is no probability and not missing."""
    xs = [read_column(column, kind, scale) for column in columns]
    if fitted.classes_ is not None:
        sound = kind.quoted(f"{mark}sound")
        read = {kind.quoted(f"{mark}p{k}"): x for k, x in enumerate(xs)}
        steps, values = class_steps(fitted.form_, list(read), kind, mark)
        rest = "" if otherwise == "null" else f" when {sound} = 0 then {otherwise}"
        texts = [
            f"cast(case when {sound} = 1 then {value}{rest} end as {kind.double})"
            for value in values
        ]
        read[sound] = sound_row(columns, kind, scale)
        return SqlPlan([read, *steps], dict(zip(names, texts, strict=True)))
    form = form_text(form_of_two(fitted), xs[0], kind)
    base = guarded(form, columns[0], kind, scale, otherwise)
    if not (isinstance(fitted, GroupCalibrator) and fitted.patches.patches):
        return SqlPlan([], {names[0]: base})
    value = kind.quoted(f"{mark}value")
    return patched_plan(fitted, [{value: base}], value, names[0], kind, mark)


def patched_plan(
    fitted: GroupCalibrator, before: list[Step], value: str, name: str, kind: Dialect, mark: str
) -> SqlPlan:
    """Correct a column that steps before have made, one patch after the other."""
    recalibrated, seen = kind.quoted(f"{mark}moved"), kind.quoted(f"{mark}seen")
    first = {recalibrated: value, seen: f"case when {fitted.patches.seen(kind)} then 1 else 0 end"}
    steps = [{recalibrated: text} for text in fitted.patches.steps(recalibrated, kind)]
    kept = kind.within(recalibrated, fitted.least, 1 - fitted.least)
    # What is NULL stays so: databases leave it out when they compare.
    result = f"case when {value} is null then null when {seen} = 1 then {kept} else {value} end"
    return SqlPlan([*before, first, *steps], {name: result})


def nested(source: str, plan: SqlPlan, kind: Dialect) -> str:
    """Write the steps around what DuckDB selects from; all columns stay."""
    known: set[str] = set()
    for step in plan.steps:
        new = [f"{text} as {name}" for name, text in step.items() if name not in known]
        old = [f"{text} as {name}" for name, text in step.items() if name in known]
        everything = f"* replace ({', '.join(old)})" if old else "*"
        source = f"(select {', '.join([everything, *new])} from {source})"  # noqa: S608
        known |= set(step)
    hidden = f" exclude ({', '.join(sorted(known))})" if known else ""
    listed = ", ".join(f"{text} as {kind.quoted(name)}" for name, text in plan.values.items())
    return f"select *{hidden}, {listed} from {source}"  # noqa: S608


def _query(table: str, named: Sequence[str], plan: SqlPlan, kind: Dialect, mark: str) -> str:
    """Write the steps as a chain of common table expressions."""
    columns = list(map(kind.quoted, named))
    known: list[str] = []
    source, parts = kind.quoted(table), []
    # A planner that put one step into the next would double the query at each of them.
    as_is = "as" if kind.name in {"duckdb", "spark"} else "as materialized"
    for number, step in enumerate(plan.steps):
        kept = [name for name in known if name not in step]
        made = [f"{text} as {name}" for name, text in step.items()]
        chosen = ", ".join([*columns, *kept, *made])
        parts.append(f"{mark}{number} {as_is} (select {chosen} from {source})")  # noqa: S608
        known, source = [*kept, *step], f"{mark}{number}"
    selected = [f"{text} as {kind.quoted(name)}" for name, text in plan.values.items()]
    chain = "with " + ",\n".join(parts) + "\n" if parts else ""
    return f"{chain}select {', '.join([*columns, *selected])} from {source}"  # noqa: S608


def _refuse_taken(named: Sequence[str], names: Sequence[str]) -> None:
    taken = {name.lower() for name in named} & {name.lower() for name in names}
    if taken:
        raise InvalidOptionError(
            "the new columns must have names of their own", ", ".join(sorted(taken)), "pass name="
        )
