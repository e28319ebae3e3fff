"""What a check found wrong: one class a property."""

from __future__ import annotations

import numpy as np


class PropertyError(AssertionError):
    """A property that does not hold, with a small example.

    Attributes:
        history: the participation that shows it, (rounds, clients) of 0 and 1; None if it takes many histories.
        expected, got: what the property asks for, and what came back.
    """

    what = "a property does not hold"

    def __init__(self, expected: object, got: object, history: np.ndarray | None = None) -> None:
        self.history, self.expected, self.got = history, expected, got
        shown = "" if history is None else f" for the participation {_short(history)}"
        super().__init__(f"{self.what}{shown}: expected {_short(expected)}, got {_short(got)}")


def _short(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return str(value)
    if value.ndim == 2 and value.shape[1] == 1:
        value = value[:, 0]
    shown = np.where(value, 1, 0) if value.dtype == bool else np.round(value, 6)
    return np.array2string(shown, separator=", ", threshold=80, max_line_width=10_000).replace("\n", "")


class InvalidWeightError(PropertyError):
    what = "weights are positive finite numbers, one for each client"


class LookAheadError(PropertyError):
    what = "the weight of round t depends on rounds before t only"


class StreamingBatchError(PropertyError):
    what = "step by step and in batch the weights are the same"


class MutatedStateError(PropertyError):
    what = "a run leaves nothing behind: neither in the rule nor in the state it was given"


class SharedStateError(PropertyError):
    what = "the weight of a client depends on its own participation only"


class EquivarianceError(PropertyError):
    what = "renumbering the clients renumbers their weights"


class AlwaysParticipantError(PropertyError):
    what = "a client that takes part in every round has weight 1"


class FirstParticipationError(PropertyError):
    what = "the first participation, in round s, makes the weight s + 1 in the next round, and not before"


class IntervalResetError(PropertyError):
    what = "an interval begins where the last one ended: participation every d rounds makes the weight d"


class CutoffIgnoredError(PropertyError):
    what = "after `cutoff` rounds of absence the weight of a client that never took part is `cutoff`, not 1"


class NeverParticipantError(PropertyError):
    what = "the weight of a client that never takes part is 1 for `cutoff` rounds, then `cutoff`"


class CutoffParticipationError(PropertyError):
    what = "a round that is both a participation and the cutoff ends one interval, as the cutoff alone does"


class IntervalOrderError(PropertyError):
    what = "all intervals count alike: their order changes nothing, as the rule's long-run variance of 0 says"


class WeightBoundsError(PropertyError):
    what = "the weight, an average of intervals, lies between 1 and the cutoff"


class LongRunMeanError(PropertyError):
    what = "under Bernoulli participation the mean weight tends to what the rule says"


class VarianceScaleError(PropertyError):
    what = "under Bernoulli participation the variance of the weight falls like 1/t, or tends to what the rule says"
