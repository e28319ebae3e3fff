"""What a check found wrong: one class a property."""

from __future__ import annotations

import numpy as np


class PropertyError(AssertionError):
    """A property that does not hold, with a small example.

    Attributes:
        history: the participation that shows it, (rounds, clients) of 0 and 1; None if it takes many histories.
        expected, got: what the property asks for, and what came back.
        told: where it was seen, in words.
    """

    what = "a property does not hold"

    def __init__(self, expected: object, got: object, history: np.ndarray | None = None, told: str = "") -> None:
        self.history, self.expected, self.got, self.told = history, expected, got, told
        shown = f" ({told})" if told else "" if history is None else f" for the participation {_short(history)}"
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


class StateOnTheRuleError(PropertyError):
    what = "a run's state is in its state alone: two runs of one rule in turns, or one after the other, do not meet"


class ChangedInputError(PropertyError):
    what = "the participation that a rule is given stays as it is"


class MixedReplicasError(PropertyError):
    what = "in a batch (rounds, replicas, clients) each replica has the weights that it has alone"


class MaskTypeError(PropertyError):
    what = "participation as bool, integers or floats makes the same weights"


class CountOfTwoError(PropertyError):
    what = "a client that is drawn twice in a round took part in it: it counts once, or as two draws, or is refused"


class CounterError(PropertyError):
    what = "counters are wide enough: with more rounds of the same participation a weight gets no worse"


class StoppedLearningError(PropertyError):
    what = "a rule that learns goes on learning: a client that changes its habits late changes its weight"


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


class IntervalAverageError(PropertyError):
    what = "the weight of intervals that all count alike is their average"


class WeightBoundsError(PropertyError):
    what = "the weight, an average of intervals, lies between 1 and the cutoff"


class LongRunMeanError(PropertyError):
    what = "what a client's updates count, weight x participation, is 1 in the long run (less where a cutoff says so)"


class DependentMeanError(LongRunMeanError):
    what = "also where rounds depend on each other or differ, weight x participation is 1 in the long run"


class VarianceScaleError(PropertyError):
    what = "under Bernoulli participation the variance of the weight falls like 1/t, or tends to what the rule says"


# Participation processes --------------------------------------------------------------------------------------------


class CountsError(PropertyError):
    what = "counts are int8, one for each replica and client, not below 0, and as many as sizes and cohort say"


class UnkeyedDrawsError(PropertyError):
    what = "asked again for the same seed, replicas and rounds, a process draws the same"


class BatchPlaceError(PropertyError):
    what = "draws depend on a replica's number, not on its place in the batch or on what shares it"


class ChunkError(PropertyError):
    what = "rounds drawn together are those drawn one by one"


class FarRoundError(PropertyError):
    what = "a round that is reached at once is the one that is reached step by step"


class ResumeError(PropertyError):
    what = "a state that was kept goes on as it would have: a step leaves it, and the process, as they are"


class DeterminismError(PropertyError):
    what = "a process says rightly whether it is deterministic"


class MomentsError(PropertyError):
    what = "the moments that a process states are those of its draws"


class RoundCovarianceError(PropertyError):
    what = "rounds depend on each other as the process says, or not"


class ReplicaCovarianceError(PropertyError):
    what = "replicas are independent"


# Algorithms ---------------------------------------------------------------------------------------------------------


class ReplicaBatchError(PropertyError):
    what = "a replica runs alone as it does in a batch"


class AlikeReplicasError(PropertyError):
    what = "replicas have participants and noise of their own"


class EmptyRoundError(PropertyError):
    what = "a round in which nobody takes part leaves the model where it is"


class PrecisionError(PropertyError):
    what = "single precision differs from double by rounding"


class StoppedRunError(PropertyError):
    what = "a run that was stopped goes on with the same bits"


class RenamedClientsError(PropertyError):
    what = "the names of the clients do not matter"


class SimulatedMomentsError(PropertyError):
    what = "exact moments are those of simulated runs"


class FixedPointError(PropertyError):
    what = "with clients of one curvature a run settles at the minimiser of its objective"
