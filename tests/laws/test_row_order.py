"""With a fixed seed no answer depends on the order of the rows.

The test walks over the public names of every package by itself: a new function either takes part,
or stands below with the reason why it does not.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.errors import CalibrantWarning
from calibrant.weight_functions import LearnedFamily
from commands import run_forked

PACKAGES = (
    "calibrant",
    "calibrant.decisions",
    "calibrant.groups",
    "calibrant.inference",
    "calibrant.integrations",
    "calibrant.multiclass",
    "calibrant.recalibration",
    "calibrant.survival",
)
KINDS = ("mean", "median", "quantile=0.9", "expectile=0.8", "interval")
SIZE = 600
# What is not asked, and why.
NO_ROWS = {
    "show_versions": "takes nothing",
    "threads": "takes no rows",
    "rows_needed": "plans from predictions alone",
    "verdict_chances": "plans from predictions alone",
    "default_tolerance": "takes a Joint",
    "noise_floors": "takes a Joint",
    "judge_groups": "takes what other functions read",
    "joints_by": "takes frames, see tests/joint/test_engine.py",
    "load": "takes stored calibrators",
    "scorers": "takes no rows",
    "log_audit": "takes an audit",
    "as_score": "takes a score",
    "asymmetric_loss": "makes a loss",
    "quantile_loss": "makes a loss",
    "observed_risk": "takes risks by a horizon, see tests/survival/test_survival.py",
}
ROW_BY_ROW = {
    "omnipredict": "one answer for each row, in their order",
    "absolute_loss": "one answer for each row, in their order",
    "squared_loss": "one answer for each row, in their order",
    "row_losses": "one answer for each row, in their order",
    "hardcore_measure": "one weight for each row, in their order",
    "dense_model": "one weight for each row, in their order",
    "CalibrationMonitor": "a stream: its rows come one after the other",
}
# Functions that take two outcomes and classes, told by the shape.
BOTH_KINDS = {"recalibrate"}
# Features that are left out: odds are given, and a number of random features is an option.
NO_FEATURES = {"target_mean", "canonical_calibration_error"}
# Rows of another population beside the rows.
OTHER_ROWS = {"target_proba"}
BESIDE = ((), ("sample_weight",), ("clusters",), ("time",))
# What has no answer, and says so.
REFUSED = {
    ("calibration_index", ("sample_weight",)): "knows no weights",
    ("certified_threshold", ("sample_weight",)): "need rows that count alike",
    ("weighted_calibration_error", ("sample_weight",)): "rows without weights",
    ("loss_decomposition", "interval"): "intervals need both ends",
}
# A field that holds the rows, in their order.
THE_ROWS = {"forecasts"}
# A base, a calibrator whose patches others look for, learners of tests and of features
# (tests/groups), and models around models (tests/models).
BASES = {
    "Calibrator",
    "GroupCalibrator",
    "OutcomeIndistinguishable",
    "Omnipredictor",
    "CalibratedClassifier",
    "CostSensitiveClassifier",
}


def _rows():
    rng = np.random.default_rng(7)
    p = np.clip(np.round(rng.beta(1, 2, SIZE), 2), 0.01, 0.99)
    y = (rng.random(SIZE) < np.clip(p * 0.6 + 0.05, 0, 1)).astype(int)
    table = rng.dirichlet(np.ones(3), SIZE).round(3)
    table[:, 2] = 1 - table[:, 0] - table[:, 1]
    table = np.abs(table)
    other = np.random.default_rng(8)
    z = np.round(other.gamma(4, 5, SIZE), 1)
    return {
        "real": z + other.gumbel(0, 4, SIZE).round(2),
        "z": z,
        "upper": z + 6 + other.integers(0, 5, SIZE),
        "second": z + other.normal(0, 1, SIZE).round(1),
        "y": y,
        "p": p,
        "q": np.clip(p + 0.1 * rng.standard_normal(SIZE), 0, 1),
        "P": table / table.sum(axis=1, keepdims=True),
        "label": (table.cumsum(axis=1)[:, :2] < rng.random((SIZE, 1))).sum(axis=1),
        "weight": rng.choice([0.5, 1.0, 3.0], SIZE),
        "cluster": rng.integers(0, 40, SIZE),
        "time": rng.integers(0, 50, SIZE),
        "site": rng.choice(["north", "south", "west"], SIZE),
        "age": rng.integers(18, 90, SIZE),
        "key": np.arange(SIZE),
    }


ROWS = _rows()


def permuted(seed):
    order = np.random.default_rng(seed).permutation(SIZE)
    return {name: values[order] for name, values in ROWS.items()}


def arguments(parameter, rows, classes):
    """What a parameter is given; None leaves it out."""
    by = {"site": rows["site"], "age": rows["age"]}
    known = {
        "y_true": lambda: rows["label"] if classes else rows["y"],
        "y_proba": lambda: rows["P"] if classes else rows["p"],
        "y_proba_a": lambda: rows["p"],
        "y_proba_b": lambda: rows["q"],
        "outcome": lambda: None,
        "by": lambda: by,
        "grades": lambda: rows["site"],
        "groups": lambda: rows["site"],
        "features": lambda: np.column_stack([rows["age"], rows["weight"]]),
        "family": _tree,
        "weights": lambda: rows["weight"],
        "odds": lambda: rows["weight"],
        "target_proba": lambda: rows["q"],
        "distinguisher": lambda: lambda features, y, p: np.asarray(y * p),
        "losses": lambda: {"squared": cal.groups.squared_loss},
        "comparators": lambda: {"flat": np.full(SIZE, 0.3)},
        "task": lambda: _task(classes),
        "tasks": lambda: [_task(classes)],
        "score": lambda: "log",
        "find_segments": lambda: None,
        "draws": lambda: 39,
        "rng": lambda: 5,
        "name": lambda: 1,
        "k": lambda: 2,
        "pair": lambda: (0, 1),
        "members": lambda: [0, 2],
    }
    return known[parameter]() if parameter in known else None


def _tree():
    from sklearn.tree import DecisionTreeRegressor

    return LearnedFamily(DecisionTreeRegressor(max_depth=2, random_state=0), draws=39)


def _task(classes):
    if classes:
        return cal.multiclass.MulticlassDecisionTask(np.eye(3))
    return cal.DecisionTask([[0, 0], [-1, 3]])


def takes_rows(name, thing):
    return inspect.isfunction(thing) and name not in NO_ROWS | ROW_BY_ROW


def functions(besides=BESIDE):
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if takes_rows(name, thing) and "y_pred" not in inspect.signature(thing).parameters:
                kinds = (
                    (False, True) if name in BOTH_KINDS else (package == "calibrant.multiclass",)
                )
                known = inspect.signature(thing).parameters
                for classes, beside in product(kinds, besides):
                    if all(option in known for option in beside):
                        kind = ("classes",) if classes else ()
                        told = ".".join((package, name, *kind, *beside))
                        yield pytest.param(package, name, beside, classes, id=told)


def given_to(package, name, beside, rows, classes):
    """Arguments that a function is called with."""
    function = getattr(import_module(package), name)
    given = {}
    for parameter, entry in inspect.signature(function).parameters.items():
        value = arguments(parameter, rows, classes)
        optional = entry.default is not inspect.Parameter.empty
        if classes and name in BOTH_KINDS and parameter == "task":
            continue  # is for two outcomes
        if optional and parameter in {"by", "features", "tasks", "task"} and "y_proba" not in given:
            continue
        if parameter == "features" and name in NO_FEATURES:
            continue
        if value is not None and (parameter != "score" or not optional):
            given[parameter] = value
    sources = {"sample_weight": "weight", "clusters": "cluster", "time": "time"}
    return given | {option: rows[sources[option]] for option in beside}


def called(package, name, beside, rows, classes):
    function, given = (
        getattr(import_module(package), name),
        given_to(package, name, beside, rows, classes),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        try:
            return function(**given)
        except AssertionError as error:
            assert name == "assert_calibrated"  # its answer
            return str(error)


@cache
def plain_facts(package, name, beside, classes):
    """What is said of the rows as they stand."""
    return facts(called(package, name, beside, ROWS, classes))


def facts(thing):
    """What a result says, as plain data."""
    if isinstance(thing, cal.Audit):
        return {"text": str(thing), "json": json.loads(thing.to_json())}
    if isinstance(thing, cal.Measurement):
        return {"value": float(thing), **facts(dict(thing.settings)), "words": _words(thing)}
    if isinstance(thing, cal.Joint) or dataclasses.is_dataclass(thing):
        told = [n for n in _names(thing) if not n.startswith("_") and n not in THE_ROWS]
        return {n: facts(getattr(thing, n)) for n in told}
    if isinstance(thing, Mapping):
        return {str(key): facts(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [facts(value) for value in thing]
    return facts(thing.to_dict()) if hasattr(thing, "to_dict") else thing


def _names(thing):
    if isinstance(thing, cal.Joint):
        return ["prediction", "positives", "weight"]
    fields = [field.name for field in dataclasses.fields(thing)]
    return fields + [n for n in ("sentence", "before", "after") if hasattr(thing, n)]


def _words(measurement):
    try:
        return str(getattr(measurement.witness, "sentence", ""))
    except cal.errors.CalibrantError as error:
        return str(error)


def same(first, second, path):
    assert type(first) is type(second), path
    if isinstance(first, dict):
        assert list(first) == list(second), path
        for key in first:
            same(first[key], second[key], f"{path}.{key}")
    elif isinstance(first, list):
        assert len(first) == len(second), path
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            same(a, b, f"{path}[{i}]")
    elif np.asarray(first).dtype.kind in "fc":
        np.testing.assert_allclose(second, first, rtol=1e-12, atol=1e-15, err_msg=path)
    elif np.asarray(first).dtype.kind != "O":
        np.testing.assert_array_equal(second, first, err_msg=path)


@pytest.mark.parametrize(("package", "name", "beside", "classes"), list(functions()))
def test_permuted_rows_give_the_same_answer(package, name, beside, classes):
    if (name, beside) in REFUSED:
        with pytest.raises(cal.errors.InferenceRefusedError, match=REFUSED[name, beside]):
            called(package, name, beside, ROWS, classes)
        pytest.skip("it has no answer")
    first = plain_facts(package, name, beside, classes)
    same(first, facts(called(package, name, beside, permuted(1), classes)), name)


def _of_every_kind():
    """Functions that are told the kind of the forecasts, by name."""
    found = {}
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if takes_rows(name, thing) and "kind" in inspect.signature(thing).parameters:
                assert found.setdefault(name, thing) is thing
    return found


OF_EVERY_KIND = _of_every_kind()


def test_functions_of_every_kind_are_found():
    known = {"audit", "betting_test", "calibration_error", "recalibrate", "compare", "verdict"}
    assert known | {"loss_decomposition"} <= set(OF_EVERY_KIND)


def real_functions(besides=BESIDE):
    for name, thing in OF_EVERY_KIND.items():
        known = inspect.signature(thing).parameters
        for kind, beside in product(KINDS, besides):
            # Times are for probabilities.
            if "time" not in beside and all(option in known for option in beside):
                yield pytest.param(name, kind, beside, id=".".join((name, kind, *beside)))


def given_to_real(name, kind, beside, rows):
    """Arguments that a function of continuous outcomes is called with."""
    z, second = rows["z"], rows["second"]
    pairs = kind == "interval"
    known = {
        "y_true": rows["real"],
        "y_pred": z,
        "y_proba": two_columns(z, rows["upper"]) if pairs else z,
        "y_proba_a": two_columns(z, rows["upper"]) if pairs else z,
        "y_proba_b": two_columns(second, rows["upper"]) if pairs else second,
        "kind": kind,
        "upper": rows["upper"] if pairs else None,
        "level": 0.8 if pairs else None,
        "range": (-100, 500) if name == "betting_test" and not pairs else None,
        "draws": 99,
        "rng": 5,
    }
    sources = {"sample_weight": "weight", "clusters": "cluster", "time": "time"}
    known |= {option: rows[sources[option]] for option in beside}
    asked = set(inspect.signature(OF_EVERY_KIND[name]).parameters) & set(known)
    return {option: known[option] for option in asked}


def two_columns(low, high):
    """Both ends of intervals, in a table of the kind that their columns are of."""
    columns = {"low": low, "high": high}
    if isinstance(low, pd.Series):
        return pd.DataFrame(columns)
    if isinstance(low, pl.Series):
        return pl.DataFrame(columns)
    if isinstance(low, pa.Array):
        return pa.table(columns)
    ends = np.column_stack([low, high])
    return ends.tolist() if isinstance(low, list) else ends


def called_real(name, kind, beside, rows):
    return OF_EVERY_KIND[name](**given_to_real(name, kind, beside, rows))


@pytest.mark.parametrize("name", ["audit", "recalibrate"])
@pytest.mark.parametrize("kind", KINDS)
def test_times_are_for_probabilities(name, kind):
    with pytest.raises(cal.errors.InvalidOptionError, match="time is for"):
        called_real(name, kind, ("time",), ROWS)


@pytest.mark.parametrize(("name", "kind", "beside"), list(real_functions()))
def test_permuted_rows_of_real_outcomes_give_the_same_answer(name, kind, beside):
    if (name, kind) in REFUSED:
        with pytest.raises(cal.errors.InvalidOptionError, match=REFUSED[name, kind]):
            called_real(name, kind, beside, ROWS)
        pytest.skip("it has no answer")
    first = facts(called_real(name, kind, beside, ROWS))
    same(first, facts(called_real(name, kind, beside, permuted(1))), name)


@pytest.mark.parametrize(("name", "kind", "beside"), list(real_functions([()])))
def test_the_container_of_real_outcomes_changes_nothing(name, kind, beside):
    if (name, kind) in REFUSED:
        pytest.skip("it has no answer")
    first = facts(called_real(name, kind, beside, ROWS))
    for container in CONTAINERS.values():
        held = {key: container(ROWS[key]) for key in ("real", "z", "upper", "second")}
        same(first, facts(called_real(name, kind, beside, ROWS | held)), name)


def estimators():
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and hasattr(thing, "fit") and name not in BASES:
                for classes in (False, True):
                    if getattr(thing, "for_classes" if classes else "for_two", not classes):
                        kind = ".classes" if classes else ""
                        yield pytest.param(package, name, classes, id=f"{package}.{name}{kind}")


@pytest.mark.parametrize(("package", "name", "classes"), list(estimators()))
def test_permuted_rows_fit_the_same_map(package, name, classes):
    fitted = []
    for rows in (ROWS, permuted(1), permuted(2)):
        made = getattr(import_module(package), name)()
        table, label = (rows["P"], rows["label"]) if classes else (rows["p"], rows["y"])
        new = ROWS["P"] if classes else ROWS["p"]
        if name == "Multicalibrator":
            by = ({"site": rows["site"], "age": rows["age"]},)
            fitted.append(made.fit(table, label, *by).transform(new, {k: ROWS[k] for k in by[0]}))
        else:
            fitted.append(made.fit(table, label).transform(new))
    for other in fitted[1:]:
        np.testing.assert_allclose(other, fitted[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["low_degree", "boosted"])
def test_permuted_rows_give_the_same_multicalibrator(method):
    found = []
    for rows in (ROWS, permuted(3)):
        by = {"site": rows["site"], "age": rows["age"]}
        made = cal.groups.Multicalibrator(method).fit(rows["p"], rows["y"], by)
        found.append(made.transform(ROWS["p"], {"site": ROWS["site"], "age": ROWS["age"]}))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_an_audit_with_everything_is_the_same():
    found = []
    for rows in (ROWS, permuted(4)):
        by = {"site": rows["site"], "age": rows["age"]}
        found.append(cal.audit(rows["y"], rows["p"], by=by, find_segments=True, pairs=True))
    same(facts(found[0]), facts(found[1]), "audit")


# Row labels of pandas that are not those by default, and the same in another order.
LABELS = np.arange(SIZE)[::-1] * 2 + 7
CONTAINERS = {
    "lists": lambda values: values.tolist(),
    "pandas": pd.Series,
    "pandas with labels": lambda values: pd.Series(values, index=LABELS),
    "polars": pl.Series,
    "arrow": pa.array,
}


@pytest.mark.parametrize(("package", "name", "beside", "classes"), list(functions([()])))
def test_the_container_changes_nothing(package, name, beside, classes):
    first = plain_facts(package, name, beside, classes)
    for container in CONTAINERS.values():
        held = {key: container(ROWS[key]) for key in ("y", "p", "q", "label", "weight")}
        same(first, facts(called(package, name, beside, ROWS | held, classes)), name)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows in two orders."""
    folder = tmp_path_factory.mktemp("orders")
    for order, rows in enumerate((ROWS, permuted(5))):
        columns = {key: rows[key] for key in ("y", "p", "weight", "cluster", "time", "site", "age")}
        pd.DataFrame(columns | {"key": rows["key"]}).to_csv(folder / f"{order}.csv", index=False)
        classes = pd.DataFrame(rows["P"], columns=["a", "b", "c"])
        classes["outcome"] = np.array(["a", "b", "c"])[rows["label"]]
        classes.to_parquet(folder / f"{order}.parquet")
    return folder


BOTH = ("--prediction", "p", "--outcome", "y", "--json", "-")
COMMANDS = {
    "audit": ("audit", *BOTH, "--by", "site,age", "--pairs", "--find-segments", "--time", "time"),
    "audit by cluster": ("audit", *BOTH, "--cluster", "cluster", "--weight", "weight"),
    "check": ("check", *BOTH, "--by", "site"),
    "recalibrate": ("recalibrate", *BOTH, "--by", "site"),
    "monitor": ("monitor", *BOTH, "--time", "time"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_say_the_same_of_permuted_rows(command, files):
    said = []
    for order in (0, 1):
        name, *options = COMMANDS[command]
        path = str(files / f"{order}.csv")
        ended = run_forked(name, path, *options)
        assert ended.code in {0, 1, 3}, ended
        found = json.loads(ended.stdout.replace(path, "rows.csv"))
        found.pop("title", None)
        for key in ("files", "command"):
            found.get("settings", {}).pop(key, None)
        said.append((ended.code, found))
    assert said[0][0] == said[1][0]
    same(said[0][1], said[1][1], command)


def test_a_choice_of_classes_is_one():
    for beside in BESIDE:
        choice = called("calibrant.recalibration", "recalibrate", beside, ROWS, classes=True)
        assert isinstance(choice, cal.recalibration.Recalibration), choice


@pytest.mark.parametrize("beside", [(), ("sample_weight",), ("clusters",), ("time",)])
def test_an_audit_of_classes_with_everything_is_the_same(beside):
    sources = {"sample_weight": "weight", "clusters": "cluster", "time": "time"}
    found = []
    for rows in (ROWS, permuted(4)):
        by = {"site": rows["site"], "age": rows["age"]}
        options = {option: rows[sources[option]] for option in beside}
        found.append(
            cal.audit(rows["label"], rows["P"], by=by, find_segments=True, draws=39, **options)
        )
    same(facts(found[0]), facts(found[1]), "audit")


def test_what_is_left_out_is_there():
    public = {name for package in PACKAGES for name in import_module(package).__all__}
    assert set(NO_ROWS | ROW_BY_ROW) <= public


def labelled(value, labels):
    """Rows with labels, also those in mappings and pairs; what holds no rows as it is."""
    if isinstance(value, dict):
        return {key: labelled(held, labels) for key, held in value.items()}
    if isinstance(value, tuple):
        return tuple(labelled(held, labels) for held in value)
    if isinstance(value, np.ndarray) and len(value) == SIZE:
        return (pd.Series if value.ndim == 1 else pd.DataFrame)(value, index=labels)
    return value


def holds_rows(value):
    if isinstance(value, dict):
        return any(map(holds_rows, value.values()))
    return isinstance(value, tuple | np.ndarray) and len(np.ravel(value)) >= SIZE


def refused_one_by_one(function, given):
    """Give each argument in turn the labels of the others in another order, or other labels."""
    rows = [name for name, value in given.items() if holds_rows(value) and name not in OTHER_ROWS]
    assert len(rows) > 1, rows
    for name in rows:
        for labels in (np.roll(LABELS, 1), np.arange(SIZE)):
            held = {
                n: labelled(value, labels if n == name else LABELS) for n, value in given.items()
            }
            with pytest.raises(
                cal.errors.InvalidForecastsError, match="must have the same row lab"
            ):
                function(**held)


@pytest.mark.parametrize(("package", "name", "beside", "classes"), list(functions()))
def test_rows_with_other_labels_are_refused(package, name, beside, classes):
    given = given_to(package, name, beside, ROWS, classes)
    refused_one_by_one(getattr(import_module(package), name), given)


@pytest.mark.parametrize(("name", "kind", "beside"), list(real_functions()))
def test_real_outcomes_with_other_labels_are_refused(name, kind, beside):
    given = given_to_real(name, kind, beside, ROWS)
    refused_one_by_one(OF_EVERY_KIND[name], given)


@pytest.mark.parametrize(("package", "name", "classes"), list(estimators()))
def test_estimators_refuse_rows_with_other_labels(package, name, classes):
    given = {"X": ROWS["P" if classes else "p"], "y": ROWS["label" if classes else "y"]}
    given["sample_weight"] = ROWS["weight"]
    if name == "Multicalibrator":
        given["by"] = {"site": ROWS["site"], "age": ROWS["age"]}
    refused_one_by_one(getattr(import_module(package), name)().fit, given)


def _further():
    """Methods, and functions that are walked over nowhere else."""
    from sklearn.linear_model import LogisticRegression

    two = {"y_true": ROWS["y"], "y_proba": ROWS["p"]}
    by = {"site": ROWS["site"], "age": ROWS["age"]}
    model = {"X": np.column_stack([ROWS["age"], ROWS["z"]]), "y": ROWS["y"]}
    model["sample_weight"] = ROWS["weight"]
    logistic, distributions = LogisticRegression(), cal.distributions.PredictiveDistributions
    ensemble = distributions.from_ensemble(ROWS["z"][:, np.newaxis] + np.arange(5))
    decision = cal.models.CostSensitiveClassifier(logistic, _task(classes=False))
    certain = (ROWS["site"] == "west").astype(int)
    patched = cal.groups.recalibrate_by_group(
        certain, ROWS["p"], {"site": ROWS["site"]}, rng=0
    ).calibrator
    yield "monitor", import_module("calibrant.monitoring").run_monitor, {
        **two, "time": ROWS["time"], "by": ROWS["site"], "clusters": ROWS["cluster"]
    }  # fmt: skip
    monitor = cal.CalibrationMonitor(cluster_forecast="last")
    yield "update_many", monitor.update_many, {**two, "clusters": ROWS["cluster"]}
    real = {"y_true": ROWS["real"], "y_proba": two_columns(ROWS["z"], ROWS["upper"])}
    yield (
        "update_many of intervals",
        cal.CalibrationMonitor(kind="interval", level=0.8).update_many,
        real,
    )
    clusters = {"y_true": 1.0 * ROWS["cluster"], "y_proba": ROWS["z"], "clusters": ROWS["cluster"]}
    of_means = cal.CalibrationMonitor(kind="mean", range=(0, 500), cluster_forecast="last")
    yield "update_many of means", of_means.update_many, clusters
    yield "survival", lambda **given: cal.survival.SurvivalForecasts.read(**given, horizon=30), {
        "duration": ROWS["time"], "event": ROWS["y"], "risk": ROWS["p"],
        "by": {"site": ROWS["site"]}, "sample_weight": ROWS["weight"],
    }  # fmt: skip
    weighed = {"y_true": ROWS["real"], "sample_weight": ROWS["weight"]}
    for method in ("pit_test", "pit_histogram", "crps_decomposition"):
        yield method, getattr(ensemble, method), weighed
    yield "thresholds", lambda **given: ensemble.threshold_calibration(**given, thresholds=[20]), {
        **weighed, "clusters": ROWS["cluster"]
    }  # fmt: skip
    yield "CalibratedClassifier", cal.models.CalibratedClassifier(logistic).fit, {
        **model, "clusters": ROWS["cluster"], "time": ROWS["time"]
    }  # fmt: skip
    yield "CostSensitiveClassifier", decision.fit, model
    yield "score of a CalibratedClassifier", cal.models.CalibratedClassifier(logistic).score, model
    yield "score of a CostSensitiveClassifier", decision.score, model
    yield (
        "OutcomeIndistinguishable",
        cal.groups.OutcomeIndistinguishable({"age": lambda x, y, p: np.asarray(y * p)}).fit,
        {"features": by, "y_true": ROWS["y"], "sample_weight": ROWS["weight"]},
    )
    corrected = cal.groups.Multicalibrator().fit(ROWS["p"], ROWS["y"], by)
    yield "Multicalibrator.transform", corrected.transform, {"X": ROWS["p"], "by": by}
    assert patched.patches.patches
    yield (
        "GroupCalibrator.transform",
        patched.transform,
        {"X": ROWS["p"], "by": {"site": ROWS["site"]}},
    )
    yield (
        "target",
        lambda **given: cal.groups.target_mean(
            ROWS["y"], ROWS["p"], pd.Series(ROWS["q"], index=LABELS), **given
        ),
        {"target_features": {"age": ROWS["age"]}, "target_clusters": ROWS["cluster"]},
    )
    for function in (cal.groups.hardcore_measure, cal.groups.dense_model):
        first = next(iter(inspect.signature(function).parameters))
        yield function.__name__, function, {
            first: ROWS["y"], "y_proba": ROWS["p"], "tests": {"q": ROWS["q"]},
            "sample_weight": ROWS["weight"],
        }  # fmt: skip
    yield "certified", cal.certified_threshold, {**two, "groups": ROWS["site"]}
    yield "individuals", cal.distance_to_calibration, {**two, "individuals": ROWS["key"]}
    yield "judged", cal.llm.judged_rate, {
        "label": ROWS["y"], "score": ROWS["p"], "clusters": ROWS["cluster"]
    }  # fmt: skip
    yield "votes", cal.llm.vote_shares, {"question": ROWS["age"], "answer": ROWS["site"]}
    mass = np.full(SIZE, 1 / SIZE)
    yield "masses", cal.hallucination.generative_miscalibration, {
        "model_mass": mass, "true_mass": mass, "size": np.ones(SIZE)
    }  # fmt: skip
    counted = {"prediction": ROWS["p"], "count": np.ones(SIZE), "positives": ROWS["y"]}
    yield "counts", cal.Joint.from_counts, counted
    yield "stream", cal.online.StreamRecalibrator().run, {
        "outcomes": ROWS["y"], "probabilities": ROWS["p"]
    }  # fmt: skip
    windows = import_module("calibrant.plots").TimeDisplay.from_predictions
    yield "windows", windows, {**two, "time": ROWS["time"]}
    yield "diagram", import_module("calibrant.plots").ReliabilityDisplay.from_predictions, {
        **two, "sample_weight": ROWS["weight"], "clusters": ROWS["cluster"]
    }  # fmt: skip
    fitted = logistic.fit(model["X"], model["y"])
    display = import_module("calibrant.plots").ReliabilityDisplay.from_estimator
    yield "estimator", lambda **given: display(fitted, **given), model


def test_methods_refuse_rows_with_other_labels():
    asked = []
    for name, function, given in _further():
        refused_one_by_one(function, given)
        asked.append(name)
    assert len(set(asked)) == len(asked) > 25


def test_labels_of_rows_matter_where_both_have_some():
    y, p = pd.Series(ROWS["y"]), pd.Series(ROWS["p"])
    expected = cal.brier_score(ROWS["y"], ROWS["p"])
    assert cal.brier_score(y, p) == expected
    shuffled = p.sample(frac=1, random_state=0)
    assert cal.brier_score(y, shuffled.reindex(y.index)) == expected
    assert cal.brier_score(y.set_axis(LABELS), ROWS["p"]) == expected
    assert cal.brier_score(y.set_axis(LABELS), p.to_numpy()) == expected
    assert cal.brier_score(y, pl.Series(ROWS["p"])) == expected
    with pytest.raises(cal.errors.InvalidForecastsError) as refused:
        cal.brier_score(y, shuffled)
    assert str(refused.value) == (
        "y_true and y_proba must have the same row labels (index) in the same order, got the same "
        "labels in another order. Hint: y_proba.reindex(y_true.index) pairs rows by label, "
        "y_proba.to_numpy() by position."
    )
    with pytest.raises(cal.errors.InvalidForecastsError, match=r"labels 0 and 1205 in row 1"):
        cal.brier_score(y, p.set_axis(LABELS))
    doubled = y.set_axis(np.arange(SIZE) // 2)
    assert cal.brier_score(doubled, p.set_axis(doubled.index)) == expected
    with pytest.raises(cal.errors.InvalidForecastsError, match=r"Hint: y_proba.to_numpy\(\) by"):
        cal.brier_score(doubled, p)
    with pytest.raises(cal.errors.InvalidForecastsError, match="same length"):
        cal.brier_score(y, p[ROWS["y"] == 1])


def test_maps_name_the_arguments_of_their_users():
    with pytest.raises(cal.errors.InvalidForecastsError, match=r"^y and X must .* Hint: X.reindex"):
        cal.recalibration.PlattScaling().fit(
            pd.Series(ROWS["p"]).sample(frac=1), pd.Series(ROWS["y"])
        )
