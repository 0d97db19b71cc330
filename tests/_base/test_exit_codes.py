"""Exit codes are a contract: only a verdict ends with 0, 1 or 3, whatever goes wrong."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import textwrap
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
import typer

import commands
from calibrant._base.exit_codes import ExitCode
from calibrant._base.writing import DRAFT
from commands import CALIBRANT, run_forked

OLD = "the old file\n"
# Each with its inputs, {rows} and {calibrator}, and where it writes, {out}.
COMMANDS = {
    "audit": ["audit", "{rows}", "--markdown", "{out}.md", "--json", "{out}.json"],
    "check": ["check", "{rows}", "--by", "g", "--json", "{out}.json", "--tolerance", "0.3"],
    "monitor": ["monitor", "{rows}", "--time", "t", "--json", "{out}.json"],
    "recalibrate": ["recalibrate", "{rows}", "--methods", "platt", "--out", "{out}.csv", "--force"],
    "apply": ["apply", "{calibrator}", "{rows}", "--out", "{out}.csv", "--force"],
    "online": ["online", "foster", "{rows}", "--rounds", "20", "--picture", "{out}.png"],
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> dict[str, str]:
    from calibrant.recalibration import PlattScaling

    folder = tmp_path_factory.mktemp("sources")
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 400)
    y = (rng.uniform(size=400) < p).astype(int)
    lines = [f"{a:.4f},{b},{i},{'ab'[i % 2]}\n" for i, (a, b) in enumerate(zip(p, y, strict=True))]
    (folder / "rows.csv").write_text("prediction,outcome,t,g\n" + "".join(lines))
    (folder / "calibrator.json").write_text(PlattScaling().fit(p, y).to_json())
    (folder / "garbage.csv").write_bytes(b"\x00\xff\xfe" * 400)
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    return {
        "rows": str(folder / "rows.csv"),
        "calibrator": str(folder / "calibrator.json"),
        "garbage": str(folder / "garbage.csv"),
        "unreadable": str(folder / "loop.csv"),
    }


def filled(name: str, sources: dict[str, str], out: Path) -> list[str]:
    return [part.format(**sources, out=out) for part in COMMANDS[name]]


def outputs(arguments: list[str], out: Path) -> list[Path]:
    return [Path(part) for part in arguments if part.startswith(f"{out}.")]


def assert_nothing_lost(folder: Path, written: list[Path]):
    assert not [path for path in folder.iterdir() if path.name.startswith(DRAFT)]
    for path in written:
        text = path.read_bytes()
        assert text == OLD.encode() or len(text) > 100, path


FAULTS = {
    "interrupted while reading": (commands.interrupted_reading, {130}),
    "interrupted, and a library says otherwise": (commands.lost_interrupt, {130}),
    "interrupted while writing": (commands.interrupted_writing, {130}),
    "terminated while reading": (commands.terminated_reading, {143}),
    "terminated while writing": (commands.terminated_writing, {143}),
    "full disk": (commands.full_disk, {74}),
    "full standard output": (commands.full_stdout, {74}),
    "broken pipe": (commands.broken_stdout, {74}),
    "closed standard output": (commands.close_stdout, {74}),
    "closed standard error": (commands.close_stderr, {0}),
    "a bug": (commands.broken_code, {70}),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_has_its_own_code_and_loses_nothing(name, fault, sources, tmp_path):
    arguments = filled(name, sources, tmp_path / "out")
    written = outputs(arguments, tmp_path / "out")
    for path in written:
        path.write_text(OLD)
    before = {source: Path(path).read_bytes() for source, path in list(sources.items())[:3]}
    make, codes = FAULTS[fault]
    ended = run_forked(*arguments, fault=make)
    assert ended.code in codes, ended
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) <= 1
    assert_nothing_lost(tmp_path, written)
    assert before == {source: Path(sources[source]).read_bytes() for source in before}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("wrong", ["option", "garbage", "unreadable", "folder", "read-only"])
def test_wrong_input_is_2(name, wrong, sources, tmp_path):
    files = dict(sources)
    out = tmp_path / "out"
    if wrong in files:
        files["rows"] = files[wrong]
    elif wrong == "folder":
        out = tmp_path / "nowhere" / "out"
    arguments = filled(name, files, out)
    if wrong == "option":
        arguments.append("--no-such-option")
    if wrong == "read-only":
        for path in outputs(arguments, out):
            path.write_text(OLD)
            path.chmod(0o444)
    ended = run_forked(*arguments)
    assert ended.code == 2, ended
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert all(path.read_text() == OLD for path in outputs(arguments, out) if path.exists())


UNREADABLE = {
    "no permission": commands.without_privileges,
    "a failing disk": commands.failing_disk,
    "a file that vanishes": commands.vanishing_file,
    "a folder that vanishes": commands.vanishing_folder,
    "a cut-off copy": None,
}


@pytest.mark.parametrize(
    ("name", "fault"),
    [*((name, "no permission") for name in COMMANDS)]
    + [(name, fault) for name in ("check", "apply") for fault in list(UNREADABLE)[1:]],
)
def test_a_file_that_fails_while_it_is_read_is_74(name, fault, sources, tmp_path):
    files, out = dict(sources), tmp_path / "out"
    rows = tmp_path / "folder" / "rows.csv"
    rows.parent.mkdir()
    rows.write_bytes(Path(sources["rows"]).read_bytes())
    if fault == "a cut-off copy":
        rows = tmp_path / "rows.csv.gz"
        rows.write_bytes(gzip.compress(Path(sources["rows"]).read_bytes())[:-9])
    if fault == "no permission":
        rows.chmod(0)
    files["rows"] = str(rows)
    ended = run_forked(*filled(name, files, out), fault=UNREADABLE[fault])
    assert ended.code == 74, ended
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert_nothing_lost(tmp_path, [])


def test_a_map_that_cannot_be_read_is_74(sources, tmp_path):
    stored = tmp_path / "calibrator.json"
    stored.write_text(Path(sources["calibrator"]).read_text())
    stored.chmod(0)
    arguments = ["apply", str(stored), sources["rows"], "--out", str(tmp_path / "out.csv")]
    ended = run_forked(*arguments, fault=commands.without_privileges)
    assert ended.code == 74, ended
    assert "calibrator.json" in ended.stderr


def test_demo_and_measures_too(tmp_path):
    assert run_forked("measures", fault=commands.full_stdout).code == 74
    assert run_forked("measures", fault=commands.close_stderr).code == 0
    ended = run_forked("demo", "--html", str(tmp_path / "no" / "page.html"))
    assert (ended.code, ended.stdout) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["check", "{rows}", "--seed", "-1"],
            "--seed must be a seed, a whole number of at least 0, got -1",
        ),
        (
            ["recalibrate", "{rows}", "--seed", "-1"],
            "--seed must be a seed, a whole number of at least 0, got -1",
        ),
        (
            ["online", "--rounds", "9", "--seed", "-1"],
            "--seed must be a seed, a whole number of at least 0, got -1",
        ),
        (["online", "--rounds", "99999999999999999999"], "at most"),
        (["audit", "{rows}", "--classes", ""], "classes must name"),
        (["audit", "{structs}"], "must hold numbers"),
        (["audit", "{lists}", "--by", "g"], "'g' must hold one value"),
        (["audit", "{lists}", "--by", "s"], "'s' must hold one value"),
        (["audit", "{counts}", "--count", "n", "--positives", "k"], "2**53"),
        (["audit", "{rows}", "--title", "\udcff"], "UTF-8"),
        (["check", "{rows}", "--json", "-", "--markdown", "-"], "share standard output"),
        (["audit", "{rows}", "--html", "{rows}"], "a file that is read"),
        (["check", "{rows}", "--json", "{rows}"], "a file that is read"),
        (["recalibrate", "{rows}", "--calibrator", "{new}", "--out", "{new}"], "different files"),
        (["online", "foster", "{rows}", "--picture", "{rows}"], "a file that is read"),
        (["online", "--rounds", "9", "--picture", "/proc/game.png"], "can be written"),
    ],
)
def test_known_wrong_input(arguments, message, sources, tmp_path):
    files = {name: str(tmp_path / f"{name}.jsonl") for name in ("structs", "lists", "counts")}
    Path(files["structs"]).write_text('{"prediction": {"a": 1}, "outcome": 1}\n' * 2)
    row = '{"prediction": 0.5, "outcome": %d, "g": [%d], "s": {"x": 1}}\n'
    Path(files["lists"]).write_text(row % (0, 1) + row % (1, 2))
    Path(files["counts"]).write_text('{"prediction": 0.5, "n": 1e24, "k": 1}\n')
    files["new"] = str(tmp_path / "new.csv")
    before = Path(sources["rows"]).read_bytes()
    ended = run_forked(*(part.format(**sources, **files) for part in arguments))
    assert ended.code == 2, ended
    assert message in ended.stderr
    assert Path(sources["rows"]).read_bytes() == before


def test_a_tiny_tolerance_is_a_question_that_has_an_answer(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("prediction,outcome\n" + "0.5,1\n0.5,0\n" * 50)
    ended = run_forked("check", str(rows), "--tolerance", "1e-320")
    assert ended.code == 3, ended


def test_closed_standard_input_is_wrong_input():
    ended = run_forked("audit", "-", fault=commands.close_stdin)
    assert ended.code == 2, ended
    assert "standard input" in ended.stderr


def test_no_room_for_a_copy_of_standard_input_is_no_verdict(sources):
    ended = run_forked("check", "-", fault=partial(commands.full_disk, sources["rows"]))
    assert ended.code == 74, ended


@pytest.mark.parametrize("code", [0, 1, 2, 3, 70])
def test_the_step_in_the_docs_keeps_the_code(code, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    step = textwrap.dedent(page.split("- run: |\n")[1].split("```")[0])
    print_summary = "echo said > summary.md; " if code in {0, 1, 3} else ""
    (tmp_path / "calibrant").write_text(f"#!/bin/sh\n{print_summary}exit {code}\n")
    (tmp_path / "calibrant").chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", "-e", "-o", "pipefail", "-c", step],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(tmp_path / "page")},
        check=False,
        capture_output=True,
    )
    assert done.returncode == (0 if code == 3 else code), done
    assert (tmp_path / "page").exists() == bool(print_summary)


def test_standard_input_is_an_input(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("prediction,outcome\n" + "0.5,1\n0.5,0\n" * 50)
    with rows.open() as stdin:
        done = subprocess.run(
            [sys.executable, *CALIBRANT, "audit", "-", "--html", str(rows)],
            stdin=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "a file that is read" in done.stderr


def test_a_fault_of_ours_asks_to_be_reported_and_shows_where_on_request(sources):
    arguments = ["audit", sources["rows"]]
    plain = run_forked(*arguments, fault=commands.broken_code)
    assert re.match(r"calibrant: a fault of calibrant.*KeyError: 'a bug'.*report", plain.stderr)
    shown = run_forked("--debug", *arguments, fault=commands.broken_code)
    assert shown.code == 70
    assert "Traceback" in shown.stderr


BROKEN_PARSERS = {
    "crashes": commands.parser_crashes,
    "exits with 0": partial(commands.parser_ends, SystemExit(0)),
    "exits with 1": partial(commands.parser_ends, SystemExit(1)),
    "ends early": partial(commands.parser_ends, typer.Exit()),
    "ends early with 1": partial(commands.parser_ends, typer.Exit(1)),
    "runs nothing": partial(commands.parser_runs, None),
    "runs another command": partial(commands.parser_runs, "measures"),
}


@pytest.mark.parametrize("name", [*COMMANDS, "compare", "llm", "demo", "show-versions"])
@pytest.mark.parametrize("broken", BROKEN_PARSERS)
def test_a_command_that_did_not_run_to_its_end_is_70(name, broken, sources, tmp_path):
    arguments = filled(name, sources, tmp_path / "out") if name in COMMANDS else [name]
    ended = run_forked(*arguments, fault=BROKEN_PARSERS[broken])
    assert ended.code == 70, ended
    assert ended.stderr.startswith("calibrant: a fault of calibrant"), ended
    assert len(ended.stderr.splitlines()) == 1


def test_an_error_message_that_cannot_be_printed_is_70(sources):
    ended = run_forked("check", sources["rows"], "--nope", fault=commands.messages_crash)
    assert ended.code == 70, ended
    assert "TypeError: made for another version" in ended.stderr
    assert "pip check" in ended.stderr


def test_a_library_that_exits_while_rows_are_read_is_70(sources):
    for code in (0, 1, 3):
        ended = run_forked("check", sources["rows"], fault=partial(commands.exiting_reader, code))
        assert ended.code == 70, ended


@pytest.mark.parametrize(
    "program",
    ["import sys; sys.exit(0)", "import sys; sys.exit(1)", "raise ImportError('no such name')"],
)
@pytest.mark.parametrize("package", ["typer", "numpy"])
@pytest.mark.parametrize("name", ["check", "monitor", "measures"])
def test_a_package_that_fails_when_it_is_imported_is_70(name, package, program, sources, tmp_path):
    (tmp_path / f"{package}.py").write_text(program)
    places = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    arguments = filled(name, sources, tmp_path / "out") if name in COMMANDS else [name]
    done = subprocess.run(
        [sys.executable, *CALIBRANT, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70, done
    assert done.stdout == ""
    assert done.stderr.startswith("calibrant: the command line could not run: "), done
    assert "Traceback" not in done.stderr


def test_a_shell_that_asks_for_words_passes_no_command(sources):
    for wanted in ("complete_bash", "nonsense"):
        environment = os.environ | {"_CALIBRANT_COMPLETE": wanted, "COMP_WORDS": "calibrant "}
        done = subprocess.run(
            [sys.executable, *CALIBRANT, "check", sources["garbage"]],
            env=environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 2, done


def test_the_installed_program_decides_the_exit_code_in_the_same_place():
    (program,) = entry_points(group="console_scripts", name="calibrant")
    assert program.value == "calibrant.__main__:main"


def test_help_and_docs_name_every_code():
    helped = [run_forked(*words, "--help").stdout for words in ([], ["check"], ["monitor"])]
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    for code in ExitCode:
        assert all(f"{code.value}: {code.meaning}" in text for text in helped)
        assert f"| {code.value} | {code.meaning} |" in page
