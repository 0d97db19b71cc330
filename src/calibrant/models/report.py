"""What a calibrated model has to say about its calibrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant._base.notebook import brief, card
from calibrant._base.words import count_text, percent_text
from calibrant.groups import GroupRecalibration
from calibrant.recalibration import Gain, Recalibration, plain_table


@dataclass(frozen=True, kw_only=True)
class ModelReport:
    """What was chosen for a model, and what it gains on rows that had no part in it."""

    calibrator: str
    """Name of the calibrator; "identity" means: the model is left alone."""
    unchanged: bool
    """Whether the model is left as it is."""
    gain: Gain
    """Score that the calibrator saves for a row, with its interval. It is evaluated on rows that
    were used neither to fit model and calibrator nor to choose; with patches for groups, what
    these save. The interval is about new rows like these and models fitted to the share
    `taught`: with `ensemble=True` these are the models that are kept. One model of all rows is
    another model, and gains less where more rows cure what the calibrator corrects: of it nothing
    is promised."""
    score: str
    """Name of the score."""
    confidence: float
    """Confidence of the interval."""
    rows: int
    """Rows whose forecasts the calibrator was judged on."""
    folds: int
    """Models that forecast them, none of which had seen them; 0 if the model came fitted."""
    taught: float
    """Share of the rows that each of these models learned from, on average; 0 if there is none."""
    table: dict[str, list[Any]]
    """All calibrators that were tried, as in a `Recalibration`."""
    sentence: str
    """The same in words."""

    @classmethod
    def of(
        cls,
        choice: Recalibration | GroupRecalibration,
        rows: int,
        folds: int,
        taught: float,
        *,
        kept: bool,
    ) -> ModelReport:
        """Report a choice between forecasts of some models, and whether these are kept."""
        counted = count_text(rows, "row")
        if folds:
            by = (
                f"Judged on {counted}, each forecast by a model that had not seen it and had "
                f"learned from {percent_text(taught)} of the rows"
            )
            by += "." if kept or choice.unchanged else "; the model of all rows may gain less."
        else:
            by = f"Judged on the {counted} given, which must be new to the model."
        return cls(
            calibrator=choice.calibrator.label,
            unchanged=choice.unchanged,
            gain=choice.gain,
            score=choice.score,
            confidence=choice.confidence,
            rows=rows,
            folds=folds,
            taught=taught,
            table=choice.table,
            sentence=f"{choice.sentence} {by}",
        )

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        return card(self.sentence)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "calibrator": self.calibrator,
            "unchanged": self.unchanged,
            "gain": self.gain.as_dict(),
            "score": self.score,
            "confidence": self.confidence,
            "rows": self.rows,
            "folds": self.folds,
            "taught": self.taught,
            "table": plain_table(self.table),
            "sentence": self.sentence,
        }
