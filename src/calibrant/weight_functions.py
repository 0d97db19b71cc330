"""Families of tests for the weighted calibration error.

A family is any object with `best_test(joint) -> (value, witness)`: the largest absolute bias
E[w(p)(y - p)] over its tests, and the test that attains it. A family with `interval = True` has
tests few or smooth enough for their means to converge together, so that a confidence interval
exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import as_generator, check_draws
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.draws import draw_positives, refuse_mean_outcomes
from calibrant.measures.cutoff import cutoff_calibration_error
from calibrant.measures.exact import mean_distance, norm_witness
from calibrant.measures.kernel import KernelFunction, kernel_calibration_error
from calibrant.measures.low_degree import low_degree_calibration_error
from calibrant.measures.measurement import Measurement
from calibrant.measures.regions import region_sentence
from calibrant.measures.weighted import Family, Lipschitz, MeasuredFamily
from calibrant.measures.witness import FunctionWitness, LearnedWitness, StepWitness, Witness

__all__ = [
    "Bounded",
    "BoundedVariation",
    "Dictionary",
    "Family",
    "Intervals",
    "KernelBall",
    "LearnedFamily",
    "Lipschitz",
    "Monotone",
    "Polynomials",
    "Thresholds",
]

# The linear programme of bounded variation has one variable per level.
MOST_LEVELS = 4096


@dataclass(frozen=True, slots=True)
class Bounded:
    """All tests with values in [-1, 1]: the expected calibration error."""

    def best_test(self, joint: Joint) -> tuple[float, Witness]:
        """Take the sign of each residual."""
        return mean_distance(joint, 1), norm_witness(joint, 1)


@dataclass(frozen=True, slots=True)
class Thresholds(MeasuredFamily):
    """Indicators of predictions below or above a cut."""

    interval: ClassVar[bool] = True

    def measured(self, joint: Joint) -> Measurement:
        """Take the largest cumulative residual."""
        return cutoff_calibration_error(joint, sets="thresholds")


@dataclass(frozen=True, slots=True)
class Monotone(MeasuredFamily):
    """Monotone functions between -1 and 1: what proper calibration asks for."""

    interval: ClassVar[bool] = True

    def measured(self, joint: Joint) -> Measurement:
        """Take the best step from -1 to 1 or back."""
        return cutoff_calibration_error(joint, sets="monotone")


@dataclass(frozen=True, slots=True)
class Intervals(MeasuredFamily):
    """Indicators of intervals of predictions."""

    interval: ClassVar[bool] = True

    def measured(self, joint: Joint) -> Measurement:
        """Take the range of the cumulative residuals."""
        return cutoff_calibration_error(joint, sets="intervals")


@dataclass(frozen=True, slots=True)
class Polynomials(MeasuredFamily):
    """Polynomials of bounded degree and norm one."""

    interval: ClassVar[bool] = True

    degree: int = 2
    norm: str = "sup"

    def measured(self, joint: Joint) -> Measurement:
        """Maximise over the moments."""
        return low_degree_calibration_error(joint, degree=self.degree, norm=self.norm)


@dataclass(frozen=True, slots=True)
class KernelBall(MeasuredFamily):
    """Functions of norm at most one in the space of a kernel."""

    interval: ClassVar[bool] = True

    kernel: str | KernelFunction = "laplace"
    bandwidth: float = 1.0
    degree: int = 3

    def measured(self, joint: Joint) -> Measurement:
        """Take the root of the quadratic form."""
        return kernel_calibration_error(
            joint, kernel=self.kernel, bandwidth=self.bandwidth, degree=self.degree
        )


@dataclass(frozen=True, slots=True)
class BoundedVariation:
    """Tests with values in [-1, 1] that rise and fall by at most `variation` in all."""

    interval: ClassVar[bool] = True

    variation: float = 2.0

    def best_test(self, joint: Joint) -> tuple[float, Witness]:
        """Solve the linear programme over the values at the levels."""
        from scipy.optimize import linprog
        from scipy.sparse import diags_array, hstack, vstack

        if not self.variation >= 0:
            raise InvalidOptionError("variation must not be negative", repr(self.variation))
        levels = len(joint)
        if levels > MOST_LEVELS:
            raise InvalidOptionError(
                f"bounded variation takes at most {MOST_LEVELS} levels",
                f"{levels}",
                "round the predictions first: Joint.rounded(4096)",
            )
        gain = joint.mass * joint.residual
        steps = levels - 1
        rise = diags_array([-np.ones(steps), np.ones(steps)], offsets=[0, 1], shape=(steps, levels))
        slack = diags_array([np.ones(steps)], offsets=[0], shape=(steps, steps))
        budget = np.concatenate([np.zeros(levels), np.ones(steps)])[np.newaxis, :]
        solution = linprog(
            np.concatenate([-gain, np.zeros(steps)]),
            A_ub=vstack([hstack([rise, -slack]), hstack([-rise, -slack]), budget]).tocsr(),
            b_ub=np.append(np.zeros(2 * steps), self.variation),
            bounds=[(-1, 1)] * levels + [(0, None)] * steps,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        value = np.clip(solution.x[:levels], -1, 1)
        sentence = region_sentence(joint, value)
        witness = StepWitness(joint.prediction, joint.prediction, value, sentence)
        return float(gain @ value), witness


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A finite list of tests, given as functions of an array of predictions."""

    interval: ClassVar[bool] = True

    functions: Sequence[Callable[[Floats], Any]]

    def __repr__(self) -> str:
        return f"Dictionary of {len(self.functions)} tests"

    def best_test(self, joint: Joint) -> tuple[float, Witness]:
        """Try them all, with either sign."""
        gain = joint.mass * joint.residual
        values = [np.asarray(f(joint.prediction), dtype=np.float64) for f in self.functions]
        biases = np.array([float(np.sum(value * gain)) for value in values])
        if not biases.size:
            raise InvalidOptionError("a dictionary needs at least one test", "none")
        best = int(np.argmax(np.abs(biases)))
        sign = -1.0 if biases[best] < 0 else 1.0
        sentence = region_sentence(joint, sign * values[best])
        return abs(float(biases[best])), FunctionWitness(self.functions[best], sign, sentence)


@dataclass(frozen=True, slots=True)
class LearnedFamily:
    """Whatever an estimator can learn: auditing as agnostic learning.

    The rows are split at random in two halves. A scikit-learn regressor (`fit`, `predict`) learns
    the residual y - p from the prediction on one half, or a classifier (`fit`, `predict_proba`)
    the outcome; what it learned, scaled to reach 1 and clipped to [-1, 1], is judged on the other
    half. The value is therefore an honest estimate of the bias that this test finds, and may be
    negative; `witness.pvalue` is the chance that perfect forecasts' rows give it so much.

    Parameters
    ----------
    estimator : object
        A scikit-learn regressor or classifier; a clone is fitted where scikit-learn can make one.
    draws : int, default=999
        Simulations of the judging half for the p-value. At most 10**6.
    rng : numpy.random.Generator or int, default=0
        Source of randomness of the split and of the simulations.
    """

    estimator: Any
    draws: int = 999
    rng: np.random.Generator | int | None = 0

    def best_test(self, joint: Joint) -> tuple[float, LearnedWitness]:
        """Learn a test on one half of the rows and judge it on the other."""
        check_draws(self.draws)
        generator = as_generator(self.rng)
        learning, judging = _halves(joint, generator)
        learned = _learn(self.estimator, learning)
        scale = float(np.abs(learned(learning.prediction)).max()) or 1.0

        def test(prediction: Floats) -> Floats:
            return np.clip(learned(prediction) / scale, -1, 1)

        at_levels = test(judging.prediction)
        value = float(np.sum(at_levels * judging.mass * judging.residual))
        null = draw_positives(judging, generator, self.draws) / judging.total
        chance = (null - judging.mass * judging.prediction) @ at_levels
        # Equal sums may differ in their last digits: a tie counts against the forecaster's critic.
        reached = int(np.sum(chance >= value - 1e-12))
        knots = np.union1d(np.linspace(0, 1, 1025), judging.prediction)
        return value, LearnedWitness(
            knots,
            test(knots),
            region_sentence(judging, at_levels),
            (1 + reached) / (1 + self.draws),
        )


def _halves(joint: Joint, rng: np.random.Generator) -> tuple[Joint, Joint]:
    """Split rows at random; within a level only the number of rows and of ones matters."""
    refuse_mean_outcomes(joint)
    joint = joint.of_mean_weight_one()
    if joint.row_count < 4 or not joint.unweighted:
        raise InferenceRefusedError(
            "a learned family needs at least four rows without weights",
            f"{joint.row_count} rows" + (", weighted" if joint.row_count >= 4 else ""),
        )
    rows, ones = joint.rows.astype(np.int64), joint.positives.astype(np.int64)
    order = rng.permutation(joint.row_count)[: joint.row_count // 2]
    level = np.searchsorted(np.cumsum(rows), order, side="right")
    first = np.bincount(level, minlength=len(joint))
    first_ones = rng.hypergeometric(ones, rows - ones, first)
    halves = ((first, first_ones), (rows - first, ones - first_ones))
    learning, judging = (
        Joint.from_counts(joint.prediction, count, positives) for count, positives in halves
    )
    return learning, judging


def _learn(estimator: Any, joint: Joint) -> Callable[[Floats], Floats]:
    """Fit an estimator to the rows of a Joint and return its idea of the residual."""
    try:
        from sklearn.base import clone

        learner = clone(estimator)
    except (ImportError, TypeError):
        learner = estimator
    ones = joint.positives.astype(np.int64)
    zeros = joint.rows.astype(np.int64) - ones
    prediction = np.concatenate(
        [np.repeat(joint.prediction, ones), np.repeat(joint.prediction, zeros)]
    )
    outcome = np.concatenate([np.ones(ones.sum(), np.int64), np.zeros(zeros.sum(), np.int64)])
    features = prediction[:, np.newaxis]
    if hasattr(learner, "predict_proba"):
        learner.fit(features, outcome)
        last = int(np.flatnonzero(np.asarray(learner.classes_) == 1)[0]) if outcome.any() else 0

        def residual(p: Floats) -> Floats:
            return np.asarray(learner.predict_proba(p[:, np.newaxis])[:, last] - p)

        return residual
    learner.fit(features, outcome - prediction)
    return lambda p: np.asarray(learner.predict(p[:, np.newaxis]), dtype=np.float64)
