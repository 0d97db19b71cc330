"""An audit as JSON of a stable shape; `schema.json` beside this file describes it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from calibrant.groups import Segment
from calibrant.inference import Estimate, ScoreTest, Verdict
from calibrant.inference.ratio import Ratio
from calibrant.report.findings import Finding
from calibrant.report.summary import Summary

SCHEMA = 1


def render_json(summary: Summary) -> str:
    """Write an audit as JSON; numbers that are not defined are null."""
    return json.dumps(as_dict(summary), indent=2, allow_nan=False)


def as_dict(summary: Summary) -> dict[str, Any]:
    """Return an audit as plain data."""
    from calibrant import __version__

    costs = summary.costs
    found: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "calibrant": __version__,
            "title": summary.title,
            "data": {
                "rows": summary.rows,
                "levels": summary.levels,
                "mean_prediction": summary.mean_prediction,
                "base_rate": summary.base_rate,
                "clipped": summary.clipped,
                "dropped": summary.dropped,
                "fingerprint": summary.fingerprint,
            },
            "verdict": verdict_dict(summary.verdict),
            "where": summary.where,
            "measures": [
                {
                    "name": name,
                    "value": float(value),
                    "bounds": list(value.bounds),
                    "noise_floor": summary.noise_floors[name],
                    "settings": {key: str(option) for key, option in value.settings.items()},
                }
                for name, value in summary.measures.items()
            ],
            "repair": _repair(summary),
            "costs": {
                "worst": float(costs.worst),
                "brier": asdict(costs.decomposition),
                "task": None if costs.task is None else repr(costs.task),
                "task_loss": None if costs.task_loss is None else float(costs.task_loss),
                "promised": None if costs.promised is None else costs.promised.promised,
                "received": None if costs.promised is None else costs.promised.received,
            },
            "distance": {
                "low": summary.distances.low,
                "high": summary.distances.high,
                "chain": summary.distances.chain,
            },
            "classical": _classical(summary),
            "conventions": [asdict(convention) for convention in summary.conventions],
            "groups": None
            if summary.groups is None
            else {
                "tolerance": summary.groups.tolerance,
                "confidence": summary.groups.confidence,
                "sentence": summary.groups.sentence,
                "groups": [asdict(group) for group in summary.groups],
            },
            "segments": None
            if summary.segments is None
            else [_segment(segment) for segment in summary.segments],
            "time": None if summary.watched is None else summary.watched.as_dict(),
            "findings": [finding_dict(finding) for finding in summary.findings],
            "settings": summary.settings,
        }
    )
    return found


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
        "pvalue": verdict.pvalue,
        "rows": verdict.rows,
        "rows_needed": verdict.rows_needed,
        "clusters": verdict.test.clusters,
        "ratio": None if verdict.ratio is None else asdict(verdict.ratio),
    }


def finding_dict(finding: Finding) -> dict[str, str]:
    """Return a finding as plain data."""
    return {**asdict(finding), "page": finding.page}


def _repair(summary: Summary) -> dict[str, Any] | None:
    choice = summary.choice
    if choice is None:
        return None
    before, after = choice.smooth_errors
    gain = choice.gain.as_dict()
    return {
        "map": choice.map.name,
        "leave_alone": choice.leave_alone,
        "score": choice.score,
        "gain": gain["value"],
        "gain_low": gain["low"],
        "gain_high": gain["high"],
        "smooth_error_before": before,
        "smooth_error_after": after,
        "sentence": choice.sentence,
    }


def _segment(segment: Segment) -> dict[str, Any]:
    conditions = [{"column": column, "level": level} for column, level in segment.conditions]
    return {**asdict(segment), "conditions": conditions, "sentence": segment.sentence}


def _classical(summary: Summary) -> dict[str, Any]:
    numbers = summary.classical
    found: dict[str, Any] = {}
    for name in numbers.__dataclass_fields__:
        value = getattr(numbers, name)
        composed = isinstance(value, Estimate | ScoreTest | Ratio)
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
