"""Regressions: logistic fits, curves, and isotonic fits of every kind of forecast."""

from calibrant.regression.binary import (
    LEAST,
    MOST_SLOPE,
    Model,
    Solver,
    chance_of,
    fit_logistic,
    log_odds,
    log_terms,
    one_class,
    platt_targets,
    separated,
    softplus,
    solve,
)
from calibrant.regression.curves import CurveFit, fit_curve, fit_spline, knots_of
from calibrant.regression.isotonic import IsotonicFit, isotonic_fit
from calibrant.regression.softmax import fit_scores, log_of, softmax_of, temperature_slope
from calibrant.regression.structured import (
    MATRIX,
    SHIFT,
    VECTOR,
    Parts,
    blend_shares,
    fit_structured,
)

__all__ = [
    "LEAST",
    "MATRIX",
    "MOST_SLOPE",
    "SHIFT",
    "VECTOR",
    "CurveFit",
    "IsotonicFit",
    "Model",
    "Parts",
    "Solver",
    "blend_shares",
    "chance_of",
    "fit_curve",
    "fit_logistic",
    "fit_scores",
    "fit_spline",
    "fit_structured",
    "isotonic_fit",
    "knots_of",
    "log_odds",
    "log_of",
    "log_terms",
    "one_class",
    "platt_targets",
    "separated",
    "softmax_of",
    "softplus",
    "solve",
    "temperature_slope",
]
