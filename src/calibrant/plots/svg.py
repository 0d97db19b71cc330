"""Figures as small SVG texts that are the same every time, and curves with few vertices."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant.arrays import Floats
from calibrant.plots.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_VERTICES = 400
# Vertices may go where the curve stays this close to where it was, in pixels of the screen.
UNSEEN = 0.2


def figure_svg(
    figure: Figure, title: str, *, name: str = "picture", variables: bool = False
) -> str:
    """Write a figure as SVG that can stand in a page.

    Parameters
    ----------
    figure : matplotlib figure
        What to write.
    title : str
        What the picture shows, for those who cannot see it.
    name : str, default="picture"
        Tells pictures of one page apart: ids inside the SVG depend on it.
    variables : bool, default=False
        Whether colours of the palette become CSS variables, such as
        `var(--calibrant-accent, #0072b2)`, which a page can set for light and dark.

    Returns
    -------
    str
        An `<svg>` element without prolog, date or address of the web. Text stays text, the
        background is left open, and the same figure gives the same string.

    Examples
    --------
    >>> from calibrant.plots.style import detached_figure
    >>> figure_svg(detached_figure(4, 3), "an empty picture")[:26]
    '<svg width="288pt" height='
    """
    from calibrant.plots.settings import settings

    held = io.StringIO()
    unnamed = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with settings({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(held, format="svg", transparent=True, metadata=unnamed)
    return _for_a_page(held.getvalue(), title, variables=variables)


def _for_a_page(text: str, title: str, *, variables: bool) -> str:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # A style sheet inside would hold for the whole page.
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    # Only tags: what stands between them may be words of the user.
    text = re.sub(r"<[^>]*>", lambda tag: _plain_tag(tag.group(), variables=variables), text)
    text = re.sub(r"\n\s*", "\n", text)
    head, rest = text.split(">", 1)
    words = escape(title)
    return (
        f'{head} style="stroke-linejoin: round; stroke-linecap: butt" role="img" '
        f'aria-label="{words}">\n<title>{words}</title>{rest}'
    )


def _plain_tag(tag: str, *, variables: bool) -> str:
    tag = re.sub(r'\s+xmlns:xlink="[^"]*"', "", tag).replace("xlink:href", "href")
    # Groups are never referred to, and two pictures of a page would share their names.
    tag = re.sub(r'^<g id="[^"]*"', "<g", tag)
    tag = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 sans-serif", tag)
    tag = re.sub(r"-?\d+\.\d{2,}", lambda number: f"{float(number.group()):.2f}", tag)
    if variables:
        for colour, code in PALETTE.items():
            tag = tag.replace(code, f"var(--calibrant-{colour}, {code})")
    return tag


def thinned(ax: Axes, x: Floats, y: Floats, most: int = MOST_VERTICES) -> tuple[Floats, Floats]:
    """Leave out vertices of a curve that are not seen; limits of the axes must be set before.

    First the vertices that are not the first, last, lowest or highest of their half pixel, then
    those near the line between their neighbours (Ramer 1972, Douglas and Peucker 1973), nearer
    and nearer until few enough are left.
    """
    if x.size <= most:
        return x, y
    kept = kept_vertices(ax.transData.transform(np.column_stack([x, y])), most)
    return x[kept], y[kept]


def kept_vertices(pixel: Floats, most: int = MOST_VERTICES) -> npt.NDArray[np.intp]:
    """Find the vertices of a curve, one row each in pixels, that must stay for it to look alike."""
    if len(pixel) <= most:
        return np.arange(len(pixel))
    seen = _extremes(pixel)
    size, near = _bends(pixel[seen]), UNSEEN
    while np.count_nonzero(size > near) > most:
        near *= 1.5
    return np.asarray(seen[size > near])


def _extremes(pixel: Floats) -> npt.NDArray[np.intp]:
    """First, last, lowest and highest vertex of each run within half a pixel."""
    x, y = pixel[:, 0], np.ascontiguousarray(pixel[:, 1])
    first = np.flatnonzero(np.diff(np.floor(2 * x), prepend=np.nan) != 0)
    last = np.append(first[1:], x.size) - 1
    run = np.repeat(np.arange(first.size), last - first + 1)
    lowest = np.flatnonzero(y == np.minimum.reduceat(y, first)[run])
    highest = np.flatnonzero(y == np.maximum.reduceat(y, first)[run])
    seen = np.zeros(x.size, dtype=bool)
    # Of several that are equal, the first of the lowest and the last of the highest.
    for places in (
        first,
        last,
        lowest[np.diff(run[lowest], prepend=-1) != 0],
        highest[np.diff(run[highest], append=-1) != 0],
    ):
        seen[places] = True
    return np.flatnonzero(seen)


def _bends(pixel: Floats) -> Floats:
    """Say of each vertex how far the curve would leave its place without it and lesser ones."""
    size = np.zeros(len(pixel))
    size[[0, -1]] = np.inf
    stack = [(0, len(pixel) - 1, np.inf)]
    while stack:
        start, end, most = stack.pop()
        if end - start < 2:
            continue
        away = _distances(pixel[start + 1 : end], pixel[start], pixel[end])
        farthest = int(np.argmax(away))
        if away[farthest] > UNSEEN:
            middle = start + 1 + farthest
            size[middle] = most = min(most, float(away[farthest]))
            stack += [(start, middle, most), (middle, end, most)]
    return size


def _distances(points: Floats, start: Floats, end: Floats) -> Floats:
    """Distances of points from the segment between two others."""
    way = end - start
    length = float(way @ way)
    along = (points - start) @ way / length if length > 0 else np.zeros(len(points))
    nearest = start + np.clip(along, 0, 1)[:, np.newaxis] * way
    return np.asarray(np.hypot(*(points - nearest).T))
