"""Watch forecasts row by row, with a bound on false alarms that holds for ever."""

from __future__ import annotations

import heapq
import itertools
import json
import math
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats, Indices
from calibrant._base.options import (
    ShareOfRarer,
    Tolerance,
    check_share,
    check_within,
    number_or_percent,
    refuse_unknown,
    shown,
    tolerance_from,
)
from calibrant._base.stored import Resumable, Stored, parse, restoring
from calibrant._base.words import chance_text, count_text, number_text
from calibrant.data.input import as_array, refuse_other_labels, refuse_several
from calibrant.data.rows import refuse_swap
from calibrant.errors import (
    InferenceRefusedError,
    InvalidForecastsError,
    InvalidOptionError,
    InvalidStateError,
    mention,
)
from calibrant.joint import Rows
from calibrant.kinds import BINARY, NAMES, Scale, kind_named, read_kind
from calibrant.measures.regions import region_sentence
from calibrant.monitoring.alarms import Bets, witness_of
from calibrant.monitoring.bets import Bet, allowance_of
from calibrant.monitoring.events import CLUSTER_FORECASTS, ClusterForecast, added, one_per_cluster

Key = str | int


@dataclass(slots=True)
class AwaitedForecast:
    """A forecast that waits for its outcome, its due time, or both."""

    prediction: float
    due: float
    outcome: float | None = None
    forecasts: int = 1
    """How many were made of the same event; `prediction` stands for all of them."""


@dataclass(slots=True)
class PendingForecasts:
    """Forecasts by key, in the order in which they were announced."""

    forecasts: dict[Key, AwaitedForecast] = field(default_factory=dict)
    _line: list[tuple[float, int, Key, AwaitedForecast]] = field(default_factory=list)
    """A heap by due time and announcement, in which those withdrawn may still stand."""
    _announced: Iterator[int] = field(default_factory=itertools.count)

    def add(self, key: Key, prediction: float, due: float, again: str | None = None) -> None:
        """Announce a forecast; `again` says which of several of one key counts, if there may be."""
        if not _storable(key):
            raise InvalidForecastsError(
                "a key must be a string or a whole number of at most 63 bits", shown(key)
            )
        forecast = AwaitedForecast(prediction, finite(due, "due"))
        if key in self.forecasts:
            if again is None:
                raise InvalidForecastsError(
                    "a key must not be waiting already",
                    repr(key),
                    "for several forecasts of one event set @cluster_forecast",
                )
            self._add_again(key, forecast, again)
            return
        self.forecasts[key] = forecast
        heapq.heappush(self._line, (forecast.due, next(self._announced), key, forecast))

    def _add_again(self, key: Key, forecast: AwaitedForecast, how: str) -> None:
        known = self.forecasts[key]
        if known.outcome is not None:
            raise InvalidForecastsError("a key must not be resolved already", repr(key))
        if known.due != forecast.due:
            raise InvalidForecastsError(
                "due of a key must stay what it was", f"{forecast.due:g} after {known.due:g}"
            )
        known.forecasts += 1
        known.prediction = added(key, known.forecasts, known.prediction, forecast.prediction, how)

    def resolve(self, key: Key, outcome: float | None) -> None:
        """Note an outcome, or withdraw the forecast."""
        forecast = self.forecasts.get(key)
        if forecast is None or forecast.outcome is not None:
            raise InvalidForecastsError(
                "a key must belong to a forecast that waits for its outcome", repr(key)
            )
        if outcome is None:
            del self.forecasts[key]
        else:
            forecast.outcome = outcome

    def in_order(self) -> list[Key]:
        """Keys by due time, those of equal due time in the order of their announcement."""
        return sorted(self.forecasts, key=lambda key: self.forecasts[key].due)

    def release(self, now: float) -> Iterator[AwaitedForecast]:
        """Let go what is due and resolved, up to the first row that is due but unresolved."""
        moment = finite(now, "now")
        while self._line:
            due, _, key, forecast = self._line[0]
            waits = self.forecasts.get(key) is forecast
            if waits and (due > moment or forecast.outcome is None):
                return
            heapq.heappop(self._line)
            if waits:
                yield self.forecasts.pop(key)


def _storable(key: object) -> bool:
    """Whether a key comes back from JSON as it was: True would be a 1, long numbers are refused."""
    if isinstance(key, int):
        return not isinstance(key, bool) and abs(key) < 2**63
    return isinstance(key, str)


def finite(time: float, name: str) -> float:
    """Return a time on the caller's clock."""
    try:
        moment = float(time)
    except (OverflowError, TypeError, ValueError):
        moment = math.nan
    if not math.isfinite(moment):
        raise InvalidForecastsError(
            f"{mention(name)} must be a finite number on one clock",
            repr(time),
            "for instance Unix seconds",
        )
    return moment


def read_binary_rows(
    y_true: object, y_proba: object, pos_label: object = None
) -> tuple[Floats, npt.NDArray[np.uint8]]:
    """Let rows through the gate and refuse mean outcomes."""
    rows = Rows.read(y_true, y_proba, None, pos_label)
    between = (rows.outcome != 0) & (rows.outcome != 1)
    if between.any():
        refuse_swap(rows)
        raise InferenceRefusedError(
            "a monitor needs outcomes 0 and 1",
            f"{between.sum()} mean outcomes",
            "bets are settled by single outcomes: give one row for each",
        )
    return rows.prediction, rows.outcome.astype(np.uint8)


SCHEMA = 3
STORED = "a stored monitor"
OTHER_BETS = "another release wrote it, with other bets: start a new monitor from the log"
DEFAULT_RUN_LENGTH = 1e5
LONGEST_RUN = 1e300
# Bets on coverage do not know the forecast: ranges of forecasts are watched on their own as well,
# between the quartiles of the first so many forecasts.
LEARNED_FROM = 64
QUARTILES = (0.25, 0.5, 0.75)


class CalibrationMonitor(Resumable):
    r"""Watch a stream of forecasts; look after every row, as long as you like.

    Threads may share a monitor: rows of one call enter together.

    Parameters
    ----------
    tolerance : float or str, optional
        How far chances may be from forecasts on average without being worth an alarm, in [0, 1);
        0 tests exact calibration, and "5%" allows 5 % of min(p, 1 - p) for a forecast of p. By
        default min(0.02, p / 10, (1 - p) / 10). Of means it is in the units of the outcome, or
        "2%" of their range, by default 2 %; of quantiles and intervals in units of probability, by
        default 0.02, or a tenth of the rarer side if that is less.
    alpha : float, default=0.05
        Bound on the chance that a stream within tolerance ever causes an alarm, in (0, 1).
    kind : str, optional
        What forecasts of continuous outcomes are forecasts of: "mean", "median", "quantile=0.9",
        "expectile=0.8" or "interval". None for probabilities.
    range : (float, float), optional
        The least and the largest outcome there can be. Means and expectiles need it: without
        bounds one outcome of tiny chance could make any forecast right.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    edges : sequence of float, optional
        For quantiles and intervals: forecasts (of intervals, widths) at which ranges that are
        watched on their own meet. By default the quartiles of the first 64.
    run_length : float, optional
        Rows that pass on average, at least, before a stream within tolerance shows a `change`.
        By default 100 000, or 1 / alpha if that is more.
    cluster_forecast : {"last", "first", "mean", "drawn"}, optional
        For rows that share an event: which forecast the event enters with, once, when its outcome
        is known. A mean of forecasts is less extreme than the best of them: a forecaster
        who learns over time is found out as "not extreme enough". The others are safe.

    Attributes
    ----------
    rows : int
        How many rows were seen, or events with a `cluster_forecast`.
    alarm : bool
        Whether the evidence ever reached 1 / alpha.
    evidence : float
        The mean of the parts, of which `shift` has a quarter and every other 0.15. Under the null
        hypothesis its expectation is at most 1 at any time.

    Notes
    -----
    **Null hypothesis.** For every row, given all rows before it, the expected calibration error is
    at most the mean tolerance:

    .. math:: E\left|P(y = 1 \mid \text{past}, p) - p\right| \le E[a(p)],

    where p is the forecast of the row and a(p) its tolerance. This covers streams in which every
    single chance is within the tolerance of its forecast, however the forecasts are chosen, and
    independent rows of one forecaster whose expected calibration error is within the tolerance. A
    smooth error within the tolerance is not enough: bins see errors that no smooth test sees. With
    tolerance 0 it says that each forecast is the chance of its outcome given the past.

    **Guarantee.** A bet multiplies its wealth by 1 + u (y - p) - s a(p); the stake u follows from
    earlier rows and p, and never exceeds the size s, which does not depend on p. Given the past the
    mean of this factor is at most 1 + s (E\|P(y=1\|past, p) - p\| - E a(p)), so at most 1 under the
    null hypothesis: the evidence is a non-negative supermartingale that starts at 1, and the chance
    that it ever reaches 1 / alpha is at most alpha (Ville 1939). Bettors who join before every row
    find errors that begin late: those of rows 2^j to 2^(j+1) - 1 share 1 / ((j + 1) (j + 2)) of the
    evidence, so that an error that begins at row t must gain little more than the logarithm of t.

    **Other kinds.** Every row is a bet on a number in [0, 1] whose mean is known if the forecast is
    right: the scaled outcome of a mean, and of quantiles and intervals whether the outcome lies
    below or inside. A factor is linear in this number and positive at 0 and 1, so that the same
    bound holds for every distribution of outcomes. Half of the evidence of quantiles and intervals
    is that of all rows, the other half is shared by the ranges. A quantile promises that outcomes
    lie at or below it with the chance of its level exactly: where outcomes have few values no
    forecast can keep that, so allow a tolerance. In a range that is far wider than outcomes vary,
    errors of a mean are found late.

    The detector of changes is the sum of bettors who join before every row with one unit each. It
    grows by at most 1 per row on average, so that `run_length` rows pass on average, or more, until
    it reaches that level (the Shiryaev-Roberts e-detector of Shin, Ramdas and Rinaldo 2023).

    **What it is not.** Silence proves nothing. Rows must enter in an order that does not depend on
    their outcomes; for outcomes that come late or early see `expect`. Where forecasts are made
    before earlier outcomes are known, and those outcomes tell about later ones (weeks that
    overlap), even perfect forecasts break the null hypothesis: give each of k interleaved
    series its own monitor with alpha / k.

    References
    ----------
    Henzi, Puke, Dimitriadis, Ziegel (2023), A safe Hosmer-Lemeshow test, NEJSDS. Shin, Ramdas,
    Rinaldo (2023), E-detectors: a nonparametric framework for sequential change detection, NEJSDS.
    Waudby-Smith, Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B 86.

    Examples
    --------
    >>> monitor = CalibrationMonitor()
    >>> monitor.update(1, 0.7)
    False
    >>> monitor.update_many([1] * 60, [0.5] * 60)
    True
    >>> print(monitor.sentence)
    Alarm after 20 rows: ...
    >>> monitor = CalibrationMonitor(kind="quantile=0.9")
    >>> monitor.update(12.0, 15.0)
    False
    >>> monitor.update_many([20.0] * 40, [15.0] * 40)
    True
    """

    def __init__(
        self,
        tolerance: Tolerance | str | None = None,
        alpha: float = 0.05,
        *,
        kind: object = None,
        range: object = None,  # noqa: A002  # the word users know
        level: float | None = None,
        edges: object = None,
        run_length: float | None = None,
        cluster_forecast: ClusterForecast | None = None,
    ) -> None:
        self.kind = BINARY if kind is None else read_kind(kind, level)
        self._scale = self._scale_within(range)
        if self.kind.summed:
            allowed = None if tolerance is None else _allowed(tolerance)
        else:
            limit = str(tolerance) if isinstance(tolerance, ShareOfRarer) else tolerance
            allowed = allowance_of(self.kind, self._scale, limit)
        check_share("alpha", alpha)
        length = max(DEFAULT_RUN_LENGTH, 1 / alpha) if run_length is None else run_length
        check_within("run_length", length, 1, LONGEST_RUN)
        if cluster_forecast is not None:
            refuse_unknown("cluster_forecast", cluster_forecast, CLUSTER_FORECASTS)
        self.tolerance = str(allowed) if isinstance(allowed, ShareOfRarer) else allowed
        """In units of the bets."""
        self.alpha = float(alpha)
        self.run_length = float(length)
        self.cluster_forecast = cluster_forecast
        self._allowed = allowed
        self._by_range = self.kind.chance is not None
        if edges is not None and not self._by_range:
            raise InvalidOptionError(
                "edges are for quantiles and intervals", self.kind.name, "leave edges out"
            )
        self._edges = None if edges is None else _edges(edges)
        self._first: list[float] = []
        self._bets = self._new_bets(2 if self._by_range else 1)
        self._ranges: list[Bets] = [] if self._edges is None else self._new_ranges()
        self._sums = np.zeros(2)
        self._alarm_of_range: int | None = None
        self._waiting = PendingForecasts()
        self._lock = threading.RLock()  # no part of what is stored

    def _scale_within(self, range_: object) -> Scale | None:
        """Read the range of outcomes, for kinds that have one."""
        if range_ is None:
            return None
        if self.kind.summed or self.kind.has_ends:
            raise InvalidOptionError(
                "@range is for means, quantiles and expectiles", self.kind.name, "leave it out"
            )
        return Scale.between(range_)

    @property
    def range(self) -> tuple[float, float] | None:
        """The least and the largest outcome there can be."""
        return None if self._scale is None else (self._scale.start, self._scale.end)

    def _new_bets(self, share: float) -> Bets:
        between = not self.kind.summed
        return Bets(self._allowed, share / self.alpha, self.run_length, between=between)

    def _new_ranges(self) -> list[Bets]:
        assert self._edges is not None  # noqa: S101  # called when they are known
        count = self._edges.size + 1
        return [self._new_bets(2 * count) for _ in np.arange(count)]

    def update(self, y_true: object, y_proba: object) -> bool:
        """Take one row: its outcome and its prediction; of intervals both ends.

        Returns
        -------
        bool
            Whether there is, or was, an alarm.

        Examples
        --------
        >>> CalibrationMonitor(tolerance=0).update(1, 0.0)
        True
        """
        if not self.kind.has_ends:
            refuse_several(y_proba=y_proba)
        refuse_several(y_true=y_true)
        return self.update_many([y_true], [y_proba])

    def update_many(
        self,
        y_true: object,
        y_proba: object,
        *,
        pos_label: object = None,
        clusters: object = None,
    ) -> bool:
        """Take rows in their order; the same as taking them one by one.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes, 0 or 1; of other kinds any numbers.
        y_proba : array-like of shape (n,) or (n, 2)
            Predicted probabilities of outcome 1, or forecasts; of intervals both ends.
        pos_label : object, optional
            The label that counts as outcome 1.
        clusters : array-like of shape (n,), optional
            Names of the events that rows share, all rows of an event in one call. An event enters
            at the place of its last row, with the `cluster_forecast`.

        Returns
        -------
        bool
            Whether there is, or was, an alarm.

        Examples
        --------
        >>> monitor = CalibrationMonitor(cluster_forecast="last")
        >>> monitor.update_many([1, 1, 0], [0.5, 0.7, 0.2], clusters=["cup", "cup", "league"])
        False
        >>> monitor.rows
        2
        """
        refuse_other_labels(y_true=y_true, y_proba=y_proba, clusters=clusters)
        rows = self._read(y_true, y_proba, pos_label)
        if clusters is not None:
            rows = self._one_per_cluster(rows, clusters)
        return self.play(Bet.of(rows))

    def _read(self, y_true: object, y_proba: object, pos_label: object = None) -> Rows:
        """Check rows of the kind that is watched."""
        if self.kind.summed:
            prediction, outcome = read_binary_rows(y_true, y_proba, pos_label)
            return Rows(prediction, outcome, None)
        if pos_label is not None:
            raise InvalidOptionError("@pos_label is for predicted probabilities", self.kind.name)
        low, high = y_proba, None
        if self.kind.has_ends:
            table = as_array(y_proba, "y_proba")
            if table.ndim != 2 or table.shape[1] != 2:
                raise InvalidForecastsError(
                    "intervals must be two columns, the lower and the upper ends",
                    f"shape {table.shape}",
                )
            low, high = table[:, 0], table[:, 1]
        return Rows.of_kind(y_true, low, self.kind, upper=high, range_=self.range)

    def _one_per_cluster(self, rows: Rows, clusters: object) -> Rows:
        if self.cluster_forecast is None:
            raise InvalidOptionError(
                "@clusters need a @cluster_forecast", "none", "set it when the monitor is made"
            )
        if rows.upper is not None:
            raise InvalidOptionError(
                "an event has one forecast", "intervals", "watch each end as a quantile"
            )
        index = np.arange(len(rows))
        how = self.cluster_forecast
        events = one_per_cluster(rows.prediction, rows.outcome, index, clusters, how)
        order = np.argsort(events.time)
        return replace(rows, prediction=events.prediction[order], outcome=events.outcome[order])

    def play(self, bet: Bet) -> bool:
        """Take rows that are bets already."""
        with self._lock:
            before = self.rows
            rows = np.arange(before + 1, before + bet.coordinate.size + 1)
            self._bets.play(bet.prediction, bet.outcome)
            # Added one by one, so that it does not matter how rows are divided among calls.
            for side, column in enumerate((bet.prediction, bet.outcome)):
                self._sums[side] = np.cumsum([self._sums[side], *column])[-1]
            start = self._learned(bet.coordinate)
            if self._edges is not None:
                self._play_ranges(bet.where(slice(start, None)), rows[start:])
            return self.alarm

    def _play_ranges(self, bet: Bet, rows: Indices) -> None:
        """Bet on the rows of each range, and note the row of the whole stream of an alarm."""
        assert self._edges is not None  # noqa: S101  # the caller has looked
        part = np.searchsorted(self._edges, bet.coordinate, side="right")
        for number, bets in enumerate(self._ranges):
            inside = part == number
            before, known = bets.rows, bets.alarm_row is not None
            some = bet.where(inside)
            bets.play(some.prediction, some.outcome)
            if known or bets.alarm_row is None:
                continue
            row = int(rows[inside][bets.alarm_row - before - 1])
            self._alarm_of_range = min(row, self._alarm_of_range or row)

    def _learned(self, coordinate: Floats) -> int:
        """Learn the edges from the first forecasts; at which row ranges begin to be watched."""
        if not self._by_range or self._edges is not None:
            return 0
        taken = coordinate[: LEARNED_FROM - len(self._first)]
        self._first += taken.tolist()
        if len(self._first) == LEARNED_FROM:
            self._edges = np.unique(np.quantile(self._first, QUARTILES, method="lower"))
            self._ranges = self._new_ranges()
        return taken.size

    def expect(self, key: Key, y_proba: object, due: float) -> None:
        """Announce a forecast whose outcome is due at a time fixed now.

        Parameters
        ----------
        key : str or int
            Name of the row, or of the event: with a `cluster_forecast` there may be several.
        y_proba : float
            Predicted probability of outcome 1, or a mean, quantile or expectile.
        due : float
            Scheduled time of the outcome, a number on any one clock. The row enters in `advance`,
            and not before then even if its outcome comes early: early outcomes are one-sided.

        Examples
        --------
        >>> monitor = CalibrationMonitor()
        >>> monitor.expect("rain on Monday", 0.3, due=1)
        >>> monitor.expect("a strike by Friday", 0.2, due=5)
        >>> monitor.resolve("a strike by Friday", 1)
        >>> monitor.resolve("rain on Monday", 0)
        >>> monitor.advance(now=2)
        1
        >>> monitor.waiting
        ['a strike by Friday']
        """
        if self.kind.has_ends:
            raise InvalidOptionError(
                "forecasts that wait are single numbers",
                "intervals",
                "watch each end as a quantile",
            )
        least = 0 if self._scale is None else self._scale.start
        prediction = self._read([least], [y_proba]).prediction
        with self._lock:
            self._waiting.add(key, float(prediction[0]), due, self.cluster_forecast)

    def resolve(self, key: Key, y_true: object) -> None:
        """Note the outcome of an announced forecast; None withdraws it (question annulled)."""
        outcome = None
        if y_true is not None:
            middle = 0.5 if self._scale is None else self._scale.start
            outcome = float(self._read([y_true], [middle]).outcome[0])
        with self._lock:
            self._waiting.resolve(key, outcome)

    def advance(self, now: float) -> int:
        """Take the announced rows that are due, by due time; how many were taken.

        A row that is due but has no outcome yet holds up the rows after it, so that outcomes that
        are reported late cannot bias the order. `waiting` names it first.
        """
        with self._lock:
            released = list(self._waiting.release(now))
            if released:
                self.update_many([r.outcome for r in released], [r.prediction for r in released])
            return len(released)

    @property
    def waiting(self) -> list[Key]:
        """Keys of the announced rows that have not entered, by due time."""
        with self._lock:
            return self._waiting.in_order()

    @property
    def rows(self) -> int:
        """How many rows were seen."""
        return self._bets.rows

    @property
    def evidence(self) -> float:
        """Evidence against calibration within the tolerance: an e-value after every row."""
        with self._lock:
            if not self._by_range:
                return self._bets.evidence
            ranges = [bets.evidence for bets in self._ranges] or [1.0]
            return self._bets.evidence / 2 + float(np.mean(ranges)) / 2

    @property
    def parts(self) -> dict[str, float]:
        """Evidence of each kind of bet; only all of them together cause an alarm.

        `shift`: all forecasts are too low, or too high. `slope`: they are too extreme, or not
        extreme enough. `wave`: too low and too high by turns. `binned`: some are, by bins of
        log-odds, all the time or lately. `isotonic`: along a monotone recalibration. `smooth`:
        along the best smooth test of the past.
        """
        with self._lock:
            return self._bets.parts

    @property
    def leading_bets(self) -> str:
        """What the bets that gained most were on, in words; of no meaning without an alarm."""
        with self._lock:
            return self._bets.kind

    @property
    def pvalue(self) -> float:
        """A p-value that is valid whenever you look: one over the largest evidence of a part."""
        with self._lock:
            books = [self._bets, *self._ranges]
            if any(bets.contradicted for bets in books):
                return 0.0
            # An alarm is evidence of 1 / alpha of the whole.
            return min(1.0, *(self.alpha * bets.alarm_level / bets.peak for bets in books))

    @property
    def alarm(self) -> bool:
        """Whether the evidence ever reached 1 / alpha."""
        return self.alarm_row is not None

    @property
    def alarm_row(self) -> int | None:
        """The row of the alarm, counted from 1."""
        known = (self._bets.alarm_row, self._alarm_of_range)
        return min((row for row in known if row is not None), default=None)

    @property
    def change(self) -> bool:
        """Whether the detector of changes ever reached `run_length`; it causes no alarm."""
        return self.change_row is not None

    @property
    def change_row(self) -> int | None:
        """The row at which a change was noticed, counted from 1."""
        return self._bets.change_row

    @property
    def change_evidence(self) -> float:
        """Value of the detector of changes; under the null hypothesis at most `rows` on average."""
        with self._lock:
            return self._bets.detector

    @property
    def sentence(self) -> str:
        """What the monitor says, in words."""
        with self._lock:
            return self._sentence()

    def _sentence(self) -> str:
        needed = f"{1 / self.alpha:g}"
        noun = "row" if self.cluster_forecast is None else "cluster"
        if not self.alarm:
            text = f"No alarm after {count_text(self.rows, noun)}"
            if self._by_range:
                return (
                    f"{text}: the p-value is {chance_text(self.pvalue)}, an alarm needs "
                    f"{number_text(self.alpha)}."
                )
            return f"{text}: the evidence is {self.evidence:.3g}, an alarm needs {needed}."
        start = f"Alarm after {count_text(self.alarm_row or 0, noun)}"
        if not self.kind.summed:
            over = f" Over all {noun}s: {self.observed}." if self.observed else ""
            return (
                f"{start}: forecasts within the tolerance would cause one with a chance of at most "
                f"{number_text(self.alpha)}, however long they are watched.{over}"
            )
        if self._bets.contradicted:
            return f"{start}. A forecast of 0 or 1 was contradicted, which settles it."
        joint = self._bets.joint()
        return (
            f"{start}: the evidence against {_what(self.tolerance)} reached {needed} "
            f"(now {self.evidence:.3g}, most of it from bets that {self.leading_bets}). "
            f"Over all {noun}s {region_sentence(joint, witness_of(joint))}."
        )

    @property
    def observed(self) -> str:
        """Say what was forecast beside what was observed, over all rows; nothing of expectiles."""
        with self._lock:
            if self.kind.side != 0.5:
                return ""  # the mean of the bets is none of an expectile
            forecast, observed = self._sums / max(self.rows, 1)
            if self.kind.in_outcome_units and self._scale is not None:
                forecast, observed = (
                    float(self._scale.coordinates(v)) for v in (forecast, observed)
                )
            return self.kind.words.forecast_and_observed(float(forecast), float(observed))

    def to_json(self) -> str:
        """Write the whole state; `from_json` carries on from it bit for bit."""
        with self._lock:
            state = {
                "schema": SCHEMA,
                "kind": self.kind.name.partition("=")[0],
                "level": getattr(self.kind, "level", None),
                "range": None if self.range is None else list(self.range),
                "tolerance": self.tolerance,
                "alpha": self.alpha,
                "run_length": self.run_length,
                "cluster_forecast": self.cluster_forecast,
                "bets": self._bets.state(),
                "edges": None if self._edges is None else self._edges.tolist(),
                "first": self._first,
                "ranges": [bets.state() for bets in self._ranges],
                "alarm_of_range": self._alarm_of_range,
                "sums": self._sums.tolist(),
                "waiting": [
                    [key, asdict(forecast)] for key, forecast in self._waiting.forecasts.items()
                ],
            }
        return json.dumps(state, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Make a monitor from what `to_json` wrote.

        Examples
        --------
        >>> monitor = CalibrationMonitor()
        >>> monitor.update_many([0, 1], [0.2, 0.6])
        False
        >>> CalibrationMonitor.from_json(monitor.to_json()) == monitor
        True
        """
        state = parse(text, STORED)
        state.require_schema(SCHEMA, OTHER_BETS)
        with restoring(STORED):
            tolerance = state.get("tolerance")
            if not isinstance(tolerance, str) and tolerance is not None:
                tolerance = state.number("tolerance")
            ends, edges = state.get("range"), state.get("edges")
            name = state.choice("kind", NAMES)
            stored = None if state.get("level") is None else state.number("level", 0.0, 1.0)
            monitor = cls(
                tolerance if name == BINARY.name else None,
                state.number("alpha"),
                kind=kind_named(name, stored),
                range=None if ends is None else state.numbers("range", shape=(2,)).tolist(),
                edges=None if edges is None else state.numbers("edges"),
                run_length=state.number("run_length"),
                cluster_forecast=state.get("cluster_forecast"),
            )
            monitor._restore(state)
        return monitor

    def _restore(self, state: Stored) -> None:
        """Take back what changes with the rows, and the tolerance in units of the bets."""
        if not self.kind.summed:
            self.tolerance = self._allowed = state.number("tolerance", 0.0, 1.0)
            self._bets = self._new_bets(2 if self._by_range else 1)
            self._ranges = [] if self._edges is None else self._new_ranges()
        self._bets.restore(state.part("bets"))
        self._first = state.numbers("first").tolist()
        self._sums = state.numbers("sums", 0.0, shape=(2,))
        ranges = state.parts("ranges")
        if len(ranges) != len(self._ranges):
            raise InvalidStateError(f"ranges of {STORED} must fit its edges", f"{len(ranges)}")
        for bets, stored in zip(self._ranges, ranges, strict=True):
            bets.restore(stored)
        row = state.get("alarm_of_range")
        self._alarm_of_range = None if row is None else state.whole("alarm_of_range", 1, self.rows)
        reached = any(bets.alarm_row is not None for bets in self._ranges)
        if reached != (row is not None) or sum(bets.rows for bets in self._ranges) > self.rows:
            raise InvalidStateError(f"alarm_of_range of {STORED} must fit its evidence", f"{row}")
        for entry in state.entries("waiting"):
            self._wait_again(entry)

    def _wait_again(self, entry: object) -> None:
        """Announce a stored forecast again, with its outcome if it is known."""
        if not isinstance(entry, list) or len(entry) != 2 or type(entry[0]) not in {str, int}:
            raise InvalidStateError(f"what waits in {STORED} must have a key", f"{entry!r:.60}")
        forecast = Stored(entry[1], f"a forecast that waits in {STORED}")
        self.expect(entry[0], forecast.number("prediction"), forecast.number("due"))
        self._waiting.forecasts[entry[0]].forecasts = forecast.whole("forecasts", 1)
        if forecast.get("outcome") is not None:
            self.resolve(entry[0], forecast.number("outcome"))

    def __repr__(self) -> str:
        with self._lock:
            state = "alarm" if self.alarm else "no alarm"
            of = "" if self.kind.summed else f"{self.kind.name}, "
            text = f"{of}{self.rows} rows, evidence {self.evidence:.3g}"
            return f"CalibrationMonitor({text}, {state})"


def _allowed(tolerance: object) -> Tolerance:
    """Read a tolerance; unlike that of a verdict it may be 0."""
    if isinstance(tolerance, ShareOfRarer):
        return tolerance
    number, percent = number_or_percent("tolerance", tolerance)
    if percent:
        return tolerance_from("tolerance", tolerance)
    if not 0 <= number < 1:
        raise InvalidOptionError("@tolerance must be at least 0 and below 1", shown(tolerance))
    return number


def _what(tolerance: float | str | None) -> str:
    if tolerance == 0:
        return "exact calibration"
    if isinstance(tolerance, str):
        return f"calibration within {tolerance.removesuffix('%')} % of min(p, 1-p)"
    return f"calibration within {'min(0.02, p/10, (1-p)/10)' if tolerance is None else tolerance}"


def _edges(edges: object) -> Floats:
    found = np.asarray(edges, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise InvalidOptionError("edges must be finite numbers that increase", shown(edges))
    return found
