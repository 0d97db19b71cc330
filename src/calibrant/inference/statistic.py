"""A measure made ready for inference: its value on a Joint, and on many residual masses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from calibrant._base.arrays import Floats
from calibrant._base.options import measured, shown
from calibrant.catalogue import CATALOGUE, Measure, find_measure
from calibrant.errors import InferenceRefusedError, InvalidOptionError
from calibrant.joint import Joint
from calibrant.joint.draws import exact_levels
from calibrant.measures.expected_error import expected_calibration_error, measure_of_bins

AnyMeasure = str | Callable[..., float]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A measure with its options."""

    name: str
    function: Callable[..., float]
    options: Mapping[str, Any] = field(default_factory=dict)
    entry: Measure | None = None
    """Its line of the catalogue."""
    of_residual_masses: Callable[[Joint, Floats], Floats] | None = None
    """What it is of many residual masses, for a statistic that is not in the catalogue."""

    @classmethod
    def of(cls, measure: AnyMeasure) -> Statistic:
        """Read a name, a measure, a measure with options (`functools.partial`), or any callable."""
        if isinstance(measure, str):
            entry = find_measure(measure)
            return cls(entry.name, entry.function, {}, entry)
        if not callable(measure):
            raise InvalidOptionError(
                "@measure must be a name of the catalogue, or a function of a Joint", shown(measure)
            )
        function, options = measure, {}
        if isinstance(measure, partial) and not measure.args:
            function, options = measure.func, measure.keywords
        if function is expected_calibration_error and {*options} <= {"bins", "order"}:
            function, options = measure_of_bins(**options)
            measure = partial(function, **options)
        name = getattr(function, "__name__", "measure")
        found = CATALOGUE.get(name)
        if found is not None and found.function is function:
            return cls(name, function, options, found)
        return cls(name, measure)

    @classmethod
    def of_function(
        cls, name: str, of_residual_masses: Callable[[Joint, Floats], Floats]
    ) -> Statistic:
        """Name a function of residual masses that is no measure of the catalogue."""

        def of_joint(joint: Joint) -> float:
            return float(of_residual_masses(joint, residual_mass_of(joint)[np.newaxis, :])[0])

        return cls(name, of_joint, of_residual_masses=of_residual_masses)

    def value(self, joint: Joint) -> float:
        """Measure a Joint."""
        return measured(self.function(joint, **self.options))

    @property
    def power(self) -> int:
        """Power of a norm of the residual mass that it is."""
        return 1 if self.entry is None else self.entry.power(**self.options)

    def known_floor(self, joint: Joint) -> float | None:
        """Mean value for perfect forecasts, where it is known without draws."""
        known = None if self.entry is None else self.entry.known_floor
        return None if known is None else known(joint, **self.options)

    def batch(self) -> Callable[..., Floats] | None:
        """Return the measure as a function of residual masses, where its options allow that."""
        if self.of_residual_masses is not None:
            return self.of_residual_masses
        batch = None if self.entry is None else self.entry.batch
        if batch is None or not set(self.options) <= {*batch.options}:
            return None
        return partial(batch, **self.options) if self._depends_on_residual_mass() else None

    def _depends_on_residual_mass(self) -> bool:
        """Whether the value of a family, if there is one, depends on residual masses alone."""
        family = self.options.get("family")
        return family is None or bool(getattr(family, "interval", False))

    def values(self, joint: Joint, residual_masses: Floats) -> Floats:
        """Measure many samples on the levels of a Joint by their residual masses (one row each)."""
        batch = self.batch()
        if batch is not None:
            return batch(joint, residual_masses)
        positives = residual_masses * joint.total + joint.weight * joint.prediction
        each = joint.weight / joint.rows
        whole = np.where(exact_levels(joint), np.rint(positives / each) * each, positives)
        return np.array([self.value(joint.with_positives(row)) for row in whole])

    def refuse_without_batch(self) -> None:
        """Raise where a measure is not a function of the residual mass alone."""
        if self.batch() is None:
            raise InferenceRefusedError(
                "@clusters need a measure of the catalogue that depends on residuals alone",
                self.name.replace("_", " "),
                "use the smooth error",
            )

    def refuse_without_interval(self) -> None:
        """Raise where no valid interval is known, with the reason."""
        if self.batch() is None or self.entry is None or not self.entry.interval:
            raise InferenceRefusedError(
                "no valid confidence interval is known for this measure",
                self.name.replace("_", " ") + _reason(self),
                "use the smooth error; calibration_test still gives the noise floor",
            )

    def refuse_without_half_width(self) -> None:
        """Raise where no interval with one half-width is known, with the reason."""
        self.refuse_without_interval()
        if self.power != 1:
            raise InferenceRefusedError(
                "this needs a measure on the scale of a bias",
                f"{self.name.replace('_', ' ')}, a square",
                "use its root or the smooth error; confidence_interval takes squares",
            )


def _reason(statistic: Statistic) -> str:
    if statistic.entry is None:
        return ", which is not in the catalogue"
    if statistic.entry.interval:
        return " with these options"
    return ", whose sampling error does not shrink evenly over its tests"


def residual_mass_of(joint: Joint) -> Floats:
    """Mass times residual of each level: what every weighted calibration error depends on."""
    return np.asarray((joint.positives - joint.weight * joint.prediction) / joint.total)
