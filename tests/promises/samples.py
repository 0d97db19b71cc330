"""Forecasts, what is wrong with them, and what lies beside them: each has one name everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr

import calibrant as cal
from calibrant.inference.evidence import Evidence

SMOOTH = "smooth_calibration_error"


def rare(rng, n, mean):
    """Forecasts of rare events whose log is normal."""
    return np.minimum(mean * np.exp(rng.normal(0, 1, n) - 0.5), 0.5)


FORECASTS = {
    "uniform": lambda rng, n: rng.random(n),
    "central": lambda rng, n: rng.beta(2, 2, n),
    "low": lambda rng, n: rng.beta(1, 9, n),
    "sharp": lambda rng, n: np.clip(rng.beta(0.3, 0.3, n), 1e-4, 1 - 1e-4),
    "like a language model": lambda rng, n: np.clip(rng.beta(8, 2, n), 1e-3, 1 - 1e-3),
    "nine levels": lambda rng, n: rng.integers(1, 10, n) / 10,
    "nineteen levels": lambda rng, n: rng.integers(1, 20, n) / 20,
    "rare": lambda rng, n: rare(rng, n, 0.01),
}


def slope(by, more=0.0):
    """Log odds that are so many times those that were forecast, and so much more."""
    return lambda p: expit(by * logit(p) + more)


def shift(by):
    """Chances that differ from the forecasts by as much everywhere."""
    return lambda p: np.clip(p + by, 0, 1)


def waves(count, height):
    """Chances that swing about the forecasts."""
    return lambda p: np.clip(p + height * np.sin(2 * np.pi * count * p), 0, 1)


# What is wrong with forecasts: the true chance as a function of the forecast.
FAULTS = {
    "right": lambda p: p,
    "slope 0.4": slope(0.4),
    "slope 0.5": slope(0.5),
    "slope 0.6": slope(0.6),
    "slope 0.7": slope(0.7),
    "slope 0.8": slope(0.8),
    "slope 1.5": slope(1.5),
    "slope 1.7": slope(1.7),
    "odds times 1.65": slope(1, 0.5),
    "too extreme and too high": slope(0.6, -1),
    "two waves that fade": lambda p: np.clip(p + 0.8 * np.sin(4 * np.pi * p) * p * (1 - p), 0, 1),
    "three waves of 0.1": waves(3, 0.1),
    "three waves of -0.1": waves(3, -0.1),
    "three waves of 0.15": waves(3, 0.15),
    "three waves of 0.2": waves(3, 0.2),
    "six waves of 0.25": waves(6, 0.25),
    "too low by 0.05": shift(0.05),
    "too low by 0.06": shift(0.06),
    "too low by 0.1": shift(0.1),
    "too high by 0.06": shift(-0.06),
    "too high by 0.07": shift(-0.07),
    "beyond 0.9 too high by 0.2": lambda p: np.where(p > 0.9, p - 0.2, p),
    "below 0.1 too low by 0.15": lambda p: np.where(p < 0.1, p + 0.15, p),
    "in the middle too low by 0.2": lambda p: np.where(abs(p - 0.5) < 0.1, p + 0.2, p),
    "power 1.5": lambda p: p**1.5,
    "power 0.7": lambda p: p**0.7,
    "coins": lambda p: np.full(p.size, 0.5),
    "half the truth": lambda p: np.minimum(2 * p, 1),
    "twice the truth": lambda p: p / 2,
    "too low by 4/9": lambda p: np.minimum(1.8 * p, 1),
}


@dataclass(frozen=True)
class Sample:
    """Forecasts and outcomes, the chances behind them, weights and clusters if there are any."""

    p: np.ndarray
    chance: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    cluster: np.ndarray | None = None

    @property
    def rows(self):
        """Everything that a function of the library takes."""
        return {
            "y_true": self.y,
            "y_proba": self.p,
            "sample_weight": self.weight,
            "clusters": self.cluster,
        }

    @property
    def evidence(self):
        """The same as evidence."""
        return Evidence.read(self.y, self.p, self.weight, None, self.cluster)


def sample(rng, p, beside="plain", fault="right", *, size=10, rho=0.3):
    """Outcomes of forecasts: plain, with log-normal weights, or in clusters of some size."""
    chance = FAULTS[fault](p)
    weight = rng.lognormal(0, 1, p.size) if beside == "weights" else None
    if beside == "clusters":
        cluster = np.arange(p.size) // size
        return Sample(p, chance, together(rng, cluster, rho) < chance, None, cluster)
    return Sample(p, chance, rng.random(p.size) < chance, weight)


def together(rng, cluster, rho):
    """Uniform numbers that rows of a cluster share in part."""
    shared = rng.standard_normal(int(cluster.max()) + 1)[cluster]
    return ndtr(np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.standard_normal(cluster.size))


def true_error(prediction, chance, weight=None):
    """Smooth calibration error of chances that are known."""
    levels, place = np.unique(prediction, return_inverse=True)
    weight = np.ones(prediction.size) if weight is None else weight
    charges = np.bincount(place, weight * (chance - prediction) / weight.sum())[np.newaxis, :]
    law = cal.Joint.from_counts(levels, np.ones(levels.size), np.zeros(levels.size))
    return float(cal.CATALOGUE[SMOOTH].batch.function(law, charges)[0])
