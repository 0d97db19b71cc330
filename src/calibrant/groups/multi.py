"""Multi-accuracy, multicalibration and what lies between, for a class of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from calibrant._base.arrays import Floats
from calibrant._base.options import (
    MOST_BINS,
    check_degree,
    check_flag,
    refuse_unknown,
    shown,
    whole,
)
from calibrant._base.words import count_text, forecast_and_rate
from calibrant.data.groupings import columns_of, label_of, partitions
from calibrant.data.input import read_column, refuse_other_labels
from calibrant.errors import InvalidOptionError
from calibrant.groups.indistinguishability import shares
from calibrant.groups.witnesses import GroupWitness
from calibrant.joint import Joint, Rows
from calibrant.measures.measurement import Measurement
from calibrant.measures.regions import region_sentence
from calibrant.measures.witness import SeriesWitness, StepWitness, Witness

NORMS = ("l1", "sup")


@dataclass(frozen=True, slots=True)
class GroupTests:
    """Rows, and the groups and functions that tests may use."""

    rows: Rows
    share: Floats
    """Weight of each row, one in all."""
    groups: dict[str, npt.NDArray[np.intp]]
    """Rows of each group."""
    functions: dict[str, Floats]
    """Functions of the features, in [-1, 1]."""

    @classmethod
    def read(
        cls,
        y_true: object,
        y_proba: object,
        by: object,
        functions: Mapping[str, object] | None,
        sample_weight: object,
        pos_label: object,
        *,
        pairs: bool,
    ) -> GroupTests:
        """Let rows through the gate and divide them."""
        check_flag("pairs", pairs)
        if functions is not None and not isinstance(functions, Mapping):
            raise InvalidOptionError(
                "functions must calibrator names to functions", shown(functions)
            )
        refuse_other_labels(
            y_true=y_true, y_proba=y_proba, by=by, functions=functions, sample_weight=sample_weight
        )
        rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
        size = rows.prediction.size
        groups: dict[str, npt.NDArray[np.intp]] = {"all rows": np.arange(size)}
        if by is not None:
            for part in partitions(columns_of(by), size, pairs=pairs, weight=rows.weight):
                order = np.argsort(part.codes, kind="stable")
                found, first = np.unique(part.codes[order], return_index=True)
                for code, members in zip(found, np.split(order, first[1:]), strict=True):
                    name = label_of(part.by, part.name(int(code)))
                    # Values that look alike, such as 1 and "1", are groups of their own.
                    groups[f"{name} ({code})" if name in groups else name] = members
        named = {name: _function(f, name, size) for name, f in (functions or {}).items()}
        return cls(rows, shares(rows), groups, named)

    @property
    def residual_mass(self) -> Floats:
        """Share times residual of each row."""
        return self.share * (self.rows.outcome - self.rows.prediction)

    def tests(self) -> Iterator[tuple[str, npt.NDArray[np.intp] | slice, Floats | float]]:
        """Name, rows and value of every function of the features that tests may use."""
        for name, members in self.groups.items():
            yield name, members, 1.0
        for name, values in self.functions.items():
            yield name, slice(None), values

    def witness(self, name: str, test: Callable[[Joint], Witness]) -> GroupWitness:
        """Describe the best test, given the rows of its group."""
        members = self.groups.get(name)
        joint = Joint.from_rows(self.rows if members is None else self.rows.where(members))
        share = 1.0 if members is None else float(self.share[members].sum())
        weight = test(joint)
        if members is None:
            sentence = f"rows weighed by {name}: residual and weight go together"
        else:
            sentence = f"{name}: {weight.sentence}"
        return GroupWitness(name, share, weight, sentence)


def multiaccuracy_error(
    y_true: object,
    y_proba: object,
    by: object = None,
    *,
    functions: Mapping[str, object] | None = None,
    pairs: bool = False,
    sample_weight: object = None,
    pos_label: object = None,
) -> Measurement:
    r"""Largest bias of any group: what tests that ignore the prediction can find.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    by : mapping of str to array-like, frame, or array, optional
        Columns that group the rows; numbers of many values are cut at quantiles. All rows
        together always count as a group.
    functions : mapping of str to array-like of shape (n,), optional
        Further functions of the features, with values in [-1, 1].
    pairs : bool, default=False
        Whether groups of two columns count as well.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    Measurement
        In [0, 1]; the witness names the group.

    Notes
    -----
    :math:`\max_c |E[c(x)(y - p)]|`. A group counts with its share of the rows, so that a small
    group must be far off to be noticed. Known flaw: blind to errors that cancel within a group;
    and the largest of many groups is never 0 on a sample: `audit_groups` says what is chance.

    References
    ----------
    Hebert-Johnson, Kim, Reingold, Rothblum (2018), Multicalibration, ICML. Kim, Ghorbani, Zou
    (2019), Multiaccuracy, AIES.

    Examples
    --------
    >>> night = {"night": [True, True, False, False]}
    >>> print(multiaccuracy_error([1, 1, 0, 1], [0.5, 0.5, 0.6, 0.6], night))
    multiaccuracy error 0.25 (groups 3): night yes: mean forecast 0.50, observed rate 1 (2
    rows)
    """
    tests = GroupTests.read(y_true, y_proba, by, functions, sample_weight, pos_label, pairs=pairs)
    residual_mass = tests.residual_mass
    biases = {name: float(np.sum(residual_mass[rows] * c)) for name, rows, c in tests.tests()}
    name = max(biases, key=lambda key: abs(biases[key]))
    return Measurement(
        abs(biases[name]),
        "multiaccuracy_error",
        {"groups": len(biases)},
        partial(tests.witness, name, partial(_constant, np.sign(biases[name]))),
    )


def low_degree_multicalibration_error(
    y_true: object,
    y_proba: object,
    by: object = None,
    *,
    degree: int = 1,
    functions: Mapping[str, object] | None = None,
    pairs: bool = False,
    sample_weight: object = None,
    pos_label: object = None,
) -> Measurement:
    r"""Largest bias of any group, with weights that are powers of the prediction.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    by : mapping of str to array-like, frame, or array, optional
        Columns that group the rows, as in `multiaccuracy_error`.
    degree : int, default=1
        Largest power of the prediction; 0 is multi-accuracy. At most 32.
    functions : mapping of str to array-like of shape (n,), optional
        Further functions of the features, with values in [-1, 1].
    pairs : bool, default=False
        Whether groups of two columns count as well.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    Measurement
        In [0, 1], non-decreasing in `degree`; the witness names group and power.

    Notes
    -----
    :math:`\max_{c, j \le d} |E[c(x)\,p^j (y - p)]|`. Known flaw: a test of degree d cannot see
    errors inside a group that change sign often along the prediction.

    References
    ----------
    Gopalan, Kim, Singhal, Zhao (2022), Low-degree multicalibration, COLT.

    Examples
    --------
    >>> low_degree_multicalibration_error(
    ...     [1, 1, 0, 1], [0.5] * 4, {"night": [True, True, False, False]}
    ... )
    0.25
    """
    degree = check_degree(degree)
    tests = GroupTests.read(y_true, y_proba, by, functions, sample_weight, pos_label, pairs=pairs)
    powers = np.vander(tests.rows.prediction, degree + 1, increasing=True)
    powers *= tests.residual_mass[:, np.newaxis]
    moments = {
        name: powers[rows].sum(axis=0) if isinstance(c, float) else c @ powers
        for name, rows, c in tests.tests()
    }
    name = max(moments, key=lambda key: np.abs(moments[key]).max())
    power = int(np.argmax(np.abs(moments[name])))
    coefficient = np.zeros(degree + 1)
    coefficient[power] = np.sign(moments[name][power])
    return Measurement(
        abs(float(moments[name][power])),
        "low_degree_multicalibration_error",
        {"degree": degree, "groups": len(moments)},
        partial(
            tests.witness,
            name,
            partial(SeriesWitness.describe, coefficient=coefficient, basis="powers"),
        ),
    )


def multicalibration_error(
    y_true: object,
    y_proba: object,
    by: object = None,
    *,
    n_bins: int | None = 10,
    norm: str = "l1",
    functions: Mapping[str, object] | None = None,
    pairs: bool = False,
    sample_weight: object = None,
    pos_label: object = None,
) -> Measurement:
    r"""Largest bias of any group, with weights that may depend on the prediction at will.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_proba : array-like of shape (n,) or (n, 2)
        Predicted probabilities of outcome 1.
    by : mapping of str to array-like, frame, or array, optional
        Columns that group the rows, as in `multiaccuracy_error`.
    n_bins : int or None, default=10
        Cells of equal width; None for exact predictions, which is of use if they repeat.
        At most 2**20.
    norm : {"l1", "sup"}, default="l1"
        Add up absolute biases over the cells of a group, or take the largest.
    functions : mapping of str to array-like of shape (n,), optional
        Further functions of the features, with values in [-1, 1].
    pairs : bool, default=False
        Whether groups of two columns count as well.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : object, optional
        The label that counts as outcome 1.

    Returns
    -------
    Measurement
        In [0, 1]; the witness names the group and its cells.

    Notes
    -----
    :math:`\max_c \sum_v |E[c(x) 1(p \in v)(y - p)]|`, or the largest term. For all rows together
    the sum is the expected calibration error in bins, so it inherits the flaws of bins: it
    depends on their number, jumps, and is far from 0 on small samples. `audit_groups` judges
    groups without bins.

    References
    ----------
    Hebert-Johnson, Kim, Reingold, Rothblum (2018), Multicalibration, ICML. Gopalan, Kalai,
    Reingold, Sharan, Wieder (2022), Omnipredictors, ITCS.

    Examples
    --------
    >>> multicalibration_error([1, 0, 0, 1], [0.2, 0.2, 0.6, 0.6], {"a": [1, 0, 1, 0]})
    0.3
    """
    refuse_unknown("norm", norm, NORMS)
    if n_bins is not None:
        n_bins = whole("n_bins", n_bins, 1, MOST_BINS)
    tests = GroupTests.read(y_true, y_proba, by, functions, sample_weight, pos_label, pairs=pairs)
    p = tests.rows.prediction
    if n_bins is None:
        low, cell = np.unique(p, return_inverse=True)
        high = low
    else:
        low = np.arange(n_bins) / n_bins
        cell = np.searchsorted(low[1:], p, side="right")
        high = np.append(np.nextafter(low[1:], 0), 1.0)
    residual_mass = tests.residual_mass
    biases = {
        name: np.bincount(cell[rows], residual_mass[rows] * c, low.size)
        for name, rows, c in tests.tests()
    }
    add_up = np.sum if norm == "l1" else np.max
    values = {name: float(add_up(np.abs(bias))) for name, bias in biases.items()}
    name = max(values, key=lambda key: values[key])
    sign = np.sign(biases[name])
    if norm == "sup":
        sign[np.arange(sign.size) != np.argmax(np.abs(biases[name]))] = 0.0
    return Measurement(
        values[name],
        "multicalibration_error",
        {"n_bins": n_bins, "norm": norm, "groups": len(values)},
        partial(tests.witness, name, partial(_step, low, high, sign)),
    )


def _function(values: object, name: str, size: int) -> Floats:
    found = np.asarray(read_column(values, name, size), dtype=np.float64)
    if not (np.abs(found) <= 1).all():
        raise InvalidOptionError(
            "functions of the features must lie in [-1, 1]", f"{name} does not", "scale it"
        )
    return found


def _constant(sign: float, joint: Joint) -> Witness:
    return StepWitness(
        np.array([0.0]),
        np.array([1.0]),
        np.array([sign]),
        f"{forecast_and_rate(joint.mean_prediction, joint.base_rate)} "
        f"({count_text(joint.row_count, 'row')})",
    )


def _step(low: Floats, high: Floats, sign: Floats, joint: Joint) -> Witness:
    at_levels = StepWitness(low, high, sign, "")(joint.prediction)
    return StepWitness(low, high, sign, region_sentence(joint, at_levels))
