"""Words that were retired, looked for in what users see: outputs, help, pages and errors."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import typer

import calibrant as cal
from calibrant.cli.main import app

SNAPSHOTS = Path(__file__).parents[1] / "cli" / "snapshots"
SOURCE = Path(cal.__file__).parent
# One word for one idea: the second column stands for the first.
RETIRED = {
    r"\bhappened\b": "observed rate, observed",
    r"they say|forecasts say": "mean forecast",
    r"\bredraws?\b|\bredrawn\b": "simulation, simulated",
    r"perfect forecaster|[Rr]ight forecasts": "noise floor, perfect forecasts",
    r"would get\b": "noise floor",
    r"so large an error|such errors": "p-value",
    r"[Mm]ost clearly:": "worst",
    r"[Ww]hoever": "(nobody)",
    r"range of the payoffs": "the stakes",
    r"cannot certify": "too few to tell",
    r"worth it": "helps",
    r"on the whole": "overall",
    r"safe side": "conservative",
    r"each by itself": "pointwise",
    r"from which on": "decision threshold",
    r"ever a false": "lifetime false-alarm probability",
    r"small enough": "largest acceptable",
    r"certainly (beyond|within)": "exceeds, too few rows",
    r"coins? (of|with) the predicted": "drawn with the predicted probability",
    r"four roots of": "a formula",
    r"cannot tell|[Tt]oo few rows to (say:|judge)|[Gg]ood enough:|inconclusive": "undecided",
    r"\b[Ll]og score\b|\blog_score\b": "log loss",
}


def retired_in(text: str) -> list[str]:
    return [found[0] for word in RETIRED if (found := re.search(word, " ".join(text.split())))]


@pytest.mark.parametrize("path", sorted(SNAPSHOTS.glob("*.txt")), ids=lambda path: path.stem)
def test_nothing_printed_uses_a_retired_word(path):
    assert retired_in(path.read_text(encoding="utf-8")) == []


def test_no_help_uses_a_retired_word():
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        context = command.make_context(name, [], resilient_parsing=True)
        help_texts = [getattr(option, "help", None) or "" for option in command.params]
        assert retired_in(" ".join([command.get_help(context), *help_texts])) == [], name


def raised(path: Path) -> str:
    """All words of the errors and warnings that a file raises."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    calls += [node for node in ast.walk(tree) if isinstance(node, ast.Call)
              and getattr(node.func, "attr", "") == "warn"]  # fmt: skip
    parts = [part for call in calls for part in ast.walk(call) if isinstance(part, ast.Constant)]
    return " ".join(part.value for part in parts if isinstance(part.value, str))


def test_no_error_uses_a_retired_word():
    found = {path.name: retired_in(raised(path)) for path in SOURCE.rglob("*.py")}
    assert {name: words for name, words in found.items() if words} == {}


def test_no_audit_uses_a_retired_word_in_any_text():
    rng = np.random.default_rng(1)
    p = rng.random(600).round(2)
    y = rng.random(600) < p**2
    by = {"side": np.where(np.arange(600) % 2, "left", "right")}
    task = cal.DecisionTask.from_costs(false_positive=1, false_negative=4)
    audit = cal.audit(y, p, by=by, oe_tolerance=0.1, task=task, time=np.arange(600), draws=49)
    said = [str(audit), audit.to_text(), audit.to_markdown(), audit.verdict.sentence]
    said += [finding.text + finding.advice for finding in audit.findings]
    page = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]*>", " ", audit.to_html())
    assert retired_in(" ".join([*said, page])) == []


def test_a_retired_word_would_be_found():
    assert retired_in("forecasts say 0.3 on\naverage") == ["forecasts say"]


def test_no_page_of_the_api_uses_a_retired_word():
    from api_pages import PACKAGES, public_names

    ordinary = {"happened", "they say", "from which on", "certainly beyond", "would get"}
    found = {}
    for room in PACKAGES:
        for name in public_names(room):
            thing = getattr(import_module(room), name)
            parts = vars(thing).values() if inspect.isclass(thing) else ()
            told = [
                thing,
                *(part for part in parts if callable(part) or isinstance(part, property)),
            ]
            words = set(retired_in(" ".join(inspect.getdoc(part) or "" for part in told)))
            if words - ordinary:
                found[name] = words - ordinary
    assert found == {}
