"""From files to answers: which reader a file needs, by its content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path

from calibrant._base.options import shown
from calibrant._base.words import count_text
from calibrant.data.paths import Paths, settled
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.llm import harnesses
from calibrant.llm.answers import Answers, assembled
from calibrant.llm.ledger import Answer, Ledger
from calibrant.llm.opening import (
    MisshapenError,
    Object,
    Pieces,
    document,
    first_object,
    is_zip,
    lines_of,
)

PLAIN = "plain JSON file"
LINES = (".jsonl", ".ndjson", ".json")
# So many lines tell whether a column of predictions holds numbers.
LOOKED_AT = 100


def read(
    paths: Paths,
    *,
    origin: str | None = None,
    scorer: str | None = None,
    pass_mark: float | None = None,
    scale: str | None = None,
    words: Mapping[str, float] | None = None,
    fields: Mapping[str, str] | None = None,
) -> Answers:
    """Read logs of evaluations of language models, whatever harness wrote them.

    Parameters
    ----------
    paths : str, Path or a sequence of them
        Logs of inspect_ai (`.eval`, `.json`), samples of lm-evaluation-harness, request states of
        HELM, events of OpenAI evals, or plain JSON lines; globs too. Each file is known by its
        content.
    origin : {"field", "text", "options", "options_per_letter", "tokens", "votes"}, optional
        Where the confidence comes from: a field that states it; the text of the answer; the softmax
        over the log-probabilities of the options, as they are or per letter; the probability of
        the answer's tokens; the share of sampled answers that agree. By default the first of these
        that a task has. What else there is, is reported.
    scorer : str, optional
        Whose score says whether an answer was right; by default the first of each task.
    pass_mark : float, optional
        Least score that counts as right. Needed where scores lie between 0 and 1.
    scale, words
        As for `parse_confidences`.
    fields : mapping of str to str, optional
        Fields of plain lines, by what they mean: confidence, correct, question, model, task, trial,
        answer, prompt, difficulty.

    Returns
    -------
    Answers
        With a sentence for every decision; `calibrant.audit` takes it.

    Examples
    --------
    >>> import json, tempfile
    >>> lines = [
    ...     {"id": n, "model": "small", "confidence": said, "correct": n % 2 == 0}
    ...     for n, said in enumerate(["90%", 0.8, "9/10", "no idea"])
    ... ]
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     _ = file.write("".join(json.dumps(line) + chr(10) for line in lines))
    ...     file.flush()
    ...     answers = read(file.name)
    >>> answers.confidence, answers.correct
    (array([0.9, 0.8, 0.9]), array([1, 0, 1], dtype=int8))
    """
    with settled(paths) as files:
        ledger = Ledger(words)
        kinds: dict[str, list[str]] = {}
        notes = list(files.notes)
        labels = _short_names(files.names)
        copies = _copies(files.names)
        notes += [
            f"{labels[name]} is a copy of {labels[other]}: read once"
            for name, other in copies.items()
        ]
        for name in (name for name in files.names if name not in copies):
            ledger.reading = labels[name] if len(files.names) > 1 else None
            try:
                kind, rows, remarks = _opened(name, fields or {})
                for row in rows:
                    ledger.add(row)
            except MisshapenError as error:  # of the head of a log
                raise InvalidForecastsError(
                    error.texts[0], f"{labels[name]} {error.got}"
                ) from error
            kinds.setdefault(kind, []).append(Path(name).name)
            notes += [note for note in remarks if note not in notes]
    if fields and PLAIN not in kinds:
        raise InvalidOptionError(
            "@fields are for plain lines", f"{shown(dict(fields))} with {' and '.join(kinds)}"
        )
    if not ledger.size:
        raise InvalidForecastsError("logs must hold answers", f"none in {shown(list(kinds))}")
    listed = [f"{count_text(len(names), kind)}" for kind, names in kinds.items()]
    return assembled(
        ledger,
        [", ".join(listed), *notes],
        origin=origin,
        scorer=scorer,
        pass_mark=pass_mark,
        scale=scale,
        title=", ".join(Path(f).name for f in files.requested),
    )


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Name files by their last part, or by all of it where two would be called alike."""
    last = [Path(name).name for name in names]
    alike = len(set(last)) < len(last)
    return {name: name if alike else short for name, short in zip(names, last, strict=True)}


def _copies(names: Sequence[str]) -> dict[str, str]:
    """Files that hold the same bytes as an earlier one."""
    sizes = Counter(Path(name).stat().st_size for name in names)
    seen: dict[bytes, str] = {}
    found = {}
    for name in names:
        if sizes[Path(name).stat().st_size] > 1:
            with Path(name).open("rb") as stream:
                digest = file_digest(stream, "blake2b").digest()
            first = seen.setdefault(digest, name)
            if first != name:
                found[name] = first
    return found


def are_logs(
    names: tuple[str, ...], prediction: str, outcome: str, *, requested: bool = False
) -> bool:
    """Whether files are logs, rather than tables that hold a prediction and an outcome.

    Where options of logs are `requested`, JSON lines without these two columns are a log.
    """
    return any(_is_log(name, prediction, outcome, requested=requested) for name in names)


def _is_log(name: str, prediction: str, outcome: str, *, requested: bool) -> bool:
    plain = name.removesuffix(".gz").removesuffix(".zst")
    if is_zip(name):
        return True
    if not plain.endswith(LINES):
        return False
    first = first_object(name)
    if first is None or {"eval", "request_states"} & set(first):  # one document
        return plain.endswith(".json") and _is_harness_document(name)
    if _kind_of_lines(first) is not None:
        return True
    if prediction in first and outcome in first:
        return _holds_statements(name, prediction)
    return requested or _looks_plain(first)


def _is_harness_document(name: str) -> bool:
    with Path(name).open("rb") as stream:
        start = stream.read(2**16)
    return b'"eval"' in start or b'"request_states"' in start


def _holds_statements(name: str, prediction: str) -> bool:
    """Whether predictions are stated in words or signs, such as "about 90 %"."""
    values = (
        line.get(prediction) for _, line in zip(range(LOOKED_AT), lines_of(name), strict=False)
    )
    return any(isinstance(value, str) and not _is_number(value) for value in values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def _looks_plain(first: Object) -> bool:
    fields = harnesses.FIELDS
    return any(name in first for name in fields["confidence"][:4]) and any(
        name in first for name in (*fields["correct"][:2], *harnesses.MAY_BE_CORRECT[:5])
    )


def _kind_of_lines(first: Object) -> str | None:
    keys = set(first)
    if {"doc_id", "filtered_resps"} <= keys:
        return "lm-evaluation-harness sample file"
    if "spec" in keys or {"run_id", "event_id", "type", "data"} <= keys:
        return "OpenAI evals log"
    if {"instance", "result"} <= keys:
        return "HELM file"
    return None


def _opened(name: str, fields: Mapping[str, str]) -> tuple[str, Iterator[Answer], list[str]]:
    """Find the reader of a file by its content."""
    if is_zip(name):
        return "inspect_ai log", harnesses.inspect_zip(name), []
    first = first_object(name)
    if first is None or {"eval", "request_states"} & set(first):
        return _opened_document(name, fields)
    kind = _kind_of_lines(first)
    if kind is None:
        return _opened_plain(name, first, fields)
    if "lm-evaluation" in kind:
        return kind, harnesses.lm_eval_lines(name, lines_of(name)), []
    if "OpenAI" in kind:
        return kind, harnesses.openai_lines(lines_of(name)), []
    return kind, harnesses.helm_states(None, lines_of(name)), []


def _opened_document(
    name: str, fields: Mapping[str, str]
) -> tuple[str, Iterator[Answer], list[str]]:
    found = document(name)
    if isinstance(found, dict) and "eval" in found:
        return "inspect_ai log", harnesses.inspect_document(found, Path(name).name), []
    if isinstance(found, dict) and "request_states" in found:
        return "HELM log", harnesses.helm_document(found, Path(name).name), []
    if isinstance(found, list) and found and isinstance(found[0], dict):
        chosen, remarks = _plain_fields(found[0], fields, name)
        rows = Pieces(enumerate(found, 1), Path(name).name, "item")
        return PLAIN, harnesses.plain_lines(rows, chosen), remarks
    if isinstance(found, dict) and {"results", "configs"} <= set(found):
        remarks = [f"{Path(name).name} holds results without samples: left out"]
        return "results file", iter(()), remarks
    raise InvalidForecastsError(
        "a log must be one of inspect_ai, lm-evaluation-harness, HELM or OpenAI evals, or lines "
        "with a confidence and whether it was right",
        Path(name).name,
    )


def _opened_plain(
    name: str, first: Object, fields: Mapping[str, str]
) -> tuple[str, Iterator[Answer], list[str]]:
    present = dict(first)
    for _, line in zip(range(LOOKED_AT), lines_of(name), strict=False):
        present |= line
    chosen, remarks = _plain_fields(present, fields, name)
    return PLAIN, harnesses.plain_lines(lines_of(name), chosen), remarks


def _plain_fields(
    present: Object, fields: Mapping[str, str], name: str
) -> tuple[dict[str, str], list[str]]:
    strange = set(fields) - set(harnesses.FIELDS)
    absent = [field for field in fields.values() if field not in present]
    if strange or absent:
        raise InvalidForecastsError(
            f"@fields must name fields for {', '.join(harnesses.FIELDS)}",
            shown(sorted(strange) or absent),
            f"{Path(name).name} has {', '.join(map(repr, present))}",
        )
    chosen = harnesses.choose_fields(present, fields)
    if "correct" not in chosen or not {"confidence", "answer"} & set(chosen):
        lacking = "correct" if "correct" not in chosen else "confidence"
        likely = [other for other in harnesses.MAY_BE_CORRECT if other in present]
        guess = repr(likely[0]) if lacking == "correct" and likely else "..."
        raise InvalidForecastsError(
            f"plain lines must have a field for {lacking}",
            f"{', '.join(map(repr, present))} in {Path(name).name}",
            f"name it, @fields={{{lacking!r}: {guess}}}",
        )
    listed = ", ".join(f"{part} from {field!r}" for part, field in chosen.items())
    return chosen, [f"fields of plain lines: {listed}"]
