"""Calibrated for whom: groups audited simultaneously, multicalibration, omniprediction."""

from calibrant.groups.adaptation import TargetMean, target_mean
from calibrant.groups.audit import (
    Division as Division,
    audit_groups,
    groups_of as groups_of,
    judge_groups,
)
from calibrant.groups.by_group import recalibrate_by_group
from calibrant.groups.complexity import (
    DenseModel,
    HardcoreMeasure,
    dense_model,
    hardcore_measure,
)
from calibrant.groups.fits import Fit
from calibrant.groups.group_recalibration import GroupRecalibration
from calibrant.groups.indistinguishability import Advantage, distinguisher_advantage
from calibrant.groups.learned import LearnedAdvantage, learned_advantage
from calibrant.groups.multi import (
    low_degree_multicalibration_error,
    multiaccuracy_error,
    multicalibration_error,
)
from calibrant.groups.multicalibrator import Multicalibrator
from calibrant.groups.omniprediction import (
    OmniCertificate,
    OmniGap,
    TransferBias,
    absolute_loss,
    asymmetric_loss,
    omnipredict,
    omniprediction_certificate,
    quantile_loss,
    squared_loss,
    transfer_bias,
)
from calibrant.groups.omnipredictor import Omnipredictor
from calibrant.groups.outcome_learner import (
    OutcomeIndistinguishable,
    OutcomeUpdate,
    TestAdvantage,
)
from calibrant.groups.segments import (
    PARTS_OF_FORECASTS as PARTS_OF_FORECASTS,
    Conjunction as Conjunction,
    Segment,
    choose_segments as choose_segments,
    find_segments,
    no_columns as no_columns,
    search_segments as search_segments,
)
from calibrant.groups.witnesses import GroupWitness
from calibrant.inference import Group, Groups

__all__ = [
    "Advantage",
    "DenseModel",
    "Fit",
    "Group",
    "GroupRecalibration",
    "GroupWitness",
    "Groups",
    "HardcoreMeasure",
    "LearnedAdvantage",
    "Multicalibrator",
    "OmniCertificate",
    "OmniGap",
    "Omnipredictor",
    "OutcomeIndistinguishable",
    "OutcomeUpdate",
    "Segment",
    "TargetMean",
    "TestAdvantage",
    "TransferBias",
    "absolute_loss",
    "asymmetric_loss",
    "audit_groups",
    "dense_model",
    "distinguisher_advantage",
    "find_segments",
    "hardcore_measure",
    "judge_groups",
    "learned_advantage",
    "low_degree_multicalibration_error",
    "multiaccuracy_error",
    "multicalibration_error",
    "omnipredict",
    "omniprediction_certificate",
    "quantile_loss",
    "recalibrate_by_group",
    "squared_loss",
    "target_mean",
    "transfer_bias",
]
