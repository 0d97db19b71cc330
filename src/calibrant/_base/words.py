"""Numbers, counts, plurals and the words of others, as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

# Control characters, separators of lines, marks and overrides of direction, surrogates.
_ACTIVE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
_ACTIVE_IN_LINES = re.compile(_ACTIVE.pattern.replace("\\x00-\\x1f", "\\x00-\\x09\\x0b-\\x1f"))

# A rate below this is written as one in so many.
RARE = 0.001
# Probabilities nearer to 0 or to 1 are written as less or more than these; axes end there too.
LEAST_WRITTEN, MOST_WRITTEN = 1e-9, 0.99999
# Digits after the point of a number that is next to nothing.
MOST_DECIMALS = 12
# Digits of one number that a reader takes in.
MOST_DIGITS = 5
# Numbers below this share of others beside them are rounding errors.
ROUNDING = 1e-12
# Numbers smaller or larger than these are written as powers of ten, to keep their digits.
LEAST_WRITTEN_OUT, MOST_WRITTEN_OUT = 1e-10, 1e15
# Two numbers that differ by a larger factor are only said to.
MOST_TIMES = 1000.0
# The narrow no-break space.
THIN = "\u202f"
_SPACED = re.compile(r"(?<![\d.])\d{1,3}(?: \d{3})+(?!\d)(?: %)?|(?<=\d) %")


def probability_text(value: float, digits: int = 2) -> str:
    """Write a probability with as many digits as its distance from 0 or 1 needs.

    Examples
    --------
    >>> probability_text(0.0123), probability_text(1e-30), probability_text(1 - 1e-12)
    ('0.01', 'below 1e-09', 'above 0.99999')
    """
    if value <= 0 or value >= 1:
        return f"{value:.0f}"
    if value < LEAST_WRITTEN:
        return f"below {LEAST_WRITTEN:.0e}"
    if value > MOST_WRITTEN:
        return f"above {MOST_WRITTEN}"
    distance = min(value, 1 - value)
    if value < 1e-5:
        return f"{value:.1e}"
    leading_zeros = int(np.floor(-np.log10(distance))) if distance < 0.01 else 0
    return fixed_text(value, digits + leading_zeros)


def range_text(low: float, high: float, alone: str = "of") -> str:
    """Say which probabilities are meant: those between two, of one, below or above one.

    Ends that are next to 0 or 1 are written as 0 and 1, which lie just outside.

    Examples
    --------
    >>> range_text(0.1, 0.3), range_text(0.5, 0.5), range_text(1e-30, 0.3)
    ('between 0.10 and 0.30', 'of 0.50', 'between 0 and 0.30')
    >>> range_text(1 - 1e-12, 1), range_text(1e-30, 1e-20), range_text(0.3, 0.3, "about")
    ('above 0.99999', 'below 1e-09', 'about 0.30')
    """
    first, last = probability_text(low), probability_text(high)
    if first.startswith("above"):
        return first
    if last.startswith("below"):
        return last
    if first == last:
        return f"{alone} {first}"
    first = "0" if low < LEAST_WRITTEN else first
    return f"between {first} and {'1' if high > MOST_WRITTEN else last}"


def distinct_texts(first: float, second: float) -> tuple[str, str]:
    """Write two probabilities with the same decimals, as many as tell them apart (up to five).

    Examples
    --------
    >>> distinct_texts(0.2587, 0.2332), distinct_texts(0.00996, 0.0142)
    (('0.26', '0.23'), ('0.0100', '0.0142'))
    """
    for digits in range(2, 6):
        texts = _with_same_decimals(first, second, digits)
        if texts[0] != texts[1]:
            return texts
    return _with_same_decimals(first, second, 2)


def forecast_and_rate(forecast: float, rate: float) -> str:
    """Say what was forecast on average beside what was observed.

    Examples
    --------
    >>> forecast_and_rate(0.387, 0.328)
    'mean forecast 0.39, observed rate 0.33'
    """
    forecast_text, rate_text = distinct_texts(forecast, rate)
    return f"mean forecast {forecast_text}, observed rate {rate_text}"


def _with_same_decimals(first: float, second: float, digits: int) -> tuple[str, str]:
    texts = probability_text(first, digits), probability_text(second, digits)
    if any("e" in text for text in texts):
        return texts
    most = max(len(text.partition(".")[2]) for text in texts)
    written = [
        text if value in {0, 1} else fixed_text(value, most)
        for text, value in zip(texts, (first, second), strict=True)
    ]
    return written[0], written[1]


def rate_texts(*rates: float) -> tuple[str, ...]:
    """Write rates for laymen: in per cent, or as one in so many where all of them are rare.

    They share their decimals, and are written with as many as tell them apart.

    Examples
    --------
    >>> rate_texts(0.387, 0.328), rate_texts(0.00012, 0.000131)
    (('39 %', '33 %'), ('1 in 8 300', '1 in 7 600'))
    """
    write = _one_in if 0 < max(rates) < RARE else _per_cent
    for digits in range(2, 6):
        texts = write(rates, digits)
        if len(set(texts)) == len(set(rates)):
            return texts
    return write(rates, 2)


def range_texts(low: float, high: float) -> tuple[str, str]:
    """Write the ends of a range of rates for laymen: each with the digits that it needs.

    Examples
    --------
    >>> range_texts(0.4019, 0.9943), range_texts(0.00011, 0.0678), range_texts(0.311, 0.312)
    (('40 %', '99.4 %'), ('0.01 %', '6.8 %'), ('31.1 %', '31.2 %'))
    """
    if 0 < high < RARE:
        return rate_texts(low, high)[0], rate_texts(low, high)[1]
    # An end next to 0 or 1 is written as the 0 or 1 that lies just outside.
    low = 0.0 if low < LEAST_WRITTEN else low
    high = 1.0 if high > MOST_WRITTEN >= low else high
    texts = ("", "")
    for further in range(4):
        texts = _end_text(low, further), _end_text(high, further)
        if texts[0] != texts[1] or low == high:
            break
    return texts


def _end_text(rate: float, further: int) -> str:
    digits = 2 if 0.01 <= rate <= 0.99 else 1
    return _per_cent((rate,), digits + further)[0]


def _one_in(rates: Sequence[float], digits: int) -> tuple[str, ...]:
    return tuple(
        "0"
        if rate <= 0
        else f"less than 1 in {thousands_text(1 / LEAST_WRITTEN)}"
        if rate < LEAST_WRITTEN
        else f"1 in {thousands_text(float(f'{1 / rate:.{digits}g}'))}"
        for rate in rates
    )


def _per_cent(rates: Sequence[float], digits: int) -> tuple[str, ...]:
    inside = [min(rate, 1 - rate) for rate in rates if LEAST_WRITTEN <= rate <= MOST_WRITTEN]
    decimals = max((_decimals(100 * rate, digits) for rate in inside), default=0)
    decimals = min(max(decimals, digits - 2), MOST_DECIMALS)
    texts = [fixed_text(100 * rate, decimals if 0 < rate < 1 else 0) for rate in rates]
    if all(float(text).is_integer() for text in texts):
        texts = [text.partition(".")[0] for text in texts]
    return tuple(
        _beyond_per_cent(rate) or f"{text} %" for rate, text in zip(rates, texts, strict=True)
    )


def _beyond_per_cent(rate: float) -> str:
    """Write a share that is next to none or next to all; nothing where it is neither."""
    if 0 < rate < LEAST_WRITTEN:
        return f"less than {100 * LEAST_WRITTEN:.7f} %"
    return f"more than {100 * MOST_WRITTEN:g} %" if MOST_WRITTEN < rate < 1 else ""


def _decimals(value: float, digits: int) -> int:
    """Digits after the point that show so many digits of a number, once it is rounded to them."""
    return max(0, digits - 1 - int(np.floor(np.log10(float(f"{value:.{digits}g}")))))


def fixed_text(value: float, decimals: int, digits: int = MOST_DIGITS) -> str:
    """Write a number with so many decimals, or with fewer where these are too many digits.

    Examples
    --------
    >>> fixed_text(0.25, 4), fixed_text(0.2126149458, 10), fixed_text(0.00001234567, 10)
    ('0.2500', '0.21261', '0.000012346')
    """
    if value != 0 and np.isfinite(value):
        decimals = min(decimals, _decimals(abs(value), digits))
        value = float(f"{value:.{digits}g}") if decimals == 0 else value
    return f"{value:.{decimals}f}"


def points_text(difference: float) -> str:
    """Write the difference of two rates in percentage points, to two digits.

    Examples
    --------
    >>> points_text(0.0587), points_text(0.01)
    ('5.9 points', '1 point')
    """
    points = abs(100 * difference)
    if 0 < points < 100 * LEAST_WRITTEN:
        return f"less than {100 * LEAST_WRITTEN:.7f} points"
    text = "0" if points <= 0 else f"{float(f'{points:.2g}'):.{_decimals(points, 2)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {agreeing(1 if text == '1' else 2, 'point', 'points')}"


def comparable_texts(first: float, *others: float) -> tuple[str, ...]:
    """Write numbers that stand side by side: three digits of the first, the same decimals for all.

    More decimals where the first would look like another number that it is not.

    Examples
    --------
    >>> comparable_texts(0.02578, 0.0009), comparable_texts(0.01238, 0.01241)
    (('0.0258', '0.0009'), ('0.01238', '0.01241'))
    """
    values = (first, *others)
    if _far_from_one(*values):
        return tuple(_number(value, None) for value in values)
    sizes = [abs(value) for value in values if np.isfinite(value)]
    # Beside the others, what is smaller than this is a rounding error.
    smallest = ROUNDING * max(sizes, default=0.0)
    shown = next((size for size in sizes if size > smallest), 1.0)
    least = min(_decimals(shown, 3), MOST_DECIMALS)
    for decimals in range(least, least + 4):
        # Numbers have few digits, unless it takes more to tell them apart.
        for most in (MOST_DIGITS, MOST_DECIMALS):
            texts = tuple(_number(value, decimals, most) for value in values)
            alike = [v for v, t in zip(values, texts, strict=True) if t == texts[0] and v != first]
            if not alike or np.isnan(first):
                return texts
    return tuple(_number(value, least) for value in values)


def interval_texts(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write an estimate and its limits with the digits that the width of the interval warrants.

    Examples
    --------
    >>> interval_texts(1.0049, 1.0012, 1.0088), interval_texts(0.9012, 0.8940, 0.9087)
    (('1.0049', '1.0012', '1.0088'), ('0.901', '0.894', '0.909'))
    >>> interval_texts(123456.0, 120012.0, 127012.0)
    ('123460', '120010', '127010')
    """
    decimals, width = 2, high - low
    if _far_from_one(value, low, high):
        return _number(value, None), _number(low, None), _number(high, None)
    if 0 < width < np.inf:
        least = 2 if high < 10 else 0
        decimals = int(min(max(1 - np.floor(np.log10(width)), least), MOST_DECIMALS))
    digits = MOST_DECIMALS if decimals else MOST_DIGITS
    ends = [
        _number(end, decimals, digits) if end else f"{0:.{decimals}f}" for end in (value, low, high)
    ]
    return ends[0], ends[1], ends[2]


def factor_text(ratio: float, digits: int = 3) -> str:
    """Write how many times as large a number is; of more than a thousand only that it is more.

    Examples
    --------
    >>> factor_text(1.2345), factor_text(1e137)
    ('1.23', 'more than 1 000')
    """
    if ratio > MOST_TIMES:
        return f"more than {thousands_text(MOST_TIMES)}"
    return f"{ratio:.{digits}g}"


def ratio_texts(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write a ratio and its limits; one of more than a thousand is only said to be more.

    Examples
    --------
    >>> ratio_texts(1.2, 0.9, 1.5), ratio_texts(30109.0, 9.0, 2.3e5)
    (('1.20', '0.90', '1.50'), ('more than 1 000', '9', 'more than 1 000'))
    """
    if MOST_TIMES < high < np.inf:
        return factor_text(value), factor_text(low), factor_text(high)
    texts = interval_texts(value, low, high)
    return (factor_text(value), *texts[1:]) if MOST_TIMES < value < np.inf else texts


def _far_from_one(*values: float) -> bool:
    """Whether the largest number of some needs a power of ten."""
    largest = max((abs(value) for value in values if np.isfinite(value)), default=0.0)
    return 0 < largest < LEAST_WRITTEN_OUT or largest >= MOST_WRITTEN_OUT


def _number(value: float, decimals: int | None, digits: int = MOST_DIGITS) -> str:
    """Write a number with so many decimals; None for three digits and a power of ten."""
    if not np.isfinite(value):
        return "not defined" if np.isnan(value) else "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    if decimals is None:
        return f"{value:.3g}"
    text = fixed_text(value, decimals, digits)
    if float(text) == 0:  # next to the others it is nothing, but not 0
        text = f"{value:.{min(_decimals(abs(value), 1), MOST_DECIMALS)}f}"
    return text if float(text) else "0"  # a rounding error


def rounded_up(value: float) -> str:
    """Write an upper bound with three digits, none of them too small.

    Examples
    --------
    >>> rounded_up(0.02481), rounded_down(0.02481)
    ('0.0249', '0.0248')
    """
    return _rounded(value, np.ceil)


def rounded_down(value: float) -> str:
    """Write a lower bound with three digits, none of them too large."""
    return _rounded(value, np.floor)


def _rounded(value: float, direction: np.ufunc) -> str:
    if value <= 0:
        return "0"
    if value == np.inf:
        return "infinity"
    unit = 10.0 ** (np.floor(np.log10(value)) - 2)
    return number_text(float(direction(value / unit) * unit))


def number_text(value: float) -> str:
    """Write a number with three digits; as a power of ten only if it is far from one.

    Examples
    --------
    >>> number_text(0.02), number_text(0.0000230499), number_text(1234.5)
    ('0.02', '0.000023', '1234')
    """
    if value == 0:
        return "0"
    if _far_from_one(value):
        return f"{value:.3g}"
    text = fixed_text(value, min(_decimals(abs(value), 3), MOST_DECIMALS))
    return text.rstrip("0").rstrip(".") if "." in text else text


def samples_text(pvalue: float) -> str:
    """Write a p-value as samples out of a round number.

    Examples
    --------
    >>> samples_text(0.203), samples_text(0.005)
    ('20 of 100', '5 of 1 000')
    """
    size = 100
    while pvalue * size < 0.995:
        size *= 10
    return f"{pvalue * size:.0f} of {thousands_text(size)}"


def typeset(text: str) -> str:
    """Set thin no-break spaces inside numbers and before per cent, for terminals and pages.

    Text that programs read keeps plain spaces: pipes, JSON, CSV, Markdown.

    Examples
    --------
    >>> typeset("95 % of 1 200 rows").replace(THIN, "~")
    '95~% of 1~200 rows'
    """
    return _SPACED.sub(lambda found: found.group().replace(" ", THIN), text)


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


def page(lines: Iterable[str]) -> str:
    r"""Join lines of text; a line break inside of one came with the data and becomes an escape.

    Examples
    --------
    >>> print(page(["group a\nNo alarm.", "group b"]))
    group a\nNo alarm.
    group b
    """
    return "\n".join(map(visible, lines))


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
    """Write a share in per cent, to three digits, or as many as it takes to stay below all.

    Examples
    --------
    >>> percent_text(0.12345), percent_text(0.99987), percent_text(1e-7)
    ('12.3 %', '99.99 %', '0.00001 %')
    >>> percent_text(1 - 1e-12), percent_text(1e-30)
    ('more than 99.999 %', 'less than 0.0000001 %')
    """
    digits = 3
    while share < 1 and float(f"{100 * share:.{digits}g}") >= 100 and digits < MOST_DIGITS:
        digits += 1
    text = f"{100 * share:.{digits}g}"
    if "e" in text:
        text = f"{float(text):.{MOST_DECIMALS}f}".rstrip("0").rstrip(".")
    return _beyond_per_cent(share) or f"{text} %"


def chance_text(pvalue: float, draws: int | None = None) -> str:
    """Write a p-value; of so many draws the smallest possible one is an upper bound.

    Examples
    --------
    >>> chance_text(0.034), chance_text(0.001, 999), chance_text(0.002, 999)
    ('0.034', '<= 0.001', '0.002')
    """
    text = f"{pvalue:.3f}" if pvalue >= 0.0995 else f"{pvalue:.2g}"
    return f"<= {text}" if is_bound(pvalue, draws) else text


def pvalue_text(pvalue: float, draws: int | None = None) -> str:
    """Write "p = " or, where the draws give a bound only, "p <= " and a p-value.

    Examples
    --------
    >>> pvalue_text(0.034, 999), pvalue_text(0.001, 999)
    ('p = 0.034', 'p <= 0.001')
    """
    text = chance_text(pvalue, draws)
    return f"p {text}" if text.startswith("<=") else f"p = {text}"


def is_bound(pvalue: float, draws: int | None) -> bool:
    """Whether none of so many draws reached what was seen, so that the p-value is a bound."""
    return draws is not None and pvalue * (draws + 1) < 1.5


def shortened(text: str, width: int) -> str:
    """Cut text that is longer than a width, and show that it was.

    Examples
    --------
    >>> shortened("a very long label", 10)
    'a very ...'
    """
    return text if len(text) <= width else f"{text[: width - 3]}..."


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Write a table of Markdown."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def escaped(text: str) -> str:
    """Let words of others stay words in Markdown."""
    text = visible(" ".join(text.split("\n"))).strip()
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    # A line that begins with two colons is a command to the runner of a build that prints it.
    return f"\\{text}" if text.startswith("::") else text
