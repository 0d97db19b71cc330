"""Forecasts watched one after the other: a monitor that may be looked at after every row."""

from calibrant.monitoring.monitor import CalibrationMonitor
from calibrant.monitoring.watch import Watch, Watched, watch
from calibrant.monitoring.windows import Window

__all__ = ["CalibrationMonitor", "Watch", "Watched", "Window", "watch"]
