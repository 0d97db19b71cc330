"""The forms in which whole distributions are forecast: members, quantiles, a function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant._base.words import count_text, number_text
from calibrant.data.input import as_floats, first_rows, read_numbers, read_table, refuse_missing
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError, mention

# Integrals of a function are refined until they change by less than this share of themselves.
CHANGE = 1e-6
# Beyond these chances the tails of a function are left out of integrals.
TAIL = 1e-9
MOST_DOUBLINGS, MOST_REFINEMENTS = 200, 9
NODES = 16


class DistributionForm(Protocol):
    """One distribution a row."""

    @property
    def rows(self) -> int:
        """Number of forecasts."""
        ...

    def pit_limits(self, y: Floats) -> tuple[Floats, Floats]:
        """Return ends between which the transform of each outcome lies."""
        ...

    def exceedance(self, threshold: float) -> Floats:
        """Chance of an outcome beyond the threshold, of each row."""
        ...

    def crps(self, y: Floats, *, fair: bool) -> Floats:
        """Continuous ranked probability score of each row."""
        ...


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Members, equally likely, in increasing order."""

    members: Floats

    @classmethod
    def read(cls, members: object) -> Ensemble:
        """Check a table with one row a forecast and one column a member."""
        return cls(np.sort(_table(members, "members"), axis=1))

    @property
    def rows(self) -> int:
        """Number of forecasts."""
        return len(self.members)

    def pit_limits(self, y: Floats) -> tuple[Floats, Floats]:
        """Ranks among members and outcome: uniform if the outcome is like one more member."""
        size = self.members.shape[1] + 1
        below = (self.members < y[:, np.newaxis]).sum(axis=1)
        upto = (self.members <= y[:, np.newaxis]).sum(axis=1)
        return below / size, (upto + 1) / size

    def exceedance(self, threshold: float) -> Floats:
        """Return the share of members beyond the threshold."""
        return np.asarray((self.members > threshold).mean(axis=1))

    def crps(self, y: Floats, *, fair: bool) -> Floats:
        """Return mean |x - y| less half the mean |x - x'|, over distinct members if fair."""
        size = self.members.shape[1]
        if fair and size < 2:
            raise InvalidOptionError("the fair score needs two members or more", "one member")
        near = np.abs(self.members - y[:, np.newaxis]).mean(axis=1)
        # Of sorted members x_i - x_j occurs for each pair once: x_i is the larger i times.
        rank = 2.0 * np.arange(size) - size + 1
        apart = self.members @ rank / (size * (size - 1 if fair else size))
        return np.asarray(near - apart)


@dataclass(frozen=True, slots=True)
class QuantileColumns:
    """Quantiles of increasing levels, one column each."""

    levels: Floats
    values: Floats

    @classmethod
    def read(cls, levels: object, values: object) -> QuantileColumns:
        """Check levels and quantiles that must not cross."""
        alpha = read_numbers(levels, "levels")
        if alpha.ndim != 1 or not ((alpha > 0) & (alpha < 1)).all():
            raise InvalidOptionError("levels must lie between 0 and 1", shown(levels))
        if not (np.diff(alpha) > 0).all():
            raise InvalidOptionError("levels must increase", shown(levels))
        table = _table(values, "values")
        if table.shape[1] != alpha.size:
            raise InvalidForecastsError(
                "values must have one column for each level",
                f"{table.shape[1]} columns for {count_text(alpha.size, 'level')}",
            )
        crossed = np.asarray((np.diff(table, axis=1) < 0).any(axis=1))
        if crossed.any():
            raise InvalidForecastsError(
                "quantiles must not fall as their levels rise",
                f"{crossed.sum()} of {count_text(len(table), 'row')} where they cross, "
                f"first rows {first_rows(crossed)}",
                "sort the quantiles of each row, or repair the model",
            )
        return cls(alpha, table)

    @property
    def rows(self) -> int:
        """Number of forecasts."""
        return len(self.values)

    def pit_limits(self, y: Floats) -> tuple[Floats, Floats]:
        """Levels on both sides of the outcome: nothing is known of what lies between."""
        ends = np.concatenate([[0.0], self.levels, [1.0]])
        below = (self.values < y[:, np.newaxis]).sum(axis=1)
        upto = (self.values <= y[:, np.newaxis]).sum(axis=1)
        return ends[below], ends[np.maximum(upto, below + 1)]

    def exceedance(self, threshold: float) -> Floats:
        """Interpolate the levels; beyond the outer quantiles take the middle of what may be."""
        below = (self.values <= threshold).sum(axis=1)
        ends = np.concatenate([[0.0], self.levels, [1.0]])
        inside = (below > 0) & (below < self.levels.size)
        left = np.clip(below - 1, 0, None)
        right = np.minimum(left + 1, self.levels.size - 1)
        row = np.arange(self.rows)
        low, high = self.values[row, left], self.values[row, right]
        width = np.where(high > low, high - low, 1.0)
        fraction = np.where(inside, np.clip((threshold - low) / width, 0, 1), 0.5)
        chance = ends[below] + fraction * (ends[below + 1] - ends[below])
        return np.asarray(1 - chance)

    def crps(self, y: Floats, *, fair: bool) -> Floats:
        """Return twice the mean pinball loss over the levels: near the score if these are even."""
        if fair:
            raise InvalidOptionError("the fair score is that of ensembles", "quantiles")
        off = self.values - y[:, np.newaxis]
        losses = ((off >= 0) - self.levels) * off
        return np.asarray(2 * losses.mean(axis=1))


@dataclass(frozen=True, slots=True)
class DistributionFunction:
    """A function that takes one value for each row, and returns the chance of at most that."""

    cdf: Callable[[Floats], object]
    rows: int

    def at(self, values: Floats) -> Floats:
        """Evaluate it, and check what it returns."""
        found = as_floats(np.asarray(self.cdf(values)), "the chances of the cdf")
        if found.shape != values.shape:
            raise InvalidForecastsError(
                "the cdf must return one chance for each row",
                f"shape {found.shape} for {count_text(values.size, 'row')}",
                "it is called with an array of one value a row",
            )
        if not ((found >= -1e-9) & (found <= 1 + 1e-9)).all():
            bad = found[~((found >= -1e-9) & (found <= 1 + 1e-9))]
            raise InvalidForecastsError("the cdf must return chances", f"{bad[0]:g}")
        return np.clip(found, 0, 1)

    def pit_limits(self, y: Floats) -> tuple[Floats, Floats]:
        """Chances of less than the outcome and of at most that, equal without atoms."""
        high = self.at(y)
        return np.minimum(self.at(np.nextafter(y, -np.inf)), high), high

    def exceedance(self, threshold: float) -> Floats:
        """Return the chance of more than the threshold."""
        return np.asarray(1 - self.at(np.full(self.rows, threshold)))

    def crps(self, y: Floats, *, fair: bool) -> Floats:
        """Integrate the squared distance to the step at the outcome, on both sides of it."""
        if fair:
            raise InvalidOptionError("the fair score is that of ensembles", "a cdf")
        return self._crps_of_tail(y, -1.0) + self._crps_of_tail(y, 1.0)

    def _crps_of_tail(self, y: Floats, sign: float) -> Floats:
        def missing(values: Floats) -> Floats:
            """Distance to the step: the chance below on the left, that above on the right."""
            chance = self.at(values)
            return chance if sign < 0 else 1 - chance

        span = np.maximum(np.abs(y) * 1e-9, 1e-12)
        for _ in range(MOST_DOUBLINGS):
            far = missing(y + sign * span) > TAIL
            if not far.any():
                break
            span = np.where(far, 2 * span, span)
        else:
            raise InvalidForecastsError(
                "the cdf must rise from 0 to 1", f"still {float(missing(y + sign * span).max()):g}"
            )
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        found = np.full(y.size, np.inf)
        for refined in range(2, MOST_REFINEMENTS):
            # Panels grow with the distance, as the tails of a distribution fade.
            edges = np.append(0.0, np.geomspace(1e-4, 1.0, 2**refined))
            total = np.zeros(y.size)
            for start, stop in pairwise(edges):
                for node, weight in zip(nodes, weights, strict=True):
                    at = start + (stop - start) * (node + 1) / 2
                    total += weight / 2 * (stop - start) * missing(y + sign * at * span) ** 2
            total *= span
            change = float(np.abs(total - found).max())
            if change <= CHANGE * max(float(total.mean()), 1e-300):
                return total
            found = total
        warnings.warn(
            f"The CRPS of a cdf was integrated with an error of about {number_text(change)}: "
            "the function has steps or kinks.",
            CalibrantWarning,
            stacklevel=2,
        )
        return found


def _table(values: object, name: str) -> Floats:
    table = as_floats(read_table(values, name), name)
    if 0 in table.shape:
        raise InvalidForecastsError(
            f"{mention(name)} must have rows and columns", f"shape {table.shape}"
        )
    refuse_missing(table.ravel(), name)
    if not np.isfinite(table).all():
        bad = np.asarray((~np.isfinite(table)).any(axis=1))
        raise InvalidForecastsError(f"{mention(name)} must be finite", f"rows {first_rows(bad)}")
    return table
