"""Clusters of one row each are no clusters to a diagram."""

import numpy as np

import calibrant as cal


def test_dots_have_intervals_where_every_row_is_its_own_cluster():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < p
    weight = rng.lognormal(0, 0.5, 400)
    alone = cal.audit(y, p, sample_weight=weight, clusters=np.arange(400), draws=99)
    assert not any("depend on each other" in note for note in alone.summary.diagram.notes)
    pairs = cal.audit(y, p, clusters=np.arange(400) // 2, draws=99)
    assert any("depend on each other" in note for note in pairs.summary.diagram.notes)
