"""Options that would do nothing are rejected: one walk over the table of rules."""

from __future__ import annotations

import json

import pytest
import typer

from calibrant.cli.combinations import EXCLUDES, FOR_TABLES, NEEDS, TESTS, refuse_useless
from calibrant.cli.main import app
from calibrant.errors import InvalidOptionError
from commands import run

# Words that make a condition true.
MET = {
    "two columns in --by": ["--by", "a,b"],
    "measures with tolerances of their own": ["--measure", "cutoff_calibration_error=0.1"],
    "measures other than smooth_calibration_error": ["--measure", "cutoff_calibration_error"],
    "kind": ["--kind", "mean"],
}
# Values of options that are not any text.
VALUES = {
    "cluster_forecast": "last",
    "horizon": "3",
    "level": "0.9",
    "max_worse": "0.1",
    "folds": "3",
    "confidence": "0.9",
    "seed": "1",
    "base_rate": "0.2",
}
REQUIRED = {"monitor": ["--time", "t"], "apply": ["--out", "x.csv"]}
PAIRS = [
    (command, option, one)
    for command, rules in EXCLUDES.items()
    for option, conditions in rules.items()
    for one in conditions
]
LONELY = [(command, option) for command, rules in NEEDS.items() for option in rules]


def _command(name):
    program = typer.main.get_command(app)
    return program.get_command(typer.Context(program), name)


def _option(command, name):
    return next(one for one in command.params if one.name == name)


def _words(command, condition):
    """Write an option with some value, or whatever else makes a condition true."""
    if condition in MET:
        return MET[condition]
    name, _, value = condition.partition("=")
    option = _option(command, name)
    if getattr(option, "is_flag", False):
        return [option.opts[0]]
    return [option.opts[0], value or VALUES.get(name, "x")]


def _refused(name, words):
    command = _command(name)
    files = [] if name == "online" else ["rows.csv"]
    context = command.make_context(name, [*files, *REQUIRED.get(name, []), *words])
    refuse_useless(context)


@pytest.mark.parametrize(("name", "option"), LONELY, ids=map(".".join, LONELY))
def test_an_option_is_rejected_without_what_it_needs(name, option, tmp_path):
    command = _command(name)
    alone = _words(command, option)
    with pytest.raises(InvalidOptionError, match=f"{_option(command, option).opts[0]} needs "):
        _refused(name, alone)
    for one in NEEDS[name][option]:
        if one == "a file of outcomes":
            (tmp_path / "rows.csv").write_text("outcome\n1\n")
            needed = ["foster", str(tmp_path / "rows.csv")]
        else:
            needed = _words(command, one)
        _refused(name, [*alone, *needed])


@pytest.mark.parametrize(("name", "option", "one"), PAIRS, ids=map(".".join, PAIRS))
def test_an_option_is_rejected_beside_what_it_does_nothing_with(name, option, one):
    command = _command(name)
    needed = [
        word for lone in NEEDS.get(name, {}).get(option, [])[:1] for word in _words(command, lone)
    ]
    words = [*_words(command, option), *_words(command, one)]
    if one == "only_difference":
        words += ["--baseline", "old.csv"]
    wanted = f"{_option(command, option).opts[0]} cannot be used with "
    with pytest.raises(InvalidOptionError, match=wanted):
        _refused(name, [*needed, *words])


def test_every_rule_names_options_of_its_command():
    for rules in (NEEDS, EXCLUDES):
        for name, of_command in rules.items():
            command = _command(name)
            for option, conditions in of_command.items():
                assert _option(command, option)
                for one in conditions:
                    assert one in TESTS or _option(command, one.partition("=")[0])


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    lines = [
        {
            "question_id": f"q{i // 2}",
            "model": "ab"[i % 2],
            "confidence": 0.5,
            "correct": i % 3 == 0,
        }
        for i in range(40)
    ]
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("name", ["audit", "check", "recalibrate", "compare"])
def test_options_of_tables_are_rejected_for_logs(log, name):
    from calibrant.cli.logs import Reading, answers_of
    from calibrant.data.paths import settled
    from calibrant.inputs import Roles

    own = [one for one in FOR_TABLES if any(one == p.name for p in _command(name).params)]
    assert {"weight", "pos_label", "na_label"} <= {*own}
    for option in own:
        with settled([log]) as files, pytest.raises(InvalidOptionError, match="is for tables"):
            answers_of(files, Roles(), Reading(typed={option: "x"}))
    done = run(name, log, "--weight", "w")
    assert (done.returncode, "--weight is for tables, got a log" in done.stderr) == (2, True)


def test_a_column_of_predictions_beside_columns_of_classes_is_rejected(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "a,b,c,outcome,day\n" + "0.2,0.3,0.5,c,1\n0.5,0.3,0.2,a,2\n0.1,0.8,0.1,b,3\n" * 20
    )
    sentence = "--prediction has no effect beside columns of classes, got 'nosuch'"
    for name, more in (
        ("audit", []),
        ("check", []),
        ("recalibrate", []),
        ("monitor", ["--time", "day"]),
    ):
        done = run(name, str(rows), "--classes", "a,b,c", "--prediction", "nosuch", *more)
        assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
    fitted = str(tmp_path / "calibrator.json")
    done = run(
        "recalibrate",
        str(rows),
        "--classes",
        "a,b,c",
        "--methods",
        "temperature",
        "--calibrator",
        fitted,
    )
    assert done.returncode == 0, done.stderr
    out = str(tmp_path / "out.csv")
    done = run("apply", fitted, str(rows), "--out", out, "--prediction", "nosuch")
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
    assert run("apply", fitted, str(rows), "--out", out).returncode == 0


def test_a_base_rate_needs_no_column_of_outcomes(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("prediction\n0.2\n0.4\n0.3\n")
    done = run("recalibrate", str(rows), "--base-rate", "0.1", "--calibrator", "-")
    assert done.returncode == 0, done.stderr
    odds = json.loads(done.stdout)["fitted"]["odds_ratio_"]
    assert odds == pytest.approx((0.1 / 0.9) / (0.3 / 0.7))
    text = run("recalibrate", str(rows), "--base-rate", "0.1").stdout
    assert "the mean prediction is taken for the base rate of these rows" in text
    done = run("recalibrate", str(rows), "--base-rate", "0.1", "--outcome", "y")
    assert (done.returncode, "'y'" in done.stderr) == (2, True)


def test_answers_do_not_replace_a_file_unasked(log, tmp_path):
    out = tmp_path / "rows.parquet"
    out.write_text("mine")
    done = run("llm", log, "--out", str(out))
    assert (done.returncode, "--force" in done.stderr, out.read_text()) == (2, True, "mine")
    assert run("llm", log, "--out", str(out), "--force").returncode == 0
    assert out.read_bytes()[:4] == b"PAR1"
