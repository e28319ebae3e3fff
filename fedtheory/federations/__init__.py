"""Federations, and convex problems whose constants are known. Members load on first use."""

from importlib import import_module

_HOMES = {
    "Constant": "constants",
    "Constants": "constants",
    "ConvexFederation": "base",
    "Federation": "base",
    "Logistic": "logistic",
    "Pairs": "base",
    "Quadratic": "quadratic",
    "Region": "constants",
    "estimated_constants": "estimated",
    "random_quadratic": "generators",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
