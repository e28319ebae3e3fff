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

EQUIVALENT: dict[str, dict[str, str]] = {}
"""By module and change, why no test can tell the mutant."""
