"""`calibrant demo`: the audit on forecasts that ship with the package."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant.cli.audit import STAGES
from calibrant.cli.progress import progress
from calibrant.cli.show import show_screen
from calibrant.cli.write import check_files, write_text

TITLE = "Chance that a flight from New York arrives 15 minutes late or more, 2013"
# With forecasts of one's own.
NEXT = "calibrant audit forecasts.csv --html report.html"


def demo(
    html: Annotated[str, typer.Option(help="File for the report.")] = "calibrant-demo.html",
) -> None:
    """Audit the forecasts that ship: chances that a flight from New York arrives late."""
    from calibrant.datasets import flights
    from calibrant.inference import Settings
    from calibrant.inputs import Roles, read
    from calibrant.report import AuditOptions, audit_source

    check_files({"--html": html}, [])
    columns = flights()
    by = {name: columns[name] for name in ("carrier", "month")}
    # Weather delays many flights of a day at once: they are no independent observations.
    days = 100 * columns["month"].astype(int) + columns["day"]
    with progress([*STAGES, "groups", "distance to calibration", "pictures"]) as report_stage:
        report_stage("reading")
        roles = Roles(by=by, clusters=days)
        source = read(columns["outcome"], columns["prediction"], roles, title=TITLE)
        result = audit_source(
            source, Settings.read(rng=0), AuditOptions(distances=True), report_stage
        )
        report_stage("pictures")
        page = result.to_html()
    write_text(page, html)
    show_screen(result, NEXT, title=TITLE, written={"report": html})
