"""Types of arrays, and work on them in parts of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

# Work on many numbers is done in parts of about this many; in parts of so many fewer, what is found
# on the way stays in the cache of the processor.
NUMBERS_AT_ONCE, NUMBERS_IN_CACHE = 2**22, 2**17
# Columns of many rows are worked on in blocks of so many: a handful of them stay in the cache.
BLOCK = NUMBERS_IN_CACHE // 8
# BLAS starts threads for a product of tables beyond so many multiplications, and for a product with
# a column beyond so many numbers: waiting for them takes far longer than the work.
PRODUCTS_OF_TABLES, PRODUCTS_WITH_A_COLUMN = 2**15, 2**12


def blocks(size: int) -> Iterator[slice]:
    """Cut rows into blocks that stay in the cache of the processor."""
    return (slice(start, start + BLOCK) for start in range(0, size, BLOCK))


def sum_of_products(left: Floats, right: Floats) -> float:
    """Add up products of two columns in blocks, without threads of BLAS and little memory."""
    return float(sum((left[some] * right[some]).sum() for some in blocks(left.size)))


def of_mean_one(weight: Floats) -> Floats:
    """Divide weights by their mean: their unit has no meaning."""
    return np.asarray(weight / weight.mean())


def in_parts(draws: int, numbers: int, at_once: int = NUMBERS_AT_ONCE) -> list[int]:
    """Cut a number of draws, each of so many numbers, into parts of bounded memory."""
    part = max(1, at_once // numbers)
    return [min(part, draws - done) for done in range(0, draws, part)]


def small_product(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Multiply by a small table or by a column, in parts for which BLAS starts no threads."""
    if right.ndim == 1:
        part = max(1, PRODUCTS_WITH_A_COLUMN // right.size)
        rows = range(0, len(left), part)
        return np.concatenate([left[first : first + part] @ right for first in rows])
    part = max(2, PRODUCTS_OF_TABLES // (len(left) * right.shape[1]))
    found = np.zeros((len(left), right.shape[1]), dtype=np.result_type(left, right))
    for first in range(0, len(right), part):
        found += left[:, first : first + part] @ right[first : first + part]
    return found
