"""The picture of a game: errors over time beside the promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.online.game import ErrorsOverTime, Game
from calibrant.plots import INK, MUTED, Columns, Display, legend, line_style, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = ("smooth_calibration_error", "expected_calibration_error", "calibration_decision_loss")


@dataclass(eq=False, repr=False)
class GameDisplay(Display):
    """Rounds x measure over time, on logarithmic axes, beside what the forecaster promised.

    Make one with `Game.plot`.

    Examples
    --------
    >>> from calibrant.online import Bernoulli, DefensiveForecaster, play
    >>> game = play(DefensiveForecaster(), Bernoulli(0.3), 500, rng=0)
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
            held = "surely" if guarantee.surely else "in expectation"
            promise = f"promise: {guarantee.measure.replace('_', ' ')}, {held}"
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
        for place, (name, errors) in enumerate(self.course.errors.items()):
            # An error of zero has no logarithm; the line begins where the error does.
            height = np.where(errors > 0, errors, np.nan)
            ax.plot(rounds, height, label=name.replace("_", " "), **line_style(place))
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
