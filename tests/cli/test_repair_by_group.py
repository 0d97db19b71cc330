"""`calibrant repair --by` and `calibrant apply` for the maps it writes."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import pytest

from calibrant.repair import load
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
    """Rows, map, SQL and Python tell the same; a new site keeps the prediction of the map."""

    file = tmp_path / "broken.parquet"
    named = {name: tmp_path / f"made.{name}" for name in ("parquet", "json", "sql", "py")}
    done = run(
        "repair", str(file), "--by", "site,size", "--out", str(named["parquet"]),
        "--map", str(named["json"]), "--sql", str(named["sql"]), "--python", str(named["py"]),
        "--json", str(tmp_path / "judged.json"),
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
    moved = pd.read_csv(tmp_path / "out.csv")["recalibrated"].to_numpy()
    base = fitted.base.transform([0.2])[0]
    assert moved[1:] == pytest.approx([base, base])
    assert moved[0] > base + 0.05


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
    done = run("repair", str(tmp_path / "broken.parquet"), *options)
    assert done.returncode == 2
    assert match in done.stderr
    assert (tmp_path / "old.sql").read_text(encoding="utf-8") == "precious"


def test_apply_refuses_files_without_the_columns_of_the_groups(broken, tmp_path):
    from calibrant.groups import repair_by_group

    fitted = repair_by_group(
        broken["outcome"], broken["prediction"], {"site": broken["site"]}, maps=["Platt"], rng=0
    ).map
    (tmp_path / "map.json").write_text(fitted.to_json(), encoding="utf-8")
    (tmp_path / "new.csv").write_text("prediction\n0.4\n", encoding="utf-8")
    done = run("apply", str(tmp_path / "map.json"), str(tmp_path / "new.csv"), "--out",
               str(tmp_path / "out.csv"))  # fmt: skip
    assert done.returncode == 2
    assert "column 'site'" in done.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("kind", ["uuid", "time", "interval"])
def test_repair_by_strange_types(kind, tmp_path):
    """Groups of any type are patched in the file, and by the stored map alike."""
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
    out, map_file = tmp_path / "out.parquet", tmp_path / "map.json"
    done = run("repair", str(file), "--by", "g", "--out", str(out), "--map", str(map_file))
    assert done.returncode == 0, done.stderr
    again = tmp_path / "again.parquet"
    assert run("apply", str(map_file), str(file), "--out", str(again)).returncode == 0
    found = [pd.read_parquet(path)["recalibrated"].to_numpy() for path in (out, again)]
    assert np.array_equal(*found)
    frame = duckdb.sql(f"select outcome, g, recalibrated from '{out}'").df()  # noqa: S608
    means = frame.groupby("g")[["outcome", "recalibrated"]].mean()
    assert means["recalibrated"].to_numpy() == pytest.approx(means["outcome"].to_numpy(), abs=0.02)
