"""Which tests are a module's own, and which of its mutants no test can tell, with the reason."""

from __future__ import annotations

FOCUSED: dict[str, tuple[str, ...]] = {
    "claims/arithmetic.py": ("claims/test_arithmetic.py", "claims/test_wide.py", "claims/test_evaluation.py"),
    "claims/balls.py": (
        "evidence/test_balls.py", "claims/test_algebraic.py", "claims/test_arithmetic.py", "claims/test_evaluation.py",
    ),
    "claims/outward_intervals.py": ("claims/test_subdivision.py", "claims/test_rounds.py"),
    "claims/ranges.py": ("claims/test_ranges.py", "claims/test_subdivision.py", "claims/test_algebraic.py"),
    "claims/rounds_needed.py": ("claims/test_rounds.py", "claims/test_solve.py"),
    "claims/subdivision.py": ("claims/test_subdivision.py", "claims/test_rounds.py"),
    "claims/wide_floats.py": ("claims/test_wide.py",),
    "evidence/judge.py": ("evidence/test_judging.py", "evidence/test_refuting_point.py"),
    "evidence/verdict_rule.py": ("evidence/test_rule.py",),
    "moments/exchangeable.py": ("moments/test_kinked_runs.py", "moments/test_mean_drift.py"),
    "proof/analytic.py": ("proof/test_analytic.py",),
    "proof/gram.py": ("proof/test_gram.py",),
    "proof/positivity.py": ("proof/test_positivity.py",),
    "selection/rational.py": ("evidence/test_selection_exact.py", "selection/test_exact.py"),
    "selection/whole_clients.py": ("selection/test_rounding.py",),
    "selection/variance.py": ("selection/test_variance.py",),
    "subjects/enclosures.py": (
        "evidence/test_enclosure.py", "evidence/test_confirm.py", "evidence/test_safari_instances.py",
    ),
    "weights/cutoff_geometric.py": ("weights/test_cutoff_geometric.py",),
    "weights/exact_moments.py": tuple(
        f"weights/test_moments.py::test_{name}"
        for name in (
            "bernoulli_moments_are_those_of_all_histories", "moments_respect_what_weights_can_be",
            "from_the_cutoff_on_the_mean_is_that_of_one_interval", "a_cutoff_that_is_never_reached_is_none",
            "clients_that_never_and_always_take_part", "clients_keep_their_places", "long_run_limits",
            "the_generating_function_and_the_recursion_agree_over_many_rounds", "wrong_input_is_refused",
            "what_would_fill_the_memory_is_refused_at_once", "what_is_told_to_be_allowed_is",
            "the_scale_of_two_clients_is_that_of_all_pairs_of_histories",
            "recurrences_have_the_digits_of_exact_moments", "recurrences_and_the_transform_agree_where_both_are_good",
        )
    ),
}  # fmt: skip
"""Test files below tests/, or tests of them, by module below fedtheory/; the examples in its docstrings come first."""

ANY = "any"
_PRECISION = "a precision in bits, any of which is sound"
_THRESHOLD = "on either side of the threshold both ways give the same to rounding"
_BISECTED = "for _ in range(int(2 * a.shape[1] - 1).bit_length()):"
_LEVEL = "level = np.clip(left + (k - _demand(p, b, a, left).sum(axis=1)) / steepness, left, right)"
_RISE = "the last rise makes up for any level between the two kinks"
_ANY_POINT = "which points are looked at; one that is found is verified"
_WHOLE = "numerators and denominators of `Ratio.of` have whole coefficients, none of them 0"
_VERIFIED = "what is made of it is verified afterwards, and refused"
_SENSE = "the same rows are the largest in a direction of any length"
_FINITE = "nothing that is not finite compares"

_SKIPPED = "if value >= 0 or any(h.at(point) < 0 for h in hypotheses) or any(h.at(point) for h in vanishing):"
_LOOKED = "value >= 0 or any((h.at(point) < 0 for h in hypotheses)) or any((h.at(point) for h in vanishing))"
_CORNERS = "for corner in itertools.islice(itertools.product(*values), 1024):"
_CORNER = "yield {name: Fraction(value) for (name, _), value in zip(where.kinds, corner, strict=True)}"
_CLIPPED = "return tuple(min(max(w, 0 * w), a) for w, a in zip(wanted, everything, strict=True))"
_SHARE = "share = (budget - below) / (above - below) if above > below else 0 * budget"
_DECIDE = "def decide(self, samples: int = 3000, seed: int = 0) -> GramCertificate | GramCounterexample | None:"
_FURTHER = "yield rng.choice(points), coordinates, {n: Fraction(rng.randint(-8, 8), 2) for n in others}"
_PRODUCTS = 'f"{_DOT}{u}_{v}": sum((x * y for x, y in zip(coordinates[u], coordinates[v], strict=True)), Fraction(0))'
_PROVE = "expression: sympy.Expr, where: Region, polya: int = POLYA, samples: int = 1000, seed: int = 0"
_REFUTE = (
    "def refute(expression: sympy.Expr, where: Region, samples: int = 1000, seed: int = 0) -> Counterexample | None:"
)
_NUMBER = "return Fraction(rng.randint(1, 20), rng.randint(1, 20)) * Fraction(10) ** rng.randint(-2, 2)"

_NOTHING = "_NOTHING = -(2.0**60)"
_FLOAT = "return np.ldexp(self.mantissa, np.clip(self.exponent, -5000, 5000).astype(np.int64))"
_ORDINARY = "ordinary = (np.abs(plain) > 1e-300) & (np.abs(plain) < 1e300) & (np.abs(base) > 1e-300) & (base < 1e300)"
_KNOWN = "known = ordinary | (magnitude == 0) | (times == 0) | ~np.isfinite(doublings)"
_SIGN = "sign = np.where((self.mantissa < 0) & (times % 2 == 1), -1.0, 1.0)"
_DOUBLINGS = "doublings = np.where(np.abs(argument) > 700, np.rint(argument / _LOG_2), 0.0)"
_LIMITED = "doublings = np.where(np.isfinite(doublings), doublings, 0.0)"

EQUIVALENT: dict[str, dict[tuple[str, str], str]] = {
    "claims/arithmetic.py": {
        ("CHUNK = 8192", ANY): "so many at a time, whatever number it is",
    },
    "claims/balls.py": {
        ('if expression.is_Pow and expression.exp.is_Rational and hasattr(parts[0], "exp"):', "0 -> -1"):
            "base and exponent are numbers of one kind",
        ("return abs(parts[0])", "0 -> -1"): "there is one",
        ('if isinstance(expression, sympy.ceiling) and hasattr(parts[0], "ceil"):', "0 -> -1"): "there is one",
        ("return self if self.value >= 0 else _Extended(-self.value)", "self.value >= 0 -> self.value > 0"): "-0 = 0",
    },
    "claims/wide_floats.py": {
        (_NOTHING, "60 -> 61"): "below every other exponent",
        (_FLOAT, "5000 -> 5001"): "beyond all floats",
        (_FLOAT, "5000 -> 4999"): "beyond all floats",
        (_ORDINARY, "np.abs(base) > 1e-300 -> np.abs(base) >= 1e-300"): _THRESHOLD,
        (_ORDINARY, "1e+300 -> 2e+300"): _THRESHOLD, (_ORDINARY, "1e+300 -> 5e+299"): _THRESHOLD,
        (_ORDINARY, "1e-300 -> 2e-300"): _THRESHOLD, (_ORDINARY, "1e-300 -> 5e-301"): _THRESHOLD,
        (_SIGN, "self.mantissa < 0 -> self.mantissa <= 0"): "0 goes the other way",
        (_KNOWN, "0 -> 1"): "0^t and 1^0 come out alike both ways",
        (_KNOWN, "0 -> -1"): "0^t and 1^0 come out alike both ways",
        (_DOUBLINGS, "np.abs(argument) > 700 -> np.abs(argument) >= 700"): _THRESHOLD,
        (_DOUBLINGS, "700 -> 701"): _THRESHOLD, (_DOUBLINGS, "700 -> 699"): _THRESHOLD,
        (_LIMITED, "0.0 -> 1.0"): "an infinite argument stays so",
        (_LIMITED, "0.0 -> -1.0"): "an infinite argument stays so",
    },
    "evidence/verdict_rule.py": {
        ("return all(reading.get(name, options[0]) in options for name, options in covered.items())", "0 -> -1"):
            "each of the options is one that is covered",
    },
    "moments/worst_order.py": {
        ("return np.array([[1.0], [-1.0]])", "1.0 -> 2.0"): _SENSE,
        ("return np.array([[1.0], [-1.0]])", "1.0 -> 0.5"): _SENSE,
    },
    "papers/flics/displays/lemmas.py": {
        ('"gradients|^2", norm2(xi + chi) + norm2(t * xi) - norm2(xi + chi + t * xi),', "xi + chi -> xi - chi"):
            "the product of the two noises is 0 there, so that either sign has the same square",
    },
    "proof/analytic.py": {
        ("_BITS = 128", "128 -> 129"): _PRECISION, ("_BITS = 128", "128 -> 127"): _PRECISION,
        ("order: int = 0", "0 -> -1"): "no derivative either way",
        ("if value.is_finite() and value < 0:", "value.is_finite() and value < 0 -> value < 0"): _FINITE,
        ("if value.is_finite() and value >= 0:", "value.is_finite() and value >= 0 -> value >= 0"): _FINITE,
    },
    "proof/gram.py": {
        (_DECIDE, ANY): _ANY_POINT,
        ("def refute(self, samples: int = 3000, seed: int = 0) -> GramCounterexample | None:", ANY): _ANY_POINT,
        ("if len(certified) < len(signs):", "len(certified) < len(signs) -> len(certified) > len(signs)"): _VERIFIED,
        **{(_SKIPPED, change): _VERIFIED for change in (
            "value >= 0 -> value > 0", "0 -> -1",
            f"{_LOOKED} -> value >= 0 and any((h.at(point) < 0 for h in hypotheses)) and any((h.at(point) for h in "
            "vanishing))",
            f"{_LOOKED} -> any((h.at(point) < 0 for h in hypotheses)) or any((h.at(point) for h in vanishing))",
            f"{_LOOKED} -> value >= 0 or any((h.at(point) for h in vanishing))",
            f"{_LOOKED} -> value >= 0 or any((h.at(point) < 0 for h in hypotheses))",
        )},
        ("small = [Fraction(x) for x in range(-2, 3)]", ANY): _ANY_POINT,
        ("points = list(itertools.islice(draws(self.where, 16, seed), 24))", ANY): _ANY_POINT,
        ("for values in itertools.islice(whole, 700):", ANY): _ANY_POINT,
        ("for parameters in points[:4]:", ANY): _ANY_POINT,
        ("size = rng.randint(1, 3)", ANY): _ANY_POINT,
        (_FURTHER, ANY): _ANY_POINT,
        (_PRODUCTS, "True -> False"): "vectors of one length are made, and others are refused before",
    },
    "proof/positivity.py": {
        (_CORNERS, ANY): _ANY_POINT,
        (_CORNER, "True -> False"): "of one length",
        (_PROVE, ANY): _ANY_POINT,
        ("if any(c < 0 for c in pulled.denominator.coefficients):", "c < 0 -> c <= 0"): _WHOLE,
        ("if any(c < 0 for c in pulled.denominator.coefficients):", "0 -> 1"): _WHOLE,
        ("if all(c >= 0 for c in numerator.coefficients):", "c >= 0 -> c > 0"): _WHOLE,
        ("if all(c >= 0 for c in numerator.coefficients):", "0 -> 1"): _WHOLE,
        ("if pulled.at(parameters) >= 0:", "pulled.at(parameters) >= 0 -> pulled.at(parameters) > 0"): _VERIFIED,
        (_REFUTE, ANY): _ANY_POINT,
        ('"nonnegative": (0, 0, 1, Fraction(1, 3), 9),', ANY): _ANY_POINT,
        ('"positive": (1, 2, Fraction(1, 2), Fraction(1, 10), 10),', ANY): _ANY_POINT,
        ('"integer": (0, 0, 1, 9, 99),', ANY): _ANY_POINT,
        ('if kind != "positive" and rng.random() < 0.3:', "rng.random() < 0.3 -> rng.random() <= 0.3"): _ANY_POINT,
        ('if kind != "positive" and rng.random() < 0.3:', "rng.random() < 0.3 -> rng.random() > 0.3"): _ANY_POINT,
        ('if kind != "positive" and rng.random() < 0.3:', "0.3 -> 0.6"): _ANY_POINT,
        ('if kind != "positive" and rng.random() < 0.3:', "0.3 -> 0.15"): _ANY_POINT,
        ("return Fraction(rng.choice((rng.randint(1, 5), rng.randint(1, _LARGEST))))", ANY): _ANY_POINT,
        (_NUMBER, ANY): _ANY_POINT,
    },
    "selection/rational.py": {
        (_CLIPPED, "0 * w -> 0"): "0, of one type or another",
        ("return sum(each) / (len(budget) + 0 * budget[0])",
         "len(budget) + 0 * budget[0] -> len(budget) - 0 * budget[0]"): "0 either way",
        ("level, members = min(found, key=lambda scarcest: (scarcest[0], -len(scarcest[1])))",
         "-len(scarcest[1]) -> len(scarcest[1])"): "the other sets of that level follow",
        (_SHARE, ANY): "where above = below there is one level, high = low",
        ("if held[count - 1] * level >= least:", "held[count - 1] * level >= least -> held[count - 1] * level > least"):
            "where they are equal, one group less gives the same level",
        ("sizes = range(1, len(items) + 1)", "1 -> 2"): "of the last one: there is no set of more than all",
    },
    "subjects/enclosures.py": {
        ("return fed.exact_hessians[0, 0, 0]", "0 -> -1"): "all clients have it, in one dimension",
    },
    "selection/variance.py": {
        (_BISECTED, "2 * a.shape[1] - 1 -> 2 * a.shape[1] + 1"): "one bisection more",
        (_BISECTED, "1 -> 2"): "so many are enough for 2 M kinks",
        (_LEVEL, "k - _demand(p, b, a, left).sum(axis=1) -> _demand(p, b, a, left).sum(axis=1)"): _RISE,
        (_LEVEL, "left + (k - _demand(p, b, a, left).sum(axis=1)) / steepness -> "
                 "(k - _demand(p, b, a, left).sum(axis=1)) / steepness"): _RISE,
    },
    "weights/cutoff_geometric.py": {
        ("if moments[0] == 0.0:", "0 -> -1"): "the fourth central moment is 0 where the second is",
    },
    "weights/exact_moments.py": {
        ("ALIASING = 1e-17", "1e-17 -> 5e-18"): "a share that any number of this size serves",
        ("ALIASING = 1e-17", "1e-17 -> 2e-17"): "a share that any number of this size serves",
        ("limit = CutoffGeometric(p, self.cutoff).mean() ** 2", "2 -> 3"): "what is taken off is added again",
        ("small = np.flatnonzero(np.abs(f) < SMALL)", "np.abs(f) < SMALL -> np.abs(f) <= SMALL"): _THRESHOLD,
        ("a[small] = np.polynomial.polynomial.polyval(x, [1 / (m + 1) for m in range(17)])", "17 -> 18"):
            "a term below rounding",
        ("b[small] = np.polynomial.polynomial.polyval(x, [(m + 1) / (m + 2) for m in range(17)])", "17 -> 18"):
            "a term below rounding",
    },
}  # fmt: skip
"""By module, line and change (``ANY``: all changes of the line that live), why no test can tell the mutant."""
