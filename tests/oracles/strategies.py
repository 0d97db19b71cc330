"""Random laws for the oracles, and hypothesis strategies for rows and laws.

A maker takes a numpy Generator and the largest number of levels, and returns a ``Law``. No law has
all its predictions in {0, 1} together with fractional outcomes: that is how swapped arguments look.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps

import hypothesis.strategies as st
import numpy as np
from hypothesis import assume, note, settings

import calibrant as cal
from oracles.definitions import Law, group_levels

Maker = Callable[[np.random.Generator, int], Law]

# Universal statements: the same examples on every run, no clock; `make slow` tries many more.
EXAMPLES = int(os.environ.get("EXAMPLES", "40"))
universal = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)


def of_each(name: str, values: Iterable[object]) -> Callable[[Callable[..., None]], object]:
    """Ask a law, below `given`, of each value of an argument on the same examples.

    To draw examples anew for every measure takes longer than most laws do.
    """
    values = tuple(values)

    def asked_of_each(law: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(law)
        drawn = [one for one in signature.parameters.values() if one.name != name]
        signature = signature.replace(parameters=drawn)

        @wraps(law)
        def asked(*positional: object, **named: object) -> None:
            example = signature.bind(*positional, **named).arguments
            for value in values:
                note(f"{name}={getattr(value, 'name', value)}")
                law(**{name: value}, **example)

        asked.__signature__ = signature
        return asked

    return asked_of_each


def joint_of(law: Law) -> cal.Joint:
    """The library's Joint of a law; mean outcomes stand in for rows."""
    return cal.Joint.from_samples(law.outcome, law.prediction, sample_weight=law.mass)


def laws(maker: Maker, count: int, most: int = 40, seed: int = 20250923) -> Iterator[Law]:
    """A reproducible series of laws with at most ``most`` levels.

    The quick suite takes the first third of a long series, `make slow` all of it.
    """
    rng = np.random.default_rng(seed)
    for _ in range(min(count, max(5, count * EXAMPLES // 120))):
        yield maker(rng, most)


def _law(v: np.ndarray, m: np.ndarray, r: np.ndarray) -> Law:
    v, first = np.unique(np.clip(v, 0.0, 1.0), return_index=True)
    m = m[first]
    return Law(v, m / m.sum(), np.clip(r[first], 0.0, 1.0))


def _size(rng: np.random.Generator, most: int) -> int:
    return int(rng.integers(1, most + 1))


def _outcomes(rng: np.random.Generator, v: np.ndarray) -> np.ndarray:
    """Mean outcomes of a kind met in practice: unrelated, nearly right, or single rows."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.random(len(v))
    if kind == 1:
        return v + rng.normal(0, 0.1, len(v))
    return (rng.random(len(v)) < v).astype(float)


def generic(rng: np.random.Generator, most: int) -> Law:
    """Predictions anywhere, masses of a Dirichlet law."""
    v = rng.random(_size(rng, most))
    return _law(v, rng.dirichlet(np.ones(len(v))), _outcomes(rng, v))


def tied(rng: np.random.Generator, most: int) -> Law:
    """Rows with predictions on multiples of .05, as people and language models state them."""
    p = rng.integers(0, min(most, 21), 3 * most) / 20
    y = rng.random(len(p)) < np.clip(p + rng.normal(0, 0.15), 0, 1)
    return group_levels(y, p)[1]


def clustered(rng: np.random.Generator, most: int) -> Law:
    """Few centres with levels at gaps from 1e-12 to 1e-3 around them."""
    size = _size(rng, most)
    centres = rng.choice(rng.random(3), size)
    v = centres + 10.0 ** rng.uniform(-12, -3, size)
    return _law(v, rng.dirichlet(np.ones(size)), rng.random(size))


def alternating_signs(rng: np.random.Generator, most: int) -> Law:
    """Residuals as large as they can be, of alternating sign."""
    v = np.sort(rng.random(_size(rng, most)))
    return _law(v, rng.dirichlet(np.ones(len(v))), np.arange(len(v)) % 2.0)


def zigzag(rng: np.random.Generator, most: int) -> Law:
    """Cumulative residuals that swing about zero with growing amplitude."""
    v = np.linspace(0.2, 0.8, _size(rng, most))
    step = np.arange(1, len(v) + 1) * (-1.0) ** np.arange(len(v))
    return _law(v, np.full(len(v), 1.0), v + 0.2 * step / len(v))


def rise_and_fall(rng: np.random.Generator, most: int) -> Law:
    """Cumulative residuals that grow up to some level and shrink after it."""
    v = np.sort(rng.random(_size(rng, most)))
    up = np.arange(len(v)) < rng.integers(0, len(v) + 1)
    part = rng.random(len(v))
    r = np.where(up, v + part * (1 - v), part * v)
    return _law(v, rng.dirichlet(np.ones(len(v))), r)


def one_sign(rng: np.random.Generator, most: int) -> Law:
    """Monotone cumulative residuals: every outcome more (or every one less) frequent than said."""
    v = rng.random(_size(rng, most))
    part = rng.random(len(v))
    r = v + part * (1 - v) if rng.random() < 0.5 else part * v
    return _law(v, rng.dirichlet(np.ones(len(v))), r)


def extreme_masses(rng: np.random.Generator, most: int) -> Law:
    """Masses from 1e-12 to 1."""
    v = rng.random(_size(rng, most))
    return _law(v, 10.0 ** rng.uniform(-12, 0, len(v)), rng.random(len(v)))


def corners(rng: np.random.Generator, most: int) -> Law:
    """Predictions exactly 0 and 1, their neighbours among the doubles, and some between."""
    ends = [0.0, 1.0, np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)]
    v = np.concatenate([ends, rng.random(max(1, most // 4))])
    return _law(v, rng.dirichlet(np.ones(len(v))), rng.random(len(v)))


def one_level(rng: np.random.Generator, most: int) -> Law:
    """A constant predictor."""
    del most
    return _law(rng.random(1), np.ones(1), rng.random(1))


def two_levels(rng: np.random.Generator, most: int) -> Law:
    """The survey's p_eps in general position, the gap from 1e-9 to 1."""
    del most
    low = rng.uniform(0.01, 0.9)
    v = np.array([low, low + (1 - low) * 10.0 ** rng.uniform(-9, 0)])
    return _law(v, rng.dirichlet(np.ones(2)), rng.random(2))


def denormal(rng: np.random.Generator, most: int) -> Law:
    """Predictions so small that differences and products underflow."""
    tiny = np.array([5e-324, 1e-323, 3e-310, 2.3e-308, 1e-300, 1e-200])
    v = np.concatenate([tiny, rng.random(max(1, most // 4))])
    return _law(v, rng.dirichlet(np.ones(len(v))), rng.random(len(v)))


def calibrated(rng: np.random.Generator, most: int) -> Law:
    """Outcomes exactly as predicted."""
    v = rng.random(_size(rng, most))
    return _law(v, rng.dirichlet(np.ones(len(v))), v)


def inverted(rng: np.random.Generator, most: int) -> Law:
    """Low predictions that always come true and high ones that never do."""
    v = rng.random(_size(rng, most))
    return _law(v, rng.dirichlet(np.ones(len(v))), (v < rng.random()).astype(float))


ADVERSARIES: tuple[Maker, ...] = (
    alternating_signs,
    zigzag,
    rise_and_fall,
    one_sign,
    extreme_masses,
    corners,
    one_level,
    two_levels,
    denormal,
    calibrated,
    inverted,
)


def adversarial(rng: np.random.Generator, most: int) -> Law:
    """One of the adversaries."""
    return ADVERSARIES[rng.integers(len(ADVERSARIES))](rng, most)


MAKERS: tuple[Maker, ...] = (generic, tied, clustered, adversarial)

# Half of the predictions are round, so that ties are frequent and fall on the edges of bins.
predictions = st.one_of(st.integers(0, 20).map(lambda k: k / 20), st.floats(0.0, 1.0))


@st.composite
def rows(draw, max_size: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes in {0, 1} and predictions."""
    pairs = draw(st.lists(st.tuples(st.integers(0, 1), predictions), min_size=1, max_size=max_size))
    y, p = zip(*pairs, strict=True)
    return np.array(y), np.array(p)


@st.composite
def weighted_rows(draw, max_size: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes, predictions and weights, some of them zero but not all."""
    y, p = draw(rows(max_size=max_size))
    weight = st.one_of(st.integers(0, 4).map(float), st.floats(1e-3, 1e3))
    w = np.array(draw(st.lists(weight, min_size=len(y), max_size=len(y))))
    assume(w.any())
    return y, p, w


@st.composite
def joints(draw, max_levels: int = 12) -> Law:
    """Laws by level: any distinct predictions, masses and mean outcomes."""
    levels = draw(st.lists(predictions, min_size=1, max_size=max_levels, unique=True))
    size = len(levels)
    mass = st.one_of(st.integers(1, 9).map(float), st.floats(1e-6, 1.0))
    outcome = st.one_of(st.integers(0, 10).map(lambda k: k / 10), st.floats(0.0, 1.0))
    m = np.array(draw(st.lists(mass, min_size=size, max_size=size)))
    r = np.array(draw(st.lists(outcome, min_size=size, max_size=size)))
    law = _law(np.array(levels), m, r)
    assume(not np.isin(law.prediction, (0.0, 1.0)).all())
    return law
