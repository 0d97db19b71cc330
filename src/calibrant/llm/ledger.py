"""Rows of logs, gathered column by column while files are read."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import exp, inf, isfinite
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.llm.stated import Statements
from calibrant.llm.wording import as_float

# Labels of scorers. An answer that is not there is wrong, as inspect counts it.
LABELS = (
    dict.fromkeys(("c", "correct", "right", "true", "t", "yes", "y", "pass", "passed"), 1.0)
    | dict.fromkeys(("i", "incorrect", "wrong", "false", "f", "no", "n", "fail", "failed"), 0.0)
    | {"p": 0.5}
)
# Longer texts are known by their beginning and a hash.
LONGEST_LABEL = 120


@dataclass(slots=True)
class Answer:
    """What a log says of one answer."""

    question: object
    model: object = None
    task: object = None
    trial: object = None
    answer: object = None
    scores: Mapping[str, object] = field(default_factory=dict)
    """By scorer."""
    stated: object = None
    """What stands in a field for the confidence; `Ellipsis` stands for no such field."""
    stated_by: Mapping[str, object] = field(default_factory=dict)
    """The same of scorers that keep a confidence beside their score."""
    text: object = None
    """The whole answer, in which a confidence may be stated."""
    options: Sequence[float] | None = None
    """Log-probabilities of the options; the answer is the first of the best."""
    lengths: Sequence[int] | None = None
    """Letters of the options."""
    answer_per_letter: object = None
    """The best option per letter."""
    tokens: float | None = None
    """Log-probability of the answer's tokens."""
    samples: Sequence[object] | None = None
    """Answers that were sampled; the first is the one that was scored."""
    identity: object = None
    """Name of this row alone, by which copies are known."""
    prompt: object = None
    """Which way the question was put, where a log names ways."""
    difficulty: object = None
    """How hard the question is, where a log says so."""


class Names:
    """A column of labels: numbers of names."""

    def __init__(self) -> None:
        self.codes = array("q")
        self._numbers: dict[object, int] = {}

    def add(self, value: object) -> None:
        """Add a row."""
        try:
            # Most are known already. Of other types, 1 and True would be one.
            code = self._numbers[value] if value.__class__ is str or value is None else -1
        except KeyError:
            code = -1
        if code < 0:
            name = None if value is None or value == "" else _label(value)
            code = self._numbers.setdefault(name, len(self._numbers))
        self.codes.append(code)

    def put(self, row: int, value: object) -> None:
        """Add a row, the last one so far, where those before it may have none."""
        missing = row - len(self.codes)
        if missing:
            self.codes.extend([self._numbers.setdefault(None, len(self._numbers))] * missing)
        self.add(value)

    @property
    def names(self) -> list[str | None]:
        """All names, by number."""
        return [None if name is None else str(name) for name in self._numbers]

    def numbers(self, size: int) -> Any:
        """Numbers of the names of so many rows, -1 for those that have none."""
        found = np.full(size, -1)
        codes = np.frombuffer(self.codes, dtype=np.int64)
        found[: codes.size] = np.where(codes == self._numbers.get(None, -1), -1, codes)
        return found

    def column(self, size: int) -> Any:
        """Names of so many rows, None for those that have none."""
        found = np.full(size, None, dtype=object)
        if self.codes:
            codes = np.frombuffer(self.codes, dtype=np.int64)
            found[: codes.size] = np.array(self.names, dtype=object)[codes]
        return found


class Numbers:
    """A column of numbers that few rows may have."""

    def __init__(self) -> None:
        self.values = array("d")

    def put(self, row: int, value: float) -> None:
        """Give a row, the last one so far, a number."""
        missing = row - len(self.values)
        if missing:
            self.values.extend([np.nan] * missing)
        self.values.append(value)

    def column(self, size: int) -> Floats:
        """Numbers of all rows, NaN where there are none."""
        found = np.full(size, np.nan)
        found[: len(self.values)] = np.frombuffer(self.values, dtype=np.float64)
        return found


class RowStatements:
    """Statements of some rows."""

    def __init__(self, words: Mapping[str, float] | None) -> None:
        self.taken = Statements(words)
        self._rows = array("q")

    def add_field(self, row: int, value: object) -> None:
        """Take what stands in a field of a row."""
        self._rows.append(row)
        self.taken.add_field(value)

    def add_text(self, row: int, value: object) -> None:
        """Take the answer of a row."""
        self._rows.append(row)
        self.taken.add_text(value)

    @property
    def rows(self) -> Any:
        """Rows that state something."""
        return np.frombuffer(self._rows, dtype=np.int64)

    def column(self, size: int) -> Floats:
        """Values of all rows before their scale is settled, NaN where there are none."""
        values = np.full(size, np.nan)
        values[self.rows] = np.frombuffer(self.taken.values, dtype=np.float64)
        return values


class Ledger:
    """All that was read so far."""

    def __init__(self, words: Mapping[str, float] | None = None) -> None:
        self.size = 0
        self.question, self.model, self.task = Names(), Names(), Names()
        self.trial, self.answer, self.answer_per_letter = Names(), Names(), Names()
        self.prompt, self.difficulty, self.file = Names(), Names(), Names()
        self.reading: str | None = None
        """Name of the file that is read, where there are several."""
        self._words = words
        self.stated: dict[str | None, RowStatements] = {}
        """What stands in fields: of answers, and of scorers by their names."""
        self.text = RowStatements(words)
        self.options, self.normalised = Numbers(), Numbers()
        self.tokens, self.agreeing = Numbers(), Numbers()
        self.sampled: Counter[int] = Counter()
        self.scores: dict[str, Numbers] = {}
        self.labels: Counter[tuple[str, str]] = Counter()
        self.copies = 0
        self._seen: set[str] = set()

    def add(self, row: Answer) -> None:
        """Take one answer."""
        if row.identity is not None:
            if _label(row.identity) in self._seen:
                self.copies += 1
                return
            self._seen.add(_label(row.identity))
        index = self.size
        self.question.add(row.question)
        self.model.add(row.model)
        self.task.add(row.task)
        if row.trial is not None:
            self.trial.put(index, row.trial)
        if row.answer is not None:
            self.answer.put(index, row.answer)
        if not (row.prompt is row.difficulty is self.reading is None):
            self._add_further(index, row)
        self._add_statements(index, row)
        if row.options is not None or row.tokens is not None or row.samples is not None:
            self._add_probabilities(index, row)
        for scorer, value in row.scores.items():
            self.scores.setdefault(scorer, Numbers()).put(index, self._score(scorer, value))
        self.size += 1

    def _add_statements(self, index: int, row: Answer) -> None:
        """Take what is stated in fields and in the text."""
        if row.stated is not ...:
            self._statements_of(None).add_field(index, row.stated)
        for scorer, value in row.stated_by.items():
            self._statements_of(scorer).add_field(index, value)
        if row.text is not None:
            self.text.add_text(index, row.text)

    def _statements_of(self, owner: str | None) -> RowStatements:
        if owner not in self.stated:
            self.stated[owner] = RowStatements(self._words)
        return self.stated[owner]

    def _add_further(self, index: int, row: Answer) -> None:
        """Take labels that few logs have."""
        if row.prompt is not None:
            self.prompt.put(index, row.prompt)
        if row.difficulty is not None:
            self.difficulty.put(index, row.difficulty)
        if self.reading is not None:
            self.file.put(index, self.reading)

    def _add_probabilities(self, index: int, row: Answer) -> None:
        """Take what the model computed rather than stated."""
        if row.options is not None:
            self.options.put(index, largest_share(row.options))
            if row.answer_per_letter is not None:
                self.answer_per_letter.put(index, row.answer_per_letter)
            if row.lengths is not None:
                per_letter = [v / max(n, 1) for v, n in zip(row.options, row.lengths, strict=True)]
                self.normalised.put(index, largest_share(per_letter))
        if row.tokens is not None:
            self.tokens.put(index, exp(min(row.tokens, 0.0)))
        if row.samples is not None and len(row.samples) > 1:
            first, *_ = same = [normalised(sample) for sample in row.samples]
            self.agreeing.put(index, same.count(first) / len(same))
            self.sampled[len(same)] += 1

    def _score(self, scorer: str, raw: object) -> float:
        """Read a score; what is neither a number nor a label of the table is missing."""
        if isinstance(raw, bool | int | float):
            return as_float(raw)
        if not isinstance(raw, str):
            return np.nan
        word = raw.strip().casefold()
        value = LABELS.get(word)
        if value is None:
            try:
                return float(word)
            except ValueError:
                value = np.nan
        self.labels[scorer, raw.strip()[:LONGEST_LABEL]] += 1
        return value


def largest_share(log_probabilities: Sequence[float]) -> float:
    """Softmax over the options: the probability of the most likely one.

    Options of -inf are impossible; where one is NaN or +inf there is no probability.
    """
    known = [value for value in log_probabilities if isfinite(value)]
    if not known or any(value != value or value == inf for value in log_probabilities):  # noqa: PLR0124
        return np.nan
    best = max(known)
    return 1 / sum(exp(value - best) for value in known)


def normalised(answer: object) -> str:
    """Bring answers that say the same to one form.

    Letters of all cases and widths are one, blanks are one, marks at both ends are none, and a
    stated confidence is no part of the answer.
    """
    import re
    import unicodedata

    text = unicodedata.normalize("NFKC", str(answer)).casefold()
    text = re.split(r"\W*\b(?:confidence|certainty|probability)\b[^\n]{0,30}?[:=]", text)[0]
    return " ".join(text.split()).strip(" .,;:!?\"'*`()[]")


def _label(value: object) -> str:
    """Name a value; 1.0, which a frame writes for a number beside missing ones, is 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # Halves of characters, which JSON may hold, are nothing that can be printed or stored.
    text = str(value).encode("utf-8", "backslashreplace").decode()
    if len(text) <= LONGEST_LABEL:
        return text
    digest = blake2b(text.encode(), digest_size=8).hexdigest()
    return f"{text[:LONGEST_LABEL]}... {digest}"
