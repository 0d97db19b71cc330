"""Maps of real forecasts as expressions of SQL."""

from __future__ import annotations

from calibrant.real.fits import Bend
from calibrant.repair import TINY, Lines, dialect_of, form_text, number_text


def expression(form: Bend, column: str, dialect: str) -> str:
    """Write what a column of forecasts becomes; NULL stays NULL."""
    kind = dialect_of(dialect)
    x = kind.number(column)
    if kind.name == "postgres" and not (form.knot.size == 1 and form.slope == 1):
        # PostgreSQL ends a query in which a product underflows.
        x = f"(case when abs({x}) < {number_text(TINY)} then {number_text(0.0)} else {x} end)"
    if form.knot.size == 1 and form.slope == 1:
        by = float(form.value[0] - form.knot[0])
        value = x if by == 0 else f"{x} + {number_text(by)}"
    elif form.knot.size == 1:
        value = _tail(form, 0, x)
    else:
        inside = form_text(Lines(form.knot, form.value), x, kind)
        value = (
            f"case when {x} < {number_text(float(form.knot[0]))} then {_tail(form, 0, x)} "
            f"when {x} > {number_text(float(form.knot[-1]))} then {_tail(form, -1, x)} "
            f"else {inside} end"
        )
    return f"case when {kind.is_number(column)} then {value} end"


def _tail(form: Bend, at: int, x: str) -> str:
    """Write the line beyond the first or the last knot."""
    knot, value = number_text(float(form.knot[at])), number_text(float(form.value[at]))
    beyond = f"({x} - {knot})"
    rise = beyond if form.slope == 1 else f"{number_text(form.slope)} * {beyond}"
    return f"{value} + {rise}"
