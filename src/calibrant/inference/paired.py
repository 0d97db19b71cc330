"""Two forecasters of outcomes of their own, on the same units: two models on the same questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.data.rows import Given
from calibrant.decisions import Score, score_name
from calibrant.errors import InferenceRefusedError
from calibrant.inference.cases import widening
from calibrant.inference.comparison import Comparison, compare_errors
from calibrant.inference.pairing import find_reaches_of_units
from calibrant.inference.scores import score_of
from calibrant.inference.statistic import AnyMeasure, Statistic
from calibrant.joint import Joint, Rows
from calibrant.options import as_generator, check_share, enough_draws

# The share of outcomes 0: of answers, how many are wrong.
ERROR_RATE = "error_rate"


def compare_on_units(
    outcomes: tuple[Any, Any],
    predictions: tuple[Any, Any],
    units: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    *,
    measure: AnyMeasure,
    margin: float | None = None,
    confidence: float = 0.95,
    draws: int = 499,
    rng: np.random.Generator | int | None = None,
) -> Comparison:
    """Compare forecasters that answer the same units, each with outcomes of its own.

    Both must have every unit, once or more often; each unit counts once for each of them. The
    units are a random sample; rows of a unit may depend on each other, of one forecaster and of
    both.

    Parameters
    ----------
    outcomes, predictions : pair of array-like
        Of the first and of the second forecaster, of any two lengths.
    units : pair of arrays
        Labels of the units of these rows.
    measure : str or callable
        "error_rate", a proper score by name, or a measure that has a confidence interval.
    margin, confidence, draws, rng
        As for `compare`.
    """
    draws = enough_draws(draws, confidence)
    if margin is not None:
        check_share("margin", margin)
    codes = _codes(units)
    joints, pair = [], []
    for y, p, code in zip(outcomes, predictions, codes, strict=True):
        times = np.bincount(code)
        weight = None if times.max() == 1 else 1 / times[code]
        joint, rows = Joint.checked(Given.read(y, p, weight))
        joints.append(joint)
        pair.append(rows)
    one, other = map(_sorted, pair, codes)
    same = np.array_equal(one, other)
    score = score_of(measure)
    if score is not None or measure == ERROR_RATE:
        return replace(_means(pair, codes, score, confidence, margin), identical=same)
    statistic = Statistic.of(measure)
    statistic.refuse_without_reach()
    reaches = find_reaches_of_units(pair, codes, statistic, confidence, draws, as_generator(rng))
    found = compare_errors(joints, statistic, reaches, confidence, margin)
    return replace(found, identical=same)


def _sorted(rows: Rows, code: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Rows as a table, in an order of their own."""
    table = np.column_stack([code, rows.prediction, np.asarray(rows.outcome, dtype=np.float64)])
    return table[np.lexsort(table.T[::-1])]


def _codes(units: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> list[npt.NDArray[np.intp]]:
    names, code = np.unique(np.concatenate(units), return_inverse=True)
    if names.size < 2:
        raise InferenceRefusedError("units must be at least two", "one")
    return [code[: len(units[0])], code[len(units[0]) :]]


def _means(
    pair: list[Rows],
    codes: list[npt.NDArray[np.intp]],
    score: Score | None,
    confidence: float,
    margin: float | None,
) -> Comparison:
    """Compare mean losses by the differences of the units.

    Where few units tell the forecasters apart, the sample hides its own spread: as in Wilson's
    interval z^2 more of them are mixed in, each as large as an outcome that is changed, on average.
    """
    from scipy.special import ndtri

    by_unit, change = [], 0.0
    for rows, code in zip(pair, codes, strict=True):
        if_not, if_so = _losses(rows, score)
        loss = np.where(np.asarray(rows.outcome) == 1, if_so, if_not)
        if not (np.isfinite(loss).all() and np.isfinite(if_so - if_not).all()):
            raise InferenceRefusedError(
                "an interval needs finite scores",
                "the log loss of a forecast of 0 or 1",
                "use the Brier score",
            )
        weight = np.ones(code.size) if rows.weight is None else rows.weight
        by_unit.append(np.bincount(code, weight * loss))
        change = max(change, float(weight @ (if_so - if_not) ** 2 / weight.sum()))
    first, second = (float(values.mean()) for values in by_unit)
    apart = by_unit[1] - by_unit[0]
    count, difference = apart.size, second - first
    z = float(ndtri((1 + confidence) / 2))
    spread = count / (count - 1) * float(((apart - apart.mean()) ** 2).sum()) + z**2 * change
    wider = widening(np.full(count, 1 / count), 1 - confidence)
    reach = z * wider * float(np.sqrt(spread)) / count
    name = ERROR_RATE if score is None else score_name(score.name)
    return Comparison(
        name, first, second, difference - reach, difference + reach, confidence, margin
    )


def _losses(rows: Rows, score: Score | None) -> tuple[Floats, Floats]:
    if score is None:
        return np.ones(rows.prediction.size), np.zeros(rows.prediction.size)
    return score.losses(rows.prediction)
