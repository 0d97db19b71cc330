"""`calibrant audit --kind`: means, quantiles and intervals in files."""

import json

import numpy as np
import pandas as pd
import pytest

from commands import run

RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def delays(tmp_path_factory):
    z = RNG.gamma(4, 5, 800)
    frame = pd.DataFrame(
        {
            "minutes": np.round(z + RNG.normal(0, 5, 800), 2),
            "mean": z,
            "p90": z + 6.4,
            "lo": z - 4,
            "hi": z + 4,
            "site": RNG.choice(["A", "B"], 800),
        }
    )
    path = tmp_path_factory.mktemp("real") / "delays.csv"
    frame.to_csv(path, index=False)
    return str(path)


def test_kinds_are_audited_and_written(delays, tmp_path):
    page, data = tmp_path / "r.html", tmp_path / "r.json"
    done = run(
        "audit", delays, "--outcome", "minutes", "--prediction", "p90", "--kind", "quantile=0.9",
        "--by", "site", "--html", str(page), "--json", str(data),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "quantile" in done.stdout
    assert page.exists()
    found = json.loads(data.read_text(encoding="utf-8"))
    assert found["kind"] == {"name": "quantile", "level": 0.9}
    assert len(found["groups"]["groups"]) == 2


def test_intervals_are_named_by_their_columns(delays):
    done = run(
        "audit", delays, "--outcome", "minutes", "--kind", "interval=lo,hi", "--level", "0.9",
    )  # fmt: skip
    assert "too narrow" in done.stdout


def test_without_a_kind_a_mean_is_assumed_and_said(delays):
    done = run("audit", delays, "--outcome", "minutes", "--prediction", "mean")
    assert done.returncode == 0
    assert "taken for forecasts of the mean (--kind mean)" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "quantile"], "needs its level"),
        (["--kind", "quantile=90"], "is 0.9"),
        (["--kind", "interval=hi,lo", "--level", "0.9"], "swapped"),
        (["--kind", "interval=lo"], "both ends"),
        (["--kind", "mean", "--range", "5"], "two numbers"),
        (["--kind", "mean", "--range", "0,1"], "within the range"),
        (["--kind", "mean", "--pos-label", "1"], "--pos-label is for predicted"),
        (["--level", "0.9"], "--level needs --kind interval"),
        (["--kind", "average"], "--kind must be mean, median, quantile=LEVEL"),
    ],
)
def test_bad_questions_get_a_clear_answer(delays, options, message):
    done = run("audit", delays, "--outcome", "minutes", "--prediction", "p90", *options)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    risk = RNG.beta(2, 3, 600)
    event = RNG.exponential(-1 / np.log1p(-risk))  # the risk by time 1
    censored = RNG.exponential(2.0, 600)
    frame = pd.DataFrame(
        {
            "days": np.minimum(event, censored) * 365,
            "died": (event <= censored).astype(int),
            "prediction": np.minimum(0.99, 1.5 * risk),
            "site": RNG.choice(["A", "B"], 600),
        }
    )
    path = tmp_path_factory.mktemp("trial") / "trial.csv"
    frame.to_csv(path, index=False)
    return str(path)


def test_risks_by_a_horizon_are_audited(trial, tmp_path):
    page = tmp_path / "r.html"
    given = ["audit", trial, "--kind", "survival", "--duration", "days", "--outcome", "died"]
    done = run(*given, "--horizon", "365", "--by", "site", "--html", str(page), "--full")
    assert done.returncode == 0, done.stderr
    assert "censored" in done.stdout
    # Other commands would take censored rows for rows without the event.
    assert "calibrant recalibrate" not in done.stdout + page.read_text(encoding="utf-8")
    screen = run(*given, "--horizon", "365").stdout
    assert "calibrant recalibrate" not in screen
    assert "calibrant check" not in screen
    assert "Next:" in screen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "survival", "--duration", "days"], "--kind survival needs --horizon"),
        (["--kind", "survival", "--horizon", "365"], "--kind survival needs --duration"),
        (["--kind", "survival", "--duration", "days", "--horizon", "-1"], "horizon"),
        (["--kind", "survival", "--duration", "days", "--horizon", "1e9"], "largest usable"),
        (["--kind", "survival", "--duration", "no", "--horizon", "9"], "column 'no'"),
        (["--kind", "survival", "--duration", "died", "--horizon", "9"], "the outcome as well"),
        (
            ["--kind", "survival", "--duration", "prediction", "--horizon", "9"],
            "prediction as well",
        ),
        (["--kind", "interval=prediction,died", "--level", "0.9"], "the prediction as well"),
        (["--horizon", "365"], "--horizon needs --kind survival"),
        (["--kind", "mean", "--horizon", "365"], "--horizon needs --kind survival"),
    ],
)
def test_bad_questions_about_survival_get_a_clear_answer(trial, options, message):
    done = run("audit", trial, "--outcome", "died", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_spans_of_time_are_no_numbers_of_days(trial, tmp_path):
    """Parquet stores them as nanoseconds, and does not say so."""
    frame = pd.read_csv(trial)
    frame["days"] = pd.to_timedelta(frame["days"], "D")
    path = str(tmp_path / "trial.parquet")
    frame.to_parquet(path)
    done = run("audit", path, "--outcome", "died", "--kind", "survival", "--duration", "days",
               "--horizon", "365")  # fmt: skip
    assert done.returncode == 2
    assert "column 'days' must hold numbers, got a column of type INTERVAL" in done.stderr
    # Beside other parts it is a column like any other.
    assert run("audit", path, "--outcome", "died", "--cluster", "days").returncode == 0


def test_probabilities_are_never_taken_for_means(tmp_path):
    path = tmp_path / "p.csv"
    pd.DataFrame({"prediction": [0.2, 0.4] * 20, "outcome": range(40)}).to_csv(path, index=False)
    done = run("audit", str(path))
    assert done.returncode == 2
    assert "0 and 1" in done.stderr


def test_a_mean_is_assumed_of_standard_input_too():
    rows = "".join(f"{n % 40 + 2},{n % 40}\n" for n in range(400))
    done = run("audit", "-", "--quiet", stdin=f"prediction,outcome\n{rows}")
    assert done.returncode == 0, done.stderr
