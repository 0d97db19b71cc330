"""Time measures of many classes beside their yardsticks, in one run; answers are asserted.

With --peers also beside torchmetrics, netcal and MAPIE, each in the environment that
`peers.py` makes for it; their answers are asserted where they name the same thing. Prints
Markdown, and with --write writes CLASSES.md; exits with 1 if a bar is missed. --fewer 10 tries
everything on a tenth of the rows, where missing a bar is no failure.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.multiclass import class_wise, projected_smooth_calibration_error
from pages import Line, add_write, leave, show
from peers import PEERS, build_wheel, install, python_of, run

CLASS_WISE_BAR, ONE_THREAD_BAR, TWO_THREADS_BAR = 2.0, 512.0, 300.0
PAGE = "CLASSES"
WORKER = Path(__file__).parent / "peers" / "classes.py"
SIDE_BY_SIDE = ("torchmetrics", "netcal", "mapie")


def forecasts(rows: int, classes: int, concentration: float, power: float) -> tuple[Any, Any]:
    """Labels drawn from rows of a Dirichlet law, and those rows to a power."""
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(classes, concentration), rows)
    label = np.minimum((true.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1), classes - 1)
    if power == 1:
        return label, true
    moved = true**power
    return label, moved / moved.sum(axis=1, keepdims=True)


def timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    runs = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        runs.append(time.perf_counter() - start)
    return min(runs), value


def class_wise_table(rows: int, classes: int = 1000) -> Iterator[Line]:
    y, p = forecasts(rows, classes, 0.05, 1)
    sort, _ = timed(lambda: np.sort(p, axis=0, kind="stable"), 2)
    seconds, errors = timed(lambda: class_wise(y, p), 2)
    for k in (0, classes // 2, classes - 1):
        assert errors.values[k] == cal.smooth_calibration_error(y == k, p[:, k])
    ratio = seconds / sort
    yield f"\n## Smooth error of each of {classes} classes, {rows} rows\n", True
    yield "| work | bar | ratio to a stable sort of the columns |", True
    yield "|---|---|---|", True
    yield f"| `class_wise` | {CLASS_WISE_BAR:g} | {ratio:.2f} |", ratio <= CLASS_WISE_BAR


def projected_table(rows: int, classes: int = 10) -> Iterator[Line]:
    yield f"\n## Worst of all subsets of {classes} classes, {rows} rows\n", True
    yield "| forecasts | bar | one thread | bar | two threads |", True
    yield "|---|---|---|---|---|", True
    for name, power in (("calibrated", 1.0), ("over-confident", 1.5), ("under-confident", 0.7)):
        y, p = forecasts(rows, classes, 0.7, power)
        half = (y < classes // 2).astype(np.int64)
        chance = np.minimum(p[:, : classes // 2].sum(axis=1), 1.0)
        binary, _ = timed(lambda half=half, c=chance: cal.smooth_calibration_error(half, c), 7)
        ratios = []
        for threads in (1, 2):
            seconds, error = timed(
                lambda y=y, p=p, t=threads: projected_smooth_calibration_error(y, p, threads=t), 2
            )
            ratios.append(seconds / binary)
            joint = cal.multiclass.subset(y, p, members=error.witness.classes)
            assert error == cal.smooth_calibration_error(joint)
            assert error >= class_wise(y, p).worst
        bars = (ONE_THREAD_BAR, TWO_THREADS_BAR)
        cells = " | ".join(f"{bar:g} | {r:.0f}" for bar, r in zip(bars, ratios, strict=True))
        held = all(r <= bar for bar, r in zip(bars, ratios, strict=True))
        yield f"| {name} | {cells} |", held


def peer_table(divisor: int) -> Iterator[Line]:
    wheel = build_wheel()
    yield "\n## Top-label binned error, 15 bins, beside peers\n", True
    yield "| peer and call | rows | classes | their time over ours | value | by definition |", True
    yield "|---|---|---|---|---|---|", True
    for peer in PEERS:
        if peer.name not in SIDE_BY_SIDE:
            continue
        trouble = install(peer, wheel)
        if trouble:
            yield f"| {peer.name} | | | {trouble} | | |", True
            continue
        for line in run(python_of(peer), WORKER, peer.name, str(divisor)).splitlines():
            found = json.loads(line)
            size = f"{found['rows']} | {found['classes']}"
            right = f"{found['right']:.6f}" if found["same"] else "another definition"
            values = f"{found['ratio']:.2f} | {found['value']:.6f} | {right}"
            yield f"| {peer.name}: `{found['call']}` | {size} | {values} |", True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", action="store_true", help="also beside peer libraries")
    add_write(parser, PAGE)
    parser.add_argument("--fewer", type=int, default=1, help="divide all rows by this")
    options = parser.parse_args()
    fewer = options.fewer
    tables = [class_wise_table(50_000 // fewer), projected_table(10**5 // fewer)]
    if options.peers:
        tables.append(peer_table(fewer))
    missed = show("Many classes", chain.from_iterable(tables), PAGE if options.write else None)
    if fewer == 1:
        leave(missed)


if __name__ == "__main__":
    main()
