"""Results in a console and in a notebook."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.random(400).round(2)
    return (rng.random(400) < p**2).astype(int), p


@pytest.fixture(scope="module")
def results(rows) -> dict[str, object]:
    y, p = rows
    by = {"side": np.where(np.arange(400) % 2, "left", "right")}
    audit = cal.audit(y, p, by=by, draws=49)
    return {
        "audit": audit,
        "verdict": audit.verdict,
        "gap": audit.verdict.gap,
        "test": audit.verdict.test,
        "interval": audit.verdict.interval,
        "groups": audit.groups,
        "choice": audit.summary.choice,
        "comparison": cal.compare(y, p, p**2, draws=49, rng=0),
        "measurement": cal.smooth_calibration_error(y, p),
        "classical": audit.summary.classical,
        "costs": audit.summary.costs,
        "curve": audit.summary.costs.curve,
        "net benefit": cal.net_benefit(y, p),
        "band": cal.consistency_band(y, p, draws=49, rng=0),
        "bracket": cal.distance_bracket(y, p),
        "split": cal.score_decomposition(y, p),
        "summary": audit.summary,
        "binned": cal.binned_calibration_error(y, p),
    }


def test_every_result_is_short_in_a_console(results):
    for name, result in results.items():
        text = repr(result)
        assert len(text) <= 420, f"{name}: {text}"
        assert "array(" not in text, name


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("verdict", True), ("groups", True), ("choice", True), ("measurement", False),
     ("comparison", False)],
)  # fmt: skip
def test_a_notebook_shows_the_sentence_first_and_then_the_picture(results, name, drawn):
    result = results[name]
    page = result._repr_html_()
    sentence = result.sentence if hasattr(result, "sentence") else str(result)
    words = sentence.replace("'", "&#x27;")
    assert words in page
    assert ("<svg" in page) == drawn
    assert not drawn or page.index(words) < page.index("<svg")


def test_words_of_others_stay_words_in_a_notebook(rows):
    y, p = rows
    found = cal.groups.audit_groups(y, p, {"side": ["<b>"] * 400}, draws=19, rng=0)
    assert "<b>" not in found._repr_html_()
