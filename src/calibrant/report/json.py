"""An audit as JSON of a stable shape; `schema.json` beside this file describes it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.inference import (
    CalibrationIndex,
    CalibrationTest,
    CertifiedThreshold,
    ClassicalNumbers,
    ConfidenceInterval,
    Costs,
    Estimate,
    Gap,
    Measured,
    ObservedRange,
    Ranges,
    Ratio,
    RatioJudgement,
    ScoreTest,
    Verdict,
)
from calibrant.report.conclusion import conclusion
from calibrant.report.findings import Finding
from calibrant.report.sentences import set_sentence
from calibrant.report.summary import Summary

if TYPE_CHECKING:
    from calibrant.groups import Groups, Segment
    from calibrant.report.sections import ClassSection, LossSection

SCHEMA = 4
KIND = "kind"
# Numbers and nulls between brackets, spread over lines.
COLUMN = re.compile(r"(?<=\[)\n[-+.\deE,\snul]+?(?=\])")


def render_json(summary: Summary) -> str:
    """Write an audit as JSON; numbers that are not defined are null."""
    written = json.dumps(as_dict(summary), indent=2, allow_nan=False)
    # Columns stand on a line each. No string has line breaks, so that none is touched.
    return COLUMN.sub(lambda found: re.sub(r"\s+", " ", found.group()), written)


def as_dict(summary: Summary) -> dict[str, Any]:
    """Return an audit as plain data."""
    from calibrant import __version__

    sections: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": {"name": summary.kind_name, "level": getattr(summary.kind, "level", None)},
        "conclusion": conclusion(summary),
        "calibrant": __version__,
        "title": summary.title,
        "data": asdict(summary.data),
        "state": summary.state,
        "verdict": verdict_dict(summary.verdict),
        "where": summary.where,
        "diagram": None if summary.costs is None else _diagram(summary),
        "ranges": [_range(found) for found in summary.ranges],
        "measures": _measures(summary.measured),
        "classes": None if summary.classes is None else _classes(summary.classes),
        "groups": None if summary.groups is None else _groups(summary.groups),
        "ratio": None if summary.ratios is None else _ratios(summary.ratios),
        "segments": None
        if summary.segments is None
        else [_segment(segment) for segment in summary.segments],
        "time": None if summary.watched is None else summary.watched.as_dict(),
        "recalibrate": _recalibration(summary),
        "certified": _certified(summary.certified),
        "costs": None if summary.costs is None else _costs(summary.costs),
        "distance": None if summary.costs is None else _distance(summary),
        "classical": None if summary.classical is None else _classical(summary.classical),
        "loss": None if summary.loss is None else _loss(summary.loss),
        "conventions": [asdict(convention) for convention in summary.conventions],
        "findings": [finding_dict(finding) for finding in summary.findings],
        "settings": summary.settings,
    }
    found: dict[str, Any] = plain(sections)
    return found


def _diagram(summary: Summary) -> dict[str, Any]:
    """Return the reliability diagram as columns, and the ranges of the typical gap."""
    diagram = summary.diagram
    band = diagram.band
    return {
        "scale": diagram.span.scale,
        "confidence": diagram.confidence,
        "dots": _columns(diagram.dots),
        "curve": _columns(diagram.outline("curve")),
        "band": None if band is None else _columns(diagram.outline("band")),
        "counts": _columns(diagram.counts),
        "bins": _columns(Ranges.of(summary.evidence).pooling.table),
    }


def _range(found: ObservedRange) -> dict[str, Any]:
    region = found.region
    return {
        "from": region.low,
        "to": region.high,
        "rows": region.rows,
        "place": found.coordinate,
        "forecast": region.prediction,
        "observed": region.outcome,
        "low": found.low,
        "high": found.high,
    }


def _loss(loss: LossSection) -> dict[str, Any]:
    parts = loss.decomposition
    return {
        "name": loss.name,
        "value": loss.value,
        "bias": dict(zip(("value", "low", "high"), loss.bias, strict=True)),
        "decomposition": None if parts is None else asdict(parts),
    }


def _distance(summary: Summary) -> dict[str, Any]:
    found = summary.distances
    return {"low": found.low, "high": found.high, "chain": found.chain}


def _columns(table: Mapping[str, npt.NDArray[Any]]) -> dict[str, list[float]]:
    return {name: np.asarray(column).tolist() for name, column in table.items()}


def _measures(measured: Measured) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "value": float(value),
            "bounds": list(value.bounds),
            "noise_floor": measured.floors[name],
            "settings": {key: str(option) for key, option in value.settings.items()},
        }
        for name, value in measured.values.items()
    ]


def _groups(groups: Groups) -> dict[str, Any]:
    return {
        "tolerance": groups.tolerance,
        "confidence": groups.confidence,
        "sentence": groups.sentence,
        "gap_tolerance": groups.gap_tolerance,
        "groups": [
            without_kind(group)
            | {
                "ratio": None if group.ratio is None else asdict(group.ratio),
                "gap": _limits(group.gap),
                "worst": None if group.worst is None else without_kind(group.worst),
            }
            for group in groups
        ],
    }


def without_kind(found: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as they are; the kind is that of the whole audit."""
    return {field.name: getattr(found, field.name) for field in fields(found) if field.name != KIND}


def _limits(gap: ConfidenceInterval | None) -> dict[str, float] | None:
    return None if gap is None else {name: getattr(gap, name) for name in ("value", "low", "high")}


def _certified(found: CertifiedThreshold | None) -> dict[str, Any] | None:
    if found is None:
        return None
    names = ("threshold", "risk", "confidence", "coverage", "answered", "errors", "sentence")
    by_group = {name: _certified(one) for name, one in found.groups.items()}
    return {name: getattr(found, name) for name in names} | {"groups": by_group}


def _ratios(judged: RatioJudgement) -> dict[str, Any]:
    return {
        "tolerance": judged.tolerance,
        "state": judged.overall.state,
        "sentence": judged.overall.sentence,
        "groups": {label: verdict.state for label, verdict in judged.groups},
    }


def _classes(section: ClassSection) -> dict[str, Any]:
    worst, sets = section.sets.projected, section.sets
    return {
        "names": [str(name) for name in section.names],
        "sum_gap": section.sum_gap,
        "scores": asdict(section.worth),
        "by_class": _groups(section.by_class),
        "worst_set": {
            "value": float(worst),
            "bounds": list(worst.bounds),
            "classes": [str(name) for name in getattr(worst.witness, "classes", ())],
            "searched": worst.settings["subsets"] == "searched",
            "noise_floor": sets.floor,
            "sentence": set_sentence(section),
            "test": _test(sets.projected_test),
        },
        "canonical": _test(sets.canonical),
    }


def _test(test: CalibrationTest | None) -> dict[str, Any] | None:
    if test is None:
        return None
    return {
        "statistic": test.statistic,
        "noise_floor": test.noise_floor,
        "noise_quantile": test.noise_quantile(0.95),
        "pvalue": test.pvalue,
        "draws": int(test.null.size),
    }


def _costs(costs: Costs) -> dict[str, Any]:
    return {
        "worst": float(costs.worst),
        "worst_test": _test(costs.worst_test),
        "brier": asdict(costs.decomposition),
        "task": None if costs.task is None else repr(costs.task),
        "own_task": costs.task is not None and costs.own,
        "task_loss": None if costs.task_loss is None else float(costs.task_loss),
        "task_test": _test(costs.task_test),
        "promised": None if costs.promised is None else costs.promised.promised,
        "received": None if costs.promised is None else costs.promised.received,
        "noise": costs.noise,
    }


def verdict_dict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data."""
    return {
        "state": verdict.state,
        "sentence": verdict.sentence,
        "measure": verdict.measure,
        "value": verdict.value,
        "low": verdict.interval.low,
        "high": verdict.interval.high,
        "confidence": verdict.interval.confidence,
        "tolerance": verdict.tolerance,
        "noise_floor": verdict.noise_floor,
        "gap": None if verdict.gap is None else _gap(verdict.gap),
        "pvalue": verdict.pvalue,
        "pvalues": {part.measure: part.pvalue for part in verdict.test.parts},
        "rows": verdict.rows,
        "rows_needed": verdict.rows_needed,
        "clusters": verdict.test.clusters,
        "ratio": None if verdict.ratio is None else asdict(verdict.ratio),
    }


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "state": gap.state,
        "value": gap.interval.value,
        "low": gap.interval.low,
        "high": gap.interval.high,
        "tolerance": gap.tolerance,
        "ranges": gap.ranges,
        "worst": without_kind(gap.worst),
    }


def finding_dict(finding: Finding) -> dict[str, str]:
    """Return a finding as plain data."""
    return {**asdict(finding), "page": finding.page}


def _recalibration(summary: Summary) -> dict[str, Any] | None:
    choice = summary.choice
    if choice is None:
        return None
    gains = getattr(choice, "gains", None) or {choice.score: choice.gain}
    return {
        "calibrator": choice.calibrator.label,
        "unchanged": choice.unchanged,
        "score": choice.score,
        "gain": choice.gain.value,
        "gain_low": choice.gain.low,
        "gain_high": choice.gain.high,
        "gains": {
            name: {end: getattr(gain, end) for end in ("value", "low", "high")}
            for name, gain in gains.items()
        },
        "sentence": choice.sentence,
    }


def _segment(segment: Segment) -> dict[str, Any]:
    conditions = [{"column": column, "level": level} for column, level in segment.conditions]
    return {**without_kind(segment), "conditions": conditions, "sentence": segment.sentence}


def _classical(numbers: ClassicalNumbers) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in numbers.__dataclass_fields__:
        value = getattr(numbers, name)
        composed = isinstance(value, CalibrationIndex | Estimate | ScoreTest | Ratio)
        found[name] = asdict(value) if composed else value
    return found


def plain(value: Any) -> Any:
    """Numbers of numpy become Python's; those that JSON does not know become null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
