"""Metadata routing: who says which of an estimator's further arguments a pipeline hands to it."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

from calibrant._base.options import shown
from calibrant.errors import InvalidOptionError

# Arguments that every estimator has, so that nobody requests them.
ALWAYS_PASSED = frozenset({"self", "X", "y"})


class Routed:
    """Requests for arguments beyond X and y, as scikit-learn keeps them.

    An argument is passed on by a pipeline, a search or a cross-validation of scikit-learn if
    routing is enabled there and the estimator requested it: `PlattScaling().set_fit_request(
    sample_weight=True)`.
    """

    routed_methods: ClassVar[tuple[str, ...]] = ("fit", "transform")
    """Methods whose further arguments can be requested."""

    def set_fit_request(self, **requests: bool | str | None) -> Self:
        """Say which arguments of `fit` are wanted: True, False, None, or the name they come by."""
        return self._request("fit", requests)

    def set_transform_request(self, **requests: bool | str | None) -> Self:
        """Say which arguments of `transform` are wanted, as for `set_fit_request`."""
        return self._request("transform", requests)

    def get_metadata_routing(self) -> Any:
        """Return the requests as scikit-learn's `MetadataRequest`."""
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        requests = MetadataRequest(owner=self)
        for method in self.routed_methods:
            for name in self._beyond(method):
                getattr(requests, method).add_request(param=name, alias=None)
        return requests

    def _request(self, method: str, requests: dict[str, bool | str | None]) -> Self:
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise InvalidOptionError(
                "requests need metadata routing",
                "routing that is off",
                "call sklearn.set_config(enable_metadata_routing=True) first",
            )
        known = self._beyond(method) if method in self.routed_methods else ()
        for name in requests:
            if name not in known:
                raise InvalidOptionError(
                    f"{method} has the further arguments {', '.join(known) or 'none'}", shown(name)
                )
        found = self._own_requests()
        for name, wanted in requests.items():
            getattr(found, method).add_request(param=name, alias=wanted)
        self._metadata_request = found
        return self

    def _own_requests(self) -> Any:
        """Return what this estimator itself requests."""
        return Routed.get_metadata_routing(self)

    def _beyond(self, method: str) -> tuple[str, ...]:
        """Names of the arguments of a method beyond X and y."""
        parameters = inspect.signature(getattr(type(self), method)).parameters.values()
        various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(
            p.name for p in parameters if p.name not in ALWAYS_PASSED and p.kind not in various
        )
