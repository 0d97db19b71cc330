"""Simulate what perfect forecasts score under each measure; keep it for the table of measures."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant.catalogue import JOINT_MEASURES, Measure

ROWS, DRAWS = (1000, 10_000), 400
KEPT = Path(__file__).with_name("measures") / "noise_floors.json"


def values(measure: Measure, rows: int, draws: int) -> list[float]:
    """Measure forecasts spread evenly over [0, 1] whose outcomes are drawn from them."""
    rng = np.random.default_rng(rows)
    found = []
    for _ in range(draws):
        prediction = rng.random(rows)
        found.append(float(measure.function(rng.random(rows) < prediction, prediction)))
    return found


def floor(measure: Measure) -> dict[str, list[float]]:
    """Return mean and standard deviation for every number of rows."""
    drawn = [values(measure, rows, DRAWS) for rows in ROWS]
    return {
        "mean": [round(float(np.mean(one)), 6) for one in drawn],
        "deviation": [round(float(np.std(one, ddof=1)), 6) for one in drawn],
    }


def main() -> None:
    """Simulate measures that are named, or those that are not kept yet; keep the others."""
    warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    asked = sys.argv[1:] or [name for name in JOINT_MEASURES if name not in kept]
    for name in asked:
        kept[name] = floor(JOINT_MEASURES[name])
    known = {name: kept[name] for name in JOINT_MEASURES if name in kept}
    KEPT.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
