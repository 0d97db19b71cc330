"""Online forecasters by their definition: every round starts again from the whole history.

An oracle maps the past (predictions and outcomes) to the distribution of the next prediction, as a
dict of prediction to chance. Exact fractions where the fast version claims to be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

import calibrant.online as on

Past = Sequence[tuple[float, int]]
Oracle = Callable[[Past], dict[float, float]]


def foster(grid: int) -> Oracle:
    """Foster 1999: points that are neither too high nor too low first, else a coin for two."""

    def announce(past: Past) -> dict[float, float]:
        excess, deficit = [], []
        for k in range(grid + 1):
            outcomes = [y for p, y in past if p == k / grid]
            error = sum(Fraction(k, grid) - y for y in outcomes)
            slack = Fraction(len(outcomes), 2 * grid)
            excess.append(error - slack)
            deficit.append(-error - slack)
        for k in range(grid + 1):
            if excess[k] <= 0 and deficit[k] <= 0:
                return {k / grid: 1.0}
        k = next(k for k in range(grid) if deficit[k] > 0 and excess[k + 1] > 0)
        low = excess[k + 1] / (excess[k + 1] + deficit[k])
        return {k / grid: float(low), (k + 1) / grid: float(1 - low)}

    return announce


def foster_squares(grid: int, past: Past) -> float:
    """Sum of the squared biases beyond half a grid step."""
    squares = 0.0
    for k in range(grid + 1):
        outcomes = [y for p, y in past if p == k / grid]
        error = math.fsum(k / grid - y for y in outcomes)
        squares += max(0.0, abs(error) - len(outcomes) / (2 * grid)) ** 2
    return squares


def almost_one_step_ahead(grid: int, *, midpoint: bool = False) -> Oracle:
    """ACRS 2025: the first i with E_i <= 0 <= E_{i+1}, the shadow replayed from the start."""

    def announce(past: Past) -> dict[float, float]:
        errors = [Fraction(0)] * (grid + 1)
        for _, y in past:
            i = _switch(errors)
            shadow = i + 1 if y else i
            errors[shadow] += Fraction(shadow, grid) - y
        i = _switch(errors)
        return {float(Fraction(2 * i + midpoint, 2 * grid)): 1.0}

    return announce


def _switch(errors: Sequence[Fraction]) -> int:
    return next(i for i in range(len(errors) - 1) if errors[i] <= 0 <= errors[i + 1])


def hat_sums(grid: int, past: Past) -> list[float]:
    """Residuals spread over the grid by linear interpolation."""
    return [
        math.fsum(max(0.0, 1 - abs(p * grid - k)) * (y - p) for p, y in past)
        for k in range(grid + 1)
    ]


def laplace_sum(past: Past, at: float) -> float:
    """Sum of (y - p) exp(-|at - p|)."""
    return math.fsum((y - p) * math.exp(-abs(at - p)) for p, y in past)


def decision(grid: int, scales: Sequence[float]) -> Oracle:
    """Weights of both signs summed over the scales, then the first change of sign."""

    def announce(past: Past) -> dict[float, float]:
        return _at_sign_change(
            [_decision_weight(k / grid, grid, scales, past) for k in range(grid + 1)]
        )

    return announce


def _decision_weight(point: float, grid: int, scales: Sequence[float], past: Past) -> float:
    outcomes = [y for p, y in past if p == point]
    visits, bias = len(outcomes), math.fsum(y - point for y in outcomes)
    low, high = -bias - visits / (2 * grid), bias - visits / (2 * grid)
    if abs(bias) < 1e-9:
        return 0.0
    return math.fsum(
        s * (math.exp(s * high - s * s * visits) - math.exp(s * low - s * s * visits))
        for s in scales
    )


def decision_potential(grid: int, scales: Sequence[float], past: Past) -> float:
    """The supermartingale of the decision forecaster."""
    total = 0.0
    for k in range(grid + 1):
        outcomes = [y for p, y in past if p == k / grid]
        visits, bias = len(outcomes), math.fsum(y - k / grid for y in outcomes)
        for sign in (-1, 1):
            gain = sign * bias - visits / (2 * grid)
            total += math.fsum(math.exp(s * gain - s * s * visits) for s in scales) / len(scales)
    return total


def cutoff(grid: int, rate: float) -> Oracle:
    """Exponential weights over upper sets and signs, then the first change of sign."""

    def announce(past: Past) -> dict[float, float]:
        return _at_sign_change(cutoff_tests(grid, rate, past))

    return announce


def cutoff_tests(grid: int, rate: float, past: Past) -> list[float]:
    """Value of the weighted test at every grid point; weights sum to one."""
    biases = [math.fsum(y - p for p, y in past if p >= k / grid) for k in range(grid + 1)]
    biases = [0.0 if abs(bias) < 1e-9 else bias for bias in biases]
    total = math.fsum(2 * math.cosh(rate * bias) for bias in biases)
    steps = [2 * math.sinh(rate * bias) / total for bias in biases]
    return [math.fsum(steps[: k + 1]) for k in range(grid + 1)]


def _at_sign_change(weights: Sequence[float]) -> dict[float, float]:
    grid = len(weights) - 1
    if weights[0] <= 0:
        return {0.0: 1.0}
    if weights[-1] >= 0:
        return {1.0: 1.0}
    k = next(k for k in range(grid) if weights[k] > 0 >= weights[k + 1])
    low = -weights[k + 1] / (weights[k] - weights[k + 1])
    atoms = {k / grid: low, (k + 1) / grid: 1 - low}
    return {point: chance for point, chance in atoms.items() if chance > 0}


def tree(branching: int, depth: int, classes: int) -> Oracle:
    """TreeSwap with follow the leader, window by window from the list of outcomes."""

    def announce(past: Past) -> dict[float, float]:
        now, chances = len(past), {}
        for level in range(1, depth + 1):
            window = branching ** (depth - level + 1)
            part = window // branching
            seen = [y for _, y in past[now // window * window : now // part * part]]
            counts = [seen.count(label) for label in range(classes)]
            mean = tuple(c / len(seen) if seen else 1 / classes for c in counts)
            value = mean[1] if classes == 2 else mean
            chances[value] = chances.get(value, 0) + 1 / depth
        return chances

    return announce


def follow(
    forecaster: on.Forecaster, oracle: Oracle, outcomes: Sequence[int], coin: np.random.Generator
) -> None:
    """Play a sequence and compare every announcement with the oracle's."""
    past: list[tuple[float, int]] = []
    for y in outcomes:
        said = dict(forecaster.forecast().atoms)
        known = oracle(past)
        assert said.keys() == known.keys()
        for prediction, chance in known.items():
            assert abs(said[prediction] - chance) <= 1e-12
        past.append((forecaster.predict(coin), y))
        forecaster.update(y)
