"""The Monte-Carlo test: p-value, noise floor, the same for any order of rows."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.inference.evidence import Evidence
from calibrant.inference.statistic import Statistic
from calibrant.joint.draws import draw_positives
from calibrant.measures.exact import exact_floor

SMOOTH = "smooth_calibration_error"


def sample(n: int, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    return rng.random(n) < np.clip(p + shift, 0, 1), p


def test_a_shift_is_found_and_none_is_not():
    assert cal.calibration_test(*sample(600, 0.15), draws=199, rng=0).pvalue == 1 / 200
    assert cal.calibration_test(*sample(600), draws=199, rng=0).pvalue > 0.05


def test_pvalue_counts_ties_against_the_forecaster():
    """With certain forecasts every redraw scores what the sample scores: nothing is shown."""
    test = cal.calibration_test([0, 1, 1], [0.0, 1.0, 1.0], draws=99, rng=0)
    assert test.pvalue == 1.0
    smooth = test.headline
    assert smooth.statistic == smooth.noise_floor == smooth.excess == 0.0


def test_a_contradicted_certainty_is_always_found():
    assert cal.calibration_test([0, 0, 1], [0.0, 1.0, 1.0], draws=99, rng=0).pvalue == 0.01


def test_noise_floor_quantile_and_excess():
    test = cal.calibration_test(*sample(400, 0.1), measure=SMOOTH, draws=199, rng=3)
    assert test.noise_floor == pytest.approx(test.null.mean())
    assert test.noise_quantile(0.95) == pytest.approx(np.quantile(test.null, 0.95))
    assert test.excess == pytest.approx(test.statistic - test.noise_floor)
    assert (np.diff(test.null) >= 0).all()
    assert test.measure == SMOOTH


def test_the_noise_floor_of_uniform_forecasts_is_the_known_one():
    """Mean smooth error of 3000 fresh samples of coins, n = 2000, uniform p: .389 (4) / sqrt(n)."""
    p = np.random.default_rng(1).random(2000)
    test = cal.calibration_test(np.zeros(2000), p, measure=SMOOTH, draws=2000, rng=0)
    assert test.noise_floor * np.sqrt(2000) == pytest.approx(0.389, abs=0.02)


def test_order_of_rows_does_not_matter():
    y, p = sample(300, 0.05)
    order = np.random.default_rng(9).permutation(300)
    first = cal.calibration_test(y, p, draws=99, rng=5)
    again = cal.calibration_test(y[order], p[order], draws=99, rng=5)
    assert (first.pvalue, first.noise_floor) == (again.pvalue, again.noise_floor)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("name", JOINT_MEASURES)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_measure_can_be_tested(name, by_name):
    y, p = sample(200, 0.3)
    function = JOINT_MEASURES[name].function
    test = cal.calibration_test(y, p, measure=name if by_name else function, draws=19, rng=0)
    assert test.statistic == pytest.approx(float(function(y, p)))
    assert test.pvalue <= 0.1
    assert test.cells is None


def test_any_function_of_a_joint_can_be_tested():
    def mean_bias(joint: cal.Joint) -> float:
        return abs(joint.base_rate - joint.mean_prediction)

    y, p = sample(500, 0.1)
    test = cal.calibration_test(y, p, measure=mean_bias, draws=99, rng=0)
    assert test.measure == "mean_bias"
    assert test.statistic == pytest.approx(abs(y.mean() - p.mean()))
    assert test.pvalue == 0.01


def test_many_levels_are_rounded_and_say_so():
    rng = np.random.default_rng(0)
    p = rng.random(9000)
    test = cal.calibration_test(rng.random(9000) < p, p, draws=19, rng=0)
    assert test.cells == 4096
    assert test.exact


def test_weights_do_not_add_evidence():
    y, p = sample(300, 0.06)
    plain = cal.calibration_test(y, p, draws=199, rng=0)
    heavy = cal.calibration_test(y, p, sample_weight=np.full(300, 50.0), draws=199, rng=0)
    assert heavy.pvalue == plain.pvalue
    assert heavy.exact


def test_rows_of_different_weight_are_redrawn_exactly_and_a_weighted_joint_is_not():
    y, p = sample(300, 0.06)
    w = np.linspace(1, 9, 300)
    rows = cal.calibration_test(y, p, sample_weight=w, draws=1999, rng=0)
    joint = cal.calibration_test(cal.Joint.from_samples(y, p, sample_weight=w), draws=1999, rng=0)
    assert rows.exact
    assert not joint.exact
    for one, other in zip(rows.parts, joint.parts, strict=True):
        assert one.statistic == pytest.approx(other.statistic)
        assert one.noise_floor == pytest.approx(other.noise_floor, rel=0.05)


def test_options_of_a_measure_are_kept():
    y, p = sample(300, 0.06)
    coarse = partial(cal.binned_calibration_error, n_bins=3, closed="right")
    test = cal.calibration_test(y, p, measure=coarse, draws=99, rng=0)
    assert test.statistic == pytest.approx(float(coarse(y, p)))
    middle = partial(cal.binned_calibration_error, n_bins=3, form="midpoint")
    test = cal.calibration_test(y, p, measure=middle, draws=19, rng=0)
    assert test.statistic == pytest.approx(float(middle(y, p)))


def test_the_default_sees_a_slope_that_the_smooth_error_misses():
    rng = np.random.default_rng(2)
    p = rng.random(400)
    y = rng.random(400) < 0.5 + (p - 0.5) * 0.55
    smooth = cal.calibration_test(y, p, measure=SMOOTH, rng=0)
    test = cal.calibration_test(y, p, rng=0)
    assert [part.measure for part in test.parts] == [SMOOTH, "slope_and_intercept", "shape"]
    assert test.most_striking.measure == "slope_and_intercept"
    assert test.pvalue < 0.02 < smooth.pvalue
    assert test.headline.pvalue == smooth.pvalue


def test_the_default_sees_waves_that_the_smooth_error_misses():
    rng = np.random.default_rng(2)
    p = rng.random(400)
    y = rng.random(400) < np.clip(p + 0.2 * np.sin(6 * np.pi * p), 0, 1)
    test = cal.calibration_test(y, p, rng=0)
    assert test.pvalue < 0.02
    assert test.headline.pvalue > 0.05


def test_several_measures_are_judged_by_their_smallest_rank():
    """The sample and its redraws, each by the smallest of its own p-values, counted slowly."""
    y, p = sample(200, 0.1)
    names = [SMOOTH, "cutoff_calibration_error"]
    test = cal.calibration_test(y, p, measure=names, draws=49, rng=0)
    evidence = Evidence.read(y, p)
    residual_masses = np.concatenate(
        list(evidence.null_residual_masses(49, np.random.default_rng(0)))
    )
    scores = [
        np.append(part.statistic, Statistic.of(name).values(evidence.joint, residual_masses))
        for part, name in zip(test.parts, names, strict=True)
    ]
    smallest = [
        min(sum(other >= row[i] - 1e-12 for other in row) / 50 for row in scores) for i in range(50)
    ]
    assert test.statistic == pytest.approx(1 - smallest[0])
    assert test.pvalue == sum(one <= smallest[0] + 1e-12 for one in smallest) / 50


def test_rows_in_one_cluster_count_once():
    """Every row five times: as clusters the test knows, as rows it does not."""
    y, p = sample(150, 0.07, seed=4)
    again = np.tile(y, 5), np.tile(p, 5)
    alone = cal.calibration_test(y, p, rng=0)
    clustered = cal.calibration_test(*again, clusters=np.tile(np.arange(150), 5), rng=0)
    careless = cal.calibration_test(*again, rng=0)
    assert clustered.clusters == 150
    assert not clustered.exact
    floor = alone.headline.noise_floor
    assert clustered.headline.noise_floor == pytest.approx(floor, rel=0.15)
    assert careless.headline.noise_floor < 0.6 * floor
    assert careless.pvalue < 0.01 < min(clustered.pvalue, alone.pvalue)


def test_clusters_may_be_names_and_their_order_does_not_matter():
    y, p = sample(90, 0.1)
    names = np.array(["a", "b", "c"] * 30) + np.array([str(i) for i in range(30)] * 3)
    order = np.random.default_rng(1).permutation(90)
    first = cal.calibration_test(y, p, clusters=names.tolist(), rng=0)
    again = cal.calibration_test(y[order], p[order], clusters=names[order], rng=0)
    assert first.pvalue == again.pvalue
    assert first.noise_floor == pytest.approx(again.noise_floor, rel=1e-12)


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ([1.0, np.nan, 2.0], "clusters must not hold missing values"),
        ([1, 2], "one entry per row"),
        ([1, 1, 1], "at least two"),
    ],
)
def test_clusters_that_cannot_be_used(clusters, message):
    with pytest.raises(ValueError, match=message):
        cal.calibration_test([0, 1, 1], [0.2, 0.5, 0.6], clusters=clusters)


def test_clusters_need_rows_and_a_measure_of_residual_masses():
    with pytest.raises(cal.errors.InvalidForecastsError, match="clusters need rows"):
        cal.calibration_test(cal.Joint.from_samples([0, 1], [0.1, 0.2]), clusters=[1, 2])
    with pytest.raises(cal.errors.InferenceRefusedError, match="use the smooth error"):
        cal.calibration_test(
            [0, 1], [0.1, 0.2], clusters=[1, 2], measure=cal.upper_distance_to_calibration
        )


def test_rare_events_of_mixed_weights_are_drawn_as_skewed_as_they_are():
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, 500)
    joint = cal.Joint.from_samples(np.zeros(500), np.full(500, 0.01), sample_weight=weight)
    drawn = draw_positives(joint, rng, 40_000)[:, 0]
    spread = np.sqrt(0.01 * 0.99 * (weight**2).sum())
    assert drawn.mean() == pytest.approx(0.01 * weight.sum(), rel=0.02)
    assert drawn.std() == pytest.approx(spread, rel=0.02)
    true = 0.01 * 0.99 * 0.98 * (weight**3).sum() / spread**3
    assert ((drawn - drawn.mean()) ** 3).mean() / drawn.std() ** 3 == pytest.approx(true, rel=0.2)


@pytest.mark.parametrize("equal", [True, False])
def test_the_floor_of_the_expected_error_is_the_mean_over_all_outcomes(equal):
    p = np.array([0.0, 0.15, 0.15, 0.5, 0.5, 0.5, 0.7, 0.7, 1.0, 0.33])
    weight = np.linspace(1, 2, p.size) if not equal else np.full(p.size, 3.0)
    terms = []
    for y in itertools.product((0, 1), repeat=p.size):
        chance = math.prod(np.where(y, p, 1 - p))
        if chance > 0:
            terms.append(chance * _expected_error(y, p, weight))
    joint = cal.Joint.from_samples(y, p, sample_weight=weight)
    floor = cal.inference.noise_floors(joint, ["exact_calibration_error"], 4999, 0)
    assert exact_floor(joint, order=2) is None
    assert (exact_floor(joint) is None) == (not equal)
    exact = pytest.approx(math.fsum(terms), rel=1e-12 if equal else 0.03)
    assert floor == {"exact_calibration_error": exact}


@pytest.mark.parametrize("count", [2, 25, 999, 1001, 3000])
@pytest.mark.parametrize("chance", [1e-12, 1e-3, 1 / 3, 0.5, 0.999, 1 - 1e-12])
def test_coins_deviate_as_de_moivre_says_to_the_last_digits(count, chance):
    p = Fraction(chance)
    heads = int(count * p) + 1
    exact = 2 * heads * math.comb(count, heads) * p**heads * (1 - p) ** (count - heads + 1)
    joint = cal.Joint.from_counts([chance], [count], [0])
    assert exact_floor(joint) == pytest.approx(float(exact / count), rel=1e-11, abs=0)


def test_very_many_coins_deviate_as_normal_numbers():
    for count in (10**9, 10**15):
        joint = cal.Joint.from_counts([0.2], [count], [0])
        normal = math.sqrt(2 * 0.16 / math.pi / count)
        assert exact_floor(joint) == pytest.approx(normal, rel=1 / count + 1e-12)


def _expected_error(y, p, weight):
    levels = np.unique(p, return_inverse=True)[1]
    return np.abs(np.bincount(levels, weight * (y - p))).sum() / weight.sum()


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_floors_of_many_levels_are_those_of_the_exact_levels(scale):
    """Cells of equal width would leave rare events almost none."""
    rng = np.random.default_rng(5)
    joint = cal.Joint.from_samples(np.arange(2**17) % 2, scale * rng.random(2**17))
    measures = ["cutoff_calibration_error", "binned_calibration_error"]
    found = cal.inference.noise_floors(joint, measures, 199, 0)
    residual_masses = draw_positives(joint, rng, 199) - joint.weight * joint.prediction
    for measure in measures:
        exact = Statistic.of(measure).values(joint, residual_masses / joint.total)
        unsure = 4 * exact.std() / np.sqrt(199 / 2)
        assert found[measure] == pytest.approx(exact.mean(), abs=unsure)
