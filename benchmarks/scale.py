"""Time and memory of summing rows on engines, beside the bare group-by written by hand.

Makes its rows in a temporary folder and deletes them. Every work runs in a process of its own, so
that its memory can be told; answers are asserted. Prints Markdown; exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import calibrant as cal
from pages import Line, add_write, leave, show

PAGE = "SCALE"
COLUMNS = {"prediction": "p", "outcome": "y"}
CELLS = 2**16
GROUPS = 10**4
# A file holds so many rows at most, and a row takes so many bytes on disk at most.
ROWS_OF_A_FILE, BYTES_OF_A_ROW = 10**8, 12


def make_rows(folder: Path, rows: int) -> None:
    """Predictions of seven digits, outcomes a little off, and a group for every row.

    Rows are drawn anew for every file, and in the order of the threads that draw them.
    """
    import duckdb

    folder.mkdir()
    with duckdb.connect() as connection:
        connection.execute("set threads = 2")
        connection.execute("set enable_progress_bar = false")
        for start in range(0, rows, ROWS_OF_A_FILE):
            count = min(ROWS_OF_A_FILE, rows - start)
            connection.execute(
                "copy (select p, (random() < p + 0.02 * sin(6 * pi() * p))::tinyint as y, g, "
                "'region ' || g % 5 as region, 'site ' || g % 40 as site "
                f"from (select round(random(), 7) as p, (random() * {GROUPS})::int % {GROUPS} as g "
                f"from range({count}))) to '{folder / str(start)}.parquet' (format parquet)"
            )


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def all_of(folder: Path) -> str:
    return str(folder / "*.parquet")


def billion_to_verdict(path: Path) -> int:
    return duckdb_to_verdict(path)


def duckdb_to_verdict(path: Path) -> int:
    joint = cal.Joint.from_files(files_of(path), **COLUMNS, progress=False)
    verdict = cal.verdict(joint, tolerance=0.005, rng=0)
    assert 0.0005 < verdict.value < 0.002, verdict
    return joint.row_count


def duckdb_bare(path: Path) -> int:
    import duckdb

    sums = duckdb.sql(
        f"select floor(p * {CELLS}) as cell, count(*) as n, sum(y), sum(p), min(p), max(p) "
        f"from '{all_of(path)}' group by cell"
    ).fetchnumpy()
    return int(sums["n"].sum())


def polars_frame(path: Path) -> int:
    import polars as pl

    return cal.Joint.from_frame(pl.scan_parquet(all_of(path)), **COLUMNS).row_count


def polars_bare(path: Path) -> int:
    import polars as pl

    p = pl.col("p")
    sums = (
        pl.scan_parquet(all_of(path))
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
    size = sum(file.stat().st_size for file in files_of(path)) // partitions + 1
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


def tenth_in_4(path: Path) -> int:
    return spark_in_4(path)


def tenth_in_64(path: Path) -> int:
    return spark_in_64(path)


def whole_audit(path: Path) -> int:
    audit = cal.audit(files_of(path), **COLUMNS, by=["region", "site"])
    assert len(audit.to_html()) < 10**6
    return audit.summary.data.rows


def one_group(path: Path) -> int:
    return cal.Joint.from_files(files_of(path), **COLUMNS, progress=False).row_count


def many_groups(path: Path) -> int:
    joints = cal.joints_by(files_of(path), by="g", **COLUMNS)
    assert len(joints) == GROUPS
    assert sum(len(joint) for joint in joints.values()) <= 2**20
    return sum(joint.row_count for joint in joints.values())


WORKS: dict[str, Callable[[Path], int]] = {
    work.__name__: work
    for work in (
        billion_to_verdict,
        duckdb_to_verdict,
        duckdb_bare,
        polars_frame,
        polars_bare,
        spark_frame,
        spark_bare,
        spark_in_4,
        spark_in_64,
        tenth_in_4,
        tenth_in_64,
        one_group,
        many_groups,
        whole_audit,
    )
}
# Rows of a work in units of those asked for, by the first word of its name.
SHARES = {
    "billion": 10.0,
    "duckdb": 1.0,
    "polars": 0.2,
    "spark": 0.2,
    "tenth": 0.02,
    "one": 0.1,
    "many": 0.1,
    "whole": 0.1,
}


def run_here(name: str, path: Path, rows: int, repeats: int) -> None:
    """Run one work and print what it took; Spark's start does not count."""
    if name.startswith(("spark", "tenth")):
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


@dataclass(frozen=True)
class Found:
    """What was measured, by work, for so many rows of the largest usual work."""

    rows: int
    works: dict[str, dict[str, float]]

    def took(self, name: str) -> str:
        """Write time and memory of a work."""
        return "{seconds:.1f} s ({cpu:.1f} s of processor), {megabytes:.0f} MB".format(
            **self.works[name]
        )

    def seconds(self, name: str) -> float:
        """Return the time of a work."""
        return self.works[name]["seconds"]

    def within(self, name: str, seconds: float, megabytes: float) -> bool:
        """Whether a work took no more."""
        return self.seconds(name) <= seconds and self.works[name]["megabytes"] <= megabytes

    def ratio(self, name: str, bare: str) -> float:
        """Time of a work in times of another."""
        return self.seconds(name) / self.seconds(bare)


Row = tuple[str, str, str, bool]
"""Work, what was measured, bar, and whether it is held."""


def to_verdict(found: Found, name: str, rows: float, seconds: float) -> Row:
    bar = f"{seconds:.1f} s, 512 MB"
    return f"{rows:.0e} rows to verdict", found.took(name), bar, found.within(name, seconds, 512)


def of_a_billion(found: Found) -> Row:
    return to_verdict(found, "billion_to_verdict", 10 * found.rows, 80 * found.rows / 1e8)


def of_files(found: Found) -> Row:
    what, got, *bar = to_verdict(found, "duckdb_to_verdict", found.rows, 8 * found.rows / 1e8)
    beside = found.ratio("duckdb_to_verdict", "duckdb_bare")
    return what, f"{got}, {beside:.1f} x the bare group-by", *bar


def of_polars(found: Found) -> Row:
    times = found.ratio("polars_frame", "polars_bare")
    got = f"{times:.2f} x the bare group-by; {found.took('polars_frame')}"
    held = times <= 2 and found.within("polars_frame", float("inf"), 512)
    return "scan to Joint, Polars", got, "2 x, 512 MB", held


def of_groups(found: Found) -> Row:
    times = found.ratio("many_groups", "one_group")
    got = f"{times:.1f} x one group; {found.took('many_groups')}"
    held = times <= 8 and found.within("many_groups", float("inf"), 1024)
    return f"{GROUPS} groups, DuckDB", got, "8 x, 1024 MB", held


def of_spark(found: Found) -> Row:
    times = found.ratio("spark_frame", "spark_bare")
    got = f"{times:.2f} x the bare group-by ({found.seconds('spark_frame'):.1f} s)"
    return "frame to Joint, Spark", got, "1.5 x", times <= 1.5


def of_partitions(found: Found) -> Row:
    """Tell what a partition more costs, which must not grow with its rows."""
    merged = [
        (found.seconds(f"{size}_in_64") - found.seconds(f"{size}_in_4")) / 60
        for size in ("tenth", "spark")
    ]
    few, many = (f"{1000 * seconds:.0f} ms" for seconds in merged)
    got = f"{few} a partition more with {found.rows / 50:.0e} rows, {many} with ten times as many"
    return "frame to Joint, Spark, 64 partitions for 4", got, "100 ms", max(merged) <= 0.1


def of_audit(found: Found) -> Row:
    seconds = 30 * found.rows / 1e8
    what, got = "audit with two group columns", found.took("whole_audit")
    bar = f"{seconds:.1f} s, 2048 MB"
    return what, got, bar, found.within("whole_audit", seconds, 2048)


# What is told of each work, if it was measured.
BARS = {
    "billion_to_verdict": of_a_billion,
    "duckdb_to_verdict": of_files,
    "polars_frame": of_polars,
    "many_groups": of_groups,
    "spark_frame": of_spark,
    "spark_in_64": of_partitions,
    "whole_audit": of_audit,
}


def report(folder: Path, rows: int, repeats: int, only: list[str]) -> Iterator[Line]:
    found: dict[str, dict[str, float]] = {}
    for share in sorted(set(SHARES.values())):
        names = [n for n in WORKS if SHARES[n.split("_")[0]] == share and n.split("_")[0] in only]
        if not names:
            continue
        path, count = folder / "rows", int(rows * share)
        if shutil.disk_usage(folder).free < 2 * BYTES_OF_A_ROW * count:
            yield f"{count:.0e} rows were not tried: the disk is too full.\n", False
            continue
        make_rows(path, count)
        # Very many rows take long enough to be timed once.
        times = 1 if share > 1 else repeats
        found |= {name: measured(name, path, count, times) for name in names}
        shutil.rmtree(path)
    yield "| work | measured | bar |\n|---|---|---|", True
    measures = Found(rows, found)
    for what, got, bar, held in (row(measures) for name, row in BARS.items() if name in found):
        yield f"| {what} | {got} | {bar} |", held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--repeats", type=int, default=3)
    choices = [name for name in SHARES if name != "tenth"]
    parser.add_argument("--only", nargs="+", choices=choices, default=choices)
    add_write(parser, PAGE)
    parser.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        run_here(options.work, options.file, int(options.rows), options.repeats)
        return
    with tempfile.TemporaryDirectory() as folder:
        # Spark's partitions are compared on a tenth of the rows as well.
        only = [*options.only, *(["tenth"] if "spark" in options.only else [])]
        lines = report(Path(folder), int(options.rows), options.repeats, only)
        missed = show("Scale", lines, PAGE if options.write else None)
    leave(missed)


if __name__ == "__main__":
    main()
