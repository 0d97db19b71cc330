"""Write small logs with inspect_ai and its mock model: `python write_inspect_logs.py FOLDER`.

Runs where inspect_ai is installed; `logs/` keeps what it wrote.
"""

from __future__ import annotations

import sys
from pathlib import Path

from inspect_ai import Task, eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    get_model,
)
from inspect_ai.scorer import Score, accuracy, includes, match, scorer
from inspect_ai.solver import generate

# Question, right answer, and what the model answers, twice.
SUMS = [
    ("q1", "2 + 2?", "4", ["4\nConfidence: 90%", "4\nConfidence: 0.8"]),
    ("q2", "Capital of France?", "Paris", ["Paris\nConfidence: 0.95", "Paris\nConfidence: 9/10"]),
    ("q3", "東京 wie weit? 🙂", "7 km", ["42 km\nConfidence: about 85 percent"] * 2),
    ("q4", "5 x 5?", "25", ["24\nConfidence: almost certain", "25\nConfidence: very likely"]),
    ("q5", "3 x 3?", "9", ["9", "9\nConfidence: 80-90%"]),
]
LETTERS = [
    ("1", "Red?", "A", {"A": -0.1, "B": -2.5, "C": -4.0}),
    ("2", "Blue?", "B", {"A": -0.5, "B": -1.0, "C": -6.0}),
    ("3", "Green?", "C", {"C": -0.05, "B": -3.5}),
]


@scorer(metrics=[accuracy()])
def partial() -> object:
    """Half of the credit for an answer that is near, with a confidence beside it."""

    async def score(state: object, target: object) -> Score:
        answer = state.output.completion
        value = "C" if answer.startswith(target.text) else "P" if "km" in answer else "I"
        return Score(value=value, answer=answer, metadata={"confidence": 0.7})

    return score


def _output(text: str, logprobs: Logprobs | None = None) -> ModelOutput:
    choice = ChatCompletionChoice(
        message=ChatMessageAssistant(content=text), stop_reason="stop", logprobs=logprobs
    )
    return ModelOutput(model="mockllm/model", choices=[choice], usage=ModelUsage())


def _letter(options: dict[str, float]) -> ModelOutput:
    best = max(options, key=options.__getitem__)
    top = [TopLogprob(token=letter, logprob=value) for letter, value in options.items()]
    content = [Logprob(token=best, logprob=options[best], top_logprobs=top)]
    return _output(best, Logprobs(content=content))


def main(folder: Path) -> None:
    """Write one log as a zip and two as JSON."""
    questions = [Sample(id=name, input=text, target=right) for name, text, right, _ in SUMS]
    letters = [Sample(id=name, input=text, target=right) for name, text, right, _ in LETTERS]
    twice = [
        _output(answer) for trial in (0, 1) for *_, answers in SUMS for answer in [answers[trial]]
    ]
    jobs = [
        ("sums", questions, [match(location="begin"), includes()], twice, 2, "eval"),
        ("partial", questions, partial(), twice[:5], 1, "json"),
        ("letters", letters, match(), [_letter(options) for *_, options in LETTERS], 1, "json"),
    ]
    for name, dataset, score, outputs, epochs, kind in jobs:
        logs = run(
            Task(
                name=name,
                dataset=MemoryDataset(dataset),
                solver=generate(),
                scorer=score,
                epochs=epochs,
            ),
            model=get_model("mockllm/model", custom_outputs=outputs),
            log_format=kind,
            log_dir=str(folder / "written"),
            display="none",
            max_samples=1,
        )
        written = Path(logs[0].location)
        written.replace(folder / f"inspect_{name}.{kind}")
    written.parent.rmdir()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
