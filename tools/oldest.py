"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

They are those of the dependencies, of the extras, and of packages whose objects calibrant reads.
Tools that only run the tests stay as they are.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)")
READ = ("pandas", "scikit-learn", "xarray")
# river 0.26 needs newer packages than calibrant itself does: its extra cannot be at its lowest
# version beside the lowest of the others.
LEFT_OUT = ("river",)


def lowest(project: Path = PROJECT) -> dict[str, str]:
    """Find the lowest allowed version of each package."""
    data = tomllib.loads(project.read_text(encoding="utf-8"))
    extras = data["project"]["optional-dependencies"]
    lines = [
        *data["project"]["dependencies"],
        *(line for extra in extras.values() for line in extra),
    ]
    lines += [line for line in data["dependency-groups"]["test"] if line.startswith(READ)]
    found = {}
    for line in lines:
        bound = BOUND.match(line)
        if bound is None:
            raise ValueError(f"{line!r} has no lower bound")
        if bound[1] not in LEFT_OUT:
            found[bound[1]] = bound[2]
    return found


if __name__ == "__main__":
    for name, version in lowest().items():
        print(f"{name}=={version}")
