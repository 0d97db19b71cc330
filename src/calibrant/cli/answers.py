"""`calibrant answers LOG...`: what logs of language models hold, as a table."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from calibrant.cli.logs import OriginOption, PassMarkOption, ScorerOption
from calibrant.cli.write import check_files, say
from calibrant.errors import InvalidOptionError


class BareScale(StrEnum):
    """What bare numbers are."""

    UNIT = "unit"
    PERCENT = "percent"
    MIXED = "mixed"


def answers(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Logs of inspect_ai, lm-evaluation-harness, HELM, OpenAI evals, or JSON lines.",
        ),
    ],
    out: Annotated[
        str | None, typer.Option(help="Parquet file for one row per answer, for other commands.")
    ] = None,
    origin: OriginOption = None,
    scorer: ScorerOption = None,
    pass_mark: PassMarkOption = None,
    scale: Annotated[
        BareScale | None,
        typer.Option(help="What bare numbers are; mixed: per cent where they exceed 1."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="Field of plain lines, as meaning=name; may be repeated."),
    ] = None,
    words: Annotated[
        str | None, typer.Option(help="JSON file of words and the probabilities they stand for.")
    ] = None,
) -> None:
    """Read logs of language models, tell what was found and decided, write the rows."""
    import json
    from pathlib import Path

    from calibrant.answers import read

    check_files({"--out": out}, [*files, words])
    if out is not None and not out.endswith(".parquet"):
        raise InvalidOptionError("--out must end in .parquet", repr(out))
    pairs = [text.partition("=") for text in field or []]
    if not all(meaning and name for meaning, _, name in pairs):
        raise InvalidOptionError("--field must be meaning=name", repr(field))
    table = None
    if words is not None:
        try:
            table = json.loads(Path(words).read_bytes())
        except (OSError, ValueError) as error:
            raise InvalidOptionError("--words must be a JSON file", f"{words}: {error}") from error
        if not isinstance(table, dict):
            raise InvalidOptionError("--words must hold one object of JSON", words)
    found = read(
        files,
        origin=origin,
        scorer=scorer,
        pass_mark=pass_mark,
        scale=None if scale is None else scale.value,
        words=table,
        fields={meaning: name for meaning, _, name in pairs},
    )
    say(str(found))
    if out is not None:
        found.to_parquet(out)
        say(f"rows: {out}")
