"""What the library says about its arguments, said about the options of the command line."""

from __future__ import annotations

import re

from calibrant.errors import CalibrantError

# Names that no sentence uses for anything else.
NAMES = {
    "y_pred": "--prediction",
    "y_proba": "--prediction",
    "y_true": "--outcome",
    "sample_weight": "--weight",
    "pos_label": "--pos-label",
    "neg_label": "--neg-label",
    "na_label": "--na-label",
    "cluster_forecast": "--cluster-forecast",
    "find_segments": "--find-segments",
    "max_worse": "--max-worse",
    "pass_mark": "--pass-mark",
    "gap_tolerance": "--gap-tolerance",
    "oe_tolerance": "--oe-tolerance",
    "prediction_sum": "--prediction-sum",
    "base_rate": "--base-rate",
    "calibrator_file": "--calibrator",
}
# Names that are words as well: they are arguments where a sentence begins with them, or before =.
WORDS = {
    "alpha": "--alpha",
    "between": "--between",
    "by": "--by",
    "classes": "--classes",
    "clusters": "--cluster",
    "column": "--column",
    "confidence": "--confidence",
    "count": "--count",
    "dialect": "--dialect",
    "duration": "--duration",
    "folds": "--folds",
    "fields": "--field",
    "horizon": "--horizon",
    "key": "--key",
    "prediction": "--prediction",
    "kind": "--kind",
    "level": "--level",
    "methods": "--methods",
    "origin": "--origin",
    "positives": "--positives",
    "range": "--range",
    "rng": "--seed",
    "measure": "--measure",
    "risk": "--risk",
    "scale": "--scale",
    "score": "--score",
    "scorer": "--scorer",
    "task": "--task",
    "time": "--time",
    "tolerance": "--tolerance",
    "until": "--until",
    "window": "--window",
}
PHRASES = {
    "drop those rows, or fill in their values": "--na drop leaves them out",
    "are the two arguments swapped? The truth comes first": "--prediction and --outcome look "
    "swapped",
    "are the two arguments swapped": "--prediction and --outcome look swapped",
    "are the two columns swapped": "--prediction and --outcome look swapped",
    ", or a Generator of numpy": "",
    "these look like percentages: divide by 100": "for percentages use --scale percent",
    "prediction=..., outcome=...": "--prediction NAME --outcome NAME",
    "Joint.from_counts(prediction, count, positives)": "--count and --positives",
    "audit(..., kind='mean', range=(0, 1))": "calibrant audit --kind mean --range 0,1",
    "for rounded probabilities pass a larger sum_tolerance; for scores before a softmax pass "
    "logits=True": "--classes must name every class; write rounded probabilities with more digits, "
    "and take the softmax of scores first",
    ", a DecisionTask, or (phi, subgradient)": "",
}

# Fields are a mapping, which options write as meaning=name.
_FIELD = re.compile(r"fields=\{'(\w+)': '?([^'}]*)'?\}")
_COLUMN = re.compile(r"(, )?\b(prediction|outcome)=(?=')")
_FIRST = re.compile(
    rf"^({'|'.join(WORDS)})(?= (must|needs?|has no effect|is for|are for|cannot)\b)"
)
_GIVEN = re.compile(rf"(?<!['\"\w])({'|'.join(NAMES | WORDS)})=(\.\.\.)?")
# Words of others stand in quotation marks.
_NAMED = re.compile(rf"(?<!['\"\w-])({'|'.join(NAMES)})(?!['\"\w])")


def on_the_command_line(error: CalibrantError) -> str:
    """Write an error of the library with the options that its arguments stand for."""
    return str(CalibrantError(with_options(error.what), error.got, with_options(error.hint)))


def with_options(text: str) -> str:
    """Write a sentence of the library with the options that its arguments stand for."""
    field = _FIELD.search(text)
    if field is not None:
        before, after = with_options(text[: field.start()]), with_options(text[field.end() :])
        return f"{before}--field {field[1]}={field[2]}{after}"
    options = NAMES | WORDS
    for phrase, other in PHRASES.items():
        text = text.replace(phrase, other)
    text = _COLUMN.sub(lambda found: f"{' ' if found[1] else ''}--{found[2]} ", text)
    text = _FIRST.sub(lambda found: options[found[1]], text)
    text = _GIVEN.sub(lambda found: options[found[1]] + ("" if found[2] else " "), text)
    return _NAMED.sub(lambda found: options[found[1]], text)
