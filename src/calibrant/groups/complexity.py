"""What calibrated predictions say in complexity theory: hardcore measures and dense models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant.data.input import read_column, refuse_other_labels
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups.indistinguishability import shares
from calibrant.joint import Rows


@dataclass(frozen=True, slots=True)
class HardcoreMeasure:
    """Where outcomes look like fair coin tosses to a family of tests."""

    measure: Floats
    """Weight of each row between 0 and 1."""
    density: float
    """Mean weight, of the rows as they are."""
    promised: float
    """2 E min(p, 1 - p): the density where the predictions are right."""
    correlations: dict[str, float]
    """E[mu c (2y - 1)] / E[mu] for each test c: a guesser's chance is 1/2 plus half of it."""

    @property
    def worst(self) -> float:
        """Largest correlation in absolute value; 0 for a measure that no test beats."""
        return max((abs(one) for one in self.correlations.values()), default=0.0)


def hardcore_measure(
    y_true: object,
    y_proba: object,
    tests: Mapping[str, object],
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> HardcoreMeasure:
    r"""Weigh rows so that outcomes are fair to every test for which predictions are calibrated.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1: the function that is hard to compute.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    tests : mapping of str to array-like of shape (n,)
        Values in [-1, 1] of the tests on the rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    HardcoreMeasure

    Notes
    -----
    mu = min(1, (1 - p)/p) for y = 1 and min(1, p/(1 - p)) for y = 0. For outcomes drawn with
    probability p both outcomes have the weight min(p, 1 - p), so the measure is perfectly balanced
    at every row and has density 2 E min(p, 1 - p). On other outcomes a test c has the correlation
    :math:`E[c\,(\mu_1 + \mu_0)(y - p)] / E \mu`, an advantage of the test c times a function of
    p: predictions that are multicalibrated for the tests leave it small. Impagliazzo's theorem
    follows: if all tests fail on a share d of the rows, the density can be 2 d, the best there
    is. Known flaw: on a sample the correlation of the best of many tests is never 0.

    References
    ----------
    Casacuberta, Dwork, Vadhan (2024), Complexity-theoretic implications of multicalibration, STOC.
    Impagliazzo (1995), Hard-core distributions for somewhat hard problems, FOCS.

    Examples
    --------
    >>> found = hardcore_measure([0, 1, 0, 1], [0.2, 0.2, 0.5, 0.5], {"first": [1, 1, 0, 0]})
    >>> found.measure
    array([0.25, 1.  , 1.  , 1.  ])
    >>> found.density
    0.8125
    """
    refuse_other_labels(y_true=y_true, y_proba=y_proba, tests=tests, sample_weight=sample_weight)
    rows, share, outcome = _binary_rows(y_true, y_proba, sample_weight, pos_label)
    p = rows.prediction
    least = np.minimum(p, 1 - p)
    chance = np.where(outcome == 1, p, 1 - p)
    # At p = 0 with outcome 1 the ratio is (1 - 0)/0: the weight is 1.
    measure = np.where(chance <= 0.5, 1.0, (1 - chance) / np.where(chance > 0.5, chance, 1.0))
    density = float(share @ measure)
    if not density:
        raise InvalidForecastsError(
            "a hardcore measure needs rows that are not certain", "predictions of 0 and 1 that hold"
        )
    balance = share * measure * (2 * outcome - 1) / density
    found = {name: float(test @ balance) for name, test in _tests(tests, p.size).items()}
    return HardcoreMeasure(measure, density, 2 * float(share @ least), found)


@dataclass(frozen=True, slots=True)
class DenseModel:
    """A smooth distribution that stands for a subset."""

    weights: Floats
    """Weight of each row; their mean is one."""
    density: float
    """Mean prediction: no row weighs more than one over it."""
    errors: dict[str, float]
    """Mean of each test on the members minus its mean under the model."""

    @property
    def worst(self) -> float:
        """Largest error in absolute value."""
        return max((abs(one) for one in self.errors.values()), default=0.0)


def dense_model(
    member: object,
    y_proba: object,
    tests: Mapping[str, object],
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> DenseModel:
    r"""Weigh all rows so that they look like the members of a subset to every test.

    Parameters
    ----------
    member : array-like of shape (n,)
        Whether each row belongs to the subset, 0 or 1.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of belonging to it.
    tests : mapping of str to array-like of shape (n,)
        Values in [-1, 1] of the tests on the rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that stands for members.

    Returns
    -------
    DenseModel

    Notes
    -----
    The model weighs rows by p / E p. A test c has the error E[c y] / E y - E[c p] / E p, two
    advantages divided by the size of the subset: predictions that are multi-accurate for the
    tests and for the constant make it small. The model is as dense as the subset in the sense
    that no weight exceeds 1 / E p: the dense model theorem, with multi-accuracy for the existence
    proof. Known flaw: for a rare subset, errors of the predictions are divided by little.

    References
    ----------
    Reingold, Trevisan, Tulsiani, Vadhan (2008), Dense subsets of pseudorandom sets, FOCS.
    Casacuberta, Dwork, Vadhan (2024), Complexity-theoretic implications of multicalibration, STOC.

    Examples
    --------
    >>> model = dense_model([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5], {"first": [1, 1, 0, 0]})
    >>> model.worst, model.density
    (0.0, 0.5)
    """
    refuse_other_labels(member=member, y_proba=y_proba, tests=tests, sample_weight=sample_weight)
    rows, share, outcome = _binary_rows(member, y_proba, sample_weight, pos_label)
    p = rows.prediction
    size, density = float(share @ outcome), float(share @ p)
    if not size or not density:
        raise InvalidForecastsError(
            "the subset must have members, and predictions above 0",
            f"a share of {size:g} and a mean prediction of {density:g}",
        )
    gap = share * (outcome / size - p / density)
    found = {name: float(test @ gap) for name, test in _tests(tests, p.size).items()}
    return DenseModel(p / density, density, found)


def _binary_rows(
    y_true: object, y_proba: object, sample_weight: object, pos_label: object
) -> tuple[Rows, Floats, Floats]:
    rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    if not np.isin(outcome, (0, 1)).all():
        raise InvalidForecastsError("outcomes must be 0 or 1 here", "mean outcomes")
    return rows, shares(rows), outcome


def _tests(tests: object, size: int) -> dict[str, Floats]:
    if not isinstance(tests, Mapping):
        raise InvalidOptionError("tests must be a mapping of names to values", shown(tests))
    found = {}
    for name, values in tests.items():
        test = np.asarray(read_column(values, name, size), dtype=np.float64)
        if not (np.abs(test) <= 1).all():
            raise InvalidOptionError(
                f"the test {name!r} must be in [-1, 1]", f"from {test.min():g} to {test.max():g}"
            )
        found[name] = test
    return found
