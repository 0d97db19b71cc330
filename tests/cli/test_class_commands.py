"""`calibrant recalibrate --classes` and `calibrant apply` for classes and patches."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import pytest

from calibrant.groups import Multicalibrator
from calibrant.recalibration import TemperatureScaling, load
from commands import run

CLASSES = ["cat", "dog", "cow"]
NAMES = ",".join(CLASSES)
NEW = [f"recalibrated_{name}" for name in CLASSES]


def forecasts(n=1500, seed=2):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(3), n)
    label = (true.cumsum(axis=1)[:, :2] < rng.random((n, 1))).sum(axis=1)
    table = true**2 / (true**2).sum(axis=1, keepdims=True)
    frame = pd.DataFrame(table, columns=CLASSES)
    return frame.assign(outcome=np.array(CLASSES)[label], farm=np.arange(n) % 100, day=np.arange(n))


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"rows.{request.param}"
    frame = forecasts()
    frame.to_csv(path, index=False) if request.param == "csv" else frame.to_parquet(path)
    return path


def read(path):
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def test_repair_of_classes_end_to_end(file, tmp_path):
    out = tmp_path / f"fixed{file.suffix}"
    named = {kind: tmp_path / f"calibrator.{kind}" for kind in ("json", "sql", "py", "judged")}
    done = run(
        "recalibrate", str(file), "--classes", NAMES, "--out", str(out),
        "--calibrator", str(named["json"]), "--sql", str(named["sql"]),
        "--python", str(named["py"]), "--json", str(named["judged"]),
        "--methods", "temperature,vector", "--cluster", "farm",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Temperature scaling helps" in done.stdout
    assert "accuracy" in done.stdout
    fitted, frame, fixed = load(named["json"]), read(file), read(out)
    assert fitted.classes_ == tuple(CLASSES)
    expected = fitted.transform(frame[CLASSES].to_numpy())
    assert list(fixed) == [*frame, *NEW]
    np.testing.assert_allclose(fixed[NEW], expected, atol=1e-12)
    select = named["sql"].read_text(encoding="utf-8")
    found = duckdb.sql(f"select {select} from '{file}'").df()  # noqa: S608
    np.testing.assert_allclose(found[NEW], expected, atol=1e-12)
    program: dict = {}
    exec(named["py"].read_text(encoding="utf-8"), program)  # noqa: S102
    np.testing.assert_allclose(
        program["recalibrate"](frame[CLASSES].iloc[0].tolist()), expected[0], atol=1e-12
    )
    judged = json.loads(named["judged"].read_text(encoding="utf-8"))
    assert judged["calibrator"] == fitted.to_dict()
    assert judged["after"]["log_loss"] < judged["before"]["log_loss"]

    again = tmp_path / f"again{file.suffix}"
    done = run("apply", str(named["json"]), str(file), "--out", str(again), "--column", "p")
    assert done.returncode == 0, done.stderr
    assert "rows with p_cat, p_dog, p_cow" in done.stdout
    np.testing.assert_allclose(read(again)[[f"p_{name}" for name in CLASSES]], expected, atol=1e-12)


def test_every_map_of_classes_has_a_query(tmp_path):
    forecasts().to_parquet(tmp_path / "rows.parquet")
    sql, out = tmp_path / "calibrator.sql", tmp_path / "out.parquet"
    given = ["recalibrate", str(tmp_path / "rows.parquet"), "--classes", NAMES, "--time", "day",
             "--methods", "one_vs_rest_isotonic", "--sql", str(sql)]  # fmt: skip
    refused = run(*given)
    assert refused.returncode == 2
    assert "name the table" in refused.stderr
    assert not sql.exists()
    done = run(*given, "--table", "rows", "--out", str(out))
    assert done.returncode == 0, done.stderr
    connection = duckdb.connect()
    view = f"create view rows as select * from '{tmp_path / 'rows.parquet'}'"  # noqa: S608
    connection.execute(view)
    found = connection.execute(sql.read_text(encoding="utf-8")).df()
    np.testing.assert_allclose(found[NEW], pd.read_parquet(out)[NEW], atol=1e-12)


def test_percent_of_classes(tmp_path):
    frame = forecasts()
    frame[CLASSES] *= 100
    frame.to_csv(tmp_path / "rows.csv", index=False)
    out, calibrator_file = tmp_path / "out.csv", tmp_path / "calibrator.json"
    done = run(
        "recalibrate", str(tmp_path / "rows.csv"), "--classes", NAMES, "--scale", "percent",
        "--methods", "temperature", "--out", str(out), "--calibrator", str(calibrator_file),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fitted = load(calibrator_file)
    assert fitted.scale_ == "percent"
    expected = fitted.transform(frame[CLASSES].to_numpy())
    np.testing.assert_allclose(pd.read_csv(out)[NEW], expected, atol=1e-12)


def test_classes_come_through_a_pipe(tmp_path):
    out = tmp_path / "out.csv"
    given = ("recalibrate", "-", "--classes", NAMES, "--methods", "temperature", "--out", str(out))
    done = run(*given, stdin=forecasts(400).to_csv(index=False))
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(out)) == 400


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--by", "farm"], "--by"),
        (["--pos-label", "cat"], "--pos-label"),
        (["--methods", "platt"], "calibrators of classes"),
        (["--score", "auc"], "score of classes"),
    ],
)
def test_repair_of_classes_refuses(options, match, tmp_path):
    forecasts(50).to_csv(tmp_path / "rows.csv", index=False)
    done = run("recalibrate", str(tmp_path / "rows.csv"), "--classes", NAMES, *options)
    assert done.returncode == 2
    assert match in done.stderr


def test_apply_refuses_files_without_the_classes(tmp_path):
    frame = forecasts(200)
    frame.rename(columns={"cow": "cows"}).to_csv(tmp_path / "rows.csv", index=False)
    fitted = TemperatureScaling().fit(frame[CLASSES], frame["outcome"])
    (tmp_path / "calibrator.json").write_text(fitted.to_json(), encoding="utf-8")
    done = run("apply", str(tmp_path / "calibrator.json"), str(tmp_path / "rows.csv"),
               "--out", str(tmp_path / "out.csv"))  # fmt: skip
    assert done.returncode == 2
    assert "cow" in done.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("method", ["hkrr", "low_degree"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_multicalibrator_is_applied(method, kind, tmp_path):
    rng = np.random.default_rng(4)
    p, site = rng.random(6000), rng.choice(["a", "b", "c"], 6000)
    y = rng.random(6000) < np.clip(p + 0.2 * (site == "a") - 0.1 * (site == "b"), 0, 1)
    made = Multicalibrator(method).fit(p, y, {"site": site})
    assert made.patches_.patches
    (tmp_path / "calibrator.json").write_text(made.to_json(), encoding="utf-8")
    frame = pd.DataFrame({"prediction": p, "site": site})
    path, out = tmp_path / f"rows.{kind}", tmp_path / f"out.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    done = run("apply", str(tmp_path / "calibrator.json"), str(path), "--out", str(out))
    assert done.returncode == 0, done.stderr
    expected = made.transform(p, {"site": site})
    np.testing.assert_allclose(read(out)["recalibrated"], expected, atol=1e-12)
    assert list(read(out)) == ["prediction", "site", "recalibrated"]
