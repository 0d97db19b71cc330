"""Calibrators as ONNX models, in doubles, with operators that every runtime has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.errors import MissingPackageError
from calibrant.recalibration.class_forms import (
    AnyForm,
    Blend,
    ClassLines,
    Corrections,
    Softmax,
    Unmoved,
)
from calibrant.recalibration.export import LOGIT, MOST_LOGIT, PERCENT
from calibrant.recalibration.forms import MOST_LOG_ODDS, Lines, Logistic, LogOddsCurve, Steps
from calibrant.regression import LEAST

if TYPE_CHECKING:
    from calibrant.recalibration.base import Calibrator

OPSET, IR_VERSION = 17, 8
INPUT = "prediction"


class Graph:
    """Nodes of a graph, each of which takes names and returns a new one."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        from onnx import helper

        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def times(self, value: str, factor: float) -> str:
        """Multiply by a number.

        Where that is nearly 1, the difference is multiplied: onnxruntime leaves out a product with
        what is 1 in single precision.
        """
        if factor == 1 or np.float32(factor) != 1:
            return self("Mul", value, self.constant(factor))
        return self("Add", value, self("Mul", value, self.constant(factor - 1)))

    def chance(self, log_odds: str, most: float) -> str:
        """Turn log-odds into probabilities: Sigmoid loses the digits of small ones."""
        one = self.constant(1.0)
        odds_against = self("Exp", self("Neg", self.clipped(log_odds, -most, most)))
        return self("Div", one, self("Add", one, odds_against))

    def clipped(self, value: str, low: float, high: float) -> str:
        """Keep values between two ends."""
        return self("Clip", value, self.constant(low), self.constant(high))


def onnx_model(fitted: Calibrator, name: str) -> Any:
    """Write a fitted calibrator as an ONNX model."""
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise MissingPackageError(
            "to_onnx needs onnx", "no such package", "pip install onnx"
        ) from error
    graph = Graph()
    tensor = INPUT
    if fitted.scale_ == PERCENT:
        tensor = graph("Div", tensor, graph.constant(100.0))
    elif fitted.scale_ == LOGIT:
        tensor = graph.chance(tensor, MOST_LOGIT)
    recalibrated = _form(graph, fitted.form_, graph.clipped(tensor, 0.0, 1.0))
    recalibrated = _missing_stay(graph, recalibrated, of_classes=fitted.classes_ is not None)
    graph.nodes.append(helper.make_node("Identity", [recalibrated], [name]))
    shape: list[str | int | None] = ["n"]
    if fitted.classes_ is not None:
        shape.append(len(fitted.classes_))
    ends = [helper.make_tensor_value_info(end, TensorProto.DOUBLE, shape) for end in (INPUT, name)]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "recalibrate", ends[:1], ends[1:], graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="calibrant",
        doc_string=fitted.sentence,
    )
    checker.check_model(made)
    return made


def _missing_stay(graph: Graph, recalibrated: str, *, of_classes: bool) -> str:
    """Put NaN where a prediction, or one of a row of classes, is NaN: comparisons would lose it."""
    missing = graph("IsNaN", INPUT)
    if of_classes:
        count = graph("ReduceSum", graph("Cast", missing, to=7), graph.constant([1], np.int64))
        missing = graph("Greater", count, graph.constant(0, np.int64))
    return graph("Where", missing, graph.constant(np.nan), recalibrated)


def _form(graph: Graph, form: AnyForm, tensor: str) -> str:
    return _WRITERS[type(form)](graph, form, tensor)


def _unmoved(graph: Graph, form: Unmoved, tensor: str) -> str:  # noqa: ARG001
    return tensor


def _steps(graph: Graph, form: Steps, tensor: str) -> str:
    return graph("Gather", graph.constant(form.value), _index_of(graph, form.start, tensor))


def _passed(graph: Graph, start: Floats, tensor: str) -> str:
    """Count the starts that are not beyond."""
    column = graph("Unsqueeze", tensor, graph.constant([1], np.int64))
    beyond = graph("GreaterOrEqual", column, graph.constant(start[np.newaxis]))
    counted = graph("Cast", beyond, to=7)  # 64-bit integers
    return graph("ReduceSum", counted, graph.constant([1], np.int64), keepdims=0)


def _index_of(graph: Graph, start: Floats, tensor: str, most: int | None = None) -> str:
    """Find the number of the last start that is not beyond, at least 0."""
    index = graph("Sub", _passed(graph, start, tensor), graph.constant(1, np.int64))
    last = start.size - 1 if most is None else most
    return graph("Clip", index, graph.constant(0, np.int64), graph.constant(last, np.int64))


def _lines(graph: Graph, form: Lines, tensor: str) -> str:
    if form.knot.size == 1:
        return graph("Gather", graph.constant(form.value), _index_of(graph, form.knot, tensor))
    left = _index_of(graph, form.knot, tensor, form.knot.size - 2)

    def at(values: Floats) -> str:
        return graph("Gather", graph.constant(values), left)

    way = graph("Sub", tensor, at(form.knot[:-1]))
    share = graph.clipped(graph("Div", way, at(np.diff(form.knot))), 0.0, 1.0)
    step = graph("Mul", share, at(np.diff(form.value)))
    return graph("Add", at(form.value[:-1]), step)


def _logistic(graph: Graph, form: Logistic, tensor: str) -> str:
    inside = graph.clipped(tensor, LEAST, 1 - LEAST)
    low = graph.times(graph("Log", inside), form.low)
    rest = graph("Sub", graph.constant(1.0), inside)
    high = graph.times(graph("Log", rest), form.high)
    log_odds = graph("Sub", graph("Add", low, graph.constant(form.intercept)), high)
    return graph.chance(log_odds, MOST_LOG_ODDS)


def _curve(graph: Graph, form: LogOddsCurve, tensor: str) -> str:
    inside = graph.clipped(tensor, LEAST, 1 - LEAST)
    rest = graph("Sub", graph.constant(1.0), inside)
    before = graph("Sub", graph("Log", inside), graph("Log", rest))
    piece = _passed(graph, form.log_odds, before)
    start, value, slope, bend = (
        graph("Gather", graph.constant(part), piece) for part in form.pieces
    )
    beyond = graph("Sub", before, start)
    leaning = graph("Add", slope, graph("Mul", bend, beyond))
    log_odds = graph("Add", value, graph("Mul", beyond, leaning))
    return graph.chance(log_odds, MOST_LOG_ODDS)


def _blend(graph: Graph, form: Blend, tensor: str) -> str:
    score = graph("Log", graph.clipped(tensor, LEAST, 1.0))
    sharp = graph("Softmax", graph.times(score, form.slope), axis=1)
    ones = graph("Mul", tensor, graph.constant(0.0))
    equal = graph("Softmax", ones, axis=1)
    parts = (
        graph.times(part, share)
        for part, share in zip((sharp, tensor, equal), form.share.tolist(), strict=True)
    )
    return graph("Sum", *parts)


def _softmax(graph: Graph, form: Softmax, tensor: str) -> str:
    score = graph("Log", graph.clipped(tensor, LEAST, 1.0))
    weight = graph.constant(form.weight)
    score = graph("Mul" if form.weight.ndim == 1 else "MatMul", score, weight)
    return graph("Softmax", graph("Add", score, graph.constant(form.shift)), axis=1)


def _class_lines(graph: Graph, form: ClassLines, tensor: str) -> str:
    """Move each class by its own lines, then rows onto the simplex as `onto_simplex` does."""
    classes = len(form.lines)
    axis = graph.constant([1], np.int64)
    columns = []
    for number, line in enumerate(form.lines):
        column = graph("Gather", tensor, graph.constant(number, np.int64), axis=1)
        columns.append(graph("Unsqueeze", _lines(graph, line, column), axis))
    projected = _onto_simplex(graph, graph("Concat", *columns, axis=1), classes)
    return _kept(graph, projected, form.least)


def _corrections(graph: Graph, form: Corrections, tensor: str) -> str:
    """Correct sets of classes one after the other."""
    axis = graph.constant([1], np.int64)
    for step in form.steps:
        inside = np.isin(np.arange(form.classes), step.members).astype(np.float64)
        chance = graph("Squeeze", graph("MatMul", tensor, graph.constant(inside[:, None])), axis)
        move = graph("Unsqueeze", _lines(graph, step.line, chance), axis)
        corrected = graph("Add", tensor, graph("Mul", move, graph.constant(inside[None])))
        tensor = _onto_simplex(graph, corrected, form.classes)
    return _kept(graph, tensor, form.least)


def _kept(graph: Graph, table: str, least: float) -> str:
    """Keep values away from 0, and make rows sum to one."""
    floor = graph("Max", table, graph.constant(least))
    axis = graph.constant([1], np.int64)
    return graph("Div", floor, graph("ReduceSum", floor, axis, keepdims=1))


def _onto_simplex(graph: Graph, table: str, classes: int) -> str:
    """Move rows as `onto_simplex` does."""
    axis = graph.constant([1], np.int64)
    falling = f"sorted_{len(graph.nodes)}"
    from onnx import helper

    most = graph.constant([classes], np.int64)
    graph.nodes.append(helper.make_node("TopK", [table, most], [falling, f"{falling}_at"], axis=1))
    summed = graph("CumSum", falling, graph.constant(1, np.int64))
    excess = graph("Sub", summed, graph.constant(1.0))
    ranked = graph("Mul", falling, graph.constant(np.arange(1.0, classes + 1)[np.newaxis]))
    positive = graph("Cast", graph("Greater", ranked, excess), to=7)
    kept = graph("ReduceSum", positive, axis, keepdims=1)
    last = graph("Sub", kept, graph.constant(1, np.int64))
    count = graph("Cast", kept, to=11)  # doubles
    shift = graph("Div", graph("GatherElements", excess, last, axis=1), count)
    return graph("Max", graph("Sub", table, shift), graph.constant(0.0))


_WRITERS: dict[type, Callable[[Graph, Any, str], str]] = {
    Unmoved: _unmoved,
    Steps: _steps,
    Lines: _lines,
    Logistic: _logistic,
    LogOddsCurve: _curve,
    Softmax: _softmax,
    Blend: _blend,
    ClassLines: _class_lines,
    Corrections: _corrections,
}
