"""Forms as source text: a Python function without dependencies, and expressions of SQL."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.data.rows import CLIP_FLOAT64
from calibrant.recalibration.forms import MOST_LOG_ODDS, Form, Lines, Logistic, LogOddsCurve, Steps
from calibrant.recalibration.quoting import Dialect, docstring, number_text, python_name
from calibrant.regression import LEAST

# Few deep branches cost databases more than many shallow ones, and the other way round.
BRANCHES = 8
LOWEST, HIGHEST = -CLIP_FLOAT64, 1 + CLIP_FLOAT64
# Words that the programs below use: a function of such a name would break them.
TAKEN = frozenset(
    {
        "START",
        "VALUE",
        "KNOT",
        "PIECES",
        "COLUMNS",
        "PATCHES",
        "LINES",
        "WEIGHT",
        "SHIFT",
        "ValueError",
    }
    | {"_base", "_line", "_right", "abs", "all", "bisect_right", "enumerate", "exp", "len", "log"}
    | {"max", "min", "sorted", "sum", "zip"}
)
UNIT, PERCENT, LOGIT = "unit", "percent", "logit"
SCALES = (UNIT, PERCENT, LOGIT)
# What each of them is in a sentence.
TAKES = {UNIT: "a probability in [0, 1]", PERCENT: "per cent", LOGIT: "log-odds"}
# Log-odds beyond are as good as certain, and beyond what exp can take.
MOST_LOGIT = 700.0
MOST_DOUBLE = 1e308
# Smaller predictions count as this one where products must not underflow: below every step.
UNDERFLOWS = 1e-301
CHECKS = {
    UNIT: f"""\
    if not {LOWEST!r} <= p <= {HIGHEST!r}:
        raise ValueError(f"a probability must be in [0, 1], got {{p!r}}")
""",
    PERCENT: f"""\
    percent, p = p, p / 100
    if not {LOWEST!r} <= p <= {HIGHEST!r}:
        raise ValueError(f"a percentage must be in [0, 100], got {{percent!r}}")
""",
    LOGIT: f"""\
    if not -{MOST_DOUBLE!r} <= p <= {MOST_DOUBLE!r}:
        raise ValueError(f"log-odds must be finite, got {{p!r}}")
    p = 1 / (1 + exp(-min(max(p, -{MOST_LOGIT!r}), {MOST_LOGIT!r})))
""",
}
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
CURVE_PROGRAM = """\
from bisect import bisect_right
from math import exp, log

KNOT = {knot}
PIECES = {pieces}


def {name}(p):
    {doc}
{check}\
    p = min(max(p, {least!r}), {most!r})
    log_odds = log(p) - log(1 - p)
    place, value, slope, bend = PIECES[bisect_right(KNOT, log_odds)]
    beyond = log_odds - place
    log_odds = value + beyond * (slope + bend * beyond)
    return 1 / (1 + exp(-min(max(log_odds, -{limit!r}), {limit!r})))
"""


def free_name(name: str) -> str:
    """Return the name of a function if the programs do not use it themselves."""
    return python_name(name, TAKEN)


def python_source(form: Form, name: str, doc: str, scale: str) -> str:
    """Write a form as a Python function of one float that imports the standard library only."""
    takes = f"Takes {TAKES[scale]}, returns a probability in [0, 1]."
    shared = {"name": name, "doc": docstring(f"{doc} {takes}"), "check": CHECKS[scale]}
    ends = {"least": LEAST, "most": 1 - LEAST, "limit": MOST_LOG_ODDS}
    if isinstance(form, LogOddsCurve):
        pieces = tuple(zip(*(part.tolist() for part in form.pieces), strict=True))
        return CURVE_PROGRAM.format(
            **shared, **ends, knot=tuple(form.log_odds.tolist()), pieces=pieces
        )
    if isinstance(form, Logistic):
        return LOGISTIC_PROGRAM.format(
            **shared,
            **ends,
            intercept=form.intercept,
            low=form.low,
            high=form.high,
        )
    value = tuple(form.value.tolist())
    first = "from math import exp\n" if scale == LOGIT else ""
    if isinstance(form, Steps):
        start = tuple(form.start.tolist())
        return first + STEPS_PROGRAM.format(**shared, start=start, value=value)
    return first + LINES_PROGRAM.format(**shared, knot=tuple(form.knot.tolist()), value=value)


def read_column(column: str, kind: Dialect, scale: str) -> str:
    """Write a column of predictions as probabilities; what is none is for `in_range` to tell."""
    x = kind.number(column)
    if scale == LOGIT:
        one = number_text(1.0)
        return f"({one} / ({one} + exp(-{kind.within(x, -MOST_LOGIT, MOST_LOGIT)})))"
    if kind.name == "postgres":  # it ends a query in which a product underflows
        x = f"{kind.greatest}({x}, {number_text(UNDERFLOWS)})"
    return f"({x} / {number_text(100.0)})" if scale == PERCENT else x


def in_range(column: str, kind: Dialect, scale: str) -> str:
    """Write a condition that a column holds a prediction in its units; never true if missing."""
    ends = (-MOST_DOUBLE, MOST_DOUBLE) if scale == LOGIT else (LOWEST, HIGHEST)
    unit = 100.0 if scale == PERCENT else 1.0
    x, (low, high) = kind.number(column), (number_text(unit * end) for end in ends)
    inside = f"{x} >= {low} and {x} <= {high}"
    # Elsewhere a comparison with NULL is not true, and text that is no number ends the query.
    return f"{kind.is_number(column)} and {inside}" if kind.name == "sqlite" else inside


def guarded(value: str, column: str, kind: Dialect, scale: str, otherwise: str = "null") -> str:
    """Write a value where a prediction is in range; NULL where it is missing, else another."""
    inside = in_range(column, kind, scale)
    rest = "" if otherwise == "null" else f" when {kind.is_number(column)} then {otherwise}"
    return f"cast(case when {inside} then {value}{rest} end as {kind.double})"


def form_text(form: Form, x: str, kind: Dialect) -> str:
    """Write a form of x, a probability."""
    if isinstance(form, Logistic):
        return _logistic(form, x, kind)
    if isinstance(form, LogOddsCurve):
        return _curve(form, x, kind)
    if isinstance(form, Steps):
        return _tree(form.start[1:], lambda i: number_text(form.value[i]), x)
    return _tree(form.knot, partial(_segment, form, x), x)


def _segment(form: Lines, x: str, i: int) -> str:
    """Write the line that ends at knot i, or the constant before the first or after the last."""
    if i in {0, form.knot.size}:
        return number_text(form.value[min(i, form.knot.size - 1)])
    start, value = form.knot[i - 1], form.value[i - 1]
    width, rise = form.knot[i] - start, form.value[i] - value
    if value + rise == value:
        return number_text(value)
    share = f"({x} - {number_text(start)}) / {number_text(width)}"
    return f"{number_text(value)} + {share} * {number_text(rise)}"


def _tree(cuts: Floats, leaf: Callable[[int], str], x: str) -> str:
    """Find the part of a value by branching: leaf i holds from cut i - 1 up to cut i."""

    def branch(first: int, last: int) -> str:
        size = last - first + 1
        if size == 1:
            return leaf(first)
        parts = min(BRANCHES, size)
        ends = [first + size * part // parts for part in range(parts + 1)]
        cases = "".join(
            f" when {x} < {number_text(cuts[end - 1])} then {branch(start, end - 1)}"
            for start, end in pairwise(ends[:-1])
        )
        return f"case{cases} else {branch(ends[-2], last)} end"

    return branch(0, len(cuts))


def _logistic(form: Logistic, x: str, kind: Dialect) -> str:
    """Write the chance of the log-odds; PostgreSQL refuses an exp that over- or underflows."""
    one = number_text(1.0)
    if form.low == form.high > 0:  # one logarithm does, between the ends where log-odds stop
        slope = number_text(form.low)
        log_odds = f"{number_text(form.intercept)} + {slope} * ln({x} / ({one} - {x}))"
        low, high = (_prediction_at(form, end) for end in (-MOST_LOG_ODDS, MOST_LOG_ODDS))
        lowest, highest = form(np.array([low, high])).tolist()
        return (
            f"case when {x} <= {number_text(low)} then {number_text(lowest)} "
            f"when {x} >= {number_text(high)} then {number_text(highest)} "
            f"else {one} / ({one} + exp(-({log_odds}))) end"
        )
    inside = kind.within(x, LEAST, 1 - LEAST)
    terms = number_text(form.intercept)
    if form.low:
        terms += f" + {number_text(form.low)} * ln({inside})"
    if form.high:
        terms += f" - {number_text(form.high)} * ln({one} - {inside})"
    log_odds = kind.within(terms, -MOST_LOG_ODDS, MOST_LOG_ODDS)
    return f"{one} / ({one} + exp(-{log_odds}))"


def _prediction_at(form: Logistic, log_odds: float) -> float:
    """Find the prediction at which the log-odds of an increasing form reach a value."""
    before = (log_odds - form.intercept) / form.low
    chance = 1 / (1 + math.exp(-min(max(before, -700.0), 700.0)))
    return min(max(chance, LEAST), 1 - LEAST)


def _curve(form: LogOddsCurve, x: str, kind: Dialect) -> str:
    """Write the chance of a piece of the log-odds; pieces meet, so that cuts may be rounded."""
    one = number_text(1.0)
    inside = kind.within(x, LEAST, 1 - LEAST)
    before = f"(ln({inside}) - ln({one} - {inside}))"
    pieces = list(zip(*(part.tolist() for part in form.pieces), strict=True))

    def leaf(i: int) -> str:
        start, value, slope, bend = pieces[i]
        beyond = f"({before} - {number_text(start)})"
        by = f" + {number_text(bend)} * {beyond}" if bend else ""
        after = f"{number_text(value)} + {beyond} * ({number_text(slope)}{by})"
        return f"{one} / ({one} + exp(-{kind.within(after, -MOST_LOG_ODDS, MOST_LOG_ODDS)}))"

    cuts = 1 / (1 + np.exp(-form.log_odds))
    return _tree(cuts, leaf, x)
