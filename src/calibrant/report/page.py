"""What pages share: where their templates are, and that words of others stay words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.words import typeset

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def page_environment() -> Environment:
    """Prepare templates: what they are given is escaped, and must be there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=select_autoescape(["html", "jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_typeset,
    )


def raw_file(environment: Environment, name: str) -> Markup:
    """Return a file beside the templates as it is."""
    from markupsafe import Markup

    source, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
    return Markup(source)  # noqa: S704  # our own file


def _typeset(value: object) -> object:
    """Keep numbers on one line; what is markup already stays as it is."""
    return typeset(value) if type(value) is str else value
