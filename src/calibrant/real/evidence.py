"""What rows of real outcomes say about chance, in the form that tests and intervals take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, Indices, in_parts
from calibrant.data.input import read_labels
from calibrant.inference import (
    MOST_COINS_DRAWN,
    RESOLUTION,
    Clusters,
    Evidence,
    one_cluster,
    widening,
)
from calibrant.joint import Joint
from calibrant.joint.sums import level_of
from calibrant.real.forecasts import RealForecasts
from calibrant.real.properties import Coverage, Quantile

# The larger of the two numbers that residuals are multiplied by under the null hypothesis.
GOLDEN = (1 + 5**0.5) / 2


@dataclass(frozen=True, slots=True)
class RealEvidence(Evidence):
    """Residuals of real outcomes, with what is needed to say how much of an error is chance."""

    level: Indices | None = None
    """Level of each row, in the order of the levels."""
    charge: Floats | None = None
    """Residual of each row times its weight, as a share of all weight."""
    share: Floats | None = None
    """Share of the weight that each row has."""
    chance: float | None = None
    """Chance of an outcome below a right quantile, or inside a right interval; None for others."""
    bounded: bool = True
    """Whether residuals are known to be at most 1: those of means need a range of outcomes."""

    @classmethod
    def of(cls, forecasts: RealForecasts, clusters: object = None) -> RealEvidence:
        """Take forecasts that were checked, perhaps in clusters."""
        evidence = cls.of_part(forecasts, clusters)
        if evidence.lone:
            raise one_cluster()
        return evidence

    @classmethod
    def of_part(cls, forecasts: RealForecasts, clusters: object = None) -> RealEvidence:
        """Take forecasts that are one group of many, and so perhaps a single cluster."""
        labels = None if clusters is None else read_labels(clusters, "clusters", len(forecasts))
        if forecasts.weight is not None and not forecasts.weight.all():
            kept = forecasts.weight > 0
            forecasts = forecasts.where(kept)
            labels = None if labels is None else labels[kept]
        given = forecasts.joint
        many = len(given) > RESOLUTION
        return cls._drawn(forecasts, given, given.rounded(RESOLUTION) if many else given, labels)

    @classmethod
    def _drawn(
        cls,
        forecasts: RealForecasts,
        given: Joint,
        joint: Joint,
        labels: npt.NDArray[np.generic] | None,
    ) -> RealEvidence:
        level = level_of(forecasts.position, joint)
        share = forecasts.weights / given.total
        charge = share * forecasts.charge
        clustered = None
        if labels is not None:
            clustered = Clusters.of_charges(charge, share, level, labels, len(joint))
        order = np.lexsort((charge, share, level))
        level, charge, share = level[order], charge[order], share[order]
        chance = None
        if isinstance(forecasts.kind, Quantile | Coverage):
            chance = forecasts.kind.level
        bounded = chance is not None or forecasts.scale.bounded
        return cls(given, joint, None, clustered, None, level, charge, share, chance, bounded)

    def on_cells(self, cells: int) -> RealEvidence:
        """Draw the same rows on fewer levels; clusters stay on theirs."""
        if self.clusters is not None or len(self.joint) <= cells:
            return self
        assert self.level is not None  # noqa: S101
        coarse = self.joint.rounded(cells)
        level = level_of(self.joint.prediction, coarse)[self.level]
        return replace(self, joint=coarse, level=level)

    def widening(self, level: float) -> float:
        """Factor by which noise drawn from few clusters, or few rows without bounds, is too narrow.

        Where nothing bounds residuals, few rows say little about their spread and a single one
        nothing: Student's quantile stands for the normal one, as it does for clusters.
        """
        if self.clusters is not None or self.bounded:
            return Evidence.widening(self, level)
        assert self.share is not None  # noqa: S101
        return widening(self.share, level)

    @property
    def approximate(self) -> bool:
        """The rows are known."""
        return False

    def exact(self, draws: int) -> bool:
        """Whether the null draws have exactly the distribution of perfect forecasts.

        Those of quantiles and intervals do, if outcomes are continuous.
        """
        return self.chance is not None and self.clusters is None and self._one_by_one(draws)

    def null_charges(self, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Charges of perfect forecasts, `draws` rows in parts of bounded memory.

        Outcomes below a right quantile are coins of its level. Other residuals are multiplied by
        random numbers, by row or by cluster; where rows are too many for that, normal numbers of
        the same spread stand for the sums of each level.
        """
        assert self.level is not None  # noqa: S101  # `of` has set them
        assert self.charge is not None  # noqa: S101
        assert self.share is not None  # noqa: S101
        if self.clusters is not None:
            for count in in_parts(draws, max(self.clusters.drawn, len(self.joint))):
                signs = _multipliers(rng, (count, self.clusters.drawn))
                yield np.ascontiguousarray((self.clusters.charges.T @ signs.T).T)
            return
        if not self._one_by_one(draws):
            deviation = np.sqrt(self._null_squares())
            for count in in_parts(draws, len(self.joint)):
                yield rng.standard_normal((count, len(self.joint))) * deviation
            return
        first = np.flatnonzero(np.diff(self.level, prepend=-1))
        for count in in_parts(draws, self.level.size):
            if self.chance is None:
                drawn = _multipliers(rng, (count, self.level.size)) * self.charge
            else:
                below = rng.random((count, self.level.size)) < self.chance
                drawn = self.share * (self.chance - below)
            yield np.asarray(np.add.reduceat(drawn, first, axis=1))

    def _one_by_one(self, draws: int) -> bool:
        assert self.level is not None  # noqa: S101
        return self.level.size * draws <= MOST_COINS_DRAWN

    def _null_squares(self) -> Floats:
        """Variance of the charges of perfect forecasts, by level."""
        assert self.level is not None  # noqa: S101
        assert self.share is not None  # noqa: S101
        if self.chance is None:
            return self._spreads()[0]
        squares = np.bincount(self.level, self.share**2, len(self.joint))
        return np.asarray(squares * self.chance * (1 - self.chance))

    def _spreads(self) -> tuple[Floats, Floats, float]:
        """Add up squared residuals and residuals, times w^2 / W^2, per level, and w^2 / W^2."""
        assert self.level is not None  # noqa: S101
        assert self.charge is not None  # noqa: S101
        assert self.share is not None  # noqa: S101
        count = len(self.joint)
        return (
            np.asarray(np.bincount(self.level, self.charge**2, count), np.float64),
            np.asarray(np.bincount(self.level, self.charge * self.share, count), np.float64),
            float(self.share @ self.share),
        )

    def spread_by_level(self) -> Floats:
        """Return the variance of each level's charge, as the rows show it, or the level does."""
        return self._null_squares()

    def _missing_spread(self) -> Floats:
        """Nothing is known of what residuals of perfect forecasts must vary by."""
        return np.zeros(len(self.joint))


def _multipliers(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw one of two numbers of mean 0, variance 1 and third moment 1 (Mammen 1993).

    The skewness of the residuals is that of their products. Random signs would be exact for
    symmetric residuals, and reject 11 % instead of 5 % where most outcomes are zero.
    """
    low = rng.random(shape) < (GOLDEN + 1) / (GOLDEN + 2)
    return np.where(low, 1 - GOLDEN, GOLDEN)
