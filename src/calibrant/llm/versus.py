"""Two models on the same questions: which is right more often, better calibrated, better scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._base.arrays import Flags
from calibrant._base.notebook import brief, card
from calibrant._base.options import as_generator
from calibrant._base.words import agreeing, count_text, page, percent_text, visible
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inference import ERROR_RATE, AnyMeasure, Comparison, compare_on_units
from calibrant.llm.answers import Answers
from calibrant.llm.choosing import ORIGINS

# What is compared unless other measures are named: right or wrong, then calibration, then both.
COMPARED = (ERROR_RATE, "smooth_calibration_error", "brier")
SMOOTH = "smooth_calibration_error"


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Two models on the questions that both answered; `print` it to read it."""

    first: str
    second: str
    comparisons: tuple[Comparison, ...]
    """One for each measure. All are errors: less is better."""
    questions: int
    """How many questions both answered."""
    notes: tuple[str, ...]
    """What was left out, and what else differs between the two."""

    def __repr__(self) -> str:
        return brief(self)

    def __str__(self) -> str:
        return page((*self.sentences, *(f"note: {note}" for note in self.notes)))

    def _repr_html_(self) -> str:
        return card(" ".join(self.sentences))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each comparison in plain words."""
        return tuple(self._sentence(found) for found in self.comparisons)

    def _sentence(self, found: Comparison) -> str:
        if found.identical:
            return found.sentence
        first, second = visible(self.first), visible(self.second)
        name = found.measure.replace("_", " ").replace("brier", "Brier")
        better = {ERROR_RATE: "is right more often", SMOOTH: "is better calibrated"}.get(
            found.measure, f"has a smaller {name}"
        )
        if found.high < 0:
            result = f"{second} {better} than {first}"
        elif found.low > 0:
            result = f"{first} {better} than {second}"
        elif found.margin is not None and found.equivalent:
            result = f"{first} and {second} differ by less than {found.margin:g}"
        else:
            verb = agreeing(self.questions, "does", "do")
            result = f"{count_text(self.questions, 'question')} {verb} not tell which {better}"
        sure = f"with {percent_text(found.confidence)} confidence"
        if found.measure == ERROR_RATE:
            right = [percent_text(1 - error) for error in (found.first, found.second)]
            ends = f"between {-100 * found.high:+.1f} and {-100 * found.low:+.1f} points {sure}"
            points = f"{-100 * found.difference:+.1f} points"
            return (
                f"{result}: {first} {right[0]}, {second} {right[1]}, difference {points} ({ends})."
            )
        values = f"{name} {found.first:.4f} of {first} and {found.second:.4f} of {second}"
        ends = f"between {found.low:+.4f} and {found.high:+.4f} {sure}"
        return f"{result}: {values}, difference {found.difference:+.4f} ({ends})."


def compare_models(
    answers: Answers,
    first: str | None = None,
    second: str | None = None,
    *,
    between: str = "model",
    measures: Sequence[AnyMeasure] = COMPARED,
    margin: float | None = None,
    confidence: float = 0.95,
    draws: int = 499,
    rng: np.random.Generator | int | None = 0,
) -> ModelComparison:
    """Compare two models on the questions that both answered.

    Each model is right or wrong by itself, so that this is not the comparison of two forecasts of
    one outcome (`calibrant.compare`).

    Parameters
    ----------
    answers : Answers
        What `read` found.
    first, second : str, optional
        Names of the models; needed where there are more than two. Differences are those of the
        second less those of the first.
    between : str, default="model"
        Column that tells the two apart: "model", "prompt", "file", "trial".
    measures : sequence of str or callable
        "error_rate" (the share of wrong answers), scores such as "brier", and measures that have a
        confidence interval.
    margin : float, optional
        Difference that does not matter.
    confidence : float, default=0.95
        Confidence of each interval by itself.
    draws : int, default=499
        Number of random multipliers, for measures of calibration.
    rng : numpy.random.Generator or int, default=0
        Source of randomness.

    Returns
    -------
    ModelComparison
        With a sentence for each measure.

    Notes
    -----
    The questions are taken for a random sample of those to come; each counts once for each model,
    however often it was answered. Intervals are by question: what one question does to both models
    is their common luck. Known flaw: answers without a confidence or a score are left out, and
    with them their questions.

    Examples
    --------
    >>> import json, tempfile
    >>> from calibrant.llm import read
    >>> lines = [
    ...     {"id": n, "model": model, "confidence": 0.9, "correct": n % 10 < right}
    ...     for n in range(300)
    ...     for model, right in (("small", 6), ("large", 9))
    ... ]
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     _ = file.write("".join(json.dumps(line) + chr(10) for line in lines))
    ...     file.flush()
    ...     found = compare_models(read(file.name), "small", "large")
    >>> print(found.sentences[0])
    large is right more often than small: small 60 %, large 90 %, difference +30.0 points (between
    +24.6 and +35.4 points with 95 % confidence).
    """
    names = _names(answers, first, second, between)
    column = answers.columns[between]
    masks = [np.asarray(column == name) for name in names]
    question = answers.columns["question"]
    shared = np.intersect1d(*(question[mask].astype(str) for mask in masks))
    if shared.size < 2:
        raise InvalidForecastsError(
            f"{names[0]} and {names[1]} must have answered the same questions",
            f"{count_text(int(shared.size), 'question')} of both",
            "questions are known by their ids: name the field, @fields={'question': ...}",
        )
    both = np.isin(question.astype(str), shared)
    kept = [mask & both for mask in masks]
    rng = as_generator(rng)
    found = tuple(
        compare_on_units(
            _pair(answers.correct, kept),
            _pair(answers.confidence, kept),
            _pair(question.astype(str), kept),
            measure=measure,
            margin=margin,
            confidence=confidence,
            draws=draws,
            rng=rng,
        )
        for measure in measures
    )
    notes = _notes(answers, names, masks, kept, int(shared.size))
    if len(found) > 1:
        notes.append(f"each statement by itself holds with {percent_text(confidence)} confidence")
    return ModelComparison(*names, found, int(shared.size), tuple(notes))


def _names(
    answers: Answers, first: str | None, second: str | None, between: str
) -> tuple[str, str]:
    if between not in answers.columns or between in {"confidence", "correct", "question"}:
        raise InvalidOptionError(
            "@between must name a column that tells two models apart",
            repr(between),
            f"there are {', '.join(name for name in answers.columns)}",
        )
    there = answers.names(between)
    listed = ", ".join(map(repr, there)) or "none is named"
    if first is None and second is None and len(there) == 2:
        return there[0], there[1]
    if first is None or second is None or first == second:
        raise InvalidOptionError(
            f"a comparison needs two names of {between}",
            listed,
            "name the first and the second of them"
            if len(there) > 1
            else "@between names another column that tells them apart",
        )
    for name in (first, second):
        if name not in there:
            raise InvalidOptionError(f"answers must have this {between}", repr(name), listed)
    return first, second


def _pair(values: Any, masks: list[Flags]) -> tuple[Any, Any]:
    return values[masks[0]], values[masks[1]]


def _notes(
    answers: Answers, names: tuple[str, str], masks: list[Flags], kept: list[Flags], shared: int
) -> list[str]:
    """Say what was paired, what has no partner, and what else differs."""
    notes = [f"{count_text(shared, 'question')} answered by both"]
    for name, mask, paired in zip(names, masks, kept, strict=True):
        alone = int((mask & ~paired).sum())
        if alone:
            notes[0] += f"; {count_text(alone, 'answer')} of {visible(name)} without a partner"
            notes[0] += " left out"
    questions = [answers.columns["question"][one].tolist() for one in kept]
    if any(len(set(part)) < len(part) for part in questions):
        notes.append("questions that were answered more than once count once for each")
    origins = [sorted(set(answers.columns["origin"][one].tolist())) for one in kept]
    if origins[0] != origins[1]:
        kinds = [" and ".join(ORIGINS[name] for name in part) for part in origins]
        first, second = map(visible, names)
        notes.append(f"confidences differ in kind: {first} {kinds[0]}, {second} {kinds[1]}")
    return notes
