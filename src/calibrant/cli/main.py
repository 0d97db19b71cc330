"""The `calibrant` command."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import wraps
from typing import Annotated, Any

import typer
import typer.core

from calibrant._base.exit_codes import ExitCode
from calibrant._base.writing import discard_drafts
from calibrant.cli.about import COMPLETE, complete, completion, show_versions
from calibrant.cli.apply import apply
from calibrant.cli.audit import audit
from calibrant.cli.check import check
from calibrant.cli.combinations import refuse_useless
from calibrant.cli.compare import compare
from calibrant.cli.config import COMMANDS, Config, find_config
from calibrant.cli.demo import demo
from calibrant.cli.examples import examples_of
from calibrant.cli.explain import explain
from calibrant.cli.llm import llm
from calibrant.cli.measures import measures
from calibrant.cli.monitor import monitor
from calibrant.cli.online import online
from calibrant.cli.process import flush, listening, open_streams
from calibrant.cli.recalibrate import recalibrate
from calibrant.cli.start import start_quickly
from calibrant.cli.wording import on_the_command_line, with_options
from calibrant.cli.write import complain, harmless
from calibrant.errors import CalibrantError, CalibrantWarning, InvalidOptionError

# Two blanks keep the lines of an epilogue apart.
CODES = "  \n".join(f"{code.value}: {code.meaning}" for code in ExitCode)
EXIT_CODES = f"Exit codes:\n\n{CODES}"
# click's error of usage: typer brings click along or has it inside, depending on its version.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]

DEFAULT_WARNING = warnings.showwarning
# The exit code of each command that ran to its end in this process.
ENDED: dict[str, ExitCode] = {}
# Options that print something and run no command.
INFORMATION = {"--help", "--version"}
# Words for no in the environment.
NO = {"", "0", "false", "no", "off"}


class ConfiguredCommand(typer.core.TyperCommand):
    """A command that says which of its options came from the project."""

    def invoke(self, ctx: Any) -> Any:
        """Report them, refuse options that would do nothing, then run."""
        config, used = ctx.find_root().obj, {}
        for name, value in ctx.params.items():
            found = ctx.get_parameter_source(name)
            if found is not None and found.name == "DEFAULT_MAP":
                used[name] = value
        if used and isinstance(config, Config):
            complain(config.note(used))
        refuse_useless(ctx)
        return super().invoke(ctx)


def _recorded(command: Callable[..., ExitCode | None]) -> Callable[..., None]:
    """Record the exit code of a command itself, whatever the library around it returns."""

    @wraps(command)
    def run_command(*arguments: Any, **options: Any) -> None:
        code = command(*arguments, **options)
        ENDED[_called(command)] = ExitCode.PASSED if code is None else code

    return run_command


def _called(command: Callable[..., object]) -> str:
    """Name a command as typer does."""
    return command.__name__.replace("_", "-")


app = typer.Typer(
    name="calibrant",
    help="How far can predicted probabilities be trusted?",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
# Commands that judge end with a code that says how.
for command in (
    demo, audit, check, compare, monitor, explain, recalibrate, apply, llm, measures, online,
    show_versions, completion,
):  # fmt: skip
    judging = command in {check, compare, monitor}
    epilogue = examples_of(command.__name__) + (f"\n\n{EXIT_CODES}" if judging else "")
    app.command(cls=ConfiguredCommand, epilog=epilogue)(_recorded(command))


def _print_version(requested: bool) -> None:  # noqa: FBT001  # typer gives it by position
    if requested:
        from calibrant import __version__

        typer.echo(f"calibrant {__version__}")
        raise typer.Exit


@app.callback()
def settings(
    _version: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
    _no_config: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--no-config",
            envvar="CALIBRANT_NO_CONFIG",
            help="Ignore \\[tool.calibrant] of the nearest pyproject.toml.",
        ),
    ] = False,
    debug: Annotated[  # noqa: FBT002
        bool,
        typer.Option("--debug", envvar="CALIBRANT_DEBUG", help="Show where an error was raised."),
    ] = False,
) -> None:
    """How far can predicted probabilities be trusted?"""  # noqa: D400


def app_for(arguments: list[str]) -> typer.Typer:
    """Return the commands that may be requested: making the options of all takes time."""
    requested = [
        info
        for info in app.registered_commands
        if arguments and info.callback is not None and _called(info.callback) == arguments[0]
    ]
    if not requested:
        return app
    alone = copy(app)
    alone.registered_commands = requested
    return alone


def _warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print our warnings like our errors; those of others as Python does."""
    if issubclass(category, CalibrantWarning):
        text = message.args[0] if isinstance(message, Warning) else message
        complain(f"warning: {with_options(text)}")
    else:
        DEFAULT_WARNING(message, category, *where, **more)


def run() -> int:
    """Run the command line and return its exit code: that of the command, if it ran to its end."""
    warnings.showwarning = _warn
    arguments = sys.argv[1:]
    chosen: dict[str, object] = {}
    with listening() as signals:
        try:
            start_quickly()
            open_streams()
            if COMPLETE in os.environ and not arguments:
                complete(app)
            refuse_unreadable(arguments)
            config = _config(arguments)
            command = typer.main.get_command(app_for(arguments))
            with command.make_context(
                "calibrant", arguments, default_map=config.default_map()
            ) as context:
                chosen = context.params
                context.obj = config
                command.invoke(context)
            code = int(_end_of_command(arguments))
        except BaseException as error:  # noqa: BLE001  # a crash must not read as a verdict
            code = explained(error, debug=bool(chosen.get("debug"))) if not signals.got else 0
        discard_drafts()
        # Libraries turn what a signal raises into errors of their own, or lose it.
        return signals.exit_code or code


def _end_of_command(arguments: list[str]) -> ExitCode:
    """Return the exit code of the requested command, which must have run to its end."""
    name = _first_word(arguments)
    if name not in ENDED:
        raise RuntimeError(f"the command line ended before {name or 'a command'} did")
    flush(sys.stdout)
    return ENDED[name]


def _first_word(arguments: list[str]) -> str:
    """Return the word that names the command; no option before it takes a value."""
    return next((word for word in arguments if not word.startswith("-")), "")


def _requests_information(arguments: list[str]) -> bool:
    """Whether help, the version or words for a shell are requested, and no command is to run."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return not arguments or bool(INFORMATION & set(options))


def _config(arguments: list[str]) -> Config:
    """Read the defaults of the project, unless a word before the command says not to."""
    first = _first_word(arguments)
    before = arguments[: arguments.index(first)] if first else arguments
    ignored = "--no-config" in before or os.environ.get("CALIBRANT_NO_CONFIG", "") not in NO
    return Config() if ignored or first not in COMMANDS else find_config()


def refuse_unreadable(arguments: list[str]) -> None:
    """Refuse arguments that are no text: they could neither be printed nor written."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise InvalidOptionError("arguments must be UTF-8", ascii(argument)) from error


def explained(error: BaseException, *, debug: bool) -> int:
    """Say on stderr what happened, and return the exit code that says it to programs."""
    if isinstance(error, typer.Exit | SystemExit):
        return _after_information(error, debug=debug)
    with suppress(OSError, ValueError):
        if debug:
            _print_trace(error)
        if isinstance(error, UsageError):
            from typer.rich_utils import rich_format_error

            error.message = harmless(str(error.message))  # type: ignore[attr-defined]
            rich_format_error(error)  # type: ignore[arg-type]
        elif not isinstance(error, BrokenPipeError):
            complain(_sentence(error))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            flush(stream)
    return int(_code(error))


def _print_trace(error: BaseException) -> None:
    """Print where an error was raised; messages may hold words of the data, and stay one line."""
    for part in traceback.format_exception(error):
        if part.startswith("  File "):
            typer.echo(part, err=True, nl=False)
        elif part.strip():
            complain(part.strip())


def _after_information(end: typer.Exit | SystemExit, *, debug: bool) -> int:
    """Return 0 after help or the version, unless what was printed is lost; never for a command."""
    code = end.exit_code if isinstance(end, typer.Exit) else end.code
    if code or not _requests_information(sys.argv[1:]):
        name = _first_word(sys.argv[1:]) or "a command"
        early = RuntimeError(f"the command line ended with {code!r} before {name} did")
        early.__cause__ = end
        return explained(early, debug=debug)
    try:
        flush(sys.stdout)
    except OSError as error:
        return explained(error, debug=debug)
    return int(ExitCode.PASSED)


def _code(error: BaseException) -> ExitCode:
    if isinstance(error, OSError):
        return ExitCode.INPUT_OUTPUT
    return (
        ExitCode.WRONG_INPUT if isinstance(error, CalibrantError | UsageError) else ExitCode.FAULT
    )


def _sentence(error: BaseException) -> str:
    if isinstance(error, CalibrantError):
        return on_the_command_line(error)
    if isinstance(error, OSError):
        return f"reading or writing failed: {error}"
    message = " ".join(str(error).split())
    kind = type(error).__name__
    return (
        f"a fault of calibrant, not of your data: {kind}{': ' if message else ''}{message}. "
        "Please report it as an issue of the project, with this command; "
        "calibrant --debug COMMAND shows where it happened."
    )
