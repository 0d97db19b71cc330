"""Which rows a log held, remembered by a sum that does not depend on their order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant.data.times import Times

Words = npt.NDArray[np.uint64]
# Two sums of 64 bits, of rows that are mixed from two starts.
STARTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


@dataclass(frozen=True, slots=True)
class RowDigest:
    """How many rows there were, and the sum of their hashes.

    Equal rows in any order have equal sums. It finds mistakes, not forgeries.
    """

    rows: int = 0
    sums: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls,
        time: Times,
        prediction: Floats,
        outcome: npt.NDArray[np.uint8],
        group: npt.NDArray[np.intp],
        names: Sequence[str | None],
    ) -> RowDigest:
        """Look at rows; the names are those of the groups."""
        hashed = np.array([_name(name) for name in names], dtype=np.uint64)
        columns = (_bits(time), _bits(prediction + 0.0), outcome.astype(np.uint64), hashed[group])
        sums = []
        for start in STARTS:
            mixed = np.full(prediction.size, start, dtype=np.uint64)
            for column in columns:
                mixed = _mix(mixed ^ column)
            sums.append(int(mixed.sum(dtype=np.uint64)))
        return cls(prediction.size, (sums[0], sums[1]))

    def __add__(self, other: RowDigest) -> RowDigest:
        first, second = ((a + b) % 2**64 for a, b in zip(self.sums, other.sums, strict=True))
        return RowDigest(self.rows + other.rows, (first, second))

    @property
    def digest(self) -> str:
        """Both sums as text."""
        return f"{self.sums[0]:016x}{self.sums[1]:016x}"


def _bits(column: npt.NDArray[np.generic]) -> Words:
    """Bits of times, which may be dates, or of numbers."""
    kind = np.int64 if column.dtype.kind == "M" else np.float64
    return np.ascontiguousarray(column.astype(kind)).view(np.uint64)


def _name(name: str | None) -> int:
    text = b"" if name is None else b"=" + name.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


def _mix(word: Words) -> Words:
    """Mix bits as SplitMix64 does (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
