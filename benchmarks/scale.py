"""Time and memory of summing rows on engines, beside the bare group-by written by hand.

Makes its rows in a temporary folder and deletes them. Every work runs in a process of its own, so
that its memory can be told; answers are asserted. Prints Markdown; exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import calibrant as cal
from pages import Line, add_write, leave, show

PAGE = "SCALE"
COLUMNS = {"prediction": "p", "outcome": "y"}
CELLS = 2**16
GROUPS = 10**4


def make_rows(path: Path, rows: int) -> None:
    """Predictions of seven digits, outcomes a little off, and a group for every row."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("set threads = 2")
        connection.execute("set enable_progress_bar = false")
        connection.execute(
            "copy (select p, (random() < p + 0.02 * sin(6 * pi() * p))::tinyint as y, g, "
            "'region ' || g % 5 as region, 'site ' || g % 40 as site "
            f"from (select round(random(), 7) as p, (random() * {GROUPS})::int % {GROUPS} as g "
            f"from range({rows}))) to '{path}' (format parquet)"
        )


def duckdb_to_verdict(path: Path) -> int:
    joint = cal.Joint.from_files(path, **COLUMNS, progress=False)
    verdict = cal.verdict(joint, tolerance=0.005, rng=0)
    assert 0.0005 < verdict.value < 0.002, verdict
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
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
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


def in_partitions(path: Path, partitions: int) -> cal.Joint:
    """Sum a file that Spark reads in so many partitions; the smaller ones wait for no row."""
    session = spark_session()
    size = path.stat().st_size // partitions + 1
    session.conf.set("spark.sql.files.maxPartitionBytes", str(size))
    session.conf.set("spark.sql.files.openCostInBytes", "0")
    session.conf.set("spark.sql.files.minPartitionNum", "1")
    frame = session.read.parquet(str(path))
    assert partitions <= 1.1 * frame.rdd.getNumPartitions() <= 1.5 * partitions
    return cal.Joint.from_frame(frame, **COLUMNS)


def spark_in_4(path: Path) -> int:
    return in_partitions(path, 4).row_count


def spark_in_64(path: Path) -> int:
    return in_partitions(path, 64).row_count


def whole_audit(path: Path) -> int:
    audit = cal.audit(path, **COLUMNS, by=["region", "site"])
    assert len(audit.to_html()) < 10**6
    return audit.summary.data.rows


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
        spark_in_4,
        spark_in_64,
        one_group,
        many_groups,
        whole_audit,
    )
}
# Shares of the rows of the largest work, by the first word of a name.
SHARES = {"duckdb": 1.0, "polars": 0.2, "spark": 0.2, "one": 0.1, "many": 0.1, "whole": 0.1}


def run_here(name: str, path: Path, rows: int, repeats: int) -> None:
    """Run one work and print what it took; Spark's start does not count."""
    if name.startswith("spark"):
        spark_session()
    took = []
    for _ in range(repeats):
        start, cpu = time.perf_counter(), time.process_time()
        assert WORKS[name](path) == rows
        took.append((time.perf_counter() - start, time.process_time() - cpu))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, cpu = min(took)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "megabytes": memory}))


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


def bars(found: dict[str, dict[str, float]], rows: int) -> Iterator[tuple[str, str, str, bool]]:
    """Work, what was measured, bar, and whether it is held, for what was measured."""

    def took(name: str) -> str:
        return "{seconds:.1f} s ({cpu:.1f} s of processor), {megabytes:.0f} MB".format(
            **found[name]
        )

    def within(name: str, seconds: float, megabytes: float) -> bool:
        return found[name]["seconds"] <= seconds and found[name]["megabytes"] <= megabytes

    def ratio(name: str, bare: str) -> float:
        return found[name]["seconds"] / found[bare]["seconds"]

    if "duckdb_to_verdict" in found:
        name, seconds = "duckdb_to_verdict", 20 * rows / 1e8
        got = f"{took(name)}, {ratio(name, 'duckdb_bare'):.1f} x the bare group-by"
        bar = f"{seconds:.1f} s, 1024 MB"
        yield "files to verdict, DuckDB", got, bar, within(name, seconds, 1024)
    if "polars_frame" in found:
        times = ratio("polars_frame", "polars_bare")
        got = f"{times:.2f} x the bare group-by; {took('polars_frame')}"
        held = times <= 2 and within("polars_frame", float("inf"), 512)
        yield "scan to Joint, Polars", got, "2 x, 512 MB", held
    if "many_groups" in found:
        times = ratio("many_groups", "one_group")
        got = f"{times:.1f} x one group; {took('many_groups')}"
        held = times <= 8 and within("many_groups", float("inf"), 1024)
        yield f"{GROUPS} groups, DuckDB", got, "8 x, 1024 MB", held
    if "spark_frame" in found:
        times = ratio("spark_frame", "spark_bare")
        got = f"{times:.2f} x the bare group-by ({found['spark_frame']['seconds']:.1f} s)"
        yield "frame to Joint, Spark", got, "1.5 x", times <= 1.5
    if "spark_in_64" in found:
        few, many = found["spark_in_4"]["seconds"], found["spark_in_64"]["seconds"]
        merged = (many - few) / 60
        got = f"{many:.1f} s for {few:.1f} s in 4: {1000 * merged:.0f} ms for each more"
        yield "frame to Joint, Spark, 64 partitions", got, "100 ms", merged <= 0.1
    if "whole_audit" in found:
        seconds = 30 * rows / 1e8
        bar = f"{seconds:.1f} s, 2048 MB"
        yield (
            "audit with two group columns",
            took("whole_audit"),
            bar,
            within("whole_audit", seconds, 2048),
        )


def report(folder: Path, rows: int, repeats: int, only: list[str]) -> Iterator[Line]:
    found: dict[str, dict[str, float]] = {}
    for share in sorted(set(SHARES.values())):
        names = [n for n in WORKS if SHARES[n.split("_")[0]] == share and n.split("_")[0] in only]
        if not names:
            continue
        path, count = folder / "rows.parquet", int(rows * share)
        make_rows(path, count)
        found |= {name: measured(name, path, count, repeats) for name in names}
        path.unlink()
    yield f"Up to {rows:.0e} rows of Parquet.\n", True
    yield "| work | measured | bar |\n|---|---|---|", True
    for what, got, bar, held in bars(found, rows):
        yield f"| {what} | {got} | {bar} |", held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=SHARES, default=list(SHARES))
    add_write(parser, PAGE)
    parser.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        run_here(options.work, options.file, int(options.rows), options.repeats)
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = report(Path(folder), int(options.rows), options.repeats, options.only)
        missed = show("Scale", lines, PAGE if options.write else None)
    leave(missed)


if __name__ == "__main__":
    main()
