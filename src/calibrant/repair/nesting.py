"""Every row by maps that it did not teach, and by a choice in which it had no say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from calibrant.arrays import Floats, Indices
from calibrant.decisions import Score
from calibrant.repair.base import RecalibrationMap
from calibrant.repair.folds import Units
from calibrant.repair.rule import LEAVE, Trial, decide, trial

Candidates = dict[str, RecalibrationMap]
# The choice is repeated without each of so many blocks of folds, whatever the number of folds.
MOST_BLOCKS = 5
# To repeat the choice, predictions beyond so many are rounded to the means of so many cells.
MOST_CELLS = 2**12


def cross_fitted(units: Units, candidates: Candidates) -> dict[str, Floats]:
    """Recalibrated predictions of every map, each row by a map that has not seen it."""
    held = {name: units.prediction.copy() for name in candidates}
    for fold in units.folds:
        inside = np.flatnonzero(units.fold == fold)
        lesson = units.lesson(units.teaching(fold))
        for name, candidate in candidates.items():
            if name != LEAVE:
                held[name][inside] = candidate.fit(lesson).form_(units.prediction[inside])
    return held


def can_nest(units: Units) -> bool:
    """Whether a choice can be repeated without some of the folds."""
    return len(units.folds) >= (2 if units.forward else 3)


def nested(units: Units, candidates: Candidates, score: Score, held: dict[str, Floats]) -> Floats:
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


def _forward(units: Units, score: Score, held: dict[str, Floats]) -> Iterator[tuple[int, str]]:
    """Choose by what was judged before: those maps have learned from still earlier rows."""
    for fold in units.folds:
        keep = units.teaching(fold) & units.judged
        if keep.any():
            earlier = units.where(keep)
            trials = {name: trial(score, earlier, some[keep]) for name, some in held.items()}
            yield fold, decide(earlier, trials).name


def _without(units: Units, candidates: Candidates, score: Score) -> Iterator[tuple[int, str]]:
    """Choose without each block: maps learn from the rest but one other block, which compares."""
    rough = units.in_cells(MOST_CELLS)
    block: Indices = np.asarray(rough.fold % MOST_BLOCKS)
    blocks = range(int(block.max()) + 1)
    size = rough.outcome.size
    found = {
        one: {name: Trial(np.empty(size), np.zeros(size)) for name in candidates} for one in blocks
    }
    for pair in combinations(blocks, 2):
        inside = [np.flatnonzero(block == one) for one in pair]
        lesson = rough.lesson((block != pair[0]) & (block != pair[1]))
        for name, candidate in candidates.items():
            form = None if name == LEAVE else candidate.fit(lesson).form_
            for one, rows in zip(pair, reversed(inside), strict=True):
                some = rough.where(rows)
                moved = some.prediction if form is None else form(some.prediction)
                found[one][name].put(rows, trial(score, some, moved))
    for one, trials in found.items():
        keep = block != one
        kept = {name: some.where(keep) for name, some in trials.items()}
        yield one, decide(rough.where(keep), kept).name
