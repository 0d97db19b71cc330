"""The audit: from forecasts and outcomes to a sentence people can act on."""

from calibrant.report.audit import Audit, audit, audit_source as audit_source
from calibrant.report.summary import Asked as Asked

__all__ = ["Audit", "audit"]
