"""The audit: from forecasts and outcomes to a sentence people can act on."""

from calibrant.report.audit import (
    Audit,
    audit,
    audit_source as audit_source,
    refuse_options_of_probabilities as refuse_options_of_probabilities,
)
from calibrant.report.repair_command import (
    RepairCommand as RepairCommand,
    fixed_name as fixed_name,
)
from calibrant.report.screen import (
    Line as Line,
    next_repair as next_repair,
    sentence_lines as sentence_lines,
)
from calibrant.report.sentences import verdict_sentence as verdict_sentence
from calibrant.report.summary import Asked as Asked, Summary as Summary
from calibrant.report.watch_page import render_watch as render_watch

__all__ = ["Audit", "audit"]
