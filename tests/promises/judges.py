"""Rates from a judge's scores and few labels of people."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.llm import judged_rate
from promises.core import Promise
from promises.samples import together

JUDGES = {
    "good judge": lambda rng, right: np.clip(
        0.15 + 0.7 * right + rng.normal(0, 0.1, right.size), 0, 1
    ),
    "useless judge": lambda rng, right: rng.random(right.size),
    "judge of 0 and 1, 10 % wrong": lambda rng, right: (
        (right ^ (rng.random(right.size) < 0.1)) * 1.0
    ),
    "constant judge": lambda rng, right: np.full(right.size, 0.8),
}


def rate_is_missed(judge, rate, labels, rng, rest=2000, clusters=0):
    size = labels + rest
    cluster = rng.integers(0, clusters, size) if clusters else None
    drawn = rng.random(size) if cluster is None else together(rng, cluster, 0.3)
    right = drawn < rate
    label = np.where(np.arange(size) < labels, right, np.nan)
    found = judged_rate(label, JUDGES[judge](rng, right), clusters=cluster)
    return bool(found.low > rate or found.high < rate)


def promises():
    promise = "interval of a judged rate"
    for judge in JUDGES:
        for rate, labels in ((0.7, 50), (0.7, 500), (0.98, 100), (0.98, 500), (0.1, 50)):
            yield Promise(
                promise,
                f"{judge}, rate {rate:g}, {labels} labels",
                partial(rate_is_missed, judge, rate, labels),
                400,
            )
    for clusters in (10, 60):
        yield Promise(
            promise,
            f"good judge, rate 0.7, 200 labels in {clusters} clusters",
            partial(rate_is_missed, "good judge", 0.7, 200, clusters=clusters),
            400,
        )
    yield Promise(
        promise,
        "good judge, rate 0.7, 200 labels, 100 further answers",
        partial(rate_is_missed, "good judge", 0.7, 200, rest=100),
        400,
    )
