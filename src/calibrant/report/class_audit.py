"""Third step of an audit of classes: the object that users hold, and what it is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.data.files import opened_table, read_columns, without_missing
from calibrant.data.input import read_full_column
from calibrant.data.paths import Paths, settled
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups import Groups
from calibrant.inference import Verdict
from calibrant.inference.settings import Settings
from calibrant.joint.classes import as_forecasts
from calibrant.multiclass import ClassForecasts
from calibrant.report.class_render import render_class_html, render_class_json, render_class_text
from calibrant.report.class_summary import ClassSummary, summarise_classes
from calibrant.stages import Tell, silent
from calibrant.writing import write_whole


@dataclass(frozen=True, slots=True)
class ClassAudit:
    """How far forecasts of classes can be trusted; `print` it to read it."""

    summary: ClassSummary
    """Everything the audit found, as plain data."""

    def __str__(self) -> str:
        return render_class_text(self.summary)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as one HTML page, and write it if a path is given."""
        return _written(render_class_html(self.summary), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything found as JSON of a stable shape, and write it if a path is given."""
        return _written(render_class_json(self.summary), path)

    @property
    def verdict(self) -> Verdict:
        """Whether confidence in the most likely class is calibrated."""
        return self.summary.verdict

    @property
    def by_class(self) -> Groups:
        """One verdict per class, all of them holding at once."""
        return self.summary.by_class


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_whole(path, text)
    return text


def audit_classes(
    y_true: object,
    y_proba: object = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
    tolerance: float | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    title: str = "Forecasts",
    draws: int = 999,
    rng: np.random.Generator | int | None = 0,
) -> ClassAudit:
    """Tell how far forecasts of more than two classes can be trusted.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. They change the law, not the amount of evidence.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.
    tolerance : float, optional
        Smooth error that is small enough, of confidence and of every class. By default 0.02 or a
        tenth of the share of wrong (or right) guesses for confidence, and 0.02 or a tenth of 1/K
        for each class, whichever is less.
    confidence : float, default=0.95
        Confidence of the intervals that decide.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other. Sets of classes and whole rows are
        then not tested.
    title : str, default="Forecasts"
        What the forecasts are about.
    draws : int, default=999
        Redraws and random multipliers. At most 10**6.
    rng : numpy.random.Generator or int, default=0
        Source of randomness; fixed by default, so that an audit says the same again.

    Returns
    -------
    ClassAudit

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.dirichlet([1, 1, 1], 3000)
    >>> labels = np.where(rng.random(3000) < 0.3, 0, rows.argmax(axis=1))
    >>> result = audit_classes(labels, rows, classes=["cat", "dog", "cow"])
    >>> print(result.summary.class_sentence)
    3 of 3 classes are beyond the tolerance of 0.02. Most clearly: cat (error 0.1984; forecasts say
    0.33 on average and 0.53 happened); ...
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    labels = None
    if clusters is not None:
        labels = read_full_column(clusters, "clusters")
        if sample_weight is not None and labels.size != len(forecasts):
            labels = labels[np.asarray(sample_weight, dtype=np.float64) > 0]
    settings = Settings.read(confidence=confidence, draws=draws, tolerance=tolerance, rng=rng)
    return audit_forecasts(forecasts, labels, title, 0, settings, silent)


def audit_forecasts(
    forecasts: ClassForecasts,
    clusters: Any,
    title: str,
    dropped: int,
    settings: Settings,
    tell: Tell,
) -> ClassAudit:
    """Audit forecasts that were read before."""
    return ClassAudit(summarise_classes(forecasts, clusters, title, dropped, settings, tell))


def read_class_files(
    files: Paths,
    classes: Sequence[str],
    *,
    prediction: str,
    outcome: str,
    weight: str | None = None,
    cluster: str | None = None,
    time: str | None = None,
    percent: bool = False,
    drop_missing: bool = False,
) -> tuple[ClassForecasts, dict[str, Any], int]:
    """Forecasts, clusters and times beside them, and the number of rows dropped, from files.

    The probabilities stand in columns named like the classes, or as lists in the column of
    predictions, in the order of the classes.
    """
    if not classes:
        raise InvalidOptionError("classes must name more than two classes", "none")
    with settled(files) as found:
        with opened_table(found, progress=False) as opened:
            present = set(opened.columns)
        lists = not present.issuperset(classes) and prediction in present
        parts = {outcome: Part.VALUE}
        if cluster is not None:
            parts[cluster] = Part.VALUE
        if time is not None:
            parts[time] = Part.TIME
        if weight is not None:
            parts[weight] = Part.NUMBER
        parts |= {prediction: Part.NUMBERS} if lists else dict.fromkeys(classes, Part.NUMBER)
        columns: dict[str, Any] = read_columns(found, parts)[0]
    dropped = 0
    if drop_missing:
        columns, dropped = without_missing(columns)
    if lists:
        table = _rows_of_lists(columns[prediction], len(classes), prediction)
    else:
        table = np.ma.stack([columns[name] for name in classes], axis=1).astype(float)
        table = np.ma.filled(table, np.nan)
    forecasts = ClassForecasts.read(
        _labels_as_text(columns[outcome], classes),
        table / 100 if percent else table,
        classes=list(classes),
        sample_weight=None if weight is None else columns[weight],
        sum_tolerance=1e-3,
    )
    named = {"clusters": cluster, "time": time}
    beside = {part: columns[name] for part, name in named.items() if name is not None}
    if weight is not None:
        weighs = np.ma.filled(np.ma.asarray(columns[weight], dtype=float), 0.0) > 0
        beside = {part: values[weighs] for part, values in beside.items()}
    return forecasts, beside, dropped


def _rows_of_lists(column: Any, count: int, name: str) -> Any:
    """Stack lists of equal length; other things are refused."""
    rows = [np.asarray([] if row is None else row, dtype=float) for row in column.tolist()]
    sizes = {row.size if row.ndim == 1 else 0 for row in rows}
    if sizes != {count}:
        raise InvalidForecastsError(
            f"there must be columns named like the classes, or lists of {count} in {name!r}",
            f"entries of length {', '.join(map(str, sorted(sizes)))}",
        )
    return np.stack(rows)


def _labels_as_text(column: Any, classes: Sequence[str]) -> Any:
    """Labels that are numbers match names that look like them; otherwise they are positions."""
    labels = column
    if np.ma.getdata(labels).dtype.kind in "iu" and not np.ma.is_masked(labels):
        as_text = np.ma.getdata(labels).astype(str)
        if set(np.unique(as_text).tolist()) <= set(classes):
            return as_text
    return labels
