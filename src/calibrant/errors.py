"""Everything calibrant raises or warns of on purpose: what is wrong, what was got, a hint."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

# A name that leads to no file is a mistake of the caller, whatever the system says of it.
NO_FILE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}


class CalibrantError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    what : str
        What must hold, in one clause.
    got : str, optional
        What was given instead.
    hint : str, optional
        The likely cure.
    """

    def __init__(self, what: str, got: str = "", hint: str = "") -> None:
        self.what, self.got, self.hint = what, got, hint
        super().__init__(what, got, hint)

    def __str__(self) -> str:
        got = f", got {self.got}" if self.got else ""
        hint = f" Hint: {self.hint}." if self.hint else ""
        return f"{self.what}{got}.{hint}"


class InvalidForecastsError(CalibrantError, ValueError):
    """Predictions, outcomes or weights that cannot be what they claim to be."""


class InvalidTypeError(InvalidForecastsError, TypeError):
    """Values of a type that cannot be read as numbers."""


class InvalidOptionError(CalibrantError, ValueError):
    """An option outside what a function understands."""


class NotFittedError(InvalidOptionError, AttributeError):
    """An estimator that was asked before it was fitted.

    Where scikit-learn is loaded, what is raised is an error of its `NotFittedError` as well.
    """


class InvalidStateError(InvalidForecastsError, InvalidOptionError):
    """A stored calibrator, Joint, monitor or forecaster that nothing here can have written."""


class ReadingError(CalibrantError, OSError):
    """A file that failed while it was read: no permission, a broken disk, a copy cut off."""

    def __init__(self, what: str, got: str = "", hint: str = "") -> None:
        super().__init__(what, got, hint)
        # OSError takes three arguments for a number, its meaning and a file.
        self.errno = self.strerror = self.filename = None

    def __reduce__(self) -> tuple[type[ReadingError], tuple[str, str, str]]:
        return type(self), (self.what, self.got, self.hint)


class InferenceRefusedError(CalibrantError, ValueError):
    """A p-value, noise floor or interval that the data at hand cannot support."""


class ConvergenceError(CalibrantError, RuntimeError):
    """A solver that did not reach its tolerance: no number is better than a wrong one."""


class MissingPackageError(CalibrantError, ImportError):
    """An optional package that this call needs is not installed."""


class CalibrantWarning(UserWarning):
    """A number that is right but easily misread."""


@contextmanager
def arguments_named(**names: str) -> Iterator[None]:
    """Let errors of a block call arguments what its caller calls them: `y_proba="X"`."""
    # Words of others stand in quotation marks.
    known = re.compile(rf"(?<!['\"\w-])({'|'.join(names)})(?!['\"\w])")
    try:
        yield
    except CalibrantError as error:
        told = (known.sub(lambda found: names[found[1]], text) for text in error.args)
        error.args = error.what, error.got, error.hint = tuple(told)
        raise


def reading_failed(error: OSError) -> bool:
    """Whether the system failed to read a file, rather than the file being wrong or absent."""
    return error.errno is not None and error.errno not in NO_FILE
