"""Judge published forecasts and write docs/real_data.md: `python tools/real_data.py FOLDER`.

The folder holds one file per section, made from the source that the page names, with columns
`prediction` (0 to 1), `outcome` (0 or 1) and those that the section uses. The files are not ours
to ship.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import calibrant as cal
from calibrant._base.words import thousands_text as count

PAGE = Path(__file__).parents[1] / "docs" / "real_data.md"
HEAD = """# Published forecasts, judged

Forecasts that others published, and what an audit says about them. The files are not ours to
ship, so the numbers of this page are printed by `tools/real_data.py`, which takes a folder of
them; {day}, calibrant {version}. Every table of groups holds with 95 % confidence at once.
"""


def columns(frame: Any, *names: str) -> dict[str, Any]:
    """Take columns of a frame as arrays."""
    return {name: frame[name].to_numpy() for name in names}


def rows(groups: Any) -> Iterator[str]:
    """One line per group."""
    yield "| group | rows | mean forecast | observed rate | smooth error | between | noise floor |"
    yield "|---|---|---|---|---|---|---|"
    for one in sorted(groups, key=lambda group: group.label):
        low, high = one.low, one.high
        yield (
            f"| {one.label}: {one.state} | {count(one.rows)} "
            f"| {one.forecast:.3f} | {one.observed:.3f} "
            f"| {one.value:.3f} | {low:.3f} and {high:.3f} | {one.noise_floor:.3f} |"
        )


def language_models(folder: Path) -> Iterator[str]:
    """Stated confidence of eleven models on five benchmarks."""
    log = pd.read_parquet(folder / "llm_stated_confidence.parquet")
    y, p = log["outcome"].to_numpy(), log["prediction"].to_numpy()
    question = log["question_id"].to_numpy()
    yield "## Language models: stated confidence"
    yield ""
    yield (
        f"{count(len(log))} answers of {log['model'].nunique()} models "
        f"to {log['benchmark'].nunique()} "
        "benchmarks, with the confidence that each model stated (NoamMichael/"
        "Comparing-Confidence-in-LLMs, commit 560aae77b1, MIT licence). Questions are the clusters."
    )
    yield ""
    verdict = cal.verdict(y, p, clusters=question, rng=0)
    yield f"> {verdict.sentence}"
    yield ""
    ours = [cal.binned_calibration_error(y, p, n_bins=10, closed=end) for end in ("left", "right")]
    edges = np.linspace(0, 1, 11)
    theirs = cal.binned_calibration_error(y, p, n_bins=10, closed="left", strategy=edges)
    yield (
        f"There are {np.unique(p).size} distinct values, most of them multiples of 5 %, which are "
        f"the edges of bins. With ten bins the binned error is {ours[0]:.4f} if bins contain their "
        f"lower edge, and {ours[1]:.4f} if they contain their upper edge. But edges of "
        "`numpy.linspace(0, 1, 11)` are a rounding error too high in three places, which puts "
        f"forecasts on the wrong side: {theirs:.4f}. The smooth error needs no such choice."
    )
    yield ""
    by = columns(log, "model", "benchmark")
    yield from rows(cal.groups.audit_groups(y, p, by, clusters=question, rng=0))
    yield ""
    both = log[log["token_confidence"].notna()]
    yield (
        f"For {count(len(both))} answers the log also holds the probability of their tokens. "
        "As forecasts of being right, stated first and tokens second:"
    )
    yield ""
    tokens = both["token_confidence"].to_numpy()
    stated, right = both["prediction"].to_numpy(), both["outcome"].to_numpy()
    found = cal.compare(right, stated, tokens, clusters=both["question_id"].to_numpy(), rng=0)
    yield f"> {found}".replace("\n", " ")
    yield ""


def income(folder: Path) -> Iterator[str]:
    """Four models of the UCI Adult data, by sex, race and age."""
    frame = pd.read_parquet(folder / "adult_income_test.parquet")
    yield "## Income: four models, judged by group"
    yield ""
    yield (
        "UCI Adult (CC BY 4.0), four scikit-learn models fitted to `adult.data` and judged on "
        "`adult.test`, by sex, race and age band."
    )
    yield ""
    yield "| model | rows | groups that exceed the tolerance |"
    yield "|---|---|---|"
    for name, part in frame.groupby("model"):
        y, p = part["outcome"].to_numpy(), part["prediction"].to_numpy()
        found = cal.groups.audit_groups(y, p, columns(part, "sex", "race", "age_band"), rng=0)
        worst = f": {found.failing[0].sentence}" if found.failing else ""
        yield f"| {name} | {count(len(part))} | {len(found.failing)} of {len(found)}{worst} |"
    yield ""


def recidivism(folder: Path) -> Iterator[str]:
    """COMPAS deciles of Broward County, by race, sex, age and their pairs."""
    frame = pd.read_csv(folder / "compas_broward.csv")
    y, p = frame["outcome"].to_numpy(), frame["prediction"].to_numpy()
    by = columns(frame, "race", "sex", "age_band")
    found = cal.groups.audit_groups(y, p, by, pairs=True, rng=0)
    yield "## COMPAS deciles"
    yield ""
    yield (
        f"{count(len(frame))} people of Broward County (Dataverse KT20FE, CC0), by race, "
        "sex, age band and their pairs. The forecast is the decile less one half, over ten: a "
        "score, which nobody stated as a probability."
    )
    yield ""
    yield f"> {found.sentence}"
    yield ""
    kept = [one for one in found if " x " not in one.label and "," not in one.label]
    yield from rows(kept)
    yield ""


def images(folder: Path) -> Iterator[str]:
    """VGG16 on CIFAR-10."""
    frame = pd.read_csv(folder / "cifar10_vgg16_top_label.csv")
    y, p = frame["outcome"].to_numpy(), frame["prediction"].to_numpy()
    choice = cal.recalibrate(y, p, rng=0)
    yield "## Images: confidence of VGG16 on CIFAR-10"
    yield ""
    yield (
        f"Confidence in the most likely class on the {count(len(frame))} test images "
        "(Kumar, Liang and Ma, *Verified uncertainty calibration*; p-lambda/verified_calibration, "
        "commit ee81c34689, MIT licence)."
    )
    yield ""
    yield f"> {cal.verdict(y, p, rng=0).sentence}"
    yield ""
    yield f"> {choice}".replace("\n", " ")
    yield ""


def titles(folder: Path) -> Iterator[str]:
    """FiveThirtyEight's daily forecasts of baseball: many forecasts of one event."""
    frame = pd.read_parquet(folder / "538_advancement.parquet")
    frame = frame[frame["competition"].str.contains("mlb")].sort_values("date", kind="stable")
    race = frame["season"].astype(str) + frame["event"] + frame["team"]
    y, p = frame["outcome"].to_numpy(), frame["prediction"].to_numpy()
    yield "## Title races: many forecasts of one event"
    yield ""
    yield (
        f"FiveThirtyEight's daily forecasts of baseball ({count(len(frame))} rows, "
        f"{count(race.nunique())} "
        "events; fivethirtyeight/checking-our-work-data, commit f6d5b2e1d6, CC BY 4.0). A monitor "
        "that takes every row counts one outcome again and again; one that knows the events "
        "enters each once."
    )
    yield ""
    yield "| what enters | what the monitor says |"
    yield "|---|---|"
    alone = cal.CalibrationMonitor()
    alone.update_many(y, p)
    yield f"| every row | {alone.sentence} |"
    for which in ("first", "drawn", "mean"):
        monitor = cal.CalibrationMonitor(cluster_forecast=which)
        monitor.update_many(y, p, clusters=race.to_numpy())
        yield f"| `{which}` forecast of an event | {monitor.sentence} |"
    yield ""


def games(folder: Path) -> Iterator[str]:
    """FiveThirtyEight's in-game chances of basketball: insurance that costs more than it brings."""
    frame = pd.read_parquet(folder / "538_in_game_basketball.parquet")
    names = ["competition", "season", "team1", "team2"]
    game = frame.groupby(names, sort=False).ngroup().to_numpy()
    y, p = frame["outcome"].to_numpy(), frame["prediction"].to_numpy()
    yield "## Basketball games: a recalibrator on a stream"
    yield ""
    yield (
        f"FiveThirtyEight's in-game chances of {count(game.max() + 1)} college games "
        f"({count(len(frame))} rows; fivethirtyeight/checking-our-work-data, commit f6d5b2e1d6, "
        "CC BY 4.0). A `StreamRecalibrator(cells=20, trust=100)` learns each outcome when its game "
        "ends. Smooth errors before and after, season by season:"
    )
    yield ""
    recalibrator, said = cal.online.StreamRecalibrator(cells=20, trust=100), np.empty(len(frame))
    for number in range(game.max() + 1):
        part = np.flatnonzero(game == number).tolist()
        for row in part:
            said[row] = recalibrator.predict_one(p[row], key=row)
        for row in part:
            recalibrator.learn_one(p[row], y[row], key=row)
    yield "| season | rows | before | after |"
    yield "|---|---|---|---|"
    season = frame["season"].to_numpy()
    for label, inside in [(str(one), season == one) for one in np.unique(season)] + [
        ("all", season > 0)
    ]:
        errors = [cal.smooth_calibration_error(y[inside], q[inside]) for q in (p, said)]
        yield f"| {label} | {count(inside.sum())} | {errors[0]:.3f} | {errors[1]:.3f} |"
    yield ""
    before, after = (float(np.mean((q - y) ** 2)) for q in (p, said))
    yield (
        f"The Brier score rises from {before:.4f} to {after:.4f}: in the last seasons the chances "
        f"were calibrated already. Some {len(frame) // (game.max() + 1)} rows share each outcome, "
        "so a game moves its cells as if it were as many pieces of evidence. There, learn one row "
        "per game, or repair offline by game."
    )
    yield ""


def main(folder: Path) -> None:
    """Write the page."""
    day = dt.datetime.now(tz=dt.UTC).strftime("%-d %B %Y")
    parts = [HEAD.format(day=day, version=cal.__version__)]
    sections = (language_models, income, recidivism, images, titles, games)
    parts += ["\n".join(section(folder)) for section in sections]
    PAGE.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
