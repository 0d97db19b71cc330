"""Which map of class probabilities to use, judged on rows it has not seen, or none at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.arrays import Floats, Indices
from calibrant.data import deal_clusters, deal_folds
from calibrant.data.input import read_full_column
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.classes import ClassForecasts, as_forecasts
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass.maps import MAPS, MOST_CLASSES, ClassMap, Identity
from calibrant.multiclass.reductions import ClassWise, class_wise
from calibrant.options import MOST_FOLDS, as_generator, refuse_unknown, whole
from calibrant.regression import LEAST

SCORES = ("log", "brier")
# A gain below so many standard errors is taken for noise.
CLEARLY = 2.0


@dataclass(frozen=True, slots=True)
class ClassJudgement:
    """What forecasts of classes are worth on rows that no map has seen."""

    log_loss: float
    """Mean of minus the log of the chance given to what happened; at most 37 for each row."""
    brier: float
    """Mean sum of squared errors over the classes."""
    accuracy: float
    top_label_error: float
    """Smooth error of the confidence."""
    worst_class_error: float
    """Largest smooth error of a class."""


@dataclass(frozen=True, slots=True)
class ClassChoice:
    """The map that was chosen, fitted to all rows, and how it was judged on rows unseen."""

    map: ClassMap
    """Fitted to all rows; `Identity` means: leave it alone."""
    table: dict[str, list[Any]]
    """One entry per map: name, out-of-sample score, gain over no map and its standard error."""
    score: str
    before: ClassJudgement
    after: ClassJudgement
    gain: float
    """Score that the map saves per row, out of sample."""
    standard_error: float

    @property
    def leave_alone(self) -> bool:
        """Whether the best advice is to change nothing."""
        return isinstance(self.map, Identity)

    @property
    def sentence(self) -> str:
        """Say what was chosen and what it gains."""
        if self.leave_alone:
            return (
                f"Leave it alone: out of sample no map improves the {self.score} score by more "
                "than noise."
            )
        return (
            f"The {self.map.name} map is worth it: out of sample it saves {self.gain:.2g} of the "
            f"{self.score} score per row (standard error {self.standard_error:.2g}). "
            f"{self.map.sentence}"
        )

    def __str__(self) -> str:
        return self.sentence


def choose(
    y_proba: object,
    y_true: object = None,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: object = None,
    maps: Sequence[ClassMap | str] | None = None,
    score: str = "log",
    clusters: object = None,
    folds: int = 5,
    rng: np.random.Generator | int | None = None,
) -> ClassChoice:
    """Choose a map that recalibrates class probabilities, or none, by its score on rows unseen.

    Parameters
    ----------
    y_proba : ClassForecasts, or array-like or frame of shape (n, K)
        Forecasts read before, or the probabilities.
    y_true : array-like of shape (n,), optional
        Labels; left out with ClassForecasts.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    maps : sequence of maps or their names, optional
        What to choose from, simplest first; all by default. `Identity` always takes part.
    score : {"log", "brier"}, default="log"
        Proper score by which maps are compared.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other: a fold takes all of a cluster.
    folds : int, default=5
        Number of parts. At most 1000.
    rng : numpy.random.Generator or int, optional
        Source of the folds.

    Returns
    -------
    ClassChoice

    Notes
    -----
    Every map is fitted to all folds but one and judged on that one. The simplest map is taken
    whose mean score is within one standard error of the best, if it saves more than two standard
    errors over no map.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.ones(3), 2000)
    >>> labels = (true.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    >>> sharp = true**2 / (true**2).sum(axis=1, keepdims=True)
    >>> choice = choose(sharp, labels, rng=0)
    >>> choice.map.name, round(choice.map.temperature_)
    ('Temperature', 2)
    >>> choose(true, labels, rng=0).leave_alone
    True
    """
    if isinstance(y_proba, ClassForecasts):
        forecasts = as_forecasts(y_proba, y_true, classes, sample_weight)
    else:
        forecasts = as_forecasts(y_true, y_proba, classes, sample_weight)
    refuse_unknown("score", score, SCORES)
    candidates = _candidates(maps, len(forecasts.classes))
    cluster = _clusters(forecasts, clusters)
    fold = _folds(forecasts, cluster, folds, as_generator(rng))
    held = {name: _held(one, forecasts, fold, folds) for name, one in candidates.items()}
    lost = {name: _losses(table, forecasts, score) for name, table in held.items()}
    gains = {
        name: _mean(lost["Identity"] - values, forecasts, cluster) for name, values in lost.items()
    }
    best = min(lost, key=lambda name: float(forecasts.mass @ lost[name]))
    chosen = next(name for name in lost if _close(lost[name] - lost[best], forecasts, cluster))
    if gains[chosen][0] <= CLEARLY * gains[chosen][1]:
        chosen = "Identity"
    fitted = candidates[chosen].fit(forecasts)
    return ClassChoice(
        map=fitted,
        table={
            "map": list(lost),
            "score": [float(forecasts.mass @ values) for values in lost.values()],
            "gain": [gain for gain, _ in gains.values()],
            "standard_error": [error for _, error in gains.values()],
            "chosen": [name == chosen for name in lost],
        },
        score=score,
        before=judge(forecasts),
        after=judge(_moved(forecasts, held[chosen])),
        gain=gains[chosen][0],
        standard_error=gains[chosen][1],
    )


def judge(forecasts: ClassForecasts, by_class: ClassWise | None = None) -> ClassJudgement:
    """Judge forecasts as they are; smooth errors by class may be known before."""
    by_class = class_wise(forecasts) if by_class is None else by_class
    hit = forecasts.probability.argmax(axis=1) == forecasts.label
    mass = forecasts.mass
    return ClassJudgement(
        log_loss=float(mass @ _losses(forecasts.probability, forecasts, "log")),
        brier=float(mass @ _losses(forecasts.probability, forecasts, "brier")),
        accuracy=float(np.average(hit, weights=forecasts.weight)),
        top_label_error=float(smooth_calibration_error(Joint.from_rows(forecasts.guesses()))),
        worst_class_error=by_class.worst,
    )


def _candidates(maps: Sequence[ClassMap | str] | None, count: int) -> dict[str, ClassMap]:
    if maps is None:
        # A matrix has too many numbers for many classes.
        small = [
            kind() for name, kind in MAPS.items() if name != "Dirichlet" or count <= MOST_CLASSES
        ]
        return {one.name: one for one in small}
    found: dict[str, ClassMap] = {"Identity": Identity()}
    for item in maps:
        if isinstance(item, ClassMap):
            found[item.name if item.name not in found else repr(item)] = type(item)(
                **item.get_params()
            )
        elif item in MAPS:
            found[item] = MAPS[item]()
        else:
            raise InvalidOptionError(
                f"maps must be maps, or names among {', '.join(MAPS)}", repr(item)
            )
    return found


def _clusters(forecasts: ClassForecasts, clusters: object) -> Indices | None:
    if clusters is None:
        return None
    labels = read_full_column(clusters, "clusters")
    if labels.size != len(forecasts):
        raise InvalidForecastsError(
            "clusters must have one entry per row that weighs something",
            f"{labels.size} for {len(forecasts)} rows",
        )
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def _folds(
    forecasts: ClassForecasts, cluster: Indices | None, folds: int, rng: np.random.Generator
) -> Indices:
    """Fold of each row, of about equal numbers of rows or of clusters."""
    units = len(forecasts) if cluster is None else int(cluster.max()) + 1
    if whole("folds", folds, 2, MOST_FOLDS) > units:
        raise InvalidOptionError(
            "folds must be at most the rows or clusters", f"{folds} for {units}"
        )
    if cluster is not None:
        return deal_clusters(cluster, folds, rng)
    return deal_folds(folds, rng, forecasts.probability, forecasts.label, forecasts.weight)


def _held(one: ClassMap, forecasts: ClassForecasts, fold: Indices, folds: int) -> Floats:
    """Rows recalibrated by maps that have not seen them."""
    if isinstance(one, Identity):
        return forecasts.probability
    table = np.empty_like(forecasts.probability)
    for number in range(folds):
        inside = fold == number
        taught = _where(forecasts, ~inside)
        table[inside] = one.fit(taught).transform(_where(forecasts, inside))
    return table


def _where(forecasts: ClassForecasts, keep: Any) -> ClassForecasts:
    weight = None if forecasts.weight is None else forecasts.weight[keep]
    return ClassForecasts(
        forecasts.probability[keep], forecasts.label[keep], forecasts.classes, weight
    )


def _moved(forecasts: ClassForecasts, table: Floats) -> ClassForecasts:
    return ClassForecasts(table, forecasts.label, forecasts.classes, forecasts.weight)


def _losses(table: Floats, forecasts: ClassForecasts, score: str) -> Floats:
    hit = table[np.arange(len(forecasts)), forecasts.label]
    if score == "log":
        return -np.log(np.maximum(hit, LEAST))
    return np.asarray((table**2).sum(axis=1) - 2 * hit + 1)


def _mean(saved: Floats, forecasts: ClassForecasts, cluster: Indices | None) -> tuple[float, float]:
    """Mean and its standard error, robust to clusters."""
    mass = forecasts.mass
    mean = float(mass @ saved)
    part = mass * (saved - mean)
    if cluster is not None:
        part = np.asarray(np.bincount(cluster, part), dtype=np.float64)
    count = part.size
    return mean, float(np.sqrt(part @ part * (count / max(1, count - 1))))


def _close(behind: Floats, forecasts: ClassForecasts, cluster: Indices | None) -> bool:
    """Whether a map is within one standard error of the best."""
    mean, error = _mean(behind, forecasts, cluster)
    return mean <= error
