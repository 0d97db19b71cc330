"""The one way to write a file: the whole new one appears, or the old one stays."""

from __future__ import annotations

import atexit
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from calibrant.errors import InvalidOptionError, ReadingError, mention

# Drafts lie in hidden folders of this name beside the file that they will become.
DRAFT = ".calibrant-draft-"
DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
WRITABLE = "must name a file that can be written"

# Folders of drafts that are being written, and the process that writes them.
_begun: dict[Path, int] = {}


@contextmanager
def drafted(path: str | Path) -> Iterator[Path]:
    """Give a place for a draft, which becomes the file when it is complete.

    A file that was there keeps its mode and owner, and a link stays a link. A device or pipe is
    written into. If anything is raised, the old file stays and the draft is removed.

    Parameters
    ----------
    path : str or Path
        The file to write.

    Yields
    ------
    Path
        A file that is not there yet, in a folder of its own.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with drafted(f"{folder}/page.txt") as draft:
    ...         _ = draft.write_text("all of it")
    ...     Path(f"{folder}/page.txt").read_text()
    'all of it'
    """
    check_writable(path)
    special = _is_special(path)
    target = Path(path) if special else Path(os.path.realpath(path))
    parent = Path(tempfile.gettempdir()) if special else target.parent
    with _draft_folder(parent) as folder:
        draft = folder / target.name
        yield draft
        if special:
            _pour(draft, target)
        else:
            _replace_target(draft, target)


def write_whole(path: str | Path, text: str) -> None:
    """Write text to a file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/page.txt", "all of it")
    ...     Path(f"{folder}/page.txt").read_text()
    'all of it'
    """
    with drafted(path) as draft:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def locked(path: str | Path, name: str = "path") -> Iterator[None]:
    """Let one process at a time read a file and write it again; others are refused at once.

    The lock is a hidden file beside it. It ends with the process, however that ends.

    Parameters
    ----------
    path : str or Path
        The file, which need not be there.
    name : str
        What the reader calls it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(f"{folder}/state.json"):
    ...     write_whole(f"{folder}/state.json", "{}")
    """
    check_writable(path, name)
    if _is_special(path):
        raise InvalidOptionError(f"{mention(name)} must name a file", f"the device {str(path)!r}")
    target = Path(os.path.realpath(path))
    lock_file = target.with_name(f".{target.name}.lock")
    handle = _lock(lock_file)
    try:
        yield
    finally:
        # It has no name while nobody holds it: what is opened by its name is not an old one.
        with suppress(OSError):
            lock_file.unlink()
        os.close(handle)


def _lock(lock_file: Path) -> int:
    """Open and lock a file that still has its name when it is locked."""
    while True:
        handle = _open_lock(lock_file)
        try:
            _take(handle)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), lock_file.lstat()):
                    return handle
        except BlockingIOError as error:
            os.close(handle)
            raise ReadingError(
                "only one process at a time may use a file of state",
                f"{lock_file.name!r}, which another one holds",
                "try again when it has ended",
            ) from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _open_lock(lock_file: Path) -> int:
    """Open the file of a lock; a link would create or lock a file somewhere else."""
    try:
        return os.open(lock_file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ReadingError(
            "the lock beside a file of state must not be a link",
            repr(str(lock_file)),
            "remove the link",
        ) from error


def _take(handle: int) -> None:
    """Lock an open file, or raise BlockingIOError."""
    if os.name == "nt":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except PermissionError as error:
            raise BlockingIOError(str(error)) from error
        return
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def check_writable(path: str | Path, name: str = "path") -> None:
    """Refuse a place where no file can be written; `name` is what the reader calls it."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  # keeps the path as it was given
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise InvalidOptionError(f"{name} {WRITABLE}", str(error)) from error
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InvalidOptionError(f"{name} {WRITABLE}", f"the folder {str(path)!r}")
    # The owner of the machine may write everything; a file that nobody may write stays.
    if mode is not None and not (mode & 0o222 and os.access(target, os.W_OK)):
        raise InvalidOptionError(f"{name} {WRITABLE}", f"{str(path)!r}, which is read-only")
    if not target.parent.is_dir():
        raise InvalidOptionError(
            f"{name} {WRITABLE}", f"{str(path)!r} in a folder that is not there"
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidOptionError(
            f"{name} {WRITABLE}", f"{str(path)!r} in a folder that is read-only"
        )


def check_outputs(outputs: Mapping[str, str | Path], inputs: Iterable[str | Path] = ()) -> None:
    """Refuse outputs that cannot be written, that are an input, or that are one file.

    Parameters
    ----------
    outputs : mapping of str to path
        What the reader calls each output, and where it goes.
    inputs : iterable of paths
        Files that are read.

    Examples
    --------
    >>> check_outputs({"--json": "a.txt", "--html": "./a.txt"})
    Traceback (most recent call last):
    calibrant.errors.InvalidOptionError: --json and --html must name different files, got './a.txt'.
    """
    read = {_identity(path) for path in inputs if not _is_special(path)}
    written: dict[Hashable, str] = {}
    for name, path in outputs.items():
        check_writable(path, name)
        if _is_special(path):
            continue
        _try_out(path, name)
        one = _identity(path)
        if one in read:
            raise InvalidOptionError(
                f"{mention(name)} must not name a file that is read", repr(str(path))
            )
        if one in written:
            raise InvalidOptionError(
                f"{written[one]} and {name} must name different files", repr(str(path))
            )
        written[one] = name


def discard_drafts() -> None:
    """Remove the drafts that this process has begun and not finished."""
    for folder, process in tuple(_begun.items()):
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


atexit.register(discard_drafts)


def _try_out(path: str | Path, name: str) -> None:
    """Refuse a folder that takes no files, whatever its mode says."""
    try:
        with _draft_folder(Path(os.path.realpath(path)).parent):
            pass
    except OSError as error:
        if error.errno in DISK_FULL:
            raise
        raise InvalidOptionError(f"{name} {WRITABLE}", str(error)) from error


@contextmanager
def _draft_folder(parent: Path) -> Iterator[Path]:
    """Make a folder for a draft, and remove it whatever happens."""
    folder = parent / f"{DRAFT}{secrets.token_hex(8)}"
    # Known before it is made, so that a signal at any moment leaves nothing behind.
    _begun[folder] = os.getpid()
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _begun.pop(folder, None)


def _is_special(path: str | Path) -> bool:
    """Whether a path leads to a device, a pipe or a socket."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _identity(path: str | Path) -> Hashable:
    """Find what two names of one file share, whether it is there or not."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        target = Path(os.path.realpath(path))
        with suppress(OSError):
            parent = target.parent.stat()
            return parent.st_dev, parent.st_ino, target.name
        return target
    return found.st_dev, found.st_ino


def _pour(draft: Path, target: Path) -> None:
    with draft.open("rb") as source, target.open("wb") as sink:
        shutil.copyfileobj(source, sink)


def _replace_target(draft: Path, target: Path) -> None:
    """Move a complete draft to its place; after a crash there is the old file or the new one."""
    with suppress(FileNotFoundError):
        old = target.stat()
        if hasattr(os, "chown"):  # Windows has no such owners
            with suppress(PermissionError):
                os.chown(draft, old.st_uid, old.st_gid)
        draft.chmod(stat.S_IMODE(old.st_mode))
    _sync(draft)
    draft.replace(target)
    # The file has its name; some file systems cannot promise to keep it after a power cut.
    with suppress(OSError):
        _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
