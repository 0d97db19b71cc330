"""`calibrant compare LOG...`: two models on the same questions."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calibrant.cli.progress import progress
from calibrant.cli.write import say, write_text
from calibrant.errors import InvalidOptionError
from calibrant.exit_codes import ExitCode

if TYPE_CHECKING:
    from calibrant.answers import Answers
    from calibrant.inference import Comparison

SCHEMA = 1


def compare_logs(
    answers: Answers,
    models: Sequence[str] | None,
    between: str | None,
    *,
    measures: Sequence[str] | None,
    max_worse: float | None,
    confidence: float,
    seed: int,
    json_path: str | None,
    quiet: bool,
) -> ExitCode:
    """Compare two models, print it and write it; the first measure decides the exit code."""
    from calibrant.answers import COMPARED, compare_models
    from calibrant.gate import EXIT_CODES, state_of_difference

    if models is not None and len(models) != 2:
        raise InvalidOptionError("--models must name two", ", ".join(models))
    if max_worse is not None and models is None:
        raise InvalidOptionError(
            "--max-worse needs to know which model is the second", "no --models", "--models OLD,NEW"
        )
    column = between or _told_apart_by(answers)
    first, second = models or (None, None)
    with progress(["comparing"]) as tell:
        tell("comparing")
        found = compare_models(
            answers,
            first,
            second,
            between=column,
            measures=list(dict.fromkeys(measures or COMPARED)),
            margin=max_worse,
            confidence=confidence,
            rng=seed,
        )
    state = None
    if max_worse is not None:
        decides = found.comparisons[0]
        state = state_of_difference(decides.low, decides.high, max_worse)
    if json_path is not None:
        pairs = zip(found.comparisons, found.sentences, strict=True)
        result = {
            "schema": SCHEMA,
            "state": state,
            "first": found.first,
            "second": found.second,
            "between": column,
            "questions": found.questions,
            "max_worse": max_worse,
            "comparisons": [as_dict(one, sentence) for one, sentence in pairs],
            "notes": [*answers.found, *found.notes],
        }
        write_text(json.dumps(result, allow_nan=False), json_path)
    if json_path != "-":
        verdict = "" if state is None else f"{state}: "
        # Of two that say the same, all measures say the same.
        said = tuple(dict.fromkeys(found.sentences[:1] if quiet else found.sentences))
        say(f"{verdict}{said[0]}")
        notes = [f"note: {note}" for note in (*answers.found, *found.notes)]
        for line in (*said[1:], *(() if quiet else notes)):
            say(line)
    return ExitCode.PASSED if state is None else EXIT_CODES[state]


def _told_apart_by(answers: Answers) -> str:
    """Compare models; files if one model wrote two of them."""
    one_model = len(answers.names("model")) < 2
    two_files = "file" in answers.columns and len(answers.names("file")) == 2
    return "file" if one_model and two_files else "model"


def as_dict(comparison: Comparison, sentence: str) -> dict[str, Any]:
    """Return a comparison as JSON has it."""
    numbers = {
        name: getattr(comparison, name)
        for name in ("first", "second", "difference", "low", "high", "confidence")
    }
    finite = {name: n if math.isfinite(n) else None for name, n in numbers.items()}
    return {"measure": comparison.measure, "sentence": sentence, **finite}
