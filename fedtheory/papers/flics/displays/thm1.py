"""The displays of the proof of Theorem 1 (appendix B), in the paper's order, and Corollary 1.1.

V plays E|sum_i p_i sum_k grad F_i(w^k)|^2, spread the mean over the rounds of the selection's covariance terms.
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import at_least, capped, count, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import nonnegative_step, same
from ...fast.displays.symbols import gram
from .symbols import G, K, L, M, P, T, c, e, eta, eta_L, half, one, setting, sigma, sigma_G, spread, z

g, X, Y = vectors("g X Y")
F_0, F_1, F_2, F_star, falls, fall, A_1, A_2, V, bracket, least, excess = sympy.symbols(
    "F_0 F_1 F_2 F_star falls fall A_1 A_2 pseudogradient bracket least excess"
)
product, tau = sympy.symbols("product tau")
noise, bias = sigma**2, sigma_G**2

_drift = 5 * e * eta_L**3 * L**2 * K**2 * M * P / 2 * (noise + 6 * K * bias)
_lemma_5 = e * eta_L * K / 2 * (1 + 30 * z**2 * M * P) * norm2(g) + _drift - e * eta_L / (2 * K) * V
_lemma_7 = e**2 * eta_L**2 * K * noise * P + eta_L**2 * e**2 * V + eta_L**2 * (noise + G**2) * spread
_rate = eta * eta_L * K * e
_floors = (
    e**2 * eta**2 * eta_L**2 * L * K * noise * P / 2 + eta * _drift
    + L * eta**2 * eta_L**2 / 2 * (noise + G**2) * spread
)  # fmt: skip
_bracket = e**2 * eta_L**2 * eta**2 * L / 2 - e * eta * eta_L / (2 * K)
_first_bound = -_rate * (half - 15 * z**2 * M * P) * norm2(g) + _floors + _bracket * V
_selection = L * eta**2 * eta_L**2 / 2 * (noise + G**2) * T * spread
_in_C = L * eta * eta_L / (2 * K * c * e) * (noise + G**2) * T * spread
_cap = setting(capped("global_lr", 1 / (K * L * eta_L)))

PRINTED = (
    same("flics.1.added", "after (9)", "-epsilon^ eta eta_L K grad f added and subtracted",
         [(eta * dot(g, X), -_rate * norm2(g) + eta * dot(g, X + e * eta_L * K * g))]),
    Step("flics.1.lemmas", "first bound", "Lemma 5 bounds A_1 and Lemma 7 bounds A_2", "lemma", expected="unknown",
         rests_on=("flics.5.definition", "flics.5.lemma4", "flics.5.statement", "flics.5.fifteen", "flics.7.groups",
                   "flics.7.split", "flics.7.lemma6", "flics.7.one_step", "flics.7.signs", "flics.7.noise",
                   "flics.7.last", "flics.4.equality", "flics.4.ratio")),
    # fall = f(w^t) - E f(w^{t+1}); A_1, A_2 as in the paper
    gram("flics.1.bound", "first bound", "with both lemmas, where the last bracket has the sign +",
         fall + _first_bound,
         given=((fall - _rate * norm2(g) + eta * A_1 + L * eta**2 / 2 * A_2, one), (_lemma_5 - A_1, eta),
                (_lemma_7 - A_2, L * eta**2 / 2)), where=setting(), rests_on=("flics.descent", "flics.1.added")),
    same("flics.1.sign", "first bound", "the bracket has the sign -",
         [(-bracket, bracket)], expected="gap", repaired_by=("flics.1.bound",)),
    nonnegative_step("flics.1.bracket", "second bound", "the bracket is at most 0 where eta eta_L <= 1/(K L)",
                     -_bracket, _cap, expected="gap", why="it takes eta eta_L <= 1/(epsilon^ K L)"),
    # product = M sum p^2 >= 1, squared_step = z^2
    nonnegative_step("flics.1.constant", "second bound", "1/2 - 15 z^2 M sum p_i^2 >= 0 where z <= 1/(sqrt(30) M sum "
                     "p_i^2), since M sum p_i^2 >= 1 (where both are equalities it is 0, and there is no c > 0)",
                     half - 15 * sympy.Symbol("squared_step") * product,
                     region(capped("squared_step", 1 / (30 * product**2)), at_least("product", one))),
    gram("flics.1.second", "second bound", "the bound with c, and without the bracket, follows",
         fall - _rate * c * norm2(g) + _floors,
         given=((fall + _first_bound, one), (-_bracket * V, one), ((half - 15 * z**2 * M * P - c) * norm2(g), _rate)),
         where=setting(positive("descent_constant")), expected="unknown",
         rests_on=("flics.1.bound", "flics.1.bracket")),
    gram("flics.1.telescope", "third display", "the decreases add up to f(w^0) - E f(w^T) <= f(w^0) - f(w*)",
         F_0 - F_star - falls - (F_1 - F_2), given=((F_2 - F_star, one),), zero=((falls - (F_0 - F_1), -one),),
         kind="induction"),
    # all T - 1 squares equal
    nonnegative_step("flics.1.rounds", "third display", "the least of the T - 1 squares of rounds 1 to T - 1 is at "
                     "most their sum over T", (T - 1) * least / T - least,
                     region(count("rounds", 2), positive("least")), expected="gap",
                     repaired_by=("flics.1.all_rounds",)),
    nonnegative_step("flics.1.all_rounds", "third display", "the least of the T squares of rounds 0 to T - 1 is at "
                     "most their sum over T", (T * least + excess) / T - least,
                     region(count("rounds"), positive("least"), nonnegative("excess")), printed=False,
                     rests_on=("flics.1.telescope",)),
    same("flics.1.sorted", "third display", "eta eta_L K drawn out of the first two floors",
         [(T * (_floors - L * eta**2 * eta_L**2 / 2 * (noise + G**2) * spread),
           T * eta * eta_L * K * (L * eta * eta_L * e**2 * noise * P / 2
                                  + 5 * L**2 * e * eta_L**2 * K * M * P / 2 * (noise + 6 * K * bias)))]),
    nonnegative_step("flics.1.over_T", "C", "the sum over t is divided by T, as all else is: a T-th of it is no less "
                     "than what is printed", 1 / T - 1, region(count("rounds")), expected="gap",
                     repaired_by=("flics.1.over_T_weaker",)),
    nonnegative_step("flics.1.over_T_weaker", "C", "what is printed is T times what follows, hence no smaller",
                     _in_C - _selection / (_rate * c * T),
                     setting(count("rounds"), positive("descent_constant"), nonnegative("selection_variance")),
                     printed=False),
    nonnegative_step("flics.1.first", "last display", "the first term without 1/epsilon^, which only makes it larger",
                     1 / (c * eta * eta_L * K * T) - 1 / (_rate * c * T),
                     setting(count("rounds"), positive("descent_constant"))),
)  # fmt: skip

# eta_L = 1/(tau K L), eta = root, with tau^2 = T and root^2 = K M
_root = sympy.Symbol("root")
_chosen = {eta_L: 1 / (tau * K * L), eta: _root, T: tau**2}
_constant = _root / (2 * c * e * K**2) * (noise + G**2) * spread
_fourth = L * eta * eta_L / (2 * K * c * e) * (noise + G**2) * spread

COROLLARY = (
    Step("flics.1.rate", "Corollary 1.1", "with eta_L = 1/(sqrt(T) K L) and eta = sqrt(K M) the last term of C, which "
         "is a constant times tau = sqrt(T), is at most that constant over tau", "polynomial",
         (Identity((T * _fourth).subs(_chosen), _constant * tau),
          Nonnegative(1 / tau - tau, (region(at_least("tau", one)),))), "the 1/T is missing", "gap",
         repaired_by=("flics.1.rate_with_1/T",)),
    same("flics.1.rate_with_1/T", "Corollary 1.1", "with the 1/T that C lacks, its last term falls like 1/sqrt(T)",
         [(_fourth.subs(_chosen), _constant / tau)], printed=False),
)  # fmt: skip

ALL = (*PRINTED, *COROLLARY)
