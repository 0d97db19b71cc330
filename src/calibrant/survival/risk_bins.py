"""Observed risks by a horizon, by Kaplan-Meier or Aalen-Johansen, beside predicted ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Flags, Indices
from calibrant._base.notebook import brief
from calibrant._base.options import check_share, shown, whole
from calibrant.binning import quantile_bins
from calibrant.errors import InvalidTypeError
from calibrant.inference import clopper_pearson
from calibrant.joint import Joint
from calibrant.survival.forecasts import RiskTable, SurvivalForecasts


@dataclass(frozen=True, slots=True)
class RiskBin:
    """Rows with similar risks: what was predicted, and what was observed."""

    rows: int
    events: int
    """Events of interest that were seen by the horizon."""
    censored: int
    """Rows that were lost before the horizon."""
    lowest: float
    highest: float
    """Range of the predicted risks."""
    predicted: float
    """Mean predicted risk, of all rows."""
    observed: float
    """Risk by the horizon: Kaplan-Meier, or Aalen-Johansen where events compete."""
    low: float
    high: float

    def __repr__(self) -> str:
        return brief(self)

    @property
    def ratio(self) -> float:
        """Observed over expected, 1 if the risks are right on average."""
        return self.observed / self.predicted if self.predicted > 0 else np.nan

    @property
    def ratio_limits(self) -> tuple[float, float]:
        """Limits of the ratio, from those of the observed risk."""
        if self.predicted <= 0:
            return np.nan, np.nan
        return self.low / self.predicted, self.high / self.predicted


@dataclass(frozen=True, slots=True)
class ObservedRisk:
    """Predicted and observed risks of all rows, and by bins of the predicted risk."""

    horizon: float
    confidence: float
    method: str
    """"Kaplan-Meier", or "Aalen-Johansen" where events compete."""
    overall: RiskBin
    bins: tuple[RiskBin, ...]
    """By increasing predicted risk."""

    def __repr__(self) -> str:
        return brief(self)


def observed_risk(
    forecasts: SurvivalForecasts, *, bins: int = 10, confidence: float = 0.95
) -> ObservedRisk:
    """Observed risk by the horizon, overall and by bins of the predicted risk.

    Each bin has its own estimate from all its rows, censored or not, so that rows may be lost at
    rates that depend on the predicted risk. That of all rows is the mean over the groups that
    `by` of the forecasts has named.

    Parameters
    ----------
    forecasts : SurvivalForecasts
        Times, events and risks, from `SurvivalForecasts.read`.
    bins : int, default=10
        Bins of about as many rows each; equal risks are never divided.
    confidence : float, default=0.95
        Of the interval of each bin by itself.

    Returns
    -------
    ObservedRisk

    Notes
    -----
    One minus Kaplan-Meier, or the Aalen-Johansen estimate where events compete. The variance V is
    Greenwood's, or that of the delta method. The interval is that of Clopper and Pearson for as
    many rows as have that variance, r (1 - r) / V (Dorey and Korn 1987), so that few events are
    no reason to believe in a narrow one; where no event or nothing but events were seen it takes
    the rows still at risk. Weights are scaled to Kish's number of rows before.
    Known flaw: where the last row of a bin is censored before the horizon the estimate is that of
    the time until then, too low, and the upper limit is 1.

    Examples
    --------
    >>> forecasts = SurvivalForecasts.read(
    ...     duration=[1, 2, 3, 4, 5, 6], event=[1, 0, 1, 1, 0, 0], risk=[0.5] * 6, horizon=4
    ... )
    >>> found = observed_risk(forecasts, bins=1)
    >>> round(found.overall.observed, 3)       # 1 - 5/6 * 3/4 * 2/3
    0.583
    >>> round(found.overall.ratio, 2)
    1.17
    """
    if not isinstance(forecasts, SurvivalForecasts):
        raise InvalidTypeError(
            "forecasts must be SurvivalForecasts", shown(forecasts), "SurvivalForecasts.read(...)"
        )
    check_share("confidence", confidence)
    count = whole("bins", bins, 1, 1000)
    weight = np.ones(len(forecasts)) if forecasts.sample_weight is None else forecasts.sample_weight
    weighing = weight > 0
    risks = Joint.from_samples(
        np.zeros(int(weighing.sum())), forecasts.risk[weighing], sample_weight=weight[weighing]
    )
    pools = quantile_bins(risks, count)
    pool_index = pools.pool_of(forecasts.risk)
    alone = np.zeros(len(forecasts), dtype=np.intp)
    found = [
        _bin(forecasts, weighing & (pool_index == pool), alone, confidence)
        for pool in range(len(pools))
    ]
    competing = bool((forecasts.event[weighing] > 1).any())
    return ObservedRisk(
        forecasts.horizon,
        confidence,
        "Aalen-Johansen" if competing else "Kaplan-Meier",
        _bin(forecasts, weighing, forecasts.stratum, confidence),
        tuple(found),
    )


def _bin(
    forecasts: SurvivalForecasts, inside: Flags, stratum: Indices, confidence: float
) -> RiskBin:
    """Estimate the risk of some rows: the mean over strata of what each of them shows."""
    risk, horizon = forecasts.risk[inside], forecasts.horizon
    weight = np.ones(risk.size)
    if forecasts.sample_weight is not None:
        weight = forecasts.sample_weight[inside]
        weight = weight * (weight.sum() / (weight @ weight))
    duration, event, code = forecasts.duration[inside], forecasts.event[inside], stratum[inside]
    observed = variance = known = 0.0
    lost = False
    for number in np.unique(code):
        part = code == number
        share = float(weight[part].sum() / weight.sum())
        table = RiskTable.of(duration[part], event[part], weight[part])
        chance, spread, left = table.incidence(horizon)
        observed, variance = observed + share * chance, variance + share**2 * spread
        known += left
        # After the last row was lost nothing is known, but that risks only grow.
        lost |= left == 0 and bool(table.censored[-1] > 0)
    low, high = _limits(observed, variance, known, confidence)
    high = 1.0 if lost else high
    censored = (event == 0) & (duration < horizon)
    return RiskBin(
        rows=int(inside.sum()),
        events=int(((event == 1) & (duration <= horizon)).sum()),
        censored=int(censored.sum()),
        lowest=float(risk.min()),
        highest=float(risk.max()),
        predicted=float(np.average(risk, weights=weight)),
        observed=observed,
        low=low,
        high=high,
    )


def _limits(
    observed: float, variance: float, left: float, confidence: float
) -> tuple[float, float]:
    """Limits of Clopper and Pearson, for as many rows as would have the same variance."""
    rows = observed * (1 - observed) / variance if variance > 0 else left
    if rows <= 0:
        return 0.0, 1.0
    events, size = np.array([rows * observed]), np.array([rows])
    low, high = clopper_pearson(events, size, (1 - confidence) / 2)
    return float(low[0]), float(high[0])
