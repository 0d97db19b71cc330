"""Data that nobody should act on get a caution, and never "use the probabilities as they are"."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

RNG = np.random.default_rng(3)
P = RNG.random(2000)
Y = (RNG.random(2000) < P).astype(int)
SOME = RNG.random(2000)


def plain(audit):
    return " ".join(str(audit).split())


def codes(audit):
    return {finding.code for finding in audit.findings}


@pytest.mark.parametrize(
    ("y", "p", "code"),
    [
        (np.zeros(300, int), np.full(300, 0.001) * SOME[:300], "CAL080"),
        (np.ones(300, int), 0.9 + 0.1 * SOME[:300], "CAL080"),
        (Y[:400], Y[:400].astype(float), "CAL032"),
        (Y, np.full(2000, Y.mean()), "CAL081"),
        (Y, 0.5 + 0.001 * SOME, "CAL083"),
        ((P > 0.5).astype(int), np.clip(P, 0.01, 0.99), "CAL082"),
        (np.repeat(Y[:200], 10), np.repeat(P[:200], 10), "CAL084"),
    ],
)
def test_each_trap_has_its_caution(y, p, code):
    audit = cal.audit(y, p, draws=99)
    assert code in codes(audit)
    assert code not in codes(cal.audit(Y, P, draws=99))
    screen = str(audit)
    trap = next(trap for trap in audit.summary.traps if trap.code == code)
    assert " ".join(screen.split()).count(trap.text) == 1
    if trap.useless:
        assert "as they are" not in screen
        assert "as they are" not in audit.to_text()
    assert code in audit.to_html()


def test_sound_forecasts_without_information_are_not_recommended():
    rng = np.random.default_rng(0)
    p = 0.3 + 0.002 * rng.random(60_000)
    audit = cal.audit(rng.random(60_000) < p, p, draws=99)
    assert audit.verdict.state == "calibrated"
    assert "they show no information about who is more at risk" in plain(audit)
    assert "as they are" not in plain(audit)


def test_random_forecasts_can_only_become_the_base_rate():
    audit = cal.audit(Y, SOME, draws=99)
    assert audit.verdict.state == "miscalibrated"
    assert "Recalibration can only return the base rate" in plain(audit)


def test_few_forecasts_that_stand_out_are_information():
    """Ties make the AUC vary less: one forecast in a hundred is twice the others, and right."""
    p = np.repeat([0.3, 0.6], [9900, 100])
    y = np.concatenate([np.arange(9900) % 10 < 3, np.arange(100) % 10 < 6])
    assert "CAL083" not in codes(cal.audit(y, p, draws=99))


def test_a_small_sample_does_not_show_that_forecasts_are_useless():
    p = 0.1 + 0.25 * SOME[:80]
    y = np.random.default_rng(0).random(80) < p + 0.3
    audit = cal.audit(y, p, draws=99)
    assert audit.verdict.state == "miscalibrated"
    assert "CAL083" in codes(audit)
    assert "can only return the base rate" not in plain(audit)


def test_one_class_is_not_recalibrated():
    audit = cal.audit(np.zeros(300, int), SOME[:300], draws=99)
    assert "CAL070" not in codes(audit)
    assert "Audit data with both outcomes" in str(audit)
    assert "Recalibrate" not in str(audit)


def test_right_answers_of_classes_have_a_caution_too():
    table = np.clip(np.eye(3)[np.arange(300) % 3], 0.01, 0.98)
    audit = cal.audit(np.arange(300) % 3, table / table.sum(axis=1, keepdims=True), draws=99)
    assert {"CAL080", "CAL081"} <= codes(audit)
    assert "as it is" not in str(audit)


@pytest.mark.parametrize(
    ("y", "z", "code"),
    [
        (np.full(200, 3.0), 3 + SOME[:200], "CAL080"),
        (5 + SOME[:200], np.full(200, 5.5), "CAL081"),
        (5 + SOME[:200], 5 + SOME[:200], "CAL082"),
        (np.repeat(5 + SOME[:100], 4), np.repeat(5 + P[:100], 4), "CAL084"),
    ],
)
def test_continuous_outcomes_have_the_same_cautions(y, z, code):
    audit = cal.audit(y, z, kind="mean", tolerance=0.1, draws=99)
    assert code in codes(audit)
    assert "use the forecasts as they are" not in str(audit)
    fair = cal.audit(5 + SOME, 5 + P, kind="mean", draws=99)
    assert code not in codes(fair)
