"""Settings of matplotlib that hold for one thread alone, while it draws.

matplotlib reads its settings from one dictionary of the whole process, and its own `rc_context`
changes that dictionary under the hands of every other thread. Here the dictionary keeps its values:
whoever draws a picture of ours sees ours first, and nobody else sees them at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from calibrant.errors import MissingPackageError

try:
    import matplotlib as mpl
except ImportError as error:
    raise MissingPackageError(
        "pictures outside of a report need matplotlib",
        "an environment without it",
        "pip install 'calibrant[plots]'",
    ) from error

_OURS: ContextVar[Mapping[str, Any]] = ContextVar("settings", default=MappingProxyType({}))


class RcParams(mpl.RcParams):
    """The settings of the process, except for those who draw with settings of their own."""

    def __getitem__(self, key: Any) -> Any:
        ours = _OURS.get()
        if key in ours and self is mpl.rcParams:
            return ours[key]
        return super().__getitem__(key)


@contextmanager
def settings(changed: Mapping[str, Any], *, from_defaults: bool = False) -> Iterator[None]:
    """Let matplotlib see other settings in this thread; those of the user count for the rest.

    With `from_defaults` the rest are the defaults of matplotlib, whatever the user set.
    """
    if type(mpl.rcParams) is mpl.RcParams:
        mpl.rcParams.__class__ = RcParams
    rest = _defaults() if from_defaults else _OURS.get()
    checked: Any = mpl.RcParams(changed)
    before = _OURS.set({**rest, **checked})
    try:
        yield
    finally:
        _OURS.reset(before)


def _defaults() -> dict[str, Any]:
    """All defaults but the backend, which windows of the user may hang on."""
    return {key: value for key, value in dict.items(mpl.rcParamsDefault) if key != "backend"}
