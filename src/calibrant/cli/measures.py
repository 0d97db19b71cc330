"""`calibrant measures`: what can be measured."""

from __future__ import annotations

from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import fill


def measures() -> None:
    """List what can be measured and of what, what each measure asks, and its known flaw."""
    import typer

    typer.echo("\n".join(_lines(min(get_terminal_size().columns, 100))))


def _lines(width: int) -> Iterator[str]:
    from calibrant.catalogue import CATALOGUE, DOMAINS

    for domain, words in DOMAINS.items():
        yield f"{domain}: measures of {words}"
        for measure in CATALOGUE.values():
            if measure.domain != domain:
                continue
            yield ""
            others = f" (also {', '.join(measure.other_names)})" if measure.other_names else ""
            yield f"  {measure.name}{others}"
            yield from (
                fill(text, width, initial_indent="      ", subsequent_indent="        ")
                for text in (measure.asks, f"Known flaw: {measure.flaw}.", measure.source)
            )
        yield ""
