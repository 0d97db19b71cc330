"""For tests of models: fail with a sentence when forecasts are not calibrated."""

from __future__ import annotations

import numpy as np

from calibrant.data.labels import Labels
from calibrant.gate import FAILED, read_limits, run_gate
from calibrant.inference import UNDECIDED, Settings
from calibrant.inputs import Roles, read


def assert_calibrated(
    y_true: object,
    y_proba: object = None,
    *,
    tolerance: float | str | None = None,
    gap_tolerance: float | str | None = None,
    oe_tolerance: float | str | None = None,
    measures: list[str] | None = None,
    by: object = None,
    prediction: str = "prediction",
    outcome: str = "outcome",
    sample_weight: object = None,
    pos_label: object = None,
    neg_label: object = None,
    clusters: object = None,
    confidence: float = 0.95,
    undecided: str = "fail",
    rng: np.random.Generator | int | None = 0,
) -> None:
    """Raise an AssertionError unless forecasts are calibrated within a tolerance.

    The same logic as `calibrant check`.

    Parameters
    ----------
    y_true, y_proba, prediction, outcome, sample_weight, pos_label, neg_label, by, clusters
        As for `calibrant.audit`; with `by` every group must hold.
    tolerance : float or str, optional
        Largest acceptable error, or "5%" for 5 % of the share of the rarer outcome; by default
        that of a verdict.
    gap_tolerance : float or str, optional
        Largest acceptable typical gap between forecast and observed rate, by default twice the
        tolerance; it is checked beside the smooth error.
    oe_tolerance : float or str, optional
        Share by which observed events may differ from those expected; not checked by default.
    measures : list of str, optional
        Measures to check, as `name` or `name=tolerance`; the smooth error by default.
    confidence : float, default=0.95
        Confidence of the intervals that decide.
    undecided : {"fail", "pass"}, default="fail"
        What to do when the rows leave it undecided.
    rng : numpy.random.Generator or int, default=0
        Source of randomness; fixed, so that a test says the same again.

    Examples
    --------
    >>> assert_calibrated([0, 1] * 3000, [0.5] * 6000)
    >>> try:
    ...     assert_calibrated([0, 1] * 3000, [0.6] * 6000)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    failed: Forecasts, 6 000 rows
    """
    __tracebackhide__ = True  # pytest shows the line of the test that calls this
    roles = Roles(prediction, outcome, sample_weight, clusters, by, find_keys=True)
    source = read(y_true, y_proba, roles, labels=Labels.of(pos_label, neg_label))
    limits = read_limits(measures or [], tolerance)
    settings = Settings.read(confidence=confidence, gap_tolerance=gap_tolerance, rng=rng)
    gate = run_gate(source, limits, settings, oe_tolerance=oe_tolerance)
    bad = {FAILED} if undecided == "pass" else {FAILED, UNDECIDED}
    if gate.state in bad:
        raise AssertionError(str(gate))
