"""Files as objects of JSON, one by one: lines, whole documents, zipped samples."""

from __future__ import annotations

import gzip
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from calibrant._base.words import visible
from calibrant.data.compressed import READABLE
from calibrant.errors import InvalidForecastsError, ReadingError

ZIP_MAGIC = b"PK\x03\x04"
# Python before 3.14 cannot unpack this kind of a zip's members; inspect writes it.
ZSTANDARD = 93
LONGEST_LINE = 2**28
Object = dict[str, Any]
Row = TypeVar("Row")


def is_zip(path: str) -> bool:
    """Whether a file is a zip, by its first bytes."""
    with Path(path).open("rb") as stream:
        return stream.read(4) == ZIP_MAGIC


def opened_text(path: str) -> IO[bytes]:
    """Open a file that may be packed."""
    if path.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return Path(path).open("rb")


class TooDeepError(InvalidForecastsError):
    """JSON that no program here can read, whatever kind of file it is."""

    def __init__(self, location: str) -> None:
        super().__init__("JSON must not be nested so deeply that it cannot be read", location)


class MisshapenError(InvalidForecastsError):
    """A piece of a log that its program cannot have written; `Pieces.rows` says which."""


class Pieces:
    """Objects of a log one by one, and where the last of them stands.

    Parameters
    ----------
    objects : iterable of tuples
        What names a piece within the file, and the piece.
    name : str
        The file.
    noun : str
        What pieces are.
    """

    def __init__(self, objects: Iterable[tuple[object, Any]], name: str, noun: str) -> None:
        self._objects, self._name, self._noun = objects, name, noun
        self._at: object = None

    def __iter__(self) -> Iterator[Object]:
        for at, found in self._objects:
            self._at = at
            if type(found) is not dict:
                raise InvalidForecastsError(
                    f"each {self._noun} must be an object of JSON", self.location
                )
            yield found

    @property
    def location(self) -> str:
        """Where the last piece stands."""
        return f"{self._noun} {self._at} of {self._name}"

    def rows(self, read: Iterable[Row]) -> Iterator[Row]:
        """Pass on what is read from these pieces; errors name the piece."""
        try:
            yield from read
        except MisshapenError as error:
            raise InvalidForecastsError(
                error.texts[0], f"{self.location} {error.got}", error.texts[2]
            ) from error
        except RecursionError as error:
            raise TooDeepError(self.location) from error


def part(whole: Object, name: str) -> Object:
    """Return an object within an object; an empty one if there is none."""
    found = whole.get(name)
    if found is not None and type(found) is not dict:
        raise _misshapen(name, "an object of JSON", found)
    return found or {}


def items(whole: Object, name: str) -> list[Any]:
    """Return a list within an object; an empty one if there is none."""
    found = whole.get(name)
    if found is not None and type(found) is not list:
        raise _misshapen(name, "a list", found)
    return found or []


def objects(whole: Object, name: str) -> list[Object]:
    """Return a list of objects within an object."""
    found = items(whole, name)
    if not all(type(one) is dict for one in found):
        raise _misshapen(name, "a list of objects", found)
    return found


def number(value: object, name: str) -> float:
    """Read a number, which may be written as text."""
    try:
        if type(value) is not bool:
            return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        pass
    raise _misshapen(name, "a number", value)


def _misshapen(name: str, what: str, got: object) -> MisshapenError:
    text = visible(repr(got))
    quoted = text if len(text) <= 40 else f"{text[:37]}..."
    return MisshapenError(f"{name!r} must be {what}", f"with {quoted}")


def lines_of(path: str) -> Pieces:
    """Read JSON lines one by one; blank ones are skipped."""
    return Pieces(_lines(path), Path(path).name, "line")


def _lines(path: str) -> Iterator[tuple[int, Any]]:
    name, decode = Path(path).name, json.JSONDecoder().raw_decode
    if path.endswith(".zst"):
        texts: Iterator[Any] = (text for _, text in _unpacked([path], "newline_delimited"))
    else:
        texts = _raw_lines(path)
    for number, raw in enumerate(texts, 1):
        line = raw.strip()
        if not line:
            continue
        try:
            text = line if isinstance(line, str) else str(line, "utf-8")
            found, end = decode(text)
        except ValueError as error:
            cut = "\n" not in raw if isinstance(raw, str) else b"\n" not in raw
            raise _bad_line(number, name, error, cut_off=cut) from error
        except RecursionError as error:
            raise TooDeepError(f"line {number} of {name}") from error
        if end != len(text):
            raise _bad_line(number, name, f"more after character {end}")
        yield number, found


def _bad_line(
    number: int, name: str, error: object, *, cut_off: bool = False
) -> InvalidForecastsError:
    got = f"line {number} of {name}: {error}"
    hint = "the file ends within a line: remove that line, or run again" if cut_off else ""
    return InvalidForecastsError("each line must be JSON", got, hint)


def _raw_lines(path: str) -> Iterator[bytes]:
    with _unpacking(path), opened_text(path) as stream:
        first = stream.readline(LONGEST_LINE)
        yield first.removeprefix(b"\xef\xbb\xbf")
        yield from stream


@contextmanager
def _unpacking(path: str) -> Iterator[None]:
    """Say that a packed file is broken."""
    try:
        yield
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise ReadingError(
            "the file must be whole", f"{Path(path).name}: {error}", "fetch it again"
        ) from error


def document(path: str) -> Any:
    """Read a file that is one value of JSON."""
    try:
        with _unpacking(path), opened_text(path) as stream:
            return json.loads(stream.read().removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise InvalidForecastsError(
            "the file must be JSON, or lines of it", f"{Path(path).name}: {error}"
        ) from error
    except RecursionError as error:
        raise TooDeepError(Path(path).name) from error


def first_object(path: str) -> Object | None:
    """Return the first line of a file if it is an object of JSON by itself."""
    try:
        return next(iter(lines_of(path)), None)
    except TooDeepError:
        raise
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
            raise self._broken(error) from error

    def objects(self, names: Sequence[str]) -> Pieces:
        """Read members one by one, in no order."""
        return Pieces(self._objects(names), Path(self.path).name, "member")

    def _objects(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        plain = [name for name in names if self.members[name].compress_type != ZSTANDARD]
        with _unpacking(self.path), zipfile.ZipFile(self.path) as packed:
            for name in plain:
                yield name, self._parsed(self._bytes(packed, name), name)
        others = [name for name in names if self.members[name].compress_type == ZSTANDARD]
        if others:
            with tempfile.TemporaryDirectory() as folder:
                files = [self._copied(name, Path(folder), at) for at, name in enumerate(others)]
                for location, text in _unpacked(files, "unstructured"):
                    name = others[int(Path(location).name.split(".")[0])]
                    yield name, self._parsed(text, name)

    def _bytes(self, packed: zipfile.ZipFile, name: str) -> bytes:
        try:
            return packed.read(name)
        except (NotImplementedError, RuntimeError) as error:  # a kind of packing, a password
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> ReadingError:
        got = f"{Path(self.path).name}: {error}"
        return ReadingError("the log must be a whole zip", got, "fetch it again")

    def _copied(self, name: str, folder: Path, number: int) -> str:
        """Write the packed bytes of a member to a file, which DuckDB can unpack."""
        member = self.members[name]
        if member.header_offset < 0:
            raise self._broken(zipfile.BadZipFile("negative offset of a member"))
        with Path(self.path).open("rb") as stream:
            stream.seek(member.header_offset + 26)
            lengths = stream.read(4)
            stream.seek(int.from_bytes(lengths[:2], "little"), 1)
            stream.seek(int.from_bytes(lengths[2:], "little"), 1)
            target = folder / f"{number}.json.zst"
            target.write_bytes(stream.read(member.compress_size))
        return str(target)

    def _parsed(self, text: bytes | str, name: str) -> Any:
        location = f"{name} of {Path(self.path).name}"
        try:
            return json.loads(text)
        except ValueError as error:
            raise InvalidForecastsError("the log must hold JSON", f"{location}: {error}") from error
        except RecursionError as error:
            raise TooDeepError(location) from error


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
