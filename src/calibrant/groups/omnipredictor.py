r"""Learn one predictor that serves every loss of a family: the omnipredictor.

Write :math:`\Delta(t) = l(1, t) - l(0, t)` for a loss l, and k for the best action for the
prediction. The loss of an action is l(0, t) + y Delta(t), so for outcomes :math:`\tilde y` drawn
from the predictions E l(y, a) = E l(y~, a) + E Delta(a) (y - p), and because k is best for y~

    E l(y, k) - E l(y, c) <= E Delta(k) (y - p) - E Delta(c) (y - p)     for every rule c.

Every learner here ends with isotonic regression (pool-adjacent-violators), of which two facts about
the rows fitted to are used. Its predictions are the mean outcomes of pools, so E h(p) (y - p) = 0
for every function h: the first term vanishes for every loss. And E g(s) (y - p) <= 0 for every
increasing function g of the score s that it was fitted to: else a small step from p along g would
be increasing too and have a smaller squared error. What is left of the gap is -E Delta(c) (y - p),
which learners keep small for their class of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, small_product
from calibrant._base.options import check_share, refuse_unknown, shown, whole
from calibrant._base.words import count_text
from calibrant.data import canonical_order
from calibrant.data.classes import read_row_weights
from calibrant.data.groupings import columns_of
from calibrant.data.input import (
    as_array,
    as_floats,
    examples,
    one_column,
    read_column,
    refuse_missing,
    refuse_other_labels,
)
from calibrant.data.target import read_target
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.groups.multicalibrator import Multicalibrator
from calibrant.groups.omniprediction import (
    Loss,
    OmniCertificate,
    omnipredict,
    omniprediction_certificate,
)
from calibrant.joint import Rows
from calibrant.kinds import Mean
from calibrant.recalibration import Classifier, Lines, codes_of
from calibrant.regression import isotonic_fit

METHODS = ("multiaccuracy", "isotron", "isotonic", "multicalibration")
HEADS = ("best", "average")
# Directions of the features with less of the variance are left out, and rules along them too.
LEAST_VARIANCE = 1e-10
# Scores with a standard deviation of 1 are rounded to so many digits, predictions to more, so that
# sums in another order do not part rows that tie.
SCORE_DIGITS, CHANCE_DIGITS = 9, 12
# Squares of larger features overflow.
LARGEST = 1e100


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows that a learner is fitted to."""

    table: Floats
    outcome: Floats
    share: Floats
    """Weights that add up to one."""

    @property
    def base_rate(self) -> float:
        """Mean outcome."""
        return float(self.share @ self.outcome)

    def isotonic(self, score: Floats) -> Lines:
        """Fit the increasing function of a score that has the least squared error."""
        fit = isotonic_fit(Rows(score, self.outcome, self.share, kind=Mean()))
        changed = np.diff(fit.value) != 0
        ends = np.append(True, changed) | np.append(changed, True)
        return Lines(fit.forecast[ends], np.clip(fit.value[ends], 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Whitening:
    """Features as uncorrelated columns with mean 0 and variance 1."""

    center: Floats
    basis: Floats
    """One column for each direction; directions without variance are left out."""

    @classmethod
    def of(cls, sample: Sample) -> Whitening:
        """Find mean and directions."""
        table, share = sample.table, sample.share
        center = small_product(share[np.newaxis], table)[0]
        spread = np.sqrt(share @ (table - center) ** 2)
        unit = np.where((np.ptp(table, axis=0) > 0) & (spread > 0), spread, np.inf)
        scaled = (table - center) / unit
        variance, direction = np.linalg.eigh(small_product(scaled.T * share, scaled))
        kept = variance > LEAST_VARIANCE * max(1.0, float(variance.max()))
        if not kept.any():  # no feature varies: every score is 0
            return cls(center, np.zeros((center.size, 1)))
        basis = direction[:, kept] / np.sqrt(variance[kept]) / unit[:, np.newaxis]
        return cls(center, basis)

    def columns(self, table: Floats) -> Floats:
        """Whitened columns."""
        return small_product(table - self.center, self.basis)

    def along(self, direction: Floats) -> Index:
        """Score along a direction of the whitened columns."""
        return Index(self.center, self.basis @ direction)


@dataclass(frozen=True, slots=True)
class Index:
    """A linear score of the features."""

    center: Floats
    weight: Floats

    def __call__(self, table: Floats) -> Floats:
        """Score rows, each by itself: the same bits whatever rows stand beside."""
        return np.asarray(np.ascontiguousarray((table - self.center) * self.weight).sum(axis=1))


@dataclass(frozen=True, slots=True)
class Head:
    """An increasing function of one linear score."""

    index: Index
    link: Lines

    def __call__(self, table: Floats) -> Floats:
        """Predict."""
        return self.link(np.round(self.index(table), SCORE_DIGITS))


@dataclass(frozen=True, slots=True)
class OneScore:
    """An increasing function of the only column."""

    link: Lines

    def __call__(self, table: Floats) -> Floats:
        """Predict."""
        return self.link(table[:, 0])


@dataclass(frozen=True, slots=True)
class Rounds:
    """The base rate, corrected by linear scores and made calibrated after each."""

    base: float
    steps: tuple[tuple[Index, Lines], ...]

    def __call__(self, table: Floats) -> Floats:
        """Predict."""
        p = np.full(len(table), self.base)
        for index, link in self.steps:
            p = link(corrected(p, index(table)))
        return p


def corrected(prediction: Floats, step: Floats) -> Floats:
    """Add to predictions and clip."""
    return np.asarray(np.round(np.clip(prediction + step, 0.0, 1.0), CHANCE_DIGITS))


@dataclass(frozen=True, slots=True)
class Learned:
    """What a learner found."""

    heads: tuple[Callable[[Any], Floats], ...]
    left: float
    """Largest E h (y - p) over functions h of the class with unit size, on the rows fitted to."""
    rounds: int
    errors: tuple[float, ...] = field(default=())
    """Mean squared error before each round and after the last, where there are several."""


def fit_isotonic(sample: Sample) -> Learned:
    """Fit isotonic regression on one score: on these rows no monotone rule has a smaller loss."""
    return Learned((OneScore(sample.isotonic(sample.table[:, 0])),), 0.0, 1)


def fit_isotron(sample: Sample, tolerance: float, rounds: int, *, average: bool) -> Learned:
    r"""Fit the Isotron: add the mean of (y - p) x to w, p the isotonic regression on w.x.

    With whitened x and g_t = E (y - p_t) x, w_T is the sum of the g_t, and E (y - p_t) w_t.x <= 0,
    so that \|w_T\|^2 <= \|g_0\|^2 + ... + \|g_(T-1)\|^2 <= T / 4: the mean of the g_t has a norm
    of at most 1 / (2 sqrt T). (An isotonic fit has a squared error of at most 1 / 4, which bounds
    each \|g_t\|^2.) No such bound holds for one head alone.
    """
    whitening = Whitening.of(sample)
    columns = whitening.columns(sample.table)
    total = np.zeros(columns.shape[1])
    heads: list[Head] = []
    left: list[float] = []
    while len(heads) < rounds:
        size = float(np.linalg.norm(total))
        index = whitening.along(total / size if size > 0 else total)
        score = np.round(index(sample.table), SCORE_DIGITS)
        head = Head(index, sample.isotonic(score))
        residual = sample.share * (sample.outcome - head.link(score))
        gradient = small_product(residual[np.newaxis], columns)[0]
        total = total + gradient
        heads.append(head)
        found = total / len(heads) if average else gradient
        left.append(float(np.linalg.norm(found)))
        if left[-1] <= tolerance:
            break
    if average:
        return Learned(tuple(heads), left[-1], len(heads))
    best = int(np.argmin(left))
    return Learned((heads[best],), left[best], len(heads))


def fit_multiaccuracy(sample: Sample, tolerance: float, rounds: int) -> Learned:
    r"""Correct by linear scores until no one finds a bias, calibrated after each round.

    With whitened x and g = E (y - p) x: stop if \|g\| is at most the tolerance e, else p becomes
    p + g.x, clipped to [0, 1], then isotonic regression on that. The first lowers the mean squared
    error by 2 \|g\|^2 - E (g.x)^2 = \|g\|^2, clipping and isotonic regression only lower it. It
    begins with that of the base rate, at most 1/4: there are at most 1 / (4 e^2) rounds.
    """
    whitening = Whitening.of(sample)
    columns = whitening.columns(sample.table)
    base = sample.base_rate
    p = np.full(sample.outcome.size, base)
    steps: list[tuple[Index, Lines]] = []
    errors = []
    while True:
        residual = sample.outcome - p
        errors.append(float(sample.share @ residual**2))
        gradient = small_product((sample.share * residual)[np.newaxis], columns)[0]
        left = float(np.linalg.norm(gradient))
        if left <= tolerance or len(steps) == rounds:
            return Learned((Rounds(base, tuple(steps)),), left, len(steps), tuple(errors))
        index = whitening.along(gradient)
        score = corrected(p, index(sample.table))
        link = sample.isotonic(score)
        steps.append((index, link))
        p = link(score)


def noise_level(sample: Sample) -> float:
    r"""Bound the root mean square of \|E (y - p) x\| for the true p and independent rows."""
    columns = Whitening.of(sample).columns(sample.table)
    return float(0.5 * np.sqrt(sample.share**2 @ (columns**2).sum(axis=1)))


@dataclass(frozen=True, slots=True)
class Patched:
    """The base rate, patched by columns and made calibrated."""

    patches: Multicalibrator
    base: float
    link: Lines

    def patched(self, columns: Mapping[str, Any]) -> Floats:
        """Patch the base rate."""
        size = len(next(iter(columns.values())))
        prediction = self.patches.transform(np.full(size, self.base), columns)
        return np.asarray(np.round(prediction, CHANCE_DIGITS), dtype=np.float64)

    def __call__(self, columns: Mapping[str, Any]) -> Floats:
        """Predict."""
        return self.link(self.patched(columns))


def fit_multicalibration(
    columns: Mapping[str, Any], outcome: Floats, weight: Floats | None, patches: Multicalibrator
) -> Learned:
    """Patch the base rate until no group of a column has a bias, then fit isotonic regression.

    Of each column, the absolute biases of its groups are added up: what functions of the group
    with values between -1 and 1 can find.
    """
    share = np.full(outcome.size, 1.0) if weight is None else weight
    share = share / share.sum()
    base = float(share @ outcome)
    patches.fit(np.full(outcome.size, base), outcome, columns, weight)
    found = Patched(patches, base, Lines(np.zeros(1), np.full(1, base)))
    score = found.patched(columns)
    found = Patched(
        patches, base, Sample(np.empty((outcome.size, 0)), outcome, share).isotonic(score)
    )
    residual = share * (outcome - found.link(score))
    codes = codes_of(patches.groupings_, columns, outcome.size)
    left = max(float(np.abs(np.bincount(code, residual)).sum()) for code in codes)
    return Learned((found,), left, len(patches.fit_.steps))


class Omnipredictor(Classifier):
    r"""Learn one predictor whose best actions serve every loss.

    Parameters
    ----------
    method : {"multiaccuracy", "isotron", "isotonic", "multicalibration"}, default="multiaccuracy"
        "multiaccuracy" (calibrated multiaccuracy) corrects the base rate by linear functions of
        the features, with isotonic regression after each; "isotron" learns an increasing function
        of one linear score; "isotonic" is isotonic regression on the only column, a score;
        "multicalibration" patches groups of each column by a `Multicalibrator`, then isotonic
        regression.
    tolerance : float, optional
        Bias along linear functions at which "multiaccuracy" and "isotron" stop. By default the
        largest root mean square that noise alone gives the true probabilities, sqrt(d / n) / 2
        for d features and n rows of equal weight: to go below it would fit noise.
    rounds : int, default=100
        Largest number of rounds of "multiaccuracy" and "isotron".
    heads : {"best", "average"}, default="best"
        What "isotron" keeps: the round with the least bias left, a single-index model; or all of
        them, whose best actions are averaged, a multi-index model with a proven bound.
    multicalibrator : Multicalibrator, optional
        What "multicalibration" uses, by default `Multicalibrator()`; its method must be "hkrr" or
        "low_degree".

    Attributes
    ----------
    classes_ : array of shape (2,)
        Labels of the classes; the second is outcome 1.
    left_ : float
        Bias that is left on the rows fitted to: the largest E h (y - p) over functions h of the
        class with unit size.
    tolerance_ : float
        Bias at which the fit was to stop.
    rounds_ : int
        Number of rounds, or of patches.
    sentence_ : str
        What holds on the rows fitted to, in words.

    Notes
    -----
    Write Delta(t) = l(1, t) - l(0, t), and k(p) for the best action for p (`decide`). On the rows
    fitted to, for every loss l and every rule c of the class

    .. math:: E\,l(y, k(p)) \le E\,l(y, c(x)) + W \cdot \mathtt{left\_},

    whatever the loss, if k may choose among all actions. The class is

    - "isotonic": -Delta(c) increases with the score, W = 0. So are cost-sensitive decisions by a
      cutoff, and increasing probabilities under every proper loss.
    - "multiaccuracy", "isotron": -Delta(c(x)) = a + w.x with a standard deviation of at most W.
      So are generalized linear models under their matching losses, such as a linear log-odds under
      the log loss, and linear c under the squared loss (W is twice the standard deviation of c).
    - "multicalibration": -Delta(c(x)) - a is a function of the group of one column with values
      between -W and W.

    Calibration makes the rest of the gap vanish; the proof is three lines (docs/omniprediction.md).
    With "multiaccuracy" ``left_`` is at most the tolerance after at most 1 / (4 tolerance^2)
    rounds; with heads="average" it is at most 1 / (2 sqrt(rounds)), for losses that are convex in
    the action, as actions are averaged. One head of the Isotron has no bound beforehand, and
    "multicalibration" none after its isotonic step: ``left_`` says what came out.

    On new rows both calibration and ``left_`` are off by sampling noise. `certificate` measures
    them on rows that had no part in the fit.

    Known flaw: isotonic regression predicts exactly 0 or 1 at its ends, where the log loss of a new
    row can be infinite. With few rows for each feature the default tolerance stops early, and a
    smaller one fits noise.

    References
    ----------
    Gopalan, Kalai, Reingold, Sharan, Wieder (2022), Omnipredictors, ITCS. Gopalan, Hu, Kim,
    Reingold, Wieder (2023), Loss minimization through the lens of outcome indistinguishability,
    ITCS. Kalai, Sastry (2009), The Isotron algorithm: high-dimensional isotonic regression, COLT.
    Kakade, Kalai, Kanade, Shamir (2011), Efficient learning of generalized linear and single index
    models with isotonic regression, NeurIPS. Hu, Tian, Yang (2025), Omnipredicting single-index
    models with multi-index models, STOC.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.5]))
    >>> model = Omnipredictor().fit(X[:1000], y[:1000])
    >>> print(model.sentence_)
    1 round; on the rows fitted to, best actions lose at most 0.0061 W more than any rule whose
    difference of losses is linear in the features with a standard deviation of at most W
    >>> chance = model.predict_proba(X[1000:])[:, 1]
    >>> bool(((chance - y[1000:]) ** 2).mean() < 0.14)
    True
    """

    left_: float
    tolerance_: float
    rounds_: int
    sentence_: str

    def __init__(
        self,
        method: str = "multiaccuracy",
        *,
        tolerance: float | None = None,
        rounds: int = 100,
        heads: str = "best",
        multicalibrator: Multicalibrator | None = None,
    ) -> None:
        self.method = method
        self.tolerance = tolerance
        self.rounds = rounds
        self.heads = heads
        self.multicalibrator = multicalibrator

    def fit(self, X: Any, y: object = None, sample_weight: object = None) -> Self:  # noqa: N803
        """Fit to features and labels of two classes.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            Features: numbers, and for "multicalibration" also labels.
        y : array-like of shape (n,)
            Labels of two classes; the one that sorts last is outcome 1.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        The estimator itself.
        """
        self._check()
        refuse_other_labels(X=X, y=y, sample_weight=sample_weight)
        self._remember_columns(X)
        given = self._read(X)
        labels, classes, code = read_target(y, self._class_name)
        if len(classes) != 2:
            raise InvalidForecastsError(
                "Only binary classification is supported: y must hold two classes",
                f"{len(classes)} classes",
            )
        if _size(given) != labels.size:
            raise InvalidForecastsError(
                "y must have one label per row of X", f"{labels.size} for {_size(given)} rows"
            )
        weight = read_row_weights(sample_weight, labels.size)
        outcome = code.astype(np.float64)
        if weight is not None and not weight.all():
            kept = weight > 0
            given, outcome, weight = _where(given, kept), outcome[kept], weight[kept]
        self._learned = self._learn(given, outcome, weight)
        self.classes_ = classes
        self.left_, self.rounds_ = self._learned.left, self._learned.rounds
        self.sentence_ = self._in_words()
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the chances of the two classes, one row each; of several heads the mean."""
        chance = self.predict_heads(X).mean(axis=1)
        return np.column_stack([1 - chance, chance])

    def predict_heads(self, X: Any) -> Floats:  # noqa: N803
        """Return the chance of outcome 1 by each head, a column for each; mostly there is one."""
        self._require_fitted()
        self._check_columns(X)
        given = self._read(X)
        heads = np.column_stack([head(given) for head in self._learned.heads])
        return np.clip(heads, 0.0, 1.0)  # interpolation may be off by a rounding error

    def decide(self, X: Any, loss: Loss, actions: object = None) -> Floats:  # noqa: N803
        """Return the best action of each row for a loss.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            Features.
        loss : callable
            l(y, t) for arrays of outcomes and actions, as for `omnipredict`.
        actions : array-like, optional
            Actions to choose from; by default 0, 0.001, ..., 1.

        Returns
        -------
        array of shape (n,)
            What `omnipredict` answers; of several heads the mean action, which makes sense for
            losses that are convex in the action.
        """
        heads = self.predict_heads(X)
        answers = [omnipredict(head, loss, actions) for head in heads.T]
        return np.asarray(np.mean(answers, axis=0))

    def certificate(
        self,
        X: Any,  # noqa: N803
        y: object,
        losses: Mapping[str, Loss],
        comparators: Mapping[str, object],
        *,
        actions: object = None,
        sample_weight: object = None,
    ) -> OmniCertificate:
        """Bound what best actions lose against other rules, on rows that had no part in the fit.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            Features of other rows.
        y : array-like of shape (n,)
            Their labels.
        losses : mapping of str to callable
            Losses l(y, t).
        comparators : mapping of str to array-like of shape (n,)
            What other rules, such as models trained for one loss, would do on each row.
        actions : array-like, optional
            Actions to choose from; by default 0, 0.001, ..., 1.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        OmniCertificate
            As `omniprediction_certificate` finds it. Of several heads, losses and bounds are means
            over the heads, which for losses convex in the action is at least what `decide` loses.
        """
        refuse_other_labels(X=X, y=y, comparators=comparators, sample_weight=sample_weight)
        heads = self.predict_heads(X)
        size, count = heads.shape
        outcome = self._outcomes(y, size)
        columns = {name: read_column(values, name, size) for name, values in comparators.items()}
        weight = read_row_weights(sample_weight, size)
        return omniprediction_certificate(
            np.tile(outcome, count),
            heads.ravel(order="F"),
            losses,
            {name: np.tile(values, count) for name, values in columns.items()},
            actions=actions,
            sample_weight=None if weight is None else np.tile(weight, count),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = self.method == "multicalibration"
        return tags

    def _outcomes(self, y: object, size: int) -> npt.NDArray[np.float64]:
        """Read labels of the classes that were fitted to."""
        labels = one_column(as_array(y, "y"), "y")
        if labels.size != size:
            raise InvalidForecastsError(
                "y must have one label per row of X", f"{labels.size} for {size} rows"
            )
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise InvalidForecastsError(
                "y must hold the classes that the model was fitted to", examples(labels[~known])
            )
        return np.asarray(labels == self.classes_[1], dtype=np.float64)

    def _check(self) -> None:
        refuse_unknown("method", self.method, METHODS)
        refuse_unknown("heads", self.heads, HEADS)
        whole("rounds", self.rounds)
        if self.tolerance is not None:
            check_share("tolerance", self.tolerance)
        patches = self.multicalibrator
        if patches is None:
            return
        if not isinstance(patches, Multicalibrator):
            raise InvalidOptionError("multicalibrator must be a Multicalibrator", shown(patches))
        if patches.method == "boosted":
            raise InvalidOptionError(
                "multicalibrator must patch groups that have names",
                "method='boosted'",
                "use method='hkrr' or 'low_degree'",
            )

    def _read(self, X: Any) -> Any:  # noqa: N803
        """Read features: a table of numbers, or columns where they may hold labels."""
        labelled = self.method == "multicalibration"
        given = X if labelled and hasattr(X, "columns") else as_array(X, "X")
        if len(given.shape) != 2:
            raise InvalidForecastsError(
                "X must have rows and columns",
                f"an array of shape {given.shape}",
                "Reshape your data with X.reshape(1, -1) if it is one row, or "
                "X.reshape(-1, 1) if it is one column",
            )
        if labelled:
            return {
                name: read_column(values, name) for name, values in columns_of(given, "X").items()
            }
        table = as_floats(given, "X")
        if not len(table):
            raise InvalidForecastsError("X must have rows", "0 sample(s)")
        refuse_missing(table, "X")
        if not (np.abs(table) <= LARGEST).all():
            raise InvalidForecastsError(
                f"X must hold numbers between -{LARGEST:g} and {LARGEST:g}",
                "infinity (inf) or a number beyond",
            )
        if self.method == "isotonic" and table.shape[1] != 1:
            raise InvalidForecastsError(
                "isotonic regression takes one column, a score",
                f"{table.shape[1]} columns",
                "use method='isotron' or 'multiaccuracy'",
            )
        return table

    def _learn(self, given: Any, outcome: Floats, weight: Floats | None) -> Learned:
        if self.method == "multicalibration":
            known = Multicalibrator() if self.multicalibrator is None else self.multicalibrator
            patches = type(known)(**known.get_params(deep=False))
            self.tolerance_ = patches.tolerance
            return fit_multicalibration(given, outcome, weight, patches)
        order = canonical_order(given, outcome, weight)
        share = np.ones(outcome.size) if weight is None else weight[order]
        sample = Sample(given[order], outcome[order], share / share.sum())
        if self.method == "isotonic":
            self.tolerance_ = 0.0
            return fit_isotonic(sample)
        self.tolerance_ = noise_level(sample) if self.tolerance is None else self.tolerance
        if self.method == "multiaccuracy":
            return fit_multiaccuracy(sample, self.tolerance_, self.rounds)
        return fit_isotron(sample, self.tolerance_, self.rounds, average=self.heads == "average")

    def _in_words(self) -> str:
        began = "on the rows fitted to, best actions lose"
        if self.method == "isotonic":
            return f"{began} no more than any rule whose loss difference falls as the score rises"
        if self.method == "multicalibration":
            return (
                f"{count_text(self.rounds_, 'patch')}; {began} at most {self.left_:.2g} W more "
                "than any rule whose difference of losses is a function of the group of one "
                "column with values between -W and W"
            )
        return (
            f"{count_text(self.rounds_, 'round')}; {began} at most {self.left_:.2g} W more than "
            "any rule whose difference of losses is linear in the features with a standard "
            "deviation of at most W"
        )


def _size(given: Any) -> int:
    return len(next(iter(given.values()))) if isinstance(given, dict) else len(given)


def _where(given: Any, rows: npt.NDArray[np.bool_]) -> Any:
    if isinstance(given, dict):
        return {name: values[rows] for name, values in given.items()}
    return given[rows]
