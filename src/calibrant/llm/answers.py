"""Answers with a confidence and whether they were right, and every decision on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant._base.notebook import card
from calibrant._base.words import agreeing, count_text, forecast_and_rate, page, thousands_text
from calibrant._base.writing import drafted
from calibrant.data.tables import literal
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inputs import Roles, Source, read as read_source
from calibrant.llm.choosing import PER_LETTER, Choices, choose
from calibrant.llm.ledger import Ledger

# Names by the share of the other answers that were right: at most a third, less than two thirds.
HARD, MIDDLE, EASY, ALONE = "hard", "middling", "easy", "answered once"
# More numbers than this are no names: groups are cut at quantiles.
MOST_NAMES = 12


def by_the_others(question: Any, correct: Any) -> tuple[Any, str]:
    """Name the difficulty of each row by how the other answers to its question fared.

    A row never has a say in its own group: of rows that chose their group by their own outcome,
    the hard ones would be wrong by construction.

    Returns
    -------
    tuple of array and str
        Names, and the sentence that says so.
    """
    _, code = np.unique(question.astype(str), return_inverse=True)
    others = np.bincount(code)[code] - 1
    if not others.any():
        raise InvalidForecastsError(
            "difficulty must be in the log, or follow from several answers to a question",
            "one answer to each question",
            "@fields={'difficulty': ...} names a field of plain lines",
        )
    right = np.bincount(code, correct)[code] - correct
    share = np.full(code.size, np.nan)
    np.divide(right, others, out=share, where=others > 0)
    names = np.select(
        [others == 0, 3 * right <= others, 3 * right < 2 * others], [ALONE, HARD, MIDDLE], EASY
    ).astype(object)
    counts = {name: int((names == name).sum()) for name in (HARD, MIDDLE, EASY, ALONE)}
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    return names, (
        "difficulty is not in the log: it is the share of the other answers to the same question "
        f"that were right, at most a third for hard, two thirds for easy: {listed}; nobody knows "
        "it before the others have answered"
    )


def as_numbers(names: Any) -> Floats | None:
    """Return difficulties as numbers where there are too many to be names."""
    there = {str(name) for name in names.tolist() if name is not None}
    if len(there) <= MOST_NAMES:
        return None
    try:
        value = {name: float(name) for name in there}
    except ValueError:
        return None
    return np.array([np.nan if name is None else value[str(name)] for name in names.tolist()])


def stated_sentence(column: str, names: Any) -> str:
    """Say what a log says of prompts or difficulties."""
    if names.dtype != object:
        low, high = np.nanmin(names), np.nanmax(names)
        return f"{column} as the log has it, a number from {low:g} to {high:g}"
    there = sorted({str(name) for name in names.tolist() if name is not None})
    without = sum(name is None for name in names.tolist())
    listed = ", ".join(there[:4]) + (f" and {len(there) - 4} more" if len(there) > 4 else "")
    text = f"{column} as the log has it: {listed}"
    return f"{text}; {count_text(without, 'answer')} without" if without else text


GROUPS = ("model", "task", "prompt", "difficulty", "origin")
# Share of wrong answers among those that are given, unless another is requested.
RISK = 0.05
# Columns that only some logs have.
FURTHER = ("prompt", "difficulty", "file")


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of language models: one row each, ready for `calibrant.audit`.

    `print` it to read what was found and every decision that was made.
    """

    columns: Mapping[str, npt.NDArray[Any]]
    """question, model, task, trial, answer, origin, confidence and correct of each row; prompt,
    difficulty and file where a log has them or there are several."""
    found: tuple[str, ...]
    """What was found, and what was decided, in sentences."""
    left_out: int = 0
    """Answers without a confidence or a score."""
    title: str = "Answers"
    described: dict[str, object] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["confidence"])

    def __str__(self) -> str:
        return page(self.found)

    def __repr__(self) -> str:
        return f"<Answers: {count_text(len(self), 'row')}, {', '.join(self.names('model'))}>"

    def _repr_html_(self) -> str:
        return card(". ".join(self.found))

    @property
    def confidence(self) -> Floats:
        """Confidence of each answer."""
        return np.asarray(self.columns["confidence"])

    @property
    def correct(self) -> npt.NDArray[np.int8]:
        """Whether each answer was right, 0 or 1."""
        return np.asarray(self.columns["correct"])

    def names(self, column: str) -> list[str]:
        """Names that a column holds, sorted."""
        return sorted({str(name) for name in self.columns[column] if name is not None})

    @property
    def by(self) -> list[str]:
        """Columns that divide the rows: those of `GROUPS` with two names or more."""
        return [
            name
            for name in GROUPS
            if name in self.columns and len(set(self.columns[name].tolist())) > 1
        ]

    @property
    def clusters(self) -> str | None:
        """The column of questions, if one was answered more than once."""
        questions = self.columns["question"]
        return "question" if len(set(questions.tolist())) < questions.size else None

    def where(self, **names: str) -> Answers:
        """Keep the answers of a model, a task, a trial or an origin.

        Parameters
        ----------
        **names : str
            What columns must hold, such as ``model="small"``.
        """
        kept = np.ones(len(self), dtype=bool)
        for column, name in names.items():
            if column not in self.columns:
                raise InvalidOptionError("where must name columns", repr(column))
            kept &= np.asarray([str(value) == name for value in self.columns[column]])
        if not kept.any():
            listed = ", ".join(f"{column} {name!r}" for column, name in names.items())
            raise InvalidForecastsError("there must be answers to keep", f"none of {listed}")
        return replace(self, columns={name: values[kept] for name, values in self.columns.items()})

    def with_difficulty(self) -> Answers:
        """Add the difficulty of questions, by how the other answers to them fared.

        Answers of a log that states it are returned as they are.
        """
        if "difficulty" in self.columns:
            return self
        names, note = by_the_others(self.columns["question"], self.correct)
        found = (*self.found, note)
        columns = {**self.columns, "difficulty": names}
        return replace(self, columns=columns, found=found, described={"answers": list(found)})

    def divided(self, by: Sequence[str] | None) -> Answers:
        """Make sure that there is a difficulty if rows are to be divided by it."""
        return self.with_difficulty() if by is not None and "difficulty" in by else self

    def to_parquet(self, path: str | Path) -> None:
        """Write all rows as a table, for other tools and for every command.

        Parameters
        ----------
        path : str or Path
            File to write. It appears when it is complete, or not at all.
        """
        import duckdb

        with drafted(path) as draft, duckdb.connect() as connection:
            # DuckDB finds the type of a column by its first values, which must not all be missing.
            columns = {name: _without_none(values) for name, values in self.columns.items()}
            connection.register("answers", columns)
            labels = [name for name, values in self.columns.items() if values.dtype == object]
            nulls = ", ".join(f"nullif({name}, '') as {name}" for name in labels)
            query = f"select * replace ({nulls}) from answers"  # noqa: S608  # names of ours
            connection.execute(f"copy ({query}) to {literal(str(draft))} (format parquet)")

    def as_source(self, roles: Roles, title: str | None = None) -> Source:
        """Make a Source, with models and tasks as groups and questions as clusters by default."""
        by_columns = None if roles.by is None else roles.columns_by()
        if by_columns is not None and self.divided(by_columns) is not self:
            return self.with_difficulty().as_source(roles, title)
        by = self.by if roles.by is None else roles.columns_by()
        clusters = self.clusters if roles.clusters is None else str(roles.clusters)
        for name in [*by, *([] if clusters is None else [clusters])]:
            if name not in self.columns:
                listed = ", ".join(self.columns)
                raise InvalidForecastsError("answers have no such column", repr(name), listed)
        array_roles = replace(
            roles,
            by={name: self.columns[name] for name in by} or None,
            clusters=None if clusters is None else numbered(self.columns[clusters])[0],
        )
        source = read_source(self.correct, self.confidence, array_roles, title=title or self.title)
        models = self.columns["model"]
        return replace(
            source,
            notes=(*self.found, *source.notes),
            described=source.described | self.described,
            risk=RISK,
            answered_by=models if len(set(models.tolist())) > 1 else None,
        )


def assembled(
    ledger: Ledger,
    found: Sequence[str],
    *,
    origin: str | None,
    scorer: str | None,
    pass_mark: float | None,
    scale: str | None,
    title: str,
) -> Answers:
    """Choose confidences and scores, leave out rows that lack one, and say all of it."""
    chosen = choose(ledger, origin, scorer, pass_mark, scale)
    columns = _label_columns(ledger)
    columns["origin"] = chosen.origin
    per_letter = chosen.origin == PER_LETTER
    if per_letter.any():  # the option that is judged may be another
        columns["answer"][per_letter] = ledger.answer_per_letter.column(ledger.size)[per_letter]
    if chosen.rows is not None:  # one row a question, of its votes
        columns = {name: values[chosen.rows] for name, values in columns.items()}
        for name, rows in chosen.pooled.items():
            if name in columns:
                columns[name][rows] = None
    known = ~(np.isnan(chosen.confidence) | np.isnan(chosen.correct))
    if not known.any():
        raise InvalidForecastsError(
            "logs must hold answers with a confidence and a score",
            "none",
            "; ".join(chosen.sentences),
        )
    columns = {name: values[known] for name, values in columns.items()}
    columns["confidence"] = chosen.confidence[known]
    columns["correct"] = chosen.correct[known].astype(np.int8)
    rows = np.arange(ledger.size) if chosen.rows is None else chosen.rows
    unnamed = int((ledger.question.numbers(ledger.size)[rows[known]] < 0).sum())
    numbers = _what_is_there(columns)
    difficulty = as_numbers(columns["difficulty"]) if "difficulty" in columns else None
    if difficulty is not None:
        columns["difficulty"] = difficulty
    notes = [*found, numbers, *chosen.sentences]
    notes += [
        stated_sentence(name, columns[name]) for name in ("prompt", "difficulty") if name in columns
    ]
    if ledger.copies:
        notes.append(f"{count_text(ledger.copies, 'sample')} found twice and counted once")
    notes += _name_notes(unnamed, columns)
    notes += _left_out(chosen, known) + _repeated(columns) + _in_words(columns)
    notes += _few_questions(columns)
    return Answers(columns, tuple(notes), int((~known).sum()), title, {"answers": list(notes)})


def numbered(column: Any) -> tuple[Indices, int]:
    """Return numbers for the names of a column, in their order, and how many there are."""
    values = column.tolist()
    names = sorted(set(values), key=lambda name: (name is None, str(name)))
    number = {name: index for index, name in enumerate(names)}
    codes = np.fromiter((number[name] for name in values), dtype=np.intp, count=len(values))
    return codes, len(names)


def _name_notes(unnamed: int, columns: Mapping[str, Any]) -> list[str]:
    """Say that rows have no id, and that names look like two spellings of one."""
    notes = []
    if unnamed:
        notes.append(
            f"{count_text(unnamed, 'answer')} without an id of the question: each counts as a "
            "question of its own"
        )
    for column in ("model", "task"):
        spelled: dict[str, list[str]] = {}
        for name in sorted({str(n) for n in columns[column].tolist() if n is not None}):
            spelled.setdefault(_spelling(name), []).append(name)
        for alike in spelled.values():
            if len(alike) > 1:
                listed = " and ".join(map(repr, alike))
                notes.append(f"{column}s {listed} look like one, and are kept apart")
    return notes


def _spelling(name: str) -> str:
    """Bring spellings of one name to one form: cases, signs between words, a provider before it."""
    last = name.strip().rsplit("/", 1)[-1].casefold()
    return "".join(letter for letter in last if letter.isalnum() or letter == ".")


def _without_none(values: Any) -> Any:
    """Write no name as an empty one, which nothing else has."""
    return np.where(values == None, "", values) if values.dtype == object else values  # noqa: E711


def _label_columns(ledger: Ledger) -> dict[str, Any]:
    further = [name for name in FURTHER if getattr(ledger, name).codes]
    columns = {
        name: getattr(ledger, name).column(ledger.size)
        for name in ("question", "model", "task", "trial", "answer", *further)
    }
    if len(ledger.task.names) > 1:  # tasks number their questions alike
        columns["question"] = _within_tasks(ledger)
    unnamed = columns["question"] == None  # noqa: E711  # of each element
    if unnamed.any():
        mark = "row"
        while any(str(name).startswith(mark) for name in set(columns["question"][~unnamed])):
            mark = f"_{mark}"
        names = [f"{mark} {row + 1}" for row in np.flatnonzero(unnamed)]
        columns["question"][unnamed] = names
    return columns


def _within_tasks(ledger: Ledger) -> Any:
    """Name questions after their tasks."""
    question, task = (
        np.frombuffer(n.codes, dtype=np.int64) for n in (ledger.question, ledger.task)
    )
    count = len(ledger.question.names)
    pairs, pair_index = np.unique(task * count + question, return_inverse=True)
    names, tasks = ledger.question.names, ledger.task.names
    named = [
        None if names[q] is None else f"{tasks[t]}: {names[q]}"
        for t, q in zip(*(part.tolist() for part in np.divmod(pairs, count)), strict=True)
    ]
    return np.array(named, dtype=object)[pair_index]


def _what_is_there(columns: Mapping[str, Any]) -> str:
    parts = [count_text(columns["correct"].size, "answer")]
    questions = len(set(columns["question"].tolist()))
    for noun in ("model", "task"):
        names = sorted({str(name) for name in columns[noun].tolist() if name is not None})
        if names:
            listed = ", ".join(names[:4]) + (
                f" and {len(names) - 4} more" if len(names) > 4 else ""
            )
            parts.append(f"{count_text(len(names), noun)} ({listed})")
    return f"{', '.join(parts)}, {count_text(questions, 'question')}"


def _left_out(chosen: Choices, known: Any) -> list[str]:
    unscored = int(np.isnan(chosen.correct).sum())
    unstated = int((~known).sum()) - unscored
    notes = []
    if unscored:
        notes.append(f"{count_text(unscored, 'answer')} without a score left out")
    if unstated:
        notes.append(f"{count_text(unstated, 'answer')} without a confidence left out")
        right = chosen.correct[np.isnan(chosen.confidence) & ~np.isnan(chosen.correct)].mean()
        kept = chosen.correct[known].mean()
        notes[-1] += f" ({right:.0%} of them right, {kept:.0%} of the others)"
    return notes


def _repeated(columns: Mapping[str, Any]) -> list[str]:
    """Say that questions are clusters, and that rows may be copies."""
    question, count = numbered(columns["question"])
    repeated = int((np.bincount(question) > 1).sum())
    if not repeated:
        return []
    notes = (
        f"{thousands_text(repeated)} of {count_text(count, 'question')} answered more than "
        "once, across models or trials: questions are clusters"
    )
    key = question
    for name in ("model", "trial", "origin"):
        code, names = numbered(columns[name])
        key = key * names + code
    alike = question.size - np.unique(key).size
    if not alike:
        return [notes]
    twice = agreeing(alike, "row repeats", "rows repeat")
    return [notes, f"{alike} {twice} question, model and trial of another: kept as further trials"]


def _few_questions(columns: Mapping[str, Any]) -> list[str]:
    """Say early how little few questions can tell, by the spread of a rate (Agresti, Coull 1998).

    Two points are what an audit tolerates. The verdict knows more: this is the least it will take.
    """
    questions = len(set(columns["question"].tolist()))
    rate = float(columns["correct"].mean())
    rate = (rate * questions + 2) / (questions + 4)
    spread = 1.96 * np.sqrt(rate * (1 - rate))
    points, needed = 100 * spread / np.sqrt(questions + 4), int(np.ceil((spread / 0.02) ** 2))
    if questions >= needed:
        return []
    known = f"{count_text(questions, 'question')} {agreeing(questions, 'tells', 'tell')}"
    wanted = f"2 points take at least {thousands_text(round(needed, -2))} questions"
    return [f"{known} an observed rate to about {points:.2g} points; {wanted}"]


def _in_words(columns: Mapping[str, Any]) -> list[str]:
    mean, rate = float(columns["confidence"].mean()), float(columns["correct"].mean())
    return [f"all answers: {forecast_and_rate(mean, rate)}"]
