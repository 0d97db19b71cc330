"""Kernel calibration error: the best test in the unit ball of a Hilbert space of functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import check_degree, check_flag, check_positive, refuse_unknown
from calibrant.joint import Joint
from calibrant.measures.measurement import (
    Measurement,
    as_joint,
    largest_mean_error,
    rounding_settings,
)
from calibrant.measures.rkhs import (
    MOST_POWERS,
    GaussianKernel,
    Kernel,
    LaplaceKernel,
    PairedKernel,
    PolynomialKernel,
    without_own_pairs,
)
from calibrant.measures.witness import FunctionWitness, Witness

KernelFunction = Callable[[Floats, Floats], Floats]


def kernel_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    kernel: str | KernelFunction = "laplace",
    bandwidth: float = 1.0,
    degree: int = 3,
    squared: bool = False,
    unbiased: bool = False,
) -> Measurement:
    r"""Largest bias that a test of norm one in a space of smooth functions can find.

    Smaller is better. With the Laplace kernel it is 0 if and only if calibrated, and never less
    than the smooth error divided by the root of two.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    kernel : {"laplace", "gaussian", "polynomial"} or callable, default="laplace"
        ``exp(-|u - v| / bandwidth)``, exp(-(u - v)^2 / (2 bandwidth^2)), the sum of (u v)^j for
        j <= degree, or a symmetric positive function of two arrays that broadcasts (all pairs of
        levels, at most 4096 of them).
    bandwidth : float, default=1.0
        Width of the Laplace and the Gaussian kernel.
    degree : int, default=3
        Degree of the polynomial kernel. At most 1024.
    squared : bool, default=False
        Return the square of the error. With the Laplace and the Gaussian kernel it is truthful: no
        forecast has a smaller expected square than the chances of the outcomes.
    unbiased : bool, default=False
        Estimate the *squared* error without bias instead: pairs of a row with itself are left
        out. The estimate may be negative.

    Returns
    -------
    Measurement
        In [0, 1] for the Laplace and the Gaussian kernel. The witness is the best test itself.

    Notes
    -----
    :math:`\sup_{\|w\| \le 1} E[w(p)(y - p)] = \sqrt{E[(y-p) K(p,p') (y'-p')]}`. Exact in one pass
    over sorted levels for the Laplace kernel; the Gaussian kernel is expanded in Chebyshev
    polynomials with a proven error, which is in `.bounds`, and summed over all pairs of at most
    4096 levels where its bandwidth is below about 0.001. Known flaw: with the Gaussian kernel
    the value can be tiny although forecasts are far from calibrated; use it for diagnosis only.
    The maximum mean calibration error (MMCE) of the literature is the Laplace kernel with
    bandwidth 0.4 on (correct, confidence).

    References
    ----------
    Kumar, Sarawagi, Jain (2018), Trainable calibration measures for neural networks from kernel
    mean embeddings, ICML. Blasiok, Gopalan, Hu, Nakkiran (2023), A unifying theory of distance
    from calibration, STOC.

    Examples
    --------
    >>> kernel_calibration_error([0, 1], [0.4, 0.6])
    0.120422
    >>> kernel_calibration_error([0, 1], [0.4, 0.6], kernel="gaussian")
    0.039801
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    space, settings = _find_kernel(kernel, bandwidth, degree)
    settings |= {"unbiased": unbiased, **rounding_settings(joint)}
    if check_flag("squared", squared):
        settings = {"squared": True, **settings}
    square, error = space.square(joint)
    find_witness: Callable[[], Witness] = partial(space.witness, joint)
    if check_flag("unbiased", unbiased):
        value = without_own_pairs(joint, space.diagonal(joint.prediction), square)
        bounds = _unbiased_bounds(joint, space, square, value, error)
    else:
        value = float(np.sqrt(max(0.0, square)))
        slack = space.modulus(joint.rounding)
        low = float(np.sqrt(max(0.0, square - error)))
        high = float(np.sqrt(max(0.0, square + error)))
        bounds = (max(0.0, low - slack), max(high, min(high + slack, _most(joint, space))))
        if squared:
            find_witness = partial(_scaled_witness, find_witness, value)
            value, bounds = max(0.0, square), (bounds[0] ** 2, bounds[1] ** 2)
    return Measurement(
        value,
        "kernel_calibration_error",
        settings,
        find_witness,
        bounds=bounds,
    )


def _unbiased_bounds(
    joint: Joint, space: Kernel, square: float, value: float, error: float
) -> tuple[float, float]:
    """Where the mean over pairs of different rows lies.

    From cells: the square of all pairs moves as the error does, and pairs of a row with itself are
    bounded at the ends of their cell.
    """
    different = 1 - float(joint.weight_squares.sum()) / joint.total**2
    if not joint.is_rounded:
        return value - error / different, value + error / different
    slack = space.modulus(joint.rounding)
    if not np.isfinite(slack):
        return -np.inf, np.inf
    root, slack = float(np.sqrt(max(0.0, square))), slack + float(np.sqrt(error))
    least, most = _own_pairs(joint, space)
    high = max(root, min(root + slack, _most(joint, space)))
    low, high = max(0.0, root - slack) ** 2 - most, high**2 - least
    return low / different, high / different


def _most(joint: Joint, space: Kernel) -> float:
    """Bound the error of rows in cells: a test of norm one is at most the root of K(p, p)."""
    if not joint.is_rounded or isinstance(space, PairedKernel):
        return np.inf
    # The diagonal of every other kernel grows with the prediction, or is constant.
    return float(np.sqrt(space.diagonal(np.ones(1))[0])) * largest_mean_error(joint)


def _own_pairs(joint: Joint, space: Kernel) -> tuple[float, float]:
    """Bound what pairs of a row with itself add, wherever rows lie in their cells."""
    low, high = joint.low, joint.high
    if joint.inherited_rounding > 0:
        low, high = np.zeros(len(joint)), np.ones(len(joint))
    rate = joint.positives / joint.weight
    square = joint.weight_squares / joint.total**2
    # The diagonal of every kernel offered grows with the prediction, or is constant.
    least = (rate * (1 - high) ** 2 + (1 - rate) * low**2) * space.diagonal(low)
    most = (rate * (1 - low) ** 2 + (1 - rate) * high**2) * space.diagonal(high)
    return float(square @ least), float(square @ most)


def kernel_batch(
    joint: Joint,
    residual_masses: Floats,
    *,
    kernel: str | KernelFunction = "laplace",
    bandwidth: float = 1.0,
    degree: int = 3,
    squared: bool = False,
) -> Floats:
    """Kernel errors of residual masses (one row each) on the levels of a Joint."""
    space, _ = _find_kernel(kernel, bandwidth, degree)
    squares = np.maximum(0.0, space.forms(joint.prediction, residual_masses))
    return squares if squared else np.sqrt(squares)


def kernel_floor(
    joint: Joint,
    *,
    kernel: str | KernelFunction = "laplace",
    bandwidth: float = 1.0,
    degree: int = 3,
    squared: bool = False,
    unbiased: bool = False,
) -> float | None:
    """Mean error of perfect forecasts on these rows, where it is known: of the squares."""
    if unbiased:
        return 0.0
    if not squared:
        return None
    space, _ = _find_kernel(kernel, bandwidth, degree)
    v = joint.prediction
    own = joint.weight_squares * v * (1 - v)
    return float(own @ space.diagonal(v)) / joint.total**2


def _scaled_witness(find_witness: Callable[[], Witness], scale: float) -> FunctionWitness:
    """Make the best test of norm one gain the square of what it gains."""
    best = find_witness()
    return FunctionWitness(best, scale, best.sentence)


def _find_kernel(
    kernel: str | KernelFunction, bandwidth: float, degree: int
) -> tuple[Kernel, dict[str, object]]:
    if callable(kernel):
        name = getattr(kernel, "__name__", "callable")
        return PairedKernel(kernel), {"kernel": name}
    refuse_unknown("kernel", kernel, ("laplace", "gaussian", "polynomial"))
    if kernel == "polynomial":
        degree = check_degree(degree, MOST_POWERS)
        return PolynomialKernel(degree), {"kernel": kernel, "degree": degree}
    spaces: dict[str, type[LaplaceKernel | GaussianKernel]] = {
        "laplace": LaplaceKernel,
        "gaussian": GaussianKernel,
    }
    check_positive("bandwidth", bandwidth)
    return spaces[kernel](float(bandwidth)), {"kernel": kernel, "bandwidth": bandwidth}
