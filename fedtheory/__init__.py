"""fedtheory: theorems about federated learning, made executable.

Members load on first use, so that ``import fedtheory`` costs nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

_PACKAGES = (
    "algorithms", "claims", "data", "evidence", "federations", "moments", "papers", "participation", "proof", "report",
    "selection", "simulation", "subjects", "testing", "weights",
)  # fmt: skip
_HOMES = {
    "Setting": "setting",
    "claim": "papers",
    "plot": "report",
    "refute": "evidence.refute",
    "verify": "evidence.verdict",
}
__all__ = sorted((*_PACKAGES, *_HOMES))


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
