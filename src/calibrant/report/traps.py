"""Data that an audit can judge and nobody should act on: labels, copies, one class, no information.

Each is one caution with a code, whatever the verdict says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant._base.words import count_text, number_text, probability_text
from calibrant.joint.ranking import area_under_curve

if TYPE_CHECKING:
    from calibrant.report.summary import Summary

# Rows seem to be copies where so many different forecasts all occur a multiple of times.
FEWEST_LEVELS = 20
# Forecasts that part the outcomes like this, with so many of each, were perhaps fitted to them.
PERFECT_AUC, FEWEST_OF_EACH = 0.999, 10
# An area within so many standard errors of one half (99 %) shows no information. Only if areas
# beyond this one are ruled out as well was the sample large enough to call the forecasts useless.
STANDARD_ERRORS, LITTLE = 2.58, 0.6


@dataclass(frozen=True, slots=True)
class Trap:
    """A caution."""

    code: str
    text: str
    advice: str
    useless: str = ""
    """Why calibrated forecasts of this kind are still of no use, as the end of a sentence."""
    spoils_maps: bool = False
    """Whether no calibrator can be learned from such rows."""


def find_traps(summary: Summary) -> tuple[Trap, ...]:
    """Look for what makes forecasts not worth judging."""
    if summary.classical is None:
        return _traps_of_numbers(summary)
    joint, data = summary.joint, summary.data
    of_classes = summary.classes is not None
    noun = "confidence" if of_classes else "forecast"
    found = []
    only = data.observed in (0.0, 1.0)
    if only:
        found.append(_one_class(data.rows, int(data.observed), of_classes=of_classes))
    if summary.classical.certain == data.rows:
        found.append(
            Trap(
                "CAL032",
                f"Every {noun} is 0 or 1, like a class label.",
                "pass probabilities (predict_proba), not classes (predict)",
                useless="they are labels, not probabilities",
                spoils_maps=True,
            )
        )
    elif len(joint) == 1 and data.rows > 1:
        same = probability_text(float(joint.prediction[0]))
        found.append(
            Trap(
                "CAL081",
                f"Every {noun} is {same}.",
                "check that the column holds the forecasts of the model",
                useless="every one is the same, so they do not tell one row from another",
            )
        )
    elif not only and not of_classes:
        found += _ranking(summary)
    alone = summary.evidence.clusters is None and joint.unweighted
    copies = _copies(np.rint(joint.rows), np.rint(joint.positives)) if alone else 1
    if copies > 1:
        found.append(_repeated(copies))
    return tuple(found)


def _traps_of_numbers(summary: Summary) -> tuple[Trap, ...]:
    """Look for what makes forecasts of continuous outcomes not worth judging."""
    rows, found = summary.evidence.rows, []
    if rows is None or len(rows) < 2:
        return ()
    if np.ptp(rows.outcome) == 0:
        found.append(
            Trap(
                "CAL080",
                f"Every outcome is {number_text(float(rows.outcome[0]))}.",
                "audit data in which outcomes differ",
                useless="the outcomes do not differ",
                spoils_maps=True,
            )
        )
    if np.ptp(rows.prediction) == 0 and (rows.upper is None or np.ptp(rows.upper) == 0):
        found.append(
            Trap(
                "CAL081",
                f"Every forecast is {number_text(float(rows.prediction[0]))}.",
                "check that the column holds the forecasts of the model",
                useless="every one is the same, so they do not tell one row from another",
            )
        )
    if rows.upper is None and bool((rows.prediction == rows.outcome).all()):
        found.append(
            Trap(
                "CAL082",
                "Every forecast equals its outcome.",
                "check that the column of forecasts is not a copy of the outcomes",
                useless="they look like a copy of the outcomes",
            )
        )
    columns = [rows.prediction, rows.outcome, *([] if rows.upper is None else [rows.upper])]
    counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)[1]
    copies = _copies(counts, counts) if summary.evidence.clusters is None else 1
    if copies > 1:
        found.append(_repeated(copies))
    return tuple(found)


def _one_class(rows: int, outcome: int, *, of_classes: bool) -> Trap:
    text = f"All {count_text(rows, 'outcome')} are {outcome}."
    if of_classes:
        text = f"The most likely class was {'always' if outcome else 'never'} right."
    return Trap(
        "CAL080",
        text,
        "audit data with both outcomes" if not of_classes else "check rows and labels",
        useless="only one outcome was seen",
        spoils_maps=not of_classes,
    )


def _ranking(summary: Summary) -> list[Trap]:
    """Cautions about the area under the ROC curve: too good, or no better than guessing."""
    joint, rate = summary.joint, summary.data.observed
    area = area_under_curve(joint)
    rows = joint.total**2 / float(joint.weight_squares.sum())
    ones, zeros = rows * rate, rows * (1 - rate)
    if area > PERFECT_AUC and min(ones, zeros) >= FEWEST_OF_EACH:
        return [
            Trap(
                "CAL082",
                f"AUC {area:.4g}: the forecasts part the outcomes almost perfectly.",
                "check that the model was not fitted to these rows and that no feature gives the "
                "outcome away",
            )
        ]
    # The variance of the Mann-Whitney statistic where forecasts and outcomes are independent, less
    # what ties take from it (Lehmann 1975, Nonparametrics, appendix).
    untied = 1 - float(((joint.weight / joint.total) ** 3).sum())
    half_width = STANDARD_ERRORS * float(np.sqrt(untied * (rows + 1) / (12 * ones * zeros)))
    if abs(area - 0.5) < half_width:
        useless = f"they show no information about who is more at risk (AUC {area:.2f})"
        return [
            Trap(
                "CAL083",
                f"AUC {area:.2f}: compatible with forecasts that carry no information.",
                "compare them with the base rate before you act on differences between them",
                useless=useless if area + half_width < LITTLE else "",
            )
        ]
    return []


def _copies(rows: npt.NDArray[Any], positives: npt.NDArray[Any]) -> int:
    """Return how often every row occurs at least; 1 where too few forecasts differ to say."""
    if rows.size < FEWEST_LEVELS:
        return 1
    return int(np.gcd.reduce(np.concatenate([rows, positives]).astype(np.int64)))


def _repeated(copies: int) -> Trap:
    return Trap(
        "CAL084",
        f"Every row occurs {copies} times, or a multiple of it: intervals that count copies as "
        "independent observations are too narrow.",
        "remove the copies, or name the unit that they share: --cluster (clusters=)",
    )
