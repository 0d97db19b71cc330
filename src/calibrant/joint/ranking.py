"""How well forecasts put rows in order, whatever their calibration."""

from __future__ import annotations

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.joint.joint import Joint


def ordered_pairs(ones: Floats, zeros: Floats) -> tuple[float, float, float]:
    """Weigh pairs of a row with outcome 1 and one with outcome 0: in order, tied, and all.

    Takes the weight of either outcome at each level, levels in increasing order. Ties count half.
    """
    below = np.cumsum(zeros) - zeros
    right = float(ones @ (below + zeros / 2))
    return right, float(ones @ zeros), float(ones.sum() * zeros.sum())


def area_under_curve(joint: Joint, rate: Floats | None = None) -> float:
    """Chance that of two rows with different outcomes the one with outcome 1 has more (AUC).

    With the rates that perfect forecasts would have, the predictions themselves, it is the AUC
    that they would show. NaN where only one outcome was seen.
    """
    ones = joint.positives if rate is None else joint.weight * rate
    right, _, pairs = ordered_pairs(ones, joint.weight - ones)
    return right / pairs if pairs > 0 else np.nan
