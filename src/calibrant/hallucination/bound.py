"""Calibrated models must make up facts: miscalibration of a generator, and the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import check_share, check_within, real
from calibrant.data.input import read_numbers, refuse_other_labels
from calibrant.errors import InvalidForecastsError, InvalidOptionError, mention
from calibrant.hallucination.facts import MonofactRate

# Masses may miss one by rounding.
ROUNDING = 1e-6
# Chances of statements that differ by less than this share are the same.
SAME = 1e-9


def generative_miscalibration(
    model_mass: object, true_mass: object, *, size: object = None, ratio: float | None = None
) -> float:
    r"""How far a generator is from calibrated: what it says at a given chance is so often true.

    Parameters
    ----------
    model_mass : array-like of shape (k,)
        Chance that the model generates each statement; all add up to one.
    true_mass : array-like of shape (k,)
        Share of each statement in the truth; all add up to one. Shares in fresh documents will
        do: their noise makes the result too large on average.
    size : array-like of shape (k,), optional
        How many equally likely statements an entry stands for, such as all that were not seen;
        masses are then those of the entry.
    ratio : float, optional
        Put statements whose chances are within such a factor, counted in powers of it from 1, in
        one bin; by default only those of equal chance.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    :math:`\frac12 \sum_B |g(B) - p(B)|` over bins B of statements to which the model g gives the
    same chance (level sets), or one within a factor. `hallucination_bound` is proved for level
    sets. Wider bins give smaller values: a description, not covered by the proof.

    References
    ----------
    Kalai, Vempala (2024), Calibrated language models must hallucinate, STOC.

    Examples
    --------
    A model that gives half of its mass to two statements, of which one is true:

    >>> round(generative_miscalibration([0.25, 0.25, 0.5], [0.5, 0.0, 0.5]), 12)
    0.0
    >>> generative_miscalibration([0.3, 0.2, 0.5], [0.5, 0.0, 0.5])
    0.2
    """
    refuse_other_labels(model_mass=model_mass, true_mass=true_mass, size=size)
    model, truth = (
        _masses(values, name)
        for name, values in (("model_mass", model_mass), ("true_mass", true_mass))
    )
    sizes = np.ones(model.size) if size is None else read_numbers(size, "size")
    if not model.size == truth.size == sizes.size:
        raise InvalidForecastsError(
            "there must be one mass of each kind for each statement",
            f"{model.size}, {truth.size} and {sizes.size}",
        )
    if not (sizes >= 1).all():
        raise InvalidForecastsError("size must be at least 1", f"{sizes.min():g}")
    bins = _bins(model / sizes, ratio)
    gap = np.bincount(bins, model - truth)
    return float(np.abs(gap).sum() / 2)


def _bins(chance: Floats, ratio: float | None) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the number of the bin of each statement."""
    if ratio is None:
        order = np.argsort(chance, kind="stable")
        steps = np.diff(chance[order]) > SAME * chance[order][1:]
        bins = np.empty(chance.size, dtype=np.intp)
        bins[order] = np.concatenate([[0], np.cumsum(steps)])
        return bins
    if not 1 < real("ratio", ratio) < math.inf:
        raise InvalidOptionError("ratio must be above 1", repr(ratio))
    power = np.full(chance.size, -1.0)
    positive = chance > 0
    power[positive] = np.floor(-np.log(chance[positive]) / math.log(ratio) + ROUNDING)
    return np.asarray(np.unique(power, return_inverse=True)[1], dtype=np.intp)


def _masses(values: object, name: str) -> Floats:
    masses = read_numbers(values, name)
    if not (masses >= 0).all() or abs(masses.sum() - 1) > ROUNDING:
        raise InvalidForecastsError(
            f"{mention(name)} must be at least 0 and add up to one", f"a sum of {masses.sum():g}"
        )
    return masses


@dataclass(frozen=True, slots=True)
class HallucinationBound:
    """A lower bound on how often a model states what is false, and what it is made of."""

    monofacts: float
    """Share of documents whose fact no other has ..."""
    miscalibration: float
    """... less how far the model is from calibrated ..."""
    truths: float
    """... less what unseen statements that are true may account for ..."""
    sampling: float
    """... less what the sample of documents may be off by."""
    confidence: float
    method: str = "worst-case"
    """How the last was made: "worst-case", or "normal" for an approximation."""

    @property
    def value(self) -> float:
        """The bound; says nothing if it is not positive."""
        return self.monofacts - self.miscalibration - self.truths - self.sampling

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        parts = (
            f"{self.monofacts:.3g} of facts seen once, less {self.miscalibration:.3g} of "
            f"miscalibration, {self.truths:.3g} of true statements, {self.sampling:.3g} of sampling"
        )
        if self.method == "normal":
            parts += " (normal approximation)"
        if self.value <= 0:
            return f"no bound: {parts}"
        return f"at least {100 * self.value:.3g} % of what the model states is false: {parts}"


def hallucination_bound(
    rate: MonofactRate,
    miscalibration: float,
    *,
    true_statements: float,
    unseen_statements: float,
    confidence: float = 0.95,
) -> HallucinationBound:
    r"""Bound from below how often a model must state falsehoods, given facts that follow no rule.

    Parameters
    ----------
    rate : MonofactRate
        Of the documents that the model was trained on, from `monofact_rate`. With method="normal"
        the sampling term is a normal approximation, at least three times smaller
        for 1600 documents or more.
    miscalibration : float
        From `generative_miscalibration`, over level sets.
    true_statements : float
        At most so many statements of this kind are true: people, say, each with one birthday.
    unseen_statements : float
        At least so many statements of this kind are possible and were not seen: people times days.
    confidence : float, default=0.95
        Chance with which the bound holds.

    Returns
    -------
    HallucinationBound

    Notes
    -----
    **Assumptions.** Each document states one fact, documents are independent draws, and all facts
    in them are true. Facts follow no rule (regularity): given the documents, every statement
    unseen is equally likely to be true, and has the same expected mass. The model sees the
    documents and nothing else. Models that know more, or facts that can be derived, are not bound.

    **Proof.** Let g be the model, p the truth, O the statements seen, U those not seen, F the true
    ones, and B the sets of statements to which g gives equal chances. Then
    :math:`g(B \cap U) = g(B) u_B` with :math:`u_B = |B \cap U| / |B|`, so that

    .. math:: g(U) - p(U) = \sum_B (g(B) - p(B)) u_B + \sum_B p(B \cap O) u_B
              - \sum_B p(B \cap U) (1 - u_B).

    The first sum is at least minus the miscalibration, because the differences add up to 0; the
    second is not negative. All of O is true, so the model is wrong with chance
    :math:`g(U) - g(U \cap F) \ge p(U) - Mis - R`, where
    :math:`R = \sum_B p(B \cap U) |B \cap O| / |B| + g(U \cap F)`. By regularity
    :math:`E[p(B \cap U)] = p(U) |B \cap U| / |U|` and
    :math:`E[g(U \cap F)] = g(U) |U \cap F| / |U|`, hence
    :math:`E R \le (|O| + |U \cap F|) / |U| = |F| / |U|`, and with d = 1 - confidence R is at
    most :math:`3 |F| / (d |U|)` but for a chance of d/3 (Markov). By the two tails in
    `monofact_rate`, p(U) is at least :math:`N_1/n - 1/n - (1 + e^{-1/2}) \sqrt{2 \ln(3/d)/n}` but
    for a chance of 2d/3. For a rate with method="normal" the lower end of that interval takes
    its place, one-sided, with a chance of about 2d/3: simulated, not proved.

    The bound has the form of Kalai and Vempala's, with constants of its own. Measured
    miscalibration is taken as it is; what it may be off by is not in the confidence.

    References
    ----------
    Kalai, Vempala (2024), Calibrated language models must hallucinate, STOC.

    Examples
    --------
    >>> from calibrant.hallucination import monofact_rate
    >>> rate = monofact_rate(counts=[1] * 4000 + [2] * 1500 + [30] * 100)
    >>> bound = hallucination_bound(
    ...     rate, 0.05, true_statements=20_000, unseen_statements=365 * 20_000
    ... )
    >>> print(bound)
    at least 14 % of what the model states is false: 0.4 of facts seen once, ...
    >>> rate = monofact_rate(counts=[1] * 4000 + [2] * 1500 + [30] * 100, method="normal")
    >>> print(hallucination_bound(
    ...     rate, 0.05, true_statements=20_000, unseen_statements=365 * 20_000
    ... ))
    at least 17.2 % of what the model states is false: 0.4 of facts seen once, ...
    """
    check_share("confidence", confidence)
    check_within("miscalibration", miscalibration)
    if not isinstance(rate, MonofactRate):
        raise InvalidOptionError(
            "rate must come from monofact_rate", type(rate).__name__, "it knows how many documents"
        )
    true, unseen = (
        real("true_statements", true_statements),
        real("unseen_statements", unseen_statements),
    )
    if not 0 <= true < math.inf or not unseen >= 1:
        raise InvalidOptionError(
            "true_statements must be at least 0 and unseen_statements at least 1",
            f"{true:g} and {unseen:g}",
        )
    failure = 1 - confidence
    sampling, _ = rate.margins(2 * failure / 3)
    truths = 3 * true / (failure * unseen)
    parts = rate.value, float(miscalibration), truths, sampling
    return HallucinationBound(*parts, confidence, rate.method)
