"""A Joint as an Arrow table or a Parquet file that later versions read back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.arrays import Floats
from calibrant.errors import InvalidStateError, MissingPackageError
from calibrant.joint.checks import check_levels
from calibrant.joint.law import Law
from calibrant.joint.sums import LAW, Sums
from calibrant.stored import Stored, restoring
from calibrant.writing import drafted

if TYPE_CHECKING:
    import pyarrow as pa

# Tables say which form they have; every form that was ever written is read back.
ARROW_SCHEMA = 1


class Storage(Law):
    """To Arrow and back."""

    def to_arrow(self) -> pa.Table:
        """Return the Joint as an Arrow table, one row per level; `from_arrow` takes it back.

        Its metadata says what the levels cannot: `calibrant.schema`, `calibrant.rows`,
        `calibrant.resolution` (0 for exact levels), `calibrant.rounding` (the certificate) and
        more.

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_samples([0, 1], [0.2, 0.6]).to_arrow().column_names
        ['prediction', 'weight', 'positives', 'rows', 'weight_squares', 'low', 'high']
        """
        metadata = {
            "calibrant.schema": str(ARROW_SCHEMA),
            "calibrant.rows": str(self.row_count),
            "calibrant.binary": str(int(self.binary)),
            "calibrant.clipped": str(self.clipped),
            "calibrant.resolution": str(self.resolution or 0),
            "calibrant.rounding": repr(self.rounding),
            "calibrant.inherited_rounding": repr(self._inherited_rounding),
        }
        columns = self.sums().with_ends().columns()
        return _pyarrow().table(columns).replace_schema_metadata(metadata)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self:
        """Make a Joint from a table written by `to_arrow`."""
        with restoring("a stored Joint"):
            known = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        schema = known.get("calibrant.schema")
        if schema != str(ARROW_SCHEMA):
            raise InvalidStateError(
                f"an Arrow table of a Joint must carry calibrant.schema {ARROW_SCHEMA}",
                f"{schema}",
                "use Joint.from_frame for other tables",
            )
        said = Stored({name: _number(text) for name, text in known.items()}, "a stored Joint")
        levels = Sums(
            **{name: _column(table, name) for name in (*LAW, "low", "high")},
            binary=said.whole("calibrant.binary", 0, 1) == 1,
            clipped=said.whole("calibrant.clipped"),
        )
        resolution = said.whole("calibrant.resolution") or None
        check_levels(levels, said.whole("calibrant.rows", 1), resolution)
        if np.array_equal(*levels.ends()):
            levels = levels.without_ends()
        return cls(
            levels,
            resolution=resolution,
            inherited_rounding=said.number("calibrant.inherited_rounding", 0.0, 1.0),
        )

    def to_parquet(self, path: str | Path) -> None:
        """Store the Joint in a Parquet file; `from_parquet` reads it back.

        The file appears when it is complete, or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from calibrant import Joint
        >>> joint = Joint.from_samples([0, 1], [0.2, 0.6])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     joint.to_parquet(f"{folder}/monday.parquet")
        ...     Joint.from_parquet(f"{folder}/monday.parquet") == joint
        True
        """
        table = self.to_arrow()
        with drafted(path) as draft:
            _parquet().write_table(table, draft)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Self:
        """Read a Joint that `to_parquet` stored."""
        pyarrow = _pyarrow()
        try:
            table = _parquet().read_table(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise InvalidStateError(
                "the file must be a stored Joint", str(error).splitlines()[0].rstrip(".")
            ) from error
        return cls.from_arrow(table)


def _number(text: str) -> object:
    """Read a whole number or a double; anything else stays text, which is then refused."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _column(table: pa.Table, name: str) -> Floats:
    if table.column_names.count(name) != 1:
        raise InvalidStateError(f"a stored Joint must have one column {name!r}")
    column = table.column(name)
    if not _pyarrow().types.is_float64(column.type) or column.null_count:
        raise InvalidStateError(
            f"column {name!r} of a stored Joint must hold doubles", f"{column.type}"
        )
    return np.array(column, dtype=np.float64)


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingPackageError(
            "Arrow tables and Parquet files need pyarrow",
            "no such package",
            "pip install calibrant[arrow]",
        ) from error
    return pa


def _parquet() -> Any:
    _pyarrow()
    import pyarrow.parquet

    return pyarrow.parquet
