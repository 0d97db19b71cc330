"""Write small logs with lm-evaluation-harness: `python write_lm_eval_logs.py FOLDER`.

Runs where lm_eval is installed; `logs/` keeps what it wrote.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import lm_eval
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

CHOICES = [
    {"question": f"Is {n} odd?", "choices": ["no", "certainly it is"], "answer": n % 2}
    for n in range(8)
]
STATED = ["Confidence: 90%", "Confidence: 0.6", "Confidence: unsure"]
CHOICE_TASK = """task: odd
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_target: answer
doc_to_choice: "{{choices}}"
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
TEXT_TASK = """task: spoken
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
output_type: generate_until
repeats: 3
doc_to_text: "{{question}} Answer yes or no, then state your confidence."
doc_to_target: "{{choices[answer]}}"
metric_list: [{metric: exact_match}]
filter_list:
  - name: first_word
    filter: [{function: regex, regex_pattern: "^(\\\\w+)"}, {function: take_first}]
  - name: whole
    filter: [{function: take_first}]
"""


class Fixed(LM):
    """Answers that depend on nothing but their place."""

    def loglikelihood(self, requests: list) -> list:
        return [(-0.3 - 0.45 * (index % 5), False) for index, _ in enumerate(requests)]

    def loglikelihood_rolling(self, requests: list) -> list:
        raise NotImplementedError

    def generate_until(self, requests: list) -> list:
        return [
            f"{'no' if n % 3 else 'yes'}. {STATED[n % len(STATED)]}" for n, _ in enumerate(requests)
        ]


def main(folder: Path) -> None:
    """Write the samples of two tasks, and the results beside them."""
    folder = folder.resolve()
    with (
        tempfile.TemporaryDirectory() as directory,
        chdir(directory),
    ):  # logs name the data as it is named
        data = Path("data.jsonl")
        data.write_text("".join(json.dumps(row) + "\n" for row in CHOICES))
        for name, text in (("odd", CHOICE_TASK), ("spoken", TEXT_TASK)):
            (Path(directory) / f"{name}.yaml").write_text(text.replace("FILE", str(data)))
        tracker = EvaluationTracker(output_path=str(folder))
        tracker.general_config_tracker.log_experiment_args(
            model_source="fixed",
            model_args="pretrained=fixed",
            system_instruction=None,
            chat_template=None,
            fewshot_as_multiturn=False,
        )
        results = lm_eval.simple_evaluate(
            Fixed(),
            tasks=["odd", "spoken"],
            task_manager=TaskManager(include_path=directory, include_defaults=False),
            log_samples=True,
            bootstrap_iters=0,
        )
        samples = results.pop("samples")
        for config in results["configs"].values():
            config.pop("config_source", None)  # a folder of this machine
        tracker.save_results_aggregated(results=results, samples=samples)
        for task in results["configs"]:
            tracker.save_results_samples(task_name=task, samples=samples[task])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
