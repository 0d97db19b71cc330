"""Watch forecasts of real outcomes row by row."""

from __future__ import annotations

import json
import threading
from typing import Self

import numpy as np

from calibrant.arrays import Floats, Indices
from calibrant.data.input import refuse_several
from calibrant.data.rows import Rows
from calibrant.errors import InvalidOptionError, InvalidStateError
from calibrant.kinds import Kind, Scale, kind_named, read_kind
from calibrant.monitoring import Bets
from calibrant.notebook import card
from calibrant.options import check_share, shown
from calibrant.real.bets import Bet, allowance_of, bets_on
from calibrant.stored import Resumable, Stored, parse, restoring
from calibrant.words import chance_text, count_text, number_text

SCHEMA = 1
STORED = "a stored monitor of real outcomes"
# Bets on coverage do not know the forecast: ranges of forecasts are watched on their own as well,
# between the quartiles of the first so many forecasts.
LEARNED_FROM = 64
QUARTILES = (0.25, 0.5, 0.75)
# Rows that are far beyond any run length: this monitor has no detector of changes.
NO_CHANGE = 1e300
KINDS = ("mean", "quantile", "expectile", "interval")


class RealMonitor(Resumable):
    """Watch a stream of forecasts of real outcomes; look after every row, as long as you like.

    Threads may share a monitor: rows of one call enter together.

    Parameters
    ----------
    kind : {"mean", "median", "quantile=0.9", "expectile=0.8", "interval"}, default="mean"
        What the forecasts are forecasts of.
    range : (float, float), optional
        The least and the largest outcome there can be. Means and expectiles need it: without
        bounds one outcome of tiny chance could make any forecast right.
    level : float, optional
        Share of outcomes that intervals promise to hold.
    tolerance : float or str, optional
        How far forecasts may be off on average without being worth an alarm: in the units of the
        outcome, or "2%" of the range; of quantiles and intervals in units of probability. 0 tests
        exact calibration. By default 2 % of the range; of quantiles and intervals 0.02, or a tenth
        of the rarer side if that is less.
    alpha : float, default=0.05
        Bound on the chance that a stream within tolerance ever causes an alarm.
    edges : sequence of float, optional
        For quantiles and intervals: forecasts (of intervals, widths) at which ranges that are
        watched on their own meet. By default the quartiles of the first 64.

    Notes
    -----
    **Guarantee.** Every row is a bet on a number in [0, 1] whose mean is known if the forecast is
    right: the scaled outcome of a mean, and of quantiles and intervals whether the outcome lies
    below or inside. The bets are those of `CalibrationMonitor`. A factor is linear in this number
    and positive at 0 and 1, so the evidence is a non-negative supermartingale for every
    distribution of outcomes with the right mean: the chance that it ever reaches 1 / alpha is at
    most alpha (Ville 1939), without any further assumption. Half of the evidence of quantiles and
    intervals is that of all rows, the other half is shared by the ranges.

    **What it is not.** Silence proves nothing. Rows must enter in an order that does not depend on
    their outcomes. A quantile promises that outcomes lie at or below it with the chance of its
    level exactly: where outcomes have few values no forecast can keep that, so allow a tolerance.
    In a range that is far wider than outcomes vary, errors of a mean are found late.

    References
    ----------
    Waudby-Smith, Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B
    86. Henzi, Puke, Dimitriadis, Ziegel (2023), A safe Hosmer-Lemeshow test, NEJSDS.

    Examples
    --------
    >>> monitor = RealMonitor("quantile=0.9")
    >>> monitor.update(12.0, 15.0)
    False
    >>> monitor.update_many([20.0] * 40, [15.0] * 40)
    True
    >>> print(monitor.sentence)
    Alarm after 11 rows: ...
    """

    def __init__(
        self,
        kind: object = "mean",
        *,
        range: object = None,  # noqa: A002  # the word users know
        level: float | None = None,
        tolerance: float | str | None = None,
        alpha: float = 0.05,
        edges: object = None,
    ) -> None:
        check_share("alpha", alpha)
        self.kind: Kind = read_kind(kind, level)
        self._scale = None if range is None else Scale.between(range)
        if self.kind.has_ends and range is not None:
            raise InvalidOptionError("range is for means, quantiles and expectiles", "intervals")
        self.alpha = float(alpha)
        self.allowance = allowance_of(self.kind, self._scale, tolerance)
        self._by_place = self.kind.chance is not None
        if edges is not None and not self._by_place:
            raise InvalidOptionError(
                "edges are for quantiles and intervals", self.kind.name, "leave edges out"
            )
        self._edges = None if edges is None else _edges(edges)
        self._first: list[float] = []
        self._all = self._bets(1 if not self._by_place else 2)
        self._parts: list[Bets] = [] if self._edges is None else self._ranges()
        self._sums = np.zeros(2)
        self.rows = 0
        self.alarm_row: int | None = None
        self._lock = threading.RLock()  # no part of what is stored

    @property
    def range(self) -> tuple[float, float] | None:
        """The least and the largest outcome there can be."""
        return None if self._scale is None else (self._scale.start, self._scale.end)

    def _bets(self, share: float) -> Bets:
        return Bets(self.allowance, share / self.alpha, NO_CHANGE, between=True)

    def _ranges(self) -> list[Bets]:
        assert self._edges is not None  # noqa: S101  # called when they are known
        count = self._edges.size + 1
        return [self._bets(2 * count) for _ in np.arange(count)]

    def update(self, y_true: float, y_pred: float, upper: float | None = None) -> bool:
        """Take one row: its outcome, its forecast, and the upper end of an interval.

        Returns
        -------
        bool
            Whether there is, or was, an alarm.
        """
        refuse_several(y_true=y_true, y_pred=y_pred, upper=upper)
        return self.update_many([y_true], [y_pred], None if upper is None else [upper])

    def update_many(self, y_true: object, y_pred: object, upper: object = None) -> bool:
        """Take rows in their order; the same as taking them one by one.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        y_pred : array-like of shape (n,)
            Forecasts; of intervals the lower ends.
        upper : array-like of shape (n,), optional
            Upper ends of intervals.

        Returns
        -------
        bool
            Whether there is, or was, an alarm.
        """
        given = Rows.of_kind(y_true, y_pred, self.kind, upper=upper, range_=self.range)
        return self.play(bets_on(given))

    def play(self, bet: Bet) -> bool:
        """Take rows that are bets already."""
        with self._lock:
            before = self.rows
            rows = np.arange(before + 1, before + bet.place.size + 1)
            found = [self._played(self._all, bet, rows)]
            start = self._learned(bet.place)
            later, numbers = bet.where(slice(start, None)), rows[start:]
            if self._edges is not None:
                part = np.searchsorted(self._edges, later.place, side="right")
                for number, bets in enumerate(self._parts):
                    inside = part == number
                    found.append(self._played(bets, later.where(inside), numbers[inside]))
            self.rows += bet.place.size
            self._sums += bet.prediction.sum(), bet.outcome.sum()
            alarms = [row for row in found if row is not None]
            if self.alarm_row is None and alarms:
                self.alarm_row = min(alarms)
            return self.alarm

    def _learned(self, place: Floats) -> int:
        """Learn the edges from the first forecasts; at which row ranges begin to be watched."""
        if not self._by_place or self._edges is not None:
            return 0
        taken = place[: LEARNED_FROM - len(self._first)]
        self._first += taken.tolist()
        if len(self._first) == LEARNED_FROM:
            self._edges = np.unique(np.quantile(self._first, QUARTILES, method="lower"))
            self._parts = self._ranges()
        return taken.size

    @staticmethod
    def _played(bets: Bets, bet: Bet, rows: Indices) -> int | None:
        """Play, and return the row of the whole stream at which these bets reached their level."""
        before = bets.rows
        known = bets.alarm_row is not None
        bets.play(bet.prediction, bet.outcome)
        if known or bets.alarm_row is None:
            return None
        return int(rows[bets.alarm_row - before - 1])

    @property
    def alarm(self) -> bool:
        """Whether the evidence ever sufficed."""
        return self.alarm_row is not None

    @property
    def evidence(self) -> float:
        """An e-value after every row: under the null hypothesis its mean is at most 1."""
        with self._lock:
            if not self._by_place:
                return self._all.evidence
            ranges = [bets.evidence for bets in self._parts] or [1.0]
            return self._all.evidence / 2 + float(np.mean(ranges)) / 2

    @property
    def pvalue(self) -> float:
        """A p-value that is valid whenever you look: one over the largest evidence of a part."""
        with self._lock:
            parts = [self._all, *self._parts]
            if any(bets.contradicted for bets in parts):
                return 0.0
            peaks = [bets.peak * bets_share(bets, self.alpha) for bets in parts]
            return min(1.0, 1 / max(peaks))

    @property
    def observed(self) -> str:
        """Say what was promised beside what was observed, over all rows; nothing of expectiles."""
        with self._lock:
            if self.kind.side != 0.5:
                return ""  # the mean of the bets is none of an expectile
            promised, observed = self._sums / max(self.rows, 1)
            if not self._by_place and self._scale is not None:
                promised, observed = (float(self._scale.places(v)) for v in (promised, observed))
            return self.kind.words.forecast_and_observed(float(promised), float(observed))

    @property
    def sentence(self) -> str:
        """What the monitor says, in words."""
        with self._lock:
            if not self.alarm:
                return (
                    f"No alarm after {count_text(self.rows, 'row')}: the p-value is "
                    f"{chance_text(self.pvalue)}, an alarm needs {number_text(self.alpha)}."
                )
            over = f" Over all rows: {self.observed}." if self.observed else ""
            return (
                f"Alarm after {count_text(self.alarm_row or 0, 'row')}: forecasts within the "
                f"tolerance would cause one with a chance of at most {number_text(self.alpha)}, "
                f"however long they are watched.{over}"
            )

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    def __repr__(self) -> str:
        state = "alarm" if self.alarm else "no alarm"
        seen = f"{self.rows} rows, p-value {self.pvalue:.3g}"
        return f"RealMonitor({self.kind.name!r}, {seen}, {state})"

    def to_json(self) -> str:
        """Write the whole state; `from_json` carries on from it bit for bit."""
        with self._lock:
            state = {
                "schema": SCHEMA,
                "kind": self.kind.name.partition("=")[0],
                "level": getattr(self.kind, "level", None),
                "range": None if self.range is None else list(self.range),
                "allowance": self.allowance,
                "alpha": self.alpha,
                "edges": None if self._edges is None else self._edges.tolist(),
                "first": self._first,
                "rows": self.rows,
                "alarm_row": self.alarm_row,
                "sums": self._sums.tolist(),
                "all": self._all.state(),
                "parts": [bets.state() for bets in self._parts],
            }
        return json.dumps(state, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Make a monitor from what `to_json` wrote.

        Examples
        --------
        >>> monitor = RealMonitor("mean", range=(0, 50))
        >>> monitor.update_many([20.0, 31.0], [22.5, 30.0])
        False
        >>> RealMonitor.from_json(monitor.to_json()) == monitor
        True
        """
        state = parse(text, STORED)
        state.require_schema(SCHEMA)
        with restoring(STORED):
            ends = state.get("range")
            kind = state.choice("kind", KINDS)
            monitor = cls(
                kind_named(kind, None if kind == "mean" else _stored_level(state)),
                range=None if ends is None else state.numbers("range", shape=(2,)).tolist(),
                tolerance=0.0,
                alpha=state.number("alpha", 0.0, 1.0),
                edges=None if state.get("edges") is None else state.numbers("edges"),
            )
            monitor._restore(state)
        return monitor

    def _restore(self, state: Stored) -> None:
        self.allowance = state.number("allowance", 0.0, 1.0)
        self._all = self._bets(1 if not self._by_place else 2)
        self._parts = [] if self._edges is None else self._ranges()
        self._first = state.numbers("first").tolist()
        self.rows = state.whole("rows")
        self._sums = state.numbers("sums", 0.0, shape=(2,))
        alarm = state.get("alarm_row")
        self.alarm_row = None if alarm is None else state.whole("alarm_row", 1, self.rows)
        self._all.restore(state.part("all"))
        parts = state.parts("parts")
        if len(parts) != len(self._parts) or self._all.rows != self.rows:
            raise InvalidStateError(f"parts of {STORED} must hold its rows", f"{len(parts)}")
        for bets, stored in zip(self._parts, parts, strict=True):
            bets.restore(stored)
        reached = any(bets.alarm_row is not None for bets in (self._all, *self._parts))
        if reached != self.alarm or sum(bets.rows for bets in self._parts) > self.rows:
            raise InvalidStateError(f"alarm_row of {STORED} must fit its evidence", f"{alarm}")


def _stored_level(state: Stored) -> float:
    level = state.number("level", 0.0, 1.0)
    check_share("level", level)
    return level


def bets_share(bets: Bets, alpha: float) -> float:
    """Share of the evidence that some bets have: an alarm is one over alpha of the whole."""
    return 1 / (bets.alarm_level * alpha)


def _edges(edges: object) -> Floats:
    found = np.asarray(edges, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise InvalidOptionError("edges must be finite numbers that increase", shown(edges))
    return found
