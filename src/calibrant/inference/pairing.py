"""Noise that two forecasters of the same rows share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats, in_parts
from calibrant.inference.cases import Cases, cluster_codes, widening
from calibrant.inference.evidence import RESOLUTION
from calibrant.inference.interval import upper_quantile
from calibrant.inference.statistic import Statistic, charges_of
from calibrant.joint import Joint, Rows
from calibrant.joint.sums import cell_index

# With more rows than this predictions are rounded for the multipliers (not for the values), so
# that rows which agree in both predictions and in the outcome are drawn as one.
MANY_ROWS, FEW_CELLS = 2**16, 2**8
# Multiples of the noise that errors are moved by, to see which tests may be the best.
STEPS = (4.0, 16.0, 64.0)


@dataclass(frozen=True, slots=True)
class Side:
    """Charges of one forecaster, all together and by unit of drawing and level."""

    joint: Joint
    charge: Floats
    """Of each level."""
    by_unit: Any
    """Sparse matrix, one row per unit and one column per level."""
    hidden: Any
    """Sparse matrix of the spread that few events hide, one row per kind of rows."""

    def noise(self, drawn: Floats, extra: Floats, mean: Floats) -> Floats:
        """Random deviations of the charges, one row each."""
        found = (self.by_unit.T @ drawn.T + self.hidden.T @ extra.T).T
        return np.asarray(found - mean * self.charge)


def find_reaches(
    pair: list[Rows],
    labels: npt.NDArray[Any] | None,
    statistic: Statistic,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """How far the difference of the errors, and the error of the difference, may be off.

    Random deviations are shared by both forecasters: one number per row or cluster.
    """
    from scipy.special import ndtri

    rows = pair[0]
    size = rows.prediction.size
    cells = RESOLUTION if size <= MANY_ROWS else FEW_CELLS
    joints = [Joint.from_rows(rows, cells) for rows in pair]
    levels = [
        np.searchsorted(cell_index(joint.prediction, cells), cell_index(rows.prediction, cells))
        for rows, joint in zip(pair, joints, strict=True)
    ]
    weight = np.ones(size) if rows.weight is None else rows.weight
    share = weight / weight.sum()
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    alike = _alike(levels, outcome, rows.weight)
    cluster = None if labels is None else cluster_codes(labels)
    unit = alike if cluster is None else cluster
    scale = _shrunk(alike) if cluster is None else np.ones(size)
    wilson = float(ndtri((1 + confidence) / 2)) * _unit(pair, weight, outcome, cluster)
    spread = wilson * np.sqrt(share) * _shrunk(alike)
    sides = [
        Side(
            joint,
            charges_of(joint),
            _by(unit, level, share * (outcome - joint.prediction[level]) * scale, joint),
            _by(alike, level, spread, joint),
        )
        for joint, level in zip(joints, levels, strict=True)
    ]
    shares = np.asarray(np.bincount(unit, share * scale), dtype=np.float64)
    few = 1.0
    if cluster is not None:
        few = _for_few(shares, confidence)
    return _drawn_reaches(sides, statistic, shares, few, cells, confidence, draws, rng)


def find_reaches_of_units(
    pair: list[Rows],
    units: list[npt.NDArray[np.intp]],
    statistic: Statistic,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Find the same of forecasters with outcomes of their own, in units that both have.

    Rows of one unit (a question) may be several, of either forecaster; every unit must have the
    same weight for both. Random deviations are shared by unit; what few events hide is not.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    cells = RESOLUTION if max(rows.prediction.size for rows in pair) <= MANY_ROWS else FEW_CELLS
    count = int(units[0].max()) + 1
    parts = [_of_side(rows, unit, cells, z) for rows, unit in zip(pair, units, strict=True)]
    kinds = [hidden.shape[0] for *_, hidden in parts]
    sides = [
        Side(joint, charges_of(joint), by_unit, _padded(hidden, sum(kinds[:place]), sum(kinds)))
        for place, (joint, by_unit, hidden) in enumerate(parts)
    ]
    shares = np.full(count, 1 / count)
    few = _for_few(shares, confidence)
    return _drawn_reaches(sides, statistic, shares, few, cells, confidence, draws, rng)


def _of_side(
    rows: Rows, unit: npt.NDArray[np.intp], cells: int, z: float
) -> tuple[Joint, Any, Any]:
    """Levels of one forecaster, its charges by unit, and what few events hide by kind of rows."""
    joint = Joint.from_rows(rows, cells)
    level = np.searchsorted(cell_index(joint.prediction, cells), cell_index(rows.prediction, cells))
    weight = np.ones(unit.size) if rows.weight is None else rows.weight
    share = weight / weight.sum()
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    alike = _alike([level], outcome, rows.weight)
    spread = z * _unit([rows], weight, outcome, unit) * np.sqrt(share) * _shrunk(alike)
    charge = share * (outcome - joint.prediction[level])
    return joint, _by(unit, level, charge, joint), _by(alike, level, spread, joint)


def _padded(hidden: Any, before: int, size: int) -> Any:
    """Put the kinds of one forecaster behind those of another: their noise is not shared."""
    from scipy.sparse import csr_array, vstack

    levels = hidden.shape[1]
    after = size - before - hidden.shape[0]
    return vstack([csr_array((before, levels)), hidden, csr_array((after, levels))]).tocsr()


def _for_few(shares: Floats, confidence: float) -> float:
    """Factor for noise of few clusters."""
    return float(np.sqrt(shares.size / (shares.size - 1)) * widening(shares, 1 - confidence))


def _drawn_reaches(
    sides: list[Side],
    statistic: Statistic,
    shares: Floats,
    few: float,
    cells: int,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw deviations, one number per unit and one per kind of rows, for both sides at once."""
    apart, both = [], Both.of(*(side.joint for side in sides))
    errors = Errors(sides, statistic)
    kinds = sides[0].hidden.shape[0]
    for count in in_parts(draws, max(shares.size, kinds, cells)):
        drawn = rng.standard_normal((count, shares.size)) * few
        extra = rng.standard_normal((count, kinds))
        mean = (drawn @ shares)[:, np.newaxis]
        noise = [side.noise(drawn, extra, mean) for side in sides]
        errors.add(noise)
        apart.append(statistic.values(both.joint, both.difference(*noise)))
    return errors.reach(confidence), upper_quantile(np.concatenate(apart), confidence)


class Errors:
    """How far both errors lie from the population's, one up and the other down, by draws.

    An error is the largest value of many tests. It exceeds the population's by at most the
    deviation of the test that it found, and falls short by at most that of the test that the
    population would find, so that only tests that may be the best need to be looked at: those
    whose value is within twice the largest deviation (the room) of the best one. Among them the
    largest deviation is at most (largest of values plus h times deviations, less the best value,
    plus the room) / h, for every h. As h grows, that is the largest deviation of any test; with
    the room left out, the numerical derivative of Hong and Li (2018).
    """

    def __init__(self, sides: list[Side], statistic: Statistic) -> None:
        self.sides, self.statistic = sides, statistic
        self.best = [self._values(side, side.charge[np.newaxis, :])[0] for side in sides]
        self.largest: list[list[Floats]] = [[], []]
        self.moved: list[list[Floats]] = [[] for _ in STEPS]

    def _values(self, side: Side, charges: Floats) -> Floats:
        return self.statistic.values(side.joint, charges)

    def add(self, noise: list[Floats]) -> None:
        """Take deviations of both sides, one row per draw."""
        signed = list(zip(self.sides, noise, (-1, 1), strict=True))
        for kept, (side, deviation, _) in zip(self.largest, signed, strict=True):
            kept.append(self._values(side, deviation))
        for kept, step in zip(self.moved, STEPS, strict=True):
            total = sum(
                self._values(side, side.charge + sign * step * deviation)
                for side, deviation, sign in signed
            )
            kept.append((total - sum(self.best)) / step)

    def reach(self, confidence: float) -> float:
        """Quantile over the draws of these bounds.

        Those of any test hold in both directions at once, the others in one: each may miss with
        half of the chance.
        """
        first, second = (np.concatenate(values) for values in self.largest)
        of_any = smallest = first + second
        once = (1 + confidence) / 2
        room = 2 * (upper_quantile(first, once) + upper_quantile(second, once))
        for values, step in zip(self.moved, STEPS, strict=True):
            smallest = np.minimum(smallest, np.concatenate(values) + room / step)
        return min(upper_quantile(of_any, confidence), upper_quantile(smallest, once))


@dataclass(frozen=True, slots=True)
class Both:
    """Levels of both forecasters together, for charges of the second less those of the first."""

    joint: Joint
    places: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

    @classmethod
    def of(cls, first: Joint, second: Joint) -> Both:
        """Unite levels."""
        levels = np.union1d(first.prediction, second.prediction)
        joint = Joint.from_counts(levels, np.ones(levels.size), np.zeros(levels.size))
        return cls(
            joint,
            (
                np.searchsorted(levels, first.prediction),
                np.searchsorted(levels, second.prediction),
            ),
        )

    def difference(self, first: Floats, second: Floats) -> Floats:
        """Charges of the second less those of the first, one row each."""
        found = np.zeros((len(first), len(self.joint)))
        found[:, self.places[1]] += second
        found[:, self.places[0]] -= first
        return found


def _unit(
    pair: list[Rows], weight: Floats, outcome: Floats, cluster: npt.NDArray[np.intp] | None
) -> float:
    """One over the effective number of independent rows."""
    single = float(weight @ weight / weight.sum() ** 2)
    cases = Cases(pair[0].prediction, outcome, weight, weight**2, cluster)
    return single * max(cases.design_effect(outcome - rows.prediction) for rows in pair)


def _alike(
    levels: list[npt.NDArray[np.intp]], outcome: Floats, weight: Floats | None
) -> npt.NDArray[np.intp]:
    """Give each kind of rows a number: both levels, the outcome and the weight are the same."""
    columns = [*levels, outcome] + ([] if weight is None else [weight])
    order = np.lexsort(columns)
    new = np.zeros(order.size, dtype=bool)
    new[0] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    kind = np.empty(order.size, dtype=np.intp)
    kind[order] = np.cumsum(new) - 1
    return kind


def _shrunk(kind: npt.NDArray[np.intp]) -> Floats:
    """Factor for each row of those that share one random number.

    c normal numbers have the spread of one, times the root of c, so each of the c rows counts
    with one over that root.
    """
    return 1 / np.sqrt(np.bincount(kind))[kind]


def _by(
    unit: npt.NDArray[np.intp], level: npt.NDArray[np.intp], charge: Floats, joint: Joint
) -> Any:
    from scipy.sparse import coo_array

    return coo_array((charge, (unit, level)), shape=(int(unit.max()) + 1, len(joint))).tocsr()
