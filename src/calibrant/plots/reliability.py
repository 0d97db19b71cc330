"""The reliability diagram: what forecasts said, and how often it happened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import as_generator, check_draws, check_share
from calibrant._base.words import count_text, number_text, percent_text
from calibrant.binning import isotonic, pooling_at, quantile_bins
from calibrant.decisions import ScoreDecomposition, score_decomposition
from calibrant.inference import (
    Band,
    Evidence,
    clopper_pearson,
    find_consistency_band,
    isotonic_curve,
)
from calibrant.joint import Joint
from calibrant.measures.kernel_smoothed import smoothed_curve
from calibrant.measures.measurement import Measurement, as_joint
from calibrant.measures.regions import Region, strongest_region
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.plots.axes import (
    SCALES,
    Span,
    choose_scale,
    legend,
    panel_below,
    plain_counts,
    span_of,
    width_of,
    wrapped,
)
from calibrant.plots.display import Columns, Display, chosen
from calibrant.plots.style import BAND, INK, MUTED, PAPER, QUIET, WARNING, line_style
from calibrant.plots.svg import kept_vertices, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FEW_VALUES = 30
"""Up to so many distinct predictions are shown one by one."""
BARS, DOTS = 50, 10
# Intervals of dots with a smaller share of the rows may reach beyond the axes.
SMALL_DOT = 0.01
CLUSTERED = "rows depend on each other"


def histogram(joint: Joint, span: Span) -> Columns:
    """Count rows per stretch of the axis, or per prediction if there are few."""
    if len(joint) <= FEW_VALUES:
        return {"low": joint.prediction, "high": joint.prediction, "rows": joint.rows}
    edges = span.even(BARS + 1)
    bar = np.searchsorted(edges[1:-1], joint.prediction, side="right")
    # The outer bars also hold what lies beyond the axis.
    edges[0], edges[-1] = min(edges[0], joint.prediction[0]), max(edges[-1], joint.prediction[-1])
    return {"low": edges[:-1], "high": edges[1:], "rows": np.bincount(bar, joint.rows, BARS)}


def draw_histogram(ax: Axes, counts: Columns, span: Span, colour: str) -> None:
    """Draw counts on a panel whose x axis is that of the main picture."""
    low, high, rows = counts["low"], counts["high"], counts["rows"]
    if np.array_equal(low, high):
        ax.vlines(span.clipped(low), 0, rows, color=colour, lw=3)
    else:
        ax.stairs(rows, span.clipped(np.append(low, high[-1])), fill=True, color=colour, lw=0)
    ax.set(ylim=(0, max(ax.get_ylim()[1], 1.15 * float(rows.max()))), ylabel="rows")
    plain_counts(ax)


def frequency_limits(
    joint: Joint, confidence: float, *, clustered: bool
) -> tuple[tuple[Floats, Floats], tuple[str, ...]]:
    """Limits for the chance of each level by itself, and what to know about them.

    Clopper and Pearson's limits; rows of different weight count as the effective number of equal
    ones (Korn and Graubard 1998), which is approximate. NaN where nothing valid is known.
    """
    unknown = np.full(len(joint), np.nan)
    if not joint.binary:
        return (unknown, unknown), ("No intervals: outcomes are means, not 0 or 1",)
    if clustered:
        return (unknown, unknown), (f"No intervals of dots: {CLUSTERED}",)
    effective = joint.weight**2 / joint.weight_squares
    weighted = not np.allclose(effective, joint.rows, rtol=1e-9)
    limits = clopper_pearson(joint.outcome * effective, effective, (1 - confidence) / 2)
    return limits, ("Intervals by effective numbers of rows",) if weighted else ()


def frequency_dots(
    joint: Joint, confidence: float, *, clustered: bool
) -> tuple[Columns, tuple[str, ...]]:
    """Group neighbouring forecasts, with intervals, or take every forecast if they are few."""
    few = len(joint) <= FEW_VALUES
    pools = pooling_at(joint, np.arange(len(joint))) if few else quantile_bins(joint, DOTS)
    limits, notes = frequency_limits(pools.joint, confidence, clustered=clustered)
    return {**pools.table, "interval_low": limits[0], "interval_high": limits[1]}, notes


def shown_frequencies(dots: Columns) -> list[Floats]:
    """Frequencies that the axes must show."""
    large = dots["rows"] >= SMALL_DOT * dots["rows"].sum()
    return [dots["outcome"], dots["interval_low"][large], dots["interval_high"][large]]


# A kernel curve is not drawn where the density of forecasts is below this share of the highest.
THIN_DENSITY = 1e-3


def isotonic_steps(joint: Joint) -> Columns:
    """Find the ends of the steps of the isotonic curve."""
    pools = isotonic(joint)
    ends = np.column_stack([pools.low, pools.high]).ravel()
    return {"prediction": ends, "outcome": np.repeat(pools.joint.outcome, 2)}


def kernel_curve(joint: Joint, bandwidth: float | None) -> Columns:
    """Smoothed frequencies between the outermost forecasts, NaN where there are next to none."""
    found = smoothed_curve(joint, bandwidth=bandwidth)
    at, density = found["prediction"], found["density"]
    dense = density >= THIN_DENSITY * density.max()
    outcome = np.where(dense, np.clip(found["outcome"], 0, 1), np.nan)
    inside = (at >= joint.prediction[0]) & (at <= joint.prediction[-1])
    return {"prediction": at[inside], "outcome": outcome[inside]}


def beyond(curve: Floats, band: Band) -> Floats:
    """Frequencies of a curve that lie outside a band."""
    return curve[(curve < band.low - 1e-12) | (curve > band.high + 1e-12)]


SMOOTHERS = ("isotonic", "kernel")
PARTS = ("dots", "curve", "band", "counts")
# Recalibration behind the parts of the Brier score, as Dimitriadis, Gneiting and Jordan (2021) do.
POOLING = "isotonic"
# Simulations for the band.
DRAWS = 499
# From this width on, in inches, there is room for whole sentences.
WIDE_AXES = 4.5
# Width and height of a picture whose vertices are kept.
PIXELS = 1000
BEYOND = "at 0 or 1, or beyond the end of an axis"
FOUND_ELSEWHERE = "The curve lies inside the band: another test found the deviation"
CURVE, PANEL = "calibrant.reliability", "calibrant.counts"


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """What forecasts said against how often it happened, beside what chance alone would do.

    A curve without bins to choose, the band that holds the curve of calibrated forecasts in 95 % of
    samples, dots with intervals, and the number of rows below. Make one with `from_predictions`,
    `from_joint`, `from_estimator`, or `of` (which does not draw). Drawn on axes that hold one
    already, it adds a second forecaster.

    Examples
    --------
    >>> outcomes, predictions = [0, 0, 1, 0, 1, 1] * 20, [0.1, 0.1, 0.1, 0.7, 0.7, 0.7] * 20
    >>> display = ReliabilityDisplay.of(outcomes, predictions)
    >>> display.frame()["outcome"]
    array([0.33, 0.67])
    >>> print(display.sentence)
    Reliability diagram of 120 forecasts. Worst range: forecasts of 0.10 are too low (mean
    forecast 0.10, observed rate 0.33, 60 rows).
    """

    curve: Columns
    """Vertices of the curve: prediction and outcome."""
    dots: Columns
    """One entry per dot: ends, rows, weight, mean prediction and outcome of its rows, and the
    interval for the frequency (`interval_low`, `interval_high`; NaN if there is none)."""
    counts: Columns
    """Rows by stretch of predictions: low, high, rows."""
    band: Band | None
    """Where the curve of perfect forecasts lies; None if unknown."""
    region: Region | None
    """Where forecasts are most clearly off."""
    detected: bool
    """Whether the region is pointed at: by default, whether the curve leaves the band."""
    span: Span
    """Scale and limits of both axes."""
    rows: int
    smoother: str
    """"isotonic" or "kernel"."""
    by_value: bool
    """Whether each dot is one prediction, rather than a bin of neighbours."""
    confidence: float
    parts: ScoreDecomposition | None = None
    """Brier score = miscalibration (MCB) - discrimination (DSC) + uncertainty (UNC)."""
    outside: bool = False
    """Whether the curve leaves the band."""
    notes: tuple[str, ...] = ()
    """What is left out or approximate, and why."""
    name: str | None = None
    """Who made the forecasts."""

    @classmethod
    def of(
        cls,
        y_true: object,
        y_proba: object = None,
        *,
        sample_weight: object = None,
        pos_label: object = None,
        clusters: object = None,
        smoother: str = "isotonic",
        bandwidth: float | None = None,
        scale: str = "auto",
        confidence: float = 0.95,
        detected: bool | None = None,
        draws: int = DRAWS,
        rng: np.random.Generator | int | None = 0,
        name: str | None = None,
    ) -> Self:
        """Find the data behind the diagram.

        Parameters
        ----------
        y_true : Joint, or array-like of shape (n,)
            A Joint, or the outcomes.
        y_proba : array-like of shape (n,) or (n, 2), optional
            Predicted probabilities of outcome 1; left out with a Joint.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows. Intervals then use effective numbers of rows.
        pos_label : object, optional
            The label that counts as outcome 1.
        clusters : array-like of shape (n,), optional
            Labels of groups of rows that depend on each other; dots then have no intervals.
        smoother : {"isotonic", "kernel"}, default="isotonic"
            The isotonic curve with its band, or the smoothed frequency behind smECE, without one.
        bandwidth : float, optional
            Width of the kernel; see `smoothed_curve`.
        scale : {"auto", "linear", "log", "logit"}, default="auto"
            Of both axes. "auto" takes "log" for rare events and "logit" for nearly sure ones.
        confidence : float, default=0.95
            Of the band (the whole curve at once) and of the intervals (pointwise).
        detected : bool, optional
            Whether to point at the region that the smooth error names. By default if the curve
            leaves the band (a test of level 1 - confidence), or if there is no band.
        draws : int, default=499
            Simulations for the band. At most 10**6.
        rng : numpy.random.Generator or int, default=0
            Source of randomness; fixed by default, so that a picture looks the same again.
        name : str, optional
            Who made the forecasts, for the legend.
        """
        chosen("smoother", smoother, SMOOTHERS)
        check_draws(draws)
        check_share("confidence", confidence)
        arguments = (y_true, y_proba, sample_weight, pos_label)
        joint = as_joint(*arguments)
        evidence = None
        if smoother == "isotonic" and joint.binary:
            rows_matter = sample_weight is not None or clusters is not None
            evidence = Evidence.read(*arguments, clusters) if rows_matter else Evidence.read(joint)
        steps = smoother == "isotonic"
        return cls._of(
            joint,
            evidence,
            curve=isotonic_steps(joint) if steps else kernel_curve(joint, bandwidth),
            smoother=smoother,
            scale=scale,
            confidence=confidence,
            detected=detected,
            draws=draws,
            rng=as_generator(rng),
            name=name,
            clustered=clusters is not None,
        )

    @classmethod
    def of_evidence(
        cls, evidence: Evidence, confidence: float = 0.95, *, detected: bool | None = None,
        region: Region | None = None, error: Measurement | None = None,
        parts: ScoreDecomposition | None = None,
    ) -> Self:  # fmt: skip
        """Find the data of evidence that was read before; a region that is given is pointed at.

        Smooth error and parts of the Brier score need not be found again where they are known.
        """
        joint = evidence.full_joint
        found = cls._of(
            joint,
            evidence if joint.binary else None,
            curve=isotonic_steps(joint),
            confidence=confidence,
            detected=detected,
            rng=as_generator(0),
            clustered=evidence.clustered,
            error=error,
            parts=parts,
        )
        return found if region is None else replace(found, region=region)

    def redrawn(self, joint: Joint) -> Self:
        """Show other forecasts of the same rows on the same axes: no band, and nothing is tested.

        Where they are off, and the parts of their score, is not looked for.
        """
        clustered = any(CLUSTERED in note for note in self.notes)
        dots, notes = frequency_dots(joint, self.confidence, clustered=clustered)
        return replace(
            self,
            curve=isotonic_steps(joint),
            dots=dots,
            counts=histogram(joint, self.span),
            band=None,
            region=None,
            detected=False,
            outside=False,
            parts=None,
            notes=notes,
        )

    @classmethod
    def _of(
        cls,
        joint: Joint,
        evidence: Evidence | None,
        *,
        curve: Columns,
        confidence: float,
        detected: bool | None,
        rng: np.random.Generator,
        clustered: bool,
        smoother: str = SMOOTHERS[0],
        scale: str = SCALES[0],
        draws: int = DRAWS,
        name: str | None = None,
        error: Measurement | None = None,
        parts: ScoreDecomposition | None = None,
    ) -> Self:
        band, outside = None, np.empty(0)
        if evidence is not None:
            band = find_consistency_band(evidence, confidence, draws, rng)
            outside = beyond(isotonic_curve(evidence.joint), band)
        dots, notes = frequency_dots(joint, confidence, clustered=clustered)
        span = span_of(choose_scale(joint, scale), joint, [*shown_frequencies(dots), outside])
        return cls(
            curve=curve,
            dots=dots,
            counts=histogram(joint, span),
            band=band,
            region=strongest_region(joint, _witness(joint, error)),
            detected=bool(band is None or outside.size) if detected is None else detected,
            span=span,
            rows=joint.row_count,
            smoother=smoother,
            by_value=len(joint) <= FEW_VALUES,
            confidence=confidence,
            parts=parts or _parts(joint),
            outside=bool(outside.size),
            notes=notes,
            name=name,
        )

    @property
    def sentence(self) -> str:
        """What the diagram shows, in words."""
        by = "" if self.name is None else f" by {self.name}"
        return f"Reliability diagram of {count_text(self.rows, 'forecast')}{by}. {self.finding}."

    @property
    def finding(self) -> str:
        """Where forecasts are most clearly off, or what the band shows."""
        if not self.detected:
            return self._without_region
        if self.region is None:
            return "No forecast is off"
        elsewhere = "" if self.band is None or self.outside else f". {FOUND_ELSEWHERE}"
        return f"Worst range: {self.region.sentence}{elsewhere}"

    @property
    def _without_region(self) -> str:
        """Say what the band shows where no range is pointed at."""
        if self.band is None:
            return "No range is pointed at, and there is no band"
        band = f"the {percent_text(self.confidence)} band of calibrated forecasts"
        if self.outside:
            return f"No range is pointed at, though the curve leaves {band}"
        return f"No range stands out: the curve lies inside {band}"

    def frame(self, part: str = "dots") -> Columns:
        """Return the data behind the diagram as columns of equal length.

        Parameters
        ----------
        part : {"dots", "curve", "band", "counts"}, default="dots"
            The table of the dots, the curve, the band, or the histogram below.
        """
        chosen("part", part, PARTS)
        if part != "band":
            return {"dots": self.dots, "curve": self.curve, "counts": self.counts}[part]
        if self.band is None:
            return {name: np.empty(0) for name in ("prediction", "low", "high")}
        return {name: getattr(self.band, name) for name in ("prediction", "low", "high")}

    def outline(self, part: str) -> Columns:
        """Return the curve or the band with the vertices alone that a large picture shows."""
        columns = self.frame(part)
        at = self.span.share(columns["prediction"])
        kept = [
            kept_vertices(PIXELS * at, PIXELS * self.span.share(column))
            for name, column in columns.items()
            if name != "prediction"
        ]
        return {name: column[np.unique(np.concatenate(kept))] for name, column in columns.items()}

    def _draw(self, ax: Axes) -> None:
        before = sum(line.get_gid() == CURVE for line in ax.lines)
        style = line_style(before)
        colour = style["color"]
        panel = panel_below(ax, PANEL)
        span = self.span if before == 0 else self.span.united(ax)
        span.show(ax, "xy")
        if before == 0:
            self._draw_finding(ax)
            if width_of(ax) > WIDE_AXES:
                self._draw_parts(ax)
            ends = (span.low, span.high)
            ax.plot(
                ends, ends, color=MUTED, lw=1, zorder=1, label=_if_wide(ax, "perfect forecasts")
            )
        self._draw_band(ax, span, BAND if before == 0 else colour)
        self._draw_curve(ax, span, style)
        self._draw_dots(ax, span, colour)
        draw_histogram(panel, self.counts, span, MUTED if before == 0 else colour)
        ax.set_ylabel("observed rate")
        panel.set_xlabel("forecast")
        # A square, and a panel just as wide.
        ax.set_box_aspect(1)
        panel.set_box_aspect(panel.get_position().height / ax.get_position().height)
        if width_of(ax) > WIDE_AXES:
            legend(ax, outside=True)
        else:
            self._draw_legend_inside(ax)

    def _draw_legend_inside(self, ax: Axes) -> None:
        """Explain the picture on the side of the diagonal where the curve is not."""
        low = self.region is not None and self.region.outcome > self.region.prediction
        box = ax.legend(
            loc="lower right" if low else "upper left", title="  ".join(self._part_texts()),
            frameon=True, facecolor=PAPER, edgecolor="none", framealpha=0.8, borderpad=0.2,
            fontsize="x-small", title_fontsize="x-small",
        )  # fmt: skip
        box.get_title().set_color(QUIET)

    def _draw_parts(self, ax: Axes) -> None:
        """Write the parts of the Brier score in the corner that perfect forecasts leave free."""
        ax.text(
            0.98, 0.02, "\n".join(self._part_texts()), transform=ax.transAxes, ha="right",
            va="bottom", color=QUIET, fontsize="small",
        )  # fmt: skip

    def _part_texts(self) -> list[str]:
        if self.parts is None:
            return []
        parts = self.parts
        values = (parts.miscalibration, parts.discrimination, parts.uncertainty)
        names = ("MCB", "DSC", "UNC")
        return [f"{n} {number_text(v)}" for n, v in zip(names, values, strict=True)]

    def _draw_finding(self, ax: Axes) -> None:
        pointed = self.detected and self.region is not None
        words = ". ".join([self.finding, *self.notes])
        ax.set_title(wrapped(ax, words), color=INK if pointed else QUIET)
        if pointed and self.region is not None:
            low, high = self.span.clipped([self.region.low, self.region.high])
            ax.axvspan(low, high, color=WARNING, alpha=0.08, lw=0, zorder=0)

    def _draw_band(self, ax: Axes, span: Span, colour: str) -> None:
        if self.band is None:
            return
        at = span.clipped(self.band.prediction)
        low, high = (
            thinned(ax, at, span.clipped(edge)) for edge in (self.band.low, self.band.high)
        )
        x, y = (np.append(below, above[::-1]) for below, above in zip(low, high, strict=True))
        label = self.band.name + _if_wide(ax, " of calibrated forecasts")
        alpha = 1 if colour == BAND else 0.2
        if x.min() == x.max():  # one forecast
            ax.vlines(
                x[:1], y[:1], y[-1:], color=colour, alpha=alpha, lw=10, label=label, zorder=0.5
            )
            return
        ax.fill(x, y, color=colour, alpha=alpha, lw=0, label=label, zorder=0.5)

    def _draw_curve(self, ax: Axes, span: Span, style: dict[str, Any]) -> None:
        x, y = span.clipped(self.curve["prediction"]), span.clipped(self.curve["outcome"])
        label = self.name or f"{self.smoother} curve"
        ends = np.flatnonzero(np.diff(np.isfinite(y), prepend=False, append=False))
        for start, stop in ends.reshape(-1, 2):
            run = slice(start, stop)
            x_shown, y_shown = thinned(ax, x[run], y[run])
            ax.plot(x_shown, y_shown, lw=1.6, gid=CURVE, label=label, **style)
            label = "_more"

    def _draw_dots(self, ax: Axes, span: Span, colour: str) -> None:
        dots = self.dots
        x, y = span.clipped(dots["prediction"]), span.clipped(dots["outcome"])
        low, high = (span.clipped(dots[f"interval_{end}"]) for end in ("low", "high"))
        dots_are = "forecast" if self.by_value else "bin"
        label = count_text(x.size, dots_are) + ("" if self.by_value else " of equal size")
        barred = np.isfinite(low)
        if barred.any():
            ax.vlines(x[barred], low[barred], high[barred], color=colour, lw=1.2, zorder=2.5)
            label += f", {percent_text(self.confidence)} intervals{_if_wide(ax, ', pointwise')}"
        hidden = span.hidden(dots["prediction"], dots["outcome"])
        for some, face in ((~hidden, colour), (hidden, PAPER)):
            if some.any():
                words = label if face == colour else BEYOND
                edge = PAPER if face == colour else colour
                ax.plot(
                    x[some],
                    y[some],
                    "o",
                    color=face,
                    mec=edge,
                    ms=5,
                    mew=0.8,
                    label=words,
                    zorder=3,
                    clip_on=False,
                )


def _if_wide(ax: Axes, words: str) -> str:
    """Words for which there is no room on narrow axes."""
    return words if width_of(ax) > WIDE_AXES else ""


def _witness(joint: Joint, error: Measurement | None) -> Floats:
    known = smooth_calibration_error(joint) if error is None else error
    return known.witness(joint.prediction)


def _parts(joint: Joint) -> ScoreDecomposition | None:
    """Parts of the Brier score; None for mean outcomes, whose squares a Joint does not know."""
    return score_decomposition(joint, pooling=POOLING) if joint.binary else None
