"""The audit of class forecasts, from Python and from the command line."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import InvalidForecastsError
from calibrant.multiclass import ClassForecasts
from commands import run
from oracles.class_definitions import draw_labels

NAMES = ["cat", "dog", "cow"]


def forecasts(rows=1500, seed=0, lift=(1, 1, 1)):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(3), rows)
    true = table * lift
    label = draw_labels(rng, true / true.sum(axis=1, keepdims=True))
    return np.array(NAMES)[label], table


@pytest.fixture(scope="module")
def off():
    label, table = forecasts(lift=(6, 1, 1))
    return cal.audit_classes(label, table, classes=NAMES, title="Animals", draws=199)


def test_an_audit_names_classes_and_sets_that_are_off(off):
    assert off.by_class.groups[0].name == "cat"
    assert off.by_class.groups[0].state == "miscalibrated"
    assert off.summary.projected.witness.classes == ("cat",)
    assert off.summary.projected_test.pvalue == 1 / 40
    assert off.summary.canonical.pvalue == 1 / 100
    text = str(off)
    assert text.startswith("1 500 forecasts of 3 classes")
    assert "Most clearly: cat" in text
    assert "Whole rows are off" in text


def test_verdict_by_class_is_that_of_its_column():
    label, table = forecasts(400, seed=3)
    result = cal.audit_classes(label, table, classes=NAMES, draws=99)
    for group in result.by_class:
        column = NAMES.index(group.name)
        joint = cal.Joint.from_samples(label == group.name, table[:, column])
        assert group.value == cal.smooth_calibration_error(joint)
        assert group.events == (label == group.name).sum()
    assert result.verdict.value == cal.smooth_calibration_error(
        cal.multiclass.top_label(label, table, classes=NAMES)
    )
    assert "certainly" in result.summary.class_sentence
    assert result.summary.settings["tolerance by class"] == 0.02


def test_json_and_page_hold_what_the_text_says(off, tmp_path):
    data = json.loads(off.to_json(tmp_path / "audit.json"))
    assert json.loads((tmp_path / "audit.json").read_text()) == data
    assert data["schema"] == 1
    assert data["kind"] == "classes"
    assert data["classes"]["classes"][0]["name"] == "cat"
    assert data["worst_set"]["classes"] == ["cat"]
    assert data["worst_set"]["test"]["pvalue"] == 1 / 40
    page = off.to_html(tmp_path / "audit.html")
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 3
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert len(page) < 1e6
    assert "Animals" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("given", "clusters"),
    [
        (forecasts(400), None),
        (forecasts(400), np.arange(400) // 2),
        ((["cat"], [[0.5, 0.25, 0.25]]), None),
        ((["cat", "cat", "cow"], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]), None),
        ((["dog"] * 40, [[0.2, 0.5, 0.3]] * 40), None),
    ],
    ids=["fair", "clusters", "one row", "certain", "one class"],
)
def test_json_follows_the_schema_that_ships(given, clusters):
    schema = json.loads(files("calibrant.report").joinpath("class_schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    result = cal.audit_classes(*given, classes=NAMES, clusters=clusters, draws=19)
    jsonschema.validate(json.loads(result.to_json()), schema)


def test_json_of_searched_sets_follows_the_schema():
    schema = json.loads(files("calibrant.report").joinpath("class_schema.json").read_text("utf-8"))
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.ones(20), 60)
    data = json.loads(cal.audit_classes(draw_labels(rng, table), table, draws=19).to_json())
    jsonschema.validate(data, schema)
    assert data["worst_set"]["searched"]
    assert data["worst_set"]["bounds"][1] == 1
    assert data["worst_set"]["noise_floor"] == data["worst_set"]["test"]["noise_floor"]
    del data["worst_set"]["noise_floor"]
    with pytest.raises(jsonschema.ValidationError, match="noise_floor"):
        jsonschema.validate(data, schema)


def test_names_of_classes_are_escaped_in_the_page():
    label, table = forecasts(60)
    bad = [f"<b>{name}</b>" for name in NAMES]
    renamed = np.array([f"<b>{name}</b>" for name in label])
    page = cal.audit_classes(renamed, table, classes=bad, draws=19).to_html()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_two_classes_are_audited_as_the_binary_case():
    rng = np.random.default_rng(5)
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(int)
    result = cal.audit_classes(y, np.column_stack([1 - p, p]), draws=49)
    error = cal.smooth_calibration_error(y, p)
    assert {group.name: group.value for group in result.by_class}["1"] == error
    assert result.summary.projected == error
    assert result.summary.projected.witness.classes == (1,)
    kernel = cal.kernel_calibration_error(y, p)
    assert result.summary.canonical.statistic == pytest.approx(float(kernel), abs=1e-12)
    assert result.verdict.value == cal.smooth_calibration_error(
        (p > 0.5) == y, np.maximum(p, 1 - p)
    )


def test_order_of_classes_changes_no_error():
    label, table = forecasts(300, seed=6, lift=(3, 1, 1))
    order = [2, 0, 1]
    plain = cal.audit_classes(label, table, classes=NAMES, draws=49)
    other = cal.audit_classes(
        label, table[:, order], classes=[NAMES[index] for index in order], draws=49
    )
    first, second = (
        {group.name: (group.value, group.events) for group in result.by_class}
        for result in (plain, other)
    )
    assert first == second
    assert other.verdict.value == plain.verdict.value
    assert float(other.summary.projected) == pytest.approx(float(plain.summary.projected))


def test_a_class_that_never_happens_is_audited_with_the_others():
    rng = np.random.default_rng(7)
    table = rng.dirichlet([2, 2, 1], 2000)
    label = pd.Categorical(np.where(rng.random(2000) < 0.5, "cat", "dog"), categories=NAMES)
    result = cal.audit_classes(label, table, classes=NAMES, draws=99)
    cow = next(group for group in result.by_class if group.name == "cow")
    assert cow.events == 0
    assert cow.state == "miscalibrated"
    assert cow.value == pytest.approx(table[:, 2].mean())
    assert "cow" in str(result)
    json.loads(result.to_json())


def test_clusters_forbid_redraws_and_weights_of_zero_are_removal():
    label, table = forecasts(90)
    cluster = np.repeat(np.arange(30), 3)
    result = cal.audit_classes(label, table, classes=NAMES, clusters=cluster, draws=49)
    assert result.summary.canonical is None
    assert result.summary.projected_test is None
    assert "not tested" in str(result)
    assert json.loads(result.to_json())["canonical"] is None
    weight = np.r_[np.zeros(30), np.ones(60)]
    lighter = cal.audit_classes(
        label, table, classes=NAMES, clusters=cluster, sample_weight=weight, draws=49
    )
    assert lighter.summary.data.rows == 60


def test_many_classes_have_exact_errors_and_noise_on_cells():
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.ones(70), 300)
    label = draw_labels(rng, table)
    result = cal.audit_classes(label, table, draws=19)
    exact = cal.multiclass.class_wise(label, table)
    assert {group.name: group.value for group in result.by_class} == {
        str(name): value for name, value in exact
    }
    assert "The worst set of a perfect forecaster gets" in str(result)
    assert len(result.by_class) == 70
    assert "and 58 classes with less evidence" in str(result)
    assert result.summary.settings["tolerance by class"] == pytest.approx(0.1 / 70)


def test_command_reads_columns_and_lists(tmp_path):
    label, table = forecasts(200)
    frame = pd.DataFrame(table, columns=NAMES).assign(outcome=label)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with (tmp_path / "rows.jsonl").open("w", encoding="utf-8") as file:
        for row, name in zip(table.tolist(), label, strict=True):
            file.write(json.dumps({"prediction": row, "outcome": str(name)}) + "\n")
    outputs = [
        run("audit", str(tmp_path / f"rows.{kind}"), "--classes", "cat,dog,cow", "--json", "-")
        for kind in ("csv", "jsonl")
    ]
    assert [done.returncode for done in outputs] == [0, 0], [done.stderr for done in outputs]
    first, second = (json.loads(done.stdout) for done in outputs)
    assert first["title"] == "rows.csv"
    assert first["verdict"] == second["verdict"]
    assert first["classes"] == second["classes"]
    expected = cal.audit_classes(label, table, classes=NAMES)
    assert first["scores"] == json.loads(expected.to_json())["scores"]


def test_command_takes_positions_percent_and_missing_rows(tmp_path):
    label, table = forecasts(150)
    frame = pd.DataFrame(100 * table, columns=["c0", "c1", "c2"])
    frame["truth"] = [NAMES.index(name) for name in label]
    frame.loc[0, "c0"] = np.nan
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    common = ["audit", str(path), "--classes", "c0,c1,c2", "--outcome", "truth"]
    options = ["--scale", "percent", "--na", "drop", "--html", str(tmp_path / "page.html")]
    done = run(*common, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("149 forecasts of 3 classes")
    assert "1 row with a missing value left out" in done.stdout
    assert (tmp_path / "page.html").exists()
    assert run(*common, "--scale", "percent").returncode == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--classes", "cat,dog,fox"], "lists of numbers"),
        (["--classes", "cat,dog"], "sum to one"),
        (["--classes", "cat,dog,cow", "--by", "outcome"], "--by"),
        (["--classes", "cat,dog,cow", "--outcome", "truth"], "truth"),
    ],
    ids=["stranger", "too few", "groups", "no outcome"],
)
def test_command_refuses_with_one_message(tmp_path, options, said):
    label, table = forecasts(20)
    frame = pd.DataFrame(table, columns=NAMES).assign(outcome=label, prediction=0.5)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = run("audit", str(tmp_path / "rows.csv"), *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_numbers_may_be_names_in_a_file(tmp_path):
    label, table = forecasts(100)
    frame = pd.DataFrame(table, columns=["1", "2", "3"])
    frame["outcome"] = [NAMES.index(name) + 1 for name in label]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = run("audit", str(tmp_path / "rows.csv"), "--classes", "1,2,3", "--json", "-")
    assert done.returncode == 0, done.stderr
    plain = cal.audit_classes(ClassForecasts.read(label, table, classes=NAMES))
    assert json.loads(done.stdout)["verdict"]["value"] == pytest.approx(plain.verdict.value)


def test_audit_refuses_forecasts_of_nothing():
    with pytest.raises(InvalidForecastsError):
        cal.audit_classes([], np.empty((0, 3)))
