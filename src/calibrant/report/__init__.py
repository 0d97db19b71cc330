"""The audit: from forecasts and outcomes to a sentence people can act on."""

from calibrant.report.audit import Audit, audit
from calibrant.report.class_audit import ClassAudit, audit_classes

__all__ = ["Audit", "ClassAudit", "audit", "audit_classes"]
