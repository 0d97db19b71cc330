"""The rule that chooses a calibrator: the simplest of the best, if it gains more than noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant._base.stages import reached
from calibrant._base.words import percent_text
from calibrant.decisions import Score, as_score, score_title
from calibrant.errors import InvalidOptionError
from calibrant.inference import Settings
from calibrant.recalibration.folds import Units
from calibrant.regression import LEAST


def _log(table: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(table)


def _brier(table: Floats) -> Floats:
    return np.asarray((table**2).sum(axis=1, keepdims=True) - 2 * table + 1)


def _spherical(table: Floats) -> Floats:
    return np.asarray(1 - table / np.sqrt((table**2).sum(axis=1, keepdims=True)))


# The loss of a row of probabilities for each class that might happen.
CLASS_SCORES: dict[str, Callable[[Floats], Floats]] = {
    "log": _log,
    "brier": _brier,
    "spherical": _spherical,
}


def read_score(score: object, *, classes: bool) -> Score:
    """Read a score by which calibrators are compared."""
    if classes and not (isinstance(score, str) and score in CLASS_SCORES):
        raise InvalidOptionError(
            f"the score of classes must be one of {', '.join(CLASS_SCORES)}", f"{score!r:.60}"
        )
    return as_score(score)


def loss_table(score: Score, prediction: Floats, *, cut: bool = False) -> Floats:
    """Loss of each row for every outcome that might happen, one column each.

    Cut ones are finite: a forecast of 0 counts as 2^-53.
    """
    if prediction.ndim == 2:
        return CLASS_SCORES[score.name](np.maximum(prediction, LEAST) if cut else prediction)
    inside = np.clip(prediction, LEAST, 1 - LEAST) if cut else prediction
    return np.column_stack(score.losses(inside))


def losses(score: Score | None, units: Units, prediction: Floats) -> Floats:
    """Loss of each row to choose by, where a forecast of 0 or 1 that failed costs 37 at most.

    Kinds of numbers have one loss each, whatever the score.
    """
    if not units.kind.summed or score is None:
        return units.rows(prediction).losses
    return _happened(units, loss_table(score, prediction, cut=True))


def mean_loss(units: Units, score: Score, prediction: Floats) -> float:
    """Mean score; infinite where the score of a row is."""
    lost = _happened(units, loss_table(score, prediction))
    return float(units.weight @ lost) / float(units.weight.sum())


def failed_rows(units: Units, prediction: Floats) -> int:
    """Count rows in which what happened had a forecast of exactly 0."""
    if prediction.ndim == 2:
        failed = _happened(units, prediction) == 0
    else:
        failed = np.abs(units.outcome - prediction) == 1
    return int(units.count[failed].sum())


def finite(value: float) -> float | None:
    """Return a number that JSON can hold, or None."""
    return value if np.isfinite(value) else None


def _happened(units: Units, table: Floats) -> Floats:
    """Take the entry of each row for what happened."""
    at = units.outcome.astype(np.intp)[:, np.newaxis]
    return np.asarray(np.take_along_axis(table, at, axis=1)[:, 0])


class Fitted(Protocol):
    """A calibrator that was fitted."""

    @property
    def form_(self) -> Callable[[Floats], Floats]:
        """What forecasts become."""
        ...


class Learner(Protocol):
    """A calibrator that can be fitted to what `Units.training_set` returns."""

    def learn(self, forecasts: Any) -> Fitted:
        """Fit to forecasts that were read."""
        ...


Candidates = Mapping[str, Learner]
# Shares of the work that are done when calibrators are fitted, and when the choice is repeated.
FITTED, NESTED = 0.5, 0.6
# The choice is repeated without each of so many blocks of folds, whatever the number of folds.
MOST_BLOCKS = 5
# To repeat the choice, predictions beyond so many are rounded to the means of so many cells.
MOST_CELLS = 2**10
# Calibrators that are compared learn from so many cells where there are more predictions; they are
# judged on all, and the calibrator that is returned learns from all.
MOST_LEARNED = 2**14


def cross_fitted(units: Units, candidates: Candidates) -> dict[str, Floats]:
    """Held-out predictions of every calibrator."""
    held_out = {name: units.prediction.copy() for name in candidates}
    rough = units.in_cells(MOST_LEARNED)
    for fold in units.folds:
        inside = np.flatnonzero(units.fold == fold)
        training_set = rough.training_set(rough.training_rows(fold))
        for name, candidate in candidates.items():
            if name != LEAVE:
                held_out[name][inside] = candidate.learn(training_set).form_(
                    units.prediction[inside]
                )
        reached(FITTED * (fold + 1) / len(units.folds))
    return held_out


def can_nest(units: Units) -> bool:
    """Whether a choice can be repeated without some of the folds."""
    return len(units.folds) >= (2 if units.forward else 3)


def nested(
    units: Units, candidates: Candidates, score: Score | None, held_out: dict[str, Floats]
) -> Floats:
    """Predictions of the calibrator that other rows chose, fitted to rows of other folds.

    The rows that judge a choice have not made it: the rule is applied again without each block of
    folds, to calibrators that learned neither from the block nor from the rows that compare them.
    """
    recalibrated = units.prediction.copy()
    block = np.asarray(units.fold % MOST_BLOCKS)
    choices = (
        _forward(units, score, held_out) if units.forward else _without(units, candidates, score)
    )
    for number, name in choices:
        inside = (units.fold if units.forward else block) == number
        recalibrated[inside] = held_out[name][inside]
    return recalibrated


def _forward(
    units: Units, score: Score | None, held_out: dict[str, Floats]
) -> Iterator[tuple[int, str]]:
    """Choose by what was judged before: those calibrators have learned from still earlier rows."""
    for fold in units.folds:
        keep = units.training_rows(fold) & units.judged
        if keep.any():
            yield fold, chosen_by(units, score, held_out, keep).name


def chosen_by(
    units: Units,
    score: Score | None,
    held_out: dict[str, Floats],
    keep: Flags,
    confidence: float = 0.95,
) -> Decision:
    """Apply the rule to some of the rows, each recalibrated while held out."""
    some = units.where(keep)
    lost = {name: losses(score, some, forecasts[keep]) for name, forecasts in held_out.items()}

    def luck(name: str) -> Floats:
        assert score is not None  # noqa: S101  # called for probabilities only
        return row_luck(score, some.prediction, held_out[name][keep])

    return decide(some, lost, luck, confidence, logarithmic=_is_log(score))


def _is_log(score: Score | None) -> bool:
    return score is not None and score.name == "log"


def _without(
    units: Units, candidates: Candidates, score: Score | None
) -> Iterator[tuple[int, str]]:
    """Choose without each block: the rest but one block fits calibrators, that one compares."""
    rough = units.in_cells(MOST_CELLS)
    block: Indices = np.asarray(rough.fold % MOST_BLOCKS)
    blocks = range(int(block.max()) + 1)
    size = rough.outcome.size
    lost = {one: {name: np.zeros(size) for name in candidates} for one in blocks}
    luck = {one: {name: np.zeros((size, 2)) for name in candidates} for one in blocks}
    pairs = list(combinations(blocks, 2))
    for number, pair in enumerate(pairs):
        reached(NESTED + (1 - NESTED) * number / len(pairs))
        inside = [np.flatnonzero(block == one) for one in pair]
        training_set = rough.training_set((block != pair[0]) & (block != pair[1]))
        for name, candidate in candidates.items():
            form = None if name == LEAVE else candidate.learn(training_set).form_
            for one, rows in zip(pair, reversed(inside), strict=True):
                some = rough.where(rows)
                recalibrated = some.prediction if form is None else form(some.prediction)
                lost[one][name][rows] = losses(score, some, recalibrated)
                if score is not None:
                    luck[one][name][rows] = row_luck(score, some.prediction, recalibrated)
    for one in blocks:
        keep = block != one
        kept = {name: values[keep] for name, values in lost[one].items()}
        lucky = {name: values[keep] for name, values in luck[one].items()}
        some = rough.where(keep)
        yield one, decide(some, kept, lucky.__getitem__, logarithmic=_is_log(score)).name


def reported_gains(gains: Mapping[str, Gain], scores: Mapping[str, float]) -> dict[str, Gain]:
    """Return the gains that are reported: infinite where scores are."""
    return {
        name: gain if name == LEAVE else gain.with_scores(scores[LEAVE], scores[name])
        for name, gain in gains.items()
    }


@dataclass(frozen=True, slots=True)
class GainsByScore:
    """What all calibrators gain by one score, each as if it alone had been tried."""

    gains: dict[str, Gain]
    """By losses that are cut."""
    reported: dict[str, Gain]

    @classmethod
    def of(
        cls, units: Units, score: Score, forecasts: dict[str, Floats], confidence: float
    ) -> GainsByScore:
        """Judge predictions of the rows by calibrators fitted to other rows."""
        gains = {
            name: gain_between(units, score, forecasts[LEAVE], values, confidence)
            for name, values in forecasts.items()
        }
        scores = {name: mean_loss(units, score, values) for name, values in forecasts.items()}
        return cls(gains, reported_gains(gains, scores))


def after_choice(
    units: Units, score: Score, recalibrated: Floats, alone: Gain, settings: Settings
) -> Gain:
    """Gain of a choice by a score, on rows that were not used for it."""
    saved = losses(score, units, units.prediction) - losses(score, units, recalibrated)
    gain = gain_after_choice(units, saved, alone, settings.confidence)
    gain = with_unseen(gain, units, score, (units.prediction, recalibrated), settings.confidence)
    scores = (mean_loss(units, score, values) for values in (units.prediction, recalibrated))
    return gain.with_scores(*scores)


def gain_between(
    units: Units, score: Score, before: Floats, after: Floats, confidence: float
) -> Gain:
    """Mean of what the rows save by one forecast for another, with an interval."""
    saved = losses(score, units, before) - losses(score, units, after)
    gain = gain_of(units, saved, confidence)
    return with_unseen(gain, units, score, (before, after), confidence)


def with_unseen(
    gain: Gain, units: Units, score: Score, forecasts: tuple[Floats, Floats], confidence: float
) -> Gain:
    """Widen the interval of a gain for outcomes that were never seen, where but one was.

    Rows that are all alike have no spread. But others may happen as often as leaves a chance of
    (1 - confidence) / 2 that none of so many rows shows it, and each saves what the forecasts
    before and after say.
    """
    if np.ptp(units.outcome) > 0:
        return gain
    before, after = (loss_table(score, prediction, cut=True) for prediction in forecasts)
    unseen = np.delete(before - after, int(units.outcome[0]), axis=1)
    rows = float(units.weight.sum()) ** 2 / float(units.square.sum())
    if units.cluster is not None:
        rows = min(rows, float(np.unique(units.cluster).size))
    share = 1 - ((1 - confidence) / 2) ** (1 / rows)
    ends = [
        (1 - share) * gain.value + share * float(np.average(some, weights=units.weight))
        for some in (unseen.min(axis=1), unseen.max(axis=1))
    ]
    return replace(gain, low=min(gain.low, *ends), high=max(gain.high, *ends))


def gain_columns(name: str, gains: Mapping[str, Gain]) -> dict[str, list[float]]:
    """Columns of a table: a gain of each calibrator with the ends of its interval."""
    return {
        name: [gain.value for gain in gains.values()],
        f"{name}_low": [gain.low for gain in gains.values()],
        f"{name}_high": [gain.high for gain in gains.values()],
    }


# The calibrator that changes nothing.
LEAVE = "identity"
# Forecasts are left alone unless a calibrator gains so many standard errors, out of sample. A
# calibrator that learns one number from calibrated forecasts gains that much if the number lies 2.7
# standard errors off, because a calibrator pays for what it learns twice: what it seems to gain,
# and what it loses.
CLEARLY = 1.0
# The same for patches of groups, which are looked for among hundreds.
CLEARLY_PATCHED = 1.645
# Forecasts are wrong if what a calibrator made of them fits rows unseen so many times as well.
UNLIKELY = 20
# A simpler calibrator is taken if it is behind by so many standard errors of the difference: with
# none the noise of the folds picks flexible calibrators, with one real faults are left.
SIMPLER = 0.5
# Of these scores gains are reported whatever score chooses; their names in sentences.
LOSSES = {name: score_title(name) for name in ("log", "brier")}
# Surprises mixed into either spread, as Wilson's interval does: a few rare events are skewed.
HIDDEN = 1.96**2
# Surprises per outcome that calibrators need which learn more than two numbers.
ENOUGH = 25
# What is reported where no calibrator gains more than noise.
NO_MAP = (
    "No calibrator lowers the held-out loss by more than noise: collect more rows, or change "
    "the model."
)


def _short(gain: float) -> str:
    """Write a gain to two digits; what is left by rounding is nothing."""
    return "0" if abs(gain) < 1e-12 else f"{gain:.2g}"


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean loss saved per row, out of sample, with the ends of an interval.

    Where forecasts of exactly 0 or 1 failed the log loss is infinite: so are then what a calibrator
    saves and both ends, or all are NaN if the score stays infinite.
    """

    value: float
    low: float
    high: float
    standard_error: float

    def with_scores(self, before: float, after: float) -> Gain:
        """Return what the mean scores before and after say, if one of them is infinite."""
        if np.isfinite(before) and np.isfinite(after):
            return self
        value = np.nan if before == after else before - after
        return Gain(value, value, value, np.nan)

    def as_dict(self) -> dict[str, float | None]:
        """Return plain data; what is infinite or not defined is None."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}

    def text(self, score: str, confidence: float) -> str:
        """Say by how much the score falls, in half a sentence."""
        loss = score_title(score)
        if np.isposinf(self.value):
            return f"the {loss} is no longer infinite"
        if np.isnan(self.value):
            return f"the {loss} stays infinite"
        if not np.isfinite(self.low):
            return f"so few independent rows cannot tell by how much the {loss} falls"
        ends = f"between {_short(self.low)} and {_short(self.high)}"
        if self.value <= 0:
            return f"the {loss} falls by {ends} per row ({percent_text(confidence)} confidence)"
        sure = f"{ends} with {percent_text(confidence)} confidence"
        return f"the {loss} falls by {self.value:.2g} per row ({sure})"

    def lowers(self, score: str, confidence: float) -> str:
        """Say by how much a calibrator lowers the score, as the end of a sentence about it."""
        sure = f"{percent_text(confidence)} interval {_short(self.low)} to {_short(self.high)}"
        return f"lowers the {score_title(score)} by {self.value:.2g} per row ({sure})"

    def further_text(self, score: str) -> str:
        """Say by how much another score falls, after `text`."""
        loss = score_title(score)
        if not np.isfinite(self.value):
            return f"; the {loss} {'is no longer' if self.value > 0 else 'stays'} infinite"
        if self.high < 0:
            ends = f"{-self.high:.2g} to {-self.low:.2g}"
            return f"; but the {loss} rises by {-self.value:.2g} ({ends})"
        if not np.isfinite(self.low):
            return ""
        ends = f"{_short(self.low)} to {_short(self.high)}"
        if self.value <= 0:
            return f"; the {loss} falls by {ends}"
        return f"; the {loss} falls by {self.value:.2g} ({ends})"

    @property
    def promise(self) -> str:
        """How sure it is that something is saved."""
        if not self.low > 0:  # NaN, where the score stays infinite, proves nothing
            little = self.value > 0
            return "probably helps a little" if little else "may help, and only more rows can tell"
        return "helps"


@dataclass(frozen=True, slots=True)
class Decision:
    """The calibrator to take, and what every calibrator gains."""

    name: str
    gains: dict[str, Gain]
    behind: dict[str, float]
    """How far each calibrator is behind the best, in standard errors of the difference."""


def decide(
    units: Units,
    lost: dict[str, Floats],
    luck: Callable[[str], Floats],
    confidence: float = 0.95,
    *,
    logarithmic: bool = False,
) -> Decision:
    """Choose the first calibrator that is about as good as the best, if its gain is clear.

    Takes what each row loses by each calibrator that has not seen it, and mean and variance of what
    a row saves by a calibrator if the forecasts were right as they are (`row_luck`).
    """
    gains = {name: gain_of(units, lost[LEAVE] - some, confidence) for name, some in lost.items()}
    best = max(gains, key=lambda name: gains[name].value)
    behind = {}
    for name, some in lost.items():
        difference = gain_of(units, some - lost[best], confidence)
        error = difference.standard_error
        behind[name] = difference.value / error if error > 0 else 0.0
    simple = (name for name in lost if name != LEAVE and behind[name] <= SIMPLER)
    chosen = next(simple, LEAVE)
    if chosen == LEAVE:
        return Decision(chosen, gains, behind)
    if units.kind.summed:
        clear = is_clear(gains[chosen], units, luck(chosen), logarithmic=logarithmic)
    else:  # nothing is known of what right forecasts of numbers would save
        clear = gains[chosen].value > CLEARLY * gains[chosen].standard_error
    chosen = chosen if clear else LEAVE
    return Decision(chosen, gains, behind)


def is_clear(
    gain: Gain, units: Units, luck: Floats, least: float = CLEARLY, *, logarithmic: bool = False
) -> bool:
    """Whether a gain is beyond noise: of the sample, and of one in which forecasts were right.

    If they were, a calibrator would lose on average what it changes, so that what is held against
    the spread of luck is the gain beyond that mean. Where a calibrator changes little the mean is
    half of the variance, and both ask for the same number of standard errors of what the calibrator
    learned. Where it changes much, gains in log loss add up to a logarithm of likelihoods, and
    right forecasts are beaten by `UNLIKELY` with a chance of at most one in so many. Rows of a
    cluster share their luck as far as they share their surprises. Each spread is widened for the
    surprises behind it, those seen or those expected, and for few clusters.
    """
    observed, expected = units.surprises
    total = float(units.weight.sum())
    mean, variance = luck.T
    lucky = float(np.sqrt(units.design_effect * (units.square @ variance))) / total
    if expected > 0:
        lucky *= float(np.sqrt(1 + HIDDEN / expected))
    noise = gain.standard_error * float(np.sqrt(1 + HIDDEN / max(observed, 1.0)))
    wider = units.cases(units.prediction).widening(0.05)
    beyond = gain.value - float(units.weight @ mean) / total
    # A number that lies z standard errors off gains z^2 / 2 - 1 such rows' worth out of sample.
    off = least + float(np.sqrt(least**2 + 2))
    wrong = beyond > (off - 1 / off) * wider * lucky
    if logarithmic and not wrong:
        wrong = gain.value * units.independent_rows > wider**2 * np.log(UNLIKELY)
    return bool(wrong and gain.value > least * wider * noise)


def gain_of(units: Units, saved: Floats, confidence: float) -> Gain:
    """Mean of what is saved, with an interval that is robust to clusters."""
    mean, error = units.mean_and_error(saved)
    half_width = _half_width(units, error, confidence) if error < np.inf else np.inf
    return Gain(mean, mean - half_width, mean + half_width, error)


def gain_after_choice(units: Units, saved: Floats, alone: Gain, confidence: float) -> Gain:
    """Mean of what rows save that had no say in the choice, with an interval.

    Parameters
    ----------
    units : Units
        The rows.
    saved : array
        What each saves by the calibrator that other rows chose: nothing where these left it alone.
    alone : Gain
        What the calibrator taken gains as if it alone had been tried: a calibrator was taken
        because this was clear, so that it is too large on average.
    confidence : float
        Confidence of the interval.

    Notes
    -----
    The interval is for the gain of the calibrator that is returned, which all rows chose and
    taught. So its upper end reaches from the larger of both gains. Both ends reach up to the root
    of two farther than the standard error, as far as the choice was close: the sample that made a
    calibrator look good has also taught it (Bates, Hastie, Tibshirani 2023, Cross-validation: what
    does it estimate, JASA 119). Simulated in tests/promises/.
    """
    found = gain_of(units, saved, confidence)
    error = max(found.standard_error, alone.standard_error)
    half_width = _half_width(units, error, confidence)
    close = min(1.0, 2 * alone.standard_error / alone.value) if alone.value > 0 else 1.0
    half_width *= float(np.sqrt(1 + close**2))
    high = max(found.value, alone.value) + half_width
    return Gain(found.value, found.value - half_width, high, error)


def surprises_needed(units: Units) -> float:
    """Surprises that calibrators need which learn more than two numbers."""
    return ENOUGH * (2 if units.classes is None else len(units.classes))


def _half_width(units: Units, error: float, confidence: float) -> float:
    """Half the width of the interval of a mean with this standard error."""
    from scipy.special import ndtri

    if not error > 0:
        return 0.0
    wider = units.widening(1 - confidence)
    return float(ndtri((1 + confidence) / 2)) * wider * error


def row_luck(score: Score, first: Floats, recalibrated: Floats) -> Floats:
    """Mean and variance (two columns) of what each row saves if the first forecasts were right."""
    saved = loss_table(score, first, cut=True) - loss_table(score, recalibrated, cut=True)
    chance = first if first.ndim == 2 else np.column_stack([1 - first, first])
    mean = (chance * saved).sum(axis=1, keepdims=True)
    variance = (chance * (saved - mean) ** 2).sum(axis=1)
    return np.column_stack([mean[:, 0], variance])
