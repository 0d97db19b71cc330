"""One fixture, every engine: the same test runs on real frames of each.

conftest.py imports the fixtures; the packages are imported where a frame is made.
"""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")  # a quick compiler
        .config("spark.sql.codegen.wholeStage", "false")  # quicker for small frames
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def of_pandas_nullable(table):
    import pandas as pd
    import pyarrow as pa

    nullable = {
        pa.float64(): pd.Float64Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
    }
    return table.to_pandas(types_mapper=nullable.get)


def of_pandas_arrow(table):
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


def of_polars(table):
    import polars as pl

    return pl.from_arrow(table)


def of_duckdb(table):
    import duckdb

    return duckdb.from_arrow(table)


def of_dask(table):
    import dask.dataframe as dd

    return dd.from_pandas(table.to_pandas(), npartitions=3)


# From an Arrow table to a frame; NaN stays NaN and null stays null where an engine can tell.
ENGINES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": of_pandas_nullable,
    "pandas arrow": of_pandas_arrow,
    "polars": of_polars,
    "polars lazy": lambda table: of_polars(table).lazy(),
    "arrow": lambda table: table,
    "duckdb": of_duckdb,
    "dask": of_dask,
}
LAZY = ("polars lazy", "duckdb", "dask")
# The session is slow to start: a file of tests shares it.
SPARK = pytest.param("spark", marks=pytest.mark.needs("java"))


def _engine(request):
    if request.param == "spark":
        return request.getfixturevalue("spark").createDataFrame
    return ENGINES[request.param]


@pytest.fixture(params=[*ENGINES, SPARK])
def engine(request):
    """Make a frame of one of the engines from an Arrow table."""
    return _engine(request)


@pytest.fixture(params=[*LAZY, SPARK])
def lazy_engine(request):
    """Make a frame of an engine that computes only what is asked for."""
    return _engine(request)
