"""Every promise about chance, simulated: how often it is broken, beside how often it may be.

`python tests/promises.py` prints the table of docs/promises.md; `make slow` fails where a
promise is broken more often than promised by more than four standard errors.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.special import expit, logit, ndtr

import calibrant as cal
from calibrant.data.rows import Given
from calibrant.groups import audit_groups, find_segments, judge_groups
from calibrant.inference import RatioVerdict, classical_numbers, find_costs
from calibrant.inference.clusters import clustered_noise_floors
from calibrant.inference.evidence import Evidence
from calibrant.inference.gap import Ranges
from calibrant.inference.interval import find_interval
from calibrant.inference.ratio import find_ratio
from calibrant.inference.rows_to_settle import rows_to_settle
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from calibrant.measures.kernel_smoothed import NARROWEST_CURVE, smoothed_bias
from calibrant.monitoring import watch
from calibrant.repair import choose

SMOOTH = "smooth_calibration_error"
GRID = np.arange(1, 50) / 50
FAULTS = {
    "right": lambda p: p,
    "slope 0.4": lambda p: expit(0.4 * logit(p)),
    "slope 0.6": lambda p: expit(0.6 * logit(p)),
    "slope 0.7": lambda p: expit(0.7 * logit(p)),
    "slope 0.8": lambda p: expit(0.8 * logit(p)),
    "slope 1.5": lambda p: expit(1.5 * logit(p)),
    "odds times 1.65": lambda p: expit(logit(p) + 0.5),
    "three waves of 0.15": lambda p: np.clip(p + 0.15 * np.sin(6 * np.pi * p), 0, 1),
    "too low by 0.05": lambda p: np.clip(p + 0.05, 0, 1),
    "half the truth": lambda p: np.minimum(2 * p, 1),
    "twice the truth": lambda p: p / 2,
}
RARE_GRID = 0.04 * 10 ** np.linspace(-2, 0, 40)


@dataclass(frozen=True)
class Observed:
    """How often a promise was broken."""

    promise: str
    scenario: str
    nominal: float
    observed: float
    runs: int

    @property
    def error(self) -> float:
        """Standard error of the observed share, at least that of one run."""
        share = min(max(self.observed, 1 / self.runs), 1 - 1 / self.runs)
        return float(np.sqrt(share * (1 - share) / self.runs))

    @property
    def kept(self) -> bool:
        """Whether the promise was broken no more often than it may be, by four standard errors."""
        slack = 4 * np.sqrt(self.nominal * (1 - self.nominal) / self.runs)
        return bool(self.observed <= self.nominal + slack)


@dataclass(frozen=True)
class Promise:
    """Something that may fail with a known chance at most, and one trial of it."""

    promise: str
    scenario: str
    fails: Callable[[np.random.Generator], bool]
    runs: int = 400
    nominal: float = 0.05

    @property
    def name(self) -> str:
        """Both, for the name of a test."""
        return f"{self.promise}: {self.scenario}"

    def observe(self) -> Observed:
        """Try it as often as it says, from a fixed seed."""
        rng = np.random.default_rng(2026)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
            failed = np.mean([self.fails(rng) for _ in range(self.runs)])
        return Observed(self.promise, self.scenario, self.nominal, float(failed), self.runs)


def table(rows: list[Observed]) -> str:
    """Write what was observed as a table in Markdown."""
    head = ["promise", "scenario", "may fail", "failed", "standard error", "runs"]
    lines = [" | ".join(head), "|".join(["---"] * len(head))]
    lines += [
        f"{row.promise} | {row.scenario} | {row.nominal:g} | {row.observed:.3f} | "
        f"{row.error:.3f} | {row.runs}"
        for row in rows
    ]
    return "\n".join(f"| {line} |" if " | " in line else f"|{line}|" for line in lines)


def rare(rng, n, mean):
    """Forecasts of rare events whose log is normal."""
    return np.minimum(mean * np.exp(rng.normal(0, 1, n) - 0.5), 0.5)


def together(rng, cluster, rho):
    """Uniform numbers that rows of a cluster share in part."""
    shared = rng.standard_normal(int(cluster.max()) + 1)[cluster]
    return ndtr(np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.standard_normal(cluster.size))


def lone_clusters_are_accused(rng):
    ward = np.repeat(np.arange(20), 100)
    p = rng.random(2000)
    y = together(rng, ward, 0.3) < p
    found = audit_groups(y, p, {"ward": ward.astype(str)}, clusters=ward, draws=99, rng=rng)
    return any(group.low > 0 for group in found)


def few_clusters_miss(count, shift, rng):
    cluster = np.repeat(np.arange(count), 20)
    p = rng.choice(np.arange(1, 10) / 10, cluster.size)
    y = together(rng, cluster, 0.3) < p + shift
    found = cal.confidence_interval(y, p, clusters=cluster, draws=199, rng=rng)
    return not found.low <= shift <= found.high


def sums_of_groups(rng, groups, events):
    levels, rows = np.array([0.005, 0.01, 0.015]), round(events / 0.03)
    ones = rng.binomial(rows, levels, (groups, 3))
    return {
        ("group", str(i)): Evidence.of_joint(cal.Joint.from_counts(levels, [rows] * 3, ones[i]))
        for i in range(groups)
    }


def some_group_misses(groups, events, rng):
    found = judge_groups(
        sums_of_groups(rng, groups, events),
        Statistic.of(SMOOTH),
        Settings.read(draws=499, rng=rng),
    )
    return any(group.low > 0 for group in found)


def some_ratio_misses(groups, events, rng):
    single = 1 - 0.05 / groups
    found = (find_ratio(e, single) for e in sums_of_groups(rng, groups, events).values())
    return any(not ratio.low <= 1 <= ratio.high for ratio in found)


def ratio_misses(events, kind, rng):
    n = 2000
    p, weight, cluster = rare(rng, n, events / n), None, None
    uniform = rng.random(n)
    if kind == "weights":
        weight = rng.lognormal(0, 1, n)
    if kind == "clusters":
        cluster = np.arange(n) // 10
        uniform = together(rng, cluster, 0.5)
    if kind in {"foreseen", "not foreseen"}:
        p = rng.random(n)
    y = uniform < (0.5 if kind == "not foreseen" else p)
    evidence = Evidence.of_rows(Given.read(y, p, weight, None), cluster)
    ratio = find_ratio(evidence, 0.95)
    return not ratio.low <= 1 <= ratio.high


def score_misses(score, events, factor, rng):
    n = 500
    chance = rare(rng, n, events / n)
    p = np.minimum(factor * chance, 0.9)
    found = cal.confidence_interval(rng.random(n) < chance, p, measure=score)
    return not found.low <= TRUE_SCORES[score, events, factor] <= found.high


def _true_score(score, events, factor):
    chance = rare(np.random.default_rng(0), 10**6, events / 500)
    if_not, if_so = cal.decisions.as_score(score).losses(np.minimum(factor * chance, 0.9))
    return float(np.mean(chance * if_so + (1 - chance) * if_not))


SCORES = [(s, e, f) for s in ("brier", "log") for e in (1, 2, 5, 10, 20) for f in (1, 0.5)]
TRUE_SCORES = {case: _true_score(*case) for case in SCORES}


def the_wrong_one_is_named(score, n, rng):
    chance = rare(rng, n, 0.002)
    return cal.compare(rng.random(n) < chance, chance, chance / 5, measure=score).high < 0


def regression_misses(number, events, kind, slope, rng):
    n, weight, cluster = 1000, None, None
    odds = logit(events / n) - 0.4 + rng.normal(0, 1, n)
    if kind == "weights":
        weight = rng.lognormal(0, 1, n)
    uniform = rng.random(n)
    if kind == "unequal clusters":
        cluster = np.repeat(np.arange(30), np.maximum(1, 400 / np.arange(1, 31) ** 1.5).astype(int))
        odds, uniform = rng.normal(0, 1, cluster.size), together(rng, cluster, 0.3)
    y = uniform < expit(slope * odds)
    found = getattr(
        classical_numbers(y, expit(odds), sample_weight=weight, clusters=cluster), number
    )
    truth = slope if number == "slope" else 0.0
    return bool(found.low > truth or found.high < truth)  # no number is no miss


PAIRS = {
    "zero error of both": (GRID, lambda p: p, lambda p: np.full(p.size, p.mean())),
    "zero error of one": (GRID, lambda p: p, lambda p: np.clip(p + 0.05, 0, 1)),
    "zero error of one, small slope": (GRID, lambda p: p, lambda p: 0.5 + 0.9 * (p - 0.5)),
    "the same witness": (GRID, lambda p: 0.8 * p, lambda p: 0.85 * p),
    "opposite witnesses": (GRID, lambda p: p * 0.92, lambda p: 0.08 + p * 0.92),
    "rare events, half": (RARE_GRID, lambda p: p, lambda p: p / 2),
    "rare events, constant": (RARE_GRID, lambda p: p, lambda p: np.full(p.size, p.mean())),
}


def _true_error(prediction, chance, weight=None):
    levels, place = np.unique(prediction, return_inverse=True)
    weight = np.ones(prediction.size) if weight is None else weight
    charges = np.bincount(place, weight * (chance - prediction) / weight.sum())[np.newaxis, :]
    law = cal.Joint.from_counts(levels, np.ones(levels.size), np.zeros(levels.size))
    return float(cal.CATALOGUE[SMOOTH].batch.function(law, charges)[0])


def difference_is_missed(pair, n, clustered, rng):
    grid, *forecasters = PAIRS[pair]
    first, second = (forecaster(grid) for forecaster in forecasters)
    truth = _true_error(second, grid) - _true_error(first, grid)
    row = rng.integers(0, grid.size, n)
    clusters, uniform = None, rng.random(n)
    if clustered:
        clusters = np.arange(n) // 5
        uniform = together(rng, clusters, 0.5)
    y = uniform < grid[row]
    found = cal.compare(y, first[row], second[row], clusters=clusters, draws=199, rng=rng)
    return not found.low <= truth <= found.high


def similar_ones_are_not_equivalent(rng):
    p = rng.uniform(0.05, 0.95, 2000)
    y = rng.random(2000) < p
    return not cal.compare(y, p, p + 0.001, margin=0.02, draws=99, rng=rng).equivalent


def mixed_weights_reject(events, weights, rng):
    p = rng.choice(events / 2000 * np.array([0.2, 0.5, 1, 2]) / 0.925, 2000)
    weight = WEIGHTS[weights](rng, 2000)
    joint = cal.Joint.from_samples(rng.random(2000) < p, p, sample_weight=weight)
    return cal.calibration_test(joint, draws=199, rng=rng).pvalue <= 0.01


WEIGHTS = {
    "log-normal": lambda rng, n: rng.lognormal(0, 1, n),
    "gamma": lambda rng, n: rng.gamma(0.5, 1, n) + 1e-9,
    "one in fifty ten times as heavy": lambda rng, n: np.where(rng.random(n) < 0.02, 10.0, 1.0),
}


def the_loss_is_more_than_chance(kind, own, rng):
    n, weight, cluster = 400, None, None
    p = rng.random(n) if kind != "rare" else rare(rng, n, 0.02)
    uniform = rng.random(n)
    if kind == "weights":
        weight = rng.lognormal(0, 1, n)
    if kind == "clusters":
        cluster = np.arange(n) // 8
        uniform = together(rng, cluster, 0.3)
    evidence = Evidence.of_rows(Given.read(uniform < p, p, weight, None), cluster)
    task = cal.DecisionTask.from_costs(false_positive=1, false_negative=4) if own else None
    costs = find_costs(evidence, Settings.read(draws=99, rng=rng), task)
    test = costs.task_test if own else costs.worst_test
    return test.pvalue <= 0.05


def ratio_verdict_is_wrong(truth, groups, rng):
    """Wrong: certain on the wrong side of a tolerance of 10 %, for all rows or for any group."""
    n = 40_000
    p = rare(rng, n, 0.05)
    y = rng.random(n) < np.minimum(truth * p, 1)
    site = (np.arange(n) % groups).astype(str)
    if groups > 1:
        found = audit_groups(y, p, {"site": site}, draws=19, rng=rng)
        ratios = [group.ratio for group in found]
    else:
        ratios = [find_ratio(Evidence.of_rows(Given.read(y, p, None, None)), 0.95)]
    wrong = "miscalibrated" if 1 / 1.1 <= truth <= 1.1 else "calibrated"
    return any(RatioVerdict(ratio, 0.1).state == wrong for ratio in ratios)


MAPS = {
    "calibrated": lambda p: p,
    "slope 0.6": lambda p: expit(0.6 * logit(np.clip(p, 1e-9, 1 - 1e-9))),
    "shift 0.1": lambda p: np.clip(p + 0.1, 0, 1),
    "twice the forecast": lambda p: np.minimum(2 * p, 0.9),
}


def ici_is_missed(n, truth, kind, rng):
    """The target is the index of the true chances, smoothed as the sample is."""
    p = rng.random(n) if kind != "rare" else rare(rng, n, 0.01)
    chance, weight, cluster = MAPS[truth](p), None, None
    uniform = rng.random(n)
    if kind == "weights":
        weight = rng.lognormal(0, 1, n)
    if kind == "clusters":
        cluster = np.arange(n) // 10
        uniform = together(rng, cluster, 0.3)
    y = uniform < chance
    found = classical_numbers(y, p, sample_weight=weight, clusters=cluster, draws=99, rng=rng).ici
    joint = cal.Joint.from_samples(y, p, sample_weight=weight)
    width = max(float(cal.kernel_smoothed_calibration_error(joint)), NARROWEST_CURVE)
    mass = np.ones(n) / n if weight is None else weight / weight.sum()
    place = np.searchsorted(joint.prediction, p)
    charges = np.bincount(place, mass * (chance - p), len(joint))[np.newaxis, :]
    target = float(joint.mass @ np.abs(smoothed_bias(joint, charges, width)[0]))
    return not found.low <= target <= found.high


def band_is_left(truth, n, rng):
    p = rng.random(n)
    chance = {"constant 0.5": p * 0 + 0.5, "constant 0.02": p * 0 + 0.02, "p^1.3": p**1.3}[truth]
    band = cal.confidence_band(rng.random(n) < chance, p, draws=199, rng=rng)
    true = np.interp(band.prediction, np.sort(p), np.sort(chance))
    return not ((band.low <= true) & (true <= band.high)).all()


def clustered_segment_is_confirmed(rng):
    cluster = np.arange(1500) // 10
    p = rng.random(1500)
    by = {"site": rng.integers(0, 4, 150)[cluster].astype(str), "age": rng.random(150)[cluster]}
    found = find_segments(together(rng, cluster, 0.5) < p, p, by, clusters=cluster, rng=rng)
    return any(segment.confirmed for segment in found)


def shaped(rng, n, shape, kind):
    """Forecasts, outcomes, their chances, and what lies beside them: weights or clusters."""
    if kind == "rare":
        p = np.clip(0.01 * np.exp(rng.normal(size=n) - 0.5), 1e-5, 0.9)
    else:
        p = rng.random(n)
    if kind == "ties":
        p = p.round(1).clip(0.05, 0.95)
    chance = FAULTS[shape](p)
    weight = np.exp(rng.normal(size=n)) if kind == "weights" else None
    cluster = np.arange(n) % (n // 10) if kind == "clusters" else None
    uniform = rng.random(n) if cluster is None else together(rng, cluster, 0.3)
    return p, (uniform < chance).astype(int), chance, weight, cluster


def true_gap(ranges, joint, p, chance, weight):
    """Typical gap of the chances over the ranges that a sample was cut into."""
    weight = np.ones(p.size) if weight is None else weight
    start = joint.prediction[ranges.first]
    index = np.maximum(np.searchsorted(start, p, "right") - 1, 0)
    charge = np.bincount(index, weight * (chance - p), start.size) / weight.sum()
    return float(np.sqrt((charge**2 / ranges.mass).sum()))


def gap_misses(n, shape, kind, rng):
    """Whether the interval of the typical gap misses the truth."""
    p, y, chance, weight, cluster = shaped(rng, n, shape, kind)
    evidence = Evidence.read(y, p, weight, None, cluster)
    truth = true_gap(Ranges.of(evidence), evidence.joint, p, chance, weight)
    found = cal.typical_gap(y, p, sample_weight=weight, clusters=cluster, draws=499, rng=rng)
    return not found.low - 1e-6 <= truth <= found.high + 1e-6


def verdict_is_wrong(n, shape, kind, factor, rng):
    """Whether a verdict is wrong by tolerances so many times the true error and the true gap."""
    p, y, chance, weight, cluster = shaped(rng, n, shape, kind)
    error = _true_error(p, chance, weight)
    evidence = Evidence.read(y, p, weight, None, cluster)
    gap = true_gap(Ranges.of(evidence), evidence.joint, p, chance, weight)
    found = cal.verdict(
        y, p, sample_weight=weight, clusters=cluster, tolerance=min(1.0, factor * error),
        gap_tolerance=min(1.0, factor * gap), draws=299, rng=rng,
    )  # fmt: skip
    return found.state == ("miscalibrated" if factor > 1 else "calibrated")


def sound_forecasts_are_called_wrong(n, kind, rng):
    """Whether calibrated forecasts are called miscalibrated, by the default tolerances."""
    p, y, _, weight, cluster = shaped(rng, n, "right", kind)
    found = cal.verdict(y, p, sample_weight=weight, clusters=cluster, draws=299, rng=rng)
    return found.state == "miscalibrated"


def default_test_rejects(n, kind, rng):
    """Whether the default test rejects calibrated forecasts at the level 0.05."""
    p, y, _, weight, cluster = shaped(rng, n, "right", kind)
    test = cal.calibration_test(y, p, sample_weight=weight, clusters=cluster, draws=199, rng=rng)
    return test.pvalue <= 0.05


def _of_verdicts():
    for n, kind in (
        (50, "plain"),
        (200, "weights"),
        (200, "ties"),
        (300, "clusters"),
        (500, "rare"),
    ):
        yield Promise(
            "default test at level 0.05",
            f"{n} rows, {kind}",
            partial(default_test_rejects, n, kind),
            400,
        )
        yield Promise(
            "sound forecasts are not called miscalibrated",
            f"{n} rows, {kind}",
            partial(sound_forecasts_are_called_wrong, n, kind),
            200,
        )
    for n, shape, kind in (
        (50, "slope 0.4", "plain"),
        (200, "right", "plain"),
        (200, "slope 0.4", "plain"),
        (1000, "slope 0.7", "plain"),
        (1000, "three waves of 0.15", "plain"),
        (300, "slope 0.4", "weights"),
        (300, "slope 0.4", "ties"),
        (1000, "slope 0.4", "clusters"),
        (1000, "right", "clusters"),
        (500, "right", "rare"),
        (500, "half the truth", "rare"),
        (2000, "half the truth", "rare"),
        (2000, "twice the truth", "rare"),
    ):
        yield Promise(
            "interval of the typical gap",
            f"{n} rows, {kind}, {shape}",
            partial(gap_misses, n, shape, kind),
            400,
        )
    for factor in (0.95, 1.05):
        for n, shape, kind in (
            (500, "slope 0.7", "plain"),
            (500, "three waves of 0.15", "plain"),
            (500, "too low by 0.05", "weights"),
            (1000, "slope 0.7", "clusters"),
            (2000, "half the truth", "rare"),
        ):
            yield Promise(
                f"verdict by tolerances of {factor} times the truth",
                f"{n} rows, {kind}, {shape}",
                partial(verdict_is_wrong, n, shape, kind, factor),
                300,
            )


SHAPES = {
    "uniform": lambda rng, n: rng.uniform(0.01, 0.99, n),
    "sharp": lambda rng, n: np.clip(rng.beta(0.3, 0.3, n), 1e-4, 1 - 1e-4),
    "like a language model": lambda rng, n: np.clip(rng.beta(8, 2, n), 1e-3, 1 - 1e-3),
    "tied": lambda rng, n: rng.integers(1, 20, n) / 20,
    "1 % events": lambda rng, n: rare(rng, n, 0.01),
}
EVEN = np.arange(1, 200) / 200


def calibrated_is_changed(shape, n, kind, rng):
    p, beside = SHAPES[shape](rng, n), {}
    uniform = rng.random(n)
    if kind == "weights":
        beside["sample_weight"] = rng.lognormal(0, 1, n)
    if kind == "clusters":
        beside["clusters"] = np.arange(n) // 10
        uniform = together(rng, beside["clusters"], 0.3)
    if kind == "time":
        beside["time"] = np.arange(n)
    return not choose(uniform < p, p, rng=rng, **beside).leave_alone


def calibrated_classes_are_changed(law, n, rng):
    table = rng.dirichlet(law, n)
    label = (table.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return not choose(label, table, rng=rng).leave_alone


def _gain(truth, moved):
    saved = truth * np.log(moved / EVEN) + (1 - truth) * np.log((1 - moved) / (1 - EVEN))
    return float(saved.mean())


def _chosen(fault, n, rng):
    p = rng.choice(EVEN, n)
    return choose(rng.random(n) < FAULTS[fault](p), p, rng=rng)


def half_of_the_gain_is_forgone(fault, n, rng):
    truth = FAULTS[fault](EVEN)
    return _gain(truth, _chosen(fault, n, rng).map.transform(EVEN)) < _gain(truth, truth) / 2


def gain_is_missed(fault, n, rng):
    choice = _chosen(fault, n, rng)
    while choice.leave_alone:
        choice = _chosen(fault, n, rng)
    gain = _gain(FAULTS[fault](EVEN), choice.map.transform(EVEN))
    return not choice.gain.low <= gain <= choice.gain.high


def fresh_rows_do_not_settle(share, n, rng):
    """Of samples that are undecided: a fresh one of as many rows as the upper end says."""
    tolerance, statistic = 0.02, Statistic.of(SMOOTH)

    def sample(rows):
        counts = rng.multinomial(rows, np.full(GRID.size, 1 / GRID.size))
        ones = rng.binomial(counts, np.clip(GRID + share * tolerance, 0, 1))
        seen = counts > 0
        joint = cal.Joint.from_counts(GRID[seen], counts[seen], ones[seen])
        evidence = Evidence.of_joint(joint)
        return evidence, find_interval(evidence, statistic, Settings.read(draws=199, rng=rng))

    while True:
        evidence, interval = sample(n)
        if not interval.low <= tolerance < interval.high:
            continue
        needed = rows_to_settle(evidence, statistic, interval, tolerance, rng)
        if needed is not None:
            fresh = sample(needed[1])[1]
            return fresh.low <= tolerance < fresh.high


def _of_choices():
    calibrated = [("uniform", n, "plain") for n in (50, 100, 300, 1000)]
    calibrated += [(shape, 300, "plain") for shape in SHAPES if shape != "uniform"]
    calibrated += [("1 % events", 3000, "plain"), ("tied", 1000, "plain")]
    calibrated += [("uniform", 300, kind) for kind in ("weights", "clusters", "time")]
    calibrated += [("uniform", 50, "clusters")]
    for shape, n, kind in calibrated:
        beside = {"plain": "", "clusters": ", clusters of 10, rho 0.3"}.get(kind, f", {kind}")
        yield Promise(
            "choose leaves calibrated forecasts alone",
            f"{shape}, {n} rows{beside}",
            partial(calibrated_is_changed, shape, n, kind),
            200,
        )
    for n, name, law in ((100, "4 classes", [1.0] * 4), (300, "4 classes", [1.0] * 4),
                         (300, "3 classes, one almost certain", [20, 0.5, 0.5])):  # fmt: skip
        yield Promise(
            "choose leaves calibrated forecasts alone",
            f"{name}, {n} rows",
            partial(calibrated_classes_are_changed, law, n),
            100,
        )
    # Half of what is available, where so many rows leave a chance to see it.
    for fault, n, nominal in (
        ("slope 0.6", 300, 0.35),
        ("slope 1.5", 300, 0.5),
        ("odds times 1.65", 300, 0.4),
        ("slope 0.6", 1000, 0.05),
        ("three waves of 0.15", 1000, 0.05),
    ):
        yield Promise(
            "choose keeps half of the gain available",
            f"{fault}, {n} rows",
            partial(half_of_the_gain_is_forgone, fault, n),
            60,
            nominal,
        )
    for fault in ("slope 0.6", "slope 0.8", "odds times 1.65"):
        for n in (100, 300, 1000):
            yield Promise(
                "interval of the gain of the map chosen, where one was",
                f"{fault}, {n} rows",
                partial(gain_is_missed, fault, n),
                60,
            )


def _of_rows_needed():
    for share, n in ((0, 300), (0.5, 300), (1.5, 300), (0, 3000), (0.75, 3000), (1.25, 3000)):
        yield Promise(
            "rows at the upper end settle a verdict",
            f"error {share:g} times the tolerance, {n} rows seen",
            partial(fresh_rows_do_not_settle, share, n),
            200,
            0.2,
        )


def streams(rng, kind, rows):
    """Forecasts and chances within the tolerance of a monitor."""
    if kind == "rare":
        p = rare(rng, rows, 0.01)
        return p, p, 0.0
    if kind == "edge of the default tolerance":
        p = rng.uniform(0.2, 0.6, rows)
        return p, p + np.minimum(0.02, p / 10), None
    p = rng.integers(1, 10, rows) / 10 if kind == "nine levels" else rng.random(rows)
    return p, p, 0.0


def sound_stream_alarms(kind, rng):
    p, chance, tolerance = streams(rng, kind, 2000)
    return cal.CalibrationMonitor(tolerance).update_many(rng.random(p.size) < chance, p)


def sound_stream_changes(kind, rng):
    p, chance, tolerance = streams(rng, kind, 1000)
    monitor = cal.CalibrationMonitor(tolerance, run_length=10_000)
    monitor.update_many(rng.random(p.size) < chance, p)
    return monitor.change


def races(rng, count, days):
    """Events forecast every day by somebody who knows how far a random walk has come."""
    walk = np.cumsum(rng.standard_normal((count, days + 1)), axis=1)
    left = np.sqrt(np.arange(days, 0, -1))
    won = np.repeat(walk[:, -1] > 0, days)
    race, day = np.repeat(np.arange(count), days), np.tile(np.arange(days), count)
    return won, ndtr(walk[:, :-1] / left).ravel(), race, 3 * race + day


def sound_races_alarm(forecast, rng):
    won, p, race, day = races(rng, 300, 180)
    return watch(won, p, day, clusters=race, cluster_forecast=forecast, tolerance=0.0).alarm


# What changes, as a function of the forecast: none of them is among the bets of the monitor.
CHANGES = {
    "shift 0.06": lambda p: np.minimum(p + 0.06, 0.999),
    "shift -0.06": lambda p: np.maximum(p - 0.06, 0.001),
    "slope 0.6": lambda p: expit(0.6 * logit(p)),
    "slope 1.7": lambda p: expit(1.7 * logit(p)),
    "sine of 0.1": lambda p: np.clip(p + 0.1 * np.sin(6 * np.pi * p), 0.001, 0.999),
    "sine of -0.1": lambda p: np.clip(p - 0.1 * np.sin(6 * np.pi * p), 0.001, 0.999),
}
RUN_LENGTH = 1e5


def cusums(rng, rows, streams, chance=lambda p: p):
    """Largest of the cumulated log likelihood ratios of the changes, row after row."""
    sums = np.zeros((len(CHANGES), streams))
    for _ in range(rows):
        p = rng.uniform(0.001, 0.999, streams)
        y = rng.random(streams) < chance(p)
        for k, change in enumerate(CHANGES.values()):
            q = change(p)
            ratio = np.where(y, q / p, (1 - q) / (1 - p))
            sums[k] = np.maximum(sums[k], 0) + np.log(ratio)
        yield sums.max(axis=0)


@cache
def cusum_level():
    """Level that sound streams reach after RUN_LENGTH rows on average, from 1000 streams."""
    largest = np.max(list(cusums(np.random.default_rng(1), 5000, 1000)), axis=0)
    return np.quantile(largest, np.exp(-5000 / RUN_LENGTH))


@cache
def cusum_delay(change):
    """Rows within which half of the CUSUM banks see a change that is there from the start."""
    path = cusums(np.random.default_rng(2), 1500, 400, CHANGES[change])
    reached = np.array(list(path)) >= cusum_level()
    return np.median(np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, np.inf))


def change_is_seen_late(change, rng):
    p = rng.uniform(0.001, 0.999, 3000)
    chance = np.where(np.arange(3000) < 1000, p, CHANGES[change](p))
    monitor = cal.CalibrationMonitor(0.0, run_length=RUN_LENGTH)
    monitor.update_many(rng.random(3000) < chance, p)
    return (monitor.change_row or np.inf) - 1000 > 1.5 * cusum_delay(change)


def clustered_value_exceeds_its_floor(measure, rng):
    event = np.repeat(np.arange(60), 20)
    p = rng.uniform(0.1, 0.9, event.size)
    evidence = Evidence.read(together(rng, event, 0.5) < p, p, clusters=event)
    floor = clustered_noise_floors(evidence, [measure], 39, rng)[measure]
    return Statistic.of(measure).value(evidence.given) > floor


def _of_clusters_and_groups():
    yield Promise(
        "no group of one cluster is accused", "20 groups, rho 0.3", lone_clusters_are_accused, 150
    )
    for count in (3, 10, 30):
        for shift in (0.0, 0.1):
            yield Promise(
                "interval of the smooth error",
                f"{count} clusters, rho 0.3, error {shift:g}",
                partial(few_clusters_miss, count, shift),
            )
    for groups, events, runs in ((250, 10, 200), (250, 40, 200), (1000, 10, 60)):
        yield Promise(
            "smooth errors of all groups at once",
            f"{groups} groups, {events} events each",
            partial(some_group_misses, groups, events),
            runs,
        )
    for events in (2, 10):
        yield Promise(
            "observed over expected of all groups at once",
            f"250 groups, {events} events each",
            partial(some_ratio_misses, 250, events),
            200,
        )


def _of_few_events():
    for kind in ("plain", "weights", "clusters"):
        for events in (2, 5, 10, 20):
            yield Promise(
                "observed over expected",
                f"{events} events, {kind}",
                partial(ratio_misses, events, kind),
                1000,
            )
    for kind in ("foreseen", "not foreseen"):
        yield Promise(
            "observed over expected", f"common, {kind}", partial(ratio_misses, 0, kind), 1000
        )
    for score, events, factor in SCORES:
        yield Promise(
            f"interval of the {score} score",
            f"events expected: {events}, forecasts {'right' if factor == 1 else 'half the truth'}",
            partial(score_misses, score, events, factor),
        )
    for score in ("brier", "log"):
        for n in (300, 1000):
            yield Promise(
                "the wrong forecaster is not named better",
                f"{score}, truth and a fifth of it, base rate 0.2 %, {n} rows",
                partial(the_wrong_one_is_named, score, n),
            )


def _of_regressions():
    for number in ("slope", "in_the_large"):
        for events in (2, 5, 10, 20):
            for kind in ("plain", "weights"):
                yield Promise(
                    f"interval of {number.replace('_', ' ')}",
                    f"{events} events, {kind}",
                    partial(regression_misses, number, events, kind, 1.0),
                    300,
                )
        yield Promise(
            f"interval of {number.replace('_', ' ')}",
            "30 very unequal clusters",
            partial(regression_misses, number, 10, "unequal clusters", 1.0),
            300,
        )
    yield Promise(
        "interval of slope",
        "common, true slope 0.7",
        partial(regression_misses, "slope", 500, "plain", 0.7),
        300,
    )


def _of_comparisons_and_tests():
    for pair in PAIRS:
        for n, clustered in ((500, False), (1000, True)):
            yield Promise(
                "difference of two smooth errors",
                f"{pair}, {n} rows{' in clusters of 5' if clustered else ''}",
                partial(difference_is_missed, pair, n, clustered),
                200,
            )
    yield Promise(
        "forecasters 0.001 apart are equivalent within 0.02",
        "2000 rows",
        similar_ones_are_not_equivalent,
        60,
    )
    for weights in WEIGHTS:
        for events in (2, 6, 20):
            yield Promise(
                "approximate test at level 0.01",
                f"Joint of mixed weights, {weights}, {events} events",
                partial(mixed_weights_reject, events, weights),
                1000,
                0.03 if "heavy" in weights else 0.01,
            )
    yield Promise(
        "no segment of a sound forecaster is confirmed",
        "1500 rows in clusters of 10, rho 0.5",
        clustered_segment_is_confirmed,
        200,
    )


def _of_monitors():
    for kind in ("uniform", "nine levels", "rare", "edge of the default tolerance"):
        yield Promise(
            "no alarm of a sound stream",
            f"{kind}, 2000 rows",
            partial(sound_stream_alarms, kind),
            2000 if kind == "uniform" else 500,
        )
        yield Promise(
            "no change of a sound stream",
            f"{kind}, a tenth of the run length",
            partial(sound_stream_changes, kind),
            2000 if kind == "uniform" else 500,
            0.1,
        )
    for forecast in ("last", "first", "drawn"):
        yield Promise(
            "no alarm of a sound stream",
            f"300 events of 180 rows, {forecast} forecast",
            partial(sound_races_alarm, forecast),
            500,
        )
    for change in CHANGES:
        yield Promise(
            "a change is seen within 1.5 times the median delay of a CUSUM bank",
            f"{change} after 1000 rows, run length 100 000",
            partial(change_is_seen_late, change),
            200,
            0.5,
        )
    for measure in ("binned", "cutoff", "kernel_smoothed"):
        yield Promise(
            "a measure of clustered rows is below its noise floor",
            f"{measure.replace('_', '-')} error, 60 clusters of 20, rho 0.5",
            partial(clustered_value_exceeds_its_floor, f"{measure}_calibration_error"),
            100 if measure == "kernel_smoothed" else 300,
            0.5,
        )


def _of_costs_and_curves():
    for kind in ("plain", "rare", "weights", "clusters"):
        for own in (False, True):
            yield Promise(
                "no loss of a perfect forecaster is more than chance",
                f"{'a task of costs 1 and 4' if own else 'worst task'}, 400 rows, {kind}",
                partial(the_loss_is_more_than_chance, kind, own),
                300,
            )
    for truth in (1.0, 1.09, 1.11, 0.9):
        for groups in (1, 10):
            yield Promise(
                "verdict on observed over expected within 10 %",
                f"true ratio {truth:g}, {groups} group{'s' * (groups > 1)}, 2000 events in all",
                partial(ratio_verdict_is_wrong, truth, groups),
                300 if groups == 1 else 100,
            )
    for kind in ("plain", "rare", "weights", "clusters"):
        for truth in ("calibrated", "twice the forecast" if kind == "rare" else "slope 0.6"):
            for n, runs in ((50, 150), (500, 100), (2000, 60)):
                yield Promise(
                    "interval of ICI",
                    f"{truth}, {n} rows, {kind}",
                    partial(ici_is_missed, n, truth, kind),
                    runs,
                )
    yield Promise(
        "interval of ICI",
        "shift 0.1, 500 rows",
        partial(ici_is_missed, 500, "shift 0.1", "plain"),
        150,
    )
    for truth, n in (("constant 0.5", 300), ("constant 0.5", 3000), ("constant 0.02", 3000)):
        yield Promise(
            "confidence band", f"truth {truth}, {n} rows", partial(band_is_left, truth, n), 300
        )
    yield Promise("confidence band", "truth p^1.3, 500 rows", partial(band_is_left, "p^1.3", 500))


PROMISES = [
    *_of_verdicts(),
    *_of_clusters_and_groups(),
    *_of_few_events(),
    *_of_regressions(),
    *_of_comparisons_and_tests(),
    *_of_choices(),
    *_of_rows_needed(),
    *_of_monitors(),
    *_of_costs_and_curves(),
]

if __name__ == "__main__":
    sys.stdout.write(table([promise.observe() for promise in PROMISES]) + "\n")
