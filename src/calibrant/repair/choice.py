"""Which map to use, judged on rows that it was not fitted to, or none at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.decisions import DecisionTask, Score, as_score
from calibrant.decisions.scores import AnyScore
from calibrant.errors import InvalidOptionError
from calibrant.inference.settings import Settings
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.options import shown
from calibrant.regression import LEAST
from calibrant.repair.base import RecalibrationMap
from calibrant.repair.folds import Units, read_units
from calibrant.repair.judgement import Judgement, failed_rows, finite, judge, losses, mean_loss
from calibrant.repair.parametric import Identity
from calibrant.repair.stored import MAPS
from calibrant.words import count_text

# A gain of fewer standard errors leaves forecasts alone: calibrated ones reach it by luck in one
# sample of twenty, were there but one map to try.
CLEARLY = 1.645


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean loss saved per row, out of sample, with the ends of a normal interval.

    Where forecasts of exactly 0 or 1 failed the log score is infinite: so are then what a map
    saves and both ends, or all are NaN if the score stays infinite.
    """

    value: float
    low: float
    high: float
    standard_error: float

    def told(self, before: float, after: float) -> Gain:
        """Return what the mean scores before and after say, if one of them is infinite."""
        if np.isfinite(before) and np.isfinite(after):
            return self
        value = np.nan if before == after else before - after
        return Gain(value, value, value, np.nan)

    def as_dict(self) -> dict[str, float | None]:
        """Return plain data; what is infinite or not defined is None."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}

    def text(self, score: str, confidence: float) -> str:
        """Say what is saved."""
        if np.isposinf(self.value):
            return f"an infinite {score} score"
        if np.isnan(self.value):
            return f"something of the {score} score, which stays infinite"
        sure = f"between {self.low:.2g} and {self.high:.2g} with {confidence * 100:.3g} %"
        return f"{self.value:.2g} of the {score} score per row ({sure} confidence)"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The map that was chosen, fitted to all rows, and how it was judged on rows unseen."""

    map: RecalibrationMap
    """Fitted to all rows; `Identity` means: leave it alone."""
    table: dict[str, list[Any]]
    """One entry per map: its name, out-of-sample score, gain over no map with its interval, and
    how far it is behind the best, in standard errors."""
    gain: Gain
    """Score that the map saves out of sample, over leaving forecasts alone."""
    score: str
    """Name of the score."""
    runner_up: str
    """The best map that was not chosen, when none was."""
    _units: Units = field(repr=False)
    _repaired: Floats = field(repr=False)
    """Predictions of the rows by maps that had not seen them."""
    _labels: dict[str, npt.NDArray[Any]] = field(repr=False)
    _task: DecisionTask | None = field(repr=False)
    _settings: Settings = field(repr=False)

    @property
    def confidence(self) -> float:
        """Confidence of the intervals."""
        return self._settings.confidence

    @property
    def leave_alone(self) -> bool:
        """Whether the best advice is to change nothing."""
        return isinstance(self.map, Identity)

    @cached_property
    def before(self) -> Judgement:
        """What the forecasts are worth as they are, on the rows that maps were judged on."""
        return self.judged(self._units.prediction)

    @cached_property
    def after(self) -> Judgement:
        """What they are worth after the map, fitted to other rows."""
        return self.before if self.leave_alone else self.judged(self._repaired)

    @property
    def smooth_errors(self) -> tuple[float, float]:
        """Smooth calibration error before and after, out of sample, without intervals."""
        before, after = (
            float(smooth_calibration_error(self._units.joint(prediction)))
            for prediction in (self._units.prediction, self._repaired)
        )
        return before, after

    @property
    def sentence(self) -> str:
        """Say what was chosen and what it gains."""
        if self.leave_alone:
            best = f" (the best was {self.runner_up})" if self.runner_up else ""
            return (
                f"Leave it alone: out of sample no map improves the {self.score} score by more "
                f"than noise{best}."
            )
        saved = self.gain.text(self.score, self.confidence)
        why = failure_text(self._units, self._units.prediction, self._repaired)
        return (
            f"The {self.map.name} map is worth it: out of sample it saves {saved}{why}. "
            f"{self.map.sentence}"
        )

    def __str__(self) -> str:
        return self.sentence

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "map": self.map.to_dict(),
            "score": self.score,
            "confidence": self.confidence,
            "gain": self.gain.as_dict(),
            "table": plain_table(self.table),
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "sentence": self.sentence,
        }

    def judged(self, prediction: Floats) -> Judgement:
        """Judge other predictions of the rows that maps were judged on."""
        return judge(self._units, prediction, self._task, self._labels, self._settings)


def choose(
    y_proba: object,
    y_true: object = None,
    *,
    sample_weight: object = None,
    pos_label: object = None,
    maps: Sequence[RecalibrationMap | str] | None = None,
    score: AnyScore = "log",
    task: DecisionTask | None = None,
    clusters: object = None,
    time: object = None,
    by: object = None,
    folds: int = 5,
    confidence: float = 0.95,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Choice:
    """Choose a map that recalibrates predictions, or none, by its score on rows unseen.

    Parameters
    ----------
    y_proba : Joint, or array-like of shape (n,) or (n, 2)
        A Joint whose rows weigh the same within each level, or predicted probabilities of
        outcome 1.
    y_true : array-like of shape (n,), optional
        Outcomes, 0 or 1; left out with a Joint.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    maps : sequence of maps or their names, optional
        What to choose from, simplest first; all by default. `Identity` always takes part.
    score : {"log", "brier", "spherical"}, DecisionTask or Score, default="log"
        Proper score by which maps are compared.
    task : DecisionTask, optional
        The caller's decision, whose loss before and after is told.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: a fold takes all of a cluster.
    time : array-like of shape (n,), optional
        Times of the rows: maps learn from earlier rows only, and the earliest are not judged.
    by : array-like of shape (n,), or mapping of names to such, optional
        Groups of rows, of which the worst is told before and after.
    folds : int, default=5
        Number of parts. At most 1000.
    confidence : float, default=0.95
        Confidence of the intervals.
    draws : int, default=999
        Random multipliers behind the intervals of the smooth error. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Choice
        `.map` is fitted to all rows; `.before` and `.after` are what forecasts are worth out of
        sample, found when first asked for.

    Notes
    -----
    Every map is fitted to all folds but one and judged on that one. The simplest map is taken
    whose mean score is within one standard error of the difference from the best (Breiman,
    Friedman, Olshen, Stone 1984); no map at all is the simplest. Forecasts are also left alone
    unless the gain is 1.645 standard errors or more, of the sample or of a sample in which the
    forecasts are right, whichever is larger: where few events happened the sample hides its spread.
    To compare maps, forecasts of exactly 0 or 1 that failed cost 37 in the log score, because
    infinite losses cannot be compared. What is told is not cut: the score of such forecasts is
    infinite, and so is what a map saves; `before.failed` counts them, and the Brier score stands
    beside.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.random(4000)
    >>> outcome = rng.random(4000) < chance
    >>> choice = choose(chance**2, outcome, rng=0)
    >>> choice.leave_alone, round(choice.before.smooth_error.value, 2)
    (False, 0.17)
    >>> choose(chance, outcome, rng=0).leave_alone
    True
    """
    settings = Settings.read(confidence=confidence, draws=draws, rng=rng)
    candidates = candidates_of(maps)
    units, labels = read_units(
        y_proba,
        y_true,
        sample_weight,
        pos_label,
        clusters,
        time,
        _named(by),
        folds,
        settings.rng,
    )
    return choose_among(units, labels, candidates, as_score(score), task, settings)


def choose_among(
    units: Units,
    labels: dict[str, npt.NDArray[Any]],
    candidates: dict[str, RecalibrationMap],
    rule: Score,
    task: DecisionTask | None,
    settings: Settings,
) -> Choice:
    """Choose a map by its score on rows that are split into folds."""
    held = _cross_fitted(units, candidates)
    judged = units.judged
    seen, labels = units.where(judged), {name: column[judged] for name, column in labels.items()}
    held = {name: values[judged] for name, values in held.items()}
    lost = {name: losses(rule, seen, values) for name, values in held.items()}
    chosen, behind = _simplest_of_the_best(seen, lost)
    gains = {
        name: gain_of(seen, lost["Identity"] - lost[name], settings.confidence) for name in lost
    }
    if not is_clear(gains[chosen], seen, rule, seen.prediction, held[chosen]):
        chosen = "Identity"
    scores = {name: mean_loss(seen, rule, values) for name, values in held.items()}
    told = {
        name: gain if name == "Identity" else gain.told(scores["Identity"], scores[name])
        for name, gain in gains.items()
    }
    table: dict[str, list[Any]] = {
        "map": list(lost),
        "score": list(scores.values()),
        "gain": [gain.value for gain in told.values()],
        "gain_low": [gain.low for gain in told.values()],
        "gain_high": [gain.high for gain in told.values()],
        "behind": [behind[name] for name in lost],
        "chosen": [name == chosen for name in lost],
    }
    best = max(gains, key=lambda name: gains[name].value)
    fitted = candidates[chosen].fit(units.joint(units.prediction))
    return Choice(
        map=fitted,
        table=table,
        gain=told[chosen],
        score=rule.name,
        runner_up=best if chosen == "Identity" and best != "Identity" else "",
        _units=seen,
        _repaired=held[chosen],
        _labels=labels,
        _task=task,
        _settings=settings.again(int(settings.rng.integers(2**32))),
    )


def candidates_of(maps: object) -> dict[str, RecalibrationMap]:
    """Unfitted maps by name, the identity first, then in the order given."""
    if maps is None:
        return {name: kind() for name, kind in MAPS.items()}
    if not isinstance(maps, Sequence) or isinstance(maps, str):
        raise InvalidOptionError("maps must be a list of maps or of their names", shown(maps))
    found: dict[str, RecalibrationMap] = {"Identity": Identity()}
    for item in maps:
        if isinstance(item, RecalibrationMap):
            name, one = repr(item).removesuffix("()"), type(item)(**item.get_params())
        elif isinstance(item, str) and item in MAPS:
            name, one = item, MAPS[item]()
        else:
            raise InvalidOptionError(
                f"maps must be maps, or names among {', '.join(MAPS)}", shown(item)
            )
        found[name] = one
    return found


def failure_text(units: Units, before: Floats, after: Floats) -> str:
    """Say how many forecasts of exactly 0 or 1 failed before, with Brier scores; or nothing."""
    failed = failed_rows(units, before)
    if not failed or failed_rows(units, after):
        return ""
    first, second = (mean_loss(units, as_score("brier"), values) for values in (before, after))
    return (
        f", because {count_text(failed, 'forecast')} of exactly 0 or 1 failed; the Brier score "
        f"goes from {first:.3g} to {second:.3g}"
    )


def plain_table(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return a table that JSON can hold: what is infinite or not defined is None."""
    return {
        name: [finite(value) if isinstance(value, float) else value for value in column]
        for name, column in table.items()
    }


def _named(by: object) -> dict[str, Any]:
    if by is None:
        return {}
    return dict(by) if isinstance(by, Mapping) else {"group": by}


def _cross_fitted(units: Units, candidates: dict[str, RecalibrationMap]) -> dict[str, Floats]:
    """Recalibrated predictions of every map, each row by a map that has not seen it."""
    held = {name: units.prediction.copy() for name in candidates}
    for fold in units.folds:
        inside = np.flatnonzero(units.fold == fold)
        taught = units.taught(fold)
        for name, candidate in candidates.items():
            if name != "Identity":
                held[name][inside] = candidate.fit(taught).form_(units.prediction[inside])
    return held


def _simplest_of_the_best(units: Units, lost: dict[str, Floats]) -> tuple[str, dict[str, float]]:
    """First map whose loss is within one standard error of the best; how far each is behind."""
    best = min(lost, key=lambda name: float(units.weight @ lost[name]))
    behind = {}
    for name, values in lost.items():
        difference = gain_of(units, values - lost[best], 0.95)
        error = difference.standard_error
        behind[name] = difference.value / error if error > 0 else 0.0
    return next(name for name in lost if behind[name] <= 1), behind


def is_clear(gain: Gain, units: Units, score: Score, first: Floats, repaired: Floats) -> bool:
    """Whether a gain is beyond noise: of the sample, or of one in which the first were right."""
    noise = max(gain.standard_error, _luck(units, score, first, repaired))
    return gain.value > CLEARLY * noise


def _luck(units: Units, score: Score, first: Floats, repaired: Floats) -> float:
    """Spread of the mean gain if the first forecasts were right: few events may not show it."""
    before, after = (
        score.losses(np.clip(values, LEAST, 1 - LEAST)) for values in (first, repaired)
    )
    if_not, if_so = (old - new for old, new in zip(before, after, strict=True))
    chance = first * (1 - first)
    return float(np.sqrt(units.square @ (chance * (if_so - if_not) ** 2)) / units.weight.sum())


def gain_of(units: Units, saved: Floats, confidence: float) -> Gain:
    """Mean of what is saved, with a normal interval that is robust to clusters."""
    from scipy.special import ndtri

    cases = units.cases(units.prediction)
    total = float(units.weight.sum())
    mean = float(cases.total(saved)) / total
    variance = float(cases.covariance((saved - mean)[:, np.newaxis])[0, 0])
    error = float(np.sqrt(variance)) / total
    reach = float(ndtri((1 + confidence) / 2)) * error
    return Gain(mean, mean - reach, mean + reach, error)
