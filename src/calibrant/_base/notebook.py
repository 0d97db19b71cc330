"""How results show themselves: on a line of a console, and with a picture in a notebook."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import Any

import numpy as np

from calibrant._base.public import public
from calibrant._base.words import shortened
from calibrant.errors import MissingPackageError

# Characters of one field, and of a whole result.
MOST_OF_A_FIELD, MOST = 60, 400


def brief(result: Any) -> str:
    """Write a dataclass on a line or a few: numbers to four digits, what is long by its size."""
    shown = [
        f"{field.name}={_value(getattr(result, field.name))}"
        for field in fields(result)
        if field.repr
    ]
    return shortened(f"{type(result).__name__}({', '.join(shown)})", MOST)


def _value(value: object) -> str:
    if isinstance(value, float) and type(value).__module__ in {"builtins", "numpy"}:
        return f"{value:.4g}"
    if isinstance(value, np.ndarray):
        return f"<{value.size} values>"
    if isinstance(value, tuple | list | dict) and len(value) > 2:
        return f"<{len(value)} entries>"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return shortened(repr(value), MOST_OF_A_FIELD)


def card(sentence: str, display: str = "", *data: object, height: float = 2.8) -> str:
    """Write a sentence as HTML, above the picture of a Display that is named."""
    picture = ""
    if display:
        drawn = public(f"plots.{display}").of(*data)
        try:
            picture = drawn.to_svg(width=7.0, height=height, name=display)
        except MissingPackageError as error:  # the words are what matters
            picture = f"<p><small>{escape(str(error))}</small></p>"
    return f'<div class="calibrant"><p><strong>{escape(sentence)}</strong></p>{picture}</div>'
