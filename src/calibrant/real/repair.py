"""Which map of real forecasts to use, judged on rows that it has not seen, or none at all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from calibrant.arrays import Flags, Floats, Indices
from calibrant.data import canonical_order, deal_clusters, deal_folds
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError
from calibrant.inference import mean_with_reach
from calibrant.notebook import card
from calibrant.options import as_generator, check_share, refuse_unknown
from calibrant.real.fits import rows_for_conformal
from calibrant.real.maps import METHODS, RealMap, fitted_map, methods_for, moved
from calibrant.repair import NO_MAP
from calibrant.words import comparable_texts, interval_texts, number_text, percent_text

CHOOSE, LEAVE = "choose", "identity"
FOLDS = 5
# Rows, or clusters, below which no choice can be judged.
FEWEST = 20
# One standard error, as the confidence of an interval.
ONE_ERROR = 0.6826894921370859
# A simpler map is taken if it is behind the best by no more than this share of a standard error;
# forecasts are left alone unless a map gains a whole one.
SIMPLER = 0.5


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
    rows = _InFolds.dealt(given, cluster, as_generator(rng), conformal=method == "conformal")
    asked = method != CHOOSE
    names = [LEAVE, method] if asked else [n for n in methods_for(given.kind) if n != "conformal"]
    return rows.repaired(list(dict.fromkeys(names)), confidence, asked=asked)


@dataclass(frozen=True, slots=True)
class _InFolds:
    """Rows in folds."""

    forecasts: Rows
    fold: Indices
    cluster: Indices | None
    enough: bool
    """Whether rows are enough to judge by."""

    @classmethod
    def dealt(
        cls,
        forecasts: Rows,
        cluster: Indices | None,
        rng: np.random.Generator,
        *,
        conformal: bool,
    ) -> _InFolds:
        units = len(forecasts) if cluster is None else int(cluster.max()) + 1
        needed = FEWEST
        if conformal and forecasts.kind.chance is not None:
            # Four fifths of the rows must be enough for a shift.
            needed = max(needed, 2 * rows_for_conformal(forecasts.kind.chance))
        if units < needed:
            return cls(forecasts, np.zeros(len(forecasts), dtype=np.intp), cluster, enough=False)
        if cluster is not None:
            return cls(forecasts, deal_clusters(cluster, FOLDS, rng), cluster, enough=True)
        content = (forecasts.prediction, forecasts.outcome, forecasts.upper, forecasts.weight)
        fold = deal_folds(FOLDS, rng, *content, near=forecasts.place)
        return cls(forecasts, fold, None, enough=True)

    def repaired(self, names: list[str], confidence: float, *, asked: bool) -> RealRepair:
        """Choose a map, or take the last one named, and say what it saves."""
        if not self.enough:
            return self._unjudged(names, asked=asked)
        held = {name: self._cross_fitted(name) for name in names}
        lost = {name: some.losses for name, some in held.items()}
        everyone = np.ones(len(self.forecasts), dtype=bool)
        chosen = names[-1] if asked else self._chosen(lost, everyone)
        kept = lost[names[-1]] if asked else self._nested(names, lost)
        mean = self.forecasts.mean_of
        gain = LossSaved(0.0, 0.0, 0.0, confidence)
        if chosen != LEAVE:
            gain = self._gain(lost[LEAVE] - kept, lost[LEAVE] - lost[chosen], confidence)
        before = mean(lost[LEAVE])
        after = [mean(some) for some in lost.values()]
        return RealRepair(
            fitted_map(self.forecasts, chosen),
            gain,
            {"map": names, "loss": after, "saved": [before - loss for loss in after]},
            self.forecasts.kind.loss_name,
            before,
            before - gain.value,
            _observed(self.forecasts),
            ""
            if asked or chosen != LEAVE
            else "no map lowers the held-out loss by more than noise",
        )

    def _gain(self, saved: Floats, alone: Floats, confidence: float) -> LossSaved:
        """Mean of what rows save that had no say in the choice, with an interval for the map taken.

        A map was taken because what it saves alone was clear, which is too much on average; where
        folds left forecasts alone the nested saving is too small. So the upper end reaches from the
        larger of both. Both ends reach up to the root of two farther than the standard error, as
        far as the choice was close: the rows that made a map look good have also taught it (Bates,
        Hastie, Tibshirani 2023, Cross-validation: what does it estimate, JASA 119).
        """
        everyone = np.ones(len(self.forecasts), dtype=bool)
        value, reach = self._mean(saved, everyone, confidence)
        most, further = self._mean(alone, everyone, confidence)
        error = self._mean(alone, everyone, ONE_ERROR)[1]
        close = min(1.0, 2 * error / most) if most > 0 else 1.0
        reach = max(reach, further) * float(np.sqrt(1 + close**2))
        return LossSaved(value, value - reach, max(value, most) + reach, confidence)

    def _unjudged(self, names: list[str], *, asked: bool) -> RealRepair:
        """Take what was asked for though too few rows can judge it, or leave forecasts alone."""
        loss = self.forecasts.mean_of(self.forecasts.losses)
        chosen = names[-1] if asked else LEAVE
        few = "rows" if self.cluster is None else "clusters"
        unknown = LossSaved(0.0, 0.0, 0.0, 0.0) if chosen == LEAVE else UNKNOWN
        return RealRepair(
            fitted_map(self.forecasts, chosen),
            unknown,
            {"map": [LEAVE], "loss": [loss], "saved": [0.0]},
            self.forecasts.kind.loss_name,
            loss,
            loss if chosen == LEAVE else np.nan,
            _observed(self.forecasts),
            f"there are too few {few} to judge a map by",
        )

    def _cross_fitted(self, name: str) -> Rows:
        """Forecasts of a map, each row by one that has not seen it."""
        if name == LEAVE:
            return self.forecasts
        low = self.forecasts.prediction.copy()
        high = None if self.forecasts.upper is None else self.forecasts.upper.copy()
        for fold in range(FOLDS):
            inside = self.fold == fold
            part = moved(
                fitted_map(self.forecasts.where(~inside), name), self.forecasts.where(inside)
            )
            low[inside] = part.prediction
            if high is not None and part.upper is not None:
                high[inside] = part.upper
        return self.forecasts.with_forecasts(low, high)

    def _nested(self, names: list[str], lost: dict[str, Floats]) -> Floats:
        """Losses of the map that other folds chose, fitted to other folds."""
        chosen = lost[LEAVE].copy()
        for fold, name in self._choices(names).items():
            inside = self.fold == fold
            chosen[inside] = lost[name][inside]
        return chosen

    def _choices(self, names: list[str]) -> dict[int, str]:
        """Choose without each fold: maps learn from the rest but one other fold, which compares."""
        size = len(self.forecasts)
        without = {fold: {name: np.zeros(size) for name in names} for fold in range(FOLDS)}
        for pair in combinations(range(FOLDS), 2):
            lesson = self.forecasts.where(~np.isin(self.fold, pair))
            for name in names:
                found = fitted_map(lesson, name)
                for left_out, judging in (pair, pair[::-1]):
                    inside = self.fold == judging
                    part = moved(found, self.forecasts.where(inside))
                    without[left_out][name][inside] = part.losses
        return {fold: self._chosen(lost, self.fold != fold) for fold, lost in without.items()}

    def _chosen(self, lost: dict[str, Floats], keep: Flags) -> str:
        """Choose the simplest map that is about as good as the best, if what it saves is clear."""
        mean = self.forecasts.where(keep).mean_of
        best = min(lost, key=lambda name: mean(lost[name][keep]))
        for name, some in lost.items():
            if name == LEAVE:
                continue
            behind, error = self._mean(some - lost[best], keep, ONE_ERROR)
            if behind <= SIMPLER * error:
                saved, error = self._mean(lost[LEAVE] - some, keep, ONE_ERROR)
                return name if saved > error else LEAVE
        return LEAVE

    def _mean(self, values: Floats, keep: Flags, confidence: float) -> tuple[float, float]:
        cluster = None if self.cluster is None else self.cluster[keep]
        return mean_with_reach(self.forecasts.where(keep), values[keep], cluster, confidence)


UNKNOWN = LossSaved(np.nan, np.nan, np.nan, 0.0)


def _observed(forecasts: Rows) -> float:
    """Return the share of outcomes below or inside, or else the mean residual."""
    if forecasts.kind.chance is not None:
        return forecasts.kind.forecast_and_observed(forecasts)[1]
    return forecasts.mean_of(forecasts.residual)
