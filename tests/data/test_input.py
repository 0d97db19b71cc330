"""Bad input: the message names the argument, what was got, and the likely cure."""

from __future__ import annotations

import itertools
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES
from calibrant.data.rows import Rows
from calibrant.decisions import fixed_decision_loss
from calibrant.errors import (
    CalibrantError,
    CalibrantWarning,
    InvalidForecastsError,
    InvalidOptionError,
)
from calibrant.groups import low_degree_multicalibration_error
from calibrant.recalibration import PlattScaling, recalibrate

Y = [0, 1, 1, 0]
P = [0.1, 0.6, 0.9, 0.3]

REFUSED = {
    "percent": (Y, [10, 60, 90, 30], "y_proba must be probabilities.*percent"),
    "log-odds": (Y, [-1.5, 0.2, 2.0, -0.3], "log-odds"),
    "above one": (Y, [0.1, 0.6, 1.1, 0.3], "1 of 4 outside, from 0.1 to 1.1, first rows 3"),
    "swapped": ([0.1, 0.6, 0.9, 0.3], [0, 1, 1, 0], "swapped"),
    "swapped labels": ([0.1, 0.6, 0.9, 0.3], [1, 2, 2, 1], "swapped"),
    "swapped names": (["a", "b", "b", "a"], [0, 1, 1, 0], "swapped"),
    "nan prediction": (Y, [0.1, np.nan, 0.9, np.nan], "y_proba.*missing.*2 of 4, first rows 2, 4"),
    "nan outcome": ([0, np.nan, 1, 0], P, "y_true.*missing.*1 of 4.*not a 0"),
    "none outcome": ([0, None, 1, 0], P, "y_true.*missing"),
    "none prediction": (Y, [0.1, None, 0.9, 0.3], "y_proba.*missing"),
    "infinite": (Y, [0.1, np.inf, 0.9, 0.3], "y_proba must be probabilities"),
    "labels 1 and 2": ([1, 2, 2, 1], P, "pos_label=2"),
    "labels -1 and 1": ([-1, 1, 1, -1], P, "pos_label=1"),
    "strings": (["no", "yes", "yes", "no"], P, "labels 'no', 'yes'.*pos_label"),
    "text predictions": (Y, ["10%", "60%", "90%", "30%"], "numbers"),
    "lengths": (Y, P[:3], "same length, got 4 and 3"),
    "empty": ([], [], "at least one row"),
    "three classes": (Y, np.full((4, 3), 1 / 3), "one probability per row.*pos_label"),
    "two columns": (Y, np.array([P, P]).T, "sum to one.*first row 1"),
    "cube": (Y, np.zeros((4, 1, 1)), "one column"),
    "ragged": (Y, [[0.1], [0.2, 0.3], [0.1], [0.1]], "rectangular"),
    "a word": (Y, "probabilities", "an array, a list"),
    "a dict": (Y, {"p": P}, "an array, a list"),
    "a number": (Y, 0.5, "one column"),
}


@pytest.mark.parametrize(("y_true", "y_proba", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("measure", JOINT_MEASURES.values(), ids=JOINT_MEASURES)
def test_bad_input_is_refused_with_a_cure(measure, y_true, y_proba, message):
    with pytest.raises(InvalidForecastsError, match=f"(?s){message}"):
        measure.function(y_true, y_proba)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1, -1, 1], "not negative, got 1 row where it is not, first row 3: -1"),
        ([0, 0, 0, 0], "positive, finite sum"),
        ([1, np.nan, 1, 1], "sample_weight.*missing"),
        ([1, np.inf, 1, 1], "finite"),
        ([1, 1], "2 for 4 rows"),
        ([1e308, 1e308, 1e308, 1e308], "positive, finite sum"),
        ([1e200, 1, 1, 1], "squares of the weights.*divide"),
        ([1e-200, 1, 1, 1], "squares of the weights.*divide"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(InvalidForecastsError, match=message):
        cal.smooth_calibration_error(Y, P, sample_weight=weight)


def test_missing_values_of_frames_are_refused():
    for series in (
        pd.Series([0.1, None, 0.9, 0.3]),
        pd.Series([0.1, None, 0.9, 0.3], dtype="Float64"),
        pl.Series([0.1, None, 0.9, 0.3]),
        np.ma.masked_array(P, mask=[0, 1, 0, 0]),
    ):
        with pytest.raises(InvalidForecastsError, match="missing"):
            cal.smooth_calibration_error(Y, series)
    for labels in (pd.Series(["no", None, "yes", "no"]), pl.Series(["no", None, "yes", "no"])):
        with pytest.raises(InvalidForecastsError, match="missing"):
            cal.smooth_calibration_error(labels, P, pos_label="yes")


def test_an_unknown_pos_label_is_refused():
    with pytest.raises(InvalidForecastsError, match="pos_label 'YES' must be one of the labels"):
        cal.smooth_calibration_error(["no", "yes", "yes", "no"], P, pos_label="YES")


def test_a_slice_with_one_class_is_fine():
    assert cal.smooth_calibration_error(["no"] * 4, P, pos_label="yes") == pytest.approx(0.475)


def test_errors_are_value_errors_too():
    with pytest.raises(ValueError, match="at least one row") as caught:
        cal.smooth_calibration_error([], [])
    assert isinstance(caught.value, CalibrantError)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize(("dtype", "off"), [(np.float64, 5e-10), (np.float32, 5e-7)])
def test_rounding_errors_are_clipped_and_counted(dtype, off):
    scores = np.array([0.0, 1.0, 0.5], dtype=dtype) + np.array([-off, off, 0], dtype=dtype)
    joint = cal.Joint.from_samples([0, 1, 1], scores)
    assert joint.prediction.tolist() == [0.0, 0.5, 1.0]
    assert joint.clipped == 2
    for measure in JOINT_MEASURES.values():
        assert measure.function([0, 1, 1], scores).settings["clipped"] == 2


def test_beyond_rounding_is_refused():
    for off in (2e-9, 1e-3):
        with pytest.raises(InvalidForecastsError):
            cal.Joint.from_samples([0, 1], [-off, 0.5])


def test_extreme_doubles_are_levels_of_their_own():
    tiny = [-0.0, 0.0, 5e-324, 1e-310, 2.3e-308, np.nextafter(1, 0), 1.0, 1 - 1e-17]
    joint = cal.Joint.from_samples([0] * 8, tiny)
    assert joint.prediction.tolist() == [0.0, 5e-324, 1e-310, 2.3e-308, np.nextafter(1, 0), 1.0]
    assert not np.signbit(joint.prediction[0])
    assert joint.rows.tolist() == [2, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_one_and_two_rows_are_enough(rows):
    for measure in JOINT_MEASURES.values():
        value = measure.function(Y[:rows], P[:rows])
        assert np.isfinite(value)
        assert value.witness.sentence


def test_a_joint_takes_no_arrays_beside_it():
    joint = cal.Joint.from_samples(Y, P)
    for extra in ({"y_proba": P}, {"sample_weight": P}, {"pos_label": 1}):
        with pytest.raises(InvalidForecastsError, match=next(iter(extra))):
            cal.smooth_calibration_error(joint, **extra)


def test_one_array_alone_is_refused():
    with pytest.raises(InvalidForecastsError, match="measure\\(y_true, y_proba\\)"):
        cal.smooth_calibration_error(Y)


@pytest.mark.parametrize(
    "call",
    [
        lambda j: cal.exact_calibration_error(j, order=0.5),
        lambda j: cal.exact_calibration_error(j, order=np.nan),
        lambda j: cal.binned_calibration_error(j, order=0),
        lambda j: cal.binned_calibration_error(j, n_bins=0),
        lambda j: cal.binned_calibration_error(j, n_bins=2.5),
        lambda j: cal.binned_calibration_error(j, strategy="equal"),
        lambda j: cal.binned_calibration_error(j, strategy=[0, 0.5]),
        lambda j: cal.binned_calibration_error(j, strategy=[0, 0.5, 0.5, 1]),
        lambda j: cal.binned_calibration_error(j, closed="both"),
        lambda j: cal.binned_calibration_error(j, form="centre"),
        lambda j: cal.binned_calibration_error(j, order=3, debias=True),
        lambda j: cal.smooth_calibration_error(j, lipschitz=0),
        lambda j: cal.smooth_calibration_error(j, lipschitz=np.inf),
        lambda j: cal.smooth_calibration_error(j, lipschitz=np.nan),
        lambda j: cal.cutoff_calibration_error(j, sets="points"),
        lambda j: cal.calibration_test(j, draws=0),
        lambda j: cal.calibration_test(j, measure="nothing"),
        lambda j: j.rounded(3),
        lambda j: j.rounded(0),
        lambda j: cal.Joint.from_samples(Y, P, resolution=1000),
        lambda j: cal.Joint.from_counts([0.5], [1], [0], width=2),
        lambda j: j.apply(lambda p: p + 1),
        lambda j: j.apply(lambda p: p[:1]),
    ],
    ids=itertools.count(),
)
def test_bad_options_are_refused(call):
    with pytest.raises(InvalidOptionError):
        call(cal.Joint.from_samples(Y, P))


@pytest.mark.parametrize(
    "odd",
    [
        np.full(4, 0.5 + 0.5j),
        np.full(4, np.datetime64("1970-01-01")),
        np.full(4, np.timedelta64(0, "s")),
        [10**400, 0, 1, 0],
        np.array([10**5000, 0, 1, 0], dtype=object),
        np.full((4, 2), None),
        np.full((4, 2), "half"),
        [[0.5], [0.5], [0.5], []],
    ],
    ids=["complex", "dates", "times", "huge", "too long to write", "nothing", "words", "ragged"],
)
def test_what_is_no_number_is_refused(odd):
    y, p = [0, 1, 0, 1], [0.5] * 4
    for y_true, y_proba, weight in ((y, odd, None), (odd, p, None), (y, p, odd)):
        with pytest.raises(InvalidForecastsError):
            cal.Joint.from_samples(y_true, y_proba, sample_weight=weight)


def test_a_matrix_is_a_column():
    p = np.array([0.1, 0.4, 0.8])
    column = p[:, np.newaxis].view(np.matrix)
    assert cal.smooth_calibration_error([0, 1, 1], column) == cal.smooth_calibration_error(
        [0, 1, 1], p
    )


@pytest.mark.parametrize("label", [[1], {}, 10**5000], ids=["list", "mapping", "long"])
def test_clusters_that_are_no_labels_are_refused(label):
    clusters = np.empty(4, dtype=object)
    clusters[:] = ["a", "b", "c", "d"]
    clusters[2] = label
    with pytest.raises(InvalidForecastsError, match="clusters"):
        cal.calibration_test([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8], clusters=clusters, draws=9)


ODD = {
    "a list of anything": lambda: PlattScaling().fit(
        [np.array(0.5), [[1], [2, 3]], None], [0, 1, 1]
    ),
    "a list of lists": lambda: PlattScaling().fit([[[1], [2, 3]], 0.5, None], [0, 1, 1]),
    "groups without rows": lambda: low_degree_multicalibration_error(
        [0, 1], [0.2, 0.7], np.array(0.5)
    ),
    "edges of no shape": lambda: fixed_decision_loss(
        [0, 1], [0.2, 0.7], task="brier", pooling=[0, [0.5], 1]
    ),
}


@pytest.mark.parametrize("call", ODD.values(), ids=ODD)
def test_odd_shapes_are_refused(call):
    with pytest.raises(CalibrantError):
        call()


def test_numbers_without_a_shape_are_numbers():
    y, p = [0, 1, 1, 0], [0.2, 0.3, 0.6, 0.5]
    odd = PlattScaling().fit([np.array(value) for value in p], y)
    assert odd.transform(p).tolist() == PlattScaling().fit(p, y).transform(p).tolist()


def test_one_cluster_to_judge_by_leaves_forecasts_alone():
    choice = recalibrate([1, 1], [0.2, 0.3], clusters=[2, 1], time=[0, 1], rng=0)
    assert "Leave it alone" in str(choice)


def complex_objects():
    """Complex numbers among objects, whose imaginary part numpy drops with a warning only."""
    column = np.empty(4, dtype=object)
    column[:] = [np.complex128(0.5 + 0.1j), np.complex64(1), 1j, 0.5]
    return column


@pytest.mark.parametrize(
    "bad", [complex_objects(), np.full(4, 0.5 + 0.1j)], ids=["objects", "array"]
)
def test_complex_numbers_are_refused_wherever_they_stand(bad):
    table = np.array([[0.5, 0.5]] * 4)
    for call in (
        lambda: cal.smooth_calibration_error(Y, bad),
        lambda: cal.smooth_calibration_error(Y, P, sample_weight=bad),
        lambda: cal.multiclass.calibration_test(Y, table, sample_weight=bad, draws=9),
        lambda: cal.multiclass.top_label(Y, table, sample_weight=bad),
    ):
        with pytest.raises(InvalidForecastsError, match="must be numbers"):
            call()


@pytest.mark.parametrize("label", [["a", "b"], ("a", "b"), np.array(["a", "b"]), {"a"}])
def test_a_positive_label_is_one_and_not_a_column(label):
    """As many as there are rows would be compared row by row, and all rows be positive."""
    with pytest.raises(InvalidOptionError, match="pos_label must be one label"):
        cal.Joint.from_samples(["a", "b"], [0.2, 0.7], pos_label=label)


@pytest.mark.parametrize("found", [(0.1, 0.2), 1 + 2j, np.complex128(1), "x", None])
def test_a_measure_of_the_callers_own_must_return_a_number(found):
    for test, given in (
        (cal.calibration_test, (Y, P)),
        (cal.multiclass.calibration_test, (Y, np.array([[0.5, 0.5]] * 4))),
    ):
        with pytest.raises(InvalidOptionError, match="measure must return a number"):
            test(*given, measure=lambda _: found, draws=9)


def test_options_of_the_wrong_kind_are_named():
    with pytest.raises(InvalidOptionError, match="functions must calibrator names"):
        cal.groups.multiaccuracy_error(Y, P, functions=[np.ones(4)])
    with pytest.raises(InvalidOptionError, match="task must be a DecisionTask"):
        recalibrate(Y, P, task="mine")
    with pytest.raises(InvalidOptionError, match="simultaneous must be True or False"):
        cal.consistency_band(Y, P, simultaneous="no")


def test_groups_of_odd_objects_are_labels_or_refused():
    spans = np.array([np.timedelta64(3, "D"), np.float32(0.5), -1, "x"], dtype=object)
    assert cal.groups.multiaccuracy_error(Y, P, by={"g": spans}) >= 0
    with pytest.raises(InvalidForecastsError, match="g must hold labels"):
        cal.groups.multiaccuracy_error(Y, P, by={"g": [10**5000, 1, "x", "y"]})


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64, bool, np.float32])
def test_outcomes_of_every_type_count_alike(dtype):
    """Bytes are not widened; what is no outcome is refused in every type."""
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(dtype)
    plain = [float(one) for one in y]
    for measure in (cal.smooth_calibration_error, cal.brier_score, cal.binned_calibration_error):
        value, other = measure(y, p), measure(plain, p)
        assert getattr(value, "value", value) == pytest.approx(getattr(other, "value", other))
    if dtype is not bool:
        bad = y.copy()
        bad[7] = 2
        with pytest.raises(InvalidForecastsError, match="2"):
            cal.smooth_calibration_error(bad, p)


ODD = np.random.default_rng(5)
ODD_P = ODD.random(300)
ODD_Y = (ODD.random(300) < ODD_P).astype(int)
READERS = {
    "audit": lambda frame, **columns: cal.audit(frame, **columns, draws=39).summary.joint,
    "from_frame": cal.Joint.from_frame,
    "choose": lambda frame, **columns: cal.recalibrate(frame, **columns, rng=0).table,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_columns_may_have_numbers_or_tuples_for_names(read):
    plain = pd.DataFrame({"p": ODD_P, "y": ODD_Y})
    expected = read(plain, prediction="p", outcome="y")
    numbered = plain.set_axis([0, 1], axis=1)
    for prediction, outcome in ((0, 1), ("0", "1")):
        assert read(numbered, prediction=prediction, outcome=outcome) == expected
    deep = plain.set_axis(pd.MultiIndex.from_tuples([("a", "p"), ("a", "y")]), axis=1)
    assert read(deep, prediction=("a", "p"), outcome=("a", "y")) == expected
    with pytest.raises(InvalidForecastsError, match=r"a column '7', got columns 0, 1"):
        read(numbered, prediction=7, outcome=1)


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.Table.from_pandas], ids=["pandas", "arrow"])
@pytest.mark.parametrize("twice", ["p", "z"])
def test_a_name_that_stands_twice_is_refused(frame, twice):
    table = pd.DataFrame({"p": ODD_P, "y": ODD_Y, "z": ODD_Y})
    if frame is pd.DataFrame:
        doubled = pd.concat([table, table[[twice]]], axis=1)
    else:
        doubled = pa.Table.from_pandas(table).append_column(twice, pa.array(ODD_P))
    columns = {"prediction": "p", "outcome": "y"}
    for read in (*READERS.values(), partial(cal.groups.audit_groups, by="z")):
        with pytest.raises(InvalidForecastsError, match=f"got 2 columns '{twice}'. Hint: rename"):
            read(doubled, **columns)
    with pytest.raises(InvalidForecastsError, match=f"got 2 columns '{twice}'"):
        cal.audit(doubled, **columns, kind="mean")
    with pytest.raises(InvalidForecastsError, match=f"got 2 columns '{twice}'"):
        cal.groups.audit_groups(ODD_Y, ODD_P, doubled)
    with pytest.raises(InvalidForecastsError, match=f"got 2 columns '{twice}'"):
        cal.multiclass.top_label(ODD_Y, doubled)


MEANS = [0.1, 0.7, 0.0, 0.4, 0.3, 0.8]


def test_certain_forecasts_of_mean_outcomes_are_measured_with_a_warning():
    certain = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    with pytest.warns(CalibrantWarning, match="are the two arguments swapped"):
        error = cal.exact_calibration_error(MEANS, certain)
    assert error == pytest.approx(2.3 / 6)
    table = pl.DataFrame({"y": MEANS, "p": certain})
    with pytest.warns(CalibrantWarning, match="are the two columns swapped"):
        joint = cal.Joint.from_frame(table, prediction="p", outcome="y")
    assert cal.exact_calibration_error(joint) == pytest.approx(2.3 / 6)
    for labels in (certain.astype(int), certain == 1):
        with pytest.raises(InvalidForecastsError, match="swapped"):
            cal.exact_calibration_error(MEANS, labels)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((["a", "b"], [0.1, 0.2], None), "y_true must be 0 and 1"),
        (([0, 1], ["a", "b"], None), "y_proba must be numbers"),
        (([0, 1], [0.1, 0.2], ["a", "b"]), "sample_weight must be numbers"),
        (([0, 1], [0.1, 0.2], 2.0), "sample_weight must be one column"),
        (([0, 1], (p for p in [0.1, 0.2]), None), "y_proba must be an array.*got generator"),
    ],
)
def test_errors_name_the_argument_that_is_wrong(arguments, named):
    with pytest.raises(InvalidForecastsError, match=f"^{named}"):
        Rows.read(*arguments)


def test_decimals_of_a_database_are_outcomes():
    rows = Rows.read([Decimal(1), Decimal("0.0")], [Decimal("0.25"), Decimal("0.5")])
    assert rows.outcome.tolist() == [1, 0]
    assert rows.prediction.tolist() == [0.25, 0.5]


def test_hints_on_extreme_weights_help():
    for weight, hint in (
        ([1.0, 1e-200], "Hint: set those below"),
        ([1e-200, 2e-200], "Hint: divide"),
    ):
        with pytest.raises(InvalidForecastsError, match=hint):
            Rows.read([0, 1], [0.1, 0.2], weight)
    Rows.read([0, 1], [0.1, 0.2], np.array([1e-200, 2e-200]) / 1.5e-200)
    Rows.read([0, 1], [0.1, 0.2], [1.0, 0.0])


def test_times_beyond_all_clocks_are_rejected_as_times():
    with pytest.raises(InvalidForecastsError, match=r"time must hold numbers of at most 1e\+100"):
        cal.audit([0, 1, 1], [0.2, 0.5, 0.7], time=[1.0, 2.0, 1e300])
