"""One prediction for every loss, and for every population: what calibrated groups promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import check_share
from calibrant.data.input import read_column, refuse_other_labels
from calibrant.data.rows import predictions_alone
from calibrant.decisions import envelope_of
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups.indistinguishability import Advantage, distinguisher_advantage, shares
from calibrant.joint import Rows

Loss = Callable[[Floats, Floats], Floats]
"""l(outcome, action), for arrays of both."""

ACTIONS = np.linspace(0, 1, 1001)
# Actions whose expected losses differ by less than this share of their range tie.
TIE = 1e-12


def squared_loss(outcome: Floats, action: Floats) -> Floats:
    """Squared distance, for which the mean is best."""
    return np.asarray((outcome - action) ** 2)


def absolute_loss(outcome: Floats, action: Floats) -> Floats:
    """Distance, for which the median is best."""
    return np.asarray(np.abs(outcome - action))


def quantile_loss(level: float) -> Loss:
    """Return the pinball loss, for which the quantile of a level is best.

    Examples
    --------
    >>> quantile_loss(0.8)(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    array([0.8, 0.2])
    """
    check_share("level", level)

    def loss(outcome: Floats, action: Floats) -> Floats:
        above = outcome - action
        return np.maximum(level * above, (level - 1) * above)

    return loss


def asymmetric_loss(over: float, under: float) -> Loss:
    """Return a squared loss that weighs actions above the outcome and below it differently."""
    if not (over >= 0 and under >= 0):
        raise InvalidOptionError("over and under must not be negative", f"{over}, {under}")

    def loss(outcome: Floats, action: Floats) -> Floats:
        return np.where(action > outcome, over, under) * (outcome - action) ** 2

    return loss


def omnipredict(y_proba: object, loss: Loss, actions: object = None) -> Floats:
    r"""Best action for a loss at each prediction: the same predictions serve every loss.

    Parameters
    ----------
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    loss : callable
        l(y, t) for arrays of outcomes and actions; for instance `squared_loss`,
        `quantile_loss(0.9)`, or your own.
    actions : array-like, optional
        Actions to choose from; by default 0, 0.001, ..., 1.

    Returns
    -------
    array of shape (n,)
        :math:`\arg\min_t p\,l(1, t) + (1 - p)\,l(0, t)`; of equal ones the first.

    References
    ----------
    Gopalan, Kalai, Reingold, Sharan, Wieder (2022), Omnipredictors, ITCS.

    Examples
    --------
    >>> omnipredict([0.3, 0.7], squared_loss)
    array([0.3, 0.7])
    >>> omnipredict([0.3, 0.7], absolute_loss)
    array([0., 1.])
    >>> omnipredict([0.3, 0.7], quantile_loss(0.8))
    array([1., 1.])
    """
    return _responses(predictions_alone(y_proba), loss, _grid(actions))


@dataclass(frozen=True, slots=True)
class OmniGap:
    """One loss and one comparator."""

    loss: str
    comparator: str
    own: float
    """Mean loss of acting on the predictions."""
    other: float
    """Mean loss of the comparator."""
    bound: float
    """What the gap can be at most, from distinguishing advantages."""

    @property
    def gap(self) -> float:
        """How much more the predictions lose; negative if they lose less."""
        return self.own - self.other


@dataclass(frozen=True, slots=True)
class OmniCertificate:
    """A bound on the gap to the best comparator, for every loss."""

    gaps: tuple[OmniGap, ...]

    @property
    def bound(self) -> float:
        """Largest of the bounds."""
        return max(gap.bound for gap in self.gaps)

    @property
    def gap(self) -> float:
        """Largest gap."""
        return max(gap.gap for gap in self.gaps)

    @property
    def worst(self) -> OmniGap:
        """The loss and comparator with the largest gap."""
        return max(self.gaps, key=lambda gap: gap.gap)

    def __str__(self) -> str:
        worst = self.worst
        return (
            f"acting on the predictions loses at most {max(0.0, self.bound):.4g} more than any of "
            f"the comparators; the largest gap is {worst.gap:.4g} ({worst.loss} loss against "
            f"{worst.comparator})"
        )


def omniprediction_certificate(
    y_true: object,
    y_proba: object,
    losses: Mapping[str, Loss],
    comparators: Mapping[str, object],
    *,
    actions: object = None,
    sample_weight: object = None,
    pos_label: object = None,
) -> OmniCertificate:
    r"""Bound what acting on predictions loses against any comparator, for any of some losses.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    losses : mapping of str to callable
        Losses l(y, t).
    comparators : mapping of str to array-like of shape (n,)
        What other rules, such as models trained for one loss, would do on each row.
    actions : array-like, optional
        Actions to choose from; by default 0, 0.001, ..., 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    OmniCertificate

    Notes
    -----
    With k the best action for the prediction and :math:`\tilde y` drawn from it, the gap
    :math:`E\,l(y, k) - E\,l(y, c)` is :math:`[E\,l(y, k) - E\,l(\tilde y, k)] + [E\,l(\tilde y, k)
    - E\,l(\tilde y, c)] + [E\,l(\tilde y, c) - E\,l(y, c)]`. The middle term is not positive,
    because k is best for :math:`\tilde y` (up to the grid of actions; what the grid misses is
    added). So the sum of two distinguishing advantages bounds the gap: calibration makes the
    first small, multi-accuracy for l(1, c) - l(0, c) the second. No constant is taken on trust,
    and both advantages are those of the sample.

    References
    ----------
    Gopalan, Hu, Kim, Reingold, Wieder (2023), Loss minimization through the lens of outcome
    indistinguishability, ITCS.

    Examples
    --------
    >>> certificate = omniprediction_certificate(
    ...     [0, 1, 1, 1], [0.2, 0.8, 0.8, 0.8], {"squared": squared_loss}, {"mean": [0.75] * 4}
    ... )
    >>> certificate.gap <= certificate.bound
    True
    """
    if not losses or not comparators:
        raise InvalidForecastsError("there must be at least one loss and one comparator", "none")
    refuse_other_labels(
        y_true=y_true, y_proba=y_proba, comparators=comparators, sample_weight=sample_weight
    )
    rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
    size, grid = rows.prediction.size, _grid(actions)
    others = {
        name: np.asarray(read_column(values, name, size), dtype=np.float64)
        for name, values in comparators.items()
    }
    found = []
    for loss_name, loss in losses.items():
        own = _advantage(rows, loss, _responses(rows.prediction, loss, grid))
        for name, action in others.items():
            other = _advantage(rows, loss, action)
            missed = max(0.0, own.simulated - other.simulated)
            bound = own.value + other.value + missed
            found.append(OmniGap(loss_name, name, own.real, other.real, bound))
    return OmniCertificate(tuple(found))


@dataclass(frozen=True, slots=True)
class TransferBias:
    """What the mean prediction misses in another population."""

    value: float
    """Mean outcome minus mean prediction there."""
    standard_error: float
    mean_prediction: float
    mean_outcome: float
    """What outcomes here say about those there."""

    def __float__(self) -> float:
        return self.value


def transfer_bias(
    y_true: object,
    y_proba: object,
    weights: object,
    *,
    pos_label: object = None,
) -> TransferBias:
    r"""Bias of the mean prediction in a population with other features (covariate shift).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes here.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    weights : array-like of shape (n,)
        How much more frequent rows like this one are there than here, up to a factor.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    TransferBias

    Notes
    -----
    If the chance of the outcome given the features is the same in both populations, then
    :math:`E_t[y] - E_t[p] = E_s[w (y - p)] / E_s[w]`: predictions that are multi-accurate for the
    weights have the right mean everywhere. Nothing here can check the assumption.

    References
    ----------
    Kim, Kern, Goldwasser, Kreuter, Reingold (2022), Universal adaptability, PNAS 119.

    Examples
    --------
    >>> bias = transfer_bias([0, 1, 0, 1], [0.5, 0.5, 0.25, 0.25], [1, 1, 3, 3])
    >>> round(bias.value, 4), bias.mean_prediction
    (0.1875, 0.3125)
    """
    refuse_other_labels(y_true=y_true, y_proba=y_proba, weights=weights)
    rows = Rows.read(y_true, y_proba, weights, pos_label)
    share = shares(rows)
    value = float(share @ (rows.outcome - rows.prediction))
    deviation = share * (rows.outcome - rows.prediction - value)
    return TransferBias(
        value,
        float(np.sqrt(deviation @ deviation)),
        float(share @ rows.prediction),
        float(share @ rows.outcome),
    )


def _advantage(rows: Rows, loss: Loss, action: Floats) -> Advantage:
    return distinguisher_advantage(
        lambda chosen, outcome, _: loss(outcome, chosen),
        rows.outcome,
        rows.prediction,
        action,
        sample_weight=rows.weight,
    )


def _grid(actions: object) -> Floats:
    grid = ACTIONS if actions is None else np.asarray(actions, dtype=np.float64)
    if grid.ndim != 1 or not grid.size or not np.isfinite(grid).all():
        raise InvalidOptionError("actions must be a list of finite numbers", f"shape {grid.shape}")
    return grid


def _responses(prediction: Floats, loss: Loss, actions: Floats) -> Floats:
    """Find best actions by the envelope of their expected losses, lines in the prediction."""
    table = np.stack([loss(np.full(actions.size, o), actions) for o in (0.0, 1.0)], axis=1)
    if table.shape != (actions.size, 2) or not np.isfinite(table).all():
        raise InvalidOptionError("a loss must give one finite number per action", f"{table.shape}")
    best: npt.NDArray[np.intp] = envelope_of(-table, TIE)[0].best(prediction, "first")
    return np.asarray(actions[best])
