"""Write the tables of pages that follow from the code: measures, JSON, statements of the survey."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "site"))

from comments import with_tables  # noqa: E402
from measure_tables import further_table, measure_index, measure_table  # noqa: E402
from schema_table import schema_table  # noqa: E402
from statement_table import statement_table  # noqa: E402

PAGES = ("which_measure.md", "measures/index.md", "json.md", "survey/statements.md")


def tables() -> dict[str, str]:
    """Every table by its name."""
    return {
        "measures": measure_table(),
        "further_measures": further_table(),
        "measures_by_family": measure_index(),
        "schema": schema_table(),
        "statements": statement_table(),
    }


def main() -> None:
    """Write the tables into their pages."""
    found = tables()
    for name in PAGES:
        path = DOCS / name
        path.write_text(with_tables(path.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
