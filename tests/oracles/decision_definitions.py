"""Decision losses straight from their definitions: slow, short, independent of the library.

A law is ``(v, m, r)`` as in ``definitions``. Payoffs are a table u[action, outcome].
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.sparse import coo_array

from oracles.definitions import _TIGHT


def expected_payoff(payoffs: np.ndarray, action: int, chance: float) -> float:
    """U(a, q) = (1 - q) u(a, 0) + q u(a, 1)."""
    return (1 - chance) * payoffs[action, 0] + chance * payoffs[action, 1]


def best_actions(payoffs: np.ndarray, chance: float, slack: float = 1e-12) -> list[int]:
    """All actions with the largest expected payoff, in the order given."""
    values = [expected_payoff(payoffs, a, chance) for a in range(len(payoffs))]
    return [a for a, value in enumerate(values) if value >= max(values) - slack]


def payoff_of_map(payoffs: np.ndarray, actions, m, r) -> float:
    """E u(sigma(p), y) for a map sigma from levels to actions."""
    return math.fsum(
        mass * expected_payoff(payoffs, a, chance)
        for a, mass, chance in zip(actions, m, r, strict=True)
    )


def best_payoff_over_all_maps(payoffs: np.ndarray, v, m, r) -> float:
    """The maximum of E u(sigma(p), y) over all maps from levels to actions."""
    maps = itertools.product(range(len(payoffs)), repeat=len(v))
    return max(payoff_of_map(payoffs, sigma, m, r) for sigma in maps)


def trusting_payoff(payoffs: np.ndarray, v, m, r, ties: str = "worst") -> float:
    """E u(sigma_T(p), y) of the best response to the predictions."""
    chosen = []
    for prediction, chance in zip(v, r, strict=True):
        tied = best_actions(payoffs, prediction)
        received = [expected_payoff(payoffs, a, chance) for a in tied]
        by_rule = {
            "worst": int(np.argmin(received)),
            "best": int(np.argmax(received)),
            "first": 0,
            "last": -1,
        }
        chosen.append(tied[by_rule[ties]])
    return payoff_of_map(payoffs, chosen, m, r)


def fixed_decision_loss(payoffs: np.ndarray, v, m, r, ties: str = "worst") -> float:
    """Definition 4.2 with Lemma 4.4: the best response to each mean outcome."""
    best = math.fsum(
        mass * max(expected_payoff(payoffs, a, chance) for a in range(len(payoffs)))
        for mass, chance in zip(m, r, strict=True)
    )
    return best - trusting_payoff(payoffs, v, m, r, ties)


def external_regret(payoffs: np.ndarray, v, m, r, ties: str = "worst") -> float:
    """The best single action in hindsight against the best response to the predictions."""
    base = math.fsum(m * r)
    best = max(expected_payoff(payoffs, a, base) for a in range(len(payoffs)))
    return best - trusting_payoff(payoffs, v, m, r, ties)


def worst_task_program(v, m, r, compared: np.ndarray, weight: np.ndarray) -> float:
    """The largest loss over all menus of actions with payoffs in [0, 1], as a linear program.

    Level i is answered by a payoff pair a_i, and group k of the rows (mean outcome ``compared``,
    mass ``weight``) could have been answered by b_k. Any menu may hold all of them; the only
    conditions are that a_i is a best response to v_i in that menu: U(other, v_i) <= U(a_i, v_i).
    Maximise
    sum of weight_k U(b_k, compared_k) - sum of m_i U(a_i, r_i).
    """
    levels, groups = len(v), len(compared)
    pairs = levels + groups
    gain = np.zeros((pairs, 2))
    gain[:levels] = -np.stack([m * (1 - r), m * r], axis=1)
    gain[levels:] = np.stack([weight * (1 - compared), weight * compared], axis=1)
    rows, columns, entries = [], [], []
    count = 0
    for i in range(levels):
        for other in range(pairs):
            if other == i:
                continue
            rows += [count] * 4
            columns += [2 * other, 2 * other + 1, 2 * i, 2 * i + 1]
            entries += [1 - v[i], v[i], v[i] - 1, -v[i]]
            count += 1
    conditions = coo_array((entries, (rows, columns)), shape=(count, 2 * pairs))
    program = linprog(
        -gain.ravel(),
        A_ub=conditions.tocsr(),
        b_ub=np.zeros(count),
        bounds=(0, 1),
        method="highs",
        options=_TIGHT,
    )
    assert program.success, program.message
    return -program.fun


def solvable(law) -> bool:
    """Whether a solver with a tolerance of 1e-10 can tell the levels of a law apart."""
    return bool(np.all(np.diff(law[0]) > 1e-7))


def calibration_decision_loss(v, m, r) -> float:
    """Definition 4.2: the supremum over tasks with payoffs in [0, 1]."""
    return worst_task_program(v, m, r, r, m)


def u_calibration_error(v, m, r) -> float:
    """The same against the best single action (Kleinberg, Leme, Schneider, Teng 2023)."""
    return worst_task_program(v, m, r, np.array([math.fsum(m * r)]), np.ones(1))


def v_divergence(first: float, second: float, kink: float, *, right: bool = False) -> float:
    """D(v1 || v2) of phi = |v - t|, with slope +1 at the kink, or -1 for the right limit."""
    inside = (
        first <= kink < second or second <= kink < first
        if right
        else first < kink <= second or second < kink <= first
    )
    return 2 * abs(first - kink) if inside else 0.0


def v_curve(t: float, v, m, r, *, right: bool = False) -> float:
    """E D_{|.-t|}(r || v)."""
    return math.fsum(
        mass * v_divergence(chance, prediction, t, right=right)
        for prediction, mass, chance in zip(v, m, r, strict=True)
    )


def largest_v_divergence(v, m, r) -> float:
    """The supremum of the V-curve: kinks at frequencies are convex, so it is at a prediction."""
    return max(max(v_curve(t, v, m, r), v_curve(t, v, m, r, right=True)) for t in v)


def majorant_at_one_half(v, m, r) -> float:
    """The least concave majorant of the closed V-curve at 1/2: the best chord over it."""
    points = [(0.0, 0.0), (1.0, 0.0)]
    points += [(t, v_curve(t, v, m, r, right=right)) for t in v for right in (False, True)]
    best = max((height for t, height in points if t == 0.5), default=0.0)
    for (s, low), (t, high) in itertools.product(points, repeat=2):
        if s < 0.5 < t:
            best = max(best, ((t - 0.5) * low + (0.5 - s) * high) / (t - s))
    return best


def elementary_score(y, p, t: float, *, act: bool) -> float:
    """Mean over rows of t for acting in vain, 1 - t for a miss; ties act or wait."""
    acts = p >= t if act else p > t
    return float(np.mean(np.where(acts, (y == 0) * t, (y == 1) * (1 - t))))


def net_benefit(y, p, t: float) -> float:
    """Vickers and Elkin (2006): true positives less false positives at the odds of t, per row."""
    treated = p >= t
    true, false = np.sum(treated & (y == 1)), np.sum(treated & (y == 0))
    return float(true / len(y) - false / len(y) * t / (1 - t))


def bregman(phi, slope, first: float, second: float) -> float:
    """Definition 4.5."""
    return phi(first) - phi(second) - slope(second) * (first - second)


def post_processing_gap(v, m, r, psi=lambda t: t**2 / 2, dual=lambda p: p, bound=1.0, scale=2.0):
    """The best 1-Lipschitz shift on the scale of the loss, by a general solver; small laws."""
    t = dual(v)

    def loss(h):
        return scale * float(np.sum(m * (psi(t + h) - psi(t) - r * h)))

    gaps = np.diff(t)
    conditions = []
    if len(gaps):
        conditions = [
            {"type": "ineq", "fun": lambda h: gaps - np.diff(h)},
            {"type": "ineq", "fun": lambda h: gaps + np.diff(h)},
        ]
    fit = minimize(
        loss,
        np.zeros(len(v)),
        method="SLSQP",
        bounds=[(-bound, bound)] * len(v),
        constraints=conditions,
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return -fit.fun
