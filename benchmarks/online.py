"""Rounds per CPU second of the online forecasters in the whole loop of a game, on one core.

Prints Markdown; every game keeps its promise, which is asserted; exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import calibrant.online as on
from pages import Line, add_write, leave, show

SMOOTH, EXPECTED = "smooth_calibration_error", "exact_calibration_error"


PAGE = "ONLINE"


@dataclass(frozen=True)
class Match:
    name: str
    make: Callable[[int], on.Forecaster]
    nature: Callable[[], on.Nature]
    rounds: int
    bar: float
    """Most CPU seconds."""
    repeats: int = 3


def defensive(rounds: int) -> on.Forecaster:
    del rounds
    return on.DefensiveForecaster()


def recorded() -> on.Nature:
    return on.Replay((np.random.default_rng(0).random(10**7) < 0.3).astype(np.uint8))


MATCHES = (
    Match(
        "AlmostOneStepAhead, adversary", on.AlmostOneStepAhead, on.DeterministicBreaker, 10**6, 5
    ),
    Match("FosterForecaster, coins", on.FosterForecaster, on.Bernoulli, 10**6, 5),
    Match("FosterForecaster, adversary", on.FosterForecaster, on.DeterministicBreaker, 10**6, 5),
    Match("DecisionForecaster, coins", on.DecisionForecaster, on.Bernoulli, 10**6, 120, 1),
    Match("DefensiveForecaster, coins", defensive, on.Bernoulli, 10**6, 120, 1),
    Match("AlmostOneStepAhead, recorded", on.AlmostOneStepAhead, recorded, 10**7, 1),
)


def seconds(match: Match) -> float:
    """Least CPU time of several games; the last one must have kept its promise."""
    runs = []
    for seed in range(match.repeats):
        forecaster, nature = match.make(match.rounds), match.nature()
        start = time.process_time()
        game = on.play(forecaster, nature, match.rounds, rng=seed)
        runs.append(time.process_time() - start)
    check(game)
    return min(runs)


def check(game: on.Game) -> None:
    forecaster = game.forecaster
    assert forecaster.rounds == game.rounds
    if isinstance(forecaster, on.DecisionForecaster):
        joint = game.joint()
        bias = np.abs(joint.positives - joint.weight * joint.prediction)
        for visits, size in zip(joint.weight, bias, strict=True):
            assert size <= forecaster.bias_bound(int(visits), failure=1e-9)
        return
    measure = forecaster.guarantee.measure
    assert game.errors([measure])[measure] <= forecaster.bound(game.rounds)


def report() -> Iterator[Line]:
    yield "| game | rounds | bar, CPU s | CPU s | rounds per second |", True
    yield "|---|---|---|---|---|", True
    for match in MATCHES:
        took = seconds(match)
        row = f"| {match.name} | {match.rounds:.0e} | {match.bar:g} | {took:.2f} "
        yield f"{row}| {match.rounds / took:.2g} |", took <= match.bar


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_write(parser, PAGE)
    page = PAGE if parser.parse_args().write else None
    leave(show("Online forecasters", report(), page))


if __name__ == "__main__":
    main()
