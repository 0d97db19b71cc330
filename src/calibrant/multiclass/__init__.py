"""Forecasts of more than two classes: views for binary measures, and measures of their own."""

from calibrant.joint.classes import ClassForecasts
from calibrant.multiclass.canonical import CanonicalWitness, canonical_calibration_error
from calibrant.multiclass.costs import find_class_costs as find_class_costs
from calibrant.multiclass.decisions import (
    ActionWitness,
    decision_calibration_error,
    fixed_decision_loss,
    promised_and_received,
)
from calibrant.multiclass.low_degree import MonomialWitness, low_degree_calibration_error
from calibrant.multiclass.menus import calibration_decision_loss
from calibrant.multiclass.monte_carlo import calibration_test
from calibrant.multiclass.projected import SubsetWitness, projected_smooth_calibration_error
from calibrant.multiclass.reductions import (
    ClassWise,
    class_wise,
    pairwise,
    subset,
    top_k,
    top_label,
)
from calibrant.multiclass.scores import score_decomposition
from calibrant.multiclass.tasks import MulticlassDecisionTask
from calibrant.multiclass.verdicts import (
    SetsAndRows as SetsAndRows,
    judge_classes as judge_classes,
    judge_sets_and_rows as judge_sets_and_rows,
)
from calibrant.multiclass.worst_decisions import worst_decision_calibration_error
from calibrant.multiclass.worth import ClassJudgement as ClassJudgement, judge as judge

__all__ = [
    "ActionWitness",
    "CanonicalWitness",
    "ClassForecasts",
    "ClassWise",
    "MonomialWitness",
    "MulticlassDecisionTask",
    "SubsetWitness",
    "calibration_decision_loss",
    "calibration_test",
    "canonical_calibration_error",
    "class_wise",
    "decision_calibration_error",
    "fixed_decision_loss",
    "low_degree_calibration_error",
    "pairwise",
    "projected_smooth_calibration_error",
    "promised_and_received",
    "score_decomposition",
    "subset",
    "top_k",
    "top_label",
    "worst_decision_calibration_error",
]
