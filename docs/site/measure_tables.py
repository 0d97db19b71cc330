"""Tables that follow from the catalogue of measures, and the glance on each measure's page."""

from __future__ import annotations

import json
from pathlib import Path

import calibrant as cal
from calibrant.catalogue import DOMAINS, JOINT_MEASURES, Measure

DOCS = Path(__file__).parents[1]
GUIDES = {"rows": "distances.md", "classes": "multiclass.md", "groups": "groups.md"}
"""Pages that explain the measures of a domain; those of a Joint have one each."""
FAMILIES = {
    "Smooth tests: start here": (
        "What is the largest bias that a gentle test of the forecasts can find? No bins.",
        (
            "smooth_calibration_error", "kernel_smoothed_calibration_error",
            "kernel_calibration_error", "averaged_two_bin_error", "earth_mover_distance",
            "low_degree_calibration_error",
            "weighted_calibration_error",
        ),
    ),
    "Bins, levels and ranges": (
        "How far are mean forecasts from observed rates, group of forecasts by group?",
        (
            "cutoff_calibration_error", "binned_calibration_error", "exact_calibration_error",
            "interval_calibration_error", "surrogate_interval_calibration_error",
        ),
    ),
    "Decisions": (
        "What does it cost to act on the forecasts?",
        (
            "fixed_decision_loss", "calibration_decision_loss", "u_calibration_error",
            "post_processing_gap",
        ),
    ),
    "Distances": (
        "How far would the forecasts have to move to be calibrated?",
        ("lower_distance_to_calibration", "upper_distance_to_calibration"),
    ),
}  # fmt: skip
"""Families of measures, the one to prefer first; pages of no family come last."""


def measure_index() -> str:
    """List the pages of the measures by family, each with what it asks."""
    lines: list[str] = []
    known = [name for _, names in FAMILIES.values() for name in names]
    pages = {path.stem for path in (DOCS / "measures").glob("*.md")} - {"index"}
    parts = {title: (words, list(names)) for title, (words, names) in FAMILIES.items()}
    if rest := sorted(pages - set(known)):
        parts["More"] = ("", rest)
    for title, (words, names) in parts.items():
        lines += [f"## {title}", "", words, "", "| measure | asks |", "|---|---|"]
        lines += [f"| [{_title(name)}]({name}.md) | {_asks(name)} |" for name in names]
        lines += ["", "<!-- pages", *names, "-->", ""]
    return "\n".join(lines)


def _title(name: str) -> str:
    first = (DOCS / "measures" / f"{name}.md").read_text(encoding="utf-8").split("\n", 1)[0]
    return first.removeprefix("# ")


def _asks(name: str) -> str:
    return cal.CATALOGUE[name].asks if name in cal.CATALOGUE else ""


def measure_table() -> str:
    """Render the catalogue: the survey's wishes as columns."""
    heads = (
        "measure", "continuous", "faithful", "truthful", "interval", "a small value promises",
        "noise floor", "cost", "many classes",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    floors = noise_floors()
    for measure in JOINT_MEASURES.values():
        cells = (
            f"[{measure.title}](measures/{measure.name}.md): {measure.asks}",
            _mark(measure.continuous),
            _mark(measure.faithful),
            _flags(measure) or _mark(measure.truthful is not None),
            _interval(measure),
            measure.decisions,
            ", then ".join(f"{mean:.4f}" for mean in floors[measure.name]["mean"]),
            measure.cost,
            cal.CATALOGUE[measure.multiclass].title.removesuffix(" calibration error")
            if measure.multiclass
            else _mark(None),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _interval(measure: Measure) -> str:
    """Mark whether an interval is offered, or say in which case."""
    offered = measure.interval or measure.interval_if == "always"
    return _mark(offered) if offered or not measure.interval_if else measure.interval_if


def noise_floors() -> dict[str, dict[str, list[float]]]:
    """Read what `docs/draw_noise_floors.py` simulated: it takes minutes, so it is kept."""
    path = DOCS / "measures" / "noise_floors.json"
    kept: dict[str, dict[str, list[float]]] = json.loads(path.read_text(encoding="utf-8"))
    missing = [name for name in JOINT_MEASURES if name not in kept]
    if missing:
        raise ValueError(f"no noise floors of {', '.join(missing)}: run docs/draw_noise_floors.py")
    return kept


def further_table() -> str:
    """List the measures that need more than a Joint."""
    lines = ["| measure | of | known flaw | defined in |", "|---|---|---|---|"]
    for measure in cal.CATALOGUE.values():
        if measure.name in JOINT_MEASURES:
            continue
        page = GUIDES.get(measure.domain, f"measures/{measure.name}.md")
        of = ", and ".join((DOMAINS[measure.domain], *(f"a {name}" for name in measure.requires)))
        what = f"[{measure.title}]({page}): {measure.asks}"
        lines.append(f"| {what} | {of} | {measure.flaw} | {measure.source} |")
    return "\n".join(lines)


def glance(measure: Measure) -> str:
    """Show what the catalogue knows of a measure, and its picture."""
    answers = {
        "asks": measure.asks,
        "continuous": _yes(
            measure.continuous,
            "a small change of the predictions changes it little",
            "a small change of the predictions can change it much",
        ),
        "faithful": _yes(
            measure.faithful,
            "zero only for calibrated forecasts",
            "it can be zero for forecasts that are not calibrated",
        ),
        "truthful": _truthful(measure),
        "confidence interval": _interval(measure)
        .replace(_mark(1), "yes")
        .replace(_mark(None), "no"),
        "a small value promises": measure.decisions,
        "cost": measure.cost,
        "many classes": _many_classes(measure),
        "known flaw": measure.flaw,
        "defined in": measure.source,
    }
    lines = ["| at a glance | |", "|---|---|"]
    lines += [f"| {what} | {answer} |" for what, answer in answers.items()]
    if not (DOCS / "measures" / f"{measure.name}.png").exists():
        return "\n".join([*lines, ""])
    caption = (
        "Left: the late flights that ship with the package, the isotonic curve of their forecasts "
        "against the diagonal, and in colour what the measure counts. Right: three simulated "
        "forecasters on more and more rows; where perfect forecasts (circles) do not sink towards "
        "zero, no number of rows is enough."
    )
    picture = f"![{caption}]({measure.name}.png)"
    return "\n".join([*lines, "", picture, "", f"*{caption}*", ""])


def _many_classes(measure: Measure) -> str:
    by_class = "class by class"
    return f"{by_class}; `{measure.multiclass}`" if measure.multiclass else by_class


def _flags(measure: Measure) -> str:
    return ", ".join(f"`{flag}=True`" for flag in measure.truthful or ())


def _truthful(measure: Measure) -> str:
    if measure.truthful is None:
        return "no (another forecast than the chances of the outcomes can score lower on average)"
    with_flags = f"with {_flags(measure)}" if measure.truthful else "yes"
    return f"{with_flags} (on average no forecast scores lower than the chances of the outcomes)"


def _mark(flag: object) -> str:
    return "\N{HEAVY CHECK MARK}" if flag else "\N{EN DASH}"


def _yes(flag: object, meaning: str, otherwise: str) -> str:
    return f"yes ({meaning})" if flag else f"no ({otherwise})"
