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
    near = UNSEEN
    while (kept := _bends(pixel[seen], near)).size > most:
        near *= 1.5
    return np.asarray(seen[kept])


def _extremes(pixel: Floats) -> npt.NDArray[np.intp]:
    """First, last, lowest and highest vertex of each run within half a pixel."""
    column = np.floor(2 * pixel[:, 0])
    first = np.flatnonzero(np.diff(column, prepend=np.nan) != 0)
    last = np.append(first[1:], column.size) - 1
    order = np.lexsort((pixel[:, 1], np.cumsum(np.isin(np.arange(column.size), first))))
    return np.unique(np.concatenate([first, last, order[first], order[last]]))


def _bends(pixel: Floats, near: float) -> npt.NDArray[np.intp]:
    """Vertices without which a curve would leave its place by more than `near`."""
    kept = np.zeros(len(pixel), dtype=bool)
    kept[[0, -1]] = True
    stack = [(0, len(pixel) - 1)]
    while stack:
        start, end = stack.pop()
        if end - start < 2:
            continue
        away = _distances(pixel[start + 1 : end], pixel[start], pixel[end])
        farthest = int(np.argmax(away))
        if away[farthest] > near:
            middle = start + 1 + farthest
            kept[middle] = True
            stack += [(start, middle), (middle, end)]
    return np.flatnonzero(kept)


def _distances(points: Floats, start: Floats, end: Floats) -> Floats:
    """Distances of points from the segment between two others."""
    way = end - start
    length = float(way @ way)
    along = (points - start) @ way / length if length > 0 else np.zeros(len(points))
    nearest = start + np.clip(along, 0, 1)[:, np.newaxis] * way
    return np.asarray(np.hypot(*(points - nearest).T))
