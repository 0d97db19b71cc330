"""Measures of a Joint: functions of predictions and outcomes alone."""

from __future__ import annotations

from math import inf

from calibrant.catalogue.measure import Batch, Measure
from calibrant.measures.binned import binned_batch
from calibrant.measures.cutoff import cutoff_batch
from calibrant.measures.expected import expected_batch, expected_floor
from calibrant.measures.kernel import kernel_batch, kernel_floor
from calibrant.measures.kernel_smoothed import kernel_smoothed_batch
from calibrant.measures.low_degree import low_degree_batch
from calibrant.measures.smooth import mover_batch, smooth_batch
from calibrant.measures.two_bins import SLOPE, two_bin_batch, two_bin_floor
from calibrant.measures.weighted import weighted_batch


def _worst_alone(forecast: float) -> float:
    """Largest loss of payoffs in [0, 1] when a constant forecast never comes true."""
    return min(1.0, forecast / (1 - forecast)) if forecast < 1 else 1.0


MEASURES_OF_A_JOINT = (
    Measure(
        "smooth_calibration_error",
        asks="How large a bias can a smooth test of the predictions find?",
        flaw="errors that change sign over a short stretch of predictions count little",
        source="survey, section 3, Definition 3.2",
        modulus=lambda moved: 2 * moved,
        faithful=True,
        symmetric=True,
        decisions="small regret for decisions that change smoothly with the forecast",
        cost="n log n",
        interval=True,
        batch=Batch(smooth_batch, ("lipschitz",)),
        multiclass="multiclass.projected_smooth_calibration_error",
        audited=True,
    ),
    Measure(
        "earth_mover_distance",
        asks="How much work turns the outcomes into ones drawn from the predictions?",
        flaw="the smooth error on another scale, between one and two times as large",
        source="survey, section 3, Lemma 3.4",
        modulus=lambda moved: 3 * moved,
        faithful=True,
        symmetric=True,
        decisions="as the smooth error",
        cost="n log n",
        interval=True,
        batch=Batch(mover_batch),
        audited=True,
    ),
    Measure(
        "kernel_calibration_error",
        asks="How large a bias can a test of norm one in a space of smooth functions find?",
        flaw="its scale depends on kernel and bandwidth; the Gaussian kernel can miss much",
        source="survey, section 3, kernels",
        # A test of norm one varies by at most sqrt(2 |u - v|), and is at most 1.
        modulus=lambda moved: (2 * moved) ** 0.5 + moved,
        faithful=True,
        symmetric=True,
        decisions="as the smooth error, up to the root of two",
        cost="n log n",
        interval=True,
        truthful=("squared",),
        power=lambda squared=False, **_: 2 if squared else 1,
        known_floor=kernel_floor,
        batch=Batch(
            kernel_batch, ("kernel", "bandwidth", "degree", "squared"), one_by_one=("unbiased",)
        ),
        multiclass="multiclass.canonical_calibration_error",
        audited=True,
    ),
    Measure(
        "averaged_two_bin_error",
        asks="How large are the squared biases below and above a threshold drawn at random?",
        flaw="on the scale of a squared error, so that small values are not small biases",
        source="Hartline, Hu, Wu (2026), A perfectly truthful calibration measure",
        modulus=lambda moved: 2 * SLOPE * moved,
        faithful=True,
        symmetric=True,
        truthful=(),
        decisions="as the smooth error, with a root",
        cost="n log n",
        interval=True,
        alone=lambda forecast: forecast**2,
        # A smooth test gains at most 3/2 of the error of order 1, whose square is at most twice it.
        floor=lambda bias: bias**2 / 4.5,
        power=lambda order=2, **_: order,
        known_floor=two_bin_floor,
        batch=Batch(two_bin_batch, ("order",), one_by_one=("unbiased",)),
        audited=True,
    ),
    Measure(
        "kernel_smoothed_calibration_error",
        asks="How much bias remains after smoothing, at the width that equals it?",
        flaw="on a scale of its own: errors that change sign score the root of their size",
        source="survey, section 3, kernels",
        # Fixed points of curves that differ by at most sqrt(2/pi) moved / width + moved.
        modulus=lambda moved: (moved * 0.7978845608028654) ** 0.5 + moved,
        faithful=True,
        symmetric=True,
        decisions="as the smooth error, with a root",
        cost="n",
        batch=Batch(kernel_smoothed_batch),
        audited=True,
    ),
    Measure(
        "low_degree_calibration_error",
        asks="How large a bias can a polynomial test of low degree find?",
        flaw="blind to errors that change sign more often than the degree",
        source="survey, section 3, low degree",
        # A polynomial of degree 2 bounded by 1 has slope at most 8.
        modulus=lambda moved: 9 * moved,
        symmetric=True,
        decisions="none",
        cost="n",
        interval=True,
        batch=Batch(low_degree_batch, ("degree", "norm")),
        multiclass="multiclass.low_degree_calibration_error",
        audited=True,
    ),
    Measure(
        "cutoff_calibration_error",
        asks="Over which interval of predictions is the bias largest?",
        flaw="not continuous: a small change can move predictions across a cut",
        source="survey, section 4, further notions",
        faithful=True,
        symmetric=True,
        decisions="bounds the regret of thresholds against monotone corrections",
        cost="n log n",
        interval=True,
        batch=Batch(cutoff_batch, ("sets",)),
        audited=True,
    ),
    Measure(
        "expected_calibration_error",
        asks="How far are predictions from the frequencies they had, level by level?",
        flaw="meaningless when most predictions occur once; not continuous",
        source="survey, section 2, Definition 2.1",
        faithful=True,
        symmetric=True,
        decisions="bounds the loss of every decision maker by twice its value",
        cost="n log n",
        interval_if="levels of ten rows and more",
        each_level=True,
        known_floor=expected_floor,
        batch=Batch(expected_batch, ("order",)),
        audited=True,
    ),
    Measure(
        "binned_calibration_error",
        asks="How far are mean predictions from frequencies, bin by bin?",
        flaw="depends on the bins; biases inside a bin cancel; not continuous",
        source="survey, section 2, bucketed ECE",
        decisions="none",
        cost="n",
        interval=True,
        batch=Batch(
            binned_batch,
            ("n_bins", "strategy", "closed", "order"),
            one_by_one=("debias", "form", "mean", "direction"),
        ),
        audited=True,
    ),
    Measure(
        "calibration_decision_loss",
        asks="How much can anybody lose by taking the forecasts at their word?",
        flaw="not continuous; overstated where levels or pools hold few rows",
        source="survey, section 4, Definition 4.2",
        faithful=True,
        symmetric=True,
        decisions="bounds the loss of every decision maker with payoffs in [0, 1], exactly",
        cost="n log n",
        interval_if='`pooling="isotonic"`',
        alone=_worst_alone,
        floor=lambda bias: bias**2,  # the expected error of order 2, squared
        # Not audited: its default is meaningless on forecasts that hardly ever repeat.
        multiclass="multiclass.calibration_decision_loss",
    ),
    Measure(
        "u_calibration_error",
        asks="How much can anybody lose by using the forecasts instead of ignoring them?",
        flaw="blind to errors of forecasts that are worth having all the same; not continuous",
        source="survey, section 4, external regret",
        symmetric=True,
        decisions="bounds the regret of every decision maker against the best single action",
        cost="n log n",
        alone=_worst_alone,
        # Not audited: 0 for most forecasts that are worth having.
    ),
    Measure(
        "post_processing_gap",
        asks="How much would a gentle correction of the forecasts lower their squared loss?",
        flaw="on the scale of a squared error, so that small values are not small biases",
        source="survey, section 4, further notions",
        modulus=lambda moved: 6 * moved,
        faithful=True,
        symmetric=True,
        decisions="small regret for responses that change smoothly with the forecast",
        cost="n log n, as far as seen",
        alone=lambda forecast: forecast**2,
        floor=lambda bias: bias**2,
    ),
    Measure(
        "weighted_calibration_error",
        asks="How large a bias can a family of tests find?",
        flaw="sees only what the tests of the family see",
        source="survey, section 3, Definition 3.1",
        # No modulus: nothing is known of a family in general.
        faithful=True,
        symmetric=True,
        decisions="as its family; by default as the smooth error",
        cost="as its family",
        interval=True,
        batch=Batch(weighted_batch, ("family",)),
    ),
    Measure(
        "lower_distance_to_calibration",
        asks="How far would predictions have to move, at best, to be calibrated?",
        flaw="forecasters with these predictions and outcomes can be as far as its root",
        source="survey, section 6, Definition 6.2",
        modulus=lambda moved: moved,
        faithful=True,
        symmetric=True,
        decisions="as the smooth error",
        cost="n log n and a linear programme",
        interval_if="always",
    ),
    Measure(
        "upper_distance_to_calibration",
        asks="How far must a map of the predictions move them to make them calibrated?",
        flaw="not continuous; exact for few levels only, a bracket beyond; noise for single rows",
        source="survey, section 6, Theorem 6.6",
        faithful=True,
        symmetric=True,
        decisions="none",
        cost="n log n, and levels squared while they are few",
    ),
    Measure(
        "interval_calibration_error",
        asks="How large are bias and width of the best bins together?",
        flaw="not continuous; pays for width, so it is rarely small on small samples",
        source="survey, section 6, Definition 6.10",
        faithful=True,
        symmetric=True,
        decisions="none",
        cost="n log n times the widths tried",
    ),
    Measure(
        "surrogate_interval_calibration_error",
        asks="How large are bias and width of a grid of bins shifted at random?",
        flaw="errors that change sign score about the root of their smooth error",
        source="survey, section 6, Lemma 6.13",
        # A shift parts two predictions with chance |p - p'| / width; widths are powers of two.
        modulus=lambda moved: 3 * moved**0.5 + moved,
        faithful=True,
        symmetric=True,
        decisions="none",
        cost="n log n",
    ),
    Measure(
        "fixed_decision_loss",
        asks="How much does this decision maker lose by taking the forecasts at their word?",
        flaw="not continuous; overstated where levels hold few rows; of one decision only",
        source="survey, section 4, Definition 4.2",
        decisions="bounds the loss of this decision maker, exactly",
        cost="n log n",
        requires=("task",),
        range=(0.0, inf),
        multiclass="multiclass.fixed_decision_loss",
    ),
)
