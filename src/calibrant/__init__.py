"""How far predicted probabilities can be trusted."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from threading import RLock as _RLock
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

# Everything is imported at first use, to keep the import light: packages by their own name,
# other names from the packages below, of which each stands on those before it.
# Only type checkers and editors follow these imports; `__all__` is the one list of names.
_LATER = (
    "_base.versions",
    "_base.parallel",
    "joint",
    "measures",
    "decisions",
    "catalogue",
    "inference",
    "recalibration",
    "monitoring",
    "report",
)
if _TYPE_CHECKING:
    from calibrant import (
        binning,
        datasets,
        decisions,
        distributions,
        errors,
        groups,
        hallucination,
        integrations,
        llm,
        models,
        multiclass,
        online,
        plots,
        recalibration,
        survival,
        weight_functions,
    )
    from calibrant._base.parallel import threads
    from calibrant._base.versions import show_versions
    from calibrant.catalogue import *
    from calibrant.decisions import *
    from calibrant.inference import *
    from calibrant.joint import Joint, joints_by
    from calibrant.measures import *
    from calibrant.monitoring import *
    from calibrant.report import *

__version__ = "0.1.0"

__all__ = [
    "CATALOGUE",
    "Audit",
    "CalibrationBelt",
    "CalibrationIndex",
    "CalibrationMonitor",
    "CalibrationTest",
    "CertifiedThreshold",
    "ClassicalNumbers",
    "Comparison",
    "ConfidenceInterval",
    "Convention",
    "DecisionTask",
    "DistanceBracket",
    "GradeTest",
    "Joint",
    "Measurement",
    "Recalibration",
    "Verdict",
    "auc",
    "audit",
    "averaged_two_bin_error",
    "betting_test",
    "binned_calibration_error",
    "binning",
    "brier_score",
    "calibration_belt",
    "calibration_decision_loss",
    "calibration_error",
    "calibration_index",
    "calibration_test",
    "certified_threshold",
    "classical_numbers",
    "compare",
    "confidence_band",
    "confidence_interval",
    "consistency_band",
    "conventions",
    "cross_validated_error",
    "cutoff_calibration_error",
    "datasets",
    "decision_loss_curve",
    "decisions",
    "distance_bracket",
    "distance_to_calibration",
    "distributions",
    "earth_mover_distance",
    "ece",
    "errors",
    "exact_calibration_error",
    "expected_calibration_error",
    "fixed_decision_loss",
    "grade_tests",
    "groups",
    "hallucination",
    "integrations",
    "interval_calibration_error",
    "joints_by",
    "kernel_calibration_error",
    "kernel_smoothed_calibration_error",
    "llm",
    "log_loss",
    "low_degree_calibration_error",
    "lower_distance_to_calibration",
    "models",
    "multiclass",
    "murphy_curve",
    "net_benefit",
    "online",
    "plots",
    "post_processing_gap",
    "promised_and_received",
    "randomised_response",
    "recalibrate",
    "recalibration",
    "risk_coverage_curve",
    "roc_curve",
    "rows_needed",
    "score_decomposition",
    "show_versions",
    "smooth_calibration_error",
    "smoothed_curve",
    "surrogate_interval_calibration_error",
    "survival",
    "threads",
    "typical_gap",
    "u_calibration_error",
    "upper_distance_to_calibration",
    "verdict",
    "verdict_chances",
    "weight_functions",
    "weighted_calibration_error",
]


# Names that people try, in lower case without underscores, and what they find here instead.
_NAMES_ELSEWHERE = {
    "adaptiveece": "binned_calibration_error(..., strategy='quantile')",
    "ace": "binned_calibration_error",
    "mce": "binned_calibration_error(..., order=numpy.inf)",
    "maximumcalibrationerror": "binned_calibration_error(..., order=numpy.inf)",
    "smece": "kernel_smoothed_calibration_error",
    "smoothece": "kernel_smoothed_calibration_error",
    "smce": "smooth_calibration_error",
    "kce": "kernel_calibration_error",
    "cdl": "calibration_decision_loss",
    "brier": "brier_score",
    "brierscoreloss": "brier_score",
    "crossentropy": "log_loss",
    "rocaucscore": "auc",
    "rocauc": "auc",
    "plot": "plots.ReliabilityDisplay",
    "reliabilitydiagram": "plots.ReliabilityDisplay",
    "reliabilitydisplay": "plots.ReliabilityDisplay",
    "calibrationcurve": "plots.ReliabilityDisplay",
    "calibrationdisplay": "plots.ReliabilityDisplay",
    "calibrationplot": "plots.ReliabilityDisplay",
    "decisioncurve": "net_benefit",
    "platt": "recalibration.PlattScaling",
    "plattscaling": "recalibration.PlattScaling",
    "sigmoid": "recalibration.PlattScaling",
    "temperature": "recalibration.TemperatureScaling",
    "temperaturescaling": "recalibration.TemperatureScaling",
    "isotonic": "recalibration.IsotonicCalibration",
    "isotonicregression": "recalibration.IsotonicCalibration",
    "isotoniccalibration": "recalibration.IsotonicCalibration",
    "beta": "recalibration.BetaCalibration",
    "betacalibration": "recalibration.BetaCalibration",
    "histogrambinning": "recalibration.HistogramBinning",
    "vennabers": "recalibration.VennAbers",
    "dirichlet": "recalibration.DirichletCalibration",
    "calibrate": "recalibrate",
    "load": "recalibration.load",
    "calibratedclassifier": "models.CalibratedClassifier",
    "calibratedclassifiercv": "models.CalibratedClassifier",
    "recalibratebygroup": "groups.recalibrate_by_group",
    "auditgroups": "groups.audit_groups",
    "multicalibrationerror": "groups.multicalibration_error",
    "multicalibrator": "groups.Multicalibrator",
    "monitor": "CalibrationMonitor",
    "samplesize": "rows_needed",
}


if not _TYPE_CHECKING:  # so that type checkers find names that are mistyped
    # Threads that ask at once wait for each other: where several import modules that need each
    # other, as those of numpy do, Python hands out halves of them. No package uses a name of
    # this one while it is imported, so that nobody who holds the lock waits for somebody else.
    _LOADING = _RLock()

    def __getattr__(name: str) -> _Any:
        if name not in __all__:
            ours = _NAMES_ELSEWHERE.get(name.lower().replace("_", ""))
            hint = f". Use `calibrant.{ours}`." if ours else ""
            raise AttributeError(f"module 'calibrant' has no attribute {name!r}{hint}")
        with _LOADING:
            if _find_spec(f"calibrant.{name}") is not None:
                return _import_module(f"calibrant.{name}")
            packages = (vars(_import_module(f"calibrant.{package}")) for package in _LATER)
            value = next(names[name] for names in packages if name in names)
            globals()[name] = value
            return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
