"""Doors: names of what a package takes from one that is built on it. Nothing else leads upwards.

A setting, for example, has a method ``simulate``, and the engine is built on settings. Such a method goes through a
door when it is called; the module behind it is imported then.
"""

from functools import cache
from importlib import import_module
from typing import Any

from .extras import explained

DOORS = {
    "setting.quantities": "moments.evaluators:quantities",
    "setting.exact": "moments.expected_errors:exact_errors",
    "setting.simulate": "simulation:simulate",
    "setting.fixed_point": "moments.stationary:fixed_point",
    "setting.stationary": "moments.stationary:stationary",
    "moments.evaluators": "papers:load_evaluators",
}
"""Table from the place that calls to the ``module:name`` of what is called."""


@cache
def through(door: str) -> Any:
    """Import and return the object behind a door of ``DOORS``.

    >>> through("setting.simulate").__name__
    'simulate'
    """
    module, name = DOORS[door].split(":")
    try:
        return getattr(import_module(f".{module}", __package__), name)
    except ModuleNotFoundError as error:
        raise explained(error) from None
