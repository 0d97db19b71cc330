"""A Joint as an Arrow table that later versions read back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.errors import InvalidForecastsError, MissingPackageError
from calibrant.joint.checks import check_levels
from calibrant.joint.law import Law
from calibrant.joint.sums import Sums

if TYPE_CHECKING:
    import pyarrow as pa

ARROW_SCHEMA = 1


class Storage(Law):
    """To Arrow and back."""

    def to_arrow(self) -> pa.Table:
        """Return the Joint as an Arrow table, one row per level; `from_arrow` takes it back.

        Examples
        --------
        >>> from calibrant import Joint
        >>> Joint.from_samples([0, 1], [0.2, 0.6]).to_arrow().column_names
        ['prediction', 'weight', 'positives', 'rows', 'weight_squares', 'low', 'high']
        """
        pyarrow = _pyarrow()
        metadata = {
            "calibrant.schema": str(ARROW_SCHEMA),
            "calibrant.binary": str(int(self.binary)),
            "calibrant.clipped": str(self.clipped),
            "calibrant.resolution": str(self.resolution or 0),
            "calibrant.inherited_rounding": repr(self._inherited_rounding),
        }
        columns = self.sums().with_ends().columns()
        return pyarrow.table(columns).replace_schema_metadata(metadata)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self:
        """Make a Joint from a table written by `to_arrow`."""
        metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        schema = metadata.get("calibrant.schema")
        if schema != str(ARROW_SCHEMA):
            raise InvalidForecastsError(
                f"an Arrow table of a Joint must carry calibrant.schema {ARROW_SCHEMA}",
                f"{schema}",
                "use Joint.from_frame for other tables",
            )
        columns: dict[str, Any] = {
            name: np.array(table.column(name), dtype=np.float64) for name in table.column_names
        }
        levels = Sums(
            **columns,
            binary=metadata["calibrant.binary"] == "1",
            clipped=int(metadata["calibrant.clipped"]),
        )
        check_levels(levels)
        return cls(
            levels,
            resolution=int(metadata["calibrant.resolution"]) or None,
            inherited_rounding=float(metadata["calibrant.inherited_rounding"]),
        )


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingPackageError(
            "Arrow tables need pyarrow", "no such package", "pip install calibrant[arrow]"
        ) from error
    return pa
