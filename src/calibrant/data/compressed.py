"""Whether a compressed file is whole: DuckDB may take the rest of one that was cut off for all."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO

from calibrant.errors import InvalidForecastsError, ReadingError

READABLE = "the file must be readable CSV, Parquet or JSON lines"
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = 0xFD2FB528
SKIPPABLE_MAGIC = range(0x184D2A50, 0x184D2A60)
RUN_LENGTH_BLOCK = 1


def check_whole(path: Path) -> None:
    """Refuse a gzip or Zstandard file that is none, or that was cut off or damaged."""
    checks = {".gz": _read_gzip, ".zst": _walk_zstd}
    check = checks.get(path.suffix.lower())
    if check is None:
        return
    try:
        with path.open("rb") as stream:
            check(stream)
    except (EOFError, OSError, zlib.error) as error:
        got = f"{path.name}: {str(error).rstrip('.')}"
        raise ReadingError(READABLE, got, "fetch or write it again") from error


def _read_gzip(stream: BinaryIO) -> None:
    if stream.read(2) != GZIP_MAGIC:
        raise _not_packed(stream, "gzip")
    stream.seek(0)
    with gzip.open(stream) as unpacked:
        while unpacked.read(2**20):
            pass


def _walk_zstd(stream: BinaryIO) -> None:
    """Follow frames and blocks by their sizes, without unpacking them (RFC 8878, section 3.1)."""
    end = stream.seek(0, 2)
    stream.seek(0)
    while stream.tell() < end:
        magic = _number(stream, 4)
        if magic in SKIPPABLE_MAGIC:
            stream.seek(_number(stream, 4), 1)
        elif magic == ZSTD_MAGIC:
            _walk_frame(stream)
        else:
            raise _not_packed(stream, "Zstandard")
        if stream.tell() > end:
            raise EOFError("Compressed file ended before the end of its last block")


def _walk_frame(stream: BinaryIO) -> None:
    descriptor = _number(stream, 1)
    single = descriptor >> 5 & 1
    window = 1 - single
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    content = (single, 2, 4, 8)[descriptor >> 6]
    stream.seek(window + dictionary + content, 1)
    last = 0
    while not last:
        header = _number(stream, 3)
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        stream.seek(1 if kind == RUN_LENGTH_BLOCK else size, 1)
    if descriptor >> 2 & 1:
        stream.seek(4, 1)


def _not_packed(stream: BinaryIO, kind: str) -> InvalidForecastsError:
    return InvalidForecastsError(
        READABLE,
        f"{Path(stream.name).name}: not a {kind} file",
        "pack it, or leave the last ending out of its name",
    )


def _number(stream: BinaryIO, size: int) -> int:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError("Compressed file ended before its end-of-stream marker was reached")
    return int.from_bytes(found, "little")
