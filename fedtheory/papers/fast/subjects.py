"""The subject of FAST's runs and rounds, which draws and reads examples, and one example."""

from ...algorithms import fast
from ...claims.statement import Claim
from ...federations import Quadratic
from ...participation import Fixed
from ...setting import Setting
from ...subjects.run_subject import PARTS, RunSubject
from ...subjects.run_search import Runs
from ..paper import Example

SUBJECTS = {"fast": RunSubject("fast", PARTS["fast"], Runs)}


def example(claim: Claim) -> Example:
    """Two clients at 1 and -1, of which the first takes part in the arbitrary half of the rounds."""
    algorithm = fast(cohort=2, snapshot_period=2, local_lr="1/100")
    stated = {"step_constant": 1.0, "young_parameter": 1.0}
    stated = {name: value for name, value in stated.items() if name in claim.quantities}
    return Example(Setting(Quadratic.common_hessian([1, -1]), algorithm, Fixed([0]), start=3), 1000, stated)
