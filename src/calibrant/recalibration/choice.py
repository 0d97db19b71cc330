"""Which calibrator to use, judged on rows that it was not fitted to, or none at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.notebook import card
from calibrant._base.options import check_flag, shown
from calibrant._base.words import capital, count_text
from calibrant.data.frames import column_names
from calibrant.data.labels import Labels
from calibrant.data.paths import are_paths
from calibrant.decisions import AnyScore, DecisionTask, Score, as_score, score_title
from calibrant.errors import InvalidForecastsError, InvalidOptionError, mention
from calibrant.inference import ConfidenceInterval, Settings, Statistic, find_interval
from calibrant.inputs import KindRequest, Roles, read
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts, are_classes
from calibrant.joint.ranking import ordered_pairs
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.choice_rule import (
    LEAVE,
    LOSSES,
    NO_MAP,
    Gain,
    GainsByScore,
    after_choice,
    can_nest,
    chosen_by,
    cross_fitted,
    failed_rows,
    finite,
    gain_columns,
    mean_loss,
    nested,
    read_score,
    reported_gains,
    with_unseen,
)
from calibrant.recalibration.continuous import ContinuousRecalibration, choose_continuous
from calibrant.recalibration.folds import Split, Units, read_class_units, read_units
from calibrant.recalibration.parametric import Identity
from calibrant.recalibration.reading import refuse_pos_label
from calibrant.recalibration.registry import candidates_of, title_of, too_flexible
from calibrant.recalibration.thresholds import examples_text

# A group with fewer rows is not looked at: its interval would say nothing.
FEWEST_ROWS = 30


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """The group whose smooth error is most certainly large."""

    column: str
    name: str
    rows: int
    interval: ConfidenceInterval


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Losses of forecasts on held-out rows.

    No calibration error of all rows is among them: each fold is recalibrated by the others, so that
    residuals of all folds together sum to about zero whatever the calibrator is worth. Losses are
    not affected, because every row has a loss of its own.
    """

    brier: float
    """Mean squared error; of classes, summed over them."""
    log_loss: float
    """Mean of minus the log of the chance given to what happened; infinite if `failed`."""
    failed: int
    """Rows in which what happened had a forecast of exactly 0."""
    task_loss: float | None
    """Minus the mean payoff of the caller's decision, if there is one."""
    auc: float
    """Chance that of a row with outcome 1 and one with outcome 0 in the same fold the first has
    the higher forecast, ties counted half; NaN for one outcome, and for classes."""
    ties: float
    """Share of such pairs with equal forecasts."""
    worst_group: WorstGroup | None = None
    """Of the requested groups, on the rows of one fold (`Units.held_out`)."""
    accuracy: float | None = None
    """Of classes: share of rows whose most likely class happened."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; what is not defined is None."""
        worst = self.worst_group
        return {
            "brier": self.brier,
            "log_loss": finite(self.log_loss),
            "failed": self.failed,
            "task_loss": self.task_loss,
            "auc": finite(self.auc),
            "ties": finite(self.ties),
            "worst_group": None
            if worst is None
            else {
                "column": worst.column,
                "name": worst.name,
                "rows": worst.rows,
                "smooth_error": worst.interval.value,
                "smooth_error_low": worst.interval.low,
                "smooth_error_high": worst.interval.high,
            },
            "accuracy": self.accuracy,
        }


def judge(
    units: Units,
    prediction: Floats,
    task: DecisionTask | None,
    labels: Mapping[str, npt.NDArray[Any]],
    settings: Settings,
) -> HeldOutScores:
    """Find the losses of predictions, each made by a calibrator that was fitted to other folds.

    Every interval starts from the seed of the settings.
    """

    def mean(score: Score) -> float:
        return mean_loss(units, score, prediction)

    auc, ties = _ranking(units, prediction)
    forecasts, held_out = units.forecasts(prediction), units.held_out
    of_one_fold = {name: column[held_out] for name, column in labels.items()}
    return HeldOutScores(
        brier=mean(as_score("brier")),
        log_loss=mean(as_score("log")),
        failed=failed_rows(units, prediction),
        task_loss=None if task is None else mean(as_score(task)),
        auc=auc,
        ties=ties,
        worst_group=_worst_group(
            units.where(held_out), prediction[held_out], of_one_fold, settings
        ),
        accuracy=None if forecasts is None else _accuracy(forecasts),
    )


def failure_text(units: Units, before: Floats, after: Floats) -> str:
    """Say how many forecasts of exactly 0 or 1 failed before, and none after; or nothing."""
    failed = failed_rows(units, before)
    if not failed or failed_rows(units, after):
        return ""
    return f", because {count_text(failed, 'forecast')} of exactly 0 or 1 failed"


def plain_table(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return a table that JSON can hold: what is infinite or not defined is None."""
    return {
        name: [finite(value) if isinstance(value, float) else value for value in column]
        for name, column in table.items()
    }


def _interval(units: Units, prediction: Floats, settings: Settings) -> ConfidenceInterval:
    statistic = Statistic.of(smooth_calibration_error)
    return find_interval(units.evidence(prediction), statistic, settings.again(settings.seed or 0))


def _worst_group(
    units: Units,
    prediction: Floats,
    labels: Mapping[str, npt.NDArray[Any]],
    settings: Settings,
) -> WorstGroup | None:
    """Order groups by the lower end of their interval: by evidence, not by the raw error."""
    found = []
    for column, values in labels.items():
        names, code = np.unique(values, return_inverse=True)
        for number, name in enumerate(names):
            inside = code == number
            rows = int(units.count[inside].sum())
            if rows >= FEWEST_ROWS:
                interval = _interval(units.where(inside), prediction[inside], settings)
                found.append(WorstGroup(column, str(name), rows, interval))
    return max(found, key=lambda group: (group.interval.low, group.interval.value), default=None)


def _accuracy(forecasts: ClassForecasts) -> float:
    right = forecasts.probability.argmax(axis=1) == forecasts.label
    return float(forecasts.mass @ right)


def _ranking(units: Units, prediction: Floats) -> tuple[float, float]:
    """Share of pairs in the right order, and of ties, within folds (one calibrator each)."""
    counted = np.zeros(3)
    if units.classes is not None:
        return np.nan, np.nan
    for fold in units.folds:
        inside = units.fold == fold
        code = np.unique(prediction[inside], return_inverse=True)[1]
        weight, outcome = units.weight[inside], units.outcome[inside]
        ones = np.bincount(code, weight * outcome)
        zeros = np.bincount(code, weight * (1 - outcome))
        counted = np.add(counted, ordered_pairs(ones.astype(np.float64), zeros.astype(np.float64)))
    right, tied, pairs = counted.tolist()
    if pairs == 0:
        return np.nan, np.nan
    return right / pairs, tied / pairs


@dataclass(frozen=True, kw_only=True)
class Recalibration:
    """The calibrator that was chosen, fitted to all rows, and how it was judged on rows unseen."""

    calibrator: Calibrator
    """Fitted to all rows; `Identity` means: leave it alone."""
    table: dict[str, list[Any]]
    """One entry per calibrator: its name, out-of-sample score, gain over no calibrator with its
    interval, the same in log loss and in Brier score, and how far it is behind the best, in
    standard errors. Each is judged as if it alone had been tried: the gain of the best is too large
    on average."""
    gain: Gain
    """Score that the calibrator saves over leaving forecasts alone, on rows that were used
    neither to fit nor to choose it: the choice was repeated without them. The interval is for the
    calibrator that is returned. 0 if forecasts are left alone."""
    gains: dict[str, Gain]
    """The same in log loss ("log") and in Brier score ("brier"), whatever score has chosen."""
    score: str
    """Name of the score."""
    runner_up: str
    """The best calibrator that was not chosen, when none was."""
    skipped: tuple[str, ...]
    """Calibrators that were not tried, because the rows are too few to fit them."""
    asked: bool = False
    """Whether the calibrator was requested, whatever it gains."""
    _units: Units = field(repr=False)
    _recalibrated: Floats = field(repr=False)
    """Predictions of the rows by calibrators that had not seen them."""
    _labels: dict[str, npt.NDArray[Any]] = field(repr=False)
    _task: DecisionTask | None = field(repr=False)
    _settings: Settings = field(repr=False)

    def __repr__(self) -> str:
        score = score_title(self.score)
        return f"Recalibration({self.calibrator!r}, {score}, gain {self.gain.value:.4g})"

    def _repr_html_(self) -> str:
        joint = self._units.joint(self._units.prediction)
        return card(self.sentence, "ReliabilityDisplay", joint, height=5.0)

    @property
    def confidence(self) -> float:
        """Confidence of the intervals."""
        return self._settings.confidence

    @property
    def unchanged(self) -> bool:
        """Whether the best advice is to change nothing."""
        return isinstance(self.calibrator, Identity)

    @cached_property
    def before(self) -> HeldOutScores:
        """What the forecasts are worth as they are, on the rows that calibrators were judged on."""
        return self.judged(self._units.prediction)

    @cached_property
    def after(self) -> HeldOutScores:
        """What they are worth after the calibrator, fitted to other rows."""
        return self.before if self.unchanged else self.judged(self._recalibrated)

    @cached_property
    def held_out(self) -> Joint:
        """Recalibrated forecasts of one fold (confidences of classes), fitted to the other folds.

        Calibration after the calibrator can be looked at here. All folds together would not do:
        their residuals sum to about zero, because each fold is recalibrated by the rest.
        """
        return self._units.joint(self._recalibrated, self._units.held_out)

    @property
    def advice(self) -> str:
        """Say what to do about forecasts that are miscalibrated."""
        if self.unchanged:
            if self.runner_up_gain.low > 0:
                return (
                    f"{capital(title_of(self.runner_up))} may help, but too few rows show it: "
                    "collect more, or change the model."
                )
            return NO_MAP
        score, gain = self.score, self.gain
        if not np.isfinite([gain.low, gain.high]).all():  # certain forecasts that failed
            score, gain = "brier", self.gains["brier"]
        if not gain.low > 0:
            return (
                f"Recalibrating ({self.calibrator.title}) may help; evaluate it on new "
                "observations before you use it."
            )
        lowers = gain.lowers(score, self.confidence)
        return f"Recalibrate: on held-out data {self.calibrator.title} {lowers}."

    @property
    def sentence(self) -> str:
        """Say what was chosen and what it gains."""
        if self.unchanged:
            return self.calibrator.sentence if self.asked else f"Leave it alone: {self._reason()}."
        if self.asked:
            effect = "harms" if self.gain.high < 0 else self.gain.promise
            falls = self._falls()
            return (
                f"{capital(self.calibrator.title)} was asked for and {effect}: on held-out rows "
                f"{falls}. {self.calibrator.sentence}"
            )
        why = failure_text(self._units, self._units.prediction, self._recalibrated)
        return (
            f"{capital(self.calibrator.title)} {self.gain.promise}: on rows that took no part in "
            f"the choice {self._falls(why)}. {self.calibrator.sentence}"
            f"{examples_text(self.calibrator)}"
        )

    def _falls(self, why: str = "") -> str:
        """Say by how much the score falls, and the log loss and the Brier score beside it."""
        further_text = (
            gain.further_text(name) for name, gain in self.gains.items() if name != self.score
        )
        return self.gain.text(self.score, self.confidence) + why + "".join(further_text)

    def _reason(self) -> str:
        """Say why forecasts are left alone."""
        if not can_nest(self._units):
            return "there are too few rows, clusters or times to judge a choice by others"
        no = f"out of sample no calibrator improves the {score_title(self.score)}"
        if not self.runner_up:
            return no
        gain = self.runner_up_gain
        falls = f"with the best alone, {self.runner_up}, {gain.text(self.score, self.confidence)}"
        if not gain.low > 0:
            return f"{no} by more than noise; {falls}"
        observed, expected = self._units.surprises
        happened = count_text(max(0, round(observed)), "row")
        return (
            f"{no} by clearly more than calibrated forecasts could gain by luck; {falls}, but this "
            f"rests on {happened} whose likeliest outcome did not happen, where {expected:.3g} "
            "were expected"
        )

    @property
    def runner_up_gain(self) -> Gain:
        """What the best calibrator not chosen gains, judged as if it alone had been tried."""
        at = self.table["calibrator"].index(self.runner_up or LEAVE)
        value, low, high = (self.table[column][at] for column in ("gain", "gain_low", "gain_high"))
        return Gain(value, low, high, np.nan)

    def __str__(self) -> str:
        return self.sentence

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "calibrator": self.calibrator.to_dict(),
            "score": self.score,
            "confidence": self.confidence,
            "gain": self.gain.as_dict(),
            "gains": {name: gain.as_dict() for name, gain in self.gains.items()},
            "skipped": list(self.skipped),
            "table": plain_table(self.table),
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "sentence": self.sentence,
        }

    def judged(self, prediction: Floats) -> HeldOutScores:
        """Judge other predictions of the rows that calibrators were judged on."""
        return judge(self._units, prediction, self._task, self._labels, self._settings)


def recalibrate(
    y_true: object,
    y_proba: object = None,
    *,
    kind: str | None = None,
    level: float | None = None,
    by: object = None,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    pos_label: object = None,
    methods: Sequence[Calibrator | str] | None = None,
    always: bool = False,
    score: AnyScore = "log",
    task: DecisionTask | None = None,
    clusters: object = None,
    time: object = None,
    prediction: str = "prediction",
    outcome: str = "outcome",
    folds: int = 5,
    confidence: float = 0.95,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Recalibration | ContinuousRecalibration:
    """Choose a calibrator that recalibrates predictions, or none, by its score on rows unseen.

    Parameters
    ----------
    y_true : Joint, ClassForecasts, array-like of shape (n,), frame, or paths of files
        A Joint whose rows weigh the same within each level, forecasts of classes read before, or
        the outcomes: 0 and 1, or labels of classes. A frame or files hold columns, those of
        `classes` or that of `prediction`; `by`, `sample_weight`, `clusters` and `time` are then
        names of columns.
    y_proba : array-like of shape (n,), (n, 2) or (n, K), optional
        Predicted probabilities of outcome 1, or rows of probabilities of K classes; left out with
        anything but outcomes.
    kind : str, optional
        What forecasts of continuous outcomes are forecasts of: "mean", "median", "quantile=0.9",
        "expectile=0.8", or "interval" (two columns of `y_proba`). None for probabilities.
        Calibrators are then "shift" (adds a number; moves both ends of intervals), "line"
        (increasing), "curve" (increasing, linear between five quantiles of the forecasts; not for
        quantiles), "isotonic" (increasing) and "conformal" (a shift of quantiles and intervals that
        promises coverage), which is never chosen; they are compared by the loss of the kind, and
        the result is a `ContinuousRecalibration`.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    by : array-like of shape (n,), or mapping of names to such, optional
        Groups of rows; `before` and `after` name the worst of them on one fold. A calibrator with
        patches for groups is looked for by `calibrant.groups.recalibrate_by_group`.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns, and of the columns of a frame or of
        files; two columns are then classes, too.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1; not for classes.
    calibrators : sequence of calibrators or their names, optional
        What to choose from, simplest first; by default all that the rows allow, of two outcomes
        or of classes. `Identity` always takes part.
    always : bool, default=False
        Take the one calibrator that `methods` names, whatever it gains. Nothing is chosen then, and
        the gain is that of this calibrator on other rows.
    score : {"log", "brier", "spherical"}, DecisionTask or Score, default="log"
        Proper score by which calibrators are compared; for classes one of the three names.
    task : DecisionTask, optional
        The caller's decision, whose loss before and after is reported; for two outcomes.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: a fold takes all of a cluster.
    time : array-like of shape (n,), optional
        Numbers, dates or timestamps: calibrators learn from earlier rows only, and the earliest are
        not judged.
    prediction, outcome : str, default="prediction" and "outcome"
        Columns of a frame or of files.
    folds : int, default=5
        Number of parts. At most 1000.
    confidence : float, default=0.95
        Confidence of the intervals.
    draws : int, default=999
        Random multipliers behind the intervals of the groups. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Choice or ContinuousRecalibration
        `.calibrator` is fitted to all rows; `.before` and `.after` are what forecasts are worth out
        of sample, computed at first use. Of continuous outcomes they are mean losses.

    Notes
    -----
    Every calibrator is fitted to all folds but one and judged on that one. The first calibrator is
    taken whose mean score is within half a standard error of the difference from the best.
    Forecasts are left alone unless it gains one standard error or more. That is a stricter rule
    than it sounds: a calibrator that learns one number from calibrated forecasts gains a standard
    error only if that number lies 2.7 of its own standard errors off. Where few events happened the
    sample hides its spread, so that the gain must also be beyond what a sample in which the
    forecasts are right would show: 2.4 standard errors above the mean of such a sample, which is a
    loss, or, in log loss, the rows must be 20 times as likely with the calibrator. Standard errors
    are widened as in Wilson's interval. Unless `methods` are named, calibrators that learn more
    than two numbers (but `EnsembleTemperatureScaling`) are tried from 50 surprises on (25 per
    class): rows whose likeliest outcome did not happen.

    The reported gain is nested: the choice is repeated without each fold, and the fold judges
    what the others chose and taught. It estimates what choosing is worth on 4/5 of the rows; where
    these left forecasts alone a fold saves nothing. The interval is for the calibrator that is
    returned. In simulations of 100, 300 and 1000 rows it held that calibrator's gain in 93 to 100 %
    of the samples in which a calibrator was returned (standard error 3 %), and calibrated forecasts
    were left alone in at least 95 % (docs/promises.md). Where few rows hide a fault the nested gain
    varies much.

    To compare calibrators, forecasts of exactly 0 or 1 that failed cost 37 in the log loss, because
    infinite losses cannot be compared. Reported scores are not cut: the score of such forecasts is
    infinite, and so is what a calibrator saves; `before.failed` counts them, and the Brier score
    stands beside.

    The **conformal** shift is the k-th smallest of what outcomes exceed forecasts by, with k the
    level times n + 1, rounded up (below 1/2 down). If the n rows and the next one are exchangeable
    and outcomes do not tie, the next outcome lies at or below its shifted forecast, or inside its
    interval, with a chance of exactly k / (n + 1). With ties the chance is at least that; below 1/2
    the chance to lie strictly below is at most that. It is a mean over samples and forecasts, says
    nothing about each forecast, and does not hold for clusters. Forecasts must not have been fitted
    to these rows (Vovk, Gammerman, Shafer 2005; Romano, Patterson, Candes 2019).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.random(4000)
    >>> outcome = rng.random(4000) < chance
    >>> choice = recalibrate(outcome, chance**2, rng=0)
    >>> choice.unchanged, choice.after.log_loss < choice.before.log_loss
    (False, True)
    >>> recalibrate(outcome, chance, rng=0).unchanged
    True

    Rows of probabilities of classes are recognized by their shape:

    >>> true = rng.dirichlet(np.ones(3), 2000)
    >>> labels = (true.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    >>> sharp = true**2 / (true**2).sum(axis=1, keepdims=True)
    >>> choice = recalibrate(labels, sharp, rng=0)
    >>> choice.calibrator.method, round(choice.calibrator.temperature_)
    ('temperature', 2)

    Forecasts of a mean:

    >>> z = rng.normal(20, 6, 1000)
    >>> y = 3 + 0.8 * z + rng.normal(0, 4, 1000)
    >>> recalibrate(y, z, kind="mean", rng=0).calibrator.transform([10.0, 30.0]).round()
    array([11., 27.])
    """
    request = KindRequest.of(kind, None, level)
    if request is not None:
        probability_options = {
            "by": by,
            "classes": classes,
            "pos_label": pos_label,
            "task": task,
            "time": time,
        }
        _refuse_for_numbers(probability_options, request.name)
        return choose_continuous(
            y_true,
            y_proba,
            request,
            methods=methods,
            always=always,
            sample_weight=sample_weight,
            clusters=clusters,
            confidence=confidence,
            rng=rng,
        )
    settings = Settings.read(confidence=confidence, draws=draws, rng=rng)
    of_classes = are_classes(y_true, y_proba, classes)
    rule = read_score(score, classes=of_classes)
    if of_classes:
        refuse_pos_label(pos_label)
        _refuse_task(task)
    elif task is not None and not isinstance(task, DecisionTask):
        raise InvalidOptionError("@task must be a DecisionTask", shown(task))
    split = Split(folds, clusters, time, _named(by))
    if y_proba is None and not isinstance(y_true, Joint | ClassForecasts):
        roles = Roles(prediction, outcome, sample_weight, clusters, by, time, classes=classes)
        y_true, y_proba, sample_weight, split = _read_table(y_true, roles, pos_label, folds)
        classes = pos_label = None
    if of_classes:
        read = (y_true, y_proba, classes, sample_weight)
        units, labels = read_class_units(read, split, settings.rng)
    else:
        columns = (y_true, y_proba, sample_weight, pos_label)
        units, labels = read_units(columns, split, settings.rng)
    return choose_among(units, labels, methods, rule, task, settings, always=always)


def _refuse_for_numbers(options: Mapping[str, object], kind: str) -> None:
    """Refuse options that only choices between calibrators of probabilities have."""
    for name, value in options.items():
        if value is not None:
            raise InvalidOptionError(
                f"{mention(name)} is for predicted probabilities", f"kind={kind!r}", "leave it out"
            )


def choice_of_probabilities(*arguments: Any, **options: Any) -> Recalibration:
    """Choose as `recalibrate` does, for callers that hold probabilities."""
    found = recalibrate(*arguments, **options)
    assert isinstance(found, Recalibration)  # noqa: S101  # no kind was named
    return found


def choose_among(
    units: Units,
    labels: dict[str, npt.NDArray[Any]],
    methods: Sequence[Calibrator | str] | None,
    rule: Score,
    task: DecisionTask | None,
    settings: Settings,
    *,
    always: bool = False,
) -> Recalibration:
    """Choose a calibrator by its held-out score in folds, or take the requested one."""
    if check_flag("always", always) and (methods is None or len(methods) != 1):
        raise InvalidOptionError(
            "calibrators must name the one calibrator to take always",
            "all" if methods is None else shown(methods),
        )
    candidates = candidates_of(methods, units)
    held_out = cross_fitted(units, candidates)
    judged = units.judged
    judged_units, labels = (
        units.where(judged),
        {name: column[judged] for name, column in labels.items()},
    )
    decision = chosen_by(units, rule, held_out, judged, settings.confidence)
    chosen = decision.name if can_nest(units) else LEAVE
    if always:
        chosen = list(candidates)[-1]
    forecasts = {name: values[judged] for name, values in held_out.items()}
    gains = {
        name: with_unseen(
            gain, judged_units, rule, (forecasts[LEAVE], forecasts[name]), settings.confidence
        )
        for name, gain in decision.gains.items()
    }
    scores = {name: mean_loss(judged_units, rule, values) for name, values in forecasts.items()}
    reported = reported_gains(gains, scores)
    gains_by_loss = {
        name: GainsByScore(gains, reported)
        if name == rule.name
        else GainsByScore.of(judged_units, as_score(name), forecasts, settings.confidence)
        for name in LOSSES
    }
    table: dict[str, list[Any]] = {
        "calibrator": list(held_out),
        "score": list(scores.values()),
        **gain_columns("gain", reported),
        **gain_columns("log_gain", gains_by_loss["log"].reported),
        **gain_columns("brier_gain", gains_by_loss["brier"].reported),
        "behind": [decision.behind[name] for name in held_out],
        "chosen": [name == chosen for name in held_out],
    }
    recalibrated, gain = judged_units.prediction, gains[LEAVE]
    reported_by_loss = {name: found.reported[chosen] for name, found in gains_by_loss.items()}
    if always:
        recalibrated, gain = forecasts[chosen], reported[chosen]
    elif chosen != LEAVE:
        recalibrated = nested(units, candidates, rule, held_out)[judged]
        gain = after_choice(judged_units, rule, recalibrated, gains[chosen], settings)
        reported_by_loss = {
            name: gain
            if name == rule.name
            else after_choice(
                judged_units, as_score(name), recalibrated, found.gains[chosen], settings
            )
            for name, found in gains_by_loss.items()
        }
    best = max(gains, key=lambda name: gains[name].value)
    fitted = candidates[chosen].fit(units.training_set())
    return Recalibration(
        calibrator=fitted,
        table=table,
        gain=gain,
        gains=reported_by_loss,
        score=rule.name,
        runner_up=best if chosen == LEAVE and best != LEAVE else "",
        skipped=too_flexible(units) if methods is None else (),
        asked=always,
        _units=judged_units,
        _recalibrated=recalibrated,
        _labels=labels,
        _task=task,
        _settings=settings.again(int(settings.rng.integers(2**32))),
    )


def _named(by: object) -> dict[str, Any]:
    if by is None:
        return {}
    return dict(by) if isinstance(by, Mapping) else {"group": by}


def _read_table(
    data: object, roles: Roles, pos_label: object, folds: int
) -> tuple[object, object, object, Split]:
    """Read columns of a frame or of files; rows may be so many that only their sums are known.

    What is read are forecasts of classes, a Joint, or outcomes, predictions and weights.
    """
    if not are_paths(data) and column_names(data) is None:
        raise InvalidForecastsError(
            "a choice takes a Joint, ClassForecasts, outcomes and predictions, a frame, or paths",
            f"one argument of type {type(data).__name__}",
            "call it as recalibrate(y_true, y_proba)",
        )
    source = read(data, None, roles, labels=Labels(positive=pos_label))
    if source.rows is None:
        if source.groups:
            raise InvalidForecastsError(
                "the worst group is told of fewer rows",
                f"{source.joint.row_count} rows",
                "leave by out, or choose on a part of the rows",
            )
        return source.joint, None, None, Split(folds)
    split = Split(folds, source.clusters, source.times, dict(source.by))
    if source.classes is not None:
        return source.classes, None, None, split
    rows = source.rows
    return rows.outcome, rows.prediction, rows.weight, split


def _refuse_task(task: object) -> None:
    if task is not None:
        raise InvalidOptionError(
            "@task is for two outcomes",
            f"{type(task).__name__} with classes",
            "compare multiclass.fixed_decision_loss before and after the calibrator",
        )
