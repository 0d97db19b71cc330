"""`calibrant recalibrate --by` and `calibrant apply` for the calibrators it writes."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import pytest

from calibrant.recalibration import load
from commands import run


@pytest.fixture
def broken(tmp_path):
    """Forecasts that are right in the south and far too low in the north; some sites unknown."""
    rng = np.random.default_rng(3)
    n = 4000
    site = rng.choice(np.array(["north", "south", None], dtype=object), n, p=[0.3, 0.6, 0.1])
    p = rng.beta(2, 3, n)
    frame = pd.DataFrame(
        {
            "prediction": p,
            "outcome": (rng.random(n) < np.where(site == "north", p**0.4, p)).astype(int),
            "site": site,
            "size": rng.integers(0, 100, n),
        }
    )
    frame.to_parquet(tmp_path / "broken.parquet")
    return frame


def test_repair_by_group_writes_what_apply_reads_back(broken, tmp_path):
    """Rows, calibrator, SQL and Python tell the same; a new site keeps the base prediction."""

    file = tmp_path / "broken.parquet"
    named = {name: tmp_path / f"made.{name}" for name in ("parquet", "json", "sql", "py")}
    done = run(
        "recalibrate", str(file), "--by", "site,size", "--out", str(named["parquet"]),
        "--calibrator", str(named["json"]), "--sql", str(named["sql"]),
        "--python", str(named["py"]), "--json", str(tmp_path / "judged.json"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "for groups on top of" in done.stdout
    assert "worst group         site north" in done.stdout
    data = json.loads((tmp_path / "judged.json").read_text(encoding="utf-8"))
    assert data["patched"]
    assert (
        data["after"]["worst_group"]["smooth_error"]
        < data["before"]["worst_group"]["smooth_error"] / 2
    )
    fitted = load(named["json"])
    by = {name: broken[name].to_numpy() for name in ("site", "size")}
    expected = fitted.transform(broken["prediction"].to_numpy(), by)
    fixed = pd.read_parquet(named["parquet"])
    assert list(fixed) == [*broken, "recalibrated"]
    assert fixed["recalibrated"].to_numpy() == pytest.approx(expected, abs=1e-12)
    expression = named["sql"].read_text(encoding="utf-8")
    found = duckdb.sql(f"select {expression} from read_parquet('{file}')").fetchall()  # noqa: S608
    assert [row[0] for row in found] == pytest.approx(expected, abs=1e-12)
    names: dict = {}
    exec(named["py"].read_text(encoding="utf-8"), names)  # noqa: S102
    first = broken.iloc[0]
    row = {"site": first["site"], "size": int(first["size"])}
    assert names["recalibrate"](first["prediction"], row) == pytest.approx(expected[0])

    new = pd.DataFrame(
        {"prediction": [20, 20, 20], "site": ["north", "abroad", "west"], "size": [1, 2, 3]}
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("apply", str(named["json"]), str(tmp_path / "new.csv"), "--scale", "percent",
               "--out", str(tmp_path / "out.csv"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 rows with values that the fit has not seen in site, size" in done.stdout
    recalibrated = pd.read_csv(tmp_path / "out.csv")["recalibrated"].to_numpy()
    base = fitted.base.transform([0.2])[0]
    assert recalibrated[1:] == pytest.approx([base, base])
    assert recalibrated[0] > base + 0.05


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--by", "region"], "column 'region'"),
        (["--by", "site", "--sql", "old.sql"], "--sql must not name a file that is there"),
        (["--by", "site", "--folds", "1"], "folds"),
    ],
)
def test_repair_by_group_refuses(broken, tmp_path, options, match):
    (tmp_path / "old.sql").write_text("precious", encoding="utf-8")
    options = [str(tmp_path / one) if one.endswith(".sql") else one for one in options]
    done = run("recalibrate", str(tmp_path / "broken.parquet"), *options)
    assert done.returncode == 2
    assert match in done.stderr
    assert (tmp_path / "old.sql").read_text(encoding="utf-8") == "precious"


def test_apply_refuses_files_without_the_columns_of_the_groups(broken, tmp_path):
    from calibrant.groups import recalibrate_by_group

    fitted = recalibrate_by_group(
        broken["outcome"], broken["prediction"], {"site": broken["site"]}, methods=["platt"], rng=0
    ).calibrator
    (tmp_path / "calibrator.json").write_text(fitted.to_json(), encoding="utf-8")
    (tmp_path / "new.csv").write_text("prediction\n0.4\n", encoding="utf-8")
    done = run("apply", str(tmp_path / "calibrator.json"), str(tmp_path / "new.csv"), "--out",
               str(tmp_path / "out.csv"))  # fmt: skip
    assert done.returncode == 2
    assert "column 'site'" in done.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("kind", ["uuid", "time", "interval"])
def test_repair_by_strange_types(kind, tmp_path):
    """Groups of any type are patched in the file, and by the stored calibrator alike."""
    values = {
        "uuid": "case when i % 2 = 0 then '00000000-0000-0000-0000-000000000001'::uuid "
        "else '00000000-0000-0000-0000-000000000002'::uuid end",
        "time": "case when i % 2 = 0 then time '10:00' else time '11:30:00.5' end",
        "interval": "case when i % 2 = 0 then interval 1 day else interval 2 days end",
    }[kind]
    file = tmp_path / "rows.parquet"
    duckdb.execute("select setseed(0.3)")
    duckdb.execute(
        f"copy (select p as prediction, cast(u < p + 0.25 * (i % 2) as integer) as outcome, "  # noqa: S608
        f"{values} as g from (select i, 0.2 + 0.5 * random() as p, random() as u "
        f"from range(6000) as t (i))) to '{file}'"
    )
    out, calibrator_file = tmp_path / "out.parquet", tmp_path / "calibrator.json"
    done = run(
        "recalibrate",
        str(file),
        "--by",
        "g",
        "--out",
        str(out),
        "--calibrator",
        str(calibrator_file),
    )
    assert done.returncode == 0, done.stderr
    again = tmp_path / "again.parquet"
    assert run("apply", str(calibrator_file), str(file), "--out", str(again)).returncode == 0
    found = [pd.read_parquet(path)["recalibrated"].to_numpy() for path in (out, again)]
    assert np.array_equal(*found)
    frame = duckdb.sql(f"select outcome, g, recalibrated from '{out}'").df()  # noqa: S608
    means = frame.groupby("g")[["outcome", "recalibrated"]].mean()
    assert means["recalibrated"].to_numpy() == pytest.approx(means["outcome"].to_numpy(), abs=0.02)


@pytest.fixture
def dated(tmp_path):
    """The same rows with times in New York, in files of three kinds."""
    rng = np.random.default_rng(0)
    n = 3000
    p = rng.random(n).round(6)
    moments = pd.date_range("2024", periods=n, freq="h", tz="America/New_York")
    chance = np.where(np.arange(n) > n // 2, p**2, p**0.6)
    frame = pd.DataFrame({"prediction": p, "outcome": (rng.random(n) < chance).astype(int)})
    frame["g"] = moments
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame["g"] = [moment.isoformat() for moment in moments]
    frame.to_parquet(tmp_path / "text.parquet")
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    return tmp_path


def test_the_same_times_in_other_files_make_the_same_groups_and_maps(dated):
    """The same moments, as text or of a type of their own, in any file."""
    files = ["rows.csv", "rows.parquet", "text.parquet", "rows.jsonl"]
    groups, methods, columns = [], [], []
    for number, name in enumerate(files):
        made = {kind: dated / f"{number}.{kind}" for kind in ("json", "parquet")}
        wanted = ["--calibrator", str(made["json"]), "--out", str(made["parquet"])]
        done = run("recalibrate", str(dated / name), "--by", "g", *wanted)
        assert done.returncode == 0, done.stderr
        methods.append(json.loads(made["json"].read_text()))
        columns.append(pd.read_parquet(made["parquet"])["recalibrated"].to_numpy())
        audited = run("audit", str(dated / name), "--by", "g", "--json", "-")
        groups.append(json.loads(audited.stdout)["groups"])
        for other in files:
            back = dated / "back.parquet"
            done = run(
                "apply", str(made["json"]), str(dated / other), "--out", str(back), "--force"
            )
            assert done.returncode == 0, done.stderr
            np.testing.assert_array_equal(pd.read_parquet(back)["recalibrated"], columns[-1])
    assert groups == [groups[0]] * len(files)
    assert methods == [methods[0]] * len(files)
    assert len(methods[0]["columns"][0]["levels"]) == 5


def test_a_map_by_time_needs_times(dated):
    made = dated / "calibrator.json"
    run("recalibrate", str(dated / "rows.csv"), "--by", "g", "--calibrator", str(made))
    frame = pd.read_csv(dated / "rows.csv")
    frame.loc[7, "g"] = "later"
    frame.to_csv(dated / "later.csv", index=False)
    frame["g"] = 3
    frame.to_parquet(dated / "numbers.parquet")
    for name, message in (("later.csv", "'later' in row 8"), ("numbers.parquet", "type BIGINT")):
        done = run("apply", str(made), str(dated / name), "--out", str(dated / "x.parquet"))
        assert done.returncode == 2
        assert "column 'g' must hold dates or timestamps" in " ".join(done.stderr.split())
        assert message in " ".join(done.stderr.split())
