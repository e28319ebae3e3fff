r"""Consequences of the condition on q with minima over the rounds, for the runs that meet it.

With one local step, V = grad F_i(x_r) averaged over the participants obeys |V|^2 <= 3 |grad F|^2 + 3/2 sigma_G^2. Let s
and c be the means of |grad F|^2 over the server's and over the clients' rounds, of which G_1 <= s and G_2 <= 3 c + 3/2
sigma_G^2 hold. Multiplied out, the condition then gives

    (1 - q) s + q c >= q sigma_G^2 / 6,

whatever the step is: a floor for what the theorem bounds, however many rounds there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy import Rational, oo

from ...claims import readings
from ...claims.statement import Claim, slack_of
from ...functionals import AVERAGE_SQUARED_GRADIENT
from ...proof.positivity import Certificate, prove
from ...proof.symbol_regions import count, interval, nonnegative, positive, region
from ...quantities import bare
from ...subjects.run_subject import RunSubject

MINIMA = ("least_server_gradient", "least_arbitrary_pseudogradient")
FLOOR = Rational(1, 6)
"""Floor of the mean of |grad F|^2, in units of q sigma_G^2."""

_G1, _G2, _q, _sigma, _K = sympy.symbols((*MINIMA, "client_round_probability", "dissimilarity", "local_steps"))
_s, _c, _above, _more = sympy.symbols("server_mean client_mean above more")
_region = region(
    ("server_mean", _G1 + _above, {"above": "nonnegative"}),
    ("client_mean", (_G2 - Rational(3, 2) * _sigma**2) / 3 + _more, {"more": "nonnegative"}),
    *map(nonnegative, MINIMA), interval("client_round_probability"), nonnegative("dissimilarity"),
    positive("server_lr"), positive("smoothness"), count("local_steps"),
)  # fmt: skip


class SafariRuns(RunSubject):
    """Subject of SAFARI's runs, which knows what conditions on minima over their rounds exclude."""

    def findings(self, claim: Claim) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield (name, sentence, evidence) where such a condition leaves no run of many rounds."""
        if not {*MINIMA} <= {*claim.quantities} or claim.functional != AVERAGE_SQUARED_GRADIENT:
            return
        steps = [name for name in ("server_lr",) if name not in claim.choices]
        condition = claim.hypothesis("q_condition")
        options = {readings.PRODUCT, readings.PRODUCT_ETA_S} & {*condition.alternatives}
        proofs = [_floor(slack_of(condition.alternatives[option])) for option in sorted(options)]
        found = [proof for proof in proofs if isinstance(proof, Certificate)]
        if not found or len(found) < len(proofs) or not _vanishes(claim, steps):
            return
        small = f" and small {' and '.join(steps)}" if steps else ""
        yield (
            "excludes_long_runs",
            (
                f"with one local step, {condition.name} forces the mean of |grad F|^2 over the rounds to be at least "
                f"client_round_probability * dissimilarity^2 * {FLOOR}, while the bound goes to 0: where both numbers "
                f"are fixed and not 0, no run of many rounds{small} meets it"
            ),
            {"hypothesis": condition.name, "least": str(FLOOR), "certificates": [proof.to_json() for proof in found]},
        )


def _floor(slack: sympy.Expr) -> object:
    """A certificate that the mean is above the floor by a share of the condition's slack, at one local step."""
    mean = (1 - _q) * _s + _q * _c
    return prove(mean / FLOOR - _q * _sigma**2 - bare(slack).subs(_K, 1), _region, samples=0)


def _vanishes(claim: Claim, steps: list[str]) -> bool:
    """Whether the right side goes to 0 with many rounds, then small steps."""
    bound = bare(claim.right_side)
    bound = bound.xreplace({s: sympy.Symbol(s.name, positive=True) for s in bound.free_symbols})
    for name, to in (("rounds", oo), *((name, 0) for name in steps)):
        bound = sympy.limit(bound, sympy.Symbol(name, positive=True), to)
    return bound == 0
