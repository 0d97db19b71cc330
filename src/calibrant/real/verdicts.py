"""Verdicts on forecasts of real outcomes: the same intervals and tests, in other units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant.arrays import Floats
from calibrant.inference import (
    CLUSTERED_SHAPE,
    GAP_TOLERANCE,
    UNDECIDED,
    CalibrationTest,
    ConfidenceInterval,
    Ranges,
    Ratio,
    Settings,
    Statistic,
    Verdict,
    error_and_gap,
    gamma_limits,
    rows_needed_for,
    run_test,
    widening,
)
from calibrant.joint import Joint
from calibrant.options import check_positive, number_or_percent
from calibrant.real.bets import default_tolerance
from calibrant.real.evidence import RealEvidence
from calibrant.real.forecasts import RealForecasts, refuse_ties
from calibrant.real.means import mean_reach
from calibrant.real.properties import Coverage, Expectile, Mean, Quantile
from calibrant.real.regions import region_of
from calibrant.words import agreeing, count_text

HEADLINE = Statistic.of("smooth_calibration_error")
# Share by which observed may differ from expected when nobody says.
OE_TOLERANCE = 0.1
# With fewer outcomes that are not zero, or as uneven as so few, intervals are approximate.
FEWEST_OUTCOMES = 30
# Squares beside less than this share of the largest are rounding errors.
NO_VARIATION = 1e-10


def allowed(forecasts: RealForecasts, tolerance: float | str | None) -> float:
    """Return the error that is small enough, in the units of the outcome or of probability."""
    if tolerance is None:
        return default_tolerance(forecasts.kind, forecasts.span)
    number, percent = number_or_percent("tolerance", tolerance)
    check_positive("tolerance", number)
    return number * forecasts.span if percent else number


def judge(
    forecasts: RealForecasts,
    evidence: RealEvidence,
    settings: Settings,
    tolerance: float,
    gap_tolerance: float | None = None,
    oe_tolerance: float = OE_TOLERANCE,
) -> Verdict:
    """Judge forecasts against a tolerance in the units of the outcome, or of probability."""
    refuse_ties(forecasts)
    unit = forecasts.scale.unit
    gap_allowed = GAP_TOLERANCE * tolerance if gap_tolerance is None else gap_tolerance
    inner = replace(settings, tolerance=tolerance / unit, gap_tolerance=gap_allowed / unit)
    interval, gap = error_and_gap(evidence, HEADLINE, inner, tolerance / unit)
    tests = [HEADLINE, Statistic.charged("slope_and_intercept", _Line(evidence)), CLUSTERED_SHAPE]
    test = run_test(evidence, tests, settings.draws, settings.rng)
    rows = evidence.given.row_count
    ratio = find_mean_ratio(forecasts, evidence, settings.confidence)
    found = Verdict(
        _with_caution(interval, forecasts) if ratio else interval,
        tolerance / unit,
        gap,
        test,
        rows,
        None,
        ratio,
        None if ratio is None else oe_tolerance,
    )
    if found.state == UNDECIDED:
        found = replace(found, rows_needed=rows_needed_for(found, evidence, HEADLINE, inner))
    return _verdict_in_units(found, forecasts, evidence)


def find_mean_ratio(
    forecasts: RealForecasts, evidence: RealEvidence, confidence: float
) -> Ratio | None:
    """Observed over expected (A/E) of means of outcomes that are not negative; None for others.

    The delta method for the logarithm, by row or by cluster: its interval is skewed as sums of
    claims are. Outcomes of unequal size count as many as equal ones with the same sum of squared
    shares. The upper limit leaves room for one more outcome as far above its forecast as the
    largest (the gamma limit of Fay and Feuer 1997): a large one is often not among those seen.
    """
    kept = forecasts.weighing
    expected, observed = (kept.weights * column for column in (kept.forecast, kept.outcome))
    below = min(float(kept.forecast.min()), float(kept.outcome.min())) < 0
    if not isinstance(kept.kind, Mean) or below or not expected.any():
        return None
    from scipy.special import ndtri

    sums = float(observed.sum()), float(expected.sum())
    value = sums[0] / sums[1]
    if value == 0:
        return Ratio(0.0, 0.0, np.inf, confidence, *sums)
    share = kept.weights / kept.weights.sum()
    influence = (kept.outcome - value * kept.forecast) / float(share @ kept.outcome)
    code = None if evidence.clusters is None else evidence.clusters.code
    seen, beyond = (
        some if code is None else np.asarray(np.bincount(code, some), np.float64)
        for some in (observed, observed - value * expected)
    )
    reach = mean_reach(share, influence, code, confidence)
    reach *= widening(seen / sums[0], 1 - confidence)
    factor = float(np.exp(min(reach, 700.0)))
    low, high = value / factor, value * factor
    if 0 < reach < np.inf:
        level = (1 - confidence) / 2
        variance = (sums[0] * reach / float(ndtri(1 - level))) ** 2
        more = gamma_limits(sums[0], variance, float(beyond.max()), level)[1]
        high = max(high, more / sums[1])
    return Ratio(value, low, high, confidence, *sums)


def _with_caution(interval: ConfidenceInterval, forecasts: RealForecasts) -> ConfidenceInterval:
    """Say of few or very uneven outcomes that the interval of A/E is approximate."""
    outcome = forecasts.weighing.weights * forecasts.weighing.outcome
    seen = int(np.count_nonzero(outcome))
    alike = float(outcome.sum() ** 2 / (outcome @ outcome)) if seen else 0.0
    if alike >= FEWEST_OUTCOMES:
        return interval
    if seen < FEWEST_OUTCOMES:
        told = (
            f"{count_text(seen, 'outcome')} {agreeing(seen, 'is', 'are')} not zero: the interval "
            "of observed over expected is approximate"
        )
    else:
        told = (
            f"the outcomes are so uneven that their sum is as uncertain as that of "
            f"{count_text(max(round(alike), 1), 'equal outcome')}: all intervals are approximate, "
            "and too narrow if larger outcomes are possible"
        )
    return replace(interval, cautions=(*interval.cautions, told))


class _Line:
    """Squared intercept and slope of the residuals over the positions, beside their variance."""

    def __init__(self, evidence: RealEvidence) -> None:
        self.variance = evidence.spread_by_level()
        position = evidence.joint.prediction
        self.design = np.stack([np.ones_like(position), position])
        if self.variance.any():
            self.design[1] -= np.average(position, weights=self.variance)
        self.spread = (self.design**2) @ self.variance

    def __call__(self, _: Joint, charges: Floats) -> Floats:
        seen = self.spread > NO_VARIATION * self.spread[0]
        scores = charges @ self.design[seen].T
        return np.asarray((scores**2 / self.spread[seen]).sum(axis=1))


def _verdict_in_units(found: Verdict, forecasts: RealForecasts, evidence: RealEvidence) -> Verdict:
    """Give every number of a verdict the units of the outcome."""
    unit, gap = forecasts.scale.unit, found.gap
    assert gap is not None  # noqa: S101  # of the smooth error there is one
    ranges = Ranges.of(evidence)
    charge = np.add.reduceat(
        (evidence.joint.positives - evidence.joint.weight * evidence.joint.prediction)
        / evidence.joint.total,
        ranges.first,
    )
    variance = evidence.squared_charges(ranges.first)
    start, stop = ranges.most_surprising(evidence.joint, charge, variance)
    low, high = evidence.joint.low[start], evidence.joint.high[stop - 1]
    worst = region_of(forecasts, float(low), float(high))
    return replace(
        found,
        interval=in_units(found.interval, unit),
        tolerance=found.tolerance * unit,
        gap=replace(
            gap,
            interval=in_units(gap.interval, unit),
            tolerance=gap.tolerance * unit,
            worst=worst,
            between=between(forecasts),
        ),
        test=_test(found.test, unit),
    )


def between(forecasts: RealForecasts) -> str:
    """Say what the typical gap is between."""
    kind = forecasts.kind
    if isinstance(kind, Quantile | Coverage):
        return "the share of outcomes that was promised and the share observed"
    return f"forecast and observed {'expectile' if isinstance(kind, Expectile) else 'mean'}"


def in_units(interval: ConfidenceInterval, unit: float) -> ConfidenceInterval:
    """Give an interval the units of the outcome."""
    return replace(
        interval,
        value=interval.value * unit,
        low=interval.low * unit,
        high=interval.high * unit,
        half_width=interval.half_width * unit,
    )


def _test(test: CalibrationTest, unit: float) -> CalibrationTest:
    """OutcomeScale the headline; the other parts have no units of the outcome."""
    headline, *others = test.parts
    scaled = replace(headline, statistic=headline.statistic * unit, null=headline.null * unit)
    return replace(test, parts=(scaled, *others))
