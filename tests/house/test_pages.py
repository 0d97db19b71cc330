"""What pages say: commands that can be typed, links that lead, numbers that are kept true."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {"api", "commands"}
PAGES = [
    ROOT / "README.md",
    *(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in GENERATED),
]


def code_of(text: str) -> list[str]:
    """Lines of a page that are code: between fences, or indented."""
    lines, inside = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = not inside
        elif inside or line.startswith("    "):
            lines.append(line)
    return lines


def typed(text: str) -> list[str]:
    """Every command in the code of a page, on one line each."""
    code = "\n".join(code_of(text)).replace("\\\n", "")
    found = re.findall(r"^ *(?:\$ )?(?:\.venv/bin/)?(calibrant [a-z].*)$", code, re.MULTILINE)
    return [re.split(r" # |\s\|\|?\s|\s>", command)[0].strip() for command in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_of_a_page_can_be_typed(page):
    from command_pages import commands

    known = commands()
    for command in typed(page.read_text(encoding="utf-8")):
        _, name, *arguments = shlex.split(command)
        assert name in known, command
        known[name].make_context(name, arguments)


def test_commands_are_found():
    text = """Prose:
```console
$ calibrant audit a.csv \\
  --by b
```
    calibrant apply m.json c.csv --out d  # so
"""
    found = [command.split() for command in typed(text)]
    assert found == [
        ["calibrant", "audit", "a.csv", "--by", "b"],
        ["calibrant", "apply", "m.json", "c.csv", "--out", "d"],
    ]


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_links_of_pages_lead_somewhere_without_the_site_too():
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if link.split("/")[0] not in GENERATED and "." in link
    ]
    assert len(links) > 300
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_finding_leads_to_its_heading():
    from calibrant.report.findings import Finding

    page, _, anchor = Finding("CAL001", "issue", "").page.partition("#")
    assert f"### {anchor.upper()}" in (ROOT / page).read_text(encoding="utf-8")


def test_pages_read_well_as_markdown():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        outside = re.sub(r"`[^`\n]*`", "", text)
        assert not re.search(r"^```\{|^:::|^%[A-Z]|%[A-Z_]{3,}%|\{(?:ref|doc|math)\}", outside,
                             re.MULTILINE), page.name  # fmt: skip
        assert text.startswith(("# ", "[")), page.name


def test_tables_that_follow_from_the_code_are_current():
    from comments import tables_of
    from write_tables import PAGES as HOLDING, tables

    held = dict(
        pair for name in HOLDING for pair in tables_of((DOCS / name).read_text(encoding="utf-8"))
    )
    assert held == {name: table.strip() for name, table in tables().items()}


def test_names_of_the_api_in_pages_are_there():
    named = re.compile(r"`(?:cal|calibrant)((?:\.[A-Za-z_]\w*)+)(?:\(.*?\))?`")
    missing, found = [], 0
    for page in PAGES:
        for name in named.findall(page.read_text(encoding="utf-8")):
            at, parts = cal, name[1:].split(".")
            while parts and hasattr(at, parts[0]):
                at = getattr(at, parts.pop(0))
            found += 1
            if parts and not importable(name):
                missing.append(f"{page.name}: cal{name}")
    assert found > 20
    assert missing == []


def importable(name: str) -> bool:
    """Whether a name that no attribute leads to is a module, or stands in one."""
    room, _, last = f"calibrant{name}".rpartition(".")
    try:
        return hasattr(import_module(room), last) or find_spec(f"{room}.{last}") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("name", ["risk_score", "stream", "facts"])
def test_notebooks_run(name):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from notebooks import notebook

    text = (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(notebook(text))["cells"] if cell["cell_type"] == "code"]
    held: dict[str, object] = {}
    with mpl.rc_context({"backend": "Agg"}):
        for cell in cells:
            exec(compile(cell["source"], name, "exec"), held)  # noqa: S102
        assert bool(plt.get_fignums()) == ("<!-- picture:" in text)
        plt.close("all")


def test_the_table_of_questions_leads_to_names_that_are_there():
    page = (DOCS / "which_measure.md").read_text(encoding="utf-8")
    names = re.findall(r"\[`([\w.]+)`\]", page)
    assert len(names) > 8
    for name in names:
        room, _, last = name.rpartition(".")
        assert hasattr(getattr(cal, room) if room else cal, last), name


def test_noise_floors_that_are_kept_are_those_of_the_measures():
    from draw_noise_floors import KEPT, ROWS, values

    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert list(kept) == list(JOINT_MEASURES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        for name, measure in JOINT_MEASURES.items():
            drawn = values(measure, ROWS[0], 16)
            error = kept[name]["deviation"][0] * (1 / 16 + 1 / 400) ** 0.5
            assert abs(np.mean(drawn) - kept[name]["mean"][0]) <= 5 * error + 1e-5, name


def test_the_table_of_noise_floors_is_that_of_simulations():
    page = (DOCS / "noise_floor.md").read_text(encoding="utf-8")
    heads, *lines = [line.strip("| ").split(" | ") for line in page.splitlines() if "| " in line]
    bins = {"10 bins": 10, "15 bins": 15, "100 bins": 100}
    shapes = {
        "uniform": lambda rng, n: rng.random(n),
        "BetaCalibration(0.5, 50), mean 1 %": lambda rng, n: rng.beta(0.5, 50, n),
        "BetaCalibration(8, 2), mean 80 %": lambda rng, n: rng.beta(8, 2, n),
    }
    assert len(lines) > 7
    for predictions, rows, *cells in lines:
        count, rng = int(rows.replace(" ", "")), np.random.default_rng(0)
        for head, cell in zip(heads[2:], cells, strict=True):
            n_bins, strategy = bins.get(head, 10), "uniform" if head in bins else "quantile"
            drawn = []
            for _ in range(40):
                p = shapes[predictions](rng, count)
                y = rng.random(count) < p
                drawn.append(cal.binned_calibration_error(y, p, n_bins=n_bins, strategy=strategy))
            mean, high = (float(one) for one in cell.strip(")").split(" ("))
            error = np.std(drawn, ddof=1) / 40**0.5
            assert abs(np.mean(drawn) - mean) <= 5 * error + 0.0006, (predictions, rows, head)
            assert mean < high < mean + 5 * np.std(drawn) + 0.001


WRITTEN_BY_PROGRAMS = {"promises.md", "real_data.md"}
"""Pages whose numbers are printed by the programs that compute them."""
NO_RESULTS = re.compile(
    r"(?:Definitions?|Theorems?|Lemmas?|Corollary|Python|and|to|,)\s\d\.\d+"  # names of statements
    r"|(?<![\d.])0\.(?:0*[1-9]|95)\b"  # one digit, or a confidence: what is chosen, not found
    r"|`[^`]*`|\$[^$]*\$|\[[^\]]*\]\([^)]*\)"
)
HELD = {
    "distances.md": {"0.375001"},
    "groups.md": {"1.645"},  # a normal quantile
    "inference.md": {"0.60", "0.56"},  # tests/reference/test_r.py
    "calibration_decision_loss.md": {"0.499"},
    "exact_calibration_error.md": {"0.499"},
    "monitor.md": {"0.15", "0.93"},
    "multiclass.md": {"3.24"},  # proved in the docstring
    "section_1.md": {"59.999"},
    "section_5.md": {"0.663"},  # of a paper
    "survival_score.md": {"0.75"},
}
"""Numbers in prose that no code of the page prints: given, proved, or held by a test."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_numbers_in_prose_stand_in_the_output_beside_them(page):
    text = page.read_text(encoding="utf-8")
    if page.name in WRITTEN_BY_PROGRAMS or page.name == "errata.md":
        pytest.skip("its numbers are of programs, or of other texts")
    code = "\n".join(code_of(text)).replace("\N{NARROW NO-BREAK SPACE}", "")
    shown = [float(one) for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", code)]
    prose = re.sub(r"```.*?```|^    .*?$|^\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    told = re.findall(r"(?<![\w.^/-])\d+\.\d{2,}(?![\w.]*\d)", NO_RESULTS.sub("", prose))
    for number in set(told) - HELD.get(page.name, set()):
        digits = len(number.split(".")[1])
        assert float(number) in {round(one, digits) for one in shown}, number


def test_hiding_what_one_knows_pays_as_the_table_says():
    page = (DOCS / "measures" / "averaged_two_bin_error.md").read_text(encoding="utf-8")
    measures = {
        "binned error, 10 bins": lambda y, p: cal.binned_calibration_error(y, p, n_bins=10),
        "smooth error": cal.smooth_calibration_error,
        "averaged two-bin error": cal.averaged_two_bin_error,
    }
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    table = {name: cells for name, *cells in lines if name in measures}
    assert table.keys() == measures.keys()
    rng, found = np.random.default_rng(0), {name: [] for name in measures}
    for _ in range(600):
        chance = rng.random(60)
        y = rng.random(60) < chance
        for name, measure in measures.items():
            found[name].append([float(measure(y, p)) for p in (chance, np.full(60, 0.5))])
    for name, cells in table.items():
        error = np.std(found[name], axis=0, ddof=1) / 600**0.5
        told = [float(cell) for cell in cells]
        digits = 10.0 ** -max(len(cell.split(".")[1]) for cell in cells)
        assert (abs(np.mean(found[name], axis=0) - told) <= 5 * error + digits).all(), name


def test_pictures_of_measures_were_drawn_alike():
    from PIL import Image

    sizes = {}
    for path in (DOCS / "measures").glob("*.png"):
        with Image.open(path) as picture:
            sizes[path.name] = picture.size
    assert len(sizes) == len(JOINT_MEASURES)
    assert set(sizes.values()) == {next(iter(sizes.values()))}, sizes


def test_measures_have_references_with_links():
    for path in (DOCS / "measures").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        if "## References" in text and "20" in text.split("## References")[1]:
            assert "https://" in text.split("## References")[1], path.name


def test_words_that_were_retired_stay_out_of_the_pages():
    retired = r"perfect forecaster|[Rr]edraw|Whoever|on the safe side|worth it"
    retired += r"|coins? (of|with) the predicted"
    found = {
        page.name: sorted({match[0] for match in re.finditer(retired, page.read_text("utf-8"))})
        for page in PAGES
        if page.name not in ("README.md", "promises.md")
    }
    assert {name: words for name, words in found.items() if words} == {}


def test_every_page_of_benchmarks_says_on_what_it_was_measured_and_all_on_one_day():
    pages = re.findall(r"\.\./benchmarks/(\w+\.md)", (DOCS / "benchmarks.md").read_text("utf-8"))
    assert len(pages) > 5
    days = {}
    for page in pages:
        top = (DOCS.parent / "benchmarks" / page).read_text("utf-8").split("\n\n")[1]
        days[page] = re.search(r"\b20\d\d-\d\d-\d\d\b", top).group()
        assert re.search(r"\bPython 3\.\d+\b", top), page
        assert re.search(r"\bx86_64\b|\baarch64\b|\barm64\b", top), page
    assert len(set(days.values())) == 1, days


def test_numbers_about_a_billion_rows_are_those_of_the_benchmark():
    prose = " ".join((DOCS / "scale.md").read_text("utf-8").split())
    measured = (DOCS.parent / "benchmarks" / "SCALE.md").read_text("utf-8")
    wall, processor, megabytes = re.search(
        r"1e\+09 rows to verdict \| ([\d.]+) s \(([\d.]+) s of processor\), (\d+) MB", measured
    ).groups()
    few, many = re.search(
        r"(\d+) ms a partition more with 2e\+06 rows, (\d+) ms", measured
    ).groups()
    for told in (
        f"took {float(wall):.0f} s on two cores",
        f"{float(processor):.0f} s of processor time and {megabytes} MB",
        f"{float(processor) / 1000:.2f} microseconds a row",
        f"cost {few} ms with 2 million rows and {many} ms with 20 million",
    ):
        assert told in prose
