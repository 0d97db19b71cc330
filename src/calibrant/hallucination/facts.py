"""How much of what is said has not been seen: facts that occur once."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calibrant._base.options import check_share, refuse_unknown
from calibrant._base.words import count_text
from calibrant.data.input import read_column, read_numbers
from calibrant.errors import InvalidForecastsError, InvalidOptionError

METHODS = ("worst-case", "normal")


@dataclass(frozen=True, slots=True)
class MonofactRate:
    """Share of documents whose fact no other document has, with an interval for the mass unseen."""

    value: float
    """Facts seen once, divided by documents: Good and Turing's estimate of the missing mass."""
    low: float
    """Lower end of the interval for the missing mass."""
    high: float
    """Upper end."""
    confidence: float
    documents: int
    facts: int
    """Different facts."""
    occurring: dict[int, int]
    """How many facts occur once, twice, ..."""
    method: str = "worst-case"
    """How the interval was made: "worst-case" or "normal"."""

    @property
    def missing_mass(self) -> float:
        """Estimated chance that the fact of the next document is a new one."""
        return self.value

    def mass(self, count: int) -> float:
        """Estimate the mass of all facts that occur so often, by Good and Turing.

        (count + 1) times the number of facts that occur once more, divided by documents.
        """
        return (count + 1) * self.occurring.get(count + 1, 0) / self.documents

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        known = count_text(self.documents, "document")
        approximate = " (normal approximation)" if self.method == "normal" else ""
        return (
            f"{100 * self.value:.3g} % of {known} have a fact that no other has; with "
            f"{100 * self.confidence:g} % confidence{approximate} the facts unseen have a mass of "
            f"{100 * self.low:.3g} % to {100 * self.high:.3g} %"
        )

    def margins(self, failure: float) -> tuple[float, float]:
        """Margins below and above the rate, each missed by the missing mass with chance `failure`.

        By the method of the rate: at most with this chance, or about with it.
        """
        n = self.documents
        if self.method == "normal":
            from scipy.special import ndtri

            z, once = -float(ndtri(failure)), self.occurring.get(1, 0)
            twice = self.occurring.get(2, 0)
            half = z * math.sqrt(once * (1 - once / n) + 2 * twice + z**2)
            return (half + z**2) / n, half / n
        size = math.log(2 / failure) / n
        below = 1 / n + (1 + math.exp(-0.5)) * math.sqrt(2 * size)
        return below, (1 + math.sqrt(2)) * math.sqrt(size)


def monofact_rate(
    facts: object = None,
    *,
    counts: object = None,
    confidence: float = 0.95,
    method: str = "worst-case",
) -> MonofactRate:
    r"""Estimate the mass of facts that were not seen, from those that were seen once.

    Parameters
    ----------
    facts : array-like of shape (n,)
        The fact of each document, in any form that can be compared: text, numbers.
    counts : array-like of shape (k,), optional
        How often each different fact occurs, instead of the facts.
    confidence : float, default=0.95
        Chance with which the interval holds. At least 0.5 for the normal interval.
    method : {"worst-case", "normal"}, default="worst-case"
        "worst-case" holds for every distribution of facts and every number of documents. "normal"
        is Esty's approximation, twice as narrow for 60 documents and at least three times for 1600
        or more; `hallucination_bound` then uses it, too.

    Returns
    -------
    MonofactRate

    Notes
    -----
    Assumes that documents are independent draws, one fact each; copies of a document make facts
    look known. With :math:`M` the missing mass of n documents and :math:`N_1/n` the rate,
    :math:`0 \le E N_1/n - E M \le 1/n`. One document changes :math:`N_1` by at most 2, so
    :math:`N_1/n` exceeds its mean, or falls short of it, by :math:`t` with chance at most
    :math:`e^{-n t^2/2}` (McDiarmid). Whether facts are unseen is negatively associated, and from
    :math:`e^{-x} \le 1 - x + x^2/2` and :math:`p e^{-np} \le 1/(en)` the missing mass falls short
    of its mean by t with chance at most :math:`e^{-e n t^2/2}`; it exceeds it with chance at most
    :math:`e^{-n t^2}` (McAllester, Ortiz 2003). With :math:`d` = 1 - confidence, four events of
    chance d/4 give the ends
    :math:`N_1/n - 1/n - (1 + e^{-1/2}) \sqrt{2 \ln(4/d)/n}` and
    :math:`N_1/n + (1 + \sqrt 2) \sqrt{\ln(4/d)/n}`. They hold for every distribution and are wide.

    The normal interval is :math:`N_1/n \pm z \sqrt{N_1 (1 - N_1/n) + 2 N_2 + z^2} / n`, where
    :math:`N_2` facts were seen twice (Esty 1983; the z^2 in the root is for few of them), and its
    lower end is lowered by z^2/n: where nearly every document has a fact of its own, repeats are
    few and skewed, and without that the interval missed the missing mass in up to 9 % of samples
    and one side of 95 % in up to 20 %. It is an approximation with simulated coverage. At 95 %,
    over 9 laws and sizes of 5 to 20 000 documents, it missed at most 5.3 % of the time, its
    one-sided lower end at most 5.3 %. It fails where nearly all of many equally frequent facts have
    been seen: the mass of the last one unseen is then above the upper end (6.6 % missed for 200
    facts in 1600 documents, 1.7 % instead of 1 % at 99 %; up to 10 % instead of 5 % where a fact
    occurs 16 times on average). That mass is of order 1/n. Like the other interval it fails where
    documents are copies of each other.

    References
    ----------
    Good (1953), The population frequencies of species, Biometrika 40. Esty (1983), A normal limit
    law for a nonparametric estimator of the coverage of a random sample, Annals of Statistics 11.
    McAllester, Ortiz (2003), Concentration inequalities for the missing mass, JMLR 4. Kalai,
    Vempala (2024), Calibrated language models must hallucinate, STOC.

    Examples
    --------
    >>> rate = monofact_rate(["Ada 10 Dec", "Alan 23 Jun", "Ada 10 Dec", "Grace 9 Dec"])
    >>> rate.value, rate.facts
    (0.5, 3)
    >>> monofact_rate(counts=[2, 1, 1]).value
    0.5
    >>> rate.mass(1)
    0.5

    Both intervals of 10 000 documents:

    >>> counts = [1] * 2300 + [2] * 900 + [59] * 100
    >>> for method in ("worst-case", "normal"):
    ...     rate = monofact_rate(counts=counts, method=method)
    ...     print(f"{rate.low:.3f} to {rate.high:.3f}")
    0.182 to 0.281
    0.218 to 0.242
    """
    check_share("confidence", confidence)
    refuse_unknown("method", method, METHODS)
    if method == "normal" and confidence < 0.5:
        raise InvalidOptionError(
            "confidence must be at least 0.5 for the normal interval", f"{confidence:g}"
        )
    each = _counts(facts, counts)
    documents = int(each.sum())
    once = int((each == 1).sum())
    often = Counter(each.tolist())
    occurring = {int(count): often[count] for count in sorted(often)}
    rate = once / documents
    found = MonofactRate(rate, 0.0, 1.0, confidence, documents, each.size, occurring, method)
    below, above = found.margins((1 - confidence) / 2)
    return replace(found, low=max(0.0, rate - below), high=min(1.0, rate + above))


def _counts(facts: object, counts: object) -> npt.NDArray[np.int64]:
    """How often each different fact occurs."""
    if (facts is None) == (counts is None):
        raise InvalidOptionError("give facts or counts", "both" if facts is not None else "neither")
    if counts is not None:
        numbers = read_numbers(counts, "counts")
        if not ((numbers >= 0) & (numbers % 1 == 0) & (numbers < 2**53)).all():
            raise InvalidForecastsError("counts must be whole numbers of at least 0", "others")
        each = numbers[numbers > 0].astype(np.int64)
    else:
        column = read_column(facts, "facts").tolist()
        if any(fact is None or fact != fact for fact in column):  # noqa: PLR0124  # NaN
            raise InvalidForecastsError(
                "every document must have a fact", "missing ones", "drop documents without one"
            )
        each = np.array(list(Counter(column).values()), dtype=np.int64)
    if not each.size:
        raise InvalidForecastsError("there must be at least one document", "none")
    return each
