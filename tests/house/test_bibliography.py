"""Every work that the survey cites has code that is there, and a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import calibrant as cal

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "docs" / "survey"
INDEX = TOUR / "index.md"
CITED = {
    "ACRS25",
    "BGHN23a",
    "BGHN23b",
    "BN24",
    "CDV24",
    "DDF+25",
    "DKR+21",
    "DLLT23",
    "FGMS25",
    "FV98",
    "GH25",
    "GHR24",
    "GKR+22",
    "GKSZ22",
    "GR07",
    "HJTY24",
    "HKRR18",
    "HW24",
    "HWY25",
    "KF08",
    "KKG+22",
    "KLST23",
    "KSJ18",
    "KV24",
    "LHSW22",
    "McC56",
    "OKK25",
    "Pen25",
    "QV21",
    "QZ24",
    "RSB+25",
    "Sav71",
}


def table(columns: str) -> list[dict[str, str]]:
    """Lines of the one table of the tour with these columns."""
    names = columns.split(" | ")
    lines = INDEX.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"| {columns} |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("| "):
            break
        rows.append(dict(zip(names, line.strip("| ").split(" | "), strict=True)))
    return rows


WORKS = table("work | what it is about | code | test | page")


def found(name: str) -> object:
    """What a name of calibrant stands for."""
    thing = cal
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def test_every_cited_work_has_one_line_in_the_index_of_the_tour():
    works = [row["work"] for row in WORKS]
    assert len(works) == len(CITED) == 32
    assert set(works) == CITED
    index = INDEX.read_text(encoding="utf-8")
    assert all(f"\n| {work} | " in index for work in CITED)


def test_every_name_is_there():
    told = " ".join(row["code"] for row in WORKS)
    names = set(re.findall(r"`([A-Za-z_.0-9]+)`", told))
    assert len(names) > 40
    for name in names:
        assert callable(found(name)), name


def test_every_work_names_code_a_test_and_a_page_that_are_there():
    for row in WORKS:
        assert re.search(r"`[\w.]+`", row["code"]), row
        files = re.findall(r"`(\w+/\w+\.py)`", row["test"])
        assert files, row
        assert all((ROOT / "tests" / file).exists() for file in files), row
        pages = re.findall(r"\]\(([\w./]+\.md)\)", row["page"])
        assert pages, row
        assert all((TOUR / page).exists() for page in pages), row


TITLES = {
    "arxiv.org/abs/1408.1028": "A simple proof of the Gaussian correlation conjecture extended to "
    "multivariate gamma distributions",
    "arxiv.org/abs/1711.08513": "Multicalibration: calibration for the "
    "(computationally-identifiable) masses",
    "arxiv.org/abs/1909.10155": "Verified uncertainty calibration",
    "arxiv.org/abs/2011.13426": "Outcome indistinguishability",
    "arxiv.org/abs/2109.05389": "Omnipredictors",
    "arxiv.org/abs/2110.01052": "Learn then test: calibrating predictive algorithms to achieve "
    "risk control",
    "arxiv.org/abs/2203.01255": "Low-degree multicalibration",
    "arxiv.org/abs/2205.09680": "Metrics of calibration for probabilistic predictions",
    "arxiv.org/abs/2210.08649": "Loss minimization through the lens of outcome "
    "indistinguishability",
    "arxiv.org/abs/2211.16886": "A unifying theory of distance from calibration",
    "arxiv.org/abs/2305.18764": "When does optimizing a proper loss yield calibration?",
    "arxiv.org/abs/2307.00168": "U-calibration: forecasting for an unknown agent",
    "arxiv.org/abs/2309.12236": "Smooth ECE: principled reliability diagrams via kernel smoothing",
    "arxiv.org/abs/2402.07458": "On the distance from calibration in sequential prediction",
    "arxiv.org/abs/2402.07821": "On computationally efficient multi-class calibration",
    "arxiv.org/abs/2402.13187": "Testing calibration in nearly-linear time",
    "arxiv.org/abs/2404.13503": "Calibration error for decision making",
    "arxiv.org/abs/2411.13083": "Omnipredicting single-index models with multi-index models",
    "arxiv.org/abs/2501.17205": "Near-optimal algorithms for omniprediction",
    "arxiv.org/abs/2502.19851": "Can a calibration metric be both testable and actionable?",
    "arxiv.org/abs/2508.13100": "A perfectly truthful calibration measure",
    "arxiv.org/abs/2509.02279": "Calibration through the lens of indistinguishability",
    "arxiv.org/abs/2510.12769": "Sample-efficient omniprediction for proper losses",
    "arxiv.org/abs/2603.16015": "The importance of being smoothly calibrated",
    "arxiv.org/abs/2603.18391": "Computational and statistical hardness of calibration distance",
    "arxiv.org/abs/2606.20557": "Optimal deterministic multicalibration and omniprediction",
    "doi.org/10.1002/qj.1924": "A bias-corrected decomposition of the Brier score",
    "doi.org/10.1007/s00382-011-1191-1": "Estimating reliability and resolution of probability "
    "forecasts through decomposition of the empirical score",
    "doi.org/10.1016/j.jcss.2007.04.017": "Deterministic calibration and Nash equilibrium",
    "doi.org/10.1073/pnas.2108097119": "Universal adaptability: target-independent inference that "
    "competes with propensity scoring",
    "doi.org/10.1109/FOCS61266.2024.00024": "Predict to minimize swap regret for all "
    "payoff-bounded tasks",
    "doi.org/10.1609/aaai.v29i1.9602": "Obtaining well calibrated probabilities using Bayesian "
    "binning",
}
"""What works are called where their links lead; a title is written like this everywhere."""


def test_every_work_is_called_what_its_link_leads_to():
    link = re.compile(r"\[\*([^*\]]+)\*\]\(https://((?:arxiv|doi)\.org/[^)]+)\)")
    told = [
        (where, " ".join(title.split()))
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for title, where in link.findall(page.read_text(encoding="utf-8"))
    ]
    assert {where for where, _ in told} == set(TITLES)
    assert [(where, title) for where, title in told if TITLES[where] != title] == []
