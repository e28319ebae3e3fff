"""Constants that an O(.), or the word "constant", hides: one rule for every claim that has them.

The paper does not say on what such a constant may depend. Read as the same number for all problems, the claim falls by
one instance for which no reasonable number is enough. Read as any number of the problem, no single instance decides it.
So both readings are open (``may_depend_on_the_problem``), unless the claim says in ``constants`` why not:

- the rate displays what an instance varies: that the constant does not depend on it is then claimed;
- along a family of instances the problem stays and left/right grows without bound, so that none of its constants will
  do (a paper's ``families``);
- its terms have the constants as numbers, and nothing refutes it with these that keeps the conventions on noise;
- its constant is a letter of the statement, which is proved whatever number that is.
"""

from __future__ import annotations

from . import readings
from .statement import Ambiguity, Claim

HIDDEN = "hidden_constant"


def may_depend_on_the_problem(why: str) -> Ambiguity:
    """Return the ambiguity of every O(.): its constants are the same for all problems, or may depend on the problem.

    >>> may_depend_on_the_problem("O(1/T)").beyond
    ('may depend on the problem',)
    """
    options = (readings.UNIFORM, readings.OF_THE_PROBLEM)
    return Ambiguity(readings.CONSTANTS, options, why, beyond=(readings.OF_THE_PROBLEM,))


def has_hidden_constants(claim: Claim) -> bool:
    """Whether a claim prints an O(.) or an unnamed constant.

    >>> from fedtheory.papers import claim
    >>> has_hidden_constants(claim("flics.eq7.e")), has_hidden_constants(claim("flics.thm1"))
    (True, False)
    """
    return bool(claim.rates) or HIDDEN in claim.quantities


def unsaid(claim: Claim) -> str:
    """Say what a claim leaves open about its hidden constants; "" where it keeps the rule.

    >>> from dataclasses import replace
    >>> from fedtheory.papers import claim
    >>> unsaid(claim("flics.eq7.e")), unsaid(replace(claim("flics.eq7.e"), ambiguities=()))
    ('', 'flics.eq7.e@main: on what the constants of its O(.) may depend')
    """
    open_readings = any(a.name == readings.CONSTANTS and len(a.options) > 1 for a in claim.ambiguities)
    if has_hidden_constants(claim):
        settled = open_readings or claim.constants
        return "" if settled else f"{claim.ref}: on what the constants of its O(.) may depend"
    return f"{claim.ref}: where the constants are of which it speaks" if open_readings or claim.constants else ""
