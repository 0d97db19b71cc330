"""Two forecasters on the same rows: which one is better, and is the difference real."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, in_parts
from calibrant._base.notebook import card
from calibrant._base.options import as_generator, check_positive, check_share, enough_draws, shown
from calibrant._base.words import comparable_texts, interval_texts, number_text, percent_text
from calibrant.catalogue import CATALOGUE
from calibrant.data import canonical_order
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import RawRows
from calibrant.decisions import DecisionTask, Score, score_name, score_title
from calibrant.errors import InferenceRefusedError, InvalidOptionError, arguments_named, mention
from calibrant.inference.calibration_error import measure_rows
from calibrant.inference.cases import Cases, cluster_codes, widening
from calibrant.inference.evidence import RESOLUTION
from calibrant.inference.interval import upper_quantile
from calibrant.inference.means import row_mean_and_half_width
from calibrant.inference.scores import mean_and_half_width, score_of
from calibrant.inference.statistic import AnyMeasure, Statistic, residual_mass_of
from calibrant.inputs import KindRequest, rows_of_kind
from calibrant.joint import Joint, Rows
from calibrant.joint.draws import refuse_mean_outcomes
from calibrant.joint.sums import cell_index
from calibrant.kinds import Scale
from calibrant.measures.smooth import smooth_calibration_error

# With more rows than this predictions are rounded for the multipliers (not for the values), so
# that rows which agree in both predictions and in the outcome are drawn as one.
MANY_ROWS, FEW_CELLS = 2**16, 2**8
# Multiples of the noise that errors are moved by, to see which tests may be the best.
STEPS = (4.0, 16.0, 64.0)


@dataclass(frozen=True, slots=True)
class ForecasterNoise:
    """Residual mass of one forecaster, in all and by unit of drawing and level."""

    joint: Joint
    residual_mass: Floats
    """Of each level."""
    by_unit: Any
    """Sparse matrix, one row per unit and one column per level."""
    hidden: Any
    """Sparse matrix of the spread that few events hide, one row per kind of rows."""

    def noise(self, drawn: Floats, extra: Floats, mean: Floats) -> Floats:
        """Random deviations of the residual mass, one row each."""
        found = (self.by_unit.T @ drawn.T + self.hidden.T @ extra.T).T
        return np.asarray(found - mean * self.residual_mass)


def find_half_widths(
    pair: list[Rows],
    labels: npt.NDArray[Any] | None,
    statistic: Statistic,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """How far the difference of the errors, and the error of the difference, may be off.

    Random deviations are shared by both forecasters: one number per row or cluster.
    """
    from scipy.special import ndtri

    rows = pair[0]
    size = rows.prediction.size
    cells = RESOLUTION if size <= MANY_ROWS else FEW_CELLS
    joints = [Joint.from_rows(rows, cells) for rows in pair]
    levels = [
        np.searchsorted(cell_index(joint.prediction, cells), cell_index(rows.prediction, cells))
        for rows, joint in zip(pair, joints, strict=True)
    ]
    weight = np.ones(size) if rows.weight is None else rows.weight
    share = weight / weight.sum()
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    alike = _alike(levels, outcome, rows.weight)
    cluster = None if labels is None else cluster_codes(labels)
    unit = alike if cluster is None else cluster
    scale = _shrunk(alike) if cluster is None else np.ones(size)
    wilson = float(ndtri((1 + confidence) / 2)) * _unit(pair, weight, outcome, cluster)
    spread = wilson * np.sqrt(share) * _shrunk(alike)
    forecasters = [
        ForecasterNoise(
            joint,
            residual_mass_of(joint),
            _by(unit, level, share * (outcome - joint.prediction[level]) * scale, joint),
            _by(alike, level, spread, joint),
        )
        for joint, level in zip(joints, levels, strict=True)
    ]
    shares = np.asarray(np.bincount(unit, share * scale), dtype=np.float64)
    few = 1.0
    if cluster is not None:
        few = _for_few(shares, confidence)
    return _drawn_half_widths(forecasters, statistic, shares, few, cells, confidence, draws, rng)


def find_half_widths_of_units(
    pair: list[Rows],
    units: list[npt.NDArray[np.intp]],
    statistic: Statistic,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Find the same of forecasters with outcomes of their own, in units that both have.

    Rows of one unit (a question) may be several, of either forecaster; every unit must have the
    same weight for both. Random deviations are shared by unit; what few events hide is not.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    cells = RESOLUTION if max(rows.prediction.size for rows in pair) <= MANY_ROWS else FEW_CELLS
    count = int(units[0].max()) + 1
    parts = [_of_forecaster(rows, unit, cells, z) for rows, unit in zip(pair, units, strict=True)]
    kinds = [hidden.shape[0] for *_, hidden in parts]
    forecasters = [
        ForecasterNoise(
            joint, residual_mass_of(joint), by_unit, _padded(hidden, sum(kinds[:index]), sum(kinds))
        )
        for index, (joint, by_unit, hidden) in enumerate(parts)
    ]
    shares = np.full(count, 1 / count)
    few = _for_few(shares, confidence)
    return _drawn_half_widths(forecasters, statistic, shares, few, cells, confidence, draws, rng)


def _of_forecaster(
    rows: Rows, unit: npt.NDArray[np.intp], cells: int, z: float
) -> tuple[Joint, Any, Any]:
    """Levels of one forecaster, its residual mass by unit, and what few events hide."""
    joint = Joint.from_rows(rows, cells)
    level = np.searchsorted(cell_index(joint.prediction, cells), cell_index(rows.prediction, cells))
    weight = np.ones(unit.size) if rows.weight is None else rows.weight
    share = weight / weight.sum()
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    alike = _alike([level], outcome, rows.weight)
    spread = z * _unit([rows], weight, outcome, unit) * np.sqrt(share) * _shrunk(alike)
    residual_mass = share * (outcome - joint.prediction[level])
    return joint, _by(unit, level, residual_mass, joint), _by(alike, level, spread, joint)


def _padded(hidden: Any, before: int, size: int) -> Any:
    """Put the kinds of one forecaster behind those of another: their noise is not shared."""
    from scipy.sparse import csr_array, vstack

    levels = hidden.shape[1]
    after = size - before - hidden.shape[0]
    return vstack([csr_array((before, levels)), hidden, csr_array((after, levels))]).tocsr()


def _for_few(shares: Floats, confidence: float) -> float:
    """Factor for noise of few clusters."""
    return float(np.sqrt(shares.size / (shares.size - 1)) * widening(shares, 1 - confidence))


def _drawn_half_widths(
    forecasters: list[ForecasterNoise],
    statistic: Statistic,
    shares: Floats,
    few: float,
    cells: int,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw deviations, one number per unit and one per kind of rows, for both at once."""
    apart, both = [], Both.of(*(forecaster.joint for forecaster in forecasters))
    errors = Errors(forecasters, statistic)
    kinds = forecasters[0].hidden.shape[0]
    for count in in_parts(draws, max(shares.size, kinds, cells)):
        drawn = rng.standard_normal((count, shares.size)) * few
        extra = rng.standard_normal((count, kinds))
        mean = (drawn @ shares)[:, np.newaxis]
        noise = [forecaster.noise(drawn, extra, mean) for forecaster in forecasters]
        errors.add(noise)
        apart.append(statistic.values(both.joint, both.difference(*noise)))
    return errors.half_width(confidence), upper_quantile(np.concatenate(apart), confidence)


class Errors:
    """How far both errors lie from the population's, one up and the other down, by draws.

    An error is the largest value of many tests. It exceeds the population's by at most the
    deviation of the test that it found, and falls short by at most that of the test that the
    population would find, so that only tests that may be the best need to be looked at: those
    whose value is within twice the largest deviation (the slack) of the best one. Among them the
    largest deviation is at most (largest of values plus h times deviations, less the best value,
    plus the slack) / h, for every h. As h grows, that is the largest deviation of any test; with
    the slack left out, the numerical derivative of Hong and Li (2018).
    """

    def __init__(self, forecasters: list[ForecasterNoise], statistic: Statistic) -> None:
        self.forecasters, self.statistic = forecasters, statistic
        self.best = [
            self._values(forecaster, forecaster.residual_mass[np.newaxis, :])[0]
            for forecaster in forecasters
        ]
        self.largest: list[list[Floats]] = [[], []]
        self.slopes: list[list[Floats]] = [[] for _ in STEPS]

    def _values(self, forecaster: ForecasterNoise, residual_masses: Floats) -> Floats:
        return self.statistic.values(forecaster.joint, residual_masses)

    def add(self, noise: list[Floats]) -> None:
        """Add deviations of both forecasters, one row per draw."""
        signed = list(zip(self.forecasters, noise, (-1, 1), strict=True))
        for kept, (forecaster, deviation, _) in zip(self.largest, signed, strict=True):
            kept.append(self._values(forecaster, deviation))
        for kept, step in zip(self.slopes, STEPS, strict=True):
            total = sum(
                self._values(forecaster, forecaster.residual_mass + sign * step * deviation)
                for forecaster, deviation, sign in signed
            )
            kept.append((total - sum(self.best)) / step)

    def half_width(self, confidence: float) -> float:
        """Quantile over the draws of these bounds.

        Those of any test hold in both directions at once, the others in one: each may miss with
        half of the chance.
        """
        first, second = (np.concatenate(values) for values in self.largest)
        of_any = smallest = first + second
        once = (1 + confidence) / 2
        slack = 2 * (upper_quantile(first, once) + upper_quantile(second, once))
        for values, step in zip(self.slopes, STEPS, strict=True):
            smallest = np.minimum(smallest, np.concatenate(values) + slack / step)
        return min(upper_quantile(of_any, confidence), upper_quantile(smallest, once))


@dataclass(frozen=True, slots=True)
class Both:
    """Levels of both forecasters, for residual masses of the second less those of the first."""

    joint: Joint
    indices: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

    @classmethod
    def of(cls, first: Joint, second: Joint) -> Both:
        """Unite levels."""
        levels = np.union1d(first.prediction, second.prediction)
        joint = Joint.from_counts(levels, np.ones(levels.size), np.zeros(levels.size))
        return cls(
            joint,
            (
                np.searchsorted(levels, first.prediction),
                np.searchsorted(levels, second.prediction),
            ),
        )

    def difference(self, first: Floats, second: Floats) -> Floats:
        """Residual masses of the second less those of the first, one row each."""
        found = np.zeros((len(first), len(self.joint)))
        found[:, self.indices[1]] += second
        found[:, self.indices[0]] -= first
        return found


def _unit(
    pair: list[Rows], weight: Floats, outcome: Floats, cluster: npt.NDArray[np.intp] | None
) -> float:
    """One over the effective number of independent rows."""
    single = float(weight @ weight / weight.sum() ** 2)
    cases = Cases(pair[0].prediction, outcome, weight, weight**2, cluster)
    return single * max(cases.design_effect(outcome - rows.prediction) for rows in pair)


def _alike(
    levels: list[npt.NDArray[np.intp]], outcome: Floats, weight: Floats | None
) -> npt.NDArray[np.intp]:
    """Give each kind of rows a number: both levels, the outcome and the weight are the same."""
    columns = [*levels, outcome] + ([] if weight is None else [weight])
    order = np.lexsort(columns)
    new = np.zeros(order.size, dtype=bool)
    new[0] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    kind = np.empty(order.size, dtype=np.intp)
    kind[order] = np.cumsum(new) - 1
    return kind


def _shrunk(kind: npt.NDArray[np.intp]) -> Floats:
    """Factor for each row of those that share one random number.

    c normal numbers have the spread of one, times the root of c, so each of the c rows counts
    with one over that root.
    """
    return 1 / np.sqrt(np.bincount(kind))[kind]


def _by(
    unit: npt.NDArray[np.intp], level: npt.NDArray[np.intp], residual_mass: Floats, joint: Joint
) -> Any:
    from scipy.sparse import coo_array

    return coo_array(
        (residual_mass, (unit, level)), shape=(int(unit.max()) + 1, len(joint))
    ).tocsr()


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
        joint, rows = Joint.checked(RawRows.read(y, p, weight))
        joints.append(joint)
        pair.append(rows)
    one, other = map(_sorted, pair, codes)
    same = np.array_equal(one, other)
    score = score_of(measure)
    if score is not None or measure == ERROR_RATE:
        return replace(_means(pair, codes, score, confidence, margin), identical=same)
    statistic = Statistic.of(measure)
    statistic.refuse_without_half_width()
    half_widths = find_half_widths_of_units(
        pair, codes, statistic, confidence, draws, as_generator(rng)
    )
    found = compare_errors(joints, statistic, half_widths, confidence, margin)
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
    half_width = z * wider * float(np.sqrt(spread)) / count
    name = ERROR_RATE if score is None else score_name(score.name)
    return Comparison(
        name, first, second, difference - half_width, difference + half_width, confidence, margin
    )


def _losses(rows: Rows, score: Score | None) -> tuple[Floats, Floats]:
    if score is None:
        return np.ones(rows.prediction.size), np.zeros(rows.prediction.size)
    return score.losses(rows.prediction)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error or loss of a second forecaster less that of a first, on the same rows."""

    measure: str
    """Name of the measure, of the score, or of the loss of the kind."""
    first: float
    second: float
    low: float
    high: float
    confidence: float
    margin: float | None = None
    """Difference that does not matter."""
    identical: bool = False
    """Whether both forecasters say the same of every row."""
    errors: tuple[float, float] | None = None
    """Smooth calibration errors of both where losses of numbers are compared, in their units."""

    @property
    def difference(self) -> float:
        """The second number less the first: negative when the second is better."""
        return self.second - self.first

    @property
    def equivalent(self) -> bool:
        """Whether the difference is certainly smaller than the margin, in either direction."""
        margin = self._margin()
        return -margin < self.low and self.high < margin

    @property
    def not_worse(self) -> bool:
        """Whether the second is certainly not worse than the first by the margin or more."""
        return self.high < self._margin()

    @property
    def sentence(self) -> str:
        """Say the comparison in plain words."""
        if self.identical:
            return "The two forecasts are identical."
        first, second = comparable_texts(self.first, self.second)
        texts = interval_texts(self.difference, self.low, self.high)
        numbers = (self.difference, self.low, self.high)
        difference, low, high = map(_signed, texts, numbers)
        sure = f"between {low} and {high} with {percent_text(self.confidence)}"
        values = f"{self._title()} {first} and {second}, difference {difference}"
        text = f"{self._found}: {values} ({sure} confidence)"
        if self.errors is None:
            return f"{text}."
        return f"{text}; smooth calibration errors {' and '.join(comparable_texts(*self.errors))}."

    def _title(self) -> str:
        """Name of the measure or of the score, in words."""
        if self.measure in CATALOGUE:
            return CATALOGUE[self.measure].title
        score = self.measure.removesuffix("_score")
        return self.measure.replace("_", " ") if score == self.measure else score_title(score)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    @property
    def _found(self) -> str:
        """Say which forecaster is better, or that the sample does not tell."""
        if self.high < 0:
            return "The second forecaster is better"
        if self.low > 0:
            return "The first forecaster is better"
        if self.margin is not None and self.equivalent:
            return f"The two forecasters differ by less than {number_text(self.margin)}"
        return "This sample does not tell which forecaster is better"

    def _margin(self) -> float:
        if self.margin is None:
            raise InvalidOptionError("equivalence needs a margin", "none", "compare(..., margin=)")
        return self.margin


def _signed(text: str, value: float) -> str:
    """Write a difference with its sign; what is infinite has one as well."""
    return f"+{text}" if value > 0 else text


def compare(
    y_true: object,
    y_proba_a: object,
    y_proba_b: object,
    *,
    kind: str | None = None,
    range: object = None,  # noqa: A002  # the word users know
    level: float | None = None,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure | Score | DecisionTask | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 499,
    rng: np.random.Generator | int | None = None,
) -> Comparison:
    """Compare two forecasters on the same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; of other kinds any numbers.
    y_proba_a, y_proba_b : array-like of shape (n,) or (n, 2)
        Predictions of the first and of the second forecaster.
    kind : str, optional
        What forecasts of continuous outcomes are forecasts of: "mean", "median", "quantile=0.9",
        "expectile=0.8", or "interval" (two columns). None for probabilities.
    range : (float, float), optional
        The least and the largest continuous outcome there can be, for the smooth errors. Without
        it both are placed in the range of the forecasts of both.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, optional
        A measure that has a confidence interval, or a proper score ("brier", "log", "spherical", a
        `Score`, a `DecisionTask`), which is compared row by row; others are refused. By default
        the smooth calibration error. Other kinds are compared by their loss: the squared error,
        the pinball loss, the asymmetric squared error, or the interval score.
    margin : float, optional
        Difference that does not matter, for `equivalent` and `not_worse`.
    confidence : float, default=0.95
        Confidence of the interval for the difference.
    clusters : array-like of shape (n,), optional
        Labels of groups of rows that depend on each other.
    draws : int, default=499
        Number of random multipliers. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Comparison

    Notes
    -----
    Both errors are the largest of the same tests, so their difference is at most what any single
    test tells the forecasters apart: one forecaster compared with itself differs by exactly 0, and
    similar ones by little. Where they are not similar, the difference is off by at most the largest
    deviation of a test that may be the best for the one, and of one that may be the best for the
    other. Quantiles of both are estimated with random multipliers that the forecasters share.

    Losses of continuous outcomes are compared by Student's interval for the mean of the differences
    of the rows, or of the clusters. Known flaw: squared errors of heavy-tailed outcomes have means
    that few rows do not show; the interval is then too narrow.

    References
    ----------
    Hong, Li (2018), The numerical delta method, Journal of Econometrics 206.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.random(5000)
    >>> outcome = rng.random(5000) < chance
    >>> print(compare(outcome, chance**2, chance, rng=0))
    The second forecaster is better: smooth calibration error 0.159 and 0.008, difference -0.151
    (between -0.170 and -0.127 with 95 % confidence).
    >>> true = rng.normal(20, 6, 2000)
    >>> y = true + rng.normal(0, 4, 2000)
    >>> compare(y, true + 2, true, kind="mean").high < 0
    True
    """
    request = KindRequest.of(kind, range, level)
    if request is not None:
        _refuse_other_options(measure, pos_label)
        return _compare_losses(
            y_true,
            (y_proba_a, y_proba_b),
            request,
            sample_weight,
            clusters,
            margin,
            confidence,
        )
    measure = smooth_calibration_error if measure is None else measure
    draws = enough_draws(draws, confidence)
    if margin is not None:
        check_share("margin", margin)
    refuse_other_labels(
        y_true=y_true,
        y_proba_a=y_proba_a,
        y_proba_b=y_proba_b,
        sample_weight=sample_weight,
        clusters=clusters,
    )
    pair, joints = [], []
    for name, y_proba in {"y_proba_a": y_proba_a, "y_proba_b": y_proba_b}.items():
        with arguments_named(y_proba=name):
            joint, rows = Joint.checked(RawRows.read(y_true, y_proba, sample_weight, pos_label))
        refuse_mean_outcomes(joint)
        pair.append(rows)
        joints.append(joint)
    size = pair[0].prediction.size
    labels = None if clusters is None else read_labels(clusters, "clusters", size)
    weight = pair[0].weight
    if weight is not None and not weight.all():
        pair = [rows.where(weight > 0) for rows in pair]
        labels = None if labels is None else labels[weight > 0]
    same = np.array_equal(pair[0].prediction, pair[1].prediction)
    score = score_of(measure)
    if score is not None:
        return replace(_scores(pair, labels, score, confidence, margin), identical=same)
    statistic = Statistic.of(measure)  # type: ignore[arg-type]  # scores are done
    statistic.refuse_without_half_width()
    half_widths = find_half_widths(pair, labels, statistic, confidence, draws, as_generator(rng))
    found = compare_errors(joints, statistic, half_widths, confidence, margin)
    return replace(found, identical=same)


def compare_errors(
    joints: list[Joint],
    statistic: Statistic,
    half_widths: tuple[float, float],
    confidence: float,
    margin: float | None,
) -> Comparison:
    """Compare the errors of two Joints.

    `half_widths` are how far their difference, and the error of their difference, may be off.
    """
    half_width, beyond = half_widths
    first, second = (statistic.value(joint) for joint in joints)
    difference = second - first
    both = Both.of(*joints)
    residual_masses = both.difference(*(residual_mass_of(joint)[np.newaxis, :] for joint in joints))
    # Two errors differ by no more than any test tells the forecasters apart.
    most = max(abs(difference), float(statistic.values(both.joint, residual_masses)[0])) + beyond
    return Comparison(
        statistic.name,
        first,
        second,
        max(difference - half_width, -most) + 0.0,  # never minus zero
        min(difference + half_width, most),
        confidence,
        margin,
    )


def _scores(
    pair: list[Rows],
    labels: npt.NDArray[Any] | None,
    score: Score,
    confidence: float,
    margin: float | None,
) -> Comparison:
    """Compare mean scores by the differences of the rows."""
    rows = pair[0]
    outcome = np.asarray(rows.outcome, dtype=np.float64)
    weight = np.ones(outcome.size) if rows.weight is None else rows.weight
    cluster = None if labels is None else cluster_codes(labels)
    cases = Cases(rows.prediction, outcome, weight, weight**2, cluster)
    losses = [score.losses(rows.prediction) for rows in pair]
    with np.errstate(invalid="ignore"):  # both are infinite where neither can be
        if_not, if_so = (second - first for first, second in zip(*losses, strict=True))
    forecasts = [rows.prediction for rows in pair]
    difference, half_width = mean_and_half_width(cases, if_not, if_so, forecasts, confidence)
    first = np.where(outcome == 1, losses[0][1], losses[0][0])
    mean = float(cases.total(first) / weight.sum())
    return Comparison(
        score_name(score.name),
        mean,
        mean + difference,
        difference - half_width,
        difference + half_width,
        confidence,
        margin,
    )


def _refuse_other_options(measure: object, pos_label: object) -> None:
    """Refuse what forecasts of continuous outcomes are not compared by."""
    for name, value in {"measure": measure, "pos_label": pos_label}.items():
        if value is not None:
            raise InvalidOptionError(
                f"{mention(name)} is for predicted probabilities", shown(value), "leave it out"
            )


def _compare_losses(
    y_true: object,
    forecasts: tuple[object, object],
    kind: KindRequest,
    sample_weight: object,
    clusters: object,
    margin: float | None,
    confidence: float,
) -> Comparison:
    """Compare mean losses of a kind by the differences of the rows."""
    check_share("confidence", confidence)
    if margin is not None:
        check_positive("margin", margin)
    first, second = forecasts
    refuse_other_labels(
        y_true=y_true,
        y_proba_a=first,
        y_proba_b=second,
        sample_weight=sample_weight,
        clusters=clusters,
    )
    pair = []
    for name, forecast in zip(("y_proba_a", "y_proba_b"), forecasts, strict=True):
        with arguments_named(y_pred=name):
            pair.append(rows_of_kind(y_true, forecast, kind, sample_weight))
    labels = None if clusters is None else read_labels(clusters, "clusters", len(pair[0]))
    columns = [column for one in pair for column in (one.prediction, one.upper)]
    # Sums in another order would differ in the last digit.
    order = canonical_order(*columns, pair[0].outcome, pair[0].weight, labels)
    pair = [one.where(order) for one in pair]
    labels = None if labels is None else labels[order]
    if kind.range is None and not pair[0].kind.has_ends:
        pair = _in_one_range(pair)
    before, after = (one.losses for one in pair)
    value, half_width = row_mean_and_half_width(pair[0], after - before, labels, confidence)
    if not np.isfinite(half_width):
        raise InferenceRefusedError(
            "an interval needs at least two rows or clusters with weight", "one with nearly all"
        )
    mean = pair[0].mean_of(before)
    one, other = (float(measure_rows(rows, "smooth_calibration_error", {})) for rows in pair)
    return Comparison(
        pair[0].kind.loss_name,
        mean,
        mean + value,
        value - half_width,
        value + half_width,
        confidence,
        margin,
        all(
            np.array_equal(*both)
            for both in zip(*((rows.prediction, rows.upper) for rows in pair), strict=True)
        ),
        (one, other),
    )


def _in_one_range(pair: list[Rows]) -> list[Rows]:
    """Place the forecasts of both in the same range, so that their errors can be compared."""
    low = min(rows.scale.start for rows in pair)
    high = max(rows.scale.end for rows in pair)
    return [replace(rows, scale=Scale(low, high, rows.scale.unit, bounded=False)) for rows in pair]
