"""What trusting the forecasts costs, beside what perfect forecasts would seem to cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import brief
from calibrant.binning import isotonic, quantile_bins
from calibrant.decisions import (
    Curve,
    DecisionTask,
    NetBenefit,
    PromisedReceived,
    RedrawnLosses,
    ScoreDecomposition,
    calibration_decision_loss,
    decision_loss_curve,
    fixed_decision_loss,
    net_benefit,
    promised_and_received,
    score_decomposition,
)
from calibrant.inference.evidence import Evidence
from calibrant.inference.laws import BinomialCounts
from calibrant.inference.monte_carlo import CalibrationTest
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import residual_mass_of
from calibrant.joint import Joint
from calibrant.joint.sums import level_of
from calibrant.measures.measurement import Measurement

# Exact levels of raw scores would know the outcomes; isotonic regression pools them.
POOLING = "isotonic"
# The curve of a report is read off at so many thresholds.
THRESHOLDS = 200
# Outcomes are redrawn so often, on so many cells of equal weight: isotonic pools are far wider.
DRAWS, CELLS = 199, 2**10
# Rows in clusters, or of different weights, are redrawn one by one: about so many in all. Of more,
# clusters are drawn less often, and weights by the cell.
MOST_DRAWN, FEWEST_DRAWS = 2**23, 39
# Share of the simulations that stay below what is called chance.
CHANCE = 0.95


@dataclass(frozen=True, slots=True)
class LossByChance:
    """Loss by threshold that perfect forecasts would show on the same rows."""

    threshold: Floats
    mean: Floats
    """On average, when both costs add up to one."""
    most: Floats
    """At most so much in 95 % of simulations, each threshold by itself."""

    def __repr__(self) -> str:
        return brief(self)


@dataclass(frozen=True, slots=True)
class Costs:
    """Losses of decision makers who take the forecasts at their word."""

    curve: Curve
    """Loss by threshold, for every two-action decision."""
    perfect: LossByChance
    """What perfect forecasts would show beside it."""
    worst: Measurement
    """Most that any decision maker with payoffs in [0, 1] loses; its witness has the task."""
    worst_test: CalibrationTest
    """That loss beside its values on simulated outcomes."""
    decomposition: ScoreDecomposition
    """The Brier score in three parts."""
    benefit: NetBenefit
    """Net benefit by threshold, beside treating all and none."""
    task: object = None
    """The decision that the numbers below are about."""
    own: bool = True
    """Whether it is the reader's own, not that of guessing the class."""
    task_loss: Measurement | None = None
    """What recalibrating would bring per row in it."""
    task_test: CalibrationTest | None = None
    """That loss beside its values on simulated outcomes; None for classes."""
    promised: PromisedReceived | None = None
    """What the forecasts promise in it, and what they bring."""
    noise: float | None = None
    """Standard deviation of what perfect forecasts would bring, where it is known."""

    def __repr__(self) -> str:
        return brief(self)

    def at_thresholds(self) -> tuple[list[float], list[float]]:
        """Read the curve off at even thresholds, for a slider: cost when both costs add to 1."""
        at = self.perfect.threshold
        return at.tolist(), (self.curve(at) / 2).tolist()


def find_costs(evidence: Evidence, settings: Settings, task: DecisionTask | None = None) -> Costs:
    """Measure what recalibrating the forecasts would save, and how much of it chance explains.

    Isotonic regression fits noise as well: of perfect forecasts it seems to save something too.
    Outcomes are redrawn as for a test, clusters as a whole.
    """
    joint = evidence.full_joint
    pools = isotonic(joint)
    at = np.arange(1, THRESHOLDS) / THRESHOLDS
    draws = min(settings.draws, DRAWS)
    if evidence.clusters is not None:
        draws = min(draws, max(FEWEST_DRAWS, MOST_DRAWN // joint.row_count))
    coarse = _coarse(evidence, draws)
    drawn, observed = (
        RedrawnLosses.of(coarse.joint, residual_masses, at, task)
        for residual_masses in (
            coarse.null_residual_masses(draws, settings.rng),
            [residual_mass_of(coarse.joint)[np.newaxis, :]],
        )
    )

    def test(name: str, observed: Floats, drawn: Floats) -> CalibrationTest:
        clusters = None if coarse.clusters is None else len(coarse.clusters)
        null = np.sort(drawn)
        cells = None if coarse.joint is joint else len(coarse.joint)
        return CalibrationTest(name, float(observed[0]), null, coarse.exact(draws), cells, clusters)

    costs = Costs(
        curve=decision_loss_curve(joint, pooling=pools),
        perfect=LossByChance(at, drawn.at.mean(axis=0), np.quantile(drawn.at, CHANCE, axis=0)),
        worst=calibration_decision_loss(joint, pooling=pools),
        worst_test=test("calibration_decision_loss", observed.worst, drawn.worst),
        decomposition=replace(score_decomposition(joint, pooling=pools), pooling=POOLING),
        benefit=_benefit(joint),
    )
    if task is None or observed.task is None or drawn.task is None or drawn.surprise is None:
        return costs
    return replace(
        costs,
        task=task,
        task_loss=fixed_decision_loss(joint, task=task, pooling=pools),
        task_test=test("fixed_decision_loss", observed.task, drawn.task),
        promised=promised_and_received(joint, task=task),
        noise=float(np.sqrt(np.mean(drawn.surprise**2))),
    )


def _coarse(evidence: Evidence, draws: int) -> Evidence:
    """Pool neighbouring predictions to cells of equal weight, where there are very many."""
    full_joint, rows, clusters = evidence.full_joint, evidence.rows, evidence.clusters
    if len(full_joint) <= CELLS:
        return evidence
    pooling = quantile_bins(full_joint, CELLS)
    pooled = Evidence.of_joint(pooling.joint)
    one_by_one = evidence.exact(draws) and full_joint.row_count * draws <= MOST_DRAWN
    if clusters is None and (pooled.parts is not None or not one_by_one):
        return pooled
    index = np.searchsorted(pooling.occupied, pooling.pool_of(full_joint.prediction))
    if rows is not None:
        index = index[level_of(rows.prediction, full_joint)]
        return replace(evidence.drawn_on(pooling.joint, index), full_joint=pooling.joint)
    weight = full_joint.weight / full_joint.rows
    ones = np.rint(full_joint.positives / weight)
    counts = BinomialCounts.grouped(index, weight, full_joint.rows.astype(np.int64), ones)
    return Evidence(pooling.joint, pooling.joint, counts, None)


def _benefit(joint: Joint) -> NetBenefit:
    found = net_benefit(joint)
    assert isinstance(found, NetBenefit)  # noqa: S101  # one forecaster
    return found
