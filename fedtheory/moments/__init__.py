"""Exact moments of runs: rounds as linear maps, their stationary laws, and evaluators of quantities and functionals.
Members load on first use."""

from importlib import import_module

_HOMES = {
    "ExactErrors": "expected_errors",
    "OneRound": "one_round",
    "Points": "function_points",
    "Question": "evaluators",
    "Unserved": "evaluators",
    "best_probability": "stationary",
    "evaluates": "evaluators",
    "evaluates_functional": "evaluators",
    "exact_errors": "expected_errors",
    "expected_models": "expected_errors",
    "fixed_point": "stationary",
    "implied_objective": "mean_weights",
    "left": "evaluators",
    "quantities": "evaluators",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
