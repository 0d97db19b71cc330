"""What a pass over a frame computes for each row, as expressions that every engine understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import narwhals.stable.v2 as nw

from calibrant.data.columns import Columns
from calibrant.data.rows import CLIP_FLOAT32, CLIP_FLOAT64
from calibrant.joint.engine.tally import Apart

# Whole numbers that every engine can round.
MOST_COUNT = 2.0**62

Case = tuple[nw.Expr, Apart]
Schema = Mapping[str, nw.dtypes.DType]


@dataclass(frozen=True, slots=True)
class Terms:
    """Expressions for one row of a frame."""

    prediction: nw.Expr
    positives: nw.Expr
    """Weight with outcome 1, of a weight of one unless there is `weight`."""
    weight: nw.Expr | None
    counted: bool
    """Whether the weight counts rows, rather than weighing one."""
    between: nw.Expr | None
    """Positive for a mean outcome; None where there can be none."""
    sound: nw.Expr
    """Whether nothing is wrong and the row has weight."""
    cases: tuple[Case, ...]
    """What may be wrong otherwise, in the order in which it is told."""

    def key(self, resolution: int | None) -> nw.Expr:
        """Name the cell, or the prediction itself; for other rows what is wrong.

        A cell's name is a whole number, because Spark groups by doubles at half the speed.
        """
        apart = nw.lit(float(Apart.ABOVE))
        for condition, wrong in reversed(self.cases):
            apart = nw.when(condition).then(nw.lit(float(wrong))).otherwise(apart)
        key = nw.when(self.sound).then(self.cell(resolution)).otherwise(apart)
        return key if resolution is None else key.cast(nw.Int64)

    def cell(self, resolution: int | None) -> nw.Expr:
        """Count cells from zero, closed on the left; 1 is in one of its own."""
        if resolution is None:
            return self.prediction
        # Spark has no floor of infinity, which is refused later.
        return (self.prediction.clip(-1.0, 2.0) * resolution).floor()

    def distance(self, resolution: int | None) -> nw.Expr:
        """How far a prediction lies from the start of its cell, which is exact in doubles."""
        if resolution is None:
            return self.prediction * 0.0
        return self.prediction - self.cell(resolution) * (1.0 / resolution)


def terms_of(columns: Columns, schema: Schema) -> Terms:
    """Write down what the columns mean."""
    return _of_rows(columns, schema) if columns.count is None else _of_aggregates(columns, schema)


def _of_rows(columns: Columns, schema: Schema) -> Terms:
    prediction = _number(str(columns.prediction))
    outcome = _number(str(columns.outcome))
    between = None
    kind = schema[str(columns.outcome)]
    if kind.is_float() or kind == nw.Decimal:
        between = outcome * (1 - outcome)
    cases: list[Case] = [
        (_missing(outcome), Apart.NO_OUTCOME),
        (_missing(prediction), Apart.NO_PREDICTION),
    ]
    weight = None
    sound = _inside(prediction) & _inside(outcome)
    if columns.weight is not None:
        weight = _number(columns.weight)
        sound = sound & (weight > 0) & weight.is_finite()
        cases += [
            (_missing(weight), Apart.NO_WEIGHT),
            (~weight.is_finite() | (weight < 0), Apart.BAD_WEIGHT),
        ]
    cases += [
        ((outcome < 0) | (outcome > 1), Apart.BAD_OUTCOME),
        _outside(prediction, _clip(schema, columns)),
    ]
    if weight is not None:
        cases.append((weight == 0, Apart.WEIGHTLESS))
    cases.append((prediction < 0, Apart.BELOW))
    positives = outcome if weight is None else weight * outcome
    return Terms(prediction, positives, weight, False, between, sound, tuple(cases))


def _of_aggregates(columns: Columns, schema: Schema) -> Terms:
    count, positives = _number(str(columns.count)), _number(str(columns.positives))
    prediction = _number(columns.predicted)
    if columns.prediction_sum is not None:
        prediction = nw.when(count > 0).then(prediction / count).otherwise(nw.lit(0.0))
    whole, possible = (
        number.clip(-MOST_COUNT, MOST_COUNT).floor() == number for number in (count, positives)
    )
    possible = (positives >= 0) & (positives <= count) & possible
    cases = (
        (_missing(count), Apart.NO_WEIGHT),
        (~whole | (count < 0), Apart.BAD_WEIGHT),
        (count == 0, Apart.WEIGHTLESS),
        (_missing(positives), Apart.NO_OUTCOME),
        (_missing(prediction), Apart.NO_PREDICTION),
        (~possible, Apart.BAD_OUTCOME),
        _outside(prediction, _clip(schema, columns)),
        (prediction < 0, Apart.BELOW),
    )
    sound = _inside(prediction) & possible & whole & (count > 0)
    return Terms(prediction, positives, count, True, None, sound, cases)


def _number(name: str) -> nw.Expr:
    return nw.col(name).cast(nw.Float64)


def _missing(number: nw.Expr) -> nw.Expr:
    return number.is_null() | number.is_nan()


def _inside(number: nw.Expr) -> nw.Expr:
    return (number >= 0) & (number <= 1)


def _outside(prediction: nw.Expr, clip: float) -> Case:
    return (prediction < -clip) | (prediction > 1 + clip), Apart.OUTSIDE


def _clip(schema: Schema, columns: Columns) -> float:
    """Return how far outside [0, 1] is still a rounding error of the type of the predictions."""
    return CLIP_FLOAT32 if schema[columns.predicted] == nw.Float32 else CLIP_FLOAT64
