"""Projected smooth calibration error: the smooth error of the worst set of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

import calibrant._kernels as kernels
from calibrant._base.arrays import Indices
from calibrant._base.options import (
    MOST_DRAWS,
    MOST_THREADS,
    as_generator,
    power_of_two,
    refuse_unknown,
    whole,
)
from calibrant.errors import InvalidOptionError
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.measurement import Measurement
from calibrant.measures.regions import region_sentence
from calibrant.measures.subsets import MOST_TRIED, best_found, best_of_all, found_in_cells
from calibrant.measures.witness import LinearWitness
from calibrant.multiclass.redraws import redraws

# A searched value is shown beside the mean of so many searches on redrawn labels.
FLOOR_DRAWS = 5
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class SubsetWitness(LinearWitness):
    """The best test of the chance of "one of these classes".

    As a function, and in `advantage`, it takes that chance and the Joint of that subset.
    """

    classes: tuple[Any, ...]
    """The subset that is most clearly off."""


def projected_smooth_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    logits: bool = False,
    search: str = "auto",
    resolution: int | None = None,
    threads: int = 1,
    floor_draws: int = FLOOR_DRAWS,
    rng: np.random.Generator | int | None = 0,
) -> Measurement:
    r"""Smooth error of the worst yes-or-no question "is it one of these classes?".

    Smaller is better. Every subset of classes is a binary forecast; the value bounds the smooth
    error of all of them at once, so also of each class and of each class's complement.

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
    search : {"auto", "all", "greedy"}, default="auto"
        Try all subsets, which takes 2^(K-1) - 1 of them, or improve some step by step. By default
        all up to 12 classes.
    resolution : int, optional
        Round the chances of every subset to so many cells, a power of two, to save time: the
        value is then that of rounded chances, and `.bounds` say how far it can be off.
        At most 2**20.
    threads : int, default=1
        Threads that share the subsets.
    floor_draws : int, default=5
        When subsets are searched, how often labels are simulated to find what the same search gets
        from perfect forecasts; 0 for never. At most 10**6.
    rng : numpy.random.Generator or int, default=0
        Source of the simulations.

    Returns
    -------
    Measurement
        In [0, 1]. The witness names the worst subset (`.witness.classes`). A searched value is a
        lower bound: `.bounds` claim nothing above it but 1, and the setting `noise_floor` is the
        mean value of perfect forecasts, of which a search among many subsets finds plenty.

    Notes
    -----
    :math:`\max_T \mathrm{smCE}(p_T, 1[y \in T])` with :math:`p_T = \sum_{k \in T} p_k`. A set and
    its complement have the same error. All subsets are first bounded from cells with a certified
    error; only those that could be the worst are solved exactly. Known flaw: one question at a
    time is asked; canonical calibration asks for more, and no method can check it with few rows.

    References
    ----------
    Gopalan, Hu, Rothblum (2024), On computationally efficient multi-class calibration, COLT.

    Examples
    --------
    >>> error = projected_smooth_calibration_error([0, 2], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    >>> error
    0.3
    >>> error.witness.classes
    (1,)
    >>> print(error)
    projected smooth calibration error 0.3 (subsets all 3): the chance of class 1: forecasts of
    0.30 are too high (mean forecast 0.30, observed rate 0, 2 rows)
    """
    forecasts = as_forecasts(y_true, y_proba, classes, sample_weight, logits=logits)
    whole("threads", threads, 1, MOST_THREADS)
    whole("floor_draws", floor_draws, 0, MOST_DRAWS)
    count = len(forecasts.classes)
    everything = tries_all(count, search)
    if everything and count > 20:
        raise InvalidOptionError(
            "all subsets can be tried of at most 20 classes", f"{count}", "use search='greedy'"
        )
    generator = as_generator(rng)
    others: list[tuple[Indices, float]] = []
    if resolution is not None:
        power_of_two(resolution)
    if everything and resolution is None:
        members, value = best_of_all(forecasts, threads)
        bounds = (value, value)
    elif everything:
        members, value, error = found_in_cells(forecasts, resolution or 1, threads)
        bounds = (max(0.0, value - error), value + error)
    else:
        redrawn = redraws(forecasts, floor_draws, generator)
        (members, value), *others = best_found(forecasts, chain([forecasts.label], redrawn))
        bounds = (value, 1.0)
    settings: dict[str, object] = {
        "subsets": f"all {2 ** (count - 1) - 1}" if everything else "searched"
    }
    if resolution is not None and everything:
        settings["cells"] = resolution
    if forecasts.clipped:
        settings["clipped"] = forecasts.clipped
    if others:
        settings["noise_floor"] = float(np.mean([other for _, other in others]))
    return Measurement(
        value,
        "projected_smooth_calibration_error",
        settings,
        partial(_witness, forecasts, members),
        bounds=bounds,
    )


def tries_all(classes: int, search: str) -> bool:
    """Whether all subsets of so many classes are tried."""
    refuse_unknown("search", search, ("auto", "all", "greedy"))
    return search == "all" or (search == "auto" and classes <= MOST_TRIED)


def _witness(forecasts: ClassForecasts, members: Indices) -> SubsetWitness:
    names = tuple(forecasts.classes[index] for index in members)
    joint = forecasts.subset(names)
    test = kernels.smooth_witness(joint.prediction, joint.weight, joint.positives, 1.0)
    sentence = f"the chance of {subset_text(names)}: {region_sentence(joint, test)}"
    return SubsetWitness(joint.prediction, test, sentence, names)


def subset_text(names: Sequence[Any]) -> str:
    """Name a set of classes."""
    if len(names) == 1:
        return f"class {names[0]}"
    shown = ", ".join(map(str, names[:MOST_NAMED]))
    more = len(names) - MOST_NAMED
    return f"classes {shown}" + (f" and {more} more" if more > 0 else "")
