"""Compare rules of `recalibrate`: how much log loss is left, by rule and by set of calibrators.

Forecasts whose true chances are known are drawn, calibrators are cross-fitted once, and every rule
chooses among the same losses. A rule is a pair: how many standard errors a calibrator must gain,
and by how many a simpler calibrator may be behind. What is counted is the excess log loss of the
calibrator that was chosen, fitted to all rows, over that of the truth, in units of 1e-4 per row;
beside it each calibrator alone.

Two more kinds of rules stand beside. A default calibrator (Beta, or EnsembleTemperatureScaling for
classes) is taken if it gains one standard error, unless another calibrator is better than it by
some; and stacking mixes the probabilities of all calibrators with the shares of least cross-fitted
log loss. With --arena FOLDER all of them are also compared on the pairs that recalibration_arena.py
judges, those that are not held out. Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from calibrant._base.arrays import Floats
from calibrant.decisions import as_score
from calibrant.recalibration import CALIBRATORS, MULTICLASS_CALIBRATORS, Split, Units, read_units
from calibrant.recalibration.choice_rule import (
    LEAVE,
    cross_fitted,
    gain_of,
    is_clear,
    losses,
    row_luck,
)
from calibrant.recalibration.folds import read_class_units
from calibrant.recalibration.registry import candidates_of
from calibrant.regression import blend_shares
from pages import Line, add_write, leave, show
from recalibration_arena import SCORES, pairs_in, row_losses, split_of

PAGE = "CHOICE_RULE"
RULES = {
    "best, always": (-np.inf, 0.0),
    "0 and 0": (0.0, 0.0),
    "0.5 and 0.5": (0.5, 0.5),
    "1 and 0": (1.0, 0.0),
    "1 and 0.5 (the rule)": (1.0, 0.5),
    "1 and 1": (1.0, 1.0),
    "1.645 and 0.5": (1.645, 0.5),
    "2 and 0.5": (2.0, 0.5),
}
NEW = {"quadratic", "spline", "centered_isotonic", "ensemble_temperature", "multiclass_prior",
       "structured_vector", "structured_matrix"}  # fmt: skip
FAULTS: dict[str, Callable[[Floats], Floats]] = {
    "right": lambda p: p,
    "slope 0.6": lambda p: expit(0.6 * logit(p)),
    "slope 0.85": lambda p: expit(0.85 * logit(p)),
    "odds times 1.65": lambda p: expit(logit(p) + 0.5),
    "power 1.5": lambda p: p**1.5,
    "kinked": lambda p: expit(np.where(p < 0.5, 0.4, 1.6) * logit(p)),
    "two waves that fade": lambda p: p + 0.8 * np.sin(4 * np.pi * p) * p * (1 - p),
    "beyond 0.9 too high by 0.2": lambda p: np.where(p > 0.9, p - 0.2, p),
}
MIX = 0.8 * np.eye(4) + 0.2 * np.roll(np.eye(4), 1, axis=0)
CLASS_FAULTS: dict[str, Callable[[Floats], Floats]] = {
    "right": lambda z: z,
    "temperature 1.7": lambda z: 1.7 * z,
    "one class up": lambda z: z + np.array([1.0, 0, 0, 0]),
    "factors 0.6 to 1.6": lambda z: z * [0.6, 1.0, 1.3, 1.6],
    "classes mixed": lambda z: 1.3 * z @ MIX,
}
SCORE = as_score("log")
# Standard errors by which another calibrator must be better than a default.
LEASTS = (0.5, 1.0, 2.0)
STACKED = "stacking"


def decided(
    units: Units, held: dict[str, Floats], names: list[str], rule: tuple[float, float]
) -> str:
    """Apply a rule to cross-fitted predictions of some calibrators."""
    least, simpler = rule
    lost = {name: losses(SCORE, units, held[name]) for name in names}
    gains = {name: gain_of(units, lost[LEAVE] - some, 0.95) for name, some in lost.items()}
    best = max(gains, key=lambda name: gains[name].value)
    for name in names:
        behind = gain_of(units, lost[name] - lost[best], 0.95)
        if name != LEAVE and behind.value <= simpler * behind.standard_error + 1e-15:
            luck = row_luck(SCORE, units.prediction, held[name])
            if np.isneginf(least) or is_clear(gains[name], units, luck, least, logarithmic=True):
                return name
            break
    return LEAVE


def by_default(units: Units, held: dict[str, Floats], least: float) -> str:
    """Take a good default if it gains, or one that is better by some standard errors."""
    usual = ["beta", "platt"] if units.classes is None else ["ensemble_temperature"]
    default = next(name for name in usual if name in held)
    lost = {name: losses(SCORE, units, values) for name, values in held.items()}
    over = {name: gain_of(units, lost[default] - some, 0.95) for name, some in lost.items()}
    better = {
        name: gain.value
        for name, gain in over.items()
        if name not in {LEAVE, default} and gain.value > least * gain.standard_error
    }
    chosen = max(better, key=lambda name: better[name]) if better else default
    luck = row_luck(SCORE, units.prediction, held[chosen])
    gain = gain_of(units, lost[LEAVE] - lost[chosen], 0.95)
    clear = is_clear(gain, units, luck, 1.0, logarithmic=True)
    return chosen if clear else LEAVE


def stacked(units: Units, held: dict[str, Floats], moved: dict[str, Floats]) -> Floats:
    """Mix all calibrators with the shares of least cross-fitted log loss."""
    label = units.outcome.astype(np.intp)
    happened = [
        np.where(label == 1, p, 1 - p) if p.ndim == 1 else p[np.arange(label.size), label]
        for p in held.values()
    ]
    chance = np.maximum(np.column_stack(happened), 2.0**-53)
    share = blend_shares(chance, units.weight / units.weight.sum())
    parts = [weight * moved[name] for weight, name in zip(share, held, strict=True)]
    return np.asarray(sum(parts))


def excess(truth: Floats, moved: Floats) -> float:
    """Return the excess log loss of forecasts over that of the truth, per row."""
    if moved.ndim == 1:
        truth, moved = (np.column_stack([1 - part, part]) for part in (truth, moved))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(truth > 0, truth * (np.log(truth) - np.log(moved)), 0.0)
    return float(terms.sum(axis=1).mean())


def softmax(score: Floats) -> Floats:
    """Rows in proportion to exponentials."""
    lifted = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(lifted / lifted.sum(axis=1, keepdims=True))


def draw(kind: str, fault: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Forecasts and their true chances."""
    if kind == "two outcomes":
        p = rng.uniform(0.005, 0.995, n)
        return p, np.clip(FAULTS[fault](p), 1e-6, 1 - 1e-6)
    truth = np.clip(rng.dirichlet(np.full(4, 0.7), n), 1e-6, 1)
    truth /= truth.sum(axis=1, keepdims=True)
    return softmax(CLASS_FAULTS[fault](np.log(truth))), truth


def simulated(
    kind: str, fault: str, n: int, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, str]]:
    """Excess log loss of each calibrator alone, and what each rule and set of calibrators chose."""
    p, truth = draw(kind, fault, n, rng)
    split = Split(5, None, None, {})
    if kind == "two outcomes":
        y = (rng.random(n) < truth).astype(int)
        units, _ = read_units((y, p, None, None), split, rng)
    else:
        y = (truth.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
        units, _ = read_class_units((y, p, [0, 1, 2, 3], None), split, rng)
    candidates = candidates_of(None, units)
    held = cross_fitted(units, candidates)
    at, true = draw(kind, fault, 4000, np.random.default_rng(1))
    moved = {
        name: at if name == LEAVE else candidate.fit(units.training_set()).form_(at)
        for name, candidate in candidates.items()
    }
    alone = {name: excess(true, values) for name, values in moved.items()}
    sets = {
        "all calibrators": list(candidates),
        "without the new": [c for c in candidates if c not in NEW],
    }
    chosen = {
        f"{rule}, {which}": decided(units, held, names, RULES[rule])
        for rule, (which, names) in product(RULES, sets.items())
    }
    chosen |= {
        f"a default, {least:g} to leave it": by_default(units, held, least) for least in LEASTS
    }
    alone[STACKED] = excess(true, stacked(units, held, moved))
    return alone, chosen


def table(kind: str, sizes: list[int], samples: int) -> Iterator[Line]:
    """Rules and single calibrators, by their mean excess log loss."""
    faults = FAULTS if kind == "two outcomes" else CLASS_FAULTS
    found: dict[str, list[float]] = {}
    worse: dict[str, list[float]] = {}
    changed: dict[str, list[float]] = {}

    def count(name: str, value: float, plain: float) -> None:
        found.setdefault(name, []).append(value)
        worse.setdefault(name, []).append(float(value > plain + 1e-12))

    for number, (fault, n) in enumerate(product(faults, sizes)):
        rng = np.random.default_rng(number)
        for _ in range(samples):
            alone, chosen = simulated(kind, fault, n, rng)
            for name, value in alone.items():
                count(name, value, alone[LEAVE])
            for name, taken in chosen.items():
                count(name, alone[taken], alone[LEAVE])
                if fault == "right":
                    changed.setdefault(name, []).append(float(taken != LEAVE))
    whole = len(found[LEAVE])
    kinds = f"{len(faults) - 1} faults and calibrated forecasts"
    yield (f"\n## {kind}: {kinds}, {sizes} rows, {samples} samples each ({whole})\n", True)
    yield (
        "| rule or calibrator | excess log loss, 1e-4 | worse than none | calibrated, changed |",
        True,
    )
    yield ("|---|---|---|---|", True)
    for name in sorted(found, key=lambda one: np.mean(found[one])):
        if len(found[name]) < whole:
            continue  # calibrators that small samples do not try have no comparable mean
        error = 1e4 * np.std(found[name]) / np.sqrt(whole)
        right = f"{sum(changed[name]):.0f} of {len(changed[name])}" if name in changed else ""
        mean = f"{1e4 * np.mean(found[name]):.1f} ({error:.1f})"
        yield (f"| {name} | {mean} | {np.mean(worse[name]):.0%} | {right} |", True)


def on_pairs(cache: Path) -> Iterator[Line]:
    """Rules and single calibrators on pairs of the arena that are not held out, by regret."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for path in pairs_in(cache, held_out=False):
        probability, label, taught, unseen = split_of(path)
        two = probability.shape[1] == 2
        p = probability[:, 1] if two else probability
        rows = (label[taught], p[taught])
        rng = np.random.default_rng(0)
        if two:
            units, _ = read_units((*rows, None, None), Split(5), rng)
        else:
            units, _ = read_class_units((*rows, list(range(p.shape[1])), None), Split(5), rng)
        candidates = candidates_of(None, units)
        held = cross_fitted(units, candidates)
        moved = {
            name: p[unseen] if name == LEAVE else one.fit(units.training_set()).form_(p[unseen])
            for name, one in candidates.items()
        }
        moved |= {rule: moved[decided(units, held, list(held), RULES[rule])] for rule in RULES}
        moved |= {
            f"a default, {least:g} to leave it": moved[by_default(units, held, least)]
            for least in LEASTS
        }
        moved[STACKED] = stacked(units, held, moved)
        kind = "two outcomes" if two else "classes"
        for name, values in moved.items():
            whole = np.column_stack([1 - values, values]) if values.ndim == 1 else values
            for score, lost in row_losses(label[unseen], whole).items():
                pairs = found.setdefault(f"{kind}, {SCORES[score]}", {})
                pairs.setdefault(path.stem, {})[name] = float(lost.mean())
    for title, pairs in found.items():
        yield from _regrets(title, pairs)


def _regrets(title: str, pairs: dict[str, dict[str, float]]) -> Iterator[Line]:
    """Mean regret to the best single calibrator in hindsight, over data sets."""
    names = [n for n in next(iter(pairs.values())) if all(n in rows for rows in pairs.values())]
    by_set: dict[str, list[list[float]]] = {}
    for pair, rows in pairs.items():
        best = min(
            value
            for name, value in rows.items()
            if name in {**CALIBRATORS, **MULTICLASS_CALIBRATORS}
        )
        by_set.setdefault(pair.split(" -- ")[0], []).append([rows[name] - best for name in names])
    regret = 1e4 * np.array([np.mean(rows, axis=0) for rows in by_set.values()])
    beyond = regret - regret[:, [names.index("1 and 0.5 (the rule)")]]
    yield (f"\n## {title}: {len(pairs)} pairs of {len(by_set)} data sets\n", True)
    yield ("| rule or calibrator alone | regret, 1e-4 | beyond the rule |", True)
    yield ("|---|---|---|", True)
    for j in np.argsort(regret.mean(axis=0)):
        cells = (
            f"{part[:, j].mean():{sign}.1f} ({part[:, j].std(ddof=1) / np.sqrt(len(part)):.1f})"
            for part, sign in ((regret, ""), (beyond, "+"))
        )
        yield (f"| {names[j]} | {' | '.join(cells)} |", True)


def main(argv: list[str] | None = None) -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--arena", type=Path, help="folder that recalibration_arena.py filled")
    add_write(parser, PAGE)
    given: Any = parser.parse_args(argv)

    def lines() -> Iterator[Line]:
        yield from table("two outcomes", given.sizes, given.samples)
        yield from table("classes", given.sizes, max(given.samples // 2, 1))
        if given.arena is not None:
            yield from on_pairs(given.arena)

    leave(show("The rule by which a calibrator is chosen", lines(), PAGE if given.write else None))


if __name__ == "__main__":
    main()
