"""What pages ask of Sphinx, in comments that no other reader of Markdown shows.

    <!-- pages
    install
    Five minutes <five_minutes>
    -->

names the pages below a page;

    [the changelog](../CHANGELOG.md) <!-- include -->

puts a file in place of a link to it, with `<!-- include without its title -->` below a heading of the page;

    <!-- table: measures -->
    ...
    <!-- end of table -->

holds a table that follows from the code: `python docs/write_tables.py` writes it, a test keeps it true.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

PAGES = re.compile(r"^<!-- pages\n(.*?)\n-->$", flags=re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(
    r"^\[[^\]\n]*\]\(([^)\n]+)\) <!-- include( without its title)? -->$", flags=re.MULTILINE
)
TABLE = re.compile(
    r"^(<!-- table: (\w+) -->\n)(.*?)(\n<!-- end of table -->)$", flags=re.MULTILINE | re.DOTALL
)


def with_directives(source: str) -> str:
    """Write comments and links as the directives that they stand for."""
    source = PAGES.sub(lambda found: toctree(found[1]), source)
    return INCLUDED.sub(lambda found: _include(found[1], below=bool(found[2])), source)


def toctree(names: str) -> str:
    """Name the pages below a page, one a line."""
    return f"```{{toctree}}\n:hidden:\n\n{names}\n```"


def _include(path: str, *, below: bool) -> str:
    options = ":start-line: 2\n:heading-offset: 1\n" if below else ""
    return f"```{{include}} {path}\n{options}```"


def tables_of(source: str) -> Iterator[tuple[str, str]]:
    """Name and text of every table that stands in a page."""
    for found in TABLE.finditer(source):
        yield found[2], found[3].strip("\n")


def with_tables(source: str, tables: Mapping[str, str]) -> str:
    """Put tables where a page holds earlier ones of the same names."""
    return TABLE.sub(
        lambda found: (
            f"{found[1]}\n{tables[found[2]].strip()}\n{found[4]}"
            if found[2] in tables
            else found[0]
        ),
        source,
    )
