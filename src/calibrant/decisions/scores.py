"""Proper scores: what a forecast costs once the outcome is known. Smaller is better."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import shown
from calibrant._base.words import count_text
from calibrant.decisions.tasks import DecisionTask
from calibrant.errors import CalibrantWarning, InvalidForecastsError, InvalidOptionError, mention
from calibrant.joint import Joint
from calibrant.joint.sums import AnyRows, cells, seem_few
from calibrant.measures.measurement import read_source

Losses = tuple[Floats, Floats]

# Rows whose losses are found at a time: what is found on the way stays in the processor's cache.
BLOCK = 2**14

# What only callers in Python can pass.
OR_TASK = "or a DecisionTask, or (phi, subgradient)"


@dataclass(frozen=True, slots=True)
class Score:
    """A proper score: the loss of a forecast for outcome 0 and for outcome 1.

    By Theorem 4.6 of the survey it is a convex function phi in disguise: the loss for outcome y
    of a forecast p is -(phi(p) + phi'(p) (y - p)).
    """

    name: str
    losses: Callable[[Floats], Losses]
    """Losses of forecasts for outcome 0 and for outcome 1."""
    divergence: Callable[[Floats, Floats], Floats] | None = None
    """Mean loss of a forecast (second) beyond that of the truth (first), where a formula has
    better digits than the difference of losses."""
    between: Callable[[Floats, Floats], Floats] | None = None
    """Loss of a forecast (second) for an outcome between 0 and 1 (first), where it is not the mean
    of the losses for 0 and 1."""

    def of_outcomes(self, outcome: Floats, forecast: Floats) -> Floats:
        """Loss of forecasts for outcomes in [0, 1] that were observed.

        The Brier score is the squared error. The others are linear in the outcome: an outcome of
        0.3 counts like three ones and seven zeros.
        """
        found = self.expected if self.between is None else self.between
        return found(outcome, forecast)

    def expected(self, chance: Floats, forecast: Floats) -> Floats:
        """Mean loss of forecasts when outcome 1 has some chance; what has none does not count."""
        if_not, if_so = self.losses(forecast)
        with np.errstate(invalid="ignore"):
            return np.where(chance < 1, (1 - chance) * if_not, 0.0) + np.where(
                chance > 0, chance * if_so, 0.0
            )

    def excess(self, chance: Floats, forecast: Floats) -> Floats:
        """Mean loss of forecasts beyond that of forecasting the chance itself: not negative."""
        if self.divergence is not None:
            return self.divergence(chance, forecast)
        return np.maximum(0.0, self.expected(chance, forecast) - self.expected(chance, chance))


def score_name(name: str) -> str:
    """Name of a score in tables and JSON, beside those of measures."""
    return "log_loss" if name == "log" else f"{name}_score"


def score_title(name: str) -> str:
    """Name of a score in sentences, where "log" alone is no word and Brier is a person."""
    return {"log": "log loss", "brier": "Brier score"}.get(name, f"{name} score")


def _brier(forecast: Floats) -> Losses:
    return forecast**2, (1 - forecast) ** 2


def _square(chance: Floats, forecast: Floats) -> Floats:
    return (chance - forecast) ** 2


def _log(forecast: Floats) -> Losses:
    with np.errstate(divide="ignore"):
        return -np.log1p(-forecast), -np.log(forecast)


def _relative_entropy(chance: Floats, forecast: Floats) -> Floats:
    """Divergence of Kullback and Leibler between two Bernoulli laws."""

    def term(share: Floats, predicted: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(share > 0, share * (np.log(share) - np.log(predicted)), 0.0)

    return np.maximum(0.0, term(chance, forecast) + term(1 - chance, 1 - forecast))


def _spherical(forecast: Floats) -> Losses:
    length = np.hypot(forecast, 1 - forecast)
    return 1 - (1 - forecast) / length, 1 - forecast / length


def _convex(
    phi: Callable[[Floats], object], subgradient: Callable[[Floats], object], forecast: Floats
) -> Losses:
    value = np.asarray(phi(forecast), dtype=np.float64)
    slope = np.asarray(subgradient(forecast), dtype=np.float64)
    if value.shape != forecast.shape or slope.shape != forecast.shape:
        raise InvalidOptionError(
            "phi and its subgradient must return one value per prediction",
            f"shapes {value.shape} and {slope.shape} for {forecast.shape}",
        )
    return slope * forecast - value, slope * (forecast - 1) - value


def _payoffs(task: DecisionTask, forecast: Floats) -> Losses:
    if_not, if_so = np.moveaxis(task.payoffs[task.envelope.best(forecast, "first")], -1, 0)
    return -if_not, -if_so


SCORES = {
    "brier": Score("brier", _brier, _square, between=_square),
    "log": Score("log", _log, _relative_entropy),
    "spherical": Score("spherical", _spherical),
}
AnyScore = (
    str | Score | DecisionTask | tuple[Callable[[Floats], object], Callable[[Floats], object]]
)


def as_score(score: object) -> Score:
    """Read a score: a name, a decision task, or a convex function and its subgradient.

    Parameters
    ----------
    score : {"brier", "log", "spherical"}, DecisionTask, Score, or pair of callables
        The loss of a task is minus the payoff of the best response, where some tie of the one
        named first. A pair is a convex function phi of an array of probabilities and its
        subgradient.

    Returns
    -------
    Score
    """
    if isinstance(score, Score):
        return score
    if isinstance(score, DecisionTask):
        return Score("task", partial(_payoffs, score))
    if isinstance(score, str) and score in SCORES:
        return SCORES[score]
    if isinstance(score, tuple) and len(score) == 2 and all(map(callable, score)):
        return Score(getattr(score[0], "__name__", "phi"), partial(_convex, *score))
    raise InvalidOptionError(
        f"@score must be one of {', '.join(SCORES)}",
        shown(score),
        OR_TASK,
    )


def row_losses(score: AnyScore, outcome: object, prediction: object) -> Floats:
    """Return the loss of each row under a proper score; smaller is better.

    Parameters
    ----------
    score : {"brier", "log", "spherical"}, DecisionTask, Score, or (phi, subgradient)
        See `as_score`.
    outcome : array-like
        Outcomes, 0 or 1, or numbers between them, for which the Brier score is the squared error.
    prediction : array-like
        Predicted probabilities of outcome 1, or forecasts of the number.

    Returns
    -------
    array
        Infinite where the log loss meets a forecast of 0 or 1 that proved wrong.

    Examples
    --------
    >>> row_losses("brier", [0, 1], [0.25, 0.5])
    array([0.0625, 0.25  ])
    >>> row_losses("log", [1, 0], [0.0, 0.0])
    array([inf,  0.])
    """
    happened = np.asarray(outcome, dtype=np.float64)
    forecast = np.asarray(prediction, dtype=np.float64)
    for name, column in (("outcome", happened), ("prediction", forecast)):
        if not ((column >= 0) & (column <= 1)).all():
            raise InvalidOptionError(f"{mention(name)} must be in [0, 1]", f"{column.min():g} to "
                                     f"{column.max():g}")  # fmt: skip
    return as_score(score).of_outcomes(happened, forecast) + 0.0


def mean_score(
    y_true: object,
    y_proba: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    score: AnyScore,
) -> float:
    """Return the mean loss of forecasts under a proper score; smaller is better.

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
    score : {"brier", "log", "spherical"}, DecisionTask, Score, or (phi, subgradient)
        See `as_score`.

    Returns
    -------
    float
        Infinite, with a warning, where the log loss meets a forecast of 0 or 1 that proved wrong.

    Notes
    -----
    Rows may have outcomes between 0 and 1: their Brier score is the mean squared error, which a
    Joint of mean outcomes cannot know and refuses. Other scores are linear in the outcome.

    Examples
    --------
    >>> mean_score([0, 1], [0.25, 0.5], score="brier")
    0.15625
    """
    source, rule = read_source(y_true, y_proba, sample_weight, pos_label), as_score(score)
    if isinstance(source, Joint):
        refuse_lost_outcomes(source, rule)
        return mean_loss(source, rule)
    if seem_few(source):
        joint = Joint.from_rows(source)
        if joint.binary:
            return mean_loss(joint, rule)
    mean = mean_of_rows(source, rule)
    # Levels say what is wrong: no weight at all, or which forecasts cost infinitely much.
    return mean if np.isfinite(mean) else mean_loss(Joint.from_rows(source), rule)


def mean_of_rows(source: AnyRows, score: Score) -> float:
    """Mean loss over rows in any order: a mean needs no levels, and so no sort."""
    total, rows = cells(source, 1)  # one cell: the pass checks the rows
    sums = []
    for start in range(0, rows.prediction.size, BLOCK):
        block = slice(start, start + BLOCK)
        outcome, forecast = rows.outcome[block], rows.prediction[block]
        if total.binary:
            if_not, if_so = score.losses(forecast)
            losses = np.where(outcome == 1, if_so, if_not)
        else:
            losses = score.of_outcomes(np.asarray(outcome, dtype=np.float64), forecast)
        sums.append(losses.sum() if rows.weight is None else losses @ rows.weight[block])
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.sum(sums) / total.weight[0])


def mean_loss(joint: Joint, score: Score) -> float:
    """Mean loss of the forecasts of a Joint, with a warning where it is infinite."""
    losses = score.expected(joint.outcome, joint.prediction)
    warn_of_infinity(joint, score, losses)
    return float(np.sum(losses * joint.weight)) / joint.total


def refuse_lost_outcomes(joint: Joint, score: Score) -> None:
    """Refuse a score that needs each outcome where a Joint knows their mean only."""
    if score.between is not None and not joint.binary:
        raise InvalidForecastsError(
            f"the {score_title(score.name)} of a Joint needs outcomes 0 and 1",
            "mean outcomes, whose squares a Joint does not know",
            "pass the rows instead: outcomes and predictions",
        )


def warn_of_infinity(joint: Joint, score: Score, losses: Floats) -> None:
    """Say where losses are infinite."""
    endless = np.isposinf(losses)
    if endless.any():
        warnings.warn(
            f"the {score_title(score.name)} is infinite: forecasts of 0 or 1 proved wrong "
            f"({count_text(int(joint.rows[endless].sum()), 'row')} had such forecasts)",
            CalibrantWarning,
            stacklevel=4,
        )
