"""Observed over expected events: the calibration that counts when events are rare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.inference.evidence import Evidence
from calibrant.words import percent_text


@dataclass(frozen=True, slots=True)
class Ratio:
    """Observed over expected outcomes, with a confidence interval."""

    value: float
    low: float
    high: float
    confidence: float
    observed: float
    expected: float
    outcome: int = 1
    """Which outcome counts as an event: the rarer one in a verdict."""

    @property
    def sentence(self) -> str:
        """Say the ratio in plain words."""
        events = "events" if self.outcome else "outcomes 0"
        return (
            f"Observed over expected {events} {self.value:.2f} "
            f"(between {self.low:.2f} and {self.high:.2f} with {percent_text(self.confidence)} "
            f"confidence): {_count(self.observed)} happened where {_count(self.expected)} were "
            "forecast."
        )


def find_ratio(evidence: Evidence, confidence: float, *, swapped: bool = False) -> Ratio:
    """Ratio of observed to expected events (of outcome 0, if swapped).

    Rows of equal weight: the interval of Garwood (1936) for a Poisson count, which is also valid
    for a sum of independent rare events, being less dispersed (Hoeffding 1956). Weights and
    clusters: normal on the log scale with the (cluster-)robust variance.
    """
    joint = evidence.given
    observed = joint.total - joint.positives.sum() if swapped else joint.positives.sum()
    forecast = 1 - joint.mean_prediction if swapped else joint.mean_prediction
    expected = forecast * joint.total
    counted = float(observed), float(expected), int(not swapped)
    level = (1 - confidence) / 2
    if expected <= 0:
        return Ratio(np.nan if observed == 0 else np.inf, 0.0, np.inf, confidence, *counted)
    with np.errstate(over="ignore"):  # one event among forecasts of next to nothing
        value = float(observed / expected)
    if value == np.inf:
        return Ratio(value, 0.0, np.inf, confidence, *counted)
    each = joint.total / joint.row_count
    if evidence.clusters is None and np.allclose(joint.weight_squares, joint.rows * each**2):
        low, high = np.multiply(_poisson(observed / each, level), each / expected)
    elif observed <= 0:
        # The largest share that such a sample hides with this confidence, as if rows were clusters.
        low, high = 0.0, -np.log(level) * evidence.unit * joint.total / expected
    else:
        from scipy.special import ndtri

        reach = ndtri(1 - level) * np.sqrt(_variance(evidence, value, swapped=swapped)) / observed
        with np.errstate(over="ignore"):
            low, high = value * np.exp(-reach), value * np.exp(reach)
    return Ratio(value, float(low), float(high), confidence, *counted)


def _count(events: float) -> str:
    """Write a number of events; few of them with digits after the point."""
    if events < 100:
        return f"{events:.3g}"
    return f"{events:,.0f}".replace(",", " ")


def _poisson(count: float, level: float) -> tuple[float, float]:
    from scipy.special import gammaincinv

    low = 0.0 if count <= 0 else float(gammaincinv(count, level))
    return low, float(gammaincinv(count + 1, 1 - level))


def _variance(evidence: Evidence, ratio: float, *, swapped: bool) -> float:
    """Variance of observed less ratio times expected."""
    cases = evidence.cases()
    outcome, prediction = cases.outcome, cases.prediction
    if swapped:
        outcome, prediction = 1 - outcome, 1 - prediction
    return float(cases.covariance((outcome - ratio * prediction)[:, np.newaxis])[0, 0])
