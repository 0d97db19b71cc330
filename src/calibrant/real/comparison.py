"""Two forecasters of the same real outcomes: which one has the smaller loss, and is it chance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant.data import canonical_order
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.inference import Difference, calibration_error, mean_with_reach
from calibrant.kinds import Scale
from calibrant.options import check_positive, check_share
from calibrant.words import comparable_texts, percent_text


@dataclass(frozen=True, slots=True)
class RealComparison(Difference):
    """The mean loss of a second forecaster less that of a first, on the same rows."""

    kind: str
    loss: str
    """Name of the loss."""
    first: float
    """Mean loss of the first forecaster."""
    second: float
    low: float
    """Ends of the interval for the difference, second less first."""
    high: float
    confidence: float
    errors: tuple[float, float]
    """Smooth calibration errors of both, in the units of the outcome, or of probability."""
    margin: float | None = None
    """Difference that does not matter."""
    identical: bool = False
    """Whether both forecasters say the same of every row."""

    @property
    def sentence(self) -> str:
        """Say the comparison in plain words."""
        if self.identical:
            return self.SAME
        first, second = comparable_texts(self.first, self.second)
        low, high = comparable_texts(self.low, self.high)
        errors = " and ".join(comparable_texts(*self.errors))
        found = self._found("These rows do", "{:g}".format)
        return (
            f"{found}: {self.loss} {first} and {second}, difference between {low} and {high} with "
            f"{percent_text(self.confidence)} confidence; smooth calibration errors {errors}."
        )


def compare(
    y_true: object,
    first: object,
    second: object,
    *,
    kind: object = "mean",
    level: float | None = None,
    range: object = None,  # noqa: A002  # the word users know
    sample_weight: object = None,
    clusters: object = None,
    margin: float | None = None,
    confidence: float = 0.95,
) -> RealComparison:
    """Compare two forecasters of the same real outcomes by their mean loss.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    first, second : array-like of shape (n,), or pairs of such for intervals
        Forecasts of both. Of intervals lower and upper ends: ``first=(low, high)``.
    kind : {"mean", "median", "quantile=0.9", "expectile=0.8", "interval"}, default="mean"
        What the forecasts are forecasts of. The loss is the squared error, the pinball loss, the
        asymmetric squared error, or the interval score.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    range : (float, float), optional
        The least and the largest outcome there can be, for the smooth errors. Without it both are
        placed in the range of the forecasts of both.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    margin : float, optional
        Difference of mean losses that does not matter, for `equivalent`.
    confidence : float, default=0.95
        Confidence of the interval for the difference.

    Returns
    -------
    RealComparison

    Notes
    -----
    The interval is Student's for the mean of the differences of the rows, or of the clusters. Known
    flaw: squared errors of heavy-tailed outcomes have means that few rows do not show; the interval
    is then too narrow (docs/promises.md).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.normal(20, 6, 2000)
    >>> y = true + rng.normal(0, 4, 2000)
    >>> print(compare(y, true + 2, true))
    The second forecaster is better: mean squared error 19.9 and 15.9, difference between -4.73 and
    -3.34 with 95 % confidence; smooth calibration errors 2.01 and 0.02.
    """
    check_share("confidence", confidence)
    if margin is not None:
        check_positive("margin", margin)
    refuse_other_labels(
        y_true=y_true, first=first, second=second, sample_weight=sample_weight, clusters=clusters
    )
    pair = [
        _read(y_true, forecast, kind, level, range, sample_weight) for forecast in (first, second)
    ]
    labels = None if clusters is None else read_labels(clusters, "clusters", len(pair[0]))
    columns = [column for one in pair for column in (one.prediction, one.upper)]
    # Sums in another order would differ in the last digit.
    order = canonical_order(*columns, pair[0].outcome, pair[0].weight, labels)
    pair = [one.where(order) for one in pair]
    labels = None if labels is None else labels[order]
    if range is None and not pair[0].kind.has_ends:
        pair = _in_one_range(pair)
    difference = pair[1].losses - pair[0].losses
    value, reach = mean_with_reach(pair[0], difference, labels, confidence)
    if not np.isfinite(reach):
        raise InferenceRefusedError(
            "an interval needs at least two rows or clusters with weight", "one with nearly all"
        )
    before = pair[0].mean_of(pair[0].losses)
    one, other = (float(calibration_error(forecasts)) for forecasts in pair)
    return RealComparison(
        pair[0].kind.name,
        pair[0].kind.loss_name,
        before,
        before + value,
        value - reach,
        value + reach,
        confidence,
        (one, other),
        margin,
        all(
            np.array_equal(*sides)
            for sides in zip(
                *((forecasts.prediction, forecasts.upper) for forecasts in pair), strict=True
            )
        ),
    )


def _read(
    y_true: object,
    forecast: object,
    kind: object,
    level: float | None,
    ends: object,
    weight: object,
) -> Rows:
    if kind != "interval":
        return Rows.of_kind(y_true, forecast, kind, level=level, range_=ends, sample_weight=weight)
    if not (isinstance(forecast, tuple | list) and len(forecast) == 2):
        raise InvalidOptionError(
            "intervals of a forecaster are two columns", type(forecast).__name__, "(low, high)"
        )
    low, high = forecast
    return Rows.of_kind(
        y_true, low, kind, upper=high, level=level, range_=ends, sample_weight=weight
    )


def _in_one_range(pair: list[Rows]) -> list[Rows]:
    """Place the forecasts of both in the same range, so that their errors can be compared."""
    low = min(forecasts.scale.start for forecasts in pair)
    high = max(forecasts.scale.end for forecasts in pair)
    return [
        replace(forecasts, scale=Scale(low, high, forecasts.scale.unit, bounded=False))
        for forecasts in pair
    ]
