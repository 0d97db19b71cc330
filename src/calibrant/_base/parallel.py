"""How many threads work at once. What they find does not depend on it.

Work is cut into parts before anybody asks how many threads there are, and put together in the order
of the parts: a sum over parts has the same bits for one thread and for many.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import chain, islice
from typing import TypeVar

from calibrant._base.options import MOST_THREADS, whole
from calibrant.errors import InvalidOptionError

VARIABLE = "CALIBRANT_THREADS"

Part = TypeVar("Part")
Result = TypeVar("Result")

_CHOSEN: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let calibrant use so many threads while a block runs; results are the same for any number.

    Without it the variable CALIBRANT_THREADS of the environment counts, and without that the
    processors that the process may use.

    Parameters
    ----------
    count : int
        Threads at most, from 1 to 1024.

    Examples
    --------
    >>> import calibrant as cal
    >>> with cal.threads(2):
    ...     error = cal.smooth_calibration_error([0, 1], [0.4, 0.6])
    >>> error
    0.04
    """
    before = _CHOSEN.set(whole("count", count, 1, MOST_THREADS))
    try:
        yield
    finally:
        _CHOSEN.reset(before)


def thread_count() -> int:
    """Say how many threads may work at once."""
    chosen = _CHOSEN.get()
    return _from_environment() if chosen is None else chosen


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Do work that leaves Python's lock, part by part, and return what was found in their order.

    Parts are asked for one after the other while earlier ones are worked on, a few of them at a
    time. Threads see what the caller set for its own (`numpy.errstate`, contexts), and start no
    others.
    """
    todo = iter(parts)
    first = list(islice(todo, 2))
    count = thread_count()
    if count < 2 or len(first) < 2:
        return [work(part) for part in chain(first, todo)]
    from concurrent.futures import Future, ThreadPoolExecutor

    def alone(part: Part) -> Result:
        _CHOSEN.set(1)
        return work(part)

    found: list[Result] = []
    begun: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            for part in chain(first, todo):
                if len(begun) == count:
                    found.append(begun.popleft().result())
                begun.append(pool.submit(copy_context().run, alone, part))
            return found + [one.result() for one in begun]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _from_environment() -> int:
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return min(_processors(), MOST_THREADS)
    if not text.isdecimal() or not 1 <= int(text) <= MOST_THREADS:
        raise InvalidOptionError(f"{VARIABLE} must be a number from 1 to {MOST_THREADS}", text)
    return int(text)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
