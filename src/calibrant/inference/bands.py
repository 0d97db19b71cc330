"""Bands for reliability curves: where chance puts them, and where the truth may lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats, in_parts
from calibrant._base.notebook import brief
from calibrant._base.options import as_generator, check_flag, check_share, enough_draws
from calibrant._base.parallel import in_threads
from calibrant.binning import MonotonePools, quantile_bins
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.inference.evidence import Evidence
from calibrant.inference.interval import upper_quantile
from calibrant.joint import Joint

# All runs of so many pools are looked at for a confidence band.
MOST_POOLS = 100
POINTWISE_POOLS = 10
DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Band:
    """Lower and upper limits at increasing predictions."""

    kind: str
    """"consistency" (where the curve of perfect forecasts would lie) or "confidence" (where
    the true frequencies may lie)."""
    simultaneous: bool
    """Whether the whole band holds at once, rather than each point by itself."""
    confidence: float
    prediction: Floats
    low: Floats
    high: Floats

    def __repr__(self) -> str:
        return brief(self)

    @property
    def name(self) -> str:
        """Say which band it is."""
        scope = "simultaneous" if self.simultaneous else "pointwise"
        return f"{scope} {self.confidence * 100:.3g} % {self.kind} band"


def isotonic_curve(joint: Joint) -> Floats:
    """Frequencies that increase with the prediction and fit the outcomes best, at each level."""
    return MonotonePools.of(joint).at_levels()


def consistency_band(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    clusters: object = None,
    confidence: float = 0.95,
    simultaneous: bool = True,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Band:
    """Band around the diagonal in which the isotonic curve of perfect forecasts lies.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    confidence : float, default=0.95
        Chance that perfect forecasts' curve stays inside.
    simultaneous : bool, default=True
        Whether the whole curve stays inside at once; otherwise pointwise, and the curve of
        perfect forecasts will leave the band somewhere.
    draws : int, default=999
        Number of simulations. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Band
        At the levels (cells, if there are more than 4096).

    Examples
    --------
    >>> band = consistency_band([0, 1] * 50, [0.3, 0.6] * 50, rng=0)
    >>> band.name
    'simultaneous 95 % consistency band'
    >>> bool((band.low < [0.3, 0.6]).all()), bool((band.high > [0.3, 0.6]).all())
    (True, True)
    """
    draws = enough_draws(draws, confidence)
    simultaneous = check_flag("simultaneous", simultaneous)
    evidence = Evidence.read(y_true, y_proba, sample_weight, pos_label, clusters)
    return find_consistency_band(
        evidence, confidence, draws, as_generator(rng), simultaneous=simultaneous
    )


def find_consistency_band(
    evidence: Evidence,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
    *,
    simultaneous: bool = True,
) -> Band:
    """Band from evidence that was read before."""
    joint = evidence.joint
    fitted = partial(kernels.isotonic_curves, joint.prediction, joint.mass)
    curves = np.concatenate(in_threads(fitted, evidence.null_residual_masses(draws, rng)))
    tail = (1 - confidence) / 2
    if simultaneous:
        low, high = _limits_of_whole_curves(curves, confidence)
    else:
        low, high = np.quantile(curves, [tail, 1 - tail], axis=0)
    low, high = np.minimum(low, joint.prediction), np.maximum(high, joint.prediction)
    return Band(
        "consistency",
        simultaneous,
        confidence,
        joint.prediction,
        np.clip(low, 0, 1),
        np.clip(high, 0, 1),
    )


def confidence_band(
    y_true: object,
    y_proba: object = None,
    *,
    pos_label: object = None,
    confidence: float = 0.95,
    simultaneous: bool = True,
    draws: int = 499,
    rng: np.random.Generator | int | None = 0,
) -> Band:
    """Band in which the true frequencies lie.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1. Rows must not have different weights.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    pos_label : object, optional
        The label that counts as outcome 1.
    confidence : float, default=0.95
        Chance that the band holds the truth.
    simultaneous : bool, default=True
        The whole curve at once, for a truth that does not fall as the prediction grows (which is
        assumed). Otherwise the mean frequency of each of ten pools of neighbouring predictions,
        pointwise, without that assumption.
    draws : int, default=499
        How often noise is drawn to find the level of the runs. At most 10**6.
    rng : numpy.random.Generator or int, default=0
        Source of randomness; fixed by default, so that the same rows have the same band.

    Returns
    -------
    Band

    Notes
    -----
    Simultaneous: for every run of neighbouring pools the interval of Clopper and Pearson; a lower
    limit holds for all larger predictions and an upper limit for all smaller ones. Runs overlap,
    so their common level is not shared out between them: it is the one at which the largest
    deviation of any run of normal numbers, of pools of these sizes, stays within the confidence.
    Outcomes are not resampled, so regions in which every outcome was 0 or every outcome 1 keep an
    honest width.

    References
    ----------
    Dimitriadis, Duembgen, Henzi, Puke, Ziegel (2023), Honest calibration assessment for binary
    outcome predictions, Biometrika 110. Yang, Barber (2019), Contraction and uniform convergence
    of isotonic regression, Electronic Journal of Statistics 13.

    Examples
    --------
    >>> band = confidence_band([0] * 50 + [1] * 50, [0.1] * 50 + [0.8] * 50)
    >>> band.low.round(2), band.high.round(2)
    (array([0.  , 0.91]), array([0.09, 1.  ]))
    """
    check_share("confidence", confidence)
    evidence = Evidence.read(y_true, y_proba, None, pos_label)
    joint = evidence.full_joint.of_mean_weight_one()
    if not joint.unweighted:
        raise InferenceRefusedError(
            "a confidence band needs rows that weigh the same", "weights", "use consistency_band"
        )
    if not check_flag("simultaneous", simultaneous):
        pools = quantile_bins(joint, POINTWISE_POOLS).joint
        low, high = clopper_pearson(pools.positives, pools.rows, (1 - confidence) / 2)
        return Band("confidence", False, confidence, pools.prediction, low, high)
    pooling = quantile_bins(joint, MOST_POOLS)
    pools = pooling.joint
    first, last = np.triu_indices(len(pools))
    rows, ones = (np.append(0.0, np.cumsum(column)) for column in (pools.rows, pools.positives))
    level = _level_of_runs(
        pools.rows, confidence, enough_draws(draws, confidence), as_generator(rng)
    )
    low, high = clopper_pearson(ones[last + 1] - ones[first], rows[last + 1] - rows[first], level)
    lower, upper = np.zeros(len(pools)), np.ones(len(pools))
    np.maximum.at(lower, last, low)
    np.minimum.at(upper, first, high)
    lower = np.maximum.accumulate(lower)
    upper = np.minimum.accumulate(upper[::-1])[::-1]
    # Limits of a pool hold from its largest prediction on, and up to its smallest.
    at = evidence.joint.prediction
    below = np.searchsorted(pooling.high, at, side="right")
    above = np.searchsorted(pooling.low, at, side="left")
    return Band(
        "confidence",
        True,
        confidence,
        at,
        np.append(0.0, lower)[below],
        np.append(upper, 1.0)[above],
    )


def clopper_pearson(positives: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Exact limits for chances, each missed with at most the level given."""
    from scipy.special import betaincinv

    check_share("level", level)
    negatives = rows - positives
    with np.errstate(invalid="ignore"):
        low = np.where(positives > 0, betaincinv(positives, negatives + 1, level), 0.0)
        high = np.where(negatives > 0, betaincinv(positives + 1, negatives, 1 - level), 1.0)
    return low, high


def _level_of_runs(rows: Floats, confidence: float, draws: int, rng: np.random.Generator) -> float:
    """Level of one side of one run at which, of normal numbers, all runs hold at once."""
    from scipy.special import ndtr

    first, last = np.triu_indices(rows.size)
    size = np.append(0.0, np.cumsum(rows))
    deviation = np.sqrt(size[last + 1] - size[first])
    largest = []
    for count in in_parts(draws, first.size):
        noise = rng.standard_normal((count, rows.size)) * np.sqrt(rows)
        walk = np.concatenate([np.zeros((count, 1)), np.cumsum(noise, axis=1)], axis=1)
        runs = walk[:, last + 1] - walk[:, first]
        largest.append((np.abs(runs) / deviation).max(axis=1))
    return float(ndtr(-upper_quantile(np.concatenate(largest), confidence)))


def _limits_of_whole_curves(curves: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Limits that a further curve like these stays within, as a whole.

    Half of the curves give the shape of the band, the others its reach, so that the chance is
    exact. Both sides have a scale of their own: near 0 and 1 the curves of chance are skewed.
    Curves never fall, so those above a lower limit are above the highest limit before: limits
    that never fall hold the very same curves.
    """
    if len(curves) < 2:
        raise InvalidOptionError("a band needs at least 2 draws", f"{len(curves)}")
    # A curve that moved by a rounding error has not moved.
    shaping, reaching = np.array_split(curves.round(DECIMALS), 2)
    middle = np.median(shaping, axis=0)

    def beyond(part: Floats) -> tuple[Floats, Floats]:
        return np.maximum(middle - part, 0), np.maximum(part - middle, 0)

    below, above = (np.sqrt(np.mean(part**2, axis=0)) for part in beyond(shaping))
    # A level at which no shaping curve moved takes the smallest scale of the others.
    smallest = min(scale[scale > 0].min(initial=1.0) for scale in (below, above))
    below, above = np.maximum(below, smallest), np.maximum(above, smallest)
    under, over = beyond(reaching)
    multiplier = upper_quantile(np.maximum(under / below, over / above).max(axis=1), confidence)
    low, high = middle - multiplier * below, middle + multiplier * above
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
