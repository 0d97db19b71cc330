"""Kernels by name and by definition, for the tests of the kernel calibration error."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import definitions as by_definition
from oracles.strategies import MAKERS

# Of squares: a root would magnify the rounding of small ones. Gaussian errors are approximations.
TOLERANCE = 1e-12
BANDWIDTHS = (0.05, 0.4, 1.0, 10.0)
DEGREES = (0, 1, 2, 3, 5, 8)
GRID = np.linspace(0, 1, 41)


def brownian(u, v):
    """The covariance of a random start and a Brownian motion: not one on the diagonal."""
    return 0.5 + np.minimum(u, v)


CASES = {
    **{
        f"laplace {h}": ({"kernel": "laplace", "bandwidth": h}, by_definition.laplace_kernel(h))
        for h in BANDWIDTHS
    },
    **{
        f"gaussian {h}": ({"kernel": "gaussian", "bandwidth": h}, by_definition.gaussian_kernel(h))
        for h in BANDWIDTHS
    },
    **{
        f"polynomial {d}": (
            {"kernel": "polynomial", "degree": d},
            by_definition.polynomial_kernel(d),
        )
        for d in DEGREES
    },
    "callable laplace": (
        {"kernel": by_definition.laplace_kernel(0.4)},
        by_definition.laplace_kernel(0.4),
    ),
    "callable brownian": ({"kernel": brownian}, brownian),
}
FEW = {
    name: CASES[name]
    for name in ("laplace 0.4", "gaussian 0.4", "polynomial 3", "callable brownian")
}

every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
every_bandwidth = pytest.mark.parametrize("bandwidth", BANDWIDTHS)
every_case = pytest.mark.parametrize(("options", "kernel"), CASES.values(), ids=CASES)
few_cases = pytest.mark.parametrize(("options", "kernel"), FEW.values(), ids=FEW)


def close(value: float):
    return pytest.approx(value, rel=0, abs=TOLERANCE)
