"""Canonical calibration through kernels: every function of the whole row of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import (
    MOST_FEATURES,
    as_generator,
    check_degree,
    check_flag,
    check_positive,
    refuse_unknown,
    whole,
)
from calibrant._base.words import count_text, forecast_and_rate
from calibrant.errors import InferenceRefusedError
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.measurement import Measurement
from calibrant.multiclass.rkhs import (
    ClassKernel,
    LaplaceClassKernel,
    MultinomialKernel,
    exact_square,
    feature_squares,
)

# Up to so many rows all pairs are added up.
MOST_PAIRED = 2**13
FEATURES = 2**10
# Chance that the bounds of a value from random features fail, over the choice of features.
FAILURE = 1e-6


@dataclass(frozen=True, slots=True)
class CanonicalWitness:
    """The best test: one function of the probabilities per class."""

    forecasts: ClassForecasts
    kernel: ClassKernel
    norm: float
    """What the sum of kernels is divided by, to have norm one."""
    sentence: str

    def __call__(self, prediction: object) -> Floats:
        """Evaluate the test at rows of probabilities: one column per class."""
        at = np.atleast_2d(np.asarray(prediction, dtype=np.float64))
        residual_mass = residual_mass_of(self.forecasts)
        return self.kernel.pairs(at, self.forecasts.probability) @ residual_mass / (2 * self.norm)

    def advantage(self, joint: Any) -> float:
        """Mean of <w(p), y - p> over the rows of ClassForecasts."""
        return float(np.vdot(residual_mass_of(joint), self(joint.probability)))


def canonical_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
    kernel: str = "laplace",
    bandwidth: float = 1.0,
    degree: int = 3,
    squared: bool = False,
    unbiased: bool = False,
    method: str = "auto",
    features: int = FEATURES,
    rng: np.random.Generator | int | None = 0,
) -> Measurement:
    r"""Largest bias that a test of norm one sees in the whole vector of probabilities.

    Smaller is better. With the Laplace kernel it is 0 if and only if forecasts are canonically
    calibrated: among rows with the same probabilities classes happen with just these frequencies.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.
    kernel : {"laplace", "multinomial"}, default="laplace"
        exp(-TV(p, q) / bandwidth) with the total variation distance, or the sum of <p, q>^j for j
        up to the degree, both times half the identity matrix.
    bandwidth : float, default=1.0
        Width of the Laplace kernel.
    degree : int, default=3
        Degree of the multinomial kernel. At most 32.
    squared : bool, default=False
        Return the square of the error. With the Laplace kernel it is truthful: no forecast has a
        smaller expected square than the chances of the classes.
    unbiased : bool, default=False
        Estimate the *squared* error without bias instead: pairs of a row with itself are left
        out. The estimate may be negative.
    method : {"auto", "pairs", "features"}, default="auto"
        All pairs of rows, exactly, or random features of the Laplace kernel. By default pairs up
        to 8192 rows.
    features : int, default=1024
        Number of random frequencies. At most 2**20.
    rng : numpy.random.Generator or int, default=0
        Source of the frequencies.

    Returns
    -------
    Measurement
        In [0, 1] for the Laplace kernel. For two classes and the Laplace kernel it is the binary
        `kernel_calibration_error`. From random features the setting `feature_error` is the
        standard error of the *squared* value, and `.bounds` hold with chance 1 - 1e-6 over the
        choice of features.

    Notes
    -----
    :math:`\sqrt{E \langle y - p, y' - p' \rangle k(p, p') / 2}` over pairs of rows; half, because
    two classes state every residual twice. Pairs cost O(n^2 K), features O(n D K). With t the true
    chances of n independent rows, the expected square is the mean over rows of
    :math:`k(p, p) (1 - |t|^2) / (2 n)` plus the square of a norm that is 0 for p = t: where k(p, p)
    is constant the first term is the same for all forecasts, the known floor. Known flaw:
    rows with the same many probabilities hardly ever repeat, so with many classes the value is
    mostly noise; compare with `calibration_test`, or leave own pairs out with `unbiased`.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification: a
    unifying framework, NeurIPS. Gopalan, Hu, Rothblum (2024), On computationally efficient
    multi-class calibration, COLT. Rahimi, Recht (2007), Random features for large-scale kernel
    machines, NeurIPS. Truthful calibration measures for multi-class prediction (2025),
    arXiv:2510.06388.

    Examples
    --------
    >>> canonical_calibration_error([0, 1], [[0.6, 0.4], [0.4, 0.6]])
    0.120422
    >>> canonical_calibration_error([0, 2], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    0.273180
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    space, settings = find_kernel(kernel, bandwidth, degree)
    refuse_unknown("method", method, ("auto", "pairs", "features"))
    residual_mass = residual_mass_of(forecasts)
    by_pairs = method == "pairs" or (method == "auto" and len(forecasts) <= MOST_PAIRED)
    if by_pairs or not isinstance(space, LaplaceClassKernel):
        square = exact_square(space, forecasts.probability, residual_mass) / 2
        low, high = square, square
    else:
        features = whole("features", features, 2, MOST_FEATURES)
        drawn = space.frequencies(features, len(forecasts.classes), as_generator(rng))
        squares = feature_squares(drawn, forecasts.probability, residual_mass) / 2
        square = float(squares.mean())
        low, high = _bernstein(squares, float(np.linalg.norm(residual_mass, axis=1).sum()) ** 2 / 2)
        settings |= {
            "features": features,
            "feature_error": float(squares.std(ddof=1) / np.sqrt(features)),
        }
    settings["unbiased"] = check_flag("unbiased", unbiased)
    if check_flag("squared", squared):
        settings = {"squared": True, **settings}
    if unbiased:
        value, low, high = (_without_own(forecasts, space, s) for s in (square, low, high))
    else:
        value, low, high = (max(0.0, s) for s in (square, low, high))
        if not squared:
            value, low, high = (float(np.sqrt(s)) for s in (value, low, high))
    return Measurement(
        value,
        "canonical_calibration_error",
        settings,
        partial(_witness, forecasts, space, 1.0 if squared and not unbiased else square),
        bounds=(low, high),
    )


def find_kernel(
    kernel: str, bandwidth: float, degree: int
) -> tuple[LaplaceClassKernel | MultinomialKernel, dict[str, object]]:
    """Read the options of a kernel."""
    refuse_unknown("kernel", kernel, ("laplace", "multinomial"))
    if kernel == "laplace":
        check_positive("bandwidth", bandwidth)
        return LaplaceClassKernel(float(bandwidth)), {"kernel": kernel, "bandwidth": bandwidth}
    degree = check_degree(degree)
    return MultinomialKernel(degree), {"kernel": kernel, "degree": degree}


def residual_mass_of(forecasts: ClassForecasts) -> Floats:
    """Mass times (one-hot label less probabilities) of each row."""
    residual_mass = -forecasts.probability
    residual_mass[np.arange(len(forecasts)), forecasts.label] += 1
    residual_mass *= forecasts.mass[:, np.newaxis]
    return residual_mass


def _without_own(forecasts: ClassForecasts, kernel: ClassKernel, square: float) -> float:
    """Leave pairs of a row with itself out of the mean over all pairs (a U-statistic)."""
    if len(forecasts) < 2:
        raise InferenceRefusedError("an unbiased estimate needs two rows", "one row")
    mass = forecasts.mass
    own = (
        (residual_mass_of(forecasts) ** 2).sum(axis=1) @ kernel.diagonal(forecasts.probability) / 2
    )
    return float((square - own) / (1 - mass @ mass))


def _bernstein(squares: Floats, largest: float) -> tuple[float, float]:
    """Bounds on the mean of independent numbers in [0, largest], from their own spread.

    Maurer, Pontil (2009), Empirical Bernstein bounds and sample-variance penalization, Theorem 4,
    on both sides.
    """
    size = squares.size
    log = np.log(4 / FAILURE)
    half_width = np.sqrt(2 * squares.var(ddof=1) * log / size) + 7 * largest * log / (
        3 * (size - 1)
    )
    mean = float(squares.mean())
    return max(0.0, mean - float(half_width)), mean + float(half_width)


def _witness(forecasts: ClassForecasts, kernel: ClassKernel, square: float) -> CanonicalWitness:
    norm = float(np.sqrt(max(square, 0.0))) or 1.0
    bias = forecasts.prevalence - forecasts.mass @ forecasts.probability
    worst = int(np.argmax(np.abs(bias)))
    rate = float(forecasts.prevalence[worst])
    sentence = (
        f"over all {count_text(len(forecasts), 'row')} class {forecasts.classes[worst]} is off "
        f"most: {forecast_and_rate(rate - float(bias[worst]), rate)}"
    )
    return CanonicalWitness(forecasts, kernel, norm, sentence)
