"""What an audit prints on one screen, word for word, for every kind of forecasts.

After a change that is wanted: `SNAPSHOTS=write pytest tests/cli/test_screens.py`, and read the
difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant._base.words import THIN
from calibrant.report.screen import COLUMNS, LINES, plain, render_screen

SNAPSHOTS = Path(__file__).with_name("snapshots")
NEXT = "calibrant audit forecasts.csv --html report.html"


def drawn(rng, chance):
    return (rng.random(chance.size) < chance).astype(int)


def calibrated(rng):
    p = rng.random(20_000).round(2)
    return cal.audit(drawn(rng, p), p, draws=99)


def miscalibrated(rng):
    p = rng.beta(1, 3, 3000).round(2)
    chance = np.clip(p + 0.2 * (p > 0.4), 0, 1)
    side = np.array(["north", "south", "far away"])[np.arange(3000) % 3]
    return cal.audit(drawn(rng, chance), p, by={"site": side}, draws=99)


def undecided(rng):
    p = rng.random(60).round(2)
    return cal.audit(drawn(rng, p), p, draws=99)


def rare(rng):
    p = 10 ** rng.uniform(-5, -3.3, 200_000)
    return cal.audit(drawn(rng, np.minimum(2 * p, 1)), p, draws=49)


def dollars(rng):
    p = rng.beta(1, 9, 4000).round(2)
    amount = rng.lognormal(7, 1, 4000).round(2)
    return cal.audit(drawn(rng, 0.7 * p), p, sample_weight=amount, draws=99)


def clusters(rng):
    p = np.repeat(rng.random(300).round(2), 4)
    return cal.audit(np.repeat(drawn(rng, p[::4]), 4), p, clusters=np.arange(1200) // 4, draws=99)


def classes(rng):
    table = rng.dirichlet([2, 1, 1], 1000).round(3)
    table[:, 2] = 1 - table[:, :2].sum(axis=1)
    guess = (table.cumsum(1) < rng.random((1000, 1))).sum(1)
    label = np.where(rng.random(1000) < 0.3, 0, guess)
    names = ["cat", "dog", "cow"]
    return cal.audit(np.array(names)[label], table, classes=names, draws=49)


def wavy(rng):
    p = rng.random(20_000).round(3)
    return cal.audit(drawn(rng, np.clip(p + 0.15 * np.sin(12 * np.pi * p), 0, 1)), p, draws=99)


KINDS = [calibrated, miscalibrated, undecided, rare, dollars, clusters, classes, wavy]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def audited(request):
    return request.param.__name__, request.param(np.random.default_rng(5))


def test_a_screen_says_what_it_said(audited):
    name, audit = audited
    screens = [plain(render_screen(audit.summary, width=w, command=NEXT)) for w in (COLUMNS, 60)]
    printed = "\n\n".join(screens) + "\n"
    path = SNAPSHOTS / f"screen_{name}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8")


def test_a_screen_is_a_screen(audited):
    _, audit = audited
    for picture in (False, True):
        lines = plain(render_screen(audit.summary, command=NEXT, diagram=picture)).splitlines()
        assert len(lines) <= LINES
        assert max(map(len, lines)) <= COLUMNS
    narrow = plain(render_screen(audit.summary, width=60, command=NEXT)).splitlines()
    assert max(map(len, narrow)) <= 60


def test_a_pipe_gets_plain_spaces_and_characters(audited):
    _, audit = audited
    for text in (str(audit), audit.to_text(), audit.to_markdown(), audit.to_json()):
        assert THIN not in text
    assert str(audit).isascii()


def test_conclusions_name_what_is_wrong_and_nothing_that_chance_explains(audited):
    name, audit = audited
    first = str(audit).split(":")[0]
    expected = {"calibrated": {"Calibrated"}, "miscalibrated": {"Miscalibrated"},
                "undecided": {"No miscalibration found"}, "rare": {"Miscalibrated"},
                "wavy": {"Miscalibrated"}, "dollars": {"Miscalibrated"}}  # fmt: skip
    assert first in expected.get(name, {first})
    state = {"calibrated": "calibrated", "miscalibrated": "miscalibrated"}
    assert state.get(first.lower().split(" ")[0], "undecided") == audit.summary.state
    if audit.verdict.pvalue > 0.05 and audit.by_class is None:
        assert "are too high" not in str(audit) + audit.to_text()
        assert "are too low" not in str(audit) + audit.to_text()
    if name == "classes":
        assert "Miscalibrated: 3 of 3 classes exceed" in str(audit)
        assert audit.verdict.state == "undecided"
    if name == "rare":
        assert "events than forecast (observed over expected " in str(audit)
        assert " 0.0000 " not in audit.to_text()


def test_a_screen_says_that_it_does_not_list_all_groups():
    p = np.full(4000, 0.8)
    names = np.array([f"site {n}" for n in range(8)])[np.arange(4000) % 8]
    y = drawn(np.random.default_rng(0), np.full(4000, 0.5))
    for kept, many in ((4000, True), (1500, False)):
        by = {"site": names[:kept] if many else np.where(names == "site 0", "a", "b")[:kept]}
        text = " ".join(str(cal.audit(y[:kept], p[:kept], by=by, draws=49)).split())
        assert ("with less evidence (--full)" in text) is many
        assert "of 8 groups exceed" in text if many else "2 of 2 groups exceed" in text
