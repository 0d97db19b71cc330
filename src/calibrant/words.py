"""Numbers, counts, plurals and the words of others, as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

# Control characters, separators of lines, marks and overrides of direction, surrogates.
_ACTIVE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
_ACTIVE_IN_LINES = re.compile(_ACTIVE.pattern.replace("\\x00-\\x1f", "\\x00-\\x09\\x0b-\\x1f"))


def probability_text(value: float, digits: int = 2) -> str:
    """Write a probability with as many digits as its distance from 0 or 1 needs."""
    distance = min(value, 1 - value)
    if distance <= 0:
        return f"{value:.0f}"
    if distance < 1e-5:
        return f"{value:.1e}" if value < 0.5 else f"1 - {distance:.1e}"
    leading_zeros = int(np.floor(-np.log10(distance))) if distance < 0.01 else 0
    return f"{value:.{digits + leading_zeros}f}"


def distinct_texts(first: float, second: float) -> tuple[str, str]:
    """Write two probabilities with the digits that tell them apart, up to five of them."""
    for digits in range(2, 6):
        texts = probability_text(first, digits), probability_text(second, digits)
        if texts[0] != texts[1]:
            return texts
    return probability_text(first), probability_text(second)


def visible(text: str, *, lines: bool = False) -> str:
    r"""Show characters that would act on a terminal or a page instead of standing there.

    Control characters (escape sequences begin with one), characters that turn the direction of
    text, and halves of characters become escapes such as `\x1b`. Labels, columns and file names
    are the words of others.

    Parameters
    ----------
    text : str
        Words that may come from data.
    lines : bool, default=False
        Whether line breaks are meant, as in a page of text.

    Examples
    --------
    >>> print(visible("red \x1b[31m alert"))
    red \x1b[31m alert
    """
    return (_ACTIVE_IN_LINES if lines else _ACTIVE).sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def thousands_text(count: float) -> str:
    """Write a whole number in groups of three digits."""
    return f"{count:,.0f}".replace(",", " ")


def count_text(count: int, noun: str) -> str:
    """Write a count in groups of three digits, with its noun in the right number.

    Examples
    --------
    >>> count_text(1, "class"), count_text(2, "probability"), count_text(1200, "row")
    ('1 class', '2 probabilities', '1 200 rows')
    """
    return f"{thousands_text(count)} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Write a noun for several things.

    Examples
    --------
    >>> plural("row"), plural("class"), plural("probability"), plural("day")
    ('rows', 'classes', 'probabilities', 'days')
    """
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def agreeing(count: int, one: str, several: str) -> str:
    """Choose the word that agrees with a count, as in "1 is" and "2 are"."""
    return one if count == 1 else several


def capital(sentence: str) -> str:
    """Begin a sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def percent_text(share: float) -> str:
    """Write a share in per cent, to three digits, or as many as it takes to stay below all."""
    digits = 3
    while share < 1 and float(f"{100 * share:.{digits}g}") >= 100 and digits < 17:
        digits += 1
    return f"{100 * share:.{digits}g} %"


def chance_text(pvalue: float) -> str:
    """Write a p-value; a simulated one is never smaller than one in its draws."""
    return f"{pvalue:.3f}" if pvalue >= 0.0995 else f"{pvalue:.2g}"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Write a table of Markdown."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def escaped(text: str) -> str:
    """Let words of others stay words in Markdown."""
    text = visible(" ".join(text.split("\n")))
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
