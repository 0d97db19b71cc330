"""Forecasts watched one after the other: a monitor that may be looked at after every row."""

from calibrant.monitoring.alarms import Bets as Bets
from calibrant.monitoring.betting_test import BettingTest, betting_test
from calibrant.monitoring.log_lines import (
    group_table as group_table,
    log_text as log_text,
    window_table as window_table,
)
from calibrant.monitoring.logs import (
    continue_monitor as continue_monitor,
    run_at_large as run_at_large,
    run_monitor,
)
from calibrant.monitoring.monitor import CalibrationMonitor
from calibrant.monitoring.runs import MonitoredGroup, MonitorRun
from calibrant.monitoring.state import MonitorState as MonitorState
from calibrant.monitoring.windows import Window, windows_of as windows_of

__all__ = [
    "BettingTest",
    "CalibrationMonitor",
    "MonitorRun",
    "MonitoredGroup",
    "Window",
    "betting_test",
    "run_monitor",
]
