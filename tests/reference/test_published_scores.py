"""Published isotonic (CORP) decompositions of Brier scores, reproduced to their last digit.

The forecasts belong to their authors and do not ship: `CALIBRANT_FORECASTS` names the folder that
holds them, by default a folder `shared/data` beside the repository. Sources: reliabilitydiag and
triptych (aijordan, README files), Dimitriadis, Gneiting and Jordan (2021); yardstick (tidymodels,
tests of brier_class).
"""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

import calibrant as cal

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
FOLDER = Path(os.environ.get("CALIBRANT_FORECASTS", BESIDE))

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"left out: no forecasts in {FOLDER.name}"
)

NIAMEY, TRIPTYCH = "niamey_precip_2016.csv", "triptych_ex_binary_simulated.csv"
PUBLISHED = {  # mean score, miscalibration, discrimination, uncertainty: three digits each
    (NIAMEY, "EMOS"): ("0.232", "0.0183", "0.0305", "0.244"),
    (TRIPTYCH, "X01"): ("0.0827", "0.00474", "0.172", "0.25"),
    (TRIPTYCH, "X02"): ("0.127", "0.0233", "0.146", "0.25"),
    (TRIPTYCH, "X03"): ("0.134", "0.0172", "0.132", "0.25"),
    (TRIPTYCH, "X04"): ("0.194", "0.0587", "0.114", "0.25"),
    (TRIPTYCH, "X05"): ("0.222", "0.0723", "0.1", "0.25"),
    (TRIPTYCH, "X06"): ("0.18", "0.00494", "0.0748", "0.25"),
    (TRIPTYCH, "X07"): ("0.212", "0.0211", "0.059", "0.25"),
    (TRIPTYCH, "X08"): ("0.235", "0.0263", "0.041", "0.25"),
    (TRIPTYCH, "X09"): ("0.303", "0.0818", "0.0282", "0.25"),
    (TRIPTYCH, "X10"): ("0.312", "0.0772", "0.0148", "0.25"),
}


def forecasts(name: str, forecaster: str | None = None):
    where = "" if forecaster is None else f" where forecaster = '{forecaster}'"
    query = f"select outcome, prediction from read_csv('{FOLDER / name}'){where}"  # noqa: S608
    columns = duckdb.sql(query).fetchnumpy()
    return columns["outcome"], columns["prediction"]


@pytest.mark.parametrize(("name", "forecaster"), PUBLISHED, ids=str)
def test_published_isotonic_decomposition(name, forecaster):
    parts = cal.score_decomposition(*forecasts(name, forecaster))
    computed = (parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty)
    assert tuple(f"{value:.3g}" for value in computed) == PUBLISHED[name, forecaster]
    rebuilt = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert rebuilt == pytest.approx(parts.score, abs=1e-15)


def test_published_brier_score():
    score = cal.decisions.mean_score(*forecasts("yardstick_two_class_example.csv"), score="brier")
    assert f"{score:.8f}" == "0.10561859"
