"""Decision tasks: the forms they are given in, what they answer, what they refuse."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant import DecisionTask
from calibrant.errors import InvalidOptionError

UMBRELLA = {"carry": {0: -0.1, 1: 0}, "leave": {0: 0, 1: -0.9}}


@pytest.mark.parametrize(
    "payoffs",
    [
        UMBRELLA,
        {"carry": (-0.1, 0), "leave": [0, -0.9]},
        {"carry": {"0": -0.1, "1": 0}, "leave": {False: 0, True: "-0.9"}},
        {"carry": {1: 0, 0: -0.1}, "leave": np.array([0, -0.9])},
        pd.DataFrame({"action": ["carry", "leave"], 0: [-0.1, 0], 1: [0, -0.9]}),
        pl.DataFrame({"1": [0.0, -0.9], "0": [-0.1, 0.0], "action": ["carry", "leave"]}),
        pa.table({"action": ["carry", "leave"], "0": [-0.1, 0.0], "1": [0.0, -0.9]}),
    ],
    ids=["dicts", "pairs", "strings", "arrays", "pandas", "polars", "arrow"],
)
def test_every_form_makes_the_same_task(payoffs):
    task = DecisionTask(payoffs)
    assert task == DecisionTask.umbrella()
    assert hash(task) == hash(DecisionTask.umbrella())
    assert task.actions == ("carry", "leave")


def test_a_table_takes_names():
    assert DecisionTask([[-0.1, 0], [0, -0.9]], ["carry", "leave"]) == DecisionTask.umbrella()
    assert DecisionTask([[-0.1, 0], [0, -0.9]]).actions == ("action 0", "action 1")
    frame = pd.DataFrame({"0": [-0.1, 0], "1": [0, -0.9]})
    assert DecisionTask(frame, ["carry", "leave"]) == DecisionTask.umbrella()


FILES = {
    "task.csv": "action,0,1\ncarry,-0.1,0\nleave,0,-0.9\n",
    "spaced.csv": "1, action ,0\n0,carry,-0.1\n-0.9,leave,0\n",
    "marked.CSV": "\ufeffaction,0,1\ncarry,-0.1,0\nleave,0,-0.9\n",
    "task.json": json.dumps(UMBRELLA),
    "under_a_key.json": json.dumps({"payoffs": UMBRELLA}),
    "task.toml": "[carry]\n0 = -0.1\n1 = 0\n[leave]\n0 = 0\n1 = -0.9\n",
    "under_a_key.toml": "[payoffs]\ncarry = {0 = -0.1, 1 = 0}\nleave = [0, -0.9]\n",
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_makes_the_same_task(tmp_path: Path, name):
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    assert DecisionTask.from_file(path) == DecisionTask.umbrella()
    assert DecisionTask.from_file(str(path)) == DecisionTask.umbrella()


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("[costs]\nfalse_positive = 50\nfalse_negative = 350", 0.125),
        ("threshold = 0.125", 0.125),
        ("cost_ratio = 7", 0.125),
    ],
)
def test_files_may_hold_costs_a_threshold_or_a_ratio(tmp_path: Path, text, threshold):
    path = tmp_path / "task.toml"
    path.write_text(text, encoding="utf-8")
    assert DecisionTask.from_file(path).thresholds == pytest.approx([threshold])


def test_ready_made_tasks():
    assert DecisionTask.umbrella().thresholds == pytest.approx([0.1])
    assert DecisionTask.zero_one().thresholds == pytest.approx([0.5])
    assert DecisionTask.zero_one().best_response(0.5) == "guess 0"
    quadratic = DecisionTask.quadratic(11)
    assert quadratic.thresholds == pytest.approx(np.arange(10) / 10 + 0.05)
    assert quadratic.best_response([0.0, 0.26, 1.0]).tolist() == ["0", "0.3", "1"]
    assert quadratic.dominated == ()
    grid = np.linspace(0, 1, 101)
    assert DecisionTask.quadratic(101).phi(grid) == pytest.approx(1 - grid + grid**2, abs=1e-4)


def test_costs_threshold_and_ratio_agree():
    by_costs = DecisionTask.from_costs(false_positive=50, false_negative=350)
    assert by_costs.thresholds == pytest.approx([0.125])
    assert by_costs.range == 350
    assert by_costs.best_response([0.12, 0.125, 0.5]).tolist() == ["wait", "act", "act"]
    by_costs = DecisionTask.from_costs(
        false_positive=1, false_negative=3, actions=("rebook", "hope")
    )
    assert by_costs.best_response(0.3) == "rebook"
    assert DecisionTask.from_threshold(0.125).thresholds == pytest.approx([0.125])
    assert DecisionTask.from_cost_ratio(7).thresholds == pytest.approx([0.125])


def test_rebooking_costs_money_even_when_it_was_right():
    """A fee of 50 whatever happens: the threshold is 50 / 400, not 50 / 450."""
    task = DecisionTask({"rebook": {0: -50, 1: -50}, "wait": {0: 0, 1: -400}})
    assert task.thresholds == pytest.approx([0.125])
    assert task.range == 350  # what the choice changes: 50 on dry days, 350 on others


def test_dominated_actions_are_named_and_do_not_count():
    task = DecisionTask({"good": (1, 0), "other": (0, 1), "never": (-5, -7), "nearly": (0.4, 0.4)})
    assert task.dominated == ("never", "nearly")
    assert task.range == 1
    assert task.thresholds == pytest.approx([0.5])
    touching = DecisionTask({"good": (1, 0), "other": (0, 1), "touching": (0.5, 0.5)})
    assert touching.dominated == ()
    only = DecisionTask({"best": (1, 1), "worse": (0, 0)})
    assert only.thresholds.size == 0
    assert only.range == 0
    assert only.best_response([0, 0.5, 1]).tolist() == ["best"] * 3
    loss = cal.fixed_decision_loss([0, 1, 1], [0.1, 0.1, 0.1], task=only)
    assert (float(loss), loss.settings["normalised"]) == (0.0, 0.0)


def test_actions_that_touch_at_an_end_tie_there_alone():
    """At forecasts of 0 both pay the same; who takes the wrong one loses."""
    task = DecisionTask({"ignore": (0, -1), "monitor": (0, 1)})
    assert task.thresholds.size == 0
    assert task.dominated == ()
    assert task.best_response([0, 1e-9]).tolist() == ["ignore", "monitor"]
    joint = cal.Joint.from_samples([0.5, 0.5], [0.0, 0.25])
    assert cal.fixed_decision_loss(joint, task=task, ties="worst") == pytest.approx(0.5)
    assert cal.fixed_decision_loss(joint, task=task, ties="first") == pytest.approx(0.5)
    assert cal.fixed_decision_loss(joint, task=task, ties="last") == 0
    assert cal.fixed_decision_loss(joint, task=task, ties="best") == 0
    mirrored = DecisionTask({"ignore": (-1, 0), "monitor": (1, 0)})
    joint = cal.Joint.from_samples([0.5, 0.5], [1.0, 0.75])
    assert cal.fixed_decision_loss(joint, task=mirrored) == pytest.approx(0.5)
    assert cal.fixed_decision_loss(joint, task=mirrored, ties="last") == 0


def test_a_threshold_that_rounding_moved_still_ties():
    """The threshold .1 + .2 computed from payoffs is no double that anybody forecasts."""
    task = DecisionTask({"act": (-(0.1 + 0.2), 0), "wait": (0, -0.7)})
    assert task.thresholds[0] != 0.3
    joint = cal.Joint.from_samples([0.0], [0.3])
    assert cal.fixed_decision_loss(joint, task=task, ties="worst") == pytest.approx(0.3)
    assert cal.fixed_decision_loss(joint, task=task, ties="last") == 0
    assert task.best_response(0.3) == "act"
    strict = DecisionTask(task.payoffs, tolerance=0)
    assert strict.best_response(0.3) == "action 1"
    assert cal.fixed_decision_loss(joint, task=strict) == 0


def test_kinks_may_lie_at_the_ends_and_weigh_next_to_nothing():
    for threshold, weight in (([0.0], [1.0]), ([0.0, 1.0], [1, 1]), ([0.2, 0.5], [1.0, 1e-17])):
        task = DecisionTask.from_kinks(threshold, weight)
        assert task.thresholds.tolist() == threshold
        assert len(task.best_response([0.0, 0.2, 0.5, 1.0])) == 4
        bend = task.envelope.high - task.envelope.low
        assert bend.sum() == pytest.approx(sum(weight))
        joint = cal.Joint.from_samples([0.5, 0.5, 0.5], [0.0, 0.4, 1.0])
        curve = cal.decision_loss_curve(joint)
        expected = sum(w * float(curve(t)) / 2 for t, w in zip(threshold, weight, strict=True))
        assert cal.fixed_decision_loss(joint, task=task) == pytest.approx(expected)


def test_a_task_may_have_thousands_of_actions():
    task = DecisionTask.quadratic(3001)
    assert task.thresholds.size == 3000
    assert task.dominated == ()


def test_repr_reads_back_and_tasks_pickle():
    for task in (DecisionTask.umbrella(), DecisionTask.from_kinks([0.25, 0.75], [1, 1])):
        assert eval(repr(task)) == task  # noqa: S307
        again = pickle.loads(pickle.dumps(task))  # noqa: S301
        assert again == task
        assert again.thresholds.tolist() == task.thresholds.tolist()
    assert repr(DecisionTask.quadratic(101)) == (
        "DecisionTask({'0': {0: 1, 1: 0}, '0.01': {0: 0.9999, 1: 0.0199}, ... 98 more ..., "
        "'1': {0: 0, 1: 1}})"
    )
    assert DecisionTask.umbrella() != DecisionTask.zero_one()
    assert DecisionTask.umbrella() != 1


def test_payoffs_are_read_only_and_answers_take_any_shape():
    task = DecisionTask.umbrella()
    with pytest.raises(ValueError, match="read-only"):
        task.payoffs[0, 0] = 1
    assert task.best_response([[0.0], [0.5]]).tolist() == [["leave"], ["carry"]]
    assert isinstance(task.best_response(0.5), str)
    assert task.best_response(0.1, ties="last") == "leave"
    assert task.payoff("leave", [0, 1]).tolist() == [0, -0.9]
    assert task.payoff(task.best_response([0.05, 0.5]), [1, 0]).tolist() == [-0.9, -0.1]


REFUSED = {
    "NaN": ({"a": (0, np.nan), "b": (0, 0)}, "payoff of 'a' for outcome 1 must be a finite number"),
    "infinite": ({"a": (0, 1), "b": (-np.inf, 0)}, "payoff of 'b' for outcome 0 .* got -inf"),
    "text": ({"a": (0, 1), "b": ("much", 0)}, "'b' for outcome 0 must be a finite number.* 'much'"),
    "missing": ({"a": (0, None), "b": (0, 0)}, "'a' for outcome 1 must be a finite number"),
    "flag": ({"a": (0, True), "b": (0, 0)}, "'a' for outcome 1 must be a finite number"),
    "overflow": ({"a": (0, 1e308), "b": (0, -1e308)}, "differences of payoffs must be finite"),
    "one action": ({"a": (0, 1)}, "at least two actions .* only 'a'"),
    "no action": ({}, "at least two actions"),
    "three outcomes": ({"a": {0: 1, 1: 2, 2: 3}, "b": (0, 0)}, "'a' must be given for outcomes 0"),
    "wrong outcomes": ({"a": {"no": 1, "yes": 2}, "b": (0, 0)}, "got outcomes no, yes"),
    "one outcome": ({"a": {0: 1}, "b": (0, 0)}, "'a' must be given for outcomes 0 and 1"),
    "one number": ({"a": 3, "b": (0, 0)}, "'a' must be two numbers"),
    "string": ({"a": "xy", "b": (0, 0)}, "'a' must be two numbers"),
    "flat": ([1, 2, 3], "row per action and a column per outcome"),
    "ragged": ([[1, 2], [3]], "payoffs must be a table|row per action"),
    "three columns": (np.zeros((2, 3)), r"got shape \(2, 3\)"),
    "frame": (pd.DataFrame({"action": ["a"], "yes": [1]}), "columns action, 0, 1"),
    "frame twice": (
        pd.DataFrame({"action": ["a", "a"], "0": [1, 2], "1": [1, 2]}),
        "names of actions must differ, got 'a' twice",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_payoffs_are_refused_by_name(name):
    payoffs, message = REFUSED[name]
    with pytest.raises(InvalidOptionError, match=message):
        DecisionTask(payoffs)


def test_bad_names_are_refused():
    with pytest.raises(InvalidOptionError, match="must differ, got 'a' twice"):
        DecisionTask([[0, 1], [1, 0]], ["a", "a"])
    with pytest.raises(InvalidOptionError, match="one name per action, got 3 names for 2"):
        DecisionTask([[0, 1], [1, 0]], ["a", "b", "c"])
    with pytest.raises(InvalidOptionError, match="actions are the keys"):
        DecisionTask(UMBRELLA, ["a", "b"])
    with pytest.raises(InvalidOptionError, match="tolerance"):
        DecisionTask(UMBRELLA, tolerance=-1)


@pytest.mark.parametrize("cost", [0, -50, np.inf, np.nan])
def test_costs_of_the_wrong_sign_are_refused(cost):
    with pytest.raises(InvalidOptionError, match=r"false_positive must be a positive, finite cost"):
        DecisionTask.from_costs(false_positive=cost, false_negative=1)
    with pytest.raises(InvalidOptionError, match=r"false_negative .* payoffs are their negatives"):
        DecisionTask.from_costs(false_positive=1, false_negative=cost)
    with pytest.raises(InvalidOptionError, match="ratio must be positive"):
        DecisionTask.from_cost_ratio(cost)


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 12, np.nan])
def test_thresholds_outside_are_refused(threshold):
    with pytest.raises(InvalidOptionError, match="threshold must lie between 0 and 1"):
        DecisionTask.from_threshold(threshold)


@pytest.mark.parametrize(
    ("threshold", "weight"),
    [
        ([0.5, 0.2], [1, 1]),
        ([-0.1], [1]),
        ([0.5], [0]),
        ([0.5], [np.nan]),
        ([0.5], [1, 1]),
        ([], []),
    ],
)
def test_bad_kinks_are_refused(threshold, weight):
    with pytest.raises(InvalidOptionError, match=r"thresholds must increase|weights must be"):
        DecisionTask.from_kinks(threshold, weight)


BAD_FILES = {
    "task.json": ("{not json", "must be readable JSON, got task.json"),
    "list.json": ("[1, 2]", "payoffs by action, got a list"),
    "task.toml": ("= 3", "must be readable TOML"),
    "cost.toml": ("[costs]\nfalse_positive = 3", "costs must be false_positive and false_negative"),
    "sign.toml": ("[costs]\nfalse_positive = 3\nfalse_negative = -1", "false_negative must be"),
    "word.toml": ("threshold = 'half'", "threshold must lie between 0 and 1"),
    "task.csv": ("action,0\na,1\n", "columns action, 0, 1, got columns action, 0"),
    "twice.csv": ("action,0,1\na,1,2\na,2,1\n", "got 'a' twice"),
    "long.csv": ("action,0,1\na,1,2\nb,2,1,7\n", "columns action, 0, 1"),
    "word.csv": ("action,0,1\na,1,2\nb,x,1\n", "payoff of 'b' for outcome 0 .* got 'x'"),
    "short.csv": ("action,0,1\na,1\nb,2,1\n", "payoff of 'a' for outcome 1"),
    "empty.csv": ("", "columns action, 0, 1"),
    "task.txt": ("", "must end in one of .csv, .json, .toml, got .txt"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused(tmp_path: Path, name):
    text, message = BAD_FILES[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidOptionError, match=message):
        DecisionTask.from_file(tmp_path / name)


def test_a_missing_file_and_wrong_bytes_are_refused(tmp_path: Path):
    with pytest.raises(InvalidOptionError, match="the task file must exist"):
        DecisionTask.from_file(tmp_path / "none.csv")
    for name in ("bytes.json", "bytes.toml", "bytes.csv"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InvalidOptionError, match="must be readable"):
            DecisionTask.from_file(tmp_path / name)


def test_bad_questions_are_refused():
    task = DecisionTask.umbrella()
    with pytest.raises(InvalidOptionError, match="predictions must be in"):
        task.best_response([0.5, 1.5])
    with pytest.raises(InvalidOptionError, match="predictions must be in"):
        task.phi(np.nan)
    with pytest.raises(InvalidOptionError, match="ties must be"):
        task.best_response(0.5, ties="worst")
    with pytest.raises(InvalidOptionError, match="one of carry, leave, got 'stay'"):
        task.payoff("stay", 1)
    with pytest.raises(InvalidOptionError, match="outcomes must be 0 or 1"):
        task.payoff("carry", 2)
    with pytest.raises(InvalidOptionError, match="at least 2"):
        DecisionTask.quadratic(1)
