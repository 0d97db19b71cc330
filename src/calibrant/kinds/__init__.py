"""Kinds of forecasts: probabilities of an event, means, quantiles, expectiles, intervals."""

from calibrant.kinds.expectile import Expectile
from calibrant.kinds.interval import Interval
from calibrant.kinds.kind import (
    BINARY as BINARY,
    LARGEST_TOLERANCE as LARGEST_TOLERANCE,
    TOLERATED_SHARE as TOLERATED_SHARE,
    Binary,
    Kind,
    OfNumbers as OfNumbers,
    OfShares as OfShares,
    require_range as require_range,
    weighted_quantile as weighted_quantile,
)
from calibrant.kinds.mean import Mean
from calibrant.kinds.quantile import Quantile
from calibrant.kinds.reading import (
    ALIASES as ALIASES,
    CONTINUOUS as CONTINUOUS,
    INTERVAL as INTERVAL,
    NAMES as NAMES,
    PLAIN as PLAIN,
    kind_named as kind_named,
    read_kind as read_kind,
)
from calibrant.kinds.scale import UNIT as UNIT, Scale as Scale
from calibrant.kinds.vocabulary import CONFIDENCES as CONFIDENCES, Vocabulary as Vocabulary

__all__ = ["Binary", "Expectile", "Interval", "Kind", "Mean", "Quantile"]
