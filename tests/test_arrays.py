"""Products in parts are products."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.arrays import small_product


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
