"""The measures straight from their definitions: slow, short, and independent of the library.

A law is three arrays: the distinct predictions ``v`` in ascending order, their masses ``m`` (they
sum to one) and their mean outcomes ``r``. Functions of a law take ``(v, m, r)``, so that a ``Law``
is passed as ``*law``. Functions of rows take ``(y, p)`` and perhaps weights. Statement numbers are
those of Gopalan and Hu, "Calibration through the Lens of Indistinguishability" (2025).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

# The tightest that HiGHS accepts; the default of 1e-7 would drown the gaps of clustered levels.
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Law(NamedTuple):
    """The joint law J* of prediction and outcome, by level."""

    prediction: np.ndarray
    mass: np.ndarray
    outcome: np.ndarray


def group_levels(y, p, weight=None) -> tuple[float, Law]:
    """The total weight and the law of rows: one level for each distinct prediction."""
    weight = np.ones(len(p)) if weight is None else weight
    rows: dict[float, list[tuple[float, float]]] = {}
    for outcome, prediction, w in zip(y, p, weight, strict=True):
        if w > 0:
            rows.setdefault(float(prediction), []).append((float(w), float(outcome)))
    levels = sorted(rows)
    weights = [math.fsum(w for w, _ in rows[v]) for v in levels]
    positives = [math.fsum(w * outcome for w, outcome in rows[v]) for v in levels]
    total = math.fsum(weights)
    masses = np.array(weights) / total
    return total, Law(np.array(levels), masses, np.array(positives) / np.array(weights))


def advantage(w: np.ndarray, v, m, r) -> float:
    """E[w(p)(y - p)], the weight function given by its values on the levels."""
    return math.fsum(w * m * (r - v))


def point_masses(v, m, r) -> dict[tuple[float, int], float]:
    """A law as masses of the points (prediction, outcome)."""
    points = {(float(a), 1): float(b * c) for a, b, c in zip(v, m, r, strict=True)}
    return points | {(float(a), 0): float(b * (1 - c)) for a, b, c in zip(v, m, r, strict=True)}


def two_worlds(v, m, r):
    """The laws J* (nature's outcomes) and J^p (outcomes drawn from the predictions)."""
    return point_masses(v, m, r), point_masses(v, m, v)


def exact_calibration_error(v, m, r, order: float = 1) -> float:
    """Definition 2.1 and the ECE_q after it."""
    gaps = np.abs(r - v)
    if math.isinf(order):
        return float(gaps.max())
    return math.fsum(m * gaps**order) ** (1 / order)


def total_variation(v, m, r) -> float:
    """TV(J*, J^p) = max over events of J*(S) - J^p(S): the points where J* has the larger mass."""
    nature, model = two_worlds(v, m, r)
    return math.fsum(max(0.0, nature[point] - model[point]) for point in nature)


def total_variation_over_all_events(v, m, r) -> float:
    """The same by trying every event; for at most about five levels."""
    nature, model = two_worlds(v, m, r)
    gaps = np.array([nature[point] - model[point] for point in nature])
    return max(abs(gaps @ event) for event in itertools.product((0, 1), repeat=len(gaps)))


def smooth_calibration_error(v, m, r, lipschitz: float = 1.0, *, all_pairs: bool = False) -> float:
    """Definition 3.2 as a linear program over the values of the weight function on the levels.

    On a line the constraints of neighbours imply those of all pairs; ``all_pairs`` does not rely
    on that. Any feasible vector extends to [0, 1] by interpolation, so nothing is lost.
    """
    size = len(v)
    pairs = itertools.combinations(range(size), 2) if all_pairs else itertools.pairwise(range(size))
    steps = [(i, j, lipschitz * (v[j] - v[i])) for i, j in pairs]
    return _largest(m * (r - v), steps)


def earth_mover_distance(v, m, r, per_unit: float = 1.0) -> float:
    """EMD(J*, J^p) as a transport program with the cost per_unit |v - v'| + |y - y'|."""
    nature, model = two_worlds(v, m, r)
    points = list(nature)
    size = len(points)
    cost = [per_unit * abs(a - c) + abs(b - d) for a, b in points for c, d in points]
    source = np.repeat(np.arange(size), size)
    target = np.tile(np.arange(size), size) + size
    column = np.arange(size * size)
    entries = (np.concatenate([source, target]), np.concatenate([column, column]))
    marginals = coo_array((np.ones(2 * size * size), entries)).tocsr()
    masses = np.array([nature[point] for point in points] + [model[point] for point in points])
    # The two total masses agree only to rounding, so the largest target takes what arrives.
    kept = np.delete(np.arange(2 * size), size + int(np.argmax(masses[size:])))
    plan = linprog(cost, A_eq=marginals[kept], b_eq=masses[kept], method="highs", options=_TIGHT)
    assert plan.success, plan.message
    return plan.fun


def earth_mover_distance_by_duality(v, m, r) -> float:
    """The same by Kantorovich and Rubinstein: the best 1-Lipschitz f on [0, 1] x {0, 1}.

    The metric is the path metric of a ladder (two copies of the line, a rung of length one at
    each level), so f is constrained along rails and rungs. Good for hundreds of levels.
    """
    size = len(v)
    steps = [(i, i + size, 1.0) for i in range(size)]
    for i in range(size - 1):
        steps += [(i, i + 1, v[i + 1] - v[i]), (i + size, i + 1 + size, v[i + 1] - v[i])]
    gaps = m * (r - v)
    # A 1-Lipschitz f on a set of diameter 2 may be shifted into [-1, 1]; both laws have mass one.
    return _largest(np.concatenate([-gaps, gaps]), steps)


def _largest(gain: np.ndarray, steps: list[tuple[int, int, float]]) -> float:
    """The maximum of gain . f over f in [-1, 1] with |f_i - f_j| <= d for each step (i, j, d)."""
    if not steps:
        return math.fsum(np.abs(gain))
    first, second, limit = (np.array(part) for part in zip(*steps, strict=True))
    row = np.arange(len(steps))
    signs = np.repeat([1.0, -1.0], len(steps))
    entries = (np.tile(row, 2), np.concatenate([first, second]))
    rise = coo_array((signs, entries), shape=(len(steps), len(gain)))
    program = linprog(
        -gain,
        A_ub=vstack([rise, -rise]).tocsr(),
        b_ub=np.tile(limit, 2),
        bounds=(-1, 1),
        method="highs",
        options=_TIGHT,
    )
    assert program.success, program.message
    return -program.fun


def cutoff_over_intervals(v, m, r) -> float:
    """The largest |E[(y - p) 1(p in I)]| over intervals I (Rossellini et al. 2025)."""
    residual = m * (r - v)
    ends = itertools.combinations(range(len(v) + 1), 2)
    return max(abs(math.fsum(residual[i:j])) for i, j in ends)


def cutoff_over_thresholds(v, m, r) -> float:
    """The same over lower and upper sets only."""
    residual = m * (r - v)
    cuts = range(len(v) + 1)
    below = max(abs(math.fsum(residual[:j])) for j in cuts)
    above = max(abs(math.fsum(residual[j:])) for j in cuts)
    return max(below, above)


def cutoff_over_lower_sets(v, m, r) -> float:
    """The statistic of Kolmogorov and Smirnov: the largest |E[(y - p) 1(p <= t)]|."""
    residual = m * (r - v)
    return max(abs(math.fsum(residual[:j])) for j in range(len(v) + 1))


def cutoff_over_monotone_weights(v, m, r) -> float:
    """The largest E[w(p)(y - p)] over monotone w with values in [-1, 1], as a linear program."""
    size = len(v)
    best = 0.0
    for direction in (1.0, -1.0):
        steps = np.zeros((max(size - 1, 0), size))
        for i in range(size - 1):
            steps[i, i], steps[i, i + 1] = direction, -direction
        found = linprog(
            -(m * (r - v)), steps if size > 1 else None, np.zeros(size - 1) if size > 1 else None,
            bounds=(-1, 1), method="highs",
        )  # fmt: skip
        best = max(best, -found.fun)
    return best


def averaged_two_bin_error(v, m, r, order: int = 2) -> float:
    """The mean over thresholds q of |bias below q|^order + |bias from q on|^order.

    All thresholds between two levels part the rows alike, so one of each gap is tried.
    """
    residual = m * (r - v)
    ends = [0.0, *(float(level) for level in v), 1.0]
    terms = []
    for low, high in itertools.pairwise(ends):
        q = (low + high) / 2 if low < high else high
        below, above = math.fsum(residual[v < q]), math.fsum(residual[v >= q])
        terms.append((high - low) * (abs(below) ** order + abs(above) ** order))
    return math.fsum(terms)


def same_bin_kernel(u, v):
    """The chance that a uniform threshold leaves two predictions in one bin."""
    return 1 - np.abs(u - v)


def uniform_edges(n_bins: int) -> list[float]:
    """The doubles nearest to j / n_bins, which are not those of ``np.linspace``."""
    return [j / n_bins for j in range(n_bins + 1)]


def bin_of(prediction: float, edges: Sequence[float], closed: str = "left") -> int:
    """The one bin of a prediction: 0 is in the first bin and 1 in the last, whatever is closed."""
    last = len(edges) - 2
    for b in range(last):
        inside = prediction < edges[b + 1] if closed == "left" else prediction <= edges[b + 1]
        if inside:
            return b
    return last


def bins_of_rows(y, p, edges, closed: str = "left", weight=None):
    """The rows (weight, outcome, prediction) of each bin that has some."""
    weight = np.ones(len(p)) if weight is None else weight
    bins: dict[int, list[tuple[float, float, float]]] = {}
    for outcome, prediction, w in zip(y, p, weight, strict=True):
        if w > 0:
            row = (float(w), float(outcome), float(prediction))
            bins.setdefault(bin_of(prediction, edges, closed), []).append(row)
    return bins


def binned_calibration_error(
    y, p, edges, closed: str = "left", order: float = 1, form: str = "residual", weight=None
) -> float:
    """ECE_q after pooling: outcomes against the mean prediction, or the middle, of their bin."""
    masses, gaps = [], []
    for b, rows in bins_of_rows(y, p, edges, closed, weight).items():
        mass = math.fsum(w for w, _, _ in rows)
        mean_outcome = math.fsum(w * outcome for w, outcome, _ in rows) / mass
        mean_prediction = math.fsum(w * prediction for w, _, prediction in rows) / mass
        middle = (edges[b] + edges[b + 1]) / 2
        masses.append(mass)
        gaps.append(abs(mean_outcome - (middle if form == "midpoint" else mean_prediction)))
    if math.isinf(order):
        return max(gaps)
    powers = [mass * gap**order for mass, gap in zip(masses, gaps, strict=True)]
    return (math.fsum(powers) / math.fsum(masses)) ** (1 / order)


def debiased_squared_error(y, p, edges, closed: str = "left") -> float:
    """The squared binned error less its sampling variance; every bin must have two rows or more.

    Broecker (2012), Ferro and Fricker (2012), Kumar, Liang and Ma (2019). May be negative.
    """
    terms = []
    for rows in bins_of_rows(y, p, edges, closed).values():
        n = len(rows)
        mean_outcome = math.fsum(outcome for _, outcome, _ in rows) / n
        mean_prediction = math.fsum(prediction for _, _, prediction in rows) / n
        variance = mean_outcome * (1 - mean_outcome) / (n - 1)
        terms.append(n / len(p) * ((mean_outcome - mean_prediction) ** 2 - variance))
    return math.fsum(terms)


def isotonic_fit(v, m, r) -> np.ndarray:
    """The non-decreasing least-squares fit of the outcomes, by the max-min formula."""

    def mean(a: int, b: int) -> float:
        return math.fsum((m * r)[a : b + 1]) / math.fsum(m[a : b + 1])

    size = len(v)
    return np.array(
        [max(min(mean(a, b) for b in range(i, size)) for a in range(i + 1)) for i in range(size)]
    )


def recalibration(v, m, r) -> Law:
    """The law of the predictor E[y | p]: levels of equal mean outcome become one."""
    recalibrate = dict(zip(v, r, strict=True))
    return group_levels(r, [recalibrate[level] for level in v], m)[1]


def umbrella_loss(carry: np.ndarray, chance: np.ndarray, m: np.ndarray) -> float:
    """Section 1.1: carrying when dry costs .1, not carrying in rain .9; expected by level."""
    return math.fsum(m * np.where(carry, 0.1 * (1 - chance), 0.9 * chance))


def lipschitz_excess(
    w: Callable[[np.ndarray], np.ndarray], points: np.ndarray, lipschitz: float
) -> float:
    """By how much w exceeds |w(a) - w(b)| <= lipschitz |a - b| between neighbouring points."""
    points = np.unique(points)
    excess = np.abs(np.diff(w(points))) - lipschitz * np.diff(points)
    return float(np.max(excess, initial=0.0))


def laplace_kernel(bandwidth: float) -> Callable:
    """K(u, v) = exp(-|u - v| / h)."""
    return lambda u, v: np.exp(-np.abs(u - v) / bandwidth)


def gaussian_kernel(bandwidth: float) -> Callable:
    """K(u, v) = exp(-(u - v)^2 / (2 h^2))."""
    return lambda u, v: np.exp(-(((u - v) / bandwidth) ** 2) / 2)


def polynomial_kernel(degree: int) -> Callable:
    """K(u, v) = 1 + u v + ... + (u v)^d."""
    return lambda u, v: sum((u * v) ** j for j in range(degree + 1))


def kernel_form(v, m, r, kernel: Callable) -> float:
    """The square of the kernel error: the sum of c_i c_j K(v_i, v_j) over all pairs of levels.

    Products are rounded, their sum is not. That leaves the square an error of about 1e-16 ECE^2,
    so squares are what to compare: the root of a small one has half as many digits.
    """
    c = m * (r - v)
    pairs = c[:, None] * c[None, :] * kernel(v[:, None], v[None, :])
    return math.fsum(pairs.ravel().tolist())


def kernel_mean(x: np.ndarray, v, m, r, kernel: Callable) -> np.ndarray:
    """The sum of c_j K(x, v_j): the element of the kernel's space that w(v)(y - v) averages to."""
    c = m * (r - v)
    return np.array([math.fsum(c * kernel(at, v)) for at in x])


def unbiased_square(y, p, kernel: Callable, weight=None) -> float:
    """The mean of (y_i - p_i)(y_j - p_j) K(p_i, p_j) over pairs of different rows."""
    weight = np.ones(len(p)) if weight is None else weight
    terms, pairs = [], []
    for i, j in itertools.permutations(range(len(p)), 2):
        pairs.append(weight[i] * weight[j])
        terms.append(pairs[-1] * (y[i] - p[i]) * (y[j] - p[j]) * float(kernel(p[i], p[j])))
    return math.fsum(terms) / math.fsum(pairs)


def moments(v, m, r, degree: int) -> list[float]:
    """M_j = E[p^j (y - p)] for j = 0, ..., d."""
    return [math.fsum(m * (r - v) * v**j) for j in range(degree + 1)]


def low_degree_sup(v, m, r, degree: int, fineness: int = 400) -> tuple[float, float]:
    """A bracket of the largest E[P(p)(y - p)] over polynomials of degree d with |P| <= 1 on [0, 1].

    A linear program over Chebyshev coefficients, with |P| <= 1 at N + 1 points cos(k pi / N) only,
    N = fineness * d. It allows too much, so its value is an upper bound. By Ehlich and Zeller
    (1964) what it allows stays below 1 / cos(d pi / (2 N)) between the points, so its value times
    that cosine is a lower bound: 400 points per degree leave a relative width of 7.7e-6.
    """
    points = max(1, fineness * degree)
    grid = np.polynomial.chebyshev.chebvander(
        np.cos(np.pi * np.arange(points + 1) / points), degree
    )
    basis = np.polynomial.chebyshev.chebvander(2 * v - 1, degree)
    gain = np.array([math.fsum(m * (r - v) * column) for column in basis.T])
    # Tolerances of the solver are absolute; the value is at least the largest gain.
    scale = np.abs(gain).max()
    if scale == 0:
        return 0.0, 0.0
    program = linprog(
        -gain / scale,
        A_ub=np.vstack([grid, -grid]),
        b_ub=np.ones(2 * len(grid)),
        bounds=(None, None),
        method="highs",
        options=_TIGHT,
    )
    assert program.success, program.message
    above = -program.fun * scale
    return above * math.cos(degree * math.pi / (2 * points)), above


def low_degree_l1(v, m, r, degree: int) -> float:
    """The same with coefficients of l1 norm one: some single power, with a sign."""
    return max(map(abs, moments(v, m, r, degree)))


def low_degree_l2(v, m, r, degree: int) -> float:
    """The same with coefficients of l2 norm one: proportional to the moments."""
    return math.sqrt(math.fsum(moment**2 for moment in moments(v, m, r, degree)))
