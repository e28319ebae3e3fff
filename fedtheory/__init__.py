"""fedtheory: theorems about federated learning, made executable.

Members load on first use, so that ``import fedtheory`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazily

if TYPE_CHECKING:
    from . import algorithms as algorithms
    from . import claims as claims
    from . import data as data
    from . import evidence as evidence
    from . import federations as federations
    from . import moments as moments
    from . import papers as papers
    from . import participation as participation
    from . import proof as proof
    from . import report as report
    from . import selection as selection
    from . import simulation as simulation
    from . import subjects as subjects
    from . import testing as testing
    from . import weights as weights
    from .evidence.referee import referee as referee
    from .evidence.refute import refute as refute
    from .evidence.verdict import verify as verify
    from .papers import claim as claim
    from .report.bounds import plot as plot
    from .setting import Setting as Setting

__version__ = "0.1.0"

_PACKAGES = (
    "algorithms", "claims", "data", "evidence", "federations", "moments", "papers", "participation", "proof", "report",
    "selection", "simulation", "subjects", "testing", "weights",
)  # fmt: skip
_MEMBERS = {
    "Setting": "setting",
    "claim": "papers",
    "plot": "report.bounds",
    "referee": "evidence.referee",
    "refute": "evidence.refute",
    "verify": "evidence.verdict",
}
__getattr__, __dir__, __all__ = lazily(__name__, dict.fromkeys(_PACKAGES, "") | _MEMBERS)
