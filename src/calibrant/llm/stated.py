"""Stated confidences in any format as numbers, with every decision counted."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.words import count_text, page, visible
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.llm.wording import WORDS, Form, Statement, Wording

SCALES = (None, "unit", "percent", "mixed")
# Texts are read once each as long as there are not more different ones than this.
MOST_KEPT = 2**16
MOST_EXAMPLES = 3
# Largest number that may be one out of ten.
TEN = 10


@dataclass(frozen=True, slots=True)
class StatedConfidences:
    """Numbers that were read from statements, and how.

    `print` it to read every decision.
    """

    values: Floats
    """Confidence of each statement between 0 and 1, NaN where none could be read."""
    counts: Mapping[str, int]
    """How many statements were written in each way, or could not be read for each reason."""
    sentences: tuple[str, ...]
    """Every decision in words."""

    @property
    def missing(self) -> int:
        """Number of statements without a value."""
        return int(np.isnan(self.values).sum())

    def __str__(self) -> str:
        return page(self.sentences)


class Statements:
    """Collects statements one by one; what bare numbers mean is settled when all are seen."""

    def __init__(self, words: Mapping[str, float] | None = None) -> None:
        self.wording = Wording(WORDS if words is None else words)
        self.values, self.forms = array("d"), array("b")
        self.words: Counter[str] = Counter()
        self.examples: dict[Form, dict[str, None]] = {}
        self._kept: dict[tuple[bool, type, object], Statement] = {}

    def add_field(self, value: object) -> bool:
        """Take what stands in a field for the confidence; say whether it has a value."""
        return self._add(value, in_text=False)

    def add_text(self, value: object) -> bool:
        """Take an answer in which the confidence may be stated."""
        return self._add(value, in_text=True)

    def _add(self, value: object, *, in_text: bool) -> bool:
        plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        key = (in_text, type(value), value)
        found = self._kept.get(key) if plain else None
        if found is None:
            found = self.wording.text(value) if in_text else self.wording.field(value)
            if plain and len(self._kept) < MOST_KEPT and len(str(value)) < 100:
                self._kept[key] = found
            if not found.form.is_known and found.form is not Form.ABSENT:
                self._keep_example(found.form, value)
        if found.word:
            self.words[found.word] += 1
        self.values.append(found.value)
        self.forms.append(found.form)
        return found.form.is_known

    def _keep_example(self, form: Form, value: object) -> None:
        kept = self.examples.setdefault(form, {})
        if len(kept) < MOST_EXAMPLES:
            text = visible(str(value))
            kept[text if len(text) <= 40 else f"{text[:37]}..."] = None

    def examples_text(self) -> str:
        """Quote some statements that could not be read."""
        kept = [text for examples in self.examples.values() for text in examples]
        return ", ".join(map(repr, kept[:MOST_EXAMPLES]))

    def settled(
        self, scale: str | None, rows: Any = slice(None), *, absent: bool = True
    ) -> StatedConfidences:
        """Decide what bare numbers mean, and say so.

        Parameters
        ----------
        scale : {None, "unit", "percent", "mixed"}
            As for `parse_confidences`.
        rows : mask or slice
            Statements that matter.
        absent : bool
            Whether statements that are not there are worth a sentence.
        """
        if scale not in SCALES:
            raise InvalidOptionError("@scale must be unit, percent or mixed", repr(scale))
        values = np.frombuffer(self.values, dtype=np.float64)[rows].copy()
        forms = np.frombuffer(self.forms, dtype=np.int8)[rows]
        bare = forms == Form.NUMBER
        remarks = _rescale(values, bare, scale)
        counts = {
            form.phrase: int(count)
            for form, count in zip(Form, np.bincount(forms, minlength=len(Form)), strict=True)
            if count
        }
        sentences = [_how_written(counts), *remarks, *self._word_sentences()]
        sentences += self._unread(counts, forms.size, absent=absent)
        return StatedConfidences(values, counts, tuple(filter(None, sentences)))

    def _word_sentences(self) -> list[str]:
        if not self.words:
            return []
        table = self.wording.words
        listed = ", ".join(
            f"{word!r} = {table[word]:g} ({count})" for word, count in self.words.most_common()
        )
        return [f"words were read by the table: {listed}"]

    def _unread(self, counts: Mapping[str, int], size: int, *, absent: bool) -> list[str]:
        reasons = []
        for form in Form:
            if form.is_known or form.phrase not in counts or (form is Form.ABSENT and not absent):
                continue
            examples = ", ".join(map(repr, self.examples.get(form, ())))
            shown = f" such as {examples}" if examples else ""
            reasons.append(f"{form.phrase} ({counts[form.phrase]}){shown}")
        if not reasons:
            return []
        missing = sum(count for phrase, count in counts.items() if phrase in _UNKNOWN)
        sentence = (
            f"{missing} of {count_text(size, 'confidence')} could not be read and are missing"
        )
        return [f"{sentence}: {'; '.join(reasons)}"]


_UNKNOWN = {form.phrase for form in Form if not form.is_known}


def parse_confidences(
    statements: Iterable[object],
    *,
    words: Mapping[str, float] | None = None,
    scale: str | None = None,
    in_text: bool = False,
) -> StatedConfidences:
    """Read stated confidences in any format: "90%", 0.9, "9/10", "about 85 percent", "very likely".

    Parameters
    ----------
    statements : iterable of str, numbers or None
        What was stated. Ranges and bounds, several values that differ, what is denied ("not 100%
        sure"), chances of being wrong, numbers that may mean something else ("1,000%", "95% CI"),
        and text without a number or a word of the table have no value; they are missing, and
        counted.
    words : mapping of str to float, optional
        What words mean; `calibrant.llm.WORDS` by default. Pass ``{}`` to read no words, or
        ``WORDS | {"quite sure": 0.8}`` to add some.
    scale : {"unit", "percent", "mixed"}, optional
        What bare numbers are: probabilities, per cent, or per cent where they exceed 1. By default
        they are probabilities, and refused if one of them exceeds 1. A percent sign or a fraction
        always means what it says: "1%" is 0.01.
    in_text : bool, default=False
        Whether statements are whole answers, in which a confidence is looked for: after a label
        ("Confidence: 90%") or before sure, certain or confident ("90% sure").

    Returns
    -------
    StatedConfidences
        With a sentence for every decision.

    Notes
    -----
    A word has no probability of its own: the table says what you take it for. A bare 1 is certainty
    unless the scale is percent.

    Examples
    --------
    >>> said = ["90%", "9/10", "about 85 percent", "very likely", "80-90%", None]
    >>> stated = parse_confidences(said)
    >>> stated.values
    array([0.9  , 0.9  , 0.85 , 0.875,   nan,   nan])
    >>> print(stated)
    confidences were written as per cent (2), a fraction like 9/10 (1), words (1)
    words were read by the table: 'very likely' = 0.875 (1)
    2 of 6 confidences could not be read and are missing: nothing stated (1); a range (1) such as
    '80-90%'
    """
    if isinstance(statements, str):
        raise InvalidForecastsError("statements must be a list", "one text", "pass [text]")
    taken = Statements(words)
    for statement in statements:
        if in_text:
            taken.add_text(_item(statement))
        else:
            taken.add_field(_item(statement))
    return taken.settled(scale)


def _item(statement: object) -> object:
    """Return numbers of numpy as Python's."""
    return statement.item() if isinstance(statement, np.generic) else statement


def _rescale(values: Floats, bare: Any, scale: str | None) -> list[str]:
    """Divide the bare numbers that are per cent; say which."""
    numbers = values[bare]
    if not numbers.size:
        return []
    above, below = numbers[numbers > 1], numbers[(numbers > 0) & (numbers < 1)]
    if scale is None and above.size:
        example = ", ".join(f"{value:g}" for value in np.unique(above)[:MOST_EXAMPLES])
        hint = "@scale='percent' divides all bare numbers by 100, @scale='mixed' those above 1"
        if below.size:
            hint = (
                "some lie between 0 and 1: @scale='mixed' divides those above 1 by 100, "
                "@scale='percent' all of them"
            )
        if above.max() <= TEN:
            hint = f"divide numbers out of ten before, or write them as 9/10; {hint}"
        raise InvalidForecastsError(
            "bare numbers must be probabilities, or come with a scale",
            f"{above.size} of {count_text(numbers.size, 'bare number')} above 1, such as {example}",
            hint,
        )
    if scale in {None, "unit"}:
        values[bare & (values > 1)] = np.nan
        sentence = f"bare numbers were read as probabilities ({numbers.size}){_certain(numbers)}"
        return [f"{sentence}; {above.size} above 1 are missing" if above.size else sentence]
    divided = bare if scale == "percent" else bare & (values > 1)
    values[divided] /= 100
    if scale == "percent":
        strange = f", {below.size} of them below 1 %" if below.size else ""
        return [f"bare numbers were read as per cent ({numbers.size}{strange})"]
    others = f"the others as probabilities ({numbers.size - above.size}){_certain(numbers)}"
    return [f"bare numbers above 1 were read as per cent ({above.size}), {others}"]


def _certain(numbers: Floats) -> str:
    """Say how often a bare 1 could have meant 1 % and was not taken for it."""
    ones = int((numbers == 1).sum())
    return f"; {ones} times a bare 1 was read as certainty" if ones else ""


def _how_written(counts: Mapping[str, int]) -> str:
    known = [
        f"{form.phrase} ({counts[form.phrase]})"
        for form in Form
        if form.phrase in counts and form.is_known
    ]
    return f"confidences were written as {', '.join(known)}" if known else ""
