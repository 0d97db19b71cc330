"""What recalibration by group found, on rows that neither calibrator nor patches had seen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.notebook import brief
from calibrant._base.words import agreeing
from calibrant.data.groupings import Partition
from calibrant.decisions import score_title
from calibrant.groups.audit import Division, judge_groups
from calibrant.groups.fits import Fit
from calibrant.inference import ConfidenceInterval, Groups, Settings, Statistic, default_tolerance
from calibrant.joint import Rows
from calibrant.measures.smooth import smooth_calibration_error
from calibrant.recalibration import (
    FEWEST_ROWS,
    Gain,
    GroupCalibrator,
    HeldOutScores,
    Recalibration,
    Units,
    WorstGroup,
    patches_text,
    plain_table,
)


@dataclass(frozen=True, kw_only=True)
class GroupRecalibration:
    """A calibrator for all rows with patches for groups, judged on rows that neither had seen."""

    calibrator: GroupCalibrator
    """Fitted to all rows; without patches if they do not help."""
    plain: Recalibration
    """The choice of the calibrator for all rows."""
    table: dict[str, list[Any]]
    """One entry per calibrator for all rows, as in a `Recalibration`, and one for the chosen one
    with patches, compared with the calibrator without them."""
    gain: Gain
    """Score that patches save out of sample, beyond the calibrator for all rows."""
    fit: Fit
    """How patches were fitted to all rows; its numbers are of these rows and flatter."""
    _units: Units = field(repr=False)
    _parts: tuple[Partition, ...] = field(repr=False)
    _recalibrated: Floats = field(repr=False)
    """Predictions of the rows by patches that had not seen them."""
    _settings: Settings = field(repr=False)

    def __repr__(self) -> str:
        return brief(self)

    @property
    def patched(self) -> bool:
        """Whether patches for groups help."""
        return bool(self.calibrator.patches.patches)

    @property
    def unchanged(self) -> bool:
        """Whether the best advice is to change nothing."""
        return not self.patched and self.plain.unchanged

    @property
    def score(self) -> str:
        """Name of the score."""
        return self.plain.score

    @property
    def skipped(self) -> tuple[str, ...]:
        """Calibrators that were not tried, because the rows are too few to fit them."""
        return self.plain.skipped

    @property
    def confidence(self) -> float:
        """Confidence of the intervals."""
        return self.plain.confidence

    @cached_property
    def groups_before(self) -> Groups:
        """All groups of one fold as the forecasts are, with simultaneous intervals."""
        return self._judged_groups(self._units.prediction)

    @cached_property
    def groups_after(self) -> Groups:
        """The same after the calibrator and its patches, which were fitted to the other folds."""
        return self.groups_before if self.unchanged else self._judged_groups(self._recalibrated)

    @cached_property
    def before(self) -> HeldOutScores:
        """What the forecasts are worth as they are, on the rows that calibrators were judged on."""
        return replace(self.plain.before, worst_group=_worst(self.groups_before))

    @cached_property
    def after(self) -> HeldOutScores:
        """What they are worth after the calibrator and its patches, fitted to other rows."""
        judged = self.plain.judged(self._recalibrated) if self.patched else self.plain.after
        return replace(judged, worst_group=_worst(self.groups_after))

    @property
    def sentence(self) -> str:
        """Say what was chosen and what it gains."""
        if not self.patched:
            loss = score_title(self.score)
            no = f"patches for groups do not improve the {loss} by more than noise"
            return f"{self.plain.sentence} Out of sample {no}."
        gain, plain = self.gain, self.plain
        count = len(self.calibrator.patches.patches)
        what = "the forecasts as they are" if plain.unchanged else plain.calibrator.title
        steps = sorted(self.fit.steps, key=lambda step: -step.decrease)
        most = list(dict.fromkeys(step.group for step in steps))[:3]
        return (
            f"{patches_text(count).capitalize()} for groups on top of {what} "
            f"{agreeing(count, 'helps', 'help')}: out of sample "
            f"{gain.text(self.score, self.confidence)} beyond it, most for "
            f"{'; '.join(most)}. {plain.calibrator.sentence}"
        )

    def __str__(self) -> str:
        return self.sentence

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "calibrator": self.calibrator.to_dict(),
            "score": self.score,
            "confidence": self.confidence,
            "gain": self.gain.as_dict(),
            "patched": self.patched,
            "skipped": list(self.skipped),
            "table": plain_table(self.table),
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "groups_before": self.groups_before.table(),
            "groups_after": self.groups_after.table(),
            "sentence": self.sentence,
        }

    def _judged_groups(self, prediction: Floats) -> Groups:
        """Judge the groups on one fold: over all folds the residuals of a group sum to about 0."""
        kept = self._units.held_out
        units = self._units.where(kept)
        settings = self._settings.again(self._settings.seed or 0)
        rows = Rows(np.ascontiguousarray(prediction[kept]), units.outcome, units.weight)
        return judge_groups(
            Division(rows, tuple(part.where(kept) for part in self._parts), units.cluster),
            Statistic.of(smooth_calibration_error),
            settings.within(default_tolerance(units.joint(units.prediction))),
        )


def _worst(groups: Groups) -> WorstGroup | None:
    """Find the group whose error is most certainly large."""
    found = max(
        (group for group in groups if group.rows >= FEWEST_ROWS),
        key=lambda group: (group.low, group.value),
        default=None,
    )
    if found is None:
        return None
    interval = ConfidenceInterval(
        measure="smooth_calibration_error",
        value=found.value,
        low=found.low,
        high=found.high,
        confidence=groups.confidence,
        half_width=max(found.high - found.value, found.value - found.low),
        method="multiplier",
    )
    return WorstGroup(found.by, found.name, found.rows, interval)
