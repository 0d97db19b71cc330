"""What no forecaster can avoid, with constants: independent outcomes of one known chance."""

from __future__ import annotations

import math
from collections.abc import Mapping

# Regret of the best fixed action bounds U-calibration, which is at most the decision loss, which is
# at most twice the expected error (Theorem 4.3).
SHARE_OF_REGRET: Mapping[str, float] = {
    "u_calibration_error": 1.0,
    "calibration_decision_loss": 1.0,
    "exact_calibration_error": 0.5,
}
"""Measures with a lower bound, and how much of the unavoidable regret it is."""


def mean_deviation(rounds: int, chance: float) -> float:
    """Return E|S - rounds x chance| for the number S of ones in independent rounds.

    De Moivre's formula: 2 k C(n, k) p^k (1 - p)^(n - k + 1) with k = floor(np) + 1.

    Examples
    --------
    >>> mean_deviation(2, 0.5)
    0.5
    """
    if chance in {0.0, 1.0}:
        return 0.0
    k = min(math.floor(rounds * chance) + 1, rounds)
    log = (
        math.lgamma(rounds + 1)
        - math.lgamma(k + 1)
        - math.lgamma(rounds - k + 1)
        + k * math.log(chance)
        + (rounds - k + 1) * math.log1p(-chance)
    )
    return 2 * k * math.exp(log)


def least_error(measure: str, rounds: int, chance: float = 0.5) -> float | None:
    r"""Bound the expected rounds x measure of every forecaster from below.

    Parameters
    ----------
    measure : str
        A name of the catalogue.
    rounds : int
        Number T of rounds.
    chance : float, default=0.5
        Outcomes are independent, 1 with this chance; the worst nature is at least as bad.

    Returns
    -------
    float or None
        None for a measure of which no such bound is known here.

    Notes
    -----
    Let a task have two actions that are equally good at the chance c, with payoffs in [0, 1]. A
    forecaster's action, whatever it is, has the same expected payoff. The better of the two in
    hindsight gains :math:`|S - cT| / (2 \max(c, 1-c))` over that mean, where S counts the ones. So
    :math:`E|S - cT| / (2 \max(c, 1-c))`, which is about :math:`\sqrt{T / (2\pi)}` for c = 1/2,
    bounds T times the U-calibration error from below, hence T times the decision loss, and half
    of it bounds T times the expected calibration error.

    Examples
    --------
    >>> round(least_error("calibration_decision_loss", 1024), 1)
    12.8
    >>> round(least_error("exact_calibration_error", 1024), 1)
    6.4
    >>> least_error("smooth_calibration_error", 1024) is None
    True
    """
    share = SHARE_OF_REGRET.get(measure)
    if share is None:
        return None
    return share * mean_deviation(rounds, chance) / (2 * max(chance, 1 - chance))
