"""All distances to calibration at once, and the inequalities between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from calibrant._base.notebook import brief
from calibrant._base.options import check_tolerance
from calibrant.errors import CalibrantError, mention
from calibrant.measures import interval_error, lower_distance, upper_distance
from calibrant.measures.measurement import Measurement, as_joint
from calibrant.measures.partitions import PointMasses, best_found, best_of_neighbours
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.measures.true_distance import distance_to_calibration

INTERVAL_TOLERANCE = 1e-4
# Rounding errors of sums do not break an inequality.
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class DistanceBracket:
    """Where the distance to calibration lies, and every bound that was used."""

    smooth: Measurement
    """Smooth calibration error; half of it is below the lower distance, twice of it above."""
    lower: Measurement
    """Lower distance: no forecaster with this Joint is nearer to a calibrated one."""
    true: Measurement | None
    """Distance for the given individuals; None if they are not known."""
    upper: Measurement
    """Upper distance: no forecaster with this Joint is further from a calibrated one."""
    contiguous: float
    """The same if only neighbouring predictions may be pooled."""
    interval: Measurement
    """Interval calibration error."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def low(self) -> float:
        """Proven lower bound for the distance of any forecaster with this Joint and individuals."""
        return (self.lower if self.true is None else self.true).bounds[0]

    @property
    def high(self) -> float:
        """Proven upper bound for it."""
        return (self.upper if self.true is None else self.true).bounds[1]

    @property
    def chain(self) -> dict[str, float]:
        """All values by name, from those that are never larger to those that are never smaller."""
        true = {} if self.true is None else {"true distance": float(self.true)}
        return {
            "half the smooth error": self.smooth / 2,
            "lower distance": float(self.lower),
            **true,
            "upper distance": float(self.upper),
            "pooling neighbours only": self.contiguous,
            "interval error": float(self.interval),
            "4 sqrt(lower distance)": 4 * self.lower.bounds[1] ** 0.5,
        }

    def inequalities(self) -> Iterator[tuple[str, float, float]]:
        """Yield what must hold: a name, and two numbers, the first at most the second."""
        low, high = self.lower.bounds
        root = 4 * high**0.5
        smooth_low, smooth_high = self.smooth.bounds
        yield "smooth error / 2 <= lower distance", smooth_low / 2, high
        yield "lower distance <= 2 smooth error", low, 2 * smooth_high
        if self.true is not None:
            yield "lower distance <= true distance", low, self.true.bounds[1]
            yield "true distance <= upper distance", self.true.bounds[0], self.upper
        yield "lower distance <= upper distance", low, self.upper
        yield "upper distance <= pooling neighbours", self.upper, self.contiguous
        yield "pooling neighbours <= interval error", self.contiguous, self.interval
        yield "upper distance <= 4 sqrt(lower distance)", self.upper.bounds[0], root
        yield "interval error <= 4 sqrt(lower distance)", self.interval.bounds[0], root

    def __str__(self) -> str:
        width = max(map(len, self.chain))
        lines = [f"{name:<{width}}  {value:.6f}" for name, value in self.chain.items()]
        between = f"distance to calibration between {self.low:.6f} and {self.high:.6f}"
        return "\n".join([between, *lines])


def distance_bracket(
    y_true: object,
    y_proba: object = None,
    *,
    individuals: object = None,
    sample_weight: object = None,
    pos_label: object = None,
    tolerance: float = 1e-3,
) -> DistanceBracket:
    """Compute all distances to calibration at once.

    How far a forecaster is from a calibrated one cannot be told from predictions and outcomes
    alone: the lower and the upper distance are what it can be at least and at most, and they can
    differ as a number and its root.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    individuals : array-like of shape (n,), optional
        Who each row is about, for the true distance; see `distance_to_calibration`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    tolerance : float, default=1e-3
        How closely the lower distance is computed.

    Returns
    -------
    DistanceBracket
        `.low` and `.high` for the distance, `.chain` for all values by name.

    Notes
    -----
    Every inequality of the chain is checked; one that does not hold would be a defect of this
    library and is raised as an error. A bracket is what one can ask for: to find the distance of
    given individuals exactly is NP-hard, though it can be approximated (arXiv:2603.18391).

    References
    ----------
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, section 6. On the
    complexity of the distance to calibration: arXiv:2603.18391 (2026).

    Examples
    --------
    >>> print(distance_bracket([0, 1, 0, 1], [0.375, 0.375, 0.625, 0.625]))
    distance to calibration between 0.025000 and 0.125000
    half the smooth error    0.007812
    lower distance           0.025000
    upper distance           0.125000
    pooling neighbours only  0.125000
    interval error           0.125000
    4 sqrt(lower distance)   0.632456
    """
    check_tolerance(tolerance)
    true = None
    if individuals is not None:
        true = distance_to_calibration(
            y_true,
            y_proba,
            individuals=individuals,
            sample_weight=sample_weight,
            pos_label=pos_label,
            tolerance=tolerance,
        )
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    found = lower_distance.lower_bracket(joint, tolerance)
    partition = interval_error.best_partition(joint, INTERVAL_TOLERANCE)
    atoms = PointMasses.levels(joint)
    pooled = [best_of_neighbours(atoms), partition.run_of(len(joint))]
    group = min([best_found(atoms), *pooled], key=atoms.cost)
    upper = atoms.cost(group)
    low = upper if upper_distance.is_exact(joint) else min(found.low, upper)
    measured = DistanceBracket(
        smooth_calibration_error(joint),
        lower_distance.measured(joint, found, tolerance),
        true,
        upper_distance.measured(joint, group, (low, upper)),
        min(map(atoms.cost, pooled)),
        interval_error.measured(joint, partition),
    )
    for name, left, right in measured.inequalities():
        if not left <= right + SLACK:
            raise CalibrantError(f"{mention(name)} must hold", f"{left} and {right}")
    return measured
