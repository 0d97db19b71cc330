"""The expected error of forecasts that hardly ever repeat: what rows held out say about it."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import check_flag, check_within, refuse_unknown, whole
from calibrant._base.words import count_text
from calibrant.binning import MonotonePools
from calibrant.data.input import refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.data.splits import deal_clusters, deal_folds
from calibrant.errors import InvalidForecastsError
from calibrant.inference.bands import confidence_band
from calibrant.inference.cases import Cases
from calibrant.inference.evidence import FEW_CLUSTERS, Evidence
from calibrant.inference.interval import ConfidenceInterval
from calibrant.inference.scores import mean_and_half_width
from calibrant.inference.settings import Settings
from calibrant.joint import Joint
from calibrant.joint.sums import level_of
from calibrant.measures.kernel_smoothed import (
    NARROWEST_CURVE,
    kernel_smoothed_calibration_error,
    smoothed_curve,
)
from calibrant.measures.measurement import read_source

RECALIBRATIONS = ("isotonic", "kernel")
MOST_FOLDS = 100


def cross_validated_error(
    y_true: object,
    y_proba: object,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    clusters: object = None,
    order: float = 1,
    recalibration: str = "isotonic",
    monotone: bool = False,
    folds: int = 10,
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> ConfidenceInterval:
    r"""Bound the expected calibration error from below, without bins, by rows held out.

    The expected error itself cannot be read off forecasts that hardly ever repeat. This is a lower
    bound of it that a recalibration learned on other rows attains: the better it learns, the
    closer.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other; they are held out whole.
    order : float, default=1
        Order q of the error, from 1 to 100; with 2 its square is the Brier score gained on rows
        held out.
    recalibration : {"isotonic", "kernel"}, default="isotonic"
        What is learned: an increasing step function, or frequencies smoothed by the kernel of
        smECE, which also sees waves.
    monotone : bool, default=False
        Whether the true rate never falls as the forecast grows. If that is assumed there is an
        upper end as well, by the confidence band of the rate; without weights and clusters only.
    folds : int, default=10
        Parts of the rows that are held out in turn. At most 100.
    confidence : float, default=0.95
        Confidence of the interval, all of it below the value unless `monotone`.
    rng : numpy.random.Generator or int, default=0
        Source of the folds; fixed by default, so that the same rows give the same number.

    Returns
    -------
    ConfidenceInterval
        `value` estimates the bound (0 where it is negative); `low` holds for the expected error of
        the population, and so does `high`, which is 1 unless `monotone`.

    Notes
    -----
    With c the true rate given the forecast f, and any recalibration g, convexity gives
    :math:`E|f-c|^q \ge E[\,|f-g|^q + q\,|f-g|^{q-1}\,\mathrm{sign}(g-f)\,(y-g)\,]`, with equality
    for g = c; of order 1 the right side is the mean of :math:`\mathrm{sign}(g-f)\,(y-f)`. Learned
    on other rows, g is a fixed function. The value learns on all other folds. The lower end learns
    on the folds before alone, which makes the mean a sum of martingale differences with the normal
    interval of a score; folds that learn from each other agree by chance.
    Known flaw: without an assumption no upper end is possible for forecasts that hardly ever
    repeat, however many rows there are.

    References
    ----------
    Berta, Braun, Holzmueller, Bach, Jordan (2026), A variational estimator for Lp calibration
    errors, arXiv 2602.24230. Gupta, Podkopaev, Ramdas (2020), Distribution-free binary
    classification: prediction sets, confidence intervals and calibration, NeurIPS (why there is
    no upper end). Measuring uncertainty calibration (2025), arXiv 2512.13872 (upper ends where
    the rate has bounded variation, of which a rate that never falls is an example).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p**2
    >>> found = cross_validated_error(y, p)  # the truth is 1/6
    >>> round(found.value, 2), round(found.low, 2), found.high
    (0.17, 0.16, 1.0)
    >>> round(cross_validated_error(y, p, monotone=True).high, 2)
    0.3
    """
    settings = Settings.read(confidence=confidence, rng=rng)
    check_within("order", order, 1, 100)
    refuse_unknown("recalibration", recalibration, RECALIBRATIONS)
    count = whole("folds", folds, 2, MOST_FOLDS)
    refuse_other_labels(
        y_true=y_true, y_proba=y_proba, sample_weight=sample_weight, clusters=clusters
    )
    source = read_source(y_true, y_proba, sample_weight, pos_label)
    if isinstance(source, Joint):
        raise InvalidForecastsError(
            "holding out needs rows", "a Joint", "pass @y_true and @y_proba, or use levels"
        )
    joint, rows = Joint.checked(source)
    evidence = Evidence.of_rows(rows, clusters, joint)
    rows, cases = _rows_of(evidence, rows)
    fold = _folds(rows, cases, count, settings.rng)
    level = 1 - confidence
    if_not, if_so = _gains(rows, fold, recalibration, order)
    estimate = float(cases.total(np.where(cases.outcome == 1, if_so, if_not)) / cases.weight.sum())
    value = max(0.0, estimate) ** (1 / order)
    below = 1 - level if not check_flag("monotone", monotone) else 1 - level / 2
    low = min(value, _lower(rows, cases, fold, recalibration, order, below))
    high = max(value, _upper(evidence, order, level / 2)) if monotone else 1.0
    few = evidence.clusters is not None and len(evidence.clusters) < FEW_CLUSTERS
    return ConfidenceInterval(
        "cross_validated_error",
        value,
        low,
        high,
        confidence,
        value - low,
        "cross-validated",
        (f"only {count_text(cases.clusters, 'cluster')}: the interval is rough",) if few else (),
    )


def _rows_of(evidence: Evidence, rows: Rows) -> tuple[Rows, Cases]:
    """Return the rows that weigh something, and the same as cases."""
    if evidence.rows is not None:
        return evidence.rows, evidence.cases()
    if rows.weight is not None and not rows.weight.all():
        rows = rows.where(rows.weight > 0)
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    weight = np.ones(outcome.size) if rows.weight is None else rows.weight
    return rows, Cases(rows.prediction, outcome, weight, weight**2, None)


def _folds(rows: Rows, cases: Cases, count: int, rng: np.random.Generator) -> Indices:
    if cases.cluster is not None:
        return deal_clusters(cases.cluster, count, rng)
    content = rows.prediction, np.asarray(rows.outcome), rows.weight
    return deal_folds(count, rng, *content, near=rows.prediction)


def _lower(
    rows: Rows, cases: Cases, fold: Indices, recalibration: str, order: float, confidence: float
) -> float:
    """Lower end: the calibrator of every fold is fitted to the folds before it.

    Folds that are fitted to each other would agree by chance; fitted forwards, what rows add
    is a sum of martingale differences, whose spread is that of independent rows.
    """
    later = fold > fold.min()
    later_cases = cases.where(later)
    if not later.any() or (later_cases.cluster is not None and later_cases.clusters < 2):
        return 0.0
    gains = _gains(rows, fold, recalibration, order, forwards=True)
    two_sided = max(2 * confidence - 1, 1e-6)
    mean, half_width = mean_and_half_width(
        later_cases, gains[0][later], gains[1][later], [later_cases.prediction], two_sided
    )
    return float(max(0.0, mean - half_width) ** (1 / order))


def _gains(
    rows: Rows, fold: Indices, recalibration: str, order: float, *, forwards: bool = False
) -> tuple[Floats, Floats]:
    """Return what each row adds to the bound, for outcome 0 and for outcome 1.

    The calibrator is fitted to all other folds, or to those before alone.
    """
    learned = np.empty(rows.prediction.size)
    for number in np.unique(fold):
        here, others = fold == number, fold < number if forwards else fold != number
        learned[here] = rows.prediction[here]
        if others.any():
            joint = Joint.from_rows(rows.where(others))
            learned[here] = _curve(joint, recalibration, rows.prediction[here])
    distance = np.abs(rows.prediction - learned)
    slope = order * distance ** (order - 1) * np.sign(learned - rows.prediction)
    base = distance**order - slope * learned
    return base, base + slope


def _curve(joint: Joint, recalibration: str, at: Floats) -> Floats:
    if recalibration == "isotonic":
        return np.interp(at, joint.prediction, MonotonePools.of(joint).at_levels())
    width = max(float(kernel_smoothed_calibration_error(joint)), NARROWEST_CURVE)
    curve = smoothed_curve(joint, bandwidth=width)
    return np.interp(at, curve["prediction"], curve["outcome"])


def _upper(evidence: Evidence, order: float, level: float) -> float:
    """Upper end if the true rate never falls: the farthest that the band lets it be."""
    from scipy.special import ndtri

    joint = evidence.full_joint
    band = confidence_band(joint, confidence=1 - level / 2)
    at = level_of(joint.prediction, evidence.joint)
    forecast = joint.prediction
    farthest = np.maximum(band.high[at] - forecast, forecast - band.low[at]) ** order
    mean = float(joint.mass @ farthest)
    spread = np.sqrt(max(0.0, float(joint.mass @ farthest**2) - mean**2) / joint.row_count)
    # The band stands at the mean of each cell.
    cell = 0.0 if evidence.cells is None else 1 / evidence.cells
    most = mean - float(ndtri(level / 2)) * spread
    return float(min(1.0, most ** (1 / order) + cell))
