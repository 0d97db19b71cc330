"""Observed over expected events: the calibration that counts when events are rare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant._base.arrays import Floats, blocks
from calibrant._base.options import ROUNDING
from calibrant._base.words import agreeing, count_text, percent_text, ratio_texts, thousands_text
from calibrant.data.rows import Rows
from calibrant.inference.cases import Cases, widening
from calibrant.inference.evidence import Evidence
from calibrant.inference.means import half_width_of_mean

# Beside a base rate this close to 0 or 1 the ratio of observed to expected events is shown.
RARE = 0.1
# Share by which observed means may differ from expected ones when nobody says.
OE_TOLERANCE = 0.1
# With fewer outcomes that are not zero, or as uneven as so few, intervals are approximate.
FEWEST_OUTCOMES = 30
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
    the variance of the events, a sum of Bernoulli numbers with different means. Weights and
    clusters: the gamma limits of Fay and Feuer (1997) for a weighted count, with the
    (cluster-)robust variance.
    """
    joint = evidence.full_joint
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


def ratio_of_all(evidence: Evidence, confidence: float) -> Ratio | None:
    """Observed over expected where a verdict shows it: of rare events, and of means.

    Of the rarer outcome; None where the kind has no sums to compare.
    """
    rows = evidence.rows
    if rows is not None and not rows.kind.summed:
        return find_mean_ratio(evidence, confidence) if rows.kind.has_ratio(rows) else None
    rate = evidence.full_joint.base_rate
    if min(rate, 1 - rate) >= RARE:
        return None
    return find_ratio(evidence, confidence, swapped=rate > 0.5)


def ratio_of_group(evidence: Evidence, confidence: float) -> Ratio | None:
    """Observed over expected of a group; None where the kind has no sums to compare."""
    rows = evidence.rows
    if rows is None or rows.kind.summed:
        return find_ratio(evidence, confidence)
    return find_mean_ratio(evidence, confidence) if rows.kind.has_ratio(rows) else None


def find_mean_ratio(evidence: Evidence, confidence: float) -> Ratio:
    """Observed over expected (A/E) of means of outcomes that are not negative.

    The delta method for the logarithm, by row or by cluster: its interval is skewed as sums of
    claims are. Outcomes of unequal size count as many as equal ones with the same sum of squared
    shares. The upper limit leaves room for one more outcome as far above its forecast as the
    largest (the gamma limit of Fay and Feuer 1997): a large one is often not among those seen.
    """
    from scipy.special import ndtri

    kept = evidence.rows
    assert kept is not None  # noqa: S101  # means are known by rows
    expected, observed = (kept.weights * column for column in (kept.prediction, kept.outcome))
    sums = float(observed.sum()), float(expected.sum())
    value = sums[0] / sums[1]
    if value == 0:
        return Ratio(0.0, 0.0, np.inf, confidence, *sums)
    share = kept.weights / kept.weights.sum()
    influence = (kept.outcome - value * kept.prediction) / float(share @ kept.outcome)
    code = None if evidence.clusters is None else evidence.clusters.code
    by_unit, beyond = (
        some if code is None else np.asarray(np.bincount(code, some), np.float64)
        for some in (observed, observed - value * expected)
    )
    half_width = half_width_of_mean(share, influence, code, confidence)
    half_width *= widening(by_unit / sums[0], 1 - confidence)
    factor = float(np.exp(min(half_width, 700.0)))
    low, high = value / factor, value * factor
    if 0 < half_width < np.inf:
        level = (1 - confidence) / 2
        variance = (sums[0] * half_width / float(ndtri(1 - level))) ** 2
        more = gamma_limits(sums[0], variance, float(beyond.max()), level)[1]
        high = max(high, more / sums[1])
    return Ratio(value, low, high, confidence, *sums)


def cautions_of_ratio(rows: Rows) -> tuple[str, ...]:
    """Say of few or very uneven outcomes that the interval of A/E is approximate."""
    outcome = rows.weights * rows.outcome
    count = int(np.count_nonzero(outcome))
    alike = float(outcome.sum() ** 2 / (outcome @ outcome)) if count else 0.0
    if alike >= FEWEST_OUTCOMES:
        return ()
    if count < FEWEST_OUTCOMES:
        caution = (
            f"{count_text(count, 'outcome')} {agreeing(count, 'is', 'are')} not zero: the interval "
            "of observed over expected is approximate"
        )
    else:
        caution = (
            f"the outcomes are so uneven that their sum is as uncertain as that of "
            f"{count_text(max(round(alike), 1), 'equal outcome')}: all intervals are approximate, "
            "and too narrow if larger outcomes are possible"
        )
    return (caution,)


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

    A binomial number of N trials with mean m has variance m - m^2 / N. N follows from the spread
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
    trials = max(1 / shared, count)
    low = 0.0 if count <= 0 else betaincinv(count, trials - count + 1, level)
    high = 1.0 if trials <= count else betaincinv(count + 1, trials - count, 1 - level)
    return float(each * trials * low), float(each * trials * high)


def _robust(evidence: Evidence, cases: Cases, ratio: float, level: float) -> tuple[float, float]:
    """Limits of the weight of the events, where rows weigh differently or depend on each other.

    The variance is the larger of what the rows show and what Bernoulli outcomes of the forecasts,
    times the observed ratio, must have: few events hide their own spread.
    """
    total = evidence.full_joint.total
    design_effect = evidence.unit * total**2 / float(cases.square.sum())
    chance = np.minimum(ratio * cases.prediction, 1.0)
    binomial = float(cases.square @ (chance * (1 - chance))) * design_effect
    shown = float(cases.covariance((cases.outcome - ratio * cases.prediction)[:, np.newaxis])[0, 0])
    variance = max(binomial, shown) * evidence.widening(2 * level) ** 2
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
