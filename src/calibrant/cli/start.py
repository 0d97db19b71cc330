"""What keeps the start of a command short."""

from __future__ import annotations

import gc
import os
import sys
from importlib import util

# Modules are made of many objects and few cycles. Looking for those after every 700 objects, as
# Python does, takes a tenth of the time of a short command.
OBJECTS_BETWEEN_COLLECTIONS = 50_000
# scipy imports all of numpy by a star, the tools for Fortran and for tests among it, and uses
# neither: a twentieth of the time of a short command.
UNUSED = ("f2py", "testing")
# Libraries that multiply matrices start threads for a few thousand numbers, which then wait in a
# loop: a fifth of the processor time of an audit, for nothing.
MULTIPLYING = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def multiply_in_one_thread() -> None:
    """Let threads work on whole parts of a command, unless the environment says otherwise."""
    for variable in MULTIPLYING:
        os.environ.setdefault(variable, "1")


def start_quickly() -> None:
    """Leave until it is needed what a command hardly ever needs."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    for name in UNUSED:
        _import_later(f"numpy.{name}", name)


def _import_later(module: str, name: str) -> None:
    """Put a module of numpy in its place that is executed when something of it is asked for."""
    import numpy as np

    spec = util.find_spec(module)
    if module in sys.modules or spec is None or spec.loader is None:
        return
    spec.loader = util.LazyLoader(spec.loader)
    later = util.module_from_spec(spec)
    sys.modules[module] = later
    spec.loader.exec_module(later)
    setattr(np, name, later)
