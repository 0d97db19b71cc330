"""Every logistic fit: of two outcomes within bounds, of many outcomes with a penalty."""

from calibrant.regression.binary import (
    LEAST,
    MOST_SLOPE,
    Model,
    Solver,
    fit_logistic,
    log_odds,
    one_class,
    platt_targets,
    rows_behind,
    separated,
    solve,
)
from calibrant.regression.softmax import fit_scores, log_of, softmax_of, temperature_slope

__all__ = [
    "LEAST",
    "MOST_SLOPE",
    "Model",
    "Solver",
    "fit_logistic",
    "fit_scores",
    "log_odds",
    "log_of",
    "one_class",
    "platt_targets",
    "rows_behind",
    "separated",
    "softmax_of",
    "solve",
    "temperature_slope",
]
