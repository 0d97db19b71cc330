"""A forecaster against a nature, and the calibration errors of what came of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import MOST_POINTS, as_generator, refuse_unknown, whole
from calibrant._base.words import count_text, page
from calibrant.catalogue import JOINT_MEASURES, find_measure
from calibrant.errors import CalibrantWarning, InvalidOptionError
from calibrant.joint import Joint
from calibrant.measures.true_distance import distance_to_calibration
from calibrant.online.almost_one_step import AlmostOneStepAhead
from calibrant.online.forecaster import Forecaster, read_sequence
from calibrant.online.natures import (
    AnyNature,
    History,
    Nature,
    ObliviousNature,
    Outcomes,
    as_nature,
    read_answer,
)
from calibrant.online.own import OwnForecaster, as_forecaster
from calibrant.plots import INK, MUTED, Columns, Display, legend, line_style, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHOWN = ("smooth_calibration_error", "exact_calibration_error", "calibration_decision_loss")


@dataclass(eq=False, repr=False)
class GameDisplay(Display):
    """Rounds x measure over time, on logarithmic axes, beside what the forecaster promised.

    Make one with `Game.plot`.

    Examples
    --------
    >>> from calibrant.online import Bernoulli, DefensiveForecaster, simulate
    >>> game = simulate(DefensiveForecaster(), Bernoulli(0.3), 500, rng=0)
    >>> display = GameDisplay.of(game, points=3)
    >>> display.frame()["rounds"]
    array([ 10,  71, 500])
    """

    title: str
    course: ErrorsOverTime
    promise: str | None
    """Words for the bound; None if no measure that is shown has one."""

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Measure a game over time: `of(game, measures=None, points=24)`."""
        return cls._of_game(*data, **options)

    @classmethod
    def _of_game(cls, game: Game, measures: Sequence[str] | None = None, points: int = 24) -> Self:
        course = game.over_time(_shown(game) if measures is None else measures, points)
        guarantee = game.forecaster.guarantee
        promise = None
        if (
            course.bound is not None
            and guarantee is not None
            and guarantee.measure in course.errors
        ):
            sense = "surely" if guarantee.surely else "in expectation"
            promise = f"promise: {guarantee.measure.replace('_', ' ')}, {sense}"
        title = f"{type(game.forecaster).__name__} against {game.nature}"
        return cls(title, course, promise)

    @property
    def sentence(self) -> str:
        """The last errors in words."""
        last = {name: errors[-1] for name, errors in self.course.errors.items()}
        shown = ", ".join(f"{name.replace('_', ' ')} {error:.4g}" for name, error in last.items())
        return f"{self.title}: after {self.course.rounds[-1]} rounds T x {shown}"

    def frame(self) -> Columns:
        """Return rounds, errors and bound as columns."""
        return self.course.frame()

    def _draw(self, ax: Axes) -> None:
        rounds = self.course.rounds
        for index, (name, errors) in enumerate(self.course.errors.items()):
            # An error of zero has no logarithm; the line begins where the error does.
            height = np.where(errors > 0, errors, np.nan)
            ax.plot(rounds, height, label=name.replace("_", " "), **line_style(index))
        if self.promise is not None and self.course.bound is not None:
            ax.plot(rounds, self.course.bound, color=INK, ls="--", lw=1, label=self.promise)
        ax.plot(rounds, rounds, color=MUTED, lw=1, label="T, as bad as can be")
        ax.set(xscale="log", yscale="log", xlabel="rounds T", ylabel="T x error")
        ax.set_title(wrapped(ax, self.title))
        legend(ax)


def _shown(game: Game) -> list[str]:
    promise = game.forecaster.guarantee
    names = [*SHOWN, promise.measure] if promise is not None else [*SHOWN]
    return list(dict.fromkeys(names))


# Rounds between two reports of progress.
ROUNDS_AT_ONCE = 2**14


@dataclass(frozen=True, slots=True)
class ErrorsOverTime:
    """Rounds x measure at some points of a game."""

    rounds: npt.NDArray[np.int64]
    """Number of rounds played at each point."""
    errors: dict[str, Floats]
    """Rounds x measure, by the name of the measure."""
    bound: Floats | None
    """What the forecaster promises for the measure of its guarantee; None for a baseline."""

    def frame(self) -> dict[str, npt.NDArray[Any]]:
        """Return all columns, for `pandas.DataFrame` and its kin."""
        promised = {} if self.bound is None else {"bound": self.bound}
        return {"rounds": self.rounds, **self.errors, **promised}


@dataclass(frozen=True, slots=True)
class Game:
    """What was predicted and what happened; made by `simulate`."""

    forecaster: Forecaster
    """The forecaster, as the game left it."""
    nature: str
    """Who chose the outcomes."""
    predictions: Floats
    """Predictions, one per round; one column per class when there are more than two."""
    outcomes: Outcomes
    """Outcomes, one per round."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.outcomes.size

    def joint(self, rounds: int | None = None, label: int = 1) -> Joint:
        """Joint of predictions and outcomes over the first rounds; for classes, of one label."""
        count = self._checked(rounds)
        chances = self.predictions if self.predictions.ndim == 1 else self.predictions[:, label]
        outcomes = self.outcomes[:count] == label
        return Joint.from_samples(outcomes, chances[:count])

    def errors(
        self, measures: Sequence[str] | None = None, rounds: int | None = None, label: int = 1
    ) -> dict[str, float]:
        """Multiply measures by the number of rounds, over the first rounds.

        Parameters
        ----------
        measures : sequence of str, optional
            Names of the catalogue; by default all.
        rounds : int, optional
            How many rounds to look at; by default all.
        label : int, default=1
            The class whose chances are measured.

        Returns
        -------
        dict of str to float

        Examples
        --------
        >>> from calibrant.online import Bernoulli, ConstantForecaster
        >>> game = simulate(ConstantForecaster(0.5), Bernoulli(0.75), 1000, rng=0)
        >>> game.errors(["exact_calibration_error", "smooth_calibration_error"])
        {'exact_calibration_error': 270.0, 'smooth_calibration_error': 270.0}
        """
        joint = self.joint(rounds, label)
        return {
            name: joint.row_count * measured(find_measure(name).function, joint)
            for name in (JOINT_MEASURES if measures is None else measures)
        }

    def over_time(
        self, measures: Sequence[str] | None = None, points: int = 24, label: int = 1
    ) -> ErrorsOverTime:
        """Compute rounds x measure for a growing number of rounds, evenly spread on a log scale.

        Parameters
        ----------
        measures : sequence of str, optional
            Names of the catalogue; by default all.
        points : int, default=24
            Number of points in time.
        label : int, default=1
            The class whose chances are measured.

        Returns
        -------
        ErrorsOverTime
        """
        start = min(10, self.rounds)
        spread = np.geomspace(start, self.rounds, whole("points", points, 1, MOST_POINTS)).round()
        at = np.unique(np.append(spread.astype(np.int64), self.rounds))
        found = [self.errors(measures, int(rounds), label) for rounds in at]
        columns = {name: np.array([errors[name] for errors in found]) for name in found[0]}
        bound = None
        if self.forecaster.guarantee is not None and self.forecaster.rounds == self.rounds:
            bound = np.array([self.forecaster.bound(int(rounds)) for rounds in at])
        return ErrorsOverTime(at, columns, bound)

    def distance(self, rounds: int | None = None) -> tuple[float, float]:
        """Bracket rounds x true distance to calibration over the first rounds.

        With equal ends where it is exact, up to about 200 rounds (see
        `calibrant.distance_to_calibration`). A forecaster that knows itself to be close to a
        calibrated one lowers the upper end.

        Examples
        --------
        >>> from calibrant.online import AlmostOneStepAhead, Markov
        >>> game = simulate(AlmostOneStepAhead(2500), Markov(0.8), 2500, rng=0)
        >>> [round(end, 2) for end in game.distance(60)]
        [14.34, 14.34]
        >>> low, high = game.distance()
        >>> 0 < low < high < 1.75 * 2500**0.5  # the promise
        True
        """
        count = self._checked(rounds)
        if self.predictions.ndim != 1:
            raise InvalidOptionError("the distance is for two classes", f"{self.forecaster!r}")
        found = distance_to_calibration(self.outcomes[:count], self.predictions[:count])
        low, high = (count * end for end in found.bounds)
        if isinstance(self.forecaster, AlmostOneStepAhead) and count == self.forecaster.rounds:
            high = min(high, max(low, self.forecaster.certificate))
        return low, high

    def plot(
        self, ax: Axes | None = None, *, measures: Sequence[str] | None = None, points: int = 24
    ) -> GameDisplay:
        """Draw rounds x measure over time on logarithmic axes, beside the promise.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        measures : sequence of str, optional
            Names of the catalogue; by default smooth error, expected error, decision loss and
            what the forecaster's promise is about.
        points : int, default=24
            Number of points in time.

        Returns
        -------
        GameDisplay
            With `ax_`, `figure_`, `frame()` and `to_svg()`.
        """
        return GameDisplay.of(self, measures=measures, points=points).plot(ax)

    def canonical_error(self, rounds: int | None = None, *, norm: str = "l1") -> float:
        """Compute rounds x canonical error: the size of the bias, summed over distinct predictions.

        Parameters
        ----------
        rounds : int, optional
            How many rounds to look at; by default all.
        norm : {"l1", "l2"}, default="l1"
            Size of a bias: sum over classes, or Euclidean length. For two classes "l1" is
            twice the expected calibration error, both outcomes counted.

        Returns
        -------
        float
        """
        refuse_unknown("norm", norm, ("l1", "l2"))
        count = self._checked(rounds)
        chances = self.predictions[:count]
        if chances.ndim == 1:
            chances = np.column_stack([1 - chances, chances])
        happened = np.eye(chances.shape[1])[self.outcomes[:count]]
        _, group = np.unique(chances, axis=0, return_inverse=True)
        bias = np.zeros((int(group.max()) + 1, chances.shape[1]))
        np.add.at(bias, group.ravel(), happened - chances)
        return float(np.linalg.norm(bias, 1 if norm == "l1" else 2, axis=1).sum())

    def __str__(self) -> str:
        title = f"{self.forecaster!r} against {self.nature}, {count_text(self.rounds, 'round')}"
        promise = self.forecaster.guarantee
        return page([title] if promise is None else [title, f"Promise: {promise.statement}"])

    def _checked(self, rounds: int | None) -> int:
        count = self.rounds if rounds is None else whole("rounds", rounds)
        if count > self.rounds:
            raise InvalidOptionError("the game has fewer rounds", f"{count} of {self.rounds}")
        return count


def simulate(
    forecaster: Forecaster | OwnForecaster,
    nature: Nature | AnyNature,
    rounds: int,
    rng: np.random.Generator | int | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Game:
    """Let a forecaster predict what a nature chooses, round by round.

    Parameters
    ----------
    forecaster : Forecaster, or an object with `forecast()` and `learn(prediction, outcome)`
        Who predicts; it learns from every round and is handed on in the result. One of your own
        needs these two methods and no base class, see `OwnForecaster`.
    nature : Nature or callable
        Who chooses the outcomes: one of the natures of this module, or any callable
        `nature(history, forecast) -> outcome` that sees all past rounds and the distribution
        of the next prediction, but not its coin.
    rounds : int
        Number of rounds.
    rng : numpy.random.Generator or int, optional
        Source of nature's coins and of the forecaster's.
    progress : callable, optional
        Called with the number of rounds just played, every 16 384 of them.

    Returns
    -------
    Game

    Examples
    --------
    >>> from calibrant.online import DefensiveForecaster, DeterministicBreaker
    >>> game = simulate(DefensiveForecaster(), DeterministicBreaker(), 2000, rng=0)
    >>> game.errors(["smooth_calibration_error"])["smooth_calibration_error"] < (2 * 2000) ** 0.5
    True
    >>> in_turn = lambda history, forecast: len(history.outcomes) % 2
    >>> game = simulate(DefensiveForecaster(), in_turn, 9)
    >>> game.outcomes.tolist()
    [0, 1, 0, 1, 0, 1, 0, 1, 0]
    """
    forecaster = as_forecaster(forecaster)
    whole("rounds", rounds)
    chooser = as_nature(nature)
    if chooser.binary and forecaster.classes != 2:
        raise InvalidOptionError(
            f"{chooser!r} plays with outcomes 0 and 1", f"{forecaster.classes} classes"
        )
    if forecaster.horizon is not None and forecaster.rounds + rounds > forecaster.horizon:
        raise InvalidOptionError(
            "rounds must not pass the forecaster's horizon",
            f"{forecaster.rounds + rounds} for a horizon of {forecaster.horizon}",
        )
    coin, luck = as_generator(rng).spawn(2)
    if isinstance(chooser, ObliviousNature):
        predictions, answers = _replay(forecaster, chooser.sequence(rounds, luck), coin, progress)
        return Game(forecaster, repr(chooser), predictions, answers)
    chooser.begin(rounds, luck)
    shape = (rounds,) if forecaster.classes == 2 else (rounds, forecaster.classes)
    game = Game(forecaster, repr(chooser), np.zeros(shape), np.zeros(rounds, dtype=np.int64))
    history = History(game.predictions, game.outcomes)
    while history.rounds < rounds:
        start = history.rounds
        _play_some(game, chooser, history, coin, min(start + ROUNDS_AT_ONCE, rounds))
        if progress is not None:
            progress(history.rounds - start)
    return game


def _replay(
    forecaster: Forecaster,
    outcomes: Outcomes,
    coin: np.random.Generator,
    progress: Callable[[int], None] | None,
) -> tuple[Floats, Outcomes]:
    """Play against outcomes that are known beforehand: nothing to ask nature."""
    known = read_sequence(outcomes, forecaster.classes)
    predictions = []
    for start in range(0, known.size, ROUNDS_AT_ONCE):
        part = known[start : start + ROUNDS_AT_ONCE]
        predictions.append(forecaster.run(part, coin))
        if progress is not None:
            progress(part.size)
    return np.concatenate(predictions), known


def _play_some(
    game: Game, nature: Nature, history: History, coin: np.random.Generator, stop: int
) -> None:
    forecaster, predictions, outcomes = game.forecaster, game.predictions, game.outcomes
    for number in range(history.rounds, stop):
        answer = nature(history, forecaster.forecast())
        outcome = read_answer(nature, answer, forecaster.classes, number)
        predictions[number] = forecaster.predict(coin)
        outcomes[number] = outcome
        forecaster.update(outcome)
        history.rounds = number + 1


def measured(function: Callable[[Joint], float], joint: Joint) -> float:
    """Measure a sequence; its error is defined even where every prediction occurs once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        return float(function(joint))
