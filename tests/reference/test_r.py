"""Numbers of R: loess and lowess (R 4.2.2), and `val.prob` of rms 6.5-0.

Forecasts and outcomes follow from multiples of two irrational numbers. Each line was printed by R:

    f <- loess(y ~ p); e <- abs(predict(f) - p)
    c(mean(e), median(e), quantile(e, .9), max(e), 100 * mean(e^2))
    e <- abs(approx(lowess(p, y, iter = 0), xout = p, ties = mean)$y - p)  # of val.prob
    val.prob(p, y, pl = FALSE)[c("C (ROC)", "Brier", "Intercept", "Slope", "U:Chi-sq", "U:p")]

    b <- givitiCalibrationBelt(o = y, e = p, devel = d, nPoints = 20)  # givitiR 1.3
    c(b$m, b$statistic, b$p.value, unlist(b$cbBoundByConfLevel[[1]][c(3, 10, 17), ]))  # 95 %

`make slow` asks R itself, where it is installed, and givitiR for its published example.
"""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import calibrant as cal
from calibrant.measures.local_regression import loess, lowess

CASES = {"300 rows": (300, None), "1000 rows, two decimals": (1000, 2), "60 rows": (60, None)}
LOESS = {
    "300 rows": (
        0.107115740194633,
        0.104859137149895,
        0.15888704869889,
        0.165313596838613,
        1.28009287370253,
    ),
    "1000 rows, two decimals": (
        0.0987282219798143,
        0.104576021902014,
        0.140927687817511,
        0.142693724516617,
        1.10173752315485,
    ),
    "60 rows": (
        0.122384326484798,
        0.0978803119915216,
        0.240311474598602,
        0.284933530654878,
        1.93661036021604,
    ),
}
LOWESS = {
    "300 rows": (
        0.103739166876041,
        0.10679556552039,
        0.142640866054399,
        0.14531132267452,
        1.16199425257196,
    ),
    "1000 rows, two decimals": (
        0.0952364229317263,
        0.0984157446640369,
        0.132781792666263,
        0.134565580476807,
        0.992647694967201,
    ),
    "60 rows": (
        0.114913792057945,
        0.109088823227185,
        0.174373904003677,
        0.18293939351173,
        1.47227359721384,
    ),
}
VAL_PROB = {
    "300 rows": (
        0.853604023095549,
        0.164719560218789,
        -0.693405336670075,
        1.12525312140958,
        21.7353525689865,
        1.90646202320455e-05,
    ),
    "60 rows": (
        0.834312573443008,
        0.175119186746712,
        -0.7067645550513,
        0.990716037473382,
        4.92953990623874,
        0.0850284006402863,
    ),
}
# Degree, statistic, p-value; lower and upper ends of the belt at three of twenty points.
GIVITI = {
    ("300 rows", False): (
        (1, 21.735352569, 1.9064620232e-05),
        (0.00027446, 0.20138438, 0.86509101),
        (0.01042437, 0.36542613, 0.97962268),
    ),
    ("300 rows", True): (
        (2, 22.744628704, 1.85020565135e-06),
        (0.00000216, 0.22242487, 0.81296165),
        (0.01653260, 0.36482768, 0.97358342),
    ),
}


def forecasts(case):
    size, digits = CASES[case]
    row = np.arange(1, size + 1)
    p = np.modf(row * 0.6180339887498949)[0]
    p = p if digits is None else p.round(digits)
    return (np.modf(row * 0.7548776662466927)[0] < p**1.5).astype(int), p


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("smoother", "known"), [("loess", LOESS), ("lowess", LOWESS)])
def test_index_is_that_of_r(case, smoother, known):
    found = cal.calibration_index(*forecasts(case), smoother=smoother)
    values = (found.ici, found.e50, found.e90, found.emax, found.eci)
    assert values == pytest.approx(known[case], rel=1e-11)


@pytest.mark.parametrize("case", VAL_PROB)
def test_numbers_of_val_prob(case):
    y, p = forecasts(case)
    numbers = cal.classical_numbers(y, p)
    found = (
        cal.auc(y, p).value,
        numbers.brier,
        numbers.intercept.value,
        numbers.slope.value,
        numbers.likelihood_ratio.statistic,
        numbers.likelihood_ratio.pvalue,
    )
    assert found == pytest.approx(VAL_PROB[case], rel=1e-6)
    assert numbers.loess == cal.calibration_index(y, p)


@pytest.mark.parametrize(("case", "fitted_here"), GIVITI)
def test_belt_is_that_of_givitir(case, fitted_here):
    test, low, high = GIVITI[case, fitted_here]
    belt = cal.calibration_belt(*forecasts(case), fitted_here=fitted_here, points=20)
    assert (belt.degree, belt.statistic, belt.pvalue) == pytest.approx(test, rel=1e-6)
    # Its ends are found to a relative accuracy of 0.01 of the equations, about 1e-6 here.
    assert belt.low[[2, 9, 16]] == pytest.approx(low, abs=2e-6)
    assert belt.high[[2, 9, 16]] == pytest.approx(high, abs=2e-6)


PUBLISHED = """
library(givitiR); data("icuData")
cat(sprintf("%.17g", icuData$probSaps), "\\n"); cat(icuData$outcome, "\\n")
"""


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("Rscript") is None
    or subprocess.run(
        [str(shutil.which("Rscript")), "-e", "library(givitiR)"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="givitiR is not installed",
)
def test_published_belt():
    """Its vignette: too high above 0.60 with 95 % confidence, above 0.56 with 80 %."""
    rows = subprocess.run(
        [str(shutil.which("Rscript")), "-e", PUBLISHED], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    p, y = (np.array(row.split(), float) for row in rows)
    wide, narrow = (cal.calibration_belt(y, p, confidence=level) for level in (0.95, 0.8))
    assert wide.too_high[0][0] == pytest.approx(0.5979789, abs=1e-6)
    assert narrow.too_high[0][0] == pytest.approx(0.5577796, abs=1e-6)
    assert wide.pvalue == pytest.approx(6.26956e-10, rel=1e-5)


PROGRAM = """
d <- read.csv(file("stdin"), header = FALSE); p <- d$V1; y <- d$V2; at <- sort(unique(p))
cat(sprintf("%.17g", predict(loess(y ~ p), newdata = data.frame(p = at))), "\\n")
cat(sprintf("%.17g", approx(lowess(p, y, iter = 0), xout = at, ties = mean)$y), "\\n")
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@pytest.mark.parametrize("seed", range(12))
def test_curves_are_those_of_r(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.choice([40, 300, 2000]))
    kinds = [rng.beta(2, 3, size), rng.lognormal(-3, 1, size).clip(0, 0.9), rng.random(size)]
    p = kinds[seed % 3]
    p = p.round(2) if seed % 2 else p
    y = (rng.random(size) < p**1.3).astype(int)
    rows = "\n".join(f"{a:.17g},{b}" for a, b in zip(p, y, strict=True))
    told = subprocess.run(
        [str(shutil.which("Rscript")), "-e", PROGRAM],
        input=rows,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    joint = cal.Joint.from_samples(y, p)
    assert loess(joint) == pytest.approx(np.array(told[0].split(), float), abs=1e-9)
    assert lowess(joint) == pytest.approx(np.array(told[1].split(), float), abs=1e-9)


def test_what_local_regression_does_not_take():
    y, p = forecasts("60 rows")
    with pytest.raises(cal.errors.InferenceRefusedError, match="knows no weights"):
        cal.calibration_index(y, p, sample_weight=np.arange(1, 61))
    with pytest.raises(cal.errors.InferenceRefusedError, match="three different forecasts"):
        cal.calibration_index([0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7])
    weighted = cal.calibration_index(y, p, sample_weight=np.arange(1, 61), smoother="kernel")
    assert 0 < weighted.e50 <= weighted.e90 <= weighted.emax
    assert cal.calibration_index([0, 1], [0.5, 0.5], smoother="lowess").ici == 0
    assert cal.calibration_index([1], [0.5], smoother="lowess").ici == 0.5
    with pytest.raises(cal.errors.InvalidOptionError):
        cal.calibration_index(y, p, smoother="spline")
