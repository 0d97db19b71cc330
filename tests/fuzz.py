"""Random calls of everything public, with values that are good, odd or absurd.

Names, parameters and methods are found by looking, so that what is new is tried too. A call must
end in an error of calibrant's own, or in an answer that simple laws confirm.
"""

from __future__ import annotations

import datetime as dt
import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES

PACKAGES = (
    "decisions",
    "weight_functions",
    "hallucination",
    "groups",
    "multiclass",
    "online",
    "plots",
    "binning",
    "recalibration",
)
# What reads files, takes many draws, or takes functions and models is tried elsewhere.
ELSEWHERE = {"audit"}
ELSEWHERE |= {"Calibrator", "GroupCalibrator", "Multicalibrator", "omniprediction_certificate"}
ELSEWHERE |= {"Omnipredictor", "distinguisher_advantage", "learned_advantage", "omnipredict"}
OBJECTS = {"functions", "losses", "methods", "pos_label", "pair", "classes"}
JUNK = [
    None,
    True,
    0,
    -1,
    1,
    2,
    3,
    10**400,
    -(10**400),
    10**5000,
    2**63,
    0.5,
    -0.0,
    5e-324,
    1e-300,
    1e308,
    math.nan,
    math.inf,
    -math.inf,
    1 + 2j,
    "",
    "left",
    "a" * 200,
    b"\xff",
    [],
    {},
    set(),
    (),
    [[]],
    object(),
    dt.date(2020, 1, 1),
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "D"),
    np.float32(0.3),
    np.array(0.5),
    np.array([]),
    np.zeros((2, 3, 4)),
    np.array([[0.1], [0.9]]).view(np.matrix),
    lambda *values: values,
]
FLOATS = [0.0, 0.01, 0.05, 0.1, 0.5, 0.9, 0.95, 1.0, 2.0, 5.0]
WORDS = {
    "strategy": ["uniform", "quantile"],
    "closed": ["left", "right"],
    "kernel": ["laplace", "gaussian", "polynomial", "multinomial"],
    "norm": ["l1", "l2", "sup"],
    "method": ["auto", "pairs", "multiplier", "worst-case"],
    "ties": ["worst", "best", "first", "last", "half"],
    "measure": list(JOINT_MEASURES),
}
WHOLE = {"n_bins", "degree", "draws", "folds", "cells", "resolution", "features", "depth", "width"}
WHOLE |= {
    "count",
    "rounds",
    "grid",
    "horizon",
    "points",
    "repeats",
    "classes",
    "floor_draws",
    "rows",
}


@dataclass(frozen=True)
class Call:
    """One call: what is called, with what."""

    name: str
    target: Callable
    arguments: dict

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.arguments.items())
        return f"{self.name}({shown})"


def _short(value):
    try:
        return repr(value)[:160]
    except ValueError:
        return f"<{type(value).__name__}>"


def targets() -> dict[str, Callable]:
    """Everything public that takes rows or options: functions, and what is made to be fitted."""
    found = {name: getattr(cal, name) for name in cal.__all__}
    for package in PACKAGES:
        module = getattr(cal, package)
        names = getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"])
        found |= {f"{package}.{name}": getattr(module, name) for name in names}
    found = {
        name: target
        for name, target in found.items()
        if callable(target) and name.rsplit(".", 1)[-1] not in ELSEWHERE
    }
    rows = {
        name: target
        for name, target in found.items()
        if inspect.isfunction(target)
        and {"y_true", "y_proba"} <= set(inspect.signature(target).parameters)
    }
    fitted = {
        f"{name}.fit": _fitting(target)
        for name, target in found.items()
        if inspect.isclass(target) and hasattr(target, "fit") and not inspect.isabstract(target)
    }
    return {
        **rows,
        **fitted,
        "Joint.from_samples": cal.Joint.from_samples,
        "Joint.from_counts": cal.Joint.from_counts,
        "CalibrationMonitor": _monitored,
    }


def _fitting(kind):
    """Make one with options, and fit it."""
    options = inspect.signature(kind).parameters.values()

    def fit(y_proba, y_true, **chosen):
        return kind(**chosen).fit(y_proba, y_true)

    rows = inspect.signature(fit).parameters
    kept = [option.replace(kind=option.KEYWORD_ONLY) for option in options]
    fit.__signature__ = inspect.Signature([rows["y_proba"], rows["y_true"], *kept])
    return fit


def _monitored(y_true, y_proba, *, tolerance=None, alpha=0.05, run_length=None, pos_label=None):
    monitor = cal.CalibrationMonitor(tolerance, alpha, run_length=run_length)
    monitor.update_many(y_true, y_proba, pos_label=pos_label)
    assert cal.CalibrationMonitor.from_json(monitor.to_json()) == monitor
    return monitor


class Fuzz:
    """A source of calls."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.targets = sorted(targets().items())

    def one_of(self, values):
        return values[int(self.rng.integers(len(values)))]

    def call(self) -> Call:
        name, target = self.one_of(self.targets)
        size = int(self.rng.integers(0, 51)) if self.rng.random() < 0.2 else 12
        wild = self.rng.random() < 0.7
        arguments = {}
        for parameter in inspect.signature(target).parameters.values():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                continue
            if parameter.name in OBJECTS and parameter.default is not parameter.empty:
                continue
            wanted = parameter.default is parameter.empty or parameter.name == "rng"
            if not wanted and self.rng.random() < 0.75:
                continue
            strange = wild and self.rng.random() < 0.3
            value = self.junk(size) if strange else self.good(parameter.name, size)
            arguments[parameter.name] = value
        return Call(name, target, arguments)

    def good(self, name, size):
        """Give a parameter of this name something that makes sense."""
        if name in WORDS:
            return self.one_of(WORDS[name])
        if name in WHOLE:
            return self.one_of([0, 1, 2, 3, 4, 5, 8, 10, 16, 64])
        makers = {
            "y_proba": lambda: self.predictions(size),
            "prediction": lambda: self.predictions(size),
            "y_true": lambda: self.outcomes(size),
            "sample_weight": lambda: self.one_of([self.rng.random(size), np.ones(size)]),
            "clusters": lambda: self.rng.integers(0, 4, size),
            "time": lambda: [f"t{k % 3}" for k in range(size)],
            "by": lambda: {"g": self.rng.integers(0, 3, size)},
            "rng": lambda: int(self.rng.integers(0, 100)),
            "task": lambda: cal.DecisionTask([[1, 0], [0, 1]]),
        }
        return makers[name]() if name in makers else self.one_of(FLOATS)

    def predictions(self, size):
        p = self.one_of(
            [
                self.rng.random(size),
                self.rng.random(size).round(1),
                self.rng.integers(0, 2, size).astype(float),
                np.full(size, 0.5),
                self.rng.random(size) ** 300,
                np.full(size, 5e-324),
                np.clip(self.rng.random(size) + 1e-10, 0, 1),
            ]
        )
        return self.one_of([p, p, p, p.tolist(), p.astype(np.float32), np.column_stack([1 - p, p])])

    def outcomes(self, size):
        y = self.rng.random(size) < 0.5
        return self.one_of(
            [y, y, y.astype(int), y.astype(float), y.tolist(), self.rng.random(size)]
        )

    def junk(self, size):
        kind = self.rng.random()
        if kind < 0.6:
            return self.one_of(JUNK)
        column = [self.one_of(JUNK) for _ in range(size)]
        if kind < 0.7:
            return column
        fill = np.empty(size, dtype=object)
        fill[:] = column
        return self.one_of(
            [
                fill,
                np.full(size, 0.5 + 0.1j),
                np.full(size, np.datetime64("2020-01-01")),
                np.full(size, np.timedelta64(1, "s")),
                np.full((size, 2), None),
                np.full((size, 2), "0.5"),
                np.full(size, np.nan),
                np.arange(size) * 10**17,
                [[0.5]] * size,
                [{}] * size,
            ]
        )


def tried(call: Call) -> object:
    """Make a call; an error of our own is returned, any other passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        try:
            return call.target(**call.arguments)
        except cal.errors.CalibrantError as error:
            return error


def confirm(call: Call, answer: object) -> None:
    """Assert what every answer must be: a finite number within its bounds, whatever the order."""
    if not isinstance(answer, cal.Measurement):
        return
    assert math.isfinite(answer), answer
    low, high = answer.bounds
    assert low - 1e-9 <= answer <= high + 1e-9, (low, answer, high)
    columns = [call.arguments.get(name) for name in ("y_true", "y_proba", "sample_weight")]
    others = set(call.arguments) - {"y_true", "y_proba", "sample_weight"}
    arrays = all(column is None or isinstance(column, np.ndarray) for column in columns)
    if call.name not in JOINT_MEASURES or others - {"rng"} or not arrays or columns[1] is None:
        return
    order = np.random.default_rng(0).permutation(len(columns[1]))
    shuffled = [None if column is None else column[order] for column in columns]
    turned = dict(zip(("y_true", "y_proba", "sample_weight"), shuffled, strict=True))
    again = tried(Call(call.name, call.target, turned))
    assert abs(float(again) - float(answer)) <= 1e-9 * max(1.0, abs(answer))
