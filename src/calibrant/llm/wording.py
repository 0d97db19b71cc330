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
    UNCLEAR = 10

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
    Form.UNCLEAR: "a number that may mean something else",
}


class Statement(NamedTuple):
    """The value of a statement, NaN if there is none, and how it was written."""

    value: float
    form: Form
    word: str = ""


_NAN = float("nan")
ABSENT = Statement(_NAN, Form.ABSENT)
_NUMBER = r"(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:e[+-]?\d+)?"
_UNIT = (
    r"\s*(?:%|\u066a|(?:percent|per cent|pct|prozent|procent\w*|por ?ciento|pour ?cent|per ?cento|"
    r"por ?cento)\b|\u043f\u0440\u043e\u0446\u0435\u043d\u0442\w*)"
)
_EDGE = r"(?<![\w.,/+-])"
_MINUS = r"(?<![\w.,/])-?"
_PERCENT = re.compile(rf"{_MINUS}{_NUMBER}(?={_UNIT})")
_FRACTION = re.compile(rf"{_EDGE}({_NUMBER})\s*(/|out of)\s*({_NUMBER})(?![\w/]|{_UNIT})")
_RANGE = re.compile(
    rf"(?<![\w.,/-]){_NUMBER}{_UNIT}?\s*(?:-|\u2013|\u2014|~|\.\.+|\u2026|\bto\b|\band\b|\bor\b|"
    rf"\bthrough\b|\bbis\b|\ba\b|\u00e0)\s*{_NUMBER}|(?<![\w.,]){_NUMBER}, +{_NUMBER}|"
    rf"\d{_UNIT}?\s*(?:\u00b1|\+/?-|plus or minus|give or take)"
)
# Thousands, dates, odds and dashes that may be signs: several numbers, or one that is not sure.
_ODD = re.compile(
    r"\d[.,]\d+[.,]\d|[1-9]\d{0,2},\d{3}(?!\d)|\d[ '\u2019]\d{3}(?!\d)|\d\s*:\s*\d|"
    r"(?:^|\s)[\u2013\u2014]\d|(?:-|=)>|\u2192"
)
_BARE = re.compile(rf"{_MINUS}{_NUMBER}(?![\w/]|[.,]\d)")
_AROUND = " \t\r\n\"'*_`"
_MISSING = {"", "na", "n/a", "nan", "null", "none", "unknown", "missing", "-", "?"}
# Parts of a sentence: what is denied in one of them says nothing of the others.
_PARTS = (
    r"[;!?\n\u3002]|,(?!\d)|\.(?=\s|$)|\s[-\u2013\u2014]+\s|"
    r"\b(?:and|but|though|although|however|because|since|so|thus|hence|while|yet)\b"
)
_BEFORE, _AFTER = re.compile(rf"{_PARTS}|\((?=\s*\S)"), re.compile(_PARTS)
# What turns a number into another in the same part: "not 100 % sure" is no certainty.
_WRONG = (
    r"(?:wrong\w*|incorrect\w*|mistak\w*|errors?|erroneous\w*|inaccura\w*|false\w*|unsure|uncertain\w*|"
    r"doubt\w*|fail\w*|risks?|miss|misses|unreliab\w*|p[- ]values?|unsicher\w*|fehler\w*|irrtum\w*|"
    r"falsch\w*|incertitude|incertain\w*|erreurs?|faux|incertidumbre|incorrect[oa]|equivocad[oa]|"
    r"incertezza|errore|sbagliat[oa])\b|[\u9519\u8aa4\u8bef]"
)
_NOT = (
    r"\b(?:not|never|hardly|barely|scarcely|cannot|neither|nor|without|no|nothing|none|lack\w*|minus|"
    r"negative|nicht|kein\w*|nie|pas|jamais|nunca|n\u00e3o|niet|non)\b|n['\u2019]t\b|"
    r"\b(?:dont|isnt|cant|wouldnt|doesnt)\b|[\u4e0d\u975e\u6ca1\u7121\u65e0]"
)
_DENIED_FIRST = re.compile(rf"\b{_WRONG}|{_NOT}")
_DENIED_AFTER = re.compile(
    rf"\b{_WRONG}|(?:{_NOT})\W+(?:\w+\W+){{0,2}}?"
    r"(?:right|correct|true|accurate|sure|certain|confident|know|likely|it|so|the case)\b|"
    r"(?:\bnot|n['\u2019]t)\W*$"
)
_BOUND = re.compile(
    r"(?:[<>\u2264\u2265]=?|\b(?:(?:less|more|lower|higher|greater|fewer) than|at (?:most|least)|"
    r"under|over|below|above|up to|upwards of|exceed\w*|beyond|as (?:low|high|much|little) as|"
    r"max(?:imum)?(?: of)?|min(?:imum)?(?: of)?|upper|lower|from))\s*$"
)
_BOUND_AFTER = re.compile(
    rf"(?:{_UNIT})?\s*(?:(?:sure|certain|confident)\s*)?(?:\+|\b(?:or|and) (?:more|less|higher|"
    r"lower|above|below|greater|fewer|better|worse|over|under|up)\b|at (?:best|most|least|worst)\b|"
    r"(?:tops|max\w*|min(?:imum)?|plus)\b)"
)
_TAG_ENDS = re.compile(rf"{_UNIT}?\s*>|\s*/\s*\d+\s*>")
# Numbers of something else: an interval, a share of people, a change.
_ELSE_AFTER = re.compile(
    rf"(?:{_UNIT})?\s*(?:confidence )?(?:intervals?|ci|credible|percentiles?|quantiles?|regions?|"
    r"bands?|limits?|points?|pp)\b|"
    rf"{_UNIT}\s*(?:of (?!(?:the )?(?:times?|cases)\b|confidence|certainty)|"
    r"(?:more|less|higher|lower|greater|better|worse|fewer)\b)"
)
# Bare numbers, whole ones above all, are often of something else.
_OTHER_UNIT = re.compile(
    r"\s*(?:[\u2030\u2031\u03c3\u00b0#]|(?:per|pro|percentage|promille|permill?e?|sigmas?|standard|sd|"
    r"basis|bps?|db|bits?|nats?|seconds?|minutes?|hours?|times|x|of|in)\b)"
)
_LEADS = re.compile(
    r"(?:[^\w#%]|(?:about|around|approx\w*|roughly|circa|ca|maybe|perhaps|probably|say|i|i'd|would|is|"
    r"am|at|of|my|final|overall|estimated?|certainty|probability|likelihood|"
    r"confidence(?: (?:level|score|rating|estimate))?)(?!\w))*"
)
_TRAILS = re.compile(
    r"\s*(?:$|(?![.)]\s*\w)[^\w\s]|(?:sure|certain\w*|confiden\w+|probab\w+|likely|chance|because|since|"
    r"but|though|although|due|given|based|that)\b)"
)
# An earlier confidence, and one that is taken back.
_EARLIER = re.compile(
    r"\b(?:was|were|used to|initial\w*|at first|original\w*|previous\w*|prior|earlier|formerly|"
    r"had been|old)\b"
)
_REVISED = re.compile(
    r"\b(?:now|revis\w+|updat\w+|lower\w*|rais\w+|reduc\w+|drop\w*|correction|corrected|"
    r"make (?:that|it)|rather|actually|chang\w+|instead|second thoughts?|final\w*)\b"
    rf"[^\n]{{0,30}}?(?:{_NUMBER}{_UNIT}|0?[.,]\d)",
    re.IGNORECASE,
)
# Words before one of the table that change what it means, such as "more likely than not".
_CHANGED = re.compile(
    r"\b(?:less|more|most|least|how|as|equally|too|whether|if|highly|extremely|somewhat|fairly|quite|"
    r"rather|pretty|slightly|really|moderately|overwhelmingly|incredibly|exceedingly|reasonably)\W+$"
)
# Letters around a statement in a text, and in a field, that are looked at for such words.
_LEAD, _SIDE = 40, 200
# A label, perhaps with its range in brackets, a mark, and what follows up to the end of the value.
# A probability that merely "is" or is "of" something may be the answer itself.
_LABELLED = re.compile(
    r"\b(?:(?:confidence|certainty)(?:[ _](?:level|score|rating|estimate))?"
    r"[\"'*_`\s]*(?P<scale>\([^)\n]{0,40}\)|\[[^\]\n]{0,40}\])?[\"'*_`\s]*(?::|=|\bis\b|\bof\b)|"
    r"probability(?:[ _](?:level|score|rating|estimate))?"
    r"[\"'*_`\s]*(?:\([^)\n]{0,40}\)|\[[^\]\n]{0,40}\])?[\"'*_`\s]*(?::|=))"
    r"[\"'*_`\s]*(?P<value>(?:[^\n,;}\"]|,(?=\d)){1,80})",
    re.IGNORECASE,
)
_OUT_OF_FEW = re.compile(r"\b(?:[2-9]|10)\b")
_SURE = re.compile(
    rf"(?P<value>{_NUMBER}{_UNIT})\s*(?:sure|confident|certain|confidence)\b", re.IGNORECASE
)
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

    def field(self, content: object) -> Statement:
        """Read what stands in a field that is for the confidence alone."""
        if content is None:
            return ABSENT
        if isinstance(content, bool):
            return Statement(_NAN, Form.OTHER)
        if isinstance(content, int | float):
            value = as_float(content)
            return ABSENT if value != value else _checked(value, Form.NUMBER)  # noqa: PLR0124
        return self._phrase(content) if isinstance(content, str) else Statement(_NAN, Form.OTHER)

    def text(self, answer: object) -> Statement:
        """Find a statement in an answer, such as "Confidence: 90%" or "I am 90 % sure"."""
        if not isinstance(answer, str) or not answer:
            return ABSENT
        if len(answer) > 2 * _LOOKED_AT:
            answer = f"{answer[:_LOOKED_AT]}\n{answer[-_LOOKED_AT:]}"
        found = [self._labelled(answer, match) for match in _LABELLED.finditer(answer)]
        found += [
            _around(answer, match) or self._phrase(match["value"])
            for match in _SURE.finditer(answer)
        ]
        return _agreed(found)

    def _labelled(self, text: str, match: re.Match[str]) -> Statement:
        stated = _around(text, match, after=False) or self._phrase(match["value"])
        scale = match["scale"]
        if stated.form is Form.NUMBER and scale is not None and _OUT_OF_FEW.search(scale):
            return Statement(_NAN, Form.UNCLEAR)
        return stated

    def _phrase(self, text: str) -> Statement:
        plain = _plain(text)
        if plain in _MISSING:
            return ABSENT
        if _RANGE.search(plain):
            return Statement(_NAN, Form.RANGE)
        if _ODD.search(plain):
            return Statement(_NAN, Form.UNCLEAR)

        def turned(match: re.Match[str]) -> Statement | None:
            return _turned(*_sides(plain, match))

        marked = [
            turned(m) or _checked(_percent(m[0]), Form.PERCENT) for m in _PERCENT.finditer(plain)
        ]
        marked += [turned(m) or _ratio(m[1], m[2], m[3]) for m in _FRACTION.finditer(plain)]
        if marked:
            return _agreed(marked)
        bare = [
            turned(m) or _of_something_else(plain, m) or _checked(_number(m[0]), Form.NUMBER)
            for m in _BARE.finditer(plain)
        ]
        return _agreed(bare) if bare else self._in_words(plain)

    def _in_words(self, plain: str) -> Statement:
        found = []
        for match in self._words.finditer(plain):
            before, after = _sides(plain, match)
            denied = _is_denied(before, after)
            if denied or not _CHANGED.search(before):
                word = match[0]
                known = Statement(self.words[word], Form.WORDS, word)
                found.append(Statement(_NAN, Form.DENIED) if denied else known)
        return _agreed(found) if found else Statement(_NAN, Form.OTHER)


def as_float(value: float) -> float:
    """Return a number as a float; integers beyond all floats are infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


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


def _sides(plain: str, match: re.Match[str]) -> tuple[str, str]:
    """Return what stands before and after, as far as one looks."""
    start, end = match.span()
    return plain[max(0, start - _SIDE) : start], plain[end : end + _SIDE]


def _is_denied(before: str, after: str) -> bool:
    """Whether the same part of a sentence denies a confidence, or is about being wrong."""
    first, last = _BEFORE.split(before)[-1], _AFTER.split(after, maxsplit=1)[0]
    return bool(_DENIED_FIRST.search(first) or _DENIED_AFTER.search(last))


def _turned(before: str, after: str) -> Statement | None:
    """Say why a number is no confidence in being right: denied, a bound, or of something else."""
    if _is_denied(before, after):
        return Statement(_NAN, Form.DENIED)
    bound = _BOUND.search(before) and not (before.rstrip().endswith("<") and _TAG_ENDS.match(after))
    if bound or _BOUND_AFTER.match(after):
        return Statement(_NAN, Form.RANGE)
    return Statement(_NAN, Form.UNCLEAR) if _ELSE_AFTER.match(after) else None


def _around(text: str, match: re.Match[str], *, after: bool = True) -> Statement | None:
    """Say why a statement in a text does not count: what stands around it, or takes it back."""
    before = text[max(0, match.start() - _LEAD) : match.start("value")].casefold()
    rest = text[match.end("value") : match.end("value") + _LEAD].casefold()
    if _EARLIER.search(_BEFORE.split(before)[-1]) or _REVISED.search(
        text[match.start("value") : match.end("value") + _SIDE].partition("\n")[0]
    ):
        return Statement(_NAN, Form.UNCLEAR)
    return _turned(before, rest if after else "")


def _of_something_else(plain: str, match: re.Match[str]) -> Statement | None:
    """Say that a bare number has another unit, or that a whole one may count something else."""
    before, after = _sides(plain, match)
    whole = match[0].isdigit()
    if _OTHER_UNIT.match(after) or before.endswith("%"):
        return Statement(_NAN, Form.UNCLEAR)
    if whole and not (_LEADS.fullmatch(before) and _TRAILS.match(after)):
        return Statement(_NAN, Form.UNCLEAR)
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
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = folded.replace("\u2212", "-").replace("\u2044", "/")
    return " ".join(folded.strip(_AROUND).rstrip(f".!{_AROUND}").split())
