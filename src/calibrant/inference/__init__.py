"""What the sample can tell: noise floor, test, interval, verdict, bands, comparison, power."""

from calibrant.inference.bands import (
    Band,
    clopper_pearson as clopper_pearson,
    confidence_band,
    consistency_band,
    find_consistency_band as find_consistency_band,
    isotonic_curve as isotonic_curve,
)
from calibrant.inference.belt import CalibrationBelt, calibration_belt
from calibrant.inference.calibration_error import calibration_error
from calibrant.inference.calibration_index import CalibrationIndex, calibration_index
from calibrant.inference.cases import (
    LEAST_FREEDOM as LEAST_FREEDOM,
    Cases as Cases,
    cluster_codes as cluster_codes,
    widening as widening,
)
from calibrant.inference.certified import (
    CertifiedThreshold,
    certified_threshold,
    find_certified as find_certified,
)
from calibrant.inference.classical import (
    DRAWS_FOR_ICI as DRAWS_FOR_ICI,
    ClassicalNumbers,
    classical_numbers,
    find_classical as find_classical,
)
from calibrant.inference.comparison import (
    ERROR_RATE as ERROR_RATE,
    Comparison,
    compare,
    compare_on_units as compare_on_units,
)
from calibrant.inference.costs import (
    Costs as Costs,
    LossByChance as LossByChance,
    find_costs as find_costs,
)
from calibrant.inference.cross_validated import cross_validated_error
from calibrant.inference.dependence import (
    Dependence as Dependence,
    dependence_of as dependence_of,
    find_dependence as find_dependence,
)
from calibrant.inference.discrimination import auc, find_auc as find_auc
from calibrant.inference.error_units import ErrorUnit as ErrorUnit
from calibrant.inference.estimates import Estimate, ScoreTest
from calibrant.inference.evidence import RESOLUTION as RESOLUTION, Evidence as Evidence
from calibrant.inference.gap import (
    Ranges as Ranges,
    gaps_of_each as gaps_of_each,
    typical_gap,
)
from calibrant.inference.grades import GradeTest, grade_tests
from calibrant.inference.interval import (
    LONE as LONE,
    ConfidenceInterval,
    confidence_interval,
    find_interval as find_interval,
)
from calibrant.inference.laws import (
    MOST_OUTCOMES_DRAWN as MOST_OUTCOMES_DRAWN,
    Clusters as Clusters,
)
from calibrant.inference.mean_scores import brier_score, log_loss
from calibrant.inference.means import (
    half_width_of_mean as half_width_of_mean,
    mean_variance as mean_variance,
    row_mean_and_half_width as row_mean_and_half_width,
)
from calibrant.inference.measured import Measured as Measured, measure_all as measure_all
from calibrant.inference.monte_carlo import (
    CalibrationTest,
    calibration_test,
    noise_floors,
    run_test as run_test,
)
from calibrant.inference.observed import (
    ObservedRange as ObservedRange,
    find_bias as find_bias,
    observed_ranges as observed_ranges,
)
from calibrant.inference.power import RowsNeeded, rows_needed, verdict_chances
from calibrant.inference.ratio import (
    OE_TOLERANCE as OE_TOLERANCE,
    RARE as RARE,
    Ratio,
    events_text as events_text,
    find_ratio as find_ratio,
)
from calibrant.inference.ratio_verdicts import (
    RatioJudgement as RatioJudgement,
    RatioVerdict as RatioVerdict,
)
from calibrant.inference.scores import mean_and_half_width as mean_and_half_width
from calibrant.inference.settings import (
    GAP_TOLERANCE as GAP_TOLERANCE,
    Settings as Settings,
    default_tolerance,
)
from calibrant.inference.simultaneous_verdicts import (
    DRAWS_FOR_A_FLOOR as DRAWS_FOR_A_FLOOR,
    Evidences as Evidences,
    Group as Group,
    Groups as Groups,
    Noise as Noise,
    cells_for as cells_for,
    confidence_of_each as confidence_of_each,
    judge_all as judge_all,
    judge_evidences as judge_evidences,
    noise_of_each as noise_of_each,
    state_with as state_with,
)
from calibrant.inference.statistic import AnyMeasure as AnyMeasure, Statistic as Statistic
from calibrant.inference.verdicts import (
    CALIBRATED as CALIBRATED,
    DETECTABLE as DETECTABLE,
    MISCALIBRATED as MISCALIBRATED,
    UNDECIDED as UNDECIDED,
    Gap as Gap,
    Verdict,
    find_verdict as find_verdict,
    range_text as range_text,
    state_of as state_of,
    verdict,
    worse_state as worse_state,
)

__all__ = [
    "Band",
    "CalibrationBelt",
    "CalibrationIndex",
    "CalibrationTest",
    "CertifiedThreshold",
    "ClassicalNumbers",
    "Comparison",
    "ConfidenceInterval",
    "Estimate",
    "GradeTest",
    "Ratio",
    "RowsNeeded",
    "ScoreTest",
    "Verdict",
    "auc",
    "brier_score",
    "calibration_belt",
    "calibration_error",
    "calibration_index",
    "calibration_test",
    "certified_threshold",
    "classical_numbers",
    "compare",
    "confidence_band",
    "confidence_interval",
    "consistency_band",
    "cross_validated_error",
    "default_tolerance",
    "grade_tests",
    "log_loss",
    "noise_floors",
    "rows_needed",
    "typical_gap",
    "verdict",
    "verdict_chances",
]
