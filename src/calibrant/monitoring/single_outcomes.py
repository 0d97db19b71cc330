"""Rows whose outcomes are single coins, as bets need them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.data.rows import refuse_swap
from calibrant.errors import InferenceRefusedError
from calibrant.joint import Rows


def read_coins(
    y_true: object, y_proba: object, pos_label: object = None
) -> tuple[Floats, npt.NDArray[np.uint8]]:
    """Let rows through the gate and refuse mean outcomes."""
    rows = Rows.read(y_true, y_proba, None, pos_label)
    between = (rows.outcome != 0) & (rows.outcome != 1)
    if between.any():
        refuse_swap(rows)
        raise InferenceRefusedError(
            "a monitor needs outcomes 0 and 1",
            f"{between.sum()} mean outcomes",
            "bets are settled by single outcomes: give one row for each",
        )
    return rows.prediction, rows.outcome.astype(np.uint8)
