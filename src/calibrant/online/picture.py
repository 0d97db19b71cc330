"""The picture of a game: errors over time beside the promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.catalogue import CATALOGUE
from calibrant.errors import MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.online.game import Game

SHOWN = ("smooth_calibration_error", "expected_calibration_error", "calibration_decision_loss")


def draw_game(game: Game, ax: Axes | None, measures: Sequence[str] | None, points: int) -> Axes:
    """Draw rounds x measure over time, the promise, and the line of an error that never falls."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError(
            "pictures need matplotlib", "no such package", "pip install matplotlib"
        ) from error
    promise = game.forecaster.guarantee
    course = game.over_time(_shown(game) if measures is None else measures, points)
    if ax is None:
        _, ax = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    for name, errors in course.errors.items():
        # An error of zero has no logarithm; the line begins where the error does.
        ax.plot(course.rounds, np.where(errors > 0, errors, np.nan), label=name.replace("_", " "))
    if course.bound is not None and promise is not None and promise.measure in course.errors:
        about = promise.measure.replace("_", " ")
        held = "surely" if promise.surely else "in expectation"
        label = f"promise: {about}, {held}"
        ax.plot(course.rounds, course.bound, color="black", ls="--", lw=1, label=label)
    ax.plot(course.rounds, course.rounds, color="lightgrey", lw=1, label="T, as bad as can be")
    ax.set(xscale="log", yscale="log", xlabel="rounds T", ylabel="T x error")
    ax.set_title(f"{type(game.forecaster).__name__} against {game.nature}", loc="left")
    ax.legend(frameon=False, fontsize="small")
    return ax


def _shown(game: Game) -> list[str]:
    promise = game.forecaster.guarantee
    names = [*SHOWN, promise.measure] if promise is not None else [*SHOWN]
    return [name for name in dict.fromkeys(names) if name in CATALOGUE]
