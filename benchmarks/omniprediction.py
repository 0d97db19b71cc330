"""Compare one omnipredictor with one linear model trained for each loss, on held-out rows.

Three data sets, five losses, several random halves. A model of a loss is a linear score behind a
logistic function, fitted to minimize that very loss on the first half with a small ridge; its
output is its action. Every other line is one predictor, fitted once, whose best action for the loss
is taken. Losses are means over the second halves; an error is the standard error of the mean
difference over the halves, which share rows and understate it. Prints Markdown.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import calibrant as cal
from calibrant import groups
from calibrant._base.arrays import Floats
from pages import Line, add_write, leave, show

PAGE = "OMNIPREDICTION"
HALVES, FLIGHTS, RIDGE = 10, 40_000, 1.0
LEAST = 0.001


def log_loss(outcome: Floats, action: Floats) -> Floats:
    """Negative log likelihood; actions below 0.001 or above 0.999 count as these."""
    inside = np.clip(action, LEAST, 1 - LEAST)
    return np.asarray(-np.log(np.where(outcome == 1, inside, 1 - inside)))


LOSSES: dict[str, groups.omniprediction.Loss] = {
    "squared": groups.squared_loss,
    "log": log_loss,
    "a miss costs 9": groups.quantile_loss(0.9),
    "a false alarm costs 9": groups.quantile_loss(0.1),
    "squared, over times 3": groups.asymmetric_loss(3.0, 1.0),
}
"""The third and fourth are pinball losses: up to their unit, costs of a decision by a cutoff."""


def data() -> Iterator[tuple[str, Floats, Floats]]:
    """Name, features and outcomes."""
    for name, load in (("breast cancer", load_breast_cancer), ("odd digits", load_digits)):
        table, label = load(return_X_y=True)
        yield name, table, (label % 2).astype(float)
    flights = cal.datasets.flights()
    chosen = np.random.default_rng(0).permutation(flights["outcome"].size)[:FLIGHTS]
    names = ("carrier", "origin", "month")
    labels = [(flights[name] == one)[chosen] for name in names for one in np.unique(flights[name])]
    table = np.column_stack([flights["prediction"][chosen], *labels]).astype(float)
    yield "flights", table, flights["outcome"][chosen].astype(float)


def fitted_to_loss(loss: Any, table: Floats, y: Floats) -> Callable[[Floats], Floats]:
    """Fit a linear score behind a logistic function to a loss, from where the log loss ends."""
    scaler = StandardScaler().fit(table)
    start = LogisticRegression(max_iter=2000).fit(scaler.transform(table), y)
    design = np.column_stack([scaler.transform(table), np.ones(y.size)])

    def objective(w: Floats) -> tuple[float, Floats]:
        action = expit(design @ w)
        step = 1e-6
        low, high = np.clip(action - step, 0, 1), np.clip(action + step, 0, 1)
        slope = (loss(y, high) - loss(y, low)) / (high - low)
        ridge = np.append(w[:-1], 0.0) * RIDGE / y.size
        value = float(loss(y, action).mean()) + float(ridge @ w) / 2
        return value, design.T @ (slope * action * (1 - action)) / y.size + ridge

    w = minimize(objective, np.append(start.coef_[0], start.intercept_), jac=True).x
    return lambda rows: expit(np.column_stack([scaler.transform(rows), np.ones(len(rows))]) @ w)


PREDICTORS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=2000)
    ),
    "multiaccuracy": groups.Omnipredictor,
    "isotron": lambda: groups.Omnipredictor("isotron"),
    "isotron, heads": lambda: groups.Omnipredictor("isotron", heads="average"),
    "multicalibration": lambda: groups.Omnipredictor("multicalibration"),
}


def actions_of(model: Any, table: Floats, loss: Any) -> Floats:
    """Best actions for a loss."""
    if isinstance(model, groups.Omnipredictor):
        return model.decide(table, loss)
    return groups.omnipredict(model.predict_proba(table)[:, 1], loss)


def compared(table: Floats, y: Floats, halves: int) -> tuple[dict[str, Floats], list[Any], Floats]:
    """Held-out losses by predictor, one row for each half; certificates; seconds of each fit."""
    losses: dict[str, list[list[float]]] = {name: [] for name in ("one model a loss", *PREDICTORS)}
    certificates, seconds = [], []
    for seed in range(halves):
        order = np.random.default_rng(seed).permutation(y.size)
        fit, rest = order[: y.size // 2], order[y.size // 2 :]
        own = {
            n: fitted_to_loss(loss, table[fit], y[fit])(table[rest]) for n, loss in LOSSES.items()
        }
        losses["one model a loss"].append([LOSSES[n](y[rest], own[n]).mean() for n in LOSSES])
        took = []
        for name, make in PREDICTORS.items():
            start = time.process_time()
            model = make().fit(table[fit], y[fit])
            took.append(time.process_time() - start)
            losses[name].append([
                loss(y[rest], actions_of(model, table[rest], loss)).mean()
                for loss in LOSSES.values()
            ])  # fmt: skip
            if name == "multiaccuracy":
                certificates.append(model.certificate(table[rest], y[rest], LOSSES, own))
        seconds.append(took)
    return {n: np.array(v) for n, v in losses.items()}, certificates, np.median(seconds, axis=0)


def difference(found: Floats, base: Floats) -> str:
    """Mean difference with its standard error."""
    apart = found - base
    return f"{apart.mean():+.4f} ({apart.std(ddof=1) / np.sqrt(apart.size):.4f})"


def lines(halves: int) -> Iterator[Line]:
    """Tables of all data sets."""
    yield (
        f"Means over {halves} halves. Each column after the second is the difference from it.\n",
        True,
    )
    for title, table, y in data():
        losses, certificates, seconds = compared(table, y, halves)
        yield (
            f"## {title}: {y.size} rows, {table.shape[1]} features, {y.mean():.0%} positive\n",
            True,
        )
        yield "| loss | one model a loss | " + " | ".join(PREDICTORS) + " |", True
        yield "|---" * (len(PREDICTORS) + 2) + "|", True
        base = losses["one model a loss"]
        for i, name in enumerate(LOSSES):
            cells = [difference(losses[p][:, i], base[:, i]) for p in PREDICTORS]
            yield f"| {name} | {base[:, i].mean():.4f} | " + " | ".join(cells) + " |", True
        yield "| seconds to fit |  | " + " | ".join(f"{s:.2f}" for s in seconds) + " |", True
        gap = np.median([c.gap for c in certificates])
        bound = np.median([c.bound for c in certificates])
        held = all(c.gap <= c.bound + 1e-12 for c in certificates)
        yield (
            (
                f"\nCertificate of multiaccuracy on held-out rows, against all five models for "
                f"every loss: gap {gap:.4f}, bound {bound:.4f} (medians).\n"
            ),
            held,
        )


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--halves", type=int, default=HALVES)
    add_write(parser, PAGE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    title = "One predictor for every loss, beside one model a loss"
    leave(show(title, lines(options.halves), PAGE if options.write else None))


if __name__ == "__main__":
    main()
