"""Numbers and witnesses in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from calibrant.arrays import Floats
from calibrant.joint import Joint

# An interval is looked for between this many cuts of a run of levels.
MOST_CUTS = 256
# Control characters, separators of lines, marks and overrides of direction, surrogates.
_ACTIVE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
_ACTIVE_IN_LINES = re.compile(_ACTIVE.pattern.replace("\\x00-\\x1f", "\\x00-\\x09\\x0b-\\x1f"))


@dataclass(frozen=True, slots=True)
class Region:
    """A run of neighbouring levels on which a witness has one sign."""

    low: float
    high: float
    prediction: float
    outcome: float
    rows: int

    @property
    def sentence(self) -> str:
        """Say where forecasts are off, in which direction and by how much."""
        too = "low" if self.outcome > self.prediction else "high"
        said, happened = distinct_texts(self.prediction, self.outcome)
        low, high = probability_text(self.low), probability_text(self.high)
        where = f"forecasts of {low}" if low == high else f"forecasts between {low} and {high}"
        return (
            f"{where} are too {too}: they say {said} on average and {happened} happened "
            f"({count_text(self.rows, 'row')})"
        )


def strongest_region(joint: Joint, witness: Floats) -> Region | None:
    """Find where a witness sees the clearest bias; None where it gains nothing.

    First the run of levels of one sign on which the witness gains most. A smooth witness changes
    slowly, so inside the run the interval with the largest bias per root of rows is taken.
    """
    gain = witness * joint.mass * joint.residual
    first = np.flatnonzero(np.diff(np.sign(witness), prepend=2.0))
    gains = np.add.reduceat(gain, first)
    best = int(np.argmax(gains))
    if gains[best] <= 0:
        return None
    start = int(first[best])
    stop = int(first[best + 1]) if best + 1 < first.size else len(joint)
    return region_between(joint, *_clearest_interval(joint, start, stop, witness[start]))


def _clearest_interval(joint: Joint, start: int, stop: int, sign: float) -> tuple[int, int]:
    """Interval of the levels start .. stop-1 with the largest bias of a sign per root of rows."""
    cuts = np.unique(np.linspace(start, stop, MOST_CUTS + 1).astype(np.intp))
    part = slice(start, stop)
    bias = np.sign(sign) * (joint.positives[part] - joint.weight[part] * joint.prediction[part])
    total_bias = np.append(0.0, np.cumsum(bias))[cuts - start]
    total_squares = np.append(0.0, np.cumsum(joint.weight_squares[part]))[cuts - start]
    opens, closes = np.triu_indices(cuts.size, k=1)
    # Levels too light to show in the sums must not look infinitely clear.
    squares = np.maximum(total_squares[closes] - total_squares[opens], 1e-12 * total_squares[-1])
    score = (total_bias[closes] - total_bias[opens]) / np.sqrt(squares)
    best = int(np.argmax(score))
    return int(cuts[opens[best]]), int(cuts[closes[best]])


def region_between(joint: Joint, start: int, stop: int) -> Region:
    """Describe the levels start .. stop-1."""
    part = slice(start, stop)
    weight = joint.weight[part]
    total = float(weight.sum())
    return Region(
        low=float(joint.prediction[start]),
        high=float(joint.prediction[stop - 1]),
        prediction=float(weight @ joint.prediction[part]) / total,
        outcome=float(joint.positives[part].sum()) / total,
        rows=int(joint.rows[part].sum()),
    )


def region_sentence(joint: Joint, witness: Floats) -> str:
    """Say in words what a witness found."""
    region = strongest_region(joint, witness)
    return "no forecast is off" if region is None else region.sentence


def probability_text(value: float, digits: int = 2) -> str:
    """Write a probability with as many digits as its distance from 0 or 1 needs."""
    distance = min(value, 1 - value)
    if distance <= 0:
        return f"{value:.0f}"
    if distance < 1e-5:
        return f"{value:.1e}" if value < 0.5 else f"1 - {distance:.1e}"
    leading_zeros = int(np.floor(-np.log10(distance))) if distance < 0.01 else 0
    return f"{value:.{digits + leading_zeros}f}"


def distinct_texts(first: float, second: float) -> tuple[str, str]:
    """Write two probabilities with the digits that tell them apart, up to five of them."""
    for digits in range(2, 6):
        texts = probability_text(first, digits), probability_text(second, digits)
        if texts[0] != texts[1]:
            return texts
    return probability_text(first), probability_text(second)


def visible(text: str, *, lines: bool = False) -> str:
    r"""Show characters that would act on a terminal or a page instead of standing there.

    Control characters (escape sequences begin with one), characters that turn the direction of
    text, and halves of characters become escapes such as `\x1b`. Labels, columns and file names
    are the words of others.

    Parameters
    ----------
    text : str
        Words that may come from data.
    lines : bool, default=False
        Whether line breaks are meant, as in a page of text.

    Examples
    --------
    >>> print(visible("red \x1b[31m alert"))
    red \x1b[31m alert
    """
    return (_ACTIVE_IN_LINES if lines else _ACTIVE).sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def count_text(count: int, noun: str) -> str:
    """Write a count in groups of three digits, with its noun in the right number."""
    digits = f"{count:,}".replace(",", " ")
    return f"{digits} {noun}" if count == 1 else f"{digits} {noun}s"


def percent_text(share: float) -> str:
    """Write a share in per cent, to three digits."""
    return f"{100 * share:.3g} %"


def chance_text(pvalue: float) -> str:
    """Write a p-value; a simulated one is never smaller than one in its draws."""
    return f"{pvalue:.3f}" if pvalue >= 0.0995 else f"{pvalue:.2g}"
