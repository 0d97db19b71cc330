"""Could perfect forecasts of classes have scored this? Labels simulated from the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from itertools import chain
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import as_generator, check_draws, measured, shown
from calibrant.errors import InvalidOptionError
from calibrant.inference import CalibrationTest, Statistic
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.measures.subsets import best_found, exact_columns, gray_walk, in_levels
from calibrant.multiclass.canonical import (
    canonical_calibration_error,
    find_kernel,
    residual_mass_of,
)
from calibrant.multiclass.projected import projected_smooth_calibration_error, tries_all
from calibrant.multiclass.redraws import redraws
from calibrant.multiclass.rkhs import LaplaceClassKernel

ClassMeasure = Callable[..., float]

# Up to so many rows simulations use all pairs; beyond that random features, the same for all: as
# many as keep their table below so many numbers, within limits.
MOST_PAIRED = 2**10
FEWEST_FEATURES, MOST_FEATURES, FEATURE_NUMBERS = 2**5, 2**8, 2**22
# Subsets are rounded to so many cells, in the statistic as in the redraws.
CELLS = 2**10


def calibration_test(
    y_true: object,
    y_proba: object = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
    measure: ClassMeasure = canonical_calibration_error,
    draws: int = 199,
    rng: np.random.Generator | int | None = None,
) -> CalibrationTest:
    """Compare a measure of class forecasts with its values on labels simulated from the rows.

    Parameters
    ----------
    y_true : ClassForecasts, or array-like of shape (n,)
        Forecasts read before, or the labels.
    y_proba : array-like or frame of shape (n, K), optional
        Probabilities of the classes.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. They change the value, not the amount of evidence.
    logits : bool, default=False
        Take `y_proba` for scores before a softmax.
    measure : callable, default=canonical_calibration_error
        A measure of this module, with options through `functools.partial`, or any function of
        ClassForecasts; for a view, compose: `lambda f: cal.smooth_calibration_error(f.top_k(3))`.
    draws : int, default=199
        Number of simulations. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    CalibrationTest
        With `.statistic`, `.noise_floor`, `.pvalue` and `.excess`.

    Notes
    -----
    The null hypothesis is that labels are independent draws from their rows: canonical
    calibration, which implies every other notion. The p-value is then exact for any measure:
    statistic and simulations are computed alike. For more than 1024 rows the kernel error of the
    test uses random features, the same for all: 256 of them, from 16 384 rows on fewer and fewer
    down to 32. Subsets of more rows than cells are rounded to 1024 cells.

    Examples
    --------
    >>> probabilities, labels = [[0.5, 0.25, 0.25]] * 40, [0] * 34 + [1] * 3 + [2] * 3
    >>> result = calibration_test(labels, probabilities, rng=0)
    >>> result.statistic, round(result.noise_floor, 3), result.pvalue
    (0.3031, 0.082, 0.005)
    """
    check_draws(draws)
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    generator = as_generator(rng)
    function, options = _parts(measure)
    name = getattr(function, "__name__", "measure")
    labels = chain([forecasts.label], redraws(forecasts, draws, generator))
    cells = None
    if function is canonical_calibration_error:
        scores: Iterable[float] = map(_kernel_score(forecasts, options, generator), labels)
    elif function is not projected_smooth_calibration_error:
        scores = map(partial(_score, measure, forecasts), labels)
    else:
        signature(function).bind(forecasts, **options)  # refuses options that do not exist
        scores, cells = _worst_sets(forecasts, labels, options)
    statistic, *null = scores
    return CalibrationTest(name, statistic, np.sort(null), exact=True, cells=cells)


def _parts(measure: ClassMeasure) -> tuple[ClassMeasure, Mapping[str, Any]]:
    if isinstance(measure, partial) and not measure.args:
        return measure.func, measure.keywords
    if not callable(measure):
        raise InvalidOptionError("@measure must be a function of ClassForecasts", shown(measure))
    return measure, {}


def _score(measure: ClassMeasure, forecasts: ClassForecasts, label: Indices) -> float:
    return measured(measure(forecasts.relabelled(label)))


def _worst_sets(
    forecasts: ClassForecasts, labels: Iterable[Indices], options: Mapping[str, Any]
) -> tuple[Iterable[float], int | None]:
    """Errors of the worst set of classes, and the cells that chances were rounded to."""
    if not tries_all(len(forecasts.classes), options.get("search", "auto")):
        return (value for _, value in best_found(forecasts, labels)), None
    cells = options.get("resolution", CELLS if len(forecasts) > CELLS else None)
    if cells is not None:
        return worst_in_cells(forecasts, list(labels), cells).tolist(), cells
    return map(partial(_score, projected_smooth_calibration_error, forecasts), labels), None


def worst_in_cells(forecasts: ClassForecasts, labels: Sequence[Indices], resolution: int) -> Floats:
    """Error of the worst subset in cells for each series of labels, all subsets tried."""
    statistic = Statistic.of(smooth_calibration_error)

    def weighed(hit: Floats) -> Floats:
        return hit if forecasts.weight is None else hit * forecasts.weight

    worst = np.zeros(len(labels))
    for _, member, chance in gray_walk(exact_columns(forecasts), 0, len(forecasts.classes) - 1):
        cells, level = in_levels(chance, forecasts.weight, resolution)
        hits = member.astype(np.float64)
        happened = [np.bincount(level, weighed(hits[label]), len(cells)) for label in labels]
        residual_masses = (np.array(happened) - cells.weight * cells.prediction) / cells.total
        np.maximum(worst, statistic.values(cells, residual_masses), out=worst)
    return worst


def _kernel_score(
    forecasts: ClassForecasts, options: Mapping[str, Any], rng: np.random.Generator
) -> Callable[[Indices], float]:
    """Kernel error as a function of the labels, with everything else prepared."""
    known = {"kernel": "laplace", "bandwidth": 1.0, "degree": 3}
    kernel, _ = find_kernel(**{key: options.get(key, value) for key, value in known.items()})
    if set(options) - set(known) or not isinstance(kernel, LaplaceClassKernel):
        return partial(_score, partial(canonical_calibration_error, **options), forecasts)
    table, count = forecasts.probability, len(forecasts.classes)
    if len(forecasts) <= MOST_PAIRED:
        pairs = kernel.pairs(table, table)

        def by_pairs(label: Indices) -> float:
            residual_mass = residual_mass_of(forecasts.relabelled(label))
            return float(
                np.sqrt(max(0.0, float(np.vdot(residual_mass, pairs @ residual_mass)) / 2))
            )

        return by_pairs
    fitting = FEATURE_NUMBERS // len(forecasts)
    features = int(np.clip(fitting, FEWEST_FEATURES, MOST_FEATURES))
    angle = table @ kernel.frequencies(features, count, rng)
    feature = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) * np.sqrt(1 / features)
    feature *= forecasts.mass[:, np.newaxis]
    expected = table.T @ feature

    def by_features(label: Indices) -> float:
        return float(np.linalg.norm(_sums(label, feature, count) - expected) / np.sqrt(2))

    return by_features


def _sums(label: Indices, feature: Floats, count: int) -> Floats:
    """Add up rows of features by label."""
    from scipy.sparse import csr_array

    ends = np.append(0, np.bincount(label, minlength=count).cumsum())
    order = np.argsort(label, kind="stable")
    chosen = csr_array((np.ones(label.size), order, ends), shape=(count, label.size))
    return np.asarray(chosen @ feature)
