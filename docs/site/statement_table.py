"""Every statement of the survey: where the tour shows it, its code, its test and its status."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TOUR = Path(__file__).parents[1] / "survey"
STATUSES = ("exact", "certified", "approximate", "played", "not built")
HEADING = re.compile(r"^## (.+)$", flags=re.MULTILINE)


class Statement(NamedTuple):
    """One line of the table."""

    name: str
    """As the survey numbers it, or the section that says it."""
    about: str
    code: str
    """Names below `calibrant`, divided by blanks."""
    tests: str
    """How names of its tests in tests/survey begin after `test_`, divided by blanks."""
    status: str
    """One of `STATUSES`, and after a colon what limits it."""
    proved: str = "survey"
    heading: str = ""
    """How the heading in the tour begins; by default the name is in it."""
    page: str = ""
    """File of the tour; by default that of the section in the name."""


ECE, SMOOTH = "exact_calibration_error", "smooth_calibration_error"
LOSS, FIXED = "calibration_decision_loss", "fixed_decision_loss"
LOWER, UPPER = "lower_distance_to_calibration", "upper_distance_to_calibration"
CERTIFICATE = "groups.omnipredict groups.omniprediction_certificate"
STATEMENTS = (
    Statement("section 1.1", "squared loss is bias plus variance, for every proper loss",
              "decisions.as_score", "section_1_1", "exact", heading="1.1"),
    Statement("section 1.2", "the umbrella: a calibrated forecast can be acted on",
              "promised_and_received DecisionTask", "section_1_2", "exact", heading="1.1"),
    Statement("Definition 1.1", "perfectly calibrated", ECE, "definition_1_1", "exact",
              "definition"),
    Statement("Lemma 1.2", "calibrated iff J\\* = J^p", "Joint.model_world Joint.point_masses",
              "lemma_1_2", "exact"),
    Statement("section 1.3", "a small change of forecasts must change the error little",
              f"{SMOOTH} {ECE}", "section_1_3", "exact", "Lemma 3.3", heading="1.3"),
    Statement("section 1.4", "calibrated and useless; calibrated on average only",
              f"{ECE} {SMOOTH}",
              "section_1_4_calibration_does_not section_1_4_calibrated_on section_1_4_the", "exact",
              heading="1.4"),
    Statement("section 1.4", "multicalibration is indistinguishability of (c, p, y)",
              "groups.multicalibration_error groups.Multicalibrator groups.distinguisher_advantage "
              "groups.OutcomeIndistinguishable",
              "section_1_4_multicalibration_is", "exact: on the rows fitted to",
              "docstrings: at most 4 / e² corrections", heading="Multicalibration"),
    Statement("section 1.4", "omniprediction: one predictor for every loss",
              f"{CERTIFICATE} groups.Omnipredictor",
              "section_1_4_multicalibrated_forecasts_serve section_1_4_an_omnipredictor",
              "exact: gaps on the rows fitted to; held-out gaps have standard errors; "
              "not the algorithm of OKK25",
              "docstring; [omniprediction](../omniprediction.md)", heading="Multicalibration"),
    Statement("section 1.4", "domain adaptation: the mean of another population",
              "groups.transfer_bias groups.target_mean",
              "section_1_4_multicalibrated_forecasts_have",
              "exact: the identity; intervals are approximate, 24 scenarios simulated",
              "docstring", heading="Multicalibration"),
    Statement("section 1.4", "pseudorandomness and complexity: hardcore measures, dense models",
              "groups.hardcore_measure groups.dense_model",
              "section_1_4_multicalibration_makes", "exact", "docstrings",
              heading="Multicalibration"),
    Statement("Definition 2.1", "expected calibration error, of order q", ECE, "definition_2_1",
              "exact", "definition"),
    Statement("Lemma 2.2", "the best bounded test", ECE, "lemma_2_2", "exact"),
    Statement("Lemma 2.3", "total variation between J\\* and J^p", f"{ECE} Joint.point_masses",
              "lemma_2_3", "exact"),
    Statement("section 2", "rows needed, jumps, buckets", f"{ECE} binned_calibration_error",
              "section_2", "exact", heading="The trouble: jumps"),
    Statement("section 3.1", "the advantage of a test is a weighted residual",
              "Joint.expectation weighted_calibration_error", "section_3_1_a_distinguisher",
              "exact", heading="3.1"),
    Statement("Definition 3.1", "weighted calibration error", "weighted_calibration_error",
              "definition_3_1", "exact: for some families of tests certified", "definition"),
    Statement("section 3.1", "auditing is agnostic learning of the family",
              "weight_functions.LearnedFamily weighted_calibration_error",
              "section_3_1_audit section_3_1_an",
              "approximate: a learner is judged on other rows, with an exact p-value",
              "Gopalan, Hu, Rothblum 2024; reductions in the test",
              heading="Definition 3.1"),
    Statement("Definition 3.2", "smooth calibration error", SMOOTH, "definition_3_2", "exact",
              "definition"),
    Statement("Lemma 3.3", "smooth errors are 2-Lipschitz", SMOOTH, "lemma_3_3", "exact"),
    Statement("Lemma 3.4", "the earth mover's distance, up to two",
              f"earth_mover_distance {SMOOTH}", "lemma_3_4", "exact"),
    Statement("section 3.3", "low-degree calibration", "low_degree_calibration_error",
              "markov_remark jackson_remark low_degree",
              "certified: bounded polynomials up to degree 64; closed forms for other norms",
              "Markov, Jackson", heading="3.3 Polynomials"),
    Statement("section 3.3", "kernel calibration",
              "kernel_calibration_error kernel_smoothed_calibration_error", "kernel",
              "certified: the kernel error itself is exact", "docstrings", heading="3.3 Kernels"),
    Statement("Theorem 4.1", "calibrated forecasts can be trusted",
              "promised_and_received DecisionTask", "theorem_4_1", "exact"),
    Statement("Definition 4.2", "calibration (fixed) decision loss", f"{LOSS} {FIXED}",
              "definition_4_2", "exact", "definition"),
    Statement("Theorem 4.3", "ECE² ≤ ECE₂² ≤ CDL ≤ 2 ECE ≤ 2 ECE₂", f"{LOSS} {ECE}",
              "theorem_4_3", "exact: both tight examples included"),
    Statement("Lemma 4.4", "the best map answers the recalibration",
              f"{FIXED} Joint.recalibrated", "lemma_4_4", "exact"),
    Statement("Definition 4.5", "Bregman divergence", f"{FIXED} decisions.Score",
              "definition_4_5", "exact", "definition, corrected in the [errata](../errata.md)"),
    Statement("Theorem 4.6", "every task is a convex function",
              "DecisionTask.phi DecisionTask.subgradient", "theorem_4_6", "exact"),
    Statement("Lemma 4.7", "payoff is phi less a divergence",
              f"{FIXED} DecisionTask.phi", "lemma_4_7", "exact"),
    Statement("Definition 4.8", "divergence between joint distributions",
              f"{FIXED} Joint.model_world", "definition_4_8", "exact", "definition"),
    Statement("Theorem 4.9", "the loss is a divergence between J\\* and J^p", FIXED,
              "theorem_4_9", "exact"),
    Statement("section 4.4", "V-shaped divergences", "decision_loss_curve",
              "section_4_v_shaped section_4_costs", "exact", heading="V-shapes"),
    Statement("Theorem 4.10", "V-shapes bound every divergence", f"{LOSS} decision_loss_curve",
              "theorem_4_10", "exact", "survey, as an upper bound only"),
    Statement("section 4.6", "cutoff and proper calibration",
              "cutoff_calibration_error weight_functions.Monotone",
              "cutoff_error the_constant_of_the_cutoff", "exact", "docstrings",
              heading="Further work"),
    Statement("section 4.6", "smooth errors, gentle corrections and randomised responses",
              "post_processing_gap randomised_response",
              "smooth_error_bounds dual_smooth no_gentle randomised_responses",
              "certified: exact for squared loss", "docstrings", heading="Further work"),
    Statement("section 5", "deterministic forecasters fail", "online.DeterministicBreaker",
              "section_5_a_deterministic section_5_randomisation", "exact: every forecaster here",
              heading="Why coins"),
    Statement("Table 1", "ECE at most T^(2/3)", "online.FosterForecaster online.rates",
              "table_1_upper table_1_promises", "played: all natures, means over games",
              "docstring", page="section_5"),
    Statement("Table 1", "ECE at most T^(2/3 - a)",
              "online.ConditionalMeanForecaster online.RecursiveLabeler", "table_1_better",
              "not built: what is here must know the chances; "
              "the proof elsewhere is for lengths out of reach",
              "Dagan and others 2025", page="section_5", heading="The game of signs"),
    Statement("Table 1", "ECE at least T^0.528, T^0.54389",
              "online.SignPreservation online.SignNature",
              "table_1_lower_bounds_of_ece table_1_the_nature",
              "played: games of signs solved exactly; the exponents are not shown",
              "Qiao, Valiant 2021; Dagan and others 2025", page="section_5",
              heading="The game of signs"),
    Statement("Table 1", "ECE and decision loss at least order T^(1/2)", "online.least_error",
              "table_1_lower_bound_of_order table_1_lower_bounds_of_order",
              "exact: the constant; all sequences of ten rounds", "docstring",
              page="section_5", heading="What can and cannot"),
    Statement("Table 1", "smooth error and distance at most order T^(1/2)",
              "online.AlmostOneStepAhead online.DefensiveForecaster",
              "table_1_upper table_1_distance", "played: every sequence tried, surely",
              "docstrings",
              page="section_5"),
    Statement("Table 1", "smooth error and distance at least order T^(1/3)",
              "online.EarlyStopping", "table_1_lower_bound_early table_1_early",
              "played: the forecasters here do not escape", "Qiao, Zheng 2024", page="section_5",
              heading="What can and cannot"),
    Statement("Table 1", "decision loss at most order T^(1/2) log T",
              "online.DecisionForecaster online.rates", "table_1_upper table_1_promises",
              "played: the bound says nothing below 313 rounds", "docstring", page="section_5"),
    Statement("Definition 6.1", "true distance to calibration", "distance_to_calibration",
              "definition_6_1",
              "exact: 18 individuals or about 200 single rows; certified beyond", "definition"),
    Statement("Definition 6.2", "upper and lower distance", f"{LOWER} {UPPER}", "definition_6_2",
              "certified", "definition"),
    Statement("Definition 6.3", "calibrated post-processings", "Joint.apply", "definition_6_3",
              "exact", "definition"),
    Statement("Definition 6.4", "the recalibration", "Joint.recalibrated", "definition_6_4",
              "exact", "definition"),
    Statement("Lemma 6.5", "ECE is the distance to the recalibration",
              f"{ECE} Joint.recalibrated", "lemma_6_5", "exact"),
    Statement("Theorem 6.6", "the upper distance is a post-processing", UPPER, "theorem_6_6",
              "exact: to 18 levels; certified beyond"),
    Statement("Theorem 6.7", "smooth error and lower distance, up to two", f"{LOWER} {SMOOTH}",
              "theorem_6_7", "certified: exact to 128 levels"),
    Statement("Corollary 6.8", "one J\\*, distances eta and 2 eta²; the table of its example",
              "distance_to_calibration distance_bracket", "corollary_6_8 gap_example", "exact"),
    Statement("Theorem 6.9", "upper ≤ 4 √lower", f"{LOWER} {UPPER}", "theorem_6_9", "certified"),
    Statement("Definition 6.10", "interval calibration error", "interval_calibration_error",
              "definition_6_10", "exact: to 256 levels; certified beyond", "definition"),
    Statement("Lemma 6.11", "the canonical predictor of a partition",
              "interval_calibration_error", "lemma_6_11", "exact"),
    Statement("Theorem 6.12", "upper distance ≤ interval error",
              f"{UPPER} interval_calibration_error", "theorem_6_12", "certified"),
    Statement("Lemma 6.13", "a shifted grid has a small interval error",
              "surrogate_interval_calibration_error", "lemma_6_13", "certified"),
    Statement("conclusion", "many classes",
              "multiclass.projected_smooth_calibration_error",
              "conclusion_confidence conclusion_projected conclusion_class_wise",
              "exact: to 12 classes; a search with bounds beyond",
              "Gopalan, Hu, Rothblum 2024", page="conclusion", heading="More than two"),
    Statement("conclusion", "calibrated generative models make facts up",
              "hallucination.hallucination_bound hallucination.monofact_rate "
              "hallucination.generative_miscalibration",
              "conclusion_calibrated_models", "certified: under the assumptions of the docstring; "
              "with a normal interval approximate, simulated", "docstring", page="conclusion",
              heading="Models that write"),
)  # fmt: skip
"""In the order of the survey. It numbers no algorithm and one table."""


def page_of(statement: Statement) -> str:
    """Name the file of the tour."""
    section = re.search(r"(\d)", statement.name)
    return statement.page or f"section_{section[1] if section else ''}"


def heading_of(statement: Statement) -> str:
    """Find the heading under which the tour shows a statement."""
    headings = HEADING.findall((TOUR / f"{page_of(statement)}.md").read_text(encoding="utf-8"))
    wanted = re.compile(
        re.escape(statement.heading) if statement.heading else rf"(.* )?{statement.name}\b"
    )
    found = [heading for heading in headings if wanted.match(heading)]
    if not found:
        raise ValueError(f"the tour has no heading for {statement.name}: {statement.about}")
    return found[0]


def section_of(statement: Statement) -> str:
    """Return what the tour says below that heading."""
    text = (TOUR / f"{page_of(statement)}.md").read_text(encoding="utf-8")
    below = text.split(f"## {heading_of(statement)}\n", 1)[1]
    return below.split("\n## ", 1)[0]


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def statement_table() -> str:
    """Render a line per statement."""
    lines = ["| statement | code | test | proved | status |", "|---|---|---|---|---|"]
    for one in STATEMENTS:
        link = f"[{one.name}]({page_of(one)}.md#{_slug(heading_of(one))})"
        code, tests = (
            ", ".join(f"`{name}`" for name in names.split()) for names in (one.code, one.tests)
        )
        cells = (f"{link}: {one.about}", code, tests, one.proved, one.status)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
