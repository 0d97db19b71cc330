"""The only description of each measure; laws, command line, report and docs read it."""

from calibrant.catalogue.class_measures import CLASS_MEASURES
from calibrant.catalogue.measure import DOMAINS, Batch, Domain, Measure
from calibrant.catalogue.row_and_group_measures import ROW_MEASURES
from calibrant.catalogue.two_outcome_measures import MEASURES_OF_A_JOINT
from calibrant.errors import InvalidOptionError

__all__ = [
    "CATALOGUE",
    "DOMAINS",
    "JOINT_MEASURES",
    "OTHER_NAMES",
    "Batch",
    "Domain",
    "Measure",
    "find_measure",
]

CATALOGUE: dict[str, Measure] = {
    measure.name: measure for measure in (*MEASURES_OF_A_JOINT, *ROW_MEASURES, *CLASS_MEASURES)
}
"""Every measure by its public name below `calibrant`."""
JOINT_MEASURES: dict[str, Measure] = {
    name: measure
    for name, measure in CATALOGUE.items()
    if measure.domain == "joint" and not measure.requires
}
"""Measures that need a Joint and nothing else: what `measure=` takes by name."""
OTHER_NAMES: dict[str, str] = {
    other: name for name, measure in JOINT_MEASURES.items() for other in measure.other_names
}
"""Measures of a Joint by the names of further functions that measure the same by default."""
# Names by which others know some of them.
ALSO_CALLED = {
    "smece": "kernel_smoothed_calibration_error",
    "smce": "smooth_calibration_error",
}


def find_measure(name: str) -> Measure:
    """Look up a measure of a Joint by one of its names.

    Examples
    --------
    >>> find_measure("earth_mover_distance").modulus(0.01)
    0.03
    >>> find_measure("expected_calibration_error").name
    'binned_calibration_error'
    """
    found = OTHER_NAMES.get(name, name)
    if found not in JOINT_MEASURES:
        from difflib import get_close_matches

        known = ALSO_CALLED.get(name.lower().replace("-", "").replace("_", ""))
        names = [*JOINT_MEASURES, *OTHER_NAMES]
        close = [known] if known else get_close_matches(name.lower(), names, n=1, cutoff=0.8)
        alias = f" ({name.upper()})" if known else ""
        raise InvalidOptionError(
            "@measure must be in the catalogue",
            repr(name),
            f"did you mean {close[0]}{alias}" if close else f"one of {', '.join(JOINT_MEASURES)}",
        )
    return JOINT_MEASURES[found]
