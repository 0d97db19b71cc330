"""First step of an audit of classes: everything it says, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from calibrant.groups import Groups
from calibrant.inference import CalibrationTest, Verdict
from calibrant.inference.evidence import Evidence
from calibrant.inference.settings import Settings
from calibrant.inference.statistic import Statistic
from calibrant.inference.verdict import find_verdict
from calibrant.joint import Joint
from calibrant.measurement import Measurement
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass import (
    ClassForecasts,
    calibration_test,
    class_wise,
    projected_smooth_calibration_error,
)
from calibrant.multiclass.projected import tries_all
from calibrant.multiclass.verdicts import judge_classes
from calibrant.multiclass.worth import ClassJudgement, judge
from calibrant.stages import Tell
from calibrant.words import chance_text, count_text, distinct_texts

# Redraws of labels for whole rows, and for the worst set of classes: the more, the less they cost.
DRAWS_FOR_ROWS, DRAWS_FOR_SETS = 99, (39, 19)
# Rows times sets, where all are tried, and rows times classes, where sets are searched, up to
# which there are so many redraws; none beyond.
MOST_TRIED, MOST_SEARCHED = (2**24, 2**26), (2**21, 2**24)


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """What an audit of class forecasts found."""

    title: str
    rows: int
    classes: tuple[Any, ...]
    mean_confidence: float
    worth: ClassJudgement
    """Scores, accuracy and smooth errors of the forecasts as they are."""
    verdict: Verdict
    """Whether confidence in the most likely class is calibrated."""
    where: str
    """Where confidence is most clearly off, in words."""
    by_class: Groups
    """One verdict per class, all holding at once."""
    projected: Measurement
    """Smooth error of the worst set of classes."""
    projected_test: CalibrationTest | None
    """The same beside what a perfect forecaster gets; None with clusters, or if too slow."""
    canonical: CalibrationTest | None
    """Kernel error of the whole rows beside what a perfect forecaster gets."""
    clipped: int
    sum_gap: float
    """Largest distance of a row's sum from one."""
    dropped: int
    settings: dict[str, object]
    joint: Joint = field(repr=False)
    """Confidence of the most likely class, and whether it was right."""

    @property
    def headline(self) -> str:
        """Say how many forecasts there are, how confident and how often right."""
        said, right = distinct_texts(self.mean_confidence, self.worth.accuracy)
        return (
            f"{count_text(self.rows, 'forecast')} of {len(self.classes)} classes: the most likely "
            f"class is {said} likely on average, and right in {right} of the rows."
        )

    @property
    def digits(self) -> int:
        """Digits behind the point that tell errors of classes from their tolerance, at least 4."""
        return max(4, 1 - math.floor(math.log10(self.by_class.tolerance)))

    @property
    def class_sentence(self) -> str:
        """Name the classes that fail, or say that none does."""
        failing, count = self.by_class.failing, len(self.by_class)
        tolerance = f"{self.by_class.tolerance:.3g}"
        if failing:
            worst = "; ".join(_said(group) for group in failing[:3])
            verb = "is" if len(failing) == 1 else "are"
            return (
                f"{len(failing)} of {count} classes {verb} beyond the tolerance of {tolerance}. "
                f"Most clearly: {worst}."
            )
        held = sum(group.state == "calibrated" for group in self.by_class)
        return (
            f"No class of {count} is certainly beyond the tolerance of {tolerance}; {held} are "
            "certainly within it."
        )

    @property
    def subset_sentence(self) -> str:
        """Name the worst set of classes, beside what chance alone finds."""
        said = f"{float(self.projected):.4f}: {self.projected.witness.sentence}."
        floor, test = self.subset_floor, self.projected_test
        if floor is None:
            return f"Worst set of classes {said} What chance alone would get was not found."
        chance = "" if test is None else f" (p = {chance_text(test.pvalue)})"
        return (
            f"Worst set of classes {said} The worst set of a perfect forecaster gets "
            f"{floor:.4f} on average{chance}."
        )

    @property
    def subset_floor(self) -> float | None:
        """Mean error of a perfect forecaster's worst set, if it was found."""
        if self.projected_test is not None:
            return self.projected_test.noise_floor
        floor = self.projected.settings.get("noise_floor")
        return None if floor is None else float(floor)

    @property
    def canonical_sentence(self) -> str:
        """Say whether whole rows of probabilities could be right."""
        test = self.canonical
        if test is None:
            return "Whole rows were not tested."
        found = "are off" if test.pvalue <= 0.05 else "show nothing that chance could not do"
        return (
            f"Whole rows {found}: kernel error {test.statistic:.4f}, {test.noise_floor:.4f} on "
            f"average for a perfect forecaster (p = {chance_text(test.pvalue)})."
        )


def _said(group: Any) -> str:
    said, happened = distinct_texts(group.mean_prediction, group.base_rate)
    return (
        f"{group.name} (error {group.value:.4f}; forecasts say {said} on average and {happened} "
        "happened)"
    )


def summarise_classes(
    forecasts: ClassForecasts,
    clusters: Any,
    title: str,
    dropped: int,
    settings: Settings,
    tell: Tell,
) -> ClassSummary:
    """Judge confidence, every class, the worst set of classes and whole rows."""
    headline = Statistic.of(smooth_calibration_error)
    tell("verdict")
    top = Evidence.of_rows(forecasts.top_label_rows(), clusters)
    verdict = find_verdict(top, headline, settings)
    tell("classes")
    errors = class_wise(forecasts)
    by_class = judge_classes(forecasts, clusters, settings, errors.values.tolist())
    tell("sets of classes")
    alone = clusters is None
    projected, *tests = _beyond_classes(forecasts, settings.draws, settings.rng, alone=alone)
    return ClassSummary(
        title=title,
        rows=len(forecasts),
        classes=forecasts.classes,
        mean_confidence=top.given.mean_prediction,
        worth=judge(forecasts, errors),
        verdict=verdict,
        where=smooth_calibration_error(top.given).witness.sentence,
        by_class=by_class,
        projected=projected,
        projected_test=tests[0],
        canonical=tests[1],
        clipped=forecasts.clipped,
        sum_gap=forecasts.sum_gap,
        dropped=dropped,
        settings={
            "tolerance": verdict.tolerance,
            "tolerance by class": by_class.tolerance,
            "confidence": settings.confidence,
            "draws": settings.draws,
            "seed": settings.seed,
        },
        joint=top.given,
    )


def _beyond_classes(
    forecasts: ClassForecasts, draws: int, rng: np.random.Generator, *, alone: bool
) -> tuple[Measurement, CalibrationTest | None, CalibrationTest | None]:
    """Measure the worst set of classes; test it and whole rows, if rows stand alone."""
    measure = partial(projected_smooth_calibration_error, floor_draws=0)
    if not alone:
        return measure(forecasts, rng=rng), None, None
    affordable = _draws_for_sets(len(forecasts), len(forecasts.classes))
    if affordable:
        projected = measure(forecasts, rng=rng)
        searched = calibration_test(
            forecasts, measure=measure, draws=min(draws, affordable), rng=rng
        )
    else:
        projected, searched = projected_smooth_calibration_error(forecasts, rng=rng), None
    whole = calibration_test(forecasts, draws=min(draws, DRAWS_FOR_ROWS), rng=rng)
    return projected, searched, whole


def _draws_for_sets(rows: int, classes: int) -> int:
    everything = tries_all(classes, "auto")
    cost = rows * (2 ** (classes - 1) if everything else classes)
    limits = MOST_TRIED if everything else MOST_SEARCHED
    affordable = (
        draws for limit, draws in zip(limits, DRAWS_FOR_SETS, strict=True) if cost <= limit
    )
    return next(affordable, 0)
