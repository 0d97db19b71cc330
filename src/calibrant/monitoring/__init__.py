"""Forecasts watched one after the other: a monitor that may be looked at after every row."""

from calibrant.monitoring.logs import Watch, Watched, watch, watch_at_large as watch_at_large
from calibrant.monitoring.monitor import CalibrationMonitor
from calibrant.monitoring.windows import Window, windows_of as windows_of

__all__ = ["CalibrationMonitor", "Watch", "Watched", "Window", "watch"]
