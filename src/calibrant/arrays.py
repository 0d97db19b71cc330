"""Types of arrays, and work on them in parts of bounded memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

# Work on many numbers is done in parts of about this many; in parts of so many fewer, what is found
# on the way stays in the cache of the processor.
NUMBERS_AT_ONCE, NUMBERS_IN_CACHE = 2**22, 2**17


def in_parts(draws: int, numbers: int, at_once: int = NUMBERS_AT_ONCE) -> list[int]:
    """Cut a number of draws, each of so many numbers, into parts of bounded memory."""
    part = max(1, at_once // numbers)
    return [min(part, draws - done) for done in range(0, draws, part)]
