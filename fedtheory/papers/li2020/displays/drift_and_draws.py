"""Lemmas 3 to 5: the drift of clients in a round, and what drawing some of them adds.

first is eta at the round's first step; j steps after it a client has moved by B, and c = wbar there less wbar then.
z = v_k - vbar of client k, T a sum of such z over draws, d = wbar - vbar.
"""

from __future__ import annotations

import sympy

from fedtheory.assumptions import INDEPENDENT_DRAWS
from fedtheory.proof.gram import dot, norm2, vectors
from fedtheory.proof.symbol_regions import at_least, capped, count, equal, nonnegative, positive, region
from fedtheory.proof.steps import Nonnegative, Step
from fedtheory.proof.write import given, nonnegative_step, same

from .symbols import E, G, N, S, V, eta, gram, j, one, step_size, t, vectors_check

a, c, d, g, y, z, B, T = vectors("a c d g y z B T")
first, squares, spread, sum_squared = sympy.symbols("first squares spread sum_squared")

_decaying = region(at_least("first", eta), nonnegative("local_lr"), nonnegative("gradient_bound"))
_moving = region(count("j"), nonnegative("first"), nonnegative("gradient_bound"))
_halved = region(capped("first", 2 * eta), positive("local_lr"), at_least("local_steps", j + 1), nonnegative("j"),
                 nonnegative("gradient_bound"), count("arbitrary_cohort"))  # fmt: skip

_TWO_OR_MORE = (
    (at_least("clients", S + 1), count("arbitrary_cohort")),
    (equal("clients", S), count("arbitrary_cohort", 2)),
)
"""S <= N and N >= 2."""

LEMMA_3 = (
    given("li2020.synchronised", "algorithm", "right after a synchronisation all clients' models are equal"),
    gram("li2020.moved_once", "Lemma 3", "E|eta g|^2 <= first^2 G^2 for eta <= first",
         first**2 * G**2 - norm2(eta * g), given=((G**2 - norm2(g), eta**2),), where=_decaying),
    Step("li2020.moved", "Lemma 3", "j steps after a synchronisation E|w_k - wbar then|^2 <= j^2 first^2 G^2, by "
         "induction", "induction",
         (vectors_check((j + 1) ** 2 * first**2 * G**2 - norm2(B + a),
                        ((j**2 * first**2 * G**2 - norm2(B), 1 + 1 / j), (first**2 * G**2 - norm2(a), 1 + j)),
                        where=_moving),),
         rests_on=("li2020.synchronised", "li2020.moved_once")),
    gram("li2020.centred", "Lemma 3", "the mean by p_k of |w_k - wbar|^2 is at most that of |w_k - wbar then|^2",
         squares - V, zero=((V - squares + norm2(c), -one),)),
    nonnegative_step("li2020.halving", "Lemma 3", "eta at most halves in a round: first <= 2 eta, up to E steps later, "
                     "for s >= E", 2 * step_size(t + j) - step_size(t),
                     region(at_least("s", E), at_least("local_steps", j), nonnegative("j"), nonnegative("t"),
                            positive("strong_convexity"))),
    Step("li2020.lemma3", "Lemma 3", "V <= 4 eta^2 (E - 1)^2 G^2: j <= E - 1", "polynomial",
         (Nonnegative(4 * eta**2 * (E - 1) ** 2 * G**2 - j**2 * first**2 * G**2, (_halved,)),),
         rests_on=("li2020.moved", "li2020.centred", "li2020.halving")),
)  # fmt: skip

LEMMAS_4_AND_5 = (
    given("li2020.cohort", "Lemma 4", "who is drawn depends neither on the past nor on the round's noise: given "
          "all clients' models the expectation of wbar is vbar", assumes=(INDEPENDENT_DRAWS,)),
    nonnegative_step("li2020.spread", "Lemma 5", "the mean by p_k of E|v_k - vbar|^2 is at most 4 eta^2 E^2 G^2: E = "
                     "j + 1 steps", 4 * eta**2 * E**2 * G**2 - (j + 1) ** 2 * first**2 * G**2, _halved,
                     rests_on=("li2020.moved", "li2020.centred", "li2020.halving")),
    Step("li2020.with_replacement", "Lemma 5", "S independent draws by p_k: E|wbar - vbar|^2 <= 4 eta^2 E^2 G^2/S, by "
         "induction over the draws", "induction",
         (vectors_check((j + 1) * spread - norm2(T + z), ((j * spread - norm2(T), one), (spread - norm2(z), one)),
                        ((dot(T, z), -2 * one),), where=region(nonnegative("j"))),
          vectors_check(4 * eta**2 * E**2 * G**2 / S - norm2(T / S),
                        ((4 * eta**2 * E**2 * G**2 - spread, 1 / S), (S * spread - norm2(T), 1 / S**2)))),
         rests_on=("li2020.cohort", "li2020.spread")),
    # of S of N: client k is drawn with probability S/N, k and l with S (S - 1)/(N (N - 1)); the z_k sum to 0
    same("li2020.indicators", "Lemma 5", "S of N without replacement: E|wbar - vbar|^2 = (N - S)/(S (N - 1)) times the "
         "mean of |v_k - vbar|^2",
         [((S / N * N * spread + S * (S - 1) / (N * (N - 1)) * (0 - N * spread)) / S**2,
           (N - S) / (S * (N - 1)) * spread)], rests_on=("li2020.cohort",)),
    Step("li2020.without_replacement", "Lemma 5", "S of N without replacement: E|wbar - vbar|^2 <= (N - S)/(N - 1) "
         "4 eta^2 E^2 G^2/S", "polynomial",
         tuple(vectors_check((N - S) / (N - 1) * 4 * eta**2 * E**2 * G**2 / S - (N - S) / (S * (N - 1)) * norm2(z),
                             ((4 * eta**2 * E**2 * G**2 - norm2(z), (N - S) / (S * (N - 1))),),
                             where=region(*two_or_more, count("local_steps"), nonnegative("local_lr"),
                                          nonnegative("gradient_bound")))
               for two_or_more in _TWO_OR_MORE),
         rests_on=("li2020.indicators", "li2020.spread")),
    gram("li2020.drawn", "Theorem 2", "E|wbar - w*|^2 = E|vbar - w*|^2 + E|wbar - vbar|^2",
         norm2(y) + norm2(d) - norm2(y + d), zero=((dot(y, d), -2 * one),), rests_on=("li2020.cohort",)),
)  # fmt: skip
