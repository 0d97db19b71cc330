"""The shape of the JSON of an audit, as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

MEANINGS = {
    "schema": "number of this shape; it grows when a field is renamed, removed or changes meaning",
    "kind": "the kind of forecast, and the level of a quantile, expectile or interval",
    "calibrant": "version that wrote the file",
    "title": "what the forecasts are about",
    "data": "rows, what was forecast and observed, a fingerprint, notes on how rows were read",
    "conclusion": "what was found and what to do about it, in words",
    "state": "the state of the verdict, or miscalibrated where a group or a class is",
    "verdict": "the verdict, the measure it rests on with its interval, noise floor and p-value",
    "where": "in which range the forecasts are off, in words",
    "diagram": "the reliability diagram as numbers; null for continuous outcomes",
    "ranges": "what was observed in ranges of the forecasts; empty for probabilities",
    "measures": "every measure that is audited, with its noise floor",
    "classes": "one verdict per class, the worst set of classes, whole rows; null for other kinds",
    "groups": "one verdict per group, all holding at once; null if none were asked for",
    "ratio": "observed over expected events against a tolerance; null if none was given",
    "segments": "groups that nobody named; null if they were not looked for",
    "time": "windows of time and the monitor; null without times",
    "recalibrate": "the map that lowers the loss on held-out data, or why there is none",
    "certified": "the forecast from which on errors are rare enough; null unless asked for",
    "costs": "promised and actual payoff, and what is lost; null for continuous outcomes",
    "distance": "the chain of distances to calibration; null for continuous outcomes",
    "classical": "slope, intercepts, ICI, scores and more; null for continuous outcomes",
    "loss": "mean loss, its decomposition and the mean residual; null for probabilities",
    "conventions": "the binned error in other libraries; empty for continuous outcomes",
    "findings": "every finding with its code, kind, text, advice and page",
    "settings": "confidence, draws, tolerances and seed",
}
"""What the fields of the outermost object hold."""


def schema() -> dict[str, Any]:
    """Read the schema that ships with the package."""
    text = files("calibrant.report").joinpath("schema.json").read_text(encoding="utf-8")
    held: dict[str, Any] = json.loads(text)
    return held


def schema_table() -> str:
    """One line per field of the outermost object, and those inside of it."""
    held = schema()
    lines = ["| field | type | holds |", "|---|---|---|"]
    for name, part in held["properties"].items():
        lines.append(f"| `{name}` | {kind_of(part, held)} | {MEANINGS.get(name, '')} |")
    lines += ["", "## Fields inside", ""]
    for name, part in held["properties"].items():
        inner = list(fields(part, held, name))
        if inner:
            lines += [f"### {name}", "", "| field | type |", "|---|---|"]
            lines += [f"| `{path}` | {kind} |" for path, kind in inner] + [""]
    return "\n".join(lines)


def resolved(part: dict[str, Any], held: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference, and of alternatives take the one that is no null."""
    if "$ref" in part:
        return resolved(held["$defs"][part["$ref"].rpartition("/")[2]], held)
    for one in part.get("anyOf", []):
        if one.get("type") != "null":
            return resolved(one, held)
    return part


def kind_of(part: dict[str, Any], held: dict[str, Any]) -> str:
    """Say in words what a value can be."""
    empty = any(one.get("type") == "null" for one in part.get("anyOf", []))
    found = resolved(part, held)
    if "const" in found:
        words = f"always {found['const']}"
    elif "enum" in found:
        words = " or ".join(f'"{one}"' for one in found["enum"])
    else:
        kinds = found.get("type", "anything")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        empty = empty or "null" in kinds
        words = " or ".join(kind for kind in kinds if kind != "null")
        if words == "array" and "items" in found:
            words = f"array of {kind_of(found['items'], held).replace(', or null', ' or null')}"
    return f"{words}, or null" if empty else words


def _properties(found: dict[str, Any]) -> dict[str, Any]:
    """Fields of an object; where all are of one type, those that it must have."""
    every = found.get("additionalProperties")
    if "properties" not in found and isinstance(every, dict):
        return dict.fromkeys(found.get("required", []), every)
    return dict(found.get("properties", {}))


def fields(part: dict[str, Any], held: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Paths of all fields inside an object or the objects of an array."""
    found = resolved(part, held)
    if "items" in found:
        yield from fields(found["items"], held, f"{path}[]")
    for name, inner in _properties(found).items():
        yield f"{path}.{name}", kind_of(inner, held)
        yield from fields(inner, held, f"{path}.{name}")
