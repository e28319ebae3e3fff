"""Proofs, for Coq, that nested sums around a product are its canonical entry."""

from __future__ import annotations

from . import nested_sums
from .nested_sums import Nest, Sum, at_start


def script(nest: Nest, drawn: str, given_cohort: bool) -> tuple[bool, list[str]]:
    """Return (whether a factor INR K remains, tactics) that turn ``nest`` into its canonical form, from the left of an
    equation on. ``drawn`` proves that the cohort may be drawn. With ``given_cohort`` products of what is known at the
    start are written given the cohort in ``nest``."""
    lines: list[str] = []
    sums = list(nest.sums)
    factor = bool(sums) and sums[0].binder == "K" and not sums[0].used
    if factor:
        lines += ["etransitivity; [apply steps_const|].", "apply (f_equal (Rmult (INR K)))."]
        del sums[0]
    while loose := [i for i, s in enumerate(sums) if not s.used]:
        reason = "exact some_client" if sums[loose[0]].binder == "M" else f"exact (drawn_some {drawn})"
        lines.append(f"below {loose[0]} (apply mean_const; {reason}).")
        del sums[loose[0]]
    last = len(sums)
    if nest.right is None:
        if given_cohort and at_start(nest.left):
            lines.append(f"below {last} (apply known_val; exact {nested_sums.known_text(nest.left)}).")
    elif given_cohort and at_start(nest.left) and at_start(nest.right):
        proofs = [nested_sums.known_text(atom) for atom in (nest.left, nest.right)]
        lines.append(f"below {last} (apply known; [exact {proofs[0]}|exact {proofs[1]}]).")
    target = Nest(tuple(sums), nest.left, nest.right).canonical()
    if (target.left, target.right) != (nest.left, nest.right) or _turned(nest, sums, target):
        lines.append(f"below {last} (apply ip_sym).")
        sums = [Sum(s.binder, s.right, s.left) for s in sums]
    return factor, lines + _swaps(sums, list(target.sums)) + ["reflexivity."]


def _turned(nest: Nest, sums: list[Sum], target: Nest) -> bool:
    """Whether two equal atoms change places, as their binders do."""
    return nest.right is not None and sorted(map(_key, sums)) != sorted(map(_key, target.sums))


def _key(one: Sum) -> tuple:
    return one.binder, one.left, one.right


def _swaps(sums: list[Sum], target: list[Sum]) -> list[str]:
    lines = []
    for place, wanted in enumerate(target):
        at = next(i for i in range(place, len(sums)) if sums[i] == wanted)
        for i in range(at - 1, place - 1, -1):
            lines.append(f"below {i} (apply osum_swap).")
            sums[i], sums[i + 1] = sums[i + 1], sums[i]
    return lines


def expansion(left: int, right: int, bound: int) -> list[str]:
    """Tactics that take the sums of two vectors out of their product, below so many sums."""
    lines = [f"below {bound + n} (apply ip_osum_l)." for n in range(left)]
    return lines + [f"below {bound + left + n} (apply ip_osum_r)." for n in range(right)]
