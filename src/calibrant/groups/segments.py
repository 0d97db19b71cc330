"""Segments nobody named: a search on one half of the rows, an honest test on the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant._base.options import MOST_SEGMENTS, as_generator, check_share, whole
from calibrant._base.words import count_text, pvalue_text, visible
from calibrant.data import hold_out
from calibrant.data.groupings import PARTS, Partition, columns_of, grouped, partitions
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inference import LEAST_FREEDOM
from calibrant.joint import Joint, Rows
from calibrant.kinds import BINARY, Kind

LIMITS = DEPTH, WIDTH, SEGMENTS = 3, 8, 3
# Parts of the forecasts that a segment may be confined to.
PARTS_OF_FORECASTS = 5
# A segment must have so many rows in the half that looks for it.
FEWEST_ROWS = 50

Conditions = tuple[tuple[int, int], ...]
"""Column and level, by number, in the order of the columns."""


Named = tuple[tuple[str, str], ...]
"""Column and level, by name."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Rows that meet several conditions at once."""

    conditions: Named
    """Column and level of each condition."""
    rows: int
    """Rows of the half that tests it."""

    @property
    def label(self) -> str:
        """The conditions in words."""
        return visible(", ".join(f"{column} {level}" for column, level in self.conditions))


def no_columns() -> InvalidOptionError:
    """Return the refusal of a search without columns to combine."""
    return InvalidOptionError(
        "@find_segments looks at combinations of columns", "no columns", "name them with @by"
    )


def choose_segments(
    residual_mass: Floats,
    variance: Floats,
    parts: Sequence[Partition],
    content: Sequence[npt.NDArray[Any] | None],
    rng: np.random.Generator,
    limits: tuple[int, int, int] = LIMITS,
    cluster: Indices | None = None,
) -> list[tuple[Named, Flags]]:
    """Choose segments on one half of the rows; return each with its rows of the other half.

    `content` is what rows hold besides their levels, for a split that does not depend on their
    order; `limits` are how deep and how wide to search, and how many segments to return.
    """
    codes = [part.codes for part in parts]
    search = hold_out(0.5, rng, *content, *codes, cluster=cluster)
    beam = SegmentSearch(
        residual_mass[search],
        variance[search],
        [code[search] for code in codes],
        [part.size for part in parts],
    )
    return [
        (
            tuple((parts[column].by, parts[column].name(code)) for column, code in conditions),
            ~search & members_of(codes, conditions, residual_mass.size),
        )
        for conditions in beam.best(*limits)
    ]


@dataclass(frozen=True, slots=True)
class SegmentSearch:
    """Beam search for the conjunction with the largest bias in standard errors."""

    residual_mass: Floats
    """Residual of each row, times its weight."""
    variance: Floats
    """Variance of that if forecasts are right."""
    codes: Sequence[npt.NDArray[np.int64]]
    """Level of each row in each column, by number."""
    sizes: Sequence[int]
    """How many levels each column has."""

    def best(self, depth: int, width: int, count: int) -> list[Conditions]:
        """Return the strongest segments that do not overlap much."""
        beam: list[Conditions] = [()]
        scores: dict[Conditions, float] = {}
        for _ in range(depth):
            found = {
                conditions: score
                for parent in beam
                for conditions, score in self.refined(parent)
                if conditions not in scores
            }
            scores |= found
            beam = sorted(found, key=lambda conditions: -found[conditions])[:width]
        return self.apart(sorted(scores, key=lambda conditions: -scores[conditions]), count)

    def refined(self, parent: Conditions) -> Iterator[tuple[Conditions, float]]:
        """Score every segment with one more condition."""
        rows = np.flatnonzero(self.members(parent))
        residual_mass, variance = self.residual_mass[rows], self.variance[rows]
        used = {column for column, _ in parent}
        for column, codes in enumerate(self.codes):
            if column in used:
                continue
            code, size = codes[rows], self.sizes[column]
            bias = np.bincount(code, residual_mass, size)
            spread = np.sqrt(np.bincount(code, variance, size))
            enough = (np.bincount(code, minlength=size) >= FEWEST_ROWS) & (spread > 0)
            for found in np.flatnonzero(enough):
                score = float(abs(bias[found]) / spread[found])
                yield tuple(sorted((*parent, (column, int(found))))), score

    def members(self, conditions: Conditions) -> Flags:
        """Rows of a segment."""
        return members_of(self.codes, conditions, self.residual_mass.size)

    def apart(self, ordered: list[Conditions], count: int) -> list[Conditions]:
        """Skip segments that mostly repeat an earlier one."""
        chosen: list[Conditions] = []
        covered = np.zeros(self.residual_mass.size, dtype=bool)
        for conditions in ordered:
            members = self.members(conditions)
            if members[covered].sum() < members.sum() / 2:
                chosen.append(conditions)
                covered |= members
            if len(chosen) == count:
                break
        return chosen


def members_of(codes: Sequence[npt.NDArray[np.int64]], conditions: Conditions, size: int) -> Flags:
    """Rows that meet all conditions."""
    inside = np.ones(size, dtype=bool)
    for column, level in conditions:
        inside &= codes[column] == level
    return inside


# Sums of a smaller variance have their exact distribution, of predictions rounded to such cells.
MOST_EXACT, RESOLUTION = 100.0, 2**12
# Smaller chances are given as this: transforms round, and large sums are not normal so far out.
LEAST_CHANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Segment(Conjunction):
    """A conjunction of conditions, and what rows that did not choose it say about it."""

    forecast: float
    """Mean forecast; of quantiles and intervals the share of outcomes that was promised."""
    observed: float
    """Observed rate, mean, expectile or share."""
    bias: float
    """Observed minus forecast."""
    pvalue: float
    """Chance that perfect forecasts' rows of the segment are so far off, times the number of
    segments tested."""
    confirmed: bool
    """Whether the p-value is below the level."""
    kind: Kind = BINARY
    events: float | None = None
    """Rows with the event; None of kinds that have none."""

    @property
    def sentence(self) -> str:
        """Say what was forecast and what was observed, on rows that did not choose it."""
        both = self.kind.words.forecast_and_observed(self.forecast, self.observed)
        return f"{self.label}: {both} ({count_text(self.rows, 'row')}, {pvalue_text(self.pvalue)})"


def find_segments(
    y_true: object,
    y_proba: object,
    by: object,
    *,
    depth: int = DEPTH,
    width: int = WIDTH,
    count: int = SEGMENTS,
    parts: int = PARTS,
    level: float = 0.05,
    sample_weight: object = None,
    pos_label: object = None,
    clusters: object = None,
    rng: np.random.Generator | int | None = 0,
) -> tuple[Segment, ...]:
    r"""Find the groups where forecasts are most clearly off, without being told where to look.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    by : mapping of str to array-like, or frame
        Columns whose levels may be combined; numbers are cut at quantiles. The prediction itself,
        in five parts, is one of them.
    depth : int, default=3
        Largest number of conditions.
    width : int, default=8
        Segments that are kept for refinement at each depth.
    count : int, default=3
        Segments that are tested. They do not overlap much: less than half of the rows of a later
        one belong to an earlier one.
    parts : int, default=5
        Number of parts that numbers are cut into.
    level : float, default=0.05
        Chance of confirming any segment of perfect forecasts.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other. They stay whole: each searches or
        judges.
    rng : numpy.random.Generator or int, default=0
        Source of the random halves.

    Returns
    -------
    tuple of Segment
        The strongest evidence first. All numbers are those of the half that did not choose the
        segment, so that nothing was picked because it looked bad.

    Notes
    -----
    A beam search over conjunctions for the largest bias in standard errors of perfect
    forecasts, :math:`|\sum w (y - p)| / \sqrt{\sum w^2 p (1 - p)}`. On the other half the sum is
    compared with what outcomes drawn from the predictions would give: exactly where few events
    are expected and rows have no weights, otherwise normal with a correction for skewness. With
    clusters it is compared with Student's t, by the variance of the clusters' sums or by that of
    such outcomes if it is larger; a segment that is one cluster has a p-value of 1. The p-value is
    two-sided and multiplied by the number of segments tested. Known flaw: half of the rows search
    and half judge, so that a segment must be twice as large as for `audit_groups`, which is told
    where to look.

    Examples
    --------
    >>> from calibrant.datasets import flights
    >>> columns = flights()
    >>> by = {name: columns[name] for name in ("origin", "carrier", "month")}
    >>> segments = find_segments(columns["outcome"], columns["prediction"], by)
    >>> segments[0].confirmed
    True
    """
    check_share("level", level)
    for name, size in (("depth", depth), ("width", width), ("count", count)):
        whole(name, size, 1, MOST_SEGMENTS)
    refuse_other_labels(
        y_true=y_true, y_proba=y_proba, by=by, sample_weight=sample_weight, clusters=clusters
    )
    rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
    size = rows.prediction.size
    if not np.isin(rows.outcome, (0, 1)).all():
        raise InvalidForecastsError("a search needs outcomes 0 and 1", "mean outcomes")
    parted = partitions(columns_of(by), size, parts=parts, weight=rows.weight)
    labels = None if clusters is None else read_labels(clusters, "clusters", size)
    limits = depth, width, count
    return search_segments(rows, parted, level, as_generator(rng), labels, limits)


def search_segments(
    rows: Rows,
    parts: Sequence[Partition],
    level: float,
    rng: np.random.Generator,
    clusters: npt.NDArray[Any] | None = None,
    limits: tuple[int, int, int] = LIMITS,
) -> tuple[Segment, ...]:
    """Search rows that were divided before."""
    cluster = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    singles = [part for part in parts if len(part.groupings) == 1]
    forecast = grouped(rows.coordinate, "prediction", len(rows), parts=PARTS_OF_FORECASTS)
    residual_mass = rows.weights * rows.residual
    variance = np.square(residual_mass)
    if rows.kind.summed:
        variance = rows.weights**2 * rows.prediction * (1 - rows.prediction)
    chosen = choose_segments(
        residual_mass,
        variance,
        [*singles, forecast],
        (rows.prediction, rows.outcome, rows.upper, rows.weight),
        rng,
        limits,
        cluster,
    )
    tested = [
        _tested(
            conditions,
            rows.where(inside),
            None if cluster is None else cluster[inside],
            len(chosen),
            level,
        )
        for conditions, inside in chosen
    ]
    return tuple(sorted(tested, key=lambda segment: segment.pvalue))


def _tested(
    conditions: Named, mine: Rows, cluster: Indices | None, tests: int, level: float
) -> Segment:
    forecast, observed, pvalue = 0.0, 0.0, 1.0
    if mine.weights.any():
        forecast, observed = mine.kind.forecast_and_observed(mine)
        pvalue = min(1.0, tests * _chance_of_sum(mine, cluster))
    bias = observed - forecast
    events = float(mine.outcome.sum()) if mine.kind.summed else None
    return Segment(
        conditions, len(mine), forecast, observed, bias, pvalue, pvalue <= level, mine.kind, events
    )


def _chance_of_sum(mine: Rows, cluster: Indices | None) -> float:
    """Two-sided chance of so large a sum of residuals, under the null law of the kind."""
    if mine.kind.summed:
        outcome = np.asarray(mine.outcome, dtype=np.float64)
        return _chance(mine.weights, mine.prediction, outcome, cluster)
    # Rows that are clusters of one have Student's t as well.
    return _chance_of_residuals(mine, np.arange(len(mine)) if cluster is None else cluster)


def _chance_of_residuals(part: Rows, cluster: Indices) -> float:
    """Two-sided chance of so large a sum of residuals, by Student's t corrected for skewness.

    The correction is Hall's (1992), which is monotone; without it, segments of strongly skewed
    outcomes were confirmed in 12 % of samples of perfect forecasts instead of 5 %.
    """
    from scipy.special import stdtr

    code = np.unique(cluster, return_inverse=True)[1]
    sums = np.bincount(code, part.weights * part.residual)
    sizes = np.bincount(code, part.weights)
    count, freedom = sums.size, float(sizes.sum() ** 2 / (sizes @ sizes)) - 1
    centred = sums - sums.mean()
    squares = float(centred @ centred)
    if freedom < LEAST_FREEDOM or squares <= 0:
        return 1.0
    score = float(sums.sum() / np.sqrt(squares * count / (count - 1)))
    skew = float((centred**3).sum() / squares**1.5)
    corrected = score + skew * score**2 / 3 + skew**2 * score**3 / 27 + skew / 6
    return min(1.0, 2 * float(stdtr(freedom, -abs(corrected))))


def _chance(w: Floats, p: Floats, y: Floats, cluster: Indices | None = None) -> float:
    """Two-sided chance of so large a sum of residuals when outcomes follow the forecasts."""
    w = w / w.max()  # equal weights are ones
    variance = float(w**2 @ (p * (1 - p)))
    value = float(w @ (y - p))
    if cluster is not None:
        return _chance_of_clusters(w, value, variance, w * (y - p), cluster)
    if variance == 0:
        return 1.0 if abs(value) < 1e-12 * w.sum() else 0.0
    if variance < MOST_EXACT and np.all(w == 1):
        at_most, at_least = _tails(p, round(float(y.sum())))
    else:
        z = value / variance**0.5
        skew = float(w**3 @ (p * (1 - p) * (1 - 2 * p))) / variance**1.5
        at_most, at_least = _below(z, skew), _below(-z, -skew)
    return min(1.0, 2 * max(min(at_most, at_least), LEAST_CHANCE))


def _chance_of_clusters(
    w: Floats, value: float, binomial_variance: float, residual_mass: Floats, cluster: Indices
) -> float:
    """Two-sided chance by Student's t, with one degree less than equal clusters would be."""
    from scipy.special import stdtr

    code = np.unique(cluster, return_inverse=True)[1]
    sums, sizes = np.bincount(code, residual_mass), np.bincount(code, w)
    freedom = float(sizes.sum() ** 2 / (sizes @ sizes)) - 1
    spread = np.sqrt(max(float(sums @ sums), binomial_variance))
    if freedom < LEAST_FREEDOM or spread == 0:
        return 1.0
    return min(1.0, 2 * max(float(stdtr(freedom, -abs(value) / spread)), LEAST_CHANCE))


def _tails(prediction: Floats, ones: int) -> tuple[float, float]:
    """Chance of at most and of at least so many ones, from the characteristic function.

    More than 4096 distinct predictions are rounded to cells. Sums far beyond the mean wrap around,
    with a chance below the rounding error.
    """
    level, rows = np.unique(prediction, return_counts=True)
    joint = Joint.from_counts(level, rows, np.zeros(level.size))
    joint = joint.rounded(RESOLUTION) if len(joint) > RESOLUTION else joint
    mean = float(prediction.sum())
    size = 1 << int(max(mean + 15 * np.sqrt(mean + 1) + 30, ones + 1)).bit_length()
    turn = np.exp(-2j * np.pi * np.arange(size) / size)
    each = 1 + joint.prediction[:, np.newaxis] * (turn - 1)
    chance = np.fft.ifft(np.prod(each ** joint.rows[:, np.newaxis], axis=0)).real
    return float(chance[: ones + 1].sum()), float(chance[ones:].sum())


def _below(z: float, skew: float) -> float:
    """Distribution of a large sum: normal, corrected for skewness as Cornish and Fisher do.

    Edgeworth's correction of the chance itself would be negative in the tails. This one stops
    where it would turn back, beyond 15 standard errors here.
    """
    from scipy.special import ndtr

    at = 3 / skew if z * skew > 3 else z
    return float(ndtr(at - skew / 6 * (at**2 - 1)))
