"""Two models on the same questions, each right or wrong by itself."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import ndtr

from calibrant.groups import audit_groups
from calibrant.inference.comparison import compare_on_units
from calibrant.llm.answers import by_the_others
from promises.core import Promise
from promises.samples import true_error

STATED = np.array([0.6, 0.7, 0.8, 0.9, 0.95])
# Confidences of both models, and the chances behind them.
MODELS = {
    "equal models": ((STATED, STATED), (STATED, STATED)),
    "one is overconfident": ((STATED, STATED - 0.15), (STATED, STATED - 0.02)),
    "one claims too much, one too little": ((STATED, STATED - 0.1), (STATED, STATED + 0.05)),
    "wrong 2 and 3 times in 100": ((STATED, np.full(5, 0.98)), (STATED, np.full(5, 0.97))),
    "one is always certain": ((np.ones(1), np.full(1, 0.97)), (np.full(1, 0.9), np.full(1, 0.95))),
}
QUESTIONS = {"50 questions": (50, 1, 1), "400 questions": (400, 1, 1),
             "60 questions, up to 3 and 5 trials": (60, 3, 5)}  # fmt: skip


def truth(measure, stated, chance):
    if measure == "error_rate":
        return 1 - chance.mean()
    if measure == "brier":
        return float(np.mean(chance * (1 - stated) ** 2 + (1 - chance) * stated**2))
    return true_error(stated, chance)


def difference_is_missed(measure, models, questions, rng):
    count, *most = QUESTIONS[questions]
    shared = rng.standard_normal(count)
    outcomes, predictions, units, errors = [], [], [], []
    for (stated, chance), trials in zip(MODELS[models], most, strict=True):
        unit = np.repeat(np.arange(count), rng.integers(1, trials + 1, count))
        place = rng.integers(0, stated.size, unit.size)
        drawn = ndtr((shared[unit] + rng.standard_normal(unit.size)) / np.sqrt(2))
        outcomes.append(drawn < chance[place])
        predictions.append(stated[place])
        units.append(unit)
        errors.append(truth(measure, stated, chance))
    found = compare_on_units(outcomes, predictions, units, measure=measure, draws=199, rng=rng)
    return not found.low <= errors[1] - errors[0] <= found.high


def difficulty_is_accused(questions, models, rng):
    """Whether a group by the other answers is found to err though chance alone is at work."""
    question = np.repeat(np.arange(questions), models)
    p = rng.choice(STATED, question.size)
    y = rng.random(question.size) < p
    names, _ = by_the_others(question, y * 1)
    found = audit_groups(y, p, {"difficulty": names}, clusters=question, draws=199, rng=rng)
    return any(group.low > 0 for group in found)


def promises():
    for questions, models in ((50, 2), (300, 3), (100, 11)):
        yield Promise(
            "no difficulty is accused by chance",
            f"{questions} questions, {models} models",
            partial(difficulty_is_accused, questions, models),
            400,
        )
    for measure, runs in (("error_rate", 1000), ("brier", 1000), ("smooth_calibration_error", 200)):
        for models in MODELS:
            for questions in QUESTIONS:
                yield Promise(
                    f"difference of two models' {measure.replace('_', ' ')}",
                    f"{models}, {questions}",
                    partial(difference_is_missed, measure, models, questions),
                    runs,
                )
