"""Time every measure beside a stable sort of the same predictions, in one run.

The yardstick S is numpy.sort(kind="stable"): the default sort changes five-fold with the
machine's SIMD path. Times are from arrays to answer with all checks, on one core, best of
several; every answer is asserted. Prints Markdown; exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import calibrant as cal
from commands import command_table
from groups import works as group_works
from inference import INFERENCES
from pages import Line, add_write, leave, show
from shapes import SHAPES, forecasts
from works import WORKS, Work

PAGE = "RESULTS"
HOW = (
    "Ratios are measured side by side in one run, on one core unless said, best of several, from "
    "arrays to answer with all checks; every answer is asserted."
)
IMPORT_BAR = 0.06
IMPORTS = {
    "`import calibrant`": "import calibrant",
    "`import calibrant` and a first smooth error": (
        "import calibrant; calibrant.smooth_calibration_error([0, 1], [0.2, 0.7])"
    ),
}
GROWTH_BAR = 2.5
MONITOR_BAR = 1e6
# Milliseconds of a call on 100 rows; seconds and GB of an audit of arrays.
SMALL: dict[str, tuple[float, Callable[..., float]]] = {
    "binned error": (0.06, cal.binned_calibration_error),
    "smECE": (1.0, cal.kernel_smoothed_calibration_error),
}
ARRAYS_BAR, ARRAYS_MEMORY = 6.0, 0.4
# Megabytes of an interval of 10^4 different predictions; bytes a row of 101 levels.
INTERVAL_BAR, LEVELS_BAR = 8.0, 1.0


def best_time(call: Callable[[], object], repeats: int, at_least: float = 0.3) -> float:
    """Shortest of several runs; short calls are repeated until some time has passed."""
    runs: list[float] = []
    while len(runs) < repeats or sum(runs) < at_least:
        start = time.perf_counter()
        call()
        runs.append(time.perf_counter() - start)
    return min(runs)


def ratios(n: int, repeats: int, shapes: Sequence[str]) -> dict[tuple[str, str], float]:
    """Time of each work on each shape, in sorts; the worst answer check raises.

    The sort is timed again beside every work, and the shortest counts: what else the machine does
    must not stretch the yardstick.
    """
    found = {}
    for shape in shapes:
        y, p = forecasts(shape, n)
        seconds, sort = {}, np.inf
        for work in WORKS:
            work.check(y, p, work.call(y, p))
            sort = min(sort, best_time(partial(np.sort, p, kind="stable"), 2, 0.0))
            seconds[work.name, shape] = best_time(partial(work.call, y, p), repeats)
        found |= {key: taken / sort for key, taken in seconds.items()}
    return found


def ratio_table(n: int, repeats: int, shapes: Sequence[str] = tuple(SHAPES)) -> Iterator[Line]:
    found = ratios(n, repeats, shapes)
    yield f"\n## {n:.0e} rows, in stable sorts of the same predictions\n", True
    yield f"| work | bar | {' | '.join(shapes)} |", True
    yield f"|---|---|{'---|' * len(shapes)}", True
    for work in WORKS:
        row = [found[work.name, shape] for shape in shapes]
        cells = " | ".join(f"{ratio:.3f}" for ratio in row)
        yield f"| {work.name} | {work.bar} | {cells} |", max(row) <= work.bar


def growth_table() -> Iterator[Line]:
    """Nanoseconds per row and per bit of log2(n): level if cost grows as n log n."""
    sizes = [10**4, 10**5, 10**6, 10**7]
    yield "\n## Growth: nanoseconds / (n log2 n), waves\n", True
    yield f"| work | {' | '.join(f'{n:.0e}' for n in sizes)} |", True
    yield f"|---|{'---|' * len(sizes)}", True
    for work in WORKS:
        row = []
        for n in sizes:
            y, p = forecasts("waves", n)
            seconds = best_time(partial(work.call, y, p), 3)
            row.append(seconds * 1e9 / (n * np.log2(n)))
        # Small samples pay the fixed cost of a call; the large ones must not grow.
        yield (
            f"| {work.name} | {' | '.join(f'{ns:.2f}' for ns in row)} |",
            row[-1] <= GROWTH_BAR * min(row),
        )


def monitor_table(n: int = 10**6) -> Iterator[Line]:
    """Rows per second of the monitor; the same rows in two pieces must leave the same state."""
    yield f"\n## Monitor: rows per second through update_many, {n:.0e} rows\n", True
    yield f"| bar | {' | '.join(SHAPES)} |", True
    yield f"|---|{'---|' * len(SHAPES)}", True
    row = []
    for shape in SHAPES:
        y, p = forecasts(shape, n)
        whole, pieces = cal.CalibrationMonitor(), cal.CalibrationMonitor()
        whole.update_many(y, p)
        pieces.update_many(y[: n // 3], p[: n // 3])
        pieces.update_many(y[n // 3 :], p[n // 3 :])
        assert whole == pieces
        seconds = best_time(lambda y=y, p=p: cal.CalibrationMonitor().update_many(y, p), 3)
        row.append(n / seconds)
    cells = " | ".join(f"{rate:.2g}" for rate in row)
    yield f"| {MONITOR_BAR:.0g} | {cells} |", min(row) >= MONITOR_BAR


MEMORY_PROGRAM = """
import resource, sys
sys.path.insert(0, {folder!r})
from shapes import forecasts
from works import WORKS
import numpy as np
y, p = forecasts({shape!r}, {n})
work = next(work for work in WORKS if work.name == {work!r})
work.call(y[:1000].copy(), p[:1000].copy())
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak that making the data left
def status(key):
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(key)).split()[1]) * 1024
before = status("VmRSS")
work.call(y, p)
print((status("VmHWM") - before) / (8 * {n}))
"""


def memory_table(n: int = 10**7) -> Iterator[Line]:
    """Peak memory beyond the input, in arrays of n doubles (Linux only)."""
    yield f"\n## Memory at {n:.0e} rows beyond the input, in arrays of n doubles\n", True
    yield "| work | bar | waves | rare events |", True
    yield "|---|---|---|---|", True
    for work in WORKS:
        row = [peak_memory(work, shape, n) for shape in ("waves", "rare events")]
        yield (
            f"| {work.name} | {work.memory:g} | {' | '.join(f'{m:.2f}' for m in row)} |",
            max(row) <= work.memory,
        )


def peak_memory(work: Work, shape: str, n: int) -> float:
    program = MEMORY_PROGRAM.format(
        folder=str(Path(__file__).parent), shape=shape, n=n, work=work.name
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def small_table(n: int = 100) -> Iterator[Line]:
    """Milliseconds of a call on few rows, where all but the work itself counts."""
    y, p = forecasts("biased beta", n)
    yield f"\n## Few rows: milliseconds of a call, {n} rows\n", True
    yield "| work | bar | found |", True
    yield "|---|---|---|", True
    joint = cal.Joint.from_samples(y, p)
    for name, (bar, measure) in SMALL.items():
        assert abs(measure(y, p) - measure(joint)) <= 1e-12
        found = best_time(partial(measure, y, p), 100) * 1000
        yield f"| {name} | {bar} | {found:.3f} |", found <= bar


ARRAYS_PROGRAM = """
import sys, time
sys.path.insert(0, {folder!r})
from shapes import forecasts
import calibrant as cal
y, p = forecasts("biased beta", {n})
exact = float(cal.smooth_calibration_error(y, p))
cal.audit(y[:100], p[:100])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak that making the data left
def status(key):
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(key)).split()[1]) * 1024
before, start = status("VmRSS"), time.process_time()
audit = cal.audit(y, p)
seconds = time.process_time() - start
low, high = audit.measures["smooth_calibration_error"].bounds
assert low <= exact <= high <= low + 2**-15, (low, exact, high)
print(seconds, (status("VmHWM") - before) / 2**30)
"""


def arrays_table(n: int = 10**7) -> Iterator[Line]:
    """Processor time and memory beyond the input of an audit of arrays (Linux only)."""
    program = ARRAYS_PROGRAM.format(folder=str(Path(__file__).parent), n=n)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    seconds, memory = map(float, done.stdout.split())
    yield f"\n## `audit(y, p)` on arrays, {n:.0e} rows: processor time\n", True
    yield "| bar, s | s | bar, GB | GB |", True
    yield "|---|---|---|---|", True
    held = seconds <= ARRAYS_BAR and memory <= ARRAYS_MEMORY
    yield f"| {ARRAYS_BAR:g} | {seconds:.2f} | {ARRAYS_MEMORY:g} | {memory:.2f} |", held


HELD_PROGRAM = """
import numpy as np
import calibrant as cal
def status(key):
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(key)).split()[1]) * 1024
def peak(call):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak that making the data left
    before = status("VmRSS")
    call()
    return status("VmHWM") - before
rng = np.random.default_rng(0)
p = rng.random(10**4)
y = (rng.random(p.size) < p).astype(np.int64)
cal.confidence_interval(y[:100], p[:100], rng=0)
interval = peak(lambda: cal.confidence_interval(y, p, rng=0))
levels = rng.integers(0, 101, 10**7) / 100
ones = (rng.random(levels.size) < levels).astype(np.uint8)
joint = cal.Joint.from_samples(ones[:1000], levels[:1000])
few = peak(lambda: cal.Joint.from_samples(ones, levels))
print(interval / 2**20, few / levels.size)
"""


def held_table() -> Iterator[Line]:
    """Peak memory of draws on many predictions, and of rows with few of them (Linux only)."""
    done = subprocess.run(
        [sys.executable, "-c", HELD_PROGRAM], capture_output=True, text=True, check=True
    )
    interval, levels = map(float, done.stdout.split())
    yield "\n## Memory beyond the input\n", True
    yield "| work | bar | found |", True
    yield "|---|---|---|", True
    told = f"| interval, 1e+04 different predictions | {INTERVAL_BAR:g} MB | {interval:.1f} MB |"
    yield told, interval <= INTERVAL_BAR
    told = f"| Joint of 1e+07 rows, 101 levels | {LEVELS_BAR:g} byte a row | {levels:.2f} |"
    yield told, levels <= LEVELS_BAR


def inference_table() -> Iterator[Line]:
    """Seconds beyond building the Joint in 2^12 cells: the number of rows must not matter."""
    sizes = [10**4, 10**6, 10**7]
    yield "\n## Inference: seconds beyond the Joint in 4096 cells, waves\n", True
    yield f"| work | bar | {' | '.join(f'{n:.0e}' for n in sizes)} |", True
    yield f"|---|---|{'---|' * len(sizes)}", True
    joints = [cal.Joint.from_samples(*forecasts("waves", n), resolution=2**12) for n in sizes]
    for work in INFERENCES:
        row = []
        for joint in joints:
            work.check(joint, work.call(joint))
            row.append(best_time(partial(work.call, joint), 3))
        cells = " | ".join(f"{seconds:.2f}" for seconds in row)
        yield f"| {work.name} | {work.bar} | {cells} |", max(row) <= work.bar


def groups_table() -> Iterator[Line]:
    """Seconds, or times the same audit without groups."""
    yield "\n## Groups\n", True
    yield "| work | bar | found |", True
    yield "|---|---|---|", True
    for work in group_works():
        work.check(work.call())
        found = best_time(work.call, 3)
        unit = "s" if work.beside is None else "times"
        found /= 1.0 if work.beside is None else best_time(work.beside, 3)
        yield f"| {work.name} | {work.bar:g} {unit} | {found:.2f} |", found <= work.bar


def import_table() -> Iterator[Line]:
    """Seconds of the processor beyond numpy: of the import, and until a first error is known."""
    # Sources that are compiled anew each time would be measured instead of the import, and threads
    # of BLAS that wait for work beside it.
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    compiled["OPENBLAS_NUM_THREADS"] = "1"

    def seconds(statement: str) -> float:
        program = (
            f"import time, numpy; t = time.process_time(); {statement}; "
            "print(time.process_time() - t)"
        )
        runs = [
            subprocess.run(
                [sys.executable, "-c", program], capture_output=True, check=True, env=compiled
            )
            for _ in range(6)
        ]
        return min(float(run.stdout) for run in runs)

    yield "\n## Import\n", True
    for name, statement in IMPORTS.items():
        found = seconds(statement)
        yield f"- {name} beyond numpy: {found:.3f} s (bar {IMPORT_BAR} s)", found <= IMPORT_BAR


def report() -> Iterator[Line]:
    yield HOW, True
    yield from ratio_table(10**6, 7)
    yield from ratio_table(10**7, 2, ("biased beta", "rare events"))
    yield from growth_table()
    yield from monitor_table()
    yield from memory_table()
    yield from small_table()
    yield from arrays_table()
    yield from held_table()
    yield from inference_table()
    yield from command_table()
    yield from groups_table()
    yield from import_table()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_write(parser, PAGE)
    page = PAGE if parser.parse_args().write else None
    with cal.threads(1):
        missed = show("Benchmarks", report(), page)
    leave(missed)


if __name__ == "__main__":
    main()
