"""What pages share: where their templates are, and that words of others stay words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from calibrant.words import capital, count_text, number_text, typeset

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


# A page shows so many groups or classes, and counts the others.
MOST = 500
COMMAND = re.compile(r"calibrant [a-z]+ [^()]+")


def page_environment() -> Environment:
    """Prepare templates: what they are given is escaped, and must be there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=select_autoescape(["html", "jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_typeset,
    )
    environment.globals |= {"most": MOST, "count": count_text, "exact": number_text}
    return environment


def raw_file(environment: Environment, name: str) -> Markup:
    """Return a file beside the templates as it is."""
    from markupsafe import Markup

    source, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
    return Markup(source)  # noqa: S704  # our own file


def with_commands(text: str) -> Markup:
    """Begin with a capital, end with a stop, and set commands as code, to be copied without it."""
    from markupsafe import Markup, escape

    told = str(escape(typeset(capital(text))))
    # Escaped above: nothing but the tags around a command is markup.
    return Markup(COMMAND.sub(r"<code>\g<0></code>", told) + ".")  # noqa: S704


def script_data(data: dict[str, Any]) -> Markup:
    """Write what a script reads."""
    from markupsafe import Markup

    from calibrant.report.drawing import HARMLESS  # brings all that draws along

    # Names are the words of others: none may end the script.
    return Markup(json.dumps(data, allow_nan=False).translate(HARMLESS))  # noqa: S704


def _typeset(value: object) -> object:
    """Keep numbers on one line; what is markup already stays as it is."""
    return typeset(value) if type(value) is str else value
