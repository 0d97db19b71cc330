"""First step of an audit of classes: everything it says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from calibrant.groups import Groups
from calibrant.inference import CalibrationTest, Verdict
from calibrant.inference.evidence import Evidence
from calibrant.inference.statistic import Statistic
from calibrant.inference.verdict import find_verdict
from calibrant.joint import Joint
from calibrant.measurement import Measurement
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.multiclass import (
    ClassForecasts,
    ClassJudgement,
    calibration_test,
    projected_smooth_calibration_error,
)
from calibrant.multiclass.choice import judge
from calibrant.report.class_verdicts import class_tolerance, judge_classes
from calibrant.report.stages import Tell
from calibrant.words import chance_text, count_text, distinct_texts

# Redraws of labels for the worst subset, a mean; and for the test of canonical calibration.
DRAWS_FOR_A_FLOOR, DRAWS_FOR_A_TEST = 39, 99
# Beyond so many rows times subsets, trying them again for every redraw would be too slow.
MOST_TRIED = 2**25


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
    def class_sentence(self) -> str:
        """Name the classes that fail, or say that none does."""
        failing, count = self.by_class.failing, len(self.by_class)
        tolerance = f"{self.by_class.tolerance:.3g}"
        if failing:
            worst = "; ".join(_said(group) for group in failing[:3])
            return (
                f"{len(failing)} of {count} classes are beyond the tolerance of {tolerance}. "
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
        test = self.projected_test
        if test is None:
            return f"Worst set of classes {said}"
        return (
            f"Worst set of classes {said} The worst set of a perfect forecaster gets "
            f"{test.noise_floor:.4f} on average (p = {chance_text(test.pvalue)})."
        )

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
    tolerance: float | None,
    confidence: float,
    draws: int,
    rng: np.random.Generator | int | None,
    tell: Tell,
) -> ClassSummary:
    """Judge confidence, every class, the worst set of classes and whole rows."""
    generator = np.random.default_rng(rng)
    headline = Statistic.of(smooth_calibration_error)
    tell("verdict")
    top = Evidence.of_rows(forecasts.top_label_rows(), clusters)
    verdict = find_verdict(top, headline, tolerance, confidence, draws, generator)
    tell("classes")
    allowed = class_tolerance(len(forecasts.classes)) if tolerance is None else tolerance
    by_class = judge_classes(forecasts, clusters, allowed, confidence, draws, generator)
    tell("sets of classes")
    projected = projected_smooth_calibration_error(forecasts, rng=generator)
    tests = _tests(forecasts, draws, generator) if clusters is None else (None, None)
    return ClassSummary(
        title=title,
        rows=len(forecasts),
        classes=forecasts.classes,
        mean_confidence=top.given.mean_prediction,
        worth=judge(forecasts),
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
            "tolerance by class": allowed,
            "confidence": confidence,
            "draws": draws,
            "seed": rng if isinstance(rng, int) else None,
        },
        joint=top.given,
    )


def _tests(
    forecasts: ClassForecasts, draws: int, rng: np.random.Generator
) -> tuple[CalibrationTest | None, CalibrationTest]:
    count = len(forecasts.classes)
    searched = None
    if len(forecasts) * 2 ** (min(count, 13) - 1) <= MOST_TRIED:
        measure = partial(projected_smooth_calibration_error, floor_draws=0)
        searched = calibration_test(
            forecasts, measure=measure, draws=min(draws, DRAWS_FOR_A_FLOOR), rng=rng
        )
    canonical = calibration_test(forecasts, draws=min(draws, DRAWS_FOR_A_TEST), rng=rng)
    return searched, canonical
