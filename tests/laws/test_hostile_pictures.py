"""Every picture and every page of forecasts that are next to 0 or 1, constant, few or all wrong.

Coordinates are numbers, nothing warns, axes have ticks that differ, and no number that a reader
sees has more than five digits.
"""

from __future__ import annotations

import html
import math
import re
from functools import cache
from html.parser import HTMLParser

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.ticker import FixedLocator

import calibrant as cal
from calibrant import distributions, plots, survival
from calibrant.monitoring import run_monitor
from calibrant.online import Bernoulli, ConstantForecaster, simulate
from calibrant.recalibration import recalibrate
from calibrant.report import render_monitor
from calibrant.report.drawing import Sheet, tick_text

mpl.use("Agg")

DRAWS, MOST_ROWS = 99, 600
MOST_DIGITS = 5
rng = np.random.default_rng(0)


def _sure(n: int, wrong: float):
    """Forecasts with log-odds as far apart as those of naive Bayes; some of them are wrong."""
    odds = rng.normal(0, 40, n)
    p = np.where(odds < 0, np.exp(odds), 1 / (1 + np.exp(-np.abs(odds))))
    return (rng.random(n) < np.where(odds > 0, 1 - wrong, wrong)).astype(int), p


FORECASTS = {
    "over-confident": _sure(400, 0.05),
    "all wrong": ([1] * 30 + [0] * 30, [1e-30] * 30 + [1 - 1e-16] * 30),
    "wrong and certain": ([1] * 30 + [0] * 30, [0.0] * 30 + [1.0] * 30),
    "right and certain": ([0] * 30 + [1] * 30, [0.0] * 30 + [1.0] * 30),
    "next to 0": ([0] * 199 + [1], (10.0 ** -np.linspace(3, 300, 200)).tolist()),
    "next to 1": ([1] * 199 + [0], (1 - 10.0 ** -np.linspace(1, 15, 200)).tolist()),
    "denormal": ([0, 1] * 20, [5e-324] * 20 + [1e-310] * 20),
    "constant": ([0] * 35 + [1] * 5, [0.125] * 40),
    "constant and tiny": ([0] * 40, [1e-30] * 40),
    "constant and sure": ([1] * 39 + [0], [1 - 2.0**-53] * 40),
    "one row": ([1], [1e-30]),
    "two rows": ([0, 1], [1e-30, 1 - 1e-16]),
    "two values": ([0, 1] * 40, [1e-9, 0.99999] * 40),
    "mixed": ([0, 1] * 40, [0.0, 1e-30, 1e-12, 0.3, 0.7, 1 - 1e-12, 1 - 1e-16, 1] * 10),
    "rare": ([1] * 3 + [0] * 997, (10 ** np.linspace(-9, -2, 1000)).tolist()),
}  # fmt: skip
DATA_SETS = ("breast_cancer", "iris", "digits", "wine")
FROM_FORECASTS = [
    plots.ReliabilityDisplay,
    plots.WitnessDisplay,
    plots.DecisionLossDisplay,
    plots.MurphyDisplay,
    plots.NullDisplay,
    plots.RiskCoverageDisplay,
    plots.DecompositionDisplay,
    plots.RocDisplay,
]


@cache
def naive_bayes(name: str):
    """Out-of-fold forecasts of Gaussian naive Bayes, which are far too sure."""
    from sklearn import datasets
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    features, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    with np.errstate(all="ignore"):
        found = cross_val_predict(GaussianNB(), features, y, cv=5, method="predict_proba")
    y, found = y[:MOST_ROWS], found[:MOST_ROWS]
    return y, found[:, 1] if found.shape[1] == 2 else found


class Text(HTMLParser):
    """Collects what a reader sees or hears, and the values of all attributes that place things."""

    PLACES = frozenset(
        ("d", "x", "y", "cx", "cy", "r", "width", "height", "transform", "points", "viewbox",
         "data-at", "data-zero", "data-unit", "data-end", "data-low", "data-high", "value")
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.places, self.frames, self._hidden = [], [], [], ""

    def handle_starttag(self, tag, attributes):
        if tag in {"script", "style"}:
            self._hidden = tag
        for name, value in attributes:
            if name in self.PLACES:
                self.places.append(value)
            elif name in {"aria-label", "alt"}:
                self.seen.append(value)
            elif name == "srcdoc":
                self.frames.append(value)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        self._hidden = "" if tag == self._hidden else self._hidden

    def handle_data(self, data):
        if not self._hidden and data.strip():
            self.seen.append(data)


def check_page(page: str) -> None:
    """No coordinate is missing or infinite, and every number can be read."""
    text = Text()
    text.feed(page)
    for place in text.places:
        assert not re.search(r"nan|inf", place, re.IGNORECASE), place
    for seen in text.seen:
        check_words(html.unescape(seen))
    for frame in text.frames:
        check_page(frame)


def check_words(words: str) -> None:
    """No number of a text is missing, infinite, or has more digits than a reader takes in."""
    plain = words.replace("\u202f", "").replace("\u2212", "-")
    assert not re.search(r"\b(nan|inf)\b", plain, re.IGNORECASE), words
    plain = re.sub(r"\b[0-9a-f]{16}\b", "", plain)  # the fingerprint of the data
    for number in re.findall(r"\d+(?:\.\d+)?", plain):
        digits = number.replace(".", "").lstrip("0")
        if "." not in number:
            digits = digits.rstrip("0")
        assert len(digits) <= MOST_DIGITS, (number, words)


def check_figure(figure) -> None:
    """Axes of matplotlib have finite limits, and at least two ticks, whose labels differ."""
    for ax in figure.axes:
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            assert all(map(math.isfinite, limits))
            labels = [label.get_text() for label in axis.get_majorticklabels()]
            if not any(labels):  # named below another picture, or not at all
                continue
            inside = [
                label
                for place, label in zip(axis.get_majorticklocs(), labels, strict=True)
                if min(limits) <= place <= max(limits)
            ]
            assert len(set(inside)) == len(inside), inside
            one = len(labels) == 1 and isinstance(axis.get_major_locator(), FixedLocator)
            assert len(inside) >= 2 or one, (inside, limits)  # a single group or window
            for text in inside:
                check_words(text)


@pytest.fixture(autouse=True)
def _axes_can_be_read(monkeypatch):
    """Look at every axis of a page while it is drawn."""

    def across(self, axis, y, label, *, percent=True):
        check_axis(axis, percent=percent)
        drawn_across(self, axis, y, label, percent=percent)

    def upward(self, axis, x, label, *, percent=True):
        check_axis(axis, percent=percent)
        drawn_upward(self, axis, x, label, percent=percent)

    drawn_across, drawn_upward = Sheet.across, Sheet.upward
    monkeypatch.setattr(Sheet, "across", across)
    monkeypatch.setattr(Sheet, "upward", upward)
    yield
    plt.close("all")


def check_axis(axis, *, percent: bool) -> None:
    """Ticks of a page differ from each other, and there are at least two."""
    assert -math.inf < axis.span.low < axis.span.high < math.inf
    texts = [tick_text(value, percent=percent) for value in axis.ticks(percent=percent)]
    assert len(texts) >= 2, (axis.span, texts)
    assert len(set(texts)) == len(texts), (axis.span, texts)


def check_audit(found: cal.Audit) -> None:
    check_page(found._repr_html_())  # the page in a frame
    for text in (found.to_markdown(), str(found), found.line):
        check_words(text)


def check_display(display) -> None:
    check_page(display.to_svg())
    check_words(display.sentence)
    check_figure(display.figure_)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("data", FORECASTS.values(), ids=FORECASTS)
@pytest.mark.parametrize("kind", FROM_FORECASTS, ids=lambda kind: kind.__name__)
def test_displays(kind, data):
    if kind is plots.RocDisplay and len(set(data[0])) == 1:
        pytest.skip("a ROC curve needs both outcomes")
    check_display(kind.of(*data))


@pytest.mark.parametrize("name", ["over-confident", "wrong and certain", "constant and tiny"])
@pytest.mark.parametrize("scale", ["linear", "log", "logit"])
def test_scales(name, scale):
    check_display(plots.ReliabilityDisplay.of(*FORECASTS[name], scale=scale))


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("data", FORECASTS.values(), ids=FORECASTS)
def test_reports(data):
    y, p = map(np.array, data)
    n = y.size
    by = {"a group with a name that is rather long": np.where(np.arange(n) % 3 == 0, "first", "b")}
    check_audit(cal.audit(y, p, by=by, time=np.arange(n), draws=DRAWS))
    check_page(cal.verdict(y, p, draws=DRAWS)._repr_html_())


@pytest.mark.parametrize("name", DATA_SETS)
def test_reports_of_naive_bayes(name):
    y, p = naive_bayes(name)
    found = cal.audit(y, p, draws=DRAWS)
    check_audit(found)
    check_page(found.verdict._repr_html_())
    if p.ndim == 1:
        check_display(plots.ReliabilityDisplay.of(y, p))
        check_page(recalibrate(y, p, rng=0)._repr_html_())


CLASSES = {
    "certain but once": ([0] * 60 + [1], np.vstack([np.eye(3)[[0] * 60], [[0.2, 0.7, 0.1]]])),
    "next to certain": (
        [0, 1, 2] * 20, np.array([[1 - 2e-16, 1e-16, 1e-16], [1e-30, 1, 0], [0.3, 0.3, 0.4]] * 20)
    ),
    "all wrong": ([1] * 40, np.array([[1 - 1e-12, 1e-12 / 2, 1e-12 / 2]] * 40)),
    "constant": ([0, 1, 2] * 15, np.full((45, 3), 1 / 3)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("data", CLASSES.values(), ids=CLASSES)
def test_reports_of_classes(data):
    y, p = data
    check_audit(cal.audit(np.array(y), p, classes=[0, 1, 2], draws=DRAWS))


REAL = {
    "constant": (np.arange(40.0), np.full(40, 20.0)),
    "all alike": (np.full(40, 3.0), np.full(40, 3.0)),
    "next to nothing": (1e-60 * np.arange(40.0), 1e-60 * np.arange(40.0)[::-1]),
    "huge": (1e60 * np.arange(40.0), 1e60 * np.arange(40.0)),
    "two rows": (np.array([0.0, 1.0]), np.array([1e-30, 5.0])),
    "one row far out": (np.append(np.zeros(50), 1e4), np.append(np.zeros(50), 1.0)),
}


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("kind", ["mean", "quantile=0.9", "interval"])
@pytest.mark.parametrize("data", REAL.values(), ids=REAL)
def test_reports_of_real_outcomes(data, kind):
    y, z = data
    level, tolerance = None, 0.1 if y.min() == y.max() else None
    if kind == "interval":
        z, level = np.column_stack([z - 1, z + 1]), 0.9
    try:
        audit = cal.audit(y, z, kind=kind, level=level, tolerance=tolerance, draws=DRAWS)
    except cal.errors.InvalidForecastsError as error:
        assert "outcomes that rarely equal them" in str(error)  # noqa: PT017
        pytest.skip("outcomes that equal their quantiles are rejected")
    check_audit(audit)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize(
    "risk",
    [np.full(60, 1e-30), np.full(60, 1 - 1e-16), np.tile([1e-30, 0.5, 1], 20), np.zeros(60)],
    ids=["tiny", "sure", "mixed", "none"],
)  # fmt: skip
@pytest.mark.parametrize("events", ["some", "all"])
def test_risks_by_a_horizon(risk, events):
    time = np.linspace(0.1, 2, 60)
    happened = {"some": np.arange(60) % 4 == 0, "all": np.ones(60)}[events]
    found = survival.SurvivalForecasts.read(time, happened.astype(int), risk, 1.0)
    check_display(plots.ObservedRiskDisplay.of(found, bins=3))


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("data", FORECASTS.values(), ids=FORECASTS)
def test_groups_and_windows(data):
    y, p = map(np.array, data)
    by = {"place": np.array(["here", "there and everywhere"])[np.arange(y.size) % 2]}
    display = plots.GroupsDisplay.of(y, p, by, rng=0, draws=DRAWS)
    check_display(display)
    check_page(display.groups._repr_html_())
    check_display(plots.TimeDisplay.of(y, p, time=np.arange(y.size)))
    page = render_monitor(run_monitor(y, p, np.arange(y.size), by=by["place"]), "log")
    check_page(page)


@pytest.mark.parametrize("outcome", [np.zeros(50), np.full(50, 1e300), np.arange(50) * 1e-300])
def test_transforms_of_distributions(outcome):
    members = np.random.default_rng(0).normal(size=(50, 5))
    forecasts = distributions.PredictiveDistributions.from_ensemble(members)
    check_display(plots.PitDisplay.of(forecasts, outcome, bins=5, rng=0))


@pytest.mark.parametrize("chance", [0.0, 1e-30, 1.0])
def test_games(chance):
    game = simulate(ConstantForecaster(1e-30), Bernoulli(chance), 200, rng=0)
    check_display(game.plot())
