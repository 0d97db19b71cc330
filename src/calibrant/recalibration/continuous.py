"""Calibrators of forecasts of numbers: how they are fitted, applied, stored and written as SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats, Indices
from calibrant._base.notebook import card
from calibrant._base.options import as_generator, check_share, refuse_unknown, shown
from calibrant._base.stored import Stored, restoring
from calibrant._base.words import (
    capital,
    comparable_texts,
    count_text,
    interval_texts,
    number_text,
    percent_text,
)
from calibrant.data import canonical_order, deal_clusters, deal_folds
from calibrant.data.input import as_array, as_floats, read_labels, read_numbers, refuse_other_labels
from calibrant.data.rows import Rows
from calibrant.errors import (
    ConvergenceError,
    InferenceRefusedError,
    InvalidForecastsError,
    InvalidOptionError,
    InvalidStateError,
)
from calibrant.inputs import KindRequest, rows_of_kind
from calibrant.kinds import CONTINUOUS, PLAIN, Kind, Quantile, kind_named
from calibrant.recalibration.choice_rule import (
    LEAVE,
    NO_MAP,
    chosen_by,
    cross_fitted,
    gain_after_choice,
    losses,
    nested,
)
from calibrant.recalibration.export import form_text
from calibrant.recalibration.folds import Units
from calibrant.recalibration.forms import TINY, Lines
from calibrant.recalibration.quoting import dialect_of, number_text as sql_number
from calibrant.regression import isotonic_fit

FOLDS = 5
# Rows, or clusters, below which no choice can be judged.
FEWEST = 20


@dataclass(frozen=True, slots=True)
class SavedLoss:
    """Mean loss saved on rows used neither to fit nor to choose, with an interval."""

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class ContinuousRecalibration:
    """The calibrator that was chosen, fitted to all rows, and what it saves on rows unseen."""

    calibrator: ContinuousCalibrator
    """Fitted to all rows; the identity means: leave it alone."""
    gain: SavedLoss
    """What it saves; 0 if forecasts are left alone."""
    table: dict[str, list[Any]]
    """One entry per calibrator: its name, its held-out mean loss, and what that saves.
    Each is judged as if it alone had been tried: that of the best saves too much on average."""
    loss: str
    """Name of the loss."""
    before: float
    """Mean loss of the forecasts as they are."""
    after: float
    """Mean loss after the calibrator, out of sample."""
    observed: float
    """Share of outcomes below or inside, or else the mean residual, of the forecasts as they are.
    After the calibrator, residuals of all folds sum to about zero whatever it is worth."""
    reason: str = ""
    """Why forecasts are left alone."""

    @property
    def unchanged(self) -> bool:
        """Whether the best advice is to change nothing."""
        return self.calibrator.method == LEAVE

    @property
    def advice(self) -> str:
        """Say what to do about forecasts that are miscalibrated."""
        if self.unchanged:
            return NO_MAP
        if self.gain.low > 0:
            before, after = comparable_texts(self.before, self.after)
            return (
                f"Recalibrate: {self.calibrator.title} lowers the {self.loss} from {before} to "
                f"{after} on held-out data."
            )
        if self.calibrator.kind.has_ends:
            wider = self.observed < (self.calibrator.kind.chance or 0.0)
            how = "Widen" if wider else "Narrow"
            return f"{how} them on rows that the model was not fitted to."
        return "Recalibrate them on rows that the model was not fitted to, or change the model."

    @property
    def score(self) -> str:
        """Name of the loss."""
        return self.loss

    @property
    def sentence(self) -> str:
        """Say what was chosen, what it does and what it saves."""
        if self.unchanged:
            return f"Leave it alone: {self.reason}." if self.reason else self.calibrator.sentence
        if np.isnan(self.gain.value):
            return f"{self.calibrator.sentence} What it saves is not known: {self.reason}."
        before, after = comparable_texts(self.before, self.after)
        value, low, high = interval_texts(self.gain.value, self.gain.low, self.gain.high)
        does = "helps" if self.gain.low > 0 else "harms" if self.gain.high < 0 else "may help"
        return (
            f"{capital(self.calibrator.title)} {does}: on held-out data the {self.loss} goes from "
            f"{before} to {after} and saves {value} (between {low} and {high} with "
            f"{percent_text(self.gain.confidence)} confidence; {self._evaluated_on}). "
            f"{self.calibrator.sentence}"
        )

    @property
    def _evaluated_on(self) -> str:
        kind = self.calibrator.kind
        if kind.chance is not None:
            where = kind.words.observed_as
            observed, promised = map(percent_text, (self.observed, kind.chance))
            return f"outcomes {where} without it: {observed}, promised {promised}"
        return f"mean residual without it: {number_text(self.observed)}"

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "calibrator": self.calibrator.to_dict(),
            "loss": self.loss,
            "before": self.before,
            "after": self.after,
            "gain": {"value": self.gain.value, "low": self.gain.low, "high": self.gain.high},
            "confidence": self.gain.confidence,
            "table": self.table,
            "sentence": self.sentence,
        }


def choose_continuous(
    y_true: object,
    y_pred: object,
    kind: KindRequest,
    *,
    methods: object,
    always: bool,
    sample_weight: object,
    clusters: object,
    confidence: float,
    rng: np.random.Generator | int | None,
) -> ContinuousRecalibration:
    """Choose a calibrator of forecasts of numbers, or none, by its loss on rows unseen."""
    refuse_other_labels(
        y_true=y_true, y_pred=y_pred, sample_weight=sample_weight, clusters=clusters
    )
    rows = rows_of_kind(y_true, y_pred, kind, sample_weight)
    return choose_for_rows(
        rows, methods=methods, always=always, clusters=clusters, confidence=confidence, rng=rng
    )


def choose_for_rows(
    rows: Rows,
    *,
    methods: object = None,
    always: bool = False,
    clusters: object = None,
    confidence: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> ContinuousRecalibration:
    """Choose a calibrator for rows that were checked before.

    Calibrators have the least squared error, pinball loss, asymmetric squared error or interval
    score, and never decrease. The conformal shift promises coverage of the next row only where
    nothing was chosen by the same rows, so that it is fitted on request alone.
    """
    check_share("confidence", confidence)
    names = _named(methods, rows.kind)
    if always and (methods is None or len(methods) != 1):  # type: ignore[arg-type]  # a list of names
        raise InvalidOptionError(
            "always takes the one calibrator that calibrators names", shown(methods)
        )
    conformal = "conformal" in names
    if conformal and not always:
        raise InvalidOptionError(
            "a conformal shift promises nothing after a choice", "methods", "pass always=True"
        )
    cluster = None
    if clusters is not None:
        labels = read_labels(clusters, "clusters", len(rows))
        cluster = np.unique(labels, return_inverse=True)[1]
        if conformal:
            raise InvalidOptionError(
                "a conformal shift promises nothing for clusters", "clusters", "use the shift"
            )
    if rows.weight is not None and not conformal and not rows.weight.all():
        kept = rows.weight > 0
        rows = rows.where(kept)
        cluster = None if cluster is None else np.unique(cluster[kept], return_inverse=True)[1]
    content = (rows.prediction, rows.outcome, rows.upper, rows.weight, cluster)
    order = canonical_order(*content)  # sums in another order would differ in the last digit
    rows, cluster = rows.where(order), None if cluster is None else cluster[order]
    units = len(rows) if cluster is None else int(cluster.max()) + 1
    needed = FEWEST
    if conformal and rows.kind.chance is not None:
        # Four fifths of the rows must be enough for a shift.
        needed = max(needed, 2 * rows_for_conformal(rows.kind.chance))
    if units < needed:
        few = "rows" if cluster is None else "clusters"
        return _unjudged(rows, names[-1] if always else LEAVE, few)
    fold = _dealt(rows, cluster, as_generator(rng))
    return _judged(Units.of_kind(rows, fold, cluster), names, confidence, requested=always)


def _named(methods: object, kind: Kind) -> list[str]:
    """Names of the calibrators to choose from, leaving forecasts alone first, then the simplest."""
    known = methods_for(kind)
    if methods is None:
        return [name for name in known if name != "conformal"]
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        raise InvalidOptionError("calibrators must be a list of names", shown(methods))
    for name in methods:
        refuse_unknown("methods", name, known)
    return list(dict.fromkeys([LEAVE, *methods]))


def _dealt(rows: Rows, cluster: Indices | None, rng: np.random.Generator) -> Indices:
    if cluster is not None:
        return deal_clusters(cluster, FOLDS, rng)
    content = (rows.prediction, rows.outcome, rows.upper, rows.weight)
    return deal_folds(FOLDS, rng, *content, near=rows.coordinate)


def _judged(
    units: Units, names: list[str], confidence: float, *, requested: bool
) -> ContinuousRecalibration:
    """Choose a calibrator, or take the last one named, and say what it saves on rows unseen.

    The choice, its repetition without each fold and the interval are those of `recalibrate`.
    """
    candidates = {name: Candidate(name) for name in names}
    held_out = cross_fitted(units, candidates)
    everyone = np.ones(units.outcome.size, dtype=bool)
    decision = chosen_by(units, None, held_out, everyone, confidence)
    chosen, kept = names[-1], held_out[list(candidates)[-1]]
    if not requested:
        chosen = decision.name
        kept = nested(units, candidates, None, held_out)
    lost = {name: losses(None, units, forecasts) for name, forecasts in held_out.items()}
    gain = SavedLoss(0.0, 0.0, 0.0, confidence)
    if chosen != LEAVE:
        saved = lost[LEAVE] - losses(None, units, kept)
        found = gain_after_choice(units, saved, decision.gains[chosen], confidence)
        gain = SavedLoss(found.value, found.low, found.high, confidence)
    rows = units.rows(units.prediction)
    before, *_ = after = [rows.mean_of(some) for some in lost.values()]
    clear = requested or chosen != LEAVE
    return ContinuousRecalibration(
        fitted_map(rows, chosen),
        gain,
        {"calibrator": names, "loss": after, "saved": [before - loss for loss in after]},
        rows.kind.loss_name,
        before,
        before - gain.value,
        _observed(rows),
        "" if clear else "no calibrator lowers the held-out loss by more than noise",
    )


def _unjudged(rows: Rows, chosen: str, few: str) -> ContinuousRecalibration:
    """Take the requested calibrator though too few rows can judge it, or leave forecasts alone."""
    loss = rows.mean_of(rows.losses)
    return ContinuousRecalibration(
        fitted_map(rows, chosen),
        SavedLoss(0.0, 0.0, 0.0, 0.0) if chosen == LEAVE else UNKNOWN,
        {"calibrator": [LEAVE], "loss": [loss], "saved": [0.0]},
        rows.kind.loss_name,
        loss,
        loss if chosen == LEAVE else np.nan,
        _observed(rows),
        f"there are too few {few} to judge a calibrator by",
    )


UNKNOWN = SavedLoss(np.nan, np.nan, np.nan, 0.0)


def _observed(forecasts: Rows) -> float:
    """Return the share of outcomes below or inside, or else the mean residual."""
    if forecasts.kind.chance is not None:
        return forecasts.kind.forecast_and_observed(forecasts)[1]
    return forecasts.mean_of(forecasts.residual)


SCHEMA = 1
STORED = "a stored calibrator of forecasts of numbers"
# Quantiles of the forecasts at which a sentence says what a calibrator does.
SHOWN = (0.1, 0.5, 0.9)
TITLES = {
    "identity": "no recalibration",
    "shift": "a constant shift",
    "line": "linear calibration",
    "curve": "piecewise linear calibration",
    "isotonic": "isotonic calibration",
    "conformal": "a conformal shift",
}
"""Every calibrator by name, the simplest first, and what it is called in sentences; the conformal
shift is never chosen, only requested."""
# Pieces of a curve; between quantiles of the forecasts.
PIECES = 5
MOST_STEPS = 200
# Steps of asymmetric least squares end when the loss falls by less than this share of itself.
SAME_LOSS, SMALLEST_STEP = 1e-14, 1e-12
# How close the slope of a quantile's line comes to the best one, as a share of the largest slope.
SLOPE_TOLERANCE = 1e-7


def methods_for(kind: Kind) -> tuple[str, ...]:
    """Name the calibrators that forecasts of a kind can be fitted with, the simplest first."""
    if kind.has_ends:
        return ("identity", "shift", "conformal")
    if kind.chance is not None:
        return ("identity", "shift", "line", "isotonic", "conformal")
    return ("identity", "shift", "line", "curve", "isotonic")


@dataclass(frozen=True, slots=True, eq=False)
class ContinuousCalibrator:
    """A fitted calibrator of forecasts of numbers: means, quantiles, expectiles, intervals.

    Make one with `recalibrate`, or with `load` from what `to_json` wrote.
    """

    kind: Kind
    method: str
    form: Bend
    """What forecasts become; of intervals, lower ends."""
    upper_form: Bend | None
    """What upper ends of intervals become."""
    rows: int
    """Number of rows that it was fitted to."""
    seen: tuple[float, ...]
    """The 10th, 50th and 90th percentile of the forecasts; of intervals, of lower ends."""
    coverage: float | None = None
    """Of a conformal shift, the chance that it promises for the next row; None for others."""

    @property
    def label(self) -> str:
        """Name in tables and JSON."""
        return self.method

    @property
    def title(self) -> str:
        """What the calibrator is called in sentences."""
        return TITLES[self.method]

    def transform(self, X: object) -> Floats:  # noqa: N803 (the name that scikit-learn uses)
        """Recalibrate forecasts.

        Parameters
        ----------
        X : array-like of shape (n,), or (n, 2) for intervals
            Forecasts; of intervals the lower and the upper ends.

        Returns
        -------
        array of the same shape
            Intervals that a shift turns inside out become their middle.
        """
        refuse_other_labels(X=X)
        if self.upper_form is None:
            single = read_numbers(X, "X")
            if single.ndim > 1 and single.shape[-1] != 1:
                raise InvalidForecastsError(
                    f"forecasts of kind {self.kind.name} must be one column",
                    f"shape {single.shape}",
                )
            return self.form_(single)
        table = as_floats(as_array(X, "X"), "X")
        if table.ndim != 2 or table.shape[1] != 2:
            raise InvalidForecastsError(
                "intervals must be two columns, the lower and the upper ends",
                f"shape {table.shape}",
            )
        return self.form_(table)

    def form_(self, prediction: Floats) -> Floats:
        """Recalibrate forecasts that were read; intervals are tables of both ends."""
        if self.upper_form is None:
            return self.form(prediction)
        low, high = self.form(prediction[:, 0]), self.upper_form(prediction[:, 1])
        middle = (low + high) / 2
        return np.column_stack([np.minimum(low, middle), np.maximum(high, middle)])

    @property
    def sentence(self) -> str:
        """What the calibrator does, in words."""
        return f"{self._does}{self._promise}"

    @property
    def _does(self) -> str:
        if self.method == "identity":
            return "Forecasts stay as they are."
        if self.upper_form is not None:
            by = -float(self.form.value[0])
            text = number_text(abs(by))
            way = "outward" if by >= 0 else "inward"
            return f"Both ends of every interval move {way} by {text}."
        if self.method in {"shift", "conformal"}:
            by = float(self.form.value[0])
            return f"It {'adds' if by >= 0 else 'takes'} {number_text(abs(by))} " + (
                "to every forecast." if by >= 0 else "from every forecast."
            )
        recalibrated = self.form(np.array(self.seen))
        pairs = [
            comparable_texts(a, b) for a, b in zip(self.seen, recalibrated.tolist(), strict=True)
        ]
        listed = ", ".join(f"{before} becomes {after}" for before, after in pairs)
        where = "At the 10th, 50th and 90th percentile of the forecasts"
        return f"{where} {listed}."

    @property
    def _promise(self) -> str:
        if self.coverage is None:
            return ""
        down = self.upper_form is None and (self.kind.chance or 0.0) < 0.5
        where = "below it" if down else f"{self.kind.words.observed_as} it"
        of = self.rows + 1
        return (
            f" The next outcome lies {where} with a chance of {round(self.coverage * of)} in {of}, "
            f"or {'less' if down else 'more'} where outcomes tie, if rows are exchangeable: on "
            "average over samples and forecasts, not for each forecast."
        )

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return card(self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return the calibrator as plain data; `load` takes it back."""
        return {
            "schema": SCHEMA,
            "continuous_calibrator": self.method,
            "kind": self.kind.name.partition("=")[0],
            "level": getattr(self.kind, "level", None),
            "form": self.form.as_dict(),
            "upper_form": None if self.upper_form is None else self.upper_form.as_dict(),
            "rows": self.rows,
            "seen": list(self.seen),
            "coverage": self.coverage,
            "sentence": self.sentence,
        }

    def to_json(self) -> str:
        """Return the calibrator as JSON; `load` takes it back."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_sql(self, column: str = "prediction", *, dialect: str = "duckdb") -> str:
        """Return the calibrator as an expression of SQL; NULL stays NULL.

        Parameters
        ----------
        column : str, default="prediction"
            Column of forecasts.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Examples
        --------
        >>> from calibrant.recalibration import recalibrate
        >>> y, z = [1.0, 2.0, 3.0], [0.0, 1.0, 2.0]
        >>> shift = recalibrate(y, z, kind="mean", methods=["shift"], always=True).calibrator
        >>> print(shift.to_sql("z"))
        case when cast("z" as double) is not null then cast("z" as double) + 1.0e0 end
        """
        if self.upper_form is not None:
            raise InvalidOptionError(
                "a calibrator of intervals has no single column",
                "two ends",
                f"take {number_text(-float(self.form.value[0]))} off the lower and add it to the "
                "upper ends",
            )
        return expression(self.form, column, dialect)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A calibrator that can be fitted, by name."""

    method: str

    def learn(self, forecasts: Rows) -> ContinuousCalibrator:
        """Fit the calibrator to rows."""
        return fitted_map(forecasts, self.method)


def fitted_map(forecasts: Rows, method: str) -> ContinuousCalibrator:
    """Fit one calibrator to all rows."""
    kind = forecasts.kind
    refuse_unknown("method", method, methods_for(kind))
    if forecasts.weight is not None:
        if method == "conformal":
            raise InvalidOptionError(
                "a conformal shift takes no weights", "sample_weight", "use method='shift'"
            )
        forecasts = forecasts.weighing
    coverage, upper = None, None
    if method == "identity":
        form = Bend.shift(0.0)
        upper = Bend.shift(0.0) if kind.has_ends else None
    elif method == "conformal":
        found = fit_conformal(forecasts)
        coverage, by = found.coverage, found.by
        form = Bend.shift(-by if kind.has_ends else by)
        upper = Bend.shift(by) if kind.has_ends else None
    elif kind.has_ends:
        by = fit_widening(forecasts)
        form, upper = Bend.shift(-by), Bend.shift(by)
    else:
        fits = {
            "shift": fit_shift, "line": fit_line, "curve": fit_curve, "isotonic": fit_isotonic
        }  # fmt: skip
        form = fits[method](forecasts)
    seen = tuple(np.quantile(forecasts.prediction, SHOWN, method="lower").tolist())
    return ContinuousCalibrator(kind, method, form, upper, len(forecasts), seen, coverage)


def continuous_from(data: Stored) -> ContinuousCalibrator:
    """Make a calibrator from what `to_dict` returned."""
    data = Stored(data.data, STORED)
    data.require_schema(SCHEMA)
    with restoring(STORED):
        name = data.choice("kind", CONTINUOUS)
        kind = kind_named(name, None if name in PLAIN else _level(data))
        method = data.choice("continuous_calibrator", methods_for(kind))
        both = kind.has_ends
        if (data.get("upper_form") is not None) != both:
            raise InvalidStateError(f"upper_form of {STORED} must be there for intervals alone")
        coverage = data.get("coverage")
        if (coverage is not None) != (method == "conformal"):
            raise InvalidStateError(
                f"coverage of {STORED} must be there for conformal calibrators alone"
            )
        found = ContinuousCalibrator(
            kind,
            method,
            _form(data.part("form")),
            _form(data.part("upper_form")) if both else None,
            data.whole("rows", 1),
            tuple(data.numbers("seen", shape=(len(SHOWN),)).tolist()),
            None if coverage is None else data.number("coverage", 0.0, 1.0),
        )
        _ = found.sentence
    return found


def _level(data: Stored) -> float:
    level = data.number("level", 0.0, 1.0)
    check_share("level", level)
    return level


def _form(data: Stored) -> Bend:
    knot, value = data.numbers("knot"), data.numbers("value")
    if knot.shape != value.shape or knot.size == 0 or not (np.diff(knot) > 0).all():
        raise InvalidStateError(
            f"knots of {data.what} must increase, with one value for each", f"{knot.size} knots"
        )
    if (np.diff(value) < 0).any():
        raise InvalidStateError(f"values of {data.what} must not decrease")
    return Bend(knot, value, data.number("slope", 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Bend:
    """A function that is linear between its knots, and beyond them has one slope."""

    knot: Floats
    value: Floats
    slope: float = 1.0
    """Slope before the first and after the last knot: by default what is beyond the forecasts that
    were seen is corrected as the last of them."""

    @classmethod
    def shift(cls, by: float) -> Bend:
        """Add a number."""
        return cls(np.zeros(1), np.array([by]))

    def __call__(self, forecast: Floats) -> Floats:
        """Value at each forecast."""
        inside = np.interp(forecast, self.knot, self.value)
        below = np.minimum(forecast - self.knot[0], 0.0)
        above = np.maximum(forecast - self.knot[-1], 0.0)
        return np.asarray(inside + self.slope * (below + above))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"knot": self.knot.tolist(), "value": self.value.tolist(), "slope": self.slope}


def fit_shift(forecasts: Rows) -> Bend:
    """Find the number of least loss to add to every forecast."""
    off = forecasts.outcome - forecasts.prediction
    return Bend.shift(forecasts.kind.best(off, forecasts.weights))


def fit_line(forecasts: Rows) -> Bend:
    """Find the line of least loss that does not decrease."""
    kind, z = forecasts.kind, forecasts.prediction
    middle, spread = float(np.average(z, weights=forecasts.weights)), float(np.ptp(z))
    if spread == 0:
        return fit_shift(forecasts)
    x = (z - middle) / spread
    if kind.chance is not None:
        slope = _quantile_slope(kind, x, forecasts.outcome, forecasts.weights)
        start = kind.best(forecasts.outcome - slope * x, forecasts.weights)
    else:
        start, slope = _least_squares(forecasts, np.column_stack([np.ones(x.size), x]))
    return Bend(np.array([middle]), np.array([start]), float(slope) / spread)


def fit_curve(forecasts: Rows) -> Bend:
    """Find the increasing function of least loss that is linear between quantiles of forecasts."""
    z = forecasts.prediction
    knot = np.unique(np.quantile(z, np.linspace(0, 1, PIECES + 1), method="lower"))
    if knot.size < 3:
        return fit_line(forecasts)
    rises = np.clip((z[:, np.newaxis] - knot[:-1]) / np.diff(knot), 0.0, 1.0)
    found = _least_squares(forecasts, np.column_stack([np.ones(z.size), rises]))
    return Bend(knot, np.cumsum(found))


def fit_isotonic(forecasts: Rows) -> Bend:
    """Find the increasing function of least loss; linear between its pools."""
    fit = isotonic_fit(forecasts)
    new = np.append(True, np.diff(fit.value) != 0)
    last = np.append(new[1:], True)
    knot, value = (
        np.column_stack([column[new], column[last]]).ravel() for column in (fit.forecast, fit.value)
    )
    apart = np.append(True, np.diff(knot) > 0)
    return Bend(knot[apart], value[apart])


@dataclass(frozen=True, slots=True)
class Conformal:
    """A shift with a promise: the rank that gives it, among so many rows."""

    by: float
    rank: int
    rows: int

    @property
    def coverage(self) -> float:
        """Chance, over these rows and the next one, that its outcome lies below or inside."""
        return self.rank / (self.rows + 1)


def fit_conformal(forecasts: Rows) -> Conformal:
    """Find the rank of what outcomes exceed forecasts by that the next row keeps with its level.

    Of quantiles below 1/2 the rank is rounded down, as their promise is that outcomes lie above.
    """
    level = forecasts.kind.chance
    assert level is not None  # noqa: S101  # checked by the caller
    off = forecasts.outcome - forecasts.prediction
    if forecasts.upper is not None:
        off = np.maximum(-off, forecasts.outcome - forecasts.upper)
    rows = off.size
    exact = level * (rows + 1)
    near = round(exact)
    # A level such as 0.9 is no double: 0.9 times 10 is 9.
    whole = abs(exact - near) <= 1e-9 * exact
    down = forecasts.upper is None and level < 0.5
    rank = near if whole else floor(exact) if down else ceil(exact)
    if not 1 <= rank <= rows:
        least = count_text(rows_for_conformal(level), "row")
        raise InferenceRefusedError(
            f"a conformal shift to the level {number_text(level)} needs at least {least}",
            count_text(rows, "row"),
        )
    return Conformal(float(np.partition(off, rank - 1)[rank - 1]), rank, rows)


def rows_for_conformal(level: float) -> int:
    """Return how many rows a conformal shift needs: the next one may be the most extreme of all."""
    return ceil(1 / min(level, 1 - level) * (1 - 1e-12)) - 1


def fit_widening(forecasts: Rows) -> float:
    """By how much to move both ends of intervals outward; as far as the rows let it, if few."""
    level, upper = forecasts.kind.chance, forecasts.upper
    assert level is not None  # noqa: S101  # for intervals only
    assert upper is not None  # noqa: S101
    off = np.maximum(forecasts.prediction - forecasts.outcome, forecasts.outcome - upper)
    return Quantile(level).best(off, forecasts.weights)


def _quantile_slope(kind: Kind, x: Floats, y: Floats, weight: Floats) -> float:
    """Slope of least loss with the best start for each: a convex function of one number."""
    from scipy.optimize import minimize_scalar

    def loss(slope: float) -> float:
        off = y - slope * x
        start = kind.best(off, weight)
        return float(weight @ kind.losses(np.full(off.size, start), off))

    most = float(np.ptp(y))
    if most == 0:
        return 0.0
    while loss(2 * most) < loss(most):
        most *= 2
    found = minimize_scalar(
        loss, bounds=(0.0, 2 * most), method="bounded", options={"xatol": SLOPE_TOLERANCE * most}
    )
    return min((0.0, float(found.x)), key=loss)


def _least_squares(forecasts: Rows, design: Floats) -> Floats:
    """Asymmetric least squares, all coefficients but the first at least 0.

    Weights follow from the fit and the fit from weights until they agree; for means at once. A step
    that does not lower the loss, which is convex and smooth, is halved until it does.
    """
    from scipy.optimize import lsq_linear

    kind = forecasts.kind
    level = kind.side
    middle = float(np.average(forecasts.outcome, weights=forecasts.weights))
    y = forecasts.outcome - middle
    least = np.append(-np.inf, np.zeros(design.shape[1] - 1))

    def side_weights(found: Floats) -> Floats:
        return np.where(y > design @ found, level, 1 - level)

    def loss(found: Floats) -> float:
        return float((forecasts.weights * side_weights(found)) @ np.square(y - design @ found))

    found = np.zeros(design.shape[1])
    for _ in range(MOST_STEPS):
        side = side_weights(found)
        weighted = np.column_stack([design, y]) * np.sqrt(forecasts.weights * side)[:, np.newaxis]
        # The triangle of the rows has the same squares, and few of them.
        triangle: Floats = np.asarray(np.linalg.qr(weighted, "r"))
        solved = lsq_linear(triangle[:, :-1], triangle[:, -1], (least, np.inf), method="bvls").x
        before, step = loss(found), 1.0
        while loss(found + step * (solved - found)) > before and step > SMALLEST_STEP:
            step /= 2
        found = found + step * (solved - found)
        settled = step == 1 and bool((side_weights(found) == side).all())
        if settled or level == 0.5 or before - loss(found) <= SAME_LOSS * before:
            return np.append(found[0] + middle, found[1:])
    raise ConvergenceError(
        "the line of an expectile must settle", f"{MOST_STEPS} steps", "use 'isotonic'"
    )


def expression(form: Bend, column: str, dialect: str) -> str:
    """Write what a column of forecasts becomes; NULL stays NULL."""
    kind = dialect_of(dialect)
    x = kind.number(column)
    if kind.name == "postgres" and not (form.knot.size == 1 and form.slope == 1):
        # PostgreSQL ends a query in which a product underflows.
        x = f"(case when abs({x}) < {sql_number(TINY)} then {sql_number(0.0)} else {x} end)"
    if form.knot.size == 1 and form.slope == 1:
        by = float(form.value[0] - form.knot[0])
        value = x if by == 0 else f"{x} + {sql_number(by)}"
    elif form.knot.size == 1:
        value = _tail(form, 0, x)
    else:
        inside = form_text(Lines(form.knot, form.value), x, kind)
        value = (
            f"case when {x} < {sql_number(float(form.knot[0]))} then {_tail(form, 0, x)} "
            f"when {x} > {sql_number(float(form.knot[-1]))} then {_tail(form, -1, x)} "
            f"else {inside} end"
        )
    return f"case when {kind.is_number(column)} then {value} end"


def _tail(form: Bend, at: int, x: str) -> str:
    """Write the line beyond the first or the last knot."""
    knot, value = sql_number(float(form.knot[at])), sql_number(float(form.value[at]))
    beyond = f"({x} - {knot})"
    rise = beyond if form.slope == 1 else f"{sql_number(form.slope)} * {beyond}"
    return f"{value} + {rise}"
