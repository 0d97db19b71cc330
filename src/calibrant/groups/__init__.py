"""Calibrated for whom: the same verdict for every group, simultaneously."""

from calibrant.groups.audit import Group, Groups, audit_groups, judge_groups

__all__ = ["Group", "Groups", "audit_groups", "judge_groups"]
