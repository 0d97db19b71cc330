"""Third step of an audit: the object that users hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._base.options import share_from
from calibrant._base.stages import StageReporter, silent
from calibrant._base.writing import write_whole
from calibrant.data.labels import Labels
from calibrant.decisions import DecisionTask
from calibrant.errors import InvalidOptionError
from calibrant.inference import Settings, Verdict
from calibrant.inputs import KindRequest, Roles, Source, read
from calibrant.measures.measurement import Measurement
from calibrant.report.findings import Finding
from calibrant.report.json import render_json
from calibrant.report.markdown import render_markdown
from calibrant.report.screen import Line, plain, render_screen
from calibrant.report.sentences import verdict_sentence
from calibrant.report.summary import AuditOptions, Summary, summarise
from calibrant.report.text import render_text

if TYPE_CHECKING:
    from calibrant.groups import Groups, Segment
    from calibrant.multiclass import MulticlassDecisionTask


@dataclass(frozen=True, slots=True)
class Audit:
    """How far forecasts can be trusted; `print` it to read it on one screen."""

    summary: Summary
    """Everything the audit found, as plain data."""

    def __str__(self) -> str:
        return plain(render_screen(self.summary))

    def __repr__(self) -> str:
        return f"<Audit of {self.summary.title!r}: {self.summary.state}>"

    def screen(
        self,
        *,
        width: int,
        command: str | None = None,
        taken: int = 0,
        diagram: bool = False,
        notes: bool = True,
    ) -> list[Line]:
        """Return the audit as lines of one screen; notes on how files were read may be left out."""
        summary = self.summary
        if not notes:
            summary = replace(summary, data=replace(summary.data, notes=()))
        return render_screen(summary, width=width, command=command, taken=taken, diagram=diagram)

    def to_text(self, path: str | Path | None = None) -> str:
        """Return all numbers as plain text, and write them if a path is given; `str` is brief."""
        return _written(self._text(), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as one HTML page, and write it if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            File to write. It appears when it is complete, or not at all.
        """
        return _written(self._html(), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything found as JSON of a stable shape, and write it if a path is given."""
        return _written(self._json(), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return a short Markdown summary, and write it if a path is given."""
        return _written(self._markdown(), path)

    def _text(self) -> str:
        return render_text(self.summary)

    def _html(self) -> str:
        from calibrant.report.html import render_html

        return render_html(self.summary)

    def _json(self) -> str:
        return render_json(self.summary)

    def _markdown(self) -> str:
        return render_markdown(self.summary)

    def _repr_html_(self) -> str:
        from html import escape

        page = escape(self.to_html())
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.summary.title)}" '
            'style="width: 100%; height: 40rem; border: 0"></iframe>'
        )

    @property
    def line(self) -> str:
        """The verdict in one sentence."""
        return verdict_sentence(self.summary)

    @property
    def verdict(self) -> Verdict:
        """Calibrated within the tolerance, miscalibrated, or undecided.

        It is miscalibrated if the smooth error or the typical gap is beyond its tolerance, and
        calibrated if both are within. For multiclass forecasts it is the verdict on the confidence
        in the most likely class.
        """
        return self.summary.verdict

    @property
    def measures(self) -> dict[str, Measurement]:
        """Every measure of the catalogue, by name."""
        return self.summary.measured.values

    @property
    def by_class(self) -> Groups | None:
        """One verdict per class, all of them holding at once; None for two outcomes."""
        return None if self.summary.classes is None else self.summary.classes.by_class

    @property
    def groups(self) -> Groups | None:
        """One verdict per group, if groups were requested."""
        return self.summary.groups

    @property
    def segments(self) -> tuple[Segment, ...] | None:
        """Combinations of columns that are worst, if they were requested."""
        return self.summary.segments

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know and what to do, issues first."""
        return self.summary.findings


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_whole(path, text)
    return text


def audit(
    y_true: object,
    y_proba: object = None,
    *,
    prediction: str = "prediction",
    outcome: str = "outcome",
    classes: Sequence[Any] | None = None,
    kind: str | None = None,
    range: object = None,  # noqa: A002  # the word users know
    level: float | None = None,
    sample_weight: object = None,
    pos_label: object = None,
    neg_label: object = None,
    na_label: object = None,
    na: str = "refuse",
    by: object = None,
    pairs: bool = False,
    find_segments: bool = False,
    tolerance: float | str | None = None,
    gap_tolerance: float | str | None = None,
    oe_tolerance: float | str | None = None,
    risk: float | str | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    task: DecisionTask | MulticlassDecisionTask | None = None,
    time: object = None,
    count: str | None = None,
    positives: str | None = None,
    prediction_sum: str | None = None,
    title: str | None = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = 0,
) -> Audit:
    """Tell how far forecasts can be trusted: of two outcomes, classes or continuous outcomes.

    Parameters
    ----------
    y_true : array-like of shape (n,), Joint, ClassForecasts, frame, or path or paths of files
        The outcomes, 0 or 1, or the labels of classes; or a Joint, ClassForecasts, a frame (pandas,
        Polars, Arrow and others), or CSV, Parquet or JSON lines files, which hold everything. More
        than 2**20 rows are summed into cells, those of a frame or of files where they live, unless
        there are clusters, times or classes, or arrays with groups.
    y_proba : array-like of shape (n,), (n, 2) or (n, K), optional
        Predicted probabilities of outcome 1, or of the classes, with outcomes as the first
        argument. For scores before a softmax see `ClassForecasts.read`.
    prediction, outcome : str
        Columns of a frame or of files.
    classes : sequence of length K, optional
        Names of more than two classes, in the order of the columns of `y_proba`. In a frame or in
        files, probabilities stand in columns of these names, or as lists in the column of
        predictions.
    kind : str, optional
        What forecasts of continuous outcomes are forecasts of: "mean", "median", "quantile=0.9",
        "expectile=0.8", or "interval" (two columns of `y_proba`; in a frame or in files
        "interval=low,high" names them). None for predicted probabilities.
    range : (float, float), optional
        The least and the largest continuous outcome there can be.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    sample_weight : array-like of shape (n,), or str, optional
        Weights of the rows, or the column that holds them.
    pos_label : object, optional
        The label that counts as outcome 1.
    neg_label : object or list of them, optional
        The labels that count as outcome 0, in frames and files. Files with more than two labels
        need it.
    na_label : object or list of them, optional
        Labels that mean that the outcome is missing, in frames and files.
    na : {"refuse", "drop"}, default="refuse"
        What to do with rows of frames and files that lack a value.
    by : mapping of str to array-like, series, frame, or list of str, optional
        Labels that group the rows, or columns that hold them: each group gets a verdict. Numbers
        of many values are cut at quantiles; missing values are a group.
    pairs : bool, default=False
        Whether pairs of the columns `by` divide the rows as well.
    find_segments : bool, default=False
        Whether to look for the worst combinations of the columns `by`, on one half of the rows,
        and judge them on the other.
    tolerance : float or str, optional
        Largest acceptable smooth error, or "5%" for 5 % of the share of the rarer outcome. By
        default 0.02, or a tenth of that share if it is less; for each of K classes the share is
        1/K. Of means of continuous outcomes it is in their units, and "5%" is of their range, or
        of the width of the middle 90 % of them; by default 2 % of that.
    gap_tolerance : float or str, optional
        Largest acceptable typical gap between forecast and observed rate, by default twice the
        tolerance.
    oe_tolerance : float or str, optional
        Share by which observed events may differ from those expected: 0.1 or "10%" allows observed
        over expected from 1/1.1 to 1.1, for all rows and for each group. Not judged by default,
        except of means of outcomes that are not negative: 10 %, for all rows.
    risk : float or str, optional
        Share of outcomes 0 that is allowed among the rows that are acted on: adds the lowest
        forecast from which on that is certified (see `certified_threshold`). For confidences of
        answers, of which 0.05 is the default. Refused with different weights; of clusters one row
        each is drawn.
    confidence : float, default=0.95
        Confidence of the intervals that decide.
    clusters : array-like of shape (n,), or str, optional
        Labels of rows that depend on each other (patients, questions, games), or their column.
        Sets of classes and whole rows are then not tested.
    task : DecisionTask or MulticlassDecisionTask, optional
        Your own decision: the audit then says what the forecasts promise you and what they bring.
    time : array-like of shape (n,), or str, optional
        When each outcome was due, numbers or dates, or their column: adds windows over time and
        the alarm of a monitor that looked after every row.
    count, positives : str, optional
        Columns of a frame or of files that hold aggregates: how many rows with about the same
        prediction a line stands for, and how many of them had outcome 1.
    prediction_sum : str, optional
        Column of the sum of their predictions, instead of `prediction`, their mean.
    title : str, optional
        What the forecasts are about.
    draws : int, default=999
        How often outcomes are simulated to find what perfect forecasts would have scored.
        At most 10**6.
    rng : numpy.random.Generator or int, default=0
        Source of randomness; fixed by default, so that an audit says the same again.

    Returns
    -------
    Audit

    Notes
    -----
    Forecasts of classes are judged as the confidence in the most likely class, and whether it was
    right, in all sections but those about classes, sets of classes, whole rows, costs and
    recalibration.

    Examples
    --------
    >>> result = audit([1] * 30 + [0] * 10, [0.5] * 40)
    >>> print(result.verdict)
    Miscalibrated: the typical gap between forecast and observed rate is 23.7 points, at least 9.62
    points (95 % confidence; tolerance 4 points); the smooth calibration error is 25 points, at
    least 4.96 points (95 % confidence; tolerance 2 points). Worst range: forecasts of 0.50 are too
    low (mean forecast 0.50, observed rate 0.75, 40 rows).

    More columns are more classes:

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.dirichlet([1, 1, 1], 2000)
    >>> labels = np.where(rng.random(2000) < 0.3, 0, rows.argmax(axis=1))
    >>> result = audit(labels, rows, classes=["cat", "dog", "cow"], draws=99)
    >>> [(group.name, group.state) for group in result.by_class]
    [('cat', 'miscalibrated'), ('cow', 'miscalibrated'), ('dog', 'miscalibrated')]

    Continuous outcomes, and forecasts of their mean:

    >>> forecast = rng.gamma(4, 5, 2000)
    >>> minutes = 1.2 * forecast + rng.normal(0, 3, 2000)
    >>> audit(minutes, forecast, kind="mean", draws=199).verdict.state
    'miscalibrated'
    """
    roles = Roles(
        prediction,
        outcome,
        sample_weight,
        clusters,
        by,
        time,
        count,
        positives,
        pairs,
        find_segments,
        classes=classes,
        prediction_sum=prediction_sum,
        find_keys=True,
    )
    if na not in {"refuse", "drop"}:
        raise InvalidOptionError("na must be 'refuse' or 'drop'", repr(na))
    request = KindRequest.of(kind, range, level)
    if request is not None:
        roles = replace(roles, kind=request)
        refuse_options_of_probabilities(
            {
                "classes": classes,
                "pos_label": pos_label,
                "neg_label": neg_label,
                "na_label": na_label,
                "risk": risk,
                "task": task,
                "time": time,
                "count": count,
                "positives": positives,
                "prediction_sum": prediction_sum,
            },
            request.name,
        )
    labels = Labels.of(pos_label, neg_label, na_label)
    source = read(y_true, y_proba, roles, labels=labels, drop_missing=na == "drop", title=title)
    settings = Settings.read(
        confidence=confidence,
        draws=draws,
        tolerance=tolerance,
        gap_tolerance=gap_tolerance,
        rng=rng,
        kind=source.kind,
    )
    ratio = None if oe_tolerance is None else share_from("oe_tolerance", oe_tolerance)
    allowed = None if risk is None else share_from("risk", risk)
    return audit_source(source, settings, AuditOptions(task, ratio, allowed, find_segments))


def refuse_options_of_probabilities(options: Mapping[str, object], kind: str) -> None:
    """Refuse options that make sense for predicted probabilities only."""
    present = [name for name, value in options.items() if value is not None and value is not False]
    if present:
        raise InvalidOptionError(
            f"@{present[0]} is for predicted probabilities", f"kind={kind!r}", "leave it out"
        )


def audit_source(
    source: Source, settings: Settings, options: AuditOptions, report_stage: StageReporter = silent
) -> Audit:
    """Audit forecasts that were read before."""
    return Audit(summarise(source, settings, options, report_stage))
