"""Time the calibrators beside a stable sort and beside other libraries, in one run.

As in run.py, S is numpy.sort(kind="stable") of the same predictions; times are from arrays to the
fitted calibrator with all checks, on one core, best of several, and every answer is asserted. Peers
are scikit-learn, betacal and venn-abers, where they are installed, and netcal in an environment of
its own (build/peers, as in peers.py), because it needs torch. Prints Markdown; exits with 1 if a
bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import logit

from calibrant.recalibration import (
    BetaCalibration,
    Calibrator,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    PlattScaling,
    PriorCorrection,
    StructuredVectorScaling,
    TemperatureScaling,
    VennAbers,
    recalibrate,
)
from calibrant.recalibration.files import apply_to_files
from pages import Line, add_write, leave, show
from peers import HERE, ONE_CORE, PEERS, build_wheel, install, python_of
from run import best_time
from shapes import SHAPES, Floats, forecasts
from works import Work

CHOICE_BAR, APPLY_BAR, CLASS_BAR = 40, 2, 20
PAGE = "RECALIBRATION"
PEER_SHAPE = "biased beta"
BESIDE = """\
This page is about time. How good calibrators are on real models, beside other libraries: ARENA.md;
by which rule one of them is chosen: CHOICE_RULE.md."""


def fit(kind: type[Calibrator], y: Floats, p: Floats) -> Calibrator:
    return kind().fit(p, y)


def fit_and_transform(y: Floats, p: Floats) -> tuple[Calibrator, Floats]:
    fitted = VennAbers().fit(p, y)
    return fitted, fitted.transform(p)


def check_isotonic(y: Floats, p: Floats, fitted: Calibrator) -> None:
    _, index = np.unique(p, return_inverse=True)
    counts = np.bincount(index)
    expected = isotonic_regression(np.bincount(index, y) / counts, weights=counts).x[index]
    assert np.abs(fitted.transform(p) - expected).max() <= 1 / p.size


def check_logistic(y: Floats, p: Floats, fitted: Calibrator) -> None:
    """Assert that no term of the model is left in the residuals, within its bounds."""
    residual = fitted.transform(p) - y
    inside = np.clip(p, 2.0**-53, 1 - 2.0**-53)
    if isinstance(fitted, PlattScaling):
        residual += np.where(y == 1, 1 - fitted.one_, -fitted.zero_)
    if not isinstance(fitted, TemperatureScaling):
        assert abs(residual.mean()) <= 1e-9
    if isinstance(fitted, BetaCalibration):
        for at, term in ((fitted.low_, np.log(inside)), (fitted.high_, -np.log(1 - inside))):
            assert abs(np.mean(residual * term)) <= 1e-8 or at in {0.0, 100.0}
    else:
        assert abs(np.mean(residual * logit(inside))) <= 1e-8


def check_venn_abers(y: Floats, p: Floats, found: tuple[Any, Floats]) -> None:
    """Assert two values by isotonic regression with one more row."""
    _, values = found
    for x, value in zip(p[:2], values[:2], strict=True):
        ends = []
        for outcome in (0, 1):
            level, index = np.unique(np.append(p, x), return_inverse=True)
            counts = np.bincount(index)
            mean = np.bincount(index, np.append(y, outcome)) / counts
            place = np.searchsorted(level, x)
            ends.append(isotonic_regression(mean, weights=counts).x[place])
        low, high = ends
        assert abs(high / (1 - low + high) - value) <= 1e-9


def check_pools(y: Floats, p: Floats, fitted: Calibrator) -> None:
    """Assert that the calibrator is calibrated on its own rows."""
    assert abs(np.mean(fitted.transform(p) - y)) <= 2e-3


REPAIRS = (
    Work("isotonic", 1.0, partial(fit, IsotonicCalibration), check_isotonic),
    Work("temperature", 2.3, partial(fit, TemperatureScaling), check_logistic),
    Work("platt", 2.3, partial(fit, PlattScaling), check_logistic),
    Work("beta", 2.3, partial(fit, BetaCalibration), check_logistic),
    Work("VennAbers, with predictions", 6.0, fit_and_transform, check_venn_abers),
    Work("prior", 2.3, partial(fit, PriorCorrection), lambda *_: None),
    Work("histogram", 2.3, partial(fit, HistogramBinning), check_pools),
    Work("kernel", 2.3, partial(fit, KernelCalibration), check_pools),
)


def peers() -> dict[str, tuple[str, Callable[[Floats, Floats], object]]]:
    """Name calls of other libraries that do the same work, with log-odds where they need them."""
    found: dict[str, tuple[str, Callable[[Floats, Floats], object]]] = {}
    from sklearn.calibration import _SigmoidCalibration
    from sklearn.isotonic import IsotonicRegression

    found["isotonic"] = (
        "scikit-learn",
        lambda y, p: IsotonicRegression(out_of_bounds="clip").fit(p, y),
    )
    found["platt"] = ("scikit-learn", lambda y, p: _SigmoidCalibration().fit(logit(p), y))
    try:
        from betacal import BetaCalibration

        found["beta"] = ("betacal", lambda y, p: BetaCalibration().fit(p.reshape(-1, 1), y))
    except ImportError:
        pass
    try:
        from venn_abers import VennAbers as Package

        def package(y: Floats, p: Floats) -> object:
            both = np.column_stack([1 - p, p])
            fitted = Package()
            fitted.fit(both, y)
            return fitted.predict_proba(both)

        found["VennAbers, with predictions"] = ("venn-abers", package)
    except ImportError:
        pass
    return found


def fit_table(n: int, repeats: int) -> Iterator[Line]:
    yield (
        f"\n## Fitting a calibrator to {n:.0e} rows, in stable sorts of the same predictions\n",
        True,
    )
    yield f"| calibrator | bar | {' | '.join(SHAPES)} |", True
    yield f"|---|---|{'---|' * len(SHAPES)}", True
    found = {}
    for shape in SHAPES:
        y, p = forecasts(shape, n)
        sort = best_time(partial(np.sort, p, kind="stable"), repeats)
        for work in REPAIRS:
            work.check(y, p, work.call(y, p))
            found[work.name, shape] = best_time(partial(work.call, y, p), repeats) / sort
    for work in REPAIRS:
        row = [found[work.name, shape] for shape in SHAPES]
        cells = " | ".join(f"{ratio:.2f}" for ratio in row)
        yield f"| {work.name} | {work.bar} | {cells} |", max(row) <= work.bar


def peer_table(n: int) -> Iterator[Line]:
    y, p = forecasts(PEER_SHAPE, n)
    sort = best_time(partial(np.sort, p, kind="stable"), 5)
    yield f"\n## Beside other libraries, {n:.0e} rows, {PEER_SHAPE}, in stable sorts\n", True
    yield "| calibrator | calibrant | peer | its time |", True
    yield "|---|---|---|---|", True
    others = peers()
    for work in REPAIRS:
        if work.name in others:
            name, call = others[work.name]
            ours = best_time(partial(work.call, y, p), 5) / sort
            theirs = best_time(partial(call, y, p), 1, 0.0) / sort
            yield f"| {work.name} | {ours:.2f} | {name} | {theirs:.1f} |", ours <= theirs


# Calibrators as netcal defines them, and how far its optimisers stop from the optimum.
AS_NETCAL = (
    (TemperatureScaling(), 1e-3),
    (PlattScaling("none"), 1e-3),
    (BetaCalibration(), 1e-3),
    (IsotonicCalibration(allow_certain=True), 1e-12),
    (HistogramBinning("uniform", 15, allow_certain=True), 1e-12),
)


def netcal_table(n: int) -> Iterator[Line]:
    yield f"\n## Beside netcal, {n:.0e} rows, {PEER_SHAPE}, in stable sorts\n", True
    peer = next(peer for peer in PEERS if peer.name == "netcal")
    left_out = install(peer, build_wheel())
    if left_out:
        yield f"netcal is left out: {left_out}", True
        return
    y, p = forecasts(PEER_SHAPE, n)
    at = (np.arange(100) + 0.5) / 100  # on no edge of a bin: netcal closes bins on the right
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        np.savez(rows, y=y, p=p, at=at)
        done = subprocess.run(
            [python_of(peer), HERE / "peers" / "calibrators.py", rows],
            env=os.environ | ONE_CORE,
            capture_output=True,
            text=True,
            check=True,
        )
    theirs = json.loads(done.stdout.splitlines()[-1])
    sort = best_time(partial(np.sort, p, kind="stable"), 5)
    yield "| calibrator | calibrant | netcal | largest difference | at most |", True
    yield "|---|---|---|---|---|", True
    for one, close in AS_NETCAL:
        found = theirs[one.name]
        ours = best_time(partial(one.fit, p, y), 5) / sort
        peer_time = found["seconds"] / sort
        far = float(np.abs(one.transform(at) - found["values"]).max())
        assert far <= close, (one, far)
        yield f"| {one!r} | {ours:.2f} | {peer_time:.1f} | {far:.0e} | {close} |", ours <= peer_time


def choice_table(n: int) -> Iterator[Line]:
    yield f"\n## Choosing among all calibrators with 5 folds, {n:.0e} rows, in stable sorts\n", True
    yield f"| bar | {' | '.join(SHAPES)} |", True
    yield f"|---|{'---|' * len(SHAPES)}", True
    row = []
    for shape in SHAPES:
        y, p = forecasts(shape, n)
        sort = best_time(partial(np.sort, p, kind="stable"), 5)
        choice = recalibrate(y, p, rng=0)
        assert choice.unchanged == (shape in {"calibrated", "two decimals", "rare events"}), shape
        row.append(best_time(partial(recalibrate, y, p, rng=0), 2) / sort)
    cells = " | ".join(f"{ratio:.1f}" for ratio in row)
    yield f"| {CHOICE_BAR} | {cells} |", max(row) <= CHOICE_BAR


def class_forecasts(n: int, classes: int) -> tuple[Any, Floats]:
    """Labels, and probabilities that are too sure and lean towards some classes."""
    rng = np.random.default_rng(0)
    score = rng.normal(0, 2, (n, classes))
    chance = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    label = (chance.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    stated = np.exp(1.6 * score + rng.normal(0, 0.3, classes))
    return label, stated / stated.sum(axis=1, keepdims=True)


def class_table(n: int, classes: int) -> Iterator[Line]:
    """Time calibrators of classes beside temperature scaling, which learns one number."""
    yield (
        f"\n## Fitting a calibrator to {n:.0e} rows of {classes} classes, in fits of Temperature\n",
        True,
    )
    yield "| calibrator | time | bar |", True
    yield "|---|---|---|", True
    label, table = class_forecasts(n, classes)
    rows = np.arange(n)

    def loss(fitted: Calibrator) -> float:
        return float(-np.log(fitted.transform(table)[rows, label]).mean())

    simple = TemperatureScaling().fit(table, label)
    one = best_time(partial(TemperatureScaling().fit, table, label), 2)
    for kind, bar in (
        (EnsembleTemperatureScaling, CLASS_BAR),
        (StructuredVectorScaling, CLASS_BAR),
    ):
        fitted = kind().fit(table, label)
        assert loss(fitted) <= loss(simple) + 1e-9
        ratio = best_time(partial(kind().fit, table, label), 2) / one
        yield f"| {kind.__name__} | {ratio:.1f} | {bar} |", ratio <= bar


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def apply_table(n: int) -> Iterator[Line]:
    """Copy a Parquet file as scoring jobs write them, bare and with a column recalibrated."""
    yield f"\n## Applying a calibrator to a file of {n:.0e} rows through DuckDB, two cores\n", True
    yield "| calibrator | bare copy, s | with the calibrator, s | ratio | bar |", True
    yield "|---|---|---|---|---|", True
    y, p = forecasts("biased beta", 10**6)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        rows, out = Path(folder) / "rows.parquet", Path(folder) / "out.parquet"
        connection.execute(
            "copy (select range as id, random() as prediction, random() < 0.3 as outcome, "
            "cast(random() * 1000 as integer) as customer, random() * 100 as amount, "
            "timestamp '2025-01-01' + interval 1 second * range as scored, random() as score "
            f"from range({n})) to '{rows}'"
        )
        bare_copy = partial(connection.execute, f"copy (select * from '{rows}') to '{out}'")
        for kind in (PlattScaling, IsotonicCalibration, HistogramBinning, VennAbers):
            fitted = kind().fit(p, y)
            bare = seconds = np.inf
            for _ in range(2):  # in turns: other work on the machine meets both
                bare = min(bare, seconds_of(bare_copy))
                seconds = min(seconds, seconds_of(partial(apply_to_files, fitted, [rows], out)))
            assert connection.sql(f"select count(*) from '{out}'").fetchone() == (n,)
            some = connection.sql(
                f"select prediction, recalibrated from '{out}' limit 1000"
            ).fetchnumpy()
            error = np.abs(fitted.transform(some["prediction"]) - some["recalibrated"]).max()
            assert error <= 1e-12
            times = f"{bare:.1f} | {seconds:.1f} | {seconds / bare:.2f}"
            yield f"| {kind.__name__} | {times} | {APPLY_BAR} |", seconds <= APPLY_BAR * bare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--apply-rows", type=float, default=1e8)
    add_write(parser, PAGE)
    parser.add_argument("--only", choices=["fit", "peers", "netcal", "choice", "classes", "apply"])
    options = parser.parse_args()
    rows = int(options.rows)
    tables = {
        "fit": partial(fit_table, rows, 5),
        "peers": partial(peer_table, rows),
        "netcal": partial(netcal_table, rows),
        "choice": partial(choice_table, rows),
        "classes": partial(class_table, 10**5, 100),
        "apply": partial(apply_table, int(options.apply_rows)),
    }
    chosen = [iter([(BESIDE, True)])]
    chosen += [table() for name, table in tables.items() if options.only in {None, name}]
    page = PAGE if options.write else None
    leave(show("Recalibration calibrators", chain.from_iterable(chosen), page))


if __name__ == "__main__":
    main()
