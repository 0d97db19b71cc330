"""Size of the test of class forecasts: how often a perfect forecaster is accused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.settings import Settings
from calibrant.multiclass import (
    ClassForecasts,
    calibration_test,
    canonical_calibration_error,
    projected_smooth_calibration_error,
)
from calibrant.multiclass.redraws import redraws
from calibrant.multiclass.verdicts import class_pvalues, judge_classes

DRAWS, LEVEL = 39, 0.05


def uneven(rng, rows, classes):
    return rng.dirichlet(np.geomspace(1, 0.05, classes), size=rows)


def tied(rng, rows, classes):
    return rng.multinomial(10, np.full(classes, 1 / classes), size=rows) / 10


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("maker", [uneven, tied])
@pytest.mark.parametrize(
    ("measure", "rows", "classes", "samples"),
    [
        (canonical_calibration_error, 60, 4, 800),
        (canonical_calibration_error, 1100, 3, 800),  # beyond pairs: random features
        (partial(canonical_calibration_error, kernel="multinomial", degree=2), 50, 4, 800),
        (projected_smooth_calibration_error, 80, 4, 800),
        (partial(projected_smooth_calibration_error, search="greedy"), 50, 4, 200),
        (lambda forecasts: cal.smooth_calibration_error(forecasts.top_k(2)), 100, 4, 800),
    ],
    ids=["pairs", "features", "multinomial", "projected", "searched", "top two"],
)
def test_a_perfect_forecaster_is_rarely_accused(measure, rows, classes, samples, maker, weighted):
    """P(p <= 0.05) is at most 0.05: a binomial count within 2.6 deviations of it."""
    rng = np.random.default_rng(20260401)
    accused = 0
    for seed in range(samples):
        table = maker(rng, rows, classes)
        weight = rng.exponential(size=rows) if weighted else None
        blank = ClassForecasts.read(np.zeros(rows, int), table, sample_weight=weight)
        forecasts = blank.relabelled(next(redraws(blank, 1, rng)))
        test = calibration_test(forecasts, measure=measure, draws=DRAWS, rng=seed)
        assert test.exact
        accused += test.pvalue <= LEVEL
    assert accused <= _most(samples)


@pytest.mark.slow
@pytest.mark.parametrize("maker", [uneven, tied])
@pytest.mark.parametrize(("rows", "classes", "samples"), [(200, 5, 300), (1000, 12, 300)])
def test_verdicts_of_all_classes_hold_at_once(maker, rows, classes, samples):
    """For a perfect forecaster every interval must reach down to 0, all at once in 95 %."""
    assert _accused(maker, rows, classes, samples) <= _most(samples)


@pytest.mark.slow
def test_verdicts_of_many_classes_with_few_events_hold_at_once():
    """Ten rows or so for each of 100 classes, two for each of 1000: the far tail of counts."""

    def many(rng, rows, classes):
        return rng.dirichlet(np.full(classes, 0.3), size=rows)

    assert _accused(many, 1000, 100, 100) <= _most(100)
    assert _accused(many, 2000, 1000, 20) <= _most(20)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("off", [False, True], ids=["all right", "two classes off"])
def test_classes_that_are_right_are_rarely_surprising(weighted, off):
    """The chance that any of them has p <= 0.05 is at most 0.05, whatever the others do."""
    rng, samples, rows, classes = np.random.default_rng(20260403), 400, 150, 30
    failed = found = 0
    for seed in range(samples):
        table = uneven(rng, rows, classes)
        true = table.copy()
        if off:
            true[:, 0], true[:, 1] = 0, table[:, 0] + table[:, 1]
        weight = rng.exponential(size=rows) if weighted else None
        blank = ClassForecasts.read(np.zeros(rows, int), true, sample_weight=weight)
        label = next(redraws(blank, 1, rng))
        forecasts = ClassForecasts.read(label, table, sample_weight=weight)
        pvalue = class_pvalues(forecasts, DRAWS, np.random.default_rng(seed))
        failed += (pvalue[2:] <= LEVEL).any()
        found += pvalue[0] <= LEVEL
    assert failed <= _most(samples)
    if off and not weighted:  # weights cost half of the rows
        assert found >= 0.8 * samples


def _accused(maker, rows, classes, samples):
    rng = np.random.default_rng(20260402)
    failed = 0
    for seed in range(samples):
        blank = ClassForecasts.read(np.zeros(rows, int), maker(rng, rows, classes))
        forecasts = blank.relabelled(next(redraws(blank, 1, rng)))
        generator = np.random.default_rng(seed)
        judged = judge_classes(forecasts, None, Settings(draws=199, tolerance=0.02, rng=generator))
        failed += any(group.low > 0 for group in judged)
    return failed


def _most(samples):
    expected = LEVEL * samples
    return expected + 2.6 * np.sqrt(expected * (1 - LEVEL))
