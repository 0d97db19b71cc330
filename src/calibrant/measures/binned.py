"""Binned (bucketed) calibration error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import check_flag, check_within, refuse_unknown
from calibrant.binning import Pooling, bins_between, quantile_bins, uniform_bins
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.sums import AnyRows
from calibrant.measures.exact import exact_batch, mean_distance, norm_witness
from calibrant.measures.measurement import Measurement, cell_bounds, read_source, rounding_settings
from calibrant.measures.witness import StepWitness


def binned_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    n_bins: int = 15,
    strategy: str | npt.ArrayLike = "uniform",
    closed: str = "left",
    order: float = 1,
    form: str = "residual",
    debias: bool = False,
    mean: str = "rows",
    direction: str = "both",
) -> Measurement:
    r"""Average distance between mean prediction and frequency over bins: the ECE and its variants.

    Smaller is better. It depends on the bins: never compare two values with different settings,
    and do not expect 0 from perfect forecasts (its value grows with bins and falls with rows).
    With default options it is `expected_calibration_error`.

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
    n_bins : int, default=15
        Number of bins. At most 2**20.
    strategy : {"uniform", "quantile"} or array-like, default="uniform"
        Bins of equal width, bins of about equal weight (ties are never split), or edges that
        increase from 0 to 1.
    closed : {"left", "right"}, default="left"
        Whether bins are [a, b), the last one closed, or (a, b], the first one closed.
    order : float, default=1
        Order q of the mean over bins, at least 1, or `numpy.inf`.
    form : {"residual", "midpoint"}, default="residual"
        Compare the frequency with the mean prediction of the bin, or with the middle of the bin
        as if predictions had been rounded to it.
    debias : bool, default=False
        Subtract what sampling alone adds; for order 2 the squared error becomes unbiased (its raw
        value, which may be negative, is in `settings`), for order 1 approximately so.
    mean : {"rows", "bins"}, default="rows"
        Whether bins count by their rows, or every bin that has rows the same: the unweighted mean
        ("average calibration error"), in which a bin of few rows, mostly noise, has a full voice.
    direction : {"both", "over", "under", "high", "low"}, default="both"
        Which bins count. "over": overconfident ones, whose forecast is farther from 1/2 than the
        rate, or beyond it; "under": the others. "high": those whose forecast exceeds the rate,
        which is overconfidence where forecasts are confidences in an answer; "low": the others. Of
        order 1 the two of a pair add up to the error.

    Returns
    -------
    Measurement
        `.table` holds the bins as columns: low, high, rows, weight, prediction, outcome.

    Notes
    -----
    :math:`\sum_b |E[(y - p) 1(p \in b)]|` in the residual form of order 1. Not continuous, and not
    faithful: errors of opposite sign inside a bin cancel, so that shifting two predictions by
    0.01 can move the value from 0 to 1/2 with the parity of `n_bins`.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI. Broecker (2012), Estimating reliability and resolution of probability
    forecasts through decomposition of the empirical score, Climate Dynamics 39. Kumar, Liang, Ma
    (2019), Verified uncertainty calibration, NeurIPS. Neumann, Zisserman, Vedaldi (2018), Relaxed
    softmax: efficient confidence auto-calibration for safe pedestrian detection, NeurIPS workshop
    (the mean over bins).

    Examples
    --------
    >>> error = binned_calibration_error([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3], n_bins=2)
    >>> error
    0.175
    >>> error.table["rows"]
    array([2., 2.])
    """
    source = read_source(y_true, y_proba, sample_weight, pos_label)
    check_within("order", order, 1, np.inf)
    pooling, bins = _pool(source, n_bins, strategy, closed)
    joint = _rounded_to_middle(pooling, form)
    share = _shares(joint, mean, direction)
    settings: dict[str, Any] = {"order": order, **bins, "form": form, "debias": debias}
    settings |= {} if mean == "rows" else {"mean": mean}
    settings |= {} if direction == "both" else {"direction": direction}
    if isinstance(source, Joint):
        settings |= rounding_settings(source)
    elif pooling.joint.clipped:
        settings["clipped"] = pooling.joint.clipped
    if check_flag("debias", debias):
        if direction != "both":
            raise InvalidOptionError("debias counts all bins", f"direction {direction!r}")
        value, extra = _debiased(joint, order, share)
        settings |= extra
    else:
        value = mean_distance(joint, order, share)
    return Measurement(
        value,
        "binned_calibration_error",
        settings,
        partial(_witness, pooling, joint, order, share),
        bounds=_bounds(source, value, pooling, settings) if isinstance(source, Joint) else None,
        table=pooling.tabled,
    )


def _bounds(
    source: Joint, value: float, pooling: Pooling, settings: dict[str, Any]
) -> tuple[float, float]:
    """Where the value of the rows lies: those of cells across an edge may be in either bin."""
    plain = {"order": 1, "form": "residual", "debias": False, "mean": "rows", "direction": "both"}
    known = {"mean": "rows", "direction": "both", **settings}
    if settings["strategy"] == "quantile" or any(known[key] != plain[key] for key in plain):
        return cell_bounds(source, value)
    slack = across_edges(source, pooling)
    return cell_bounds(source, value, max(0.0, value - slack), value + slack)


def across_edges(source: Joint, pooling: Pooling) -> float:
    """Most that the biases of bins change in all if rows of cells across an edge change bins."""
    if source.inherited_rounding > 0:
        return np.inf
    across = pooling.pool_of(source.low) != pooling.pool_of(source.high)
    ones = source.positives / source.total
    size = ones * (1 - source.low) + (source.mass - ones) * source.high
    return 2 * float(size[across].sum())


def _shares(joint: Joint, mean: str, direction: str) -> Floats:
    """How much each bin counts: 0 for those on the other side."""
    refuse_unknown("mean", mean, ("rows", "bins"))
    refuse_unknown("direction", direction, ("both", "over", "under", "high", "low"))
    share = joint.mass if mean == "rows" else np.full(len(joint), 1 / len(joint))
    if direction == "both":
        return share
    high = joint.residual < 0
    kept = high if direction in {"high", "low"} else high == (joint.prediction > 1 / 2)
    if direction in {"over", "under"}:
        kept &= joint.prediction != 1 / 2  # any rate is farther from 1/2
    return np.where(kept == (direction in {"over", "high"}), share, 0.0)


def _witness(pooling: Pooling, joint: Joint, order: float, share: Floats) -> StepWitness:
    """Find the test that attains the error, constant on each bin."""
    ends = np.append(pooling.start[1:], 2.0)
    high = np.nextafter(ends, 0.0)[pooling.occupied]
    return norm_witness(joint, order, pooling.start[pooling.occupied], high, share)


def binned_batch(
    joint: Joint,
    residual_masses: Floats,
    *,
    n_bins: int = 15,
    strategy: str | npt.ArrayLike = "uniform",
    closed: str = "left",
    order: float = 1,
) -> Floats:
    """Binned errors of residual masses (one row each) on the levels of a Joint."""
    pooling, _ = _pool(joint, n_bins, strategy, closed)
    first = np.flatnonzero(np.diff(pooling.pool_of(joint.prediction), prepend=-1))
    return exact_batch(pooling.joint, np.add.reduceat(residual_masses, first, axis=1), order=order)


def pools_of(
    joint: Joint,
    n_bins: int = 15,
    strategy: str | npt.ArrayLike = "uniform",
    closed: str = "left",
) -> Pooling:
    """Pool a Joint into the bins of the error."""
    return _pool(joint, n_bins, strategy, closed)[0]


def _pool(
    source: Joint | AnyRows, n_bins: int, strategy: str | npt.ArrayLike, closed: str
) -> tuple[Pooling, dict[str, Any]]:
    if not isinstance(strategy, str):
        pooling = bins_between(source, strategy, closed=closed)
        return pooling, {"bins": len(pooling), "strategy": "edges", "closed": closed}
    if strategy == "uniform":
        pooling = uniform_bins(source, n_bins, closed=closed)
        return pooling, {"bins": n_bins, "strategy": strategy, "closed": closed}
    if strategy == "quantile":
        joint = source if isinstance(source, Joint) else Joint.from_rows(source)
        return quantile_bins(joint, n_bins), {"bins": n_bins, "strategy": strategy}
    raise InvalidOptionError(
        "strategy must be 'uniform', 'quantile' or edges from 0 to 1", repr(strategy)
    )


def _rounded_to_middle(pooling: Pooling, form: str) -> Joint:
    refuse_unknown("form", form, ("residual", "midpoint"))
    if form == "residual":
        return pooling.joint
    middle: Floats = ((pooling.low + pooling.high) / 2)[pooling.occupied]
    to_middle: Callable[[Floats], Floats] = lambda _: middle  # noqa: E731
    return pooling.joint.apply(to_middle)


def _debiased(joint: Joint, order: float, share: Floats) -> tuple[float, dict[str, Any]]:
    """Subtract the sampling variance of the frequencies; weights count by their squares."""
    effective = joint.weight**2 / joint.weight_squares
    several = joint.rows > 1
    variance = np.zeros(len(joint))
    spread = joint.outcome * (1 - joint.outcome)
    variance[several] = spread[several] / (effective[several] - 1)
    alone = {"single_row_bins": int((~several).sum())} if not several.all() else {}
    mass = np.where(several, share, 0.0)
    if order == 2:
        squared = float(np.sum(mass * (joint.residual**2 - variance)))
        return float(np.sqrt(max(0.0, squared))), {"squared": squared, **alone}
    if order == 1:
        from scipy.special import ndtr

        gap, deviation = np.abs(joint.residual), np.sqrt(spread / effective)
        ratio = np.divide(gap, deviation, out=np.full_like(gap, np.inf), where=deviation > 0)
        # E|N(gap, deviation^2)| (Kumar, Liang, Ma 2019, appendix)
        folded = deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + gap * (
            1 - 2 * ndtr(-ratio)
        )
        return max(0.0, float(np.sum(mass * (2 * gap - folded)))), alone
    raise InvalidOptionError("debias works for order 1 and order 2", f"order {order}")
