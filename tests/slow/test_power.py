"""The default test finds what the smooth error alone does not."""

from __future__ import annotations

import numpy as np
import pytest

from promises.power import WRONG, power

pytestmark = pytest.mark.slow


def test_the_default_finds_most_and_the_smooth_error_alone_a_third():
    found = {case: power(*case) for case in WRONG}
    together, alone = np.mean(list(found.values()), axis=0)
    assert together > 0.58
    assert alone < 0.45
    for fault in ("slope 0.6", "slope 1.7", "three waves of 0.2"):
        default, smooth = found["uniform", fault]
        assert default > smooth + 0.3
