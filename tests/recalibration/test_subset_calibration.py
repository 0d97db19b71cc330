"""The calibrator towards projected smooth calibration, by its definition and its potential."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError, InvalidOptionError, InvalidStateError
from calibrant.joint import Joint
from calibrant.multiclass import ClassForecasts, projected_smooth_calibration_error
from calibrant.recalibration import SubsetCalibration, load, recalibrate
from calibrant.recalibration.subsets import by_chance, correction
from oracles.class_definitions import draw_labels, projected_smooth_error, random_forecasts


def distorted(rng, rows, classes):
    """Softmax of scores that were scaled, with one pair of classes off; labels; true chances."""
    scores = 1.2 * rng.normal(size=(rows, classes))
    off = 1.6 * scores
    off[:, 0] += 1.0
    off[:, 1] -= 1.0
    tables = [np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in (off, scores)]
    return tables[0], draw_labels(rng, tables[1]), tables[1]


def brier(table, label):
    return np.mean(((table - np.eye(table.shape[1])[label]) ** 2).sum(axis=1))


def error_of(label, table):
    return float(projected_smooth_calibration_error(label, table, floor_draws=0))


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("tolerance", [0.02, 0.1])
@pytest.mark.parametrize("ties", [False, True])
def test_no_set_is_off_by_more_than_the_tolerance(classes, tolerance, ties):
    for seed in range(3):
        label, table = random_forecasts(np.random.default_rng(seed), 120, classes, ties=ties)
        fitted = SubsetCalibration(tolerance, most_steps=2000).fit(table, label)
        left = projected_smooth_error(label, fitted.transform(table))
        assert left <= tolerance + classes / 121
        assert fitted.error_ == pytest.approx(left, abs=1e-9)
        assert fitted.before_ == pytest.approx(projected_smooth_error(label, table), abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3, 6, 20])
def test_every_step_lowers_the_squared_distance_by_what_is_promised(classes):
    table, label, _ = distorted(np.random.default_rng(classes), 800, classes)
    tolerance = 0.03
    fitted = SubsetCalibration(tolerance, most_steps=5000).fit(table, label)
    least = 4 * (0.9 * tolerance) ** 2 / classes
    scores = [brier(table, label)]
    for step in fitted.form_.steps:
        table = step(table)
        scores.append(brier(table, label))
    assert fitted.steps_ >= (1 if classes == 2 else 2)
    assert (np.diff(scores) <= -least).all()
    assert fitted.steps_ <= scores[0] / least <= 0.62 * classes / tolerance**2


@pytest.mark.parametrize("members", [[0], [1, 3]])
def test_a_step_is_the_best_one_along_a_lipschitz_weight(members):
    table, label, _ = distorted(np.random.default_rng(1), 500, 4)
    given = ClassForecasts.read(label, table)
    chosen = np.array(members)
    value = float(cal.smooth_calibration_error(given.subset(members)))
    step = correction(given, chosen, value)
    chance = table[:, chosen].sum(axis=1)
    off = np.isin(label, chosen) - chance
    shift = step.line(chance)
    # Before the move onto the simplex, less what all classes have in common.
    size = chosen.size * (4 - chosen.size) / 4
    assert np.mean(off * shift) == pytest.approx(size * np.mean(shift**2))
    # Divided by the larger of its steepest slope and largest value it is a weight that may be.
    slope = np.abs(np.diff(step.line.value) / np.diff(step.line.knot)).max()
    size = max(slope, np.abs(step.line.value).max())
    assert 0.9 * value <= np.mean(off * shift) / size * (1 + 1e-9)
    assert np.mean(off * shift) / size <= value * (1 + 1e-9)


def test_one_wrong_row_that_is_certain_is_moved_to_the_other_end():
    table, label = np.tile([1.0, 0.0], (40, 1)), np.ones(40, int)
    fitted = SubsetCalibration(0.01).fit(table, label, classes=["no", "yes"])
    assert fitted.steps_ == 1
    np.testing.assert_allclose(fitted.form_.steps[0](table), table[:, ::-1], atol=1e-12)
    assert fitted.transform(table)[0, 1] == pytest.approx(1 - 0.5 / 41, abs=1e-3)


@pytest.mark.parametrize("classes", [3, 8, 20])
def test_unseen_rows_of_a_distorted_source_are_nearer_to_right(classes):
    rng = np.random.default_rng(7)
    table, label, _ = distorted(rng, 6000, classes)
    fitted = SubsetCalibration().fit(table, label)
    unseen, labels, _ = distorted(rng, 6000, classes)
    recalibrated = fitted.transform(unseen)
    assert error_of(labels, recalibrated) < {3: 0.15, 8: 0.5, 20: 0.8}[classes] * error_of(
        labels, unseen
    )
    assert brier(recalibrated, labels) < brier(unseen, labels)


def test_the_default_tolerance_is_beyond_chance():
    rng = np.random.default_rng(3)
    true = rng.dirichlet(np.ones(5), 400)
    drawn = [
        np.abs(np.bincount(draw_labels(rng, true), minlength=5) / 400 - true.mean(axis=0)).sum() / 2
        for _ in range(400)
    ]
    given = ClassForecasts.read(draw_labels(rng, true), true)
    assert by_chance(given) == pytest.approx(np.mean(drawn), rel=0.08)
    left_alone = [
        SubsetCalibration().fit(true, draw_labels(rng, true)).steps_ == 0 for _ in range(20)
    ]
    assert np.mean(left_alone) >= 0.6


def test_row_order_and_the_unit_of_weights_change_nothing():
    rng = np.random.default_rng(4)
    table, label, _ = distorted(rng, 300, 4)
    weight = rng.integers(1, 4, 300)
    fitted = SubsetCalibration().fit(table, label, weight)
    assert fitted.steps_ > 1
    order = rng.permutation(300)
    again = SubsetCalibration().fit(table[order], label[order], weight[order])
    assert again.form_.as_dict() == fitted.form_.as_dict()
    scaled = SubsetCalibration().fit(table, label, weight * 2.0**-30)
    assert scaled.form_.as_dict() == fitted.form_.as_dict()
    assert scaled.tolerance_ == pytest.approx(fitted.tolerance_, rel=1e-12)
    other = SubsetCalibration().fit(table, label)
    assert other.form_.as_dict() != fitted.form_.as_dict()


def test_weighted_error_falls_below_the_tolerance():
    rng = np.random.default_rng(5)
    table, label, _ = distorted(rng, 400, 4)
    weight = np.where(label == 2, 5.0, 0.3) * rng.exponential(size=400)
    fitted = SubsetCalibration(0.03, most_steps=500).fit(table, label, weight)
    recalibrated = fitted.transform(table)
    left = projected_smooth_calibration_error(label, recalibrated, sample_weight=weight)
    assert float(left) == pytest.approx(fitted.error_, abs=1e-9)
    assert left <= 0.03 + 4 / (weight.sum() + 1)


def test_choose_tries_it_where_it_is_named():
    rng = np.random.default_rng(6)
    table, label, _ = distorted(rng, 400, 3)
    named = recalibrate(label, table, methods=["subset"], rng=0)
    assert "subset" in str(named.table)
    unasked = recalibrate(label, table, rng=0)
    assert "subset" not in str(unasked.table)
    few = recalibrate(label[:40], table[:40], rng=0)
    assert few.skipped
    assert "subset" not in few.skipped


def test_words_say_what_was_reached():
    table, label, _ = distorted(np.random.default_rng(8), 500, 3)
    stopped = SubsetCalibration(0.01, most_steps=1).fit(table, label)
    assert stopped.sentence.startswith("1 correction of sets of classes: ")
    assert stopped.sentence.endswith(", still more than 0.01.")
    done = SubsetCalibration(0.05).fit(table, label)
    assert "still" not in done.sentence
    idle = SubsetCalibration(0.9).fit(table, label)
    assert idle.sentence == (
        "No set of classes is off by more than 0.9, so that rows stay as they are."
    )
    np.testing.assert_allclose(idle.transform(table), table, atol=1 / 501)


def test_long_maps_are_refused_as_sql_and_nowhere_else():
    table, label, _ = distorted(np.random.default_rng(9), 400, 20)
    fitted = SubsetCalibration(0.005, most_steps=26).fit(table, label)
    assert fitted.steps_ == 26
    for dialect in ("duckdb", "spark"):
        with pytest.raises(InvalidOptionError, match=r"make no query.*26 of 20.*to_python"):
            fitted.to_sql(table="t", dialect=dialect)
    names: dict = {}
    exec(fitted.to_python("f"), names)  # noqa: S102
    found = [names["f"](row) for row in table[:20].tolist()]
    np.testing.assert_allclose(found, fitted.transform(table[:20]), atol=1e-12)
    np.testing.assert_array_equal(load(fitted.to_json()).transform(table), fitted.transform(table))


@pytest.mark.parametrize(
    "options", [{"tolerance": 0.0}, {"tolerance": 1.5}, {"tolerance": "a"}, {"most_steps": 0}]
)
def test_options_that_cannot_be_are_refused(options):
    table, label, _ = distorted(np.random.default_rng(0), 50, 3)
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        SubsetCalibration(**options).fit(table, label)


def test_two_outcomes_are_refused():
    with pytest.raises(InvalidForecastsError, match="one for each class"):
        SubsetCalibration().fit(Joint.from_counts([0.2, 0.7], [5, 5], [1, 4]))


@pytest.mark.parametrize(
    "broken",
    [
        {"members": []},
        {"members": [0, 1, 2]},
        {"members": [1, 0]},
        {"members": [0.5]},
        {"members": [3]},
        {"knot": [0.5]},
        {"knot": [], "value": []},
        {"knot": [0.5, 0.5], "value": [0.1, 0.1]},
        {"value": [3.0] * 9},
        {"value": None},
    ],
)
def test_steps_that_somebody_broke_are_refused(broken):
    table, label, _ = distorted(np.random.default_rng(0), 200, 3)
    stored = json.loads(SubsetCalibration().fit(table, label).to_json())
    load(stored)
    stored["form"]["steps"][0] |= broken
    with pytest.raises(InvalidStateError):
        load(stored)


def test_few_rows_and_certain_rows():
    one = SubsetCalibration(0.01).fit([[0.2, 0.3, 0.5]], [0])
    np.testing.assert_allclose(one.transform([[0.2, 0.3, 0.5]]).sum(), 1)
    certain = SubsetCalibration().fit(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0])
    assert certain.steps_ == 0
    table = np.tile([0.2, 0.3, 0.5], (60, 1)).astype(np.float32)
    flat = SubsetCalibration(0.005).fit(table, [0, 1, 2] * 20)
    np.testing.assert_allclose(flat.transform(table)[0], [1 / 3] * 3, atol=0.011)
