"""Models that write: the mass of facts unseen, and the least share of falsehoods."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.hallucination import generative_miscalibration, hallucination_bound, monofact_rate
from oracles.universes import Universe, universe
from promises.core import Promise


def _shares(weights):
    weights = np.asarray(weights, dtype=float)
    return weights / weights.sum()


RANK = np.arange(1.0, 1001)
LAWS = {
    "1000 even facts": _shares(np.ones(1000)),
    "20 000 even facts": _shares(np.ones(20_000)),
    "200 even facts": _shares(np.ones(200)),
    "zipf facts": _shares(1 / RANK),
    "zipf facts of exponent 1/2": _shares(RANK**-0.5),
    "zipf facts of exponent 2": _shares(RANK**-2),
    "geometric facts of ratio 0.99": _shares(0.99**RANK),
    "geometric facts of ratio 0.5": _shares(0.5 ** RANK[:60]),
    "one fact as frequent as 1000 others": _shares(np.append(np.ones(1000), 1000)),
    "100 facts ten times as frequent as 1000": _shares(np.repeat([10, 1], [100, 1000])),
}
SIZES = (60, 1600, 20_000)
MODELS = {"calibrated": Universe.calibrated, "mixed": Universe.mixed}


def missing_mass_is_missed(documents, shape, rng):
    world = universe(rng, documents, 1000, 0, shape)
    rate = monofact_rate(counts=world.seen)
    return not rate.low <= world.unseen_mass <= rate.high


def normal_interval_misses(law, documents, rng):
    seen = rng.multinomial(documents, LAWS[law])
    rate = monofact_rate(counts=seen, method="normal")
    return not rate.low <= LAWS[law][seen == 0].sum() <= rate.high


def normal_end_misses(law, documents, rng):
    """The end of the bound on falsehoods: one-sided, at the level that is left for it."""
    seen = rng.multinomial(documents, LAWS[law])
    rate = monofact_rate(counts=seen, method="normal")
    return LAWS[law][seen == 0].sum() < rate.value - rate.margins(0.05)[0]


def bound_is_broken(model, documents, shape, rng, method="worst-case"):
    world = universe(rng, documents, 1000, 49, shape)
    said = MODELS[model](world)
    bound = hallucination_bound(
        monofact_rate(counts=world.seen, method=method),
        generative_miscalibration(said, world.truth),
        true_statements=1000,
        unseen_statements=int((world.seen == 0).sum()),
    )
    return world.falsehoods(said) < bound.value


def promises():
    for shape in ("zipf", "even"):
        for documents in (50, 1000):
            yield Promise(
                "interval of the missing mass",
                f"{shape} facts, {documents} documents",
                partial(missing_mass_is_missed, documents, shape),
            )
            for model in MODELS:
                yield Promise(
                    "bound on falsehoods",
                    f"{model} model, {shape} facts, {documents} documents",
                    partial(bound_is_broken, model, documents, shape),
                    200,
                )
    for law in LAWS:
        for documents in SIZES:
            yield Promise(
                "normal interval of the missing mass",
                f"{law}, {documents} documents",
                partial(normal_interval_misses, law, documents),
                1000,
            )
            yield Promise(
                "lower end of the missing mass, normal",
                f"{law}, {documents} documents",
                partial(normal_end_misses, law, documents),
                1000,
            )
    for shape in ("zipf", "even"):
        for documents in (50, 1000):
            for model in MODELS:
                yield Promise(
                    "bound on falsehoods, normal",
                    f"{model} model, {shape} facts, {documents} documents",
                    partial(bound_is_broken, model, documents, shape, method="normal"),
                    200,
                )
