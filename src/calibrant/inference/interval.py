"""Where the error of the whole population lies, as far as a sample can tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import brief
from calibrant._base.options import ROUNDING, refuse_unknown
from calibrant._base.parallel import in_threads
from calibrant._base.words import percent_text
from calibrant.decisions import DecisionTask, Score, calibration_decision_loss, score_name
from calibrant.errors import InvalidOptionError
from calibrant.inference.cases import Cases, plain_cases
from calibrant.inference.evidence import FEW_CLUSTERS, Evidence
from calibrant.inference.scores import score_interval, score_of
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.joint import Joint
from calibrant.joint.sums import seem_few
from calibrant.measures.lower_distance import lower_distance_to_calibration
from calibrant.measures.measurement import read_source
from calibrant.measures.smooth import smooth_calibration_error

METHODS = ("multiplier", "worst-case")
LONE = "all rows are one cluster, which says nothing about chance"
ONE_CLUSTER = f"{LONE}: no interval but [0, 1]"


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """An interval that holds the population's error with the given confidence."""

    measure: str
    value: float
    """The error of the sample."""
    low: float
    high: float
    confidence: float
    half_width: float
    """How far the sample's error may lie from the population's."""
    method: str
    """"multiplier", "normal" for scores, "cross-validated" for the expected error without bins, or
    "worst-case" for the distribution-free bound."""
    cautions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return brief(self)

    def times(self, unit: float) -> ConfidenceInterval:
        """Give the interval the units of the outcome."""
        return replace(
            self,
            value=self.value * unit,
            low=self.low * unit,
            high=self.high * unit,
            half_width=self.half_width * unit,
        )

    def __str__(self) -> str:
        name = self.measure.replace("_", " ")
        return (
            f"{name} between {self.low:.4f} and {self.high:.4f} "
            f"with {percent_text(self.confidence)} confidence (sample {self.value:.4f})"
        )


def confidence_interval(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure | Score | DecisionTask = smooth_calibration_error,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    method: str = "multiplier",
    rng: np.random.Generator | int | None = None,
) -> ConfidenceInterval:
    r"""Interval for the error of the population that the rows were drawn from.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. They change the joint distribution, not the amount of
        evidence.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A weighted calibration error: smooth, earth mover, kernel, low-degree, cutoff, binned with
        fixed bins, or a family of tests; options through `functools.partial`. Or a proper score:
        "brier", "log", "spherical", a `Score`, or a `DecisionTask` (minus its payoff), by a normal
        interval with the cluster-robust variance. Or the lower distance to calibration; the
        decision loss against monotone recalibration, `calibration_decision_loss` with
        pooling="isotonic"; of order 1 and 2 the binned error with `debias`, and the expected error
        of levels that hold ten rows and more. Others are refused.
    confidence : float, default=0.95
        Chance that the interval holds the population's error.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    draws : int, default=999
        Number of random multipliers. At most 10**6.
    method : {"multiplier", "worst-case"}, default="multiplier"
        "worst-case" is the bound of Hu, Jambulapati, Tian and Yang that holds for every
        distribution and sample size (smooth error, unweighted, no clusters): about five times
        as wide.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    ConfidenceInterval

    Notes
    -----
    A weighted calibration error is the largest of many means; sample and population differ by at
    most the largest deviation of any of those means. That is estimated by the same maximum over
    residuals multiplied by random numbers (a Gaussian multiplier bootstrap), and its quantile is
    added and subtracted; few clusters widen it as Student's t does. The interval is honest on
    both sides, also at zero, where resampling the rows would not be; it is wider than needed where
    one test dominates. Where few events were seen z^2 more are mixed in, as in Wilson's interval;
    so they are for scores, where the forecast expects them.

    References
    ----------
    Chernozhukov, Chetverikov, Kato (2014), Gaussian approximation of suprema of empirical
    processes, Annals of Statistics 42. Hu, Jambulapati, Tian, Yang (2024), Testing calibration
    in nearly-linear time, NeurIPS.

    Examples
    --------
    >>> outcomes, predictions = [1] * 300 + [0] * 100, [0.5] * 400
    >>> interval = confidence_interval(outcomes, predictions, rng=0)
    >>> interval.value, round(interval.low, 2), round(interval.high, 2)
    (0.25, 0.21, 0.29)
    """
    settings = Settings.read(confidence=confidence, draws=draws, rng=rng)
    refuse_unknown("method", method, METHODS)
    score = score_of(measure)
    if score is not None and clusters is None and sample_weight is None:
        source = read_source(y_true, y_proba, sample_weight, pos_label)
        if not isinstance(source, Joint) and not seem_few(source):
            cases = plain_cases(source)
            if cases is not None:
                return _of_score(cases, score, confidence)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    if score is not None:
        return _of_score(evidence.cases(), score, confidence, tuple(cautions_of(evidence)))
    statistic = Statistic.of(measure)  # type: ignore[arg-type]  # scores are done
    if method == "worst-case":
        return _worst_case(evidence, statistic, confidence)
    return _by_kind(statistic)(evidence, statistic, settings)


def _by_kind(
    statistic: Statistic,
) -> Callable[[Evidence, Statistic, Settings], ConfidenceInterval]:
    """Find the way to an interval: most errors depend on biases alone, some on more."""
    # These stand on the intervals of this file.
    from calibrant.inference.mean_gaps import is_mean_gap, mean_gap_interval
    from calibrant.inference.whole_noise import distance_interval, loss_interval

    if statistic.function is lower_distance_to_calibration:
        return distance_interval
    monotone = statistic.options.get("pooling") == "isotonic"
    if statistic.function is calibration_decision_loss and monotone:
        return loss_interval
    return mean_gap_interval if is_mean_gap(statistic) else find_interval


def _of_score(
    cases: Cases, score: Score, confidence: float, cautions: tuple[str, ...] = ()
) -> ConfidenceInterval:
    mean, low, high = score_interval(cases, score, confidence)
    return ConfidenceInterval(
        score_name(score.name), mean, low, high, confidence, high - mean, "normal", cautions
    )


def find_interval(
    evidence: Evidence, statistic: Statistic, settings: Settings
) -> ConfidenceInterval:
    """Interval from evidence that was read before."""
    statistic.refuse_without_interval()
    parts = evidence.multiplied_residual_masses(settings.draws, settings.rng, settings.confidence)
    deviations = np.concatenate(in_threads(partial(statistic.values, evidence.joint), parts))
    return multiplier_interval(evidence, statistic, deviations, settings.confidence)


def multiplier_interval(
    evidence: Evidence, statistic: Statistic, deviations: Floats, confidence: float
) -> ConfidenceInterval:
    """Interval from deviations of a weighted calibration error that were drawn before.

    Of a squared error the interval is that of its root, squared.
    """
    power = statistic.power
    noise = upper_quantile(deviations, confidence) ** (1 / power)
    half_width = noise * evidence.widening(1 - confidence)
    if power > 1:
        return _powered(evidence, statistic, confidence, half_width)
    return _around(evidence, statistic, confidence, half_width, "multiplier")


def _powered(
    evidence: Evidence, statistic: Statistic, confidence: float, half_width: float
) -> ConfidenceInterval:
    power, value = statistic.power, statistic.value(evidence.full_joint)
    root = value ** (1 / power)
    low, high = max(0.0, root - half_width) ** power, (root + half_width) ** power
    highest = _highest(evidence, statistic)
    return ConfidenceInterval(
        statistic.name,
        value,
        low,
        min(highest, high),
        confidence,
        max(high - value, value - low),
        "multiplier",
        tuple(cautions_of(evidence)),
    )


def upper_quantile(draws: Floats, confidence: float) -> float:
    """Value that a further draw stays below with at least the given chance.

    Infinite where the draws are too few to tell.
    """
    rank = int(np.ceil((1 - ROUNDING) * confidence * (draws.size + 1)))
    return float(np.partition(draws, rank - 1)[rank - 1]) if rank <= draws.size else np.inf


def worst_case_radius(rows: float, confidence: float) -> float:
    """Bound the distance of the smooth error of a sample from the population's.

    The mean deviation is at most sqrt(2 / n), because smooth tests have norm at most the root of
    two in the Laplace kernel's space; changing one row moves it by at most 2 / n.
    """
    return float((np.sqrt(2) + np.sqrt(2 * np.log(1 / (1 - confidence)))) / np.sqrt(rows))


def _worst_case(evidence: Evidence, statistic: Statistic, confidence: float) -> ConfidenceInterval:
    weighted = not evidence.full_joint.equally_weighted
    other = statistic.function is not smooth_calibration_error or statistic.options
    if other or weighted or evidence.clusters is not None:
        raise InvalidOptionError(
            "the worst-case bound is for the smooth error of rows without weights and clusters",
            statistic.name if other else "weights" if weighted else "clusters",
        )
    radius = worst_case_radius(evidence.full_joint.row_count, confidence)
    return _around(evidence, statistic, confidence, radius, "worst-case")


def _around(
    evidence: Evidence, statistic: Statistic, confidence: float, half_width: float, method: str
) -> ConfidenceInterval:
    value = statistic.value(evidence.full_joint)
    return ConfidenceInterval(
        statistic.name,
        value,
        max(0.0, value - half_width),
        min(_highest(evidence, statistic), value + half_width),
        confidence,
        half_width,
        method,
        tuple(cautions_of(evidence)),
    )


def _highest(evidence: Evidence, statistic: Statistic) -> float:
    return statistic.entry.range[1] if statistic.entry and evidence.bounded else np.inf


def interval_between(
    evidence: Evidence,
    statistic: Statistic,
    settings: Settings,
    value: float,
    low: float,
    high: float,
    highest: float = 1.0,
) -> ConfidenceInterval:
    """Return ends found by multipliers, within the range of the measure and around its value."""
    low, high = min(value, max(0.0, low)), max(value, min(highest, high))
    return ConfidenceInterval(
        statistic.name,
        value,
        low,
        high,
        settings.confidence,
        max(value - low, high - value),
        "multiplier",
        tuple(cautions_of(evidence)),
    )


def cautions_of(evidence: Evidence) -> list[str]:
    """Say what to know before trusting an interval of this evidence."""
    cautions = []
    if evidence.lone:
        cautions.append(ONE_CLUSTER)
    elif evidence.clusters is not None and len(evidence.clusters) < FEW_CLUSTERS:
        cautions.append(f"only {len(evidence.clusters)} clusters: the interval is rough")
    if evidence.approximate:
        cautions.append("weights within a level differ and the rows are not known: approximate")
    return cautions
