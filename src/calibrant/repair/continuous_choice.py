"""Which map of forecasts of numbers to use, judged on rows that it was not fitted to, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.arrays import Indices
from calibrant.data import canonical_order, deal_clusters, deal_folds
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError
from calibrant.inputs import AskedKind, rows_of_kind
from calibrant.kinds import Kind
from calibrant.notebook import card
from calibrant.options import as_generator, check_share, refuse_unknown, shown
from calibrant.repair.choice_rule import LEAVE as ALONE, NO_MAP, gain_after_choice
from calibrant.repair.continuous_maps import (
    Candidate,
    ContinuousMap,
    fitted_map,
    methods_for,
    rows_for_conformal,
)
from calibrant.repair.folds import Units
from calibrant.repair.nested_choice import chosen_by, cross_fitted, nested
from calibrant.repair.row_losses import losses
from calibrant.words import comparable_texts, interval_texts, number_text, percent_text

LEAVE = "identity"
FOLDS = 5
# Rows, or clusters, below which no choice can be judged.
FEWEST = 20


@dataclass(frozen=True, slots=True)
class SavedLoss:
    """Mean loss that a map saves on rows that neither taught nor chose it, with an interval."""

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class ContinuousChoice:
    """The map that was chosen, fitted to all rows, and what it saves on rows unseen."""

    map: ContinuousMap
    """Fitted to all rows; the identity means: leave it alone."""
    gain: SavedLoss
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


def choose_continuous(
    y_true: object,
    y_pred: object,
    kind: AskedKind,
    *,
    maps: object,
    always: bool,
    sample_weight: object,
    clusters: object,
    confidence: float,
    rng: np.random.Generator | int | None,
) -> ContinuousChoice:
    """Choose a map of forecasts of numbers, or none, by its loss on rows unseen."""
    refuse_other_labels(
        y_true=y_true, y_pred=y_pred, sample_weight=sample_weight, clusters=clusters
    )
    given = rows_of_kind(y_true, y_pred, kind, sample_weight)
    return choose_for_rows(
        given, maps=maps, always=always, clusters=clusters, confidence=confidence, rng=rng
    )


def choose_for_rows(
    given: Rows,
    *,
    maps: object = None,
    always: bool = False,
    clusters: object = None,
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> ContinuousChoice:
    """Choose a map for rows that were checked before.

    Maps have the least squared error, pinball loss, asymmetric squared error or interval score, and
    never decrease. The conformal shift promises coverage of the next row only where nothing was
    chosen by the same rows, so that it is fitted on request alone.
    """
    check_share("confidence", confidence)
    names = _named(maps, given.kind)
    if always and (maps is None or len(maps) != 1):  # type: ignore[arg-type]  # a list of names
        raise InvalidOptionError("always takes the one map that maps names", shown(maps))
    conformal = "conformal" in names
    if conformal and not always:
        raise InvalidOptionError(
            "a conformal shift promises nothing after a choice", "maps", "pass always=True"
        )
    cluster = None
    if clusters is not None:
        labels = read_labels(clusters, "clusters", len(given))
        cluster = np.unique(labels, return_inverse=True)[1]
        if conformal:
            raise InvalidOptionError(
                "a conformal shift promises nothing for clusters", "clusters", "use the shift"
            )
    if given.weight is not None and not conformal and not given.weight.all():
        kept = given.weight > 0
        given = given.where(kept)
        cluster = None if cluster is None else np.unique(cluster[kept], return_inverse=True)[1]
    content = (given.prediction, given.outcome, given.upper, given.weight, cluster)
    order = canonical_order(*content)  # sums in another order would differ in the last digit
    given, cluster = given.where(order), None if cluster is None else cluster[order]
    units = len(given) if cluster is None else int(cluster.max()) + 1
    needed = FEWEST
    if conformal and given.kind.chance is not None:
        # Four fifths of the rows must be enough for a shift.
        needed = max(needed, 2 * rows_for_conformal(given.kind.chance))
    if units < needed:
        few = "rows" if cluster is None else "clusters"
        return _unjudged(given, names[-1] if always else LEAVE, few)
    fold = _dealt(given, cluster, as_generator(rng))
    return _judged(Units.of_kind(given, fold, cluster), names, confidence, asked=always)


def _named(maps: object, kind: Kind) -> list[str]:
    """Names of the maps to choose from, leaving forecasts alone first, then the simplest."""
    known = methods_for(kind)
    if maps is None:
        return [name for name in known if name != "conformal"]
    if isinstance(maps, str) or not isinstance(maps, Sequence):
        raise InvalidOptionError("maps must be a list of names", shown(maps))
    for name in maps:
        refuse_unknown("maps", name, known)
    return list(dict.fromkeys([LEAVE, *maps]))


def _dealt(rows: Rows, cluster: Indices | None, rng: np.random.Generator) -> Indices:
    if cluster is not None:
        return deal_clusters(cluster, FOLDS, rng)
    content = (rows.prediction, rows.outcome, rows.upper, rows.weight)
    return deal_folds(FOLDS, rng, *content, near=rows.place)


def _judged(units: Units, names: list[str], confidence: float, *, asked: bool) -> ContinuousChoice:
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
    gain = SavedLoss(0.0, 0.0, 0.0, confidence)
    if chosen != LEAVE:
        saved = lost[ALONE] - losses(None, units, kept)
        found = gain_after_choice(units, saved, decision.gains[chosen], confidence)
        gain = SavedLoss(found.value, found.low, found.high, confidence)
    rows = units.rows(units.prediction)
    before, *_ = after = [rows.mean_of(some) for some in lost.values()]
    clear = asked or chosen != LEAVE
    return ContinuousChoice(
        fitted_map(rows, chosen),
        gain,
        {"map": names, "loss": after, "saved": [before - loss for loss in after]},
        rows.kind.loss_name,
        before,
        before - gain.value,
        _observed(rows),
        "" if clear else "no map lowers the held-out loss by more than noise",
    )


def _unjudged(rows: Rows, chosen: str, few: str) -> ContinuousChoice:
    """Take what was asked for though too few rows can judge it, or leave forecasts alone."""
    loss = rows.mean_of(rows.losses)
    return ContinuousChoice(
        fitted_map(rows, chosen),
        SavedLoss(0.0, 0.0, 0.0, 0.0) if chosen == LEAVE else UNKNOWN,
        {"map": [LEAVE], "loss": [loss], "saved": [0.0]},
        rows.kind.loss_name,
        loss,
        loss if chosen == LEAVE else np.nan,
        _observed(rows),
        f"there are too few {few} to judge a map by",
    )


UNKNOWN = SavedLoss(np.nan, np.nan, np.nan, 0.0)


def _observed(forecasts: Rows) -> float:
    """Return the share of outcomes below or inside, or else the mean residual."""
    if forecasts.kind.chance is not None:
        return forecasts.kind.forecast_and_observed(forecasts)[1]
    return forecasts.mean_of(forecasts.residual)
