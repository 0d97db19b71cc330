"""The mean of another population, against its definitions and in a known one."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.groups import target_mean, transfer_bias


def known(count=20_000, seed=0):
    """Source uniform, target of density 2x, a crude model."""
    rng = np.random.default_rng(seed)
    here, there = rng.random(count), rng.random(count) ** 0.5
    y = rng.random(count) < 0.1 + 0.6 * here
    return here, there, y


def test_by_definition_with_given_odds():
    here, there, y = known(500)
    p, q, w = 0.2 + 0.3 * here, 0.2 + 0.3 * there, 2 * here
    found = target_mean(y, p, q, odds=w, shifts={"flat": np.ones(500), "left": 1 - here})
    assert found.predicted == pytest.approx(q.mean())
    assert found.weighted.value == pytest.approx((w * y).sum() / w.sum())
    bias = (w * (y - p)).sum() / w.sum()
    assert found.bias == pytest.approx(bias) == pytest.approx(float(transfer_bias(y, p, w)))
    assert found.corrected.value == pytest.approx(q.mean() + bias)
    assert found.difference == pytest.approx(found.weighted.value - q.mean())
    assert found.effective_rows == pytest.approx(w.sum() ** 2 / (w @ w))
    biases = {"flat": (y - p).mean(), "left": ((1 - here) * (y - p)).sum() / (1 - here).sum()}
    worst = max(biases, key=lambda name: abs(biases[name]))
    assert found.worst == (worst, pytest.approx(biases[worst]))
    assert "effective source rows" in str(found)


def test_all_routes_agree_where_the_model_and_the_odds_are_right():
    here, there, y = known()
    truth = 0.1 + 0.6 * 2 / 3
    right = target_mean(y, 0.1 + 0.6 * here, 0.1 + 0.6 * there, odds=here)
    for value in (right.predicted, right.weighted.value, right.corrected.value):
        assert value == pytest.approx(truth, abs=0.015)
    crude = target_mean(y, np.full(here.size, 0.4), np.full(there.size, 0.4), odds=here)
    assert crude.predicted == pytest.approx(0.4)
    assert crude.corrected.value == pytest.approx(truth, abs=0.015)
    wrong_odds = target_mean(y, 0.1 + 0.6 * here, 0.1 + 0.6 * there, odds=np.ones(here.size))
    assert wrong_odds.corrected.value == pytest.approx(truth, abs=0.015)
    assert abs(wrong_odds.weighted.value - truth) > 0.05


def test_a_multicalibrated_model_adapts_without_knowing_the_target():
    """Numbers of one simulation: naive mean, multicalibrated predictions, weights."""
    rng = np.random.default_rng(1)
    site = rng.choice(["a", "b", "c"], 20_000, p=[0.6, 0.3, 0.1])
    rate = {"a": 0.2, "b": 0.4, "c": 0.8}
    y = rng.random(site.size) < np.vectorize(rate.get)(site)
    there = rng.choice(["a", "b", "c"], 20_000, p=[0.1, 0.3, 0.6])
    truth = 0.1 * 0.2 + 0.3 * 0.4 + 0.6 * 0.8
    base = np.full(site.size, y.mean())
    made = cal.groups.Multicalibrator(judge="fit").fit(base, y, {"site": site})
    p, q = (made.transform(base, {"site": where}) for where in (site, there))
    dummies = [
        np.column_stack([where == "b", where == "c"]).astype(float) for where in (site, there)
    ]
    found = target_mean(y, p, q, features=dummies[0], target_features=dummies[1])
    assert abs(y.mean() - truth) > 0.2
    assert abs(found.predicted - truth) < 0.02
    assert found.corrected.low <= truth <= found.corrected.high
    assert found.weighted.value == pytest.approx(truth, abs=0.02)


def test_fitted_odds_are_those_of_the_tables_of_counts():
    source, target = np.repeat([0.0, 1.0], [30, 70]), np.repeat([0.0, 1.0], [60, 40])
    y = np.arange(100) % 2
    p = np.full(100, 0.5)
    found = target_mean(y, p, p, features=source[:, None], target_features=target[:, None])
    odds = np.where(source == 0, 60 / 30, 40 / 70)
    assert found.weighted.value == pytest.approx((odds * y).sum() / odds.sum(), abs=1e-9)
    constant = np.column_stack([source, np.ones(100)]), np.column_stack([target, np.ones(100)])
    same = target_mean(y, p, p, features=constant[0], target_features=constant[1])
    assert same.weighted.value == pytest.approx(found.weighted.value, abs=1e-9)


def test_without_weights_there_is_the_mean_prediction_alone():
    found = target_mean([0, 1], [0.2, 0.7], [0.4, 0.6, 0.8])
    assert found.predicted == pytest.approx(0.6)
    assert (
        found.weighted is found.corrected is found.bias is found.worst is found.difference is None
    )


def test_what_cannot_be_known_widens_to_everything():
    y, p = [0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4]
    one_cluster = target_mean(y, p, p, odds=np.ones(4), clusters=["a"] * 4)
    assert (one_cluster.weighted.low, one_cluster.weighted.high) == (0, 1)
    one_row = target_mean(y, p, p, odds=[1, 0, 0, 0])
    assert (one_row.weighted.low, one_row.weighted.high) == (0, 1)
    tiny = target_mean(y, p, p, odds=[1e-300, 1e-300, 1e-300, 1.0])
    assert (tiny.weighted.low, tiny.weighted.high) == (0, 1)
    one_target = target_mean(y, p, [0.5], odds=np.ones(4))
    assert (one_target.corrected.low, one_target.corrected.high) == (0, 1)


def test_clusters_and_labels():
    here, there, y = known(400)
    p, q = 0.2 + 0.3 * here, 0.2 + 0.3 * there
    words = np.where(y, "yes", "no")
    alone = target_mean(y, p, q, odds=here)
    assert target_mean(words, p, q, odds=here, pos_label="yes") == alone
    pairs = [np.repeat(column, 2) for column in (y, p, here)]
    ids = np.repeat(np.arange(400), 2)
    doubled = target_mean(
        *pairs[:2], np.repeat(q, 2), odds=pairs[2], clusters=ids, target_clusters=ids
    )
    assert doubled.weighted.value == pytest.approx(alone.weighted.value)
    width = doubled.weighted.high - doubled.weighted.low
    assert width == pytest.approx(alone.weighted.high - alone.weighted.low, rel=0.1)
    naive = target_mean(*pairs[:2], np.repeat(q, 2), odds=pairs[2])
    assert naive.weighted.high - naive.weighted.low < 0.8 * width


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"odds": [1, -1]}, "odds"),
        ({"odds": [0, 0]}, "odds"),
        ({"odds": [1, np.inf]}, "odds"),
        ({"features": [[1.0], [2.0]]}, "together"),
        ({"odds": [1, 1], "features": [[1.0], [2]], "target_features": [[1.0]]}, "odds or"),
        ({"features": np.array([[1.0], [2]]), "target_features": np.array([[np.nan]])}, "finite"),
        ({"features": np.array([[0.0], [0]]), "target_features": np.array([[1.0]])}, "look like"),
        ({"shifts": {"bad": [-1, 1]}}, "bad"),
        ({"confidence": 1.0}, "confidence"),
        ({"shifts": 0.9}, "shifts"),
        ({"features": 0, "target_features": 0}, "features|columns"),
        ({"features": [["a"], ["b"]], "target_features": [["a"]]}, "feature .* must be numbers"),
    ],
    ids=range(12),
)  # fmt: skip
def test_what_cannot_be_used_is_refused(options, words):
    with pytest.raises(CalibrantError, match=words):
        target_mean([0, 1], [0.2, 0.7], [0.4], **options)


def test_mean_outcomes_are_refused():
    with pytest.raises(CalibrantError, match="0 or 1"):
        target_mean([0.5, 1], [0.2, 0.7], [0.4])


def test_a_single_number_is_no_column_of_predictions():
    with pytest.raises(CalibrantError, match="one entry per row"):
        target_mean([0, 1], [0.2, 0.7], 0.4)
