"""Few events: observed over expected, scores, and who is named better."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

import calibrant as cal
from calibrant.decisions import score_title
from calibrant.inference.ratio import find_ratio
from promises.core import Promise
from promises.samples import FAULTS, rare, sample


def ratio_misses(events, beside, rng):
    found = find_ratio(sample(rng, rare(rng, 2000, events / 2000), beside, rho=0.5).evidence, 0.95)
    return not found.low <= 1 <= found.high


def common_ratio_misses(foreseen, rng):
    p = rng.random(2000)
    drawn = sample(rng, p, fault="right" if foreseen else "coins")
    found = find_ratio(drawn.evidence, 0.95)
    return not found.low <= 1 <= found.high


def score_misses(score, events, fault, rng):
    p = rare(rng, 500, forecast_mean(events, fault))
    found = cal.confidence_interval(rng.random(500) < FAULTS[fault](p), p, measure=score)
    return not found.low <= true_score(score, events, fault) <= found.high


def forecast_mean(events, fault):
    return events / 500 / (2 if fault == "half the truth" else 1)


@cache
def true_score(score, events, fault):
    p = rare(np.random.default_rng(0), 10**6, forecast_mean(events, fault))
    chance = FAULTS[fault](p)
    if_not, if_so = cal.decisions.as_score(score).losses(p)
    return float(np.mean(chance * if_so + (1 - chance) * if_not))


def the_wrong_one_is_named(score, n, rng):
    chance = rare(rng, n, 0.002)
    return cal.compare(rng.random(n) < chance, chance, chance / 5, measure=score).high < 0


def promises():
    for beside in ("plain", "weights", "clusters"):
        for events in (2, 5, 10, 20):
            yield Promise(
                "observed over expected",
                f"{events} events, {beside}",
                partial(ratio_misses, events, beside),
                1000,
            )
    for foreseen in (True, False):
        yield Promise(
            "observed over expected",
            f"common, {'foreseen' if foreseen else 'not foreseen'}",
            partial(common_ratio_misses, foreseen),
            1000,
        )
    for score in ("brier", "log"):
        for events in (1, 2, 5, 10, 20):
            for fault in ("right", "half the truth"):
                yield Promise(
                    f"interval of the {score_title(score)}",
                    f"events expected: {events}, forecasts {fault}",
                    partial(score_misses, score, events, fault),
                )
    for score in ("brier", "log"):
        for n in (300, 1000):
            yield Promise(
                "the wrong forecaster is not named better",
                f"{score}, truth and a fifth of it, base rate 0.2 %, {n} rows",
                partial(the_wrong_one_is_named, score, n),
            )
