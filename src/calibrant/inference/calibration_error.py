"""Calibration errors of every kind of forecast: the same kernels, on other residuals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.catalogue import CATALOGUE, OTHER_NAMES, find_measure
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement
from calibrant.measures.regions import region_of, strongest_region
from calibrant.measures.witness import Witness

# Measures that need nothing of outcomes but the residuals of each level.
MEASURES = tuple(name for name, entry in CATALOGUE.items() if entry.residuals)


@dataclass(frozen=True, slots=True)
class WitnessInUnits:
    """The test that attains a value, as a function of the forecast in its units."""

    forecasts: Rows
    inner: Witness

    @property
    def sentence(self) -> str:
        """Say what it found, in the units of the outcome."""
        joint = Joint.of(self.forecasts)
        region = strongest_region(joint, self.inner(joint.prediction))
        if region is None:
            return "no forecast is off"
        return region_of(self.forecasts, region.low, region.high).sentence

    def __call__(self, prediction: object) -> Floats:
        """Value of the test at each forecast; of intervals, at each width."""
        value = np.asarray(prediction, dtype=np.float64)
        return self.inner(self.forecasts.scale.positions(np.atleast_1d(value)))

    def advantage(self, joint: Joint) -> float:
        """Return what it attains on a Joint of positions, in units of the scale."""
        return self.inner.advantage(joint)


def calibration_error(
    y_true: object,
    y_pred: object = None,
    *,
    kind: object = "mean",
    measure: str = "smooth_calibration_error",
    upper: object = None,
    level: float | None = None,
    range: object = None,  # noqa: A002  # the word users know
    sample_weight: object = None,
    **options: Any,
) -> Measurement:
    r"""Calibration error of forecasts of continuous outcomes, in the units of the outcome.

    Smaller is better; 0 if and only if forecasts are calibrated. Of quantiles and intervals it is
    in units of probability: 0.02 is two points of coverage.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, any finite numbers.
    y_pred : array-like of shape (n,), optional
        Forecasts; of intervals the lower ends.
    kind : {"mean", "median", "quantile=0.9", "expectile=0.8", "interval"}, default="mean"
        What the forecasts are forecasts of.
    measure : str, default="smooth_calibration_error"
        One of `MEASURES`: smooth, averaged two-bin, binned, kernel, cutoff or low-degree.
    upper : array-like of shape (n,), optional
        Upper ends of intervals.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    range : (float, float), optional
        The least and the largest outcome there can be. Forecasts are then placed in that range,
        otherwise in the range of the forecasts.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    **options
        Options of the measure.

    Returns
    -------
    Measurement
        The witness is the test that attains the value, a function of the forecast: positive where
        forecasts are too low, or intervals too narrow.

    Notes
    -----
    With V the identification function of the property (z - y for the mean, 1(y <= z) - level for
    a quantile) a forecast is calibrated when :math:`E[V(z, y) | z] = 0`. The errors are
    :math:`\max_w |E[w(u) V(z, y)]|`, with u the place of the forecast between 0 and 1 and w a test
    of the measure's family, as they are for probabilities with V = p - y. The averaged two-bin
    error is a square, in squared units. Known flaw: without a range, one very large forecast
    stretches the places of all others together; bins and the typical gap of `audit` do not suffer.

    References
    ----------
    Gneiting, Resin (2021), Regression diagnostics meets forecast evaluation: conditional
    calibration, reliability diagrams, and coefficient of determination. Noarov, Roth (2023), The
    statistical scope of multicalibration, ICML.

    Examples
    --------
    >>> calibration_error([12.0, 18.0, 33.0], [10.0, 20.0, 30.0], range=(0, 100))
    1.0
    >>> error = calibration_error([1.0, 2.0, 3.0, 4.0], [2.5] * 4, kind="quantile=0.9")
    >>> round(error, 3)
    0.4
    >>> error.witness.sentence
    'forecasts of 2.50 are too low (50 % of outcomes at or below, 90 % promised, 4 rows)'
    """
    name = OTHER_NAMES.get(measure, measure)
    if name not in MEASURES:
        raise InvalidOptionError(f"@measure must be one of {', '.join(MEASURES)}", repr(measure))
    forecasts = Rows.of_kind(
        y_true,
        y_pred,
        kind,
        upper=upper,
        level=level,
        range_=range,
        sample_weight=sample_weight,
    )
    return measure_rows(forecasts, name, options)


def measure_rows(forecasts: Rows, name: str, options: dict[str, Any]) -> Measurement:
    """Measure forecasts that were checked before."""
    entry = find_measure(name)
    value = entry.function(Joint.of(forecasts), **options)
    unit = forecasts.scale.unit ** entry.power(**options)
    low, high = value.bounds
    scaled = {"kind": forecasts.kind.name}
    if forecasts.scale.bounded:
        scaled["range"] = f"{forecasts.scale.start:g} to {forecasts.scale.end:g}"
    return Measurement(
        float(value) * unit,
        name,
        {**value.settings, **scaled},
        partial(_witness, forecasts, value),
        bounds=(low * unit, high * unit),
    )


def _witness(forecasts: Rows, value: Measurement) -> WitnessInUnits:
    return WitnessInUnits(forecasts, value.witness)
