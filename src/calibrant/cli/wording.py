"""Messages of the library about its arguments, as messages about options."""

from __future__ import annotations

import re
from collections.abc import Mapping

from calibrant._base.options import OR_GENERATOR
from calibrant.data.input import DROP, PERCENT, ROUNDED_OR_SCORES, SWAPPED
from calibrant.decisions import OR_TASK
from calibrant.errors import CalibrantError, with_names

# Options by the argument that they stand for.
OPTIONS = {
    "y_pred": "--prediction",
    "y_proba": "--prediction",
    "y_true": "--outcome",
    "sample_weight": "--weight",
    "pos_label": "--pos-label",
    "neg_label": "--neg-label",
    "na_label": "--na-label",
    "cluster_forecast": "--cluster-forecast",
    "find_segments": "--find-segments",
    "max_worse": "--max-worse",
    "pass_mark": "--pass-mark",
    "gap_tolerance": "--gap-tolerance",
    "oe_tolerance": "--oe-tolerance",
    "prediction_sum": "--prediction-sum",
    "base_rate": "--base-rate",
    "calibrator_file": "--calibrator",
    "outcome": "--outcome",
    "alpha": "--alpha",
    "between": "--between",
    "by": "--by",
    "classes": "--classes",
    "clusters": "--cluster",
    "column": "--column",
    "confidence": "--confidence",
    "count": "--count",
    "dialect": "--dialect",
    "duration": "--duration",
    "folds": "--folds",
    "fields": "--field",
    "horizon": "--horizon",
    "key": "--key",
    "prediction": "--prediction",
    "kind": "--kind",
    "level": "--level",
    "methods": "--methods",
    "origin": "--origin",
    "positives": "--positives",
    "range": "--range",
    "rng": "--seed",
    "measure": "--measure",
    "risk": "--risk",
    "scale": "--scale",
    "score": "--score",
    "scorer": "--scorer",
    "task": "--task",
    "time": "--time",
    "tolerance": "--tolerance",
    "until": "--until",
    "window": "--window",
}
# What to do at the command line, where it differs from what to do in Python.
HINTS = {
    DROP: "--na drop leaves them out",
    SWAPPED: "--prediction and --outcome look swapped",
    PERCENT: "for percentages use --scale percent",
    ROUNDED_OR_SCORES: "--classes must name every class; write rounded probabilities with more "
    "digits, and take the softmax of scores first",
    OR_GENERATOR: "",
    OR_TASK: "",
}


# Of arguments with a value: "@scale='percent'" and, of mappings, "@fields={'correct': 'grade'}".
_VALUE = re.compile(r"(@\w+)=")
_ENTRY = re.compile(r"(@\w+)=\{'(\w+)': '?([^'}]*)'?\}")


def on_the_command_line(error: CalibrantError) -> str:
    """Write an error of the library with the options that its arguments stand for."""
    what, got, hint = error.texts
    hint = "; ".join(filter(None, (HINTS.get(part, part) for part in hint.split("; "))))
    return str(CalibrantError(*(with_options(text, error.names) for text in (what, got, hint))))


def with_options(text: str, names: Mapping[str, str] | None = None) -> str:
    """Write a text of the library with the options, or names, that its arguments stand for."""
    text = _VALUE.sub(r"\1 ", _ENTRY.sub(r"\1 \2=\3", text))
    return with_names(text, {**OPTIONS, **(names or {})})
