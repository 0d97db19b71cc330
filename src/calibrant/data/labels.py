"""Which labels mean outcome 1, which mean 0, and which mean that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibrant.errors import InvalidForecastsError, InvalidOptionError

# Words for an outcome that is not known: never a 0 because they are not the positive label.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "pending", "unknown", "missing"})
TRUTHS = {"true": 1.0, "false": 0.0}
# Without superfluous zeros: "007" is a name.
NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)(e[+-]?\d+)?")
MOST_SHOWN = 4
# Nobody's two outcomes have more names than this.
MOST_LABELS = 2**16


@dataclass(frozen=True, slots=True)
class Labels:
    """What the caller says that labels mean."""

    positive: object = None
    negative: tuple[object, ...] = ()
    missing: tuple[object, ...] = ()

    @classmethod
    def of(
        cls, pos_label: object = None, neg_label: object = None, na_label: object = None
    ) -> Labels:
        """Take one label or several for the negatives and for those that mean missing."""
        labels = cls(pos_label, _several(neg_label), _several(na_label))
        if labels.negative and pos_label is None:
            raise InvalidOptionError(
                "@neg_label needs @pos_label", f"{shown(labels.negative)} alone"
            )
        return labels

    def meanings(self, counts: Mapping[Any, int], column: str, *, strict: bool) -> LabelMeanings:
        """Decide what each label that was found means.

        Parameters
        ----------
        counts : mapping of label to int
            The labels that were found, and how many rows have each.
        column : str
            Where they were found.
        strict : bool
            Whether more than two labels are refused unless the negatives are named: files may hold
            labels that nobody thought of, while the caller with an array wants one against all.
        """
        if len(counts) >= MOST_LABELS:
            raise InvalidForecastsError(
                f"{column} must hold labels of outcomes", f"{len(counts)} different values or more"
            )
        found = sorted((label for label in counts if label is not None), key=str)
        missing = [label for label in found if _among(label, self.missing)]
        ones = [label for label in found if _same(label, self.positive)]
        zeros = [label for label in found if _among(label, self.negative)]
        self._refuse_two_meanings(ones, zeros, missing)
        if self.positive is None:
            return LabelMeanings({}, {}, {label: counts[label] for label in missing})
        rest = [label for label in found if label not in [*ones, *zeros, *missing]]
        if not ones and len(found) > len(missing) + 1:
            raise InvalidForecastsError(
                f"@pos_label {plain(self.positive)!r} must be one of the labels in {column}",
                f"labels {shown(found)}",
            )
        _refuse_words(rest, counts, column)
        named = bool(self.negative)
        if rest and (named or (strict and len({_value(label) for label in rest}) > 1)):
            raise InvalidForecastsError(
                f"each label in {column} must mean 1, 0 or missing",
                f"{shown(rest)} beside {plain(self.positive)!r} for 1"
                + (f" and {shown(self.negative)} for 0" if named else ""),
                "name the labels that mean 0 with @neg_label, and those that mean missing with "
                "@na_label",
            )
        return LabelMeanings(
            *({label: counts[label] for label in part} for part in (ones, zeros + rest, missing))
        )

    def _refuse_two_meanings(self, *parts: Sequence[object]) -> None:
        named = [label for part in parts for label in part]
        twice = [label for label in named if named.count(label) > 1]
        if twice:
            raise InvalidOptionError(
                "a label must mean one of 1 (@pos_label), 0 (@neg_label) and missing (@na_label)",
                shown(twice[:1]) + " twice",
            )


@dataclass(frozen=True, slots=True)
class LabelMeanings:
    """Labels by what they mean, with their numbers of rows."""

    ones: dict[Any, int]
    zeros: dict[Any, int]
    missing: dict[Any, int]

    @property
    def sentence(self) -> str:
        """Say what became of each label."""
        parts = {"1": self.ones, "0": self.zeros, "missing": self.missing}
        return "; ".join(
            f"{shown(list(labels))} counted as {meaning} ({_rows(sum(labels.values()))})"
            for meaning, labels in parts.items()
            if labels
        )

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return plain data for JSON."""
        parts = {"1": self.ones, "0": self.zeros, "missing": self.missing}
        return {
            meaning: {str(label): count for label, count in labels.items()}
            for meaning, labels in parts.items()
        }


def refuse_missing_words(counts: Mapping[Any, int], column: str, meant: object) -> None:
    """Refuse words for what is not known, unless they are the label that is meant."""
    _refuse_words([label for label in counts if not _same(label, meant)], counts, column)


def plain(label: object) -> object:
    """Return a label as Python would write it, without the name of numpy's type."""
    item = getattr(label, "item", None)
    return item() if callable(item) and type(label).__module__ == "numpy" else label


def number_of(label: object) -> float | None:
    """Return the number that a label is, however it is written; None if it is a word."""
    value = _value(label)
    return float(value) if isinstance(value, int | float) else None


def _refuse_words(rest: Sequence[Any], counts: Mapping[Any, int], column: str) -> None:
    words = [
        label for label in rest if isinstance(label, str) and label.strip().lower() in MISSING_WORDS
    ]
    if words:
        raise InvalidForecastsError(
            f"{column} must not hold words for missing outcomes",
            f"{shown(words)} in {_rows(sum(counts[word] for word in words))}",
            "an unresolved outcome is not a 0: leave those rows out, or declare such words missing "
            "with @na_label",
        )


def _several(labels: object) -> tuple[object, ...]:
    if labels is None:
        return ()
    return tuple(labels) if isinstance(labels, list | tuple | set) else (labels,)


def _among(label: object, wanted: Sequence[object]) -> bool:
    return any(_same(label, other) for other in wanted)


def _same(label: object, wanted: object) -> bool:
    """Compare labels by value: 1, "1" and "1.0" are one label, and so are True and "true"."""
    return wanted is not None and bool(_value(label) == _value(wanted))


def _value(label: Any) -> Any:
    label = plain(label)
    if not isinstance(label, str):
        return label
    word = label.strip().lower()
    if word in TRUTHS:
        return TRUTHS[word]
    return float(word) if NUMBER.fullmatch(word) else label


def shown(labels: Sequence[object]) -> str:
    """Write the first of some labels, and how many more there are."""
    first = ", ".join(repr(plain(label)) for label in labels[:MOST_SHOWN])
    return first + (f" and {len(labels) - MOST_SHOWN} more" if len(labels) > MOST_SHOWN else "")


def _rows(count: int) -> str:
    digits = f"{count:,}".replace(",", " ")
    return f"{digits} row" if count == 1 else f"{digits} rows"
