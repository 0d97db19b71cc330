"""Observed over expected events: the calibration that counts when events are rare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.arrays import Floats, blocks
from calibrant.inference.cases import Cases
from calibrant.inference.evidence import Evidence
from calibrant.options import ROUNDING
from calibrant.words import percent_text, ratio_texts, thousands_text

# A binomial number whose variance is so close to its mean is a Poisson number.
NEARLY_POISSON = 1e-9


@dataclass(frozen=True, slots=True)
class Ratio:
    """Observed over expected outcomes, with a confidence interval."""

    value: float
    low: float
    high: float
    confidence: float
    observed: float
    expected: float
    """Events, in units of the mean weight where rows have weights."""
    outcome: int = 1
    """Which outcome counts as an event: the rarer one in a verdict."""
    weighted: bool = False
    """Whether rows weigh differently, so that these are no numbers of events."""

    @property
    def sentence(self) -> str:
        """Say the ratio in plain words."""
        events = "events" if self.outcome else "outcomes 0"
        value, low, high = self.texts
        if self.weighted:
            return (
                f"Weighted, observed over expected {events} {value} (between {low} and {high} "
                f"with {percent_text(self.confidence)} confidence)."
            )
        return (
            f"Observed over expected {events} {value} (between {low} and {high} with "
            f"{percent_text(self.confidence)} confidence): {events_text(self.observed)} observed, "
            f"{events_text(self.expected)} expected."
        )

    @property
    def text(self) -> str:
        """Write the ratio with its interval."""
        value, low, high = self.texts
        return f"{value} (between {low} and {high})"

    @property
    def texts(self) -> tuple[str, str, str]:
        """Ratio and limits, with the digits that the width of the interval warrants."""
        return ratio_texts(self.value, self.low, self.high)


def find_ratio(
    evidence: Evidence, confidence: float, *, swapped: bool = False, cases: Cases | None = None
) -> Ratio:
    """Ratio of observed to expected events (of outcome 0, if swapped); cases may be known already.

    Rows of equal weight: Clopper and Pearson's limits for the binomial number with the mean and
    the variance of the events, a sum of coins of different bias. Weights and clusters: the gamma
    limits of Fay and Feuer (1997) for a weighted count, with the (cluster-)robust variance.
    """
    joint = evidence.given
    observed = joint.total - joint.positives.sum() if swapped else joint.positives.sum()
    forecast = 1 - joint.mean_prediction if swapped else joint.mean_prediction
    expected = forecast * joint.total
    each = joint.total / joint.row_count
    weighted = not joint.equally_weighted
    counted = float(observed / each), float(expected / each), int(not swapped), weighted
    if expected <= 0:
        return Ratio(np.nan if observed == 0 else np.inf, 0.0, np.inf, confidence, *counted)
    with np.errstate(over="ignore"):  # one event among forecasts of next to nothing
        value = float(observed / expected)
    if value == np.inf:
        return Ratio(value, 0.0, np.inf, confidence, *counted)
    level = (1 - confidence) / 2
    cases = _of_events(evidence.cases() if cases is None else cases, swapped=swapped)
    if evidence.clusters is None and not weighted:
        limits = _binomial(cases, float(observed), level)
    elif evidence.lone:
        limits = 0.0, np.inf
    else:
        limits = _robust(evidence, cases, value, level)
    with np.errstate(over="ignore"):
        low, high = np.divide(limits, expected)
    return Ratio(value, float(low), float(high), confidence, *counted)


def events_text(events: float) -> str:
    """Write a number of events; few of them with digits after the point."""
    if events < 100:
        return f"{events:.3g}"
    return thousands_text(events)


def _of_events(cases: Cases, *, swapped: bool) -> Cases:
    if not swapped:
        return cases
    return replace(cases, outcome=1 - cases.outcome, prediction=1 - cases.prediction)


def _binomial(cases: Cases, observed: float, level: float) -> tuple[float, float]:
    """Limits of the number of events, in units of weight, where rows weigh the same.

    A binomial number of N coins with mean m has variance m - m^2 / N. N follows from the spread
    of the forecasts, or of the events around them if that is larger: beyond m, no N does.
    """
    from scipy.special import betaincinv

    each = float(cases.square.sum() / cases.weight.sum())
    count, rows = observed / each, list(blocks(cases.weight.size))

    def total(of: Callable[[slice], Floats]) -> float:
        return sum(float((cases.weight[some] * of(some)).sum()) for some in rows) / each

    expected = total(lambda some: cases.prediction[some])
    shared, spread = total(lambda some: (cases.prediction[some] / expected) ** 2), 0.0
    if count > 0:
        spread = total(
            lambda some: (cases.outcome[some] - count / expected * cases.prediction[some]) ** 2
        )
        shared = min(shared, (1 - spread / count) / count)
    if shared * (count + 1) < NEARLY_POISSON:
        low, high = gamma_limits(count, max(count, spread), 1.0, level)
        return each * low, each * high
    coins = max(1 / shared, count)
    low = 0.0 if count <= 0 else betaincinv(count, coins - count + 1, level)
    high = 1.0 if coins <= count else betaincinv(count + 1, coins - count, 1 - level)
    return float(each * coins * low), float(each * coins * high)


def _robust(evidence: Evidence, cases: Cases, ratio: float, level: float) -> tuple[float, float]:
    """Limits of the weight of the events, where rows weigh differently or depend on each other.

    The variance is the larger of what the rows show and what coins of the forecast bias, times
    the observed ratio, must have: few events hide their own spread.
    """
    total = evidence.given.total
    design_effect = evidence.unit * total**2 / float(cases.square.sum())
    chance = np.minimum(ratio * cases.prediction, 1.0)
    coins = float(cases.square @ (chance * (1 - chance))) * design_effect
    shown = float(cases.covariance((cases.outcome - ratio * cases.prediction)[:, np.newaxis])[0, 0])
    variance = max(coins, shown) * evidence.widening(2 * level) ** 2
    return gamma_limits(float(cases.total(cases.outcome)), variance, evidence.unit * total, level)


def gamma_limits(
    observed: float, variance: float, size: float, level: float
) -> tuple[float, float]:
    """Limits of a sum of events with some variance, of which one more would add `size`.

    For a plain count these are Garwood's limits of a Poisson number.
    """
    from scipy.special import gammaincinv

    low = 0.0
    if variance <= ROUNDING * size**2:  # certain forecasts that came true
        variance = observed * size
    if observed > 0:
        low = float(gammaincinv(observed**2 / variance, level)) * variance / observed
    more, spread = observed + size, variance + size**2
    return low, float(gammaincinv(more**2 / spread, 1 - level)) * spread / more
