"""Recalibration by group: a calibrator for all rows, and patches for groups if they help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.data import canonical_order
from calibrant.data.groupings import Codes, Partition, columns_of, partitions
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.times import checked_times
from calibrant.decisions import AnyScore, DecisionTask, as_score
from calibrant.errors import InvalidForecastsError
from calibrant.groups.fits import Fit, judged_fit
from calibrant.groups.group_recalibration import GroupRecalibration
from calibrant.groups.rounds import GroupedRows, groupings_of
from calibrant.groups.training import patch_powers
from calibrant.inference import Settings
from calibrant.joint import Joint, Rows
from calibrant.recalibration import (
    CLEARLY_PATCHED,
    Calibrator,
    Gain,
    GroupCalibrator,
    Patches,
    Recalibration,
    Split,
    Units,
    choose_among,
    gain_between,
    is_clear,
    mean_loss,
    read_units,
    row_luck,
)

DEGREE = 1
# Bias times share of rows that is left alone: a tenth in a group of one row in two hundred.
TOLERANCE = 0.0005
# One expression of SQL must not be deeper than databases take.
MOST_PATCHES = 100


def recalibrate_by_group(
    y_true: object,
    y_proba: object,
    by: object,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    pairs: bool = False,
    methods: Sequence[Calibrator | str] | None = None,
    always: bool = False,
    score: AnyScore = "log",
    task: DecisionTask | None = None,
    clusters: object = None,
    time: object = None,
    folds: int = 5,
    confidence: float = 0.95,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> GroupRecalibration:
    """Choose a calibrator for all rows, and patches for groups if they help on rows unseen.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    by : mapping of str to array-like, frame, or array of shape (n, k)
        Columns that group the rows, as for `audit_groups`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    pairs : bool, default=False
        Whether groups of two columns may be patched as well.
    methods : sequence of calibrators or their names, optional
        What to choose from for all rows; all by default.
    always : bool, default=False
        Take the one calibrator that `methods` names for all rows, whatever it gains.
    score : {"log", "brier", "spherical"}, DecisionTask or Score, default="log"
        Proper score by which calibrators and patches are judged.
    task : DecisionTask, optional
        The caller's decision, whose loss before and after is told.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: a fold takes all of a cluster.
    time : array-like of shape (n,), optional
        Times of the rows: calibrators and patches learn from earlier rows only.
    folds : int, default=5
        Number of parts. At most 1000.
    confidence : float, default=0.95
        Confidence of the intervals; those of all groups hold at once.
    draws : int, default=999
        Random multipliers behind the intervals. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    GroupRecalibration
        `.calibrator` is fitted to all rows; `.before` and `.after` are losses on held-out rows,
        `.groups_before` and `.groups_after` the calibration of every group on one fold, before and
        after a calibrator and patches that were fitted to the others.

    Notes
    -----
    The calibrator for all rows is chosen as in `calibrant.recalibrate`. Patches are of the kind
    of `Multicalibrator("low_degree")` of degree 1: they shift or stretch the predictions of a
    group. That takes two numbers from a group where cells of predictions take ten, so that small
    groups can be recalibrated; predictions of a group keep their order, unless a stretch is
    negative; and all patches together are one expression of SQL. A bias that changes its sign twice
    within a group is left. No row is held out while patches are found: a patch needs a bias of
    sqrt(2 log k) standard errors, k the number of shifts and stretches to try (Donoho, Johnstone
    1994, Ideal spatial adaptation by wavelet shrinkage, Biometrika 81).

    Calibrator and patches are fitted to all folds but one and judged on that one. Patches are kept
    if they save 1.645 standard errors or more of the score, as a calibrator must: those of the
    sample, or those of a sample in which the calibrator is right.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> site = rng.choice(["a", "b"], 4000)
    >>> p = rng.random(4000)
    >>> outcome = rng.random(4000) < np.where(site == "a", 0.7 * p, p)
    >>> found = recalibrate_by_group(outcome, p, {"site": site}, rng=0)
    >>> found.patched
    True
    >>> found.calibrator.transform([0.5, 0.5], {"site": ["a", "b"]}).round(1)
    array([0.3, 0.5])
    """
    settings = Settings.read(confidence=confidence, draws=draws, rng=rng)
    if isinstance(y_true, Joint):
        raise InvalidForecastsError("recalibration by group needs rows", "a Joint")
    rule = as_score(score)
    units, divided = _read(
        (y_true, y_proba, sample_weight, pos_label),
        by,
        pairs,
        (clusters, time),
        folds,
        settings.rng,
    )
    plain = choose_among(units, {}, methods, rule, task, settings, always=always)
    seed = int(settings.rng.integers(2**32))
    judged = units.judged
    judged_units = units.where(judged)
    first, recalibrated = (
        column[judged] for column in _cross_fitted(units, divided, plain.calibrator)
    )
    gain = gain_between(judged_units, rule, first, recalibrated, confidence)
    over = gain_between(judged_units, rule, judged_units.prediction, recalibrated, confidence)
    fitted, fit = _fitted(units, divided, plain.calibrator, np.ones(units.fold.size, dtype=bool))
    clear = is_clear(gain, judged_units, row_luck(rule, first, recalibrated), CLEARLY_PATCHED)
    patched = clear and bool(fitted.patches.patches)
    scores = [
        mean_loss(judged_units, rule, p) for p in (judged_units.prediction, first, recalibrated)
    ]
    gain, over = gain.with_scores(*scores[1:]), over.with_scores(scores[0], scores[2])
    with_patches = recalibrated
    if not patched:
        fitted, recalibrated = GroupCalibrator(fitted.base, Patches()), first
    return GroupRecalibration(
        calibrator=fitted,
        plain=plain,
        table=_table(
            plain,
            {"gain": over, **_plain_gains(judged_units, with_patches, confidence)},
            gain,
            scores[2],
            patched,
        ),
        gain=gain,
        fit=fit,
        _units=judged_units,
        _parts=tuple(Partition(p.groupings, p.codes[judged]) for p in divided.parts),
        _recalibrated=recalibrated,
        _settings=settings.again(seed),
    )


@dataclass(frozen=True, slots=True)
class _Divided:
    """The columns, or pairs of columns, that divide rows, with the codes that patches look at."""

    parts: list[Partition]
    codes: list[Codes]


def _read(
    arguments: tuple[object, object, object, object],
    by: object,
    pairs: bool,  # noqa: FBT001
    extra: tuple[object, object],
    folds: int,
    rng: np.random.Generator,
) -> tuple[Units, _Divided]:
    """Read rows in an order that is not the caller's, and split them into folds."""
    refuse_other_labels(
        y_true=arguments[0],
        y_proba=arguments[1],
        sample_weight=arguments[2],
        by=by,
        clusters=extra[0],
        time=extra[1],
    )
    rows = Rows.read(*arguments)
    size, columns = rows.prediction.size, columns_of(by)
    parts = partitions(columns, size, pairs=pairs, weight=rows.weight)
    codes = [g.codes(columns[g.column], size) for g in groupings_of(parts)]
    clusters = None if extra[0] is None else read_labels(extra[0], "clusters", size)
    time = None if extra[1] is None else checked_times(extra[1], size)
    order = canonical_order(rows.prediction, rows.outcome, rows.weight, clusters, time, *codes)
    named = {f"part {i}": part.codes[order] for i, part in enumerate(parts)}
    named |= {f"grouping {i}": code[order] for i, code in enumerate(codes)}
    rows = rows.where(order)
    split = Split(
        folds,
        None if clusters is None else clusters[order],
        None if time is None else time[order],
        named,
    )
    units, kept = read_units((rows.outcome, rows.prediction, rows.weight, None), split, rng)
    taken = list(kept.values())
    divided = [Partition(p.groupings, c) for p, c in zip(parts, taken, strict=False)]
    return units, _Divided(divided, taken[len(parts) :])


def _cross_fitted(units: Units, divided: _Divided, plain: Calibrator) -> tuple[Floats, Floats]:
    """Held-out predictions of the calibrator, and of calibrator and patches."""
    first, recalibrated = units.prediction.copy(), units.prediction.copy()
    for fold in units.folds:
        fitted, _ = _fitted(units, divided, plain, units.training_rows(fold))
        inside = np.flatnonzero(units.fold == fold)
        first[inside] = fitted.base.form_(units.prediction[inside])
        codes = [code[inside] for code in divided.codes]
        recalibrated[inside] = fitted.patched(first[inside], codes)
    return first, recalibrated


def _fitted(
    units: Units, divided: _Divided, plain: Calibrator, keep: Any
) -> tuple[GroupCalibrator, Fit]:
    """Fit a calibrator of the chosen kind, and patches, to some of the rows."""
    joint = units.joint(units.prediction, keep)
    base = type(plain)(**plain.get_params()).fit(joint)
    parts = [Partition(part.groupings, part.codes[keep]) for part in divided.parts]
    prediction = base.form_(units.prediction[keep])
    rows = GroupedRows.of(prediction, units.outcome[keep], units.weight[keep], parts)
    search = partial(
        patch_powers, tolerance=TOLERANCE, degree=DEGREE, most=MOST_PATCHES, clearly=True
    )
    fit = judged_fit(rows, search, None)
    patches = Patches(groupings_of(parts), tuple(step.patch for step in fit.steps))
    return GroupCalibrator(base, patches, 0.5 / (joint.row_count + 1)), fit


def _plain_gains(units: Units, recalibrated: Floats, confidence: float) -> dict[str, Gain]:
    """Gains over no calibrator in log loss and in Brier score."""
    found = {}
    for name in ("log", "brier"):
        score = as_score(name)
        means = (mean_loss(units, score, values) for values in (units.prediction, recalibrated))
        gain = gain_between(units, score, units.prediction, recalibrated, confidence)
        found[f"{name}_gain"] = gain.with_scores(*means)
    return found


def _table(
    plain: Recalibration,
    over: dict[str, Gain],
    gain: Gain,
    score: float,
    patched: bool,  # noqa: FBT001
) -> dict[str, list[Any]]:
    """Add the chosen calibrator with patches to the table of calibrators."""
    last: dict[str, Any] = {
        "calibrator": f"{plain.calibrator.method} + patches",
        "score": score,
        **{name: one.value for name, one in over.items()},
        **{f"{name}_low": one.low for name, one in over.items()},
        **{f"{name}_high": one.high for name, one in over.items()},
        "behind": -gain.value / gain.standard_error if gain.standard_error > 0 else 0.0,
        "chosen": patched,
    }
    table = {name: [*column, last[name]] for name, column in plain.table.items()}
    if patched:
        table["chosen"] = [False] * len(plain.table["calibrator"]) + [True]
    return table
