"""The three parts of a mean loss, by isotonic recalibration: the definition and golden values."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calibrant as cal
from calibrant.data.rows import Rows
from calibrant.decisions import LossDecomposition, loss_decomposition
from calibrant.errors import InvalidOptionError
from calibrant.kinds import read_kind
from calibrant.regression import isotonic_fit

KINDS = ("mean", "median", "quantile=0.9", "quantile=0.25", "expectile=0.8", "expectile=0.1")

rows = st.lists(
    st.tuples(st.integers(0, 6), st.integers(-4, 9), st.integers(0, 3)), min_size=1, max_size=14
).filter(lambda found: any(weight for *_, weight in found))


def by_min_max(z, y, w, kind):
    """The largest, over runs that end before it, of the least best constant of runs from there on.

    g(k) = max over i <= k of min over j >= k of T(levels i to j): O(m^3), from the definition.
    """
    asked, kept = read_kind(kind), w > 0
    z, y, w = z[kept], y[kept], w[kept]
    levels = np.unique(z)

    def best(i, j):
        inside = (z >= levels[i]) & (z <= levels[j])
        return asked.best(y[inside], w[inside])

    count = levels.size
    return levels, np.array(
        [max(min(best(i, j) for j in range(k, count)) for i in range(k + 1)) for k in range(count)]
    )


@pytest.mark.parametrize("kind", KINDS)
@given(found=rows)
def test_isotonic_recalibration_is_the_min_max_formula(kind, found):
    z, y, w = np.array(found, dtype=float).T
    fit = isotonic_fit(Rows.of_kind(y, z, kind, sample_weight=w))
    levels, expected = by_min_max(z, y, w, kind)
    value = fit.value[np.isin(fit.forecast, levels)]
    assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@given(found=rows)
def test_no_part_is_negative_and_they_add_up(kind, found):
    z, y, w = np.array(found, dtype=float).T
    parts = loss_decomposition(y, z, kind=kind, sample_weight=w)
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(parts.loss, abs=1e-9)
    recalibrated = isotonic_fit(Rows.of_kind(y, z, kind, sample_weight=w)).at_rows
    assert loss_decomposition(y, recalibrated, kind=kind, sample_weight=w).miscalibration == (
        pytest.approx(0, abs=1e-9)
    )


# decompose of model-diagnostics 1.5.0 with SquaredError, PinballLoss(level) and
# HomogeneousExpectileScore(degree=2, level): score, miscalibration, discrimination, uncertainty.
# It does not weigh rows for the best constant quantile, so weighted quantiles are left out.
GOLDEN = {
    ("mean", False): (26.253625, 8.4390881477591, 49.136274085259096, 66.9508109375),
    ("mean", True): (29.441127450980392, 10.447198967193714, 49.94526677765123, 68.9391952614379),
    ("quantile=0.9", False): (2.803625, 2.055625, 0.808125, 1.556125),
    ("quantile=0.25", False): (1.4215625, 0.32625, 1.37, 2.4653125),
    ("expectile=0.8", False): (
        38.38120000000001,
        23.635873263877336,
        38.382567549591606,
        53.12789428571428,
    ),
    ("expectile=0.8", True): (
        43.28574509803922,
        28.28009851032276,
        39.545048879630365,
        54.55069546734683,
    ),
}


def golden_rows():
    rng = np.random.default_rng(20)
    z = np.round(rng.normal(20, 6, 80), 0)
    y = np.round(z + rng.gumbel(0, 4, 80), 1)
    return y, z, rng.integers(1, 5, 80).astype(float)


def parts_of(found: LossDecomposition):
    return found.loss, found.miscalibration, found.discrimination, found.uncertainty


@pytest.mark.parametrize(("kind", "weighted"), GOLDEN)
def test_golden_values_of_model_diagnostics(kind, weighted):
    y, z, weight = golden_rows()
    found = loss_decomposition(y, z, kind=kind, sample_weight=weight if weighted else None)
    assert parts_of(found) == pytest.approx(GOLDEN[kind, weighted], rel=1e-12)


def test_a_weight_counts_like_so_many_rows_in_any_order():
    y, z, weight = golden_rows()
    again = np.random.default_rng(1).permutation(np.repeat(np.arange(80), weight.astype(int)))
    for kind in KINDS:
        weighted = loss_decomposition(y, z, kind=kind, sample_weight=weight)
        repeated = loss_decomposition(y[again], z[again], kind=kind)
        assert parts_of(weighted) == pytest.approx(parts_of(repeated), rel=1e-11)


def test_levels_like_nine_tenths_do_not_lose_ties_to_rounding():
    """Of ten outcomes nine lie at or below the ninth, though ten times 0.9 is not exact."""
    y = np.tile(np.arange(10.0), 7)
    fit = isotonic_fit(Rows.of_kind(y, np.zeros(70), "quantile=0.9"))
    assert fit.value.tolist() == [8.0]


def test_outcomes_far_from_zero_keep_their_digits():
    y, z, _ = golden_rows()
    near, far = (loss_decomposition(y + by, z + by, kind="mean") for by in (0.0, 1e9))
    assert parts_of(far) == pytest.approx(parts_of(near), rel=1e-6)


def test_sentences_say_what_forecasts_save():
    good = loss_decomposition([1.0, 2.0, 3.0], [1.0, 2.0, 3.1])
    assert "save 99.5 % of the uncertainty" in good.sentence
    assert good.sentence in good._repr_html_()
    bad = loss_decomposition([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    assert bad.sentence.endswith("the best constant does better.")
    assert loss_decomposition([2.0], [1.0]).sentence.endswith("uncertainty 0.")


def test_intervals_are_refused_with_a_way_out():
    forecasts = Rows.of_kind([1.0], [0.0], "interval", upper=[2.0], level=0.9)
    for use in (loss_decomposition, isotonic_fit):
        with pytest.raises(InvalidOptionError, match="each end as a quantile"):
            use(forecasts)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_brier_score_of_outcomes_between_0_and_1_is_their_squared_error(weighted):
    rng = np.random.default_rng(3)
    p = np.round(rng.random(300), 2)
    y = np.clip(p**1.4 + rng.normal(0, 0.15, 300), 0, 1)
    weight = rng.gamma(2, 1, 300) if weighted else None
    found = cal.score_decomposition(y, p, sample_weight=weight)
    real = loss_decomposition(y, p, sample_weight=weight)
    parts = (found.score, found.miscalibration, found.discrimination, found.uncertainty)
    assert parts == pytest.approx(parts_of(real), rel=1e-9)
    mean = np.average((p - y) ** 2, weights=weight)
    assert found.score == pytest.approx(mean, rel=1e-12)
    score = cal.decisions.mean_score(y, p, sample_weight=weight, score="brier")
    assert score == pytest.approx(mean, rel=1e-12)
    assert cal.decisions.row_losses("brier", y, p) == pytest.approx((p - y) ** 2)
