"""The command that recalibrates the forecasts of an audit, as it can be typed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

# Kinds of files that are written as they were read; all others become Parquet.
KEPT = {".csv", ".tsv", ".jsonl", ".ndjson"}
UNKNOWN = "FILE"


@dataclass(frozen=True, slots=True)
class RecalibrateCommand:
    """`calibrant recalibrate` on the audited files; FILE stands for those without a name."""

    files: tuple[str, ...] = (UNKNOWN,)
    options: tuple[str, ...] = ()
    """Options that say how the files are read."""

    def text(self, *more: str) -> str:
        """Write the command with further options."""
        return shlex.join(["calibrant", "recalibrate", *self.files, *self.options, *more])

    @property
    def whole(self) -> str:
        """The command that writes the calibrator, and the rows in a file of the same kind."""
        return self.text("--out", fixed_name(self.files), "--calibrator", "calibrator.json")


def fixed_name(files: Sequence[str]) -> str:
    """Name a file for recalibrated rows, of the kind of those that were read."""
    suffixes = PurePath(files[0].lower()).suffixes[-2:]  # perhaps compressed
    return f"fixed{next((suffix for suffix in suffixes if suffix in KEPT), '.parquet')}"
