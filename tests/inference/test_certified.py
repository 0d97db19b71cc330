"""Certified thresholds against a search straight from the definition, and what is refused."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom

import calibrant as cal
from oracles.strategies import rows, universal


def by_definition(y, p, risk, level):
    """Lower the threshold level by level; sequences start at so many answers, twice that, ..."""
    y, p = np.asarray(y), np.asarray(p)
    count, starts = 1, None
    while True:  # as many starts as the rows allow
        least = next(n for n in range(1, 10**5) if (1 - risk) ** n <= level / count * (1 + 1e-12))
        if least * 2 ** (count - 1) > y.size:
            break
        starts = [least * 2**k for k in range(count)]
        count += 1
    if starts is None:
        return None
    best, share, reached = None, 0.0, 0
    for threshold in sorted(set(p.tolist()), reverse=True):
        right = y[p >= threshold]
        share += level / len(starts) * sum(reached < start <= right.size for start in starts)
        reached = right.size
        if share > 0 and binom.cdf(right.size - right.sum(), right.size, risk) <= share:
            best = threshold
        else:
            share = 0.0
    return best


@universal
@given(
    data=rows(max_size=60),
    risk=st.sampled_from([0.01, 0.1, 0.3, 0.5, 0.9]),
    confidence=st.sampled_from([0.5, 0.8, 0.95]),
)
def test_threshold_is_that_of_the_search(data, risk, confidence):
    y, p = data
    found = cal.certified_threshold(y, p, risk=risk, confidence=confidence)
    assert found.threshold == by_definition(y, p, risk, 1 - confidence)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ties", [False, True])
def test_threshold_of_many_rows_is_that_of_the_search(seed, ties):
    rng = np.random.default_rng(seed)
    p = rng.beta(4, 1, 600)
    p = p.round(2) if ties else p
    y = (rng.random(600) < p**0.5).astype(int)
    for risk in (0.02, 0.05, 0.1, 0.2):
        found = cal.certified_threshold(y, p, risk=risk)
        assert found.threshold == by_definition(y, p, risk, 1 - found.confidence)
        if found.threshold is not None:
            answered = p >= found.threshold
            assert (found.answered, found.errors) == (answered.sum(), (1 - y[answered]).sum())
            assert found.coverage == answered.mean()


def test_the_sentence_says_what_to_do():
    y, p = [1] * 100 + [0] * 100, np.append(np.linspace(0.83, 1, 100), np.linspace(0.1, 0.8, 100))
    found = cal.certified_threshold(y, p)
    # Below 0.83 all are wrong. One error among 101 is few enough for 5 %, but not for 2.5 %.
    assert str(found) == (
        "Answer at 0.83 and above: error at most 5 % with 95 % confidence; that answers 50 % "
        "of the questions."
    )
    few = cal.certified_threshold(y[:20], p[:20])
    assert few.threshold is None
    assert "takes 59 answers at least, all of them right; there are 20" in few.sentence
    wrong = cal.certified_threshold(1 - np.array(y), p)
    assert "Of the 72 surest answers, the fewest that could show it, 72 were wrong" in str(wrong)


def test_what_is_printed_as_threshold_is_never_below_it():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.random(400)
        found = cal.certified_threshold(rng.random(400) < 0.995, p)
        assert found.threshold is not None
        assert float(str(found).split("at ")[1].split(" ")[0]) >= found.threshold


def test_cells_certify_a_threshold_on_their_edges():
    rng = np.random.default_rng(1)
    p = rng.beta(5, 1, 5000)
    y = rng.random(5000) < p**0.3
    found = cal.certified_threshold(cal.Joint.from_samples(y, p, resolution=64), risk=0.1)
    answered = p >= found.threshold
    assert (found.answered, found.errors) == (answered.sum(), (~y[answered]).sum())


def test_groups_share_the_level():
    rng = np.random.default_rng(2)
    p = rng.beta(5, 1, 4000)
    side = rng.choice(["left", "right"], 4000)
    y = rng.random(4000) < np.where(side == "left", 0.999, p**0.2)
    found = cal.certified_threshold(y, p, groups=side)
    assert found.together == 3
    for name, one in found.groups.items():
        own = side == name
        level = (1 - 0.95) / 3
        assert one.threshold == by_definition(y[own], p[own], 0.05, level)
    assert found.threshold == by_definition(y, p, 0.05, (1 - 0.95) / 3)
    assert found.groups["left"].threshold < found.groups["right"].threshold
    assert "left: Answer at" in found.sentence


def test_equal_weights_are_none_and_others_are_refused():
    y, p = [1] * 80 + [0] * 20, np.linspace(1, 0, 100)
    plain = cal.certified_threshold(y, p)
    assert cal.certified_threshold(y, p, sample_weight=[0.7] * 100).threshold == plain.threshold
    with pytest.raises(cal.errors.InferenceRefusedError, match="count alike"):
        cal.certified_threshold(y, p, sample_weight=np.arange(1, 101))
    with pytest.raises(cal.errors.InferenceRefusedError):
        cal.certified_threshold([0.5, 1], [0.2, 0.9])
    for options in ({"risk": 0}, {"risk": 1.0}, {"confidence": 0.3}, {"confidence": 1}):
        with pytest.raises(cal.errors.InvalidOptionError):
            cal.certified_threshold(y, p, **options)
    with pytest.raises(cal.errors.InvalidForecastsError, match="groups need rows"):
        cal.certified_threshold(cal.Joint.from_samples(y, p), groups=["a"] * 100)


def test_of_clusters_one_row_each_is_drawn():
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(400), 3)
    p = rng.choice([0.7, 0.8, 0.9, 0.99], cluster.size)
    y = (rng.random(400)[cluster] < p**0.2) * 1
    found = cal.certified_threshold(y, p, clusters=cluster, risk=0.1)
    assert (found.rows, found.drawn_from) == (400, 1200)
    assert "One row of each of 400 clusters was drawn" in found.sentence
    order = rng.permutation(cluster.size)
    again = cal.certified_threshold(y[order], p[order], clusters=cluster[order], risk=0.1)
    assert again == found
    alone = cal.certified_threshold(y[::3], p[::3], clusters=cluster[::3], risk=0.1)
    plain = cal.certified_threshold(y[::3], p[::3], risk=0.1)
    assert (alone.threshold, alone.sentence) == (plain.threshold, plain.sentence)
    with pytest.raises(cal.errors.InvalidForecastsError, match="clusters need rows"):
        cal.certified_threshold(cal.Joint.from_samples(y, p), clusters=cluster)


def test_of_clusters_each_group_draws_its_own():
    rng = np.random.default_rng(5)
    cluster, model = np.repeat(np.arange(300), 2), np.tile(["a", "b"], 300)
    p = rng.choice([0.8, 0.9, 0.99], 600)
    y = (rng.random(300)[cluster] < p**0.1) * 1
    found = cal.certified_threshold(y, p, clusters=cluster, groups=model, risk=0.1)
    for name, one in found.groups.items():
        own = model == name
        assert (one.rows, one.drawn_from) == (300, 300)
        assert one.threshold == by_definition(y[own], p[own], 0.1, (1 - 0.95) / 3)
    assert "By group: a " in found.brief
