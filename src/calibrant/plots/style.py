"""The look of all pictures: named colours, and settings that apply while one is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALETTE = {
    "ink": "#22272e",
    "quiet": "#57606a",
    "muted": "#8c959f",
    "band": "#d0d7de",
    "accent": "#0072b2",
    "warning": "#d55e00",
    "good": "#009e73",
    "second": "#e69f00",
    "third": "#cc79a7",
    "fourth": "#56b4e9",
    "paper": "#ffffff",
}
"""Every colour of the pictures, by name; `figure_svg` can write them as CSS variables.

Those that tell things apart are Okabe and Ito's, which the colour-blind tell apart as well.
"""

INK, QUIET, MUTED, BAND = (PALETTE[name] for name in ("ink", "quiet", "muted", "band"))
ACCENT, WARNING, GOOD, PAPER = (PALETTE[name] for name in ("accent", "warning", "good", "paper"))
SERIES = (ACCENT, *(PALETTE[name] for name in ("second", "third", "fourth")))
"""Colours of several forecasters, in this order."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
"""Patterns of lines, for when the colours begin again."""

SETTINGS: Any = {
    "axes.edgecolor": MUTED,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.labelsize": "medium",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.facecolor": PAPER,
    "font.size": 9.0,
    "legend.fontsize": "small",
    "legend.frameon": False,
    # Names that users give may hold dollar signs.
    "text.parse_math": False,
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": "small",
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": "small",
}


@contextmanager
def drawing(*, from_defaults: bool = False) -> Iterator[None]:
    """Draw with our settings in this thread; those of the user stay as they are.

    With `from_defaults` the user's own settings have no say, so that a picture is the same
    everywhere.
    """
    from calibrant.plots.settings import settings

    with settings(SETTINGS, from_defaults=from_defaults), warnings.catch_warnings():
        # Labels may be in any script. A page is drawn with the fonts of its reader.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        yield


def line_style(index: int) -> dict[str, Any]:
    """Choose colour and pattern of a line among several; 16 of them differ."""
    return {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index // len(SERIES) % len(DASHES)],
    }


def picture_kinds() -> list[str]:
    """Name the kinds of files that a figure can be saved to."""
    with drawing():
        from matplotlib.backend_bases import FigureCanvasBase

        return list(FigureCanvasBase.get_supported_filetypes())


def detached_figure(width: float, height: float) -> Figure:
    """Make a figure that no window and no list of open figures knows about."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
