"""The same measures in plain numpy, to judge a value by, and variants that explain a wrong one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Plain = Callable[[Floats, Floats], float]
BINS = 15


def bin_sums(y: Floats, p: Floats, edges: Floats, side: str) -> tuple[Floats, Floats, Floats]:
    """Rows, outcomes and predictions of each bin between inner edges."""
    index = np.searchsorted(edges, p, side="right" if side == "left" else "left")
    bins = edges.size + 1
    return tuple(np.bincount(index, of, bins) for of in (np.ones(p.size), y, p))


def binned(y: Floats, p: Floats, edges: Floats, side: str) -> float:
    _, outcomes, predictions = bin_sums(y, p, edges, side)
    return float(np.abs(outcomes - predictions).sum() / p.size)


def left(y: Floats, p: Floats) -> float:
    return binned(y, p, np.arange(1, BINS) / BINS, "left")


def right(y: Floats, p: Floats) -> float:
    return binned(y, p, np.arange(1, BINS) / BINS, "right")


def debiased(y: Floats, p: Floats) -> float:
    """Order 2 with bins (a, b], less the variance of the frequencies."""
    rows, outcomes, predictions = bin_sums(y, p, np.arange(1, BINS) / BINS, "right")
    rows, outcomes, predictions = (of[rows > 1] for of in (rows, outcomes, predictions))
    rate = outcomes / rows
    square = ((outcomes - predictions) / rows) ** 2 - rate * (1 - rate) / (rows - 1)
    return float(np.sqrt(max(0.0, np.sum(rows / p.size * square))))


def walk(y: Floats, p: Floats) -> Floats:
    """Partial sums of the residuals, equal predictions taken together, from 0 on."""
    _, index = np.unique(p, return_inverse=True)
    return np.concatenate([[0.0], np.cumsum(np.bincount(index, y - p))]) / p.size


def cutoff(y: Floats, p: Floats) -> float:
    return float(np.ptp(walk(y, p)))


def largest_lower(y: Floats, p: Floats) -> float:
    return float(np.abs(walk(y, p)).max())


def laplace(y: Floats, p: Floats, bandwidth: float = 0.4) -> float:
    """Root of the mean of r r' exp(-|p - p'| / bandwidth) over all pairs, in sorted order."""
    order = np.argsort(p)
    p, r = p[order], (y - p)[order]
    up = np.cumsum(r * np.exp(p / bandwidth))[:-1]
    pairs = 2 * np.sum(r[1:] * np.exp(-p[1:] / bandwidth) * up)
    return float(np.sqrt(max(0.0, np.sum(r**2) + pairs)) / p.size)


def by_label(y: Floats, p: Floats) -> float:
    """Laplace error of (was "p > 0.5" the outcome?, p)."""
    return laplace(np.where((p > 0.5) == (y == 1), 1.0, 0.0), p)


def stepwise(y: Floats, p: Floats) -> Floats:
    """Partial sums row by row, ties in the order of the rows, without the 0 before the first."""
    order = np.argsort(p, kind="stable")
    return np.cumsum((y - p)[order]) / p.size


def rounded_edges(side: str) -> Plain:
    return lambda y, p: binned(y, p, np.linspace(0, 1, BINS + 1)[1:-1], side)


# What a value that is not the defined one turns out to be.
VARIANTS: dict[str, Plain] = {
    "edges of numpy.linspace, a rounding error off j/15; [a, b)": rounded_edges("left"),
    "edges of numpy.linspace, a rounding error off j/15; (a, b]": rounded_edges("right"),
    "p = 1 in a bin of its own": lambda y, p: binned(y, p, np.arange(1, 16) / 15, "left"),
    "p = 1 in a bin of its own, edges of numpy.linspace": lambda y, p: binned(
        y, p, np.linspace(0, 1, 16)[1:], "left"
    ),
    "14 bins, (a, b]": lambda y, p: binned(y, p, np.linspace(0, 1, 15)[1:-1], "right"),
    "14 bins and p = 0 in a bin of its own": lambda y, p: binned(
        y, p, np.linspace(0, 1, 15)[:-1], "right"
    ),
    "takes p > 0.5 as the predicted label": by_label,
    "walk without its start at 0": lambda y, p: float(np.ptp(walk(y, p)[1:])),
    "splits ties": lambda y, p: float(np.ptp(np.append(0.0, stepwise(y, p)))),
    "splits ties, walk without its start at 0": lambda y, p: float(np.ptp(stepwise(y, p))),
}


def explain(y: Floats, p: Floats, value: float, tolerance: float) -> str:
    """Name the first variant that gives the value."""
    for reason, variant in VARIANTS.items():
        if abs(variant(y, p) - value) <= tolerance:
            return reason
    return ""
