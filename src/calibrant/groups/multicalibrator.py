"""An estimator that makes predictions calibrated for every group at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from calibrant.arrays import Floats
from calibrant.data import canonical_order
from calibrant.data.groupings import Grouping, columns_of, grouped, partitions
from calibrant.data.input import read_column
from calibrant.data.rows import predictions_alone
from calibrant.errors import InvalidOptionError
from calibrant.groups.boosting import Boosted, boost
from calibrant.groups.fits import Fit, briers, fit_of, held_rows
from calibrant.groups.rounds import DividedRows, groupings_of
from calibrant.groups.training import patch_cells, patch_powers
from calibrant.joint import Rows
from calibrant.options import (
    MOST_CELLS,
    as_generator,
    check_degree,
    check_share,
    check_within,
    refuse_unknown,
    whole,
)
from calibrant.repair import GroupMap
from calibrant.repair.estimator import Estimator
from calibrant.repair.parametric import unmoved
from calibrant.repair.patches import Patches, codes_of, unseen

METHODS = ("hkrr", "low_degree", "boosted")


class Multicalibrator(Estimator):
    """Patches that make base predictions calibrated in every group, from scores and columns only.

    Parameters
    ----------
    method : {"hkrr", "low_degree", "boosted"}, default="hkrr"
        "hkrr" moves one cell of predictions of one group at a time; "low_degree" adds powers of
        the prediction to a group; "boosted" lets gradient-boosted trees look for groups in the
        features, which needs scikit-learn.
    tolerance : float, default=0.01
        Bias that is left alone.
    cells : int, default=10
        Cells of the prediction, for "hkrr". At most 2**20.
    min_mass : float, default=0.005
        Cells of groups with a smaller share of the rows are left alone, for "hkrr".
    degree : int, default=1
        Largest power of the prediction, for "low_degree". At most 32.
    pairs : bool, default=False
        Whether groups of two columns count as well.
    held_out : float, default=0.3
        Share of the rows that judge every patch. A patch is kept only if it lowers their mean
        squared error by more than its standard error. They also say how many rounds of trees
        are worth it; that many are then fitted to all rows.
    most : int, default=1000
        Largest number of patches.
    learner : object, optional
        For "boosted": a scikit-learn regressor to use in place of its histogram trees.
    rng : int, default=0
        Seed of the choice of the rows held out.

    Attributes
    ----------
    fit_ : Fit
        What was done, why it stopped, and what it brought on rows held out; not stored.
    sentence_ : str
        The same in words.

    Notes
    -----
    The potential is the mean squared error of the rows fitted to. A patch of "hkrr" lowers it by
    at least share times bias squared, one of "low_degree" by at least the violation squared, so
    that there are at most 1 / (min_mass tolerance^2), or 1 / tolerance^2, of them. Known flaw:
    groups that the columns do not name stay as they are, and cells or groups smaller than what
    the rows can show are left alone.

    References
    ----------
    Hebert-Johnson, Kim, Reingold, Rothblum (2018), Multicalibration, ICML. Gopalan, Kim, Singhal,
    Zhao (2022), Low-degree multicalibration, COLT. Globus-Harris, Harrison, Kearns, Roth,
    Sorrell (2023), Multicalibration as boosting for regression, ICML.

    Examples
    --------
    >>> from calibrant.datasets import flights
    >>> columns = flights()
    >>> by = {"month": columns["month"]}
    >>> patched = Multicalibrator().fit(columns["prediction"], columns["outcome"], by)
    >>> patched.fit_.kept
    True
    """

    fitted_by = "groupings_"
    to_fit = "call fit(y_proba, y_true, by)"
    fit_: Fit
    sentence_: str
    groupings_: tuple[Grouping, ...]
    patches_: Patches
    boosted_: Boosted

    def __init__(
        self,
        method: str = "hkrr",
        *,
        tolerance: float = 0.01,
        cells: int = 10,
        min_mass: float = 0.005,
        degree: int = 1,
        pairs: bool = False,
        held_out: float = 0.3,
        most: int = 1000,
        learner: Any = None,
        rng: int = 0,
    ) -> None:
        self.method = method
        self.tolerance = tolerance
        self.cells = cells
        self.min_mass = min_mass
        self.degree = degree
        self.pairs = pairs
        self.held_out = held_out
        self.most = most
        self.learner = learner
        self.rng = rng

    def fit(
        self,
        y_proba: object,
        y_true: object,
        by: object,
        sample_weight: object = None,
        *,
        pos_label: object = None,
    ) -> Self:
        """Fit patches to base predictions, outcomes and columns.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, 2)
            Base probabilities of outcome 1.
        y_true : array-like of shape (n,)
            Outcomes.
        by : mapping of str to array-like, frame, or array of shape (n, k)
            Columns that group the rows, or features for "boosted".
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        pos_label : object, optional
            The label that counts as outcome 1.

        Returns
        -------
        The estimator itself.
        """
        self._check()
        rows = Rows.read(y_true, y_proba, sample_weight, pos_label)
        size = rows.prediction.size
        columns = {name: read_column(c, name, size) for name, c in columns_of(by).items()}
        order = canonical_order(rows.prediction, rows.outcome, rows.weight, *columns.values())
        rows, columns = rows.where(order), {name: c[order] for name, c in columns.items()}
        outcome = np.asarray(rows.outcome, dtype=np.float64)
        weight = np.ones(size) if rows.weight is None else rows.weight
        held = held_rows(weight, self.held_out, as_generator(self.rng))
        if self.method == "boosted":
            return self._fit_trees(rows.prediction, outcome, weight, held, columns)
        parts = partitions(columns, size, pairs=self.pairs, weight=rows.weight)
        divided = DividedRows.divided(rows.prediction, outcome, weight, held, parts)
        if self.method == "hkrr":
            found = patch_cells(divided, self.tolerance, self.cells, self.min_mass, self.most)
        else:
            found = patch_powers(divided, self.tolerance, self.degree, self.most)
        self.fit_ = fit_of(divided, found)
        self.sentence_ = self.fit_.sentence
        self.groupings_ = groupings_of(parts)
        self.patches_ = Patches(self.groupings_, tuple(step.patch for step in self.fit_.steps))
        return self

    def transform(self, y_proba: object, by: object) -> Floats:
        """Correct base predictions.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, 2)
            Base probabilities of outcome 1.
        by : mapping of str to array-like, frame, or array of shape (n, k)
            The columns, or features, that were fitted to.

        Returns
        -------
        array of shape (n,) or (n, 2)
            As the base predictions were given. Rows with a label that was not seen in the fit
            keep their base prediction; a warning counts them.
        """
        self._require_fitted()
        given = np.asarray(y_proba).ndim
        prediction = predictions_alone(y_proba)
        codes = codes_of(self.groupings_, by, prediction.size)
        if self.method == "boosted":
            moved = self.boosted_.apply(prediction, self._table(by, prediction.size))
            moved = np.where(unseen(codes), prediction, moved) if codes else moved
        else:
            moved = self.patches_.apply(prediction, codes)
        return np.column_stack([1 - moved, moved]) if given == 2 else moved

    def predict_proba(self, y_proba: object, by: object) -> Floats:
        """Return the corrected chances of 0 and of 1, one row each."""
        moved = self.transform(y_proba, by)
        return moved if moved.ndim == 2 else np.column_stack([1 - moved, moved])

    def to_map(self) -> GroupMap:
        """Return the fitted patches as a map of `calibrant.repair`: stored, exported, applied."""
        self._require_fitted()
        self._refuse_trees()
        return GroupMap(unmoved(), self.patches_)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted patches as plain data; `calibrant.repair.load` takes it back."""
        return self.to_map().to_dict()

    def to_json(self) -> str:
        """Return the fitted patches as JSON; `calibrant.repair.load` takes it back."""
        return self.to_map().to_json()

    def to_python(self, name: str = "recalibrate") -> str:
        """Return the source of a Python function of a prediction and a dictionary of columns."""
        return self.to_map().to_python(name)

    def to_sql(
        self,
        column: str = "prediction",
        *,
        table: str | None = None,
        keep: Sequence[str] = (),
        name: str = "recalibrated",
        dialect: str = "duckdb",
    ) -> str:
        """Return SQL that corrects predictions, as `RecalibrationMap.to_sql` does.

        Parameters
        ----------
        column : str, default="prediction"
            Column of base predictions.
        table : str, optional
            Table with the base predictions and the columns that were fitted to: the answer is
            then a query. Patches of cells make no expression and need it.
        keep : sequence of str, optional
            Further columns that the query returns.
        name : str, default="recalibrated"
            Name of the new column of a query.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Kind of SQL.

        Returns
        -------
        str
            An expression or a query; NULL where the prediction is no probability. Missing values
            are NULL or NaN.
        """
        fitted = self.to_map()
        return fitted.to_sql(column, table=table, keep=keep, name=name, dialect=dialect)

    def _fit_trees(
        self,
        prediction: Floats,
        outcome: Floats,
        weight: Floats,
        held: Any,
        columns: Mapping[str, Any],
    ) -> Self:
        size = prediction.size
        self.groupings_ = tuple(
            grouped(values, name, size).groupings[0]
            for name, values in columns.items()
            if not _is_numeric(values, name, size)
        )
        table = self._table(columns, size)
        labelled = {grouping.column for grouping in self.groupings_}
        categorical = [name in labelled for name in columns]
        self.boosted_, moved = boost(
            prediction, outcome, weight, held, table, categorical, self.learner, self.rng
        )
        kept = bool(self.boosted_.rounds)
        self.fit_ = Fit(
            (),
            self.boosted_.reason,
            float("nan"),
            briers(prediction, moved, outcome, weight, held),
            None,
            kept,
        )
        self.sentence_ = self.fit_.sentence
        return self

    def _table(self, by: object, size: int) -> Floats:
        """Features as numbers; labels become codes, unseen ones missing."""
        labelled = {grouping.column: grouping for grouping in self.groupings_}
        columns = []
        for name, values in columns_of(by).items():
            if name in labelled:
                codes = labelled[name].codes(values, size).astype(np.float64)
                columns.append(np.where(codes < 0, np.nan, codes))
            else:
                columns.append(np.asarray(read_column(values, name, size), dtype=np.float64))
        return np.column_stack(columns)

    def _check(self) -> None:
        refuse_unknown("method", self.method, METHODS)
        check_share("tolerance", self.tolerance)
        check_share("held_out", self.held_out)
        whole("cells", self.cells, 1, MOST_CELLS)
        whole("most", self.most)
        check_degree(self.degree)
        check_within("min_mass", self.min_mass)

    def _refuse_trees(self) -> None:
        if self.method == "boosted":
            raise InvalidOptionError(
                "only patches of groups can be written as JSON or SQL",
                "trees",
                "pickle the estimator, or use method='hkrr'",
            )


def _is_numeric(values: object, name: str, size: int) -> bool:
    return read_column(values, name, size).dtype.kind in "iuf"
