"""Record what the package returns, prints and writes, and compare two recordings.

    python tools/freeze.py write FOLDER [--only PART ...]
    python tools/freeze.py compare OLD NEW

Each part is a file of facts, one a line: a key, a tab, a value. Floats are written exactly, with
`float.hex`. A call that fails is recorded as its error. `compare` exits with 1 if a fact differs.

The package recorded is the one in `src` beside this file. Where that is not the installed one, copy
the compiled kernels into it first.
"""
# ruff: noqa: E402  # the package to record is chosen before it is imported

from __future__ import annotations

import argparse
import dataclasses
import difflib
import hashlib
import inspect
import json
import multiprocessing
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CALIBRANT_THREADS"):
    os.environ[_variable] = "1"  # so that numbers are added in one order
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
if any(path.suffix in {".so", ".pyd"} for path in (ROOT / "src" / "calibrant").glob("_kernels*")):
    # The finder of an editable install comes before every path.
    sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
    sys.path.insert(0, str(ROOT / "src"))

import numpy as np
import pandas as pd

import calibrant as cal
import warm  # what commands import
from commands import _command, ended
from laws import test_row_order as law

PARTS = ("commands", "functions", "stored", "api")
# Where the entry points of real outcomes are: change the right side when one moves.
NAMES = {
    "MEASURES": "calibrant.inference.calibration_error.MEASURES",
    "PredictiveDistributions": "calibrant.distributions.PredictiveDistributions",
    "RealForecasts": "calibrant.data.rows.Rows",
    "RealMonitor": "calibrant.CalibrationMonitor",
    "SurvivalForecasts": "calibrant.survival.SurvivalForecasts",
    "audit": "calibrant.audit",
    "betting_test": "calibrant.betting_test",
    "calibration_error": "calibrant.calibration_error",
    "compare": "calibrant.compare",
    "load": "calibrant.recalibration.load",
    "loss_decomposition": "calibrant.decisions.loss_decomposition",
    "observed_risk": "calibrant.survival.observed_risk",
    "recalibrate": "calibrant.cal.recalibrate",
    "verdict": "calibrant.verdict",
}
KINDS: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind} for kind in ("mean", "median", "quantile=0.9", "quantile=0.99")},
    "mean in a range": {"kind": "mean", "range": (-100, 500)},
    "expectile=0.8": {"kind": "expectile=0.8"},
    "expectile in a range": {"kind": "expectile=0.8", "range": (-100, 500)},
    "interval": {"kind": "interval", "level": 0.8},
}
SOURCES = {"sample_weight": "weight", "clusters": "cluster", "time": "time"}
BESIDES = ((), ("sample_weight",), ("clusters",), ("time",))
METHODS = ("choose", "identity", "shift", "line", "curve", "isotonic", "conformal")
DIALECTS = ("duckdb", "postgres", "spark", "sqlite")
ROWS = law.ROWS
EVENTS = 2 * ROWS["cluster"] + ROWS["y"]  # rows of one outcome
MANY = np.random.default_rng(11).integers(0, law.SIZE, 5_000)
MANY_ROWS = {name: values[MANY] for name, values in ROWS.items()}
# Objects within objects, and values of an array; longer ones are recorded as a digest.
DEEPEST, MOST_VALUES, MOST_VALUES_WITHIN = 4, 1_000, 16
FACTS: dict[str, str] = {}


class MissingNameError(Exception):
    """An entry point that is not where `NAMES` says."""


def named(name: str) -> Any:
    room, _, last = NAMES[name].rpartition(".")
    try:
        return getattr(import_module(room), last)
    except (ImportError, AttributeError) as error:
        raise MissingNameError(NAMES[name]) from error


# From results to facts.


def note(path: str, function: Callable[..., Any], *given: Any, **options: Any) -> None:
    """Record what a call returns, and the warnings it gives; or its error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = dict(walk(f"{path}:", function(*given, **options)))
        except MissingNameError as error:
            found = {f"{path}:": f"missing {error}"}
        except Exception as error:  # noqa: BLE001  # recorded, whatever it is
            found = {f"{path}:": f"error {type(error).__name__}: {json.dumps(cleaned(error))}"}
    FACTS.update({key: value.replace("\n", " ") for key, value in found.items()})
    for number, text in enumerate(sorted({f"{w.category.__name__} {w.message}" for w in warned})):
        FACTS[f"{path}: warning {number}"] = json.dumps(cleaned(text), ensure_ascii=False)


def attempt(function: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Return what a call returns, or its error as text."""
    try:
        return function(*given, **options)
    except Exception as error:  # noqa: BLE001  # recorded, whatever it is
        return f"error {type(error).__name__}: {cleaned(error)}"


def cleaned(text: object) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", str(text)).replace(str(ROOT), "ROOT")


def plain(value: Any) -> str | None:
    """Return a single value as text; None if it holds others."""
    if value is None or isinstance(value, bool | int | np.bool_ | np.integer):
        return str(value)
    if type(value) is float or isinstance(value, np.floating):
        return float(value).hex()
    if isinstance(value, str):
        return json.dumps(str(value), ensure_ascii=False)
    return f"sha256 {hashlib.sha256(value).hexdigest()}" if isinstance(value, bytes) else None


def walk(path: str, thing: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every fact about a result."""
    single = plain(thing)
    if single is not None:
        yield path, single
    elif depth > DEEPEST:
        yield path, f"({type(thing).__name__})"
    elif isinstance(thing, np.ndarray | list | tuple | set | frozenset):
        items = sorted(thing, key=repr) if isinstance(thing, set | frozenset) else list(thing)
        kind = type(thing).__name__
        if isinstance(thing, np.ndarray):
            items, kind = thing.ravel().tolist(), f"{thing.dtype}{list(thing.shape)}"
        told = [plain(item) for item in items]
        if None in told:
            for number, item in enumerate(items):
                yield from walk(f"{path}[{number}]", item, depth + 1)
        else:
            line = " ".join(map(str, told))
            few = len(told) <= (MOST_VALUES if depth <= 1 else MOST_VALUES_WITHIN)
            yield path, f"{kind} {len(told)}: {line if few else plain(line.encode())}"
    else:
        parts = parts_of(thing)
        if not parts:
            yield path, cleaned(repr(thing))
        for name, part in parts.items():
            yield from walk(f"{path}.{name}", part, depth + 1)


def parts_of(thing: Any) -> dict[str, Any]:
    """Return what an object holds: fields and properties, or what the tests compare."""
    if isinstance(thing, cal.Audit):
        return {**law.facts(thing), "summary": thing.summary}
    if isinstance(thing, cal.Measurement):
        more = {name: attempt(getattr, thing, name) for name in ("bounds", "table", "witness")}
        return {**law.facts(thing), **more}
    if isinstance(thing, Mapping):
        return {cleaned(key): value for key, value in thing.items()}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return members(thing, *(field.name for field in dataclasses.fields(thing)))
    if isinstance(thing, cal.Joint) or (hasattr(thing, "to_dict") and not isinstance(thing, type)):
        return dict(law.facts(thing))
    return {}


def members(thing: Any, *names: str) -> dict[str, Any]:
    """Return attributes and all properties of an object."""
    made = property | cached_property
    kind = type(thing)
    known = [n for n in dir(kind) if isinstance(inspect.getattr_static(kind, n), made)]
    told = dict.fromkeys(n for n in (*names, *known) if not n.startswith("_"))
    return {name: attempt(getattr, thing, name) for name in told}


# Public names.


def record_api() -> None:
    rooms = [n for n in cal.__all__ if inspect.ismodule(getattr(cal, n))]
    for room in ["calibrant", *(f"calibrant.{name}" for name in rooms)]:
        module = import_module(room)
        for name in getattr(module, "__all__", [n for n in vars(module) if n[0] != "_"]):
            thing, path = getattr(module, name), f"{room}.{name}"
            if callable(thing):
                FACTS[path] = signature(thing)
            elif not inspect.ismodule(thing):
                note(path, lambda thing=thing: thing)
            for member in dir(thing) if inspect.isclass(thing) else ():
                if not member.startswith("_"):
                    value = inspect.getattr_static(thing, member)
                    text = f"{type(value).__name__} {signature(getattr(value, '__func__', value))}"
                    FACTS[f"{path}.{member}"] = text


def signature(thing: Any) -> str:
    try:
        return ("class " if inspect.isclass(thing) else "") + cleaned(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""


# Results of functions.


def record_functions() -> None:
    for parameters in law.functions():
        note(str(parameters.id), called, *parameters[0])
    note("omnipredict", cal.groups.omnipredict, ROWS["p"], cal.groups.absolute_loss)
    note("rows_needed", cal.rows_needed, 0.02, ROWS["p"], rng=5)
    note("verdict_chances", cal.verdict_chances, 900, 0.02, ROWS["p"], rng=5)
    for score in ("brier", "log", "spherical"):
        note(f"row_losses.{score}", cal.decisions.row_losses, score, ROWS["y"], ROWS["p"])
    kinds = ("binary", "classes", *KINDS)
    for kind, beside, by in product(kinds, BESIDES, ([], ["site", "age"])):
        note(".".join(("audit", kind, *beside, *by)), audited, kind, ROWS, beside, by)
    for kind in kinds:
        note(f"audit.{kind}.5000", audited, kind, MANY_ROWS, (), ["site"], find_segments=True)
        note(f"audit.{kind}.segments", audited, kind, ROWS, (), ["site", "age"], find_segments=True)
    record_real()
    record_distributions()
    record_survival()


def record_real() -> None:
    names = ("betting_test", "calibration_error", "compare", "loss_decomposition", "recalibrate")
    names += ("verdict",)
    for kind, name in product(KINDS, names):
        note(f"real.{name}.{kind}.5000", real_call, name, kind, (), MANY_ROWS)
        for beside in BESIDES[:3]:
            note(".".join((f"real.{name}", kind, *beside)), real_call, name, kind, beside, ROWS)
    try:
        measures = list(named("MEASURES"))
    except MissingNameError:
        measures = []
    choices = {
        "recalibrate": [{"method": method} for method in METHODS],
        "calibration_error": [{"measure": measure} for measure in measures],
        "compare": [{"margin": 0.5}, {"confidence": 0.8}],
    }
    for kind in KINDS:
        note(f"real.RealForecasts.{kind}", real_call, "RealForecasts", kind, (), ROWS)
        note(f"real.RealMonitor.{kind}", monitored, kind)
        for name, options in ((name, o) for name, all_ in choices.items() for o in all_):
            path = ".".join((f"real.{name}", kind, *map(str, options.values())))
            note(path, real_call, name, kind, (), ROWS, **options)


def called(room: str, name: str, beside: Iterable[str], classes: Any) -> Any:
    given = law.given_to(room, name, beside, ROWS, classes)
    return getattr(import_module(room), name)(**given)


def audited(
    kind: str, rows: Mapping[str, Any], beside: Iterable[str], by: Iterable[str], **options: Any
) -> Any:
    given: dict[str, tuple[Any, Any]] = {
        "binary": (rows["y"], rows["p"]),
        "classes": (rows["label"], rows["P"]),
        "interval": (rows["real"], both_ends(rows)),
    }
    options |= {option: rows[SOURCES[option]] for option in beside} | KINDS.get(kind, {})
    groups = {name: rows[name] for name in by} or None
    return named("audit")(*given.get(kind, (rows["real"], rows["z"])), by=groups, **options)


def real_call(
    name: str, kind: str, beside: Iterable[str], rows: Mapping[str, Any], **options: Any
) -> Any:
    """Call a function of real outcomes with the options it knows."""
    function, ends = named(name), kind == "interval"
    if name == "RealForecasts":
        function = function.of_kind
    taken = inspect.signature(function).parameters
    sides = ("z", "second") if name == "compare" else ("z",)
    # Both ends are two columns, but for functions that take the upper ones on their own.
    two = ends and "upper" not in taken
    given = [rows["real"], *(both_ends(rows, side) if two else rows[side] for side in sides)]
    known = {**KINDS[kind], "rng": 5, "upper": rows["upper"] if ends else None}
    method = options.pop("method", "choose")
    if method != "choose":
        options |= {"methods": [method], "always": True}
    known["range_"] = known.get("range")
    options |= {option: value for option, value in known.items() if option in taken}
    return function(*given, **options, **{option: rows[SOURCES[option]] for option in beside})


def both_ends(rows: Mapping[str, Any], lower: str = "z") -> Any:
    return np.column_stack([rows[lower], rows["upper"]])


def monitored(kind: str) -> list[Any]:
    """Return what a monitor of real outcomes says as rows enter; it is stored once."""
    monitor = named("RealMonitor")(**KINDS[kind])
    rows = [ROWS["real"], both_ends(ROWS) if kind == "interval" else ROWS["z"]]
    told: list[Any] = []
    for row in zip(*(values[:300].tolist() for values in rows), strict=True):
        monitor.update(*row)
        told += [members(monitor, "rows", "alarm_row")] if monitor.rows % 25 == 0 else []
    monitor = type(monitor).from_json(monitor.to_json())
    monitor.update_many(*(values[300:] for values in rows))
    return [*told, members(monitor, "rows", "alarm_row"), monitor.to_json()]


def record_distributions() -> None:
    rng, levels = np.random.default_rng(3), np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    centre = ROWS["z"]
    ensemble = centre[:, None] + rng.gumbel(0, 5, (law.SIZE, 9)).round(1)
    forms: dict[str, tuple[Any, ...]] = {
        "from_ensemble": (ensemble,),
        "from_quantiles": (levels, np.quantile(ensemble, levels, axis=1).T),
        "from_cdf": (lambda t: 1 / (1 + np.exp(-(t - centre) / 4)), law.SIZE),
    }
    drawn = {"draws": 99, "rng": 4}
    calls: dict[str, tuple[Any, ...]] = {
        "crps": ({}, {"fair": True}),
        "crps_decomposition": ({}, {"sample_weight": ROWS["weight"]}),
        "pit": ({"rng": 4},),
        "pit_histogram": (drawn, {**drawn, "sample_weight": ROWS["weight"]}),
        "pit_test": (drawn, {**drawn, "sample_weight": ROWS["weight"]}),
        "threshold_calibration": (
            drawn,
            {**drawn, "sample_weight": ROWS["weight"]},
            {**drawn, "clusters": ROWS["cluster"]},
        ),
    }

    def scored(form: str, name: str, options: Any) -> Any:
        made = getattr(named("PredictiveDistributions"), form)(*forms[form])
        more = {"thresholds": [10, 20]} if name == "threshold_calibration" else {}
        return getattr(made, name)(ROWS["real"], **more, **options)

    for form, (name, choices) in product(forms, calls.items()):
        for options in choices:
            note(".".join(("real", form, name, *options)), scored, form, name, options)


def record_survival() -> None:
    frame = survival_rows()

    def read(**options: Any) -> Any:
        columns = (frame[name].to_numpy() for name in ("days", "died", "prediction"))
        return named("SurvivalForecasts").read(*columns, 365.0, **options)

    given = ({}, {"by": {"site": ROWS["site"]}}, {"sample_weight": ROWS["weight"]})
    for options in given:
        path = ".".join(("real.survival", *options))
        note(path, read, **options)
        note(f"{path}.risk", lambda o=options: named("observed_risk")(read(**o)))


# What is stored.


def record_stored() -> None:
    for parameters, weight in product(law.estimators(), (None, ROWS["weight"])):
        path = f"{parameters.id}{'' if weight is None else '.sample_weight'}"
        note(path, fitted, *parameters[0], weight)
    for kind, method in product(KINDS, METHODS):
        note(f"real.calibrator.{kind}.{method}", real_map, kind, method)
    for kind in ("binary", "classes", *KINDS):
        note(f"audit.to_json.{kind}", lambda k=kind: audited(k, ROWS, (), ["site"]).to_json())
    for cluster in (None, "last", "mean"):
        note(f"CalibrationMonitor.{cluster}", watched, cluster)
    for name in cal.online.FORECASTERS:
        note(f"online.{name}", played, name)
    note("StreamRecalibrator", recalibrated)
    for ensemble in (False, True):
        note(f"CalibratedClassifier.{ensemble}", calibrated_classifier, ensemble=ensemble)
    for options in ({}, {"sample_weight": ROWS["weight"]}):
        note(".".join(("Joint", *options)), cal.Joint.from_samples, ROWS["y"], ROWS["p"], **options)


def fitted(room: str, name: str, classes: Any, weight: Any) -> dict[str, Any]:
    """Return a fitted calibrator in every form."""
    made = getattr(import_module(room), name)()
    y, p = (ROWS["label"], ROWS["P"]) if classes else (ROWS["y"], ROWS["p"])
    by = [{"site": ROWS["site"], "age": ROWS["age"]}] if name == "Multicalibrator" else []
    made.fit(p, y, *by, **({} if weight is None else {"sample_weight": weight}))
    return {
        "transform": made.transform(p, *by),
        "json": made.to_json(),
        "python": attempt(made.to_python),
        "onnx": attempt(lambda: made.to_onnx().SerializeToString(deterministic=True)),
        **{f"sql.{dialect}": attempt(made.to_sql, dialect=dialect) for dialect in DIALECTS},
    }


def real_map(kind: str, method: str) -> dict[str, Any]:
    made = real_call("recalibrate", kind, (), ROWS, method=method).calibrator
    moved = made.transform(both_ends(ROWS) if kind == "interval" else ROWS["z"])
    return {
        "json": made.to_json(),
        "predict": list(moved.T) if kind == "interval" else moved,
        "loaded": named("load")(json.loads(made.to_json())).to_json(),
        **{f"sql.{dialect}": attempt(made.to_sql, dialect=dialect) for dialect in DIALECTS},
    }


def watched(cluster: Any) -> list[Any]:
    """Return what a monitor says as rows enter; it is stored once."""
    monitor, told = cal.CalibrationMonitor(cluster_forecast=cluster), []
    for start in range(0, law.SIZE, 60):
        part = slice(start, start + 60)
        options = {} if cluster is None else {"clusters": EVENTS[part]}
        monitor.update_many(ROWS["y"][part], ROWS["p"][part], **options)
        told.append(members(monitor))
    monitor = type(monitor).from_json(monitor.to_json())
    for key in range(4):
        monitor.expect(key, 0.3, due=float(key))
        monitor.resolve(key, key % 2)
    monitor.advance(2.0)
    return [*told, members(monitor), monitor.to_json()]


def played(name: str) -> list[Any]:
    player = cal.online.FORECASTERS[name](200)
    said = player.run(ROWS["y"][:100], np.random.default_rng(1))
    # Its own coin is seeded by the system.
    return [said, re.sub(r'"state": \d+, "inc": \d+', "", player.to_json())]


def calibrated_classifier(*, ensemble: bool) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    features = np.column_stack([ROWS["age"], ROWS["q"]])
    made = cal.models.CalibratedClassifier(LogisticRegression(), ensemble=ensemble)
    made.fit(features, ROWS["y"])
    forms = {name: attempt(getattr(made, name)) for name in ("to_json", "to_python", "to_sql")}
    return forms | {"predict_proba": made.predict_proba(features)}


def recalibrated() -> list[Any]:
    stream, said = cal.online.StreamRecalibrator(), []
    for p, y in zip(ROWS["p"].tolist(), ROWS["y"].tolist(), strict=True):
        said.append(stream.predict_proba_one(p)[True])
        stream.learn_one(p, y)
    return [said, stream.to_json()]


# Commands.


# Forecasts of each kind, as a command is given them.
FORECASTS = {
    "binary": "binary.csv",
    "5000": "many.csv",
    "percent": "percent.csv --scale percent",
    "labels": "labels.csv --pos-label yes",
    "cells": "cells.csv --count n --positives hits --prediction-sum total",
    "classes": "classes.csv --classes a,b,c",
    "log": "log.jsonl",
    "assumed mean": "real.csv --outcome real --prediction z",
    "survival": "survival.csv --kind survival --horizon 365 --duration days --outcome died",
    "mean": "real.csv --outcome real --prediction z --kind mean",
    "mean in a range": "real.csv --outcome real --prediction z --kind mean --range=-100,500",
    "median": "real.csv --outcome real --prediction z --kind median",
    "quantile=0.9": "real.csv --outcome real --prediction upper --kind quantile=0.9",
    "quantile=0.99": "real.csv --outcome real --prediction upper --kind quantile=0.99",
    "expectile=0.8": "real.csv --outcome real --prediction z --kind expectile=0.8",
    "interval": "real.csv --outcome real --kind interval=z,upper --level 0.8",
    "two": "binary.csv --prediction prediction,q",
    "joined": "binary.csv second.csv --key key",
}
FILES = "--html out.html --json out.json --markdown out.md"
# A command; its forecasts, * for all kinds; options of one run, of the next, ...
COMMANDS = f"""
recalibrate | binary | --calibrator kept.json ; --calibrator kept.json ; --by site --calibrator
kept_site.json recalibrate | classes | --calibrator kept_classes.json ; --sql - --dialect sqlite
--table t audit | * | ; --full ; --quiet ; --json - ; --markdown - ; --by site {FILES} audit | * |
--weight weight --full ; --cluster cluster --full ; --time time --full audit | * | --by site,age
--find-segments {FILES} audit | binary | --by site,age --pairs --full ; --task task.csv --full ;
--risk 5% --full audit | binary | --tolerance 5% --gap-tolerance 1 --oe-tolerance 10% ; --calibrator
kept.json --full check | * | ; --json - ; --markdown - ; --by site --json out.json --markdown out.md
; --quiet check | * | --weight weight ; --cluster cluster ; --tolerance 5% --oe-tolerance 50% check
| binary | --measure exact_calibration_error --measure binned_calibration_error=0.5 check |
binary | --baseline second.csv --key key --json - ; --baseline second.csv check | binary |
--baseline second.csv --key key --only-difference --max-worse 0.1 compare | two | ; --json - ;
--quiet ; --max-worse 0.01 ; --weight weight ; --cluster cluster compare | two | --measure brier
--measure log ; --measure exact_calibration_error --json out.json compare | joined | ;
--max-worse 0.5 --json - compare | log | ; --models small,large --json - compare | mean |
--prediction z,second compare | assumed mean | --prediction z,second recalibrate | * | ; --json - ;
--calibrator - ; --sql - ; --python - ; --weight weight ; --cluster cluster recalibrate | * | --out
out.csv --calibrator out.json --sql out.sql --python out.py --json judged.json recalibrate | binary
| --by site --out out.csv --calibrator out.json --sql out.sql --python out.py --json - recalibrate |
binary | --time time --json - ; --task task.csv --score brier ; --methods platt,beta --folds 3
recalibrate | binary | --base-rate 0.2 --calibrator - ; --out out.parquet recalibrate | binary |
--out out.jsonl --by site,age --pairs recalibrate | binary | --sql - --dialect postgres --table t ;
--sql - --dialect spark --table t recalibrate | binary | --sql - --dialect sqlite --table t ; --sql
- --dialect duckdb --table t --by site apply kept.json | binary | --out out.csv ; --out out.parquet
--column new ; --out out.jsonl apply kept.json | percent | --out out.csv apply kept_site.json |
binary | --out out.csv apply kept_classes.json | classes | ; --out out.csv apply kept_classes.json
classes.csv | | --out out.csv monitor | binary | --time time ; --time time --by site --html out.html
--json out.json --full monitor | binary | --time time --cluster event --cluster-forecast mean ;
--time time --cluster cluster monitor | binary | --time time --until 20 monitor | binary | --time
time --window 10 --json - ; --time time --state kept_state.json --until 25 monitor | binary | --time
time --state kept_state.json --json - ; --time nothing ; --by site monitor | classes | --time time
--full ; --time time --json - monitor | mean | --time time monitor | assumed mean | --time time
explain | * | ; --json - ; --weight weight llm | log | ; --out out.parquet ; --origin field ;
--scorer match ; --pass-mark 0.5 answers inspect_sums.eval | | ; --out out.parquet answers
inspect_letters.json | | ; --origin tokens answers inspect_partial.json | | ; --pass-mark 0.5
answers samples_odd.jsonl | | audit inspect_sums.eval | | ; --json - play foster breaker | |
--rounds 100 --seed 1 ; --rounds 100 --picture out.png play decision binary.csv | | ; --outcome site
; --rounds 50 play nobody coins | | demo | | --html out.html measures | | show-versions | |
completion | | bash ; zsh ; fish ; dos nothing | |
| | ; --help ; --version
"""
BAD_OPTIONS = """--nothing ; --seed x
--prediction nothing ; --outcome nothing ; --prediction outcome
--weight nothing ; --weight site ; --cluster nothing ; --confidence 2 ; --scale percent
--pos-label maybe ; --classes a,b ; --json no/folder.json ; --na drop ; --kind average
--kind quantile=90 ; --kind interval=q,prediction --level 0.9 ; --kind quantile=0.5"""


def command_lines() -> Iterator[str]:
    kinds = [kind for kind in FORECASTS if kind not in {"two", "joined"}]
    for line in COMMANDS.strip().splitlines():
        command, forecasts, turns = (part.strip() for part in line.split("|"))
        for kind, turn in product(kinds if forecasts == "*" else [forecasts], turns.split(";")):
            given = FORECASTS[kind] if kind else ""
            # Other commands know no option --kind: it is refused once.
            if command == "audit" or "--kind" not in given or not turn.strip():
                yield f"{command} {given} {turn}"
    for command in ("audit", "check", "compare", "recalibrate"):
        both = "--prediction prediction,q" if command == "compare" else ""
        for name in ("missing", *bad_rows()):
            yield f"{command} bad_{name}.csv {both}"
            yield f"{command} bad_{name}.csv {both} --na drop"
        for options in BAD_OPTIONS.replace("\n", ";").split(";"):
            yield f"{command} binary.csv {both} {options}"
        yield f"{command} crossed.csv --outcome real --kind interval=upper,z --level 0.8"
        yield f"{command} tied.csv --outcome real --prediction z --kind quantile=0.9"
    for command in sorted(warm.commands):
        yield f"{command} --help"
    for forecaster in cal.online.FORECASTERS:
        yield f"online {forecaster} coins --rounds 200"
    for nature in cal.online.NATURES:
        yield f"play defensive {nature} --rounds 200"


def table(**columns: Any) -> pd.DataFrame:
    beside = ("site", "age", "weight", "cluster", "time", "key")
    return pd.DataFrame({**columns, **{name: ROWS[name] for name in beside}})


def survival_rows() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    risk = rng.beta(2, 3, law.SIZE)
    event, lost = rng.exponential(-1 / np.log1p(-risk)), rng.exponential(2.0, law.SIZE)
    days = (np.minimum(event, lost) * 365).round(1) + 0.1
    risk = np.minimum(0.99, 1.5 * risk).round(3)
    return table(days=days, died=(event <= lost).astype(int), prediction=risk)


def bad_rows() -> dict[str, str]:
    """Return files with a fault, by name."""
    lines = ["prediction,outcome,q", "0.2,0,0.3", "0.7,1,0.6", "0.4,0,0.5", "0.9,1,0.8"]
    good = "\n".join(lines[:1] + lines[1:] * 50) + "\n"
    first = {"text": "high,0,0.3", "above": "1.2,0,0.3", "below": "-0.1,0,0.3", "nan": "nan,0,0.3"}
    first |= {"empty_cell": ",0,0.3", "infinite": "inf,0,0.3", "no_outcome": "0.2,,0.3"}
    first |= {"third_outcome": "0.2,2,0.3", "fraction": "0.2,0.5,0.3", "short_line": "0.2"}
    changed = {name: good.replace(lines[1], line, 1) for name, line in first.items()}
    return changed | {
        "no_bytes": "",
        "no_rows": lines[0] + "\n",
        "one_row": "\n".join(lines[:2]) + "\n",
        "one_outcome": good.replace(",1,", ",0,"),
        "no_column": good.replace("prediction", "forecast"),
        "column_twice": good.replace("outcome", "prediction"),
        "constant": re.sub(r"(?m)^0\.\d", "0.5", good),
    }


def write_inputs() -> None:
    """Write the files that commands read into the current folder."""
    binary = table(prediction=ROWS["p"], outcome=ROWS["y"], q=ROWS["q"].round(3), event=EVENTS)
    real = table(**{name: ROWS[name].round(2) for name in ("real", "z", "upper", "second")})
    cells = binary.groupby(["site", "age"], as_index=False).agg(
        n=("key", "size"), hits=("outcome", "sum"), total=("prediction", "sum")
    )
    classes = pd.DataFrame(ROWS["P"].round(6), columns=list("abc"))
    frames = {
        "binary": binary,
        "many": binary.sample(5_000, replace=True, random_state=1),
        "second": binary.assign(prediction=binary["q"]).sample(frac=1, random_state=2),
        "percent": binary.assign(prediction=100 * binary["prediction"]),
        "labels": binary.assign(outcome=np.where(ROWS["y"] == 1, "yes", "no")),
        "cells": cells,
        "classes": table(outcome=np.array(list("abc"))[ROWS["label"]]).join(classes),
        "real": real,
        "crossed": real,
        "tied": real.assign(z=(real["z"] / 10).round()),
        "survival": survival_rows(),
    }
    for name, frame in frames.items():
        frame.to_csv(f"{name}.csv", index=False)
    for name, text in bad_rows().items():
        Path(f"bad_{name}.csv").write_text(text)
    logs = ROOT / "tests" / "llm" / "logs"
    for path in (*logs.glob("inspect*"), *logs.rglob("samples_odd*")):
        shutil.copy(path, path.name.split("_2026")[0] + path.suffix * ("_2026" in path.name))
    Path("task.csv").write_text("action,0,1\nact,0.5,1\nwait,1,0\n")
    rows = zip(ROWS["key"].tolist(), ROWS["p"].tolist(), ROWS["y"].tolist(), strict=True)
    lines = [
        {"id": key // 2, "model": ("small", "large")[key % 2], "confidence": p, "correct": bool(y)}
        for key, p, y in rows
    ]
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def record_commands() -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "CALIBRANT_DEBUG"):
        os.environ.pop(name, None)
    lines = list(command_lines())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_inputs()
        for line in lines:
            run_command(" ".join(line.split()), folder)
        os.chdir(ROOT)


def run_command(line: str, folder: str) -> None:
    """Record what a command prints and writes, run in a fork of this process."""
    before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
    with tempfile.TemporaryDirectory() as streams:
        given = (shlex.split(line), dict(os.environ), streams, None)
        process = multiprocessing.get_context("fork").Process(target=_command, args=given)
        process.start()
        process.join(120)
        done = ended(process, streams)
    told = {"code": str(done.code), "stdout": done.stdout, "stderr": done.stderr}
    for path in sorted(Path().iterdir()):
        if before.get(path) != path.stat().st_mtime_ns:
            told[path.name] = contents(path)
            if not path.name.startswith("kept"):
                path.unlink()
    key = line + " (again)" * (f"{line}: code" in FACTS)
    for name, text in told.items():
        FACTS[f"{key}: {name}"] = json.dumps(text.replace(folder, "FOLDER"), ensure_ascii=False)


def contents(path: Path) -> str:
    if path.suffix == ".parquet":
        return str(pd.read_parquet(path).to_csv(index=False))
    data = path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError:
        return str(plain(data))


# Recordings.


def write(folder: Path, parts: list[str]) -> int:
    """Record parts: commands in one process, all others in another."""
    folder.mkdir(parents=True, exist_ok=True)
    apart = [[part for part in parts if (part == "commands") is first] for first in (True, False)]
    if all(apart):
        command = [sys.executable, __file__, "write", str(folder), "--only"]
        started = [subprocess.Popen([*command, *some]) for some in apart]  # noqa: S603
        return max(process.wait() for process in started)
    if not Path(cal.__file__).is_relative_to(ROOT):
        print(
            f"calibrant is imported from {cal.__file__}: copy the kernels into {ROOT}/src/calibrant"
        )
        return 2
    for part in parts:
        start = time.perf_counter()
        FACTS.clear()
        RECORDS[part]()
        text = "".join(f"{key}\t{value}\n" for key, value in sorted(FACTS.items()))
        (folder / f"{part}.txt").write_text(text, encoding="utf-8")
        print(f"{part}: {len(FACTS)} facts, {time.perf_counter() - start:.0f} s", flush=True)
    return 0


def read(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    return dict(line.split("\t", 1) for line in lines if line)


def compare(old: Path, new: Path) -> int:
    """Print the facts that differ; 1 if there are any, 2 if no part is in both recordings."""
    differ = 0
    parts = [part for part in PARTS if all((f / f"{part}.txt").exists() for f in (old, new))]
    print(f"not in both recordings: {', '.join(sorted({*PARTS} - {*parts})) or 'nothing'}")
    for part in parts:
        before, after = read(old / f"{part}.txt"), read(new / f"{part}.txt")
        removed, added = sorted(before.keys() - after), sorted(after.keys() - before)
        changed = [key for key in sorted(before.keys() & after) if before[key] != after[key]]
        print(f"{part}: {len(removed)} removed, {len(added)} added, {len(changed)} changed")
        for sign, keys, facts in (("-", removed, before), ("+", added, after)):
            for key in keys:
                print(f"  {sign} {key}\t{shortened(facts[key])}")
        for key in changed:
            print(f"  * {key}")
            for line in difference(before[key], after[key]):
                print(f"      {line}")
        differ += len(removed) + len(added) + len(changed)
    return int(differ > 0) if parts else 2


def shortened(text: str, start: int = 0) -> str:
    part = text[start : start + 160]
    return ("..." if start else "") + part + ("..." if start + 160 < len(text) else "")


def difference(old: str, new: str) -> Iterator[str]:
    """Yield how two values differ: lines of a text, or the largest change of a number."""
    if old[0] == new[0] == '"' and "\\n" in old + new:
        texts = (json.loads(value).splitlines() for value in (old, new))
        for line in list(difflib.unified_diff(*texts, lineterm="", n=0))[2:]:
            yield shortened(line)
        return
    numbers = [re.findall(r"-?0x[0-9a-f.]+p[+-]\d+", value) for value in (old, new)]
    if numbers[0] and len(numbers[0]) == len(numbers[1]):
        a, b = (np.array([float.fromhex(number) for number in found]) for found in numbers)
        yield f"largest difference {np.abs(a - b).max():.3g}, of values to {np.abs(a).max():.3g}"
    start = next((i for i, (x, y) in enumerate(zip(old, new, strict=False)) if x != y), 0)
    yield f"- {shortened(old, max(0, start - 60))}"
    yield f"+ {shortened(new, max(0, start - 60))}"


RECORDS = {
    "api": record_api,
    "commands": record_commands,
    "functions": record_functions,
    "stored": record_stored,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    tasks = parser.add_subparsers(dest="task", required=True)
    writing = tasks.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    comparing = tasks.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.task == "compare":
        return compare(given.old, given.new)
    return write(given.folder.resolve(), given.only)


if __name__ == "__main__":
    raise SystemExit(main())
