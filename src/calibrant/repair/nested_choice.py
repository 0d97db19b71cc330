"""Every row by maps that it did not teach, and by a choice in which it had no say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from calibrant.arrays import Flags, Floats, Indices
from calibrant.decisions import Score
from calibrant.repair.choice_rule import LEAVE, Decision, decide, row_luck
from calibrant.repair.folds import Units
from calibrant.repair.row_losses import losses
from calibrant.stages import reached


class Fitted(Protocol):
    """A map that was fitted."""

    @property
    def form_(self) -> Callable[[Floats], Floats]:
        """What forecasts become."""
        ...


class Learner(Protocol):
    """A map that can be fitted to what `Units.lesson` returns."""

    def learn(self, given: Any) -> Fitted:
        """Fit to forecasts that were read."""
        ...


Candidates = Mapping[str, Learner]
# Shares of the work that are done when maps are fitted, and when the choice is repeated.
FITTED, NESTED = 0.5, 0.6
# The choice is repeated without each of so many blocks of folds, whatever the number of folds.
MOST_BLOCKS = 5
# To repeat the choice, predictions beyond so many are rounded to the means of so many cells.
MOST_CELLS = 2**10
# Maps that are compared learn from so many cells where there are more predictions; they are judged
# on all, and the map that is returned learns from all.
MOST_LEARNED = 2**14


def cross_fitted(units: Units, candidates: Candidates) -> dict[str, Floats]:
    """Recalibrated predictions of every map, each row by a map that has not seen it."""
    held = {name: units.prediction.copy() for name in candidates}
    rough = units.in_cells(MOST_LEARNED)
    for fold in units.folds:
        inside = np.flatnonzero(units.fold == fold)
        lesson = rough.lesson(rough.teaching(fold))
        for name, candidate in candidates.items():
            if name != LEAVE:
                held[name][inside] = candidate.learn(lesson).form_(units.prediction[inside])
        reached(FITTED * (fold + 1) / len(units.folds))
    return held


def can_nest(units: Units) -> bool:
    """Whether a choice can be repeated without some of the folds."""
    return len(units.folds) >= (2 if units.forward else 3)


def nested(
    units: Units, candidates: Candidates, score: Score | None, held: dict[str, Floats]
) -> Floats:
    """Predictions of the map that other rows chose, fitted to rows of other folds.

    The rows that judge a choice have not made it: the rule is applied again without each block of
    folds, to maps that learned neither from the block nor from the rows that compare them.
    """
    repaired = units.prediction.copy()
    block = np.asarray(units.fold % MOST_BLOCKS)
    choices = _forward(units, score, held) if units.forward else _without(units, candidates, score)
    for number, name in choices:
        inside = (units.fold if units.forward else block) == number
        repaired[inside] = held[name][inside]
    return repaired


def _forward(
    units: Units, score: Score | None, held: dict[str, Floats]
) -> Iterator[tuple[int, str]]:
    """Choose by what was judged before: those maps have learned from still earlier rows."""
    for fold in units.folds:
        keep = units.teaching(fold) & units.judged
        if keep.any():
            yield fold, chosen_by(units, score, held, keep).name


def chosen_by(
    units: Units,
    score: Score | None,
    held: dict[str, Floats],
    keep: Flags,
    confidence: float = 0.95,
) -> Decision:
    """Apply the rule to some of the rows, each repaired by maps that have not seen it."""
    some = units.where(keep)
    lost = {name: losses(score, some, moved[keep]) for name, moved in held.items()}

    def luck(name: str) -> Floats:
        assert score is not None  # noqa: S101  # asked for probabilities only
        return row_luck(score, some.prediction, held[name][keep])

    return decide(some, lost, luck, confidence, logarithmic=_is_log(score))


def _is_log(score: Score | None) -> bool:
    return score is not None and score.name == "log"


def _without(
    units: Units, candidates: Candidates, score: Score | None
) -> Iterator[tuple[int, str]]:
    """Choose without each block: maps learn from the rest but one other block, which compares."""
    rough = units.in_cells(MOST_CELLS)
    block: Indices = np.asarray(rough.fold % MOST_BLOCKS)
    blocks = range(int(block.max()) + 1)
    size = rough.outcome.size
    lost = {one: {name: np.zeros(size) for name in candidates} for one in blocks}
    luck = {one: {name: np.zeros((size, 2)) for name in candidates} for one in blocks}
    pairs = list(combinations(blocks, 2))
    for number, pair in enumerate(pairs):
        reached(NESTED + (1 - NESTED) * number / len(pairs))
        inside = [np.flatnonzero(block == one) for one in pair]
        lesson = rough.lesson((block != pair[0]) & (block != pair[1]))
        for name, candidate in candidates.items():
            form = None if name == LEAVE else candidate.learn(lesson).form_
            for one, rows in zip(pair, reversed(inside), strict=True):
                some = rough.where(rows)
                moved = some.prediction if form is None else form(some.prediction)
                lost[one][name][rows] = losses(score, some, moved)
                if score is not None:
                    luck[one][name][rows] = row_luck(score, some.prediction, moved)
    for one in blocks:
        keep = block != one
        kept = {name: values[keep] for name, values in lost[one].items()}
        lucky = {name: values[keep] for name, values in luck[one].items()}
        some = rough.where(keep)
        yield one, decide(some, kept, lucky.__getitem__, logarithmic=_is_log(score)).name
