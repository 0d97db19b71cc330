"""Losses of decisions beside chance, and verdicts on observed over expected."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.groups import audit_groups
from calibrant.inference import RatioVerdict, find_costs
from calibrant.inference.evidence import Evidence
from calibrant.inference.ratio import find_ratio
from calibrant.inference.settings import Settings
from promises.core import Promise
from promises.samples import rare, sample


def the_loss_is_more_than_chance(kind, own, rng):
    p = rare(rng, 400, 0.02) if kind == "rare" else rng.random(400)
    evidence = sample(rng, p, kind, size=8).evidence
    task = cal.DecisionTask.from_costs(false_positive=1, false_negative=4) if own else None
    costs = find_costs(evidence, Settings.read(draws=99, rng=rng), task)
    test = costs.task_test if own else costs.worst_test
    return test.pvalue <= 0.05


def ratio_verdict_is_wrong(truth, groups, rng):
    """Wrong: certain on the wrong side of a tolerance of 10 %, for all rows or for any group."""
    n = 40_000
    p = rare(rng, n, 0.05)
    y = rng.random(n) < np.minimum(truth * p, 1)
    if groups > 1:
        site = (np.arange(n) % groups).astype(str)
        ratios = [one.ratio for one in audit_groups(y, p, {"site": site}, draws=19, rng=rng)]
    else:
        ratios = [find_ratio(Evidence.read(y, p), 0.95)]
    wrong = "miscalibrated" if 1 / 1.1 <= truth <= 1.1 else "calibrated"
    return any(RatioVerdict(ratio, 0.1).state == wrong for ratio in ratios)


def promises():
    for kind in ("plain", "rare", "weights", "clusters"):
        for own in (False, True):
            yield Promise(
                "no loss of a perfect forecaster is more than chance",
                f"{'a task of costs 1 and 4' if own else 'worst task'}, 400 rows, {kind}",
                partial(the_loss_is_more_than_chance, kind, own),
                300,
            )
    for truth in (1.0, 1.09, 1.11, 0.9):
        for groups in (1, 10):
            yield Promise(
                "verdict on observed over expected within 10 %",
                f"true ratio {truth:g}, {groups} group{'s' * (groups > 1)}, 2000 events in all",
                partial(ratio_verdict_is_wrong, truth, groups),
                300 if groups == 1 else 100,
            )
