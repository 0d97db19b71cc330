"""The forecasts that ship with the package."""

from calibrant.datasets.flights import FLIGHTS_FILE, flights

__all__ = ["FLIGHTS_FILE", "flights"]
