"""Risks of an event by a horizon, where some rows were not followed for so long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Flags, Floats, Indices
from calibrant._base.notebook import card
from calibrant._base.options import check_positive
from calibrant._base.words import count_text, number_text, page, percent_text, thousands_text
from calibrant.data.files import opened, without_missing
from calibrant.data.groupings import columns_of
from calibrant.data.input import first_rows, read_column, read_labels, refuse_other_labels
from calibrant.data.paths import Paths, settled
from calibrant.data.rows import RawRows, check_weights, finite_numbers
from calibrant.data.splits import canonical_order
from calibrant.data.tables import Part
from calibrant.errors import InvalidForecastsError, InvalidOptionError, arguments_named
from calibrant.inputs import Roles, Source, read as read_source, reading_notes
from calibrant.joint import Joint


@dataclass(frozen=True, slots=True)
class RiskTable:
    """Weights of what happened at each distinct time."""

    time: Floats
    """Increasing."""
    at_risk: Floats
    """Rows whose time is this one or later."""
    of_interest: Floats
    """Rows with the event of interest."""
    events: Floats
    """Rows with any event."""
    censored: Floats

    @classmethod
    def of(cls, duration: Floats, event: Indices, weight: Floats) -> RiskTable:
        """Count rows by their times."""
        time, index = np.unique(duration, return_inverse=True)

        def counted(which: Floats) -> Floats:
            return np.asarray(np.bincount(index, which, time.size), dtype=np.float64)

        events = counted(weight * (event > 0))
        censored = counted(weight * (event == 0))
        # Summed from the last time on, so that what is left at the end is not a rounding error.
        at_risk = np.cumsum((events + censored)[::-1])[::-1]
        return cls(time, at_risk, counted(weight * (event == 1)), events, censored)

    def uncensored_before(self) -> Floats:
        """Chance of not being censored before each time, and one more entry: after the last."""
        # From the rows that stay, not as one minus those that leave: what stays may be a tiny part.
        # Whoever is censored at the last time leaves nobody, exactly zero.
        stay = np.append(self.at_risk[1:], 0.0)
        lost = self.censored > 0
        factor = np.divide(stay, self.censored + stay, out=np.ones_like(stay), where=lost)
        return np.append(1.0, np.cumprod(factor))

    def incidence(self, horizon: float) -> tuple[float, float, float]:
        """Chance of the event of interest by a time, its variance, and who is at risk after it.

        Aalen and Johansen (1978), which is one minus Kaplan-Meier if there is but one cause. The
        variance is that of the delta method (Dinse and Larson 1986), Greenwood's for one cause.
        """
        until = int(np.searchsorted(self.time, horizon, side="right"))
        n, d, d1 = self.at_risk[:until], self.events[:until], self.of_interest[:until]
        after = np.cumprod(1 - d / n)
        before = np.append(1.0, after[:-1])[:until]
        grown = np.cumsum(before * d1 / n)
        chance = float(grown[-1]) if until else 0.0
        rest = chance - grown
        left = n * (n - d)
        # Nobody is left after the last time, and nothing of the chance either.
        first = np.divide(d, left, out=np.zeros_like(d), where=(left > 0) & (rest > 0))
        variance = (
            (rest**2 * first).sum()
            + (before**2 * d1 * (n - d1) / n**3).sum()
            - 2 * (rest * before * d1 / n**2).sum()
        )
        known = self.at_risk[until:].max(initial=0.0)
        exactly = until > 0 and self.time[until - 1] == horizon
        if exactly:
            known += self.censored[until - 1]
        return chance, max(float(variance), 0.0), float(known)


# Weights of rows beyond this many times one rest on so few others that readers are told.
HEAVY = 10.0
# With fewer rows known to be without the event, simulated tests rejected right risks too often.
FEW_WITHOUT = 10


@dataclass(frozen=True, eq=False)
class SurvivalForecasts:
    """Predicted risks of an event by a horizon, with times that may be censored.

    Hand it to `calibrant.audit`: rows that were followed long enough stand for those that were
    not, by inverse-probability-of-censoring weights. `print` it to read what was done.

    Examples
    --------
    >>> forecasts = SurvivalForecasts.read(
    ...     duration=[2, 3, 5, 6, 8, 9],
    ...     event=[1, 0, 1, 0, 0, 1],
    ...     risk=[0.6, 0.5, 0.5, 0.2, 0.1, 0.3],
    ...     horizon=6,
    ... )
    >>> forecasts.weight.round(3)
    array([1.  , 0.  , 1.25, 1.25, 1.25, 1.25])
    >>> print(forecasts.notes[1])
    censored rows count through others, by Kaplan-Meier of censoring: weights up to 1.25
    """

    duration: Floats
    event: Indices
    risk: Floats
    horizon: float
    by: Mapping[str, npt.NDArray[np.generic]]
    """Columns whose labels have censoring of their own."""
    sample_weight: Floats | None
    censoring_weight: Floats
    """For how many rows each stands because of censoring: zero where the outcome is not known."""

    @classmethod
    def read(
        cls,
        duration: object,
        event: object,
        risk: object,
        horizon: float,
        *,
        by: object = None,
        sample_weight: object = None,
    ) -> SurvivalForecasts:
        """Check times, events and risks, and weigh the rows.

        Parameters
        ----------
        duration : array-like of shape (n,)
            Time until the event, or until the row was last seen without one. Not negative.
        event : array-like of shape (n,)
            What ended it: 0 nothing (censored), 1 the event of interest, other positive whole
            numbers competing events.
        risk : array-like of shape (n,)
            Predicted probability of the event of interest by the horizon.
        horizon : float
            Time that the risks are for, in the units of `duration`.
        by : array-like of shape (n,), or mapping of names to them, optional
            Labels of groups in which rows are censored at different rates. Censoring must not
            depend on the outcome within a group; without groups, not at all.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        SurvivalForecasts

        Notes
        -----
        With G the Kaplan-Meier estimate of not being censored (Robins and Rotnitzky 1992; Graf and
        others 1999), a row with an event at t by the horizon weighs 1/G(t-), of interest as outcome
        1 and competing as outcome 0. A row without event by the horizon weighs 1/G(h-). Rows
        censored before it weigh nothing. Events come before censorings of the same time, so a row
        censored at the horizon is known to be without event. Known flaw: weights grow without bound
        where few rows are followed to the horizon, and a shorter horizon is then the better one.
        """
        refuse_other_labels(
            duration=duration, event=event, risk=risk, by=by, sample_weight=sample_weight
        )
        time = finite_numbers(duration, "duration")
        _refuse(time < 0, time, "@duration must not be negative")
        code = _events(event, time.size)
        probability = RawRows.read(np.zeros(time.size), risk).checked().prediction
        if probability.size != time.size:
            raise InvalidForecastsError(
                "@risk must have one entry per row", f"{probability.size} for {time.size} rows"
            )
        check_positive("horizon", horizon)
        columns = {
            str(name): read_labels(labels, f"by {name!r}", time.size)
            for name, labels in ({} if by is None else columns_of(by)).items()
        }
        weights = None
        if sample_weight is not None:
            weights = finite_numbers(sample_weight, "sample_weight", time.size)
            check_weights(weights)
        base = np.ones(time.size) if weights is None else weights
        stands_for = _censoring_weights(time, code, float(horizon), base, columns)
        return cls(time, code, probability, float(horizon), columns, weights, stands_for)

    def __len__(self) -> int:
        return self.duration.size

    def __str__(self) -> str:
        return page(self.notes)

    def __repr__(self) -> str:
        return (
            f"<SurvivalForecasts: {count_text(len(self), 'row')}, horizon "
            f"{number_text(self.horizon)}>"
        )

    def _repr_html_(self) -> str:
        return card(". ".join(self.notes))

    @cached_property
    def weight(self) -> Floats:
        """Weight of each row: zero where the outcome is not known."""
        if self.sample_weight is None:
            return self.censoring_weight
        return self.censoring_weight * self.sample_weight

    @property
    def outcome(self) -> npt.NDArray[np.int8]:
        """Whether the event of interest came by the horizon; 0 as well where that is not known."""
        return np.asarray((self.event == 1) & (self.duration <= self.horizon), dtype=np.int8)

    @property
    def censored(self) -> Flags:
        """Whether a row was lost before the horizon, so that its outcome is not known."""
        return np.asarray((self.event == 0) & (self.duration < self.horizon))

    @property
    def stratum(self) -> Indices:
        """Number of the group that each row is censored with."""
        return _strata(self.by, len(self))

    @property
    def effective_rows(self) -> float:
        """Kish's number: rows of equal weight that would tell as much."""
        return float(self.weight.sum() ** 2 / (self.weight @ self.weight))

    @cached_property
    def joint(self) -> Joint:
        """Joint of the risks and the weighted outcomes, for every measure."""
        kept = self.weight > 0
        return Joint.from_samples(
            self.outcome[kept], self.risk[kept], sample_weight=self.weight[kept]
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader should know of how censored rows were treated."""
        by_then = self.duration <= self.horizon
        counted = np.ones(len(self), dtype=bool)
        if self.sample_weight is not None:
            counted = self.sample_weight > 0
        rows, lost = int(counted.sum()), int((counted & self.censored).sum())
        events = int((counted & by_then & (self.event == 1)).sum())
        competing = int((counted & by_then & (self.event > 1)).sum())
        counts = [count_text(events, "event")]
        if competing:
            counts.append(count_text(competing, "competing event"))
        counts.append(f"{count_text(rows - events - competing - lost, 'row')} without")
        share = f"{thousands_text(lost)} of {count_text(rows, 'row')} ({percent_text(lost / rows)})"
        counts.append(f"{share} censored")
        found = [f"risk by time {number_text(self.horizon)}: {', '.join(counts)} before"]
        if lost:
            found += self._notes_of_weights(float(self.censoring_weight[counted].max()))
        if not (self.event == 0).any() and (self.event > 1).any():
            # Other programs write 1 for censored and 2 for the event.
            found.append("no row has the code 0, censored: 1 is the event and 2 a competing one")
        if lost and rows - events - lost < FEW_WITHOUT:
            few = count_text(rows - events - lost, "row")
            found.append(
                f"only {few} known to be without the event: right risks are called wrong too often"
            )
        return tuple(found)

    def _notes_of_weights(self, heaviest: float) -> list[str]:
        curves = f", by {' and '.join(self.by)}" if self.by else ""
        shorter = "; a shorter horizon leaves more" if heaviest > HEAVY else ""
        left = thousands_text(round(self.effective_rows))
        weights = f"weights up to {number_text(heaviest)}"
        return [
            f"censored rows count through others, by Kaplan-Meier of censoring{curves}: {weights}",
            f"these weights leave the evidence of {left} rows of equal weight{shorter}",
        ]

    def as_source(self, roles: Roles, title: str | None = None) -> Source:
        """Enter the door as weighted rows of two outcomes, without those that are not known.

        What a row weighs depends on its outcome, so outcomes cannot be simulated at given weights.
        Each row is therefore a cluster of its own, unless there are clusters: tests then flip the
        signs of residuals, which are kept with their weights.
        """
        if roles.weight is not None:
            raise InvalidOptionError(
                "weights of censored outcomes are found from the times",
                "sample_weight beside them",
                "pass it to SurvivalForecasts.read",
            )
        kept = self.weight > 0

        def where(name: str, values: object) -> object:
            return None if values is None else read_column(values, name, len(self))[kept]

        columns = self.by if roles.by is None else roles.labels_by()
        clusters = where("clusters", roles.clusters)
        rows = self.outcome[kept], self.risk[kept], self.weight[kept]
        if clusters is None and self.censored.any():
            # Numbered by what rows hold, so that their order does not matter.
            clusters = np.empty(rows[0].size, dtype=np.int64)
            clusters[canonical_order(*rows)] = np.arange(rows[0].size)
        kept_roles = replace(
            roles,
            by={name: where(name, labels) for name, labels in columns.items()} or None,
            clusters=clusters,
            time=where("time", roles.time),
            weight=rows[2] if self._weighted else None,
        )
        source = read_source(rows[0], rows[1], kept_roles, title=title or self._title)
        lost = int(self.censored.sum())
        described = source.described | {"horizon": self.horizon, "censored before it": lost}
        return replace(source, notes=(*self.notes, *source.notes), described=described)

    @property
    def _weighted(self) -> bool:
        return self.sample_weight is not None or bool(self.censored.any())

    @property
    def _title(self) -> str:
        return f"Risk by time {number_text(self.horizon)}"


def _events(event: object, size: int) -> Indices:
    """Read what ended the time of each row."""
    numbers = finite_numbers(event, "event", size)
    hint = "0 is censored, 1 the event of interest, 2 and more competing events"
    _refuse((numbers < 0) | (numbers % 1 != 0), numbers, "event must hold whole numbers", hint)
    codes = numbers.astype(np.intp)
    if not (codes == 1).any():
        raise InvalidForecastsError(
            "event must be 1, which is the one of interest, in some rows",
            f"codes {', '.join(map(str, np.unique(codes)[:4]))}",
            hint,
        )
    return codes


def _refuse(bad: Flags, values: Floats, what: str, hint: str = "") -> None:
    if bad.any():
        raise InvalidForecastsError(
            what,
            f"{count_text(int(bad.sum()), 'row')} such as {values[bad][0]:g}, "
            f"first rows {first_rows(bad)}",
            hint,
        )


def _censoring_weights(
    duration: Floats,
    event: Indices,
    horizon: float,
    weight: Floats,
    by: Mapping[str, npt.NDArray[np.generic]],
) -> Floats:
    """For how many rows each stands: one over the chance that it was followed for so long."""
    group = _strata(by, duration.size)
    weighing = [(group == g) & (weight > 0) for g in np.unique(group[weight > 0])]
    usable = [_last_usable(duration[inside], event[inside]) for inside in weighing]
    if horizon > min(usable):
        raise InvalidForecastsError(
            "some rows must be followed to the horizon" + (", in every group" if by else ""),
            f"horizon {number_text(horizon)}, but the last row is censored at {min(usable):g}",
            f"the largest usable horizon is {min(usable):g}",
        )
    known = (event > 0) | (duration >= horizon)
    found = np.zeros(duration.size)
    for inside in weighing:
        table = RiskTable.of(duration[inside], event[inside], weight[inside])
        before = table.uncensored_before()
        until = np.minimum(duration[inside], horizon)
        chance = before[np.searchsorted(table.time, until, side="left")]
        found[inside] = np.divide(1.0, chance, out=np.zeros_like(chance), where=known[inside])
    return found


def _strata(by: Mapping[str, npt.NDArray[np.generic]], size: int) -> Indices:
    """Give each combination of labels a number."""
    group = np.zeros(size, dtype=np.intp)
    for labels in by.values():
        code = np.unique(labels, return_inverse=True)[1].reshape(-1)
        pairs = np.unique(np.stack([group, code]), axis=1, return_inverse=True)[1]
        group = np.asarray(pairs.reshape(-1), dtype=np.intp)
    return group


def _last_usable(duration: Floats, event: Indices) -> float:
    """Return the last time at which outcomes are known: none is lost if all end in events."""
    last = float(duration.max())
    return last if (event[duration == last] == 0).any() else np.inf


@dataclass(frozen=True, slots=True)
class Survival:
    """Risks of an event by a horizon, and the column of times."""

    horizon: float
    duration: str

    @property
    def kind(self) -> str:
        """How users name it."""
        return "survival"


def read_survival(
    paths: Paths,
    roles: Roles,
    options: Survival,
    *,
    drop_missing: bool = False,
    title: str | None = None,
) -> Source:
    """Read files of risks, times and what ended them; censored rows count through others."""
    parts = roles.parts()
    if options.duration in (roles.outcome, roles.prediction):
        part = "outcome" if options.duration == roles.outcome else "prediction"
        raise InvalidOptionError(f"column {options.duration!r} must not be the {part} as well")
    parts[roles.outcome] = parts[options.duration] = Part.NUMBER
    with settled(paths) as files, opened(files, parts, progress=False) as (relation, _):
        columns = dict(relation.fetchnumpy())
    dropped = 0
    if drop_missing:
        columns, dropped = _kept(columns, roles)
    named = {
        "duration": options.duration,
        "event": roles.outcome,
        "y_proba": roles.prediction,
        "risk": roles.prediction,
        "sample_weight": roles.weight,
    }
    with arguments_named(**{name: f"column {column!r}" for name, column in named.items()}):
        forecasts = SurvivalForecasts.read(
            columns[options.duration],
            columns[roles.outcome],
            columns[roles.prediction],
            options.horizon,
            sample_weight=None if roles.weight is None else columns[str(roles.weight)],
        )
    read_roles = replace(
        roles,
        by={column: columns[column] for column in roles.columns_by()} or None,
        clusters=None if roles.clusters is None else columns[str(roles.clusters)],
        time=None if roles.time is None else columns[str(roles.time)],
        weight=None,
    )
    source = forecasts.as_source(read_roles, title)
    origin = {"files": [Path(file).name for file in files.requested], **roles.described()}
    notes = (*reading_notes(files, None, dropped), *source.notes)
    described = origin | {"duration": options.duration} | source.described
    return replace(source, described=described, notes=notes, dropped=dropped)


def _kept(columns: dict[str, Any], roles: Roles) -> tuple[dict[str, Any], int]:
    """Leave out rows that lack a value; a group may."""
    columns, dropped = without_missing(columns, [*roles.columns_by(), *roles.keys])
    if not len(columns[roles.outcome]):
        raise InvalidForecastsError("there must be at least one row without missing values")
    return columns, dropped
