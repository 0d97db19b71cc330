"""What a calibrated model tells of its gain, against fresh rows and the model that is delivered."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import expit

from calibrant.models import CalibratedClassifier
from promises.core import Promise

SLOPES = np.array([1.0, 0.7, 0.5, 0.3])
FRESH = 8000
# How much the log-odds of a cluster differ from those of others, and an even grid of that.
SPREAD = 0.8
NODES, MASSES = np.polynomial.hermite_e.hermegauss(20)


def classifiers():
    """Make models that are wrong: too sure of what they are told thrice, or too timid."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    return {
        "overconfident": GaussianNB(),
        "weak": LogisticRegression(C=0.003),
    }


def known(hidden, rng):
    """What a model sees: four numbers, and three of them twice more, blurred."""
    blurred = [hidden[:, :3] + 0.3 * rng.normal(size=(len(hidden), 3)) for _ in range(2)]
    return np.column_stack([hidden, *blurred])


def drawn(n, grouped, rng):
    """Features, outcomes, and clusters of ten rows that are alike and share what drives them."""
    hidden = rng.normal(size=(n, SLOPES.size))
    if not grouped:
        return known(hidden, rng), rng.random(n) < expit(hidden @ SLOPES), None
    cluster = np.repeat(np.arange(n // 10), 10)
    hidden = np.sqrt(0.5) * (hidden + rng.normal(size=(n // 10, SLOPES.size))[cluster])
    own = SPREAD * rng.normal(size=n // 10)[cluster]
    return known(hidden, rng), rng.random(n) < expit(hidden @ SLOPES + own), cluster


def fresh(grouped, rng):
    """Features of other rows, of clusters never seen, with their chances."""
    hidden = rng.normal(size=(FRESH, SLOPES.size))
    odds = hidden @ SLOPES
    if grouped:
        chance = expit(odds[:, None] + SPREAD * NODES) @ MASSES / MASSES.sum()
    else:
        chance = expit(odds)
    return known(hidden, rng), chance


def loss(chance, said):
    said = np.clip(said, 2**-53, 1 - 2**-53)
    return float(-np.mean(chance * np.log(said) + (1 - chance) * np.log1p(-said)))


def told_and_true(name, n, ensemble, grouped, rng):
    """Gain that a report tells of a chosen calibrator, and of the same models on fresh rows."""
    while True:
        x, y, cluster = drawn(n, grouped, rng)
        model = CalibratedClassifier(
            classifiers()[name], ensemble=ensemble, rng=int(rng.integers(2**31))
        ).fit(x, y, clusters=cluster)
        if not model.report_.unchanged:
            break
    features, chance = fresh(grouped, rng)
    before = np.mean([loss(chance, one.predict_proba(features)[:, 1]) for one in model.estimators_])
    return model.report_.gain, float(before) - loss(chance, model.predict_proba(features)[:, 1])


def gain_is_missed(name, n, ensemble, grouped, rng):
    gain, true = told_and_true(name, n, ensemble, grouped, rng)
    return not gain.low <= true <= gain.high


def promises():
    """Of models of the folds; what is judged is another model than one of all rows."""
    lines = [("overconfident", n, grouped) for n in (200, 1000) for grouped in (False, True)]
    lines += [("weak", 200, False), ("weak", 1000, False), ("weak", 1000, True)]
    for name, n, grouped in lines:
        yield Promise(
            "interval of the gain of a calibrated model, where a calibrator was taken",
            f"{name}, {n} rows{', clusters of 10' if grouped else ''}, models of the folds",
            partial(gain_is_missed, name, n, True, grouped),
            60 if (name, n) == ("overconfident", 200) else 40,
        )
