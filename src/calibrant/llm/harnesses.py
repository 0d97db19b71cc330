"""Logs of evaluation harnesses: what stands where in each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.errors import InvalidForecastsError
from calibrant.llm.ledger import Answer, normalised
from calibrant.llm.opening import (
    Archive,
    MisshapenError,
    Object,
    Pieces,
    items,
    number,
    objects,
    part,
)

LETTER = re.compile(r"\W*([A-Za-z0-9])\W*")
CONFIDENCE = "confidence"


def inspect_zip(path: str) -> Iterator[Answer]:
    """Read a log of inspect_ai that is a zip, sample by sample."""
    archive = Archive(path)
    heads = [name for name in ("header.json", "_journal/start.json") if name in archive.members]
    if not heads:
        raise InvalidForecastsError(
            "a zip must be a log of inspect_ai", f"{Path(path).name} without header.json"
        )
    head = next(iter(archive.objects(heads[:1])), {})
    samples = sorted(name for name in archive.members if name.startswith("samples/"))
    return _inspect(head, archive.objects(samples))


def inspect_document(log: Object, name: str) -> Iterator[Answer]:
    """Read a log of inspect_ai that is one document of JSON."""
    return _inspect(log, Pieces(enumerate(items(log, "samples"), 1), name, "sample"))


def _inspect(head: Object, samples: Pieces) -> Iterator[Answer]:
    about = part(head, "eval")
    return samples.rows(_inspect_sample(about, sample) for sample in samples)


def _inspect_sample(about: Object, sample: Object) -> Answer:
    output = part(sample, "output")
    scores = part(sample, "scores")
    values: dict[str, object] = {}
    answer: object = None
    stated_by: dict[str, object] = {}
    for scorer in scores:
        score = part(scores, scorer)
        value = score.get("value")
        parts = value if isinstance(value, dict) else None
        if parts is None:
            values[scorer] = value
        else:
            values |= {f"{scorer}.{k}": v for k, v in parts.items() if k != CONFIDENCE}
        answer = score.get("answer") if answer is None else answer
        for part_of_sample in (score.get("metadata"), parts):
            if isinstance(part_of_sample, dict) and CONFIDENCE in part_of_sample:
                stated_by.setdefault(scorer, part_of_sample[CONFIDENCE])
    stated: object = ...
    for part_of_sample in (sample.get("store"), sample.get("metadata")):
        if stated is ... and isinstance(part_of_sample, dict) and CONFIDENCE in part_of_sample:
            stated = part_of_sample[CONFIDENCE]
    text = output.get("completion")
    options, tokens = _token_probabilities(output)
    return Answer(
        sample.get("id"),
        about.get("model"),
        about.get("task"),
        sample.get("epoch"),
        text if answer is None else answer,
        values,
        stated,
        stated_by,
        text,
        options,
        tokens=tokens,
        identity=sample.get("uuid"),
        prompt=_first_of("prompt", sample.get("metadata"), about.get("task_args")),
        difficulty=_first_of("difficulty", sample.get("metadata")),
    )


def _token_probabilities(output: Object) -> tuple[list[float] | None, float | None]:
    """Log-probabilities of letters, where the answer is one of them, and of the whole answer."""
    choices = objects(output, "choices") or [{}]
    content = objects(part(choices[0], "logprobs"), "content")
    if not content:
        return None, None
    total = sum(number(token.get("logprob"), "logprob") for token in content)
    letters: dict[str, float] = {}
    for option in objects(content[0], "top_logprobs"):
        letter = LETTER.fullmatch(str(option.get("token")))
        if letter is not None:
            name = letter[1].upper()
            value = number(option.get("logprob"), "logprob")
            letters[name] = max(letters.get(name, float("-inf")), value)
    if len(content) > 1 or len(letters) < 2:
        return None, total
    return list(letters.values()), total


def lm_eval_lines(path: str, lines: Pieces) -> Iterator[Answer]:
    """Read samples of lm-evaluation-harness; the model stands in the results beside them."""
    file = Path(path)
    model = _lm_eval_model(file)
    found = re.match(r"samples_(.+)_\d{4}-\d{2}-\d{2}T", file.name)
    task = found[1] if found else file.name.split(".")[0]
    return lines.rows(_lm_eval_line(model, task, line) for line in lines)


def _lm_eval_line(model: str, task: str, line: Object) -> Answer:
    _require(line, ("filtered_resps",))
    name = str(line.get("filter", "none"))
    metrics = map(str, items(line, "metrics"))
    scores = {f"{metric},{name}": line[metric] for metric in metrics if metric in line}
    filtered = items(line, "filtered_resps") or [None]
    row = Answer(line.get("doc_id"), model, task, None, None, scores, ...)
    row.difficulty = _first_of("difficulty", line.get("doc"))
    if _are_likelihoods(filtered):
        _set_options(row, line, [number(pair[0], "filtered_resps") for pair in filtered])
    else:
        samples = [text for texts in items(line, "resps") for text in _texts(texts)]
        row.answer, row.text = filtered[0], samples[0] if samples else None
        row.samples = samples
    return row


def _texts(value: object) -> list[Any]:
    """Answers that one request sampled; some tasks keep no list of one."""
    return value if isinstance(value, list) else [value]


def _are_likelihoods(filtered: list[Any]) -> bool:
    pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in filtered)
    return (
        pairs and len(filtered) > 1 and all(str(pair[1]) in {"True", "False"} for pair in filtered)
    )


def _set_options(row: Answer, line: Object, values: list[float]) -> None:
    """Take log-probabilities of options, and how many letters each of them has."""
    choices = _choices(line)
    # Metrics that compare with the options alone ask for each of them twice.
    if len(choices) == len(values) and len(set(choices)) * 2 == len(choices):
        values, choices = values[: len(values) // 2], choices[: len(choices) // 2]
    row.options, row.answer = values, values.index(max(values))
    if len(choices) == len(values):
        row.lengths = [len(choice) for choice in choices]
        row.answer = choices[row.answer]
        per_letter = [value / max(n, 1) for value, n in zip(values, row.lengths, strict=True)]
        row.answer_per_letter = choices[per_letter.index(max(per_letter))]


def _choices(line: Object) -> list[str]:
    """Texts of the options, which early releases list in pairs with their context."""
    arguments = line.get("arguments")
    if isinstance(arguments, list):
        pairs = [pair for pair in arguments if isinstance(pair, list) and len(pair) == 2]
        return [str(option).strip() for _, option in pairs]
    requests = part(line, "arguments").values()
    return [str(one.get("arg_1", "")).strip() for one in requests if isinstance(one, dict)]


def _lm_eval_model(file: Path) -> str:
    for path in sorted(file.parent.glob("results*.json"), reverse=True):
        try:
            results = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            continue
        if isinstance(results, dict) and results.get("model_name"):
            return str(results["model_name"])
    return file.parent.name


def _require(line: Object, fields: tuple[str, ...]) -> None:
    """Refuse a line that another program wrote than the first one."""
    if not any(field in line for field in fields):
        raise MisshapenError(
            "all lines of a file must be of one kind",
            f"without {' or '.join(map(repr, fields))}",
            "split the file",
        )


def openai_lines(lines: Pieces) -> Iterator[Answer]:
    """Read events of OpenAI evals: samples and what was thought of them, by their id."""
    return lines.rows(_openai_events(lines))


def _openai_events(lines: Pieces) -> Iterator[Answer]:
    model = task = None
    texts: dict[object, object] = {}
    waiting: dict[object, list[Answer]] = {}
    for line in lines:
        _require(line, ("spec", "type", "final_report"))
        if "spec" in line:
            spec = part(line, "spec")
            functions = items(spec, "completion_fns") or [None]
            model, task = functions[0], spec.get("eval_name") or spec.get("base_eval")
            continue
        sample, kind = line.get("sample_id"), str(line.get("type"))
        key = object() if sample is None else str(sample)  # without an id nothing belongs together
        if kind == "sampling":
            data = part(line, "data")
            sampled = data.get("sampled") or data.get("completion")
            texts[key] = sampled[0] if isinstance(sampled, list) and sampled else sampled
        elif kind in {"match", "metrics"}:
            data = part(line, "data")
            scores = {k: v for k, v in data.items() if k in {"correct", "score", "accuracy"}}
            if not scores:
                continue
            answer = data.get("picked", data.get("sampled"))
            row = Answer(sample, model, task, None, answer, scores, data.get(CONFIDENCE, ...))
            waiting.setdefault(key, []).append(row)
    for key, rows in waiting.items():
        for trial, row in enumerate(rows, 1):
            row.text = texts.get(key)
            row.trial = trial if len(rows) > 1 else None
            yield row


def helm_document(log: Object, name: str) -> Iterator[Answer]:
    """Read request states of HELM within their document."""
    states = Pieces(enumerate(items(log, "request_states"), 1), name, "request state")
    return helm_states(log, states)


def helm_states(log: Object | None, states: Pieces) -> Iterator[Answer]:
    """Read request states of HELM: an answer is right if a reference that is tagged correct is.

    The texts are compared as `normalised` brings them to one form.
    """
    adapter = (log or {}).get("adapter_spec")
    model = adapter.get("model") if isinstance(adapter, dict) else None
    task = (log or {}).get("scenario") or (log or {}).get("scenario_name")
    return states.rows(_helm_state(model, task, state) for state in states)


def _helm_state(model: object, task: object, state: Object) -> Answer:
    _require(state, ("instance",))
    instance, result = part(state, "instance"), part(state, "result")
    completion = (objects(result, "completions") or [{}])[0]
    text = str(completion.get("text", "")).strip()
    mapped = part(state, "output_mapping").get(text, text)
    right = [
        normalised(part(reference, "output").get("text"))
        for reference in objects(instance, "references")
        if "correct" in items(reference, "tags")
    ]
    score = normalised(mapped) in right if right else None
    chance = completion.get("logprob")
    return Answer(
        instance.get("id"),
        model or part(state, "request").get("model"),
        task or state.get("scenario"),
        state.get("train_trial_index"),
        mapped,
        {"matches a correct reference": score},
        ...,
        text=completion.get("text"),
        tokens=None if chance is None else number(chance, "logprob"),
    )


# Names of fields in plain lines, by what they mean.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "confidence": (
        CONFIDENCE,
        "stated_confidence",
        "verbal_confidence",
        "confidence_score",
        "prediction",
        "probability",
        "prob",
    ),
    "correct": ("correct", "is_correct", "outcome", "accuracy", "acc", "score", "passed"),
    "question": ("question_id", "qid", "sample_id", "doc_id", "id", "question", "prompt", "input"),
    "model": ("model", "model_name", "model_id"),
    "task": ("task", "benchmark", "dataset", "eval", "subset"),
    "trial": (
        "trial",
        "trial_index",
        "trial_id",
        "trial_number",
        "epoch",
        "attempt",
        "run",
        "seed",
        "sample",
    ),
    "answer": ("answer", "response", "completion", "output", "prediction_text"),
    "prompt": ("prompt_id", "prompt_name", "prompt_variant", "prompt_template", "template"),
    "difficulty": ("difficulty", "difficulty_level", "level"),
}
# Names that often mean right or wrong, but also other things: they are suggested, not taken.
MAY_BE_CORRECT = (
    *("grade", "verdict", "judgement", "judgment", "is_right", "right", "label", "result"),
    *("success", "match", "evaluation", "grading"),
)
# An answer is found in either of these; ids name a question better than its text.
FIRST_OF = {"question", "answer"}


def _first_of(meaning: str, *sources: object) -> object:
    """Find a field by its meaning in the first source that has it."""
    for source in sources:
        if isinstance(source, dict):
            for name in FIELDS[meaning]:
                if source.get(name) is not None:
                    return source[name]
    return None


def choose_fields(present: Iterable[str], named: Mapping[str, str]) -> dict[str, str]:
    """Say which field of plain lines means what; more than one candidate is refused."""
    names = set(present)
    chosen = dict(named)
    for meaning, candidates in FIELDS.items():
        found = [name for name in candidates if name in names and name not in named.values()]
        if meaning in named or not found:
            continue
        if len(found) > 1 and meaning not in FIRST_OF:
            raise InvalidForecastsError(
                f"one field must mean {meaning}",
                " and ".join(map(repr, found)),
                f"name it, @fields={{{meaning!r}: {found[0]!r}}}",
            )
        chosen[meaning] = found[0]
    return chosen


def _refuse_other_names(line: Object, fields: Mapping[str, str]) -> None:
    """Refuse a line that has, under another name, what it lacks under the name that was chosen."""
    for meaning in ("confidence", "correct"):
        name = fields.get(meaning)
        others = [
            other for other in FIELDS[meaning] if other in line and other not in fields.values()
        ]
        if name is not None and name not in line and others:
            raise MisshapenError(
                f"all plain lines must have one field for {meaning}",
                f"with {others[0]!r} instead of {name!r}",
                "split the file, or write one name",
            )


def plain_lines(lines: Pieces, fields: Mapping[str, str]) -> Iterator[Answer]:
    """Read lines whose fields are known."""
    return lines.rows(_plain_answers(lines, fields))


def _plain_answers(lines: Pieces, fields: Mapping[str, str]) -> Iterator[Answer]:
    confidence, correct = fields.get("confidence"), fields["correct"]
    question, model, task = fields.get("question"), fields.get("model"), fields.get("task")
    trial, answer = fields.get("trial"), fields.get("answer")
    prompt, difficulty = fields.get("prompt"), fields.get("difficulty")
    for line in lines:
        get = line.get
        if correct not in line or (confidence is not None and confidence not in line):
            _refuse_other_names(line, fields)
        value = get(answer) if answer is not None else None
        yield Answer(
            get(question) if question is not None else None,
            get(model) if model is not None else None,
            get(task) if task is not None else None,
            get(trial) if trial is not None else None,
            value,
            {correct: get(correct)},
            get(confidence) if confidence is not None else ...,
            text=value if confidence is None else None,
            prompt=get(prompt) if prompt is not None else None,
            difficulty=get(difficulty) if difficulty is not None else None,
        )
