"""Everything that is stored, its loader, and ways to break it: what loads must also work."""

from __future__ import annotations

import contextlib
import json
import warnings
from copy import deepcopy

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa

import calibrant as cal
import calibrant.online as on
import hostile
from calibrant.errors import CalibrantError, InvalidStateError
from calibrant.groups import Multicalibrator
from calibrant.recalibration import CALIBRATORS, MULTICLASS_CALIBRATORS, GroupCalibrator, load

RNG = np.random.default_rng(3)
P = RNG.random(300).round(2)
Y = (RNG.random(300) < P**1.3).astype(int)
TABLE = RNG.dirichlet(np.ones(3), 300)
LABEL = RNG.integers(0, 3, 300)
CLASSES = ["cat", "dog", "cow"]
BY = {"site": RNG.choice(["a", "b"], 300), "age": RNG.normal(50, 10, 300)}


def use_map(fitted):
    found = fitted.transform([0.0, 0.3, 1.0])
    assert ((found >= 0) & (found <= 1)).all()
    fitted.to_json(), fitted.to_sql(), fitted.to_python(), str(fitted.sentence)


def use_group_map(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        columns = {name: ["a", "b", None] for name in fitted.patches.columns}
        try:
            found = fitted.transform([0.0, 0.3, 1.0], columns)
        except CalibrantError:  # the columns are numbers
            columns = {name: [1.0, 60.0, np.nan] for name in fitted.patches.columns}
            found = fitted.transform([0.0, 0.3, 1.0], columns)
    assert ((found >= 0) & (found <= 1)).all()
    fitted.to_json(), str(fitted.sentence)
    with contextlib.suppress(CalibrantError):  # names that SQL cannot write
        fitted.to_sql(table="rows")


def use_class_map(fitted):
    count = len(fitted.classes_)
    found = fitted.transform(
        np.vstack([np.eye(count), np.full(count, 1 / count)])
        * {"unit": 1, "percent": 100}[fitted.scale_]
    )
    assert ((found >= 0) & (found <= 1)).all()
    fitted.to_json(), fitted.to_python(), str(fitted.sentence)
    with contextlib.suppress(CalibrantError):  # names that SQL cannot write
        fitted.to_sql(table="rows")


def use_monitor(monitor):
    assert monitor.evidence >= 0
    assert 0 <= monitor.pvalue <= 1
    monitor.update_many([0, 1] * 20, [0.2, 0.6] * 20)
    monitor.to_json(), str(monitor.sentence)


def use_forecaster(forecaster):
    if forecaster.rounds != forecaster.horizon:
        assert 0 <= forecaster.predict() <= 1
        forecaster.update(1)


def use_stream(stream):
    assert 0 <= stream.predict_one(0.3) <= 1
    stream.learn_one(0.3, 1)


def use_joint(joint):
    assert 0 <= float(cal.smooth_calibration_error(joint)) <= 1
    assert joint.rounding >= 0
    assert ((joint.outcome >= 0) & (joint.outcome <= 1 + 1e-6)).all()


def _monitor():
    monitor = cal.CalibrationMonitor()
    monitor.update_many(Y, P)
    monitor.expect("later", 0.4, 10.0)
    monitor.expect(7, 0.6, 11.0)
    monitor.resolve(7, 1)
    return monitor


def _played(forecaster):
    for outcome in (1, 0, 1, 1, 0):
        forecaster.predict()
        forecaster.update(outcome)
    return forecaster


def _stream():
    stream = on.StreamRecalibrator(cells=3)
    stream.run(Y[:40], P[:40])
    stream.predict_one(0.4, key="a")
    return stream


def _patched():
    patches = Multicalibrator("low_degree", tolerance=0.001, judge="fit").fit(P, Y, BY).patches_
    base = cal.recalibration.PlattScaling().fit(P, Y)
    assert patches.patches
    return GroupCalibrator(base, patches, 0.01)


FORECASTERS = [
    on.AlmostOneStepAhead(),
    on.AlmostOneStepAhead(9, midpoint=True),
    on.DefensiveForecaster(),
    on.FosterForecaster(),
    on.KakadeFosterForecaster(),
    on.DecisionForecaster(),
    on.CutoffForecaster(),
    on.UCalibratedForecaster(20),
    on.TreeForecaster(20),
    on.RunningMeanForecaster(),
]
LOADERS = {
    **{name: (kind().fit(P, Y).to_json(), load, use_map) for name, kind in CALIBRATORS.items()},
    **{
        f"classes {name}": (
            kind().fit(TABLE, LABEL, classes=CLASSES).to_json(),
            load,
            use_class_map,
        )
        for name, kind in MULTICLASS_CALIBRATORS.items()
    },
    "groups": (_patched().to_json(), load, use_group_map),
    "labels": (
        hostile.patched("g", ["a", "b", None], 3).to_json(),
        load,
        use_group_map,
    ),
    "multicalibrator": (
        Multicalibrator(tolerance=0.001, judge="fit").fit(P, Y, BY).to_json(),
        load,
        use_group_map,
    ),
    "monitor": (_monitor().to_json(), cal.CalibrationMonitor.from_json, use_monitor),
    "stream": (_stream().to_json(), on.StreamRecalibrator.from_json, use_stream),
    **{
        f"{type(one).__name__} {i}": (
            _played(one).to_json(),
            on.Forecaster.from_json,
            use_forecaster,
        )
        for i, one in enumerate(FORECASTERS)
    },
}

NUMBERS = (0, 1, -1, 2, 3, 7, 0.5, -0.5, 1.5, 1e300, -1e300, 5e-324, 1e16, 10**30, -(10**30))
TEXTS = ("", "a", "unit", "percent", "0.5", "missing", "\x00", "\ud800")
OTHERS = (None, True, False, [], [[]], [0.5], [0.5, 0.2], {}, {"a": 1}, {"float": "nan"})
TAGGED = ({"date": "x"}, {"uuid": "1"}, {"decimal": "NaN"}, {"time": "10:00"})
ODD = st.sampled_from([*NUMBERS, *TEXTS, *OTHERS, *TAGGED]).map(deepcopy)


@st.composite
def broken(draw, text):
    """Mutate stored JSON: replace, remove, repeat or swap parts of it."""
    data = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        # Long lists hold most places: first choose how deep to go.
        place, parent, key = data, None, None
        for _ in range(draw(st.integers(1, 6))):
            if not isinstance(place, dict | list) or not place:
                break
            keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
            parent, key = place, draw(st.sampled_from(keys))
            place = parent[key]
        if parent is None:
            continue
        how = draw(st.sampled_from(["replace", "remove", "repeat", "add"]))
        if how == "replace":
            parent[key] = draw(ODD)
        elif how == "remove":
            del parent[key]
        elif isinstance(parent, list):
            parent.insert(key, parent[key] if how == "repeat" else draw(ODD))
        else:
            parent["unknown"] = draw(ODD)
    return json.dumps(data)


def loads_or_refuses(name, text):
    """A loader raises our error, or what it made works."""
    _, loader, use = LOADERS[name]
    try:
        made = loader(text)
    except InvalidStateError:
        return
    use(made)


JOINTS = [
    cal.Joint.from_samples(Y, P),
    cal.Joint.from_samples(Y, P, sample_weight=RNG.lognormal(0, 2, 300)),
    cal.Joint.from_samples(Y, P, resolution=16),
    cal.Joint.from_samples(P**2, P),
]


@st.composite
def broken_table(draw):
    """Change a column, a name or a field of a stored Joint."""
    table = draw(st.sampled_from(JOINTS)).to_arrow()
    metadata = dict(table.schema.metadata)
    for _ in range(draw(st.integers(1, 2))):
        what = draw(st.sampled_from(["value", "column", "type", "metadata", "gone", "rows"]))
        name = draw(st.sampled_from(table.column_names))
        at = table.column_names.index(name)
        column = table.column(name).to_numpy().copy()
        if what == "value":
            odd = [0.0, -1.0, 0.5, 2.0, 1e300, np.nan, np.inf, -0.0, 5e-324]
            column[draw(st.integers(0, column.size - 1))] = draw(st.sampled_from(odd))
            table = table.set_column(at, name, pa.array(column))
        elif what == "column":
            table = table.set_column(
                at, name, pa.array(column * draw(st.sampled_from([-1, 0, 2, 1e9])))
            )
        elif what == "type":
            with np.errstate(over="ignore"):
                single = column.astype("f4")
            kinds = [column.astype(str), column > 0.5, [None] * column.size, single]
            table = table.set_column(at, name, pa.array(draw(st.sampled_from(kinds))))
        elif what == "metadata":
            odd = [b"", b"-4", b"3", b"nan", b"-5", b"1e999", b"x", b"\xff", b"0", b"1", b"16"]
            metadata[draw(st.sampled_from(sorted(metadata)))] = draw(st.sampled_from(odd))
        elif what == "gone":
            if draw(st.booleans()) and table.num_columns > 1:
                table = table.drop_columns([name])
            else:
                metadata.pop(draw(st.sampled_from(sorted(metadata))), None)
        else:
            table = table.slice(0, draw(st.integers(0, table.num_rows)))
        if what == "type" or not table.num_rows:
            break
    return table.replace_schema_metadata(metadata)


def joint_loads_or_is_refused(table):
    try:
        joint = cal.Joint.from_arrow(table)
    except InvalidStateError:
        return
    use_joint(joint)
