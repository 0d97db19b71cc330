"""How fast errors grow with the number of rounds, measured, beside what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_REPEATS, as_generator, whole
from calibrant.catalogue import JOINT_MEASURES, find_measure
from calibrant.errors import InvalidOptionError
from calibrant.joint import Joint
from calibrant.online.forecaster import Guarantee
from calibrant.online.game import measured, simulate
from calibrant.online.natures import as_nature
from calibrant.online.own import as_forecaster
from calibrant.online.players import (
    FORECASTERS,
    NATURES,
    MakeForecaster,
    MakeNature,
    Player,
    choose,
)

HORIZONS = tuple(2**k for k in range(8, 15))
CONFIDENCE = 0.95
KNOWN = ("Table 1", "lower bound")


@dataclass(frozen=True, slots=True)
class KnownRate:
    """What the survey's Table 1 says of a measure, for the best forecaster there can be."""

    upper: str
    lower: str


TABLE_1: Mapping[str, KnownRate] = {
    "exact_calibration_error": KnownRate(
        "T^(2/3) FV98, T^(2/3-eps) DDF+25", "T^.54389 DDF+25, T^.528 QV21, T^(1/2)"
    ),
    "distance_to_calibration": KnownRate("T^(1/2) QZ24, ACRS25", "T^(1/3) QZ24"),
    "smooth_calibration_error": KnownRate("T^(1/2) QZ24, ACRS25", "T^(1/3) QZ24"),
    "calibration_decision_loss": KnownRate("T^(1/2) log T HW24", "T^(1/2) HW24"),
}
"""Table 1 of the survey: optimal rates of rounds x measure, by measure."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How the error of one forecaster against one nature grows."""

    forecaster: str
    nature: str
    measure: str
    horizons: tuple[int, ...]
    """Numbers of rounds that were played."""
    errors: Floats
    """Rounds x measure, one row per horizon, one column per repeat."""
    exponent: float
    """Slope of log(mean error) over log(rounds)."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end of its 95 % interval."""
    proven: float | None
    """Slope of the proven rate over the same horizons, logarithms included; None for no promise."""
    least: float | None = None
    """No forecaster can expect a smaller error at the last horizon against this nature; None where
    no such bound is known."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Measured rates; print them to see them beside the survey's Table 1."""

    rows: tuple[Rate, ...]

    def frame(self) -> dict[str, list[object]]:
        """Return all columns, for `pandas.DataFrame` and its kin."""
        known = [TABLE_1.get(row.measure, KnownRate("", "")) for row in self.rows]
        names = ("forecaster", "nature", "measure", "exponent", "low", "high", "proven", "least")
        return {
            **{name: [getattr(row, name) for row in self.rows] for name in names},
            "last": [float(row.errors[-1].mean()) for row in self.rows],
            "upper": [rate.upper for rate in known],
            "lower": [rate.lower for rate in known],
        }

    def __str__(self) -> str:
        head = ("forecaster", "nature", "measure", "measured", "proven", "at last", "least", *KNOWN)
        lines = [head, *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


def _cells(row: Rate) -> tuple[str, ...]:
    known = TABLE_1.get(row.measure, KnownRate("-", "-"))
    return (
        row.forecaster,
        row.nature,
        row.measure.replace("_", " "),
        f"{row.exponent:.2f} [{row.low:.2f}, {row.high:.2f}]",
        "-" if row.proven is None else f"{row.proven:.2f}",
        f"{row.errors[-1].mean():.1f}",
        "-" if row.least is None else f"{row.least:.1f}",
        known.upper,
        known.lower,
    )


def rates(
    forecasters: Sequence[str] | Mapping[str, MakeForecaster] | None = None,
    natures: Sequence[str] | Mapping[str, MakeNature] | None = None,
    *,
    horizons: Sequence[int] = HORIZONS,
    repeats: int = 8,
    measure: str | Callable[[Joint], float] | None = None,
    rng: np.random.Generator | int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rates:
    """Play games of growing length and fit how fast rounds x measure grows.

    Parameters
    ----------
    forecasters : sequence of str, or dict of str to callable, optional
        Names of `FORECASTERS`, or functions that make one for a horizon; by default all that
        promise something about a measure of the catalogue.
    natures : sequence of str, or dict of str to callable, optional
        Names of `NATURES`, or functions that make one; by default all.
    horizons : sequence of int, optional
        Numbers of rounds, at least three; by default 2^8, ..., 2^14.
    repeats : int, default=8
        Games for each horizon.
    measure : str or callable, optional
        A name of the catalogue or a function of a Joint; by default what each forecaster's
        promise is about.
    rng : numpy.random.Generator or int, optional
        Source of all coins.
    progress : callable, optional
        Called with 1 after every game.

    Returns
    -------
    Rates

    Notes
    -----
    The exponent is the least-squares slope of log(mean error over the repeats) over log(rounds),
    one point per horizon; its 95 % interval is Student's, with two degrees of freedom less than
    horizons, so it also covers what a straight line does not fit. A measured rate says how the
    forecaster fares against this nature; the promise is about the worst nature. Table 1 is
    about the best forecaster, not about this one. "At last" is the mean error at the last horizon,
    "least" what no forecaster can expect to go below there against this nature (`least_error`).

    Examples
    --------
    >>> found = rates(["foster"], ["breaker"], horizons=[64, 128, 256, 512], rng=0)
    >>> row = found.rows[0]
    >>> row.low < row.exponent < row.high
    True
    >>> print(found)
    forecaster  nature   measure                  measured           proven  at last  least ...
    foster      breaker  exact calibration error  0... [0..., 0...]  0.67    ...      -     ...
    """
    lengths = tuple(whole("horizons", length) for length in horizons)
    if len(set(lengths)) < 3:
        raise InvalidOptionError("a rate needs at least three horizons", repr(horizons))
    whole("repeats", repeats, 1, MOST_REPEATS)
    makers = _promising() if forecasters is None else _named(forecasters, FORECASTERS, "forecaster")
    chosen = NATURES if natures is None else _named(natures, NATURES, "nature")
    generator = as_generator(rng)
    rows: list[Rate] = []
    for forecaster, make in makers.items():
        promise = as_forecaster(make(lengths[0])).guarantee
        title, function = _function(measure, promise)
        proven = _proven(promise, lengths) if measure is None and promise else None
        for nature, make_nature in chosen.items():
            errors = np.zeros((len(lengths), repeats))
            for index in np.ndindex(errors.shape):
                rounds = lengths[index[0]]
                game = simulate(make(rounds), make_nature(), rounds, generator)
                errors[index] = rounds * measured(function, game.joint())
                if progress is not None:
                    progress(1)
            fit = fit_exponent(lengths, errors)
            least = as_nature(make_nature()).least(lengths[-1], title)
            rows.append(Rate(forecaster, nature, title, lengths, errors, *fit, proven, least))
    return Rates(tuple(rows))


def fit_exponent(horizons: Sequence[int], errors: Floats) -> tuple[float, float, float]:
    """Fit the slope of log(mean error) over log(rounds), with its 95 % interval.

    Examples
    --------
    >>> fit_exponent([1, 10, 100], np.array([[2.0], [20.0], [200.0]]))
    (1.0, 1.0, 1.0)
    """
    from scipy.stats import linregress, t

    means = errors.mean(axis=1)
    if not (means > 0).all():
        raise InvalidOptionError(
            "a rate needs an error above zero at every horizon", f"mean errors {means.tolist()}"
        )
    line = linregress(np.log(horizons), np.log(means))
    half_width = float(t.ppf((1 + CONFIDENCE) / 2, len(horizons) - 2)) * float(line.stderr)
    slope = float(line.slope)
    return slope, slope - half_width, slope + half_width


def _proven(promise: Guarantee, horizons: Sequence[int]) -> float:
    """Slope of the proven rate over these horizons."""
    logs = np.log(horizons)
    rate = promise.exponent * logs + promise.logarithms * np.log(logs)
    return float(np.polyfit(logs, rate, 1)[0])


def _function(
    measure: str | Callable[[Joint], float] | None, promise: Guarantee | None
) -> tuple[str, Callable[[Joint], float]]:
    """Name and function of what is measured."""
    if callable(measure):
        return getattr(measure, "__name__", "measure"), measure
    if measure is None and promise is None:
        raise InvalidOptionError("a forecaster that promises nothing needs a measure", "none")
    name = measure or promise.measure  # type: ignore[union-attr]  # one of them is given
    entry = find_measure(name)
    return entry.name, entry.function


def _named(
    chosen: Sequence[str] | Mapping[str, Player], options: Mapping[str, Player], what: str
) -> Mapping[str, Player]:
    if isinstance(chosen, Mapping):
        return chosen
    return {name: choose(name, options, what) for name in chosen}


def _promising() -> dict[str, MakeForecaster]:
    promises = {name: make(100).guarantee for name, make in FORECASTERS.items()}
    return {
        name: FORECASTERS[name]
        for name, promise in promises.items()
        if promise is not None and promise.measure in JOINT_MEASURES
    }
