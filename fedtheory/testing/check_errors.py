"""Errors that the checks raise: one class for each property."""

from __future__ import annotations

import numpy as np


class PropertyError(AssertionError):
    """Raised if a property does not hold; carries a small example.

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
    """Raised if weights are not positive finite numbers, one for each client."""

    what = "weights are positive finite numbers, one for each client"


class LookAheadError(PropertyError):
    """Raised if the weight of round t depends on participation in round t or later."""

    what = "the weight of round t depends on rounds before t only"


class StreamingBatchError(PropertyError):
    """Raised if the weights computed step by step differ from those of the batch."""

    what = "step by step and in batch the weights are the same"


class MutatedStateError(PropertyError):
    """Raised if a run changes the rule or the state that it was given."""

    what = "a run leaves nothing behind: neither in the rule nor in the state it was given"


class SharedStateError(PropertyError):
    """Raised if the weight of a client depends on the participation of another one."""

    what = "the weight of a client depends on its own participation only"


class EquivarianceError(PropertyError):
    """Raised if renumbering the clients does more than renumber their weights."""

    what = "renumbering the clients renumbers their weights"


class StateOnTheRuleError(PropertyError):
    """Raised if two runs of one rule affect each other, in turns or one after the other."""

    what = "a run's state is in its state alone: two runs of one rule in turns, or one after the other, do not meet"


class ChangedInputError(PropertyError):
    """Raised if a rule changes the participation array that it is given."""

    what = "the participation that a rule is given stays as it is"


class MixedReplicasError(PropertyError):
    """Raised if a replica has other weights in a batch (rounds, replicas, clients) than alone."""

    what = "in a batch (rounds, replicas, clients) each replica has the weights that it has alone"


class MaskTypeError(PropertyError):
    """Raised if the weights depend on whether participation is given as bool, integers or floats."""

    what = "participation as bool, integers or floats makes the same weights"


class CountOfTwoError(PropertyError):
    """Raised if a count of 2 is neither one participation, nor two draws, nor refused."""

    what = "a client that is drawn twice in a round took part in it: it counts once, or as two draws, or is refused"


class CounterError(PropertyError):
    """Raised if a weight gets worse with more rounds of the same participation, as when a counter overflows."""

    what = "counters are wide enough: with more rounds of the same participation a weight gets no worse"


class StoppedLearningError(PropertyError):
    """Raised if a rule no longer adapts the weight of a client that changes its habits late."""

    what = "a rule that learns goes on learning: a client that changes its habits late changes its weight"


class AlwaysParticipantError(PropertyError):
    """Raised if a client that takes part in every round has a weight other than 1."""

    what = "a client that takes part in every round has weight 1"


class FirstParticipationError(PropertyError):
    """Raised if a first participation in round s does not make the weight s + 1, in the next round and not before."""

    what = "the first participation, in round s, makes the weight s + 1 in the next round, and not before"


class IntervalResetError(PropertyError):
    """Raised if participation every d rounds does not make the weight d."""

    what = "an interval begins where the last one ended: participation every d rounds makes the weight d"


class CutoffIgnoredError(PropertyError):
    """Raised if a client that never takes part keeps the weight 1 after ``cutoff`` rounds."""

    what = "after `cutoff` rounds of absence the weight of a client that never took part is `cutoff`, not 1"


class NeverParticipantError(PropertyError):
    """Raised if the weight of a client that never takes part is not 1 for ``cutoff`` rounds, then ``cutoff``."""

    what = "the weight of a client that never takes part is 1 for `cutoff` rounds, then `cutoff`"


class CutoffParticipationError(PropertyError):
    """Raised if a participation in the round of the cutoff changes the weight."""

    what = "a round that is both a participation and the cutoff ends one interval, as the cutoff alone does"


class IntervalOrderError(PropertyError):
    """Raised if the order of the intervals matters to a rule whose long-run variance is 0."""

    what = "all intervals count alike: their order changes nothing, as the rule's long-run variance of 0 says"


class IntervalAverageError(PropertyError):
    """Raised if the weight differs from the average of intervals that all count alike."""

    what = "the weight of intervals that all count alike is their average"


class WeightBoundsError(PropertyError):
    """Raised if an average of intervals lies below 1 or above the cutoff."""

    what = "the weight, an average of intervals, lies between 1 and the cutoff"


class LongRunMeanError(PropertyError):
    """Raised if the long-run mean of weight x participation is not 1, or not what the cutoff implies."""

    what = "what a client's updates count, weight x participation, is 1 in the long run (less where a cutoff says so)"


class DependentMeanError(LongRunMeanError):
    """Raised if the long-run mean of weight x participation is wrong for rounds that are dependent or differ."""

    what = "also where rounds depend on each other or differ, weight x participation is 1 in the long run"


class VarianceScaleError(PropertyError):
    """Raised if the variance of the weight under Bernoulli participation is not what the rule states.

    A stated variance of 0 means that the variance falls like 1/t.
    """

    what = "under Bernoulli participation the variance of the weight falls like 1/t, or tends to what the rule says"


# Participation processes --------------------------------------------------------------------------------------------


class CountsError(PropertyError):
    """Raised if counts have a wrong type or shape, are negative, or do not add up to a stated size."""

    what = "counts are int8, one for each replica and client, not below 0, and as many as sizes and cohort say"


class UnkeyedDrawsError(PropertyError):
    """Raised if a process draws something else for the same seed, replicas and rounds."""

    what = "asked again for the same seed, replicas and rounds, a process draws the same"


class BatchPlaceError(PropertyError):
    """Raised if draws depend on a replica's place in the batch or on the other replicas in it."""

    what = "draws depend on a replica's number, not on its place in the batch or on what shares it"


class ChunkError(PropertyError):
    """Raised if rounds drawn together differ from rounds drawn one by one."""

    what = "rounds drawn together are those drawn one by one"


class FarRoundError(PropertyError):
    """Raised if a round that is reached at once differs from the one reached step by step."""

    what = "a round that is reached at once is the one that is reached step by step"


class ResumeError(PropertyError):
    """Raised if a state that was kept goes on differently, as when a step changes it."""

    what = "a state that was kept goes on as it would have: a step leaves it, and the process, as they are"


class DeterminismError(PropertyError):
    """Raised if a process states wrongly whether it is deterministic."""

    what = "a process says rightly whether it is deterministic"


class MomentsError(PropertyError):
    """Raised if the moments that a process states are not the moments of its draws."""

    what = "the moments that a process states are those of its draws"


class RoundCovarianceError(PropertyError):
    """Raised if the dependence between rounds is not what the process states."""

    what = "rounds depend on each other as the process says, or not"


class ReplicaCovarianceError(PropertyError):
    """Raised if replicas are correlated."""

    what = "replicas are independent"


# Algorithms ---------------------------------------------------------------------------------------------------------


class ReplicaBatchError(PropertyError):
    """Raised if a replica alone runs differently than in a batch."""

    what = "a replica runs alone as it does in a batch"


class AlikeReplicasError(PropertyError):
    """Raised if replicas share their participants or their noise."""

    what = "replicas have participants and noise of their own"


class EmptyRoundError(PropertyError):
    """Raised if the model moves in a round in which nobody takes part."""

    what = "a round in which nobody takes part leaves the model where it is"


class PrecisionError(PropertyError):
    """Raised if single precision differs from double precision by more than rounding."""

    what = "single precision differs from double by rounding"


class StoppedRunError(PropertyError):
    """Raised if a run that was stopped and resumed differs in any bit from one that was not."""

    what = "a run that was stopped goes on with the same bits"


class RenamedClientsError(PropertyError):
    """Raised if another numbering of the clients changes a run."""

    what = "the names of the clients do not matter"


class SimulatedMomentsError(PropertyError):
    """Raised if exact moments disagree with the averages of simulated runs."""

    what = "exact moments are those of simulated runs"


class FixedPointError(PropertyError):
    """Raised if a run with clients of one curvature does not settle at the minimiser of its objective."""

    what = "with clients of one curvature a run settles at the minimiser of its objective"
