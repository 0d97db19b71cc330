"""`calibrant demo`: the audit on forecasts that ship with the package."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant.cli.write import write_text

TITLE = "Chance that a flight from New York arrives 15 minutes late or more, 2013"


def demo(
    html: Annotated[str, typer.Option(help="File for the report.")] = "calibrant-demo.html",
) -> None:
    """Audit the forecasts that ship: chances that a flight from New York arrives late."""
    from calibrant import report
    from calibrant.datasets import flights

    columns = flights()
    result = report.audit(
        columns["outcome"],
        columns["prediction"],
        by={name: columns[name] for name in ("carrier", "month")},
        title=TITLE,
    )
    typer.echo(f"{TITLE}\n\n{result}")
    write_text(result.to_html(), html, "--html")
    typer.echo(f"\nreport: {html}")
