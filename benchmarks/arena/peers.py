"""Calibrators of one peer library, fitted in its own environment to splits of the arena.

Called with the name of the peer, a folder of splits and a folder for answers. A split holds rows
that teach (`table`, `label`) and rows that judge (`unseen`); the answer holds, for each method, the
table of probabilities of the latter. A method that fails on a pair is left out of its answer.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Method = Callable[[Any, Any, Any], Any]


def both(p: Any) -> Any:
    """Columns of outcomes 0 and 1."""
    p = np.ravel(p)
    return np.column_stack([1 - p, p])


def scikit_learn(two: bool) -> dict[str, Method]:  # noqa: FBT001, ARG001
    """Calibrate a classifier that returns the forecasts that it is given."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Given(ClassifierMixin, BaseEstimator):
        def __init__(self, classes: Any = None) -> None:
            self.classes = classes

        def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002, N803
            self.classes_ = self.classes
            self.n_features_in_ = X.shape[1]
            return self

        def predict_proba(self, X: Any) -> Any:  # noqa: N803
            return X

        def predict(self, X: Any) -> Any:  # noqa: N803
            return X.argmax(axis=1)

    def method(name: str) -> Method:
        def run(table: Any, label: Any, unseen: Any) -> Any:
            model = Given(np.arange(table.shape[1])).fit(table, label)
            fitted = CalibratedClassifierCV(FrozenEstimator(model), method=name)
            return fitted.fit(table, label).predict_proba(unseen)

        return run

    return {name: method(name) for name in ("sigmoid", "isotonic", "temperature")}


def betacal(two: bool) -> dict[str, Method]:  # noqa: FBT001
    from betacal import BetaCalibration

    def run(table: Any, label: Any, unseen: Any) -> Any:
        fitted = BetaCalibration("abm").fit(table[:, 1], label)
        return both(fitted.predict(unseen[:, 1]))

    return {"beta": run} if two else {}


def venn_abers(two: bool) -> dict[str, Method]:  # noqa: FBT001, ARG001
    from venn_abers import VennAbersCalibrator

    def run(table: Any, label: Any, unseen: Any) -> Any:
        found = VennAbersCalibrator().predict_proba(p_cal=table, y_cal=label, p_test=unseen)
        return np.asarray(found)

    return {"Venn-Abers": run}


def probcal(two: bool) -> dict[str, Method]:  # noqa: FBT001
    import probcal as package

    names = {
        "platt": "PlattCalibrator",
        "beta": "BetaCalibrator",
        "centred isotonic": "CenteredIsotonicCalibrator",
        "spline": "SplineCalibrator",
        "selector": "CalibratorSelector",
    }

    def method(name: str) -> Method:
        def run(table: Any, label: Any, unseen: Any) -> Any:
            fitted = getattr(package, name)().fit(table[:, 1], label)
            found = np.asarray(fitted.predict_proba(unseen[:, 1]))
            return both(found if found.ndim == 1 else found[:, 1])

        return run

    return {told: method(name) for told, name in names.items()} if two else {}


def netcal(two: bool) -> dict[str, Method]:  # noqa: FBT001
    from netcal import binning, scaling

    kinds = {"temperature": scaling.TemperatureScaling, "logistic": scaling.LogisticCalibration}
    if two:
        kinds |= {"beta": scaling.BetaCalibration, "histogram": binning.HistogramBinning}

    def method(kind: Any) -> Method:
        def run(table: Any, label: Any, unseen: Any) -> Any:
            fitted = kind()
            if two:
                return both(fitted.fit(table[:, 1], label).transform(unseen[:, 1]))
            return np.asarray(fitted.fit(table, label).transform(unseen))

        return run

    return {name: method(kind) for name, kind in kinds.items()}


def probmetrics(two: bool) -> dict[str, Method]:  # noqa: FBT001
    from probmetrics.calibrators import get_calibrator

    names = ["temp-scaling", "ts-mix", "logistic"]
    names += ["quadratic-scaling"] if two else ["svs", "sms"]

    def method(name: str) -> Method:
        def run(table: Any, label: Any, unseen: Any) -> Any:
            options = {} if name not in {"svs", "sms"} else {f"{name}_print_init_info": False}
            return get_calibrator(name, **options).fit(table, label).predict_proba(unseen)

        return run

    return {name: method(name) for name in names}


PEERS = {
    "scikit-learn": scikit_learn,
    "betacal": betacal,
    "venn-abers": venn_abers,
    "probcal": probcal,
    "netcal": netcal,
    "probmetrics": probmetrics,
}


def main() -> None:
    peer, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.npz")):
        if (target / path.name).exists():
            continue
        with np.load(path) as split:
            table, label, unseen = split["table"], split["label"], split["unseen"]
        found = {}
        for name, run in PEERS[peer](table.shape[1] == 2).items():
            try:
                moved = np.asarray(run(table, label, unseen), dtype=float)
            except Exception as error:  # noqa: BLE001  # a peer may fail in any way
                print(f"{path.stem}: {name} fails: {str(error)[:100]}", flush=True)
                continue
            if moved.shape == unseen.shape and np.isfinite(moved).all():
                found[name] = moved
            else:
                print(f"{path.stem}: {name} is no table of probabilities", flush=True)
        np.savez(target / path.name, **found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
