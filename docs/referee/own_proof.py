"""A theorem with a proof of its own, and one that the same proof does not reach.

Where every client takes one gradient step a round, local SGD is gradient descent on F with the clients' mean noise N,
and clients may differ as they like:

    E|x_R - x*|^2 <= (1 - gamma mu)^R |x_0 - x*|^2 + gamma sigma^2/(mu M)    for gamma <= 1/L.

A file with steps of a proof defines PAPER: claims, the steps, and which of them a printed proof of a claim ends in.
Steps may rest on the steps of other papers, by name (`fedtheory prove fast.thm1 --json` has them). The referee decides
every step. That they follow on each other, and end in the claim, is declared; only the kernel shows that.

The second claim halves the noise. With one client on which the noise is all there is, the error of the first round
exceeds it.
"""

from dataclasses import replace

import sympy
from sympy import Le

from fedtheory.assumptions import UNBIASED_NOISE, UNCORRELATED_NOISE
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.papers.paper import Paper
from fedtheory.proof.gram import dot, norm2, vectors
from fedtheory.proof.printed_proof import PrintedProof
from fedtheory.proof.steps import Identity, Step
from fedtheory.proof.symbol_regions import capped, count, nonnegative, positive, region
from fedtheory.proof.write import given, gram, same
from fedtheory.quantities import symbols

L, mu, sigma = symbols("smoothness", "strong_convexity", "gradient_noise")
M, R, gamma, distance = symbols("clients", "rounds", "local_lr", "initial_distance")

THEOREM = Claim(
    id="mine.thm1",
    title="One step a round, everyone takes part",
    source="mine, Theorem 1",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("initial", (1 - gamma * mu) ** R * distance**2),
        Term("noise", gamma * sigma**2 / (mu * M)),
    ),
    hypotheses=(Hypothesis("step_cap", Le(gamma, 1 / L), "Theorem 1"),),
    assumptions=(
        Assumption("smooth", "smoothness", "section 1"),
        Assumption("strongly_convex", "strong_convexity", "section 1", from_below=True),
        Assumption("noise", "gradient_noise", "section 1"),
        Assumption("unbiased", kind="unbiased_noise", source="section 1"),
        Assumption("uncorrelated", kind="uncorrelated_noise", source="section 1"),
    ),
    algorithm="local_sgd",
    bound={"local_steps": 1, "arbitrary_cohort": M},
)
HALVED = replace(
    THEOREM,
    id="mine.thm2",
    source="mine, Theorem 2",
    terms=(THEOREM.term("initial"), Term("noise", gamma * sigma**2 / (2 * mu * M))),
)

# The proof is written in bare symbols: y = x_r - x*, G = grad F(x_r), D = F(x_r) - F(x*), N the mean noise. A
# polynomial step is decided on a region; a step about vectors by multipliers of what is given, in every dimension.
l, m, s, g, M_ = sympy.symbols("smoothness strong_convexity gradient_noise local_lr clients")
D, rate, start, added, partial = sympy.symbols("D rate start added partial")
f_x, f_z, f_star = sympy.symbols("f_x f_z f_star")
y, G, N = vectors("y G N")
one = sympy.Integer(1)
CAP = region(
    capped("local_lr", 1 / l), capped("strong_convexity", l), positive("smoothness"), count("clients"),
    nonnegative("gradient_noise"),
)  # fmt: skip

STEPS = (
    given("mine.round", "(1)", "x_{r+1} = x_r - gamma (G + N), the clients' mean step; N has mean 0 given the past, "
          "and E|N|^2 <= sigma^2/M, as the clients' noises are uncorrelated",
          assumes=(UNBIASED_NOISE, UNCORRELATED_NOISE)),
    gram("mine.gradient", "(2)", "|G|^2 <= 2 L D: x* is no better than x - G/L",
         2 * l * (f_x - f_star) - norm2(G),
         given=((f_x - dot(G, G / l) + l / 2 * norm2(G / l) - f_z, 2 * l), (f_z - f_star, 2 * l)),
         where=CAP, rests_on=("lemma1.integral",)),
    gram("mine.descent", "(2)", "|y - gamma G|^2 <= (1 - gamma mu)|y|^2: strong convexity, and |G|^2 <= 2 L D",
         (1 - g * m) * norm2(y) - norm2(y - g * G),
         given=((dot(y, G) - D - m / 2 * norm2(y), 2 * g), (2 * l * D - norm2(G), g**2), (D, 2 * g * (1 - g * l))),
         where=CAP, rests_on=("mine.gradient",)),
    gram("mine.step", "(3)", "E|y_{r+1}|^2 <= (1 - gamma mu) E|y|^2 + gamma^2 sigma^2/M",
         (1 - g * m) * norm2(y) + g**2 * s**2 / M_ - norm2(y - g * (G + N)),
         given=(((1 - g * m) * norm2(y) - norm2(y - g * G), one), (s**2 / M_ - norm2(N), g**2)),
         zero=((dot(y, N), 2 * g), (dot(G, N), -2 * g**2)),
         where=CAP, rests_on=("mine.round", "mine.descent")),
    Step("mine.unrolled", "(4)", "R rounds, by induction: rate^R A_0 + added S_R, S_R the geometric sum", "induction",
         (Identity(rate * (start + added * partial) + added, rate * start + added * (rate * partial + 1)),),
         rests_on=("mine.step",)),
    same("mine.floor", "(5)", "what a round adds, over gamma mu, is gamma sigma^2/(mu M)",
         [(g**2 * s**2 / M_ / (g * m), g * s**2 / (m * M_))],
         rests_on=("mine.unrolled", "a3.40_geometric_sum")),
)  # fmt: skip

PAPER = Paper(
    name="mine",
    title="One step a round",
    algorithm="local_sgd",
    claims=(THEOREM, HALVED),
    steps=STEPS,
    printed_proofs=(PrintedProof("descent and noise, R times", ("mine.thm1@main",), ("mine.floor",)),),
)
