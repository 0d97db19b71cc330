"""Logs of language models as tables, so that every command reads them as it reads files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from calibrant.data.paths import Files
    from calibrant.inputs import Roles

OriginOption = Annotated[
    str | None,
    typer.Option(
        help="Logs of language models: where the confidence comes from (field, text, options, "
        "options_per_letter, tokens, votes)."
    ),
]
ScorerOption = Annotated[
    str | None, typer.Option(help="Logs of language models: whose score says what was right.")
]
PassMarkOption = Annotated[
    float | None,
    typer.Option(help="Logs of language models: least score that counts as right."),
]

# Endings of files that are never logs.
TABLES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a log is to be read."""

    origin: str | None = None
    scorer: str | None = None
    pass_mark: float | None = None
    percent: bool = False
    logits: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """Files as tables, and which of their columns play which part."""

    files: Files
    roles: Roles
    percent: bool
    decided: tuple[str, ...] = ()
    """What was found in a log, and how it was read."""


@contextmanager
def tables_of(
    files: Sequence[str] | Files, roles: Roles, how: Reading, *, baseline: str | None = None
) -> Iterator[Opened]:
    """Find files; logs become one table of answers, with questions as clusters.

    Models, tasks and origins of confidences divide the rows unless other columns are named.
    """
    from calibrant.data.paths import settled

    with settled(files) as found:
        from calibrant.errors import InvalidOptionError

        if not _are_logs(found, roles):
            beside = {"--origin": how.origin, "--scorer": how.scorer, "--pass-mark": how.pass_mark}
            given = [option for option, value in beside.items() if value is not None]
            if given:
                raise InvalidOptionError(f"{given[0]} is for logs of language models", "a table")
            yield Opened(found, roles, how.percent)
            return
        if how.logits:
            raise InvalidOptionError("--scale logit is for tables", "a log")
        if baseline is not None:
            raise InvalidOptionError(
                "--baseline is for tables", "a log", "calibrant answers LOG --out writes a table"
            )
        from calibrant.answers import read

        answers = read(
            found,
            origin=how.origin,
            scorer=how.scorer,
            pass_mark=how.pass_mark,
            scale="percent" if how.percent else None,
            fields=_fields(roles),
        )
        with tempfile.TemporaryDirectory() as folder:
            table = str(Path(folder) / "answers.parquet")
            answers.to_parquet(table)
            held = replace(
                roles,
                prediction="confidence",
                outcome="correct",
                clusters=answers.clusters if roles.clusters is None else roles.clusters,
                by=(answers.by or None) if roles.by is None else roles.by,
            )
            yield Opened(
                replace(found, names=(table,), notes=answers.found),
                held,
                percent=False,
                decided=answers.found,
            )


def _are_logs(files: Files, roles: Roles) -> bool:
    """Whether files are logs. The room that knows is not loaded for tables of other kinds."""
    if all(name.lower().endswith(TABLES) for name in files.names):
        return False
    from calibrant.answers import are_logs

    return are_logs(files.names, roles.prediction, roles.outcome)


def _fields(roles: Roles) -> dict[str, str]:
    """Fields of plain lines that were named."""
    named = {"confidence": (roles.prediction, "prediction"), "correct": (roles.outcome, "outcome")}
    return {part: name for part, (name, default) in named.items() if name != default}
