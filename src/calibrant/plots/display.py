"""What all Displays share: ways to make one, to draw it, and to take its data out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.data.input import refuse_other_labels
from calibrant.errors import InvalidForecastsError, InvalidOptionError, mention
from calibrant.plots.style import detached_figure, drawing
from calibrant.plots.svg import figure_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Columns = dict[str, npt.NDArray[Any]]


class Display:
    """A picture as data, which can be drawn on matplotlib axes whenever it is wanted.

    `of` finds the data; `from_joint`, `from_predictions` and `from_estimator` find them and draw,
    as scikit-learn's displays do. A Display can be pickled; the axes are not part of the pickle.
    """

    ax_: Axes
    """The axes it was drawn on last."""
    figure_: Figure
    """The figure it was drawn on last."""

    @classmethod
    def of(cls, *data: Any, **options: Any) -> Self:
        """Find the data behind the picture, without drawing."""
        raise NotImplementedError

    @classmethod
    def from_joint(cls, joint: object, *, ax: Axes | None = None, **options: Any) -> Self:
        """Find the data of a Joint and draw them.

        Parameters
        ----------
        joint : Joint
            Predictions and outcomes; a mapping of names to Joints where a picture shows several.
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.
        **options
            Whatever `of` takes.
        """
        return cls.of(joint, **options).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: object,
        y_proba: object,
        *,
        sample_weight: object = None,
        pos_label: object = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Find the data of outcomes and predictions and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        y_proba : array-like of shape (n,) or (n, 2)
            Predicted probabilities of outcome 1.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        pos_label : object, optional
            The label that counts as outcome 1.
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.
        **options
            Whatever `of` takes.
        """
        found = cls.of(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, **options)
        return found.plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object,  # noqa: N803 (the name that scikit-learn uses)
        y: object,
        *,
        sample_weight: object = None,
        pos_label: object = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Let a fitted model predict, find the data and draw them.

        Parameters
        ----------
        estimator : object
            A fitted model with `predict_proba`. Of more than two classes `pos_label` names the one
            to look at, against all others.
        X : array-like
            What the model predicts from.
        y : array-like of shape (n,)
            Outcomes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        pos_label : object, optional
            The label that counts as outcome 1; the second of the model's classes if not given.
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.
        **options
            Whatever `of` takes.
        """
        refuse_other_labels(X=X, y=y, sample_weight=sample_weight, **options)
        y_proba, positive = _predicted(estimator, X, pos_label)
        options = cls._with_columns(X, options)
        return cls.from_predictions(
            y, y_proba, sample_weight=sample_weight, pos_label=positive, ax=ax, **options
        )

    @classmethod
    def _with_columns(cls, X: object, options: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG003, N803
        """Find what options name among the columns of X."""
        return options

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on those of a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw. A part that stands below the main picture takes some of their room.

        Returns
        -------
        Display
            Itself, with `ax_` and `figure_`.
        """
        with drawing():
            if ax is None:
                import matplotlib.pyplot as plt

                ax = plt.figure(layout="constrained").add_subplot()
            return self._drawn_on(ax)

    def to_svg(
        self,
        *,
        width: float = 6.4,
        height: float = 4.8,
        title: str | None = None,
        name: str = "picture",
        variables: bool = False,
    ) -> str:
        """Draw on a figure of its own and return it as SVG.

        Settings of matplotlib that the user made have no say: the same data give the same text.

        Parameters
        ----------
        width, height : float, default=6.4 and 4.8
            Size in inches.
        title, name, variables
            As for `figure_svg`; the title is the Display's sentence if not given.
        """
        with drawing(from_defaults=True):
            self._drawn_on(detached_figure(width, height).add_subplot())
            words = self.sentence if title is None else title
            return figure_svg(self.figure_, words, name=name, variables=variables)

    @property
    def sentence(self) -> str:
        """What the picture shows, for those who cannot see it."""
        raise NotImplementedError

    def frame(self) -> Columns:
        """Return the data behind the picture as columns of equal length."""
        raise NotImplementedError

    def _drawn_on(self, ax: Axes) -> Self:
        self._draw(ax)
        figure = ax.get_figure(root=True)
        if figure is None:
            raise InvalidOptionError("axes must belong to a figure", "axes that were removed")
        self.ax_, self.figure_ = ax, figure
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _DRAWN}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"


_DRAWN = frozenset({"ax_", "figure_"})


def chosen(what: str, got: str, known: tuple[str, ...]) -> str:
    """Return an option that is one of the known ones."""
    if got not in known:
        raise InvalidOptionError(f"{mention(what)} must be one of {', '.join(known)}", repr(got))
    return got


def _predicted(estimator: Any, features: object, pos_label: object) -> tuple[Any, object]:
    """Probabilities of the positive class, and its label."""
    if not hasattr(estimator, "predict_proba"):
        raise InvalidOptionError(
            "a model must have predict_proba",
            type(estimator).__name__,
            "wrap it in a CalibratedClassifier, or pass probabilities to from_predictions",
        )
    y_proba = np.asarray(estimator.predict_proba(features))
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return y_proba, pos_label
    labels = np.asarray(classes).tolist()
    if len(labels) != 2 and pos_label is None:
        raise InvalidForecastsError(
            "a model must tell two classes apart, or @pos_label must name one",
            f"{len(labels)} classes",
            "@pos_label looks at one class against all others",
        )
    positive = labels[1] if pos_label is None else pos_label
    if positive not in labels:
        raise InvalidOptionError("@pos_label must be a class of the model", repr(pos_label))
    return y_proba[:, labels.index(positive)], positive
