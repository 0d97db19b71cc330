"""What to do next: the calibrator that would help, and what it can be expected to gain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant._base.options import as_generator
from calibrant.data import hold_out
from calibrant.data.input import read_labels
from calibrant.inference import Evidence, Settings
from calibrant.inputs import Source
from calibrant.joint import Rows
from calibrant.joint.classes import ClassForecasts
from calibrant.joint.draws import exact_levels
from calibrant.recalibration import (
    ContinuousRecalibration,
    Recalibration,
    choice_of_probabilities,
    choose_for_rows,
    too_flexible,
    units_of,
)

# Of more rows that differ in weight, cluster or time, so many are taken at random.
MOST_ROWS = 2**16
# They are taken from clusters that hold so many times as many, if that leaves so many clusters.
ROWS_PER_ROW, FEWEST_CLUSTERS = 16, 2**12
# Calibrators of classes that an audit tries: quick ones; of many classes, vectors take too long to
# fit.
TRIED_FOR_CLASSES, MANY_CLASSES = ("temperature", "vector", "one_vs_rest_isotonic"), 50
# Of forecasts of classes so many probabilities are taken, but not fewer rows than this.
MOST_PROBABILITIES, FEWEST_ROWS, FOLDS = 2**16, 2**11, 5


def advise(
    source: Source, evidence: Evidence, settings: Settings
) -> Recalibration | ContinuousRecalibration | None:
    """Choose a calibrator on rows it has not seen; None where the rows do not allow a choice.

    The choice is that of `recalibrate`, and so of its command, from the same rows and seed.
    More than 2^16 different predictions are taken as counts of 4096 cells, so that the time does
    not grow with their number.
    """
    confidence = settings.confidence
    # From the seed itself, so that what an audit drew before does not change the folds.
    generator = settings.rng if settings.seed is None else as_generator(settings.seed)
    if not source.kind.summed:
        return _advise_rows(source, confidence)
    if source.classes is not None:
        return _advise_classes(source.classes, source.clusters, confidence, generator)
    if evidence.full_joint.row_count < 2:
        return None
    if source.times is None and evidence.clusters is None:
        for joint in (evidence.full_joint, evidence.joint):
            if len(joint) <= MOST_ROWS and exact_levels(joint).all():
                return choice_of_probabilities(joint, confidence=confidence, rng=generator)
    rows, extra = _rows_of(source, evidence)
    if rows is None:
        return None
    rows, extra = _fewer(rows, extra, generator)
    return choice_of_probabilities(
        rows.outcome,
        rows.prediction,
        sample_weight=rows.weight,
        confidence=confidence,
        rng=generator,
        **extra,
    )


def _advise_rows(source: Source, confidence: float) -> ContinuousRecalibration | None:
    """Choose a calibrator of forecasts of numbers; None for too many rows."""
    if source.rows is None or len(source.rows) > MOST_ROWS:
        return None
    clusters = source.clusters
    return choose_for_rows(source.rows, clusters=clusters, confidence=confidence, rng=0)


def _fewer(
    rows: Rows, extra: dict[str, Any], rng: np.random.Generator
) -> tuple[Rows, dict[str, Any]]:
    """Take so many rows at random; of very many rows in very many clusters, clusters first."""
    if rows.prediction.size <= MOST_ROWS:
        return rows, extra
    rows, extra = _fewer_clusters(rows, extra, rng)
    size = rows.prediction.size
    if size <= MOST_ROWS:
        return rows, extra
    known = (rows.prediction, rows.outcome, rows.weight, *extra.values())
    kept = hold_out(MOST_ROWS / size, rng, *known)
    return rows.where(kept), {name: part[kept] for name, part in extra.items()}


def _fewer_clusters(
    rows: Rows, extra: dict[str, Any], rng: np.random.Generator
) -> tuple[Rows, dict[str, Any]]:
    """Take some of the clusters at random, if these leave enough of them and of the rows."""
    code = extra.get("clusters")
    share = ROWS_PER_ROW * MOST_ROWS / rows.prediction.size
    if code is None or share >= 1 or share * (int(code.max()) + 1) < FEWEST_CLUSTERS:
        return rows, extra
    kept = hold_out(share, rng, cluster=code)
    code = np.unique(code[kept], return_inverse=True)[1].reshape(-1)
    return rows.where(kept), {name: part[kept] for name, part in extra.items()} | {"clusters": code}


def _advise_classes(
    forecasts: ClassForecasts, clusters: object, confidence: float, rng: np.random.Generator
) -> Recalibration | None:
    """Choose a multiclass calibrator on held-out rows; None where rows or clusters are few."""
    cluster = None
    if clusters is not None:
        labels = read_labels(clusters, "clusters", len(forecasts))
        cluster = np.unique(labels, return_inverse=True)[1].reshape(-1)
    most = max(FEWEST_ROWS, MOST_PROBABILITIES // len(forecasts.classes))
    if len(forecasts) > most:
        known = (forecasts.probability, forecasts.label, forecasts.weight, cluster)
        kept = hold_out(most / len(forecasts), rng, *known)
        forecasts = replace(
            forecasts,
            probability=forecasts.probability[kept],
            label=forecasts.label[kept],
            weight=None if forecasts.weight is None else forecasts.weight[kept],
        )
        cluster = None if cluster is None else cluster[kept]
    units = len(forecasts) if cluster is None else np.unique(cluster).size
    if units < 2 * FOLDS:
        return None
    many = len(forecasts.classes) > MANY_CLASSES
    rows = units_of(
        forecasts.probability, forecasts.label, forecasts.weight, forecasts.classes, cluster
    )
    left_out = {*too_flexible(rows), *(["vector"] if many else [])}
    tried = [name for name in TRIED_FOR_CLASSES if name not in left_out]
    return choice_of_probabilities(
        forecasts, methods=tried, clusters=cluster, folds=FOLDS, confidence=confidence, rng=rng
    )


def _rows_of(source: Source, evidence: Evidence) -> tuple[Rows | None, dict[str, Any]]:
    """Rows, with their clusters or times."""
    if evidence.clusters is not None:
        return evidence.rows, {"clusters": evidence.clusters.code}
    if source.times is not None:
        return source.rows, {"time": source.times}
    if evidence.rows is None and evidence.parts is not None:
        cases = evidence.cases()
        return Rows(cases.prediction, cases.outcome, cases.weight), {}
    return evidence.rows, {}
