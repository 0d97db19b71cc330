"""The audit of class forecasts, from Python."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant._base.words import typeset
from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.inference import Evidence, Settings, find_costs
from calibrant.multiclass import ClassForecasts
from calibrant.multiclass.costs import find_class_costs
from oracles.class_definitions import draw_labels
from samples import ANIMALS, animals


@pytest.fixture(scope="module")
def off():
    label, table = animals(lift=(6, 1, 1))
    return cal.audit(label, table, classes=ANIMALS, title="Animals", draws=199)


def test_an_audit_names_classes_and_sets_that_are_off(off):
    assert off.by_class.groups[0].name == "cat"
    assert off.by_class.groups[0].state == "miscalibrated"
    assert off.summary.classes.sets.projected.witness.classes == ("cat",)
    assert off.summary.classes.sets.projected_test.pvalue == 1 / 40
    assert off.summary.classes.sets.canonical.pvalue == 1 / 100
    text = off.to_text()
    assert text.startswith("1 500 forecasts of 3 classes")
    assert "Worst: class cat" in text
    assert "Whole rows are off" in text


def test_verdict_by_class_is_that_of_its_column():
    label, table = animals(400, seed=3)
    result = cal.audit(label, table, classes=ANIMALS, draws=99)
    for group in result.by_class:
        column = ANIMALS.index(group.name)
        joint = cal.Joint.from_samples(label == group.name, table[:, column])
        assert group.value == cal.smooth_calibration_error(joint)
        assert group.events == (label == group.name).sum()
    assert result.verdict.value == cal.smooth_calibration_error(
        cal.multiclass.top_label(label, table, classes=ANIMALS)
    )
    assert "All 3 classes are undecided: too few rows" in result.by_class.sentence
    assert result.summary.settings["tolerance by class"] == 0.02


def test_json_and_page_hold_what_the_text_says(off, tmp_path):
    data = json.loads(off.to_json(tmp_path / "audit.json"))
    assert json.loads((tmp_path / "audit.json").read_text()) == data
    assert data["schema"] == 4
    assert data["kind"] == {"name": "multiclass", "level": None}
    assert data["classes"]["by_class"]["groups"][0]["name"] == "cat"
    assert data["classes"]["worst_set"]["classes"] == ["cat"]
    assert data["classes"]["worst_set"]["test"]["pvalue"] == 1 / 40
    page = off.to_html(tmp_path / "audit.html")
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 5
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert len(page) < 1e6
    assert "Animals" in page
    assert typeset(off.by_class.sentence) in page


@pytest.mark.parametrize(
    ("given", "clusters"),
    [
        (animals(400), None),
        (animals(400), np.arange(400) // 2),
        ((["cat"], [[0.5, 0.25, 0.25]]), None),
        ((["cat", "cat", "cow"], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]), None),
        ((["dog"] * 40, [[0.2, 0.5, 0.3]] * 40), None),
    ],
    ids=["fair", "clusters", "one row", "certain", "one class"],
)
def test_json_follows_the_schema_that_ships(given, clusters):
    schema = json.loads(files("calibrant.report").joinpath("schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    result = cal.audit(*given, classes=ANIMALS, clusters=clusters, draws=19)
    jsonschema.validate(json.loads(result.to_json()), schema)


def test_json_of_searched_sets_follows_the_schema():
    schema = json.loads(files("calibrant.report").joinpath("schema.json").read_text("utf-8"))
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.ones(20), 60)
    data = json.loads(cal.audit(draw_labels(rng, table), table, draws=19).to_json())
    jsonschema.validate(data, schema)
    worst = data["classes"]["worst_set"]
    assert worst["searched"]
    assert worst["bounds"][1] == 1
    assert worst["noise_floor"] == worst["test"]["noise_floor"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data | {"kind": "two outcomes"}, schema)
    del worst["noise_floor"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_names_of_classes_are_escaped_in_the_page():
    label, table = animals(60)
    bad = [f"<b>{name}</b>" for name in ANIMALS]
    renamed = np.array([f"<b>{name}</b>" for name in label])
    page = cal.audit(renamed, table, classes=bad, draws=19).to_html()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_two_classes_are_audited_as_the_binary_case():
    rng = np.random.default_rng(5)
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(int)
    result = cal.audit(y, np.column_stack([1 - p, p]), classes=[0, 1], draws=49)
    error = cal.smooth_calibration_error(y, p)
    assert {group.name: group.value for group in result.by_class}["1"] == error
    assert result.summary.classes.sets.projected == error
    assert result.summary.classes.sets.projected.witness.classes == (1,)
    kernel = cal.kernel_calibration_error(y, p)
    assert result.summary.classes.sets.canonical.statistic == pytest.approx(
        float(kernel), abs=1e-12
    )
    assert result.verdict.value == cal.smooth_calibration_error(
        (p > 0.5) == y, np.maximum(p, 1 - p)
    )


def test_order_of_classes_changes_no_error():
    label, table = animals(300, seed=6, lift=(3, 1, 1))
    order = [2, 0, 1]
    plain = cal.audit(label, table, classes=ANIMALS, draws=49)
    other = cal.audit(label, table[:, order], classes=[ANIMALS[index] for index in order], draws=49)
    first, second = (
        {group.name: (group.value, group.events) for group in result.by_class}
        for result in (plain, other)
    )
    assert first == second
    assert other.verdict.value == plain.verdict.value
    assert float(other.summary.classes.sets.projected) == pytest.approx(
        float(plain.summary.classes.sets.projected)
    )


def test_a_class_that_never_happens_is_audited_with_the_others():
    rng = np.random.default_rng(7)
    table = rng.dirichlet([2, 2, 1], 2000)
    label = pd.Categorical(np.where(rng.random(2000) < 0.5, "cat", "dog"), categories=ANIMALS)
    result = cal.audit(label, table, classes=ANIMALS, draws=99)
    cow = next(group for group in result.by_class if group.name == "cow")
    assert cow.events == 0
    assert cow.state == "miscalibrated"
    assert cow.value == pytest.approx(table[:, 2].mean())
    assert "cow" in result.to_text()
    json.loads(result.to_json())


def test_clusters_forbid_redraws_and_weights_of_zero_are_removal():
    label, table = animals(90)
    cluster = np.repeat(np.arange(30), 3)
    result = cal.audit(label, table, classes=ANIMALS, clusters=cluster, draws=49)
    assert result.summary.classes.sets.canonical is None
    assert result.summary.classes.sets.projected_test is None
    assert "not tested" in result.to_text()
    assert json.loads(result.to_json())["classes"]["canonical"] is None
    weight = np.r_[np.zeros(30), np.ones(60)]
    lighter = cal.audit(
        label, table, classes=ANIMALS, clusters=cluster, sample_weight=weight, draws=49
    )
    assert lighter.summary.data.rows == 60


def test_many_classes_have_exact_errors_and_noise_on_cells():
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.ones(70), 300)
    label = draw_labels(rng, table)
    result = cal.audit(label, table, draws=19)
    exact = cal.multiclass.class_wise(label, table)
    assert {group.name: group.value for group in result.by_class} == {
        str(name): value for name, value in exact
    }
    assert ", noise floor 0.0" in result.to_text()
    assert len(result.by_class) == 70
    assert "and 60 classes with less evidence" in result.to_text()
    assert result.summary.settings["tolerance by class"] == pytest.approx(0.1 / 70)


def test_audit_refuses_forecasts_of_nothing():
    with pytest.raises(InvalidForecastsError):
        cal.audit([], np.empty((0, 3)))


@pytest.fixture(scope="module")
def full():
    """An audit of classes in which everything was asked for."""
    label, table = animals(900, lift=(6, 1, 1))
    rows = np.arange(900)
    task = cal.multiclass.MulticlassDecisionTask({
        "wait": {"cat": 0, "dog": 0, "cow": 0},
        "run": {"cat": -1, "dog": 3, "cow": 2},
    })  # fmt: skip
    by = {"site": np.array(["north", "south"])[rows % 2]}
    return cal.audit(
        label,
        table,
        classes=ANIMALS,
        by=by,
        time=rows // 30,
        task=task,
        find_segments=True,
        risk=0.4,
        draws=99,
        title="Animals",
    )


def test_classes_have_every_section_that_two_outcomes_have(full):
    data = json.loads(full.to_json())
    schema = json.loads(files("calibrant.report").joinpath("schema.json").read_text("utf-8"))
    jsonschema.validate(data, schema)
    # Nobody asked for a tolerance of observed over expected events.
    assert [name for name, section in data.items() if section is None] == ["ratio", "loss"]
    assert data["costs"]["own_task"]
    assert data["time"]["rows"] == 900
    assert data["recalibrate"]["calibrator"] == full.summary.choice.calibrator.method
    assert {"CAL001", "CAL043", "CAL070"} <= {finding.code for finding in full.findings}


def test_no_finding_of_classes_advises_what_is_for_two_outcomes():
    label, table = animals(900, lift=(6, 1, 1))
    by = {"site": np.array(["north", "south"])[np.arange(900) % 2]}
    audit = cal.audit(label, table, classes=ANIMALS, by=by, draws=19)
    (advice,) = (finding.advice for finding in audit.findings if finding.code == "CAL040")
    assert advice == "give the model the column site"


def test_sections_of_classes_look_at_confidence(full):
    label, table = animals(900, lift=(6, 1, 1))
    forecast = ClassForecasts.read(label, table, classes=ANIMALS)
    joint = forecast.top_label()
    assert full.summary.joint == joint
    measure = cal.CATALOGUE["binned_calibration_error"].function
    assert float(full.measures["binned_calibration_error"]) == float(measure(joint))
    north = np.arange(900) % 2 == 0
    rows = forecast.top_label_rows()
    expected = cal.smooth_calibration_error(rows.outcome[north], rows.prediction[north])
    values = {group.name: group.value for group in full.groups}
    assert values["north"] == float(expected)
    task = full.summary.costs.task
    promised = cal.multiclass.promised_and_received(forecast, task=task)
    assert full.summary.costs.promised == promised


def test_a_perfect_forecaster_brings_what_it_promises_within_its_noise():
    """The spread that is told is that of redrawn labels."""
    rng = np.random.default_rng(4)
    table = rng.dirichlet(np.ones(3), 200)
    forecasts = ClassForecasts.read(draw_labels(rng, table), table)
    confidence = find_costs(Evidence.of_joint(forecasts.top_label()), Settings.read(draws=9))
    costs = find_class_costs(confidence, forecasts, None, alone=True)
    drawn = (table.cumsum(axis=1) < rng.random((4000, 200, 1))).sum(axis=2)
    received = np.mean(table.argmax(axis=1) == drawn, axis=1)
    assert np.std(received) == pytest.approx(costs.noise, rel=0.05)
    assert np.mean(received) == pytest.approx(costs.promised.promised, abs=0.005)


def test_the_cost_of_guessing_is_said_clearly(off):
    text = off.to_text()
    assert "Acting on the most likely class promises to be right in" in text
    assert "Perfect forecasts come within" in text


def test_markdown_and_notebooks_show_classes(off, tmp_path):
    text = off.to_markdown(tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text() == text
    assert text.startswith("## Animals: miscalibrated")
    assert "| class | events |" in text
    assert "| cat |" in text
    assert "CAL043" in text
    assert off._repr_html_().startswith("<iframe srcdoc=")


def test_frames_files_and_arrays_give_one_audit(tmp_path):
    label, table = animals(120)
    frame = pd.DataFrame(table, columns=ANIMALS).assign(kind=label, site=np.arange(120) % 3)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = {"classes": ANIMALS, "outcome": "kind", "by": ["site"], "draws": 19}
    lists = pl.DataFrame({"prediction": table.tolist(), "kind": label, "site": frame["site"]})
    read = [
        cal.audit(given, **options)
        for given in (frame, pl.from_pandas(frame), tmp_path / "rows.csv", lists)
    ]
    read.append(cal.audit(label, table, classes=ANIMALS, by={"site": frame["site"]}, draws=19))
    read.append(cal.audit(label, frame[ANIMALS], by={"site": frame["site"]}, draws=19))
    assert len({audit.summary.data.fingerprint for audit in read}) == 1
    assert len({(audit.verdict.sentence, audit.groups.sentence) for audit in read}) == 1
    assert len({audit.by_class.sentence for audit in read}) == 1


def test_labels_that_mean_missing_are_dropped_on_request(tmp_path):
    label, table = animals(80)
    frame = pd.DataFrame(table, columns=ANIMALS).assign(outcome=label)
    frame.loc[:3, "outcome"] = "pending"
    with pytest.raises(InvalidForecastsError, match="pending"):
        cal.audit(frame, classes=ANIMALS, draws=19)
    with pytest.raises(InvalidForecastsError, match="missing"):
        cal.audit(frame, classes=ANIMALS, na_label="pending", draws=19)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for given in (frame, tmp_path / "rows.csv"):
        found = cal.audit(given, classes=ANIMALS, na_label="pending", na="drop", draws=19)
        assert (found.summary.data.rows, found.summary.data.dropped) == (76, 4)
        assert "CAL034" in {finding.code for finding in found.findings}


def test_more_than_two_columns_need_no_positive_label():
    label, table = animals(30)
    with pytest.raises(InvalidOptionError, match="pos_label is for forecasts of two outcomes"):
        cal.audit(label, table, classes=ANIMALS, pos_label="cat")
    with pytest.raises(InvalidOptionError, match="task must be a MulticlassDecisionTask"):
        cal.audit(label, table, classes=ANIMALS, task=cal.DecisionTask.umbrella(), draws=19)
    task = cal.multiclass.MulticlassDecisionTask(np.eye(3))
    with pytest.raises(InvalidOptionError, match="task must be a DecisionTask"):
        cal.audit([0, 1], [0.2, 0.7], task=task, draws=19)


def test_many_probabilities_are_guessed_for_nobody(monkeypatch):
    monkeypatch.setattr("calibrant.multiclass.costs.MOST_GUESSED", 100)
    label, table = animals(60)
    result = cal.audit(label, table, classes=ANIMALS, draws=19)
    assert result.summary.costs.task is None
    assert "Acting on them shows no loss beyond chance" in result.to_text()
    result.to_html()


def test_one_group_and_one_probability_are_singular():
    label, table = animals(300)
    few = np.where(np.arange(300) < 20, "small", "large")
    table[0] = [1 + 1e-10, -1e-10, 0]
    table[1] = [-1e-10, 1 + 1e-10, 0]
    text = cal.audit(label, table, classes=ANIMALS, by={"size": few}, draws=19).to_text()
    assert "1 group with few rows or events: its interval is wide." in text
    assert "4 probabilities outside [0, 1]" in text


CERTAIN = [0] * 90 + [1] * 10, np.eye(3)[[0] * 100]


def test_answers_without_doubt_are_judged():
    result = cal.audit(*CERTAIN, draws=99)
    text = str(result)
    assert text.startswith("Miscalibrated: confidences are too high by 10 points")
    assert "mean confidence 100 %, accuracy 90 %" in " ".join(text.split())
    two = cal.audit([1] * 90 + [0] * 10, [1.0] * 100, draws=99)
    assert result.verdict.state == two.verdict.state == "miscalibrated"
    for written in (result.to_json(), result.to_text(), result.to_markdown()):
        assert "nan" not in written.lower()
    assert "<svg" in result.to_html()


def test_answers_without_doubt_are_judged_by_group_and_repaired():
    label, table = CERTAIN
    order = np.random.default_rng(0).permutation(100)
    label, table = np.array(label)[order], table[order]
    by = np.arange(100) % 2
    assert len(cal.audit(label, table, by=by, draws=99).groups.groups) == 2
    assert not cal.recalibrate(label, table, rng=0).unchanged
    right = np.zeros(60, dtype=int)
    assert cal.recalibrate(right, np.eye(3)[right], rng=0).unchanged
    assert cal.smooth_calibration_error(cal.multiclass.top_label(label, table)) == pytest.approx(
        0.1
    )


@pytest.mark.parametrize("name", ["load_iris", "load_wine", "load_digits"])
def test_trees_are_judged(name):
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.model_selection import cross_val_predict
    from sklearn.tree import DecisionTreeClassifier

    features, label = getattr(datasets, name)(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    table = cross_val_predict(tree, features, label, cv=5, method="predict_proba")
    result = cal.audit(label, table, draws=99)
    wrong = (table.argmax(axis=1) != label).mean()
    assert result.verdict.value == pytest.approx(wrong, abs=1e-9)
    assert "<svg" in result.to_html()
