"""Displays: the data behind them, axes that are reused, odd samples, the same every time."""

from __future__ import annotations

import pickle
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibrant as cal
from calibrant import plots
from calibrant.binning import quantile_bins
from calibrant.inference.bands import isotonic_curve
from calibrant.monitoring.windows import Window

mpl.use("Agg")


def sample(n: int = 600, seed: int = 0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.95, n)
    return (rng.random(n) < p**1.4).astype(int), p


FROM_FORECASTS = [
    plots.ReliabilityDisplay,
    plots.WitnessDisplay,
    plots.DecisionLossDisplay,
    plots.MurphyDisplay,
    plots.NullDisplay,
    plots.RiskCoverageDisplay,
    plots.DecompositionDisplay,
]
ODD = {
    "one row": ([1], [0.5]),
    "two rows": ([0, 1], [0.2, 0.9]),
    "no event": ([0] * 30, [0.01] * 30),
    "certain": ([0, 1, 1, 0], [0.0, 1.0, 1.0, 1.0]),
    "eleven values": ([0, 1] * 55, list(np.arange(11) / 10) * 10),
    "rare": ([1] * 3 + [0] * 997, list(10 ** np.linspace(-5, -1.2, 1000))),
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", FROM_FORECASTS, ids=lambda kind: kind.__name__)
def test_every_way_to_make_one(kind):
    from sklearn.linear_model import LogisticRegression

    y, p = sample()
    joint = cal.Joint.from_samples(y, p)
    model = LogisticRegression().fit(p[:, np.newaxis], y)
    figure, ax = plt.subplots()
    reused = kind.from_predictions(y, p, ax=ax)
    assert reused.ax_ is ax
    assert reused.figure_ is figure
    drawn = [reused, kind.from_joint(joint), kind.from_estimator(model, p[:, np.newaxis], y)]
    for display in drawn:
        columns = display.frame()
        assert len({len(column) for column in columns.values()}) == 1
        assert display.sentence
        again = pickle.loads(pickle.dumps(display))  # noqa: S301
        assert again.sentence == display.sentence
        assert not hasattr(again, "ax_")


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
@pytest.mark.parametrize("kind", FROM_FORECASTS, ids=lambda kind: kind.__name__)
def test_odd_samples_are_drawn(kind, data):
    svg = kind.of(*data).to_svg(name="odd")
    assert svg.startswith("<svg")
    assert "nan" not in svg.lower().split("<title>")[0]


def test_the_reliability_diagram_shows_the_librarys_numbers():
    y, p = sample()
    joint = cal.Joint.from_samples(y, p)
    display = plots.ReliabilityDisplay.of(joint)
    pools = quantile_bins(joint, 10)
    assert display.frame()["outcome"] == pytest.approx(pools.joint.outcome)
    assert display.frame()["rows"].sum() == 600
    at = np.searchsorted(display.curve["prediction"], joint.prediction)
    assert display.curve["outcome"][at] == pytest.approx(isotonic_curve(joint))
    band = display.frame("band")
    assert (band["low"] <= band["high"]).all()
    assert display.frame("counts")["rows"].sum() == 600


def look(line):
    """What tells a line or a mark apart: colour, pattern and shape."""
    dashes = line._unscaled_dash_pattern[1]
    return line.get_color(), dashes and tuple(dashes), line.get_marker()


def test_a_dozen_forecasters_are_told_apart():
    y, p = sample(200)
    forecasters = {str(k): p ** (0.5 + 0.1 * k) for k in range(12)}
    for kind in (plots.MurphyDisplay, plots.RocDisplay):
        ax = kind.from_predictions(y, forecasters).ax_
        lines = [line for line in ax.lines if line.get_label()[0].isdigit()]
        assert len({look(line) for line in lines}) == len(lines) == 12
    ax = plots.DecompositionDisplay.from_predictions(y, forecasters).ax_
    marks = [line for line in ax.lines if line.get_marker() != "None"]
    assert len({look(mark) for mark in marks}) == len(marks) == 12
    _, ax = plt.subplots()
    for name, forecaster in forecasters.items():
        plots.ReliabilityDisplay.of(y, forecaster, draws=19, name=name).plot(ax)
    curves = [line for line in ax.lines if line.get_label().isdigit()]
    assert len({look(curve) for curve in curves}) == len(curves) == 12


def test_the_axis_holds_every_group_beyond_the_tolerance():
    """Also a small one; of the others a rate beyond the axis is written beside its arrow."""
    rng = np.random.default_rng(1)
    p = np.full(4060, 0.1)
    by = np.repeat(["large", "small and wrong", "small"], [4000, 40, 20])
    y = (rng.random(4060) < np.where(by == "small and wrong", 0.95, 0.1)).astype(int)
    y[-20:] = [1] * 10 + [0] * 10
    display = plots.GroupsDisplay.from_predictions(
        y, p, by={"a column with a long name": by}, tolerance=0.3, draws=99, rng=0
    )
    states = {group.name: group.state for group in display.groups}
    assert states == {
        "large": "calibrated", "small and wrong": "miscalibrated", "small": "undecided"
    }  # fmt: skip
    wrong = next(g for g in display.groups if g.name == "small and wrong")
    low, high = display.limits
    assert wrong.small
    assert low <= wrong.observed <= high
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert sorted(labels) == sorted(group.label for group in display.groups)
    fine = plots.GroupsDisplay.from_predictions(
        y[by != "small and wrong"], p[by != "small and wrong"],
        by={"size": by[by != "small and wrong"]}, tolerance=0.5, draws=99, rng=0,
    )  # fmt: skip
    assert fine.cut
    assert [text.get_text() for text in fine.ax_.texts] == ["50 %"]
    assert "arrows" in fine.ax_.get_xlabel()


def test_the_sentence_claims_what_the_band_shows():
    """Whether the curve leaves the band is one thing, what another test found is another."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 400)
    right, wrong = (rng.random(400) < p).astype(int), (rng.random(400) < 1 - p).astype(int)
    inside = plots.ReliabilityDisplay.of(right, p)
    assert not inside.outside
    assert inside.sentence.endswith(
        "No range stands out: the curve lies inside the 95 % band of calibrated forecasts."
    )
    found = plots.ReliabilityDisplay.of(right, p, detected=True)
    assert "Worst range" in found.sentence
    assert "inside the band: another test found the deviation" in found.sentence
    left = plots.ReliabilityDisplay.of(wrong, p)
    assert left.outside
    assert "another test" not in left.sentence
    assert "leaves the 95 % band" in plots.ReliabilityDisplay.of(wrong, p, detected=False).sentence


def test_few_values_are_shown_one_by_one():
    display = plots.ReliabilityDisplay.of([0, 1] * 55, list(np.arange(11) / 10) * 10)
    assert display.by_value
    assert display.frame()["prediction"] == pytest.approx(np.arange(11) / 10)


def test_other_displays_show_the_librarys_numbers():
    y, p = sample()
    joint = cal.Joint.from_samples(y, p)
    error = cal.smooth_calibration_error(joint)
    frame = plots.WitnessDisplay.of(joint).frame()
    assert joint.mass * joint.residual @ frame["witness"] == pytest.approx(float(error))
    curve = cal.decision_loss_curve(joint, pooling="isotonic")
    assert plots.DecisionLossDisplay.of(joint).frame()["loss"].max() == pytest.approx(
        float(np.maximum(curve.loss, curve.loss_right).max()) / 2
    )
    verdict = cal.verdict(joint, rng=0)
    display = plots.NullDisplay.from_verdict(verdict)
    assert display.frame()["tolerance"][0] == verdict.tolerance
    assert display.sentence == verdict.sentence
    two = plots.MurphyDisplay.from_predictions(y, {"one": p, "two": p**2})
    assert set(two.frame()["forecaster"]) == {"one", "two"}
    assert [text.get_text() for text in two.ax_.get_legend().get_texts()] == ["one", "two"]


def test_displays_of_the_order_show_the_librarys_numbers():
    y, p = sample()
    roc = plots.RocDisplay.from_predictions(y, {"one": p, "two": 1 - p})
    assert "one 0." in roc.sentence
    assert roc.curves["one"].auc == pytest.approx(cal.auc(y, p).value)
    assert roc.curves["two"].auc == pytest.approx(1 - cal.auc(y, p).value)
    assert plots.RocDisplay.of(y, p).to_svg().startswith("<svg")
    marked = plots.RiskCoverageDisplay.of(y, p, risk=0.4)
    assert marked.sentence == cal.certified_threshold(y, p, risk=0.4).sentence
    assert marked.frame()["risk"][-1] == pytest.approx(1 - y.mean())
    parts = plots.DecompositionDisplay.of(y, {"one": p, "flat": np.full(600, 0.5)})
    assert parts.frame()["miscalibration"][0] == cal.score_decomposition(y, p).miscalibration
    assert parts.sentence.startswith("The best Brier score is that of one")
    with pytest.raises(cal.errors.InvalidForecastsError):
        plots.RocDisplay.of(y, {})


def test_the_diagram_is_square_and_its_legend_hides_nothing():
    display = plots.ReliabilityDisplay.from_predictions(*sample())
    display.figure_.canvas.draw()
    square, panel = (ax.get_window_extent() for ax in display.figure_.axes)
    assert square.width == pytest.approx(square.height)
    assert (panel.x0, panel.x1) == pytest.approx((square.x0, square.x1))
    assert display.ax_.get_legend().get_window_extent().x0 > square.x1
    parts = display.parts
    assert f"MCB {parts.miscalibration:.3g}" in display.to_svg()


def test_a_small_group_does_not_stretch_the_axis():
    y, p = sample()
    names = np.where(np.arange(600) < 4, "tiny", np.where(np.arange(600) % 2, "left", "right"))
    y = np.where(names == "tiny", 1, y)
    display = plots.GroupsDisplay.of(y, np.where(names == "tiny", 0.5, p), {"by": names}, rng=0)
    tiny = next(group for group in display.shown if group.name == "tiny")
    high = display.limits[1]
    assert tiny.observed == 1 > high
    display.plot()
    ends = [line.get_xdata()[0] for line in display.ax_.lines if line.get_marker() == ">"]
    assert ends == [high]
    for group in display.shown:
        least, most = display.rate_limits(group)
        assert 0 <= least <= group.observed <= most <= 1


def test_long_names_are_told_apart_by_their_ends():
    assert plots.short_name("short", 9) == "short"
    assert plots.short_name("column north", 9) == "colu…orth"
    assert len(plots.short_name("x" * 99)) == 28


def test_groups_and_windows():
    y, p = sample()
    names = {"side": np.where(np.arange(600) % 2, "$left$ <b>", "right")}
    groups = plots.GroupsDisplay.of(y, p, names, rng=0)
    groups.plot()
    assert sorted(groups.frame()["rows"].tolist()) == [300, 300]
    assert "&lt;b&gt;" in groups.to_svg()
    windows = [Window("1", "2", 5, 0.4, 0.6, 0.2, 0.1), Window("2", "3", 0, None, None, None)]
    time = plots.TimeDisplay.of(windows)
    time.plot()
    assert time.frame()["rows"].tolist() == [5, 0]
    assert np.isnan(time.frame()["base_rate"][1])


def test_pictures_are_the_same_every_time_and_small():
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    y = rng.random(200_000) < p
    first, again = (plots.ReliabilityDisplay.of(y, p).to_svg(name="a") for _ in range(2))
    assert first == again
    assert len(first) < 80_000
    assert "http" not in first.replace("http://www.w3.org/2000/svg", "")


def test_settings_of_the_user_are_left_alone():
    before = dict(mpl.rcParams)
    plots.ReliabilityDisplay.from_predictions(*sample(100))
    assert dict(mpl.rcParams) == before


def test_importing_plots_is_light():
    program = (
        "import sys, calibrant; calibrant.plots.ReliabilityDisplay; "
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_what_cannot_be_drawn_is_refused():
    class Model:
        pass

    with pytest.raises(cal.errors.InvalidOptionError, match="predict_proba"):
        plots.ReliabilityDisplay.from_estimator(Model(), [[1]], [1])
    with pytest.raises(cal.errors.InvalidOptionError, match="scale"):
        plots.ReliabilityDisplay.of([0, 1], [0.2, 0.8], scale="cubic")
    with pytest.raises(cal.errors.InvalidOptionError, match="smoother"):
        plots.ReliabilityDisplay.of([0, 1], [0.2, 0.8], smoother="loess")
    with pytest.raises(AttributeError, match="no attribute 'pictures'"):
        _ = cal.pictures
