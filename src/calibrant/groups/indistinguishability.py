"""Outcome indistinguishability: tests of everything known that tell outcomes from coins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant.data.input import refuse_other_labels
from calibrant.errors import InvalidOptionError
from calibrant.joint import Rows

Distinguisher = Callable[[Any, Floats, Floats], object]


@dataclass(frozen=True, slots=True)
class Advantage:
    """What a distinguisher scores on the outcomes, and on outcomes drawn from the predictions."""

    real: float
    """Mean over the rows as they are."""
    simulated: float
    """Mean with every outcome drawn from its prediction, exactly: no coin is thrown."""

    @property
    def value(self) -> float:
        """Distance between the two."""
        return abs(self.real - self.simulated)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"advantage {self.value:.4g}: {self.real:.4g} on the outcomes, "
            f"{self.simulated:.4g} on outcomes drawn from the predictions"
        )


def distinguisher_advantage(
    distinguisher: Distinguisher,
    y_true: object,
    y_proba: object,
    features: Any = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> Advantage:
    r"""How well a test of features, outcome and prediction tells outcomes from predicted coins.

    Parameters
    ----------
    distinguisher : callable
        A(x, y, p): takes the features as they were given, an array of outcomes and the array of
        predictions, and returns one number per row. A test that ignores p asks for
        multi-accuracy, one that uses it for multicalibration.
    y_true : array-like of shape (n,)
        Outcomes: 0 or 1, or mean outcomes.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    features : object, optional
        Whatever the distinguisher wants to know about the rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    Advantage
        Between 0 and the range of the test.

    Notes
    -----
    :math:`|E\,A(x, y, p) - E\,A(x, \tilde y, p)|` with :math:`\tilde y` drawn from p, which is
    :math:`|E[(A(x, 1, p) - A(x, 0, p))(y - p)]|`: the test is asked about both outcomes of every
    row, so the simulated world adds no noise. Known flaw: a sample with few rows never scores 0,
    and the best of many distinguishers must be judged on rows that did not choose it.

    References
    ----------
    Dwork, Kim, Reingold, Rothblum, Yona (2021), Outcome indistinguishability, STOC.

    Examples
    --------
    >>> night = np.array([1, 1, 0, 0])
    >>> print(distinguisher_advantage(lambda x, y, p: x * y, [1, 1, 0, 1], [0.5] * 4, night))
    advantage 0.25: 0.5 on the outcomes, 0.25 on outcomes drawn from the predictions
    """
    refuse_other_labels(
        y_true=y_true, y_proba=y_proba, features=features, sample_weight=sample_weight
    )
    rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
    p = rows.prediction
    one, zero = (
        _scores(distinguisher(features, np.full(p.size, outcome), p), p.size)
        for outcome in (1.0, 0.0)
    )
    share = shares(rows)
    return Advantage(
        float(share @ (rows.outcome * one + (1 - rows.outcome) * zero)),
        float(share @ (p * one + (1 - p) * zero)),
    )


def shares(rows: Rows) -> Floats:
    """Weights that add up to one."""
    if rows.weight is None:
        return np.full(rows.prediction.size, 1 / rows.prediction.size)
    return np.asarray(rows.weight / rows.weight.sum())


def _scores(values: object, size: int) -> Floats:
    scores = np.asarray(values, dtype=np.float64)
    if scores.shape not in {(), (size,)} or not np.isfinite(scores).all():
        raise InvalidOptionError(
            "a distinguisher must return one finite number per row", f"shape {scores.shape}"
        )
    return np.broadcast_to(scores, (size,))
