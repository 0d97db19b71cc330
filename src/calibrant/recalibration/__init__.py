"""Calibrators that recalibrate predictions, the choice between them, their export."""

from calibrant.recalibration.base import (
    TWO_OUTCOMES as TWO_OUTCOMES,
    Calibrator,
)
from calibrant.recalibration.choice import (
    FEWEST_ROWS as FEWEST_ROWS,
    HeldOutScores,
    Recalibration,
    WorstGroup as WorstGroup,
    choice_of_probabilities as choice_of_probabilities,
    choose_among as choose_among,
    plain_table as plain_table,
    recalibrate,
)
from calibrant.recalibration.choice_rule import (
    CLEARLY_PATCHED as CLEARLY_PATCHED,
    NO_MAP as NO_MAP,
    Gain as Gain,
    gain_between as gain_between,
    is_clear as is_clear,
    losses as losses,
    mean_loss as mean_loss,
    row_luck as row_luck,
)
from calibrant.recalibration.classes import (
    DirichletCalibration,
    OneVsRestIsotonicCalibration,
    VectorScaling,
)
from calibrant.recalibration.continuous import (
    ContinuousCalibrator,
    ContinuousRecalibration,
    choose_for_rows as choose_for_rows,
)
from calibrant.recalibration.curves import QuadraticCalibration, SplineCalibration
from calibrant.recalibration.estimator import (
    Classifier as Classifier,
    Estimator as Estimator,
    reading_arguments as reading_arguments,
)
from calibrant.recalibration.export import form_text as form_text
from calibrant.recalibration.files import (
    apply_to_files as apply_to_files,
    check_output as check_output,
)
from calibrant.recalibration.flexible import (
    CenteredIsotonicCalibration,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    VennAbers,
)
from calibrant.recalibration.folds import (
    Split as Split,
    Units as Units,
    read_units as read_units,
    units_of as units_of,
)
from calibrant.recalibration.forms import TINY as TINY, Lines as Lines
from calibrant.recalibration.group_calibrator import GroupCalibrator
from calibrant.recalibration.parametric import (
    BetaCalibration,
    Identity,
    PlattScaling,
    PriorCorrection,
    TemperatureScaling,
    unmoved as unmoved,
)
from calibrant.recalibration.patches import (
    Patch as Patch,
    Patches as Patches,
    codes_of as codes_of,
    patches_text as patches_text,
    unseen as unseen,
)
from calibrant.recalibration.quoting import (
    Dialect as Dialect,
    dialect_of as dialect_of,
    number_text as number_text,
)
from calibrant.recalibration.reading import shaped as shaped
from calibrant.recalibration.registry import (
    CALIBRATORS,
    MULTICLASS_CALIBRATORS,
    load,
    load_of_probabilities as load_of_probabilities,
    too_flexible as too_flexible,
)
from calibrant.recalibration.report_text import choice_text as choice_text
from calibrant.recalibration.routing import Routed as Routed
from calibrant.recalibration.sources import recalibrated as recalibrated
from calibrant.recalibration.sql import group_columns as group_columns, output_names as output_names
from calibrant.recalibration.structured import (
    EnsembleTemperatureScaling,
    MulticlassPriorCorrection,
    StructuredMatrixScaling,
    StructuredVectorScaling,
)
from calibrant.recalibration.subsets import SubsetCalibration

__all__ = [
    "CALIBRATORS",
    "MULTICLASS_CALIBRATORS",
    "BetaCalibration",
    "Calibrator",
    "CenteredIsotonicCalibration",
    "ContinuousCalibrator",
    "ContinuousRecalibration",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "GroupCalibrator",
    "HeldOutScores",
    "HistogramBinning",
    "Identity",
    "IsotonicCalibration",
    "KernelCalibration",
    "MulticlassPriorCorrection",
    "OneVsRestIsotonicCalibration",
    "PlattScaling",
    "PriorCorrection",
    "QuadraticCalibration",
    "Recalibration",
    "SplineCalibration",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "SubsetCalibration",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "load",
    "recalibrate",
]
