"""Symbols that the steps share. <u, v> stands for E<u, v>, as in FAST's proofs, some of whose lemmas are used."""

from __future__ import annotations

import sympy

from fedtheory.proof.symbol_regions import capped, count, nonnegative, positive, region
from fedtheory.proof.write import within

L, mu, sigma, M, H, gamma = sympy.symbols("smoothness strong_convexity gradient_noise clients local_steps local_lr")
D, V, k = sympy.symbols("D V k")
one = sympy.Integer(1)

CAP = region(
    capped("local_lr", 1 / (4 * L)), capped("strong_convexity", L), positive("smoothness"), count("clients"),
    count("local_steps"), nonnegative("gradient_noise"),
)  # fmt: skip
"""gamma <= 1/(4L) and mu <= L, everything else free."""

gram, vectors_check = within(CAP)
