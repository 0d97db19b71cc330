"""The audit: from forecasts and outcomes to a sentence people can act on."""

from calibrant.report.audit import Audit, audit

__all__ = ["Audit", "audit"]
