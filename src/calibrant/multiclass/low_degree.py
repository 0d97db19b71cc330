"""Low-degree calibration error of classes: polynomial tests of the whole row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import check_degree, refuse_unknown
from calibrant._base.words import forecast_and_rate
from calibrant.errors import InvalidOptionError
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.measurement import Measurement
from calibrant.measures.rkhs import MOST_POWERS
from calibrant.multiclass.canonical import residual_mass_of
from calibrant.multiclass.rkhs import (
    MultinomialKernel,
    exact_square,
    monomials,
    multiplicity,
)

# More monomials than this are refused: the time grows with their number.
MOST_MONOMIALS = 10**5


@dataclass(frozen=True, slots=True)
class MonomialWitness:
    """A monomial of the probabilities, and the class whose bias it weighs."""

    chosen: tuple[int, ...]
    """Positions of the classes whose probabilities are multiplied, with repetition."""
    weighed: int
    """Position of the class whose residual is weighed."""
    sign: float
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Value of the monomial, with its sign."""
        at = np.atleast_2d(np.asarray(prediction, dtype=np.float64))
        return self.sign * np.asarray(at[:, list(self.chosen)].prod(axis=1))

    def advantage(self, joint: Any) -> float:
        """Mean of w(p) (y_k - p_k) over the rows of ClassForecasts."""
        return float(self(joint.probability) @ residual_mass_of(joint)[:, self.weighed])


def low_degree_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    degree: int = 2,
    norm: str = "l1",
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
) -> Measurement:
    r"""Largest bias that polynomials of the probabilities of all classes can find.

    Smaller is better; 0 for canonically calibrated forecasts, but not only for them.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    degree : int, default=2
        Largest degree: at most 32 for "l1", at most 1024 for "l2".
    norm : {"l1", "l2"}, default="l1"
        "l1": one class weighed by a polynomial whose coefficients have l1 norm one, so the
        largest bias under a single monomial. "l2": a polynomial for each class, with multinomially
        weighted coefficients of l2 norm one over all classes together.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.

    Returns
    -------
    Measurement
        Non-decreasing in `degree`. The witness is the monomial with the largest bias.

    Notes
    -----
    "l1" is :math:`\max_{k, \alpha} |E[p^\alpha (y_k - p_k)]|`; "l2" is
    :math:`\sqrt{E \langle y - p, y' - p' \rangle \sum_{j \le d} \langle p, p' \rangle^j}`, the
    root of two times the canonical error with the multinomial kernel. Powers of inner products
    weigh a monomial by its multinomial coefficient, not plainly. Polynomials may use all K
    probabilities, so for two classes the value is at least, not always equal to, the binary one.
    Costs O(n K) for each of the C(K + d, d) monomials; "l2" costs O(n^2 K) by all pairs of rows
    where that is less, whatever the degree and the number of classes.

    References
    ----------
    Gopalan, Kim, Singhal, Zhao (2022), Low-degree multicalibration, COLT. Gopalan, Hu, Rothblum
    (2024), On computationally efficient multi-class calibration, COLT.

    Examples
    --------
    >>> labels, probabilities = [0, 2], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    >>> low_degree_calibration_error(labels, probabilities)
    0.3
    >>> print(low_degree_calibration_error(labels, probabilities, norm="l2"))
    low degree calibration error 0.462667 (degree 2, norm l2): over all rows class 1 is off:
    mean forecast 0.30, observed rate 0
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    refuse_unknown("norm", norm, ("l1", "l2"))
    degree = check_degree(degree, MOST_POWERS) if norm == "l2" else check_degree(degree)
    kernel = MultinomialKernel(degree)
    count = kernel.feature_count(len(forecasts.classes))
    by_pairs = norm == "l2" and count > len(forecasts)
    if count > MOST_MONOMIALS and not by_pairs:
        raise InvalidOptionError(
            f"at most {MOST_MONOMIALS} monomials can be tried",
            f"{count} for {len(forecasts.classes)} classes and degree {degree}",
            "lower the degree"
            + (", or use norm='l2', which needs no more than all pairs of rows" * (norm == "l1")),
        )
    residual_mass = residual_mass_of(forecasts)
    if by_pairs:
        value = float(np.sqrt(max(0.0, exact_square(kernel, forecasts.probability, residual_mass))))
    elif norm == "l2":
        squares = (
            multiplicity(chosen) * float(np.sum((at @ residual_mass) ** 2))
            for chosen, at in monomials(forecasts.probability, int(degree))
        )
        value = float(np.sqrt(sum(squares)))
    else:
        value = _largest(forecasts, residual_mass, int(degree))[0]
    return Measurement(
        value,
        "low_degree_calibration_error",
        {"degree": degree, "norm": norm},
        partial(_witness, forecasts, int(degree)),
    )


def _largest(
    forecasts: ClassForecasts, residual_mass: Floats, degree: int
) -> tuple[float, tuple[int, ...], int, float]:
    """Largest bias under a monomial: its size, the monomial, the class, the sign."""
    best: tuple[float, tuple[int, ...], int, float] = (-1.0, (), 0, 1.0)
    for chosen, at in monomials(forecasts.probability, degree):
        bias = at @ residual_mass
        weighed = int(np.argmax(np.abs(bias)))
        if abs(bias[weighed]) > best[0]:
            best = (float(abs(bias[weighed])), chosen, weighed, float(np.sign(bias[weighed])))
    return best


def _witness(forecasts: ClassForecasts, degree: int) -> MonomialWitness:
    # A value from pairs may have more monomials than can be tried: those of lower degree are.
    while MultinomialKernel(degree).feature_count(len(forecasts.classes)) > MOST_MONOMIALS:
        degree -= 1
    _, chosen, weighed, sign = _largest(forecasts, residual_mass_of(forecasts), degree)
    weight = forecasts.mass * forecasts.probability[:, list(chosen)].prod(axis=1)
    total = float(weight.sum()) or 1.0
    happened = float(weight @ (forecasts.label == weighed)) / total
    mean = float(weight @ forecasts.probability[:, weighed]) / total
    names = " times ".join(str(forecasts.classes[index]) for index in chosen)
    where = f"weighed by the chance of {names}" if chosen else "over all rows"
    sentence = (
        f"{where} class {forecasts.classes[weighed]} is off: {forecast_and_rate(mean, happened)}"
    )
    return MonomialWitness(chosen, weighed, sign, sentence)
