"""What trusting forecasts costs: decision tasks, losses, proper scores, curves by threshold."""

from calibrant.decisions.curves import (
    Curve,
    NetBenefit,
    decision_loss_curve,
    murphy_curve,
    net_benefit,
)
from calibrant.decisions.decomposition import (
    LossDecomposition,
    ScoreDecomposition,
    loss_decomposition,
    score_decomposition,
)
from calibrant.decisions.dual_losses import DualLoss
from calibrant.decisions.envelope import envelope_of as envelope_of
from calibrant.decisions.losses import (
    calibration_decision_loss,
    fixed_decision_loss,
    u_calibration_error,
)
from calibrant.decisions.payoffs import as_number as as_number, read_task_file as read_task_file
from calibrant.decisions.post_processing import post_processing_gap
from calibrant.decisions.ranking import (
    RiskCoverage,
    RocCurve,
    find_risk_coverage as find_risk_coverage,
    risk_coverage_curve,
    roc_curve,
)
from calibrant.decisions.redrawn import RedrawnLosses as RedrawnLosses
from calibrant.decisions.regret import (
    PromisedReceived,
    check_ties as check_ties,
    promised_and_received,
)
from calibrant.decisions.responses import RandomisedResponse, randomised_response
from calibrant.decisions.scores import (
    OR_TASK as OR_TASK,
    SCORES as SCORES,
    AnyScore as AnyScore,
    Score,
    as_score,
    mean_score,
    row_losses,
    score_name as score_name,
    score_title as score_title,
)
from calibrant.decisions.tasks import DecisionTask

__all__ = [
    "Curve",
    "DecisionTask",
    "DualLoss",
    "LossDecomposition",
    "NetBenefit",
    "PromisedReceived",
    "RandomisedResponse",
    "RiskCoverage",
    "RocCurve",
    "Score",
    "ScoreDecomposition",
    "as_score",
    "calibration_decision_loss",
    "decision_loss_curve",
    "fixed_decision_loss",
    "loss_decomposition",
    "mean_score",
    "murphy_curve",
    "net_benefit",
    "post_processing_gap",
    "promised_and_received",
    "randomised_response",
    "risk_coverage_curve",
    "roc_curve",
    "row_losses",
    "score_decomposition",
    "u_calibration_error",
]
