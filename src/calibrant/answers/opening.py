"""Files as objects of JSON, one by one: lines, whole documents, zipped samples."""

from __future__ import annotations

import gzip
import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from calibrant.data.compressed import READABLE
from calibrant.errors import InvalidForecastsError, ReadingError

ZIP_MAGIC = b"PK\x03\x04"
# Python before 3.14 cannot unpack this kind of a zip's members; inspect writes it.
ZSTANDARD = 93
LONGEST_LINE = 2**28
Object = dict[str, Any]


def is_zip(path: str) -> bool:
    """Whether a file is a zip, by its first bytes."""
    with Path(path).open("rb") as stream:
        return stream.read(4) == ZIP_MAGIC


def opened_text(path: str) -> IO[bytes]:
    """Open a file that may be packed."""
    if path.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return Path(path).open("rb")


def lines_of(path: str) -> Iterator[Object]:
    """Read JSON lines one by one; blank ones are skipped."""
    name, decode = Path(path).name, json.JSONDecoder().raw_decode
    if path.endswith(".zst"):
        texts: Iterator[Any] = (text for _, text in _unpacked([path], "newline_delimited"))
    else:
        texts = _raw_lines(path)
    for number, given in enumerate(texts, 1):
        line = given.strip()
        if not line:
            continue
        try:
            text = line if isinstance(line, str) else str(line, "utf-8")
            found, end = decode(text)
        except ValueError as error:
            cut = "\n" not in given if isinstance(given, str) else b"\n" not in given
            raise _bad_line(number, name, error, cut_off=cut) from error
        if end != len(text):
            raise _bad_line(number, name, f"more after character {end}")
        if type(found) is not dict:
            raise InvalidForecastsError(
                "each line must be an object of JSON", f"line {number} of {name}"
            )
        yield found


def _bad_line(
    number: int, name: str, error: object, *, cut_off: bool = False
) -> InvalidForecastsError:
    got = f"line {number} of {name}: {error}"
    hint = "the file ends within a line: remove that line, or run again" if cut_off else ""
    return InvalidForecastsError("each line must be JSON", got, hint)


def _raw_lines(path: str) -> Iterator[bytes]:
    with opened_text(path) as stream:
        first = stream.readline(LONGEST_LINE)
        yield first.removeprefix(b"\xef\xbb\xbf")
        yield from stream


def document(path: str) -> Any:
    """Read a file that is one value of JSON."""
    try:
        with opened_text(path) as stream:
            return json.load(stream)
    except ValueError as error:
        raise InvalidForecastsError(
            "the file must be JSON, or lines of it", f"{Path(path).name}: {error}"
        ) from error


def first_object(path: str) -> Object | None:
    """Return the first line of a file if it is an object of JSON by itself."""
    try:
        return next(lines_of(path), None)
    except (InvalidForecastsError, UnicodeDecodeError):
        return None


class Archive:
    """Members of a zip, whatever they were packed with."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as packed:
                self.members = {member.filename: member for member in packed.infolist()}
        except zipfile.BadZipFile as error:
            raise ReadingError(
                "the log must be a whole zip", f"{Path(path).name}: {error}", "fetch it again"
            ) from error

    def objects(self, names: Sequence[str]) -> Iterator[Object]:
        """Read members one by one, in no order."""
        plain = [name for name in names if self.members[name].compress_type != ZSTANDARD]
        with zipfile.ZipFile(self.path) as packed:
            for name in plain:
                yield self._parsed(packed.read(name), name)
        others = [name for name in names if self.members[name].compress_type == ZSTANDARD]
        if others:
            with tempfile.TemporaryDirectory() as folder:
                files = [self._copied(name, Path(folder), at) for at, name in enumerate(others)]
                for place, text in _unpacked(files, "unstructured"):
                    yield self._parsed(text, others[int(Path(place).name.split(".")[0])])

    def _copied(self, name: str, folder: Path, number: int) -> str:
        """Write the packed bytes of a member to a file, which DuckDB can unpack."""
        member = self.members[name]
        with Path(self.path).open("rb") as stream:
            stream.seek(member.header_offset + 26)
            lengths = stream.read(4)
            stream.seek(int.from_bytes(lengths[:2], "little"), 1)
            stream.seek(int.from_bytes(lengths[2:], "little"), 1)
            target = folder / f"{number}.json.zst"
            target.write_bytes(stream.read(member.compress_size))
        return str(target)

    def _parsed(self, text: bytes | str, name: str) -> Object:
        try:
            found = json.loads(text)
        except ValueError as error:
            raise InvalidForecastsError(
                "the log must hold JSON", f"{name} of {Path(self.path).name}: {error}"
            ) from error
        return found if isinstance(found, dict) else {}


def _unpacked(files: Sequence[str], kind: str) -> Iterator[tuple[str, str]]:
    """Unpack Zstandard files with DuckDB: the file and each object in it, as text."""
    import duckdb

    with duckdb.connect() as connection:
        relation = (
            "select filename, json::varchar from read_json_objects(?, format = ?, "
            "compression = 'zstd', maximum_object_size = ?, filename = true)"
        )
        try:
            connection.execute(relation, [list(files), kind, LONGEST_LINE])
            while rows := connection.fetchmany(1000):
                yield from rows
        except duckdb.Error as error:
            got = str(error).splitlines()[0].rstrip(".")
            raise InvalidForecastsError(READABLE, got) from error
