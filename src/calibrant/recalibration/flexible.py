"""Calibrators without a fixed shape: they pool or smooth the outcomes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.options import check_flag, refuse_unknown
from calibrant._base.stored import Stored
from calibrant._base.words import count_text, distinct_texts
from calibrant.binning import Pooling, isotonic, pooling_at, quantile_bins, uniform_bins
from calibrant.errors import InvalidStateError
from calibrant.joint import Joint
from calibrant.measures.interval_error import best_partition
from calibrant.measures.kernel_smoothed import (
    NARROWEST_CURVE,
    kernel_smoothed_calibration_error,
    smoothed_curve,
)
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.forms import Form, Lines, Steps, form_from
from calibrant.recalibration.reading import read_predictions

STRATEGIES = ("quantile", "uniform", "interval")
# Share of the prediction itself that makes the strict variant increase everywhere.
TILT = 1e-3
# The best partition is looked for among the ends of so many cells where there are more levels.
MOST_LEVELS = 2**16
# How close the bias plus width of the intervals comes to the least possible.
PARTITION_TOLERANCE = 1e-4
# A smooth calibrator has so many knots to the width of its kernel.
KNOTS_PER_WIDTH = 4


class IsotonicCalibration(Calibrator):
    """The increasing calibrator of least squared error (isotonic regression), linear between pools.

    Parameters
    ----------
    strict : bool, default=False
        Increase strictly, so that no two forecasts become equal: linear between the centres of
        the pools (Oron, Flournoy 2017), plus a thousandth of the way towards the prediction.
    allow_certain : bool, default=False
        Let pools of one outcome predict exactly 0 or 1. By default values stay
        1 / (2 n + 2) away from both for n rows.

    References
    ----------
    Zadrozny, Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, KDD. Oron, Flournoy (2017), Centered isotonic regression, Statistics in
    Biopharmaceutical Research 9.

    Examples
    --------
    >>> calibrator = IsotonicCalibration().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> calibrator.transform([0.0, 0.2, 0.3, 0.35])
    array([0.1, 0.5, 0.5, 0.7])
    """

    method = "isotonic"
    title = "isotonic calibration"
    learned = ("pools_",)
    pools_: int
    form_: Lines

    def __init__(self, *, strict: bool = False, allow_certain: bool = False) -> None:
        self.strict = strict
        self.allow_certain = allow_certain

    def _fitted(self, joint: Joint) -> Form:
        pools = isotonic(joint)
        self.pools_ = len(pools)
        value = _heights(pools, joint, allow_certain=self.allow_certain)
        if not check_flag("strict", self.strict):
            return Lines.between(
                np.column_stack([pools.low, pools.high]).ravel(), np.repeat(value, 2)
            )
        curve = _between_centres(pools, joint, allow_certain=self.allow_certain)
        knot = np.unique(np.concatenate([[0.0], curve.knot, [1.0]]))
        return Lines.between(knot, (1 - TILT) * curve(knot) + TILT * knot)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        return f"{count_text(self.pools_, 'pool')}, increasing; {_largest_move(self.form_)}."


class CenteredIsotonicCalibration(Calibrator):
    """Isotonic regression without flat stretches: lines between the centres of its pools.

    A pool says what happened around the mean of its predictions, so it becomes that one point. The
    calibrator increases strictly from the first centre to the last, and is constant beyond them.

    Parameters
    ----------
    allow_certain : bool, default=False
        Let pools of one outcome predict exactly 0 or 1.

    References
    ----------
    Oron, Flournoy (2017), Centered isotonic regression, Statistics in Biopharmaceutical Research 9.

    Examples
    --------
    >>> calibrator = CenteredIsotonicCalibration().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> calibrator.transform([0.0, 0.25, 0.3, 0.4]).round(3)
    array([0.1  , 0.5  , 0.633, 0.9  ])
    """

    method = "centered_isotonic"
    title = "centered isotonic calibration"
    learned = ("pools_",)
    pools_: int
    form_: Lines

    def __init__(self, *, allow_certain: bool = False) -> None:
        self.allow_certain = allow_certain

    def _fitted(self, joint: Joint) -> Form:
        pools = isotonic(joint)
        self.pools_ = len(pools)
        return _between_centres(pools, joint, allow_certain=self.allow_certain)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        centres = count_text(self.pools_, "pool")
        return f"Lines between the centres of {centres}; {_largest_move(self.form_)}."


class HistogramBinning(Calibrator):
    """Predict the mean outcome of each bin.

    Parameters
    ----------
    strategy : {"quantile", "uniform", "interval"}, default="quantile"
        Bins of about equal weight, of equal width, or the intervals that attain the interval
        calibration error: the best trade of bias against width, no number of bins to choose.
    n_bins : int, default=15
        Number of bins; not used with "interval". At most 2**20.
    allow_certain : bool, default=False
        Let bins of one outcome predict exactly 0 or 1.

    Notes
    -----
    Not monotone, and forecasts of one bin become equal. A bin without rows takes the value of the
    bin below it. With more than 65 536 levels the intervals of "interval" end at cells of that
    number.

    Examples
    --------
    >>> HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.6, 0.7], [0, 1, 1, 1]).transform([0.0, 0.9])
    array([0.5, 0.9])
    """

    method = "histogram"
    title = "histogram binning"
    learned = ("bins_",)
    bins_: int
    form_: Steps

    def __init__(
        self, strategy: str = "quantile", n_bins: int = 15, *, allow_certain: bool = False
    ) -> None:
        self.strategy = strategy
        self.n_bins = n_bins
        self.allow_certain = allow_certain

    def _fitted(self, joint: Joint) -> Form:
        refuse_unknown("strategy", self.strategy, STRATEGIES)
        pools = self._pools(joint)
        value = _away_from_ends(pools.joint.outcome, joint, allow_certain=self.allow_certain)
        start = pools.start[pools.occupied].copy()
        start[0] = 0.0
        self.bins_ = start.size
        return Steps.joined(start, value)

    def _pools(self, joint: Joint) -> Pooling:
        if self.strategy == "quantile":
            return quantile_bins(joint, self.n_bins)
        if self.strategy == "uniform":
            return uniform_bins(joint, self.n_bins)
        if len(joint) > MOST_LEVELS:
            joint = joint.rounded(MOST_LEVELS)
        return pooling_at(joint, best_partition(joint, PARTITION_TOLERANCE).start)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        return f"{count_text(self.bins_, 'bin')}; {_largest_move(self.form_)}."


class KernelCalibration(Calibrator):
    """Add the bias seen around each prediction, weighted by a Gaussian (kernel smoothing).

    Parameters
    ----------
    bandwidth : float, optional
        Width of the Gaussian, at least 0.001; by default the fixed point of the kernel-smoothed
        calibration error, at which the bias that remains visible equals the width.
    allow_certain : bool, default=False
        Let the calibrator reach exactly 0 or 1.

    Attributes
    ----------
    bandwidth_ : float
        The width that was used.

    Notes
    -----
    The smoother of smECE, reflected at 0 and 1, at four knots to the width. Where there are no rows
    the calibrator is linear between what is seen on both sides, and constant beyond the last row
    seen. Not monotone.

    References
    ----------
    Blasiok, Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel smoothing,
    ICLR.

    Examples
    --------
    >>> predictions, outcomes = [0.2] * 10 + [0.8] * 10, [0] * 7 + [1] * 7 + [0] * 6
    >>> calibrator = KernelCalibration(bandwidth=0.1).fit(predictions, outcomes)
    >>> calibrator.transform([0.2, 0.8]).round(2)
    array([0.3, 0.4])
    """

    method = "kernel"
    title = "kernel calibration"
    learned = ("bandwidth_",)
    bandwidth_: float
    form_: Lines

    def __init__(self, bandwidth: float | None = None, *, allow_certain: bool = False) -> None:
        self.bandwidth = bandwidth
        self.allow_certain = allow_certain

    def _fitted(self, joint: Joint) -> Form:
        width = self.bandwidth
        if width is None:
            width = max(float(kernel_smoothed_calibration_error(joint)), NARROWEST_CURVE)
        curve = smoothed_curve(joint, bandwidth=width)
        self.bandwidth_ = float(width)
        size = curve["prediction"].size
        count = min(size, int(np.ceil(KNOTS_PER_WIDTH / width)) + 1)
        chosen = np.unique(np.linspace(0, size - 1, max(count, 2)).astype(np.intp))
        chosen = chosen[np.isfinite(curve["outcome"][chosen])]
        value = np.clip(curve["outcome"][chosen], 0.0, 1.0)
        value = _away_from_ends(value, joint, allow_certain=self.allow_certain)
        line = Lines.between(curve["prediction"][chosen], value)
        # Tails of the kernel reach beyond the rows, and what they say there is not to be believed.
        knot = np.unique(np.clip(line.knot, joint.prediction[0], joint.prediction[-1]))
        return Lines.between(knot, line(knot))

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        return f"Smoothed over a width of {self.bandwidth_:.2g}; {_largest_move(self.form_)}."


class VennAbers(Calibrator):
    """Two isotonic regressions per prediction, one for each outcome it might have.

    The prediction joins the rows once with outcome 0 and once with outcome 1; the two fitted values
    are an interval of probabilities of which one is perfectly calibrated, whatever the distribution
    of the rows, if rows are exchangeable. The calibrator returns one value of the interval, high /
    (1 - low + high), which the log loss regrets least. It is never exactly 0 or 1.

    References
    ----------
    Vovk, Petej, Fedorova (2015), Large-scale probabilistic predictors with and without guarantees
    of validity, NeurIPS (inductive Venn-Abers predictors).

    Examples
    --------
    >>> calibrator = VennAbers().fit([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1])
    >>> low, high = calibrator.interval([0.15, 0.4])
    >>> low, high, calibrator.transform([0.15, 0.4])
    (array([0.        , 0.66666667]), array([0.5, 1. ]), array([0.33333333, 0.75      ]))
    """

    method = "venn_abers"
    title = "Venn-Abers calibration"
    learned = ("mean_width_",)
    mean_width_: float
    form_: Steps
    low_: Steps
    high_: Steps

    def _fitted(self, joint: Joint) -> Form:
        high = np.clip(kernels.raised(joint.weight, joint.positives), 0.0, 1.0)
        zeros = joint.weight - joint.positives
        unlike = kernels.raised(joint.weight[::-1].copy(), zeros[::-1].copy())[::-1]
        low = np.minimum(1 - np.clip(unlike, 0.0, 1.0), high)  # sums differ in their last digits
        self.mean_width_ = float(joint.mass @ (high - low))
        # At a level both outcomes join it; in the gap above it 0 joins it and 1 joins the next.
        start = np.repeat(joint.prediction, 2)
        start[1::2] = np.nextafter(start[1::2], 2.0)
        start = np.append(0.0, start)
        low = np.append(0.0, np.repeat(low, 2))
        high = np.append(np.repeat(high, 2), 1.0)
        changed = np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0))
        kept = changed & (start <= 1)
        start, low, high = start[kept], low[kept], high[kept]
        self.low_, self.high_ = Steps.joined(start, low), Steps.joined(start, high)
        return Steps.joined(start, high / (1 - low + high))

    def interval(self, y_proba: object) -> tuple[Floats, Floats]:
        """Return the two probabilities, one of which is perfectly calibrated.

        Parameters
        ----------
        y_proba : array-like of shape (n,)
            Predictions.

        Returns
        -------
        low, high : array of shape (n,)
            Fitted values if the outcome were 0, and if it were 1.
        """
        self._require_fitted()
        prediction = read_predictions(y_proba, self.scale_, self.pos_label_)
        return self.low_(prediction), self.high_(prediction)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted calibrator as plain data; `load` takes it back."""
        self._require_fitted()
        ends = {"low": self.low_.as_dict(), "high": self.high_.as_dict()}
        return super().to_dict() | {"interval": ends}

    def _restored(self, data: Stored) -> Self:
        """Take over what was fitted from plain data."""
        ends = data.part("interval")
        low, high = (form_from(ends.part(end)) for end in ("low", "high"))
        if not (isinstance(low, Steps) and isinstance(high, Steps)):
            raise InvalidStateError("the ends of an interval must be steps", low.kind)
        at = np.concatenate([low.start, high.start])
        if bool((low(at) > high(at)).any()):
            raise InvalidStateError("the lower end of an interval must not exceed the upper one")
        self.low_, self.high_ = low, high
        return super()._restored(data)

    @property
    def sentence(self) -> str:
        """What the fitted calibrator does, in words."""
        self._require_fitted()
        return (
            f"Between two isotonic regressions, {self.mean_width_:.2g} apart on average; "
            f"{_largest_move(self.form_)}."
        )


def _heights(pools: Pooling, joint: Joint, *, allow_certain: bool) -> Floats:
    """Observed rates of pools, which increase."""
    value = _away_from_ends(pools.joint.outcome, joint, allow_certain=allow_certain)
    return np.maximum.accumulate(value)  # sums of pools may differ in their last digit


def _between_centres(pools: Pooling, joint: Joint, *, allow_certain: bool) -> Lines:
    """Connect the mean predictions of pools."""
    value = _heights(pools, joint, allow_certain=allow_certain)
    return Lines.between(pools.joint.prediction, value)


def _largest_move(form: Steps | Lines) -> str:
    """Say where a calibrator of steps or lines moves a forecast most."""
    at = form.start if isinstance(form, Steps) else form.knot
    farthest = int(np.argmax(np.abs(form.value - at)))
    before, after = float(at[farthest]), float(form.value[farthest])
    if before == after:
        return "no forecast moves"
    forecast, becomes = distinct_texts(before, after)
    return f"the largest move is that of {forecast} to {becomes}"


def _away_from_ends(value: Floats, joint: Joint, *, allow_certain: bool) -> Floats:
    """Keep values off 0 and 1 by half a row in all rows and one, unless certainty is requested."""
    if check_flag("allow_certain", allow_certain):
        return value
    least = 0.5 / (joint.row_count + 1)
    return np.clip(value, least, 1 - least)
