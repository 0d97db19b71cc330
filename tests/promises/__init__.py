"""Every promise about chance, simulated: how often it is broken, beside how often it may be.

`python -m promises`, in the folder tests/, prints the table of docs/promises.md, and `python -m
promises verdicts groups` that of two subjects. `make slow` fails where a promise is broken more
often than promised by more than four standard errors.
"""

from __future__ import annotations

from promises import (
    calibrated_models,
    choices,
    comparisons,
    continuous,
    continuous_recalibration,
    costs,
    curves,
    distributions,
    events,
    expected,
    generators,
    grades,
    groups,
    intervals,
    judges,
    models,
    monitors,
    regressions,
    rows,
    selective,
    survivals,
    transfers,
    verdicts,
)
from promises.core import Observed, Promise, table

__all__ = ["PROMISES", "SUBJECTS", "Observed", "Promise", "table"]

SUBJECTS = {
    "verdicts": list(verdicts.promises()),
    "rows": list(rows.promises()),
    "groups": list(groups.promises()),
    "events": list(events.promises()),
    "expected": list(expected.promises()),
    "regressions": list(regressions.promises()),
    "comparisons": list(comparisons.promises()),
    "choices": list(choices.promises()),
    "calibrated_models": list(calibrated_models.promises()),
    "monitors": list(monitors.promises()),
    "costs": list(costs.promises()),
    "curves": list(curves.promises()),
    "selective": list(selective.promises()),
    "transfers": list(transfers.promises()),
    "grades": list(grades.promises()),
    "generators": list(generators.promises()),
    "judges": list(judges.promises()),
    "continuous": list(continuous.promises()),
    "survivals": list(survivals.promises()),
    "models": list(models.promises()),
    "continuous_recalibration": list(continuous_recalibration.promises()),
    "distributions": list(distributions.promises()),
    "intervals": list(intervals.promises()),
}
PROMISES = [promise for subject in SUBJECTS.values() for promise in subject]
