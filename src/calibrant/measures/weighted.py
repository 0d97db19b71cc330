"""Weighted calibration error: the largest bias that a family of tests can find."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.measurement import Measurement, as_joint, cell_bounds, rounding_settings
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.measures.witness import Witness


class Family(Protocol):
    """What the weighted calibration error asks of a family of tests."""

    def best_test(self, joint: Joint) -> tuple[float, Witness]:
        """Return the largest absolute bias over the tests, and the test that attains it."""
        ...


class MeasuredFamily:
    """A family whose largest bias is a measure with bounds of its own."""

    __slots__ = ()

    def measured(self, joint: Joint) -> Measurement:
        """Return that measure."""
        raise NotImplementedError

    def best_test(self, joint: Joint) -> tuple[float, Witness]:
        """Return the largest absolute bias over the tests, and the test that attains it."""
        value = self.measured(joint)
        return float(value), value.witness


@dataclass(frozen=True, slots=True)
class Lipschitz(MeasuredFamily):
    """Tests with values in [-1, 1] and bounded slope: the smooth calibration error."""

    interval: ClassVar[bool] = True

    constant: float = 1.0

    def measured(self, joint: Joint) -> Measurement:
        """Solve the flow on a path."""
        return smooth_calibration_error(joint, lipschitz=self.constant)


def weighted_calibration_error(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    family: Family | None = None,
) -> Measurement:
    r"""Largest bias that a test from a family finds: the mother of all these measures.

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
    family : Family, default=Lipschitz(1.0)
        An object with `best_test(joint) -> (value, witness)`; see `calibrant.weight_functions`.

    Returns
    -------
    Measurement
        Its properties are those of the family. Of predictions rounded to cells, `.bounds` are
        infinite for families that are no measure of their own.

    Notes
    -----
    :math:`\sup_{w \in W} |E[w(p)(y - p)]|`. Known flaw: a family sees only what its tests see; a
    small value for a poor family promises little.

    References
    ----------
    Gopalan, Hu (2025), Calibration through the lens of indistinguishability, Definition 3.1.

    Examples
    --------
    >>> from calibrant.weight_functions import Dictionary
    >>> weighted_calibration_error(
    ...     [0, 1, 1, 1], [0.2, 0.4, 0.6, 0.8], family=Dictionary([lambda p: p > 0.5])
    ... )
    0.15
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    tests = _family(family)
    if isinstance(tests, MeasuredFamily):
        found = tests.measured(joint)
        value, witness, bounds = float(found), found.witness, found.bounds
    else:
        value, witness = tests.best_test(joint)
        bounds = cell_bounds(joint, value, -np.inf, np.inf)
    return Measurement(
        value,
        "weighted_calibration_error",
        {"family": repr(tests), **rounding_settings(joint)},
        partial(_same, witness),
        bounds=bounds,
    )


def weighted_batch(
    joint: Joint, residual_masses: Floats, *, family: Family | None = None
) -> Floats:
    """Weighted errors of residual masses (one row each) on the levels of a Joint."""
    tests = _family(family)
    positives = residual_masses * joint.total + joint.weight * joint.prediction
    return np.array([tests.best_test(joint.with_positives(row))[0] for row in positives])


def _same(witness: Witness) -> Witness:
    return witness


def _family(family: Any) -> Family:
    """Return a family of tests, the Lipschitz ones if none is named."""
    tests = Lipschitz() if family is None else family
    if not callable(getattr(tests, "best_test", None)):
        raise InvalidOptionError("family must be one of calibrant.weight_functions", shown(family))
    return tests
