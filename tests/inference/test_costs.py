"""What trusting forecasts costs stands beside what perfect forecasts would seem to cost."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant._base.words import THIN, percent_text
from calibrant.binning import isotonic
from calibrant.inference import Evidence, Settings, find_costs
from calibrant.inference.costs import CELLS

REBOOK = cal.DecisionTask.from_costs(false_positive=50, false_negative=350)


def sample(rows, shift=0.0, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, rows)
    return rng.random(rows) < np.clip(p + shift, 0, 1), p


def test_chance_is_called_chance():
    audit = cal.audit(*sample(60), draws=99)
    costs = audit.summary.costs
    said = (
        f"no loss beyond chance: at most {percent_text(float(costs.worst))} of the stakes per "
        f"decision; perfect forecasts would show {percent_text(costs.worst_test.noise_floor)} on "
    )
    assert costs.worst_test.pvalue > 0.05
    for page in (audit.to_text(), audit.to_markdown(), audit.to_html().replace(THIN, " ")):
        assert said in page
        assert "Acting on these instead" not in page


def test_a_loss_stands_beside_what_chance_shows():
    audit = cal.audit(*sample(3000, 0.2), draws=99)
    test = audit.summary.costs.worst_test
    assert "no loss beyond chance" not in audit.to_text()
    most = percent_text(test.noise_quantile(0.95))
    assert f"at most {most} in 95 % of samples" in audit.to_text()
    found = json.loads(audit.to_json())["costs"]["worst_test"]
    assert found["pvalue"] == test.pvalue == 0.01
    assert found["noise_floor"] == test.noise_floor
    assert found["noise_quantile"] == test.noise_quantile(0.95)


@pytest.mark.parametrize(("shift", "chance"), [(0.0, True), (0.2, False)])
def test_the_loss_in_a_task_of_ones_own_stands_beside_chance(shift, chance):
    audit = cal.audit(*sample(500, shift), task=REBOOK, draws=99)
    found = json.loads(audit.to_json())["costs"]
    assert (found["task_test"]["pvalue"] > 0.05) == chance
    assert ("There is no loss beyond chance: recalibrating would seem" in audit.to_text()) == chance
    assert "Perfect forecasts come within" in audit.to_text()


def test_redrawn_losses_are_those_of_the_definition():
    y, p = sample(40)
    joint = cal.Joint.from_samples(y, p)
    costs = find_costs(Evidence.of_joint(joint), Settings.read(draws=39, rng=0), REBOOK)
    rng = np.random.default_rng(0)
    expected, own, money = [], [], []
    for residual_masses in next(Evidence.of_joint(joint).null_residual_masses(39, rng)):
        drawn = joint.with_positives(
            np.rint(residual_masses * joint.total + joint.weight * p[p.argsort()])
        )
        pools = isotonic(drawn)
        expected.append(float(cal.calibration_decision_loss(drawn, pooling=pools)))
        own.append(float(cal.fixed_decision_loss(drawn, task=REBOOK, pooling=pools)))
        money.append(cal.promised_and_received(drawn, task=REBOOK).shortfall)
    assert costs.worst_test.null == pytest.approx(np.sort(expected))
    assert costs.task_test.null == pytest.approx(np.sort(own))
    assert costs.noise == pytest.approx(np.sqrt(np.mean(np.square(money))))
    assert costs.worst_test.statistic == pytest.approx(float(costs.worst))


@pytest.mark.parametrize("kind", ["weights", "clusters"])
def test_many_levels_are_pooled_for_the_redraws(kind):
    y, p = sample(4 * CELLS)
    weight = np.random.default_rng(2).lognormal(0, 1, p.size) if kind == "weights" else None
    clusters = np.arange(p.size) // 4 if kind == "clusters" else None
    evidence = Evidence.read(y, p, weight, None, clusters)
    test = find_costs(evidence, Settings.read(draws=19, rng=0)).worst_test
    assert test.cells <= CELLS
    assert test.exact == (kind == "weights")
    assert test.clusters == (CELLS if kind == "clusters" else None)
    assert test.statistic == pytest.approx(
        float(cal.calibration_decision_loss(evidence.full_joint, pooling="isotonic")), rel=0.1
    )


def test_the_loss_by_threshold_has_a_mean_and_a_limit():
    y, p = sample(200)
    costs = find_costs(Evidence.read(y, p), Settings.read(draws=99, rng=0))
    perfect = costs.perfect
    assert perfect.threshold.shape == perfect.mean.shape == perfect.most.shape
    assert (perfect.mean <= perfect.most + 1e-15).all()
    assert perfect.mean.max() > 0
