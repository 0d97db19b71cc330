"""Where forecasts of real outcomes are off, in words and in the units of the outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats
from calibrant.joint import Joint
from calibrant.joint.sums import level_of
from calibrant.real.evidence import RealEvidence
from calibrant.real.forecasts import AnyKind, RealForecasts
from calibrant.real.properties import Coverage, Mean, Quantile
from calibrant.regions import Region, opposite_region, strongest_region
from calibrant.words import comparable_texts, count_text, percent_text


@dataclass(frozen=True, slots=True)
class RealRegion(Region):
    """A run of neighbouring forecasts.

    `prediction` and `outcome` are the mean forecast and the observed mean or expectile; of
    quantiles and intervals the share of outcomes that was promised, and the share observed.
    """

    kind: AnyKind

    @property
    def sentence(self) -> str:
        """Say where forecasts are off, in which direction and by how much."""
        return f"{self.where} are {self.direction} ({self.promised_and_observed}, {self._rows})"

    @property
    def where(self) -> str:
        """Say which forecasts are meant."""
        several = "intervals" if isinstance(self.kind, Coverage) else "forecasts"
        return f"{several} {self.among}"

    @property
    def among(self) -> str:
        """Say which of the forecasts are meant."""
        low, high = comparable_texts(self.low, self.high)
        width = isinstance(self.kind, Coverage)
        if self.low == self.high:
            return f"of width {low}" if width else f"of {low}"
        return f"{'of width ' if width else ''}between {low} and {high}"

    @property
    def direction(self) -> str:
        """Say in which direction they are off."""
        interval = isinstance(self.kind, Coverage)
        # More outcomes at or below a quantile than promised: it is too high.
        observed_more = self.outcome > self.prediction
        if interval:
            return "too wide" if observed_more else "too narrow"
        if isinstance(self.kind, Quantile):
            return "too high" if observed_more else "too low"
        return "too low" if observed_more else "too high"

    @property
    def promised_and_observed(self) -> str:
        """Say what was promised beside what was observed."""
        return promised_and_observed(self.kind, self.prediction, self.outcome)

    @property
    def _rows(self) -> str:
        return count_text(self.rows, "row")


def promised_and_observed(kind: AnyKind, promised: float, observed: float) -> str:
    """Say what was promised beside what was observed, by the kind of forecast."""
    if isinstance(kind, Quantile | Coverage):
        where = "inside" if isinstance(kind, Coverage) else "at or below"
        return f"{percent_text(observed)} of outcomes {where}, {percent_text(promised)} promised"
    what = "mean" if isinstance(kind, Mean) else "expectile"
    forecast, outcome = comparable_texts(promised, observed)
    return f"mean forecast {forecast}, observed {what} {outcome}"


def promised(forecasts: RealForecasts) -> float:
    """Return the mean forecast, or the share of outcomes that was promised."""
    if isinstance(forecasts.kind, Quantile | Coverage):
        return forecasts.kind.level
    return forecasts.mean_of(forecasts.forecast)


def observed(forecasts: RealForecasts) -> float:
    """Return the share of outcomes, or the mean forecast after the one shift that would be right.

    Of means that is the mean outcome. The expectile of outcomes whose forecasts differ is not their
    mean expectile: how forecasts spread is no error of theirs.
    """
    if isinstance(forecasts.kind, Quantile | Coverage):
        return forecasts.mean_of(forecasts.reached.astype(np.float64))
    if isinstance(forecasts.kind, Mean):
        return forecasts.mean_of(forecasts.outcome)
    off = forecasts.outcome - forecasts.forecast
    return promised(forecasts) + forecasts.kind.best(off, forecasts.weights)


def region_of(forecasts: RealForecasts, low: float, high: float) -> RealRegion:
    """Describe the forecasts between two positions."""
    inside = (forecasts.position >= low) & (forecasts.position <= high)
    part = forecasts.where(inside)
    return RealRegion(
        low=float(part.place.min()),
        high=float(part.place.max()),
        prediction=promised(part),
        outcome=observed(part),
        rows=len(part) if part.weight is None else int((part.weight > 0).sum()),
        kind=forecasts.kind,
    )


def clearest_region(forecasts: RealForecasts, joint: Joint, witness: Floats) -> RealRegion | None:
    """Find where a witness sees the clearest bias; None where it gains nothing."""
    region = strongest_region(joint, witness)
    return None if region is None else region_of(forecasts, region.low, region.high)


def other_region(
    forecasts: RealForecasts, evidence: RealEvidence, region: Region
) -> RealRegion | None:
    """Find where forecasts are clearly off the other way, beside a region of the Joint.

    Outcomes near the forecasts of a range may all be alike by chance: none is taken to vary less
    than all rows do.
    """
    if evidence.clusters is not None:  # one of them may be a range of its own
        return None
    joint, rows, level = evidence.given, forecasts.weighing, evidence.chance
    charge = np.abs(rows.weights * rows.charge)
    if level is not None:
        variance = joint.weight_squares * level * (1 - level)
    else:
        squares = charge**2
        seen = np.bincount(level_of(rows.position, joint), squares, len(joint))
        usual = squares.sum() / joint.weight_squares.sum()
        variance = np.maximum(seen, joint.weight_squares * usual)
    found = opposite_region(joint, region, variance, float(charge.max()))
    return None if found is None else region_of(rows, found.low, found.high)
