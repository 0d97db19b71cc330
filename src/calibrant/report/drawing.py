"""A sheet of SVG: lines, words and marks that answer to a pointer, in the colours of the page.

The pictures of a page are written here rather than by matplotlib, whose import and layout would
take longer than everything else in a report. The data are those of the Displays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

from calibrant._base.arrays import Floats
from calibrant._base.words import percent_text, typeset, visible
from calibrant.plots import LEAST_AXIS, PALETTE, Span, kept_vertices

# Ticks of an axis, about.
TICKS = 5
# Shapes around (0, 0) that are told apart without colour.
SHAPES = {
    "calibrated": "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1-5 0Z",
    "miscalibrated": "M0-6.5L6.5 0L0 6.5L-6.5 0Z",
    "undecided": "M-4.5-4.5H4.5V4.5H-4.5Z",
    "right": "M-3-5L6 0L-3 5Z",
    "left": "M3-5L-6 0L3 5Z",
}
COLOURS = {"calibrated": "good", "miscalibrated": "warning", "undecided": "second"}
# Marks of HTML, as JSON can write them without.
HARMLESS = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>&"})
# Widths of letters and points of a finger, in pixels.
LETTER, FINGER = 6.3, 11


def colour(name: str) -> str:
    """Name a colour so that a page can change it for light and dark."""
    return "none" if name == "none" else f"var(--calibrant-{name}, {PALETTE[name]})"


@dataclass(frozen=True, slots=True)
class Axis:
    """Where probabilities of a span stand, in pixels from one place to another."""

    span: Span
    start: float
    end: float

    @classmethod
    def linear(cls, low: float, high: float, start: float, end: float) -> Axis:
        """Make an axis of even steps."""
        return cls(Span("linear", low, high), start, end)

    def __call__(self, values: object) -> Floats:
        """Place values; those beyond an end stand at the end."""
        return self.start + (self.end - self.start) * self.span.share(values)

    def ticks(self, *, percent: bool = True) -> list[float]:
        """Round numbers within; those of a share between none and all."""
        if self.span.scale != "linear":
            return self.span.ticks()
        low, high = self.span.low, self.span.high
        return round_numbers(max(low, 0.0), min(high, 1.0)) if percent else round_numbers(low, high)


def round_numbers(low: float, high: float, count: int = TICKS) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two ends, about as many as requested."""
    rough = (high - low) / count
    if not rough > 0:
        return [low]
    ten = float(f"1e{math.floor(math.log10(rough))}")
    step = next(factor * ten for factor in (1, 2, 5, 10) if factor * ten >= 0.8 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * index:.10g}") for index in range(first, last + 1)]


class Sheet:
    """An SVG picture that is being drawn; coordinates are pixels from the upper left corner."""

    def __init__(self, name: str, width: float, height: float, words: str) -> None:
        self.name, self.width, self.height, self.words = name, width, height, words
        self._parts: list[str] = []

    def svg(self) -> str:
        """Return the picture, with its words for those who cannot see it."""
        words = _words(self.words)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="picture-{self.name}" role="group" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" '
            f'height="{self.height:g}" font-family="system-ui, sans-serif" font-size="12" '
            f'aria-label="{words}">\n<desc>{words}</desc>\n' + "\n".join(self._parts) + "</svg>"
        )

    @contextmanager
    def part(self, kind: str, *, hidden: bool = False) -> Iterator[None]:
        """Put what is drawn meanwhile into a part that a page can show and hide."""
        shown = ' display="none"' if hidden else ""
        self._parts.append(f'<g class="{kind}"{shown}>')
        yield
        self._parts.append("</g>")

    def line(
        self, x: Iterable[float], y: Iterable[float], ink: str = "muted", width: float = 1.0,
        *, dashed: bool = False, kind: str = "",
    ) -> None:  # fmt: skip
        """Draw a line through points."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(
            f'<path{_class(kind)} d="{_route(x, y)}" fill="none" stroke="{colour(ink)}" '
            f'stroke-width="{width:g}" stroke-linejoin="round"{dash}/>'
        )

    def area(
        self, x: Iterable[float], y: Iterable[float], ink: str = "band", opacity: float = 1.0
    ) -> None:
        """Fill the inside of a closed line."""
        shade = "" if opacity == 1 else f' fill-opacity="{opacity:g}"'
        self._parts.append(f'<path d="{_route(x, y)}Z" fill="{colour(ink)}"{shade}/>')

    def text(
        self, x: float, y: float, words: str, ink: str = "ink", anchor: str = "start",
        *, size: float = 12, turned: bool = False, bold: bool = False, kind: str = "",
    ) -> None:  # fmt: skip
        """Write words; y is that of the line they stand on."""
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        weight = ' font-weight="600"' if bold else ""
        anchoring = "" if anchor == "start" else f' text-anchor="{anchor}"'
        high = "" if size == 12 else f' font-size="{size:g}"'
        self._parts.append(
            f'<text{_class(kind)} x="{x:.1f}" y="{y:.1f}" fill="{colour(ink)}"'
            f"{anchoring}{high}{weight}{turn}>{_words(words)}</text>"
        )

    def shape(self, x: float, y: float, shape: str, ink: str, edge: str = "paper") -> None:
        """Draw one of the shapes at a place."""
        self._parts.append(_shape(x, y, shape, ink, edge))

    def dot(
        self, x: float, y: float, words: str, shape: str = "calibrated", ink: str = "accent",
        edge: str = "paper", *, kind: str = "", data: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Draw a shape that tells its numbers when it is pointed at or reached by keyboard."""
        touch_area = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{FINGER}" fill="transparent"/>'
        self._mark(words, touch_area + _shape(x, y, shape, ink, edge), kind, data)

    def bar(
        self, left: float, right: float, top: float, base: float, words: str, ink: str = "muted"
    ) -> None:
        """Draw a bar that tells its numbers; also where it is next to nothing."""
        wide = max(right - left, 1.0)
        drawn = (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" '
            f'height="{max(base - top, 0):.1f}" fill="{colour(ink)}"/>'
        )
        self._mark(words, drawn)

    def tolerance(
        self, axis: Axis, value: float, top: float, base: float, *, factor: float = 1.0
    ) -> None:
        """Draw the line of a tolerance, which follows the slider of the page."""
        at = float(axis(value))
        unit = (axis.end - axis.start) / (axis.span.high - axis.span.low)
        self._parts.append(
            f'<g class="tolerance" data-factor="{factor:.6g}" data-at="{at:.2f}" '
            f'data-zero="{axis.start - unit * axis.span.low:.2f}" data-unit="{unit:.6g}" '
            f'data-end="{axis.end:g}"><path d="M{at:.1f} {top:.1f}V{base:.1f}" '
            f'stroke="{colour("warning")}" stroke-width="1.6" stroke-dasharray="5 3"/></g>'
        )

    def across(self, axis: Axis, y: float, label: str, *, percent: bool = True) -> None:
        """Draw an axis from left to right with its numbers below."""
        self.line([axis.start, axis.end], [y, y])
        for value in axis.ticks(percent=percent):
            at = float(axis(value))
            self.line([at, at], [y, y + 4])
            self.text(at, y + 16, tick_text(value, percent=percent), "quiet", "middle", size=11)
        self.text((axis.start + axis.end) / 2, y + 33, label, anchor="middle")

    def upward(self, axis: Axis, x: float, label: str, *, percent: bool = True) -> None:
        """Draw an axis from below upward with its numbers on the left."""
        self.line([x, x], [axis.start, axis.end])
        for value in axis.ticks(percent=percent):
            at = float(axis(value))
            self.line([x - 4, x], [at, at])
            self.text(x - 7, at + 4, tick_text(value, percent=percent), "quiet", "end", size=11)
        self.text(12, (axis.start + axis.end) / 2, label, anchor="middle", turned=True)

    def _mark(
        self, words: str, drawn: str, kind: str = "", data: Mapping[str, object] | None = None
    ) -> None:
        attributes = "".join(f' data-{name}="{_words(str(v))}"' for name, v in (data or {}).items())
        self._parts.append(
            f'<g class="{f"mark {kind}".strip()}" role="img"{attributes}>'
            f"<title>{_words(words)}</title>{drawn}</g>"
        )


def thin(x: Floats, y: Floats, *others: Floats) -> tuple[Floats, ...]:
    """Leave out vertices of a line that nobody would see."""
    kept = kept_vertices(x, y)
    return tuple(column[kept] for column in (x, y, *others))


def _shape(x: float, y: float, shape: str, ink: str, edge: str) -> str:
    return (
        f'<path class="shape" transform="translate({x:.1f} {y:.1f})" d="{SHAPES[shape]}" '
        f'fill="{colour(ink)}" stroke="{colour(edge)}"/>'
    )


def _route(x: Iterable[float], y: Iterable[float]) -> str:
    points = (f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    return "M" + "L".join(points)


def tick_text(value: float, *, percent: bool) -> str:
    """Write the number of a tick."""
    if not percent:
        text = f"{value:.10g}"
        written_out = "e" in text and LEAST_AXIS / 10 <= abs(value) < 1
        return f"{value:.10f}".rstrip("0") if written_out else text
    text = f"{100 * value:.6g}"
    return percent_text(value) if "e" in text else f"{text} %"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _words(text: str) -> str:
    return escape(typeset(visible(text, lines=True)))
