"""FAST, Lemmas 1 and 2: inequalities of smooth and strongly convex functions at any points."""

from __future__ import annotations

from ....claims.statement import Claim, Term
from ....functionals import LINEARIZATION_ERROR, PERTURBED_LINEARIZATION_ERROR
from ....quantities import symbols
from .common import assumptions

L, mu, displacement, perturbation = symbols("smoothness", "strong_convexity", "displacement", "perturbation")

LEMMA_1 = Claim(
    id="fast.lemma1",
    title="A smooth function is below its quadratic upper model",
    source="FAST, appendix A.1, Lemma 1",
    functional=LINEARIZATION_ERROR,
    terms=(Term("curvature", L / 2 * displacement**2),),
    assumptions=assumptions("smoothness"),
)

LEMMA_2 = Claim(
    id="fast.lemma2",
    title="Strong convexity with the gradient taken at a third point",
    source="FAST, appendix A.1, Lemma 2 (Karimireddy et al. 2020)",
    functional=PERTURBED_LINEARIZATION_ERROR,
    terms=(Term("strong_convexity", -mu / 4 * displacement**2), Term("perturbation", L * perturbation**2)),
    assumptions=assumptions("smoothness", "strong_convexity"),
)

EDITIONS = (LEMMA_1, LEMMA_2)
