"""Risks of an event by a horizon, where some rows were not followed for so long."""

from calibrant.survival.forecasts import (
    Survival as Survival,
    SurvivalForecasts,
    read_survival as read_survival,
)
from calibrant.survival.risk_bins import ObservedRisk, RiskBin, observed_risk

__all__ = ["ObservedRisk", "RiskBin", "SurvivalForecasts", "observed_risk"]
