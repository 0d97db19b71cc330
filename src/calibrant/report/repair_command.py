"""The command that repairs the forecasts of an audit, as it can be typed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

# Kinds of files that are written as they were read; all others become Parquet.
KEPT = {".csv", ".tsv", ".jsonl", ".ndjson"}
UNKNOWN = "FILE"


@dataclass(frozen=True, slots=True)
class RepairCommand:
    """`calibrant repair` on the files that were audited; FILE stands for those nobody named."""

    files: tuple[str, ...] = (UNKNOWN,)
    options: tuple[str, ...] = ()
    """Options that say how the files are read."""

    def text(self, *more: str) -> str:
        """Write the command with further options."""
        return shlex.join(["calibrant", "repair", *self.files, *self.options, *more])

    @property
    def whole(self) -> str:
        """The command that writes the rows and the map, the rows in a file of the same kind."""
        return self.text("--out", fixed_name(self.files), "--map", "map.json")


def fixed_name(files: Sequence[str]) -> str:
    """Name a file for repaired rows, of the kind of those that were read."""
    suffixes = PurePath(files[0].lower()).suffixes[-2:]  # perhaps compressed
    return f"fixed{next((suffix for suffix in suffixes if suffix in KEPT), '.parquet')}"
