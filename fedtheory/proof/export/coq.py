"""A saved proof of the kernel as a file for Coq."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from . import entries
from .axioms import Axioms
from .products import File
from .scalars import NotExported, Scalar
from .signs import Condition, Region
from .theorems import Line, condition_text

RULES = {name.replace("_", " "): name for name in (
    "combine", "over_clients", "over_steps", "induct", "last_step", "instantiate", "expect_uniform", "expect_arbitrary",
    "project", "mix", "mix_server", "smooth", "cocoercive", "convex", "descent", "interpolated", "dissimilar",
    "optimal", "local_step", "round", "unbiased", "variance", "uncorrelated", "steps_apart", "server_round",
    "server_unbiased", "server_variance", "server_descent",
)}  # fmt: skip
"""The kernel's rules and axioms that are exported, by the method that does."""


def prelude() -> str:
    """What every file begins with."""
    return files(__package__).joinpath("prelude.v").read_text()


def export(data: Mapping, title: str) -> str:
    """A saved theorem with its whole proof as a file for Coq, which compiles if the proof is one.

    Raises:
        NotExported: it uses a rule, an assumption or a shape of which there is no export.
    """
    names = [str(name) for name in data["names"]]
    writer = File(names)
    writer.regions = [Region(tuple(_condition(c, names) for c in region), writer.real) for region in data["regions"]]
    writer.add("Unset Implicit Arguments.", "")
    for number, region in enumerate(writer.regions):
        writer.add(*_region(writer, number, region))
    lines: list[Line] = []
    for number, saved in enumerate(data["theorems"]):
        lines.append(_line(number, saved, lines, names))
        theorem = Axioms(writer, lines[-1])
        getattr(theorem, RULES[lines[-1].rule])()
        theorem.write()
    last = len(lines) - 1
    end = ["End Round.", "", f"Print Assumptions thm_{last}.", ""]
    return f"(* {title} *)\n" + prelude() + "\n".join([*writer.lines, *end])


def _condition(data: list, names: list[str]) -> Condition:
    name, kind, bound = data
    return Condition(name, kind, None if bound is None else Scalar.read(bound, names))


def _line(number: int, saved: Mapping, earlier: list[Line], names: list[str]) -> Line:
    if saved["rule"] not in RULES:
        raise NotExported(f"theorem {number}: rule {saved['rule']!r}: exported are {', '.join(RULES)}")
    return Line(
        number,
        saved["rule"],
        tuple(earlier[i] for i in saved["premises"]),
        saved["arguments"],
        saved["context"],
        saved["kind"],
        saved["where"],
        tuple((n, None if c is None else Scalar.read(c, names)) for n, c in saved["assumptions"]),
        {n: Scalar.read(c, names) for n, c in saved["parameters"].items()},
        tuple((entries.entry_of(e), Scalar.read(c, names)) for e, c in saved["form"]),
        saved["equality"],
        saved["path_to_the_end"],
    )


def _region(w: File, number: int, region: Region) -> list[str]:
    """The definition of a region, and the signs of its letters."""
    conditions = region.conditions
    stated = " /\\\n  ".join(condition_text(c, w.real) for c in conditions)
    signs_of = " /\\ ".join(f"0 {'<' if region.strict[c.name] else '<='} {w.real[c.name]}" for c in conditions)
    proofs = []
    for c in reversed(conditions):
        strict = region.strict[c.name]
        goal = f"F_{c.name} : 0 {'<' if strict else '<='} {w.real[c.name]}"
        proofs.append(f"  assert ({goal}) by ({_sign_of(c, strict)}).")
    pattern = (
        "(" + " & ".join(f"C_{c.name}" for c in conditions) + ")" if len(conditions) > 1 else f"C_{conditions[0].name}"
    )
    return [
        f"Definition region_{number} ({w.all_letters} Kr : R) : Prop :=\n  {stated}.",
        f"Lemma facts_{number} ({w.all_letters} Kr : R) : region_{number} {w.all_letters} Kr -> {signs_of}.",
        f"Proof.\n  intros {pattern}.",
        *proofs,
        "  repeat split; assumption.",
        "Qed.",
        "",
    ]


def _sign_of(c: Condition, strict: bool) -> str:
    if c.kind in ("positive", "nonnegative"):
        return f"exact C_{c.name}"
    if c.kind == "count":
        return "lra"
    if c.kind in ("capped", "interval"):
        return f"exact (proj1 C_{c.name})"
    assert c.bound
    close = "pos" if strict else "nonneg"
    if not c.bound.bottom.is_one:
        close = f"apply quotient_{close}; [{close}|pos]"
    return f"refine ({'Rlt_le_trans' if strict else 'Rle_trans'} _ _ _ _ C_{c.name}); {close}"


__all__ = ["export", "prelude"]
