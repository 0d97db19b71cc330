"""Numbers that docs/recalibration.md quotes stand on the pages that benchmarks wrote."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d+\.\d \(\d+\.\d\)")


def test_regrets_and_excess_losses_are_those_of_the_benchmarks():
    page = (ROOT / "docs" / "recalibration.md").read_text(encoding="utf-8")
    quoted = NUMBER.findall(page[page.index("**Why this rule.**") :])
    written = "".join(
        (ROOT / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("CHOICE_RULE", "ARENA")
    )
    assert len(quoted) >= 20
    assert set(quoted) <= set(NUMBER.findall(written))
