"""VGG16 on CIFAR-10: probabilities that were published, and figures found from them by others.

The forecasts are those of Kumar, Liang and Ma (2019), Verified uncertainty calibration
(p-lambda/verified_calibration, data/cifar_probs.dat), and do not ship: `CALIBRANT_FORECASTS` names
the folder that holds them as tables, as for `test_published_scores`. The figures stand beside the
tables, computed there with plain numpy from whole files.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

import calibrant as cal
from calibrant import multiclass
from reference.test_published_scores import (
    FOLDER,
    pytestmark as pytestmark,  # noqa: PLC0414
)

TOP_LABEL, PER_CLASS = "cifar10_vgg16_top_label.csv", "cifar10_vgg16_per_class.parquet"


@pytest.fixture(scope="module")
def cifar():
    query = f"select * from '{FOLDER / PER_CLASS}' order by klass, row"  # noqa: S608
    columns = duckdb.sql(query).fetchnumpy()
    names = np.unique(columns["klass"])
    table = columns["prediction"].reshape(names.size, -1).T
    happened = columns["outcome"].reshape(names.size, -1).T
    return multiclass.ClassForecasts.read(
        names[happened.argmax(axis=1)], table, classes=names.tolist(), sum_tolerance=1e-4
    )


def test_top_label_figures(cifar):
    joint = multiclass.top_label(cifar)
    assert joint.row_count == 10_000
    assert f"{joint.base_rate:.6f}" == "0.935900"
    assert f"{joint.mean_prediction:.6f}" == "0.975573"
    assert len(joint) == 5648
    assert f"{cal.decisions.mean_score(joint, score='brier'):.6f}" == "0.049823"
    for bins, error in ((10, "0.039907"), (15, "0.039780")):
        assert (
            f"{cal.binned_calibration_error(joint, n_bins=bins, strategy='uniform'):.6f}" == error
        )


def test_top_label_is_that_of_the_table_made_by_others(cifar):
    query = f"select outcome, prediction from '{FOLDER / TOP_LABEL}'"  # noqa: S608
    columns = duckdb.sql(query).fetchnumpy()
    theirs = cal.Joint.from_samples(columns["outcome"], columns["prediction"])
    assert cal.smooth_calibration_error(theirs) == pytest.approx(
        float(cal.smooth_calibration_error(multiclass.top_label(cifar))), abs=1e-12
    )


def test_figures_of_all_classes_together(cifar):
    together = cal.Joint.from_samples(
        (cifar.label[:, np.newaxis] == np.arange(10)).ravel(), cifar.probability.ravel()
    )
    assert f"{together.base_rate:.6f}" == "0.100000"
    for bins, error in ((10, "0.008129"), (15, "0.008169")):
        measured = cal.binned_calibration_error(together, n_bins=bins, strategy="uniform")
        assert f"{measured:.6f}" == error
    brier = multiclass.worth.judge(cifar).brier
    assert f"{brier / 10:.6f}" == "0.010545"


def test_what_the_guide_says_about_these_forecasts(cifar):
    assert f"{cal.smooth_calibration_error(multiclass.top_label(cifar)):.4f}" == "0.0397"
    assert f"{multiclass.class_wise(cifar).worst:.4f}" == "0.0092"
    worst = multiclass.projected_smooth_calibration_error(cifar)
    assert f"{worst:.4f}" == "0.0183"
    assert worst.witness.classes == ("automobile", "bird", "deer", "dog", "ship")
    result = cal.audit(cifar)
    assert result.verdict.state == "miscalibrated"
    assert f"{result.verdict.tolerance:.5f}" == "0.00641"
    assert result.by_class.sentence == (
        "None of 10 classes shows an error beyond the tolerance of 0.01: 6 are within it; 4 are "
        "undecided."
    )
    assert f"{result.summary.classes.sets.projected_test.noise_floor:.4f}" == "0.0023"
