"""The audit: from forecasts and outcomes to a sentence people can act on."""

from calibrant.report.audit import (
    Audit,
    audit,
    audit_source as audit_source,
    refuse_options_of_probabilities as refuse_options_of_probabilities,
)
from calibrant.report.monitor_page import render_monitor as render_monitor
from calibrant.report.recalibrate_command import (
    RecalibrateCommand as RecalibrateCommand,
    fixed_name as fixed_name,
)
from calibrant.report.screen import (
    Line as Line,
    recalibration_is_next as recalibration_is_next,
    sentence_lines as sentence_lines,
)
from calibrant.report.sentences import verdict_sentence as verdict_sentence
from calibrant.report.summary import AuditOptions as AuditOptions, Summary as Summary

__all__ = ["Audit", "audit"]
