"""Sums that an engine makes of rows where they live, brought to a Joint."""
