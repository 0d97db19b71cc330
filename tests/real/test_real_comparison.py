"""Two forecasters of real outcomes: losses by definition, intervals of paired differences."""

import numpy as np
import pytest
from scipy import stats

from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.real import calibration_error, compare, loss_decomposition

RNG = np.random.default_rng(11)
TRUE = RNG.normal(20, 6, 400)
Y = TRUE + RNG.gumbel(0, 4, 400) - 2.3


def test_the_interval_is_that_of_the_mean_of_paired_differences():
    found = compare(Y, TRUE + 1, TRUE)
    rows = (Y - TRUE) ** 2 - (Y - TRUE - 1) ** 2
    assert found.first == pytest.approx(np.mean((Y - TRUE - 1) ** 2))
    assert found.difference == pytest.approx(rows.mean())
    reach = stats.t(399).ppf(0.975) * rows.std(ddof=1) / np.sqrt(400)
    assert (found.low, found.high) == pytest.approx((rows.mean() - reach, rows.mean() + reach))


def test_the_interval_score_is_width_and_what_is_missed():
    low, high = TRUE - 4, TRUE + 5
    found = compare(Y, (low, high), (low, high), kind="interval", level=0.8)
    missed = np.maximum(low - Y, 0) + np.maximum(Y - high, 0)
    assert found.first == pytest.approx(np.mean(high - low + 2 / 0.2 * missed))
    assert found.loss == "interval score"


@pytest.mark.parametrize("kind", ["mean", "quantile=0.9", "expectile=0.7"])
def test_a_forecaster_does_not_differ_from_itself(kind):
    found = compare(Y, TRUE, TRUE, kind=kind, margin=0.1)
    assert (found.low, found.high, found.difference) == (0, 0, 0)
    assert found.equivalent
    assert (
        found.errors[0]
        == found.errors[1]
        == pytest.approx(float(calibration_error(Y, TRUE, kind=kind)), rel=1e-12)
    )
    assert found.sentence == "The two forecasts are identical."


def test_swapping_the_two_changes_the_sign():
    one, other = compare(Y, TRUE + 3, TRUE), compare(Y, TRUE, TRUE + 3)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.errors == other.errors[::-1]
    assert one.sentence.startswith("The second forecaster is better")
    assert other.sentence.startswith("The first forecaster is better")
    unsure = compare(Y[:5], TRUE[:5] + 0.1, TRUE[:5])
    assert unsure.sentence.startswith("These rows do not tell")
    assert unsure.sentence in unsure._repr_html_()


def test_copies_of_rows_in_clusters_are_no_evidence():
    copies = np.repeat(np.arange(400), 4)
    once = compare(Y, TRUE + 1, TRUE, clusters=np.arange(400))
    often = compare(Y[copies], TRUE[copies] + 1, TRUE[copies], clusters=copies)
    assert (often.low, often.high) == pytest.approx((once.low, once.high), rel=1e-9)


def test_rows_without_weight_do_not_count():
    weight = np.ones(400)
    weight[:50] = 0
    kept, weighted = (
        compare(Y[50:], TRUE[50:] + 1, TRUE[50:], range=(-50, 90)),
        compare(Y, TRUE + 1, TRUE, sample_weight=weight, range=(-50, 90)),
    )
    assert (weighted.low, weighted.high) == pytest.approx((kept.low, kept.high), rel=1e-9)
    assert weighted.errors == pytest.approx(kept.errors, rel=1e-9)


def test_rows_in_any_order_give_the_same_answer_to_the_last_digit():
    order, cluster = RNG.permutation(400), np.arange(400) % 37
    weight = RNG.gamma(2, 1, 400)
    options = {"clusters": cluster, "sample_weight": weight}
    permuted = {"clusters": cluster[order], "sample_weight": weight[order]}
    first = compare(Y, TRUE + 1, TRUE, **options)
    assert compare(Y[order], TRUE[order] + 1, TRUE[order], **permuted) == first
    for kind in ("mean", "quantile=0.9", "expectile=0.7"):
        parts = loss_decomposition(Y, TRUE, kind=kind, sample_weight=weight)
        assert parts == loss_decomposition(
            Y[order], TRUE[order], kind=kind, sample_weight=weight[order]
        )


def test_bad_input_is_refused_with_a_reason():
    with pytest.raises(InferenceRefusedError, match="at least two"):
        compare(Y, TRUE, TRUE, clusters=np.zeros(400))
    with pytest.raises(InferenceRefusedError, match="two rows or clusters"):
        compare(Y[:1], TRUE[:1], TRUE[:1])
    with pytest.raises(InvalidOptionError, match="low, high"):
        compare(Y, TRUE, TRUE, kind="interval", level=0.9)
    with pytest.raises(InvalidOptionError, match="needs a margin"):
        _ = compare(Y, TRUE, TRUE).equivalent


def test_a_row_with_all_the_weight_tells_nothing_about_chance():
    y, z = Y[:50], TRUE[:50]
    weight = np.append(1e12, np.ones(49))
    with pytest.raises(InferenceRefusedError, match="at least two rows or clusters with weight"):
        compare(y, z, z + 1, sample_weight=weight)
