"""Names of the API in the text of a page lead to their entry, wherever they are written as code."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.util.nodes import make_refnode

CALLED = re.compile(r"^(?:calibrant\.|cal\.)?([A-Za-z_][\w.]*)(?:\(.*\))?$")
# A bare word is taken for a name only if it cannot be an English word.
PLAIN = re.compile(r"^[a-z]+$")
BACK = re.compile(r'(class="viewcode-back" href="[^"#]*?api/)([\w.]+)\.html#([\w.]+)')


def names(app: Any) -> dict[str, tuple[str, str]]:
    """Page and anchor of every public object, by its names from the longest to the shortest."""
    found: dict[str, tuple[str, str]] = {}
    objects = app.env.get_domain("py").objects
    for full in sorted(objects, key=lambda name: name.count("."), reverse=True):
        entry = objects[full]
        if entry.docname.startswith("api/") and full.startswith("calibrant."):
            name = full.removeprefix("calibrant.")
            found[name] = (entry.docname, entry.node_id)
            if entry.objtype in ("function", "class", "exception", "data"):
                found[name.rpartition(".")[2]] = (entry.docname, entry.node_id)
    return found


def link_names(app: Any, doctree: nodes.document, page: str) -> None:
    """Turn code that is a name into a link, but in headings and in links."""
    if app.builder.format != "html":
        return
    known = names(app)
    for code in list(doctree.findall(nodes.literal)):
        if _within(code, (nodes.reference, nodes.title)):
            continue
        called = CALLED.match(code.astext())
        if not called or (PLAIN.match(code.astext()) and called[1] == code.astext()):
            continue
        place = known.get(called[1])
        if place is not None and place[0] != page:
            link = make_refnode(app.builder, page, place[0], place[1], code.deepcopy())
            code.replace_self(link)


def _within(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, kinds):
            return True
        parent = parent.parent
    return False


def mend_way_back(
    _app: Any, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Lead from a source to the entries of its names.

    viewcode takes all names of a file for names of one module. The page of an entry is named after
    the object, so that the anchor follows from the page.
    """
    if page.startswith("_modules/"):
        context["body"] = BACK.sub(_anchored, context["body"])


def _anchored(link: re.Match[str]) -> str:
    name = link[2].rpartition(".")[2]
    member = re.search(rf"\.{re.escape(name)}(\..+)?$", link[3])
    inner = member[1] or "" if member else ""
    return f"{link[1]}{link[2]}.html#{link[2]}{inner}"


def setup(app: Any) -> dict[str, bool]:
    """Link names once all pages are read."""
    app.connect("doctree-resolved", link_names)
    app.connect("html-page-context", mend_way_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
