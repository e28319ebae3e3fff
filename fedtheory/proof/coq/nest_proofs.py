"""Proofs, for Coq, that nested sums around a product are its canonical entry."""

from __future__ import annotations

from . import nested_sums
from .nested_sums import Nest, Sum, at_start


def counts_steps(nest: Nest) -> bool:
    """Whether a factor INR K remains of a nest, as its sum over the steps binds nothing."""
    return bool(nest.sums) and nest.sums[0].binder == "K" and not nest.sums[0].used


def script(nest: Nest, given_cohort: bool = False) -> list[str]:
    """Return tactics that turn ``nest`` into its canonical form, from the left of an equation on; D proves that the
    cohort may be drawn. With ``given_cohort`` products of what is known at the start are written given the cohort in
    ``nest``."""
    lines, sums = [], list(nest.sums)
    if counts_steps(nest):
        lines += ["etransitivity; [apply steps_const|].", "apply (f_equal (Rmult (INR K)))."]
        del sums[0]
    while loose := [i for i, s in enumerate(sums) if not s.used]:
        lines.append(f"below {loose[0]} (apply mean_const; exact {nested_sums.SOME[sums[loose[0]].binder]}).")
        del sums[loose[0]]
    last = len(sums)
    if given_cohort and nest.right and at_start(nest.left) and at_start(nest.right):
        proofs = [nested_sums.known_text(atom) for atom in (nest.left, nest.right)]
        lines.append(f"below {last} (apply known; [exact {proofs[0]}|exact {proofs[1]}]).")
    target = nested_sums.of(nested_sums.entry(nest))
    if target[1:] != nest[1:] or sorted(sums) != sorted(target.sums):
        lines.append(f"below {last} (apply ip_sym).")
        sums = [Sum(s.binder, s.right, s.left) for s in sums]
    for place, wanted in enumerate(target.sums):
        for i in range(sums.index(wanted, place) - 1, place - 1, -1):
            lines.append(f"below {i} (apply osum_swap).")
            sums[i], sums[i + 1] = sums[i + 1], sums[i]
    return [*lines, "reflexivity."]


def proof(nest: Nest) -> str:
    """Return the tactics of ``script`` in a line."""
    return " ".join(script(nest))


def tactic(nest: Nest) -> str:
    """Return the tactics of ``script`` as one."""
    return "; ".join(line.removesuffix(".") for line in script(nest))
