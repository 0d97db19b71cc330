"""Figures as small SVG texts that are the same every time, and curves with few vertices."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
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

    buffer = io.StringIO()
    unnamed = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with settings({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata=unnamed)
    return _for_a_page(buffer.getvalue(), title, variables=variables)


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
    across, upward = ax.transData.transform(np.column_stack([x, y])).T
    kept = kept_vertices(across, upward, most)
    return x[kept], y[kept]


def kept_vertices(x: Floats, y: Floats, most: int = MOST_VERTICES) -> npt.NDArray[np.intp]:
    """Find the vertices of a curve, in pixels, that must stay for it to look alike."""
    if len(x) <= most:
        return np.arange(len(x))
    kept = _extremes(x, np.ascontiguousarray(y))
    size, near = _bends(np.column_stack([x[kept], y[kept]])), UNSEEN
    while np.count_nonzero(size > near) > most:
        near *= 1.5
    return np.asarray(kept[size > near])


def _extremes(x: Floats, y: Floats) -> npt.NDArray[np.intp]:
    """First, last, lowest and highest vertex of each run within half a pixel."""
    first = np.append(0, 1 + np.flatnonzero(np.diff(np.floor(2 * x))))
    end = np.append(first[1:], x.size)
    kept = np.zeros(x.size, dtype=bool)
    kept[first] = kept[end - 1] = True
    # Of several that are equal, the first of the lowest and the last of the highest.
    several = end - first > 2
    for start, stop in zip(first[several].tolist(), end[several].tolist(), strict=True):
        run = y[start:stop]
        kept[start + run.argmin()] = kept[stop - 1 - run[::-1].argmax()] = True
    return np.flatnonzero(kept)


def _bends(pixel: Floats) -> Floats:
    """Say of each vertex how far the curve would leave its place without it and lesser ones.

    All segments of a round are split at once, each at the vertex that is farthest from it.
    """
    size = np.zeros(len(pixel))
    size[[0, -1]] = np.inf
    start, end, most = np.array([0]), np.array([len(pixel) - 1]), np.array([np.inf])
    while True:
        wide = end - start > 1
        start, end, most = start[wide], end[wide], most[wide]
        if not start.size:
            return size
        inside = end - start - 1
        first = np.cumsum(inside) - inside
        segment = np.repeat(np.arange(start.size), inside)
        vertex = np.arange(segment.size) + (start + 1 - first)[segment]
        away = _distances(pixel[vertex], pixel[start][segment], pixel[end][segment])
        farthest = np.maximum.reduceat(away, first)
        reached = np.flatnonzero(away == farthest[segment])
        middle = vertex[reached[np.diff(segment[reached], prepend=-1) > 0]]
        bent = farthest > UNSEEN
        start, middle, end = start[bent], middle[bent], end[bent]
        most = np.minimum(most, farthest)[bent]
        size[middle] = most
        start, end = np.append(start, middle), np.append(middle, end)
        most = np.append(most, most)


def _distances(points: Floats, start: Floats, end: Floats) -> Floats:
    """Distances of points from the segments between two others, one for each."""
    way, off = end - start, points - start
    length = (way * way).sum(axis=1)
    along = np.divide((off * way).sum(axis=1), length, out=np.zeros(len(way)), where=length > 0)
    off -= np.clip(along, 0, 1)[:, np.newaxis] * way
    return np.asarray(np.hypot(off[:, 0], off[:, 1]))
