"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _displayed(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f"<div class='formula'>{convert(node.astext(), display='block')}</div>\n")
    raise nodes.SkipNode


def _skip(_writer: Any, _node: nodes.Node) -> None:
    """Everything was written on the way in."""


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer in place of Sphinx's own."""
    app.add_html_math_renderer("plain", (_inline, _skip), (_displayed, _skip))
    app.config.html_math_renderer = "plain"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
