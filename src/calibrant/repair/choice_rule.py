"""The rule by which a map is chosen: the simplest of the best, if it gains more than noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats
from calibrant.decisions import Score, score_title
from calibrant.repair.folds import Units
from calibrant.repair.row_losses import finite, loss_table
from calibrant.words import percent_text

# The map that changes nothing.
LEAVE = "Identity"
# Forecasts are left alone unless a map gains so many standard errors, out of sample. A map that
# learns one number from calibrated forecasts gains that much if the number lies 2.7 standard errors
# off, because a map pays for what it learns twice: what it seems to gain, and what it loses.
CLEARLY = 1.0
# The same for patches of groups, which are looked for among hundreds.
CLEARLY_PATCHED = 1.645
# Forecasts are wrong if what a map made of them fits rows unseen so many times as well.
UNLIKELY = 20
# A simpler map is taken if it is behind by so many standard errors of the difference: with none the
# noise of the folds picks flexible maps, with one real faults are left.
SIMPLER = 0.5
# Of these scores gains are told whatever score chooses; their names in sentences.
LOSSES = {name: score_title(name) for name in ("log", "brier")}
# Surprises mixed into either spread, as Wilson's interval does: a few rare events are skewed.
HIDDEN = 1.96**2
# Surprises per outcome that maps need which learn more than two numbers.
ENOUGH = 25
# What is said where no map gains more than noise.
NO_MAP = (
    "No calibration map lowers the held-out loss by more than noise: collect more rows, or change "
    "the model."
)


def _short(gain: float) -> str:
    """Write a gain to two digits; what is left by rounding is nothing."""
    return "0" if abs(gain) < 1e-12 else f"{gain:.2g}"


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean loss saved per row, out of sample, with the ends of an interval.

    Where forecasts of exactly 0 or 1 failed the log loss is infinite: so are then what a map
    saves and both ends, or all are NaN if the score stays infinite.
    """

    value: float
    low: float
    high: float
    standard_error: float

    def told(self, before: float, after: float) -> Gain:
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
        """Say by how much a map lowers the score, as the end of a sentence about that map."""
        sure = f"{percent_text(confidence)} interval {_short(self.low)} to {_short(self.high)}"
        return f"lowers the {score_title(score)} by {self.value:.2g} per row ({sure})"

    def beside(self, score: str) -> str:
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
    """The map to take, and what every map gains."""

    name: str
    gains: dict[str, Gain]
    behind: dict[str, float]
    """How far each map is behind the best, in standard errors of the difference."""


def decide(
    units: Units,
    lost: dict[str, Floats],
    luck: Callable[[str], Floats],
    confidence: float = 0.95,
    *,
    logarithmic: bool = False,
) -> Decision:
    """Choose the first map that is about as good as the best, if its gain is clear.

    Takes what each row loses by each map that has not seen it, and mean and variance of what a row
    saves by a map if the forecasts were right as they are (`row_luck`).
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

    If they were, a map would lose on average what it changes, so that what is held against the
    spread of luck is the gain beyond that mean. Where a map changes little the mean is half of the
    variance, and both ask for the same number of standard errors of what the map learned. Where it
    changes much, gains in log loss add up to a logarithm of likelihoods, and right forecasts are
    beaten by `UNLIKELY` with a chance of at most one in so many. Rows of a cluster share their luck
    as far as they share their surprises. Each spread is widened for the surprises behind it, those
    seen or those expected, and for few clusters.
    """
    seen, expected = units.surprises
    total = float(units.weight.sum())
    mean, variance = luck.T
    lucky = float(np.sqrt(units.design_effect * (units.square @ variance))) / total
    if expected > 0:
        lucky *= float(np.sqrt(1 + HIDDEN / expected))
    noise = gain.standard_error * float(np.sqrt(1 + HIDDEN / max(seen, 1.0)))
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
    reach = _reach(units, error, confidence) if error < np.inf else np.inf
    return Gain(mean, mean - reach, mean + reach, error)


def gain_after_choice(units: Units, saved: Floats, alone: Gain, confidence: float) -> Gain:
    """Mean of what rows save that had no say in the choice, with an interval for the map taken.

    Parameters
    ----------
    units : Units
        The rows.
    saved : array
        What each saves by the map that other rows chose: nothing where these left it alone.
    alone : Gain
        What the map taken gains as if it alone had been tried: a map was taken because this was
        clear, so that it is too large on average.
    confidence : float
        Confidence of the interval.

    Notes
    -----
    The interval is for the gain of the map that is returned, which all rows chose and taught. So
    its upper end reaches from the larger of both gains. Both ends reach up to the root of two
    farther than the standard error, as far as the choice was close: the sample that made a map look
    good has also taught it (Bates, Hastie, Tibshirani 2023, Cross-validation: what does it
    estimate, JASA 119). Simulated in tests/promises/.
    """
    found = gain_of(units, saved, confidence)
    error = max(found.standard_error, alone.standard_error)
    reach = _reach(units, error, confidence)
    close = min(1.0, 2 * alone.standard_error / alone.value) if alone.value > 0 else 1.0
    reach *= float(np.sqrt(1 + close**2))
    high = max(found.value, alone.value) + reach
    return Gain(found.value, found.value - reach, high, error)


def surprises_needed(units: Units) -> float:
    """Surprises that maps need which learn more than two numbers."""
    return ENOUGH * (2 if units.classes is None else len(units.classes))


def _reach(units: Units, error: float, confidence: float) -> float:
    """How far a mean with this standard error may lie off."""
    from scipy.special import ndtri

    if not error > 0:
        return 0.0
    wider = units.widening(1 - confidence)
    return float(ndtri((1 + confidence) / 2)) * wider * error


def row_luck(score: Score, first: Floats, repaired: Floats) -> Floats:
    """Mean and variance (two columns) of what each row saves if the first forecasts were right."""
    saved = loss_table(score, first, cut=True) - loss_table(score, repaired, cut=True)
    chance = first if first.ndim == 2 else np.column_stack([1 - first, first])
    mean = (chance * saved).sum(axis=1, keepdims=True)
    variance = (chance * (saved - mean) ** 2).sum(axis=1)
    return np.column_stack([mean[:, 0], variance])
