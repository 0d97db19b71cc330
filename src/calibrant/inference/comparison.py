"""Two forecasters on the same rows: which one is better, and is the difference real."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.catalogue import CATALOGUE
from calibrant.data import canonical_order
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Given
from calibrant.decisions import DecisionTask, Score, score_name, score_title
from calibrant.errors import InferenceRefusedError, InvalidOptionError, arguments_named
from calibrant.inference.calibration_error import measure_rows
from calibrant.inference.cases import Cases, cluster_codes
from calibrant.inference.means import mean_with_reach
from calibrant.inference.pairing import Both, find_reaches
from calibrant.inference.scores import mean_and_reach, score_of
from calibrant.inference.statistic import AnyMeasure, Statistic, charges_of
from calibrant.inputs import AskedKind, rows_of_kind
from calibrant.joint import Joint, Rows
from calibrant.joint.draws import refuse_mean_outcomes
from calibrant.kinds import Scale
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.notebook import card
from calibrant.options import as_generator, check_positive, check_share, enough_draws, shown
from calibrant.words import comparable_texts, interval_texts, number_text, percent_text


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error or loss of a second forecaster less that of a first, on the same rows."""

    measure: str
    """Name of the measure, of the score, or of the loss of the kind."""
    first: float
    second: float
    low: float
    high: float
    confidence: float
    margin: float | None = None
    """Difference that does not matter."""
    identical: bool = False
    """Whether both forecasters say the same of every row."""
    errors: tuple[float, float] | None = None
    """Smooth calibration errors of both where losses of numbers are compared, in their units."""

    @property
    def difference(self) -> float:
        """The second number less the first: negative when the second is better."""
        return self.second - self.first

    @property
    def equivalent(self) -> bool:
        """Whether the difference is certainly smaller than the margin, in either direction."""
        margin = self._margin()
        return -margin < self.low and self.high < margin

    @property
    def not_worse(self) -> bool:
        """Whether the second is certainly not worse than the first by the margin or more."""
        return self.high < self._margin()

    @property
    def sentence(self) -> str:
        """Say the comparison in plain words."""
        if self.identical:
            return "The two forecasts are identical."
        first, second = comparable_texts(self.first, self.second)
        texts = interval_texts(self.difference, self.low, self.high)
        numbers = (self.difference, self.low, self.high)
        difference, low, high = map(_signed, texts, numbers)
        sure = f"between {low} and {high} with {percent_text(self.confidence)}"
        values = f"{self._title()} {first} and {second}, difference {difference}"
        said = f"{self._found}: {values} ({sure} confidence)"
        if self.errors is None:
            return f"{said}."
        return f"{said}; smooth calibration errors {' and '.join(comparable_texts(*self.errors))}."

    def _title(self) -> str:
        """Name of the measure or of the score, in words."""
        if self.measure in CATALOGUE:
            return CATALOGUE[self.measure].title
        score = self.measure.removesuffix("_score")
        return self.measure.replace("_", " ") if score == self.measure else score_title(score)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    @property
    def _found(self) -> str:
        """Say which forecaster is better, or that the sample does not tell."""
        if self.high < 0:
            return "The second forecaster is better"
        if self.low > 0:
            return "The first forecaster is better"
        if self.margin is not None and self.equivalent:
            return f"The two forecasters differ by less than {number_text(self.margin)}"
        return "This sample does not tell which forecaster is better"

    def _margin(self) -> float:
        if self.margin is None:
            raise InvalidOptionError("equivalence needs a margin", "none", "compare(..., margin=)")
        return self.margin


def _signed(text: str, value: float) -> str:
    """Write a difference with its sign; what is infinite has one as well."""
    return f"+{text}" if value > 0 else text


def compare(
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    kind: str | None = None,
    range: object = None,  # noqa: A002  # the word users know
    level: float | None = None,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure | Score | DecisionTask | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 499,
    rng: np.random.Generator | int | None = None,
) -> Comparison:
    """Compare two forecasters on the same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; of other kinds any numbers.
    y_proba_a, y_proba_b : array-like of shape (n,) or (n, 2)
        Predictions of the first and of the second forecaster.
    kind : str, optional
        What forecasts of continuous outcomes are forecasts of: "mean", "median", "quantile=0.9",
        "expectile=0.8", or "interval" (two columns). None for probabilities.
    range : (float, float), optional
        The least and the largest continuous outcome there can be, for the smooth errors. Without
        it both are placed in the range of the forecasts of both.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, optional
        A measure that has a confidence interval, or a proper score ("brier", "log", "spherical", a
        `Score`, a `DecisionTask`), which is compared row by row; others are refused. By default
        the smooth calibration error. Other kinds are compared by their loss: the squared error,
        the pinball loss, the asymmetric squared error, or the interval score.
    margin : float, optional
        Difference that does not matter, for `equivalent` and `not_worse`.
    confidence : float, default=0.95
        Confidence of the interval for the difference.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    draws : int, default=499
        Number of random multipliers. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Comparison

    Notes
    -----
    Both errors are the largest of the same tests, so their difference is at most what any single
    test tells the forecasters apart: one forecaster compared with itself differs by exactly 0, and
    similar ones by little. Where they are not similar, the difference is off by at most the largest
    deviation of a test that may be the best for the one, and of one that may be the best for the
    other. Quantiles of both are estimated with random multipliers that the forecasters share.

    Losses of continuous outcomes are compared by Student's interval for the mean of the differences
    of the rows, or of the clusters. Known flaw: squared errors of heavy-tailed outcomes have means
    that few rows do not show; the interval is then too narrow.

    References
    ----------
    Hong, Li (2018), The numerical delta method, Journal of Econometrics 206.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.random(5000)
    >>> outcome = rng.random(5000) < chance
    >>> print(compare(outcome, chance**2, chance, rng=0))
    The second forecaster is better: smooth calibration error 0.159 and 0.008, difference -0.151
    (between -0.170 and -0.127 with 95 % confidence).
    >>> true = rng.normal(20, 6, 2000)
    >>> y = true + rng.normal(0, 4, 2000)
    >>> compare(y, true + 2, true, kind="mean").high < 0
    True
    """
    asked = AskedKind.of(kind, range, level)
    if asked is not None:
        _refuse_beside_losses(measure, pos_label)
        return _compare_losses(
            y_true,
            (y_proba_a, y_proba_b),
            asked,
            sample_weight,
            clusters,
            margin,
            confidence,
        )
    measure = smooth_calibration_error if measure is None else measure
    draws = enough_draws(draws, confidence)
    if margin is not None:
        check_share("margin", margin)
    refuse_other_labels(
        y_true=y_true,
        y_proba_a=y_proba_a,
        y_proba_b=y_proba_b,
        sample_weight=sample_weight,
        clusters=clusters,
    )
    pair, joints = [], []
    for name, y_proba in {"y_proba_a": y_proba_a, "y_proba_b": y_proba_b}.items():
        with arguments_named(y_proba=name):
            joint, rows = Joint.checked(Given.read(y_true, y_proba, sample_weight, pos_label))
        refuse_mean_outcomes(joint)
        pair.append(rows)
        joints.append(joint)
    size = pair[0].prediction.size
    labels = None if clusters is None else read_labels(clusters, "clusters", size)
    weight = pair[0].weight
    if weight is not None and not weight.all():
        pair = [rows.where(weight > 0) for rows in pair]
        labels = None if labels is None else labels[weight > 0]
    same = np.array_equal(pair[0].prediction, pair[1].prediction)
    score = score_of(measure)
    if score is not None:
        return replace(_scores(pair, labels, score, confidence, margin), identical=same)
    statistic = Statistic.of(measure)  # type: ignore[arg-type]  # scores are done
    statistic.refuse_without_reach()
    reaches = find_reaches(pair, labels, statistic, confidence, draws, as_generator(rng))
    found = compare_errors(joints, statistic, reaches, confidence, margin)
    return replace(found, identical=same)


def compare_errors(
    joints: list[Joint],
    statistic: Statistic,
    reaches: tuple[float, float],
    confidence: float,
    margin: float | None,
) -> Comparison:
    """Compare the errors of two Joints.

    `reaches` are how far their difference, and the error of their difference, may be off.
    """
    reach, beyond = reaches
    first, second = (statistic.value(joint) for joint in joints)
    difference = second - first
    both = Both.of(*joints)
    charges = both.difference(*(charges_of(joint)[np.newaxis, :] for joint in joints))
    # Two errors differ by no more than any test tells the forecasters apart.
    most = max(abs(difference), float(statistic.values(both.joint, charges)[0])) + beyond
    return Comparison(
        statistic.name,
        first,
        second,
        max(difference - reach, -most) + 0.0,  # never minus zero
        min(difference + reach, most),
        confidence,
        margin,
    )


def _scores(
    pair: list[Rows],
    labels: npt.NDArray[Any] | None,
    score: Score,
    confidence: float,
    margin: float | None,
) -> Comparison:
    """Compare mean scores by the differences of the rows."""
    rows = pair[0]
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    weight = np.ones(outcome.size) if rows.weight is None else rows.weight
    cluster = None if labels is None else cluster_codes(labels)
    cases = Cases(rows.prediction, outcome, weight, weight**2, cluster)
    losses = [score.losses(rows.prediction) for rows in pair]
    with np.errstate(invalid="ignore"):  # both are infinite where neither can be
        if_not, if_so = (second - first for first, second in zip(*losses, strict=True))
    forecasts = [rows.prediction for rows in pair]
    difference, reach = mean_and_reach(cases, if_not, if_so, forecasts, confidence)
    first = np.where(outcome == 1, losses[0][1], losses[0][0])
    mean = float(cases.total(first) / weight.sum())
    return Comparison(
        score_name(score.name),
        mean,
        mean + difference,
        difference - reach,
        difference + reach,
        confidence,
        margin,
    )


def _refuse_beside_losses(measure: object, pos_label: object) -> None:
    """Refuse what forecasts of continuous outcomes are not compared by."""
    for name, value in {"measure": measure, "pos_label": pos_label}.items():
        if value is not None:
            raise InvalidOptionError(
                f"{name} is for predicted probabilities", shown(value), "leave it out"
            )


def _compare_losses(
    y_true: object,
    forecasts: tuple[object, object],
    kind: AskedKind,
    sample_weight: object,
    clusters: object,
    margin: float | None,
    confidence: float,
) -> Comparison:
    """Compare mean losses of a kind by the differences of the rows."""
    check_share("confidence", confidence)
    if margin is not None:
        check_positive("margin", margin)
    first, second = forecasts
    refuse_other_labels(
        y_true=y_true,
        y_proba_a=first,
        y_proba_b=second,
        sample_weight=sample_weight,
        clusters=clusters,
    )
    pair = []
    for name, forecast in zip(("y_proba_a", "y_proba_b"), forecasts, strict=True):
        with arguments_named(y_pred=name):
            pair.append(rows_of_kind(y_true, forecast, kind, sample_weight))
    labels = None if clusters is None else read_labels(clusters, "clusters", len(pair[0]))
    columns = [column for one in pair for column in (one.prediction, one.upper)]
    # Sums in another order would differ in the last digit.
    order = canonical_order(*columns, pair[0].outcome, pair[0].weight, labels)
    pair = [one.where(order) for one in pair]
    labels = None if labels is None else labels[order]
    if kind.range is None and not pair[0].kind.has_ends:
        pair = _in_one_range(pair)
    before, after = (one.losses for one in pair)
    value, reach = mean_with_reach(pair[0], after - before, labels, confidence)
    if not np.isfinite(reach):
        raise InferenceRefusedError(
            "an interval needs at least two rows or clusters with weight", "one with nearly all"
        )
    mean = pair[0].mean_of(before)
    one, other = (float(measure_rows(rows, "smooth_calibration_error", {})) for rows in pair)
    return Comparison(
        pair[0].kind.loss_name,
        mean,
        mean + value,
        value - reach,
        value + reach,
        confidence,
        margin,
        all(
            np.array_equal(*sides)
            for sides in zip(*((rows.prediction, rows.upper) for rows in pair), strict=True)
        ),
        (one, other),
    )


def _in_one_range(pair: list[Rows]) -> list[Rows]:
    """Place the forecasts of both in the same range, so that their errors can be compared."""
    low = min(rows.scale.start for rows in pair)
    high = max(rows.scale.end for rows in pair)
    return [replace(rows, scale=Scale(low, high, rows.scale.unit, bounded=False)) for rows in pair]
