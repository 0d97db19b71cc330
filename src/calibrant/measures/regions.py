"""Where forecasts are off: runs of predictions on which a witness has one sign, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.words import LEAST_WRITTEN, MOST_WRITTEN, count_text
from calibrant.data.rows import Rows
from calibrant.joint import Joint
from calibrant.kinds import BINARY, Kind

# An interval is looked for between this many cuts of a run of levels.
MOST_CUTS = 256
# A range that is off the other way is told if its bias is so many standard errors.
CLEAR = 5.0
# A range is told to go on to the end if so small a share of the weight lies beyond.
FEW_BEYOND = 0.01


@dataclass(frozen=True, slots=True)
class Region:
    """A run of neighbouring forecasts, and how far they are off.

    `prediction` and `outcome` are the mean forecast and what was observed; of quantiles and
    intervals the share of outcomes that was promised, and the share observed.
    """

    low: float
    high: float
    prediction: float
    outcome: float
    rows: int
    kind: Kind = BINARY

    @property
    def sentence(self) -> str:
        """Say where forecasts are off, in which direction and by how much."""
        rows = count_text(self.rows, "row")
        return f"{self.where} are {self.direction} ({self.forecast_and_observed}, {rows})"

    @property
    def where(self) -> str:
        """Say which forecasts are meant."""
        return f"{self.kind.words.forecasts} {self.among}"

    @property
    def among(self) -> str:
        """Say which of the forecasts are meant."""
        return self.kind.words.among(self.low, self.high)

    @property
    def direction(self) -> str:
        """Say in which direction they are off."""
        return self.kind.too(self.outcome > self.prediction)

    @property
    def forecast_and_observed(self) -> str:
        """Say what was forecast beside what was observed."""
        return self.kind.words.forecast_and_observed(self.prediction, self.outcome)


def strongest_region(joint: Joint, witness: Floats) -> Region | None:
    """Find where a witness sees the clearest bias; None where it gains nothing.

    First the run of levels of one sign on which the witness gains most. A smooth witness changes
    slowly, so inside the run the interval with the largest bias per root of rows is taken.
    """
    gain = witness * joint.mass * joint.residual
    first = np.flatnonzero(np.diff(np.sign(witness), prepend=2.0))
    gains = np.add.reduceat(gain, first)
    best = int(np.argmax(gains))
    if gains[best] <= 0:
        return None
    start = int(first[best])
    stop = int(first[best + 1]) if best + 1 < first.size else len(joint)
    return region_between(joint, *_clearest_interval(joint, start, stop, witness[start]))


def opposite_region(
    joint: Joint, region: Region, variance: Floats, heaviest: float
) -> Region | None:
    """Find the clearest range beside a region that is off the other way.

    None unless its bias is `CLEAR` standard errors, given the variance of the sum of residuals at
    each level, and how much a single row may add to such a sum: Bernstein's inequality, because
    one event of very few rows is many standard errors where events are rare.
    """
    sign = 1.0 if region.outcome < region.prediction else -1.0
    below = 0, int(np.searchsorted(joint.prediction, region.low))
    above = int(np.searchsorted(joint.prediction, region.high, "right")), len(joint)
    found, best = None, CLEAR
    for start, stop in (below, above):
        if start < stop:
            part = slice(*_clearest_interval(joint, start, stop, sign))
            p, weight = joint.prediction[part], joint.weight[part]
            bias = sign * float((joint.positives[part] - weight * p).sum())
            error = float(np.sqrt(variance[part].sum() + heaviest * max(bias, 0.0) / 3))
            if bias > 0 and bias >= best * error:
                found, best = part, bias / error
    if found is None:
        return None
    # A few rows beyond are not worth an end of their own: "up to 29 %" is easier to read.
    start, stop, few = found.start, found.stop, FEW_BEYOND * joint.total
    if stop <= below[1] and float(joint.weight[:start].sum()) < few:
        start = 0
    if start >= above[0] and float(joint.weight[stop:].sum()) < few:
        stop = len(joint)
    whole = region_between(joint, start, stop)
    if sign * (whole.outcome - whole.prediction) > 0:
        return whole
    return region_between(joint, found.start, found.stop)  # the few are off by very much


def bernoulli_noise(joint: Joint) -> tuple[Floats, float]:
    """Variance of the sum of residuals at each level, and the most that a single row may add.

    For outcomes that follow the forecasts.
    """
    variance = joint.weight_squares * joint.prediction * (1 - joint.prediction)
    return variance, float((joint.weight_squares / joint.weight).max())


def _clearest_interval(joint: Joint, start: int, stop: int, sign: float) -> tuple[int, int]:
    """Interval of the levels start .. stop-1 with the largest bias of a sign per root of rows."""
    cuts = np.unique(np.linspace(start, stop, MOST_CUTS + 1).astype(np.intp))
    # Forecasts that are written alike, next to 0 or to 1, stay together.
    first = int(np.searchsorted(joint.prediction, LEAST_WRITTEN))
    last = int(np.searchsorted(joint.prediction, MOST_WRITTEN, "right"))
    apart = cuts[(first <= cuts) & (cuts <= last)]
    cuts = np.unique(np.clip(np.append(apart, [0, first, last, len(joint)]), start, stop))
    part = slice(start, stop)
    bias = np.sign(sign) * (joint.positives[part] - joint.weight[part] * joint.prediction[part])
    total_bias = np.append(0.0, np.cumsum(bias))[cuts - start]
    total_squares = np.append(0.0, np.cumsum(joint.weight_squares[part]))[cuts - start]
    opens, closes = np.triu_indices(cuts.size, k=1)
    # Levels too light to show in the sums must not look infinitely clear.
    squares = np.maximum(total_squares[closes] - total_squares[opens], 1e-12 * total_squares[-1])
    score = (total_bias[closes] - total_bias[opens]) / np.sqrt(squares)
    best = int(np.argmax(score))
    return int(cuts[opens[best]]), int(cuts[closes[best]])


def region_between(joint: Joint, start: int, stop: int) -> Region:
    """Describe the levels start .. stop-1."""
    part = slice(start, stop)
    weight = joint.weight[part]
    total = float(weight.sum())
    return Region(
        low=float(joint.prediction[start]),
        high=float(joint.prediction[stop - 1]),
        prediction=float(weight @ joint.prediction[part]) / total,
        outcome=float(joint.positives[part].sum()) / total,
        rows=int(joint.rows[part].sum()),
    )


def region_of(rows: Rows, low: float, high: float) -> Region:
    """Describe the forecasts of rows between two positions."""
    return region_of_part(rows.where((rows.position >= low) & (rows.position <= high)))


def region_of_part(part: Rows) -> Region:
    """Describe the forecasts of some rows."""
    return Region(
        float(part.coordinate.min()),
        float(part.coordinate.max()),
        *part.kind.forecast_and_observed(part),
        len(part) if part.weight is None else int((part.weight > 0).sum()),
        part.kind,
    )


def region_sentence(joint: Joint, witness: Floats) -> str:
    """Say in words what a witness found."""
    region = strongest_region(joint, witness)
    return "no forecast is off" if region is None else region.sentence
