"""The subject of SAFARI's runs and rounds, which draws and reads examples, and one example."""

from fractions import Fraction

from ...algorithms import safari
from ...claims.statement import Claim
from ...federations import Quadratic
from ...participation import Fixed
from ...setting import Setting
from ...subjects.run_subject import PARTS
from .examples.server_run_search import ServerRuns
from ..paper import Example
from .exclusions import SafariRuns

SUBJECTS = {"safari": SafariRuns("safari", PARTS["safari"], ServerRuns)}


def example(claim: Claim) -> Example:
    """Two clients at 1 and -1, of which the first alone ever takes part, in half of the rounds; with the step sizes of
    Theorems 4 and 5, which are the same where smoothness and strong convexity are."""
    local_lr = Fraction(1, 400)
    tie = Fraction(1, 2)
    algorithm = safari(local_lr=local_lr, server_lr=local_lr * tie, client_round_probability=Fraction(1, 2))
    stated = {
        "step_constant": 1.0,
        "least_server_gradient": 1e-3,
        "least_arbitrary_pseudogradient": 1e-3,
        "peak_server_gradient": 10.0,
        "peak_arbitrary_pseudogradient": 10.0,
        "least_client_progress": -1.0,
        "peak_client_progress": 1.0,
        "least_gradient": 1e-3,
    }
    stated = {name: value for name, value in stated.items() if name in claim.quantities}
    return Example(Setting(Quadratic.common_hessian([1, -1]), algorithm, Fixed([0]), start=3), 1000, stated)
