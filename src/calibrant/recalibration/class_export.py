"""Forms of classes as source text: a Python function of a list, expressions and steps of SQL."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.data.classes import ROUNDED_SUM_TOLERANCE
from calibrant.errors import InvalidOptionError
from calibrant.recalibration.class_forms import (
    MOST_CORRECTION,
    AnyForm,
    Blend,
    ClassLines,
    Corrections,
    Softmax,
)
from calibrant.recalibration.export import (
    HIGHEST,
    LOWEST,
    PERCENT,
    form_text,
    in_range,
    read_column,
)
from calibrant.recalibration.quoting import Dialect, docstring, number_text
from calibrant.regression import LEAST

# Beyond such exponents nothing is left of a double, or a database refuses them.
MOST_EXPONENT = 600.0
# So many logarithms at most stand in the expressions of all classes.
MOST_LOGARITHMS = 5000
# So many corrections of sets of classes, and pairs of classes that they compare, make a query.
# Spark resolves a hundred selects in a chain, four for each correction.
MOST_CORRECTIONS, MOST_IN_SPARK, MOST_PAIRS = 50, 20, 10_000

Step = dict[str, str]
"""Expressions of one step by the name of the column that they make."""

HEAD = """\
def {name}(p):
    {doc}
    if len(p) != {count}:
        raise ValueError(f"there must be {count} numbers, got {{len(p)}}")
    p = [x / {unit!r} for x in p]
    if not all({low!r} <= x <= {high!r} for x in p) or abs(sum(p) - 1) > {gap!r}:
        raise ValueError(f"shares of the classes must sum to one, got {{p!r}}")
"""
UNMOVED = """\
    return [min(max(x, 0.0), 1.0) for x in p]
"""
SCORES = {
    1: "[weight * x + shift for weight, x, shift in zip(WEIGHT, logs, SHIFT)]",
    2: "[sum(w * x for w, x in zip(row, logs)) + shift for row, shift in zip(WEIGHT, SHIFT)]",
}
SOFTMAX = """\
    logs = [log(max(x, {least!r})) for x in p]
    scores = {scores}
    top = max(scores)
    parts = [exp(score - top) for score in scores]
    total = sum(parts)
    return [part / total for part in parts]
"""
BLEND = """\
    logs = [log(max(x, {least!r})) * {slope!r} for x in p]
    top = max(logs)
    parts = [exp(score - top) for score in logs]
    total = sum(parts)
    return [{at!r} * part / total + {plain!r} * x + {equal!r} for part, x in zip(parts, p)]
"""
LINES = """\
    values = [_line(knot, value, x) for (knot, value), x in zip(LINES, p)]
    total, shift = 0.0, -1.0
    for count, value in enumerate(sorted(values, reverse=True), 1):
        total += value
        shift = max(shift, (total - 1) / count)
    kept = [max(value - shift, {least!r}) for value in values]
    total = sum(kept)
    return [value / total for value in kept]
"""
CORRECTIONS = """\
    p = [min(max(x, 0.0), 1.0) for x in p]
    for members, knot, value in STEPS:
        move = _line(knot, value, sum(p[k] for k in members))
        p = [x + move if k in members else x for k, x in enumerate(p)]
        total, shift = 0.0, -{far!r}
        for count, x in enumerate(sorted(p, reverse=True), 1):
            total += x
            shift = max(shift, (total - 1) / count)
        p = [max(x - shift, 0.0) for x in p]
    kept = [max(x, {least!r}) for x in p]
    total = sum(kept)
    return [x / total for x in kept]
"""
LINE = """\


def _line(knot, value, p):
    after = _right(knot, p)
    if after == 0:
        return value[0]
    if after == len(knot):
        return value[-1]
    share = (p - knot[after - 1]) / (knot[after] - knot[after - 1])
    return value[after - 1] + share * (value[after] - value[after - 1])
"""


def class_python(form: AnyForm, classes: Sequence[object], name: str, doc: str, scale: str) -> str:
    """Write a form of classes as a Python function of a list of probabilities."""
    takes = "per cent" if scale == PERCENT else "probabilities"
    order = ", ".join(map(str, classes))
    head = HEAD.format(
        name=name,
        doc=docstring(f"{doc} Takes {takes} of {order}, returns probabilities in that order."),
        count=len(classes),
        unit=100.0 if scale == PERCENT else 1.0,
        low=LOWEST,
        high=HIGHEST,
        gap=ROUNDED_SUM_TOLERANCE,
    )
    if isinstance(form, Softmax):
        # One row of a matrix for each new score.
        weight = form.weight.T.tolist()
        numbers = f"WEIGHT = {weight!r}\nSHIFT = {form.shift.tolist()!r}"
        rest = SOFTMAX.format(least=LEAST, scores=SCORES[form.weight.ndim])
        return f"from math import exp, log\n\n{numbers}\n\n\n{head}{rest}"
    if isinstance(form, Blend):
        at, plain, equal = form.share.tolist()
        shares = {"at": at, "plain": plain, "equal": equal / len(classes)}
        return f"from math import exp, log\n\n\n{head}" + BLEND.format(
            least=LEAST, slope=form.slope, **shares
        )
    if isinstance(form, ClassLines):
        lines = [(line.knot.tolist(), line.value.tolist()) for line in form.lines]
        first = f"from bisect import bisect_right as _right\n\nLINES = {lines!r}"
        return f"{first}\n\n\n{head}{LINES.format(least=form.least)}{LINE}"
    if isinstance(form, Corrections):
        steps = [
            (step.members.tolist(), step.line.knot.tolist(), step.line.value.tolist())
            for step in form.steps
        ]
        first = f"from bisect import bisect_right as _right\n\nSTEPS = {steps!r}"
        # Moved rows sum to no less than one less the largest correction of each class.
        rest = CORRECTIONS.format(least=form.least, far=1 + MOST_CORRECTION * form.classes)
        return f"{first}\n\n\n{head}{rest}{LINE}"
    return head + UNMOVED


def sound_row(columns: Sequence[str], kind: Dialect, scale: str) -> str:
    """Write 1 for a row of probabilities that sum to one, 0 for another, NULL if one is missing."""
    inside = [in_range(column, kind, scale) for column in columns]
    summed = " + ".join(read_column(column, kind, scale) for column in columns)
    total = f"abs({summed} - {number_text(1.0)}) <= {number_text(ROUNDED_SUM_TOLERANCE)}"
    missing = " or ".join(f"{kind.number(column)} is null" for column in columns)
    return f"case when {missing} then null when {' and '.join([*inside, total])} then 1 else 0 end"


def class_values(form: AnyForm, columns: Sequence[str], kind: Dialect) -> list[str]:
    """Write the new probability of each class as one expression of the old ones."""
    count = len(columns)
    if isinstance(form, Blend):
        return _blended(form, class_values(form.softmax(count), columns, kind), columns)
    if isinstance(form, ClassLines | Corrections) or (
        isinstance(form, Softmax) and count * form.weight.size > MOST_LOGARITHMS
    ):
        raise InvalidOptionError(
            "a calibrator of this kind and number of classes makes no expression of SQL",
            f"{count} classes",
            "name the table, for a query in steps",
        )
    if not isinstance(form, Softmax):
        return [kind.within(x, 0.0, 1.0) for x in columns]
    logs = [_logarithm(x, kind) for x in columns]
    scores = _scores(form, logs)
    found = []
    for k, own in enumerate(scores):
        rest = [
            f"exp({kind.within(f'({other}) - ({own})', -MOST_EXPONENT, MOST_EXPONENT)})"
            for j, other in enumerate(scores)
            if j != k
        ]
        one = number_text(1.0)
        found.append(f"{one} / ({' + '.join([one, *rest])})")
    return found


def class_steps(
    form: AnyForm, columns: Sequence[str], kind: Dialect, mark: str
) -> tuple[list[Step], list[str]]:
    """Write the new probabilities in steps, each of columns that the one before it made.

    Names of these columns begin with the mark.
    """
    if isinstance(form, Blend):
        inner, parts_of = class_steps(form.softmax(len(columns)), columns, kind, mark)
        return inner, _blended(form, parts_of, columns)

    def named(letter: str, texts: Sequence[str]) -> Step:
        return {kind.quoted(f"{mark}{letter}{k}"): text for k, text in enumerate(texts)}

    def greatest(step: Step) -> str:
        return f"{kind.greatest}({', '.join(step)})"

    def onto_simplex(values: Step) -> tuple[Step, str]:
        """Write the shift onto the simplex, the largest over the sets of values above some."""
        excess = ", ".join(_excess(x, list(values)) for x in values)
        shift = named("shift", [f"{kind.greatest}({excess})"])
        return shift, next(iter(shift))

    if isinstance(form, Softmax):
        logs = named("l", [_logarithm(x, kind) for x in columns])
        scores = named("s", _scores(form, list(logs)))
        top = named("top", [greatest(scores)])
        low, none = number_text(-MOST_EXPONENT), next(iter(top))
        parts = named("e", [f"exp({kind.greatest}({x} - {none}, {low}))" for x in scores])
        steps = [logs, scores, top, parts]
    elif isinstance(form, ClassLines):
        lines = [
            f"cast({form_text(line, x, kind)} as {kind.double})"
            for line, x in zip(form.lines, columns, strict=True)
        ]
        values = named("v", lines)
        shifting, by = onto_simplex(values)
        least = number_text(form.least)
        parts = named("k", [f"{kind.greatest}({x} - {by}, {least})" for x in values])
        steps = [values, shifting, parts]
    elif isinstance(form, Corrections):
        _refuse_long(form, kind)
        # Rows that are no probabilities are recognized elsewhere; here they must not stop a query.
        zero = number_text(0.0)
        now = named("q", [kind.within(f"coalesce({x}, {zero})", 0.0, 1.0) for x in columns])
        steps = []
        for one in form.steps:
            chosen = [list(now)[k] for k in one.members]
            chance = named("chance", [" + ".join(now[x] for x in chosen)])
            correction = form_text(one.line, next(iter(chance)), kind)
            move = named("move", [f"cast({correction} as {kind.double})"])
            by = next(iter(move))
            values = named("v", [f"{x} + {by}" if x in chosen else x for x in now])
            shifting, by = onto_simplex(values)
            steps += [{**now, **chance}, move, values, shifting]
            now = named("q", [f"{kind.greatest}({x} - {by}, {zero})" for x in values])
        parts = named("k", [f"{kind.greatest}({x}, {number_text(form.least)})" for x in now])
        steps += [now, parts]
    else:
        return [], [kind.within(x, 0.0, 1.0) for x in columns]
    total = named("total", [" + ".join(parts)])
    return [*steps, total], [f"{x} / {next(iter(total))}" for x in parts]


def _refuse_long(form: Corrections, kind: Dialect) -> None:
    """Refuse more steps than databases plan: each one compares all pairs of classes."""
    most = MOST_IN_SPARK if kind.name == "spark" else MOST_CORRECTIONS
    if len(form.steps) > most or len(form.steps) * form.classes**2 > MOST_PAIRS:
        raise InvalidOptionError(
            "so many corrections of sets of classes make no query in this database",
            f"{len(form.steps)} of {form.classes} classes",
            "use to_python() or to_onnx(), or fit with a larger tolerance",
        )


def _blended(form: Blend, values: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Write the mixture of new probabilities, old ones and equal shares."""
    at, plain, equal = form.share.tolist()
    at, plain, equal = map(number_text, (at, plain, equal / len(columns)))
    return [
        f"{at} * ({value}) + {plain} * {x} + {equal}"
        for value, x in zip(values, columns, strict=True)
    ]


def _logarithm(column: str, kind: Dialect) -> str:
    return f"ln({kind.within(column, LEAST, HIGHEST)})"


def _scores(form: Softmax, logs: Sequence[str]) -> list[str]:
    """Write the score of each class, from the logarithms of all."""
    shift = [number_text(float(value)) for value in form.shift]
    if form.weight.ndim == 1:
        weight = [number_text(float(value)) for value in form.weight]
        return [f"{w} * {x} + {b}" for w, x, b in zip(weight, logs, shift, strict=True)]
    return [
        " + ".join([*(f"{number_text(float(w))} * {x}" for w, x in zip(row, logs, strict=True)), b])
        for row, b in zip(form.weight.T, shift, strict=True)
    ]


def _excess(value: str, values: Sequence[str]) -> str:
    """Write how much the values from this one on exceed one, on average."""
    one, none = number_text(1.0), number_text(0.0)
    total = " + ".join(f"case when {x} >= {value} then {x} else {none} end" for x in values)
    count = " + ".join(f"case when {x} >= {value} then {one} else {none} end" for x in values)
    return f"({total} - {one}) / ({count})"
