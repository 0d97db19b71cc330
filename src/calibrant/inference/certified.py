"""Thresholds that keep the error of what is answered within a limit, with confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.notebook import brief, card
from calibrant._base.options import as_generator, check_share, shown
from calibrant._base.words import count_text, page, percent_text, rounded_up, visible
from calibrant.data.input import read_labels, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.data.splits import one_of_each
from calibrant.errors import (
    InferenceRefusedError,
    InvalidForecastsError,
    InvalidOptionError,
    mention,
)
from calibrant.joint import Joint
from calibrant.joint.draws import refuse_mean_outcomes
from calibrant.measures.measurement import read_source

# Groups that a brief statement names.
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class CertifiedThreshold:
    """The lowest threshold that keeps the error of what is answered within a limit."""

    threshold: float | None
    """Answer rows with a prediction at or above it; None if no threshold could be certified."""
    risk: float
    """Largest share of wrong answers that is allowed."""
    confidence: float
    """Chance at least that the error in the population is within that limit."""
    rows: int
    """How many rows there are."""
    answered: int
    """How many of them have a prediction at or above the threshold."""
    errors: int
    """How many of those were wrong."""
    least: int
    """The fewest answers that can show the limit, all of them right."""
    groups: Mapping[str, CertifiedThreshold] = field(default_factory=dict)
    """One for each group, where groups were given; all statements hold at once."""
    together: int = 1
    """How many statements hold at once with the confidence."""
    drawn_from: int | None = None
    """How many rows there were before one of each cluster was drawn; None without clusters."""

    def __repr__(self) -> str:
        return brief(self)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    @property
    def coverage(self) -> float:
        """Share of the rows that is answered."""
        return self.answered / self.rows

    @property
    def sentence(self) -> str:
        """Say what to answer, how sure that is, and how much is answered; then by group."""
        by_group = [f"{name}: {one.line}" for name, one in self.groups.items()]
        return page([self.line, *by_group])

    @property
    def brief(self) -> str:
        """Say it of all rows, and name the thresholds of the groups."""
        if not self.groups:
            return self._about_rows
        each = [
            f"{visible(name)} {rounded_up(one.threshold)} ({percent_text(one.coverage)} answered)"
            for name, one in self.groups.items()
            if one.threshold is not None
        ]
        unable = len(self.groups) - len(each)
        if len(each) > MOST_NAMED:
            each[MOST_NAMED:] = [f"{len(each) - MOST_NAMED} more"]
        if unable:
            each.append(f"none for {unable} of {count_text(len(self.groups), 'group')}")
        return f"{self._about_rows} By group: {', '.join(each)}."

    @property
    def line(self) -> str:
        """Say it of all rows alone."""
        if self.drawn_from is None or self.drawn_from == self.rows:
            return self._about_rows
        drawn = f"One row of each of {count_text(self.rows, 'cluster')} was drawn for this."
        return f"{self._about_rows} {drawn}"

    @property
    def _about_rows(self) -> str:
        sure = percent_text(self.confidence)
        limit = percent_text(self.risk)
        if self.threshold is not None:
            return (
                f"Answer at {rounded_up(self.threshold)} and above: error at most {limit} with "
                f"{sure} confidence; that answers {percent_text(self.coverage)} of the questions."
            )
        none = f"No threshold: an error of at most {limit} cannot be shown with {sure} confidence."
        if self.rows < self.least:
            return (
                f"{none} That takes {count_text(self.least, 'answer')} at least, all of them "
                f"right; there are {self.rows}."
            )
        return (
            f"{none} Of the {count_text(self.answered, 'surest answer')}, the fewest that could "
            f"show it, {self.errors} were wrong."
        )


def certified_threshold(
    y_true: object,
    y_proba: object = None,
    *,
    pos_label: object = None,
    risk: float = 0.05,
    confidence: float = 0.95,
    groups: object = None,
    sample_weight: object = None,
    clusters: object = None,
    rng: np.random.Generator | int | None = 0,
) -> CertifiedThreshold:
    """Find the lowest threshold whose error is within a limit, in the population, with confidence.

    Answer what is predicted at or above the threshold, and pass on the rest.

    Parameters
    ----------
    y_true : Joint, or array-like of shape (n,)
        A Joint, or whether each answer was right (1) or wrong (0).
    y_proba : array-like of shape (n,) or (n, 2), optional
        Confidence in each answer; any score in [0, 1] will do, it need not be calibrated.
    pos_label : object, optional
        The label that counts as right.
    risk : float, default=0.05
        Largest share of wrong answers among those that are given.
    confidence : float, default=0.95
        Chance, over samples, that the error beyond the sample is within the limit. At least 0.5.
    groups : array-like of shape (n,), optional
        A label for each row: every group gets a threshold of its own. The statements about all rows
        and about every group hold at once (the level is divided by their number).
    sample_weight : array-like of shape (n,), optional
        Refused unless all are equal: binomial limits need rows that count alike.
    clusters : array-like of shape (n,), optional
        Labels of rows that depend on each other, such as several answers to one question. One row
        of each cluster is drawn, in each group anew; the statement is then about a cluster to
        come, of which one row is drawn.
    rng : numpy.random.Generator or int, default=0
        Source of that draw; fixed by default.

    Returns
    -------
    CertifiedThreshold
        With `sentence`; `threshold` is None where none can be certified.

    Notes
    -----
    Learn then test, with exact binomial tail probabilities. A sequence starts with the fewest sure
    answers that could show the limit if all were right, and lowers the threshold as long as the
    errors reject "the error is beyond the limit"; it then costs nothing to try many thresholds,
    because an error is made only if the first threshold beyond the limit is passed. So that an
    unlucky start is not the end, further sequences start with two, four, eight times as many
    answers; the level 1 - confidence is shared out among them, and what a sequence has not lost
    is handed on to the next (the fallback procedure). The rows must be a random sample of those
    to come, and must not have been used to train the model or to choose the score. Known flaw:
    the statement is about answers on average, not about each of them or about groups.

    References
    ----------
    Angelopoulos, Bates, Candes, Jordan, Lei (2025), Learn then test: calibrating predictive
    algorithms to achieve risk control, Annals of Applied Statistics 19. Wiens, Dmitrienko (2005),
    The fallback procedure for evaluating a single family of hypotheses, Journal of
    Biopharmaceutical Statistics 15. Geifman, El-Yaniv (2017), Selective classification for deep
    neural networks, NeurIPS.

    Examples
    --------
    >>> right, confidence = [1] * 200 + [0, 1] * 50, [0.9] * 200 + [0.6] * 100
    >>> found = certified_threshold(right, confidence)
    >>> print(found)
    Answer at 0.9 and above: error at most 5 % with 95 % confidence; that answers 66.7 % of the
    questions.
    >>> print(certified_threshold(right, confidence, risk=0.01))
    No threshold: an error of at most 1 % cannot be shown with 95 % confidence. Of the 300 surest
    answers, the fewest that could show it, 50 were wrong.
    """
    _check(risk, confidence)
    refuse_other_labels(
        y_true=y_true,
        y_proba=y_proba,
        groups=groups,
        sample_weight=sample_weight,
        clusters=clusters,
    )
    source = read_source(y_true, y_proba, sample_weight, pos_label)
    if isinstance(source, Joint):
        for name, values in (("groups", groups), ("clusters", clusters)):
            if values is not None:
                raise InvalidForecastsError(
                    f"{mention(name)} need rows", "a Joint", "pass @y_true and @y_proba"
                )
        return _certified(source, risk, confidence, 1)
    joint, rows = Joint.checked(source)
    labels = None if groups is None else read_labels(groups, "groups", rows.prediction.size)
    return find_certified(joint, rows, risk, confidence, clusters, labels, rng)


def find_certified(
    joint: Joint,
    rows: Rows | None,
    risk: float,
    confidence: float,
    clusters: object = None,
    groups: object = None,
    rng: np.random.Generator | int | None = 0,
) -> CertifiedThreshold:
    """Certify a threshold of rows that were read before, and one of each group."""
    _check(risk, confidence)
    if rows is None or (clusters is None and groups is None):
        return _certified(joint, risk, confidence, 1)
    cluster = None
    if clusters is not None:
        labels = read_labels(clusters, "clusters", rows.prediction.size)
        cluster = np.unique(labels, return_inverse=True)[1]
    parts = {} if groups is None else _by_group(groups)
    together, rng = 1 + len(parts), as_generator(rng)
    everything = np.arange(rows.prediction.size)
    whole, *found = (
        _of_part(rows, part, cluster, risk, confidence, together, rng)
        for part in (everything, *parts.values())
    )
    return replace(whole, groups=dict(zip(parts, found, strict=True)))


def _of_part(
    rows: Rows,
    part: Indices,
    cluster: Indices | None,
    risk: float,
    confidence: float,
    together: int,
    rng: np.random.Generator,
) -> CertifiedThreshold:
    """Certify a threshold of some rows; of clusters one row each, drawn at random, counts."""
    if cluster is None:
        return _certified(Joint.from_rows(rows.where(part)), risk, confidence, together)
    kept = rows.where(part)
    drawn = one_of_each(cluster[part], rng, kept.prediction, np.asarray(kept.outcome))
    joint = Joint.from_rows(kept.where(drawn))
    return replace(_certified(joint, risk, confidence, together), drawn_from=part.size)


def _check(risk: float, confidence: float) -> None:
    check_share("risk", risk)
    check_share("confidence", confidence)
    if confidence < 0.5:
        raise InvalidOptionError("@confidence must be at least 0.5", shown(confidence))


def _by_group(labels: object) -> dict[str, Indices]:
    """Rows of each group."""
    texts = [str(name) for name in np.asarray(labels).tolist()]
    number = {name: index for index, name in enumerate(sorted(set(texts)))}
    code = np.fromiter((number[name] for name in texts), dtype=np.intp, count=len(texts))
    return {name: np.flatnonzero(code == index) for name, index in number.items()}


def _certified(joint: Joint, risk: float, confidence: float, together: int) -> CertifiedThreshold:
    """Certify a threshold of one Joint at the level that so many statements leave it."""
    refuse_mean_outcomes(joint)
    level = (1 - confidence) / together
    count = np.cumsum(joint.rows[::-1])
    wrong = _zeros(joint)[::-1]
    np.cumsum(wrong, out=wrong)
    least, starts = _starts(joint.row_count, risk, level)
    last = _last_rejected(count, wrong, np.searchsorted(count, starts), risk, level)
    shown_at = min(int(np.searchsorted(count, least)), count.size - 1) if last is None else last
    return CertifiedThreshold(
        None if last is None else float(joint.low[::-1][last]),
        risk,
        confidence,
        joint.row_count,
        int(count[shown_at]),
        int(wrong[shown_at]),
        least,
        together=together,
    )


def _zeros(joint: Joint) -> Floats:
    """Rows of each level with outcome 0, where all rows weigh the same."""
    joint = joint.of_mean_weight_one()
    if not joint.unweighted:
        raise InferenceRefusedError(
            "binomial limits need rows that count alike",
            "different weights",
            "leave @sample_weight out: the statement is then about rows like these",
        )
    return np.asarray(joint.rows - joint.positives)


def _starts(rows: int, risk: float, level: float) -> tuple[int, Floats]:
    """Fewest answers that can show the limit, and so many surest answers that sequences start with.

    The level is shared out among the starts, each of which has twice as many answers as the one
    before; there are as many as the rows allow.
    """
    few = [int(np.ceil(np.log(level / count) / np.log1p(-risk))) for count in range(1, 65)]
    several = [count for count, one in enumerate(few, 1) if one * 2 ** (count - 1) <= rows]
    count = several[-1] if several else 1
    return few[count - 1], np.array([few[count - 1] * 2.0**k for k in range(count)])


def _last_rejected(
    count: Floats, wrong: Floats, starts: Indices, risk: float, level: float
) -> int | None:
    """Lowest level at which a rate beyond the limit is rejected, by the fallback procedure.

    A sequence of levels carries its share of the level on as long as all of them are rejected;
    each start adds a share (Wiens and Dmitrienko 2005).
    """
    last, available = None, 0.0
    distinct, shares = np.unique(starts[starts < count.size], return_counts=True)
    ends = np.append(distinct[1:], count.size)
    for start, end, share in zip(distinct, ends, shares, strict=False):
        available += share * level / starts.size
        passed = _passed(count[start:end], wrong[start:end], risk, available)
        if passed:
            last = int(start) + passed - 1
        if passed < end - start:
            available = 0.0
    return last


def _passed(count: Floats, wrong: Floats, risk: float, level: float) -> int:
    """How many levels in a row have so few errors that a rate beyond the limit is rejected.

    Only levels with an error that the one before had not can be the first to fail. Most are settled
    by Chernoff's bound, the others by the binomial tail itself.
    """
    if count.size == 0:
        return 0
    # With more errors than the limit expects, the tail is at least a half.
    beyond = np.flatnonzero(wrong > risk * count)
    end = int(beyond[0]) if beyond.size else count.size
    looked_at = np.flatnonzero(np.diff(wrong[:end], prepend=-1.0))
    if looked_at.size == 0:
        return end
    n, short = count[looked_at], risk * count[looked_at] - wrong[looked_at]
    # The divergence is at least twice the squared difference, and that over twice the limit.
    exponent = short * short / n * max(2.0, 0.5 / risk)
    open_ones = looked_at[exponent < -np.log(level)]
    failed = open_ones[_tail(wrong[open_ones], count[open_ones], risk) > level]
    return int(failed[0]) if failed.size else end


def _tail(wrong: Floats, count: Floats, risk: float) -> Floats:
    """Chance of at most so many errors among so many answers when each is wrong with the limit."""
    from scipy.special import betainc

    few = np.minimum(wrong, count - 1)
    return np.where(wrong < count, betainc(count - few, few + 1, 1 - risk), 1.0)
