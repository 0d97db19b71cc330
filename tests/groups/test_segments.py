"""Segments: found on one half of the rows, judged on the other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.data import hold_out
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups import find_segments
from calibrant.groups.segments import _chance, _tails


def broken(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    by = {
        "device": rng.choice(["mobile", "desktop"], n),
        "hour": rng.integers(0, 24, n),
        "age": rng.integers(18, 90, n),
    }
    p = 0.1 + 0.5 * rng.random(n)
    segment = (by["device"] == "mobile") & (by["age"] > 75)
    return rng.random(n) < np.where(segment, p + 0.2, p), p, by, segment


def test_the_broken_segment_is_found_named_and_confirmed():
    y, p, by, segment = broken()
    first = find_segments(y, p, by)[0]
    assert first.confirmed
    assert ("device", "mobile") in first.conditions
    assert any(column == "age" and level.startswith(">= 7") for column, level in first.conditions)
    assert first.bias == pytest.approx(0.2, abs=0.06)
    assert "device mobile" in first.sentence
    # Only the half that did not choose it counts.
    assert first.rows < segment.sum()


def test_numbers_are_those_of_the_judging_half():
    y, p, by, _ = broken()
    first = find_segments(y, p, {"device": by["device"]}, depth=1, count=1, rng=3)[0]
    judging = ~hold_out(0.5, np.random.default_rng(3), p, y, by["device"])
    (column, level), *_ = first.conditions
    if column == "device":
        inside = judging & (by["device"] == level)
        assert first.rows == inside.sum()
        assert first.observed == pytest.approx(y[inside].mean())
        assert first.forecast == pytest.approx(p[inside].mean())


def test_sound_forecasts_have_no_confirmed_segment():
    rng = np.random.default_rng(2)
    p = rng.random(5000)
    by = {"a": rng.integers(0, 4, 5000), "b": rng.random(5000)}
    assert not any(segment.confirmed for segment in find_segments(rng.random(5000) < p, p, by))


def test_segments_do_not_repeat_each_other():
    y, p, by, _ = broken()
    found = find_segments(y, p, by, count=5)
    assert len({segment.conditions for segment in found}) == len(found)
    assert [s.pvalue for s in found] == sorted(s.pvalue for s in found)


def test_chances_of_few_events_are_exact():
    for n, chance, ones in ((60, 0.03, 5), (200, 0.001, 1), (50, 0.5, 35)):
        at_most, at_least = _tails(np.full(n, chance), ones)
        assert at_most == pytest.approx(binom.cdf(ones, n, chance), abs=1e-12)
        assert at_least == pytest.approx(binom.sf(ones - 1, n, chance), abs=1e-12)
    mixed = np.array([0.1, 0.1, 0.7])
    assert _tails(mixed, 0)[0] == pytest.approx(0.9 * 0.9 * 0.3)


def test_chances_of_many_events_are_nearly_exact():
    n, chance = 4000, 0.1
    for ones in (350, 380, 400, 440, 470):
        y = np.arange(n) < ones
        found = _chance(np.ones(n), np.full(n, chance), y.astype(float))
        exact = 2 * min(binom.cdf(ones, n, chance), binom.sf(ones - 1, n, chance))
        # The normal law has no steps: it lies between the two ways of counting the last one.
        strict = 2 * min(binom.cdf(ones - 1, n, chance), binom.sf(ones, n, chance))
        assert 0.97 * strict <= found <= min(1.0, 1.03 * exact)


@pytest.mark.parametrize("chance", [0.03, 0.5, 0.97])
def test_chances_are_never_zero_and_fall_with_the_distance(chance):
    """The farther the sum, the smaller the chance; far out it is told as 2e-12, not as nothing."""
    n = 4000
    for step in (-1, 1):
        ones = round(n * chance) + step * np.arange(0, 115)
        y = [(np.arange(n) < one).astype(float) for one in ones]
        found = np.array([_chance(np.ones(n), np.full(n, chance), one) for one in y])
        assert (np.diff(found) <= 0).all()
        assert found[-1] >= 2e-12
    far = _chance(np.ones(n), np.full(n, 0.375), np.zeros(n))
    assert far == 2e-12
    assert _chance(np.ones(n), np.full(n, 0.03), np.ones(n)) == 2e-12


def test_chances_four_standard_errors_out_are_of_the_right_size():
    for ones in (320, 325, 478, 485):
        y = (np.arange(4000) < ones).astype(float)
        found = _chance(np.ones(4000), np.full(4000, 0.1), y)
        exact = 2 * min(binom.cdf(ones, 4000, 0.1), binom.sf(ones - 1, 4000, 0.1))
        assert 0.5 * exact < found < 1.5 * exact


def test_weights_reweigh_the_bias():
    y, p, by, segment = broken()
    weight = np.where(segment, 3.0, 1.0)
    first = find_segments(y, p, by, sample_weight=weight)[0]
    assert first.confirmed
    assert ("device", "mobile") in first.conditions


def test_certain_forecasts_that_fail_are_impossible():
    p = np.zeros(400)
    y = np.zeros(400)
    y[:40] = 1
    by = {"k": np.where(np.arange(400) < 200, "u", "v")}
    assert find_segments(y, p, by) == ()


def test_nonsense_is_refused():
    with pytest.raises(InvalidOptionError, match="depth"):
        find_segments([0, 1], [0.5, 0.5], {"a": [1, 2]}, depth=0)
    with pytest.raises(InvalidForecastsError, match="outcomes 0 and 1"):
        find_segments([0.5, 1], [0.5, 0.5], {"a": [1, 2]})


def test_clusters_search_or_judge_whole_and_a_lone_one_confirms_nothing():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    ward = np.arange(4000) // 200
    y = rng.random(4000) < np.where(ward == 3, 1.0, p)
    by = {"ward": ward.astype(str)}
    plain = find_segments(y, p, by, rng=0)
    assert plain[0].conditions == (("ward", "3"),)
    assert plain[0].confirmed
    for segment in find_segments(y, p, by, clusters=ward, rng=0):
        assert segment.rows in {0, 200} or segment.conditions[0][0] == "prediction"
        assert not segment.confirmed


def test_copies_in_clusters_do_not_confirm_a_segment():
    rng = np.random.default_rng(1)
    p = rng.random(600)
    site = rng.integers(0, 3, 600).astype(str)
    y = rng.random(600) < p
    many = {name: np.tile(values, 20) for name, values in (("y", y), ("p", p), ("site", site))}
    clusters = np.tile(np.arange(600), 20)
    found = find_segments(many["y"], many["p"], {"site": many["site"]}, clusters=clusters)
    assert not any(segment.confirmed for segment in found)
    assert find_segments(many["y"], many["p"], {"site": many["site"]})[0].confirmed
