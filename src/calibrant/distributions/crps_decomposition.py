"""The CRPS as an integral of Brier scores, each recalibrated by isotonic regression."""

from __future__ import annotations

import numpy as np

from calibrant.arrays import Floats
from calibrant.decisions import ScoreDecomposition
from calibrant.distributions.forms import DistributionForm, Ensemble
from calibrant.joint import Joint
from calibrant.pooling import MonotonePools
from calibrant.words import count_text

# Thresholds that are looked at one by one; slices of the range of outcomes where there are more,
# and numbers that are ordered for them.
MOST_VALUES, SLICES, MOST_ORDERED = 4096, (64, 1024), 2**24


def decomposed(
    form: DistributionForm, y: Floats, weight: Floats, scores: Floats
) -> ScoreDecomposition:
    """Decompose the mean of the scores.

    Beyond the least and the largest outcome every outcome lies on the same side of a threshold:
    recalibrated chances are then right, and add nothing.
    """
    kept = weight > 0
    low, high = float(y[kept].min()), float(y[kept].max())
    edges, exact = _edges(form, y[kept], low, high)
    after = 0.0
    for start, width in zip(edges[:-1], np.diff(edges), strict=True):
        # Nothing changes between two neighbours if these are all values that there are.
        at = float(start) if exact else float(start + width / 2)
        after += float(width) * _recalibrated(form, y, weight, at)
    score = float(np.average(scores, weights=weight))
    uncertainty = _spread(y, weight)
    where = "each threshold" if exact else count_text(edges.size - 1, "threshold")
    return ScoreDecomposition(
        score=score,
        miscalibration=max(score - after, 0.0),
        discrimination=max(uncertainty - after, 0.0),
        uncertainty=uncertainty,
        name="CRPS",
        pooling=f"isotonic at {where}",
    )


def _edges(form: DistributionForm, y: Floats, low: float, high: float) -> tuple[Floats, bool]:
    if isinstance(form, Ensemble):
        values = np.unique(np.concatenate([y, form.members.ravel()]))
        values = values[(values >= low) & (values <= high)]
        if values.size <= MOST_VALUES:
            return values, True
    count = int(np.clip(MOST_ORDERED // y.size, *SLICES))
    return np.linspace(low, high, count + 1 if high > low else 1), False


def _recalibrated(form: DistributionForm, y: Floats, weight: Floats, threshold: float) -> float:
    """Brier score of the chances of at most a threshold, after isotonic regression."""
    chance = np.clip(1 - form.exceedance(threshold), 0.0, 1.0)
    joint = Joint.from_samples(y <= threshold, chance, sample_weight=weight)
    curve = MonotonePools.of(joint).at_levels()
    return float(joint.mass @ (joint.outcome * (1 - 2 * curve) + curve**2))


def _spread(y: Floats, weight: Floats) -> float:
    """CRPS of the distribution of all outcomes: half their mean distance from each other."""
    order = np.argsort(y)
    at, share = y[order], weight[order] / weight.sum()
    upto = np.cumsum(share)[:-1]
    return float((np.diff(at) * upto * (1 - upto)).sum())
