"""Errata of FedAU."""

from ..in_print import Erratum

ERRATA = (
    Erratum(
        claims=("fedau.eqB_6_8.b@main", "fedau.eqB_6_8.a@main", "fedau.eqB_6_8.b_next@main"),
        printed=(
            r"(p_n)^2\mathbb{E}\Big[\Big(\omega_t^n-\Big(\frac{1}{p_n}-\frac{(1-p_n)^K}{p_n}\Big)\Big)^2"
            r"\Big]+(1-p_n)^{2K}\leq"
            r"(p_n)^2\cdot\frac{\mathrm{Var}[S_n]}{\max\{\lfloor\frac{t}{K}\rfloor,1\}}+(1-p_n)^{2K}",
        ),
        wrong=(
            "In the proof of Theorem 3 the mean of the estimated weight is taken for the mean of one interval, and "
            "its variance for that of one interval over the number of intervals. That number is random, and depends "
            "on the intervals. Before the first cutoff, for $t < K$, both are wrong."
        ),
        instance=(
            "One client takes part in every round with probability $p = 1/10$, independently. The cutoff is $K = 3$. "
            "There are $2$ rounds, and the second one is looked at."
        ),
        true=(
            "From $t = K$ on the lines hold: given the number of intervals and their lengths but for the order, "
            "these are exchangeable. Before that the last line of (B.6.8) holds all the same, by another argument, "
            "and so does Theorem 3 as it is printed."
        ),
        editions=("fedau.eqB_6_8.b@corrected", "fedau.thm3@main"),
        objection="The text says that for $0 < t < K$ one of two bounds applies, and adds both.",
        answer=(
            "That is why the theorem stands. But the lines are written for all rounds with at least one sample, and "
            "such rounds come before $t = K$ too."
        ),
    ),
)  # fmt: skip
