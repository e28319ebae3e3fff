from . import algorithms as algorithms
from . import claims as claims
from . import data as data
from . import diagnosis as diagnosis
from . import evidence as evidence
from . import federations as federations
from . import learning as learning
from . import moments as moments
from . import neural as neural
from . import papers as papers
from . import participation as participation
from . import proof as proof
from . import report as report
from . import selection as selection
from . import simulation as simulation
from . import subjects as subjects
from . import testing as testing
from . import weights as weights
from . import worstcase as worstcase
from .diagnosis.diagnosis import diagnose as diagnose
from .evidence.referee import referee as referee
from .evidence.refute import refute as refute
from .evidence.verify import verify as verify
from .papers import claim as claim
from .report.bound_figures import plot as plot
from .setting import Setting as Setting

__version__: str
