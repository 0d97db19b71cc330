"""Logs of language models as tables, so that every command reads them as it reads files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.combinations import FOR_TABLES
from calibrant.cli.options import PredictionScale, passed_options
from calibrant.errors import InvalidForecastsError, InvalidOptionError

if TYPE_CHECKING:
    from calibrant.data.paths import Files
    from calibrant.inputs import Roles, Source
    from calibrant.llm import Answers


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
FieldOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Logs of language models: field of plain lines, as meaning=name; may be repeated."
    ),
]
WordsOption = Annotated[
    str | None,
    typer.Option(
        help="Logs of language models: JSON file of words and the probabilities they stand for."
    ),
]

# Options that name fields of a log as well.
FIELDS = ("prediction", "outcome")
# Endings of files that are never logs.
TABLES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")


def typed_of(context: typer.Context, *also: str) -> dict[str, object]:
    """Options of tables, and names of fields, that a command was given."""
    return passed_options(context, (*FOR_TABLES, *also, *FIELDS))


@dataclass(frozen=True, slots=True)
class Reading:
    """How a log is to be read."""

    origin: str | None = None
    scorer: str | None = None
    pass_mark: float | None = None
    scale: PredictionScale = PredictionScale.UNIT
    fields: Sequence[str] | None = None
    words: str | None = None
    typed: Mapping[str, object] = field(default_factory=dict)
    """Options of tables, and names of fields, that were typed."""

    def refuse_for_logs(self) -> None:
        """Refuse, for a log, what makes sense for tables alone."""
        for name in self.typed:
            if name not in FIELDS:
                raise InvalidOptionError(
                    f"--{name.rstrip('_').replace('_', '-')} is for tables",
                    "a log of language models",
                    "leave it out, or write a table first: calibrant llm LOG --out FILE",
                )
        if self.logits:
            raise InvalidOptionError("--scale logit is for tables", "a log of language models")

    @property
    def of_logs(self) -> list[str]:
        """Options that were given and make sense for logs alone."""
        options = {
            "--origin": self.origin,
            "--scorer": self.scorer,
            "--pass-mark": self.pass_mark,
            "--field": self.fields or None,
            "--words": self.words,
            "--scale mixed": True if self.scale is PredictionScale.MIXED else None,
        }
        return [option for option, value in options.items() if value is not None]

    def refuse_for_tables(self) -> None:
        """Refuse, for a table, what makes sense for logs alone."""
        for option in self.of_logs:
            raise InvalidOptionError(f"{option} is for logs of language models", "a table")

    @property
    def percent(self) -> bool:
        """Whether predictions of a table are per cent."""
        return self.scale is PredictionScale.PERCENT

    @property
    def logits(self) -> bool:
        """Whether predictions of a table are log-odds."""
        return self.scale is PredictionScale.LOGIT


@dataclass(frozen=True, slots=True)
class Opened:
    """Files as tables, and which of their columns play which part."""

    files: Files
    roles: Roles
    percent: bool
    decided: tuple[str, ...] = ()
    """What was found in a log, and how it was read."""


@contextmanager
def tables_of(files: Sequence[str] | Files, roles: Roles, how: Reading) -> Iterator[Opened]:
    """Find files; logs become one table of answers, with questions as clusters.

    Models, tasks and origins of confidences divide the rows unless other columns are named.
    """
    from calibrant.data.paths import settled

    with settled(files) as found:
        answers = answers_of(found, roles, how)
        if answers is None:
            yield Opened(found, roles, how.percent)
            return
        answers = answers.divided(None if roles.by is None else roles.columns_by())
        with tempfile.TemporaryDirectory() as folder:
            table = str(Path(folder) / "answers.parquet")
            answers.to_parquet(table)
            read_roles = replace(
                roles,
                prediction="confidence",
                outcome="correct",
                clusters=answers.clusters if roles.clusters is None else roles.clusters,
                by=(answers.by or None) if roles.by is None else roles.by,
            )
            yield Opened(
                replace(found, names=(table,), notes=answers.found),
                read_roles,
                percent=False,
                decided=answers.found,
            )


def source_of(
    files: Sequence[str],
    roles: Roles,
    how: Reading,
    title: str | None,
    otherwise: Callable[[Files], Source | None],
    **reading: Any,
) -> tuple[Source, tuple[str, ...]]:
    """Bring files to the form of an audit, and say what was decided on a log.

    Parameters
    ----------
    otherwise : callable
        Reads a table that holds no probabilities; returns None if it cannot.
    """
    from calibrant.data.paths import settled
    from calibrant.inputs import read

    with settled(files) as found:
        answers = answers_of(found, roles, how)
        if answers is None:
            reading |= {"percent": how.percent, "logits": how.logits}
            try:
                return read(found, None, roles, title=title, **reading), ()
            except InvalidForecastsError:
                other = otherwise(found)
                if other is None:
                    raise
                return other, ()
    return answers.as_source(roles, title), (*answers.found, *_comparable(answers))


def answers_of(files: Files, roles: Roles, how: Reading) -> Answers | None:
    """Read logs; None for tables, for which options of logs are refused."""
    if not _are_logs(files, roles, requested=bool(how.of_logs)):
        how.refuse_for_tables()
        return None
    how.refuse_for_logs()
    from calibrant.llm import read

    return read(
        files,
        origin=how.origin,
        scorer=how.scorer,
        pass_mark=how.pass_mark,
        scale=None if how.scale is PredictionScale.UNIT else how.scale.value,
        words=words_of(how.words),
        fields=_fields(how) | fields_of(how.fields),
    )


def fields_of(fields: Sequence[str] | None) -> dict[str, str]:
    """Read fields of plain lines as meaning=name."""
    pairs = [text.partition("=") for text in fields or []]
    if not all(meaning and name for meaning, _, name in pairs):
        raise InvalidOptionError("--field must be meaning=name", repr(list(fields or [])))
    return {meaning: name for meaning, _, name in pairs}


def words_of(path: str | None) -> dict[str, float] | None:
    """Read the table of words."""
    import json

    if path is None:
        return None
    try:
        table = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidOptionError("--words must be a JSON file", f"{path}: {error}") from error
    if not isinstance(table, dict):
        raise InvalidOptionError("--words must hold one object of JSON", path)
    return table


def _comparable(answers: Answers) -> list[str]:
    """Say that two models can be compared, which an audit does not do."""
    if answers.clusters is None or len(answers.names("model")) != 2:
        return []
    return ["which of the two models is better, question by question: calibrant compare"]


def _are_logs(files: Files, roles: Roles, *, requested: bool) -> bool:
    """Whether files are logs. The package of logs is not loaded for tables of other kinds."""
    if all(name.lower().endswith(TABLES) for name in files.names):
        return False
    from calibrant.llm import are_logs

    return are_logs(files.names, roles.prediction, roles.outcome, requested=requested)


def _fields(how: Reading) -> dict[str, str]:
    """Fields of plain lines that were named."""
    named = {"confidence": "prediction", "correct": "outcome"}
    return {part: str(how.typed[name]) for part, name in named.items() if name in how.typed}
