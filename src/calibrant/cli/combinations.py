"""Which options need others and which exclude each other: none may be ignored in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from calibrant.cli.options import is_passed
from calibrant.errors import InvalidOptionError

Rules = Mapping[str, Sequence[str]]

# Conditions are options that were given, option=value, or one of those of TESTS.
_LABELS = ("pos_label", "neg_label", "na_label")
_TWO_COLUMNS = "two columns in --by"
_A_FILE_OF_OUTCOMES = "a file of outcomes"
_MEASURES_WITH_TOLERANCES = "measures with tolerances of their own"
_OTHER_MEASURES = "measures other than smooth_calibration_error"

# An option on the left does something only with one of those on the right.
NEEDS: Mapping[str, Rules] = {
    "audit": {
        "pairs": (_TWO_COLUMNS,),
        "find_segments": ("by",),
        "title": ("html", "json", "markdown"),
        "horizon": ("kind=survival",),
        "duration": ("kind=survival",),
        "level": ("kind=interval",),
        "range_": ("kind",),
    },
    "check": {
        "key": ("baseline",),
        "max_worse": ("baseline",),
        "only_difference": ("baseline",),
    },
    "recalibrate": {
        "pairs": (_TWO_COLUMNS,),
        "dialect": ("sql",),
        "table": ("sql",),
        "column": ("out", "sql"),
    },
    "monitor": {
        "cluster_forecast": ("cluster",),
        "title": ("html",),
    },
    "online": {"outcome": (_A_FILE_OF_OUTCOMES,)},
}
# An option on the left does nothing beside any of those on the right.
EXCLUDES: Mapping[str, Rules] = {
    "audit": {
        "full": ("quiet",),
        "prediction": ("prediction_sum",),
        **dict.fromkeys(("outcome", *_LABELS), ("count", "positives")),
        "range_": ("kind=survival",),
    },
    "check": {
        "prediction": ("prediction_sum",),
        **dict.fromkeys(("outcome", *_LABELS), ("count", "positives")),
        **dict.fromkeys(("by", "measure", "oe_tolerance", "gap_tolerance"), ("only_difference",)),
        "tolerance": ("only_difference", _MEASURES_WITH_TOLERANCES),
        "gap_tolerance": ("only_difference", _OTHER_MEASURES),
        "key": ("classes",),
    },
    "recalibrate": {
        "prediction": ("prediction_sum",),
        "outcome": ("count", "positives"),
        **dict.fromkeys(_LABELS, ("count", "positives", "classes")),
        **dict.fromkeys(("time", "cluster"), ("count", "positives", "base_rate")),
        "by": ("count", "positives", "classes", "base_rate"),
        "task": ("classes", "base_rate"),
        **dict.fromkeys(
            ("classes", "methods", "score", "folds", "confidence", "seed", "json_path"),
            ("base_rate",),
        ),
        "out": ("prediction_sum",),
    },
}
# Options of tables that mean nothing for logs of language models.
FOR_TABLES = (
    "weight",
    "time",
    "count",
    "positives",
    "prediction_sum",
    *_LABELS,
    "na",
    "classes",
    "kind",
    "range_",
    "level",
    "horizon",
    "duration",
    "key",
    "baseline",
)


def refuse_useless(context: typer.Context) -> None:
    """Refuse options that would do nothing beside the others, or without them."""
    command = context.command.name or ""
    for name, conditions in NEEDS.get(command, {}).items():
        if is_passed(context, name) and not any(_holds(context, one) for one in conditions):
            wanted = " or ".join(_wording(context, one) for one in conditions)
            raise InvalidOptionError(f"{option_of(context, name)} needs {wanted}")
    for name, conditions in EXCLUDES.get(command, {}).items():
        present = [one for one in conditions if is_passed(context, name) and _holds(context, one)]
        if present:
            raise InvalidOptionError(
                f"{option_of(context, name)} cannot be used with {_wording(context, present[0])}",
                hint="leave one of them out",
            )


def option_of(context: typer.Context, name: str) -> str:
    """Write an option as it is typed."""
    return next(one.opts[0] for one in context.command.params if one.name == name)


def _holds(context: typer.Context, condition: str) -> bool:
    """Whether an option is set, or a condition is met."""
    if condition in TESTS:
        return TESTS[condition](context.params)
    name, _, value = condition.partition("=")
    found = context.params.get(name)
    if value:
        return found is not None and str(found).partition("=")[0] == value
    return found is not None and found is not False and found not in ([], ())


def _wording(context: typer.Context, condition: str) -> str:
    if condition in TESTS:
        return condition
    name, _, value = condition.partition("=")
    return f"{option_of(context, name)} {value}".rstrip()


def _columns_of(params: Mapping[str, Any]) -> int:
    texts = params.get("by") or []
    return len({name.strip() for text in texts for name in text.split(",")})


def _all_have_tolerances(params: Mapping[str, Any]) -> bool:
    measures = params.get("measure") or []
    return bool(measures) and all("=" in text for text in measures)


def _smooth_error_is_left_out(params: Mapping[str, Any]) -> bool:
    names = {text.partition("=")[0].strip() for text in params.get("measure") or []}
    return bool(names) and "smooth_calibration_error" not in names


def _plays_a_file(params: Mapping[str, Any]) -> bool:
    from pathlib import Path

    from calibrant.online import NATURES

    nature = str(params.get("nature"))
    return nature not in NATURES and Path(nature).exists()


TESTS = {
    _TWO_COLUMNS: lambda params: _columns_of(params) > 1,
    _MEASURES_WITH_TOLERANCES: _all_have_tolerances,
    _OTHER_MEASURES: _smooth_error_is_left_out,
    _A_FILE_OF_OUTCOMES: _plays_a_file,
}
