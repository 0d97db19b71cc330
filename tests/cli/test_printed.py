"""What commands print: words that came with the data neither forge lines nor act on a terminal."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from commands import run

# A label, a name or a title that tries to begin lines, to command a runner and to color a terminal.
FORGED = "::error::x\n::error::forged\r##[error]forged\x1b[31m\u2028\u202eNo alarm."
# A name in the first line of a CSV file holds no carriage return.
NAMED = FORGED.replace("\r", " ")
OTHER = "##vso[task.complete]\n::add-mask::b"
COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Files whose labels and names are hostile; a folder whose name is."""
    folder = tmp_path_factory.mktemp("rows") / "a\n::error::folder"
    folder.mkdir()
    rng = np.random.default_rng(0)
    p = rng.random(1500)
    columns = {
        "prediction": p,
        "outcome": (rng.random(1500) < p**1.6).astype(int),
        "other": p**1.2,
        "word": np.where(rng.random(1500) < p**1.6, FORGED, OTHER),
        "real": 10 * p + rng.normal(size=1500),
        "time": np.arange(1500),
        "weight": 1.0,
        NAMED: np.where(rng.random(1500) < 0.5, FORGED, OTHER),
        "group": np.where(rng.random(1500) < 0.5, FORGED, OTHER),
        "class": rng.choice([FORGED, OTHER, "c"], size=1500, p=[0.5, 0.3, 0.2]),
    }
    table = pd.DataFrame(columns)
    table.to_csv(folder / "rows.csv", index=False, lineterminator="\n")
    chances = rng.dirichlet([5, 3, 2], size=1500)
    classes = pd.DataFrame(chances, columns=[NAMED, OTHER, "c"]).round(6)
    classes["c"] = 1 - classes[NAMED] - classes[OTHER]
    classes["outcome"] = table["class"].replace(FORGED, NAMED)
    classes.to_csv(folder / "classes.csv", index=False, lineterminator="\n")
    with (folder / "log.jsonl").open("w", encoding="utf-8") as log:
        for i in range(400):
            line = {
                "question_id": f"{FORGED} {i // 2}",
                "model": FORGED if i % 2 else OTHER,
                "task": FORGED,
                "answer": FORGED if i % 3 else OTHER,
                "confidence": round(float(p[i]), 3),
                "correct": bool(i % 5),
            }
            log.write(json.dumps(line) + "\n")
    done = run("recalibrate", str(folder / "rows.csv"), "--by", "group", "--methods", "platt",
               "--calibrator", str(folder / "calibrator.json"), "--force")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


GOOD = [
    ["audit", "rows.csv", "--by", "group", "--title", FORGED, "--html", "page.html"],
    ["audit", "rows.csv", "--by", NAMED, "--full", "--risk", "30%"],
    ["audit", "rows.csv", "--by", f"group,{NAMED}", "--pairs", "--find-segments", "--full"],
    ["audit", "rows.csv", "--outcome", "word", "--pos-label", FORGED, "--cluster", "group"],
    ["audit", "rows.csv", "--by", "group", "--markdown", "-"],
    ["audit", "rows.csv", "--by", "group", "--quiet", "--risk", "30%"],
    ["audit", "rows.csv", "--outcome", "real", "--kind", "mean", "--by", "group", "--full"],
    ["audit", "rows.csv", "--outcome", "real", "--kind", "mean", "--by", "group"],
    ["audit", "classes.csv", "--classes", f"{NAMED},{OTHER},c"],
    ["audit", "classes.csv", "--classes", f"{NAMED},{OTHER},c", "--full"],
    ["check", "classes.csv", "--classes", f"{NAMED},{OTHER},c"],
    ["recalibrate", "classes.csv", "--classes", f"{NAMED},{OTHER},c", "--methods", "temperature"],
    ["audit", "log.jsonl"],
    ["audit", "log.jsonl", "--full"],
    ["audit", "log.jsonl", "--markdown", "-"],
    ["check", "rows.csv", "--by", f"group,{NAMED}", "--oe-tolerance", "10%"],
    ["check", "log.jsonl"],
    ["check", "rows.csv", "--by", "group", "--markdown", "-"],
    ["check", "rows.csv", "--by", "group", "--json", "-"],
    ["compare", "rows.csv", "--prediction", "prediction,other", "--outcome", "word",
     "--pos-label", FORGED, "--neg-label", OTHER],
    ["compare", "rows.csv", "rows.csv", "--prediction", "prediction,other"], ["compare",
    "log.jsonl"], ["monitor", "rows.csv", "--time", "time", "--window", "500", "--by", "group",
    "--full"], ["monitor", "rows.csv", "--time", "time", "--by", f"group,{NAMED}"], ["monitor",
    "rows.csv", "--time", "time", "--title", FORGED, "--html", "page.html"], ["explain", "rows.csv",
    "--outcome", "word", "--pos-label", FORGED], ["recalibrate", "rows.csv", "--by", "group",
    "--methods", "platt", "--out", "out.csv", "--force"], ["recalibrate", "rows.csv", "--by",
    f"group,{NAMED}", "--pairs", "--methods", "platt"], ["recalibrate", "rows.csv", "--by", "group",
    "--methods", "platt", "--json", "-"], ["recalibrate", "log.jsonl", "--methods", "platt"],
    ["apply", "calibrator.json", "rows.csv", "--out", "fixed.csv", "--force"], ["llm", "log.jsonl"],
    ["online", "foster", "rows.csv", "--rounds", "50"],
]  # fmt: skip
BAD = [
    ["audit", "rows.csv", "--prediction", FORGED],
    ["audit", "rows.csv", "--prediction", "group"],
    ["audit", "rows.csv", "--outcome", "word"],
    ["audit", "rows.csv", "--outcome", FORGED],
    ["audit", "rows.csv", "--by", f"{FORGED}x"],
    ["audit", "rows.csv", "--weight", "group"],
    ["audit", "rows.csv", "--time", "group"],
    ["audit", "rows.csv", "--kind", FORGED],
    ["audit", FORGED],
    ["--debug", "audit", "rows.csv", "--outcome", "word"],
    ["check", "rows.csv", "--measure", FORGED],
    ["check", "rows.csv", "--tolerance", FORGED],
    ["compare", "rows.csv", "--prediction", f"prediction,{FORGED}x"],
    ["compare", "rows.csv", "--prediction", "prediction,other", "--measure", FORGED],
    ["compare", "log.jsonl", "--models", f"{FORGED}x,b"],
    ["monitor", "rows.csv", "--time", "group"],
    ["monitor", "rows.csv", "--time", "time", "--until", FORGED],
    ["explain", "rows.csv", "--outcome", "word"],
    ["recalibrate", "rows.csv", "--methods", FORGED],
    ["recalibrate", "rows.csv", "--out", FORGED],
    ["apply", "calibrator.json", "log.jsonl", "--out", "x.csv"],
    ["apply", FORGED, "rows.csv", "--out", "x.csv"],
    ["llm", "rows.csv"],
    ["llm", "log.jsonl", "--origin", FORGED],
    ["online", FORGED],
    ["online", "foster", "rows.csv", "--outcome", FORGED],
    ["audit", "rows.csv", f"--{FORGED}"],
]  # fmt: skip


def _run(folder, arguments):
    files = {
        "rows.csv",
        "classes.csv",
        "log.jsonl",
        "calibrator.json",
        "out.csv",
        "fixed.csv",
        "page.html",
    }
    return run(*(str(folder / word) if word in files else word for word in arguments))


def _assert_harmless(done):
    for text in (done.stdout, done.stderr):
        # JSON keeps labels to the letter, on one line.
        assert not COMMAND.search("" if text.startswith("{") else text), text
        assert not CONTROL.search(text), text
        assert "\nNo alarm." not in text


@pytest.mark.parametrize("arguments", GOOD, ids=range(len(GOOD)))
def test_words_of_the_data_are_shown_as_escapes(hostile, arguments):
    done = _run(hostile, arguments)
    assert done.returncode in {0, 1, 3}, done.stderr
    assert done.stdout
    _assert_harmless(done)


@pytest.mark.parametrize("arguments", BAD, ids=range(len(BAD)))
def test_words_in_errors_are_shown_as_escapes(hostile, arguments):
    done = _run(hostile, arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr
    _assert_harmless(done)
