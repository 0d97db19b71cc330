"""Models that write: the mass of facts unseen, and the least share of falsehoods."""

from __future__ import annotations

from functools import partial

from calibrant.hallucination import generative_miscalibration, hallucination_bound, monofact_rate
from oracles.universes import Universe, universe
from promises.core import Promise

MODELS = {"calibrated": Universe.calibrated, "mixed": Universe.mixed}


def missing_mass_is_missed(documents, shape, rng):
    world = universe(rng, documents, 1000, 0, shape)
    rate = monofact_rate(counts=world.seen)
    return not rate.low <= world.unseen_mass <= rate.high


def bound_is_broken(model, documents, shape, rng):
    world = universe(rng, documents, 1000, 49, shape)
    said = MODELS[model](world)
    bound = hallucination_bound(
        monofact_rate(counts=world.seen),
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
