"""One verdict per group of rows, all of them holding at once."""

from __future__ import annotations

import numpy as np

from calibrant.data.groupings import MOST_LEVELS, PARTS
from calibrant.data.labels import Labels
from calibrant.errors import InvalidForecastsError
from calibrant.groups.division import Division, groups_of
from calibrant.groups.noise import shared_noise
from calibrant.inference import (
    AnyMeasure,
    Evidence,
    Evidences,
    Groups,
    Settings,
    Statistic,
    judge_all,
    judge_evidences,
)
from calibrant.inputs import Roles, read
from calibrant.measures.smooth import smooth_calibration_error


def audit_groups(
    y_true: object,
    y_proba: object = None,
    by: object = None,
    *,
    prediction: str = "prediction",
    outcome: str = "outcome",
    pairs: bool = False,
    parts: int = PARTS,
    most_levels: int = MOST_LEVELS,
    sample_weight: object = None,
    pos_label: object = None,
    measure: AnyMeasure = smooth_calibration_error,
    tolerance: float | str | None = None,
    confidence: float = 0.95,
    clusters: object = None,
    draws: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Groups:
    """Give every group of rows a verdict; all of them hold at once.

    Parameters
    ----------
    y_true : array-like of shape (n,), frame, or path or paths of files
        Outcomes, 0 or 1; or a frame (pandas, Polars, Arrow, DuckDB, Dask, Spark) or files with
        the columns of predictions, outcomes and groups. More than 2**20 rows are summed where
        they live, column by column, unless there are clusters: predictions are then rounded to
        cells.
    y_proba : array-like of shape (n,) or (n, 2), optional
        Predicted probabilities of outcome 1; left out with a frame.
    by : mapping of str to array-like, series, frame, or list of str
        Columns whose values name the groups, or with a frame their names. Numbers of more than
        24 distinct values, and dates, are cut at quantiles; the names of the groups show where.
        Missing values are a group of their own.
    prediction, outcome : str
        Columns of a frame.
    pairs : bool, default=False
        Whether each pair of columns divides the rows as well.
    parts : int, default=5
        Number of parts that numbers are cut into.
    most_levels : int, default=250
        The rarer of more labels than this are gathered in one group (in pairs, of more than 24).
    sample_weight : array-like of shape (n,), or str, optional
        Weights of the rows, or with a frame their column.
    pos_label : object, optional
        The label that counts as outcome 1.
    measure : str or callable, default=smooth_calibration_error
        A measure that has a confidence interval.
    tolerance : float or str, optional
        Largest acceptable error, for every group, as for `verdict`: "5%" is relative to the rarer
        outcome of all rows. By default that of all rows together.
    confidence : float, default=0.95
        Chance that the intervals of all groups hold at once.
    clusters : array-like of shape (n,), or str, optional
        Labels of rows that depend on each other, or with a frame their column.
    draws : int, default=999
        Number of random multipliers. At most 10**6.
    rng : numpy.random.Generator or int, optional
        Source of randomness.

    Returns
    -------
    Groups
        Every group, however small: those beyond the tolerance first, each in the order of the
        evidence against it.

    Notes
    -----
    The largest deviation of a group, as a multiple of its mean, is distributed nearly alike in
    every group; the quantile of its maximum over groups widens all intervals alike (a studentised
    maximum). Noise is drawn once for each combination of groups and added up, so that groups that
    overlap share it. Where there are too many combinations, each pair of columns has draws of its
    own, which is conservative; so do the groups where rows come in clusters or were summed.

    Examples
    --------
    >>> from calibrant.datasets import flights
    >>> columns = flights()
    >>> groups = audit_groups(
    ...     columns["outcome"], columns["prediction"], {"origin": columns["origin"]}, rng=0
    ... )
    >>> [(group.name, group.state) for group in groups]
    [('EWR', 'miscalibrated'), ('LGA', 'undecided'), ('JFK', 'calibrated')]
    """
    settings = Settings.read(confidence=confidence, draws=draws, tolerance=tolerance, rng=rng)
    statistic = Statistic.of(measure)
    roles = Roles(
        prediction,
        outcome,
        sample_weight,
        clusters,
        by,
        pairs=pairs,
        cuts=parts,
        most_levels=most_levels,
    )
    source = read(y_true, y_proba, roles, labels=Labels.of(pos_label))
    divided = groups_of(source)
    if divided is None:
        raise InvalidForecastsError("by must name at least one column", "none")
    return judge_groups(divided, statistic, settings.settled(source.joint))


def judge_groups(groups: Division | Evidences, statistic: Statistic, settings: Settings) -> Groups:
    """Judge groups by intervals that hold at once; without rows each has draws of its own."""
    if not isinstance(groups, Division):
        return judge_evidences(groups, statistic, settings)
    if groups.clusters is not None or not groups.rows.kind.summed:
        found = {(by, name): evidence for by, name, evidence in groups.evidences()}
        return judge_evidences(found, statistic, settings)
    statistic.refuse_without_reach()
    if groups.rows.weight is not None:
        named = list(groups.evidences())
    else:
        named = [(by, name, Evidence.without_draws(rows)) for by, name, rows in groups.groups()]
    return judge_all(named, shared_noise(groups, statistic, settings), statistic, settings)
