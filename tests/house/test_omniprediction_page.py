"""Numbers that docs/omniprediction.md quotes stand on the page that the benchmark wrote."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "omniprediction.md").read_text(encoding="utf-8")
MEASURED = (ROOT / "benchmarks" / "OMNIPREDICTION.md").read_text(encoding="utf-8")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured():
    """Cells by data set, loss and predictor."""
    found = {}
    for part in MEASURED.split("## ")[1:]:
        title, _, rest = part.partition(":")
        lines = [cells(line) for line in rest.splitlines() if line.startswith("| ")]
        for loss, *values in lines[1:]:
            columns = zip(lines[0][1:], values, strict=True)
            found |= {(title, loss, name): cell for name, cell in columns}
    return found


def test_the_table_is_that_of_the_benchmark():
    lines = [cells(line) for line in PAGE.splitlines() if line.startswith("| ")]
    start = next(i for i, line in enumerate(lines) if line[0] == "data, rows to fit")
    names, found = lines[start][2:], measured()
    table = [line for line in lines[start + 1 :] if len(line) == len(names) + 2]
    assert len(table) == 9
    for data, loss, *values in table:
        title = data.rpartition(",")[0] or data
        assert values == [found[title, loss, name] for name in names], (data, loss)


def test_what_the_page_says_of_the_losses_is_so():
    """On the flights one predictor is within noise of five models; with few rows it is not."""
    found = measured()
    difference = {
        key: float(re.match(r"[+-][\d.]+", cell).group())
        for key, cell in found.items()
        if re.match(r"[+-]", cell)
    }
    data, losses = ({key[i] for key in difference} for i in (0, 1))
    assert (len(data), len(losses)) == (3, 5)
    assert all(difference["flights", loss, "multiaccuracy"] < 0.0005 for loss in losses)
    for small in data - {"flights"}:
        for loss in ("squared", "log"):
            assert difference[small, loss, "multiaccuracy"] > 0.002
        assert difference[small, "a miss costs 9", "multiaccuracy"] < 0
    for title in data:
        for loss in losses:
            heads, best = (difference[title, loss, f"isotron{x}"] for x in (", heads", ""))
            assert heads >= best
