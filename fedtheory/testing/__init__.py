"""For authors of participation processes and weight rules: test what you plug in.

`check_weight_estimator` needs nothing but numpy and scipy. The hypothesis strategies (`participation_arrays`,
`participation_processes`, `federations`, `weight_rules`, `quantity_values`, `values_of`, `claim_values`) need
hypothesis, which comes with the extra ``test``. Members load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .checks import check_weight_estimator as check_weight_estimator
    from .errors import AlwaysParticipantError as AlwaysParticipantError
    from .errors import CutoffIgnoredError as CutoffIgnoredError
    from .errors import EquivarianceError as EquivarianceError
    from .errors import FirstParticipationError as FirstParticipationError
    from .errors import IntervalResetError as IntervalResetError
    from .errors import InvalidWeightError as InvalidWeightError
    from .errors import LongRunMeanError as LongRunMeanError
    from .errors import LookAheadError as LookAheadError
    from .errors import MutatedStateError as MutatedStateError
    from .errors import NeverParticipantError as NeverParticipantError
    from .errors import PropertyError as PropertyError
    from .errors import SharedStateError as SharedStateError
    from .errors import StreamingBatchError as StreamingBatchError
    from .errors import VarianceScaleError as VarianceScaleError
    from .errors import WeightBoundsError as WeightBoundsError
    from .strategies import claim_values as claim_values
    from .strategies import federations as federations
    from .strategies import participation_arrays as participation_arrays
    from .strategies import participation_processes as participation_processes
    from .strategies import quantity_values as quantity_values
    from .strategies import values_of as values_of
    from .strategies import weight_rules as weight_rules

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
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES | dict.fromkeys(_ERRORS, "errors"))
