"""What there is to know about a measure without running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from calibrant._base.arrays import Floats
from calibrant._base.public import public
from calibrant.joint import Joint

Domain = Literal["joint", "rows", "classes", "groups"]
DOMAINS: dict[Domain, str] = {
    "joint": "predictions and outcomes alone",
    "rows": "rows that are known apart",
    "classes": "the probabilities of more than two classes",
    "groups": "rows and the groups they belong to",
}
"""What a measure can be a function of."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A measure of many samples at once: of residual masses on the levels of one Joint."""

    function: Callable[..., Floats]
    options: tuple[str, ...] = ()
    """Options of the measure that it takes as well."""
    one_by_one: tuple[str, ...] = ()
    """Options of the measure with which samples can only be measured one by one."""

    def __call__(self, joint: Joint, residual_masses: Floats, **options: Any) -> Floats:
        """Measure every row of residual masses."""
        return self.function(joint, residual_masses, **options)


def _first(**_: Any) -> int:
    return 1


@dataclass(frozen=True, slots=True)
class Measure:
    """The entry of a measure; its flags are the exceptions that the laws make for it."""

    name: str
    """Its public name below `calibrant`: the function is looked up when it is asked for."""
    asks: str
    """The question it answers, in plain words."""
    flaw: str
    """What a user must know before trusting it."""
    source: str
    """Where it is defined: a place of the survey, or a paper."""
    decisions: str
    """What a small value promises a decision maker."""
    cost: str
    """Growth of the time with the number of rows."""
    domain: Domain = "joint"
    """What it is a function of, as `DOMAINS` says."""
    requires: tuple[str, ...] = ()
    """Options without which it means nothing."""
    modulus: Callable[[float], float] | None = None
    """How far it can move when predictions move by that much on average (of classes: when the
    changes of a row add up to that much); None if it can jump, or if nothing is known."""
    faithful: bool = False
    """Whether it is zero only for calibrated predictions."""
    symmetric: bool = False
    """Whether swapping outcomes (y to 1 - y, p to 1 - p) leaves it unchanged; of classes, whether
    their order does not matter."""
    multiclass: str = ""
    """The entry for many classes at once; all measures of a Joint work class by class."""
    truthful: tuple[str, ...] | None = None
    """Flags with which nobody lowers its expected value by forecasting anything but the chances of
    the outcomes; () if it is so by default, None if it never is."""
    interval: bool = False
    """Whether a confidence interval is offered, from random multipliers of the residuals."""
    interval_if: str = ""
    """Where `interval` is false: the case in which an interval is offered by another method."""
    range: tuple[float, float] = (0.0, 1.0)
    """Smallest and largest possible value."""
    alone: Callable[[float], float] = float
    """Its value when everybody was forecast the same, and nothing happened."""
    floor: Callable[[float], float] = float
    """Its least value, if faithful, when a test of slope one finds so large a bias."""
    audited: bool = False
    """Whether an audit reports it; not where its default repeats another or says little."""
    power: Callable[..., int] = _first
    """Of its options: the power of a norm of residuals that it is; intervals work on the norm."""
    each_level: bool = False
    """Whether it sees every level apart, so that no cells, however small, can stand for them."""
    known_floor: Callable[..., float | None] | None = None
    """Of a Joint and its options: its mean for perfect forecasts, where that has a formula."""
    other_names: tuple[str, ...] = ()
    """Further public functions that measure the same by default; inference takes these names too.
    """
    residuals: bool = False
    """Whether it needs nothing of outcomes but the residuals of each level: then it measures
    forecasts of means, quantiles, expectiles and intervals as well."""
    batch: Batch | None = None
    """What null draws and intervals evaluate; without it they measure draw by draw."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself, imported when it is first asked for."""
        found: Callable[..., Any] = public(self.name)
        return found

    @property
    def continuous(self) -> bool:
        """Whether a small change of the predictions is known to change it little."""
        return self.modulus is not None

    @property
    def title(self) -> str:
        """Name in words."""
        return self.name.rpartition(".")[2].replace("_", " ")
