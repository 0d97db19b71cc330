"""What a report of a problem needs to say: versions of the package and of what it stands on."""

from __future__ import annotations

import os
import re

# What decides about threads.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Packages whose objects are taken as they are; the others are named by the package itself.
ALSO_SHOWN = ("pandas", "polars", "scikit-learn", "torch", "xarray")
ABSENT = "not installed"


def versions() -> dict[str, str]:
    """Find versions of Python, of the package and of the packages that it knows."""
    import platform
    from importlib.metadata import PackageNotFoundError, requires, version

    from calibrant import __version__

    try:
        named = [re.match(r"[\w.-]+", line) for line in requires("calibrant") or []]
    except PackageNotFoundError:  # run from a folder of sources
        named = []
    packages = dict.fromkeys([*(found[0] for found in named if found), *ALSO_SHOWN])
    shown = {
        "calibrant": __version__,
        "Python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": str(os.cpu_count()),
    }
    for name in packages:
        try:
            shown[name] = version(name)
        except PackageNotFoundError:
            shown[name] = ABSENT
    return shown | {name: os.environ[name] for name in THREADS if name in os.environ}


def show_versions() -> None:
    """Print the versions that a report of a problem should name.

    Examples
    --------
    >>> show_versions()
    calibrant ...
    """
    found = versions()
    width = max(map(len, found))
    for name, version in found.items():
        print(f"{name:<{width}}  {version}")  # noqa: T201  # this is what it is for
