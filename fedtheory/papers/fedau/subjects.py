"""The subject of FedAU's runs and rounds, which draws and reads examples, and one example."""

from ...algorithms import constant_weights, fedau
from ...claims.statement import Claim
from ...federations import Quadratic
from ...participation import Bernoulli
from ...setting import Setting
from ..paper import Example
from .exclusions import EstimatedWeights

SUBJECTS = {"fedau": EstimatedWeights()}


def example(claim: Claim) -> Example:
    """Two clients at 1 and -1, of which the first takes part twice as often; their weights are estimated with a cutoff,
    or are 1 where the claim is about constant ones."""
    constant = "update_weight" in claim.quantities
    if constant:
        algorithm = constant_weights(aggregation_weight=[1, 1], local_lr="1/400")
    else:
        algorithm = fedau(cutoff=2, local_lr="1/400")
    setting = Setting(Quadratic.common_hessian([1, -1]), algorithm, Bernoulli(["1/2", "1/4"]), start=3)
    stated = {"global_gradient_bound": 10.0} if "global_gradient_bound" in claim.quantities else {}
    return Example(setting, 100 if constant else 8, stated)
