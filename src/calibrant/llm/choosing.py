"""Which confidence and which score count, where a log has several; each choice in a sentence."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import real
from calibrant._base.words import count_text
from calibrant.data.labels import MISSING_WORDS, shown
from calibrant.errors import CalibrantError, InvalidForecastsError, InvalidOptionError
from calibrant.llm.ledger import LABELS, Ledger
from calibrant.llm.votes import count_votes, small_sample_sentence

# In the order in which they are taken.
ORIGINS = {
    "field": "stated in a field",
    "text": "stated in the text of the answer",
    "options": "softmax over the log-probabilities of the options",
    "options_per_letter": "softmax over the log-probabilities of the options per letter",
    "tokens": "probability of the answer's tokens",
    "votes": "share of sampled answers that agree",
}
# Scores that judge the option with the largest log-probability, as it is or per letter.
PER_LETTER = "options_per_letter"
SCORE_OF = {"options": "acc,", PER_LETTER: "acc_norm,"}


@dataclass(slots=True)
class Choices:
    """Confidence and score of each row, NaN where there is none."""

    confidence: Floats
    correct: Floats
    origin: Any
    sentences: list[str] = field(default_factory=list)
    rows: Any = None
    """Rows of the ledger that these are, where votes left one a question."""
    pooled: dict[str, Any] = field(default_factory=dict)
    """Columns over which answers voted, and the rows that stand for all of their voters."""


def choose(
    ledger: Ledger,
    origin: str | None,
    scorer: str | None,
    pass_mark: float | None,
    scale: str | None,
) -> Choices:
    """Choose by task: the first origin of a confidence, the first scorer."""
    if origin is not None and origin not in ORIGINS:
        raise InvalidOptionError(f"@origin must be one of {', '.join(ORIGINS)}", repr(origin))
    if pass_mark is not None and not math.isfinite(real("pass_mark", pass_mark)):
        raise InvalidOptionError("@pass_mark must be a finite number", str(pass_mark))
    task = np.frombuffer(ledger.task.codes, dtype=np.int64)
    found = _Choosing(ledger, origin, scorer)
    for code in range(len(ledger.task.names)):
        found.choose(task == code)
    if scorer is not None and not found.judged:
        listed = ", ".join(map(repr, found.scored)) or "none"
        raise InvalidOptionError("@scorer must be one of the log", repr(scorer), f"it has {listed}")
    left_aside = found.left_aside
    sentences = [_score_sentence(ledger, found.judged, found.unjudged)]
    if left_aside.any():
        counted = count_text(int(left_aside.sum()), "row")
        sentences.append(f"{counted} of other scorers alone left aside")
    unknown = _unknown_labels(ledger, found.judged)
    correct, marks = _right_or_wrong(found.correct, pass_mark, unknown)
    found.origin[left_aside] = None
    chosen = Choices(found.confidence, correct, found.origin, [*sentences, *marks])
    _settle(ledger, chosen, found.used, scale, found.owner)
    listed = ", ".join(f"{ORIGINS[name]} ({count})" for name, count in found.used.items())
    chosen.sentences.insert(1, f"confidence: {listed}" + _also(found.unused, "origin"))
    chosen.sentences += [
        f"confidence from the metadata of scorer {by!r}, which is not the one that says what was "
        f"right ({count})"
        for by, count in found.owned.items()
    ]
    if left_aside.any():
        _keep(chosen, np.flatnonzero(~left_aside))
    if "votes" in found.used:
        _vote(ledger, chosen, requested=origin == "votes")
    return chosen


class _Choosing:
    """What is chosen task by task, and what is counted on the way."""

    def __init__(self, ledger: Ledger, wanted: str | None, scorer: str | None) -> None:
        size = ledger.size
        self._ledger, self._wanted, self._scorer = ledger, wanted, scorer
        self._present = _present(ledger)
        self.scored = {name: numbers.column(size) for name, numbers in ledger.scores.items()}
        self.confidence, self.correct = np.full(size, np.nan), np.full(size, np.nan)
        self.origin = np.full(size, None, dtype=object)
        self.owner = np.full(size, -1)
        self.left_aside = np.zeros(size, dtype=bool)
        self.used: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self.owned: Counter[str] = Counter()
        self.unused: dict[str, None] = {}
        self.unjudged: dict[str, None] = {}

    def choose(self, rows: Any) -> None:
        """Choose for the rows of a task."""
        offered, scorers = (
            [name for name, values in there.items() if not np.isnan(values[rows]).all()]
            for there in (self._present, self.scored)
        )
        taken = self._wanted or _origin_of(offered, scorers, self._scorer)
        name = _scorer_of(scorers, self._scorer, SCORE_OF.get(taken))
        _refuse_another_option(taken, name)
        self.unused |= dict.fromkeys(other for other in offered if other != taken)
        if taken in offered:
            self.confidence[rows] = self._present[taken][rows]
            self._own(rows, name, taken)
        self.origin[rows] = taken
        if name is not None:
            self._score(rows, name, [other for other in scorers if other != name])
        self.used[taken] += int((rows & ~self.left_aside).sum())

    def _own(self, rows: Any, scorer: str | None, origin: str) -> None:
        """Take the statements of one owner, and note one that is another scorer."""
        if origin == "field":
            by = _owner_of(self._ledger, rows, scorer)
            self.owner[rows] = list(self._ledger.stated).index(by)
            if by is not None and not _owns(by, scorer):
                self.owned[by] += int(rows.sum())

    def _score(self, rows: Any, name: str, others: list[str]) -> None:
        self.correct[rows] = self.scored[name][rows]
        self.judged[name] += int((~np.isnan(self.correct[rows])).sum())
        self.unjudged |= dict.fromkeys(others)
        if others:  # lines of other filters repeat the questions
            other_scores = [self.scored[other][rows] for other in others]
            self.left_aside[rows] = np.isnan(self.correct[rows]) & ~np.isnan(other_scores).all(
                axis=0
            )


def _present(ledger: Ledger) -> dict[str, Floats]:
    """Confidences by origin; those that are stated before their scale is settled."""
    size = ledger.size
    field = np.full(size, np.nan)
    for statements in ledger.stated.values():
        field = np.where(np.isnan(field), statements.column(size), field)
    found = {"field": field, "text": ledger.text.column(size)}
    numbers = (ledger.options, ledger.normalised, ledger.tokens, ledger.agreeing)
    for name, column in zip(list(ORIGINS)[2:], numbers, strict=True):
        found[name] = column.column(size)
    return found


def _owner_of(ledger: Ledger, rows: Any, scorer: str | None) -> str | None:
    """Say whose confidence counts: the scorer's own, that of the answer, or another scorer's."""
    owners = sorted(ledger.stated, key=lambda by: (not _owns(by, scorer), by is not None))
    there = (by for by in owners if not np.isnan(ledger.stated[by].column(ledger.size)[rows]).all())
    return next(there, owners[0])


def _owns(owner: str | None, scorer: str | None) -> bool:
    """Whether a score is one of a scorer."""
    return owner is not None and scorer is not None and f"{scorer}.".startswith(f"{owner}.")


def _settle(
    ledger: Ledger, chosen: Choices, used: Counter[str], scale: str | None, owner: Any
) -> None:
    """Decide what bare numbers mean among the statements that count, and report it."""
    sets = [(statements, owner == index) for index, statements in enumerate(ledger.stated.values())]
    if "text" in used:
        sets.append((ledger.text, chosen.origin == "text"))
    chosen.confidence[owner >= 0] = np.nan  # the values of one owner alone count
    for statements, counts in sets:
        counted = counts[statements.rows] & (chosen.origin[statements.rows] != None)  # noqa: E711  # of each
        if not counted.any():
            continue
        stated = statements.taken.settled(scale, counted)
        chosen.confidence[statements.rows[counted]] = stated.values
        chosen.sentences += stated.sentences
    if "votes" in used and ledger.sampled:
        fewest = min(ledger.sampled)
        chosen.sentences.append(small_sample_sentence(fewest))


def _origin_of(offered: list[str], scorers: list[str], wanted: str | None) -> str:
    """Return the first origin there is; of options, the one whose winner is scored."""
    taken = next(iter(offered), "votes")
    if taken not in SCORE_OF:
        return taken
    names = scorers if wanted is None else [wanted]
    fitting = [
        name
        for name, prefix in SCORE_OF.items()
        if name in offered and any(scorer.startswith(prefix) for scorer in names)
    ]
    return next(iter(fitting), taken)


def _refuse_another_option(origin: str, scorer: str | None) -> None:
    """Refuse the confidence in one option beside the score of another."""
    if origin not in SCORE_OF or scorer is None or not scorer.startswith(("acc,", "acc_")):
        return
    if not scorer.startswith(SCORE_OF[origin]):
        raise InvalidOptionError(
            "confidence and score must be of the same option",
            f"origin {origin!r} with scorer {scorer!r}",
            "origin 'options' goes with 'acc', 'options_per_letter' with 'acc_norm'",
        )


def _scorer_of(present: list[str], wanted: str | None, prefix: str | None) -> str | None:
    if wanted is not None:
        return wanted if wanted in present else None
    fitting = [name for name in present if prefix is not None and name.startswith(prefix)]
    return next(iter(fitting or present), None)


def _score_sentence(ledger: Ledger, judged: Counter[str], unjudged: dict[str, None]) -> str:
    if not judged:
        return "no answer was scored"
    text = f"right or wrong by {', '.join(f'{n!r} ({c})' for n, c in judged.items())}"
    labels = _labels(ledger, judged)
    if labels:
        listed = (f"{label!r} = {_meaning(label)} ({n})" for label, n in sorted(labels.items()))
        text += f", {', '.join(listed)}"
    return text + _also(unjudged, "scorer")


def _labels(ledger: Ledger, judged: Counter[str]) -> Counter[str]:
    """Words that the scorers gave, and how often."""
    labels: Counter[str] = Counter()
    for (scorer, label), count in ledger.labels.items():
        if scorer in judged:
            labels[label] += count
    return labels


def _unknown_labels(ledger: Ledger, judged: Counter[str]) -> list[str]:
    """Words of the scorers that mean neither right, nor wrong, nor missing."""
    labels = sorted(_labels(ledger, judged))
    return [label for label in labels if label.casefold() not in LABELS.keys() | MISSING_WORDS]


def _meaning(label: str) -> str:
    value = LABELS.get(label.casefold())
    return {None: "missing", 1.0: "right", 0.0: "wrong"}.get(value, f"{value}")


def _also(unused: dict[str, None], argument: str) -> str:
    listed = ", ".join(f"{argument} {name!r}" for name in unused)
    return f"; also there: {listed}" if listed else ""


def _right_or_wrong(
    score: Floats, pass_mark: float | None, unknown: list[str]
) -> tuple[Floats, list[str]]:
    """Scores as 0 and 1; partial credit needs a mark.

    Where all known words mean one outcome, unknown ones are the other: to leave them out would call
    every answer right, or every one wrong.
    """
    known = ~np.isnan(score)
    if unknown and known.any() and np.ptp(score[known]) == 0:
        raise InvalidForecastsError(
            "scores must say which answers are right and which are wrong",
            f"{shown(unknown)} beside {count_text(int(known.sum()), 'score')} of "
            f"{score[known][0]:g}",
            "write them as true and false, or 1 and 0; leave out those that are not known",
        )
    partial = known & (score != 0) & (score != 1)
    if not partial.any() and pass_mark is None:
        return score, []
    if pass_mark is None:
        example = ", ".join(f"{value:g}" for value in np.unique(score[partial])[:3])
        raise InvalidForecastsError(
            "scores must be 0 or 1, or come with @pass_mark",
            f"{partial.sum()} of {known.sum()} between or beyond, such as {example}",
            "@pass_mark is the least score that counts as right",
        )
    passed = np.where(known, (score >= pass_mark).astype(np.float64), np.nan)
    sentence = f"scores of {pass_mark:g} or more counted as right ({int(np.nansum(passed))})"
    return passed, [sentence]


def _keep(chosen: Choices, rows: Any) -> None:
    chosen.confidence, chosen.correct = chosen.confidence[rows], chosen.correct[rows]
    chosen.rows = rows


def _vote(ledger: Ledger, chosen: Choices, *, requested: bool) -> None:
    """Let trials vote where nothing else tells a confidence: one row a question is left.

    Answers without an id of the question belong to no question, and a single answer is no vote:
    they have no confidence.
    """
    rows = np.arange(ledger.size) if chosen.rows is None else chosen.rows
    unstated = (chosen.origin[rows] == "votes") & np.isnan(chosen.confidence)
    if not unstated.any():
        return
    labels = (ledger.model, ledger.task, ledger.question, ledger.prompt)
    keys = np.stack([column.numbers(ledger.size)[rows] for column in labels], axis=1)
    named = keys[:, 2] >= 0
    voting = unstated & named
    file = ledger.file.numbers(ledger.size)[rows][:, np.newaxis]
    within = np.concatenate([keys, file], axis=1)
    # Files that hold several answers to a question are runs; others may be a trial each.
    apart = bool(_repeated(within[voting]).any())
    keys = within if apart else keys
    voting[voting] = _repeated(keys[voting])
    if not voting.any():
        raise _no_votes(ledger, named=bool(named[unstated].any()), requested=requested)
    answer = ledger.answer.column(ledger.size)[rows][voting]
    voted = count_votes(keys[voting], answer, chosen.correct[voting])
    confidence, kept = chosen.confidence.copy(), ~voting
    indices = np.flatnonzero(voting)[voted.rows]
    confidence[indices], kept[indices] = voted.share, True
    chosen.confidence, chosen.correct = confidence[kept], chosen.correct[kept]
    chosen.rows = rows[kept]
    pooled = ["trial"] if apart else ["trial", "file"]
    chosen.pooled = dict.fromkeys(pooled, np.isin(np.flatnonzero(kept), indices))
    chosen.sentences += voted.sentences


def _repeated(keys: Any) -> Any:
    """Which rows share their keys with another."""
    _, index, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return count[index.reshape(-1)] > 1


def _no_votes(ledger: Ledger, *, named: bool, requested: bool) -> CalibrantError:
    """Say why there is no confidence: nothing states one, and nobody can vote."""
    examples = (statements.taken.examples_text() for statements in ledger.stated.values())
    unread = ", ".join(filter(None, examples))
    if unread and not requested:
        return InvalidForecastsError("confidences must be numbers or statements", unread)
    lacking = "one answer a question" if named else "no id of the question"
    if requested:
        what, got = "votes need questions that were answered more than once", lacking
    else:
        what = "logs must hold a confidence"
        got = f"no field, no statement, no probabilities, and {lacking}"
        got += "" if named else ", without which answers cannot vote"
    field = "confidence" if named and not requested else "question"
    hint = f"@fields={{{field!r}: ...}} names the field of plain lines"
    return InvalidForecastsError(what, got, hint)
