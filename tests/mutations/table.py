"""Which tests are a module's own, and which of its mutants no test can tell, with the reason."""

from __future__ import annotations

FOCUSED = {
    "claims/arithmetic.py": (
        "claims/test_wide.py",
        "claims/test_ranges.py",
        "evidence/test_balls.py",
        "claims/test_evaluation.py",
    ),
    "claims/balls.py": ("evidence/test_balls.py", "claims/test_algebraic.py"),
    "claims/intervals.py": ("claims/test_subdivision.py", "claims/test_rounds.py"),
    "claims/ranges.py": ("claims/test_ranges.py", "claims/test_subdivision.py", "claims/test_algebraic.py"),
    "claims/rounds.py": ("claims/test_rounds.py", "claims/test_solve.py"),
    "claims/subdivision.py": ("claims/test_subdivision.py", "claims/test_rounds.py"),
    "claims/wide.py": ("claims/test_wide.py",),
    "evidence/judge.py": ("evidence/test_judging.py", "evidence/test_refuting_point.py"),
    "evidence/rule.py": ("evidence/test_rule.py",),
    "moments/by_kind.py": ("moments/test_kinked_runs.py", "moments/test_mean_drift.py"),
    "proof/analytic.py": ("proof/test_analytic.py",),
    "proof/gram.py": ("proof/test_gram.py", "proof/test_soundness.py"),
    "proof/positivity.py": ("proof/test_positivity.py", "proof/test_soundness.py"),
    "selection/exact.py": ("selection/test_offline.py", "evidence/test_selection_exact.py"),
    "selection/rounding.py": ("selection/test_rounding.py",),
    "selection/variance.py": ("selection/test_variance.py",),
    "subjects/enclosure.py": ("evidence/test_confirm.py", "evidence/test_safari_instances.py"),
    "weights/cutoff_geometric.py": ("weights/test_cutoff_geometric.py",),
    "weights/moments.py": ("weights/test_moments.py",),
}
"""Test files below tests/, by module below fedtheory/; the examples in its docstrings come first."""

_PRECISION = "a precision in bits, any of which is sound"
_THRESHOLD = "on either side of the threshold both ways give the same to rounding"

EQUIVALENT: dict[str, dict[str, str]] = {
    "claims/wide.py": {
        "60 -> 61": "below every other exponent",
        "5000 -> 5001": "beyond all floats", "5000 -> 4999": "beyond all floats",
        "np.abs(base) > 1e-300 -> np.abs(base) >= 1e-300": _THRESHOLD,
        "np.abs(argument) > 700 -> np.abs(argument) >= 700": _THRESHOLD,
        "1e+300 -> 2e+300": _THRESHOLD, "1e+300 -> 5e+299": _THRESHOLD, "1e-300 -> 2e-300": _THRESHOLD,
        "1e-300 -> 5e-301": _THRESHOLD, "700 -> 701": _THRESHOLD, "700 -> 699": _THRESHOLD,
        "self.mantissa < 0 -> self.mantissa <= 0": "0 goes the other way",
    },
    "evidence/rule.py": {"0 -> -1": "any of the options is one that is covered"},
    "proof/analytic.py": {
        "128 -> 129": _PRECISION, "128 -> 127": _PRECISION, "0 -> -1": "no derivative either way",
        "value.is_finite() and value < 0 -> value < 0": "nothing that is not finite compares",
        "value.is_finite() and value >= 0 -> value >= 0": "nothing that is not finite compares",
    },
}  # fmt: skip
"""By module and change, why no test can tell the mutant."""
