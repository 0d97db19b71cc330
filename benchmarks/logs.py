"""An audit of a log of 10^6 lines, questions as clusters: seconds of the processor, and memory.

    python benchmarks/logs.py [LINES]

Fails beyond 20 seconds or 1 GB for 10^6 lines.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LINES = 10**6
MOST_SECONDS, MOST_MEGABYTES = 20.0, 1000.0
WAYS = ("{}%", "0.{}", "about {} percent", "Confidence: 0.{}")


def write_log(path: Path, lines: int) -> None:
    """Write what four models answer to the same questions, stated in four ways."""
    draw = random.Random(0)  # noqa: S311  # no secret
    with path.open("w") as stream:
        for line in range(lines):
            question, model = divmod(line, 4)
            sure = draw.choice((60, 70, 75, 80, 85, 90, 95))
            row = {
                "question_id": f"q{question}",
                "model": f"model-{model}",
                "task": f"task-{question % 5}",
                "confidence": draw.choice(WAYS).format(sure),
                "answer": f"answer {draw.randrange(1000)}",
                "correct": draw.random() < sure / 100 - 0.05,
            }
            stream.write(json.dumps(row) + "\n")


def main() -> None:
    """Audit a log that is written for it, in a process of its own."""
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else LINES
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.jsonl"
        write_log(log, lines)
        command = [sys.executable, "-m", "calibrant", "audit", str(log), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"{lines} lines: {seconds:.1f} s of the processor, {megabytes:.0f} MB")
    allowed = lines / LINES
    if seconds > max(MOST_SECONDS * allowed, 5) or megabytes > max(MOST_MEGABYTES * allowed, 400):
        sys.exit(f"beyond {MOST_SECONDS:g} s or {MOST_MEGABYTES:g} MB for {LINES} lines")


if __name__ == "__main__":
    main()
