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
from calibrant.inference.bands import isotonic_curve
from calibrant.monitoring.windows import Window
from calibrant.pooling import quantile_bins

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
    display = plots.GroupsDisplay.of(y, np.where(names == "tiny", 0.01, p), {"by": names}, rng=0)
    tiny = next(group for group in display.shown if group.name == "tiny")
    high = display.limits[1]
    assert tiny.base_rate == 1 > high
    display.plot()
    ends = [line.get_xdata()[0] for line in display.ax_.lines if line.get_marker() == ">"]
    assert ends == [high]
    for group in display.shown:
        least, most = display.rate_limits(group)
        assert 0 <= least <= group.base_rate <= most <= 1


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
