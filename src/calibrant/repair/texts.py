"""Forms as source text: a Python function without dependencies, and expressions of SQL."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from calibrant.errors import InvalidOptionError
from calibrant.joint.gate import CLIP_FLOAT64, Floats
from calibrant.repair.forms import LEAST, MOST_LOG_ODDS, Form, Lines, Logistic, Steps

LOWEST, HIGHEST = -CLIP_FLOAT64, 1 + CLIP_FLOAT64


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between the kinds of SQL."""

    double: str = "double"
    mark: str = '"'
    """Mark around names of columns."""
    least: str = "least"
    greatest: str = "greatest"

    def quoted(self, column: str) -> str:
        """Quote the name of a column."""
        return self.mark + column.replace(self.mark, 2 * self.mark) + self.mark

    def within(self, text: str, low: float, high: float) -> str:
        """Write a value moved between two ends."""
        return f"{self.greatest}({self.least}({text}, {_number(high)}), {_number(low)})"


DIALECTS = {
    "duckdb": Dialect(),
    "postgres": Dialect(double="double precision"),
    "spark": Dialect(mark="`"),
    "sqlite": Dialect(least="min", greatest="max"),
}

CHECK = f"""\
    if not {LOWEST!r} <= p <= {HIGHEST!r}:
        raise ValueError(f"a probability must be in [0, 1], got {{p!r}}")
"""
STEPS_PROGRAM = """\
from bisect import bisect_right

START = {start}
VALUE = {value}


def {name}(p):
    {doc}
{check}\
    return VALUE[max(bisect_right(START, p) - 1, 0)]
"""
LINES_PROGRAM = """\
from bisect import bisect_right

KNOT = {knot}
VALUE = {value}


def {name}(p):
    {doc}
{check}\
    after = bisect_right(KNOT, p)
    if after == 0:
        return VALUE[0]
    if after == len(KNOT):
        return VALUE[-1]
    share = (p - KNOT[after - 1]) / (KNOT[after] - KNOT[after - 1])
    return VALUE[after - 1] + share * (VALUE[after] - VALUE[after - 1])
"""
LOGISTIC_PROGRAM = """\
from math import exp, log


def {name}(p):
    {doc}
{check}\
    p = min(max(p, {least!r}), {most!r})
    log_odds = {intercept!r} + {low!r} * log(p) - {high!r} * log(1 - p)
    return 1 / (1 + exp(-min(max(log_odds, -{limit!r}), {limit!r})))
"""


def python_source(form: Form, name: str, doc: str) -> str:
    """Write a form as a Python function of one float that imports the standard library only."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InvalidOptionError("name must be a name of Python", repr(name))
    shared = {"name": name, "doc": f'"""{doc}"""', "check": CHECK}
    if isinstance(form, Logistic):
        return LOGISTIC_PROGRAM.format(
            **shared,
            least=LEAST,
            most=1 - LEAST,
            limit=MOST_LOG_ODDS,
            intercept=form.intercept,
            low=form.low,
            high=form.high,
        )
    value = tuple(form.value.tolist())
    if isinstance(form, Steps):
        return STEPS_PROGRAM.format(**shared, start=tuple(form.start.tolist()), value=value)
    return LINES_PROGRAM.format(**shared, knot=tuple(form.knot.tolist()), value=value)


def dialect_of(name: str) -> Dialect:
    """Find a kind of SQL by its name."""
    if name not in DIALECTS:
        raise InvalidOptionError(f"dialect must be one of {', '.join(DIALECTS)}", repr(name))
    return DIALECTS[name]


def sql_expression(
    form: Form, column: str, dialect: str, *, percent: bool = False, otherwise: str = "null"
) -> str:
    """Write a form as an expression of SQL.

    Parameters
    ----------
    form : Steps, Lines or Logistic
        What to write.
    column : str
        Name of the column of predictions.
    dialect : str
        Kind of SQL.
    percent : bool, default=False
        Whether the column holds per cent.
    otherwise : str, default="null"
        Expression for a value that is no probability; a missing one is NULL in any case.
    """
    kind = dialect_of(dialect)
    x = f"cast({kind.quoted(column)} as {kind.double})"
    if percent:
        x = f"({x} / {_number(100.0)})"
    inside = f"{x} >= {_number(LOWEST)} and {x} <= {_number(HIGHEST)}"
    rest = "" if otherwise == "null" else f" when {x} is not null then {otherwise}"
    return f"cast(case when {inside} then {_body(form, x, kind)}{rest} end as {kind.double})"


def _body(form: Form, x: str, kind: Dialect) -> str:
    if isinstance(form, Logistic):
        return _logistic(form, x, kind)
    if isinstance(form, Steps):
        return _tree(form.start[1:], lambda i: _number(form.value[i]), x)
    return _tree(form.knot, partial(_segment, form, x), x)


def _segment(form: Lines, x: str, i: int) -> str:
    """Write the line that ends at knot i, or the constant before the first or after the last."""
    if i in {0, form.knot.size}:
        return _number(form.value[min(i, form.knot.size - 1)])
    start, value = form.knot[i - 1], form.value[i - 1]
    width, rise = form.knot[i] - start, form.value[i] - value
    if rise == 0:
        return _number(value)
    return f"{_number(value)} + ({x} - {_number(start)}) / {_number(width)} * {_number(rise)}"


def _tree(cuts: Floats, leaf: Callable[[int], str], x: str) -> str:
    """Find the part of a value by halving: leaf i holds from cut i - 1 up to cut i."""

    def branch(first: int, last: int) -> str:
        if first == last:
            return leaf(first)
        middle = (first + last) // 2
        below, above = branch(first, middle), branch(middle + 1, last)
        return f"case when {x} < {_number(cuts[middle])} then {below} else {above} end"

    return branch(0, len(cuts))


def _logistic(form: Logistic, x: str, kind: Dialect) -> str:
    """Write log-odds within their limits; PostgreSQL refuses an exp that over- or underflows."""
    inside = kind.within(x, LEAST, 1 - LEAST)
    terms = _number(form.intercept)
    if form.low:
        terms += f" + {_number(form.low)} * ln({inside})"
    if form.high:
        terms += f" - {_number(form.high)} * ln({_number(1.0)} - {inside})"
    log_odds = kind.within(terms, -MOST_LOG_ODDS, MOST_LOG_ODDS)
    return f"{_number(1.0)} / ({_number(1.0)} + exp(-{log_odds}))"


def _number(value: float) -> str:
    """Write a double; without an exponent DuckDB would take it for a decimal."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if value < 0 else text
