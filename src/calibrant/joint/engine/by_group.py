"""One Joint for every group of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from calibrant.errors import InvalidOptionError
from calibrant.joint.joint import Joint

if TYPE_CHECKING:
    from calibrant.data.columns import ColumnNames
    from calibrant.joint.engine.passes import Resolution


def joints_by(
    frame: object,
    *,
    by: str | Sequence[str],
    resolution: Resolution = "auto",
    **columns: Unpack[ColumnNames],
) -> dict[tuple[Any, ...], Joint]:
    """Make one Joint for every group of rows, on the engine that the frame lives on.

    Parameters
    ----------
    frame : dataframe, or str, Path or a sequence of them
        As for `Joint.from_frame`, or files as for `Joint.from_files`.
    by : str or sequence of str
        Columns whose values name the groups.
    resolution : int, None or "auto", default="auto"
        As for `Joint.from_frame`. "auto" takes as many cells, up to 65 536, as keep the sums of
        all groups together below 2**20; `Joint.resolution` says how many, and `Joint.rounding`
        what that costs. It counts the rows of the groups first, which is one more pass.
        At most 2**20.
    **columns
        Names of columns as for `Joint.from_frame`: prediction, outcome, weight, pos_label; or as
        for `Joint.from_aggregates`.

    Returns
    -------
    dict of tuple to Joint
        One entry per group, in the order of the keys; None stands for a missing value. Groups
        whose rows all have weight zero are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"p": [0.2, 0.8, 0.8], "y": [0, 1, 0], "site": ["a", "b", "b"]})
    >>> joints = joints_by(frame, by="site", prediction="p", outcome="y")
    >>> joints["b",]
    Joint(2 rows, 1 levels, mean prediction 0.8, base rate 0.5)
    """
    from calibrant.data.columns import Columns
    from calibrant.data.files import opened
    from calibrant.data.paths import are_paths
    from calibrant.data.tables import Part
    from calibrant.joint.engine.passes import tally_frame

    roles = Columns.of(**columns)
    labels = [by] if isinstance(by, str) else list(by)
    if not labels:
        raise InvalidOptionError("@by must name at least one column", "none")
    if not all(isinstance(name, str) for name in labels):
        raise InvalidOptionError("@by must name columns", f"a value of type {type(by).__name__}")
    if are_paths(frame):
        parts = dict.fromkeys(labels, Part.VALUE) | roles.parts()
        with opened(frame, parts, roles.labels) as (rows, _):
            tally, names = tally_frame(rows, roles.with_known_outcomes(), resolution, labels)
    else:
        tally, names = tally_frame(frame, roles, resolution, labels)
    return {
        names[number]: Joint.of_tally(part, roles.width, exact_if_possible=resolution == "auto")
        for number, part in tally.normalized().by_group()
    }
