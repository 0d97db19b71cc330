"""Public names found by their path, when they are needed.

The catalogue names functions of every package, and results draw themselves with displays of
`calibrant.plots`: both lie above in the import layers. This is the one place that looks upwards.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def public(path: str) -> Any:
    """Return what `calibrant.<path>` names: `public("plots.ReliabilityDisplay")`."""
    package, _, name = path.rpartition(".")
    return getattr(import_module(f"calibrant.{package}" if package else "calibrant"), name)
