"""Universal adaptability: the mean outcome of another population, from predictions or weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import check_share, shown
from calibrant.data.input import read_column, refuse_other_labels
from calibrant.data.rows import predictions_alone
from calibrant.errors import (
    CalibrantError,
    InferenceRefusedError,
    InvalidForecastsError,
    InvalidOptionError,
    mention,
)
from calibrant.groups.learned import feature_table
from calibrant.inference import Cases, Estimate, mean_and_half_width
from calibrant.joint import Rows
from calibrant.regression import MOST_SLOPE, fit_logistic

# Log-odds so far beyond those of all source rows mean that no source row is alike; a share of so
# many such target rows is too many.
UNLIKE, FEW = np.log(100), 0.01


@dataclass(frozen=True, slots=True)
class TargetMean:
    """What outcomes will average in another population, by three routes."""

    predicted: float
    """Mean prediction on the target rows: right as far as the predictions are multi-accurate."""
    weighted: Estimate | None
    """Mean outcome of source rows, weighted to look like the target; None without weights."""
    corrected: Estimate | None
    """Mean prediction plus the weighted mean residual of source rows; None without weights."""
    bias: float | None
    """Weighted mean of y - p on source rows: what the mean prediction misses by the weights."""
    worst: tuple[str, float] | None
    """The one of the shifts with the largest bias of the mean prediction; None without shifts."""
    effective_rows: float | None
    """How many source rows of equal weight would vary as much as the weighted ones."""
    confidence: float

    @property
    def difference(self) -> float | None:
        """Weighted outcomes minus mean prediction: large if one of the two routes is wrong."""
        return None if self.weighted is None else self.weighted.value - self.predicted

    def __str__(self) -> str:
        text = f"mean prediction {self.predicted:.4g}"
        if self.weighted is not None and self.corrected is not None:
            text += (
                f"; weighted outcomes {_shown(self.weighted)}; corrected {_shown(self.corrected)} "
                f"({self.effective_rows:.0f} effective source rows)"
            )
        if self.worst is not None:
            text += f"; worst shift: {self.worst[0]}, {self.worst[1]:+.4g}"
        return text


def target_mean(
    y_true: object,
    y_proba: object,
    target_proba: object,
    *,
    odds: object = None,
    features: object = None,
    target_features: object = None,
    shifts: Mapping[str, object] | None = None,
    clusters: object = None,
    target_clusters: object = None,
    confidence: float = 0.95,
    pos_label: object = None,
) -> TargetMean:
    r"""Estimate the mean outcome of a target population without outcomes from there.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes of source rows, 0 or 1. Rows that had no part in fitting the model.
    y_proba : array-like of shape (n,) or (n, 2)
        Predictions for the source rows.
    target_proba : array-like of shape (m,) or (m, 2)
        Predictions for the target rows.
    odds : array-like of shape (n,), optional
        How much more frequent rows like this one are in the target than in the source, up to a
        factor: e/(1 - e) for the propensity e of belonging to the target.
    features, target_features : arrays of shape (n, k) and (m, k), mappings or frames, optional
        Numbers from which a logistic propensity is fitted, instead of odds.
    shifts : mapping of str to array-like of shape (n,), optional
        Other weights of the source rows, at least 0: for each the bias of the mean prediction in
        the population that they stand for.
    clusters, target_clusters : array-like, optional
        Which rows belong together, of the source and of the target.
    confidence : float, default=0.95
        Chance with which an interval holds.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    TargetMean

    Notes
    -----
    All of it rests on covariate shift: the chance of the outcome given the features is the same in
    both populations. Nothing here can check that. Then, with the true odds w,
    :math:`E_t y - E_t p = E_s[w (y - p)] / E_s w`: the mean of predictions that are multi-accurate
    for w is right without knowing w. That is universal adaptability, and `worst` says how far
    some shifts are from it. `weighted` needs the odds and no model, `corrected` uses both,
    and is right if either the odds or the predictions are. Their intervals add the sampling of
    source and target rows. They do not count what a wrong model of the odds misses; for odds that
    are fitted they allow for the luck of the target rows, and are rather too wide. Few
    effective rows widen them as Student's t does.

    References
    ----------
    Kim, Kern, Goldwasser, Kreuter, Reingold (2022), Universal adaptability, PNAS 119.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> here, there = rng.random(4000), rng.beta(2, 1, 3000)
    >>> y = rng.random(4000) < 0.1 + 0.6 * here
    >>> found = target_mean(
    ...     y, 0.2 + 0.3 * here, 0.2 + 0.3 * there, features=here[:, None],
    ...     target_features=there[:, None],
    ... )
    >>> round(found.predicted, 2), round(found.corrected.value, 2)
    (0.4, 0.5)
    """
    check_share("confidence", confidence)
    refuse_other_labels(
        y_true=y_true,
        y_proba=y_proba,
        odds=odds,
        features=features,
        shifts=shifts,
        clusters=clusters,
    )
    refuse_other_labels(
        target_proba=target_proba, target_features=target_features, target_clusters=target_clusters
    )
    rows = Rows.read(y_true, y_proba, None, pos_label)
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    if not np.isin(outcome, (0, 1)).all():
        raise InferenceRefusedError("source outcomes must be 0 or 1", "mean outcomes")
    target, size = predictions_alone(target_proba), outcome.size
    if not target.size:
        raise InvalidForecastsError("there must be at least one target row", "none")
    weight = _odds(odds, features, target_features, size, target.size)
    cluster = _codes(clusters, "clusters", size)
    there = _codes(target_clusters, "target_clusters", target.size)
    residual = outcome - rows.prediction
    named_shifts: object = shifts
    if named_shifts is not None and not isinstance(named_shifts, Mapping):
        raise InvalidOptionError(
            "shifts must be a mapping of names to weights", shown(named_shifts)
        )
    biases = {
        name: float(w @ residual / w.sum())
        for name, w in ((n, _weights(w, n, size)) for n, w in (shifts or {}).items())
    }
    worst = max(biases.items(), key=lambda one: abs(one[1])) if biases else None
    predicted = float(target.mean())
    if weight is None:
        return TargetMean(predicted, None, None, None, worst, None, confidence)
    cases = _cases(rows.prediction, outcome, weight, cluster)
    p = cases.prediction
    mean, half_width = _mean(cases, np.zeros_like(p), np.ones_like(p), confidence)
    bias, of_bias = _mean(cases, -p, 1 - p, confidence)
    # Odds that are fitted to the target rows follow their luck: outcomes there would vary at most
    # as much as tosses of their mean.
    own = _half_width_of_mean(target, there, confidence)
    luck = 0.0 if odds is not None else _half_width_of_mean(target, there, confidence, mean)
    half_width, whole = float(np.hypot(half_width, luck)), float(np.hypot(of_bias, max(own, luck)))
    effective = float(weight.sum() ** 2 / (weight @ weight))
    return TargetMean(
        predicted,
        _within(mean, half_width),
        _within(predicted + bias, whole),
        bias,
        worst,
        effective,
        confidence,
    )


def _shown(estimate: Estimate) -> str:
    return f"{estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}]"


def _mean(cases: Cases, if_not: Floats, if_so: Floats, confidence: float) -> tuple[float, float]:
    """Weighted mean of a function of the outcome, and how far it may be off."""
    rate = cases.total(cases.outcome) / cases.weight.sum()
    expected = [cases.prediction, np.full(cases.weight.size, float(rate))]
    if cases.clusters < 2:
        return mean_and_half_width(_alone(cases), if_not, if_so, expected, confidence)[0], np.inf
    mean, half_width = mean_and_half_width(cases, if_not, if_so, expected, confidence)
    # A row with all of the weight has no spread, and nothing to widen.
    return mean, np.inf if np.isnan(half_width) else half_width


def _alone(cases: Cases) -> Cases:
    return Cases(cases.prediction, cases.outcome, cases.weight, cases.square, None)


def _half_width_of_mean(
    target: Floats,
    cluster: npt.NDArray[np.intp] | None,
    confidence: float,
    rate: float | None = None,
) -> float:
    """How far a mean over the target rows may be from that of their population.

    Of predictions; or, for a rate, of anything in [0, 1] with this mean that clusters share as they
    share predictions.
    """
    from scipy.special import ndtri

    # Without clusters each row is one: few rows widen it too.
    code = np.arange(target.size) if cluster is None else cluster
    cases = _cases(target, target, np.ones_like(target), code)
    if cases.clusters < 2:
        return np.inf
    centred = target - target.mean()
    if rate is None:
        variance = float(cases.covariance(centred[:, np.newaxis])[0, 0])
    else:
        variance = rate * (1 - rate) * target.size * cases.design_effect(centred)
    z = float(ndtri((1 + confidence) / 2))
    return z * cases.widening(1 - confidence) * float(np.sqrt(variance)) / target.size


def _cases(
    prediction: Floats, outcome: Floats, weight: Floats, cluster: npt.NDArray[np.intp] | None
) -> Cases:
    """Rows that weigh something."""
    every = Cases(prediction, outcome, weight, weight**2, cluster)
    return every.where(every.square > 0)


def _within(value: float, half_width: float) -> Estimate:
    """Mean outcomes lie between 0 and 1."""
    low, high = np.clip([value - half_width, value + half_width], 0, 1)
    return Estimate(float(np.clip(value, 0, 1)), float(low), float(high))


def _odds(
    odds: object, features: object, target_features: object, size: int, target_size: int
) -> Floats | None:
    if (features is None) != (target_features is None):
        raise InvalidOptionError("features and target_features must come together", "one of them")
    if odds is not None:
        if features is not None:
            raise InvalidOptionError("give odds or features", "both")
        return _weights(odds, "odds", size)
    if features is None:
        return None
    return fitted_odds(_table(features, size), _table(target_features, target_size))


def fitted_odds(source: Floats, target: Floats) -> Floats:
    """Fit a logistic propensity and return the odds of belonging to the target.

    Examples
    --------
    >>> fitted_odds(np.array([[0.0], [0.0], [1.0]]), np.array([[0.0], [1.0], [1.0]])).round(2)
    array([0.5, 0.5, 2. ])
    """
    both = np.concatenate([source, target])
    spread = both.std(axis=0)
    varying = spread > 0
    scaled = (both[:, varying] - both[:, varying].mean(axis=0)) / spread[varying]
    share = np.full(len(both), 1 / len(both))
    ones = share * (np.arange(len(both)) >= len(source))
    terms = [None, *np.ascontiguousarray(scaled.T)]
    limits = np.full(len(terms), MOST_SLOPE)
    found = fit_logistic(share, ones, terms, (-limits, limits), np.zeros(len(terms)))
    score = found[0] + scaled @ found[1:]
    here, there = score[: len(source)], score[len(source) :]
    alone = float(np.mean(there > here.max() + UNLIKE))
    if alone > FEW:
        raise InferenceRefusedError(
            "target rows must look like some source rows",
            f"{100 * alone:.3g} % that look like none of them",
            "leave out features that only the target has",
        )
    return np.asarray(np.exp(here))


def _table(features: object, size: int) -> Floats:
    try:
        table = feature_table(features, size)
    except (TypeError, ValueError) as error:
        if isinstance(error, CalibrantError):
            raise
        raise InvalidForecastsError(
            "features must be finite numbers, one row for each prediction", shown(features)
        ) from error
    if table.shape[0] != size or not np.isfinite(table).all():
        raise InvalidForecastsError(
            "features must be finite numbers, one row for each prediction",
            f"{table.shape[0]} rows for {size}" if table.shape[0] != size else "nan or infinity",
        )
    return table


def _weights(values: object, name: str, size: int) -> Floats:
    weight = np.asarray(read_column(values, name, size), dtype=np.float64)
    if not ((weight >= 0) & np.isfinite(weight)).all() or not weight.any():
        raise InvalidForecastsError(
            f"{mention(name)} must be finite, at least 0, and not all 0", "others among them"
        )
    return np.asarray(weight / weight.mean())


def _codes(values: Any, name: str, size: int) -> npt.NDArray[np.intp] | None:
    if values is None:
        return None
    return np.asarray(np.unique(read_column(values, name, size), return_inverse=True)[1], np.intp)
