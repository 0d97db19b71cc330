"""One verdict per group of rows, all of them holding at once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, in_parts
from calibrant._base.parallel import in_threads
from calibrant.data.groupings import MOST_LEVELS, PARTS, Codes, Grouping, Partition, partitions
from calibrant.data.input import read_labels
from calibrant.data.labels import Labels
from calibrant.errors import CalibrantWarning, InvalidForecastsError
from calibrant.inference import (
    DRAWS_FOR_A_FLOOR,
    AnyMeasure,
    Evidence,
    Evidences,
    Groups,
    Noise,
    Settings,
    Statistic,
    cells_for,
    confidence_of_each,
    judge_all,
    judge_evidences,
)
from calibrant.inputs import Roles, Source, read
from calibrant.joint import Joint, Rows
from calibrant.joint.draws import draw_positives
from calibrant.joint.sums import LevelSums, cell_index
from calibrant.measures.smooth import smooth_calibration_error

# Groups of one outcome each are no surprise if right forecasts had them with a chance above this.
BY_CHANCE = 0.01


@dataclass(frozen=True, slots=True)
class Division:
    """Rows, and the columns or pairs of columns that divide them."""

    rows: Rows
    parts: tuple[Partition, ...]
    clusters: npt.NDArray[np.generic] | None = None

    @classmethod
    def of(
        cls,
        rows: Rows,
        by: Mapping[str, object],
        clusters: object = None,
        *,
        pairs: bool = False,
        parts: int = PARTS,
        most_levels: int = MOST_LEVELS,
    ) -> Division:
        """Divide rows that came through the gate; rows without weight are left out."""
        labels = (
            None if clusters is None else read_labels(clusters, "clusters", rows.prediction.size)
        )
        found = partitions(
            by,
            rows.prediction.size,
            pairs=pairs,
            parts=parts,
            most_levels=most_levels,
            weight=rows.weight,
        )
        if rows.weight is not None and not rows.weight.all():
            kept = rows.weight > 0
            rows = rows.where(kept)
            labels = None if labels is None else labels[kept]
            found = [part.where(kept) for part in found]
        division = cls(rows, tuple(found), labels)
        if rows.kind.summed:
            division.warn_of_outcomes()
        return division

    def members(self, part: Partition) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        """Yield number and rows of each group that has any."""
        order = np.argsort(narrow(part.codes, part.size), kind="stable")
        counts = np.bincount(part.codes, minlength=part.size)
        stops = np.cumsum(counts)
        for code in np.flatnonzero(counts):
            yield int(code), order[stops[code] - counts[code] : stops[code]]

    def groups(self) -> Iterator[tuple[str, str, Rows]]:
        """Yield columns, name and rows of every group."""
        for part in self.parts:
            for code, rows in self.members(part):
                yield part.by, part.name(code), self.rows.where(rows)

    def evidences(self) -> Iterator[tuple[str, str, Evidence]]:
        """Yield columns, name and evidence of every group, with the clusters of its rows."""
        for part in self.parts:
            for code, rows in self.members(part):
                labels = None if self.clusters is None else self.clusters[rows]
                yield part.by, part.name(code), Evidence.of_group(self.rows.where(rows), labels)

    def warn_of_outcomes(self) -> None:
        """Warn of columns that tell the outcome: groups made after the fact say nothing."""
        y = self.rows.outcome
        for part in self.parts:
            counts = np.bincount(part.codes, minlength=part.size)
            ones = np.bincount(part.codes, y, part.size)
            there = counts > 0
            settled = bool(np.all((ones == 0) | (ones == counts)))
            if settled and 2 <= there.sum() <= y.size / 2 and 0 < ones.sum() < y.size:
                if self._chance_of_one_outcome(part) > BY_CHANCE:
                    continue
                warnings.warn(
                    f"the groups of {part.by} tell the outcome: every group has one outcome only, "
                    "and no forecast could be calibrated in it",
                    CalibrantWarning,
                    stacklevel=3,
                )

    def _chance_of_one_outcome(self, part: Partition) -> float:
        """Chance that every group has one outcome only, if the forecasts are right."""
        p = self.rows.prediction
        with np.errstate(divide="ignore"):
            ones = np.bincount(part.codes, np.log(p), part.size)
            zeros = np.bincount(part.codes, np.log1p(-p), part.size)
        return float(np.exp(np.logaddexp(ones, zeros).clip(max=0.0).sum()))


def groups_of(source: Source) -> Division | Evidences | None:
    """Rows divided into groups, or the evidence of each where only sums are known; None if none."""
    if source.groups:
        return {key: Evidence.of_joint(joint) for key, joint in source.groups.items()}
    if source.rows is None or not source.by:
        return None
    roles = source.roles
    return Division.of(
        source.rows,
        source.by,
        source.clusters,
        pairs=roles.pairs,
        parts=roles.cuts,
        most_levels=roles.most_levels,
    )


def narrow(codes: Codes, size: int) -> npt.NDArray[np.integer]:
    """Codes in as few bytes as they need: numpy sorts short integers by their digits."""
    return codes.astype(np.uint16) if size <= 2**16 else codes


def families(parts: Sequence[Partition], size: int, cells: int, most: int) -> list[list[Partition]]:
    """Divisions that share their draws: all of them, if their cross is small enough.

    Otherwise every pair of columns has draws of its own, which its columns share, and columns
    that are in no pair have theirs. For normal draws and convex, symmetric errors, independent
    draws are conservative (the Gaussian correlation inequality, Royen 2014).
    """
    if len(parts) == 1 or _patterns(parts, size, most // (cells * len(parts))):
        return [list(parts)]
    found = [[part] for part in parts if len(part.groupings) > 1]
    for part in parts:
        if len(part.groupings) == 1:
            mine = part.groupings[0]
            homes = [f for f in found if any(mine is other for other in f[0].groupings)]
            if homes:
                homes[0].append(part)
            else:
                found.append([part])
    return found


def _patterns(parts: Sequence[Partition], size: int, most: int) -> bool:
    """Whether there are at most so many combinations; the first rows often know better."""
    for rows in (min(size, 2**15), size):
        some = [Partition(part.groupings, part.codes[:rows]) for part in parts]
        if int(crossed(some, rows).max()) + 1 > most:
            return False
    return True


def crossed(parts: Sequence[Partition], size: int) -> Codes:
    """Find the combination of groups that each row is in, by number."""
    pattern, largest = np.zeros(size, dtype=np.int64), 1
    known: list[Grouping] = []
    for part in sorted(parts, key=lambda part: len(part.groupings)):
        if all(any(grouping is other for other in known) for grouping in part.groupings):
            continue
        known += part.groupings
        pattern = pattern * part.size + part.codes
        largest *= part.size
        if largest > 2**20:
            pattern, largest = renumbered(pattern, largest)
    return renumbered(pattern, largest)[0]


def renumbered(codes: Codes, largest: int) -> tuple[Codes, int]:
    """Give the codes that occur numbers without gaps."""
    if largest > max(2**22, 4 * codes.size):
        found, numbered = np.unique(codes, return_inverse=True)
        return numbered.astype(np.int64), found.size
    occurring = np.bincount(codes, minlength=largest) > 0
    return (np.cumsum(occurring) - 1)[codes], int(occurring.sum())


# Atoms times divisions whose draws can be shared.
MOST_SHARED = 2**19
DRAWS_IN_CACHE = 32


@dataclass(frozen=True, slots=True)
class Atoms:
    """Rows of one cell and of one combination of groups, added up."""

    sums: LevelSums
    """Mean prediction, weight and so on of each atom, in no order."""
    cell: Codes
    example: npt.NDArray[np.intp]
    """One row of each atom."""
    square: Floats
    """Sum of w^2 r^2, r the residual."""
    cross: Floats
    """Sum of w^2 r."""

    @property
    def spread(self) -> Floats:
        """Deviation of the noise drawn; tiny where there is none, to be inflated by level."""
        return np.sqrt(np.maximum(self.square, 1e-30 * self.sums.weight_squares))

    @classmethod
    def of(cls, rows: Rows, parts: Sequence[Partition], cells: int) -> Atoms:
        """Add up rows."""
        p, y = rows.prediction, np.asarray(rows.outcome, dtype=np.float64)
        pattern = crossed(parts, p.size)
        cell = cell_index(p, cells)
        atom, count = renumbered(pattern * cells + cell, (int(pattern.max()) + 1) * cells)
        example = np.zeros(count, dtype=np.intp)
        example[atom] = np.arange(p.size)

        def added(entries: Floats | None) -> Floats:
            return np.bincount(atom, entries, count).astype(np.float64)

        number = added(None)
        if rows.weight is None:
            weight, ones, squares, square_ones = number, added(y), number, added(y)
            mean = added(p) / number
        else:
            w = rows.weight
            weight, ones = added(w), added(w * y)
            squares, square_ones = added(w * w), added(w * w * y)
            mean = added(w * p) / weight
        mean = np.clip(mean, 0.0, 1.0)
        zeros = squares - square_ones
        sums = LevelSums(
            prediction=mean, weight=weight, positives=ones, rows=number, weight_squares=squares
        )
        square = square_ones * (1 - mean) ** 2 + zeros * mean**2
        return cls(sums, cell[example], example, square, square_ones * (1 - mean) - zeros * mean)


@dataclass(frozen=True, slots=True)
class Levels:
    """Cells of the groups of one division, each a sum of atoms."""

    order: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    """Where the atoms of each level begin in the order."""
    start: npt.NDArray[np.intp]
    """Where the levels of each group begin."""
    group: npt.NDArray[np.intp]
    """Number of the group of each level."""
    joints: list[Joint]
    """Joint of each group in cells."""
    total: Floats
    """Weight of the group of each level."""
    in_order: bool
    """Whether atoms are sorted by level already."""

    @classmethod
    def of(cls, atoms: Atoms, part: Partition, cells: int) -> Levels:
        """Add up atoms."""
        key = part.codes[atoms.example] * cells + atoms.cell
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        start = np.flatnonzero(np.diff(key[first] // cells, prepend=-1))
        stop = np.append(start[1:], first.size)
        group = np.repeat(np.arange(start.size), stop - start)
        sums = atoms.sums.weighted().each(lambda entry: np.add.reduceat(entry[order], first))
        levels = sums.at(np.clip(sums.moment / sums.weight, 0.0, 1.0))
        joints = [
            Joint(levels.where(slice(a, b)), resolution=cells)
            for a, b in zip(start, stop, strict=True)
        ]
        total = np.array([joint.total for joint in joints])[group]
        in_order = bool((order == np.arange(order.size)).all())
        return cls(order, first, start, group, joints, total, in_order)

    def added(self, entries: Floats) -> Floats:
        """Add up entries of the atoms by level, along the last axis, as shares of the group."""
        if not self.in_order:
            entries = np.take(entries, self.order, axis=-1)
        if self.first.size < self.order.size:
            entries = np.add.reduceat(entries, self.first, axis=-1)
        return np.asarray(entries / self.total)

    def by_group(self, entries: Floats) -> Floats:
        """Add up entries of the levels by group, along the last axis."""
        return np.asarray(np.add.reduceat(entries, self.start, axis=-1))

    def values(self, statistic: Statistic, residual_masses: Floats) -> Floats:
        """Errors of each group (one row each) for residual masses of all levels."""
        stop = np.append(self.start[1:], self.group.size)

        def of_group(group: tuple[Joint, np.intp, np.intp]) -> Floats:
            joint, first, last = group
            return statistic.values(joint, np.ascontiguousarray(residual_masses[:, first:last]))

        return np.stack(in_threads(of_group, zip(self.joints, self.start, stop, strict=True)))


@dataclass(frozen=True, slots=True)
class Multipliers:
    """Turns noise of atoms into noise of the residual mass of a division's levels.

    As in `Evidence.multiplied_residual_masses`: the noise of a group's total weight is taken out,
    and as in Wilson's interval z^2 rows with residuals of plus or minus one are mixed in, z that
    of a single group when all hold at once.
    """

    levels: Levels
    residual_mass: Floats
    inflation: Floats
    slope: Floats
    rest: Floats

    @classmethod
    def of(cls, atoms: Atoms, levels: Levels, confidence: float) -> Multipliers:
        """Find the moments of the levels."""
        from scipy.special import ndtri

        sums = atoms.sums
        residual_mass = levels.added(sums.positives - sums.weight * sums.prediction)
        mass = levels.added(sums.weight)
        unit = levels.by_group(levels.added(sums.weight_squares) / levels.total)
        square = levels.added(atoms.square) / levels.total
        cross = levels.added(atoms.cross) / levels.total
        hidden = (ndtri((1 + confidence) / 2) * unit[levels.group]) ** 2 * mass
        inflated = square + hidden
        drawn = levels.added(atoms.spread**2) / levels.total
        inflation = np.sqrt(inflated / drawn)
        slope = np.divide(cross, inflated, out=np.zeros_like(cross), where=inflated > 0)
        rest = np.sqrt(np.maximum(0.0, unit - levels.by_group(cross * slope)))
        return cls(levels, residual_mass, inflation, slope, rest)

    def level_noise(self, drawn: Floats, rng: np.random.Generator) -> Floats:
        """Noise of all levels, one row per draw, from noise of the atoms."""
        noise = self.levels.added(drawn)
        noise *= self.inflation
        mean = self.levels.by_group(noise * self.slope)
        mean += self.rest * rng.standard_normal(mean.shape)
        # Few draws at a time stay in the cache of the processor.
        for first in range(0, len(noise), DRAWS_IN_CACHE):
            some = slice(first, first + DRAWS_IN_CACHE)
            total = np.take(mean[some], self.levels.group, axis=1)
            total *= self.residual_mass
            noise[some] -= total
        return noise


def shared_noise(division: Division, statistic: Statistic, settings: Settings) -> Noise:
    """Draw noise once for each combination of groups and add it up in every group."""
    rows, parts = division.rows, division.parts
    groups = sum(np.count_nonzero(np.bincount(part.codes)) for part in parts)
    cells = cells_for(int(groups))
    single = confidence_of_each(settings.confidence, int(groups))
    found: dict[int, tuple[Floats, Floats]] = {}
    for family in families(parts, rows.prediction.size, cells, MOST_SHARED):
        atoms = Atoms.of(rows, family, cells)
        levels = [Levels.of(atoms, part, cells) for part in family]
        deviation = _deviations(atoms, levels, statistic, settings, single)
        floor = _floors(atoms, levels, statistic, settings)
        for part, *noise in zip(family, deviation, floor, strict=True):
            found[id(part)] = (noise[0], noise[1])
    in_order = [found[id(part)] for part in parts]
    return Noise(
        np.concatenate([deviation for deviation, _ in in_order]),
        np.concatenate([floor for _, floor in in_order]),
    )


def _deviations(
    atoms: Atoms, levels: list[Levels], statistic: Statistic, settings: Settings, single: float
) -> list[Floats]:
    rng = settings.rng
    multipliers = [Multipliers.of(atoms, part, single) for part in levels]
    spread = atoms.spread
    parts: list[list[Floats]] = [[] for _ in levels]
    for count in in_parts(settings.draws, spread.size):
        drawn = rng.standard_normal((count, spread.size))
        drawn *= spread
        for collected, multiplier in zip(parts, multipliers, strict=True):
            collected.append(
                multiplier.levels.values(statistic, multiplier.level_noise(drawn, rng))
            )
    return [np.concatenate(part, axis=1) for part in parts]


def _floors(
    atoms: Atoms, levels: list[Levels], statistic: Statistic, settings: Settings
) -> list[Floats]:
    sums, draws = atoms.sums, min(settings.draws, DRAWS_FOR_A_FLOOR)
    added = [np.zeros(part.start.size) for part in levels]
    for count in in_parts(draws, sums.weight.size):
        drawn = draw_positives(sums, settings.rng, count) - sums.weight * sums.prediction
        for i, part in enumerate(levels):
            added[i] += part.values(statistic, part.added(drawn)).sum(axis=1)
    return [part / draws for part in added]


def audit_groups(
    y_true: object,
    y_proba: object = None,
    by: object = None,
    *,
    prediction: str = "prediction",
    outcome: str = "outcome",
    pairs: bool = False,
    parts: int = PARTS,
    most_levels: int = MOST_LEVELS,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure = smooth_calibration_error,
    tolerance: float | str | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Groups:
    """Give every group of rows a verdict; all of them hold at once.

    Parameters
    ----------
    y_true : array-like of shape (n,), frame, or path or paths of files
        Outcomes, 0 or 1; or a frame (pandas, Polars, Arrow, DuckDB, Dask, Spark) or files with
        the columns of predictions, outcomes and groups. More than 2**20 rows are summed where
        they live, column by column, unless there are clusters: predictions are then rounded to
        cells.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a frame.
    by : mapping of str to array-like, series, frame, or list of str
        Columns whose values name the groups, or with a frame their names. Numbers of more than
        24 distinct values, and dates, are cut at quantiles; the names of the groups show where.
        Missing values are a group of their own.
    prediction, outcome : str
        Columns of a frame.
    pairs : bool, default=False
        Whether each pair of columns divides the rows as well.
    parts : int, default=5
        Number of parts that numbers are cut into.
    most_levels : int, default=250
        The rarer of more labels than this are gathered in one group (in pairs, of more than 24).
    sample_weight : array-like of shape (n,), or str, optional
        Weights of the rows, or with a frame their column.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    tolerance : float or str, optional
        Largest acceptable error, for every group, as for `verdict`: "5%" is relative to the rarer
        outcome of all rows. By default that of all rows together.
    confidence : float, default=0.95
        Chance that the intervals of all groups hold at once.
    clusters : array-like of shape (n,), or str, optional
        Labels of rows that depend on each other, or with a frame their column.
    draws : int, default=999
        Number of random multipliers. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Groups
        Every group, however small: those beyond the tolerance first, each in the order of the
        evidence against it.

    Notes
    -----
    The largest deviation of a group, as a multiple of its mean, is distributed nearly alike in
    every group; the quantile of its maximum over groups widens all intervals alike (a studentised
    maximum). Noise is drawn once for each combination of groups and added up, so that groups that
    overlap share it. Where there are too many combinations, each pair of columns has draws of its
    own, which is conservative; so do the groups where rows come in clusters or were summed.

    Examples
    --------
    >>> from calibrant.datasets import flights
    >>> columns = flights()
    >>> groups = audit_groups(
    ...     columns["outcome"], columns["prediction"], {"origin": columns["origin"]}, rng=0
    ... )
    >>> [(group.name, group.state) for group in groups]
    [('EWR', 'miscalibrated'), ('LGA', 'undecided'), ('JFK', 'calibrated')]
    """
    settings = Settings.read(confidence=confidence, draws=draws, tolerance=tolerance, rng=rng)
    statistic = Statistic.of(measure)
    roles = Roles(
        prediction,
        outcome,
        sample_weight,
        clusters,
        by,
        pairs=pairs,
        cuts=parts,
        most_levels=most_levels,
    )
    source = read(y_true, y_proba, roles, labels=Labels.of(pos_label))
    divided = groups_of(source)
    if divided is None:
        raise InvalidForecastsError("@by must name at least one column", "none")
    return judge_groups(divided, statistic, settings.settled(source.joint))


def judge_groups(groups: Division | Evidences, statistic: Statistic, settings: Settings) -> Groups:
    """Judge groups by intervals that hold at once; without rows each has draws of its own."""
    if not isinstance(groups, Division):
        return judge_evidences(groups, statistic, settings)
    if groups.clusters is not None or not groups.rows.kind.summed:
        found = {(by, name): evidence for by, name, evidence in groups.evidences()}
        return judge_evidences(found, statistic, settings)
    statistic.refuse_without_half_width()
    if groups.rows.weight is not None:
        named = list(groups.evidences())
    else:
        named = [(by, name, Evidence.without_draws(rows)) for by, name, rows in groups.groups()]
    return judge_all(named, shared_noise(groups, statistic, settings), statistic, settings)
