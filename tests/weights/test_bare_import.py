"""Weights need numpy and scipy only."""

import subprocess
import sys

PROGRAM = """
import sys
for name in ("torch", "sympy", "flint", "cvxpy", "hypothesis", "matplotlib", "pydantic", "sklearn", "mpmath"):
    sys.modules[name] = None
import fedtheory.weights as w
w.FedAU(3).batch([[0], [1]]), w.weight_moments(0.1, 3, 9).average_error(), w.best_cutoff(0.1, 9)
w.average_participating_objective([0.1, 0.5]), w.markov_weight_moments(0.5, 0.25, 3, 9)
from fedtheory.testing import check_weight_estimator
assert not [name for name in sys.modules if name.startswith("fedtheory.claims")]
print("ran")
"""


def test_weights_need_numpy_and_scipy_only():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "ran", done.stderr
