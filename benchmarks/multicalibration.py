"""Boosted multicalibration beside MCGrad on the same rows, judged on others.

Both run in the environment that peers.py makes for MCGrad, on one core; a million rows take MCGrad
minutes. Prints Markdown; exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from calibrant.groups import Multicalibrator, multicalibration_error
from pages import Line, add_write, leave, show

PAGE = "GROUPS"
TIME_BAR = 1.5
FEATURES = 20
HOW = (
    "by their outcomes, where a perfect forecaster has an error as well, and without that noise by "
    "the chances that the simulation knows."
)


def sample(n: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Draw base predictions that miss a corner, a tail and an interaction of twenty features.

    Returns features, base predictions, outcomes and the true chances of these.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, FEATURES))
    odds = 0.8 * x[:, 0] - 0.5 * x[:, 1] + 0.3 * x[:, 2] - 1
    missed = 0.6 * ((x[:, 3] > 0) & (x[:, 4] < 0.5)) - 0.5 * (x[:, 5] > 1)
    missed += 0.3 * x[:, 6] * (x[:, 0] > 0)
    chance = 1 / (1 + np.exp(-odds - missed))
    y = rng.random(n) < chance
    return x, 1 / (1 + np.exp(-1.2 * odds)), y.astype(np.int64), chance


def of_mcgrad(x: Any, p: Any, y: Any, new_x: Any, new_p: Any) -> tuple[float, Any]:
    import pandas as pd
    from mcgrad.methods import MCGrad

    names = [f"f{i}" for i in range(FEATURES)]
    columns = {
        "prediction_column_name": "p",
        "categorical_feature_column_names": [],
        "numerical_feature_column_names": names,
    }
    rows = pd.DataFrame(x, columns=names).assign(p=p, y=y)
    model = MCGrad()
    start = time.perf_counter()
    model.fit(df_train=rows, label_column_name="y", **columns)
    seconds = time.perf_counter() - start
    new = pd.DataFrame(new_x, columns=names).assign(p=new_p)
    return seconds, np.asarray(model.predict(new, **columns))


def of_calibrant(x: Any, p: Any, y: Any, new_x: Any, new_p: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    model = Multicalibrator("boosted").fit(p, y, x)
    return time.perf_counter() - start, model.transform(new_p, new_x)


PREDICTORS = {"mcgrad": of_mcgrad, "calibrant": of_calibrant}


def report(rows: int, seed: int) -> Iterator[Line]:
    x, p, y, _ = sample(rows, seed)
    new_x, new_p, new_y, chance = sample(200_000, seed + 1)
    by = {f"f{i}": new_x[:, i] for i in range(8)}
    yield (
        f"{rows:.0e} rows, {FEATURES} features, judged on {new_y.size:.0e} other rows: {HOW}\n",
        True,
    )
    yield "| | seconds | Brier score | error | error without noise |\n|---|---|---|---|---|", True
    theirs = math.inf, math.inf
    for name, predict in PREDICTORS.items():
        seconds, moved = predict(x, p, y, new_x, new_p)
        noisy, exact = (
            float(multicalibration_error(truth, moved, by)) for truth in (new_y, chance)
        )
        brier = np.mean((moved - new_y) ** 2)
        held = seconds <= TIME_BAR * theirs[0] and exact <= theirs[1]
        yield f"| {name} | {seconds:.1f} | {brier:.5f} | {noisy:.5f} | {exact:.5f} |", held
        if name == "mcgrad":
            theirs = seconds, exact
    perfect = float(multicalibration_error(new_y, chance, by))
    brier = np.mean((chance - new_y) ** 2)
    yield f"| the true chances | | {brier:.5f} | {perfect:.5f} | 0 |", True


def run_beside_mcgrad(options: list[str]) -> int:
    """Run this file in the environment of MCGrad that peers.py makes, on one core."""
    from peers import ONE_CORE, PEERS, build_wheel, install, python_of

    peer = next(peer for peer in PEERS if peer.name == "mcgrad")
    left_out = install(peer, build_wheel())
    if left_out:
        sys.exit(left_out)
    command = [python_of(peer), __file__, "--here", *options]
    return subprocess.run(command, env=os.environ | ONE_CORE, check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    add_write(parser, PAGE)
    options = parser.parse_args()
    if not options.here:
        sys.exit(run_beside_mcgrad(sys.argv[1:]))
    page = PAGE if options.write else None
    leave(show("Multicalibration", report(int(options.rows), options.seed), page))


if __name__ == "__main__":
    main()
