"""The choice between calibrators of forecasts of numbers, and what it says."""

import json

import numpy as np
import pytest

from calibrant.errors import InvalidForecastsError, InvalidOptionError
from calibrant.recalibration import recalibrate

KINDS = ("mean", "quantile=0.9", "median", "expectile=0.8")


def made(rows=300, seed=2):
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(20, 6, rows), 1)
    return 3 + 0.7 * z + rng.gumbel(0, 3, rows), z, rng.gamma(2, 1, rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_is_found_and_mended_out_of_sample(kind):
    y, z, _ = made(600)
    found = recalibrate(y, z + 4, kind=kind, rng=0)
    assert not found.unchanged
    assert found.gain.low > 0
    assert found.before - found.gain.value == pytest.approx(found.after)
    assert "helps" in found.sentence
    assert found.table["calibrator"][0] == "identity"
    again = np.random.default_rng(4).permutation(600)
    assert recalibrate(y[again], z[again] + 4, kind=kind, rng=0).gain == found.gain


def test_right_forecasts_are_left_alone_and_few_rows_judge_nothing():
    rng = np.random.default_rng(1)
    z = rng.normal(20, 6, 500)
    y = z + rng.gumbel(0, 3, 500) - 3 * np.euler_gamma
    found = recalibrate(y, z, kind="mean", rng=0)
    assert found.unchanged
    assert found.gain.value == 0
    assert "no calibrator lowers the held-out loss by more than noise" in found.sentence
    few = recalibrate(y[:10], z[:10], kind="mean", methods=["line"], always=True)
    assert np.isnan(few.gain.value)
    assert few.calibrator.method == "line"
    assert "too few rows" in few.sentence
    assert recalibrate(y[:10], z[:10], kind="mean").unchanged


def test_clusters_go_into_folds_as_a_whole():
    """Within a cluster all rows have one outcome: calibrators that may peek would look good."""
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(40), 10)
    z = rng.normal(20, 6, 40)[cluster] + rng.normal(0, 0.01, 400)
    y = z + rng.normal(0, 3, 40)[cluster]
    alone = recalibrate(y, z, kind="mean", rng=0)
    together = recalibrate(y, z, kind="mean", clusters=cluster, rng=0)
    assert not alone.unchanged
    assert together.unchanged


def test_bad_options_are_refused_with_a_reason():
    y, z, weight = made(60)
    conformal = {"methods": ["conformal"], "always": True}
    for options, message in (
        ({"methods": ["magic"]}, "methods must be one of"),
        ({"methods": ["conformal"], "always": True}, "methods must be one of"),
        ({"methods": ["curve"], "kind": "median"}, "methods must be one of"),
        (
            {"kind": "median", **conformal, "sample_weight": weight},
            "takes no weights",
        ),
        ({"kind": "median", **conformal, "clusters": z}, "nothing for clusters"),
        ({"kind": "median", "methods": ["conformal"]}, "nothing after a choice"),
        ({"always": True}, "always takes the one calibrator"),
        ({"confidence": 1.5}, "confidence"),
    ):
        with pytest.raises(InvalidOptionError, match=message):
            recalibrate(y, z, rng=0, **{"kind": "mean", **options})
    shift = {"methods": ["shift"], "always": True, "rng": 0}
    found = recalibrate(y, z, kind="mean", **shift).calibrator
    ends = np.column_stack([z - 1, z + 1])
    with pytest.raises(InvalidForecastsError, match="must be one column"):
        found.transform(ends)
    both = recalibrate(y, ends, kind="interval", level=0.5, **shift).calibrator
    with pytest.raises(InvalidForecastsError, match="lower and the upper ends"):
        both.transform(z)
    with pytest.raises(InvalidOptionError, match="no single column"):
        both.to_sql()


def test_what_a_repair_says_is_plain_data_and_a_card():
    y, z, _ = made(200)
    ends = np.column_stack([z + 3, z + 4])
    found = recalibrate(
        y, ends, kind="interval", level=0.9, methods=["conformal"], always=True, rng=0
    )
    assert found.as_dict()["calibrator"]["coverage"] == pytest.approx(181 / 201)
    json.dumps(found.as_dict())
    assert found.calibrator.sentence in found._repr_html_()
    assert "outcomes inside without it: 2 %, promised 90 %" in found.sentence
