"""Forecasters to compare with: they promise nothing."""

from __future__ import annotations

from calibrant._base.options import check_within
from calibrant.online.distribution import Distribution, certain
from calibrant.online.forecaster import Forecaster


class ConstantForecaster(Forecaster):
    """Say the same every time.

    Promises nothing: against outcomes of another frequency its error grows by a constant each
    round.

    Parameters
    ----------
    prediction : float, default=0.5
        What to say.

    Examples
    --------
    >>> ConstantForecaster(0.3).predict()
    0.3
    """

    def __init__(self, prediction: float = 0.5) -> None:
        check_within("prediction", prediction)
        super().__init__({"prediction": float(prediction)})
        self._prediction = float(prediction)

    def _announce(self) -> Distribution:
        return certain(self._prediction)

    def _learn(self, prediction: float, outcome: int) -> None:
        pass


class RunningMeanForecaster(Forecaster):
    """Say the frequency of outcome 1 so far, 1/2 at first.

    Calibrated in the limit for independent coins of one bias, and within 1 + ln(T) of the least
    sum of squared errors that a constant has in hindsight, on every sequence (Foster and Hart
    2023, "Calibeating": beating forecasters at their own game). No calibration is promised:
    nature can make it say 1/2 and answer one-sidedly.

    Examples
    --------
    >>> forecaster = RunningMeanForecaster()
    >>> for outcome in [1, 1, 0]:
    ...     _ = forecaster.predict()
    ...     forecaster.update(outcome)
    >>> forecaster.predict()
    0.6666666666666666
    """

    _stored = ("_positives",)

    def __init__(self) -> None:
        super().__init__({})
        self._positives = 0

    def _announce(self) -> Distribution:
        return certain(self._positives / self.rounds if self.rounds else 0.5)

    def _learn(self, prediction: float, outcome: int) -> None:
        del prediction
        self._positives += outcome
