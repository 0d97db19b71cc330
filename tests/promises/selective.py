"""Thresholds that keep an error within a limit, and the area under the ROC curve."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import ndtr

import calibrant as cal
from promises.core import Promise

# Scores fall on a grid; the error of each, and its share of the rows, make the truth known.
GRID = np.arange(1, 201) / 200
ERRORS = {
    "a right answer is as likely as said": 1 - GRID,
    "the limit itself everywhere": np.full(GRID.size, 0.0501),
    "the surest tenth is wrong half of the time": np.where(GRID > 0.9, 0.5, 0.02),
    "errors come in waves about the limit": 0.05 + 0.03 * np.sin(12 * np.pi * GRID),
    "beyond the limit from the middle on": np.where(GRID < 0.5, 0.12, 0.0401),
    "twice the limit": np.full(GRID.size, 0.1),
}
FEW = np.array([0.55, 0.65, 0.75, 0.85, 0.95])


def error_above(score, error, share):
    """Error among rows with this score and above, for every score."""
    mass, wrong = np.cumsum(share[::-1]), np.cumsum((share * error)[::-1])
    return dict(zip(score[::-1].tolist(), wrong / mass, strict=True))


def threshold_is_beyond(n, kind, levels, rng):
    """Whether the error at the certified threshold is beyond the limit in the population."""
    score = GRID if levels == "many" else FEW
    error = ERRORS[kind] if levels == "many" else np.interp(FEW, GRID, ERRORS[kind])
    share = np.full(score.size, 1 / score.size)
    place = rng.integers(0, score.size, n)
    right = rng.random(n) >= error[place]
    found = cal.certified_threshold(right, score[place])
    if found.threshold is None:
        return False
    return error_above(score, error, share)[found.threshold] > found.risk


def some_group_is_beyond(n, count, rng):
    """Whether the threshold of all rows or of any group is beyond the limit."""
    group, place = rng.integers(0, count, n), rng.integers(0, GRID.size, n)
    error = np.where(GRID < 0.5, 0.12, 0.0401)
    right = rng.random(n) >= error[place]
    found = cal.certified_threshold(right, GRID[place], groups=group)
    above = error_above(GRID, error, np.full(GRID.size, 1 / GRID.size))
    given = [found.threshold, *(one.threshold for one in found.groups.values())]
    return any(t is not None and above[t] > found.risk for t in given)


def clustered_threshold_is_beyond(questions, kind, rng):
    """Whether the error of one answer a question is beyond the limit; hard ones have most answers.

    All answers to a question are right or wrong by the same luck.
    """
    hard = rng.random(questions) < 0.5
    question = np.repeat(np.arange(questions), np.where(hard, 5, 2))
    place = rng.integers(0, GRID.size, question.size)
    factor = np.array([0.5, 1.5])  # of easy and of hard questions
    error = ERRORS[kind]
    wrong = rng.random(questions)[question] < error[place] * factor[hard[question] * 1]
    found = cal.certified_threshold(~wrong, GRID[place], clusters=question, rng=rng)
    above = error_above(GRID, error, np.full(GRID.size, 1 / GRID.size))
    return found.threshold is not None and above[found.threshold] > found.risk


def area_misses(events, others, apart, beside, rng):
    """Whether the interval misses the area of two normal scores that lie so far apart."""
    y = np.repeat([1, 0], [events, others])
    noise = rng.standard_normal(y.size)
    options = {}
    if beside == "clusters":
        cluster = rng.integers(0, max(2, y.size // 10), y.size)
        noise = 0.8 * rng.standard_normal(y.size)[cluster] + 0.6 * noise
        options = {"clusters": cluster}
    if beside == "weights":
        options = {"sample_weight": rng.lognormal(0, 1, y.size)}
    score = noise + apart * y
    if beside == "ties":
        score = score.round()
    found = cal.auc(y, ndtr(score / 3), **options)
    area = ndtr(apart / np.sqrt(2))
    if beside == "ties":
        area = rounded_area(apart)
    return not found.low - 1e-12 <= area <= found.high + 1e-12


def rounded_area(apart):
    """Area of normal scores that are rounded to whole numbers."""
    at = np.arange(-12, 13)
    one, zero = (np.diff(ndtr(np.append(at - 0.5, 12.5) - shift)) for shift in (apart, 0.0))
    below = np.cumsum(zero) - zero
    return float(one @ (below + zero / 2))


def promises():
    for kind in ERRORS:
        for n, levels in ((100, "many"), (2000, "many"), (2000, "five")):
            yield Promise(
                "a certified threshold keeps the error within 5 %",
                f"{n} rows, {levels} scores, {kind}",
                partial(threshold_is_beyond, n, kind, levels),
                1000,
            )
    for kind in list(ERRORS)[:5]:
        for questions in (100, 2000):
            yield Promise(
                "a certified threshold of questions with 2 to 5 answers",
                f"{questions} questions, {kind}",
                partial(clustered_threshold_is_beyond, questions, kind),
                1000,
            )
    for n, count in ((2000, 4), (10_000, 20)):
        yield Promise(
            "certified thresholds of all groups at once",
            f"{n} rows, {count} groups",
            partial(some_group_is_beyond, n, count),
        )
    for events, others, apart, beside in (
        (2, 100, 1.0, "plain"),
        (5, 100, 2.0, "plain"),
        (10, 490, 1.0, "plain"),
        (20, 30, 0.0, "plain"),
        (20, 30, 2.5, "plain"),
        (200, 800, 1.0, "plain"),
        (60, 140, 1.0, "ties"),
        (60, 140, 1.0, "weights"),
        (200, 300, 1.0, "clusters"),
    ):
        yield Promise(
            "interval of the area under the ROC curve",
            f"{events} events and {others} others, {apart:g} apart, {beside}",
            partial(area_misses, events, others, apart, beside),
        )
