"""Could a perfect forecaster have scored this? Outcomes redrawn from the predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.catalogue import CATALOGUE, find_measure
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.draws import exact_levels, null_parts, refuse_mean_outcomes
from calibrant.joint.gate import Floats
from calibrant.measurement import as_joint
from calibrant.measures.smooth import smooth_calibration_error

# Beyond this many levels statistic and draws use the same rounded predictions: time stays
# bounded for any number of rows.
TEST_RESOLUTION = 2**12
# Noise floors on exact levels draw at most about this many numbers.
MOST_NUMBERS = 2**23
AnyMeasure = Callable[[Joint], float]


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """A statistic beside what a perfectly calibrated forecaster scores on the same rows."""

    measure: str
    """Name of the measure."""
    statistic: float
    """Its value on the sample; on the rounded predictions when `cells` is set."""
    null: Floats
    """Its values on outcomes redrawn from the predictions, ascending."""
    exact: bool
    """False when rows of one level have different weights and were drawn as a normal."""
    cells: int | None
    """Cells that predictions were rounded to for the test, or None."""

    @property
    def pvalue(self) -> float:
        """Chance that a perfect forecaster scores at least this much."""
        reached = self.null.size - int(np.searchsorted(self.null, self.statistic, side="left"))
        return (1 + reached) / (1 + self.null.size)

    @property
    def noise_floor(self) -> float:
        """Mean score of a perfect forecaster on these rows."""
        return float(self.null.mean())

    @property
    def excess(self) -> float:
        """The statistic less the noise floor, at least 0."""
        return max(0.0, self.statistic - self.noise_floor)

    def noise_quantile(self, q: float) -> float:
        """Score that a perfect forecaster stays below with chance q."""
        return float(np.quantile(self.null, q))


def calibration_test(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    measure: str | AnyMeasure = smooth_calibration_error,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> CalibrationTest:
    """Compare a measure with its values on outcomes redrawn from the predictions.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. They change the law, not the amount of evidence.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A name of the catalogue, or any function of a Joint.
    draws : int, default=999
        Number of redraws.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    CalibrationTest

    Notes
    -----
    The null hypothesis is that outcomes are independent coins with the predicted bias. With
    equal weights within each level the p-value is exact: at most a share a of calibrated samples
    gets a p-value of a or less, for every sample size. With more than 4096 levels statistic and
    redraws use predictions rounded to 4096 cells, which errs on the safe side. Rows that depend
    on each other (visits of one patient, days of one storm) make the p-value too small.

    Examples
    --------
    >>> outcomes, predictions = [1] * 30 + [0] * 10, [0.5] * 40
    >>> result = calibration_test(outcomes, predictions, draws=199, rng=0)
    >>> result.statistic, round(result.noise_floor, 3), result.pvalue
    (0.25, 0.069, 0.005)
    """
    if draws < 1:
        raise InvalidOptionError("draws must be at least 1", repr(draws))
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    refuse_mean_outcomes(joint)
    cells = None
    if len(joint) > TEST_RESOLUTION:
        joint, cells = joint.rounded(TEST_RESOLUTION), TEST_RESOLUTION
    name, values = _values_of(measure)
    parts = null_parts(joint, draws, np.random.default_rng(rng))
    null = np.sort(np.concatenate([values(joint, positives) for positives in parts]))
    statistic = float(values(joint, joint.positives[np.newaxis, :])[0])
    return CalibrationTest(name, statistic, null, bool(exact_levels(joint).all()), cells)


def _values_of(measure: str | AnyMeasure) -> tuple[str, Callable[[Joint, Floats], Floats]]:
    """Name of a measure, and its values for many outcomes on the same levels."""
    function = find_measure(measure).function if isinstance(measure, str) else measure
    name = getattr(function, "__name__", "measure")
    entry = CATALOGUE.get(name)
    if entry is not None and entry.function is function and entry.values is not None:
        return name, entry.values

    def one_by_one(joint: Joint, positives: Floats) -> Floats:
        return np.array([function(joint.with_positives(row)) for row in positives])

    return name, one_by_one


def noise_floors(
    joint: Joint, measures: Sequence[str], draws: int, rng: np.random.Generator | int | None
) -> dict[str, float]:
    """Mean value of measures for a perfect forecaster, on the exact levels of a Joint.

    All measures see the same draws. With many levels a measure hardly varies from draw to draw,
    so the number of draws shrinks to keep the numbers drawn in all below `MOST_NUMBERS`.
    """
    affordable = max(1, min(draws, MOST_NUMBERS // len(joint)))
    functions = [_values_of(measure)[1] for measure in measures]
    totals = np.zeros(len(measures))
    for positives in null_parts(joint, affordable, np.random.default_rng(rng)):
        totals += [values(joint, positives).sum() for values in functions]
    return dict(zip(measures, (totals / affordable).tolist(), strict=True))
