"""Errors and warnings of calibrant: what is wrong, what was found, what to do.

Texts mark the arguments that they mention: "@tolerance must lie between 0 and 1". Whoever shows an
error names them in its own way: a function by the argument, the command line by the option, a
scikit-learn estimator by `X` and `y`, a reader of files by the column.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_MENTION = re.compile(r"(?<![\w'\"@])@([a-z]\w*)")
# A name that leads to no file is a mistake of the caller, whatever the system says of it.
NO_FILE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}


def mention(name: str) -> str:
    """Mark an argument in the text of an error; other nouns stay as they are."""
    return f"@{name}" if name.isidentifier() else name


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Write a text with the names of the arguments that it mentions."""
    return _MENTION.sub(lambda found: names.get(found[1], found[1]), text)


class CalibrantError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    what : str
        What must hold, in one clause. Arguments are marked: "@confidence must be a number".
    got : str, optional
        What was given instead.
    hint : str, optional
        What to do.
    """

    def __init__(self, what: str, got: str = "", hint: str = "") -> None:
        self.texts = what, got, hint
        """What, got and hint, with arguments marked."""
        self.names: dict[str, str] = {}
        """What a caller calls the arguments."""
        super().__init__(what, got, hint)

    @property
    def what(self) -> str:
        """What must hold."""
        return with_names(self.texts[0], self.names)

    @property
    def got(self) -> str:
        """What was found."""
        return with_names(self.texts[1], self.names)

    @property
    def hint(self) -> str:
        """What to do."""
        return with_names(self.texts[2], self.names)

    @property
    def argument(self) -> str | None:
        """The argument that is wrong, as the function calls it; None if it is none."""
        found = _MENTION.search(self.texts[0])
        return found and found[1]

    def name_arguments(self, names: Mapping[str, str]) -> None:
        """Let the error call arguments what a caller calls them, where no other caller has."""
        self.names = {**names, **self.names}

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

    def __reduce__(self) -> tuple[type[ReadingError], tuple[str, str, str], dict[str, object]]:
        return type(self), self.texts, {"names": self.names}


class InferenceRefusedError(CalibrantError, ValueError):
    """A p-value, noise floor or interval that the data at hand cannot support."""


class ConvergenceError(CalibrantError, RuntimeError):
    """A solver that did not reach its tolerance: no number is better than a wrong one."""


class MissingPackageError(CalibrantError, ImportError):
    """An optional package that this call needs is not installed."""


class CalibrantWarning(UserWarning):
    """A number that is right but easily misread."""

    def __str__(self) -> str:
        return with_names(super().__str__(), {})


@contextmanager
def arguments_named(**names: str) -> Iterator[None]:
    """Let errors of a block call arguments what its caller calls them: `y_proba="X"`."""
    try:
        yield
    except CalibrantError as error:
        error.name_arguments(names)
        raise


def reading_failed(error: OSError) -> bool:
    """Whether the system failed to read a file, rather than the file being wrong or absent."""
    return error.errno is not None and error.errno not in NO_FILE
