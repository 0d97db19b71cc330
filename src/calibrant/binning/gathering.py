"""Neighbouring levels pooled to a bounded number of cells."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant.binning.bins import pooling_at
from calibrant.joint import Joint


def cells_of_rows(prediction: Floats, rows: Floats, most: int) -> Indices:
    """Put ascending predictions into at most so many cells.

    Cells hold about equally much: half of it is the number of rows, the other half the variance of
    their outcomes if the predictions are right. Cells of equal width would lose the odds of rare
    events, and cells of equally many rows the few forecasts among which these events are.
    """
    spread = rows * prediction * (1 - prediction)
    content = rows / rows.sum() + spread / max(spread.sum(), np.finfo(np.float64).tiny)
    before = np.cumsum(content) - content
    return np.asarray(np.minimum(before * (most / content.sum()), most - 1), dtype=np.intp)


def gathered(joint: Joint, most: int) -> Joint:
    """Pool neighbouring levels to about so many cells, if there are more.

    Forecasts of exactly 0 and 1 stay by themselves, because a single failure costs them everything.
    """
    if len(joint) <= most:
        return joint
    cell = cells_of_rows(joint.prediction, joint.rows, most)
    starts = np.diff(cell, prepend=-1) > 0
    starts[1] |= joint.prediction[0] == 0
    starts[-1] |= joint.prediction[-1] == 1
    return pooling_at(joint, np.flatnonzero(starts)).joint
