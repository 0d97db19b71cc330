"""The monitor from its definition: every bettor and every product written out, no state reused.

Slow (cubic in the rows) and short. Only the smooth witness comes from the library, because a best
smooth test is not unique; that it is best is tested elsewhere.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

import calibrant as cal

SIZES = [2.0**-j for j in range(8)]
# Twentieths of the evidence.
PARTS = {"shift": 5, "slope": 3, "wave": 3, "binned": 3, "isotonic": 3, "smooth": 3}
LEARNING = {"long": "binned", "recent": "binned", "isotonic": "isotonic", "smooth": "smooth"}


def chances():
    """Alternatives: the part, what is bet on, and the chance where the forecast says v."""
    for d in (1 / 32, 1 / 16, 1 / 8):
        yield "shift", "forecasts are too low", lambda v, d=d: v + d
        yield "shift", "forecasts are too high", lambda v, d=d: v - d
    for b in (2, math.sqrt(2), 2**0.25):
        yield "slope", "forecasts are not extreme enough", lambda v, b=b: tilted(v, b)
        yield "slope", "forecasts are too extreme", lambda v, b=b: tilted(v, 1 / b)
    for wave, turns in ((math.cos, 1), (math.cos, 2), (math.sin, 2), (math.sin, 3)):
        for c in (1 / 12, -1 / 12):
            yield (
                "wave",
                "forecasts are too low and too high by turns",
                lambda v, f=wave, k=turns, c=c: v + c * f(2 * math.pi * k * v),
            )


def tilted(v, slope):
    return 1 / (1 + (v / (1 - v)) ** -slope)


def centre_of(cell):
    return 1 / (1 + math.exp(8 - (cell + 0.5) / 4))


def fixed(chance, size):
    """Stakes of the likelihood ratio at the centre of the cell, within the size."""

    def stake_of(v):
        u = centre_of(cell_of(v))
        q = max(u / 4, min(1 - (1 - u) / 4, chance(u)))
        return max(-size, min(size, (q - u) / (u * (1 - u))))

    return stake_of


def bettors():
    """Every bettor: part, kind, size, and the stake on a row given the rows before."""
    for size in SIZES:
        yield "shift", "forecasts are too low", size, lambda rows, t, s=size: s
        yield "shift", "forecasts are too high", size, lambda rows, t, s=size: -s
        for strategy, part in LEARNING.items():
            yield (
                part,
                "forecasts are wrong in some ranges",
                size,
                lambda rows, t, k=strategy: stake(k, rows, t),
            )
    for part, kind, chance in chances():
        for size in (0.5, 2.0):
            ratio = fixed(chance, size)
            yield part, kind, size, lambda rows, t, f=ratio: f(rows[t][0])


def start(t):
    """Share of those who start before row t, from 1: blocks of 1, 2, 4, ... rows."""
    block = int(math.log2(t))
    return 1 / ((block + 1) * (block + 2)) / 2**block


def allowance(tolerance, v):
    return min(0.02, v / 10, (1 - v) / 10) if tolerance is None else tolerance


def cell_of(v):
    """Sixty-four cells, a quarter wide in log-odds, the outer ones open."""
    if v in {0.0, 1.0}:
        return 63 * int(v)
    return min(63, max(0, math.floor((math.log(v / (1 - v)) + 8) * 4)))


def middle_of(cell):
    def edge(k):
        return 0.0 if k == 0 else 1.0 if k == 64 else 1 / (1 + math.exp(8 - k / 4))

    return (edge(cell) + edge(cell + 1)) / 2


def cells(rows):
    """Rows, mean prediction and positives of each cell; the middle where there are none."""
    table = []
    for k in range(64):
        inside = [(v, y) for v, y in rows if cell_of(v) == k]
        n = len(inside)
        mean = sum(v for v, _ in inside) / n if n else middle_of(k)
        table.append((n, mean, sum(y for _, y in inside)))
    return table


def binned_stake(past, v, memory):
    """Residuals of the bin over their information plus one; the recent memory fades."""
    residual = information = 0.0
    for u, y in past:
        if cell_of(u) // 4 == cell_of(v) // 4:
            kept = 1 - u * (1 - u) / 64 if memory == "recent" else 1.0
            residual = kept * residual + (y - u)
            information = kept * information + u * (1 - u)
    return residual / (information + 1)


def isotonic_fit(table):
    """Isotonic regression of the cells by its max-min formula, with the extent of each pool."""
    seen = [k for k in range(64) if table[k][0]]

    def mean(i, j):
        part = [table[k] for k in seen[i : j + 1]]
        return sum(p for _, _, p in part) / sum(n for n, _, _ in part)

    size = len(seen)
    fit = [max(min(mean(i, j) for j in range(k, size)) for i in range(k + 1)) for k in range(size)]
    return seen, fit


def between(table, stakes):
    """Stakes of the cells seen, and by linear interpolation those of the others."""
    seen = [mean for n, mean, _ in table if n]
    return np.interp([mean for _, mean, _ in table], seen, stakes)


@cache
def isotonic_stakes(past):
    table = cells(past)
    seen, fit = isotonic_fit(table)
    stakes = []
    for cell, r in zip(seen, fit, strict=True):
        pool = [table[k] for k, other in zip(seen, fit, strict=True) if math.isclose(other, r)]
        info = sum(n * m * (1 - m) for n, m, _ in pool)
        mean = table[cell][1]
        stakes.append((r - mean) / max(mean * (1 - mean), 1e-12) * info / (info + 1))
    return between(table, stakes)


@cache
def smooth_stakes(past):
    table = cells(past)
    seen = [row for row in table if row[0]]
    joint = cal.Joint.from_samples(
        [p / n for n, _, p in seen], [m for _, m, _ in seen], sample_weight=[n for n, _, _ in seen]
    )
    witness = cal.smooth_calibration_error(joint).witness([m for _, m, _ in seen])
    earned = sum(w * (p - n * m) for w, (n, m, p) in zip(witness, seen, strict=True))
    info = sum(w * w * n * m * (1 - m) for w, (n, m, _) in zip(witness, seen, strict=True))
    return between(table, [w * max(0.0, earned) / (info + 1) for w in witness])


def stake(strategy, rows, t):
    """Stake on row t (from 0), from the rows before it."""
    v = rows[t][0]
    if strategy in {"long", "recent"}:
        return binned_stake(rows[:t], v, strategy)
    lesson = 2 ** int(math.log2(t)) if t else 0
    if lesson < 16:
        return 0.0
    learn = isotonic_stakes if strategy == "isotonic" else smooth_stakes
    return learn(tuple(rows[:lesson]))[cell_of(v)]


def factor(u, size, v, y, tolerance):
    """One bet: its stake within the size, and no more than 15/16 lost."""
    a = allowance(tolerance, v)
    size = min(size, 15 / 16 / tolerance) if tolerance else size
    u = max(-size, min(size, u))
    room = max(0.0, 15 / 16 - size * a)
    loss = u * v if u > 0 else -u * (1 - v)
    if loss > room:
        u *= room / loss
    return 1 + u * (y - v) - size * a


def parts_and_detector(rows, tolerance):
    """Evidence of each part and value of the detector after all rows."""
    count = len(rows)
    everyone = list(bettors())
    later = 1 - sum(start(t + 1) for t in range(count))
    parts = dict.fromkeys(PARTS, 0.0)
    detector = 0.0
    for part, _, size, stake_on in everyone:
        share = 1 / sum(other == part for other, _, _, _ in everyone)
        factors = [
            factor(stake_on(rows, t), size, v, y, tolerance) for t, (v, y) in enumerate(rows)
        ]
        products = [math.prod(factors[t:]) for t in range(count)]
        parts[part] += share * sum(start(t + 1) * f for t, f in enumerate(products))
        detector += share * sum(products) * PARTS[part] / 20
    return {name: value + later for name, value in parts.items()}, detector


def evidence_of(parts):
    return sum(PARTS[name] / 20 * value for name, value in parts.items())


def evidence_path(rows, tolerance):
    """Evidence after every row."""
    return [
        evidence_of(parts_and_detector(rows[:t], tolerance)[0]) for t in range(1, len(rows) + 1)
    ]
