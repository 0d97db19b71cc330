"""`calibrant llm LOG...`: what logs of language models hold, as a table."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant.cli.apply import ForceOption
from calibrant.cli.logs import (
    FieldOption,
    OriginOption,
    PassMarkOption,
    ScorerOption,
    WordsOption,
    fields_of,
    words_of,
)
from calibrant.cli.options import PredictionScale
from calibrant.cli.write import check_files, print_line, print_text
from calibrant.errors import InvalidOptionError


def llm(
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
        PredictionScale | None,
        typer.Option(help="What bare numbers are; mixed: per cent where they exceed 1."),
    ] = None,
    field: FieldOption = None,
    words: WordsOption = None,
    force: ForceOption = False,  # noqa: FBT002
) -> None:
    """Read logs of language models, tell what was found and decided, write the rows."""
    from calibrant.llm import read

    check_files({"--out": out}, [*files, words], force=force)
    if out is not None and not out.endswith(".parquet"):
        raise InvalidOptionError("--out must end in .parquet", repr(out))
    found = read(
        files,
        origin=origin,
        scorer=scorer,
        pass_mark=pass_mark,
        scale=None if scale is None else scale.value,
        words=words_of(words),
        fields=fields_of(field),
    )
    print_text(str(found))
    if out is not None:
        found.to_parquet(out)
        print_line(f"rows: {out}")
