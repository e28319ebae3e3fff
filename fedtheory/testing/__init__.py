"""For authors of participation processes and weight rules: test what you plug in.

`check_weight_estimator` needs nothing but numpy and scipy. The hypothesis strategies (`participation_arrays`,
`participation_processes`, `federations`, `weight_rules`, `quantity_values`, `values_of`, `claim_values`) need
hypothesis, which comes with the extra ``test``. Members load on first use.
"""

from importlib import import_module

_HOMES = {
    "PropertyError": "errors",
    "check_weight_estimator": "checks",
    "claim_values": "strategies",
    "federations": "strategies",
    "participation_arrays": "strategies",
    "participation_processes": "strategies",
    "quantity_values": "strategies",
    "values_of": "strategies",
    "weight_rules": "strategies",
}
_ERRORS = (
    "AlwaysParticipantError",
    "CutoffIgnoredError",
    "EquivarianceError",
    "FirstParticipationError",
    "IntervalResetError",
    "InvalidWeightError",
    "LongRunMeanError",
    "LookAheadError",
    "MutatedStateError",
    "NeverParticipantError",
    "SharedStateError",
    "StreamingBatchError",
    "VarianceScaleError",
    "WeightBoundsError",
)
_HOMES |= dict.fromkeys(_ERRORS, "errors")
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
