"""Group calibrators whose labels try to break out of whatever they are written into."""

from __future__ import annotations

import numpy as np

from calibrant.data.groupings import grouped
from calibrant.recalibration import GroupCalibrator, Identity
from calibrant.recalibration.patches import Patch, Patches

LABELS = [
    "missing",
    "missing (no value)",
    "other (3 values)",
    "",
    " ",
    "it's",
    "''",
    "C:\\temp",
    "x\\",
    "\\'",
    "\\'), true) then 0.5 end end as double) as r, password from secrets --",
    "'); drop table rows; --",
    "') or ('1'='1",
    '"); drop table rows; --',
    '"""\nraise SystemExit\n"""',
    "\\N{BULLET}",
    "{name} {0} %s %(x)s :x ? $1",
    "${env:HOME}",
    "$tag$",
    "line\nbreak\r\ttab",
    "/* */ -- # ;",
    "null",
    "NaN",
    "true",
    "1",
    "01",
    "1e0",
    "é 中 🎲 \u2028 \u202e",
    "a" * 5000,
]
NAMES = [
    'quo"te',
    "back`tick",
    "it's",
    "sp ace",
    "v",
    "V0",
    "p",
    "select",
    "a\nb",
    "--",
    "x;y",
    "é",
    "%s",
]


def patched(column: str, values: object, size: int, scale: str = "unit") -> GroupCalibrator:
    """A calibrator that adds another amount in every group of a column."""
    (grouping,) = grouped(values, column, size).groupings
    patches = [
        Patch(((0, level),), 0.0, 1.0, 0, (level + 1) / 1024) for level in range(len(grouping))
    ]
    base = Identity().fit([0.2, 0.7], [0, 1])
    return GroupCalibrator(base, Patches((grouping,), tuple(patches)), 0.0).with_scale(scale)


def expected(fitted: GroupCalibrator, column: str, values: object, p: float = 0.25) -> list[float]:
    """What `transform` says, and that groups differ, so that a wrong one would show."""
    found = fitted.transform(np.full(len(values), p), {column: values})
    assert len(set(found.tolist())) == len(fitted.patches.groupings[0])
    return found.tolist()
