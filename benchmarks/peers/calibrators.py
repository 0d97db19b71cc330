"""Fit netcal's calibrators in netcal's environment: seconds and values at some places, as JSON.

Called by repair.py with a file of rows (`y`, `p`) and places (`at`).
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
from netcal.binning import HistogramBinning, IsotonicRegression
from netcal.scaling import BetaCalibration, LogisticCalibration, TemperatureScaling

CALIBRATORS = {
    "temperature": TemperatureScaling,
    "platt": LogisticCalibration,
    "beta": BetaCalibration,
    "isotonic": IsotonicRegression,
    "histogram": lambda: HistogramBinning(bins=15),
}


def main() -> None:
    with np.load(sys.argv[1]) as rows:
        y, p, at = rows["y"].astype(int), rows["p"], rows["at"]
    found = {}
    for name, make in CALIBRATORS.items():
        fitted = make()
        start = time.perf_counter()
        fitted.fit(p, y)
        seconds = time.perf_counter() - start
        found[name] = {"seconds": seconds, "values": np.ravel(fitted.transform(at)).tolist()}
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
