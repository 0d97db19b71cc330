"""Databases that DuckDB attaches through its extensions."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

KINDS = {
    "sqlite": "sqlite",
    "sqlite3": "sqlite",
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
}


def attach(connection: duckdb.DuckDBPyConnection, database: str) -> None:
    """Attach a database for reading, and look for tables there first."""
    scheme, _, location = database.partition(":")
    kind = KINDS.get(scheme)
    if kind is None:
        location = database
    elif kind == "sqlite":
        location = location.removeprefix("//")
    elif location.startswith("//"):
        location = database
    if kind is not None:
        _load_packaged(connection, f"{kind}_scanner")
    options = "read_only" if kind is None else f"type {kind}, read_only"
    quoted = location.replace("'", "''")
    connection.execute(f"attach '{quoted}' as forecasts ({options})")
    connection.execute("use forecasts")


def first_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...] | None:
    """Return the first row of a query's answer, which is fetched whole; None without rows.

    A connection whose last answer was not fetched to its end takes no other work, since DuckDB 2.
    """
    rows = connection.execute(query).fetchall()
    return rows[0] if rows else None


def _load_packaged(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from the Python package that carries it; DuckDB fetches it otherwise."""
    spec = find_spec(f"duckdb_extension_{name}")
    if spec is None or spec.origin is None:
        return
    (version,) = first_row(connection, "select version()") or ("",)
    file = Path(spec.origin).parent / "extensions" / version / f"{name}.duckdb_extension"
    if file.is_file():
        connection.load_extension(str(file))
