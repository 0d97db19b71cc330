"""Products in parts are products."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant._base.arrays import small_product, sum_of_products


@pytest.mark.parametrize("shape", [(1, 1, 1), (8, 200, 64), (3, 5000, 7), (50, 40, 900)])
def test_products_of_tables(shape):
    rows, inner, columns = shape
    rng = np.random.default_rng(0)
    left = rng.standard_normal((rows, inner)) + 1j * rng.standard_normal((rows, inner))
    right = rng.standard_normal((inner, columns))
    assert np.allclose(small_product(left, right), left @ right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("rows", "inner"), [(1, 1), (999, 100), (31, 5000)])
def test_products_with_a_column(rows, inner):
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((rows, inner)), rng.standard_normal(inner)
    assert np.allclose(small_product(left, right), left @ right, rtol=1e-12, atol=1e-12)


def test_a_sum_of_products_takes_blocks():
    rng = np.random.default_rng(0)
    left, right = rng.random(100_003), rng.random(100_003)
    assert sum_of_products(left, right) == pytest.approx(float(left @ right), rel=1e-13)
    assert sum_of_products(np.empty(0), np.empty(0)) == 0.0
