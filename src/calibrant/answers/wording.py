"""What a text states as its confidence: a share, a fraction, a bare number, or words of a table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from calibrant.errors import InvalidOptionError

# Midpoints of the ranges that analysts of the United States must mean by these words
# (Intelligence Community Directive 203, 2015, section D.6.e). Other people mean other numbers.
WORDS: Mapping[str, float] = {
    "almost no chance": 0.03,
    "remote": 0.03,
    "very unlikely": 0.125,
    "highly improbable": 0.125,
    "unlikely": 0.325,
    "improbable": 0.325,
    "roughly even chance": 0.5,
    "roughly even odds": 0.5,
    "likely": 0.675,
    "probable": 0.675,
    "very likely": 0.875,
    "highly probable": 0.875,
    "almost certain": 0.97,
    "nearly certain": 0.97,
}


class Form(IntEnum):
    """How a confidence was written, or why there is none."""

    PERCENT = 0
    FRACTION = 1
    NUMBER = 2
    WORDS = 3
    ABSENT = 4
    RANGE = 5
    SEVERAL = 6
    OTHER = 7
    BEYOND = 8
    DENIED = 9

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return self <= Form.WORDS

    @property
    def phrase(self) -> str:
        """Name it in a sentence."""
        return _PHRASES[self]


_PHRASES = {
    Form.PERCENT: "per cent",
    Form.FRACTION: "a fraction like 9/10",
    Form.NUMBER: "a bare number",
    Form.WORDS: "words",
    Form.ABSENT: "nothing stated",
    Form.RANGE: "a range",
    Form.SEVERAL: "several values",
    Form.OTHER: "no number and no word of the table",
    Form.BEYOND: "a value outside 0 to 1",
    Form.DENIED: "a confidence that is denied, or in being wrong",
}


class Statement(NamedTuple):
    """The value of a statement, NaN if there is none, and how it was written."""

    value: float
    form: Form
    word: str = ""


_NAN = float("nan")
ABSENT = Statement(_NAN, Form.ABSENT)
_NUMBER = r"(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:e[+-]?\d+)?"
_UNIT = r"\s*(?:%|percent\b|per cent\b|pct\b)"
_EDGE = r"(?<![\w.,/+-])"
_MINUS = r"(?<![\w.,/])-?"
_PERCENT = re.compile(rf"{_MINUS}{_NUMBER}(?={_UNIT})")
_FRACTION = re.compile(rf"{_EDGE}({_NUMBER})\s*(/|out of)\s*({_NUMBER})(?![\w/])")
_RANGE = re.compile(
    rf"(?<![\w.,/-]){_NUMBER}{_UNIT}?\s*(?:-|\u2013|\u2014|\bto\b|\band\b|\bor\b)\s*{_NUMBER}"
)
_BARE = re.compile(rf"{_MINUS}{_NUMBER}(?![\w/])")
_AROUND = " \t\r\n\"'*_`"
_MISSING = {"", "na", "n/a", "nan", "null", "none", "unknown", "missing", "-", "?"}
_NEGATED = re.compile(r"(?:\bnot|n't|\bnever|\bhardly)\W+(?:\w+\W+)?$")
# What turns a number that follows into another: "not 100 % sure" is no certainty.
_NOT = re.compile(
    r"(?:\bnot|n['\u2019]t|\bnever|\bhardly)\s+(?:(?:be|even|quite|fully|entirely|at all)\s+)*$"
)
_BOUND = re.compile(
    r"(?:[<>\u2264\u2265]=?|\b(?:(?:less|more|lower|higher|greater|fewer) than|at (?:most|least)|"
    r"under|over|below|above|up to|upwards of))\s*$"
)
_TAG_ENDS = re.compile(rf"{_UNIT}?\s*>|\s*/\s*\d+\s*>")
# And what follows or comes first where the number is the chance of being wrong.
_WRONG = (
    r"(?:wrong|incorrect|mistaken|in error|an error|(?:an? )?mistake|errors?|unsure|uncertain)\b"
)
_CHANCE = r"(?:chance|probability|likelihood|risk|odds|likely|sure|certain|confident)"
_WHO = r"(?:(?:i|it|this|that|(?:the|my) answer)(?:['\u2019][ms]| am| is)|be|being|having made)"
_OF_WRONG = re.compile(
    rf"(?:{_UNIT})?\s*(?:{_CHANCE}\s+)?(?:(?:that|of|to)\s+)?(?:{_WHO}\s+)?{_WRONG}"
)
_WRONG_FIRST = re.compile(rf"\b{_WRONG}\s*(?::|=|is\b)?\s*(?:about\s+)?$")
# Letters around a statement in a text that are looked at for such words.
_LEAD = 40
# A label, perhaps with its range in brackets, a mark, and what follows up to the end of the value.
_LABELLED = re.compile(
    r"\b(?:confidence|certainty|probability)(?:[ _](?:level|score|rating|estimate))?"
    r"[\"'*_`\s]*(?:\([^)\n]{0,40}\)|\[[^\]\n]{0,40}\])?[\"'*_`\s]*(?::|=|\bis\b|\bof\b)"
    r"[\"'*_`\s]*((?:[^\n,;}\"]|,(?=\d)){1,80})",
    re.IGNORECASE,
)
_SURE = re.compile(rf"({_NUMBER}{_UNIT})\s*(?:sure|confident|certain|confidence)\b", re.IGNORECASE)
# A model states its confidence before or after its answer, not in the middle of an essay.
_LOOKED_AT = 20_000


class Wording:
    """Reads statements with a table of words.

    Parameters
    ----------
    words : mapping of str to float
        What words mean.
    """

    def __init__(self, words: Mapping[str, float]) -> None:
        for word, value in words.items():
            if not word.strip() or not 0 <= value <= 1:
                raise InvalidOptionError(
                    "words must map words to numbers between 0 and 1", f"{word!r}: {value!r}"
                )
        self.words = {_plain(word): float(value) for word, value in words.items()}
        longest = sorted(self.words, key=len, reverse=True)
        listed = "|".join(map(re.escape, longest)) or r"(?!)"
        self._words = re.compile(rf"(?<!\w)(?:{listed})(?!\w)")

    def field(self, given: object) -> Statement:
        """Read what stands in a field that is for the confidence alone."""
        if given is None:
            return ABSENT
        if isinstance(given, bool):
            return Statement(_NAN, Form.OTHER)
        if isinstance(given, int | float):
            value = as_float(given)
            return ABSENT if value != value else _checked(value, Form.NUMBER)  # noqa: PLR0124
        return self._phrase(given) if isinstance(given, str) else Statement(_NAN, Form.OTHER)

    def text(self, given: object) -> Statement:
        """Find a statement in an answer, such as "Confidence: 90%" or "I am 90 % sure"."""
        if not isinstance(given, str) or not given:
            return ABSENT
        if len(given) > 2 * _LOOKED_AT:
            given = f"{given[:_LOOKED_AT]}\n{given[-_LOOKED_AT:]}"
        found = [self._phrase(match[1]) for match in _LABELLED.finditer(given)]
        for match in _SURE.finditer(given):
            turned = _turned(
                given[max(0, match.start() - _LEAD) : match.start()].casefold(),
                given[match.end() : match.end() + _LEAD].casefold(),
            )
            found.append(turned or self._phrase(match[1]))
        return _agreed(found)

    def _phrase(self, text: str) -> Statement:
        plain = _plain(text)
        if plain in _MISSING:
            return ABSENT
        if _RANGE.search(plain):
            return Statement(_NAN, Form.RANGE)

        def turned(match: re.Match[str]) -> Statement | None:
            return _turned(plain[: match.start()], plain[match.end() :])

        marked = [
            turned(m) or _checked(_percent(m[0]), Form.PERCENT) for m in _PERCENT.finditer(plain)
        ]
        marked += [turned(m) or _ratio(m[1], m[2], m[3]) for m in _FRACTION.finditer(plain)]
        if marked:
            return _agreed(marked)
        bare = [turned(m) or _checked(_number(m[0]), Form.NUMBER) for m in _BARE.finditer(plain)]
        return _agreed(bare) if bare else self._in_words(plain)

    def _in_words(self, plain: str) -> Statement:
        found = [
            Statement(self.words[match[0]], Form.WORDS, match[0])
            for match in self._words.finditer(plain)
            if not _NEGATED.search(plain[: match.start()])
        ]
        return _agreed(found) if found else Statement(_NAN, Form.OTHER)


def as_float(given: float) -> float:
    """Return a number as a float; integers beyond all floats are infinite."""
    try:
        return float(given)
    except OverflowError:
        return float("inf") if given > 0 else float("-inf")


def _agreed(found: list[Statement]) -> Statement:
    """Return the one statement that all of them make."""
    if not found:
        return ABSENT
    known = [statement for statement in found if statement.form.is_known]
    if len({statement.value for statement in known}) > 1:
        return Statement(_NAN, Form.SEVERAL)
    return known[0] if known else found[0]


def _checked(value: float, form: Form) -> Statement:
    """Bare numbers may turn out to be per cent, so that they may reach 100."""
    most = 100.0 if form is Form.NUMBER else 1.0
    return Statement(value, form) if 0 <= value <= most else Statement(_NAN, Form.BEYOND)


def _turned(before: str, after: str) -> Statement | None:
    """Say why a number is no confidence in being right: a bound, denied, or of being wrong."""
    if _NOT.search(before) or _OF_WRONG.match(after) or _WRONG_FIRST.search(before):
        return Statement(_NAN, Form.DENIED)
    if _BOUND.search(before) and not (before.rstrip().endswith("<") and _TAG_ENDS.match(after)):
        return Statement(_NAN, Form.RANGE)
    return None


def _ratio(part: str, mark: str, whole: str) -> Statement:
    total = _number(whole)
    if mark == "/" and _number(part) + total == 100:
        # Shares of two sides: 50/50 is one half. Those of 40/60 may also be forty of sixty.
        even = _number(part) == total
        return Statement(0.5, Form.FRACTION) if even else Statement(_NAN, Form.SEVERAL)
    if total <= 0:
        return Statement(_NAN, Form.BEYOND)
    return _checked(_number(part) / total, Form.FRACTION)


def _number(text: str) -> float:
    """Read a number, whose decimals may follow a comma."""
    return float(text.replace(",", "."))


def _percent(text: str) -> float:
    """Read per cent, rounded once: 0.9 per cent is the number nearest to 0.009."""
    return _number(text) / 100 if "e" in text else _number(f"{text}e-2")


def _plain(text: str) -> str:
    """Fold letters and digits of all widths and cases; minus signs are hyphens."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2212", "-")
    return " ".join(folded.strip(_AROUND).rstrip(f".!{_AROUND}").split())
