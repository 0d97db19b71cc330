"""Measures of the probabilities of more than two classes."""

from __future__ import annotations

from math import inf, sqrt

from calibrant.catalogue.measure import Measure

CLASS_MEASURES = (
    Measure(
        "multiclass.class_wise",
        domain="classes",
        asks="How far is each class off, against all others?",
        flaw="with many classes most values are small, whatever the forecasts are worth",
        source="Kull et al. (2019), NeurIPS",
        decisions="as its measure, for decisions about one class; by default the smooth error",
        cost="classes times n log n",
        symmetric=True,
    ),
    Measure(
        "multiclass.projected_smooth_calibration_error",
        domain="classes",
        asks='Which question "is it one of these classes?" has the largest smooth error?',
        flaw="asks one question at a time; a search among many classes finds a lower bound",
        source="Gopalan, Hu, Rothblum (2024), COLT",
        # What a set of classes gains others lose, so its chance moves by half of all changes.
        modulus=lambda shift: shift,
        decisions="as the smooth error, for decisions about any set of classes",
        cost="n log n times the subsets tried",
        symmetric=True,
    ),
    Measure(
        "multiclass.canonical_calibration_error",
        domain="classes",
        asks="How large a bias can a test of norm one see in the whole row of probabilities?",
        flaw="rows with the same probabilities hardly ever repeat: mostly noise for many classes",
        source="Widmann, Lindsten, Zachariah (2019), NeurIPS",
        decisions="none",
        cost="n squared times classes; n from random features",
        faithful=True,
        symmetric=True,
        truthful=("squared",),
    ),
    Measure(
        "multiclass.low_degree_calibration_error",
        domain="classes",
        asks="How large a bias can polynomials of all probabilities find?",
        flaw="blind to errors that change sign more often than the degree",
        source="Gopalan, Kim, Singhal, Zhao (2022), COLT",
        # Degree 2: a monomial moves by at most all changes, a residual by half of them.
        modulus=lambda shift: 1.5 * shift,
        decisions="none",
        cost="n times the monomials",
        symmetric=True,
    ),
    Measure(
        "multiclass.decision_calibration_error",
        domain="classes",
        asks="How biased are the forecasts where each action is taken?",
        flaw="not continuous: a small change can change the action",
        source="Zhao, Kim, Sahoo, Ma, Ermon (2021), NeurIPS",
        decisions="promised and received payoffs differ by at most this times the largest payoffs",
        cost="n times actions times classes",
        requires=("task",),
        range=(0.0, sqrt(2)),
    ),
    Measure(
        "multiclass.worst_decision_calibration_error",
        domain="classes",
        asks="How biased are the forecasts where actions are taken, in the worst of all tasks?",
        flaw="not continuous; exact for two classes, or three and two actions; a bracket beyond",
        source="Zhao, Kim, Sahoo, Ma, Ermon (2021), NeurIPS",
        decisions="as the error of one task, for every task with as few actions",
        cost="levels squared for three classes; a search beyond",
        symmetric=True,
        range=(0.0, sqrt(2)),
    ),
    Measure(
        "multiclass.calibration_decision_loss",
        domain="classes",
        asks="How much can anybody lose by taking forecasts of classes at their word?",
        flaw="not continuous; exact for few levels only, a bracket beyond; noise for single rows",
        source="survey, section 4, Definition 4.2, for classes",
        faithful=True,
        symmetric=True,
        decisions="bounds the loss of every decision maker with payoffs in [0, 1], exactly",
        cost="a linear programme in levels times classes",
    ),
    Measure(
        "multiclass.fixed_decision_loss",
        domain="classes",
        asks="How much would recalibrating bring this decision maker?",
        flaw="not continuous; the recalibration is estimated on the rows it is judged on",
        source="survey, section 4",
        decisions="what this decision maker loses, if the recalibration can be trusted",
        cost="classes times n log n",
        requires=("task",),
        range=(-inf, inf),
    ),
)
