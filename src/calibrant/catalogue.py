"""The only description of each measure; laws, command line, report and docs read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibrant.arrays import Floats
from calibrant.decisions.losses import calibration_decision_loss, u_calibration_error
from calibrant.decisions.post_processing import post_processing_gap
from calibrant.errors import InvalidOptionError
from calibrant.measurement import Measurement
from calibrant.measures.binned import binned_calibration_error, binned_support
from calibrant.measures.cutoff import cutoff_calibration_error, cutoff_support
from calibrant.measures.distance import (
    lower_distance_to_calibration,
    upper_distance_to_calibration,
)
from calibrant.measures.expected import expected_calibration_error, expected_support
from calibrant.measures.interval import interval_calibration_error
from calibrant.measures.kernel import kernel_calibration_error, kernel_support
from calibrant.measures.kernel_smoothed import kernel_smoothed_calibration_error
from calibrant.measures.low_degree import low_degree_calibration_error, low_degree_support
from calibrant.measures.smooth import (
    earth_mover_distance,
    mover_support,
    smooth_calibration_error,
    smooth_support,
)
from calibrant.measures.surrogate import surrogate_interval_calibration_error
from calibrant.measures.weighted import weighted_calibration_error, weighted_support


@dataclass(frozen=True, slots=True)
class Measure:
    """What there is to know about a measure without running it."""

    function: Callable[..., Measurement]
    asks: str
    """The question it answers, in plain words."""
    flaw: str
    """What a user must know before trusting it."""
    section: str
    """Where the survey defines it."""
    modulus: Callable[[float], float] | None
    """How far it can move when predictions move by that much on average; None if it can jump."""
    faithful: bool
    """Whether it is zero only for calibrated predictions."""
    symmetric: bool
    """Whether swapping outcomes (y to 1 - y, p to 1 - p) leaves it unchanged."""
    needs: str
    """What the gate must prepare: sorted "levels", or "cells" that need no sort."""
    decisions: str
    """What a small value promises a decision maker."""
    cost: str
    """Growth of the time with the number of rows."""
    multiclass: str = ""
    """The function for many classes at once; all measures work on views, class by class."""
    interval: bool = False
    """Whether a confidence interval is offered."""
    range: tuple[float, float] = (0.0, 1.0)
    """Smallest and largest possible value."""
    alone: Callable[[float], float] = float
    """Its value when everybody was forecast the same, and nothing happened."""
    floor: Callable[[float], float] = float
    """Its least value, if faithful, when a test of slope one finds so large a bias."""
    audited: bool = True
    """Whether an audit reports it; False where its default repeats another or says little."""
    support: Callable[..., Floats] | None = None
    """The measure of many signed charges on the levels of a Joint at once, with the measure's
    options; what null draws and intervals evaluate."""

    @property
    def continuous(self) -> bool:
        """Whether a small change of the predictions changes it little."""
        return self.modulus is not None

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.__name__

    @property
    def title(self) -> str:
        """Name in words."""
        return self.name.replace("_", " ")


def _worst_alone(forecast: float) -> float:
    """Largest loss of payoffs in [0, 1] when a constant forecast never comes true."""
    return min(1.0, forecast / (1 - forecast)) if forecast < 1 else 1.0


_MEASURES = (
    Measure(
        smooth_calibration_error,
        asks="How large a bias can a smooth test of the predictions find?",
        flaw="errors that change sign over a short stretch of predictions count little",
        section="3, Definition 3.2",
        modulus=lambda moved: 2 * moved,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="small regret for decisions that change smoothly with the forecast",
        cost="n log n",
        interval=True,
        support=smooth_support,
        multiclass="projected_smooth_calibration_error",
    ),
    Measure(
        earth_mover_distance,
        asks="How much work turns the outcomes into coins of the predicted bias?",
        flaw="the smooth error on another scale, between one and two times as large",
        section="3, Lemma 3.4",
        modulus=lambda moved: 3 * moved,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="as the smooth error",
        cost="n log n",
        interval=True,
        support=mover_support,
    ),
    Measure(
        kernel_calibration_error,
        asks="How large a bias can a test of norm one in a space of smooth functions find?",
        flaw="its scale depends on kernel and bandwidth; the Gaussian kernel can miss much",
        section="3, kernels",
        # A test of norm one varies by at most sqrt(2 |u - v|), and is at most 1.
        modulus=lambda moved: (2 * moved) ** 0.5 + moved,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="as the smooth error, up to the root of two",
        cost="n log n",
        interval=True,
        support=kernel_support,
        multiclass="canonical_calibration_error",
    ),
    Measure(
        kernel_smoothed_calibration_error,
        asks="How much bias remains after smoothing, at the width that equals it?",
        flaw="on a scale of its own: errors that change sign score the root of their size",
        section="3, kernels",
        # Fixed points of curves that differ by at most sqrt(2/pi) moved / width + moved.
        modulus=lambda moved: (moved * 0.7978845608028654) ** 0.5 + moved,
        faithful=True,
        symmetric=True,
        needs="cells",
        decisions="as the smooth error, with a root",
        cost="n",
    ),
    Measure(
        low_degree_calibration_error,
        asks="How large a bias can a polynomial test of low degree find?",
        flaw="blind to errors that change sign more often than the degree",
        section="3, low degree",
        # A polynomial of degree 2 bounded by 1 has slope at most 8.
        modulus=lambda moved: 9 * moved,
        faithful=False,
        symmetric=True,
        needs="cells",
        decisions="none",
        cost="n",
        interval=True,
        support=low_degree_support,
        multiclass="low_degree_calibration_error",
    ),
    Measure(
        cutoff_calibration_error,
        asks="Over which interval of predictions is the bias largest?",
        flaw="not continuous: a small change can move predictions across a cut",
        section="4, further notions",
        modulus=None,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="bounds the regret of thresholds against monotone corrections",
        cost="n log n",
        interval=True,
        support=cutoff_support,
    ),
    Measure(
        expected_calibration_error,
        asks="How far are predictions from the frequencies they had, level by level?",
        flaw="meaningless when most predictions occur once; not continuous",
        section="2, Definition 2.1",
        modulus=None,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="bounds the loss of every decision maker by twice its value",
        cost="n log n",
        support=expected_support,
    ),
    Measure(
        binned_calibration_error,
        asks="How far are mean predictions from frequencies, bin by bin?",
        flaw="depends on the bins; biases inside a bin cancel; not continuous",
        section="2, bucketed ECE",
        modulus=None,
        faithful=False,
        symmetric=False,
        needs="cells",
        decisions="none",
        cost="n",
        interval=True,
        support=binned_support,
    ),
    Measure(
        calibration_decision_loss,
        asks="How much can anybody lose by taking the forecasts at their word?",
        flaw="not continuous; overstated where levels or pools hold few rows",
        section="4, Definition 4.2",
        modulus=None,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="bounds the loss of every decision maker with payoffs in [0, 1], exactly",
        cost="n log n",
        alone=_worst_alone,
        floor=lambda bias: bias**2,  # the expected error of order 2, squared
        audited=False,  # its default is meaningless on forecasts that hardly ever repeat
        multiclass="decision_calibration_error",
    ),
    Measure(
        u_calibration_error,
        asks="How much can anybody lose by using the forecasts instead of ignoring them?",
        flaw="blind to errors of forecasts that are worth having all the same; not continuous",
        section="4, external regret",
        modulus=None,
        faithful=False,
        symmetric=True,
        needs="levels",
        decisions="bounds the regret of every decision maker against the best single action",
        cost="n log n",
        alone=_worst_alone,
        audited=False,  # 0 for most forecasts that are worth having
    ),
    Measure(
        post_processing_gap,
        asks="How much would a gentle correction of the forecasts lower their squared loss?",
        flaw="on the scale of a squared error, so that small values are not small biases",
        section="4, further notions",
        modulus=lambda moved: 6 * moved,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="small regret for responses that change smoothly with the forecast",
        cost="n log n, as far as seen",
        alone=lambda forecast: forecast**2,
        floor=lambda bias: bias**2,
        audited=False,
    ),
    Measure(
        weighted_calibration_error,
        asks="How large a bias can a family of tests find?",
        flaw="sees only what the tests of the family see",
        section="3, Definition 3.1",
        modulus=None,  # nothing is known of a family in general
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="as its family; by default as the smooth error",
        cost="as its family",
        interval=True,
        audited=False,
        support=weighted_support,
    ),
    Measure(
        lower_distance_to_calibration,
        asks="How far would predictions have to move, at best, to be calibrated?",
        flaw="forecasters with these predictions and outcomes can be as far as its root",
        section="6, Definition 6.2",
        modulus=lambda moved: moved,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="as the smooth error",
        cost="n log n and a linear programme",
        audited=False,
    ),
    Measure(
        upper_distance_to_calibration,
        asks="How far must a map of the predictions move them to make them calibrated?",
        flaw="not continuous; exact for few levels only, a bracket beyond; noise for single rows",
        section="6, Theorem 6.6",
        modulus=None,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="none",
        cost="n log n, and levels squared while they are few",
        audited=False,
    ),
    Measure(
        interval_calibration_error,
        asks="How large are bias and width of the best bins together?",
        flaw="not continuous; pays for width, so it is rarely small on small samples",
        section="6, Definition 6.10",
        modulus=None,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="none",
        cost="n log n times the widths tried",
        audited=False,
    ),
    Measure(
        surrogate_interval_calibration_error,
        asks="How large are bias and width of a grid of bins shifted at random?",
        flaw="errors that change sign score about the root of their smooth error",
        section="6, Lemma 6.13",
        # A shift parts two predictions with chance |p - p'| / width; widths are powers of two.
        modulus=lambda moved: 3 * moved**0.5 + moved,
        faithful=True,
        symmetric=True,
        needs="levels",
        decisions="none",
        cost="n log n",
        audited=False,
    ),
)

CATALOGUE: dict[str, Measure] = {measure.name: measure for measure in _MEASURES}


def find_measure(name: str) -> Measure:
    """Look a measure up by its name.

    Examples
    --------
    >>> find_measure("earth_mover_distance").modulus(0.01)
    0.03
    """
    if name not in CATALOGUE:
        raise InvalidOptionError(
            "measure must be in the catalogue", repr(name), f"one of {', '.join(CATALOGUE)}"
        )
    return CATALOGUE[name]
