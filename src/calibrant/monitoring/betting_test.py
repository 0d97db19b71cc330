"""Test forecasts by the bets of a monitor, whatever the distribution of outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._base.options import as_generator
from calibrant._base.words import chance_text, count_text
from calibrant.data import canonical_order
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.inference import cluster_codes
from calibrant.monitoring.bets import Bet
from calibrant.monitoring.monitor import QUARTILES, CalibrationMonitor


@dataclass(frozen=True, slots=True)
class BettingTest:
    """A test of calibration by bets, valid for any distribution and any number of rows."""

    pvalue: float
    """Chance, at most, of so much evidence if forecasts are right."""
    evidence: float
    """The e-value at the end; under the null hypothesis its mean is at most 1."""
    kind: str
    rows: int
    observed: str
    """What was promised beside what was observed."""

    @property
    def sentence(self) -> str:
        """Say what was found."""
        rows = count_text(self.rows, "row")
        details = f"{self.observed}, {rows}" if self.observed else rows
        return (
            f"The p-value is {chance_text(self.pvalue)}: perfect forecasts give one so small with "
            f"that chance at most, whatever the distribution of outcomes ({details})."
        )

    def __str__(self) -> str:
        return self.sentence


def betting_test(
    y_true: object,
    y_pred: object = None,
    *,
    kind: object = "mean",
    upper: object = None,
    level: float | None = None,
    range: object = None,  # noqa: A002  # the word users know
    tolerance: float | str = 0.0,
    clusters: object = None,
    rng: np.random.Generator | int | None = None,
) -> BettingTest:
    """Test by bets whether forecasts of continuous outcomes are calibrated, for any sample size.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Rows
        Outcomes.
    y_pred : array-like of shape (n,), optional
        Forecasts; of intervals the lower ends.
    kind : {"mean", "median", "quantile=0.9", "expectile=0.8", "interval"}, default="mean"
        What the forecasts are forecasts of.
    upper, level
        Upper ends of intervals, and the share of outcomes that they promise to hold.
    range : (float, float), optional
        The least and the largest outcome there can be; means and expectiles need it.
    tolerance : float or str, default=0
        How far forecasts may be off, as for `CalibrationMonitor`.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: each is one bet, on its mean.
    rng : numpy.random.Generator or int, optional
        Source of the order in which rows are bet on.

    Returns
    -------
    BettingTest

    Notes
    -----
    Null hypothesis: rows, or clusters, are independent, and each forecast is right given all
    forecasts. Rows are bet on in random order by the bets of `CalibrationMonitor`; the p-value is
    one over the largest evidence on the way. It holds for skewed and heavy-tailed outcomes, where
    flipped signs do not, and costs power: the test of `audit` finds errors with fewer rows. Another
    seed gives another p-value; each is valid, the smallest of several is not.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(10, 40, 500)
    >>> y = np.clip(z + rng.exponential(10, 500) - 10, 0, 100)
    >>> betting_test(y, z, range=(0, 100), rng=0).pvalue > 0.05
    True
    >>> betting_test(y, z - 6, range=(0, 100), rng=0).pvalue < 0.05
    True
    """
    refuse_other_labels(y_true=y_true, y_pred=y_pred, upper=upper, clusters=clusters)
    forecasts = Rows.of_kind(y_true, y_pred, kind, upper=upper, level=level, range_=range)
    ends = (forecasts.scale.start, forecasts.scale.end) if forecasts.scale.bounded else None
    bet = Bet.of(forecasts)
    if clusters is not None:
        bet = bet.averaged(cluster_codes(read_labels(clusters, "clusters", len(forecasts))))
    order = canonical_order(bet.coordinate, bet.prediction, bet.outcome)
    bet = bet.where(as_generator(rng).permutation(order))
    by_range = forecasts.kind.chance is not None
    monitor = CalibrationMonitor(
        kind=forecasts.kind,
        range=ends if forecasts.kind.in_outcome_units else None,
        tolerance=tolerance,
        # All forecasts are known before the first bet, and their quartiles with them.
        edges=np.unique(np.quantile(bet.coordinate, QUARTILES, method="lower"))
        if by_range
        else None,
    )
    monitor.play(bet)
    return BettingTest(
        monitor.pvalue, monitor.evidence, forecasts.kind.name, len(forecasts), monitor.observed
    )
