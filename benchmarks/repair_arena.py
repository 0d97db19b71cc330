"""Run maps and `choose` on out-of-fold predictions of real models, after the protocol of CalArena.

Every pair of a data set and a model gives out-of-fold predictions. Half of the rows teach each map
and `choose`; the other half judges them by log loss and Brier score. Told are win rates (share of
other methods that a method beats, averaged over pairs), the mean regret to the best method in
hindsight, and the share of pairs made worse than no map, beyond two standard errors of the
difference. A third of the data sets is held out: name it with --held-out once rules are fixed. The
protocol is that of arXiv 2605.30188; the data are those that come with scikit-learn, so that no
network is needed. Prints Markdown.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from calibrant.arrays import Floats, Indices
from calibrant.repair import CLASS_MAPS, MAPS, choose
from pages import Line, add_write, leave, show

PAGE = "ARENA"
LEAST = 1e-12
LEFT = "Identity"


def data_sets() -> dict[str, tuple[Floats, Indices]]:
    """Read what comes with scikit-learn, and questions of two answers made of it."""
    from sklearn import datasets

    x, digit = datasets.load_digits(return_X_y=True)
    wine_x, wine = datasets.load_wine(return_X_y=True)
    sugar_x, sugar = datasets.load_diabetes(return_X_y=True)
    cancer = datasets.load_breast_cancer(return_X_y=True)
    made = datasets.make_classification(
        2000, 20, n_informative=6, n_classes=4, flip_y=0.2, class_sep=0.8, random_state=0
    )
    rare = datasets.make_classification(3000, 15, weights=[0.93], flip_y=0.05, random_state=1)
    noise = np.random.default_rng(0).normal(0, 6, x.shape)
    return {
        "cancer": cancer,
        "digits, 5 or more": (x + noise, (digit >= 5) * 1),
        "diabetes above its median": (sugar_x, (sugar > np.median(sugar)) * 1),
        "wine": (wine_x[:, :3], wine),
        "made, 4 classes": made,
        "made, rare": rare,
        "digits, even": (x[:, 16:40], digit % 2),
        "diabetes in three": (sugar_x, np.digitize(sugar, np.quantile(sugar, [1 / 3, 2 / 3]))),
        "digits in five": (x + noise, digit // 2),
    }


HELD_OUT = ("digits, even", "diabetes in three", "digits in five")


def models() -> dict[str, Any]:
    """Eight families."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

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
        "discriminant": scaled(QuadraticDiscriminantAnalysis(reg_param=0.1)),
    }


def row_losses(label: Indices, table: Floats) -> dict[str, Floats]:
    """Log loss and Brier score of each row."""
    hit = table[np.arange(label.size), label]
    whole = np.eye(table.shape[1])[label]
    return {"log": -np.log(np.maximum(hit, LEAST)), "brier": ((table - whole) ** 2).sum(axis=1)}


def judged(table: Floats, label: Indices, rng: np.random.Generator) -> dict[str, dict[str, Floats]]:
    """Row losses of every method on the half of the rows that taught none."""
    order = rng.permutation(label.size)
    taught, unseen = order[: label.size // 2], order[label.size // 2 :]
    two = table.shape[1] == 2
    p: Floats = table[:, 1] if two else table
    kinds = MAPS if two else CLASS_MAPS
    names: dict[str, Any] = {} if two else {"classes": list(range(table.shape[1]))}
    fitted = {name: kind().fit(p[taught], label[taught], **names) for name, kind in kinds.items()}
    fitted["choose"] = choose(label[taught], p[taught], rng=0, draws=39, **names).map
    found = {}
    for name, one in fitted.items():
        moved = one.transform(p[unseen])
        found[name] = row_losses(
            label[unseen], np.column_stack([1 - moved, moved]) if two else moved
        )
    return found


def standings(pairs: list[dict[str, Floats]], kind: str, score: str) -> Iterator[Line]:
    """Win rate, regret and harm of each method over pairs of data set and model."""
    names = list(pairs[0])
    mean = np.array([[pair[name].mean() for name in names] for pair in pairs])
    wins = (mean[:, :, None] < mean[:, None, :]).sum(axis=2) / (len(names) - 1)
    regret = mean - mean.min(axis=1, keepdims=True)
    harm = np.zeros_like(mean)
    for i, pair in enumerate(pairs):
        for j, name in enumerate(names):
            worse = pair[name] - pair[LEFT]
            harm[i, j] = worse.mean() > 2 * worse.std() / np.sqrt(worse.size) > 0
    yield (f"\n## {kind}, {score}, {len(pairs)} pairs\n", True)
    yield ("| method | win rate | mean regret | made worse |", True)
    yield ("|---|---|---|---|", True)
    error = regret.std(axis=0) / np.sqrt(len(pairs))
    for j in np.argsort(regret.mean(axis=0)):
        told = f"{regret[:, j].mean():.4f} ({error[j]:.4f})"
        yield (f"| {names[j]} | {wins[:, j].mean():.2f} | {told} | {harm[:, j].mean():.0%} |", True)


def lines(*, held_out: bool, repeats: int) -> Iterator[Line]:
    """Fit all models, judge all methods, tell standings."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    found: dict[str, list[dict[str, dict[str, Floats]]]] = {"two outcomes": [], "classes": []}
    for number, (name, (x, label)) in enumerate(data_sets().items()):
        if (name in HELD_OUT) != held_out:
            continue
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        for model in models().values():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # networks that have not converged are wanted
                table = cross_val_predict(model, x, label, cv=folds, method="predict_proba")
            table = np.clip(table, 0.0, 1.0)
            table /= table.sum(axis=1, keepdims=True)
            for repeat in range(repeats):
                rng = np.random.default_rng([number, repeat])
                kind = "two outcomes" if table.shape[1] == 2 else "classes"
                found[kind].append(judged(table, label, rng))
    which = "held out" if held_out else "looked at while rules were made"
    yield (f"Data sets {which}; standard errors over pairs in brackets.", True)
    for kind, pairs in found.items():
        for score in ("log", "brier") if pairs else ():
            rows = [{name: losses[score] for name, losses in pair.items()} for pair in pairs]
            yield from standings(rows, kind, {"log": "log loss", "brier": "Brier score"}[score])


def main(argv: list[str] | None = None) -> None:
    """Fit, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held-out", action="store_true", help="judge on the data sets held out")
    parser.add_argument("--repeats", type=int, default=1, help="splits of each pair")
    add_write(parser, PAGE)
    given = parser.parse_args(argv)
    page = PAGE if given.write else None
    leave(show("Maps on real models", lines(held_out=given.held_out, repeats=given.repeats), page))


if __name__ == "__main__":
    main()
