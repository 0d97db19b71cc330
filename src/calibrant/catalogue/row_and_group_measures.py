"""Measures of rows with more than predictions and outcomes: groups, or who is who."""

from __future__ import annotations

from calibrant.catalogue.measure import Measure

ROW_MEASURES = (
    Measure(
        "distance_to_calibration",
        domain="rows",
        asks="How far would the predictions of these individuals have to move to be calibrated?",
        flaw="exact for 18 individuals, or about 200 single rows of equal weight; a bracket beyond",
        source="survey, section 6, Definition 6.1",
        modulus=lambda shift: shift,
        faithful=True,
        symmetric=True,
        decisions="as the smooth error",
        cost="n log n and a linear programme",
    ),
    Measure(
        "groups.multiaccuracy_error",
        domain="groups",
        asks="Which group has the largest bias on average?",
        flaw="blind to errors that cancel within a group",
        source="survey, section 1, multicalibration",
        modulus=lambda shift: shift,
        symmetric=True,
        decisions="none",
        cost="n times the groups",
    ),
    Measure(
        "groups.low_degree_multicalibration_error",
        domain="groups",
        asks="In which group does a power of the prediction find the largest bias?",
        flaw="blind to errors within a group that change sign often",
        source="survey, section 1, multicalibration",
        # Degree 1: p (y - p) has slope at most 2.
        modulus=lambda shift: 2 * shift,
        decisions="none",
        cost="n times the groups",
    ),
    Measure(
        "groups.multicalibration_error",
        domain="groups",
        asks="In which group are predictions farthest from frequencies, cell by cell?",
        flaw="depends on the cells; far from zero where groups are small; not continuous",
        source="survey, section 1, multicalibration",
        decisions="none",
        cost="n times the groups",
    ),
)
