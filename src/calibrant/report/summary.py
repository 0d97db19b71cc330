"""First step of an audit: everything it says, as plain data."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from calibrant.catalogue import CATALOGUE
from calibrant.data.times import Times
from calibrant.decisions import DecisionTask
from calibrant.errors import CalibrantWarning, InvalidOptionError
from calibrant.groups import Groups, Segment, judge_groups
from calibrant.groups.division import Division, groups_of
from calibrant.groups.segments import DEPTH, SEGMENTS, WIDTH, search_segments
from calibrant.inference import ClassicalNumbers, Verdict, noise_floors
from calibrant.inference.classical import find_classical
from calibrant.inference.evidence import Evidence
from calibrant.inference.monte_carlo import run_test
from calibrant.inference.settings import Settings
from calibrant.inference.simultaneous import Evidences
from calibrant.inference.statistic import Statistic
from calibrant.inference.verdict import find_verdict
from calibrant.inputs.source import Source
from calibrant.joint import Joint, Rows
from calibrant.measurement import Measurement
from calibrant.measures import DistanceBracket
from calibrant.measures.conventions import Convention, conventions
from calibrant.monitoring.watch import Watched, watch
from calibrant.repair import Choice
from calibrant.report.advice import advise
from calibrant.report.costs import Costs, find_costs
from calibrant.report.distances import find_distances
from calibrant.report.findings import Finding, findings
from calibrant.stages import Tell, silent

# The measure of the verdict; the others need their noise floor only to a digit or two.
HEADLINE = "smooth_calibration_error"
DRAWS_FOR_A_FLOOR, DRAWS_FOR_A_MEAN = 199, 39
# An audit over time shows about so many windows.
WINDOWS = 24


@dataclass(frozen=True, slots=True)
class Asked:
    """What an audit shall say beyond what it always says."""

    task: DecisionTask | None = None
    """The reader's own decision."""
    segments: bool = False
    """Whether to look for the worst combinations of the columns of the groups."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What an audit found."""

    title: str
    rows: int
    levels: int
    mean_prediction: float
    base_rate: float
    clipped: int
    dropped: int
    notes: tuple[str, ...]
    """How labels and files were read."""
    """Rows with a missing value that were left out on request."""
    fingerprint: str
    """Hash of predictions and outcomes; the order of the rows does not matter."""
    joint: Joint = field(repr=False)
    verdict: Verdict
    """Whether the smooth error is within the tolerance."""
    measures: dict[str, Measurement]
    """Every audited measure of the catalogue, by name."""
    noise_floors: dict[str, float]
    """What a perfect forecaster would get on average on the same rows, by measure."""
    classical: ClassicalNumbers
    """Slope, intercepts, observed over expected, and so on."""
    choice: Choice | None
    """The map that would help most on rows it has not seen; None where rows allow no choice."""
    costs: Costs
    """What trusting the forecasts costs a decision maker."""
    distances: DistanceBracket
    """How far from calibrated the forecasts are at least and at most, on these rows."""
    conventions: tuple[Convention, ...]
    """The classic binned error as other programs define it."""
    groups: Groups | None
    """One verdict per group, if groups were asked for."""
    segments: tuple[Segment, ...] | None
    """Combinations of columns that are worst, judged by rows that did not choose them."""
    watched: Watched | None
    """Windows of time and what a monitor says, if times were given."""
    cautions: tuple[str, ...]
    """Warnings of measures."""
    settings: dict[str, object]
    """What the numbers depend on beside the data."""

    @property
    def where(self) -> str:
        """Where forecasts are most clearly off, in words."""
        return self.measures[HEADLINE].witness.sentence

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know and what to do, issues first."""
        return findings(self)


def summarise(source: Source, settings: Settings, asked: Asked, tell: Tell = silent) -> Summary:
    """Measure with everything in the catalogue, beside what a perfect forecaster gets."""
    tell("verdict")
    generator, confidence = settings.rng, settings.confidence
    evidence = Evidence.of_source(source)
    joint = evidence.given
    headline = Statistic.of(HEADLINE)
    verdict = find_verdict(evidence, headline, settings)
    tell("every measure")
    measures, floors, cautions = _measured(evidence, settings.draws, generator)
    floors[HEADLINE] = verdict.noise_floor
    groups, divided = None, groups_of(source)
    if divided is not None:
        tell("groups")
        groups = judge_groups(divided, headline, settings.within(verdict.tolerance))
    segments = None
    if asked.segments:
        tell("segments")
        segments = _segments(divided, confidence, generator)
    watched = None
    if source.times is not None and source.rows is not None:
        tell("windows of time")
        watched = _watched(source.rows, source.times, settings.tolerance)
    tell("what to do")
    choice = advise(source, evidence, confidence, generator)
    tell("costs")
    costs = find_costs(joint, asked.task)
    tell("distance to calibration")
    distances = find_distances(joint)
    return Summary(
        title=source.title,
        rows=joint.row_count,
        levels=len(joint),
        mean_prediction=joint.mean_prediction,
        base_rate=joint.base_rate,
        clipped=joint.clipped,
        dropped=source.dropped,
        notes=source.notes,
        fingerprint=_fingerprint(joint),
        joint=joint,
        verdict=verdict,
        measures=measures,
        noise_floors=floors,
        classical=find_classical(evidence, confidence),
        choice=choice,
        costs=costs,
        distances=distances,
        conventions=conventions(joint),
        groups=groups,
        segments=segments,
        watched=watched,
        cautions=cautions,
        settings={
            "tolerance": verdict.tolerance,
            "tolerance given": settings.tolerance is not None,
            "confidence": confidence,
            "draws": settings.draws,
            "seed": settings.seed,
            **source.described,
        },
    )


def _segments(
    divided: Division | Evidences | None, confidence: float, rng: np.random.Generator
) -> tuple[Segment, ...]:
    if not isinstance(divided, Division):
        raise InvalidOptionError(
            "segments are combinations of columns", "no columns", "name them with by (--by)"
        )
    return search_segments(
        divided.rows,
        divided.parts,
        DEPTH,
        WIDTH,
        SEGMENTS,
        1 - confidence,
        rng,
        divided.clusters,
    )


def _watched(rows: Rows, moments: Times, tolerance: float | None) -> Watched:
    """Windows of about equal length, and a monitor that has seen the rows in order."""
    length = (moments.max() - moments.min()) / WINDOWS
    window: str | None = None
    if moments.dtype.kind == "M":
        days = max(1, int(np.ceil(length / np.timedelta64(1, "D"))))
        window = f"{days}d"
    elif length > 0:
        window = f"{float(length):.12g}"
    seen = watch(rows.outcome, rows.prediction, moments, window=window, tolerance=tolerance)
    return seen.groups[0]


def _measured(
    evidence: Evidence, draws: int, rng: np.random.Generator
) -> tuple[dict[str, Measurement], dict[str, float], tuple[str, ...]]:
    """Value and noise floor of every audited measure, and what they warn of."""
    audited = {name: measure for name, measure in CATALOGUE.items() if measure.audited}
    joint = evidence.given
    with _collected_warnings() as cautions:
        measures = {name: measure.function(joint) for name, measure in audited.items()}
        # Rounding to cells would change what jumping measures measure, and a mean needs few draws.
        cells = [
            name
            for name, measure in audited.items()
            if measure.continuous and measure.batch is not None
        ]
        others = [name for name in audited if name not in cells]
        tests = run_test(
            evidence, [Statistic.of(name) for name in cells], min(draws, DRAWS_FOR_A_FLOOR), rng
        )
        floors = noise_floors(joint, others, min(draws, DRAWS_FOR_A_MEAN), rng)
    floors |= {test.measure: test.noise_floor for test in tests.parts}
    return measures, floors, tuple(dict.fromkeys(cautions))


def _fingerprint(joint: Joint) -> str:
    """Hash the levels; equal for the same rows in any order."""
    digest = hashlib.sha256()
    # Sums of doubles depend in their last digits on the order of the rows: of weights and outcomes
    # only what is whole, or rounded, has a say.
    whole = np.array_equal(joint.weight, joint.rows)
    counted = np.rint(joint.positives) if whole else np.zeros(0)
    for column in (joint.low, joint.high, joint.rows, counted):
        digest.update(np.ascontiguousarray(column).tobytes())
    digest.update(f"{joint.total:.6g} {joint.base_rate:.6g}".encode())
    return digest.hexdigest()[:16]


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    cautions: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrantWarning)
        yield cautions
        cautions += [str(warning.message) for warning in caught]
