"""`calibrant measures`: what can be measured."""

from __future__ import annotations


def measures() -> None:
    """List what can be measured, what each measure asks, and its known flaw."""
    from rich.console import Console
    from rich.table import Table

    from calibrant.catalogue import CATALOGUE
    from calibrant.groups.catalogue import GROUP_MEASURES

    table = Table(box=None, pad_edge=False)
    table.add_column("measure", no_wrap=True)
    for heading in ("asks", "known flaw", "survey"):
        table.add_column(heading)
    for measure in CATALOGUE.values():
        table.add_row(measure.name, measure.asks, measure.flaw, measure.section)
    for group_measure in GROUP_MEASURES.values():
        name = f"groups.{group_measure.name}"
        table.add_row(name, group_measure.asks, group_measure.flaw, group_measure.section)
    Console().print(table)
