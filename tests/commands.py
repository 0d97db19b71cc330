"""Running the command line as a user does."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

CALIBRANT = ("-m", "calibrant")


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run `calibrant` with arguments: in a fork, or with text to read in a process of its own."""
    if stdin is None:
        done = run_forked(*arguments)
        return subprocess.CompletedProcess(arguments, done.code, done.stdout, done.stderr)
    return subprocess.run(
        [sys.executable, *CALIBRANT, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


def run_forked(*arguments: str, fault: Callable[[], None] | None = None) -> Ended:
    """Run `calibrant` in a fork of a process that has imported it, perhaps with a fault.

    Starting Python takes longer than most commands. The fault is called in the fork, by its name,
    when the standard streams are those of the command.
    """
    with tempfile.TemporaryDirectory() as folder:
        process = start_forked(arguments, folder, fault)
        process.join(120)
        return ended(process, folder)


def start_forked(
    arguments: Sequence[str], folder: str, fault: Callable[[], None] | None = None
) -> BaseProcess:
    """Start `calibrant` in a fork; what it prints goes to files in a folder."""
    _start_server()
    context = multiprocessing.get_context("forkserver")
    # Commands are not as narrow as a worker believes its own terminal to be.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    given = (arguments, environment, folder, fault)
    process = context.Process(target=_command, args=given)
    process.start()
    return process


@cache
def _start_server() -> None:
    """Start the process that is forked, with everything imported.

    It looks for modules where the environment says, not where this process would, and leaves out
    in silence what it does not find.
    """
    multiprocessing.set_forkserver_preload(["commands", "warm"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), *filter(None, [before])]
    )
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def ended(process: BaseProcess, folder: str) -> Ended:
    """Say how a fork ended; one that goes on is killed."""
    if process.is_alive():
        process.kill()
        process.join()
    said = [Path(folder, name) for name in ("stdout", "stderr")]
    texts = [path.read_text(errors="replace") if path.exists() else "" for path in said]
    return Ended(process.exitcode, *texts)


def _command(arguments, environment, folder, fault):
    from calibrant.__main__ import main

    os.environ.clear()
    os.environ.update(environment)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["calibrant", *arguments]
    if fault is not None:
        fault()
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w")
    main()


def _stream(number, mode):
    """Open a standard stream as Python does at its start: None if it is closed."""
    try:
        return open(number, mode, encoding="utf-8", closefd=False)
    except OSError:
        return None


def run_on_a_terminal(patience: float, *arguments: str) -> tuple[Ended, str]:
    """Run `calibrant` with standard error on a terminal: how it ended, and what was seen there."""
    here, there = pty.openpty()
    shown: list[bytes] = []

    def watch() -> None:
        with contextlib.suppress(OSError):  # nobody holds the other end any longer
            while part := os.read(here, 1 << 16):
                shown.append(part)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        done = run_forked(*arguments, fault=partial(show_bar_on, os.ttyname(there), patience))
    finally:
        os.close(there)
        watching.join()
        os.close(here)
    return done, b"".join(shown).decode()


def show_bar_on(terminal: str, patience: float) -> None:
    """Write errors on a terminal, with a bar after some seconds."""
    import calibrant.cli.progress as bar

    bar.PATIENCE = patience
    os.dup2(os.open(terminal, os.O_RDWR | os.O_NOCTTY), 2)


def close_stdin() -> None:
    os.close(0)


def close_stdout() -> None:
    os.close(1)


def close_stderr() -> None:
    os.close(2)


def full_stdout() -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


def broken_stdout() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)


def full_disk(stdin: str = os.devnull) -> None:
    """No file may grow, and writing says so instead of ending the process."""
    os.dup2(os.open(stdin, os.O_RDONLY), 0)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def without_privileges() -> None:
    """Let modes of files hold for the owner of the machine too (capset, Linux)."""
    import ctypes

    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, nothing) == 0


def failing_disk() -> None:
    """Opening a file works, and reading it does not."""
    import duckdb

    def fail():
        raise duckdb.IOException('Could not read from file "rows.csv": Input/output error\n')

    _before("calibrant.data.files", "open_table", fail)


def vanishing_file() -> None:
    """Somebody removes the files between a look at them and reading them."""
    _before("duckdb", "connect", _remove_rows)


def vanishing_folder() -> None:
    """Somebody removes the folder of the files between reading their header and their rows."""
    import calibrant.data.files as place

    opened = place.open_table

    def vanishing(*arguments, **options):
        table = opened(*arguments, **options)
        _remove_rows()
        return table

    place.open_table = vanishing


def _remove_rows():
    for word in sys.argv:
        if word.endswith("/rows.csv"):
            shutil.rmtree(Path(word).parent)


def interrupted_reading() -> None:
    _signal_in_use("duckdb", "connect", signal.SIGINT)


def terminated_reading() -> None:
    _signal_in_use("duckdb", "connect", signal.SIGTERM)


def terminated_writing() -> None:
    _signal_in_use("calibrant._base.writing", "_sync", signal.SIGTERM)


def interrupted_writing() -> None:
    _signal_in_use("calibrant._base.writing", "_sync", signal.SIGINT)


def lost_interrupt() -> None:
    """What an interrupt raises becomes an error of another library, as DuckDB's does."""
    import duckdb

    def connect(*_arguments, **_options):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except BaseException as error:
            raise RuntimeError("Query interrupted") from error

    duckdb.connect = connect


def broken_code() -> None:
    import duckdb

    def connect(*_arguments, **_options):
        raise KeyError("a bug")

    duckdb.connect = connect


def exiting_reader(code: int) -> None:
    """A library ends the process while rows are read."""
    _before("duckdb", "connect", partial(sys.exit, code))


def parser_crashes() -> None:
    """The command-line library fails when it makes the options."""
    _before("typer.main", "get_command", _raise_type_error)


def parser_ends(error: BaseException) -> None:
    """The command-line library ends the process before the command does."""

    def end():
        raise error

    _before("typer.main", "get_command", end)


def parser_runs(other: str | None) -> None:
    """The command-line library runs nothing, or another command than the one asked for."""
    import typer

    from calibrant.cli.main import app

    class Parser:
        def make_context(self, *_arguments, **_options):
            return contextlib.nullcontext(types.SimpleNamespace(params={}))

        def invoke(self, _context):
            if other is not None:
                commands[other].callback()

    commands = typer.main.get_command(app).commands
    typer.main.get_command = lambda _app: Parser()


def messages_crash() -> None:
    """The command-line library fails when it prints its own error."""
    _before("typer.rich_utils", "rich_format_error", _raise_type_error)


def _raise_type_error():
    raise TypeError("made for another version")


def _signal_in_use(module, name, number):
    """Send a signal to the process when it calls a function."""
    _before(module, name, lambda: os.kill(os.getpid(), number))


def _before(module, name, action):
    """Do something whenever a function is called."""
    import importlib

    place = importlib.import_module(module)
    function = getattr(place, name)

    def called(*arguments, **options):
        action()
        return function(*arguments, **options)

    setattr(place, name, called)
