"""A choice as plain text: what was chosen, before and after, all calibrators."""

from __future__ import annotations

import textwrap
from typing import Any, Protocol

import numpy as np

from calibrant._base.words import count_text, page, visible
from calibrant.decisions import score_title
from calibrant.recalibration.choice import HeldOutScores
from calibrant.recalibration.choice_rule import LOSSES

COLUMNS = 100
# What a calibrator does to a loss that is infinite before it, or after it alone.
NO_LONGER, ONLY_NOW = "no longer infinite", "infinite with it"


class Chosen(Protocol):
    """What a choice reports: of a calibrator, or of a calibrator and patches for groups."""

    @property
    def sentence(self) -> str:
        """What was chosen."""
        ...

    @property
    def before(self) -> HeldOutScores:
        """What forecasts are worth as they are."""
        ...

    @property
    def after(self) -> HeldOutScores:
        """What they are worth afterwards."""
        ...

    @property
    def table(self) -> dict[str, list[Any]]:
        """All calibrators."""
        ...

    @property
    def score(self) -> str:
        """Name of the score."""
        ...

    @property
    def skipped(self) -> tuple[str, ...]:
        """Calibrators that so many rows cannot fit."""
        ...


def choice_text(choice: Chosen) -> str:
    """Write a choice for a terminal."""
    before, after = _lines(choice.before), _lines(choice.after)
    width = max(map(len, before.values())) + 2
    wrapped = textwrap.wrap(choice.sentence, COLUMNS)
    lines = [*wrapped, "", f"{'held-out data':20}{'before':{width}}after"]
    lines += [f"{name:20}{value:{width}}{after[name]}" for name, value in before.items()]
    head = "".join(f"{f'gain in {loss}':34}" for loss in LOSSES.values())
    lines += ["", f"{'each as if tried alone':24}{score_title(choice.score):>12}  {head}".rstrip()]
    table = choice.table
    for i, name in enumerate(table["calibrator"]):
        gain = "".join(f"{_gain(table, f'{side}_gain', i):34}" for side in LOSSES)
        gain = "" if name == "identity" else gain
        mark = "<- chosen" if table["chosen"][i] else ""
        lines.append(f"{name:24}{_score(table['score'][i]):>12}  {gain}{mark}".rstrip())
    if choice.skipped:
        lines.append(f"not tried, because the rows are too few: {', '.join(choice.skipped)}")
    return page(lines)


def _lines(judged: HeldOutScores) -> dict[str, str]:
    lines = {
        "Brier score": f"{judged.brier:.5f}",
        "log loss": _score(judged.log_loss),
    }
    if judged.accuracy is None:
        lines["AUC"] = "not defined" if np.isnan(judged.auc) else f"{judged.auc:.4f}"
        tied = "not defined" if np.isnan(judged.ties) else f"{100 * judged.ties:.2f} %"
        lines["tied pairs"] = tied
    else:
        lines["accuracy"] = f"{judged.accuracy:.4f}"
    if judged.failed:
        lines["log loss"] += f" ({count_text(judged.failed, 'forecast')} of 0 or 1 failed)"
    if judged.task_loss is not None:
        lines["loss of your task"] = f"{judged.task_loss:.5f}"
    if judged.worst_group is not None:
        group = judged.worst_group
        error, name = group.interval, visible(f"{group.column} {group.name}")
        lines["worst group"] = f"{name}: {error.value:.4f} ({error.low:.4f} to {error.high:.4f})"
    return lines


def _score(value: float) -> str:
    return f"{value:.5f}" if np.isfinite(value) else "infinite"


def _gain(table: dict[str, list[float]], name: str, i: int) -> str:
    value, low, high = (table[f"{name}{end}"][i] for end in ("", "_low", "_high"))
    if not np.isfinite(value):
        return "not defined" if np.isnan(value) else NO_LONGER if value > 0 else ONLY_NOW
    return f"{value:+.5f} ({low:+.5f} to {high:+.5f})"
