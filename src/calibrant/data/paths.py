"""Which files are meant: globs and folders found, streams copied, no file counted twice."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from typing import BinaryIO, TypeGuard

from calibrant.data.compressed import READABLE, check_whole
from calibrant.errors import CalibrantError, InvalidForecastsError, ReadingError, reading_failed

STANDARD_INPUT = "-"
# Kinds of files that are often tried, and what to do about them.
_EXCEL = ("Excel files", "save the sheet as CSV")
_ARROW = ("Arrow files", "write Parquet or CSV")
_PACKED = ("files packed in this way", "unpack them, or pack them as .gz or .zst")
_OTHERS = ("files of other programs", "write CSV or Parquet")
UNREAD = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), _EXCEL),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), _ARROW),
    **dict.fromkeys((".bz2", ".xz", ".lz4", ".7z"), _PACKED),
    **dict.fromkeys((".rds", ".rdata", ".sav", ".dta", ".sas7bdat", ".pkl", ".h5"), _OTHERS),
}
REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True)
class Files:
    """Files on this machine that can be read more than once, each of them once."""

    requested: tuple[str, ...]
    """Paths and patterns as the caller passed them."""
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """Sentences on how they were read: files that were named more than once, logs."""


Paths = str | Path | Sequence[str | Path] | Files


def are_paths(source: object) -> TypeGuard[Paths]:
    """Whether something names files, rather than being a frame."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(path, str | Path) for path in source)
    return isinstance(source, str | Path | Files)


@contextmanager
def settled(paths: Paths) -> Iterator[Files]:
    """Find the files that are meant; copies of streams last as long as the context.

    Parameters
    ----------
    paths : str, Path, a sequence of them, or Files
        Files, perhaps compressed; globs; folders of Parquet files; "-" is standard input. Pipes and
        devices are copied as standard input is. Files that were settled before stay as they are.
    """
    if isinstance(paths, Files):
        yield paths
        return
    requested = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if requested.count(STANDARD_INPUT) > 1:
        raise InvalidForecastsError(
            "standard input can be read once", f"{requested.count(STANDARD_INPUT)} times -"
        )
    with ExitStack() as stack:
        try:
            found = [name for path in requested for name in _meant(path, stack)]
            for name in found:
                _refuse_damaged(Path(name))
            files = Files(tuple(dict.fromkeys(requested)), *_each_once(found))
        except OSError as error:
            if error.filename is None:  # explained already, or a copy that could not be made
                raise
            kind = ReadingError if reading_failed(error) else InvalidForecastsError
            raise kind(READABLE, str(error)) from error
        yield files


def _meant(path: str, stack: ExitStack) -> list[str]:
    """Return the files that one name means."""
    if path == STANDARD_INPUT:
        return [stack.enter_context(_copy_of(sys.stdin.buffer, "standard input"))]
    if REMOTE.match(path):
        raise InvalidForecastsError(
            "files must lie on this machine", repr(path), "fetch it first, and name the copy"
        )
    if not path.strip():
        raise InvalidForecastsError("a file must have a name", repr(path))
    location = Path(path)
    kind = UNREAD.get(location.suffix.lower())
    if kind is not None:
        raise InvalidForecastsError(f"{path}: {kind[0]} are not read", hint=kind[1])
    if location.is_dir():
        return _globbed(f"{escape(path)}/**/*.parquet", path)
    if not location.exists():
        return _globbed(path, path)
    if location.is_file() and not path.startswith("/dev/"):
        return [path]
    return [stack.enter_context(_copy_of(stack.enter_context(location.open("rb")), path))]


def _globbed(pattern: str, path: str) -> list[str]:
    found = sorted(glob(pattern, recursive=True))  # noqa: PTH207  # may be absolute
    files = [name for name in found if Path(name).is_file()]
    if not files:
        missing = "no Parquet files in it" if pattern != path else "no such file"
        raise InvalidForecastsError(f"{path}: {missing}")
    return files


def _each_once(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Leave out files that were named before, by whatever name; and say so."""
    first: dict[tuple[int, int], str] = {}
    times: Counter[str] = Counter()
    for name in names:
        status = Path(name).stat()
        times[first.setdefault((status.st_dev, status.st_ino), name)] += 1
    repeated = (
        f"{Path(name).name} was named {count} times and counted once"
        for name, count in times.items()
        if count > 1
    )
    return tuple(first.values()), tuple(repeated)


@contextmanager
def _copy_of(stream: BinaryIO, name: str) -> Iterator[str]:
    """Copy a stream to a file, because DuckDB reads twice; its first bytes tell its kind.

    Errors name what was copied, not the copy.
    """
    start = stream.read(4)
    kind = "parquet" if start == b"PAR1" else "json" if start[:1] in {b"{", b"["} else "csv"
    with tempfile.NamedTemporaryFile(suffix=f".{kind}") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
        copy.flush()
        path = re.escape(copy.name)
        copied = re.compile(f"'{path}'|\"{path}\"|{path}|{re.escape(Path(copy.name).name)}")
        try:
            yield copy.name
        except CalibrantError as error:
            what, got, hint = error.texts
            error.texts = what, copied.sub(lambda _: name, got), hint
            raise


def _refuse_damaged(path: Path) -> None:
    """Refuse files that are empty, and compressed files that were cut off."""
    with path.open("rb"):  # may be forbidden
        pass
    if not path.stat().st_size:
        raise InvalidForecastsError(
            READABLE, f"{path.name}: empty, not even a header", "write it again"
        )
    check_whole(path)
