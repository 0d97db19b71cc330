"""Time and memory of summing rows on engines, beside the bare group-by written by hand.

Makes its rows in a temporary folder and deletes them. Every work runs in a process of its own, so
that its memory can be told; answers are asserted. Prints Markdown; exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import calibrant as cal

COLUMNS = {"prediction": "p", "outcome": "y"}
CELLS = 2**16
GROUPS = 10**4


def make_rows(path: Path, rows: int) -> None:
    """Predictions of seven digits, outcomes a little off, and a group for every row."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("set threads = 2")
        connection.execute(
            "copy (select p, (random() < p + 0.02 * sin(6 * pi() * p))::tinyint as y, "
            f"(random() * {GROUPS})::int % {GROUPS} as g "
            f"from (select round(random(), 7) as p from range({rows}))) "
            f"to '{path}' (format parquet)"
        )


def duckdb_to_verdict(path: Path) -> int:
    joint = cal.Joint.from_files(path, **COLUMNS, progress=False)
    verdict = cal.verdict(joint, tolerance=0.005, rng=0)
    assert 0.008 < verdict.value < 0.02, verdict
    return joint.row_count


def duckdb_bare(path: Path) -> int:
    import duckdb

    sums = duckdb.sql(
        f"select floor(p * {CELLS}) as cell, count(*) as n, sum(y), sum(p), min(p), max(p) "
        f"from '{path}' group by cell"
    ).fetchnumpy()
    return int(sums["n"].sum())


def polars_frame(path: Path) -> int:
    import polars as pl

    return cal.Joint.from_frame(pl.scan_parquet(path), **COLUMNS).row_count


def polars_bare(path: Path) -> int:
    import polars as pl

    p = pl.col("p")
    sums = (
        pl.scan_parquet(path)
        .group_by((p * CELLS).floor().alias("cell"))
        .agg(
            pl.len().alias("n"),
            pl.col("y").sum(),
            p.sum(),
            p.min().alias("low"),
            p.max().alias("high"),
        )
        .collect(engine="streaming")
    )
    return int(sums["n"].sum())


def spark_session() -> object:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def spark_frame(path: Path) -> int:
    return cal.Joint.from_frame(spark_session().read.parquet(str(path)), **COLUMNS).row_count


def spark_bare(path: Path) -> int:
    from pyspark.sql import functions as f

    frame = spark_session().read.parquet(str(path))
    sums = (
        frame.groupBy(f.floor(frame.p * CELLS))
        .agg(f.count("*").alias("n"), f.sum("y"), f.sum("p"), f.min("p"), f.max("p"))
        .toArrow()
    )
    return int(sum(sums["n"].to_pylist()))


def one_group(path: Path) -> int:
    return cal.Joint.from_files(path, **COLUMNS, progress=False).row_count


def many_groups(path: Path) -> int:
    joints = cal.joints_by(path, by="g", **COLUMNS)
    assert len(joints) == GROUPS
    assert sum(len(joint) for joint in joints.values()) <= 2**20
    return sum(joint.row_count for joint in joints.values())


WORKS: dict[str, Callable[[Path], int]] = {
    work.__name__: work
    for work in (
        duckdb_to_verdict,
        duckdb_bare,
        polars_frame,
        polars_bare,
        spark_frame,
        spark_bare,
        one_group,
        many_groups,
    )
}


def run_here(name: str, path: Path, rows: int, repeats: int) -> None:
    """Run one work and print what it took; Spark's start does not count."""
    if name.startswith("spark"):
        spark_session()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        assert WORKS[name](path) == rows
        seconds.append(time.perf_counter() - start)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": min(seconds), "megabytes": memory}))


def measured(name: str, path: Path, rows: int, repeats: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--work", name, "--file", str(path)]
    done = subprocess.run(
        [*command, "--rows", str(rows), "--repeats", str(repeats)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(what: str, got: str, bar: str, *, held: bool) -> bool:
    print(f"| {what} | {got} | {bar} | {'yes' if held else 'NO'} |")
    return held


def report(folder: Path, rows: int, repeats: int, *, spark: bool) -> bool:
    print(f"# Scale, {rows:.0e} rows of Parquet, {platform.machine()}, two cores\n")
    print("| work | measured | bar | held |\n|---|---|---|---|")
    path = folder / "rows.parquet"
    make_rows(path, rows)
    found = {
        name: measured(name, path, rows, repeats)
        for name in WORKS
        if spark or not name.startswith("spark")
    }
    verdict, polars = found["duckdb_to_verdict"], found["polars_frame"]
    within = [
        line(
            "files to verdict, DuckDB",
            f"{verdict['seconds']:.1f} s, {verdict['megabytes']:.0f} MB "
            f"({verdict['seconds'] / found['duckdb_bare']['seconds']:.1f} x the bare group-by)",
            f"{20 * rows / 1e8:.1f} s, 1024 MB",
            held=verdict["seconds"] <= 20 * rows / 1e8 and verdict["megabytes"] <= 1024,
        )
    ]
    ratio = polars["seconds"] / found["polars_bare"]["seconds"]
    within.append(
        line(
            "scan to Joint, Polars",
            f"{ratio:.2f} x the bare group-by ({polars['seconds']:.2f} s), "
            f"{polars['megabytes']:.0f} MB",
            "2 x, 512 MB",
            held=ratio <= 2 and polars["megabytes"] <= 512,
        )
    )
    ratio = found["many_groups"]["seconds"] / found["one_group"]["seconds"]
    memory = found["many_groups"]["megabytes"]
    within.append(
        line(
            f"{GROUPS} groups, DuckDB",
            f"{ratio:.1f} x one group ({found['many_groups']['seconds']:.1f} s), {memory:.0f} MB",
            "8 x, 1024 MB",
            held=ratio <= 8 and memory <= 1024,
        )
    )
    if spark:
        ratio = found["spark_frame"]["seconds"] / found["spark_bare"]["seconds"]
        within.append(
            line(
                "frame to Joint, Spark",
                f"{ratio:.2f} x the bare group-by ({found['spark_frame']['seconds']:.1f} s)",
                "1.5 x",
                held=ratio <= 1.5,
            )
        )
    return all(within)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        run_here(options.work, options.file, int(options.rows), options.repeats)
        return
    with tempfile.TemporaryDirectory() as folder:
        held = report(Path(folder), int(options.rows), options.repeats, spark=not options.no_spark)
    sys.exit(not held)


if __name__ == "__main__":
    main()
