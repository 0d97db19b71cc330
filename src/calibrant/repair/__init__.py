"""Repair: maps that recalibrate predictions, the choice between them, their export."""

from calibrant.repair.base import (
    TWO_OUTCOMES as TWO_OUTCOMES,
    RecalibrationMap,
)
from calibrant.repair.choice import (
    FEWEST_ROWS as FEWEST_ROWS,
    Choice,
    Judgement,
    WorstGroup as WorstGroup,
    choice_of_probabilities as choice_of_probabilities,
    choose,
    choose_among as choose_among,
    plain_table as plain_table,
)
from calibrant.repair.choice_rule import (
    CLEARLY_PATCHED as CLEARLY_PATCHED,
    NO_MAP as NO_MAP,
    Gain as Gain,
    gain_between as gain_between,
    is_clear as is_clear,
    losses as losses,
    mean_loss as mean_loss,
    row_luck as row_luck,
)
from calibrant.repair.classes import ClassWiseIsotonic, Dirichlet, VectorScaling
from calibrant.repair.continuous_maps import (
    ContinuousChoice,
    ContinuousMap,
    choose_for_rows as choose_for_rows,
)
from calibrant.repair.curves import Quadratic, Spline
from calibrant.repair.estimator import (
    Estimator as Estimator,
    reading_arguments as reading_arguments,
)
from calibrant.repair.export import form_text as form_text
from calibrant.repair.files import apply_to_files as apply_to_files, check_output as check_output
from calibrant.repair.flexible import CentredIsotonic, Histogram, Isotonic, Smooth, VennAbers
from calibrant.repair.folds import (
    Split as Split,
    Units as Units,
    read_units as read_units,
    units_of as units_of,
)
from calibrant.repair.forms import TINY as TINY, Lines as Lines
from calibrant.repair.group_map import GroupMap
from calibrant.repair.parametric import (
    Beta,
    Identity,
    Platt,
    PriorShift,
    Temperature,
    unmoved as unmoved,
)
from calibrant.repair.patches import (
    Patch as Patch,
    Patches as Patches,
    codes_of as codes_of,
    patches_text as patches_text,
    unseen as unseen,
)
from calibrant.repair.projected import ProjectedSmooth
from calibrant.repair.quoting import (
    Dialect as Dialect,
    dialect_of as dialect_of,
    number_text as number_text,
)
from calibrant.repair.reading import shaped as shaped
from calibrant.repair.registry import (
    CLASS_MAPS,
    MAPS,
    load,
    load_of_probabilities as load_of_probabilities,
    untaught as untaught,
)
from calibrant.repair.report_text import choice_text as choice_text
from calibrant.repair.routing import Routed as Routed
from calibrant.repair.sources import repaired as repaired
from calibrant.repair.sql import group_columns as group_columns, output_names as output_names
from calibrant.repair.structured import (
    ClassPriorShift,
    EnsembleTemperature,
    StructuredMatrixScaling,
    StructuredVectorScaling,
)

__all__ = [
    "CLASS_MAPS",
    "MAPS",
    "Beta",
    "CentredIsotonic",
    "Choice",
    "ClassPriorShift",
    "ClassWiseIsotonic",
    "ContinuousChoice",
    "ContinuousMap",
    "Dirichlet",
    "EnsembleTemperature",
    "GroupMap",
    "Histogram",
    "Identity",
    "Isotonic",
    "Judgement",
    "Platt",
    "PriorShift",
    "ProjectedSmooth",
    "Quadratic",
    "RecalibrationMap",
    "Smooth",
    "Spline",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "Temperature",
    "VectorScaling",
    "VennAbers",
    "choose",
    "load",
]
