"""Which map of real forecasts to use, judged on rows that it has not seen, or none at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.arrays import Indices
from calibrant.data import canonical_order, deal_clusters, deal_folds
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError
from calibrant.notebook import card
from calibrant.options import as_generator, check_share, refuse_unknown
from calibrant.real.fits import rows_for_conformal
from calibrant.real.maps import METHODS, Candidate, RealMap, fitted_map, methods_for
from calibrant.repair import (
    LEAVE as ALONE,
    NO_MAP,
    Units,
    chosen_by,
    cross_fitted,
    gain_after_choice,
    losses,
    nested,
)
from calibrant.words import comparable_texts, interval_texts, number_text, percent_text

CHOOSE, LEAVE = "choose", "identity"
FOLDS = 5
# Rows, or clusters, below which no choice can be judged.
FEWEST = 20


@dataclass(frozen=True, slots=True)
class LossSaved:
    """Mean loss that a map saves on rows that neither taught nor chose it, with an interval."""

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class RealRepair:
    """The map that was chosen, fitted to all rows, and what it saves on rows unseen."""

    map: RealMap
    """Fitted to all rows; the identity means: leave it alone."""
    gain: LossSaved
    """What it saves; 0 if forecasts are left alone."""
    table: dict[str, list[Any]]
    """One entry per map: its name, mean loss on rows that did not teach it, and what that saves.
    Each is judged as if it alone had been tried: that of the best saves too much on average."""
    loss: str
    """Name of the loss."""
    before: float
    """Mean loss of the forecasts as they are."""
    after: float
    """Mean loss after the map, out of sample."""
    observed: float
    """Share of outcomes below or inside, or else the mean residual, of the forecasts as they are.
    After the map, residuals of all folds sum to about zero whatever it is worth."""
    reason: str = ""
    """Why forecasts are left alone."""

    @property
    def leave_alone(self) -> bool:
        """Whether the best advice is to change nothing."""
        return self.map.method == LEAVE

    @property
    def advice(self) -> str:
        """Say what to do about forecasts that are miscalibrated."""
        if self.leave_alone:
            return NO_MAP
        if self.gain.low > 0:
            before, after = comparable_texts(self.before, self.after)
            return (
                f"Recalibrate: the {self.map.name} map lowers the {self.loss} from {before} to "
                f"{after} on held-out data."
            )
        if self.map.kind.has_ends:
            wider = self.observed < (self.map.kind.chance or 0.0)
            how = "Widen" if wider else "Narrow"
            return f"{how} them on rows that the model was not fitted to."
        return "Recalibrate them on rows that the model was not fitted to, or change the model."

    @property
    def score(self) -> str:
        """Name of the loss."""
        return self.loss

    @property
    def sentence(self) -> str:
        """Say what was chosen, what it does and what it saves."""
        if self.leave_alone:
            return f"Leave it alone: {self.reason}." if self.reason else self.map.sentence
        if np.isnan(self.gain.value):
            return f"{self.map.sentence} What it saves is not known: {self.reason}."
        before, after = comparable_texts(self.before, self.after)
        value, low, high = interval_texts(self.gain.value, self.gain.low, self.gain.high)
        does = "helps" if self.gain.low > 0 else "harms" if self.gain.high < 0 else "may help"
        return (
            f"The {self.map.method} map {does}: on held-out data the {self.loss} goes from "
            f"{before} to {after} and saves {value} (between {low} and {high} with "
            f"{percent_text(self.gain.confidence)} confidence; {self._seen}). {self.map.sentence}"
        )

    @property
    def _seen(self) -> str:
        kind = self.map.kind
        if kind.chance is not None:
            where = kind.words.seen
            observed, promised = map(percent_text, (self.observed, kind.chance))
            return f"outcomes {where} without it: {observed}, promised {promised}"
        return f"mean residual without it: {number_text(self.observed)}"

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "map": self.map.to_dict(),
            "loss": self.loss,
            "before": self.before,
            "after": self.after,
            "gain": {"value": self.gain.value, "low": self.gain.low, "high": self.gain.high},
            "confidence": self.gain.confidence,
            "table": self.table,
            "sentence": self.sentence,
        }


def repair(
    y_true: object,
    y_pred: object = None,
    *,
    kind: object = "mean",
    upper: object = None,
    level: float | None = None,
    method: str = CHOOSE,
    sample_weight: object = None,
    clusters: object = None,
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> RealRepair:
    """Find a map that recalibrates forecasts of real outcomes, or none, by its loss on rows unseen.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Rows
        Outcomes.
    y_pred : array-like of shape (n,), optional
        Forecasts; of intervals the lower ends.
    kind : {"mean", "median", "quantile=0.9", "expectile=0.8", "interval"}, default="mean"
        What the forecasts are forecasts of.
    upper, level
        Upper ends of intervals, and the share of outcomes that they promise to hold.
    method : str, default="choose"
        "choose", or the one map to take, whatever it saves: "identity", "shift" (adds a number;
        moves both ends of intervals), "line" (increasing), "curve" (increasing, linear between five
        quantiles of the forecasts; not for quantiles), "isotonic" (increasing), "conformal" (a
        shift of quantiles and intervals that promises coverage).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; not for the conformal shift.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: a fold takes all of a cluster.
    confidence : float, default=0.95
        Confidence of the interval of what is saved.
    rng : numpy.random.Generator or int, optional
        Source of the folds.

    Returns
    -------
    RealRepair

    Notes
    -----
    Maps have the least squared error, pinball loss, asymmetric squared error or interval score, and
    never decrease. Each is fitted to four fifths of the rows and judged on the others. The simplest
    is taken whose mean loss is within half a standard error of the best, and forecasts are left
    alone unless it saves a whole one. The saving that is told is nested: the choice is repeated
    without each fold, and the fold judges what the others chose.

    The **conformal** shift is the k-th smallest of what outcomes exceed forecasts by, with k the
    level times n + 1, rounded up (below 1/2 down). If the n rows and the next one are exchangeable
    and outcomes do not tie, the next outcome lies at or below its shifted forecast, or inside its
    interval, with a chance of exactly k / (n + 1). With ties the chance is at least that; below 1/2
    the chance to lie strictly below is at most that. It is a mean over samples and forecasts, says
    nothing about each forecast, and does not hold for clusters. A choice by the same rows would end
    it, so "choose" never takes it, and forecasts must not have learned from these rows.

    References
    ----------
    Vovk, Gammerman, Shafer (2005), Algorithmic learning in a random world. Romano, Patterson,
    Candes (2019), Conformalized quantile regression, NeurIPS.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(20, 6, 1000)
    >>> y = 3 + 0.8 * z + rng.normal(0, 4, 1000)
    >>> found = repair(y, z, rng=0)
    >>> print(found.map)
    At the 10th, 50th and 90th percentile of the forecasts 12.4 becomes 12.6, 19.5 becomes 18.6,
    27.4 becomes 25.2.
    >>> found.map.predict([10.0, 30.0]).round(1)
    array([10.6, 27.4])
    >>> repair(y, 3 + 0.8 * z, rng=0).leave_alone
    True
    """
    check_share("confidence", confidence)
    refuse_other_labels(
        y_true=y_true, y_pred=y_pred, upper=upper, sample_weight=sample_weight, clusters=clusters
    )
    given = Rows.of_kind(
        y_true, y_pred, kind, upper=upper, level=level, sample_weight=sample_weight
    )
    refuse_unknown("method", method, (CHOOSE, *METHODS))
    cluster = None
    if clusters is not None:
        labels = read_labels(clusters, "clusters", len(given))
        cluster = np.unique(labels, return_inverse=True)[1]
        if method == "conformal":
            raise InvalidOptionError(
                "a conformal shift promises nothing for clusters", "clusters", "method='shift'"
            )
    if given.weight is not None and method != "conformal" and not given.weight.all():
        kept = given.weight > 0
        given = given.where(kept)
        cluster = None if cluster is None else np.unique(cluster[kept], return_inverse=True)[1]
    content = (given.prediction, given.outcome, given.upper, given.weight, cluster)
    order = canonical_order(*content)  # sums in another order would differ in the last digit
    given, cluster = given.where(order), None if cluster is None else cluster[order]
    asked = method != CHOOSE
    names = [LEAVE, method] if asked else [n for n in methods_for(given.kind) if n != "conformal"]
    names = list(dict.fromkeys(names))
    units = len(given) if cluster is None else int(cluster.max()) + 1
    needed = FEWEST
    if method == "conformal" and given.kind.chance is not None:
        # Four fifths of the rows must be enough for a shift.
        needed = max(needed, 2 * rows_for_conformal(given.kind.chance))
    if units < needed:
        few = "rows" if cluster is None else "clusters"
        return _unjudged(given, names[-1] if asked else LEAVE, few)
    fold = _dealt(given, cluster, as_generator(rng))
    return _judged(Units.of_kind(given, fold, cluster), names, confidence, asked=asked)


def _dealt(rows: Rows, cluster: Indices | None, rng: np.random.Generator) -> Indices:
    if cluster is not None:
        return deal_clusters(cluster, FOLDS, rng)
    content = (rows.prediction, rows.outcome, rows.upper, rows.weight)
    return deal_folds(FOLDS, rng, *content, near=rows.place)


def _judged(units: Units, names: list[str], confidence: float, *, asked: bool) -> RealRepair:
    """Choose a map, or take the last one named, and say what it saves on rows unseen.

    The choice, its repetition without each fold and the interval are those of `choose`.
    """
    candidates = {ALONE if name == LEAVE else name: Candidate(name) for name in names}
    held = cross_fitted(units, candidates)
    everyone = np.ones(units.outcome.size, dtype=bool)
    decision = chosen_by(units, None, held, everyone, confidence)
    chosen, kept = names[-1], held[list(candidates)[-1]]
    if not asked:
        chosen = LEAVE if decision.name == ALONE else decision.name
        kept = nested(units, candidates, None, held)
    lost = {name: losses(None, units, moved) for name, moved in held.items()}
    gain = LossSaved(0.0, 0.0, 0.0, confidence)
    if chosen != LEAVE:
        saved = lost[ALONE] - losses(None, units, kept)
        found = gain_after_choice(units, saved, decision.gains[chosen], confidence)
        gain = LossSaved(found.value, found.low, found.high, confidence)
    rows = units.rows(units.prediction)
    before, *_ = after = [rows.mean_of(some) for some in lost.values()]
    clear = asked or chosen != LEAVE
    return RealRepair(
        fitted_map(rows, chosen),
        gain,
        {"map": names, "loss": after, "saved": [before - loss for loss in after]},
        rows.kind.loss_name,
        before,
        before - gain.value,
        _observed(rows),
        "" if clear else "no map lowers the held-out loss by more than noise",
    )


def _unjudged(rows: Rows, chosen: str, few: str) -> RealRepair:
    """Take what was asked for though too few rows can judge it, or leave forecasts alone."""
    loss = rows.mean_of(rows.losses)
    return RealRepair(
        fitted_map(rows, chosen),
        LossSaved(0.0, 0.0, 0.0, 0.0) if chosen == LEAVE else UNKNOWN,
        {"map": [LEAVE], "loss": [loss], "saved": [0.0]},
        rows.kind.loss_name,
        loss,
        loss if chosen == LEAVE else np.nan,
        _observed(rows),
        f"there are too few {few} to judge a map by",
    )


UNKNOWN = LossSaved(np.nan, np.nan, np.nan, 0.0)


def _observed(forecasts: Rows) -> float:
    """Return the share of outcomes below or inside, or else the mean residual."""
    if forecasts.kind.chance is not None:
        return forecasts.kind.forecast_and_observed(forecasts)[1]
    return forecasts.mean_of(forecasts.residual)
