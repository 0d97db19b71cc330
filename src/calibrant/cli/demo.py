"""`calibrant demo`: the audit on forecasts that ship with the package."""

from __future__ import annotations

import typer

from calibrant import report
from calibrant.datasets import flights


def demo() -> None:
    """Audit the forecasts that ship: chances that a flight from New York arrives late."""
    typer.echo("Chance that a flight from New York arrives 15 minutes late or more, 2013\n")
    columns = flights()
    typer.echo(str(report.audit(columns["outcome"], columns["prediction"])))
