"""A judge scores all answers, people label some: the observed rate with the judge's error in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import card
from calibrant._base.options import check_share
from calibrant._base.words import count_text, interval_texts, number_text
from calibrant.data.input import as_floats, is_missing, read_column, refuse_other_labels
from calibrant.errors import InferenceRefusedError, InvalidForecastsError

FEWEST_LABELS = 10


@dataclass(frozen=True, slots=True)
class JudgedRate:
    """Share of answers that people would call right."""

    rate: float
    low: float
    high: float
    confidence: float
    labels: int
    """Answers that people labelled."""
    scores: int
    """Answers that the judge alone has seen."""
    judge: float
    """Mean score of the judge: what one would report without labels."""
    labelled: float
    """Share of right answers among those that people labelled."""
    trust: float
    """How much the judge's scores count: 0 is not at all, 1 as if each were a label."""

    @property
    def sentence(self) -> str:
        """Say it in plain words."""
        rate, low, high = interval_texts(self.rate, self.low, self.high)
        return (
            f"Observed rate {rate} (between {low} and {high} with {self.confidence * 100:.3g} % "
            f"confidence), from {count_text(self.labels, 'label')} of people and the judge's "
            f"scores of {count_text(self.scores, 'further answer')}; the judge alone says "
            f"{number_text(self.judge)}, the labels alone {number_text(self.labelled)}."
        )

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)


def judged_rate(
    label: object, score: object, *, clusters: object = None, confidence: float = 0.95
) -> JudgedRate:
    """Estimate how often answers are right from many scores of a judge and few labels of people.

    Parameters
    ----------
    label : array-like of shape (n,)
        What people say, 1 for right and 0 for wrong; None or NaN where nobody looked. Answers must
        be chosen for labelling at random.
    score : array-like of shape (n,)
        The judge's score of every answer, between 0 and 1.
    clusters : array-like of shape (n,), optional
        Labels of answers that depend on each other, such as their question.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    JudgedRate

    Notes
    -----
    The mean of the judge's scores is corrected by what labels say about its errors
    (prediction-powered inference), and the scores count as far as they help, so that a bad judge
    does no harm but for a little noise. The interval widens where labels or clusters are few.

    It says nothing where labels were chosen by the score or by how hard an answer is. Whether the
    judge's scores are themselves calibrated is what `calibrant.audit(label, score)` of the labelled
    answers tells.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan, Zrnic (2023), Prediction-powered inference, Science 382.
    Angelopoulos, Duchi, Zrnic (2023), PPI++: efficient prediction-powered inference.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random(5000) < 0.7
    >>> score = np.clip(0.2 + 0.6 * right + rng.normal(0, 0.1, 5000), 0, 1)
    >>> label = np.where(np.arange(5000) < 200, right, np.nan)
    >>> print(judged_rate(label, score))
    Observed rate 0.669 (between 0.639 and 0.700 with 95 % confidence), from 200 labels of people
    and the judge's scores of 4 800 further answers; the judge alone says 0.621, the labels alone
    0.635.
    """
    from scipy.special import stdtrit

    check_share("confidence", confidence)
    refuse_other_labels(label=label, score=score, clusters=clusters)
    raw_scores = read_column(score, "score")
    scores = as_floats(raw_scores, "score")
    labels = _labels(label, scores.size)
    if np.isnan(scores).any() or scores.min(initial=0) < 0 or scores.max(initial=0) > 1:
        raise InvalidForecastsError("@score must lie between 0 and 1", "values that do not")
    labelled = ~np.isnan(labels)
    count, rest = int(labelled.sum()), int((~labelled).sum())
    if count < FEWEST_LABELS:
        raise InferenceRefusedError(
            f"an interval needs at least {FEWEST_LABELS} labels of people", f"{count}"
        )
    y, f, g = labels[labelled], scores[labelled], scores[~labelled]
    trust = _trust(y, f, count, rest)
    residual = y - trust * f
    rate = float(residual.mean() + (trust * g.mean() if rest else trust * f.mean()))
    parts = np.zeros(scores.size)
    parts[labelled] = (residual - residual.mean()) / count
    if rest:
        parts[~labelled] = trust * (g - g.mean()) / rest
    else:
        parts[labelled] = (y - y.mean()) / count
    variance, freedom = _variance(parts, labelled, clusters)
    quantile = float(stdtrit(freedom, (1 + confidence) / 2))
    alike = max(variance / float(parts @ parts), 1.0) if parts.any() else 1.0
    low, high = _ends(rate, variance, float(y.mean()), alike / count, quantile)
    return JudgedRate(
        min(max(rate, 0.0), 1.0),
        low,
        high,
        confidence,
        count,
        rest,
        float(scores.mean()),
        float(y.mean()),
        trust,
    )


def _ends(
    rate: float, variance: float, labelled: float, unit: float, quantile: float
) -> tuple[float, float]:
    """Rates that the data do not speak against.

    As in Wilson's interval a rate is tried with the spread that labels would have if it were true,
    where that is larger than theirs: few events of a kind hide the spread. Without a judge this is
    Wilson's interval.
    """
    half_width = quantile * np.sqrt(variance)
    ends = [rate - half_width, rate + half_width]
    own, factor = labelled * (1 - labelled), quantile**2 * unit
    middle = (rate + factor / 2) / (1 + factor)
    square = (rate**2 - half_width**2 + factor * own) / (1 + factor)
    if middle**2 > square:
        root = np.sqrt(middle**2 - square)
        ends += [end for end in (middle - root, middle + root) if end * (1 - end) > own]
    return max(float(min(ends)), 0.0), min(float(max(ends)), 1.0)


def _labels(label: object, size: int) -> Floats:
    column = read_column(label, "label", size)
    values = np.array(
        [np.nan if is_missing(v) else float(v) for v in np.ma.asarray(column).tolist()]
    )
    if not np.isin(values[~np.isnan(values)], (0, 1)).all():
        raise InvalidForecastsError("label must be 0, 1 or missing", "other values")
    return values


def _trust(y: Floats, f: Floats, count: int, rest: int) -> float:
    """Weight of the judge's scores that makes the estimate least noisy, between 0 and 1."""
    spread = float(f.var())
    if not rest or spread <= 0:
        return 0.0
    slope = float(((y - y.mean()) * (f - f.mean())).mean()) / spread
    return float(np.clip(slope / (1 + count / rest), 0.0, 1.0))


def _variance(parts: Floats, labelled: Any, clusters: object) -> tuple[float, float]:
    """Variance of the sum of centred parts, and degrees of freedom."""
    count = int(labelled.sum())
    if clusters is None:
        return float(parts @ parts) * count / (count - 1), count - 1.0
    labels = read_column(clusters, "clusters", parts.size)
    _, code = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    sums = np.bincount(code, parts)
    share = np.bincount(code[labelled], minlength=sums.size) / count
    effective = 1 / float(share @ share)
    if effective < 2:
        raise InferenceRefusedError("labels must come from at least two clusters", "about one")
    return float(sums @ sums) * effective / (effective - 1), effective - 1
