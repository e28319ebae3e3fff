"""Instances that refute SAFARI's statements: two clients, of which one takes part; small learning problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from ...algorithms import safari
from ...claims.statement import Claim
from ...participation import Fixed
from ...subjects.protocol import Point
from ...subjects.file_entries import stated_constants
from ...subjects.families import Family
from .examples.learning_points import LearningPoint, stated
from .examples.learning_problems import Pooled, Thresholds
from ...subjects.run_points import RunPoint, run_point
from ...subjects.enclosures import with_steps
from ...subjects.run_subject import CLIENT, PARTS, SERVER
from ...subjects.values import ValuesPoint

ONE, HALF = Fraction(1), Fraction(1, 2)


def _pair(
    claim: Claim,
    curvature: Fraction,
    start: Fraction,
    rounds: int,
    order: tuple[str, ...] = (),
    apart: Fraction = ONE,
    q: Fraction = HALF,
    local_lr: Fraction | None = None,
    server_lr: Fraction | None = None,
) -> RunPoint:
    """Clients with minimisers 1 and -1 (times ``apart``), of which the first takes part in every client round, no
    noise."""
    none = dict.fromkeys(("gradient_noise", "server_noise"), Fraction(0))
    known = none | {"dissimilarity": curvature * apart}
    constants = {name: known.get(name, curvature) for name in stated_constants(claim)}
    algorithm = with_steps(safari, client_round_probability=q, local_lr=local_lr, server_lr=server_lr)
    clients = [[curvature]] * 2, [[apart], [-apart]], [start]
    return run_point(*clients, algorithm, Fixed([0]), rounds, constants, order, part=PARTS["safari"])


def far_pair(claim: Claim, server_lr: Fraction | None = None) -> RunPoint:
    """F = x^2/2, clients at 1 and -1, the first in every client round, x_0 = 2, server_lr = 1/100, R = 10^4.

    Here L = sigma_G = K = m = 1, and local_lr = 2 server_lr = 1/50 is below 1/(4 sqrt(30)) = 0.0456 in both readings of
    the root. The bound is 2 F(x_0)/(R server_lr) + 40 server_lr^2 6 = 0.04 + 0.024 = 0.064.

    Kinds drawn: E x_{r+1} = (1 - 3/200) E x_r + 1/100 decreases from 2 to 2/3, so that E|grad F|^2 >= (E x)^2 >= 4/9.
    In the order server, client, ...: x stays above its limit 198/298 before server rounds, and 198^2/298^2 > 0.44.

    The condition on q: G_1 = E x_0^2 = 4 is at the start, and so is G_2 = E(x_0 - 1)^2 = 1 (0.98^2 if a server round
    comes first; times 0.98^2 if local gradients are those at k = 1..K). With a = 1/100 or 1/100^2 the excess
    4 - 4 G_2 (1/2 - 2 a) is between 2 and 2.4, and (1 - 1/100) G_1 is 3.96: the bound on q is at least
    3.96/(2.4 + 3.96) > 0.6. The quotient divides by positive numbers, so the product says the same.
    """
    return _pair(claim, ONE, Fraction(2), 10**4, (SERVER, CLIENT), server_lr=server_lr)


def longer_pair(claim: Claim, rounds: int) -> RunPoint:
    """Return the pair of ``far_pair`` with the corollaries' server_lr a = 1/sqrt(R).

    No constant in place of the O(.) helps.

    E x_{r+1} = (1 - 3 a/2) E x_r + a decreases from 2 to 2/3; in the order server, client, ... x stays above its limit
    after server rounds, 2 (1 - a)/(3 - 2 a), and that is above 198/298 for a <= 1/100: the left side stays above 4/9
    or 0.44, while the bound has the factor 1/sqrt(R). The maxima G_1 and G_2 are those of the start, as there.
    """
    return _pair(claim, ONE, Fraction(2), rounds, (SERVER, CLIENT))


def steep_pair(claim: Claim, curvature: int, rounds: int, local_lr: Fraction | None = None) -> RunPoint:
    """F = h x^2/2, clients at s and -s, the first in every client round, x_0 = s, with s = 1000 as the unit of length
    here: L = mu = sigma_G = h.

    With rate = local_lr h/2 = server_lr h, a client round moves x a share 2 rate of the way to 1, a server round a
    share rate to 0. So E x_{r+1} = (1 - 3 rate/2) E x_r + rate decreases from 1 to 2/3, and E|x_R|^2 >= 4/9, while the
    bound is little more than (1 - rate)^R + 16 q rate.

    Every run stays between (1 - rate)^R and 1, so G_4/G_3 = (x - 2)/(2 h x) between its values there. The condition on
    q, at a ratio p, is q <= 1/(1 + (cost - 4 p/h)/gain), with the printed gain 1/(2 h) - rate/h^2 and the cost
    4 rate (1 + ...)/h^2 (without 1/h^2 in the appendix). As -4 p/h = 2 (2 - x)/(h^2 x), what is added to 1 is about
    4 (2 - x)/(h x), small for large h: the gain is too large by a factor h/2. With 1/(L mu) in place of 1/(L + mu) it
    is 2 (2 - x)/x, and q = 1/2 is refused below x = 4/3. The layout N/(1 + N/D) has N = 2 x (2 - x) s^2 up to little
    more, a squared length, which is large in these units.
    """
    s = Fraction(1000)
    return _pair(claim, Fraction(curvature), s, rounds, apart=s, local_lr=local_lr)


def diverging_clients(claim: Claim) -> RunPoint:
    """Return a run like ``diverging_server``'s in which every round is the clients'.

    Then x_1 = (1 - 10^4/2200) x_0 = -(39/11) x_0. The bound is 4.4 10^7, the squared gradient 10^8 at x_0 and more at
    x_1.
    """
    return _pair(claim, Fraction(10**4), ONE, 1, (CLIENT,), apart=Fraction(0), q=ONE, server_lr=Fraction(1, 4400))


def diverging_server(claim: Claim) -> RunPoint:
    """F = h x^2/2 with h = 10^4, identical clients, q = 0, server_lr = 1/4400, no noise, x_0 = 1, one round.

    With L K inside the root the cap on local_lr = 1/2200 is 1/(4 sqrt(30 h)) = 1/2190.9, although server_lr = 2.27/h:
    x_1 = -(14/11) x_0, and runs diverge. The bound is 2 F(x_0)/server_lr = 4.4 10^7, the squared gradient 10^8 at x_0.
    As a quotient the condition divides N = -4 G_2 (1/2 - 2 h/4400^2) < 0 by (1 - 2.27) G_1 < 0, so it allows q = 0;
    multiplied out, or with 2 L eta_s for 2 L eta_s^2, it does not. With the root of 30 alone the step is too large.
    """
    return _pair(
        claim, Fraction(10**4), ONE, 1, (SERVER,), apart=Fraction(0), q=Fraction(0), server_lr=Fraction(1, 4400)
    )


def _theorem_4(claim: Claim) -> RunPoint:
    return far_pair(claim, Fraction(1, 100))


def _theorem_5(claim: Claim) -> RunPoint:
    return steep_pair(claim, 1000, 3 * 10**5, local_lr=Fraction(2, 10**8))


# Section 3 -----------------------------------------------------------------------------------------------------------


def threshold_outside(claim: Claim) -> LearningPoint:
    """P = U[0, 1], Q = U[0, 1/2], the target at the end 1/2 of Q's support, and h_1: it errs on half of P and nowhere
    on Q. So no alpha is enough, and e_Q = 0 is not |1 - 1/2|/(1/2)."""
    return LearningPoint(Thresholds((Fraction(0), ONE), (Fraction(0), HALF), HALF, ONE), {})


def a_thousand_times_more(claim: Claim) -> ValuesPoint:
    """n_T = 10^4 and a thousand times as many client samples, beta = 1/2, beta_Q = 1: 10010000^(-1/2) is three times
    1/n_T. An improvement takes (n_T + n_S)^beta > n_T."""
    values = {
        "server_samples": Fraction(10**4),
        "client_samples": Fraction(10**7),
        "relatedness_exponent": HALF,
        "noise_exponent": ONE,
    }
    return ValuesPoint(values)


def unseen_half(claim: Claim, samples: int = 100) -> LearningPoint:
    """Two points of probability 1/2, labelled 0 and 1, the hypotheses 00 and 01, and n samples, delta = 2^-(n+1). They
    miss the second point with probability 2^-n > delta, and then nothing tells the two apart: they differ on half of
    the points and on no sample, and one that fits all samples errs on half of the points. So the left side is 1/4 for
    the deficit and 1/2 for (16) and (18), whatever n is.

    Inside the logarithm A = log(n + (n + 1) log(2)/n)/n, 0.0461 at n = 100, is all that is left of log(1/delta)/n,
    which is log(2) (n + 1)/n: constants below 5.4, and 10.8 for the sides of 1/2, are too small. As n grows A goes to 0
    while law, class and left side stay: no constant will do, even one of the law and of the class. Beside the logarithm
    A is above log(2).
    """
    law = ((HALF, Fraction(0)), (Fraction(0), HALF))
    return _of_two_points(claim, law, samples, samples + 1)


def seen_alone(claim: Claim, samples: int = 50) -> LearningPoint:
    """Return a problem like ``unseen_half``'s, with the second point of probability 1/4 and delta = 2^-(2n+1).

    All samples are of that point with probability 4^-n > delta. Then 00 and 01 differ on all of them, 1/2 more than
    twice 1/4. At n = 50 A is 0.0788.
    """
    law = ((Fraction(3, 4), Fraction(0)), (Fraction(0), Fraction(1, 4)))
    return _of_two_points(claim, law, samples, 2 * samples + 1)


def _of_two_points(claim: Claim, law: tuple[tuple[Fraction, ...], ...], samples: int, halvings: int) -> LearningPoint:
    """Half of the samples are the server's, half the clients', all of the same law; delta = 2^-``halvings``, and A is
    log(n + log(1/delta)/n)/n, rounded up in the fifth digit."""
    known = {
        "confidence": Fraction(1, 2**halvings),
        "hidden_constant": ONE,
        "noise_constant": ONE,
        "noise_exponent": ONE,
        "sample_complexity": _rounded_up(math.log(samples + halvings * math.log(2) / samples) / samples),
    }
    problem = Pooled(((0, 0), (0, 1)), law, law, samples - samples // 2, samples // 2)
    return LearningPoint(problem, {name: known[name] for name in stated(claim)})


def _rounded_up(complexity: float) -> Fraction:
    """Round up to five digits."""
    scale = 10 ** (5 - math.ceil(math.log10(complexity)))
    return Fraction(math.ceil(complexity * scale), scale)


def fair_coin(claim: Claim, samples: int = 10**8) -> LearningPoint:
    """One point, whose label under P is a fair coin, and the clients always see the label 1. There are twice as many
    client samples as the server's n, so that the minimiser is h_Q* = 1 and the condition holds for certain; both
    hypotheses are best under P. Their empirical risks differ by S/n, S the sum of n fair signs.

    No constant will do, even one of the laws and of the class, which stay as n grows: E S^2 = n and E S^4 <= 3 n^2, so
    that S^2 > n/4 with probability at least (3/4)^2/3 (Paley and Zygmund), and S > sqrt(n)/2 with probability at least
    3/32 > delta = 1/11. So the left side is above 1/(2 sqrt(n)) for every n, and A = log(11 n)/n, beside the logarithm,
    where it is larger for n >= 3: left/right is above sqrt(n)/(2 log(11 n)), which increases from n = 1 on and has no
    bound. At n = 10^8 it is above 240 by this, and 641 in fact.
    """
    constants = {
        "confidence": Fraction(1, 11),
        "hidden_constant": ONE,
        "sample_complexity": _rounded_up(math.log(11 * samples) / samples),
    }
    none = Fraction(0)
    problem = Pooled(((0,), (1,)), ((HALF, HALF),), ((none, ONE),), samples, 2 * samples)
    return LearningPoint(problem, constants)


def nothing_but_the_common_point(claim: Claim) -> LearningPoint:
    """Two points, labelled 0 and 1, and the hypotheses 00 and 01. The clients' 999 samples are all of the first point;
    the server has one, of either with probability 1/2. If it is of the first, both hypotheses fit everything: the
    excess risk is 1/2 with probability 1/2, as if there were no clients. P and Q are (999, 1)-positively related: with
    a constant that does not depend on alpha the bound falls, whatever the constant is, for enough client samples."""
    none = Fraction(0)
    target, clients = ((HALF, none), (none, HALF)), ((ONE, none), (none, none))
    constants = {
        "confidence": Fraction(1, 3),
        "hidden_constant": Fraction(10),
        "relatedness": Fraction(999),
        "relatedness_exponent": ONE,
        "noise_constant": ONE,
        "noise_exponent": ONE,
    }
    return LearningPoint(Pooled(((0, 0), (0, 1)), target, clients, 1, 999), constants)


def nearly_fair_coin(claim: Claim) -> LearningPoint:
    """One point with the label 1 with probability 127/250: the wrong hypothesis has the excess risk 2/125 and the noise
    constant 125/2. From 1000 samples it is chosen with probability above 1/4; a constant that does not depend on
    alpha_P gives 5 log(8)/1000. For a larger constant take more samples and a fairer coin."""
    law = ((Fraction(123, 250), Fraction(127, 250)),)
    constants = {
        "confidence": Fraction(1, 4),
        "hidden_constant": Fraction(5),
        "noise_constant": Fraction(125, 2),
        "noise_exponent": ONE,
    }
    return LearningPoint(Pooled(((0,), (1,)), law, law, 1000, 1), constants)


def samples_that_say_nothing(claim: Claim) -> LearningPoint:
    """Two points, labelled 0 and 1, and the hypotheses 00 and 01. P has the second with probability p = 1/(2 10^6), the
    clients with 1/2, the server never. With 2 10^12 - 1 samples of the server and one of the clients e_Q(00) is p^2, so
    that P and Q are (1, 1/2)-positively related; 01 is best under both. If the clients' sample is of the first point,
    with probability 1/2, nothing tells the two apart, and e_P = p is 5 times the bound for c = 10^5. For a larger
    constant take more samples of the server, and p^2 in proportion to their inverse."""
    none, p = Fraction(0), Fraction(1, 2 * 10**6)
    constants = {
        "confidence": Fraction(1, 3),
        "hidden_constant": Fraction(10**5),
        "relatedness": ONE,
        "relatedness_exponent": HALF,
        "noise_constant": ONE,
        "noise_exponent": ONE,
    }
    laws = ((1 - p, none), (none, p)), ((HALF, none), (none, HALF))
    server = ((ONE, none), (none, none))
    return LearningPoint(Pooled(((0, 0), (0, 1)), *laws, 2 * 10**12 - 1, 1, server=server), constants)


COUNTEREXAMPLES: dict[str, Callable[[Claim], Point]] = {
    "safari.ex1@main": threshold_outside,
    "safari.ex1.q@main": threshold_outside,
    "safari.thm2@main": nothing_but_the_common_point,
    "safari.thm2.improvement@main": a_thousand_times_more,
    "safari.lemma1.frequency@main": seen_alone,
    "safari.lemma1.deficit@main": unseen_half,
    "safari.lemma1.deviation@main": unseen_half,
    "safari.lemma1.excess@main": unseen_half,
    "safari.lemma2@main": fair_coin,
    "safari.thm3@main": nearly_fair_coin,
    "safari.rem2.thm2@main": nothing_but_the_common_point,
    "safari.rem2.thm3@main": samples_that_say_nothing,
    "safari.thm4@main": _theorem_4,
    "safari.thm4@appendix": _theorem_4,
    "safari.thm5@main": _theorem_5,
    "safari.thm5@appendix": _theorem_5,
    "safari.cor1.a@main": far_pair,
    "safari.cor1.b@main": far_pair,
    "safari.cor1.c@main": far_pair,
    "safari.cor2@main": lambda claim: steep_pair(claim, 10**6, 1000),
    "safari.rem5.a@main": diverging_clients,
    "safari.rem5.b@main": diverging_server,
    "safari.thm4@submission": diverging_server,
}
"""Makers of counterexamples by the claim's ref.

The last three refute some of the readings. So do those of the example, of Theorems 2 and 3, of Remark 2 for Theorem 2,
of Lemma 1 and of Corollary 2.
"""

_FEW_SAMPLES, _ROUNDS = (50, 100, 400), (10**4, 3 * 10**4, 10**5)
FAMILIES: dict[str, Family] = {
    "safari.lemma1.frequency@main": Family(seen_alone, _FEW_SAMPLES, ("samples",)),
    "safari.lemma1.deficit@main": Family(unseen_half, _FEW_SAMPLES, ("samples",)),
    "safari.lemma1.deviation@main": Family(unseen_half, _FEW_SAMPLES, ("samples",)),
    "safari.lemma1.excess@main": Family(unseen_half, _FEW_SAMPLES, ("samples",)),
    "safari.lemma2@main": Family(fair_coin, (10**4, 10**6, 10**8), ("server_samples",)),
    "safari.cor1.a@main": Family(longer_pair, _ROUNDS, ("rounds",)),
    "safari.cor1.b@main": Family(longer_pair, _ROUNDS, ("rounds",)),
    "safari.cor1.c@main": Family(longer_pair, _ROUNDS, ("rounds",)),
}
"""Families of counterexamples by the claim's ref; Lemma 1's have the confidence inside the logarithm."""
