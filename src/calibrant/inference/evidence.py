"""What the rows say about chance: outcomes redrawn, and residuals multiplied by random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import NUMBERS_IN_CACHE, Floats, in_parts, small_product
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import RawRows, Rows
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inference.cases import Cases, one_cluster, widening
from calibrant.inference.laws import (
    FEW_LEVELS,
    FORECAST_LAW,
    MANY_CLUSTERS,
    Clusters,
    NullLaw,
    law_of,
)
from calibrant.inference.settings import rarer_share
from calibrant.inputs import KindRequest, Source, rows_of_kind
from calibrant.joint import Joint
from calibrant.joint.sums import level_of
from calibrant.kinds import BINARY, UNIT, Kind, Scale
from calibrant.measures.measurement import read_source
from calibrant.measures.regions import Region, region_between, region_of

# Beyond this many levels statistic and draws use the same rounded predictions: time stays
# bounded for any number of rows.
RESOLUTION = 2**12
# Below this many clusters their number itself is a caution.
FEW_CLUSTERS = 30


@dataclass(frozen=True, slots=True)
class Evidence:
    """Forecasts with what is needed to say how much of an error may be chance."""

    full_joint: Joint
    """The Joint of the rows, exact unless the caller rounded it."""
    joint: Joint
    """The same with at most 4096 levels: statistic and draws use its predictions."""
    parts: Any
    """The rows of each level, as the null law stores them; None where they are not known."""
    clusters: Clusters | None
    rows: Rows | None = None
    """The rows, kept where a Joint does not hold all that is needed."""
    law: NullLaw = FORECAST_LAW
    """How residuals vary if the forecasts are right."""

    @classmethod
    def read(
        cls,
        y_true: object,
        y_proba: object = None,
        sample_weight: object = None,
        pos_label: object = None,
        clusters: object = None,
        kind: KindRequest | None = None,
    ) -> Evidence:
        """Take a Joint, or rows of some kind, perhaps in clusters."""
        if kind is not None:
            refuse_other_labels(
                y_true=y_true, y_pred=y_proba, sample_weight=sample_weight, clusters=clusters
            )
            if pos_label is not None:
                raise InvalidOptionError(
                    "@pos_label is for predicted probabilities", f"kind={kind.name!r}"
                )
            return cls.of_rows(rows_of_kind(y_true, y_proba, kind, sample_weight), clusters)
        refuse_other_labels(
            y_true=y_true, y_proba=y_proba, sample_weight=sample_weight, clusters=clusters
        )
        source = read_source(y_true, y_proba, sample_weight, pos_label)
        if isinstance(source, Joint):
            if clusters is not None:
                raise InvalidForecastsError(
                    "@clusters need rows",
                    "a Joint together with clusters",
                    "pass @y_true, @y_proba",
                )
            return cls.of_joint(source)
        return cls.of_rows(source, clusters)

    @classmethod
    def of_joint(cls, full_joint: Joint, law: NullLaw = FORECAST_LAW) -> Evidence:
        """Take a Joint."""
        law.refuse(full_joint)
        joint = full_joint.rounded(RESOLUTION) if len(full_joint) > RESOLUTION else full_joint
        return cls(full_joint, joint, law.of_levels(full_joint, joint), None, law=law)

    @classmethod
    def without_draws(cls, rows: Rows) -> Evidence:
        """Take rows whose noise is drawn elsewhere, so that they need not be rounded for it."""
        full_joint = Joint.from_rows(rows)
        FORECAST_LAW.refuse(full_joint)
        return cls(
            full_joint, full_joint, None, None, None if full_joint.equally_weighted else rows
        )

    @classmethod
    def of_rows(
        cls, rows: RawRows | Rows, clusters: object = None, joint: Joint | None = None
    ) -> Evidence:
        """Take rows that are arrays already, checked or not; checked ones may bring their Joint."""
        evidence = cls.of_group(rows, clusters, joint)
        if evidence.lone:
            raise one_cluster()
        return evidence

    @classmethod
    def of_group(
        cls, rows: RawRows | Rows, clusters: object = None, joint: Joint | None = None
    ) -> Evidence:
        """Take rows that are one group of many, and so perhaps a single cluster."""
        if isinstance(rows, Rows) and joint is None and not rows.kind.summed:
            joint = Joint.of(rows)
        full_joint, checked = (joint, rows.found_sound()) if joint else Joint.checked(rows)
        kind, scale = checked.kind, checked.scale
        evidence = cls.of_joint(full_joint, law_of(kind, bounded=scale.bounded))
        if evidence.parts is not None and clusters is None:
            return evidence
        labels = None if clusters is None else read_labels(clusters, "clusters", len(checked))
        if labels is not None and checked.weighing is not checked:
            labels = labels[checked.weights > 0]
        return evidence.with_rows(checked.weighing, labels)

    def with_rows(self, rows: Rows, labels: npt.NDArray[np.generic] | None) -> Evidence:
        """Keep the rows, and what those of each cluster add up to."""
        level = level_of(rows.position, self.joint)
        clusters = None if labels is None else self.law.by_cluster(rows, self.joint, level, labels)
        parts = self.law.of_rows(rows, self.joint, level)
        return replace(self, parts=parts, clusters=clusters, rows=rows)

    def drawn_on(self, joint: Joint, level: npt.NDArray[np.intp]) -> Evidence:
        """Draw the same rows, which must be known, on other levels, given that of each row."""
        assert self.rows is not None  # noqa: S101  # the caller has looked
        clusters = self.clusters and self.clusters.on_levels(self.rows, joint, level)
        parts = self.law.of_rows(self.rows, joint, level)
        return replace(self, joint=joint, parts=parts, clusters=clusters)

    def on_cells(self, cells: int) -> Evidence:
        """Draw the same rows on fewer levels; clusters stay on theirs."""
        if self.clusters is not None or len(self.joint) <= cells:
            return self
        return self.law.on_cells(self, cells)

    @classmethod
    def of_source(cls, source: Source) -> Evidence:
        """Take forecasts that were read before."""
        if source.rows is None:
            return cls.of_joint(source.joint)
        return cls.of_rows(source.rows, source.clusters, source.joint)

    @property
    def kind(self) -> Kind:
        """What the forecasts are forecasts of."""
        return BINARY if self.rows is None else self.rows.kind

    @property
    def scale(self) -> Scale:
        """Where forecasts lie between 0 and 1, and what residuals are measured in."""
        return UNIT if self.rows is None else self.rows.scale

    @property
    def extent(self) -> float:
        """What a tolerance in per cent is a share of: the rarer outcome, or the outcomes' range."""
        return (
            rarer_share(self.full_joint)
            if self.rows is None or self.kind.summed
            else (self.kind.extent(self.rows))
        )

    def forecast_and_observed(self) -> tuple[float, float]:
        """Return what was forecast on average, and what was observed."""
        if self.rows is None or self.kind.summed:
            return self.full_joint.mean_prediction, self.full_joint.base_rate
        return self.kind.forecast_and_observed(self.rows)

    def region(self, start: int, stop: int) -> Region:
        """Describe the levels start .. stop-1 of the Joint that is drawn on."""
        if self.rows is None or self.kind.summed:
            return region_between(self.joint, start, stop)
        low, high = self.joint.low[start], self.joint.high[stop - 1]
        return region_of(self.rows, float(low), float(high))

    def noise_of_rows(self) -> tuple[Floats, float]:
        """Variance of the sum of residuals at each level, and the most that a row may add."""
        return self.law.noise(self)

    @property
    def cells(self) -> int | None:
        """Cells that predictions were rounded to for the draws, or None."""
        return None if self.joint is self.full_joint else self.joint.resolution

    @property
    def approximate(self) -> bool:
        """Whether weights within a level differ and the rows are not known."""
        return self.parts is None

    @property
    def clustered(self) -> bool:
        """Whether rows depend on each other: clusters of one row each say that they do not."""
        return self.clusters is not None and len(self.clusters) < self.full_joint.row_count

    @property
    def lone(self) -> bool:
        """Whether all rows are one cluster: nothing is then known about chance."""
        return self.clusters is not None and len(self.clusters) < 2

    @property
    def bounded(self) -> bool:
        """Whether no error can be larger than 1 on the scale: those of means need a range."""
        return self.kind.chance is not None or self.scale.bounded

    def widening(self, level: float) -> float:
        """Factor by which noise drawn from few clusters, or few rows, is too narrow.

        Clusters drawn in blocks count as the blocks: more is not known of their spread.
        """
        if self.clusters is not None:
            return widening(self.clusters.drawn_share, level)
        return self.law.widening(self, level)

    @property
    def unit(self) -> float:
        """One over the effective number of independent rows.

        Kish's number for weights; with clusters divided by the design effect, the squared sums of
        residuals by cluster over the squared residuals, at most the size of a cluster.
        """
        unit = float(self.full_joint.weight_squares.sum()) / self.full_joint.total**2
        if self.clusters is None:
            return unit
        whole = float(self.clusters.share @ self.clusters.share)
        return min(unit * self.design_effect, whole)

    def cases(self) -> Cases:
        """Return the rows, added up where only their prediction and outcome matter."""
        if self.rows is not None:
            rows = self.rows
            weight = np.ones(rows.prediction.size) if rows.weight is None else rows.weight
            code = None if self.clusters is None else self.clusters.code
            outcome = np.asarray(rows.outcome, dtype=np.float64)
            return Cases(rows.prediction, outcome, weight, weight**2, code)
        joint = self.full_joint
        shares = 1 - joint.outcome, joint.outcome
        occurring = [np.flatnonzero(share > 0) for share in shares]

        def of_both(column: Floats) -> Floats:
            return np.concatenate([column[levels] for levels in occurring])

        def shared(column: Floats) -> Floats:
            parts = (
                column[levels] * of[levels] for levels, of in zip(occurring, shares, strict=True)
            )
            return np.concatenate(list(parts))

        weight = shared(joint.weight)
        square = weight if joint.weight_squares is joint.weight else shared(joint.weight_squares)
        outcome = np.repeat([0.0, 1.0], [levels.size for levels in occurring])
        return Cases(of_both(joint.prediction), outcome, weight, square, None)

    def exact(self, draws: int) -> bool:
        """Whether draws have exactly the distribution of right forecasts."""
        return self.clusters is None and self.law.exact(self, draws)

    def null_residual_masses(self, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Residual mass of right forecasts, `draws` rows in parts of bounded memory.

        Rows follow the null law. Clusters may depend inside in any way, so their residuals are
        kept and multiplied by random numbers, which is right for many clusters; where they vary
        less than the law demands, because few events happened, normal numbers make up for it.
        """
        if self.clusters is None:
            yield from self.law.draw(self, draws, rng)
            return
        missing = self.law.missing_spread(self)
        size = self.clusters.drawn
        for count in in_parts(draws, max(size, len(self.joint))):
            signs = self.law.multipliers(rng, (count, size))
            flipped = np.ascontiguousarray((self.clusters.residual_mass.T @ signs.T).T)
            if self.clusters.in_blocks:
                shift = rng.standard_normal((count, 1)) * np.sqrt(self.clusters.left_out)
                flipped += shift * self._residual_mass
            if missing is not None:
                flipped += np.sqrt(missing) * rng.standard_normal(flipped.shape)
            yield flipped

    def multiplied_residual_masses(
        self, draws: int, rng: np.random.Generator, confidence: float
    ) -> Iterator[Floats]:
        """Residual masses that vary as the sample's do around the truth.

        Each row's (or cluster's) part in the residual mass, less its mean, times a standard
        normal number. Levels are independent sums of rows, so one number per level does, and
        one more for the mean. Where few events were seen the sample hides its own spread; as in
        Wilson's interval z^2 more rows with residuals of plus or minus one are therefore mixed in.
        """
        from scipy.special import ndtri

        joint = self.joint
        residual_mass = self._residual_mass
        hidden = (ndtri((1 + confidence) / 2) * self.unit) ** 2 * joint.mass
        if self.clusters is None:
            squares, cross, total = self.law.spreads(self)
            squares = squares + hidden
            slope = np.divide(cross, squares, out=np.zeros_like(cross), where=squares > 0)
            rest = np.sqrt(max(0.0, total - float(cross @ slope)))
            deviation = np.sqrt(squares)
            for count in in_parts(draws, len(joint), NUMBERS_IN_CACHE):
                drawn = rng.standard_normal((count, len(joint)))
                drawn *= deviation
                mean = small_product(drawn, slope) + rest * rng.standard_normal(count)
                drawn -= mean[:, np.newaxis] * residual_mass
                yield drawn
            return
        size = self.clusters.drawn
        if size > MANY_CLUSTERS and len(joint) < FEW_LEVELS:
            for drawn, mean in self._summed_normals(self.clusters, draws, rng):
                noise = rng.standard_normal(drawn.shape) * np.sqrt(hidden)
                yield drawn - mean[:, np.newaxis] * residual_mass + noise
            return
        for count in in_parts(draws, max(size, len(joint))):
            drawn = rng.standard_normal((count, size)) * np.sqrt(size / (size - 1))
            together = (self.clusters.residual_mass.T @ drawn.T).T
            if not self.clusters.in_blocks:
                mean = drawn @ self.clusters.share
                together = together - mean[:, np.newaxis] * residual_mass
            yield together + rng.standard_normal((count, len(joint))) * np.sqrt(hidden)

    @property
    def _residual_mass(self) -> Floats:
        joint = self.joint
        return np.asarray((joint.positives - joint.weight * joint.prediction) / joint.total)

    @staticmethod
    def _summed_normals(
        clusters: Clusters, draws: int, rng: np.random.Generator
    ) -> Iterator[tuple[Floats, Floats]]:
        """Draw what normal numbers of many clusters add up to, by level and in the mean.

        The sums are normal as well: it takes a number for each of few levels, not for each cluster.
        """
        size = len(clusters)
        across = np.asarray(clusters.residual_mass.T @ clusters.share)
        within = np.asarray((clusters.residual_mass.T @ clusters.residual_mass).todense())
        total = float(clusters.share @ clusters.share)
        covariance = np.block([[within, across[:, np.newaxis]], [across, np.array([total])]])
        # A little more spread keeps the root defined, and steady under rounding: eigenvectors are
        # not, and another order of the rows would turn them.
        covariance[np.diag_indices_from(covariance)] *= 1 + 1e-9
        covariance[np.diag_indices_from(covariance)] += 1e-12 * np.trace(covariance)
        root = np.linalg.cholesky(covariance * (size / (size - 1)))
        for count in in_parts(draws, len(root)):
            drawn = rng.standard_normal((count, len(root))) @ root.T
            yield drawn[:, :-1], drawn[:, -1]

    def residual_variance(self, first: npt.NDArray[np.intp]) -> Floats:
        """Variance of the residual mass of runs of levels, given the first level of each run.

        Squared residuals of rows, or of the rows of a cluster that fall into a run together.
        """
        if self.clusters is None:
            return np.asarray(np.add.reduceat(self.law.spreads(self)[0], first))
        sums, count = self._sums_by_cluster(self.clusters, first), self.clusters.drawn
        mean = self.clusters.left_out * np.add.reduceat(self._residual_mass, first) ** 2
        return np.asarray((sums**2).sum(axis=0) * (count / (count - 1)) + mean)

    def covariance(self, first: npt.NDArray[np.intp], confidence: float) -> Floats:
        """Covariance of `multiplied_residual_masses`, added up over runs of levels."""
        from scipy.special import ndtri

        residual_mass = np.add.reduceat(self._residual_mass, first)
        mass = np.add.reduceat(self.joint.mass, first)
        hidden = np.diag((ndtri((1 + confidence) / 2) * self.unit) ** 2 * mass)
        if self.clusters is None:
            squares, cross, total = self.law.spreads(self)
            within = np.diag(np.add.reduceat(squares, first)) + hidden
            across, scale = np.add.reduceat(cross, first), 1.0
        else:
            sums, count = self._sums_by_cluster(self.clusters, first), self.clusters.drawn
            scale = count / (count - 1)
            within = scale * (sums.T @ sums) + hidden
            if self.clusters.in_blocks:
                return np.asarray(within)
            share = self.clusters.share
            across, total = sums.T @ share, float(share @ share)
        mixed = np.multiply.outer(across, residual_mass)
        mean = total * np.multiply.outer(residual_mass, residual_mass) - mixed - mixed.T
        return np.asarray(within + scale * mean)

    def _sums_by_cluster(self, clusters: Clusters, first: npt.NDArray[np.intp]) -> Floats:
        """Residual mass of each cluster or block, added up over runs of levels."""
        of_level = np.repeat(np.arange(first.size), np.diff(np.append(first, len(self.joint))))
        runs = of_level[:, np.newaxis] == np.arange(first.size)
        return np.asarray(clusters.residual_mass @ runs.astype(np.float64))

    @property
    def design_effect(self) -> float:
        """Factor by which clusters make sums of residuals vary more, at least 1."""
        if self.clusters is None:
            return 1.0
        sums = self.clusters.residual_mass.sum(axis=1)
        within = float(sums @ sums) + self.clusters.left_out * float(self._residual_mass.sum()) ** 2
        return max(1.0, within / max(float(self.law.spreads(self)[0].sum()), 1e-300))

    def spread_by_level(self) -> Floats:
        """Return the variance of each level's residual mass if forecasts are right."""
        return self.law.variance(self)
