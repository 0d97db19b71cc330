"""Two forecasters on the same rows: which one is better, and is the difference real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, in_parts
from calibrant.data.input import read_labels
from calibrant.data.rows import Given
from calibrant.decisions import DecisionTask, Score
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.inference.cases import Cases
from calibrant.inference.evidence import RESOLUTION
from calibrant.inference.interval import upper_quantile
from calibrant.inference.scores import mean_and_reach, score_of
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.joint import Joint, Rows
from calibrant.joint.draws import refuse_mean_outcomes
from calibrant.joint.sums import cell_index
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.options import as_generator, check_draws, check_share

# With more rows than this predictions are rounded for the multipliers (not for the values), so
# that rows which agree in both predictions and in the outcome are drawn as one.
MANY_ROWS, FEW_CELLS = 2**16, 2**8


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error of a second forecaster less that of a first, on the same rows."""

    measure: str
    first: float
    second: float
    low: float
    high: float
    confidence: float
    margin: float | None = None
    """Difference that does not matter."""

    @property
    def difference(self) -> float:
        """Error of the second less that of the first: negative when the second is better."""
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
        name = self.measure.replace("_", " ")
        sure = f"between {self.low:+.4f} and {self.high:+.4f} with {self.confidence * 100:.3g} %"
        values = f"{name} {self.first:.4f} and {self.second:.4f}, difference {self.difference:+.4f}"
        if self.high < 0:
            found = "The second forecaster is better"
        elif self.low > 0:
            found = "The first forecaster is better"
        elif self.margin is not None and self.equivalent:
            found = f"The two forecasters differ by less than {self.margin:g}"
        else:
            found = "This sample does not tell which forecaster is better"
        return f"{found}: {values} ({sure} confidence)."

    def __str__(self) -> str:
        return self.sentence

    def _margin(self) -> float:
        if self.margin is None:
            raise InvalidOptionError("equivalence needs a margin", "none", "compare(..., margin=)")
        return self.margin


def compare(
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure | Score | DecisionTask = smooth_calibration_error,
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
        Outcomes, 0 or 1.
    y_proba_a, y_proba_b : array-like of shape (n,) or (n, 2)
        Predictions of the first and of the second forecaster.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval, or a proper score ("brier", "log", "spherical", a
        `Score`, a `DecisionTask`), which is compared row by row; others are refused.
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
    The difference of two suprema over tests errs by at most the sum of both suprema of the
    deviations. Its quantile is estimated with the same random multipliers for both forecasters.
    The interval is honest and often wide.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.random(5000)
    >>> outcome = rng.random(5000) < chance
    >>> print(compare(outcome, chance**2, chance, rng=0))
    The second forecaster is better: smooth calibration error 0.1585 and 0.0078, difference -0.1507
    (between -0.1757 and -0.1257 with 95 % confidence).
    """
    check_draws(draws)
    check_share("confidence", confidence)
    if margin is not None:
        check_share("margin", margin)
    pair, joints = [], []
    for y_proba in (y_proba_a, y_proba_b):
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
    score = score_of(measure)
    if score is not None:
        return _scores(pair, labels, score, confidence, margin)
    statistic = Statistic.of(measure)  # type: ignore[arg-type]  # scores are done
    statistic.refuse_without_interval()
    reach = _shared_reach(pair, labels, statistic, confidence, draws, as_generator(rng))
    first, second = (statistic.value(joint) for joint in joints)
    difference = second - first
    return Comparison(
        statistic.name, first, second, difference - reach, difference + reach, confidence, margin
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
    cluster = None if labels is None else np.unique(labels, return_inverse=True)[1]
    cases = Cases(rows.prediction, outcome, weight, weight**2, cluster)
    losses = [score.losses(rows.prediction) for rows in pair]
    if_not, if_so = (second - first for first, second in zip(*losses, strict=True))
    forecasts = [rows.prediction for rows in pair]
    difference, reach = mean_and_reach(cases, if_not, if_so, forecasts, confidence)
    first = np.where(outcome == 1, losses[0][1], losses[0][0])
    mean = float(cases.total(first) / weight.sum())
    return Comparison(
        f"{score.name}_score",
        mean,
        mean + difference,
        difference - reach,
        difference + reach,
        confidence,
        margin,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """Charges of one forecaster, by unit of drawing and level."""

    joint: Joint
    charges: Any
    total: Floats


def _shared_reach(
    pair: list[Rows],
    labels: npt.NDArray[Any] | None,
    statistic: Statistic,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> float:
    """Quantile of the sum of both largest deviations under shared multipliers."""
    units = pair[0].prediction.size
    cells = RESOLUTION if units <= MANY_ROWS else FEW_CELLS
    laws = [Joint.from_rows(rows, cells) for rows in pair]
    levels = [
        np.searchsorted(cell_index(law.prediction, cells), cell_index(rows.prediction, cells))
        for rows, law in zip(pair, laws, strict=True)
    ]
    weight = pair[0].weight
    share = np.full(units, 1 / units) if weight is None else weight / weight.sum()
    outcome = np.asarray(pair[0].outcome, dtype=np.float64)
    unit, scale = _units(levels, outcome, weight, labels)
    sides = [
        _side(law, level, share * (outcome - law.prediction[level]) * scale, unit)
        for law, level in zip(laws, levels, strict=True)
    ]
    shares = np.bincount(unit, share * scale)
    correction = 1.0 if labels is None else np.sqrt(shares.size / (shares.size - 1))
    sums = []
    for count in in_parts(draws, max(shares.size, cells)):
        drawn = rng.standard_normal((count, shares.size)) * correction
        mean = (drawn @ shares)[:, np.newaxis]
        sums.append(
            sum(
                statistic.values(side.joint, (side.charges.T @ drawn.T).T - mean * side.total)
                for side in sides
            )
        )
    return upper_quantile(np.concatenate(sums), confidence)


def _units(
    levels: list[npt.NDArray[np.intp]],
    outcome: Floats,
    weight: Floats | None,
    labels: npt.NDArray[Any] | None,
) -> tuple[npt.NDArray[np.intp], Floats]:
    """Find the units that get one multiplier each: clusters, or rows that are alike.

    Rows that are alike add up: c normal numbers have the spread of one, times the root of c, so
    each of the c rows counts with one over that root.
    """
    if labels is not None:
        names, unit = np.unique(labels, return_inverse=True)
        if names.size < 2:
            raise InferenceRefusedError("clusters must be at least two", "one cluster")
        return unit, np.ones(unit.size)
    columns = [*levels, outcome] + ([] if weight is None else [weight])
    order = np.lexsort(columns)
    new = np.zeros(order.size, dtype=bool)
    new[0] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    unit = np.empty(order.size, dtype=np.intp)
    unit[order] = np.cumsum(new) - 1
    return unit, 1 / np.sqrt(np.bincount(unit))[unit]


def _side(
    law: Joint, level: npt.NDArray[np.intp], charge: Floats, unit: npt.NDArray[np.intp]
) -> _Side:
    from scipy.sparse import coo_array

    charges = coo_array((charge, (unit, level)), shape=(int(unit.max()) + 1, len(law))).tocsr()
    return _Side(law, charges, (law.positives - law.weight * law.prediction) / law.total)
