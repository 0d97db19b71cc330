"""Facts seen once, miscalibration of generators, and the bound, in universes that are known."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibrant.errors import CalibrantError
from calibrant.hallucination import generative_miscalibration, hallucination_bound, monofact_rate
from oracles.strategies import universal
from oracles.universes import Universe, universe


def test_monofact_rate_by_definition():
    facts = ["a", "b", "a", "c", "c", "c", "d"]
    rate = monofact_rate(facts)
    assert (rate.value, rate.documents, rate.facts) == (2 / 7, 7, 4)
    assert rate.occurring == {1: 2, 2: 1, 3: 1}
    assert rate.mass(0) == rate.missing_mass == 2 / 7
    assert (rate.mass(1), rate.mass(2), rate.mass(3)) == (2 / 7, 3 / 7, 0)
    assert monofact_rate(counts=[3, 0, 1, 2, 1]) == rate
    assert monofact_rate(facts[::-1]) == rate
    assert monofact_rate(np.array([1.5, 2.5, 1.5])).value == 1 / 3


def test_ends_of_the_interval_are_those_of_the_docstring():
    rate = monofact_rate(counts=[1] * 2000 + [2] * 4000, confidence=0.9)
    n, size = 10_000, math.log(40)
    assert rate.low == pytest.approx(0.2 - 1 / n - (1 + math.exp(-0.5)) * math.sqrt(2 * size / n))
    assert rate.high == pytest.approx(0.2 + (1 + math.sqrt(2)) * math.sqrt(size / n))
    assert "20 % of 10 000 documents" in str(rate)


def test_the_normal_interval_is_esty_s_with_a_lower_end_for_few_repeats():
    counts = [1] * 2000 + [2] * 1500 + [5] * 1000
    rate = monofact_rate(counts=counts, confidence=0.9, method="normal")
    n, z = 10_000, 1.6448536269514722
    half = z * math.sqrt(2000 * 0.8 + 2 * 1500 + z**2) / n
    assert rate.high == pytest.approx(0.2 + half)
    assert rate.low == pytest.approx(0.2 - half - z**2 / n)
    assert rate.margins(0.05) == pytest.approx((0.2 - rate.low, rate.high - 0.2))
    assert "90 % confidence (normal approximation)" in str(rate)
    wide = monofact_rate(counts=counts, confidence=0.9)
    assert wide.high - wide.low > 3 * (rate.high - rate.low)
    assert wide.margins(0.05) == pytest.approx((0.2 - wide.low, wide.high - 0.2))


@pytest.mark.parametrize("facts", [57, 105, 1000])
def test_the_normal_lower_end_holds_where_nearly_every_document_has_its_own_fact(facts):
    """Without the correction one side of 95 % was missed in up to 20 % of such samples."""
    rng, missed, plain, runs = np.random.default_rng(facts), 0, 0, 1000
    for _ in range(runs):
        seen = np.bincount(rng.integers(1000, size=facts), minlength=1000)
        rate = monofact_rate(counts=seen, method="normal")
        unseen, below = float((seen == 0).mean()), rate.margins(0.05)[0]
        missed += unseen < rate.value - below - 1e-12
        plain += unseen < rate.value - below + 1.6448536**2 / facts - 1e-12
    assert missed <= runs * (0.05 + 4 * math.sqrt(0.05 * 0.95 / runs))
    if facts == 57:
        assert plain > 0.15 * runs


@pytest.mark.parametrize("shape", ["zipf", "even"])
@pytest.mark.parametrize("documents", [20, 50, 1000])
def test_the_interval_holds_the_missing_mass(documents, shape):
    rng = np.random.default_rng(documents)
    for _ in range(100):
        world = universe(rng, documents, 500, 0, shape)
        rate = monofact_rate(counts=world.seen)
        assert rate.low <= world.unseen_mass <= rate.high


@universal
@given(st.integers(0, 10**6), st.sampled_from([None, 2.0]))
def test_miscalibration_by_definition(seed, ratio):
    rng = np.random.default_rng(seed)
    size = 12
    model, truth = rng.integers(1, 5, size) / 1.0, rng.random(size)
    model, truth = model / model.sum(), truth / truth.sum()
    key = (lambda g: g) if ratio is None else (lambda g: math.floor(-math.log2(g) + 1e-6))
    bins = {}
    for g, p in zip(model, truth, strict=True):
        total = bins.setdefault(key(g), [0.0, 0.0])
        total[0] += g
        total[1] += p
    expected = sum(abs(g - p) for g, p in bins.values()) / 2
    found = generative_miscalibration(model, truth, ratio=ratio)
    assert found == pytest.approx(expected, abs=1e-12)
    order = rng.permutation(size)
    assert generative_miscalibration(model[order], truth[order], ratio=ratio) == pytest.approx(
        found
    )


def test_an_entry_of_many_statements_is_those_statements():
    single = generative_miscalibration([0.4, 0.2, 0.2, 0.2], [0.5, 0.5, 0.0, 0.0])
    together = generative_miscalibration([0.4, 0.2, 0.4], [0.5, 0.5, 0.0], size=[1, 1, 2])
    assert single == pytest.approx(together) == pytest.approx(0.1)


@universal
@given(st.integers(0, 10**6))
def test_the_inequality_behind_the_bound_holds_for_every_model(seed):
    """g(false) >= p(unseen) - Mis - R, for any levels, truth and documents: no assumption."""
    rng = np.random.default_rng(seed)
    world = universe(rng, int(rng.integers(1, 40)), 20, 2)
    model = rng.integers(0, 4, world.truth.size) ** 2.0
    model[0] += 1
    model /= model.sum()
    seen, true = world.seen > 0, world.truth > 0
    rest = model[~seen & true].sum()
    for level in np.unique(model):
        within = model == level
        rest += world.truth[within & ~seen].sum() * (within & seen).sum() / within.sum()
    miscalibration = generative_miscalibration(model, world.truth)
    assert world.falsehoods(model) >= world.unseen_mass - miscalibration - rest - 1e-9


MODELS = {
    "calibrated": Universe.calibrated,
    "memoriser": Universe.memorised,
    "mixed": Universe.mixed,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", ["zipf", "even"])
def test_no_model_gets_below_the_bound(name, shape):
    rng = np.random.default_rng(7)
    for _ in range(20):
        world = universe(rng, 2000, 2000, 299, shape)
        model = MODELS[name](world)
        bound = hallucination_bound(
            monofact_rate(counts=world.seen),
            generative_miscalibration(model, world.truth),
            true_statements=2000,
            unseen_statements=int((world.seen == 0).sum()),
        )
        assert world.falsehoods(model) >= bound.value


def test_a_calibrated_model_must_make_things_up_and_a_memoriser_need_not():
    """Ten thousand documents: the numbers of one universe."""
    world = universe(np.random.default_rng(0), 10_000, 20_000, 99)
    rate = monofact_rate(counts=world.seen)
    assert rate.value == pytest.approx(0.24, abs=0.02)
    sizes = {"true_statements": 20_000, "unseen_statements": int((world.seen == 0).sum())}
    model = world.calibrated()
    miscalibration = generative_miscalibration(model, world.truth)
    assert miscalibration < 0.08
    strict = hallucination_bound(rate, miscalibration, **sizes, confidence=0.5)
    assert 0 < strict.value < world.falsehoods(model) == pytest.approx(0.23, abs=0.02)
    memory = world.memorised()
    lost = generative_miscalibration(memory, world.truth)
    assert world.falsehoods(memory) == 0
    assert lost > rate.value
    assert hallucination_bound(rate, lost, **sizes).value < 0
    assert "no bound" in str(hallucination_bound(rate, lost, **sizes))


def test_the_bound_is_made_of_its_parts():
    rate = monofact_rate(counts=[1] * 500 + [2] * 250)
    bound = hallucination_bound(
        rate, 0.1, true_statements=100, unseen_statements=10**6, confidence=0.9
    )
    assert bound.monofacts == 0.5
    assert bound.truths == pytest.approx(3 * 100 / (0.1 * 10**6))
    spread = (1 + math.exp(-0.5)) * math.sqrt(2 * math.log(30) / 1000)
    assert bound.sampling == pytest.approx(0.001 + spread)
    assert float(bound) == pytest.approx(0.5 - 0.1 - bound.truths - bound.sampling)
    normal = monofact_rate(counts=[1] * 500 + [2] * 250, method="normal")
    narrow = hallucination_bound(
        normal, 0.1, true_statements=100, unseen_statements=10**6, confidence=0.9
    )
    assert narrow.sampling == pytest.approx(normal.margins(0.2 / 3)[0])
    assert narrow.sampling < bound.sampling / 2
    assert (narrow.truths, narrow.method) == (bound.truths, "normal")
    assert "(normal approximation)" in str(narrow)
    assert "(normal approximation)" not in str(bound)


RATE = monofact_rate(counts=[1, 2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (monofact_rate, "facts or counts"),
        (lambda: monofact_rate(["a"], counts=[1]), "facts or counts"),
        (lambda: monofact_rate([]), "at least one document"),
        (lambda: monofact_rate(["a", None]), "must have a fact"),
        (lambda: monofact_rate([1.0, float("nan")]), "must have a fact"),
        (lambda: monofact_rate(counts=[1.5]), "whole numbers"),
        (lambda: monofact_rate(counts=[-1]), "whole numbers"),
        (lambda: monofact_rate(counts=[0, 0]), "at least one document"),
        (lambda: monofact_rate(["a"], method="esty"), "method"),
        (lambda: monofact_rate(["a"], method="normal", confidence=0.4), "at least 0.5"),
        (lambda: generative_miscalibration([0.5, 0.6], [0.5, 0.5]), "add up to one"),
        (lambda: generative_miscalibration([1.5, -0.5], [0.5, 0.5]), "at least 0"),
        (lambda: generative_miscalibration([1.0], [0.5, 0.5]), "one mass of each"),
        (lambda: generative_miscalibration([1.0], [1.0], size=[0]), "size"),
        (lambda: generative_miscalibration([1.0], [1.0], ratio=1), "ratio"),
        (lambda: hallucination_bound(0.3, 0.1, true_statements=1, unseen_statements=9), "rate"),
        (lambda: hallucination_bound(RATE, 2, true_statements=1, unseen_statements=9), "misc"),
        (lambda: hallucination_bound(RATE, 0, true_statements=-1, unseen_statements=9), "true"),
        (lambda: hallucination_bound(RATE, 0, true_statements=1, unseen_statements=0), "unseen"),
    ],
    ids=range(19),
)
def test_what_is_no_table_of_facts_is_refused(call, words):
    with pytest.raises(CalibrantError, match=words):
        call()
