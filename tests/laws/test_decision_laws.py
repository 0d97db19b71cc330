"""Laws of the loss of one decision maker, for several of them.

The laws of all measures do not ask it: without somebody who decides it means nothing.
"""

from __future__ import annotations

import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import calibrant as cal
from oracles.strategies import EXAMPLES, joint_of, joints, rows, universal, weighted_rows

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")

TASKS = {
    "umbrella": cal.DecisionTask.umbrella(),
    "rebooking": cal.DecisionTask({"rebook": (-50, -50), "wait": (0, -400)}),
    "quadratic": cal.DecisionTask.quadratic(11),
    "zero_one": cal.DecisionTask.zero_one(),
    "three": cal.DecisionTask.from_kinks([0.3, 0.5], [1.0, 0.5]),
    "brier": "brier",
    "spherical": "spherical",
    "exponential": (np.exp, np.exp),
}
tasks = st.sampled_from(list(TASKS)).map(TASKS.get)
poolings = st.sampled_from(["levels", "isotonic", 4])
# As many examples as a task and a pooling alone would get elsewhere, for all of them.
universal = settings(universal, max_examples=3 * EXAMPLES)


def close(value: float) -> object:
    return pytest.approx(float(value), rel=1e-11, abs=1e-11)


@universal
@given(
    task=tasks,
    pooling=poolings,
    data=weighted_rows(max_size=30),
    seed=st.integers(0, 99),
    cut=st.integers(0, 30),
)
def test_order_scale_and_chunks_do_not_matter(task, pooling, data, seed, cut):
    y, p, w = data
    loss = cal.fixed_decision_loss(y, p, sample_weight=w, task=task, pooling=pooling)
    order = np.random.default_rng(seed).permutation(y.size)
    again = cal.fixed_decision_loss(
        y[order], p[order], sample_weight=7 * w[order], task=task, pooling=pooling
    )
    assert again == close(loss)
    parts = [part for part in (slice(0, cut), slice(cut, None)) if w[part].any()]
    chunks = [cal.Joint.from_samples(y[s], p[s], sample_weight=w[s]) for s in parts]
    merged = chunks[0] if len(chunks) == 1 else chunks[0] + chunks[1]
    assert cal.fixed_decision_loss(merged, task=task, pooling=pooling) == close(loss)


@universal
@given(task=tasks, data=rows(max_size=20), seed=st.integers(0, 99))
def test_weight_k_means_k_repeats(task, data, seed):
    y, p = data
    weight = np.random.default_rng(seed).integers(0, 4, y.size)
    weight[0] = 1
    repeated = cal.fixed_decision_loss(np.repeat(y, weight), np.repeat(p, weight), task=task)
    assert cal.fixed_decision_loss(y, p, sample_weight=weight, task=task) == close(repeated)


@universal
@given(task=tasks, law=joints())
def test_a_calibrated_law_costs_nothing_and_no_law_earns(task, law):
    joint = joint_of(law)
    assert cal.fixed_decision_loss(joint.recalibrated(), task=task) == close(0)
    for pooling in ("levels", "isotonic"):
        assert cal.fixed_decision_loss(joint, task=task, pooling=pooling) >= -1e-11


@universal
@given(task=tasks, pooling=poolings, law=joints())
def test_the_witness_loses_it_and_says_where(task, pooling, law):
    joint = joint_of(law)
    loss = cal.fixed_decision_loss(joint, task=task, pooling=pooling)
    assert loss.witness.advantage(joint) == close(loss)
    assert "trusting the forecasts promises" in loss.witness.sentence
    assert loss.witness(joint.prediction).shape == joint.prediction.shape


@universal
@given(task=tasks, data=rows(max_size=10))
def test_a_loss_pickles(task, data):
    loss = cal.fixed_decision_loss(*data, task=task, pooling="isotonic")
    again = pickle.loads(pickle.dumps(loss))  # noqa: S301
    assert (float(again), again.settings, str(again)) == (float(loss), loss.settings, str(loss))
