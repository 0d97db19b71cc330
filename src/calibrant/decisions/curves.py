"""Losses by threshold: the decision loss curve, Murphy curves, net benefit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import calibrant._kernels as kernels
from calibrant._base.arrays import Floats
from calibrant._base.notebook import brief
from calibrant._base.options import check_within, refuse_unknown
from calibrant.data.input import read_numbers
from calibrant.decisions.recalibrated_joint import AnyPooling, recalibrated_joint, warn_of_levels
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.measurement import as_joint

TIE_RULES = ("worst", "best", "act", "wait", "half")


@dataclass(frozen=True, slots=True)
class Curve:
    """A loss by threshold: linear between some thresholds, with jumps at predictions.

    Call it with thresholds to read it off. At a threshold that equals a prediction the loss
    depends on whether forecasts on the threshold act.
    """

    threshold: Floats
    """Where it bends or jumps, ascending from 0 to 1."""
    loss: Floats
    """Loss there when forecasts on the threshold act: the limit from the left."""
    loss_right: Floats
    """Loss there when they wait: the limit from the right."""
    name: str
    """What it shows."""

    def __repr__(self) -> str:
        return brief(self)

    def __call__(self, threshold: object, ties: str = "worst") -> Floats:
        """Read off the loss at thresholds.

        Parameters
        ----------
        threshold : float or array-like
            Thresholds in [0, 1].
        ties : {"worst", "best", "act", "wait", "half"}, default="worst"
            What forecasts on the threshold do: the larger or the smaller loss of both, as named, or
            half of them each.
        """
        at = np.asarray(threshold, dtype=np.float64)
        if not ((at >= 0) & (at <= 1)).all():
            raise InvalidOptionError("thresholds must be in [0, 1]", f"{threshold}")
        refuse_unknown("ties", ties, TIE_RULES)
        left, right = self._limits(at)
        if ties in {"worst", "best"}:
            return np.maximum(left, right) if ties == "worst" else np.minimum(left, right)
        if ties == "half":
            return np.asarray((left + right) / 2)
        return left if ties == "act" else right

    def _limits(self, at: Floats) -> tuple[Floats, Floats]:
        after = np.searchsorted(self.threshold, at)
        on_knot = self.threshold[after] == at
        before = np.maximum(after - 1, 0)
        start, end = self.threshold[before], self.threshold[after]
        width = np.where(end > start, end - start, 1.0)
        share = (at - start) / width
        between = self.loss_right[before] * (1 - share) + self.loss[after] * share
        return (
            np.where(on_knot, self.loss[after], between),
            np.where(on_knot, self.loss_right[after], between),
        )

    def cost(self, *, false_positive: float, false_negative: float, ties: str = "worst") -> float:
        """Read off a decision loss curve what forecasts cost per row, from the two costs.

        (c0 + c1)/2 times the curve at c0 / (c0 + c1), for the costs c0 of acting in vain and c1 of
        a miss.
        """
        both = false_positive + false_negative
        if not (false_positive > 0 and false_negative > 0 and both < np.inf):
            raise InvalidOptionError(
                "costs must be positive and finite", f"{false_positive} and {false_negative}"
            )
        return both / 2 * float(self(false_positive / both, ties))

    @property
    def integral(self) -> float:
        """Area under the curve; of a decision loss curve the square of the error of order 2."""
        middle = (self.loss_right[:-1] + self.loss[1:]) / 2
        return float(np.sum(np.diff(self.threshold) * middle))

    @property
    def worst_threshold(self) -> float:
        """The threshold with the largest loss."""
        return float(self.threshold[np.argmax(np.maximum(self.loss, self.loss_right))])


def decision_loss_curve(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    pooling: AnyPooling = "levels",
) -> Curve:
    r"""Loss by taking the forecasts at their word, for every threshold at once.

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
    pooling : {"levels", "isotonic"}, int, sequence of float, or Pooling, default="levels"
        How the recalibration is estimated; see `fixed_decision_loss`.

    Returns
    -------
    Curve
        The mean V-shaped divergence :math:`E D_{|\cdot - t|}(E[y|p], p)`: for exact levels
        ``2 m |r - t|`` from each level of mass m whose prediction and frequency r lie on different
        sides of t. `curve.cost(false_positive=, false_negative=)` puts it into money.

    References
    ----------
    Ehm, Gneiting, Jordan, Krueger (2016), Of quantiles and expectiles, JRSS B 78 (half of it is
    the miscalibration part of their Murphy diagram). Gopalan, Hu (2025), Calibration through the
    lens of indistinguishability, Theorem 4.10.

    Examples
    --------
    >>> curve = decision_loss_curve([1, 1, 0, 1], [0.3, 0.3, 0.3, 0.3])
    >>> curve([0.2, 0.3, 0.5])
    array([0. , 0.9, 0.5])
    >>> curve.cost(false_positive=1, false_negative=1)
    0.5
    """
    joint = as_joint(y_true, y_proba, sample_weight, pos_label)
    warn_of_levels(joint, pooling)
    pools = recalibrated_joint(joint, pooling)
    threshold, left, right = kernels.loss_curve(
        joint.prediction, joint.weight, joint.positives, *pools.pools
    )
    scale = 2 / joint.total
    left *= scale
    right *= scale
    return Curve(threshold, left, right, f"decision loss, pooling {pools.name}")


def murphy_curve(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
) -> Curve | dict[str, Curve]:
    """Mean elementary score by threshold: the Murphy diagram, for one forecaster or several.

    A forecaster whose curve lies below another's is better for every decision maker.

    Parameters
    ----------
    y_true : Joint, mapping of Joints, or array-like of shape (n,)
        A Joint (of each forecaster, by name), or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), or mapping of them, optional
        Predicted probabilities of outcome 1 (of each forecaster, by name).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    Curve, or dict of str to Curve
        At threshold t: t for every row that acts in vain, 1 - t for every miss, per row.

    References
    ----------
    Ehm, Gneiting, Jordan, Krueger (2016), Of quantiles and expectiles, JRSS B 78.

    Examples
    --------
    >>> curves = murphy_curve([0, 1, 1], {"good": [0.1, 0.8, 0.9], "poor": [0.5, 0.5, 0.5]})
    >>> {name: float(curve(0.3)) for name, curve in curves.items()}
    {'good': 0.0, 'poor': 0.1}
    """
    joints = _forecasters(y_true, y_proba, sample_weight, pos_label)
    if isinstance(joints, Joint):
        return _murphy(joints)
    return {name: _murphy(joint) for name, joint in joints.items()}


def _forecasters(
    y_true: object, y_proba: object, sample_weight: object, pos_label: object
) -> Joint | dict[str, Joint]:
    """Joint of one forecaster, or of several by name."""
    if isinstance(y_true, Mapping):
        return {
            str(name): as_joint(joint, y_proba, sample_weight, pos_label)
            for name, joint in y_true.items()
        }
    if isinstance(y_proba, Mapping):
        return {
            str(name): as_joint(y_true, forecast, sample_weight, pos_label)
            for name, forecast in y_proba.items()
        }
    return as_joint(y_true, y_proba, sample_weight, pos_label)


def _murphy(joint: Joint) -> Curve:
    at = np.concatenate([[0.0], joint.prediction, [1.0]])
    missed = np.concatenate([[0.0], np.cumsum(joint.positives)])
    negatives = joint.weight - joint.positives
    alarmed = np.append(np.cumsum(negatives[::-1])[::-1], 0.0)
    # Entry i of both counts what lies below level i, and what lies at or above it.
    below, above = np.append(missed[:1], missed), np.append(alarmed[:1], alarmed)
    beyond, upward = np.append(missed, missed[-1:]), np.append(alarmed, alarmed[-1:])
    left = ((1 - at) * below + at * above) / joint.total
    right = ((1 - at) * beyond + at * upward) / joint.total
    kept = slice(int(joint.prediction[0] == 0), at.size - int(joint.prediction[-1] == 1))
    return Curve(at[kept], left[kept], right[kept], "mean elementary score")


@dataclass(frozen=True, slots=True)
class NetBenefit:
    """Net benefit by threshold, beside treating everybody and nobody."""

    threshold: Floats
    """Probabilities from which on one treats."""
    model: Floats
    """Net benefit of treating whose forecast reaches the threshold: true positives per row, less
    false positives at the odds of the threshold."""
    treat_all: Floats
    """Net benefit of treating everybody."""
    treat_none: Floats
    """Net benefit of treating nobody: 0."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def avoided(self) -> Floats:
        """Treatments avoided per row against treating everybody, at no cost in true positives."""
        odds = self.threshold / (1 - self.threshold)
        gained = self.model - self.treat_all
        return np.divide(gained, odds, out=np.full_like(gained, np.nan), where=odds > 0)


def net_benefit(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    thresholds: npt.ArrayLike | None = None,
    harm: float = 0.0,
) -> NetBenefit | dict[str, NetBenefit]:
    """Net benefit of treating whose forecast reaches a threshold: decision curve analysis.

    Larger is better. The threshold is the probability at which treating and waiting are equally
    good: its odds are the harm of a treatment in vain in units of the benefit of a right one.

    Parameters
    ----------
    y_true : Joint, mapping of Joints, or array-like of shape (n,)
        A Joint (of each forecaster, by name), or the outcomes.
    y_proba : array-like of shape (n,) or (n, 2), or mapping of them, optional
        Predicted probabilities of outcome 1 (of each forecaster, by name).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    thresholds : array-like, optional
        Thresholds in [0, 1); 0.01, 0.02, ..., 0.99 if not given.
    harm : float, default=0.0
        What it costs to have a forecast at all (a test that is taken), in units of the benefit of
        a right treatment: it is taken off the net benefit of the model.

    Returns
    -------
    NetBenefit, or dict of str to NetBenefit

    Notes
    -----
    It is the base rate less the Murphy curve over 1 - t: both rank forecasters alike.

    References
    ----------
    Vickers, Elkin (2006), Decision curve analysis, Medical Decision Making 26.

    Examples
    --------
    >>> benefit = net_benefit([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], thresholds=[0.2, 0.5])
    >>> benefit.model
    array([0.4375, 0.25  ])
    >>> benefit.treat_all
    array([0.375, 0.   ])
    """
    at = np.arange(1, 100) / 100 if thresholds is None else read_numbers(thresholds, "thresholds")
    if not ((at >= 0) & (at < 1)).all():
        raise InvalidOptionError("thresholds must be in [0, 1)", f"{at[:4].tolist()}")
    cost = check_within("harm", harm)
    joints = _forecasters(y_true, y_proba, sample_weight, pos_label)
    if isinstance(joints, Joint):
        return _benefit(joints, at, cost)
    return {name: _benefit(joint, at, cost) for name, joint in joints.items()}


def _benefit(joint: Joint, at: Floats, harm: float) -> NetBenefit:
    first = np.searchsorted(joint.prediction, at)
    odds = at / (1 - at)
    found, alarmed = (
        np.append(np.cumsum(column[::-1])[::-1], 0.0)[first] / joint.total
        for column in (joint.positives, joint.weight - joint.positives)
    )
    everybody = joint.base_rate - (1 - joint.base_rate) * odds
    return NetBenefit(at, found - alarmed * odds - harm, everybody, np.zeros(at.size))
