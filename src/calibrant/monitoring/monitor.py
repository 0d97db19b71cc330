"""Watch forecasts row by row, with a bound on false alarms that holds for ever."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from typing import Self

import numpy as np

from calibrant.data.input import refuse_other_labels, refuse_several
from calibrant.errors import InvalidOptionError, InvalidStateError
from calibrant.monitoring.alarms import Bets, witness_of
from calibrant.monitoring.events import CLUSTER_FORECASTS, ClusterForecast, one_per_cluster
from calibrant.monitoring.single_outcomes import read_coins
from calibrant.monitoring.waiting import Key, WaitingRoom
from calibrant.options import (
    ShareOfRarer,
    Tolerance,
    check_share,
    check_within,
    number_or_percent,
    refuse_unknown,
    shown,
    tolerance_from,
)
from calibrant.regions import region_sentence
from calibrant.stored import Resumable, Stored, parse, restoring
from calibrant.words import count_text

SCHEMA = 2
STORED = "a stored monitor"
OTHER_BETS = "another release wrote it, with other bets: start a new monitor from the log"
DEFAULT_RUN_LENGTH = 1e5
LONGEST_RUN = 1e300


class CalibrationMonitor(Resumable):
    r"""Watch a stream of forecasts; look after every row, as long as you like.

    Threads may share a monitor: rows of one call enter together.

    Parameters
    ----------
    tolerance : float or str, optional
        How far chances may be from forecasts on average without being worth an alarm, in [0, 1);
        0 tests exact calibration, and "5%" allows 5 % of min(p, 1 - p) for a forecast of p. By
        default min(0.02, p / 10, (1 - p) / 10).
    alpha : float, default=0.05
        Bound on the chance that a stream within tolerance ever causes an alarm, in (0, 1).
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

    Examples
    --------
    >>> monitor = CalibrationMonitor()
    >>> monitor.update(1, 0.7)
    False
    >>> monitor.update_many([1] * 60, [0.5] * 60)
    True
    >>> print(monitor.sentence)
    Alarm after 20 rows: ...
    """

    def __init__(
        self,
        tolerance: Tolerance | str | None = None,
        alpha: float = 0.05,
        *,
        run_length: float | None = None,
        cluster_forecast: ClusterForecast | None = None,
    ) -> None:
        allowed = None if tolerance is None else _allowed(tolerance)
        check_share("alpha", alpha)
        length = max(DEFAULT_RUN_LENGTH, 1 / alpha) if run_length is None else run_length
        check_within("run_length", length, 1, LONGEST_RUN)
        if cluster_forecast is not None:
            refuse_unknown("cluster_forecast", cluster_forecast, CLUSTER_FORECASTS)
        self.tolerance = str(allowed) if isinstance(allowed, ShareOfRarer) else allowed
        self.alpha = float(alpha)
        self.run_length = float(length)
        self.cluster_forecast = cluster_forecast
        self._bets = Bets(allowed, 1 / self.alpha, self.run_length)
        self._waiting = WaitingRoom()
        self._lock = threading.RLock()  # no part of what is stored

    def update(self, y_true: object, y_proba: object) -> bool:
        """Take one row: its outcome, 0 or 1, and its prediction.

        Returns
        -------
        bool
            Whether there is, or was, an alarm.

        Examples
        --------
        >>> CalibrationMonitor(tolerance=0).update(1, 0.0)
        True
        """
        refuse_several(y_true=y_true, y_proba=y_proba)
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
            Outcomes, 0 or 1.
        y_proba : array-like of shape (n,) or (n, 2)
            Predicted probabilities of outcome 1.
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
        prediction, outcome = read_coins(y_true, y_proba, pos_label)
        if clusters is not None:
            if self.cluster_forecast is None:
                raise InvalidOptionError(
                    "clusters need a cluster_forecast", "none", "set it when the monitor is made"
                )
            place = np.arange(prediction.size)
            events = one_per_cluster(prediction, outcome, place, clusters, self.cluster_forecast)
            order = np.argsort(events.time)
            prediction, outcome = events.prediction[order], events.outcome[order]
        with self._lock:
            self._bets.play(prediction, outcome)
            return self.alarm

    def expect(self, key: Key, y_proba: object, due: float) -> None:
        """Announce a forecast whose outcome is due at a time fixed now.

        Parameters
        ----------
        key : str or int
            Name of the row, or of the event: with a `cluster_forecast` there may be several.
        y_proba : float
            Predicted probability of outcome 1.
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
        prediction, _ = read_coins([0], [y_proba])
        with self._lock:
            self._waiting.add(key, float(prediction[0]), due, self.cluster_forecast)

    def resolve(self, key: Key, y_true: object) -> None:
        """Note the outcome of an announced forecast; None withdraws it (question annulled)."""
        outcome = None if y_true is None else int(read_coins([y_true], [0.5])[1][0])
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
            return self._bets.evidence

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
    def kind(self) -> str:
        """What the bets that gained most were on, in words; of no meaning without an alarm."""
        with self._lock:
            return self._bets.kind

    @property
    def pvalue(self) -> float:
        """A p-value that is valid whenever you look: one over the largest evidence so far."""
        return 0.0 if self._bets.contradicted else 1 / self._bets.peak

    @property
    def alarm(self) -> bool:
        """Whether the evidence ever reached 1 / alpha."""
        return self.alarm_row is not None

    @property
    def alarm_row(self) -> int | None:
        """The row of the alarm, counted from 1."""
        return self._bets.alarm_row

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
            seen = f"No alarm after {count_text(self.rows, noun)}"
            return f"{seen}: the evidence is {self.evidence:.3g}, an alarm needs {needed}."
        start = f"Alarm after {count_text(self._bets.alarm_row or 0, noun)}"
        if self._bets.contradicted:
            return f"{start}. A forecast of 0 or 1 was contradicted, which settles it."
        joint = self._bets.joint()
        return (
            f"{start}: the evidence against {_what(self.tolerance)} reached {needed} "
            f"(now {self.evidence:.3g}, most of it from bets that {self.kind}). "
            f"Over all {noun}s {region_sentence(joint, witness_of(joint))}."
        )

    def to_json(self) -> str:
        """Write the whole state; `from_json` carries on from it bit for bit."""
        with self._lock:
            state = {
                "schema": SCHEMA,
                "tolerance": self.tolerance,
                "alpha": self.alpha,
                "run_length": self.run_length,
                "cluster_forecast": self.cluster_forecast,
                "bets": self._bets.state(),
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
            alpha, run_length = state.number("alpha"), state.number("run_length")
            monitor = cls(
                tolerance,
                alpha,
                run_length=run_length,
                cluster_forecast=state.get("cluster_forecast"),
            )
            monitor._bets.restore(state.part("bets"))
            for entry in state.entries("waiting"):
                monitor._wait_again(entry)
        return monitor

    def _wait_again(self, entry: object) -> None:
        """Announce a stored forecast again, with its outcome if it is known."""
        if not isinstance(entry, list) or len(entry) != 2 or type(entry[0]) not in {str, int}:
            raise InvalidStateError(f"what waits in {STORED} must have a key", f"{entry!r:.60}")
        forecast = Stored(entry[1], f"a forecast that waits in {STORED}")
        self.expect(entry[0], forecast.number("prediction", 0.0, 1.0), forecast.number("due"))
        self._waiting.forecasts[entry[0]].forecasts = forecast.whole("forecasts", 1)
        if forecast.get("outcome") is not None:
            self.resolve(entry[0], forecast.whole("outcome", 0, 1))

    def __repr__(self) -> str:
        with self._lock:
            state = "alarm" if self.alarm else "no alarm"
            return f"CalibrationMonitor({self.rows} rows, evidence {self.evidence:.3g}, {state})"


def _allowed(tolerance: object) -> Tolerance:
    """Read a tolerance; unlike that of a verdict it may be 0."""
    if isinstance(tolerance, ShareOfRarer):
        return tolerance
    number, percent = number_or_percent("tolerance", tolerance)
    if percent:
        return tolerance_from("tolerance", tolerance)
    if not 0 <= number < 1:
        raise InvalidOptionError("tolerance must be at least 0 and below 1", shown(tolerance))
    return number


def _what(tolerance: float | str | None) -> str:
    if tolerance == 0:
        return "exact calibration"
    if isinstance(tolerance, str):
        return f"calibration within {tolerance.removesuffix('%')} % of min(p, 1-p)"
    return f"calibration within {'min(0.02, p/10, (1-p)/10)' if tolerance is None else tolerance}"
