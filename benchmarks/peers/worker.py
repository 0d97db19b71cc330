"""Run in a peer's own environment: times, values, memory and faults, printed as JSON lines.

Usage: worker.py times PEER ROWS_FOLDER | memory INDEX SIDE ROWS_FILE | faults PEER
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from comparisons import COMPARISONS, Comparison
from faults import FAULTS, answers
from plain import explain

import calibrant as cal

LIMIT = 60
REPEATS = 5
Job = Callable[[], Any]


def main() -> None:
    warnings.simplefilter("ignore")
    job, *arguments = sys.argv[1:]
    answer = os.fdopen(os.dup(1), "w")
    with redirect_stdout(sys.stderr):
        for row in {"times": times, "memory": memory, "faults": faults}[job](*arguments):
            print(json.dumps(row), file=answer, flush=True)


def times(peer: str, folder: str) -> Any:
    for index, comparison in enumerate(COMPARISONS):
        if comparison.peer == peer:
            for size, files in by_size(Path(folder)).items():
                if size > comparison.largest:
                    break
                rows = [label(index, comparison) | beside(comparison, file) for file in files]
                yield from rows
                if any("failed" in row for row in rows):
                    break


def label(index: int, comparison: Comparison) -> dict[str, Any]:
    words = {key: getattr(comparison, key) for key in ("measure", "call", "note")}
    return {"index": index, **words}


def by_size(folder: Path) -> dict[int, list[Path]]:
    sizes = sorted(int(path.name) for path in folder.iterdir())
    return {size: sorted((folder / str(size)).iterdir()) for size in sizes}


def beside(comparison: Comparison, file: Path) -> dict[str, Any]:
    """Time both, in turns, and judge the peer's value."""
    y, p = read(file)
    row: dict[str, Any] = {"shape": file.stem, "rows": p.size}
    theirs = comparison.load()
    try:
        value = float(within_limit(lambda: theirs(y, p)))
        row |= in_turns(lambda: theirs(y, p), lambda: comparison.ours(y, p))
    except Exception as error:  # noqa: BLE001
        return row | {"failed": f"{p.size:.0e} rows, {type(error).__name__}: {error}"[:200]}
    row |= {"value": value, "our_value": float(comparison.ours(y, p))}
    if comparison.right:
        right = float(comparison.right(y, p))
        row["right"] = right
        if not abs(value - right) <= comparison.tolerance:
            row["reason"] = reason(theirs, y, p, value, comparison.tolerance)
    return row


def reason(theirs: Callable[[Any, Any], float], y: Any, p: Any, value: float, most: float) -> str:
    """Say why a value is not the defined one, as far as trials can tell."""
    if abs(theirs(y, p) - value) > most:
        return "changes from call to call"
    order = np.random.default_rng(0).permutation(p.size)
    if abs(theirs(y[order], p[order]) - value) > most:
        return "splits equal forecasts: changes with the order of the rows"
    return explain(y, p, value, most)


def read(file: Path) -> tuple[Any, Any]:
    with np.load(file) as rows:
        return rows["y"], rows["p"]


def within_limit(call: Job) -> Any:
    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {LIMIT} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        return call()
    finally:
        signal.alarm(0)


def in_turns(theirs: Job, ours: Job) -> dict[str, float]:
    """Best of several, one after the other, so that both see the same machine."""
    best = {"theirs": np.inf, "ours": np.inf}
    spent = 0.0
    for _ in range(REPEATS):
        for name, call in (("theirs", theirs), ("ours", ours), ("ours", ours)):
            start = time.perf_counter()
            call()
            passed = time.perf_counter() - start
            best[name] = min(best[name], passed)
            spent += passed
        if spent > 2:
            break
    return best


def memory(index: str, side: str, file: str) -> Any:
    """Peak memory beyond the input, in bytes (Linux only)."""
    comparison = COMPARISONS[int(index)]
    call = comparison.load() if side == "theirs" else comparison.ours
    y, p = read(Path(file))
    call(y[:1000].copy(), p[:1000].copy())
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status("VmRSS")
    call(y, p)
    yield status("VmHWM") - before


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def faults(peer: str) -> Any:
    for fault in FAULTS:
        if fault.peer == peer:
            try:
                said = fault.case()
            except Exception as error:  # noqa: BLE001
                said = f"not run: {type(error).__name__}: {error}"[:200]
            yield {"title": fault.title, "said": said, "convention": fault.convention}
    for name, measure in calls(peer).items():
        yield {"call": name, "answers": answers(measure)}


def calls(peer: str) -> dict[str, Callable[[Any, Any], float]]:
    """Name what is tried with bad input; our own calls stand where scipy's would."""
    if peer == "scipy":
        ours = (cal.binned_calibration_error, cal.smooth_calibration_error)
        return {f"{measure.__name__}(y, p)": measure for measure in ours}
    return {of.call: of.load() for of in COMPARISONS if of.peer == peer}


if __name__ == "__main__":
    main()
