"""Calibrated, miscalibrated, or more rows needed: one answer with a plain sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant._base.notebook import brief, card
from calibrant._base.stages import reached
from calibrant._base.words import (
    capital,
    count_text,
    percent_text,
    rounded_down,
    rounded_up,
    thousands_text,
)
from calibrant.inference.error_units import ErrorUnit
from calibrant.inference.evidence import Evidence
from calibrant.inference.gap import Ranges
from calibrant.inference.interval import ConfidenceInterval, find_interval
from calibrant.inference.limits import LimitLevels, gap_limits, smooth_limits
from calibrant.inference.monte_carlo import CalibrationTest, run_test, with_slope_and_shape
from calibrant.inference.ratio import (
    OE_TOLERANCE,
    Ratio,
    cautions_of_ratio,
    ratio_of_all,
)
from calibrant.inference.rows_to_settle import MOST_ROWS, rows_to_settle, rows_to_settle_gap
from calibrant.inference.settings import Settings, rarer_share
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.inputs import KindRequest
from calibrant.kinds import BINARY, Kind
from calibrant.measures.regions import Region
from calibrant.measures.smooth import smooth_calibration_error

CALIBRATED, MISCALIBRATED, UNDECIDED = "calibrated", "miscalibrated", "undecided"
# Rows needed are told from at least so many rows, and if their range is no wider than a factor.
FEWEST_TO_PLAN, WIDEST_PLAN, DRAWS_FOR_A_PLAN = 50, 10, 499
# Below this share of the rarer outcome, observed over expected is judged too.
FEW = 0.05
# A p-value up to this is called detectable.
DETECTABLE = 0.05
# What an open verdict says: forecasts are detectably off or not.
OFF, NOTHING_FOUND = "Off, by an amount that may or may not matter", "No miscalibration found"


@dataclass(frozen=True, slots=True)
class Gap:
    """The typical gap between forecast and observed rate, beside what is small enough."""

    interval: ConfidenceInterval
    """Where the population's gap lies."""
    tolerance: float
    """Largest acceptable gap."""
    ranges: int
    """Ranges of forecasts that it is the mean over."""
    worst: Region
    """The range that is most clearly off."""
    rows_needed: tuple[int, int] | None = None
    """As that of the verdict, for the gap alone."""
    between: str = "forecast and observed rate"
    """What the gap is between."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def state(self) -> str:
        """What the gap tells: "calibrated", "miscalibrated" or "undecided"."""
        return state_of(self.interval.low, self.interval.high, self.tolerance)

    @property
    def name(self) -> str:
        """What the gap is called."""
        return f"the typical gap between {self.between}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether forecasts are calibrated within a tolerance, as far as the sample can tell."""

    interval: ConfidenceInterval
    """The error with its limits. Of the smooth error each limit has a level of its own: the upper
    one holds with the confidence of the interval, the lower one with more."""
    tolerance: float
    """Largest acceptable error."""
    gap: Gap | None
    """What the smooth error does not see, slope and waves; None for another measure."""
    test: CalibrationTest
    """The forecasts beside what perfect forecasts would have scored."""
    rows: int
    rows_needed: tuple[int, int] | None
    """New rows that would settle an undecided case if they are judged without these, as likely as
    not and very probably. Judging these rows again with more of them added would raise the chance
    of a wrong verdict beyond that of one look. None if
    it is decided, or if 10**10 rows are not known to settle it: the error is too close to the
    tolerance, or rows like these say too little. Too few where error or gap are within a tenth of
    their tolerance and the rows cannot know it."""
    ratio: Ratio | None
    """Observed over expected events of the rarer outcome, when its share is below 0.1; of means of
    outcomes that are not negative, observed over forecast."""
    ratio_tolerance: float | None = None
    """Share by which observed may differ from expected: 0.1 allows 1/1.1 to 1.1. None where the
    ratio is not judged."""
    kind: Kind = BINARY
    """What the forecasts are forecasts of."""

    def __repr__(self) -> str:
        low, high = self.interval.low, self.interval.high
        return (
            f"Verdict({self.state}: {self.measure} {self.value:.4g} ({low:.4g} to {high:.4g}), "
            f"tolerance {self.tolerance:.4g}, {self.test.chance}, "
            f"{count_text(self.rows, 'row')})"
        )

    def _repr_html_(self) -> str:
        return card(self.sentence, "NullDisplay", self, height=2.2)

    @property
    def state(self) -> str:
        """Calibrated if error, gap and ratio are, miscalibrated if one of them is, or undecided."""
        return worse_state(
            self.error_state, self.gap.state if self.gap else CALIBRATED, self.ratio_state
        )

    @property
    def ratio_state(self) -> str:
        """What observed over expected tells; "calibrated" where it is not judged.

        Of events it can only accuse: the smooth error is at least the bias, so that its upper limit
        bounds the ratio within its tolerance too.
        """
        return _ratio_state(self.ratio, self.ratio_tolerance, self.kind)

    @property
    def error_state(self) -> str:
        """What the error tells: "calibrated", "miscalibrated" or "undecided"."""
        return state_of(self.interval.low, self.interval.high, self.tolerance)

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self.interval.measure

    @property
    def value(self) -> float:
        """The error of the sample."""
        return self.interval.value

    @property
    def noise_floor(self) -> float:
        """Mean error of perfect forecasts on these rows."""
        return self.test.headline.noise_floor

    @property
    def pvalue(self) -> float:
        """Chance that perfect forecasts look at least as wrong."""
        return self.test.pvalue

    @property
    def detected(self) -> bool:
        """Whether forecasts are detectably off, by however little."""
        return self.pvalue <= DETECTABLE

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before acting on the verdict."""
        return self.interval.cautions

    @property
    def holds_within(self) -> float:
        """Smallest tolerance that the error, and half the typical gap, are known to be within."""
        gap = self.gap
        return max(self.interval.high, gap.interval.high * self._gap_share if gap else 0.0)

    @property
    def refuted_below(self) -> float:
        """Largest tolerance that the error, or half the typical gap, are known to exceed."""
        gap = self.gap
        return max(self.interval.low, gap.interval.low * self._gap_share if gap else 0.0)

    @property
    def _gap_share(self) -> float:
        return self.tolerance / self.gap.tolerance if self.gap and self.gap.tolerance else 0.0

    @property
    def sentence(self) -> str:
        """Say the verdict in plain words: what is known first, then where, then what would help."""
        where = ""
        if self.gap is not None and (self.detected or self.state == MISCALIBRATED):
            where = f"Worst range: {self.gap.worst.sentence}."
        return " ".join(filter(None, (self.headline, where, self.outlook)))

    @property
    def headline(self) -> str:
        """Say what is known of the errors, whatever the state."""
        if self.state == MISCALIBRATED:
            return f"Miscalibrated: {self.known(MISCALIBRATED)}."
        if self.state == CALIBRATED:
            imperfect = f", but not perfectly ({self.test.chance})" if self.detected else ""
            return f"Calibrated within tolerance{imperfect}: {self.known(CALIBRATED)}."
        if self.detected:
            return f"{OFF} ({self.test.chance}): {self.known(UNDECIDED)}."
        return f"{NOTHING_FOUND}: {self.known(UNDECIDED)}."

    def known(self, state: str) -> str:
        """Say what limits of the quantities in a state are, or of the leading one if all are."""
        parts = []
        if self.gap is not None and self.gap.state == state:
            parts.append(self.gap_sentence)
        if self.error_state == state and (state == MISCALIBRATED or not parts):
            parts.append(self.error_sentence)
        if self._judged_ratio is not None and self.ratio_state == state:
            parts.append(self.ratio_sentence)
        return "; ".join(parts)

    @property
    def error_sentence(self) -> str:
        """Say what is known of the error."""
        error = f"the {self.measure.replace('_', ' ')}"
        return self._of_interval(error, self.interval, self.tolerance)

    @property
    def gap_sentence(self) -> str:
        """Say what is known of the typical gap; nothing where it was not judged."""
        gap = self.gap
        return "" if gap is None else self._of_interval(gap.name, gap.interval, gap.tolerance)

    def _of_interval(self, name: str, interval: ConfidenceInterval, tolerance: float) -> str:
        """Say what an interval knows, beside its tolerance."""
        unit, state = ErrorUnit.of(self.kind), state_of(interval.low, interval.high, tolerance)
        if np.isinf(interval.high):
            return f"these rows set no limit to {name}"
        sure = f"({percent_text(interval.confidence)} confidence; tolerance {unit.text(tolerance)})"
        if state == MISCALIBRATED:
            least = unit.text(interval.low, rounded_down)
            return f"{name} is {unit.text(interval.value)}, at least {least} {sure}"
        if state == CALIBRATED or not self.detected:
            return f"{name} is at most {unit.text(interval.high, rounded_up)} {sure}"
        if interval.low <= 0:
            most = unit.text(interval.high, rounded_up)
            return f"{name} is {unit.text(interval.value)}, at most {most} {sure}"
        both = unit.between(interval.low, interval.high)
        sure = sure.replace("confidence;", "confidence for each limit;")
        return f"{name} is {unit.text(interval.value)}, {both} {sure}"

    @property
    def outlook(self) -> str:
        """Say how many rows would settle what these leave open; nothing if they leave nothing."""
        if self.state != UNDECIDED:
            return ""
        if UNDECIDED not in (self.error_state, self.gap.state if self.gap else CALIBRATED):
            return "More new rows would settle it, judged without these."
        if self.rows_needed is None and self.interval.high == np.inf:
            return "What would settle it cannot be told either."
        if self.rows_needed is None:
            return f"Not even {count_text(MOST_ROWS, 'row')} like these would surely settle it."
        if self.plan is None:
            return (
                "It is unknown how many rows would settle it: collect more, and judge the new ones "
                "without these."
            )
        return (
            f"{capital(range_text(self.plan, 'new row'))} would probably settle it, judged without "
            "these."
        )

    @property
    def ratio_sentence(self) -> str:
        """Say on which side of its tolerance observed over expected is; nothing if not judged."""
        ratio = self._judged_ratio
        if ratio is None or self.ratio_tolerance is None:
            return ""
        side = {
            CALIBRATED: "within",
            MISCALIBRATED: "beyond",
            UNDECIDED: "undecided whether within",
        }
        allowed = f"{side[self.ratio_state]} {percent_text(self.ratio_tolerance)} of 1"
        return f"observed over expected is {ratio.texts[0]}, {_apart(ratio)}, {allowed}"

    @property
    def direction_of_ratio(self) -> str:
        """Say by how much more or less was observed than forecast; nothing if not judged."""
        ratio = self._judged_ratio
        if ratio is None:
            return ""
        words, more = self.kind.words, ratio.value > 1
        what = f"{'weighted ' * ratio.weighted}{'events' if ratio.outcome else 'outcomes 0'}"
        if not self.kind.summed:  # amounts add up, and are not counted
            what = "in total"
        low = more == (ratio.outcome == 1 or not self.kind.summed)
        sure = percent_text(ratio.confidence)
        side = "more" if more else "fewer" if self.kind.summed else "less"
        found = f"{percent_text(abs(ratio.value - 1))} {side} {what} than"
        if ratio.value >= 2:
            much = "many" if self.kind.summed else "much"
            found = f"{ratio.texts[0]} times as {much} {what} as"
        return (
            f"{words.forecasts} are {words.too_low if low else words.too_high}: {found} forecast "
            f"(observed over expected {ratio.texts[0]}, {_apart(ratio)} with {sure} confidence)"
        )

    @property
    def _judged_ratio(self) -> Ratio | None:
        return None if self.ratio_tolerance is None else self.ratio

    @property
    def plan(self) -> tuple[int, int] | None:
        """The rows needed, where these rows are enough to tell; at least 50, to a factor of 10."""
        if self.rows_needed is None or self.rows < FEWEST_TO_PLAN:
            return None
        few, many = self.rows_needed
        return None if many > WIDEST_PLAN * few else self.rows_needed

    def __str__(self) -> str:
        return self.sentence


def verdict(
    y_true: object,
    y_proba: object = None,
    *,
    kind: str | None = None,
    range: object = None,  # noqa: A002  # the word users know
    level: float | None = None,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure = smooth_calibration_error,
    tolerance: float | str | None = None,
    gap_tolerance: float | str | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Verdict:
    """Say whether forecasts are calibrated within a tolerance, are not, or cannot be judged yet.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1; of other kinds any numbers.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1, or forecasts; left out with a Joint.
    kind : str, optional
        What forecasts of continuous outcomes are forecasts of: "mean", "median", "quantile=0.9",
        "expectile=0.8", or "interval" (two columns of `y_proba`). None for probabilities.
    range : (float, float), optional
        The least and the largest continuous outcome there can be.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. They change the Joint, not the amount of evidence.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    tolerance : float or str, optional
        Largest acceptable error, or "5%" for 5 % of the share of the rarer outcome. By default
        0.02, or a tenth of that share if it is less. Of means it is in the units of the outcome,
        and "5%" is of their range, or of the width of the middle 90 % of them; by default 2 %.
    gap_tolerance : float or str, optional
        Largest acceptable typical gap between forecast and observed rate, by default twice the
        tolerance; 1 leaves the gap out of the verdict. Used with the smooth error, which does not
        see a slope that is off, or waves.
    confidence : float, default=0.95
        Confidence of the intervals that decide.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    draws : int, default=999
        Simulations for the noise floor, and random multipliers for the interval. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Verdict
        "calibrated" when the intervals of the smooth error and of the typical gap lie within their
        tolerances, "miscalibrated" when one of them lies beyond, otherwise "undecided".

    Notes
    -----
    Two chances of a wrong verdict are taken, one for each interval: forecasts that are within both
    tolerances are called miscalibrated in at most 5 % of samples, those beyond one of them are
    called calibrated in at most 5 % (simulated; see the page on promises).

    Examples
    --------
    >>> outcomes, predictions = [1] * 6 + [0] * 6, [0.5] * 12
    >>> print(verdict(outcomes, predictions, rng=0))
    No miscalibration found: the typical gap between forecast and observed rate is at most 52.3
    points (95 % confidence; tolerance 4 points). It is unknown how many rows would settle it:
    collect more, and judge the new ones without these.
    >>> verdict(outcomes * 2000, predictions * 2000, rng=0).state
    'calibrated'
    """
    request = KindRequest.of(kind, range, level)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters, request)
    settings = Settings.read(
        confidence=confidence,
        draws=draws,
        tolerance=tolerance,
        gap_tolerance=gap_tolerance,
        rng=rng,
        kind=evidence.kind,
    )
    return find_verdict(evidence, Statistic.of(measure), settings)


def find_verdict(
    evidence: Evidence,
    statistic: Statistic,
    settings: Settings,
    ratio_tolerance: float | None = None,
) -> Verdict:
    """Judge evidence of any kind of forecast that was read before."""
    if evidence.rows is not None:
        evidence.rows.refuse_ties()
    kind, unit = evidence.kind, evidence.scale.unit
    allowed = settings.allowed(evidence)
    gap_allowed = settings.gap_allowed(evidence, allowed)
    ratio = ratio_of_all(evidence, settings.confidence)
    smooth = statistic.function is smooth_calibration_error
    judged = None
    if smooth or not kind.summed:
        judged = _ratio_allowed(evidence, ratio, ratio_tolerance, allowed)
    inner = replace(settings, tolerance=allowed / unit, gap_tolerance=gap_allowed / unit)
    if smooth:
        interval, gap = error_and_gap(evidence, inner, 2 if judged is None else 3)
        reached(0.6)
        test = run_test(
            evidence, with_slope_and_shape(statistic, evidence), settings.draws, settings.rng
        )
    else:
        statistic.refuse_without_half_width()
        interval, gap = find_interval(evidence, statistic, settings), None
        test = run_test(evidence, statistic, settings.draws, settings.rng)
    if judged is not None and evidence.rows is not None and not kind.summed:
        cautions = (*interval.cautions, *cautions_of_ratio(evidence.rows))
        interval = replace(interval, cautions=cautions)
    rows = evidence.full_joint.row_count
    found = Verdict(interval, allowed / unit, gap, test, rows, None, ratio, judged, kind)
    if found.state == UNDECIDED:
        found = replace(found, rows_needed=rows_needed_for(found, evidence, statistic, settings))
    return found if unit == 1 else _in_units(found, unit)


def state_of_sample(evidence: Evidence, settings: Settings) -> str:
    """State of the default verdict, without what else a verdict says."""
    unit = evidence.scale.unit
    allowed = settings.allowed(evidence)
    gap_allowed = settings.gap_allowed(evidence, allowed)
    ratio = ratio_of_all(evidence, settings.confidence)
    judged = _ratio_allowed(evidence, ratio, None, allowed)
    levels = LimitLevels.of(settings.confidence, 2 if judged is None else 3)
    error = smooth_limits(evidence, levels, settings.draws, settings.rng)
    gap = gap_limits(evidence, Ranges.of(evidence), levels)
    return worse_state(
        state_of(error.low, error.high, allowed / unit),
        state_of(gap.low, gap.high, gap_allowed / unit),
        _ratio_state(ratio, judged, evidence.kind),
    )


def _ratio_state(ratio: Ratio | None, tolerance: float | None, kind: Kind) -> str:
    if ratio is None or tolerance is None:
        return CALIBRATED
    state = state_of_ratio(ratio, tolerance)
    return CALIBRATED if kind.summed and state == UNDECIDED else state


def _ratio_allowed(
    evidence: Evidence, ratio: Ratio | None, tolerance: float | None, allowed: float
) -> float | None:
    """Share by which observed may differ from expected; None where the ratio is not judged.

    It is judged for means of outcomes that are not negative and for events in less than 5 % of
    rows: 10 %, or of events as much as the tolerance of the error is of the rate if that is more.
    A tolerance beyond the rate allows any ratio.
    """
    if ratio is None:
        return None
    if not evidence.kind.summed:
        return OE_TOLERANCE if tolerance is None else tolerance
    expected = evidence.full_joint.mean_prediction
    expected = expected if ratio.outcome else 1 - expected
    if rarer_share(evidence.full_joint) >= FEW or allowed >= expected:
        return None
    return max(OE_TOLERANCE, allowed / expected)


def _in_units(found: Verdict, unit: float) -> Verdict:
    """Give every number of a verdict the units of the outcome."""
    gap, test = found.gap, found.test
    headline, *others = test.parts or (test,)
    scaled = replace(headline, statistic=headline.statistic * unit, null=headline.null * unit)
    return replace(
        found,
        interval=found.interval.times(unit),
        tolerance=found.tolerance * unit,
        gap=gap and replace(gap, interval=gap.interval.times(unit), tolerance=gap.tolerance * unit),
        test=replace(test, parts=(scaled, *others)) if test.parts else scaled,
    )


def rows_needed_for(
    found: Verdict, evidence: Evidence, statistic: Statistic, settings: Settings
) -> tuple[int, int] | None:
    """Rows that would settle whatever is undecided: error, gap or both."""
    open_ones = []
    if found.error_state == UNDECIDED:
        error = found.interval
        open_ones.append(rows_to_settle(evidence, statistic, error, found.tolerance, settings.rng))
    if found.gap is not None and found.gap.state == UNDECIDED:
        open_ones.append(found.gap.rows_needed)
    known = [rows for rows in open_ones if rows is not None]
    if not known or len(known) < len(open_ones):
        return None
    few, many = np.max(known, axis=0)
    return int(few), int(many)


def error_and_gap(
    evidence: Evidence, settings: Settings, quantities: int
) -> tuple[ConfidenceInterval, Gap]:
    """Limits of the smooth error and of the typical gap."""
    ranges, levels = Ranges.of(evidence), LimitLevels.of(settings.confidence, quantities)
    error = smooth_limits(evidence, levels, settings.draws, settings.rng)
    gap = gap_limits(evidence, ranges, levels)
    allowed = settings.gap_tolerance
    assert isinstance(allowed, float)  # noqa: S101  # the caller has settled it
    needed = None
    if state_of(gap.low, gap.high, allowed) == UNDECIDED:
        confidence = 1 - 2 * levels.high
        parts = evidence.multiplied_residual_masses(DRAWS_FOR_A_PLAN, settings.rng, confidence)
        noise = np.concatenate([*map(ranges.noise, parts)])
        wide = noise * evidence.widening(1 - confidence)
        rows = evidence.full_joint.row_count
        needed = rows_to_settle_gap(rows, ranges.squared, wide, allowed, confidence)
    worst, between = ranges.worst(evidence), evidence.kind.words.between
    return error, Gap(gap, allowed, ranges.mass.size, worst, needed, between)


def range_text(rows: tuple[int, int], noun: str = "row") -> str:
    """Write a range of numbers of rows."""
    few, many = rows
    if few == many:
        return f"about {count_text(many, noun)}"
    return f"between {thousands_text(few)} and {count_text(many, noun)}"


def _apart(ratio: Ratio) -> str:
    _, low, high = ratio.texts
    return f"between {low} and {high}"


def worse_state(*states: str) -> str:
    """Miscalibrated if one of several states is, calibrated if all are, otherwise undecided."""
    return next(state for state in (MISCALIBRATED, UNDECIDED, CALIBRATED) if state in states)


def state_of_ratio(ratio: Ratio, tolerance: float) -> str:
    """Say whether observed over expected is as close to 1 as it must be: 1/1.1 to 1.1 for 0.1."""
    least, most = 1 / (1 + tolerance), 1 + tolerance
    if least <= ratio.low and ratio.high <= most:
        return CALIBRATED
    return MISCALIBRATED if ratio.low > most or ratio.high < least else UNDECIDED


def state_of(low: float, high: float, tolerance: float) -> str:
    """Say on which side of the tolerance an interval lies."""
    if high <= tolerance:
        return CALIBRATED
    return MISCALIBRATED if low > tolerance else UNDECIDED
