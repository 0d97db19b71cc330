"""Sampled answers vote: the share of the winner is its confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.words import count_text
from calibrant.data.input import read_column, refuse_other_labels
from calibrant.errors import InvalidOptionError
from calibrant.llm.ledger import normalised


@dataclass(frozen=True, slots=True)
class Votes:
    """One row for each question: the answer that won, and the share of its votes."""

    rows: Any
    """Row of the first answer that voted for the winner."""
    share: Floats
    """Share of the answers that agree with it."""
    size: Any
    """Number of answers."""
    most: int
    """Largest number of answers to a question."""
    sentences: tuple[str, ...]


def vote_shares(question: object, answer: object, *, match: str = "normalised") -> Votes:
    """Turn sampled answers into confidences: k answers a question, the share of the winner.

    Parameters
    ----------
    question : array-like of shape (n,)
        Question of each answer; a pair of model and question if there are several models.
    answer : array-like of shape (n,)
        The answers, or names of their meanings that you bring ("cluster ids").
    match : {"normalised", "exact"}, default="normalised"
        Whether answers are the same if they agree but for case, blanks, marks at their ends and a
        stated confidence, or only letter by letter.

    Returns
    -------
    Votes
        Rows to keep, in the order of the questions' first answers, with `share` as the confidence
        of the answer in each of them. Whether that answer is right is the outcome.

    Notes
    -----
    Known flaw: the winner's share is too high on average, because it is the largest of several
    noisy shares. With k answers and two meanings that are equally likely it is 0.75 for k = 3 and
    0.62 for k = 10 instead of 0.5. A calibrator fitted to other questions with the same k takes
    this out; shares of different k must not be mixed.

    Of several winners the first in the alphabet is taken.

    Examples
    --------
    >>> votes = vote_shares(["a", "a", "a", "b", "b"], ["Paris", "paris.", "Rome", "4", "5"])
    >>> votes.rows, votes.share
    (array([0, 3]), array([0.67, 0.5 ]))
    """
    if match not in {"normalised", "exact"}:
        raise InvalidOptionError("match must be normalised or exact", repr(match))
    refuse_other_labels(question=question, answer=answer)
    questions = read_column(question, "question")
    answers = read_column(answer, "answer", questions.size)
    _, keys = np.unique(questions.astype(str), return_inverse=True)
    texts: Any = answers.astype(object)
    return count_votes(keys[:, np.newaxis], texts, None, exact=match == "exact")


def count_votes(keys: Any, answers: Any, correct: Floats | None, *, exact: bool = False) -> Votes:
    """Count the votes of rows with the same keys."""
    groups: dict[tuple[int, ...], dict[str, list[int]]] = {}
    for row, (key, answer) in enumerate(zip(keys.tolist(), answers.tolist(), strict=True)):
        meaning = str(answer) if exact else normalised("" if answer is None else answer)
        groups.setdefault(tuple(key), {}).setdefault(meaning, []).append(row)
    rows, share, size, ties, torn = [], [], [], 0, 0
    for meanings in groups.values():
        counts = sorted((len(voters) for voters in meanings.values()), reverse=True)
        # Of several winners the first in the alphabet, whatever the order of the rows.
        winner = min(meanings.items(), key=lambda item: (-len(item[1]), item[0]))[1]
        ties += len(counts) > 1 and counts[0] == counts[1]
        if correct is not None:
            torn += np.unique(correct[winner]).size > 1
        lowest = winner if correct is None else sorted(winner, key=lambda row: correct[row])
        rows.append(lowest[0])
        size.append(sum(counts))
        share.append(counts[0] / size[-1])
    counted = f"{count_text(len(rows), 'question')} with {_of_sizes(size)} each"
    tied = f"{count_text(ties, 'tie')}, the first in the alphabet won"
    sentences = [
        f"{counted}: the share of the winning answer is the confidence ({tied})",
        small_sample_sentence(min(size, default=1)),
    ]
    if torn:
        sentences.append(
            f"{count_text(torn, 'question')} whose winning answers were scored differently: the "
            "lowest score counts"
        )
    return Votes(
        np.array(rows), np.array(share), np.array(size), max(size, default=0), tuple(sentences)
    )


def small_sample_sentence(count: int) -> str:
    """Name the bias of few votes."""
    return (
        f"shares of {count_text(count, 'answer')} are too high on average: of two answers that are "
        f"equally likely the winner has {winning_share(count):.2f} instead of 0.50"
    )


def winning_share(count: int) -> float:
    """Return the expected share of the winner of two equally likely answers."""
    chances = (comb(count, k) / 2**count * max(k, count - k) / count for k in range(count + 1))
    return float(sum(chances))


def _of_sizes(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return count_text(low, "answer") if low == high else f"{low} to {high} answers"
