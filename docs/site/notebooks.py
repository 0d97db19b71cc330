"""Tutorials as notebooks to download: the same text and code, without prompts and outputs."""

from __future__ import annotations

import doctest
import json
import re

from pictures import MARK

BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
PARSER = doctest.DocTestParser()
FIGURE = "figure"
"""What pages call a figure of matplotlib that they draw by themselves."""


def notebook(source: str) -> str:
    """Write a page of examples as a notebook of form 4."""
    cells: list[dict[str, object]] = []
    done = 0
    for block in BLOCK.finditer(source):
        add_text(cells, source[done : block.start()])
        add_code(cells, block[1])
        done = block.end()
        if mark := MARK.match(source[done:].lstrip()):
            code = cells[-1]["source"]
            cells[-1]["source"] = f"{code}\n{shown(mark[1])}"
    add_text(cells, source[done:])
    known = {"name": "python3", "display_name": "Python 3", "language": "python"}
    held = {"cells": cells, "metadata": {"kernelspec": known}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(held, indent=1)


def add_text(cells: list[dict[str, object]], text: str) -> None:
    """Add what stands between blocks of code."""
    text = MARK.sub("", text).strip()
    if text:
        name = f"text-{len(cells)}"
        cells.append({"cell_type": "markdown", "id": name, "metadata": {}, "source": text})


def add_code(cells: list[dict[str, object]], block: str) -> None:
    """Add a block of code without prompts and what it prints."""
    code = "".join(example.source for example in PARSER.get_examples(block)).rstrip()
    cells.append(
        {
            "cell_type": "code",
            "id": f"code-{len(cells)}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": code,
        }
    )


def shown(name: str) -> str:
    """Write what shows the Display of a name in a notebook; a figure shows itself."""
    return name if name == FIGURE else f"{name}.plot();"
