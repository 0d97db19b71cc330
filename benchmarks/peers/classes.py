"""Run in a peer's own environment: top-label errors of classes beside ours, as JSON lines.

A peer whose call is defined as the top-label error in bins must give its value; another definition
is shown beside it. Usage: classes.py PEER [DIVISOR of the rows]
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np

import calibrant as cal

SIZES = ((10**4, 10), (10**5, 10), (10**4, 1000))
BINS = 15
Call = Callable[[Any, Any], float]


def forecasts(rows: int, classes: int) -> tuple[Any, Any]:
    """Over-confident forecasts of classes."""
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(classes, 3 / classes), rows) + 1e-9
    true /= true.sum(axis=1, keepdims=True)
    label = np.minimum((true.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1), classes - 1)
    sharp = true**1.5
    return label, sharp / sharp.sum(axis=1, keepdims=True)


def ours(y: Any, p: Any) -> float:
    """Bins need no sorted levels, so the rows are handed on as they are."""
    rows = cal.multiclass.ClassForecasts.read(y, p).top_label_rows()
    return cal.binned_calibration_error(rows.outcome, rows.prediction, n_bins=BINS)


def by_definition(y: Any, p: Any) -> float:
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    edges = np.arange(BINS + 1) / BINS
    index = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, BINS - 1)
    return float(np.abs(np.bincount(index, correct - confidence, BINS)).sum() / y.size)


def torchmetrics_call() -> Call:
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    torch.set_num_threads(1)
    return lambda y, p: float(
        multiclass_calibration_error(
            torch.from_numpy(p), torch.from_numpy(y), num_classes=p.shape[1], n_bins=BINS
        )
    )


def netcal_call() -> Call:
    from netcal.metrics import ECE

    return lambda y, p: float(ECE(BINS).measure(p, y))


def mapie_call() -> Call:
    from mapie.metrics.calibration import top_label_ece

    return lambda y, p: float(top_label_ece(y, p, num_bins=BINS, split_strategy="uniform"))


PEERS: dict[str, tuple[str, Callable[[], Call]]] = {
    "torchmetrics": ("multiclass_calibration_error(p, y, n_bins=15)", torchmetrics_call),
    "netcal": ("ECE(15).measure(p, y)", netcal_call),
    "mapie": ('top_label_ece(y, p, num_bins=15, split_strategy="uniform")', mapie_call),
}
# MAPIE averages over the predicted classes, each with bins of its own.
SAME_DEFINITION = {"torchmetrics", "netcal"}


def best(call: Callable[[], float], repeats: int = 5) -> tuple[float, float]:
    """Shortest of several runs, and the value."""
    runs = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        runs.append(time.perf_counter() - start)
    return min(runs), float(value)


def main() -> None:
    warnings.simplefilter("ignore")
    peer, divisor = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    name, load = PEERS[peer]
    answer = os.fdopen(os.dup(1), "w")
    with redirect_stdout(sys.stderr):
        theirs = load()
        for full, classes in SIZES:
            rows = full // divisor
            y, p = forecasts(rows, classes)
            right = by_definition(y, p)
            time_theirs, value = best(lambda y=y, p=p: theirs(y, p))
            time_ours, our_value = best(lambda y=y, p=p: ours(y, p))
            assert abs(our_value - right) <= 1e-9
            same = peer in SAME_DEFINITION
            assert not same or abs(value - right) <= 1e-6, f"{peer} {value}, by definition {right}"
            print(
                json.dumps(
                    {
                        "call": name,
                        "rows": rows,
                        "classes": classes,
                        "ratio": time_theirs / time_ours,
                        "value": value,
                        "right": right,
                        "same": same,
                    }
                ),
                file=answer,
                flush=True,
            )


if __name__ == "__main__":
    main()
